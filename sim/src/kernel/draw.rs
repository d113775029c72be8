//! Draws from a stream, in integers alone: what a float's logarithm gives differs from machine to machine.

use sync_proto::Span;

use super::rng::Stream;

/// The natural logarithm of 2, times 2^16.
const LN_2: u64 = 45_426;

/// Bits of a logarithm behind the point.
const LOG_BITS: u32 = 16;

/// A number below `bound`; 0 when that is 0.
fn below(stream: &mut Stream, bound: u64) -> u64 {
    let scaled = u128::from(stream.next()) * u128::from(bound);
    // The upper half of a 128-bit product is below `bound`.
    u64::try_from(scaled >> 64).unwrap_or(u64::MAX)
}

/// Any span below `bound`, all alike.
pub(crate) fn uniform(stream: &mut Stream, bound: Span) -> Span {
    Span::from_micros(below(stream, bound.as_micros()))
}

/// Whether something happens that does in `permille` of 1000 cases.
pub(crate) fn happens(stream: &mut Stream, permille: u64) -> bool {
    // Drawn even when the answer is known, so that a changed rate moves nothing else of the stream.
    below(stream, 1_000) < permille
}

/// How long until the next of events that come independently, every `mean` on average.
pub(crate) fn exponential(stream: &mut Stream, mean: Span) -> Span {
    // -ln(u) for u in (0, 1]: minus its logarithm to the base 2, times ln 2.
    let halvings = minus_log2(stream.next());
    let scaled = u128::from(mean.as_micros()) * u128::from(halvings) * u128::from(LN_2);
    Span::from_micros(u64::try_from(scaled >> (2 * LOG_BITS)).unwrap_or(u64::MAX))
}

/// `-log2((word + 1) / 2^64)`, with [`LOG_BITS`] behind the point, rounded up to the next such step.
fn minus_log2(word: u64) -> u64 {
    let word = word.max(1);
    let zeros = word.leading_zeros();
    // From 1 up to 2, with 63 bits behind the point.
    let mut mantissa = word << zeros;
    let mut fraction = 0;
    for _ in 0..LOG_BITS {
        let square = (u128::from(mantissa) * u128::from(mantissa)) >> 63;
        let carry = square >> 64 != 0;
        fraction = (fraction << 1) | u64::from(carry);
        mantissa = u64::try_from(square >> u32::from(carry)).unwrap_or(u64::MAX);
    }
    (u64::from(zeros + 1) << LOG_BITS) - fraction
}

#[cfg(test)]
mod tests {
    use super::super::rng::Seeds;
    use super::*;

    #[test]
    fn logarithms_are_exact_at_powers_of_two_and_near_between() {
        assert_eq!(minus_log2(1 << 63), 1 << LOG_BITS);
        assert_eq!(minus_log2(1 << 60), 4 << LOG_BITS);
        // log2(0.75) = -0.415037
        let three_quarters = minus_log2(3 << 62);
        assert!(three_quarters.abs_diff(27_200) <= 1, "{three_quarters}");
    }

    #[test]
    fn waits_have_the_mean_and_the_spread_of_an_exponential() {
        let mut stream = Seeds::new(3).stream("waits");
        let mean = Span::from_millis(10);
        let draws: Vec<u64> = (0..100_000)
            .map(|_| exponential(&mut stream, mean).as_micros())
            .collect();
        let average = draws.iter().sum::<u64>() / 100_000;
        assert!(average.abs_diff(10_000) < 100, "{average}");
        // Half are under ln 2 of the mean, and 1 in e^3 over three times it.
        let under_half = draws.iter().filter(|draw| **draw < 6_931).count();
        assert!(under_half.abs_diff(50_000) < 600, "{under_half}");
        let over_three = draws.iter().filter(|draw| **draw > 30_000).count();
        assert!(over_three.abs_diff(4_979) < 300, "{over_three}");
    }

    #[test]
    fn chances_and_spans_keep_their_bounds() {
        let mut stream = Seeds::new(4).stream("chances");
        let lost = (0..100_000).filter(|_| happens(&mut stream, 30)).count();
        assert!(lost.abs_diff(3_000) < 250, "{lost}");
        assert!(!(0..1_000).any(|_| happens(&mut stream, 0)));
        assert!((0..1_000).all(|_| happens(&mut stream, 1_000)));
        let bound = Span::from_micros(7);
        assert!((0..1_000).all(|_| uniform(&mut stream, bound) < bound));
        assert_eq!(uniform(&mut stream, Span::ZERO), Span::ZERO);
    }
}
