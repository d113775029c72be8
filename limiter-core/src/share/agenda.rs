//! Which keys are to be folded when.
//!
//! Promises: a key is on the agenda at most once, at the earliest time asked for; keys due together come in the order of their names.
//! Never holds more than the folder follows.

use std::collections::{BTreeMap, BTreeSet};

use sync_proto::{CounterName, MonoTime};

/// Counters by the time at which they are due.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    by_time: BTreeSet<(MonoTime, CounterName)>,
    by_name: BTreeMap<CounterName, MonoTime>,
}

impl Agenda {
    /// `name` is due at `at`, or earlier when it was already.
    pub(super) fn put(&mut self, name: &CounterName, at: MonoTime) {
        match self.by_name.get(name) {
            Some(due) if *due <= at => return,
            Some(due) => {
                self.by_time.remove(&(*due, name.clone()));
            }
            None => {}
        }
        self.by_name.insert(name.clone(), at);
        self.by_time.insert((at, name.clone()));
    }

    /// Takes the next name that is due.
    pub(super) fn pop(&mut self, now: MonoTime) -> Option<CounterName> {
        let (at, name) = self.by_time.first()?;
        if *at > now {
            return None;
        }
        let (_, name) = (*at, name.clone());
        self.by_time.pop_first();
        self.by_name.remove(&name);
        Some(name)
    }

    /// When the next name is due.
    pub(super) fn next(&self) -> Option<MonoTime> {
        self.by_time.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_asked_for_twice_comes_once_and_early() {
        let name = CounterName::new(b"key").unwrap();
        let mut agenda = Agenda::default();
        agenda.put(&name, MonoTime::from_micros(20));
        agenda.put(&name, MonoTime::from_micros(10));
        agenda.put(&name, MonoTime::from_micros(30));
        assert_eq!(agenda.pop(MonoTime::from_micros(9)), None);
        assert_eq!(agenda.pop(MonoTime::from_micros(10)), Some(name));
        assert_eq!(agenda.pop(MonoTime::from_micros(99)), None);
        assert_eq!(agenda.next(), None);
    }
}
