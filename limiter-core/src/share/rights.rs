//! A region's part of a limit, when the parts are equal and fixed.
//!
//! Promises: the parts of all regions sum exactly to the whole, so that no set of regions that keeps to them can go over it.
//! Never looks at who is heard.

use crate::algo::{Rate, Shape};
use crate::bounds::CAPACITY_UNITS_MAX;

use super::Outlook;

/// The part of `total` that the region of this rank has: remainders go to the first ones.
pub fn part(total: u64, regions: u32, rank: u32) -> u64 {
    let regions = u64::from(regions.max(1));
    total / regions + u64::from(u64::from(rank) < total % regions)
}

/// The most units that can be left of a shape.
pub(crate) fn capacity(shape: &Shape) -> u64 {
    match shape {
        Shape::Bucket { burst, .. } => *burst,
        Shape::FixedWindow { limit, .. } => *limit,
    }
}

/// The shape of one region's part. A part of no units denies all.
pub(crate) fn part_of_shape(shape: Shape, outlook: Outlook) -> Shape {
    let part = |total| part(total, outlook.regions, outlook.rank);
    match shape {
        Shape::FixedWindow { limit, windows } => Shape::FixedWindow {
            limit: part(limit),
            windows,
        },
        Shape::Bucket {
            algorithm,
            rate,
            burst,
        } => {
            let rate = slower(rate, u64::from(outlook.regions));
            let holds = CAPACITY_UNITS_MAX / rate.per.as_micros().max(1);
            Shape::Bucket {
                algorithm,
                rate,
                burst: part(burst).min(holds),
            }
        }
    }
}

/// The rate divided by `by`, exactly.
pub(crate) fn slower(rate: Rate, by: u64) -> Rate {
    let shared = greatest_common_divisor(rate.tokens, by.max(1));
    if shared == 0 {
        return rate;
    }
    Rate {
        tokens: rate.tokens / shared,
        per: rate.per.times(by.max(1) / shared),
    }
}

/// What all regions but one have of a rate, in thousandths of a unit per second; rounded up, since it is held against ourselves.
pub(crate) fn others_rate_milli(rate: Rate, regions: u32) -> u64 {
    let regions = u128::from(regions.max(1));
    let whole = micro_rate(rate);
    let others = (whole * (regions - 1)).div_ceil(regions);
    saturate(others.div_ceil(1_000))
}

/// One region's equal part of a rate, in thousandths of a unit per second; rounded up.
pub(crate) fn part_rate_milli(rate: Rate, regions: u32) -> u64 {
    saturate(micro_rate(rate).div_ceil(u128::from(regions.max(1)) * 1_000))
}

/// A rate in thousandths of a unit per second, rounded down.
pub(crate) fn rate_milli(rate: Rate) -> u64 {
    saturate(micro_rate(rate) / 1_000)
}

/// Millionths of a unit per second: tokens per microsecond, times a million for the second and a million for the unit.
fn micro_rate(rate: Rate) -> u128 {
    const MILLION: u128 = 1_000_000;
    u128::from(rate.tokens) * MILLION * MILLION / u128::from(rate.per.as_micros().max(1))
}

fn saturate(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

#[cfg(test)]
mod tests {
    use sync_proto::Span;

    use super::*;

    #[test]
    fn the_parts_sum_to_the_whole() {
        for total in [0, 1, 2, 3, 10, 1_000, u64::MAX] {
            for regions in [1, 2, 3, 7, 255] {
                let sum: u128 = (0..regions)
                    .map(|rank| u128::from(part(total, regions, rank)))
                    .sum();
                assert_eq!(sum, u128::from(total), "{total} over {regions}");
            }
        }
    }

    #[test]
    fn a_part_of_a_rate_is_exact() {
        let rate = Rate {
            tokens: 10,
            per: Span::from_secs(1),
        };
        assert_eq!(
            slower(rate, 3),
            Rate {
                tokens: 10,
                per: Span::from_secs(3)
            }
        );
        assert_eq!(
            slower(rate, 4),
            Rate {
                tokens: 5,
                per: Span::from_secs(2)
            }
        );
        assert_eq!(rate_milli(rate), 10_000);
        assert_eq!(others_rate_milli(rate, 3), 6_667);
        assert_eq!(part_rate_milli(rate, 3), 3_334);
        assert_eq!(others_rate_milli(rate, 1), 0);
    }
}
