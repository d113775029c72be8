//! The addresses a node is bound to, for people and for the programs that start it.

use std::fmt;
use std::net::SocketAddr;

use sync_proto::RegionId;

/// Where a node listens, ports resolved. Absent: this role does not.
#[derive(Clone, Debug)]
pub struct Addresses {
    /// Whose they are.
    pub region: RegionId,
    /// Checks over HTTP.
    pub http: Option<SocketAddr>,
    /// Checks over gRPC, and pods' reports.
    pub grpc: Option<SocketAddr>,
    /// Operators.
    pub admin: SocketAddr,
    /// Other regions (UDP).
    pub mesh: Option<SocketAddr>,
}

impl Addresses {
    fn named(&self) -> impl Iterator<Item = (&'static str, SocketAddr)> {
        let all = [
            ("http", self.http),
            ("grpc", self.grpc),
            ("admin", Some(self.admin)),
            ("mesh", self.mesh),
        ];
        all.into_iter()
            .filter_map(|(name, address)| Some((name, address?)))
    }

    /// One line of JSON: `{"region":"mumbai","http":"127.0.0.1:8080",...}`.
    pub fn to_json(&self) -> String {
        let mut object = serde_json::Map::new();
        object.insert("region".into(), self.region.as_str().into());
        for (name, address) in self.named() {
            object.insert(name.into(), address.to_string().into());
        }
        serde_json::Value::Object(object).to_string()
    }
}

impl fmt::Display for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (name, address)) in self.named().enumerate() {
            write!(f, "{}{name} {address}", if place == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
