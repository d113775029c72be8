//! The way to the region's mesh daemon: a call in this process, or gRPC.
//!
//! Promises: an answer or a failure within half a second.
//! Never retries: what was not delivered goes into the next report.

use std::time::Duration;

use limiter_core::share::{Outlook, ReportReply, UsageReport};
use sync_proto::{Incarnation, RegionId};
use tokio::time::timeout;
use tonic::transport::{Channel, Endpoint};

use super::ReportTo;
use crate::mesh::MeshHandle;
use crate::wire::limiter_v1::usage_client::UsageClient;
use crate::wire::limiter_v1::{ReportRequest, ReportResponse, UsageEntry};

/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_millis(500);

/// Entries in one message; well below the size that a gRPC server takes.
const ENTRIES_PER_MESSAGE: usize = 10_000;

/// The region's mesh daemon, as a pod reaches it.
pub(super) struct Daemon {
    route: Route,
    pod: u64,
    region: RegionId,
}

enum Route {
    Here(MeshHandle),
    There(UsageClient<Channel>),
}

/// What was not delivered, and why.
pub(super) struct Undelivered {
    pub(super) report: UsageReport,
    pub(super) why: String,
}

impl Daemon {
    /// The way there; none when there is no daemon. An address that cannot be one is the configuration's fault, and is returned.
    pub(super) fn new(to: ReportTo, pod: u64, region: RegionId) -> Result<Option<Self>, String> {
        let route = match to {
            ReportTo::Nobody => return Ok(None),
            ReportTo::Here(mesh) => Route::Here(mesh),
            ReportTo::There(address) => {
                let endpoint = Endpoint::from_shared(format!("http://{address}"))
                    .map_err(|error| format!("{address}: {error}"))?;
                let endpoint = endpoint
                    .connect_timeout(PATIENCE)
                    .timeout(PATIENCE)
                    .tcp_nodelay(true);
                Route::There(UsageClient::new(endpoint.connect_lazy()))
            }
        };
        Ok(Some(Self { route, pod, region }))
    }

    /// Tells the daemon, in as many messages as it takes; the last answer is returned.
    pub(super) async fn tell(&mut self, report: UsageReport) -> Result<ReportReply, Undelivered> {
        let mut entries = report.entries;
        loop {
            let rest = entries.split_off(entries.len().min(ENTRIES_PER_MESSAGE));
            let part = UsageReport { entries };
            match timeout(PATIENCE, self.send(&part)).await {
                Ok(Ok(reply)) if rest.is_empty() => return Ok(reply),
                Ok(Ok(_)) => entries = rest,
                failed => {
                    let why = match failed {
                        Ok(Err(why)) => why,
                        _ => "no answer in time".to_owned(),
                    };
                    let mut report = part;
                    report.entries.extend(rest);
                    return Err(Undelivered { report, why });
                }
            }
        }
    }

    async fn send(&mut self, part: &UsageReport) -> Result<ReportReply, String> {
        match &mut self.route {
            Route::Here(mesh) => mesh
                .report(self.pod, part.clone())
                .await
                .map_err(|stopped| stopped.to_string()),
            Route::There(client) => {
                let request = ReportRequest {
                    pod: self.pod,
                    entries: part.entries.iter().map(entry).collect(),
                    region: self.region.as_str().to_owned(),
                };
                let response = client.report(request).await;
                let response = response
                    .map_err(|status| format!("{:?}: {}", status.code(), status.message()))?;
                Ok(reply(response.get_ref()))
            }
        }
    }
}

fn entry(entry: &limiter_core::share::UsageEntry) -> UsageEntry {
    UsageEntry {
        name: entry.name.as_bytes().to_vec(),
        window: entry.window.0,
        epoch: entry.epoch.0,
        admitted: entry.admitted,
        arrivals: entry.arrivals,
    }
}

fn reply(response: &ReportResponse) -> ReportReply {
    ReportReply {
        incarnation: Incarnation(response.incarnation),
        outlook: Outlook {
            regions: response.regions,
            rank: response.rank,
            fresh: response.fresh,
            majority: response.majority,
            pods: response.pods,
        },
    }
}
