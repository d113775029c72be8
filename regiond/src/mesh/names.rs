//! The region that a certificate speaks for.
//!
//! Promises: exactly one region per certificate, by the DNS name `<region>.mesh.regiond`, whatever else it carries.

use rustls::pki_types::CertificateDer;
use sync_proto::RegionId;

/// What a region's name is followed by in a certificate, so that no other certificate of the same authority is a region's.
const SUFFIX: &str = ".mesh.regiond";

/// Why a certificate speaks for no region.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotARegion {
    /// It cannot be read.
    #[error("the certificate cannot be read: {0}")]
    Malformed(String),
    /// It carries no region's name.
    #[error(
        "the certificate carries no region's name: it needs one DNS name `<region>{SUFFIX}`, and has [{0}]"
    )]
    Nameless(String),
    /// It carries more than one.
    #[error("the certificate speaks for more than one region: {0}")]
    Several(String),
}

/// The DNS name that a certificate of `region` carries.
pub(super) fn dns_name(region: &RegionId) -> String {
    format!("{region}{SUFFIX}")
}

/// The region that `certificate` speaks for; whoever calls has checked where it comes from.
pub(super) fn region_of(certificate: &CertificateDer<'_>) -> Result<RegionId, NotARegion> {
    let certificate = webpki::EndEntityCert::try_from(certificate)
        .map_err(|error| NotARegion::Malformed(error.to_string()))?;
    let names: Vec<&str> = certificate.valid_dns_names().collect();
    let mut regions = names
        .iter()
        .filter_map(|name| RegionId::new(name.strip_suffix(SUFFIX)?).ok())
        .collect::<Vec<_>>();
    regions.sort();
    regions.dedup();
    match (regions.pop(), regions.is_empty()) {
        (Some(region), true) => Ok(region),
        (Some(_), false) => Err(NotARegion::Several(names.join(", "))),
        (None, _) => Err(NotARegion::Nameless(names.join(", "))),
    }
}
