//! The signals of a daemon: stop and reload.

use tokio::signal::unix::{self, SignalKind};

/// What the operating system asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// SIGTERM or SIGINT: drain and exit.
    Stop,
    /// SIGHUP: read rules and certificates again.
    Reload,
}

/// Listens for all of them from its making on, so that none is lost while the node starts.
pub(super) struct Signals {
    terminate: unix::Signal,
    interrupt: unix::Signal,
    hang_up: unix::Signal,
}

impl Signals {
    pub(super) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: unix::signal(SignalKind::terminate())?,
            interrupt: unix::signal(SignalKind::interrupt())?,
            hang_up: unix::signal(SignalKind::hangup())?,
        })
    }

    pub(super) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.terminate.recv() => Signal::Stop,
            _ = self.interrupt.recv() => Signal::Stop,
            _ = self.hang_up.recv() => Signal::Reload,
        }
    }
}
