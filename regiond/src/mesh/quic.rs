//! The QUIC endpoint: how it is set up, whom it lets in, and who a connection's other end is.
//!
//! Promises: no connection is listened to before its other end has proven a region's name. Never reads a frame.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use quinn::{
    Connection, ConnectionError, Endpoint, EndpointConfig, TokioRuntime, TransportConfig, VarInt,
};
use rustls::pki_types::CertificateDer;
use sync_proto::RegionId;
use tokio::time::timeout;
use tracing::debug;

use super::bounds::{
    DATAGRAM_BUFFER_BYTES, HANDSHAKE_MAX, IDLE_MAX, KEEP_ALIVE, MESSAGE_BYTES_MAX, STREAMS_IN_MAX,
};
use super::links::Links;
use super::names::{self, NotARegion};
use super::refusals::STRANGER;
use super::tls::MeshIdentity;

/// Why a connection was closed by us, for the other end's log.
#[derive(Clone, Copy, Debug)]
pub(super) enum Closing {
    /// We stop, or have a newer connection.
    Done,
    /// The other end is not the region that it must be.
    WrongRegion,
}

impl Closing {
    /// Closes `connection` for this reason.
    pub(super) fn close(self, connection: &Connection) {
        let reason: &[u8] = match self {
            Self::Done => b"done",
            Self::WrongRegion => b"wrong region",
        };
        connection.close(VarInt::from_u32(self as u32), reason);
    }
}

/// Why the other end of a connection is not accepted.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unwelcome {
    /// The handshake failed.
    #[error("the handshake failed: {0}")]
    Handshake(#[from] ConnectionError),
    /// The handshake took too long.
    #[error("the handshake was not finished in time")]
    Slow,
    /// It could not even begin.
    #[error("the address cannot be dialled: {0}")]
    Undialable(#[from] quinn::ConnectError),
    /// The address could not be resolved.
    #[error("the address cannot be resolved: {0}")]
    Unresolved(#[from] std::io::Error),
    /// The name has no address that our socket can reach.
    #[error("the name has no address of our socket's family")]
    NoAddress,
    /// It showed no certificate that speaks for a region.
    #[error(transparent)]
    NotARegion(#[from] NotARegion),
    /// It proved another name than the one dialled.
    #[error("the other end is region {0}")]
    OtherRegion(RegionId),
    /// It claims our own name.
    #[error("the other end speaks for our own region")]
    OwnRegion,
    /// It is somewhere else, and certificates are not in use.
    #[error("without certificates the mesh does not leave loopback")]
    NotLoopback,
}

impl Unwelcome {
    /// Whether we turned the other end away; otherwise it, or the network, gave up.
    fn is_refusal(&self) -> bool {
        match self {
            Self::Handshake(error) => matches!(error, ConnectionError::TransportError(_)),
            Self::NotARegion(_) | Self::OtherRegion(_) | Self::OwnRegion | Self::NotLoopback => {
                true
            }
            Self::Slow | Self::Undialable(_) | Self::Unresolved(_) | Self::NoAddress => false,
        }
    }
}

/// How connections behave, at both ends.
pub(super) fn transport() -> anyhow::Result<TransportConfig> {
    let mut config = TransportConfig::default();
    let stream_bytes = u32::try_from(MESSAGE_BYTES_MAX)?;
    config
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        .max_concurrent_uni_streams(VarInt::from_u32(STREAMS_IN_MAX))
        .stream_receive_window(VarInt::from_u32(stream_bytes))
        .receive_window(VarInt::from_u32(
            stream_bytes.saturating_mul(STREAMS_IN_MAX),
        ))
        .datagram_receive_buffer_size(Some(DATAGRAM_BUFFER_BYTES))
        .datagram_send_buffer_size(DATAGRAM_BUFFER_BYTES)
        .keep_alive_interval(Some(KEEP_ALIVE))
        .max_idle_timeout(Some(IDLE_MAX.try_into()?));
    Ok(config)
}

/// An endpoint on `socket` that lets in whom `identity` trusts.
pub(super) fn endpoint(
    socket: Arc<dyn quinn::AsyncUdpSocket>,
    identity: &MeshIdentity,
) -> anyhow::Result<Endpoint> {
    let address = socket
        .local_addr()
        .context("the mesh's socket has no address")?;
    if !identity.proven && !address.ip().is_loopback() {
        anyhow::bail!(
            "the mesh would listen on {address} without certificates; give it certificates, or an address on loopback"
        );
    }
    Endpoint::new_with_abstract_socket(
        EndpointConfig::default(),
        Some(identity.server.clone()),
        socket,
        Arc::new(TokioRuntime),
    )
    .context("the mesh's endpoint cannot be made")
}

/// Dials `address` and waits until its other end has proven to be `region`.
pub(super) async fn dial(
    endpoint: &Endpoint,
    identity: &MeshIdentity,
    region: &RegionId,
    address: &str,
    attempt: usize,
) -> Result<Connection, Unwelcome> {
    let address = resolve(endpoint, address, attempt).await?;
    if !identity.proven && !address.ip().is_loopback() {
        return Err(Unwelcome::NotLoopback);
    }
    let name = names::dns_name(region);
    let connecting = endpoint.connect_with(identity.client.clone(), address, &name)?;
    let connection = timeout(HANDSHAKE_MAX, connecting)
        .await
        .map_err(|_| Unwelcome::Slow)??;
    match proven_region(&connection) {
        Ok(proven) if proven == *region => Ok(connection),
        Ok(proven) => {
            Closing::WrongRegion.close(&connection);
            Err(Unwelcome::OtherRegion(proven))
        }
        Err(error) => {
            Closing::WrongRegion.close(&connection);
            Err(error.into())
        }
    }
}

/// The `attempt`-th of the name's addresses that our socket can reach: resolved at every attempt, since addresses move.
async fn resolve(
    endpoint: &Endpoint,
    address: &str,
    attempt: usize,
) -> Result<SocketAddr, Unwelcome> {
    let ipv4 = endpoint.local_addr()?.is_ipv4();
    let found: Vec<SocketAddr> = timeout(HANDSHAKE_MAX, tokio::net::lookup_host(address))
        .await
        .map_err(|_| Unwelcome::Slow)??
        .filter(|found| !ipv4 || found.is_ipv4())
        .collect();
    let index = attempt
        .checked_rem(found.len())
        .ok_or(Unwelcome::NoAddress)?;
    found.get(index).copied().ok_or(Unwelcome::NoAddress)
}

/// Lets peers in until the endpoint closes.
pub(super) async fn accept(links: Links) {
    while let Some(incoming) = links.endpoint().accept().await {
        let remote = incoming.remote_address();
        if !links.identity().proven && !remote.ip().is_loopback() {
            incoming.refuse();
            links.refusals().record(STRANGER, &Unwelcome::NotLoopback);
            continue;
        }
        if links.is_crowded() && incoming.may_retry() && !incoming.remote_address_validated() {
            // Whoever floods us from addresses that are not its own never comes back with the token.
            let _unsent = incoming.retry();
            continue;
        }
        let Some(permit) = links.admit_handshake() else {
            incoming.refuse();
            links
                .refusals()
                .record(STRANGER, &"too many handshakes at one time");
            continue;
        };
        let links = links.clone();
        tokio::spawn(async move {
            let welcomed = welcome(&links, incoming).await;
            drop(permit);
            match welcomed {
                Ok((region, connection)) => links.listen(region, connection).await,
                Err(error) => {
                    debug!(%remote, %error, "A connection came to nothing.");
                    if error.is_refusal() {
                        links.refusals().record(STRANGER, &error);
                    }
                }
            }
        });
    }
}

async fn welcome(
    links: &Links,
    incoming: quinn::Incoming,
) -> Result<(RegionId, Connection), Unwelcome> {
    let connection = timeout(HANDSHAKE_MAX, incoming)
        .await
        .map_err(|_| Unwelcome::Slow)??;
    let proven = proven_region(&connection)
        .map_err(Unwelcome::from)
        .and_then(|region| {
            if region == links.identity().region {
                Err(Unwelcome::OwnRegion)
            } else {
                Ok(region)
            }
        });
    match proven {
        Ok(region) => Ok((region, connection)),
        Err(error) => {
            Closing::WrongRegion.close(&connection);
            Err(error)
        }
    }
}

/// The region that the other end's certificate speaks for; the handshake has checked the certificate.
fn proven_region(connection: &Connection) -> Result<RegionId, NotARegion> {
    let shown = connection
        .peer_identity()
        .and_then(|identity| identity.downcast::<Vec<CertificateDer<'static>>>().ok())
        .and_then(|chain| chain.first().cloned())
        .ok_or_else(|| NotARegion::Nameless(String::new()))?;
    names::region_of(&shown)
}

/// Closes everything, and waits a little for the other ends to hear it.
pub(super) async fn close(endpoint: &Endpoint, patience: Duration) {
    endpoint.close(VarInt::from_u32(Closing::Done as u32), b"stopping");
    if timeout(patience, endpoint.wait_idle()).await.is_err() {
        debug!("Connections were still closing.");
    }
}
