//! Store operations as Redis scripts: text, KEYS, ARGV and replies; no connection.
//!
//! Promises: a script reads and writes the keys it is given alone, checks before it writes, and decides what
//! [`EmbeddedStore`](super::EmbeddedStore) decides at the same time. A key that holds what no script wrote makes it
//! answer an error that begins with `CORRUPT` (or the server's own `WRONGTYPE`), which is [`StoreFault::Corrupt`].
//! Never opens a connection, never computes a script's SHA-1.

use std::sync::LazyLock;

use sync_proto::{Epoch, Span, WallTime, WindowId};

use super::{
    Fold, FoldReply, GroupReply, Remote, RemoteBucket, RemoteWindow, RemoteWindows, StoreFault,
    Take, TakeGroup, TakeReply, Undo, Wait,
};
use crate::algo::remote_windows::newest;
use crate::algo::terms::Terms;
use crate::algo::units::exact;
use crate::algo::{BucketAlgorithm, Shape, Windows};

/// A script: its text and its SHA-1 in hex is for the connection to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// Takes a group.
    Take,
    /// Gives back.
    Undo,
    /// Folds.
    Fold,
}

impl Script {
    /// The Lua source.
    pub fn source(self) -> &'static str {
        match self {
            Self::Take => &TAKE,
            Self::Undo => &UNDO,
            Self::Fold => &FOLD,
        }
    }
}

static TAKE: LazyLock<String> = LazyLock::new(|| put_together(include_str!("take.lua")));
static UNDO: LazyLock<String> = LazyLock::new(|| put_together(include_str!("undo.lua")));
static FOLD: LazyLock<String> = LazyLock::new(|| put_together(include_str!("fold.lua")));

/// What a line `--> name` in a script stands for.
const PIECES: [(&str, &str); 9] = [
    ("prelude", include_str!("../algo/prelude.lua")),
    ("layout", include_str!("../algo/layout.lua")),
    ("bucket_open", include_str!("../algo/bucket_open.lua")),
    ("bucket_wait", include_str!("../algo/bucket_wait.lua")),
    ("bucket_write", include_str!("../algo/bucket_write.lua")),
    ("ledger", include_str!("../algo/ledger.lua")),
    (
        "fixed_window_open",
        include_str!("../algo/fixed_window_open.lua"),
    ),
    (
        "fixed_window_write",
        include_str!("../algo/fixed_window_write.lua"),
    ),
    ("told_windows", include_str!("../algo/told_windows.lua")),
];

/// A script with its pieces in place. They share locals instead of being functions, which a script would make anew
/// in each call.
fn put_together(script: &str) -> String {
    let mut whole = String::new();
    for line in script.lines() {
        let name = line.trim_start().strip_prefix("--> ");
        let piece = name.and_then(|name| PIECES.iter().find(|(piece, _)| *piece == name));
        whole.push_str(piece.map_or(line, |(_, text)| text.trim_end()));
        whole.push('\n');
    }
    whole
}

/// KEYS and ARGV of one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// KEYS, all of one hash tag.
    pub keys: Vec<Vec<u8>>,
    /// ARGV. The first is empty: the server's clock decides.
    pub args: Vec<Vec<u8>>,
}

impl Call {
    /// The same call as if the server's clock said `now`: for replays. Its keys outlive their state by a day.
    #[must_use]
    pub fn replayed_at(mut self, now: WallTime) -> Self {
        if let Some(clock) = self.args.first_mut() {
            *clock = exact(now.as_micros()).to_string().into_bytes();
        }
        self
    }
}

/// Integers in a take's reply: the clock and whether it took, and then these for each take.
const HEAD: usize = 2;
const PER_TAKE: usize = 9;

/// How a bucket and a window are called in a packed take; windows that are told as edges have a number of their own.
const TOKEN_BUCKET: u8 = 1;
const GCRA: u8 = 2;
const EVERY: u8 = 3;
const EDGES: u8 = 4;

/// A take as a call.
pub fn encode_take(group: &TakeGroup) -> Call {
    let keys = group.takes.iter().map(|take| take.key.0.to_vec()).collect();
    let mut args = Vec::with_capacity(group.takes.len() + 1);
    args.push(Vec::new());
    args.extend(group.takes.iter().map(packed_take));
    Call { keys, args }
}

/// A take's reply: the script returns a flat list of integers.
///
/// # Errors
/// [`StoreFault::Corrupt`] when the reply is not one to this group.
pub fn decode_take(group: &TakeGroup, reply: &[i64]) -> Result<GroupReply, StoreFault> {
    let (head, rest) = reply.split_at_checked(HEAD).ok_or(StoreFault::Corrupt)?;
    if rest.len() != group.takes.len() * PER_TAKE {
        return Err(StoreFault::Corrupt);
    }
    let takes = rest
        .chunks_exact(PER_TAKE)
        .map(decode_one)
        .collect::<Result<_, _>>()?;
    match *head {
        [at, taken] => Ok(GroupReply {
            at: WallTime::from_micros(count(at)?),
            taken: taken != 0,
            takes,
        }),
        _ => Err(StoreFault::Corrupt),
    }
}

/// An undo as a call. Its reply carries nothing.
pub fn encode_undo(undo: &Undo) -> Call {
    let take = peek(undo.key.clone(), undo.shape);
    let take = packed_take(&Take {
        cost: undo.cost,
        ..take
    });
    let taken = packed([exact(undo.window.0), exact(undo.epoch.0)]);
    Call {
        keys: vec![undo.key.0.to_vec()],
        args: vec![Vec::new(), take, taken],
    }
}

/// A fold as a call. A bucket's ledger lies beside it, under the same hash tag.
pub fn encode_fold(fold: &Fold) -> Call {
    let mut keys = vec![fold.key.0.to_vec()];
    let mut args = vec![Vec::new(), packed_take(&peek(fold.key.clone(), fold.shape))];
    let stale_after = exact(fold.stale_after.as_micros());
    match (&fold.remote, &fold.shape) {
        (
            Remote::Bucket(remote),
            Shape::Bucket {
                algorithm,
                rate,
                burst,
            },
        ) => {
            keys.push([&fold.key.0, &b":a"[..]].concat());
            told_of_bucket(
                remote,
                Terms::new(*algorithm, *rate, *burst),
                stale_after,
                &mut args,
            );
        }
        (Remote::Window(remote), Shape::FixedWindow { .. }) => {
            args.push(told_of_windows(remote, stale_after));
        }
        // Tells of another kind of counter, hence nothing.
        _ => {}
    }
    Call { keys, args }
}

/// A fold's reply.
///
/// # Errors
/// [`StoreFault::Corrupt`] when it is not one.
pub fn decode_fold(reply: &[i64]) -> Result<FoldReply, StoreFault> {
    match *reply {
        [at, admitted, window, epoch] => Ok(FoldReply {
            at: WallTime::from_micros(count(at)?),
            admitted: count(admitted)?,
            window: WindowId(count(window)?),
            epoch: Epoch(count(epoch)?),
        }),
        _ => Err(StoreFault::Corrupt),
    }
}

fn peek(key: super::StoreKey, shape: Shape) -> Take {
    Take {
        key,
        shape,
        cost: 0,
        shadow: false,
        count_rejected: false,
        cold: None,
    }
}

fn count(integer: i64) -> Result<u64, StoreFault> {
    u64::try_from(integer).map_err(|_| StoreFault::Corrupt)
}

fn decode_one(reply: &[i64]) -> Result<TakeReply, StoreFault> {
    let [
        allowed,
        available,
        admitted,
        window,
        epoch,
        wait,
        reset,
        shared,
        remote,
    ] = *reply
    else {
        return Err(StoreFault::Corrupt);
    };
    let wait = match (allowed != 0, wait) {
        (true, _) => Wait::None,
        (false, -1) => Wait::Never,
        (false, micros) => Wait::For(Span::from_micros(count(micros)?)),
    };
    Ok(TakeReply {
        allowed: allowed != 0,
        available: count(available)?,
        admitted: count(admitted)?,
        window: WindowId(count(window)?),
        epoch: Epoch(count(epoch)?),
        wait,
        reset: Span::from_micros(count(reset)?),
        shared: shared != 0,
        remote: count(remote)?,
    })
}

/// Quantities as the scripts unpack them: little-endian, eight bytes each.
fn packed<const N: usize>(quantities: [u64; N]) -> Vec<u8> {
    quantities.map(u64::to_le_bytes).concat()
}

/// Kind, shadow, count_rejected, cost, and then what the algorithm needs.
fn packed_take(take: &Take) -> Vec<u8> {
    let cost = exact(take.cost);
    let (kind, quantities) = match take.shape {
        Shape::Bucket {
            algorithm,
            rate,
            burst,
        } => {
            let terms = Terms::new(algorithm, rate, burst);
            let kind = match algorithm {
                BucketAlgorithm::TokenBucket => TOKEN_BUCKET,
                BucketAlgorithm::Gcra => GCRA,
            };
            let (cold, others) = take.cold.map_or((0, 0), |cold| {
                let (capacity, others) = terms.cold(cold);
                (capacity + 1, others)
            });
            (
                kind,
                packed([cost, terms.tokens, terms.per, terms.burst, cold, others]),
            )
        }
        Shape::FixedWindow { limit, windows } => {
            let limit = exact(limit);
            let cold = take.cold.map_or(0, |cold| cold.units.min(limit) + 1);
            let (kind, [a, b, c, d]) = match windows {
                Windows::Every { length, phase } => {
                    (EVERY, [length.as_micros(), phase.as_micros(), 0, 0])
                }
                Windows::Edges(edges) => (EDGES, edges.map(WallTime::as_micros)),
            };
            (
                kind,
                packed([cost, limit, cold, exact(a), exact(b), exact(c), exact(d)]),
            )
        }
    };
    let mut bytes = Vec::with_capacity(quantities.len() + PER_TAKE);
    bytes.extend([kind, u8::from(take.shadow), u8::from(take.count_rejected)]);
    bytes.extend(quantities);
    bytes
}

fn told_of_bucket(remote: &RemoteBucket, terms: Terms, stale_after: u64, args: &mut Vec<Vec<u8>>) {
    let rate = terms.others_per_milli(remote.rate_milli);
    let blind = terms.others_per_milli(remote.blind_rate_milli);
    args.push(packed([stale_after, rate, blind, terms.coarseness()]));
    for part in &remote.parts {
        args.push(part.id.as_bytes().to_vec());
        args.push(exact(part.consumed).to_string().into_bytes());
        args.push(exact(part.epoch.0).to_string().into_bytes());
    }
}

fn told_of_windows(remote: &RemoteWindows, stale_after: u64) -> Vec<u8> {
    let plus_one = |bound: Option<u64>| bound.map_or(0, |units| exact(units) + 1);
    let mut bytes = Vec::new();
    for cell in newest(&remote.cells) {
        bytes.extend(cell.map_or_else(
            || packed([0; 4]),
            |RemoteWindow {
                 window,
                 known,
                 estimate,
                 rate_milli,
             }| { packed([exact(window.0) + 1, known, estimate, rate_milli]) },
        ));
    }
    bytes.extend(packed([
        exact(remote.carry_milli),
        exact(remote.floor),
        plus_one(remote.ceiling),
        plus_one(remote.blind),
        stale_after,
    ]));
    bytes
}
