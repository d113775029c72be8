//! From texts to a configuration: every value typed, every combination sensible, every error with its origin.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;

use limiter_core::rule::parse_span;
use sync_proto::{RegionId, Span};

use super::layers::{Layers, Origin, Setting};
use super::{Config, Peer, TlsFiles};

/// What is wrong with the settings, in order of the table.
#[derive(Debug, Default)]
struct Problems(Vec<String>);

impl Problems {
    fn add(&mut self, name: &str, setting: &Setting, message: &str) {
        let value = setting.values.join(", ");
        self.0.push(format!(
            "{name} {value:?} (from {}): {message}",
            setting.origin
        ));
    }
}

/// A configuration from settings.
///
/// # Errors
/// One line for each value that cannot be, naming where it was said.
pub(super) fn parse(layers: &Layers) -> anyhow::Result<Config> {
    let mut problems = Problems::default();
    let reader = Reader { layers };
    let config = reader.config(&mut problems);
    if let Some(config) = &config {
        refuse_nonsense(config, layers, &mut problems);
    }
    match config {
        Some(config) if problems.0.is_empty() => Ok(config),
        _ => Err(anyhow::anyhow!("{}", problems.0.join("\n"))),
    }
}

struct Reader<'a> {
    layers: &'a Layers,
}

impl Reader<'_> {
    fn config(&self, problems: &mut Problems) -> Option<Config> {
        let region = self.one("region", problems, |text| {
            RegionId::from_str(text).map_err(|it| it.to_string())
        });
        let http = self.address("http", problems);
        let grpc = self.address("grpc", problems);
        let admin = self.address("admin", problems);
        let mesh = self.address("mesh", problems);
        let minute = Span::from_secs(60);
        let tick = self.span("tick", (sync_proto::bounds::TICK_MIN, minute), problems);
        let grace = self.span("grace", (Span::ZERO, minute.times(10)), problems);
        let deadline = (Span::from_millis(1), Span::from_secs(1));
        let store_deadline = self.span("store-deadline", deadline, problems);
        let peers = self.peers(problems);
        let tls = self.tls(problems);
        Some(Config {
            region: region?,
            rules: self.path("rules"),
            redis: self
                .layers
                .setting("redis")
                .map(|it| it.values.clone())
                .unwrap_or_default(),
            http: http?,
            grpc: grpc?,
            admin: admin?,
            mesh: mesh?,
            peers: peers?,
            mesh_daemon: self.text("mesh-daemon"),
            tls: tls?,
            data: self.path("data"),
            tick: tick?,
            grace: grace?,
            store_deadline: store_deadline?,
            print_addresses: false,
        })
    }

    fn text(&self, name: &str) -> Option<String> {
        self.layers.setting(name)?.values.first().cloned()
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        self.text(name).map(PathBuf::from)
    }

    fn one<T>(
        &self,
        name: &str,
        problems: &mut Problems,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let setting = self.layers.setting(name)?;
        let text = setting.values.first().map_or("", String::as_str);
        read(text)
            .map_err(|message| problems.add(name, setting, &message))
            .ok()
    }

    fn address(&self, name: &str, problems: &mut Problems) -> Option<SocketAddr> {
        self.one(name, problems, |text| {
            let mut found = text
                .to_socket_addrs()
                .map_err(|_| String::new())
                .into_iter()
                .flatten();
            found
                .next()
                .ok_or_else(|| "an address is host:port, such as 127.0.0.1:8080".to_owned())
        })
    }

    fn span(
        &self,
        name: &str,
        (least, most): (Span, Span),
        problems: &mut Problems,
    ) -> Option<Span> {
        self.one(name, problems, |text| match parse_span(text) {
            Some(span) if (least..=most).contains(&span) => Ok(span),
            Some(_) => Err(format!("from {least} to {most} is allowed")),
            None => Err("a length of time is a number with a unit: 250ms, 1s, 1m30s".to_owned()),
        })
    }

    fn peers(&self, problems: &mut Problems) -> Option<Vec<Peer>> {
        let setting = self.layers.setting("peer")?;
        let peer = |text: &String| {
            let (name, address) = text.split_once('=')?;
            let (host, port) = address.rsplit_once(':')?;
            let sane = !host.is_empty() && port.parse::<u16>().is_ok();
            let region = RegionId::new(name).ok().filter(|_| sane)?;
            Some(Peer {
                region,
                address: address.to_owned(),
            })
        };
        let peers: Option<Vec<Peer>> = setting.values.iter().map(peer).collect();
        if peers.is_none() {
            problems.add(
                "peer",
                setting,
                "a peer is NAME=HOST:PORT, such as singapore=10.2.0.1:7946",
            );
        }
        peers
    }

    fn tls(&self, problems: &mut Problems) -> Option<Option<TlsFiles>> {
        match (self.path("ca"), self.path("cert"), self.path("key")) {
            (None, None, None) => Some(None),
            (Some(ca), Some(cert), Some(key)) => Some(Some(TlsFiles { ca, cert, key })),
            _ => {
                problems.0.push(
                    "ca, cert and key go together: name all three, or none; \
                     `regiond certs` makes them"
                        .to_owned(),
                );
                None
            }
        }
    }
}

/// Values that are fine alone and wrong together.
fn refuse_nonsense(config: &Config, layers: &Layers, problems: &mut Problems) {
    let none = Setting {
        values: Vec::new(),
        origin: Origin::Default,
    };
    let setting = |name: &str| layers.setting(name).unwrap_or(&none);
    if config.peers.iter().any(|peer| peer.region == config.region) {
        problems.add(
            "peer",
            setting("peer"),
            "names this very region; name the others",
        );
    }
    if !config.admin.ip().is_loopback() {
        let message =
            "the admin port has no access control in this version, so it stays on loopback";
        problems.add("admin", setting("admin"), message);
    }
    if config.tls.is_some() {
        return;
    }
    let advice = "without certificates the mesh does not leave loopback; \
                  make some with `regiond certs` and name them with --ca, --cert and --key";
    if !config.mesh.ip().is_loopback() {
        problems.add("mesh", setting("mesh"), advice);
    }
    let far = |peer: &Peer| {
        let found = peer
            .address
            .to_socket_addrs()
            .ok()
            .and_then(|mut found| found.next());
        found.is_none_or(|address| !address.ip().is_loopback())
    };
    if config.peers.iter().any(far) {
        problems.add("peer", setting("peer"), advice);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::layers::Texts;

    fn parsed(flags: &[(&'static str, &str)]) -> anyhow::Result<Config> {
        let mut texts = Texts::new();
        for (name, value) in flags {
            texts.entry(name).or_default().push((*value).to_owned());
        }
        parse(&Layers::lay(
            &texts,
            |_| None,
            std::collections::BTreeMap::new(),
        ))
    }

    #[test]
    fn defaults_are_a_region_of_one_on_loopback() {
        let config = parsed(&[]).unwrap();
        assert_eq!(config.region.as_str(), "local");
        assert_eq!(config.http.to_string(), "127.0.0.1:8080");
        assert_eq!(config.mesh.to_string(), "127.0.0.1:7946");
        assert_eq!(config.tick, Span::from_secs(1));
        assert!(config.peers.is_empty() && config.tls.is_none());
    }

    #[test]
    fn every_refusal_names_the_flag_and_the_accepted_form() {
        for (flags, named) in [
            (vec![("region", "Mumbai")], "a-z"),
            (vec![("http", "8080")], "host:port"),
            (vec![("tick", "5")], "unit"),
            (vec![("tick", "1ms")], "from 20ms"),
            (vec![("peer", "singapore")], "NAME=HOST:PORT"),
            (vec![("ca", "ca.pem")], "certs"),
            (vec![("mesh", "0.0.0.0:7946")], "certs"),
            (vec![("peer", "a=192.0.2.1:7946")], "certs"),
            (vec![("admin", "0.0.0.0:9090")], "loopback"),
            (
                vec![("region", "a"), ("peer", "a=127.0.0.1:1")],
                "this very region",
            ),
        ] {
            let error = parsed(&flags).unwrap_err().to_string();
            assert!(error.contains(named), "{flags:?}: {error}");
        }
    }
}
