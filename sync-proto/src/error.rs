//! Why bytes of a peer were refused.
//!
//! Promises: every variant is the peer's doing, and a refused frame changed nothing.

use crate::bounds::FRAME_BYTES_MAX;
use crate::ids::RegionId;

/// Why a frame was refused: always the peer's fault, and never half applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Larger than any frame may be.
    #[error("the frame has {bytes} bytes; {FRAME_BYTES_MAX} are allowed")]
    Oversized {
        /// Its size.
        bytes: usize,
    },
    /// The bytes are no frame.
    #[error("the frame is malformed at its {what}; compare the versions of both daemons")]
    Malformed {
        /// The part that could not be read.
        what: &'static str,
    },
    /// A protocol version that this daemon does not speak.
    #[error("the frame is of protocol version {version}; upgrade the older of the two daemons")]
    UnknownVersion {
        /// The version it names.
        version: u8,
    },
    /// The frame names another region than the one whose certificate sent it.
    #[error(
        "the frame claims region {claimed}, but its sender is {sender}; check that daemon's region setting"
    )]
    WrongRegion {
        /// Whom the frame claims to speak for.
        claimed: RegionId,
        /// Who was authenticated.
        sender: RegionId,
    },
    /// A peer that calls itself by our own name.
    #[error("a peer calls itself {0}, which is this region; give every region a name of its own")]
    OwnRegion(RegionId),
    /// One region more than a daemon may know.
    #[error("region {0} is one more than a mesh may have; remove regions that are gone")]
    Stranger(RegionId),
}
