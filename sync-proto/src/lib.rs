//! Counts shared between regions, without IO.
//!
//! [`Mesh`] is one daemon's state machine: it takes up what its own region counted and what peers send, and says what to send and
//! what changed. `ALGORITHM.md` beside this crate's manifest says why counts are neither counted twice nor lost.
#![deny(clippy::float_arithmetic, clippy::iter_over_hash_type)]

pub mod bounds;
mod codec;
mod config;
mod counter;
mod delta;
mod error;
mod event;
mod frame;
mod ids;
mod lag;
mod ledger;
mod mesh;
mod pace;
mod packing;
mod session;
mod time;
mod varint;
mod view;

pub use config::MeshConfig;
pub use counter::{Cell, Part};
pub use error::FrameError;
pub use event::{MeshEvent, PeerState};
pub use ids::{CounterName, Epoch, IdError, Incarnation, RegionId, WindowId};
pub use ledger::{Push, Usage};
pub use mesh::{Lane, Mesh, PeerChange, Transmit};
pub use pace::Pace;
pub use time::{MonoTime, Now, Span, WallTime};
pub use view::{CounterView, PartView, PeerStatus};
