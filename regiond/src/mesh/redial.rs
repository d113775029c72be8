//! Keeps one connection to one peer: dials, listens until it closes, and dials again.
//!
//! Promises: waits between attempts grow to a bound and are spread, so that a region that comes back is not met by
//! everyone at once. Never gives up; who forgets the peer ends the task.

use std::time::Duration;

use tracing::{debug, info, warn};

use super::bounds::{REDIAL_MAX, REDIAL_MIN, SETTLED};
use super::links::Links;
use super::{quic, receive};
use crate::config::Peer;

/// Runs until aborted.
pub(super) async fn run(links: Links, peer: Peer) {
    let mut wait = REDIAL_MIN;
    for attempt in 0_usize.. {
        let identity = links.identity();
        let dialled = quic::dial(
            links.endpoint(),
            &identity,
            &peer.region,
            &peer.address,
            attempt,
        );
        match dialled.await {
            Ok(connection) => {
                info!(peer = %peer.region, address = %connection.remote_address(), "Connected.");
                links.set_way(&peer.region, Some(connection.clone()));
                // Gossip repeats itself, so a greeting that finds the queue full is not missed.
                let _full = links.sinks().greet.try_send(connection.remote_address());
                let since = links.clock().mono();
                receive::hear(&links, &peer.region, &connection).await;
                links.set_way(&peer.region, None);
                // A peer that turns us away does so only after our own handshake is done: that is no success.
                if links.clock().mono().since(since) >= SETTLED {
                    wait = REDIAL_MIN;
                }
                let why = connection.close_reason();
                let why = why.map_or_else(String::new, |why| why.to_string());
                debug!(peer = %peer.region, why, "A connection closed.");
            }
            Err(error) => {
                debug!(peer = %peer.region, address = peer.address, %error, "Could not connect.");
                if links.refusals().may_log(&format!("dial {}", peer.region)) {
                    warn!(peer = %peer.region, address = peer.address, %error, "Could not connect; trying on.");
                }
            }
        }
        tokio::time::sleep(spread(wait)).await;
        wait = wait.saturating_mul(2).min(REDIAL_MAX);
    }
}

/// Between half of `wait` and all of it.
fn spread(wait: Duration) -> Duration {
    let half = wait / 2;
    let micros = u64::try_from(half.as_micros()).unwrap_or(u64::MAX).max(1);
    half.saturating_add(Duration::from_micros(crate::os::entropy() % micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_spread_over_its_upper_half() {
        for _ in 0..100 {
            let wait = spread(REDIAL_MAX);
            assert!(wait >= REDIAL_MAX / 2 && wait <= REDIAL_MAX, "{wait:?}");
        }
    }
}
