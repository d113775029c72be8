//! Token buckets and GCRA: what both share.
//!
//! A bucket is debt: what was taken and has not drained yet. Others' use is debt, too: what they told
//! is charged when it is told, and between tellings at the rate they were told to go on at.
//! Never holds a level itself; see `token_bucket` and `gcra`.

use sync_proto::{Epoch, Span, WindowId};

use super::ledger::Ledger;
use super::remote::{Cold, RemoteBucket};
use super::reply::{TakeReply, Wait};
use super::terms::Terms;
use super::units::{EXACT_MAX, MICROS_PER_MILLI, exact, product};
use super::{BucketAlgorithm, gcra::Gcra, token_bucket::TokenBucket};

#[derive(Clone, Copy, Debug)]
enum Level {
    Token(TokenBucket),
    Gcra(Gcra),
}

impl Level {
    fn new(terms: Terms, owed: u64, time: u64) -> Self {
        match terms.algorithm {
            BucketAlgorithm::TokenBucket => Self::Token(TokenBucket::new(owed, time)),
            BucketAlgorithm::Gcra => Self::Gcra(Gcra::new(owed, time, terms.tokens)),
        }
    }

    const fn algorithm(self) -> BucketAlgorithm {
        match self {
            Self::Token(_) => BucketAlgorithm::TokenBucket,
            Self::Gcra(_) => BucketAlgorithm::Gcra,
        }
    }

    const fn time(self) -> u64 {
        match self {
            Self::Token(level) => level.time(),
            Self::Gcra(level) => level.time(),
        }
    }

    const fn owed_at(self, now: u64, tokens: u64) -> u64 {
        match self {
            Self::Token(level) => level.owed_at(now, tokens),
            Self::Gcra(level) => level.owed_at(now, tokens),
        }
    }
}

/// How others are taken to go on since the last fold.
#[derive(Clone, Copy, Debug)]
struct Others {
    /// Units per millisecond while the fold is fresh.
    rate: u64,
    /// Units per millisecond once it is stale.
    blind: u64,
    folded: u64,
    stale_after: u64,
    /// What of the present debt is there only because they were taken to go on; all of it when this is more.
    lift: u64,
    /// What they were charged since the fold, drained or not.
    charged: u64,
}

impl Others {
    /// Milliseconds of a fresh and of a stale fold that begin in `(from, to]`.
    fn millis(&self, from: u64, to: u64) -> (u64, u64) {
        let fresh_max = self.stale_after / MICROS_PER_MILLI;
        let at = |time: u64| time.saturating_sub(self.folded) / MICROS_PER_MILLI;
        let fresh = |time: u64| at(time).min(fresh_max);
        let fresh_millis = fresh(to) - fresh(from);
        (fresh_millis, at(to) - at(from) - fresh_millis)
    }
}

/// A bucket in a store.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    level: Level,
    consumed: u64,
    epoch: u64,
    expires: u64,
    others: Option<Box<Others>>,
}

/// A bucket brought forward to the time of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    terms: Terms,
    /// Units that may be owed after a take.
    capacity: u64,
    at: u64,
    owed: u64,
    lift: u64,
    charged: u64,
    consumed: u64,
    epoch: u64,
    /// Units per millisecond that go to others now.
    others_now: u64,
    /// Whether the state there was, if any, tells nothing any more.
    fresh: bool,
    /// Whether a region keeps to its part because nothing has been folded in.
    cold: bool,
    /// When the fold is stale; zero without one.
    fold_ends: u64,
}

impl Bucket {
    /// When it carries no information any more, in microseconds.
    pub(crate) const fn expires(&self) -> u64 {
        self.expires
    }

    /// Gives `cost` tokens back if they were taken in `epoch`.
    pub(crate) fn undo(&mut self, now: u64, terms: Terms, cost: u64, epoch: Epoch) {
        let time = self.level.time();
        let other = self.level.algorithm() != terms.algorithm;
        if other || self.epoch != epoch.0 || now.max(time) >= self.expires {
            return;
        }
        // As of the last change: what drained since then would not have, had the units not been taken.
        let owed = self
            .level
            .owed_at(time, terms.tokens)
            .saturating_sub(product(cost, terms.per));
        self.level = Level::new(terms, owed, time);
        self.consumed = self.consumed.saturating_sub(cost);
    }

    /// Charges what `remote` tells and has not been charged yet. The bucket begins if there was none.
    pub(crate) fn fold(
        bucket: &mut Option<Self>,
        ledger: &mut Ledger,
        now: u64,
        terms: Terms,
        (remote, stale_after): (&RemoteBucket, Span),
    ) -> Account {
        let stale_after = exact(stale_after.as_micros());
        let mut account = Account::open(bucket.as_ref(), now, terms, None);
        let told = ledger.apply(&remote.parts, account.at, terms, stale_after);
        if told >= account.charged {
            // A peer can push a bucket at most one full burst below empty.
            let most = account.owed.max(terms.capacity() * 2);
            account.owed = most.min(account.owed + (told - account.charged));
        } else {
            account.owed -= account.lift.min(account.charged - told);
        }
        (account.lift, account.charged) = (0, 0);
        account.fold_ends = account.at + stale_after;
        let others = Others {
            rate: terms.others_per_milli(remote.rate_milli),
            blind: terms.others_per_milli(remote.blind_rate_milli),
            folded: account.at,
            stale_after,
            lift: 0,
            charged: 0,
        };
        let mut folded = account.closed();
        folded.others = Some(Box::new(others));
        *bucket = Some(folded);
        account
    }
}

impl Account {
    /// The bucket at `now`, or at its last change if that was later.
    pub(crate) fn open(
        bucket: Option<&Bucket>,
        now: u64,
        terms: Terms,
        cold: Option<Cold>,
    ) -> Self {
        let live = bucket.filter(|bucket| {
            bucket.level.algorithm() == terms.algorithm
                && now.max(bucket.level.time()) < bucket.expires
        });
        let mut account = Self {
            terms,
            capacity: terms.capacity(),
            at: now,
            owed: 0,
            lift: 0,
            charged: 0,
            consumed: 0,
            epoch: now,
            others_now: 0,
            fresh: live.is_none(),
            cold: false,
            fold_ends: 0,
        };
        let others = live.and_then(|bucket| bucket.others.as_deref());
        if let (Some(cold), None) = (cold, others) {
            (account.capacity, account.others_now) = terms.cold(cold);
            account.cold = true;
        }
        if let Some(bucket) = live {
            account.at = now.max(bucket.level.time());
            account.consumed = bucket.consumed;
            account.epoch = bucket.epoch;
            match others {
                None if account.cold => account.charge_part(bucket),
                None => account.owed = bucket.level.owed_at(account.at, terms.tokens),
                Some(others) => account.charge_others(bucket, others),
            }
        }
        account
    }

    /// Drains at the region's own part of the rate, in steps of a millisecond of the key's life.
    fn charge_part(&mut self, bucket: &Bucket) {
        let since = |time: u64| time.saturating_sub(bucket.epoch) / MICROS_PER_MILLI;
        let millis = since(self.at) - since(bucket.level.time());
        let charge = u128::from(self.others_now) * u128::from(millis);
        self.owed = self.advance(bucket, charge).0;
    }

    /// Drains, and charges the others for going on.
    fn charge_others(&mut self, bucket: &Bucket, others: &Others) {
        let time = bucket.level.time();
        let (fresh, stale) = others.millis(time, self.at);
        let charge = u128::from(others.rate) * u128::from(fresh)
            + u128::from(others.blind) * u128::from(stale);
        let (owed, charged) = self.advance(bucket, charge);
        let known_then = bucket
            .level
            .owed_at(time, self.terms.tokens)
            .saturating_sub(others.lift);
        let known = TokenBucket::new(known_then, time).owed_at(self.at, self.terms.tokens);
        self.owed = owed;
        self.lift = owed.saturating_sub(known);
        self.charged = exact(others.charged + charged);
        self.fold_ends = others.folded + others.stale_after;
        self.others_now = if self.at < self.fold_ends {
            others.rate
        } else {
            others.blind
        };
    }

    /// What is owed after draining and a charge, which alone never fills the bucket past its capacity; and
    /// what of the charge counted.
    fn advance(&self, bucket: &Bucket, charge: u128) -> (u64, u64) {
        let time = bucket.level.time();
        let before = bucket.level.owed_at(time, self.terms.tokens);
        let after = bucket.level.owed_at(self.at, self.terms.tokens);
        let drained = u128::from(self.at - time) * u128::from(self.terms.tokens);
        let most = self.terms.capacity().max(after);
        let sum = (u128::from(before) + charge).saturating_sub(drained);
        match u64::try_from(sum) {
            Ok(owed) if owed <= most => (owed, u64::try_from(charge).map_or(EXACT_MAX, exact)),
            _ => {
                let counted = (drained + u128::from(most)).saturating_sub(u128::from(before));
                (most, u64::try_from(counted).map_or(EXACT_MAX, exact))
            }
        }
    }

    /// Whether there is room for `cost` tokens, or for one when it is zero.
    pub(crate) const fn allows(&self, cost: u64) -> bool {
        let wanted = if cost == 0 { 1 } else { cost };
        wanted <= self.terms.burst && self.owed + product(wanted, self.terms.per) <= self.capacity
    }

    /// Whole tokens that are left.
    pub(crate) const fn room(&self) -> u64 {
        self.capacity.saturating_sub(self.owed) / self.terms.per
    }

    /// Takes `cost` tokens, which there must be room for.
    pub(crate) const fn take(&mut self, cost: u64) {
        self.owed += product(cost, self.terms.per);
        self.consumed += cost;
    }

    /// Tokens that this region has let through in this life of the key.
    pub(crate) const fn consumed(&self) -> u64 {
        self.consumed
    }

    /// The life of the key.
    pub(crate) const fn epoch(&self) -> Epoch {
        Epoch(self.epoch)
    }

    /// The answer to a request for `cost` that was judged as `allowed`.
    pub(crate) fn reply(&self, cost: u64, allowed: bool) -> TakeReply {
        let available = self.room();
        let wanted = cost.max(1);
        let wait = if allowed {
            Wait::None
        } else if wanted > self.terms.burst {
            Wait::Never
        } else {
            Wait::For(self.until(self.owed + product(wanted, self.terms.per) - self.capacity))
        };
        let next = product(available + 1, self.terms.per);
        let reset = if self.owed == 0 {
            Span::ZERO
        } else {
            self.until((self.owed + next).saturating_sub(self.capacity))
        };
        TakeReply {
            allowed,
            available,
            admitted: self.consumed,
            window: WindowId::ENDLESS,
            epoch: Epoch(self.epoch),
            wait,
            reset,
            shared: self.fold_ends > 0,
            remote: 0,
        }
    }

    /// How long `units` need to drain beside the others. With others who leave nothing, what a burst needs without them.
    fn until(&self, units: u64) -> Span {
        let alone = units.div_ceil(self.terms.tokens);
        if self.others_now == 0 {
            return Span::from_micros(alone);
        }
        let left = self.terms.per_milli().saturating_sub(self.others_now);
        let longest = if self.cold {
            EXACT_MAX
        } else {
            alone.max(self.terms.full_micros())
        };
        let beside = if left == 0 {
            longest
        } else {
            product(units.div_ceil(left), MICROS_PER_MILLI).max(alone)
        };
        Span::from_micros(beside.min(longest))
    }

    /// Writes what a take changed.
    pub(crate) fn write(&self, bucket: &mut Bucket) {
        let others = if self.fresh {
            None
        } else {
            bucket.others.take()
        };
        *bucket = self.closed();
        bucket.others = others.map(|mut others| {
            (others.lift, others.charged) = (self.lift, self.charged);
            others
        });
    }

    /// The bucket to keep, without what it knows of others.
    pub(crate) fn closed(&self) -> Bucket {
        let drained_micros = if self.cold {
            let own = self.terms.per_milli() - self.others_now;
            product(self.owed.div_ceil(own), MICROS_PER_MILLI)
        } else {
            self.owed.div_ceil(self.terms.tokens)
        };
        Bucket {
            level: Level::new(self.terms, self.owed, self.at),
            consumed: self.consumed,
            epoch: self.epoch,
            expires: self.fold_ends.max(self.at + drained_micros),
            others: None,
        }
    }
}
