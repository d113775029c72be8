//! The one queue of what will happen, in order of time and then of being queued.
//!
//! Promises: a tie is never left to the shape of a heap.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::clock::VirtualTime;

/// What will happen.
#[derive(Debug)]
pub(crate) struct Queue<E> {
    heap: BinaryHeap<Entry<E>>,
    sequence: u64,
}

#[derive(Debug)]
struct Entry<E> {
    at: VirtualTime,
    sequence: u64,
    event: E,
}

impl<E> Queue<E> {
    pub(crate) fn new() -> Self {
        Self {
            heap: BinaryHeap::new(),
            sequence: 0,
        }
    }

    /// Queues `event` behind everything else of its time.
    pub(crate) fn push(&mut self, at: VirtualTime, event: E) {
        self.heap.push(Entry {
            at,
            sequence: self.sequence,
            event,
        });
        self.sequence += 1;
    }

    /// What happens next.
    pub(crate) fn pop(&mut self) -> Option<(VirtualTime, E)> {
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }
}

// A heap gives the largest first: the order is turned around.
impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.sequence).cmp(&(self.at, self.sequence))
    }
}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Entry<E> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_one_time_happen_in_the_order_they_were_queued() {
        let mut queue = Queue::new();
        for (at, name) in [(5, "c"), (1, "a"), (5, "d"), (1, "b"), (5, "e")] {
            queue.push(VirtualTime(at), name);
        }
        let order: Vec<&str> = std::iter::from_fn(|| queue.pop())
            .map(|(_, name)| name)
            .collect();
        assert_eq!(order, ["a", "b", "c", "d", "e"]);
    }
}
