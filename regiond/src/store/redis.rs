//! The region's Redis: one script call per group, multiplexed over one connection.
//!
//! Promises: a take is answered or failed within its deadline and never sent twice; concurrent calls share round trips.
//! Never waits for a connection: while there is none, every call fails at once.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use futures_util::future::join_all;
use limiter_core::check::Plan;
use limiter_core::store::redis_dialect::{
    Call, Script, decode_fold, decode_take, encode_fold, encode_take, encode_undo,
};
use limiter_core::store::{Fold, FoldReply, GroupReply, StoreFault, TakeGroup, Undo};
use redis::{Client, Cmd, RedisResult, Value};
use sync_proto::Span;
use tokio::time::timeout;

use super::connection::{Connected, Connection};
use super::fault::{fault, is_unknown_script};
use crate::os::Clock;

/// Folds and undos in one round trip: short enough that checks get their turn in between.
const BATCH: usize = 256;

/// The longest wait for one batch. Nobody waits for it but the fold itself.
const BATCH_DEADLINE: Duration = Duration::from_secs(1);

/// A Redis. Cheap to clone; all clones share one connection.
#[derive(Clone)]
pub struct RedisLink {
    shared: Arc<Shared>,
}

struct Shared {
    address: String,
    deadline: Duration,
    connection: Connection,
}

impl fmt::Debug for RedisLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RedisLink")
            .field(&self.shared.address)
            .finish()
    }
}

impl RedisLink {
    pub(super) fn open(urls: &[String], deadline: Span, _clock: Clock) -> anyhow::Result<Self> {
        let client = client(urls)?;
        tokio::runtime::Handle::try_current().context("a Redis is kept connected by a runtime")?;
        let address = client.get_connection_info().addr().to_string();
        Ok(Self {
            shared: Arc::new(Shared {
                connection: Connection::open(client, address.clone()),
                deadline: Duration::from_micros(deadline.as_micros()),
                address,
            }),
        })
    }

    pub(super) fn address(&self) -> &str {
        &self.shared.address
    }

    pub(super) async fn take(&self, plan: &Plan) -> Vec<Result<GroupReply, StoreFault>> {
        match plan.groups.as_slice() {
            [] => Vec::new(),
            [group] => vec![self.take_group(group).await],
            groups => join_all(groups.iter().map(|group| self.take_group(group))).await,
        }
    }

    async fn take_group(&self, group: &TakeGroup) -> Result<GroupReply, StoreFault> {
        let standing = self.shared.connection.standing();
        let connected = standing.as_ref().as_ref().map_err(|reason| *reason)?;
        let call = encode_take(group);
        let reply = self
            .timed(
                self.shared.deadline,
                run(connected.clone(), Script::Take, &call),
            )
            .await?;
        decode_take(group, &reply)
    }

    pub(super) async fn undo(&self, undo: &[Undo]) {
        for batch in undo.chunks(BATCH) {
            let calls: Vec<Call> = batch.iter().map(encode_undo).collect();
            for result in self.batch(Script::Undo, &calls).await {
                if let Err(reason) = result {
                    tracing::debug!(%reason, "units could not be given back");
                }
            }
        }
    }

    pub(super) async fn fold(&self, folds: &[Fold]) -> Vec<Result<FoldReply, StoreFault>> {
        let mut replies = Vec::with_capacity(folds.len());
        for batch in folds.chunks(BATCH) {
            let calls: Vec<Call> = batch.iter().map(encode_fold).collect();
            let decode = |value: Value| {
                let numbers: Vec<i64> =
                    redis::from_redis_value(value).map_err(|_| StoreFault::Corrupt)?;
                decode_fold(&numbers)
            };
            let results = self.batch(Script::Fold, &calls).await;
            replies.extend(results.into_iter().map(|result| result.and_then(decode)));
        }
        replies
    }

    /// Runs all calls in one round trip; calls that the server did not know the script for have had no effect, and run once more.
    async fn batch(&self, script: Script, calls: &[Call]) -> Vec<Result<Value, StoreFault>> {
        let standing = self.shared.connection.standing();
        let connected = match standing.as_ref() {
            Ok(connected) => connected.clone(),
            Err(reason) => return vec![Err(*reason); calls.len()],
        };
        match self
            .timed(BATCH_DEADLINE, run_all(connected, script, calls))
            .await
        {
            Ok(results) => results
                .into_iter()
                .map(|result| result.map_err(|e| fault(&e)))
                .collect(),
            Err(reason) => vec![Err(reason); calls.len()],
        }
    }

    /// Waits until the deadline at most. An unanswered call puts the connection in doubt.
    async fn timed<T>(
        &self,
        deadline: Duration,
        call: impl Future<Output = RedisResult<T>>,
    ) -> Result<T, StoreFault> {
        let reason = match timeout(deadline, call).await {
            Ok(Ok(reply)) => return Ok(reply),
            Ok(Err(error)) => fault(&error),
            Err(_) => StoreFault::Deadline,
        };
        if matches!(reason, StoreFault::Deadline | StoreFault::Unreachable) {
            self.shared.connection.doubt();
        }
        Err(reason)
    }
}

/// Reads the URLs. What cannot be served yet is refused with what can.
fn client(urls: &[String]) -> anyhow::Result<Client> {
    let [url] = urls else {
        bail!(
            "{} Redis URLs were given, but clusters are not supported yet: give one URL",
            urls.len()
        );
    };
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    match scheme {
        Some("redis" | "valkey") => {}
        Some("rediss" | "valkeys") => {
            bail!("Redis over TLS is not supported yet: use redis:// within a trusted network");
        }
        _ => bail!("a Redis URL has the form redis://[user:password@]host[:port][/db]"),
    }
    Client::open(url.as_str())
        .context("a Redis URL has the form redis://[user:password@]host[:port][/db]")
}

fn command(verb: &str, name: &str, call: &Call) -> Cmd {
    let mut command = redis::cmd(verb);
    command.arg(name).arg(call.keys.len());
    for part in call.keys.iter().chain(&call.args) {
        command.arg(part.as_slice());
    }
    command
}

/// One call by hash, and once more with the source when the server has forgotten it.
async fn run(mut connected: Connected, script: Script, call: &Call) -> RedisResult<Vec<i64>> {
    let by_hash = command("EVALSHA", connected.hash(script), call);
    match by_hash.query_async(&mut connected.connection).await {
        Err(error) if is_unknown_script(&error) => {
            let with_source = command("EVAL", script.source(), call);
            with_source.query_async(&mut connected.connection).await
        }
        reply => reply,
    }
}

async fn run_all(
    mut connected: Connected,
    script: Script,
    calls: &[Call],
) -> RedisResult<Vec<RedisResult<Value>>> {
    let mut results = send_all(&mut connected, script, calls.iter()).await?;
    let unknown = |result: &RedisResult<Value>| result.as_ref().is_err_and(is_unknown_script);
    if !results.iter().any(unknown) {
        return Ok(results);
    }
    let mut load = redis::cmd("SCRIPT");
    load.arg("LOAD").arg(script.source());
    load.query_async::<()>(&mut connected.connection).await?;
    let again = calls
        .iter()
        .zip(&results)
        .filter(|(_, result)| unknown(result));
    let again: Vec<&Call> = again.map(|(call, _)| call).collect();
    let mut replies = send_all(&mut connected, script, again.into_iter())
        .await?
        .into_iter();
    for slot in results.iter_mut().filter(|result| unknown(result)) {
        if let Some(reply) = replies.next() {
            *slot = reply;
        }
    }
    Ok(results)
}

async fn send_all<'a>(
    connected: &mut Connected,
    script: Script,
    calls: impl Iterator<Item = &'a Call>,
) -> RedisResult<Vec<RedisResult<Value>>> {
    let mut pipeline = redis::pipe();
    pipeline.ignore_errors();
    for call in calls {
        pipeline.add_command(command("EVALSHA", connected.hash(script), call));
    }
    pipeline.query_async(&mut connected.connection).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(urls: &[&str]) -> String {
        let urls: Vec<String> = urls.iter().map(|url| (*url).to_owned()).collect();
        format!("{:#}", client(&urls).unwrap_err())
    }

    #[test]
    fn what_cannot_be_connected_to_is_refused_with_what_can() {
        assert!(refusal(&["rediss://r:6379"]).contains("TLS is not supported yet"));
        assert!(refusal(&["redis://a", "redis://b"]).contains("clusters are not supported yet"));
        assert!(refusal(&["localhost:6379"]).contains("redis://[user:password@]host"));
        assert!(refusal(&["http://localhost"]).contains("redis://[user:password@]host"));
    }

    #[test]
    fn a_password_never_shows_in_what_metrics_call_the_store() {
        let client = client(&["redis://user:secret@10.0.0.1:7000/3".to_owned()]).unwrap();
        let info = client.get_connection_info();
        assert_eq!(info.addr().to_string(), "10.0.0.1:7000");
        assert_eq!(info.redis_settings().db(), 3);
        assert_eq!(info.redis_settings().password(), Some("secret"));
        assert_eq!(info.redis_settings().username(), Some("user"));
    }
}
