//! Bytes to frames and back: a version byte, then one MessagePack array, then nothing.
//!
//! Promises: any bytes give a frame within bounds or an error; fields appended by a newer version are skipped.
//! Never allocates more than the bytes at hand can fill.

use std::fmt;

use serde::de::{Error as _, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::bounds::{FRAME_BYTES_MAX, FRAME_DEPTH_MAX};
use crate::error::FrameError;
use crate::frame::{Echo, Frame, Header, Train};
use crate::ids::{Incarnation, RegionId};
use crate::packing::unpack;
use crate::time::WallTime;

/// What the first byte of every frame says. It changes only when old daemons would misread the rest.
pub(crate) const PROTOCOL_VERSION: u8 = 1;

/// The array, field by field, as it is written. Fields are only ever appended.
#[derive(Serialize)]
struct Written<'a> {
    from: &'a str,
    incarnation: u64,
    to_incarnation: Option<u64>,
    sent_at: u64,
    wall: u64,
    echo_sent_at: Option<u64>,
    echo_held_us: u64,
    have: u64,
    newest: u64,
    train_base: Option<u64>,
    train_to: u64,
    entries: Packed<'a>,
}

struct Packed<'a>(&'a [u8]);

impl Serialize for Packed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// Appends a frame to `out`; `entries` are packed already.
pub(crate) fn encode(header: &Header, train: Option<Train>, entries: &[u8], out: &mut Vec<u8>) {
    out.push(PROTOCOL_VERSION);
    let written = Written {
        from: header.from.as_str(),
        incarnation: header.incarnation.0,
        to_incarnation: header.to_incarnation.map(|life| life.0),
        sent_at: header.sent_at,
        wall: header.wall.as_micros(),
        echo_sent_at: header.echo.map(|echo| echo.sent_at),
        echo_held_us: header.echo.map_or(0, |echo| echo.held_us),
        have: header.have,
        newest: header.newest,
        train_base: train.map(|train| train.base),
        train_to: train.map_or(0, |train| train.to),
        entries: Packed(entries),
    };
    #[expect(
        clippy::expect_used,
        reason = "plain fields written to memory cannot fail"
    )]
    rmp_serde::encode::write(out, &written).expect("a frame can be written to memory");
}

/// Reads a frame.
pub(crate) fn decode(bytes: &[u8]) -> Result<Frame, FrameError> {
    if bytes.len() > FRAME_BYTES_MAX {
        return Err(FrameError::Oversized { bytes: bytes.len() });
    }
    let (version, body) = bytes
        .split_first()
        .ok_or(FrameError::Malformed { what: "version" })?;
    if *version != PROTOCOL_VERSION {
        return Err(FrameError::UnknownVersion { version: *version });
    }
    let mut deserializer = rmp_serde::Deserializer::from_read_ref(body);
    deserializer.set_max_depth(FRAME_DEPTH_MAX);
    let read = Read::deserialize(&mut deserializer)
        .map_err(|_| FrameError::Malformed { what: "header" })?;
    let entries = unpack(read.entries).ok_or(FrameError::Malformed { what: "entries" })?;
    let train = read.train_base.map(|base| Train {
        base,
        to: read.train_to,
    });
    if train.is_some_and(|train| train.base > train.to || train.to > read.header.newest) {
        return Err(FrameError::Malformed { what: "versions" });
    }
    Ok(Frame {
        header: read.header,
        train,
        entries,
    })
}

/// The array as it is read.
struct Read<'de> {
    header: Header,
    train_base: Option<u64>,
    train_to: u64,
    entries: &'de [u8],
}

impl<'de> Deserialize<'de> for Read<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Read<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the array of a frame")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Read<'de>, A::Error> {
        let from = RegionId::new(field::<&str, A>(&mut seq)?).map_err(A::Error::custom)?;
        let incarnation = Incarnation(field(&mut seq)?);
        let to_incarnation = field::<Option<u64>, A>(&mut seq)?.map(Incarnation);
        let sent_at = field(&mut seq)?;
        let wall = WallTime::from_micros(field(&mut seq)?);
        let echo_sent_at: Option<u64> = field(&mut seq)?;
        let held_us = field(&mut seq)?;
        let header = Header {
            from,
            incarnation,
            to_incarnation,
            sent_at,
            wall,
            echo: echo_sent_at.map(|sent_at| Echo { sent_at, held_us }),
            have: field(&mut seq)?,
            newest: field(&mut seq)?,
        };
        let read = Read {
            header,
            train_base: field(&mut seq)?,
            train_to: field(&mut seq)?,
            entries: field(&mut seq)?,
        };
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(read)
    }
}

fn field<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(seq: &mut A) -> Result<T, A::Error> {
    seq.next_element()?
        .ok_or_else(|| A::Error::custom("a field is missing"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::{HEADER_BYTES_MAX, REGION_BYTES_MAX};

    #[test]
    fn the_largest_header_keeps_its_bound() {
        let largest = u64::MAX;
        let header = Header {
            from: RegionId::new(&"r".repeat(REGION_BYTES_MAX)).unwrap(),
            incarnation: Incarnation(largest),
            to_incarnation: Some(Incarnation(largest)),
            sent_at: largest,
            wall: WallTime::from_micros(largest),
            echo: Some(Echo {
                sent_at: largest,
                held_us: largest,
            }),
            have: largest,
            newest: largest,
        };
        let train = Some(Train {
            base: largest,
            to: largest,
        });
        let mut bytes = Vec::new();
        encode(&header, train, &[], &mut bytes);
        // A longer array of entries needs up to three bytes more for its length.
        assert!(bytes.len() + 3 <= HEADER_BYTES_MAX, "{}", bytes.len());
        let frame = decode(&bytes).unwrap();
        assert_eq!(
            frame,
            Frame {
                header,
                train,
                entries: Vec::new()
            }
        );
    }

    #[test]
    fn an_unknown_version_and_an_oversized_frame_are_told_apart_from_garbage() {
        assert_eq!(
            decode(&[9, 0x90]),
            Err(FrameError::UnknownVersion { version: 9 })
        );
        assert_eq!(decode(&[]), Err(FrameError::Malformed { what: "version" }));
        assert_eq!(
            decode(&[1, 0x90]),
            Err(FrameError::Malformed { what: "header" })
        );
        let bytes = FRAME_BYTES_MAX + 1;
        assert_eq!(
            decode(&vec![1; bytes]),
            Err(FrameError::Oversized { bytes })
        );
    }
}
