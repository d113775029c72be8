//! Which of the others' totals have been charged to a bucket already.
//!
//! Promises: a total told twice, late or out of order is charged once. Bounded.
//! Never charges what would have drained since the total began.

use std::collections::BTreeMap;

use super::remote::RemotePart;
use super::terms::Terms;
use super::units::{LEDGER_GRACE_MICROS, LEDGER_PARTS_MAX, exact, product};

/// Totals applied, by part.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    applied: BTreeMap<Box<str>, u64>,
    expires: u64,
}

impl Ledger {
    /// When it tells nothing any more, in microseconds.
    pub(crate) const fn expires(&self) -> u64 {
        self.expires
    }

    /// Takes note of `parts` at `at`, and returns the units of debt that are new.
    pub(super) fn apply(
        &mut self,
        parts: &[RemotePart],
        at: u64,
        terms: Terms,
        stale_after: u64,
    ) -> u64 {
        if at >= self.expires {
            self.applied.clear();
        }
        let mut tokens = 0;
        for part in parts {
            let consumed = exact(part.consumed);
            match self.applied.get_mut(part.id.as_str()) {
                Some(applied) => {
                    tokens = exact(tokens + consumed.saturating_sub(*applied));
                    *applied = consumed.max(*applied);
                }
                None => {
                    let owed =
                        consumed.saturating_sub(terms.drained(at.saturating_sub(part.epoch.0)));
                    tokens = exact(tokens + owed.min(terms.burst));
                    self.applied.insert(part.id.as_str().into(), consumed);
                }
            }
        }
        if self.applied.len() > LEDGER_PARTS_MAX {
            self.applied
                .retain(|id, _| parts.iter().any(|part| *part.id == **id));
        }
        self.expires = at + terms.full_micros() + stale_after + LEDGER_GRACE_MICROS;
        product(tokens, terms.per)
    }
}
