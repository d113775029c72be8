//! One direction of a link: when what is sent arrives, if it does, and how often.

use sync_proto::Span;

use crate::kernel::{Seeds, Stream, VirtualTime, happens, uniform};
use crate::scenario::LinkSpec;

/// One direction of a link, with its draws and its counts.
#[derive(Debug)]
pub(crate) struct Link {
    delay: Span,
    jitter: Span,
    loss_permille: u64,
    duplicate_permille: u64,
    jitters: Stream,
    losses: Stream,
    duplicates: Stream,
    /// Frames sent.
    pub(crate) frames: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
    /// Frames that did not arrive.
    pub(crate) lost: u64,
}

impl Link {
    /// The direction called `way`, such as `mumbai>singapore`.
    pub(crate) fn new(spec: &LinkSpec, way: &str, seeds: Seeds) -> Self {
        Self {
            delay: spec.delay,
            jitter: spec.jitter,
            loss_permille: spec.loss_permille,
            duplicate_permille: spec.duplicate_permille,
            jitters: seeds.stream(&format!("link/{way}/jitter")),
            losses: seeds.stream(&format!("link/{way}/loss")),
            duplicates: seeds.stream(&format!("link/{way}/duplicate")),
            frames: 0,
            bytes: 0,
            lost: 0,
        }
    }

    /// When a frame that is sent now arrives: twice, once or never.
    pub(crate) fn send(&mut self, at: VirtualTime, bytes: usize) -> [Option<VirtualTime>; 2] {
        self.frames += 1;
        self.bytes += u64::try_from(bytes).unwrap_or(u64::MAX);
        let lost = happens(&mut self.losses, self.loss_permille);
        let doubled = happens(&mut self.duplicates, self.duplicate_permille);
        let mut arrival = || {
            at.plus(self.delay)
                .plus(uniform(&mut self.jitters, self.jitter))
        };
        let (first, second) = (arrival(), arrival());
        if lost {
            self.lost += 1;
            return [None, None];
        }
        [Some(first), doubled.then_some(second)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(loss_permille: u64, duplicate_permille: u64) -> Link {
        let spec = LinkSpec {
            a: "a".to_owned(),
            b: "b".to_owned(),
            delay: Span::from_millis(30),
            jitter: Span::from_millis(5),
            loss_permille,
            duplicate_permille,
        };
        Link::new(&spec, "a>b", Seeds::new(1))
    }

    #[test]
    fn a_frame_takes_the_delay_and_at_most_the_jitter_more() {
        let mut link = link(0, 1_000);
        for sent in 0..500 {
            let sent = VirtualTime(sent);
            for arrival in link.send(sent, 10) {
                let took = arrival
                    .expect("nothing is lost, all is doubled")
                    .since(sent);
                assert!(
                    took >= Span::from_millis(30) && took < Span::from_millis(35),
                    "{took}"
                );
            }
        }
        assert_eq!((link.frames, link.bytes, link.lost), (500, 5_000, 0));
    }

    #[test]
    fn a_lossy_link_loses_its_part_and_counts_it() {
        let mut link = link(300, 0);
        let arrived = (0..10_000)
            .filter(|at| link.send(VirtualTime(*at), 1)[0].is_some())
            .count();
        assert!(arrived.abs_diff(7_000) < 200, "{arrived}");
        assert_eq!(link.lost, 10_000 - u64::try_from(arrived).unwrap());
    }
}
