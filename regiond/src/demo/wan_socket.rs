//! Skeleton, replaced by the mesh's owner.
use std::net::SocketAddr;
use std::sync::Arc;
use sync_proto::Span;
/// Links.
#[derive(Clone, Debug)]
pub struct WanLinks {}
#[allow(unused_variables)]
impl WanLinks {
    /// New.
    pub fn new(seed: u64) -> Self { unimplemented!() }
    /// Delay.
    pub fn set_delay(&self, to: SocketAddr, delay: Span, jitter: Span) { unimplemented!() }
    /// Cut.
    pub fn cut(&self, to: SocketAddr) { unimplemented!() }
    /// Heal.
    pub fn heal(&self, to: SocketAddr) { unimplemented!() }
}
/// Socket.
#[derive(Debug)]
pub struct WanSocket {}
impl WanSocket {
    /// Wrap.
    pub fn wrap(inner: Arc<dyn quinn::AsyncUdpSocket>, _wan: WanLinks) -> Arc<dyn quinn::AsyncUdpSocket> { inner }
}
