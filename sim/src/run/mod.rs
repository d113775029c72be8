//! Runs one scenario with one seed.

use limiter_core::facts::FactError;
use limiter_core::rule::RuleErrors;
use sync_proto::IdError;

use crate::measure::Outcome;
use crate::scenario::Scenario;

mod build;
mod world;

/// Why a scenario cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// Its rules are not valid.
    #[error("the scenario's rules: {0}")]
    Rules(#[from] RuleErrors),
    /// A region's name is not one.
    #[error("the scenario's regions: {0}")]
    Name(#[from] IdError),
    /// A client's name is not a fact.
    #[error("the scenario's clients: {0}")]
    Client(#[from] FactError),
    /// A link or a cut names a region that is not there.
    #[error("there is no region {name:?}; the regions are {}", .known.join(", "))]
    UnknownRegion {
        /// The name.
        name: String,
        /// Those there are.
        known: Vec<String>,
    },
}

/// Runs `scenario` to its end.
///
/// # Errors
/// When the scenario makes no sense; what goes wrong inside the world is told in the outcome.
pub fn run(scenario: &Scenario, seed: u64) -> Result<Outcome, SimError> {
    let mut world = build::build(scenario, seed)?;
    world.run();
    Ok(world.report(scenario, seed))
}
