//! `limiter.v1.Usage`: what pods of this region report.
//!
//! Promises: only pods of this region are heard; a report is taken whole or not at all.
//! Never answers before the mesh daemon has the report.

use limiter_core::share::{UsageEntry, UsageReport};
use sync_proto::{CounterName, Epoch, RegionId, WindowId};
use tonic::{Request, Response, Status};

use super::status;
use crate::mesh::MeshHandle;
use crate::wire::limiter_v1::usage_server::Usage;
use crate::wire::limiter_v1::{self as wire, ReportRequest, ReportResponse};

pub(super) struct UsageService {
    region: RegionId,
    mesh: MeshHandle,
}

impl UsageService {
    pub(super) fn new(region: RegionId, mesh: MeshHandle) -> Self {
        Self { region, mesh }
    }
}

#[tonic::async_trait]
impl Usage for UsageService {
    async fn report(
        &self,
        request: Request<ReportRequest>,
    ) -> Result<Response<ReportResponse>, Status> {
        let request = request.into_inner();
        if request.region != self.region.as_str() {
            return Err(status::wrong_region(&request.region, &self.region));
        }
        let entries = request.entries.into_iter().enumerate();
        let entries = entries
            .map(|(index, entry)| read(index, &entry))
            .collect::<Result<_, _>>()?;
        let reply = self.mesh.report(request.pod, UsageReport { entries }).await;
        let reply = reply.map_err(status::stopped)?;
        Ok(Response::new(ReportResponse {
            incarnation: reply.incarnation.0,
            regions: reply.outlook.regions,
            rank: reply.outlook.rank,
            fresh: reply.outlook.fresh,
            majority: reply.outlook.majority,
            pods: reply.outlook.pods,
        }))
    }
}

fn read(index: usize, entry: &wire::UsageEntry) -> Result<UsageEntry, Status> {
    let name = CounterName::new(&entry.name)
        .map_err(|error| status::invalid(&format!("entries[{index}].name"), error))?;
    Ok(UsageEntry {
        name,
        window: WindowId(entry.window),
        epoch: Epoch(entry.epoch),
        admitted: entry.admitted,
        arrivals: entry.arrivals,
    })
}
