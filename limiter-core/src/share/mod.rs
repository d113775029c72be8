//! Sharing between regions: what pods report, what the mesh must hear of it, and what is folded into the store.
//!
//! ```text
//! pod: replies -> Reporter -> UsageReport -> daemon: Folder -> Mesh::record -> peers
//!      store   <------------ Fold <----------------- Folder <- Mesh::view   <- peers
//! ```
//!
//! Promises: `eager` counts what is known; `balanced` adds an estimate of what is not known yet, and keeps a region that hears no majority to
//! its part, so that the parts of all regions never sum to more than the limit. `strict` and `shares` fold nothing: each region's shape
//! is its part.
//! Never talks to anybody, and never reads a clock.

use crate::rule::{Mode, Rule, Scope, Sharing};

mod agenda;
mod buckets;
mod folder;
mod folding;
mod following;
mod push;
mod report;
mod reporter;
pub mod rights;
mod standing;
mod tally;
mod windows;

pub use folder::{Folder, FolderConfig};
pub use report::{Outlook, ReportReply, UsageEntry, UsageReport};
pub use reporter::Reporter;

/// Whether regions tell each other of this rule's counters.
fn is_shared(rule: &Rule) -> bool {
    rule.mode != Mode::Off
        && rule.scope == Scope::Global
        && matches!(rule.sharing, Sharing::Eager | Sharing::Balanced)
}
