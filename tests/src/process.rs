//! Starts the `regiond` binary as its users would, and ends it with the test.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a fixture that cannot be set up fails its test"
)]

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

use crate::poll_until;

/// How long a node may take until it is ready.
const READY: Duration = Duration::from_secs(20);

/// The binary, which `tests/run` builds before any test starts.
pub fn regiond_binary() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let build = test
        .ancestors()
        .nth(2)
        .expect("tests run from <target>/<profile>/deps");
    let binary = build.join("regiond");
    assert!(
        binary.exists(),
        "{} is missing: run tests/run, or cargo build --release first",
        binary.display()
    );
    binary
}

/// Runs a subcommand to its end.
pub fn run_regiond<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Output {
    Command::new(regiond_binary())
        .args(args)
        .env_remove("REGIOND_LOG")
        .stdin(Stdio::null())
        .output()
        .expect("the binary starts")
}

/// A running node. Killed when dropped.
#[derive(Debug)]
pub struct Regiond {
    child: Child,
    /// What `--print-addresses` told.
    pub addresses: Value,
}

impl Regiond {
    /// Starts `regiond ARGS --print-addresses` and waits until it is ready.
    pub fn start<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Self {
        Self::try_start(args).unwrap_or_else(|stderr| panic!("regiond did not start:\n{stderr}"))
    }

    /// As [`Self::start`], or what it said on stderr when it ended instead.
    ///
    /// # Errors
    /// The text of stderr.
    pub fn try_start<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Result<Self, String> {
        let mut child = Command::new(regiond_binary())
            .args(args)
            .arg("--print-addresses")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let log = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.map(|mut stderr| stderr.read_to_string(&mut text));
            text
        });
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = stdout.map(|stdout| BufReader::new(stdout).read_line(&mut line));
            let _ = tell.send(read.map(|_| line));
        });
        let line = told.recv_timeout(READY).ok().flatten().unwrap_or_default();
        match serde_json::from_str(&line) {
            Ok(addresses) => Ok(Self { child, addresses }),
            Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(log.join().unwrap_or_default())
            }
        }
    }

    /// One of its addresses: `http`, `grpc`, `admin` or `mesh`.
    pub fn address(&self, name: &str) -> String {
        self.addresses[name]
            .as_str()
            .unwrap_or_else(|| panic!("no {name} address"))
            .to_owned()
    }

    /// The URL of a path on its HTTP or admin port.
    pub fn url(&self, port: &str, path: &str) -> String {
        format!("http://{}{path}", self.address(port))
    }

    /// Sends it a signal, by name: `TERM`, `STOP`, `CONT`, `HUP`.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .arg(format!("-{name}"))
            .arg(self.child.id().to_string())
            .status();
        assert!(
            sent.is_ok_and(|status| status.success()),
            "cannot send SIG{name}"
        );
    }

    /// `kill -9`, and waits until it is gone.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// SIGTERM, then waits up to `patience` for its end.
    pub async fn terminate(&mut self, patience: Duration) -> Option<ExitStatus> {
        self.signal("TERM");
        let child = &mut self.child;
        poll_until(patience, async || child.try_wait().ok().flatten()).await
    }
}

impl Drop for Regiond {
    fn drop(&mut self) {
        self.kill();
    }
}
