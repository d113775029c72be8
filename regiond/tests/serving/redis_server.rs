//! A real redis-server of a test's own.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use redis::Client;

use crate::support::poll_until;

/// A server in a folder of its own. Killed when dropped.
pub(crate) struct RedisServer {
    folder: tempfile::TempDir,
    port: u16,
    args: Vec<String>,
    child: Option<Child>,
}

impl RedisServer {
    pub(crate) async fn start(args: &[&str]) -> Self {
        let mut server = Self::absent(args);
        server.launch().await;
        server
    }

    /// A place where a server will be.
    pub(crate) fn absent(args: &[&str]) -> Self {
        // Nobody else is given the port again so soon.
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        Self {
            folder: tempfile::tempdir().unwrap(),
            port,
            args,
            child: None,
        }
    }

    pub(crate) async fn launch(&mut self) {
        let child = Command::new("redis-server")
            .args(["--port", &self.port.to_string(), "--bind", "127.0.0.1"])
            .args(["--save", "", "--appendonly", "no"])
            .arg("--dir")
            .arg(self.folder.path())
            .args(&self.args)
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is installed");
        self.child = Some(child);
        let port = self.port;
        let connects = || async move {
            tokio::net::TcpStream::connect(("127.0.0.1", port))
                .await
                .is_ok()
        };
        poll_until("redis-server listens", connects, |connected| *connected).await;
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) async fn run<T: redis::FromRedisValue>(&self, command: &[&str]) -> T {
        let client = Client::open(self.url()).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        let mut line = redis::cmd(command[0]);
        line.arg(&command[1..]);
        line.query_async(&mut connection).await.unwrap()
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.as_ref().expect("it runs").id().to_string();
        let done = Command::new("kill")
            .args([format!("-{name}"), pid])
            .status()
            .unwrap();
        assert!(done.success());
    }

    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.kill();
    }
}
