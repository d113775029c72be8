//! The only mapping from errors to gRPC statuses.
//!
//! Promises: a refusal names the field first, then what is accepted.
//! Never tells anything of the inside.

use limiter_core::facts::FactError;
use tonic::Status;

use crate::mesh::MeshStopped;

/// A field of a request that cannot be taken, and what can.
pub(super) fn invalid(field: &str, what: impl std::fmt::Display) -> Status {
    Status::invalid_argument(format!("{field}: {what}"))
}

/// Facts that cannot be taken.
pub(super) fn facts(error: &FactError) -> Status {
    invalid("descriptors", error)
}

/// The mesh daemon is going away; a pod reports again.
pub(super) fn stopped(error: MeshStopped) -> Status {
    Status::unavailable(error.to_string())
}

/// A pod that was pointed at another region's daemon.
pub(super) fn wrong_region(theirs: &str, ours: &sync_proto::RegionId) -> Status {
    Status::failed_precondition(format!(
        "region: this is the mesh daemon of {ours}, and the pod is of {theirs:?}; point it at its own region's"
    ))
}
