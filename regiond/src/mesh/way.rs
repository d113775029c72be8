//! One connection as something to send on.
//!
//! Promises: sending never waits; what cannot be sent now is dropped, and sent again by who keeps the state.

use std::sync::Arc;

use bytes::Bytes;
use quinn::{Connection, VarInt};
use sync_proto::Lane;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tracing::debug;

use super::bounds::{STREAM_MAX, STREAMS_OUT_MAX};

/// What a message is about: its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A frame of the mesh.
    Frame = 0,
    /// A message of the membership.
    Gossip = 1,
}

impl Kind {
    /// The kind, and the rest.
    pub(super) fn split(mut message: Bytes) -> Option<(Self, Bytes)> {
        let first = *message.first()?;
        let rest = message.split_off(1);
        match first {
            0 => Some((Self::Frame, rest)),
            1 => Some((Self::Gossip, rest)),
            _ => None,
        }
    }

    /// A message of this kind.
    pub(super) fn message(self, content: &[u8]) -> Bytes {
        let mut message = Vec::with_capacity(content.len().saturating_add(1));
        message.push(self as u8);
        message.extend_from_slice(content);
        message.into()
    }
}

/// A connection to send on. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub(super) connection: Connection,
    streams: Arc<Semaphore>,
}

impl Way {
    /// A way over `connection`.
    pub(super) fn new(connection: Connection) -> Self {
        Self {
            connection,
            streams: Arc::new(Semaphore::new(STREAMS_OUT_MAX)),
        }
    }

    /// Sends; whether it was accepted for sending.
    pub(super) fn send(&self, lane: Lane, message: Bytes) -> bool {
        let fits = self
            .connection
            .max_datagram_size()
            .is_some_and(|max| message.len() <= max);
        match lane {
            Lane::Urgent | Lane::Heartbeat if fits => {
                self.connection.send_datagram(message).is_ok()
            }
            Lane::Urgent | Lane::Heartbeat | Lane::Tick => self.send_stream(message),
        }
    }

    fn send_stream(&self, message: Bytes) -> bool {
        let Ok(permit) = self.streams.clone().try_acquire_owned() else {
            return false;
        };
        let connection = self.connection.clone();
        tokio::spawn(async move {
            if timeout(STREAM_MAX, write(&connection, message))
                .await
                .is_err()
            {
                debug!(remote = %connection.remote_address(), "A stream was not acknowledged in time.");
            }
            drop(permit);
        });
        true
    }

    /// Waits until everything sent on streams is acknowledged or lost.
    pub(super) async fn drained(&self) {
        let all = u32::try_from(STREAMS_OUT_MAX).unwrap_or(u32::MAX);
        drop(self.streams.acquire_many(all).await);
    }
}

/// Writes one message on a stream of its own and waits until it is acknowledged.
async fn write(connection: &Connection, message: Bytes) {
    let written = async {
        let mut stream = connection.open_uni().await.ok()?;
        stream.write_chunk(message).await.ok()?;
        stream.finish().ok()?;
        stream.stopped().await.ok()?
    };
    // A peer that refuses a message counts it itself; here it is as lost as any other.
    if written.await == Some(VarInt::from_u32(REFUSED)) {
        debug!(remote = %connection.remote_address(), "A peer refused a message.");
    }
}

/// Tells the sender of a stream that its message was refused.
pub(super) const REFUSED: u32 = 1;
