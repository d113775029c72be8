//! Little-endian base-128 integers, as entries are packed with.
//!
//! Promises: a reader never reads past its bytes, and never panics.

/// Appends `value`: seven bits a byte, the lowest first.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends the step from `from` to `to`, which is short when they are near, in either direction.
pub(crate) fn put_step(out: &mut Vec<u8>, from: u64, to: u64) {
    let step = to.wrapping_sub(from).cast_signed();
    put_varint(out, ((step << 1) ^ (step >> 63)).cast_unsigned());
}

/// Reads packed integers and byte strings off the front of a slice.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// All of `bytes` is to be read.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Whether nothing is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next byte.
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*byte)
    }

    /// The next integer; none when it is cut off or over 64 bits.
    pub(crate) fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return None;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// The value that is the next step away from `from`.
    pub(crate) fn step(&mut self, from: u64) -> Option<u64> {
        let packed = self.varint()?;
        let step = (packed >> 1) ^ (packed & 1).wrapping_neg();
        Some(from.wrapping_add(step))
    }

    /// The next `len` bytes.
    pub(crate) fn take(&mut self, len: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(usize::try_from(len).ok()?)?;
        self.bytes = rest;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_of_integer_and_step_comes_back() {
        let values = [
            0,
            1,
            127,
            128,
            16_383,
            16_384,
            u64::from(u32::MAX),
            u64::MAX - 1,
            u64::MAX,
        ];
        for from in values {
            for to in values {
                let mut bytes = Vec::new();
                put_varint(&mut bytes, from);
                put_step(&mut bytes, from, to);
                let mut reader = Reader::new(&bytes);
                assert_eq!(reader.varint(), Some(from));
                assert_eq!(reader.step(from), Some(to));
                assert!(reader.is_empty());
            }
        }
    }

    #[test]
    fn an_integer_over_64_bits_or_cut_off_is_none() {
        assert_eq!(Reader::new(&[0xff; 11]).varint(), None);
        assert_eq!(
            Reader::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).varint(),
            None
        );
        assert_eq!(Reader::new(&[0x80]).varint(), None);
        assert_eq!(Reader::new(&[1, 2]).take(3), None);
    }
}
