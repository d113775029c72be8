//! Three regions of real processes: each its own Redis, its own mesh daemon and its own limiter pod.

#![expect(
    clippy::expect_used,
    reason = "a fixture that cannot be set up fails its test"
)]

use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::http::HttpClient;
use crate::process::Regiond;
use crate::redis_server::RedisServer;
use crate::wait::wait_until_equal;

/// The regions' names.
pub const REGIONS: [&str; 3] = ["mumbai", "hyderabad", "singapore"];

/// One region.
pub struct Region {
    /// Its name.
    pub name: &'static str,
    /// Its store.
    pub redis: RedisServer,
    /// Its mesh daemon.
    pub mesh: Regiond,
    /// Its pod.
    pub limiter: Regiond,
    mesh_args: Vec<String>,
}

/// Three regions, and a client that asks them.
pub struct Regions {
    /// In the order of [`REGIONS`].
    pub regions: Vec<Region>,
    /// Asks.
    pub client: HttpClient,
    _folder: tempfile::TempDir,
}

impl Regions {
    /// Starts all three under `rules` (YAML) and waits until they hear each other.
    pub async fn start(rules: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the rules");
        let file = folder.path().join("rules.yaml");
        std::fs::write(&file, rules).expect("the rules are written");
        let certificates = certificates(folder.path());
        let ports: Vec<u16> = REGIONS.iter().map(|_| free_udp_port()).collect();
        let regions = REGIONS.iter().enumerate();
        let regions =
            regions.map(|(place, name)| start_region(name, place, &ports, &file, &certificates));
        let this = Self {
            regions: regions.collect(),
            client: HttpClient::default(),
            _folder: folder,
        };
        this.wait_until_heard().await;
        this
    }

    /// Waits until every region is up to date with every other, and every pod knows it.
    pub async fn wait_until_heard(&self) {
        for region in &self.regions {
            let what = format!("the peers of {}", region.name);
            let states = async || self.peer_states(region).await;
            wait_until_equal(
                &what,
                Duration::from_secs(15),
                vec!["alive".to_owned(); 2],
                states,
            )
            .await;
        }
    }

    /// The states of a region's peers, by name of peer.
    pub async fn peer_states(&self, region: &Region) -> Vec<String> {
        let Ok(answer) = self
            .client
            .read(&region.mesh.url("admin", "/v1/mesh/lag"))
            .await
        else {
            return Vec::new();
        };
        let peers = answer.json()["peers"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        peers
            .iter()
            .filter_map(|peer| peer["state"].as_str().map(str::to_owned))
            .collect()
    }

    /// Asks a region's pod; the whole answer.
    pub async fn check(&self, region: usize, facts: &Value, cost: u64) -> Value {
        let url = self.regions[region].limiter.url("http", "/v1/limits:check");
        let question = json!({"descriptors": facts, "cost": cost});
        let answer = self
            .client
            .post(&url, &question)
            .await
            .expect("a pod always answers");
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    }

    /// Asks `times` times, one after the other; how many were allowed.
    pub async fn take(&self, region: usize, facts: &Value, times: u64) -> u64 {
        let mut allowed = 0;
        for _ in 0..times {
            let answer = self.check(region, facts, 1).await;
            allowed += u64::from(answer["allowed"] == true);
        }
        allowed
    }

    /// What a region's pod says is left of the only rule that applies.
    pub async fn remaining(&self, region: usize, facts: &Value) -> Option<u64> {
        self.check(region, facts, 0).await["policies"][0]["remaining"].as_u64()
    }

    /// Waits until every region says that `left` units are left.
    pub async fn wait_until_all_left(&self, facts: &Value, left: u64) {
        for (region, name) in REGIONS.iter().enumerate() {
            let what = format!("what {name} says is left");
            let seen = async || self.remaining(region, facts).await;
            wait_until_equal(&what, Duration::from_secs(10), Some(left), seen).await;
        }
    }
}

impl Region {
    /// Starts the mesh daemon again, at the same addresses, after it was killed.
    pub fn restart_mesh(&mut self) {
        self.mesh = Regiond::start(&self.mesh_args);
    }
}

fn start_region(
    name: &'static str,
    place: usize,
    ports: &[u16],
    rules: &Path,
    certificates: &Path,
) -> Region {
    let redis = RedisServer::start().expect("redis-server starts");
    let own = |kind: &str| certificates.join(format!("{name}.{kind}"));
    let mut mesh_args = strings(&["mesh", "--region", name, "--redis", &redis.url()]);
    mesh_args.extend(strings(&["--rules", &rules.display().to_string()]));
    mesh_args.extend(strings(&["--mesh", &format!("127.0.0.1:{}", ports[place])]));
    for (peer, port) in REGIONS.iter().zip(ports).filter(|(peer, _)| **peer != name) {
        mesh_args.extend(strings(&["--peer", &format!("{peer}=127.0.0.1:{port}")]));
    }
    mesh_args.extend(strings(&[
        "--ca",
        &certificates.join("ca.pem").display().to_string(),
    ]));
    mesh_args.extend(strings(&["--cert", &own("pem").display().to_string()]));
    mesh_args.extend(strings(&["--key", &own("key").display().to_string()]));
    let free = ["--admin", "127.0.0.1:0", "--grpc", "127.0.0.1:0"];
    let mut first_args = mesh_args.clone();
    first_args.extend(strings(&free));
    let mesh = Regiond::start(&first_args);
    // After a kill the daemon comes back where its pods and operators know it.
    mesh_args.extend(strings(&["--admin", &mesh.address("admin")]));
    mesh_args.extend(strings(&["--grpc", &mesh.address("grpc")]));

    let mut args = strings(&["limiter", "--region", name, "--redis", &redis.url()]);
    args.extend(strings(&[
        "--rules",
        &rules.display().to_string(),
        "--http",
        "127.0.0.1:0",
    ]));
    args.extend(strings(&free));
    args.extend(strings(&["--mesh-daemon", &mesh.address("grpc")]));
    // A test machine that is busy compiling must not turn slowness into failure modes.
    args.extend(strings(&["--store-deadline", "500ms"]));
    let limiter = Regiond::start(&args);
    Region {
        name,
        redis,
        mesh,
        limiter,
        mesh_args,
    }
}

/// Makes a throw-away authority and a certificate for each region, as an operator would.
fn certificates(folder: &Path) -> PathBuf {
    let certificates = folder.join("certificates");
    let run = |args: &[&str]| {
        let output = crate::process::run_regiond(args);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    let path = certificates.display().to_string();
    run(&["certs", "new-ca", &path]);
    for region in REGIONS {
        run(&["certs", "issue", "--ca", &path, region]);
    }
    certificates
}

fn free_udp_port() -> u16 {
    let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("a free UDP port");
    socket.local_addr().expect("it is bound").port()
}

fn strings(args: &[&str]) -> Vec<String> {
    args.iter().map(|arg| (*arg).to_owned()).collect()
}
