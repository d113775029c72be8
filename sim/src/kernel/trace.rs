//! A running hash of everything that happened: two runs with the same hash went the same way.

use super::clock::VirtualTime;

/// The hash so far: FNV-1a, 64 bits. Nobody chooses what goes in to deceive it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trace {
    hash: u64,
    events: u64,
}

impl Trace {
    pub(crate) fn new() -> Self {
        Self {
            hash: 0xcbf2_9ce4_8422_2325,
            events: 0,
        }
    }

    /// Something happened: what kind of thing, and its details.
    pub(crate) fn note(&mut self, at: VirtualTime, kind: &str, numbers: &[u64], bytes: &[u8]) {
        self.events += 1;
        self.absorb(&at.0.to_le_bytes());
        self.absorb(kind.as_bytes());
        for number in numbers {
            self.absorb(&number.to_le_bytes());
        }
        self.absorb(bytes);
    }

    fn absorb(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// How much happened.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// The hash, in hex.
    pub(crate) fn digest(&self) -> String {
        format!("{:016x}", self.hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_time_kind_and_details_all_show_in_the_hash() {
        let digest = |notes: &[(u64, &str, u64)]| {
            let mut trace = Trace::new();
            for (at, kind, number) in notes {
                trace.note(VirtualTime(*at), kind, &[*number], b"x");
            }
            trace.digest()
        };
        let base = digest(&[(1, "frame", 2), (2, "check", 3)]);
        assert_eq!(base, digest(&[(1, "frame", 2), (2, "check", 3)]));
        assert_ne!(base, digest(&[(2, "check", 3), (1, "frame", 2)]));
        assert_ne!(base, digest(&[(1, "frame", 2), (3, "check", 3)]));
        assert_ne!(base, digest(&[(1, "frame", 2), (2, "peek", 3)]));
        assert_ne!(base, digest(&[(1, "frame", 2), (2, "check", 4)]));
    }
}
