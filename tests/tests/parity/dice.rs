//! Random choices that a seed repeats.

use limiter_core::algo::{BucketAlgorithm, Rate, Shape, Windows};
use sync_proto::{Span, WallTime};

pub(crate) const SECOND: u64 = 1_000_000;
pub(crate) const ZERO: u64 = 1_796_083_200 * SECOND;

/// A generator of which any spread will do; a failure names its seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound.max(1)
    }

    pub(crate) fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).unwrap()]
    }
}

pub(crate) fn random_shape(dice: &mut Dice) -> Shape {
    let algorithm = dice.pick(&[BucketAlgorithm::TokenBucket, BucketAlgorithm::Gcra]);
    match dice.below(4) {
        0 | 1 => {
            let per = dice.pick(&[
                1,
                17,
                1_000,
                60 * SECOND / 7,
                SECOND,
                60 * SECOND,
                86_400 * SECOND,
            ]);
            let tokens = dice.pick(&[1, 3, 7, 1_000, 999_983, 1_000_000_007]);
            let burst = dice.pick(&[0, 1, 2, 5, 20, 1_000]);
            Shape::Bucket {
                algorithm,
                rate: Rate {
                    tokens,
                    per: Span::from_micros(per),
                },
                burst,
            }
        }
        2 => {
            let length = dice.pick(&[SECOND, 10 * SECOND, 61 * SECOND]);
            let phase = Span::from_micros(dice.below(length));
            let windows = Windows::Every {
                length: Span::from_micros(length),
                phase,
            };
            Shape::FixedWindow {
                limit: dice.pick(&[0, 1, 5, 20, 1_000]),
                windows,
            }
        }
        _ => {
            let first = ZERO - dice.below(20) * SECOND;
            let mut edge = first;
            let edges = [(); 4].map(|()| {
                edge += (1 + dice.below(30)) * SECOND;
                WallTime::from_micros(edge)
            });
            Shape::FixedWindow {
                limit: dice.pick(&[1, 5, 20]),
                windows: Windows::Edges(edges),
            }
        }
    }
}
