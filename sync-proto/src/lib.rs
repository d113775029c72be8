//! Counts shared between regions, without IO.

pub mod bounds;
mod ids;
mod mesh;
mod time;

pub use ids::{CounterName, Epoch, IdError, Incarnation, RegionId, WindowId};
pub use mesh::{
    Cell, CounterView, FrameError, Lane, Mesh, MeshConfig, MeshEvent, Pace, PartView, PeerChange,
    PeerState, PeerStatus, Push, Transmit, Usage,
};
pub use time::{MonoTime, Now, Span, WallTime};
