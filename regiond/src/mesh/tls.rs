//! A region's identity: its certificate, and whom it trusts.
//!
//! Promises: TLS 1.3 with certificates on both sides; what is loaded is usable, or the error names the file and the
//! remedy. Never reads a file again by itself; a reload makes a new identity.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{CertificateError, RootCertStore};
use sync_proto::RegionId;

use super::certs::{NewCertificate, self_signed};
use super::unproven::Unproven;
use super::{names, quic};
use crate::config::TlsFiles;
use crate::os::Clock;

/// What both ends speak; another version of the transport would have another name.
const ALPN: &[u8] = b"regiond-mesh/1";

/// Our certificate and whom we trust, loaded and checked.
#[derive(Clone, Debug)]
pub struct MeshIdentity {
    pub(super) region: RegionId,
    pub(super) client: quinn::ClientConfig,
    pub(super) server: quinn::ServerConfig,
    /// Whether certificates say who a peer is. Otherwise the mesh stays on loopback.
    pub(super) proven: bool,
}

impl MeshIdentity {
    /// From files. The certificate must carry the region's name.
    pub fn from_files(region: &RegionId, files: &TlsFiles) -> anyhow::Result<Self> {
        let read = |path: &std::path::Path| -> anyhow::Result<Source> {
            let pem = std::fs::read(path)
                .with_context(|| format!("{}: the file cannot be read", path.display()))?;
            Ok(Source {
                name: path.display().to_string(),
                pem,
            })
        };
        Self::from_sources(
            region,
            &read(&files.ca)?,
            &read(&files.cert)?,
            &read(&files.key)?,
        )
    }

    /// From PEM in memory: the demo's throw-away authority.
    pub fn from_pem(
        region: &RegionId,
        ca_pem: &str,
        certificate: &NewCertificate,
    ) -> anyhow::Result<Self> {
        let source = |name: &str, pem: &str| Source {
            name: name.to_owned(),
            pem: pem.into(),
        };
        Self::from_sources(
            region,
            &source("authority", ca_pem),
            &source("certificate", &certificate.cert_pem),
            &source("key", &certificate.key_pem),
        )
    }

    /// Without certificates: accepts every region, encrypted but unproven. For loopback alone.
    pub fn unproven(region: &RegionId) -> anyhow::Result<Self> {
        let certificate = self_signed(region)?;
        let source = |name: &str, pem: &str| Source {
            name: name.to_owned(),
            pem: pem.into(),
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = Arc::new(Unproven {
            algorithms: provider.signature_verification_algorithms,
        });
        let ours = Ours {
            chain: source("certificate", &certificate.cert_pem).certificates()?,
            key: source("key", &certificate.key_pem).key()?,
        };
        Self::assemble(region, provider, verifier.clone(), verifier, ours).map(|identity| Self {
            proven: false,
            ..identity
        })
    }

    fn from_sources(
        region: &RegionId,
        ca: &Source,
        cert: &Source,
        key: &Source,
    ) -> anyhow::Result<Self> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        for authority in ca.certificates()? {
            roots
                .add(authority)
                .map_err(|error| anyhow!("{}: not usable as an authority: {error}", ca.name))?;
        }
        let roots = Arc::new(roots);
        let server =
            WebPkiServerVerifier::builder_with_provider(roots.clone(), provider.clone()).build()?;
        let client =
            WebPkiClientVerifier::builder_with_provider(roots, provider.clone()).build()?;
        let ours = Ours {
            chain: cert.certificates()?,
            key: key.key()?,
        };
        ours.check_name(region, &cert.name)?;
        ours.check_trust(client.as_ref(), ca, cert)?;
        Self::assemble(region, provider, server, client, ours).map_err(|error| {
            match error.downcast_ref() {
                Some(rustls::Error::InconsistentKeys(_)) => anyhow!(
                    "{}: this is not the key of the certificate in {}",
                    key.name,
                    cert.name
                ),
                _ => error.context(format!("{} and {} are not usable", cert.name, key.name)),
            }
        })
    }

    fn assemble(
        region: &RegionId,
        provider: Arc<CryptoProvider>,
        server_verifier: Arc<dyn ServerCertVerifier>,
        client_verifier: Arc<dyn ClientCertVerifier>,
        ours: Ours,
    ) -> anyhow::Result<Self> {
        let mut client = rustls::ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(server_verifier)
            .with_client_auth_cert(ours.chain.clone(), ours.key.clone_key())?;
        client.alpn_protocols = vec![ALPN.to_vec()];
        // A resumed session would go on under a certificate that has been replaced.
        client.resumption = rustls::client::Resumption::disabled();
        let mut server = rustls::ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_client_cert_verifier(client_verifier)
            .with_single_cert(ours.chain, ours.key)?;
        server.alpn_protocols = vec![ALPN.to_vec()];
        server.send_tls13_tickets = 0;

        let transport = Arc::new(quic::transport()?);
        let mut client = quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(client)?));
        client.transport_config(transport.clone());
        let mut server =
            quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(server)?));
        server
            .transport_config(transport)
            .max_incoming(super::bounds::HANDSHAKES_MAX);
        Ok(Self {
            region: region.clone(),
            client,
            server,
            proven: true,
        })
    }
}

/// Where PEM came from, and the PEM.
struct Source {
    name: String,
    pem: Vec<u8>,
}

impl Source {
    fn certificates(&self) -> anyhow::Result<Vec<CertificateDer<'static>>> {
        let found = CertificateDer::pem_slice_iter(&self.pem)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| anyhow!("{}: not PEM: {error}", self.name))?;
        if found.is_empty() {
            bail!(
                "{}: no certificate in it (-----BEGIN CERTIFICATE-----)",
                self.name
            );
        }
        Ok(found)
    }

    fn key(&self) -> anyhow::Result<PrivateKeyDer<'static>> {
        PrivateKeyDer::from_pem_slice(&self.pem).map_err(|error| {
            anyhow!(
                "{}: no private key in it (-----BEGIN PRIVATE KEY-----): {error}",
                self.name
            )
        })
    }
}

/// What we show.
struct Ours {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Ours {
    fn check_name(&self, region: &RegionId, name: &str) -> anyhow::Result<()> {
        let Some(own) = self.chain.first() else {
            bail!("{name}: no certificate in it")
        };
        let proven = names::region_of(own).with_context(|| {
            format!(
                "{name}: region {region} needs the DNS name {}",
                names::dns_name(region)
            )
        })?;
        if proven != *region {
            bail!(
                "{name}: the certificate is region {proven}'s; region {region} needs one with the DNS name {}",
                names::dns_name(region)
            );
        }
        Ok(())
    }

    /// That peers who trust what we trust will trust us.
    fn check_trust(
        &self,
        verifier: &dyn ClientCertVerifier,
        ca: &Source,
        cert: &Source,
    ) -> anyhow::Result<()> {
        let Some((own, rest)) = self.chain.split_first() else {
            bail!("{}: no certificate in it", cert.name);
        };
        let now = Duration::from_micros(Clock::start().wall().as_micros());
        let Err(error) = verifier.verify_client_cert(own, rest, UnixTime::since_unix_epoch(now))
        else {
            return Ok(());
        };
        let remedy = match &error {
            rustls::Error::InvalidCertificate(
                CertificateError::Expired | CertificateError::ExpiredContext { .. },
            ) => "the certificate has expired; issue a new one".to_owned(),
            rustls::Error::InvalidCertificate(
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. },
            ) => "the certificate is not valid yet; check this machine's clock".to_owned(),
            rustls::Error::InvalidCertificate(
                CertificateError::UnknownIssuer | CertificateError::BadSignature,
            ) => {
                format!(
                    "the certificate was not issued by an authority in {}",
                    ca.name
                )
            }
            _ => "the certificate cannot be used".to_owned(),
        };
        Err(anyhow!(error).context(format!("{}: {remedy}", cert.name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::certs;
    use crate::mesh::{issue, new_authority};

    fn region(name: &str) -> RegionId {
        RegionId::new(name).unwrap()
    }

    fn refusal(result: anyhow::Result<MeshIdentity>) -> String {
        format!("{:#}", result.map(|_| ()).unwrap_err())
    }

    #[test]
    fn a_certificate_of_the_authority_with_the_regions_name_is_accepted() {
        let ca = new_authority("test").unwrap();
        let certificate = issue(&ca, &region("mumbai"), 1).unwrap();
        let identity = MeshIdentity::from_pem(&region("mumbai"), &ca.cert_pem, &certificate);
        assert!(identity.unwrap().proven);
    }

    #[test]
    fn a_certificate_of_another_authority_is_refused_at_loading() {
        let (ca, other) = (
            new_authority("test").unwrap(),
            new_authority("other").unwrap(),
        );
        let certificate = issue(&other, &region("mumbai"), 1).unwrap();
        let told = refusal(MeshIdentity::from_pem(
            &region("mumbai"),
            &ca.cert_pem,
            &certificate,
        ));
        assert!(
            told.contains("not issued by an authority in authority"),
            "{told}"
        );
    }

    #[test]
    fn a_certificate_of_another_region_is_refused_with_both_names() {
        let ca = new_authority("test").unwrap();
        let certificate = issue(&ca, &region("delhi"), 1).unwrap();
        let told = refusal(MeshIdentity::from_pem(
            &region("mumbai"),
            &ca.cert_pem,
            &certificate,
        ));
        assert!(
            told.contains("region delhi's") && told.contains("mumbai.mesh.regiond"),
            "{told}"
        );
    }

    #[test]
    fn an_expired_certificate_is_refused_as_expired() {
        let ca = new_authority("test").unwrap();
        let mut params = certs::region_parameters(&region("mumbai"), 1).unwrap();
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2021, 1, 1);
        let certificate = certs::sign(&ca, params).unwrap();
        let told = refusal(MeshIdentity::from_pem(
            &region("mumbai"),
            &ca.cert_pem,
            &certificate,
        ));
        assert!(told.contains("has expired"), "{told}");
    }

    #[test]
    fn a_key_of_another_certificate_is_refused() {
        let ca = new_authority("test").unwrap();
        let mut certificate = issue(&ca, &region("mumbai"), 1).unwrap();
        certificate.key_pem = issue(&ca, &region("mumbai"), 1).unwrap().key_pem;
        let told = refusal(MeshIdentity::from_pem(
            &region("mumbai"),
            &ca.cert_pem,
            &certificate,
        ));
        assert!(told.contains("not the key of the certificate"), "{told}");
    }

    #[test]
    fn a_file_without_pem_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let files = TlsFiles {
            ca: path("ca.pem"),
            cert: path("cert.pem"),
            key: path("key.pem"),
        };
        let told = refusal(MeshIdentity::from_files(&region("mumbai"), &files));
        assert!(told.contains("ca.pem: the file cannot be read"), "{told}");
        for name in ["ca.pem", "cert.pem", "key.pem"] {
            std::fs::write(path(name), "hello").unwrap();
        }
        let told = refusal(MeshIdentity::from_files(&region("mumbai"), &files));
        assert!(told.contains("ca.pem: no certificate in it"), "{told}");
    }

    #[test]
    fn a_private_key_is_in_no_debug_output() {
        let ca = new_authority("test").unwrap();
        assert!(!format!("{ca:?}").contains("PRIVATE KEY"));
    }
}
