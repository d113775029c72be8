//! What every test of a mesh starts from.

use sync_proto::{Incarnation, MeshConfig, MonoTime, Now, RegionId, Span, WallTime};

pub(crate) fn region(name: &str) -> RegionId {
    RegionId::new(name).unwrap()
}

/// The defaults of the daemon.
pub(crate) fn config(region: &RegionId, incarnation: u64) -> MeshConfig {
    MeshConfig {
        region: region.clone(),
        incarnation: Incarnation(incarnation),
        tick: Span::from_secs(1),
        heartbeat: Span::from_millis(200),
        urgent_spacing: Span::from_millis(100),
        late_after: Span::from_millis(2_500),
        down_after: Span::from_secs(5),
        busy_linger: Span::from_secs(30),
    }
}

/// Both clocks of a daemon whose clocks are ahead of the true time by `ahead`.
pub(crate) fn read(true_us: u64, ahead: Span) -> Now {
    Now {
        mono: MonoTime::from_micros(true_us).plus(ahead),
        wall: WallTime::from_micros(1_700_000_000_000_000 + true_us).plus(ahead),
    }
}
