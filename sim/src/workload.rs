//! When clients ask.

use sync_proto::Span;

use crate::kernel::{Seeds, Stream, VirtualTime, exponential, uniform};
use crate::scenario::{Arrivals, ClientSpec};

/// Microseconds in 1000 seconds, the time that rates are told for.
const RATE_TIME_US: u64 = 1_000_000_000;

/// One client's requests to one region.
#[derive(Debug)]
pub(crate) struct Source {
    arrivals: Arrivals,
    mean: Span,
    draws: Stream,
}

impl Source {
    /// The requests of `client` to the region numbered `index`; none when it asks nothing there.
    pub(crate) fn new(
        client: &ClientSpec,
        index: usize,
        region: &str,
        seeds: Seeds,
    ) -> Option<Self> {
        let rate = client
            .per_1000s
            .get(index)
            .copied()
            .filter(|rate| *rate > 0)?;
        Some(Self {
            arrivals: client.arrivals,
            mean: Span::from_micros(RATE_TIME_US / rate),
            draws: seeds.stream(&format!("arrivals/{}/{region}", client.name)),
        })
    }

    /// The first request after traffic begins.
    pub(crate) fn first(&mut self, start: VirtualTime) -> VirtualTime {
        match self.arrivals {
            Arrivals::Constant => start.plus(uniform(&mut self.draws, self.mean)),
            Arrivals::Poisson => self.after(start),
        }
    }

    /// The request after the one at `at`.
    pub(crate) fn after(&mut self, at: VirtualTime) -> VirtualTime {
        let wait = match self.arrivals {
            Arrivals::Constant => self.mean,
            Arrivals::Poisson => exponential(&mut self.draws, self.mean),
        };
        at.plus(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(arrivals: Arrivals) -> u64 {
        let per_1000s = vec![0, 100_000];
        let client = ClientSpec {
            name: "acme".to_owned(),
            arrivals,
            per_1000s,
        };
        assert!(Source::new(&client, 0, "a", Seeds::new(1)).is_none());
        assert!(Source::new(&client, 2, "c", Seeds::new(1)).is_none());
        let mut source = Source::new(&client, 1, "b", Seeds::new(1)).expect("it asks there");
        let mut at = source.first(VirtualTime(0));
        let mut count = 0;
        while at < VirtualTime(100_000_000) {
            count += 1;
            at = source.after(at);
        }
        count
    }

    #[test]
    fn both_kinds_of_arrivals_keep_their_rate() {
        assert_eq!(count(Arrivals::Constant), 10_000);
        assert!(count(Arrivals::Poisson).abs_diff(10_000) < 300);
    }
}
