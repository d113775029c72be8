//! Randomness that repeats: one stream of draws per purpose, each named, all from one seed.
//!
//! Promises: a draw more on one stream moves no other stream; the same name and seed give the same draws for ever.

/// Hands out streams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seeds(u64);

impl Seeds {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The stream called `name`.
    pub(crate) fn stream(self, name: &str) -> Stream {
        // Four words that differ in every bit between names: FNV-1a over the name, spread by SplitMix64.
        let mut state = name
            .bytes()
            .fold(self.0 ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            });
        Stream(std::array::from_fn(|_| split_mix(&mut state)))
    }

    /// A number for a table's seed or a daemon's life.
    pub(crate) fn number(self, name: &str) -> u64 {
        self.stream(name).next()
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Draws for one purpose: xoshiro256++.
#[derive(Clone, Debug)]
pub(crate) struct Stream([u64; 4]);

impl Stream {
    /// 64 even bits.
    pub(crate) fn next(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.0;
        let drawn = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_follows_its_published_sequence() {
        let mut stream = Stream([1, 2, 3, 4]);
        let drawn: Vec<u64> = (0..4).map(|_| stream.next()).collect();
        assert_eq!(
            drawn,
            [
                41_943_041,
                58_720_359,
                3_588_806_011_781_223,
                3_591_011_842_654_386
            ]
        );
    }

    #[test]
    fn streams_of_other_names_and_seeds_differ_and_repeat() {
        let first = |seed: u64, name: &str| Seeds::new(seed).stream(name).next();
        assert_eq!(first(1, "link"), first(1, "link"));
        assert_ne!(first(1, "link"), first(1, "arrivals"));
        assert_ne!(first(1, "link"), first(2, "link"));
    }
}
