//! `GET /v1/mesh/lag` and `/v1/mesh/peers`.
//!
//! Promises: what is not known is null, never zero.
//! Never asks a peer: both tell what the daemon knew a moment ago.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use sync_proto::{MonoTime, PeerState, PeerStatus};

use super::Shared;
use crate::http::Problem;
use crate::mesh::{MeshHandle, MeshStatus};
use crate::os::Clock;

#[derive(Serialize)]
pub(super) struct Lag {
    region: String,
    peers: Vec<PeerLag>,
}

#[derive(Serialize)]
struct PeerLag {
    region: String,
    state: &'static str,
    lag_ms: Option<u64>,
    rtt_ms: Option<u64>,
    clock_skew_ms: Option<i64>,
    last_applied: Option<String>,
    pending_keys: usize,
    bytes_per_s: Option<u64>,
}

#[derive(Serialize)]
pub(super) struct Peers {
    region: String,
    members: Vec<PeerMember>,
}

#[derive(Serialize)]
struct PeerMember {
    region: String,
    address: String,
    alive: bool,
    state: &'static str,
}

pub(super) async fn lag(State(shared): State<Shared>) -> Result<Json<Lag>, Problem> {
    let status = daemon(&shared)?.status();
    let lag = |peer: &PeerStatus| PeerLag {
        region: peer.region.to_string(),
        state: state_name(peer.state),
        lag_ms: peer.lag.map(sync_proto::Span::as_millis),
        rtt_ms: peer.rtt.map(sync_proto::Span::as_millis),
        clock_skew_ms: peer.skew_us.map(|us| us / 1_000),
        last_applied: peer
            .applied_at
            .and_then(|at| wall_clock(shared.admin.clock, at)),
        pending_keys: peer.pending,
        bytes_per_s: shared.rates.per_s(
            &peer.region,
            status.at,
            peer.sent_bytes.saturating_add(peer.received_bytes),
        ),
    };
    let peers = status.peers.iter().map(lag).collect();
    Ok(Json(Lag {
        region: shared.admin.region.to_string(),
        peers,
    }))
}

pub(super) async fn peers(State(shared): State<Shared>) -> Result<Json<Peers>, Problem> {
    let status = daemon(&shared)?.status();
    let members = status.members.iter().map(|member| PeerMember {
        region: member.region.to_string(),
        address: member.address.to_string(),
        alive: member.alive,
        state: if member.region == shared.admin.region {
            state_name(PeerState::Fresh)
        } else {
            state_name(heard(&status, &member.region))
        },
    });
    Ok(Json(Peers {
        region: shared.admin.region.to_string(),
        members: members.collect(),
    }))
}

fn daemon(shared: &Shared) -> Result<&MeshHandle, Problem> {
    let detail = "this process has no mesh daemon; ask the admin port of the region's `regiond mesh` or `regiond up`";
    shared
        .admin
        .mesh
        .as_ref()
        .ok_or_else(|| Problem::new(StatusCode::NOT_FOUND, detail))
}

fn heard(status: &MeshStatus, region: &sync_proto::RegionId) -> PeerState {
    let peer = status.peers.iter().find(|peer| peer.region == *region);
    peer.map_or(PeerState::Unheard, |peer| peer.state)
}

fn state_name(state: PeerState) -> &'static str {
    match state {
        PeerState::Fresh => "alive",
        PeerState::Late => "late",
        PeerState::Down => "down",
        PeerState::Unheard => "unheard",
    }
}

/// A reading of the monotonic clock as RFC 3339 in UTC, to the millisecond, by how long ago it was.
fn wall_clock(clock: Clock, at: MonoTime) -> Option<String> {
    let now = clock.now();
    let micros = now
        .wall
        .as_micros()
        .saturating_sub(now.mono.since(at).as_micros());
    let time = jiff::Timestamp::from_millisecond(i64::try_from(micros / 1_000).ok()?).ok()?;
    Some(format!("{time:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_in_utc_to_the_millisecond() {
        let clock = Clock::start();
        let text = wall_clock(clock, clock.mono()).unwrap();
        assert_eq!(text.len(), "2026-01-01T00:00:00.000Z".len(), "{text}");
        assert!(text.ends_with('Z') && text.contains('T'), "{text}");
        text.parse::<jiff::Timestamp>().unwrap();
    }
}
