//! What a pod alone tells its region's mesh daemon, and what it makes of the answers.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use limiter_core::check::Request;
use limiter_core::facts::Facts;
use limiter_core::share::Outlook;
use regiond::os::Clock;
use regiond::pod::{LimiterPod, PodConfig, ReportTo};
use regiond::store::StoreLink;
use regiond::telemetry::Metrics;
use regiond::wire::limiter_v1::usage_server::{Usage, UsageServer};
use regiond::wire::limiter_v1::{ReportRequest, ReportResponse};
use sync_proto::{RegionId, Span};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Response, Status};

use crate::support::{poll_until, rules};

const RULES: &str = r#"
- id: shared
  match: { route: "r" }
  key: api_key
  algorithm: fixed_window
  limit: 1000
  window: 1h
- id: own
  match: { route: "own" }
  key: api_key
  algorithm: fixed_window
  limit: 1000
  window: 1h
  scope: region
"#;

/// Remembers what it was told.
#[derive(Clone, Default)]
struct Daemon {
    told: Arc<Mutex<Vec<ReportRequest>>>,
}

#[tonic::async_trait]
impl Usage for Daemon {
    async fn report(
        &self,
        request: tonic::Request<ReportRequest>,
    ) -> Result<Response<ReportResponse>, Status> {
        self.told.lock().unwrap().push(request.into_inner());
        Ok(Response::new(ReportResponse {
            incarnation: 1,
            regions: 3,
            rank: 1,
            fresh: true,
            majority: true,
            pods: 2,
        }))
    }
}

impl Daemon {
    async fn serve(&self, at: SocketAddr) -> (SocketAddr, DropGuard) {
        let bind = || TcpListener::bind(at);
        let listener = poll_until("the port is free", bind, Result::is_ok)
            .await
            .unwrap();
        let address = listener.local_addr().unwrap();
        let service = UsageServer::new(self.clone());
        let stop = CancellationToken::new();
        let stopped = stop.clone().cancelled_owned();
        tokio::spawn(async move {
            let router = Server::builder().add_service(service);
            let incoming = TcpIncoming::from(listener);
            // Connections end with it, as they do when a process does.
            router
                .serve_with_incoming_shutdown(incoming, stopped)
                .await
                .unwrap();
        });
        (address, stop.drop_guard())
    }

    /// The largest total told of each counter.
    fn totals(&self) -> HashMap<Vec<u8>, u64> {
        let mut totals = HashMap::new();
        for entry in self
            .told
            .lock()
            .unwrap()
            .iter()
            .flat_map(|report| &report.entries)
        {
            let total: &mut u64 = totals.entry(entry.name.clone()).or_default();
            *total = entry.admitted.max(*total);
        }
        totals
    }
}

const NOBODY_HEARD: Outlook = Outlook {
    regions: 3,
    rank: 0,
    fresh: false,
    majority: false,
    pods: 1,
};

fn pod(daemon: SocketAddr, tick: Span) -> LimiterPod {
    let clock = Clock::start();
    let config = PodConfig {
        region: RegionId::new("mumbai").unwrap(),
        store: StoreLink::embedded(clock),
        report_to: ReportTo::There(daemon.to_string()),
        clock,
        metrics: Arc::new(Metrics::new()),
        tick,
        outlook: NOBODY_HEARD,
    };
    LimiterPod::start(config, rules(RULES))
}

async fn check(pod: &LimiterPod, route: &str, cost: u64) {
    let facts = Facts::new([("route", route), ("api_key", "k1")]).unwrap();
    assert!(
        pod.check(Request {
            domain: "default",
            facts: &facts,
            cost
        })
        .await
        .allowed
    );
}

fn any_port() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

#[tokio::test]
async fn a_pod_tells_its_daemon_what_the_store_counted_and_learns_of_the_mesh() {
    let daemon = Daemon::default();
    let (address, _serving) = daemon.serve(any_port()).await;
    let pod = pod(address, Span::from_millis(50));
    poll_until(
        "the outlook is told",
        || async { pod.outlook() },
        |o| o.fresh,
    )
    .await;
    assert_eq!(
        pod.outlook(),
        Outlook {
            regions: 3,
            rank: 1,
            fresh: true,
            majority: true,
            pods: 2
        }
    );
    for cost in [1, 2, 3] {
        check(&pod, "r", cost).await;
        check(&pod, "own", cost).await;
    }
    let totals = || async { daemon.totals() };
    let told = poll_until("all is told", totals, |t| t.values().any(|n| *n == 6)).await;
    assert_eq!(
        told.len(),
        1,
        "what a region counts alone is nobody's business"
    );
    let told = daemon.told.lock().unwrap();
    assert!(
        told.iter()
            .all(|report| report.region == "mumbai" && report.pod == told[0].pod)
    );
}

#[tokio::test]
async fn a_pod_without_news_reports_every_tick_so_that_it_counts_as_alive() {
    let daemon = Daemon::default();
    let (address, _serving) = daemon.serve(any_port()).await;
    let _pod = pod(address, Span::from_millis(20));
    let reports = || async { daemon.told.lock().unwrap().len() };
    poll_until("five reports", reports, |count| *count >= 5).await;
    assert!(daemon.totals().is_empty());
}

#[tokio::test]
async fn a_silent_daemon_blinds_the_pod_until_it_is_back_and_nothing_is_lost() {
    let daemon = Daemon::default();
    let (address, serving) = daemon.serve(any_port()).await;
    let pod = pod(address, Span::from_millis(50));
    let outlook = || async { pod.outlook() };
    poll_until("the daemon is heard", outlook, |o| o.fresh && o.majority).await;
    drop(serving);
    let blind = poll_until("the pod is blind", outlook, |o| !o.fresh && !o.majority).await;
    assert_eq!(
        (blind.regions, blind.rank),
        (3, 1),
        "what does not change is kept"
    );
    check(&pod, "r", 5).await;
    let (_, _serving) = daemon.serve(address).await;
    poll_until("the daemon is back", outlook, |o| o.fresh).await;
    let totals = || async { daemon.totals() };
    poll_until("what was counted meanwhile is told", totals, |t| {
        t.values().any(|n| *n == 5)
    })
    .await;
}

#[tokio::test]
async fn a_stop_sends_what_was_not_told_yet() {
    let daemon = Daemon::default();
    let (address, _serving) = daemon.serve(any_port()).await;
    let pod = pod(address, Span::from_secs(3600));
    poll_until("the first report", || async { pod.outlook() }, |o| o.fresh).await;
    check(&pod, "r", 4).await;
    pod.stop().await;
    assert!(
        daemon.totals().values().any(|total| *total == 4),
        "{:?}",
        daemon.totals()
    );
}
