//! Certificates.
use sync_proto::RegionId;

use crate::config::TlsFiles;

/// Our certificate and whom we trust, loaded and checked.
#[derive(Clone, Debug)]
pub struct MeshIdentity {}

/// A certificate and its key, PEM.
#[derive(Clone, Debug)]
pub struct NewCertificate {
    /// The certificate.
    pub cert_pem: String,
    /// Its private key.
    pub key_pem: String,
}

impl MeshIdentity {
    /// From files. The certificate must carry the region's name.
    pub fn from_files(_region: &RegionId, _files: &TlsFiles) -> anyhow::Result<Self> { unimplemented!() }
    /// From PEM in memory: the demo's throw-away authority.
    pub fn from_pem(_region: &RegionId, _ca_pem: &str, _certificate: &NewCertificate) -> anyhow::Result<Self> { unimplemented!() }
    /// Without certificates: accepts every region, encrypted but unproven. For loopback alone.
    pub fn unproven(_region: &RegionId) -> anyhow::Result<Self> { unimplemented!() }
}

/// A new certificate authority.
pub fn new_authority(_name: &str) -> anyhow::Result<NewCertificate> { unimplemented!() }

/// A certificate for a region, by an authority.
pub fn issue(_authority: &NewCertificate, _region: &RegionId, _days: u32) -> anyhow::Result<NewCertificate> { unimplemented!() }
