//! Callers that ask over gRPC, at a steady pace with jitter, whatever the answers are.
//!
//! Promises: open loop, so a slow answer delays no other question. Never retries.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sync_proto::Span;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::transport::Channel;

use super::script::Caller;
use super::tally::{Tally, Verdict};
use crate::os::Clock;
use crate::wire::limiter_v1::CheckRequest;
use crate::wire::limiter_v1::limiter_client::LimiterClient;

/// An answer later than this counts as none: no gateway would have waited.
const PATIENCE: Duration = Duration::from_secs(2);

/// One caller at one region.
pub(super) struct Source {
    pub(super) caller: Caller,
    /// Index of the caller's key in the tally.
    pub(super) key: usize,
    /// Index of the region.
    pub(super) region: usize,
    pub(super) client: LimiterClient<Channel>,
    pub(super) tally: Arc<Mutex<Tally>>,
    pub(super) clock: Clock,
    /// Draws the jitter of arrivals; never zero.
    pub(super) seed: u64,
}

impl Source {
    /// Asks until `stop`, then waits for what is in flight.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let rate = self.caller.rates[self.region];
        if rate == 0 {
            return;
        }
        let mean = Span::from_secs(1).divided_by(rate);
        let in_flight = TaskTracker::new();
        let mut due = self.clock.mono();
        loop {
            // Uniform between half and one and a half of the mean gap: a steady load that is not a comb.
            let jitter = Span::from_micros(self.draw() % mean.as_micros().max(1));
            due = due.plus(mean.divided_by(2)).plus(jitter);
            let wake = tokio::time::sleep_until(self.clock.instant(due).into());
            tokio::select! {
                () = wake => { in_flight.spawn(self.ask()); }
                () = stop.cancelled() => break,
            }
        }
        in_flight.close();
        in_flight.wait().await;
    }

    fn ask(&self) -> impl Future<Output = ()> + Send + use<> {
        let facts = [(self.caller.fact.to_owned(), self.caller.key.to_owned())];
        let question = CheckRequest {
            descriptors: facts.into_iter().collect(),
            ..CheckRequest::default()
        };
        let (mut client, tally, clock) = (self.client.clone(), self.tally.clone(), self.clock);
        let (region, key) = (self.region, self.key);
        async move {
            let asked = clock.mono();
            let answer = tokio::time::timeout(PATIENCE, client.check(question)).await;
            let now = clock.now();
            let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
            let Ok(Ok(answer)) = answer else {
                return tally.failed(region);
            };
            let allowed = answer.into_inner().allowed;
            tally.answered(
                region,
                key,
                Verdict {
                    allowed,
                    at: now.wall,
                    wait: now.mono.since(asked),
                },
            );
        }
    }

    /// Xorshift: good enough to spread arrivals, and the same for the same seed.
    fn draw(&mut self) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed
    }
}
