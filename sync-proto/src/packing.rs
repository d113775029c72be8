//! Entries as bytes: a length, then varints, so that fields a newer version appends are skipped.
//!
//! Promises: a steady counter costs about ten bytes; every length is checked before use; what comes out is within bounds.
//!
//! ```text
//! entry = length · step of id · flags · age · [name length · name] · [admitted · [demand]] · cell*
//! cell  = serial·2 + keyed · [step of window · step of epoch from window] · count
//! flags = cells (4 bits) · NAMED · PACED · EVEN (demand = admitted) · BUSY
//! ```

use crate::bounds::{CELLS_PER_PART_MAX, COUNT_MAX};
use crate::frame::{Entry, EntryCell};
use crate::ids::{CounterName, Epoch, WindowId};
use crate::pace::Pace;
use crate::varint::{Reader, put_step, put_varint};

const CELLS: u8 = 0x0f;
const NAMED: u8 = 0x10;
const PACED: u8 = 0x20;
const EVEN: u8 = 0x40;
const BUSY: u8 = 0x80;

const _: () = assert!(CELLS_PER_PART_MAX <= CELLS as usize);

/// Packs entries one after the other.
#[derive(Debug, Default)]
pub(crate) struct Packer {
    bytes: Vec<u8>,
    entry: Vec<u8>,
    id: u64,
    window: u64,
}

impl Packer {
    /// Appends `entry`; its number must be above the last one's.
    pub(crate) fn push(&mut self, entry: &Entry) {
        debug_assert!(
            entry.id > self.id,
            "entries are packed in order of their numbers"
        );
        self.entry.clear();
        put_varint(&mut self.entry, entry.id.saturating_sub(self.id));
        self.id = entry.id;
        let even = entry
            .pace
            .is_some_and(|pace| code(pace.admitted) == code(pace.demand));
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        self.entry.push(
            (entry.cells.len().min(CELLS_PER_PART_MAX) as u8)
                | flag(entry.name.is_some(), NAMED)
                | flag(entry.pace.is_some(), PACED)
                | flag(even, EVEN)
                | flag(entry.busy, BUSY),
        );
        put_varint(&mut self.entry, entry.age_ms);
        if let Some(name) = &entry.name {
            put_varint(&mut self.entry, name.as_bytes().len() as u64);
            self.entry.extend_from_slice(name.as_bytes());
        }
        if let Some(pace) = entry.pace {
            put_varint(&mut self.entry, code(pace.admitted));
            if !even {
                put_varint(&mut self.entry, code(pace.demand));
            }
        }
        for cell in entry.cells.iter().take(CELLS_PER_PART_MAX) {
            self.push_cell(cell);
        }
        put_varint(&mut self.bytes, self.entry.len() as u64);
        self.bytes.extend_from_slice(&self.entry);
    }

    /// The bytes.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn push_cell(&mut self, cell: &EntryCell) {
        put_varint(
            &mut self.entry,
            cell.serial << 1 | u64::from(cell.key.is_some()),
        );
        if let Some((window, epoch)) = cell.key {
            put_step(&mut self.entry, self.window, window.0);
            put_step(&mut self.entry, window.0, epoch.0);
            self.window = window.0;
        }
        put_varint(&mut self.entry, cell.count);
    }
}

/// What `entry` takes at most, wherever it comes in the frame.
pub(crate) fn packed_bytes_max(entry: &Entry) -> usize {
    const VARINT_BYTES_MAX: usize = 10;
    let name = entry
        .name
        .as_ref()
        .map_or(0, |name| 2 + name.as_bytes().len());
    let pace = entry.pace.map_or(0, |_| 4);
    let cells = entry.cells.iter().map(|cell| {
        let key = cell.key.map_or(0, |_| 2 * VARINT_BYTES_MAX);
        varint_bytes(cell.serial << 1) + key + varint_bytes(cell.count)
    });
    // Length, step of the number, flags, age.
    2 + varint_bytes(entry.id) + 1 + varint_bytes(entry.age_ms) + name + pace + cells.sum::<usize>()
}

fn varint_bytes(value: u64) -> usize {
    (u64::BITS - (value | 1).leading_zeros()).div_ceil(7) as usize
}

/// Reads all entries back, or none when any is out of bounds.
pub(crate) fn unpack(bytes: &[u8]) -> Option<Vec<Entry>> {
    let mut reader = Reader::new(bytes);
    let mut entries = Vec::new();
    let (mut id, mut window) = (0_u64, 0);
    while !reader.is_empty() {
        let len = reader.varint()?;
        let mut fields = Reader::new(reader.take(len)?);
        let step = fields.varint()?;
        if step == 0 {
            return None;
        }
        id = id.checked_add(step)?;
        entries.push(unpack_entry(id, &mut window, &mut fields)?);
    }
    Some(entries)
}

fn unpack_entry(id: u64, window: &mut u64, fields: &mut Reader<'_>) -> Option<Entry> {
    let flags = fields.byte()?;
    let age_ms = fields.varint()?;
    let name = if flags & NAMED != 0 {
        let len = fields.varint()?;
        Some(CounterName::new(fields.take(len)?).ok()?)
    } else {
        None
    };
    let pace = if flags & PACED != 0 {
        let admitted = value(fields.varint()?)?;
        let demand = if flags & EVEN != 0 {
            admitted
        } else {
            value(fields.varint()?)?
        };
        Some(Pace { admitted, demand })
    } else {
        None
    };
    let len = usize::from(flags & CELLS);
    if len > CELLS_PER_PART_MAX {
        return None;
    }
    let mut cells = Vec::with_capacity(len);
    for _ in 0..len {
        cells.push(unpack_cell(window, fields)?);
    }
    Some(Entry {
        id,
        name,
        age_ms,
        busy: flags & BUSY != 0,
        pace,
        cells,
    })
}

fn unpack_cell(window: &mut u64, fields: &mut Reader<'_>) -> Option<EntryCell> {
    let serial = fields.varint()?;
    let key = if serial & 1 != 0 {
        *window = fields.step(*window)?;
        let epoch = fields.step(*window)?;
        Some((WindowId(*window), Epoch(epoch)))
    } else {
        None
    };
    let count = fields.varint()?;
    (count <= COUNT_MAX).then_some(EntryCell {
        serial: serial >> 1,
        key,
        count,
    })
}

/// `pace` in eight significant bits, rounded down: two bytes, and larger for a larger pace. Under 256 it is exact.
fn code(pace: u64) -> u64 {
    let shift = u64::from((u64::BITS - pace.leading_zeros()).saturating_sub(8));
    if shift == 0 {
        pace
    } else {
        (shift + 1) << 7 | (pace >> shift & 0x7f)
    }
}

fn value(code: u64) -> Option<u64> {
    if code < 0x100 {
        return Some(code);
    }
    let shift = (code >> 7) - 1;
    (shift <= 56).then(|| (0x80 | code & 0x7f) << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: u64, cells: Vec<EntryCell>) -> Entry {
        Entry {
            id,
            name: None,
            age_ms: 250,
            busy: true,
            pace: None,
            cells,
        }
    }

    #[test]
    fn entries_come_back() {
        let named = Entry {
            name: Some(CounterName::new(b"login/10.0.0.1").unwrap()),
            pace: Some(Pace {
                admitted: 200,
                demand: 255,
            }),
            ..entry(
                7,
                vec![
                    EntryCell {
                        serial: 3,
                        key: Some((WindowId(1_000), Epoch(990))),
                        count: 12,
                    },
                    EntryCell {
                        serial: 2,
                        key: None,
                        count: COUNT_MAX,
                    },
                ],
            )
        };
        let entries = [named, entry(8, Vec::new())];
        let mut packer = Packer::default();
        entries.iter().for_each(|entry| packer.push(entry));
        assert_eq!(unpack(&packer.into_bytes()).unwrap(), entries);
    }

    #[test]
    fn a_steady_counter_costs_nine_bytes() {
        let mut packer = Packer::default();
        packer.push(&entry(
            1,
            vec![EntryCell {
                serial: 9,
                key: None,
                count: 1_000,
            }],
        ));
        assert_eq!(packer.into_bytes().len(), 8);
    }

    #[test]
    fn fields_of_a_newer_version_are_skipped() {
        let mut packer = Packer::default();
        packer.push(&entry(1, Vec::new()));
        let mut bytes = packer.into_bytes();
        bytes[0] += 2;
        bytes.extend([0x7f, 0xff]);
        assert_eq!(unpack(&bytes).unwrap(), [entry(1, Vec::new())]);
    }

    #[test]
    fn a_count_out_of_bounds_is_refused() {
        let mut packer = Packer::default();
        packer.push(&entry(
            1,
            vec![EntryCell {
                serial: 1,
                key: None,
                count: COUNT_MAX + 1,
            }],
        ));
        assert_eq!(unpack(&packer.into_bytes()), None);
    }

    #[test]
    fn a_pace_keeps_its_size_within_a_hundredth() {
        for pace in [0, 1, 127, 128, 255, 256, 999, 1_000, 123_456_789, u64::MAX] {
            let coded = value(code(pace)).unwrap();
            assert!(
                coded <= pace && pace - coded <= pace / 100,
                "{pace} became {coded}"
            );
        }
        assert_eq!(value(u64::MAX), None);
    }
}
