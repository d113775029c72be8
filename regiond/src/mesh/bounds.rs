//! Every cap and pace of the mesh's shell in one place, each with what happens when it is hit.

use std::time::Duration;

use sync_proto::Span;
use sync_proto::bounds::FRAME_BYTES_MAX;

/// A message on a stream or in a datagram: its kind and a frame. A longer one is refused unread.
pub(super) const MESSAGE_BYTES_MAX: usize = FRAME_BYTES_MAX + 1;

/// Streams to one peer that are not acknowledged yet. One more frame is dropped: what it told is sent again.
pub(super) const STREAMS_OUT_MAX: usize = 64;

/// Streams that a peer may have open to us on one connection; it waits before it opens one more.
pub(super) const STREAMS_IN_MAX: u32 = 64;

/// Bytes of one connection's datagrams that wait to be sent, or to be read. The oldest are dropped first.
pub(super) const DATAGRAM_BUFFER_BYTES: usize = 256 * 1024;

/// Connections of one region that are listened to. The oldest is closed for a new one.
pub(super) const CONNECTIONS_PER_REGION_MAX: usize = 4;

/// Handshakes of strangers at one time. One more is turned away.
pub(super) const HANDSHAKES_MAX: usize = 64;

/// Inputs that wait for the driver. Readers wait, and their peers with them; pods' reports wait, too.
pub(super) const INBOX_MAX: usize = 1_024;

/// Inputs handled before frames are sent and folds are started.
pub(super) const INPUTS_PER_TURN: usize = 256;

/// Frames sent before inputs are looked at again.
pub(super) const FRAMES_PER_TURN: usize = 1_024;

/// Folds of one pass over the store. More go into the next pass.
pub(super) const FOLDS_PER_PASS: usize = 4_096;

/// Pods that are counted. More are not, so that shares of the local failure mode stop shrinking.
pub(super) const PODS_MAX: usize = 4_096;

/// Messages of the membership that wait to be handled. One more is dropped; gossip repeats itself.
pub(super) const GOSSIP_QUEUE_MAX: usize = 256;

/// Peers whose refusals are told apart in the log.
pub(super) const REFUSED_PEERS_MAX: usize = 256;

/// At most one log line per peer and this long about what was refused.
pub(super) const REFUSAL_LOG_SPACING: Span = Span::from_secs(60);

/// How often an idle connection proves that it lives.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(1);

/// A connection that is silent for so long is closed and dialled anew.
pub(super) const IDLE_MAX: Duration = Duration::from_secs(5);

/// The longest wait for a handshake.
pub(super) const HANDSHAKE_MAX: Duration = Duration::from_secs(2);

/// The longest wait for a stream to be written and acknowledged, or read to its end.
pub(super) const STREAM_MAX: Duration = Duration::from_secs(10);

/// The first wait before a peer is dialled again; it doubles up to [`REDIAL_MAX`].
pub(super) const REDIAL_MIN: Duration = Duration::from_millis(100);

/// The longest wait before a peer is dialled again.
pub(super) const REDIAL_MAX: Duration = Duration::from_secs(2);

/// A connection that has lasted so long was a success: the next wait begins at [`REDIAL_MIN`] again.
pub(super) const SETTLED: Span = Span::from_secs(5);

/// How often the membership is gossiped about, and looked at.
pub(super) const GOSSIP_EVERY: Duration = Duration::from_millis(500);

/// A node of the membership that was dead for so long is forgotten.
pub(super) const DEAD_NODE_KEPT: Duration = Duration::from_secs(3_600);

/// How often status and gauges are refreshed.
pub(super) const STATUS_EVERY: Span = Span::from_millis(250);

/// The least time between two turns of the driver that nothing but a timer asked for.
pub(super) const TURN_MIN: Span = Span::from_millis(1);

/// The longest wait, each, for the last frames, the farewell and the closing of connections.
pub(super) const FAREWELL_MAX: Duration = Duration::from_millis(500);

/// The least and the greatest time between two heartbeats; in between, a fifth of the tick.
pub(super) const HEARTBEAT_MIN: Span = Span::from_millis(20);

/// See [`HEARTBEAT_MIN`].
pub(super) const HEARTBEAT_MAX: Span = Span::from_millis(200);

/// The least time between two urgent sendings to a peer.
pub(super) const URGENT_SPACING: Span = Span::from_millis(50);

/// A peer is not late before this long, however short the tick: three lost heartbeats are no news.
pub(super) const LATE_MIN: Span = Span::from_millis(600);

/// Late for so long, a peer is down.
pub(super) const DOWN_AFTER: Span = Span::from_secs(10);

/// How long after it was last busy a counter still travels.
pub(super) const BUSY_LINGER: Span = Span::from_secs(15);

const _: () = assert!(HEARTBEAT_MAX.times(3).as_micros() <= LATE_MIN.as_micros());
