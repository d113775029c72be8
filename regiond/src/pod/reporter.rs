//! Usage to the region's mesh daemon, in the background.
//!
//! Promises: a report at least once a tick, so that the daemon knows the pod lives; when it has been silent for two and a half ticks, nobody is
//! taken to be heard.
//! Never makes a check wait: notes are taken under a lock held for a moment.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use arc_swap::ArcSwap;
use limiter_core::check::{GroupOutcome, Plan};
use limiter_core::share::{Outlook, Reporter, UsageReport};
use sync_proto::{MonoTime, RegionId, Span};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::ReportTo;
use super::daemon::{Daemon, Undelivered};
use crate::os::{Clock, entropy};

/// What checks and the background task share.
struct Desk {
    notes: Mutex<Notes>,
    wake: Notify,
}

struct Notes {
    reporter: Reporter,
    /// When the task will look next by itself; a note that makes something due sooner wakes it.
    looks_at: MonoTime,
}

impl Desk {
    fn with<T>(&self, run: impl FnOnce(&mut Notes) -> T) -> T {
        run(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The reporting of a pod. Ends, without a last report, when it is dropped.
pub(super) struct Reporting {
    desk: Arc<Desk>,
    stop: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
    _end: DropGuard,
}

impl Reporting {
    /// Starts the task on the current runtime; none when there is nobody to report to.
    pub(super) fn start(
        to: ReportTo,
        region: RegionId,
        tick: Span,
        clock: Clock,
        outlook: Arc<ArcSwap<Outlook>>,
    ) -> Option<Self> {
        let daemon = match Daemon::new(to, entropy(), region) {
            Ok(daemon) => daemon?,
            Err(error) => {
                tracing::error!(
                    error,
                    "the mesh daemon's address cannot be used; this pod counts for itself"
                );
                outlook.store(Arc::new(outlook.load().blinded()));
                return None;
            }
        };
        let notes = Notes {
            reporter: Reporter::new(tick),
            looks_at: MonoTime::default(),
        };
        let desk = Arc::new(Desk {
            notes: Mutex::new(notes),
            wake: Notify::new(),
        });
        let stop = CancellationToken::new();
        let task = Task {
            desk: Arc::clone(&desk),
            daemon,
            clock,
            tick,
            outlook,
            answered_at: clock.mono(),
            silent: false,
        };
        let handle = tokio::spawn(task.run(stop.clone()));
        let end = stop.clone().drop_guard();
        Some(Self {
            desk,
            stop,
            task: Mutex::new(Some(handle)),
            _end: end,
        })
    }

    /// Takes note of an answered check.
    pub(super) fn note(&self, now: MonoTime, plan: &Plan, outcomes: &[GroupOutcome]) {
        let sooner = self.desk.with(|notes| {
            notes.reporter.note(now, plan, outcomes);
            notes
                .reporter
                .poll_timeout()
                .is_some_and(|due| due < notes.looks_at)
        });
        if sooner {
            self.desk.wake.notify_one();
        }
    }

    /// Sends the last report. Later calls return at once.
    pub(super) async fn stop(&self) {
        self.stop.cancel();
        let task = self
            .task
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(task) = task {
            // A task that panicked has nothing more to send.
            let _ = task.await;
        }
    }
}

struct Task {
    desk: Arc<Desk>,
    daemon: Daemon,
    clock: Clock,
    tick: Span,
    outlook: Arc<ArcSwap<Outlook>>,
    answered_at: MonoTime,
    silent: bool,
}

impl Task {
    async fn run(mut self, stop: CancellationToken) {
        let mut not_before = MonoTime::default();
        loop {
            let now = self.clock.mono();
            let due = now >= not_before;
            match self
                .desk
                .with(|notes| due.then(|| notes.reporter.poll_report(now)).flatten())
            {
                Some(report) => {
                    if !self.deliver(report).await {
                        not_before = self.clock.mono().plus(self.tick.divided_by(4));
                    }
                }
                None => self.blind_if_silent(),
            }
            let due = self.next_look(not_before);
            tokio::select! {
                () = tokio::time::sleep_until(due.into()) => {}
                () = self.desk.wake.notified() => {}
                () = stop.cancelled() => break,
            }
            if stop.is_cancelled() {
                break;
            }
        }
        let now = self.clock.mono();
        let last = self.desk.with(|notes| notes.reporter.flush(now));
        self.deliver(last).await;
    }

    /// When to look again: when something is due, but not sooner than a failure allows.
    fn next_look(&self, not_before: MonoTime) -> Instant {
        let at = self.desk.with(|notes| {
            let due = notes.reporter.poll_timeout();
            let due = due.unwrap_or_else(|| self.clock.mono().plus(self.tick));
            // While held back, no note makes it sooner.
            notes.looks_at = if due < not_before {
                MonoTime::default()
            } else {
                due
            };
            due.max(not_before)
        });
        self.clock.instant(at)
    }

    async fn deliver(&mut self, report: UsageReport) -> bool {
        match self.daemon.tell(report).await {
            Ok(reply) => {
                let now = self.clock.mono();
                self.answered_at = now;
                if std::mem::replace(&mut self.silent, false) {
                    tracing::info!("the mesh daemon answers again");
                }
                self.desk
                    .with(|notes| notes.reporter.handle_reply(now, reply));
                if **self.outlook.load() != reply.outlook {
                    self.outlook.store(Arc::new(reply.outlook));
                }
                true
            }
            Err(Undelivered { report, why }) => {
                if !std::mem::replace(&mut self.silent, true) {
                    tracing::warn!(
                        why,
                        "the mesh daemon does not take reports; they go into the next one"
                    );
                }
                let now = self.clock.mono();
                self.desk
                    .with(|notes| notes.reporter.handle_failure(now, report));
                self.blind_if_silent();
                false
            }
        }
    }

    fn blind_if_silent(&self) {
        let patience = self.tick.times(5).divided_by(2);
        if self.clock.mono().since(self.answered_at) > patience {
            let blinded = self.outlook.load().blinded();
            if **self.outlook.load() != blinded {
                self.outlook.store(Arc::new(blinded));
            }
        }
    }
}
