//! A Redis server of one's own.

use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::wait::wait_until;

/// A port that was free may be taken before the server binds it.
const ATTEMPTS: usize = 5;
const PATIENCE: Duration = Duration::from_secs(10);

/// A `redis-server` process with an empty memory and nothing on disk. Killed when dropped.
#[derive(Debug)]
pub struct RedisServer {
    child: Child,
    port: u16,
    /// Its working directory, removed after it.
    _directory: tempfile::TempDir,
}

impl RedisServer {
    /// A server on a free port of the loopback interface, ready to answer.
    ///
    /// # Errors
    /// When `redis-server` is not installed or does not come up.
    pub fn start() -> Result<Self> {
        Self::start_with(&[])
    }

    /// A server started with more arguments, such as `["--maxmemory", "1mb"]`.
    ///
    /// # Errors
    /// When `redis-server` is not installed or does not come up.
    pub fn start_with(arguments: &[&str]) -> Result<Self> {
        for _ in 0..ATTEMPTS {
            let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
                .local_addr()?
                .port();
            if let Some(server) = Self::start_on(port, arguments)? {
                return Ok(server);
            }
        }
        bail!("redis-server did not come up in {ATTEMPTS} attempts");
    }

    /// A server on `port`; none when it ended at once, as it does when the port is taken.
    ///
    /// # Errors
    /// When `redis-server` is not installed, or neither answers nor ends.
    pub fn start_on(port: u16, arguments: &[&str]) -> Result<Option<Self>> {
        let directory = tempfile::tempdir()?;
        let child = Command::new("redis-server")
            .args([
                "--port",
                &port.to_string(),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
            ])
            .args(["--appendonly", "no"])
            .args(arguments)
            .current_dir(directory.path())
            .stdout(Stdio::null())
            .spawn()
            .context("redis-server must be installed: apt-get install redis-server")?;
        let mut server = Self {
            child,
            port,
            _directory: directory,
        };
        let mut ended = false;
        let answered = wait_until(PATIENCE, || {
            ended = !matches!(server.child.try_wait(), Ok(None));
            ended || server.answers()
        });
        match (ended, answered) {
            (true, _) => Ok(None),
            (false, true) => Ok(Some(server)),
            (false, false) => bail!("redis-server on port {port} does not answer"),
        }
    }

    /// The port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The process id, for signals.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What to configure a client with.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// A new blocking connection.
    ///
    /// # Errors
    /// When the server cannot be reached.
    pub fn connection(&self) -> Result<redis::Connection> {
        Ok(redis::Client::open(self.url())?.get_connection_with_timeout(PATIENCE)?)
    }

    fn answers(&self) -> bool {
        let ping = || -> Result<()> {
            redis::cmd("PING").query::<String>(&mut self.connection()?)?;
            Ok(())
        };
        ping().is_ok()
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        // It may have ended already: a test may have killed it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
