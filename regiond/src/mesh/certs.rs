//! New authorities and certificates: for the demo, for tests, and for who has no authority yet.
//!
//! Promises: ECDSA P-256, valid for both ends of a connection. Never writes a file.

use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use sync_proto::RegionId;

use super::names;
use crate::os::Clock;

/// Certificates are valid from a little earlier, for machines whose clocks run behind.
const BACKDATED: Duration = Duration::from_secs(3_600);

/// One day.
const DAY: Duration = Duration::from_secs(86_400);

/// How long a new authority is valid, in days.
const AUTHORITY_DAYS: u32 = 3_650;

/// A certificate and its key, PEM.
#[derive(Clone)]
pub struct NewCertificate {
    /// The certificate.
    pub cert_pem: String,
    /// Its private key.
    pub key_pem: String,
}

impl std::fmt::Debug for NewCertificate {
    /// The certificate alone: a key is in no log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewCertificate")
            .field("cert_pem", &self.cert_pem)
            .finish_non_exhaustive()
    }
}

/// A new certificate authority called `name`.
pub fn new_authority(name: &str) -> anyhow::Result<NewCertificate> {
    let key = KeyPair::generate()?;
    let mut params = parameters(name, AUTHORITY_DAYS);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let certificate = params.self_signed(&key)?;
    Ok(NewCertificate {
        cert_pem: certificate.pem(),
        key_pem: key.serialize_pem(),
    })
}

/// A certificate for `region`, by `authority`, valid for `days` from now.
pub fn issue(
    authority: &NewCertificate,
    region: &RegionId,
    days: u32,
) -> anyhow::Result<NewCertificate> {
    sign(authority, region_parameters(region, days)?)
}

/// A certificate as `params` say, by `authority`.
pub(super) fn sign(
    authority: &NewCertificate,
    mut params: CertificateParams,
) -> anyhow::Result<NewCertificate> {
    let authority_key = KeyPair::from_pem(&authority.key_pem)?;
    let issuer = Issuer::from_ca_cert_pem(&authority.cert_pem, authority_key)?;
    params.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, &issuer)?;
    Ok(NewCertificate {
        cert_pem: certificate.pem(),
        key_pem: key.serialize_pem(),
    })
}

/// A certificate that proves nothing: signed by its own key.
pub(super) fn self_signed(region: &RegionId) -> anyhow::Result<NewCertificate> {
    let key = KeyPair::generate()?;
    let certificate = region_parameters(region, AUTHORITY_DAYS)?.self_signed(&key)?;
    Ok(NewCertificate {
        cert_pem: certificate.pem(),
        key_pem: key.serialize_pem(),
    })
}

/// What a certificate of `region` says.
pub(super) fn region_parameters(region: &RegionId, days: u32) -> anyhow::Result<CertificateParams> {
    let mut params = parameters(region.as_str(), days);
    params.subject_alt_names = vec![rcgen::SanType::DnsName(names::dns_name(region).try_into()?)];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![
        ExtendedKeyUsagePurpose::ServerAuth,
        ExtendedKeyUsagePurpose::ClientAuth,
    ];
    Ok(params)
}

fn parameters(name: &str, days: u32) -> CertificateParams {
    let mut params = CertificateParams::default();
    let now = Duration::from_micros(Clock::start().wall().as_micros());
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    params.not_before = epoch + now.saturating_sub(BACKDATED);
    params.not_after = epoch + now + DAY * days;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}
