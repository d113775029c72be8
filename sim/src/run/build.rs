//! Makes a world from a scenario.

use std::collections::BTreeMap;
use std::sync::Arc;

use limiter_core::facts::Facts;
use limiter_core::rule::RuleSet;
use sync_proto::{MonoTime, RegionId, Span};

use super::SimError;
use super::world::{Blackout, Event, Way, World};
use crate::kernel::{RegionClock, Seeds, VirtualTime};
use crate::link::Link;
use crate::measure::Frame;
use crate::region::{Making, Region};
use crate::scenario::{LinkSpec, Scenario};
use crate::workload::Source;

/// Ticks after the last request, in which everything still gets known.
const DRAIN_TICKS: u64 = 4;

/// Between two looks at the age of counts.
const LOOK: Span = Span::from_millis(100);

/// The world at its start, with everything queued that comes from outside.
pub(super) fn build(scenario: &Scenario, seed: u64) -> Result<World, SimError> {
    let seeds = Seeds::new(seed);
    let rules = Arc::new(RuleSet::parse("rules", &scenario.rules, 1)?);
    let regions = regions(scenario, &rules, seeds)?;
    let start = VirtualTime::after_start(scenario.warm_up);
    let end = start.plus(scenario.traffic);
    let mut world = World::new(regions, end.plus(scenario.timing.tick.times(DRAIN_TICKS)));
    world.frame = Frame {
        epoch_us: scenario.epoch.as_micros(),
        start: scenario.warm_up,
        end: scenario.warm_up.plus(scenario.traffic),
        skew_us: scenario
            .regions
            .iter()
            .map(|spec| spec.offset_us.unsigned_abs())
            .max()
            .unwrap_or(0),
    };
    for spec in &scenario.links {
        let (a, b) = (number(scenario, &spec.a)?, number(scenario, &spec.b)?);
        world.links.insert(
            Way { from: a, to: b },
            directed(spec, (&spec.a, &spec.b), seeds),
        );
        world.links.insert(
            Way { from: b, to: a },
            directed(spec, (&spec.b, &spec.a), seeds),
        );
    }
    for cut in &scenario.cuts {
        let region = number(scenario, &cut.region)?;
        let heal = cut.heal.map(|heal| start.plus(heal));
        world.blackouts.push(Blackout {
            region,
            from: start.plus(cut.at),
            to: heal,
        });
        if let Some(heal) = heal {
            world.queue.push(heal, Event::Heal { region });
        }
    }
    (world.sources, world.facts) = clients(scenario, seeds)?;
    world.open(start, end, LOOK);
    Ok(world)
}

fn regions(
    scenario: &Scenario,
    rules: &Arc<RuleSet>,
    seeds: Seeds,
) -> Result<Vec<Region>, SimError> {
    let names = scenario
        .regions
        .iter()
        .map(|spec| RegionId::new(&spec.name));
    let all = names.collect::<Result<Vec<RegionId>, _>>()?;
    let regions = scenario.regions.iter().zip(&all).map(|(spec, id)| {
        // Any origin will do, if no other region's is the same.
        let origin = seeds.number(&format!("clock/{id}")) >> 24;
        let clock = RegionClock::new(
            scenario.epoch,
            spec.offset_us,
            MonoTime::from_micros(origin),
        );
        Region::new(Making {
            id: id.clone(),
            all: &all,
            clock,
            rules: rules.clone(),
            timing: scenario.timing,
            seed: seeds.number(&format!("store/{id}")),
        })
    });
    Ok(regions.collect())
}

fn directed(spec: &LinkSpec, (from, to): (&str, &str), seeds: Seeds) -> Link {
    Link::new(spec, &format!("{from}>{to}"), seeds)
}

type Clients = (BTreeMap<(usize, usize), Source>, Vec<Facts>);

fn clients(scenario: &Scenario, seeds: Seeds) -> Result<Clients, SimError> {
    let mut sources = BTreeMap::new();
    let mut facts = Vec::new();
    for (client, spec) in scenario.clients.iter().enumerate() {
        facts.push(Facts::new([
            ("client", spec.name.as_str()),
            ("route", "GET /"),
        ])?);
        for (region, place) in scenario.regions.iter().enumerate() {
            let source = Source::new(spec, region, &place.name, seeds);
            sources.extend(source.map(|source| ((client, region), source)));
        }
    }
    Ok((sources, facts))
}

fn number(scenario: &Scenario, name: &str) -> Result<usize, SimError> {
    scenario
        .regions
        .iter()
        .position(|spec| spec.name == name)
        .ok_or_else(|| {
            let known = scenario
                .regions
                .iter()
                .map(|spec| spec.name.clone())
                .collect();
            SimError::UnknownRegion {
                name: name.to_owned(),
                known,
            }
        })
}
