//! Any counter: the one place that tells the algorithms apart.
//!
//! Promises: a state that is not of the shape asked for counts as none.
//! Never decides for a group; see the stores.

use sync_proto::{Epoch, Span, WindowId};

use super::bucket::{Account, Bucket};
use super::fixed_window::{Count, FixedWindow};
use super::ledger::Ledger;
use super::remote::{Cold, Remote};
use super::reply::TakeReply;
use super::terms::Terms;
use super::{Shape, Windows};

/// What a store keeps of one counter.
#[derive(Clone, Debug)]
pub(crate) enum State {
    /// A bucket.
    Bucket(Bucket),
    /// A count per window.
    FixedWindow(FixedWindow),
}

/// A counter at the time of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Opened {
    /// A bucket.
    Bucket(Account),
    /// A count per window.
    FixedWindow(Count),
}

/// A shape in a store's terms.
enum Kind {
    Bucket(Terms),
    FixedWindow((u64, Windows)),
}

impl Kind {
    fn of(shape: &Shape) -> Self {
        match *shape {
            Shape::Bucket {
                algorithm,
                rate,
                burst,
            } => Self::Bucket(Terms::new(algorithm, rate, burst)),
            Shape::FixedWindow { limit, windows } => Self::FixedWindow((limit, windows)),
        }
    }
}

impl State {
    /// When it carries no information any more, in microseconds.
    pub(crate) const fn expires(&self) -> u64 {
        match self {
            Self::Bucket(bucket) => bucket.expires(),
            Self::FixedWindow(window) => window.expires(),
        }
    }

    const fn bucket(&self) -> Option<&Bucket> {
        match self {
            Self::Bucket(bucket) => Some(bucket),
            Self::FixedWindow(_) => None,
        }
    }

    const fn fixed_window(&self) -> Option<&FixedWindow> {
        match self {
            Self::FixedWindow(window) => Some(window),
            Self::Bucket(_) => None,
        }
    }

    /// Gives `cost` units back if they were taken in the life and the window `taken`.
    pub(crate) fn undo(&mut self, now: u64, shape: &Shape, cost: u64, taken: (WindowId, Epoch)) {
        match (self, Kind::of(shape)) {
            (Self::Bucket(bucket), Kind::Bucket(terms)) => bucket.undo(now, terms, cost, taken.1),
            (Self::FixedWindow(window), Kind::FixedWindow(_)) => window.undo(now, cost, taken),
            _ => {}
        }
    }

    /// Folds in what `remote` tells of a counter of this shape; nothing when it tells of another kind of counter.
    pub(crate) fn fold(
        state: &mut Option<Self>,
        ledger: &mut Option<Box<Ledger>>,
        now: u64,
        shape: &Shape,
        (remote, stale_after): (&Remote, Span),
    ) -> Opened {
        match (Kind::of(shape), remote) {
            (Kind::Bucket(terms), Remote::Bucket(remote)) => {
                let mut bucket = match state.take() {
                    Some(Self::Bucket(bucket)) => Some(bucket),
                    _ => None,
                };
                let ledger = ledger.get_or_insert_default();
                let told = (remote, stale_after);
                let account = Bucket::fold(&mut bucket, ledger, now, terms, told);
                *state = bucket.map(Self::Bucket);
                Opened::Bucket(account)
            }
            (Kind::FixedWindow(windows), Remote::Window(remote)) => {
                let mut window = match state.take() {
                    Some(Self::FixedWindow(window)) => Some(window),
                    _ => None,
                };
                let told = (remote, stale_after);
                let count = FixedWindow::fold(&mut window, now, windows, told);
                *state = window.map(Self::FixedWindow);
                Opened::FixedWindow(count)
            }
            _ => Opened::new(state.as_ref(), now, shape, None),
        }
    }
}

impl Opened {
    /// The counter at `now`.
    pub(crate) fn new(state: Option<&State>, now: u64, shape: &Shape, cold: Option<Cold>) -> Self {
        match Kind::of(shape) {
            Kind::Bucket(terms) => Self::Bucket(Account::open(
                state.and_then(State::bucket),
                now,
                terms,
                cold,
            )),
            Kind::FixedWindow(windows) => {
                let state = state.and_then(State::fixed_window);
                Self::FixedWindow(Count::open(state, now, windows, cold))
            }
        }
    }

    /// Whether there is room for `cost` units, or for one when it is zero.
    pub(crate) const fn allows(&self, cost: u64) -> bool {
        match self {
            Self::Bucket(account) => account.allows(cost),
            Self::FixedWindow(count) => count.allows(cost),
        }
    }

    /// Units that are left.
    pub(crate) const fn room(&self) -> u64 {
        match self {
            Self::Bucket(account) => account.room(),
            Self::FixedWindow(count) => count.room(),
        }
    }

    /// Takes `cost` units, which there must be room for.
    pub(crate) const fn take(&mut self, cost: u64) {
        match self {
            Self::Bucket(account) => account.take(cost),
            Self::FixedWindow(count) => count.take(cost),
        }
    }

    /// The answer to a request for `cost` that was judged as `allowed`.
    pub(crate) fn reply(&self, cost: u64, allowed: bool) -> TakeReply {
        match self {
            Self::Bucket(account) => account.reply(cost, allowed),
            Self::FixedWindow(count) => count.reply(cost, allowed),
        }
    }

    /// What this region has admitted, where, and in which life of the key.
    pub(crate) const fn admitted(&self) -> (u64, WindowId, Epoch) {
        match self {
            Self::Bucket(account) => (account.consumed(), WindowId::ENDLESS, account.epoch()),
            Self::FixedWindow(count) => (count.own(), count.window(), count.epoch()),
        }
    }

    /// Writes what a take changed.
    pub(crate) fn write(&self, state: &mut Option<State>) {
        match (self, state) {
            (Self::Bucket(account), Some(State::Bucket(bucket))) => account.write(bucket),
            (Self::FixedWindow(count), Some(State::FixedWindow(window))) => count.write(window),
            (_, state) => *state = Some(self.begun()),
        }
    }

    /// The state of a counter that begins with this.
    pub(crate) fn begun(&self) -> State {
        match self {
            Self::Bucket(account) => State::Bucket(account.closed()),
            Self::FixedWindow(count) => State::FixedWindow(count.closed()),
        }
    }
}
