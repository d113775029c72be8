//! Keeps one multiplexed connection to a Redis up, so that no check ever waits for connecting.
//!
//! Promises: while there is no connection, asking for it fails at once with the reason; a connection that stopped answering is replaced.
//! Never retries a command.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use limiter_core::store::StoreFault;
use limiter_core::store::redis_dialect::Script;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisResult};
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::fault::fault;

/// The longest wait for a connection, and for a sign of life on one that is in doubt.
const PATIENCE: Duration = Duration::from_secs(1);

/// Waits between attempts to connect grow from the first to the second.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// A connection that just gave a sign of life is not asked for another one for so long.
const TRUST: Duration = Duration::from_millis(200);

/// A connection that is set up.
#[derive(Clone)]
pub(super) struct Connected {
    pub(super) connection: MultiplexedConnection,
    hashes: [String; 3],
}

impl Connected {
    /// The SHA-1 under which the server knows a script.
    pub(super) fn hash(&self, script: Script) -> &str {
        let [take, undo, fold] = &self.hashes;
        match script {
            Script::Take => take,
            Script::Undo => undo,
            Script::Fold => fold,
        }
    }
}

/// What there is for a call: a connection, or the reason why there is none.
type Standing = Result<Connected, StoreFault>;

struct Gate {
    standing: ArcSwap<Standing>,
    doubt: Notify,
}

/// A connection that comes back by itself. The task that sees to it ends with the last clone of its owner.
pub(super) struct Connection {
    gate: Arc<Gate>,
    _upkeep: AbortOnDropHandle<()>,
}

impl Connection {
    /// Begins to connect, on the current runtime.
    pub(super) fn open(client: Client, address: String) -> Self {
        let gate = Arc::new(Gate {
            standing: ArcSwap::from_pointee(Err(StoreFault::Unreachable)),
            doubt: Notify::new(),
        });
        let upkeep = tokio::spawn(keep_up(client, address, Arc::clone(&gate)));
        Self {
            gate,
            _upkeep: AbortOnDropHandle::new(upkeep),
        }
    }

    /// The connection as it stands.
    pub(super) fn standing(&self) -> Arc<Standing> {
        self.gate.standing.load_full()
    }

    /// A call was not answered: the connection is to be looked at.
    pub(super) fn doubt(&self) {
        self.gate.doubt.notify_one();
    }
}

async fn keep_up(client: Client, address: String, gate: Arc<Gate>) {
    let (least, most) = BACKOFF;
    let mut wait = least;
    let mut told = None;
    loop {
        let reason = match connect(&client).await {
            Ok(connected) => {
                tracing::info!(redis = address, "connected to the store");
                gate.standing.store(Arc::new(Ok(connected.clone())));
                (wait, told) = (least, None);
                let reason = lost(connected, &gate).await;
                tracing::warn!(redis = address, %reason, "the store is lost; failure modes decide meanwhile");
                reason
            }
            Err((reason, detail)) => {
                if told.replace(reason) != Some(reason) {
                    tracing::warn!(redis = address, %reason, detail, "no connection to the store; failure modes decide meanwhile");
                }
                reason
            }
        };
        gate.standing.store(Arc::new(Err(reason)));
        tokio::time::sleep(wait).await;
        wait = most.min(wait * 2);
    }
}

/// Connects and makes the scripts known, within [`PATIENCE`]; else the reason, and the same in the client's words.
async fn connect(client: &Client) -> Result<Connected, (StoreFault, String)> {
    match timeout(PATIENCE, set_up(client)).await {
        Ok(Ok(connected)) => Ok(connected),
        Ok(Err(error)) => Err((fault(&error), error.to_string())),
        Err(late) => Err((StoreFault::Deadline, late.to_string())),
    }
}

async fn set_up(client: &Client) -> RedisResult<Connected> {
    // Every caller has a deadline of its own.
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(None)
        .set_response_timeout(None);
    let mut connection = client
        .get_multiplexed_async_connection_with_config(&config)
        .await?;
    let mut loads = redis::pipe();
    for script in [Script::Take, Script::Undo, Script::Fold] {
        loads.cmd("SCRIPT").arg("LOAD").arg(script.source());
    }
    let (take, undo, fold) = loads.query_async(&mut connection).await?;
    Ok(Connected {
        connection,
        hashes: [take, undo, fold],
    })
}

/// Resolves when the connection is of no use any more, with the reason.
async fn lost(mut connected: Connected, gate: &Gate) -> StoreFault {
    let ping = redis::cmd("PING");
    loop {
        gate.doubt.notified().await;
        match timeout(PATIENCE, ping.query_async::<()>(&mut connected.connection)).await {
            Err(_) => return StoreFault::Deadline,
            Ok(Err(error)) if fault(&error) == StoreFault::Unreachable => {
                return StoreFault::Unreachable;
            }
            // A refusal is a sign of life, too.
            Ok(_) => {}
        }
        tokio::time::sleep(TRUST).await;
    }
}
