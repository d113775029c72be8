//! A pod on a real Redis: flushed, stopped, restarted, refusing, absent.

use std::time::Duration;

use limiter_core::algo::{Shape, Windows};
use limiter_core::check::{Decision, Request};
use limiter_core::facts::Facts;
use limiter_core::store::{Fold, Remote, RemoteWindows, StoreFault, StoreKey};
use regiond::os::Clock;
use regiond::pod::LimiterPod;
use regiond::store::StoreLink;
use sync_proto::Span;

use crate::redis_server::RedisServer;
use crate::support::{pod_on, poll_until};

const RULES: &str = r#"
- id: window
  match: { route: "r" }
  key: api_key
  algorithm: fixed_window
  limit: 3
  window: 1h
- id: closed
  match: { route: "closed" }
  key: api_key
  algorithm: fixed_window
  limit: 3
  window: 1h
  on_store_failure: closed
- id: local
  match: { route: "local" }
  key: api_key
  algorithm: fixed_window
  limit: 3
  window: 1h
  on_store_failure: local
"#;

/// So long that a busy machine does not run into it.
const LENIENT: Span = Span::from_secs(10);

fn pod(url: String, deadline: Span) -> LimiterPod {
    let clock = Clock::start();
    pod_on(
        StoreLink::redis(&[url], deadline, clock).unwrap(),
        clock,
        RULES,
    )
}

async fn check(pod: &LimiterPod, route: &str, cost: u64) -> Decision {
    let facts = Facts::new([("route", route), ("api_key", "k1")]).unwrap();
    pod.check(Request {
        domain: "default",
        facts: &facts,
        cost,
    })
    .await
}

/// Until the store decides, without taking anything.
async fn connected(pod: &LimiterPod) {
    let peek = || check(pod, "r", 0);
    poll_until("the store decides", peek, |decision| {
        decision.degraded.is_empty()
    })
    .await;
}

fn fault(decision: &Decision) -> StoreFault {
    decision.degraded.first().expect("degraded").fault
}

#[tokio::test]
async fn counts_are_kept_in_redis_and_seen_by_every_pod() {
    let server = RedisServer::start(&[]).await;
    let (one, two) = (pod(server.url(), LENIENT), pod(server.url(), LENIENT));
    connected(&one).await;
    connected(&two).await;
    for pod in [&one, &two, &one] {
        assert!(check(pod, "r", 1).await.allowed);
    }
    for pod in [&one, &two] {
        let denied = check(pod, "r", 1).await;
        assert!(!denied.allowed && denied.degraded.is_empty());
    }
}

#[tokio::test]
async fn a_server_that_forgot_the_scripts_is_sent_them_again() {
    let server = RedisServer::start(&[]).await;
    let pod = pod(server.url(), LENIENT);
    connected(&pod).await;
    let _: () = server.run(&["SCRIPT", "FLUSH"]).await;
    let decision = check(&pod, "r", 1).await;
    assert!(
        decision.allowed && decision.degraded.is_empty(),
        "{decision:?}"
    );
}

#[tokio::test]
async fn a_flushed_server_counts_anew() {
    let server = RedisServer::start(&[]).await;
    let pod = pod(server.url(), LENIENT);
    connected(&pod).await;
    assert!(check(&pod, "r", 3).await.allowed);
    assert!(!check(&pod, "r", 1).await.allowed);
    let _: () = server.run(&["FLUSHALL"]).await;
    assert!(check(&pod, "r", 3).await.allowed);
    assert!(!check(&pod, "r", 1).await.allowed);
}

#[tokio::test]
async fn a_stopped_server_is_not_waited_for_and_decides_again_when_it_goes_on() {
    let server = RedisServer::start(&[]).await;
    let pod = pod(server.url(), Span::from_millis(50));
    connected(&pod).await;
    server.signal("STOP");
    // Connecting again would hang, too: whatever the state, no check may wait for it.
    for round in 0..40 {
        let answer = tokio::time::timeout(Duration::from_secs(2), check(&pod, "closed", 1));
        let decision = answer.await.expect("no check waits for a stopped server");
        assert!(!decision.allowed, "{round}");
        assert_eq!(fault(&decision), StoreFault::Deadline, "{round}");
        assert!(check(&pod, "r", 1).await.allowed, "fails open");
    }
    server.signal("CONT");
    connected(&pod).await;
}

#[tokio::test]
async fn each_rule_fails_its_own_way_while_there_is_no_server() {
    let mut server = RedisServer::absent(&[]);
    let pod = pod(server.url(), LENIENT);
    assert!(check(&pod, "r", 1).await.allowed);
    assert!(!check(&pod, "closed", 1).await.allowed);
    let local: Vec<bool> = [
        check(&pod, "local", 1).await,
        check(&pod, "local", 2).await,
        check(&pod, "local", 1).await,
    ]
    .map(|decision| decision.allowed)
    .into();
    assert_eq!(local, [true, true, false], "a bucket in memory");
    assert_eq!(fault(&check(&pod, "r", 1).await), StoreFault::Unreachable);
    server.launch().await;
    connected(&pod).await;
    assert!(check(&pod, "closed", 1).await.allowed);
}

#[tokio::test]
async fn a_restarted_server_is_connected_to_again() {
    let mut server = RedisServer::start(&[]).await;
    let pod = pod(server.url(), LENIENT);
    connected(&pod).await;
    assert!(check(&pod, "r", 3).await.allowed);
    server.kill();
    let degraded = || check(&pod, "closed", 1);
    let decision = poll_until("it is missed", degraded, |d| !d.degraded.is_empty()).await;
    assert_eq!(fault(&decision), StoreFault::Unreachable);
    server.launch().await;
    connected(&pod).await;
    assert!(check(&pod, "r", 3).await.allowed, "a new life counts anew");
    assert!(!check(&pod, "r", 1).await.allowed);
}

#[tokio::test]
async fn a_server_that_refuses_to_write_is_told_from_one_that_is_away() {
    let server = RedisServer::start(&["--min-replicas-to-write", "0"]).await;
    let pod = pod(server.url(), LENIENT);
    connected(&pod).await;
    let _: () = server.run(&["REPLICAOF", "127.0.0.1", "1"]).await;
    let decision = check(&pod, "closed", 1).await;
    assert!(!decision.allowed);
    assert_eq!(fault(&decision), StoreFault::Refused);
    let _: () = server.run(&["REPLICAOF", "NO", "ONE"]).await;
    assert!(check(&pod, "closed", 1).await.allowed);
}

#[tokio::test]
async fn another_programs_value_under_our_key_is_a_fault_of_that_key_alone() {
    let server = RedisServer::start(&[]).await;
    let pod = pod(server.url(), LENIENT);
    connected(&pod).await;
    assert!(check(&pod, "closed", 1).await.allowed);
    let keys: Vec<String> = server.run(&["KEYS", "*"]).await;
    for key in &keys {
        let _: () = server.run(&["DEL", key]).await;
        let _: () = server.run(&["LPUSH", key, "nonsense"]).await;
    }
    assert_eq!(fault(&check(&pod, "closed", 1).await), StoreFault::Corrupt);
    assert!(check(&pod, "r", 1).await.degraded.is_empty());
}

#[tokio::test]
async fn a_password_a_user_and_a_database_in_the_url_are_used() {
    let server = RedisServer::start(&["--requirepass", "secret"]).await;
    let url = format!("redis://default:secret@{}/3", server.address());
    let pod = pod(url, LENIENT);
    connected(&pod).await;
    let wrong = format!("redis://default:wrong@{}/3", server.address());
    let wrong = self::pod(wrong, LENIENT);
    let refused = || check(&wrong, "closed", 1);
    poll_until("it is refused", refused, |decision| {
        fault(decision) == StoreFault::Refused
    })
    .await;
}

#[tokio::test]
async fn folds_travel_by_the_hundred_and_survive_a_forgotten_script() {
    let server = RedisServer::start(&[]).await;
    let clock = Clock::start();
    let link = StoreLink::redis(&[server.url()], LENIENT, clock).unwrap();
    let fold = |index: u32| Fold {
        key: StoreKey(format!("{{key-{index}}}:w").into_bytes().into()),
        shape: Shape::FixedWindow {
            limit: 10,
            windows: Windows::Every {
                length: Span::from_secs(3600),
                phase: Span::ZERO,
            },
        },
        remote: Remote::Window(RemoteWindows::default()),
        stale_after: Span::from_secs(10),
    };
    let folds: Vec<Fold> = (0..600).map(fold).collect();
    let all = || link.fold(&folds);
    let done = |replies: &Vec<Result<_, StoreFault>>| replies.iter().all(Result::is_ok);
    let first = poll_until("the store takes folds", all, done).await;
    assert_eq!(first.len(), 600);
    let _: () = server.run(&["SCRIPT", "FLUSH"]).await;
    let again = link.fold(&folds).await;
    assert!(
        done(&again),
        "{:?}",
        again.iter().find(|reply| reply.is_err())
    );
    let epochs = |replies: &[Result<limiter_core::store::FoldReply, StoreFault>]| -> Vec<_> {
        replies.iter().map(|reply| reply.unwrap().epoch).collect()
    };
    assert_eq!(
        epochs(&first),
        epochs(&again),
        "each reply belongs to its fold"
    );
}
