//! The step loop: takes the next event from the queue, lets it happen, and queues what follows from it.

use std::collections::BTreeMap;

use limiter_core::facts::Facts;
use sync_proto::Span;

use crate::invariant::{Violation, known_below_truth, nothing_lost};
use crate::kernel::{Queue, Trace, VirtualTime};
use crate::link::Link;
use crate::measure::{Frame, Heals, Lags, LinkOutcome, Outcome, Truth, Windows};
use crate::region::{Outgoing, Region};
use crate::scenario::Scenario;
use crate::workload::Source;

/// Broken invariants that are told; the first ones say what is wrong.
const VIOLATIONS_MAX: usize = 20;

/// How soon a region is woken again whose timer stands still: that is a bug, which must not stop the world.
const STUCK: Span = Span::from_millis(1);

/// What can happen. Regions and clients are told by number.
#[derive(Debug)]
pub(super) enum Event {
    /// A client asks.
    Request { client: usize, region: usize },
    /// A region's timer runs out, unless it was set anew.
    Wake { region: usize },
    /// A frame arrives, unless the way is cut.
    Frame { way: Way, bytes: Vec<u8> },
    /// A region's links are back.
    Heal { region: usize },
    /// The age of counts is looked at.
    Look,
}

/// One direction between two regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Way {
    pub(super) from: usize,
    pub(super) to: usize,
}

/// A region's links do not work from one time to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blackout {
    pub(super) region: usize,
    pub(super) from: VirtualTime,
    pub(super) to: Option<VirtualTime>,
}

/// Everything there is.
pub(super) struct World {
    pub(super) queue: Queue<Event>,
    pub(super) links: BTreeMap<Way, Link>,
    pub(super) blackouts: Vec<Blackout>,
    pub(super) sources: BTreeMap<(usize, usize), Source>,
    pub(super) facts: Vec<Facts>,
    pub(super) frame: Frame,
    regions: Vec<Region>,
    /// When each region's queued wake-up is; others of it are out of date.
    wakes: Vec<Option<VirtualTime>>,
    traffic: (VirtualTime, VirtualTime),
    look: Span,
    until: VirtualTime,
    sends: Vec<Outgoing>,
    trace: Trace,
    truth: Truth,
    windows: Windows,
    lags: Lags,
    heals: Heals,
    violations: Vec<Violation>,
}

impl World {
    /// Regions alone, up to a time.
    pub(super) fn new(regions: Vec<Region>, until: VirtualTime) -> Self {
        Self {
            queue: Queue::new(),
            links: BTreeMap::new(),
            blackouts: Vec::new(),
            sources: BTreeMap::new(),
            facts: Vec::new(),
            frame: Frame::default(),
            wakes: vec![None; regions.len()],
            regions,
            traffic: Default::default(),
            look: Span::ZERO,
            until,
            sends: Vec::new(),
            trace: Trace::new(),
            truth: Truth::default(),
            windows: Windows::default(),
            lags: Lags::default(),
            heals: Heals::default(),
            violations: Vec::new(),
        }
    }

    /// Starts every region, and queues the first request of every client and the first look.
    pub(super) fn open(&mut self, start: VirtualTime, end: VirtualTime, look: Span) {
        self.traffic = (start, end);
        self.look = look;
        for region in 0..self.regions.len() {
            self.pump(VirtualTime::default(), region, false);
        }
        for ((client, region), source) in &mut self.sources {
            let event = Event::Request {
                client: *client,
                region: *region,
            };
            self.queue.push(source.first(start), event);
        }
        self.queue.push(start, Event::Look);
    }

    /// Runs to the end.
    pub(super) fn run(&mut self) {
        while let Some((at, event)) = self.queue.pop().filter(|(at, _)| *at <= self.until) {
            match event {
                Event::Request { client, region } => self.request(at, client, region),
                Event::Wake { region } => self.wake(at, region),
                Event::Frame { way, bytes } => self.receive(at, way, &bytes),
                Event::Heal { region } => {
                    self.trace.note(at, "heal", &[number(region)], &[]);
                    let name = self.regions.get(region).map(|region| region.id.as_str());
                    self.heals.begin(at, name.unwrap_or_default(), &self.truth);
                }
                Event::Look => self.look(at),
            }
        }
        let whole = self.blackouts.iter().all(|blackout| blackout.to.is_some());
        if whole {
            // Counts under a tenth of the limit need not travel.
            let travels_from = self.windows.limit_max() / 10;
            self.violations
                .extend(nothing_lost(&self.regions, &self.truth, travels_from));
        }
    }

    fn request(&mut self, at: VirtualTime, client: usize, region: usize) {
        if at >= self.traffic.1 {
            return;
        }
        if let Some(source) = self.sources.get_mut(&(client, region)) {
            self.queue
                .push(source.after(at), Event::Request { client, region });
        }
        let (Some(facts), Some(asked)) = (self.facts.get(client), self.regions.get_mut(region))
        else {
            return;
        };
        let checked = asked.check(at, facts, 1);
        let allowed = checked.decision.allowed;
        for counted in &checked.counted {
            let numbers = [client, region]
                .map(number)
                .into_iter()
                .chain([u64::from(allowed), counted.admitted]);
            self.trace
                .note(at, "check", &numbers.collect::<Vec<_>>(), &[]);
            self.truth.note(region, counted);
            let mut policies = checked.decision.policies.iter();
            if let Some(policy) = policies.find(|policy| policy.rule.id == counted.rule) {
                self.windows
                    .note((client, region), policy, counted.window, allowed);
            }
        }
        if asked.wakes_at().is_some_and(|wake| wake <= at) {
            self.pump(at, region, false);
        }
    }

    fn wake(&mut self, at: VirtualTime, region: usize) {
        if self.wakes.get(region).copied().flatten() != Some(at) {
            return;
        }
        self.trace.note(at, "wake", &[number(region)], &[]);
        self.pump(at, region, true);
    }

    fn receive(&mut self, at: VirtualTime, way: Way, bytes: &[u8]) {
        if self.is_cut(at, way) {
            self.lose(way);
            return;
        }
        self.trace
            .note(at, "frame", &[number(way.from), number(way.to)], bytes);
        let Some(from) = self.regions.get(way.from).map(|region| region.id.clone()) else {
            return;
        };
        let Some(to) = self.regions.get_mut(way.to) else {
            return;
        };
        if let Err(refusal) = to.receive(at, &from, bytes) {
            let details = format!("{} refuses a frame of {from}: {refusal}", to.id);
            self.violations
                .push(Violation::new("frames_are_read", details));
        }
        self.pump(at, way.to, false);
        if self.violations.len() < VIOLATIONS_MAX {
            self.violations
                .extend(known_below_truth(way.to, &self.regions, &self.truth));
        }
        self.heals.look(at, &self.regions);
    }

    fn look(&mut self, at: VirtualTime) {
        if at >= self.traffic.1 {
            return;
        }
        for (by, region) in self.regions.iter().enumerate() {
            for peer in region.peers(at) {
                let of = self
                    .regions
                    .iter()
                    .position(|other| other.id == peer.region);
                if let (Some(of), Some(lag)) = (of, peer.lag) {
                    self.lags.note(at, (by, of), lag);
                }
            }
        }
        self.queue.push(at.plus(self.look), Event::Look);
    }

    /// Lets a region do all it has to do, sends its frames, and queues its next wake-up.
    fn pump(&mut self, at: VirtualTime, index: usize, woken: bool) {
        let Some(region) = self.regions.get_mut(index) else {
            return;
        };
        let mut sends = std::mem::take(&mut self.sends);
        let ended = region.pump(at, &mut sends);
        let mut next = region.wakes_at();
        let stands_still = woken && next.is_some_and(|next| next <= at);
        if !ended || stands_still {
            next = Some(at.plus(STUCK));
            let what = if ended {
                "a timer that stands still"
            } else {
                "always something to do"
            };
            let details = format!("{} has {what} at {} us", region.id, at.0);
            self.violations
                .push(Violation::new("regions_come_to_rest", details));
            self.violations.truncate(VIOLATIONS_MAX);
        }
        for send in sends.drain(..) {
            self.send(at, index, send);
        }
        self.sends = sends;
        let queued = self.wakes.get_mut(index);
        if let (Some(next), Some(queued)) = (next.map(|next| next.max(at)), queued)
            && queued.replace(next) != Some(next)
        {
            self.queue.push(next, Event::Wake { region: index });
        }
    }

    fn send(&mut self, at: VirtualTime, from: usize, outgoing: Outgoing) {
        let to = self
            .regions
            .iter()
            .position(|region| region.id == outgoing.to);
        let Some(to) = to else { return };
        let way = Way { from, to };
        let Some(link) = self.links.get_mut(&way) else {
            return;
        };
        let arrivals = link.send(at, outgoing.bytes.len());
        if self.is_cut(at, way) {
            self.lose(way);
            return;
        }
        for arrival in arrivals.into_iter().flatten() {
            self.queue.push(
                arrival,
                Event::Frame {
                    way,
                    bytes: outgoing.bytes.clone(),
                },
            );
        }
    }

    fn is_cut(&self, at: VirtualTime, way: Way) -> bool {
        self.blackouts.iter().any(|blackout| {
            let concerned = [way.from, way.to].contains(&blackout.region);
            concerned && at >= blackout.from && blackout.to.is_none_or(|to| at < to)
        })
    }

    fn lose(&mut self, way: Way) {
        if let Some(link) = self.links.get_mut(&way) {
            link.lost += 1;
        }
    }

    /// What came of it.
    pub(super) fn report(&self, scenario: &Scenario, seed: u64) -> Outcome {
        let regions: Vec<String> = scenario
            .regions
            .iter()
            .map(|spec| spec.name.clone())
            .collect();
        let clients: Vec<String> = scenario
            .clients
            .iter()
            .map(|spec| spec.name.clone())
            .collect();
        let pair = |a: usize, b: usize, sign: char| match (regions.get(a), regions.get(b)) {
            (Some(a), Some(b)) => format!("{a}{sign}{b}"),
            _ => String::new(),
        };
        let links = self.links.iter().map(|(way, link)| {
            let Link {
                frames,
                bytes,
                lost,
                ..
            } = *link;
            (
                pair(way.from, way.to, '>'),
                LinkOutcome {
                    frames,
                    bytes,
                    lost,
                },
            )
        });
        let lags = self.links.keys().filter_map(|way| {
            let lag = self.lags.report(way.to, way.from)?;
            Some((pair(way.from, way.to, '>'), lag))
        });
        Outcome {
            scenario: scenario.name.clone(),
            seed,
            traffic_ms: scenario.traffic.as_millis(),
            keys: self
                .windows
                .report(&clients, &regions, self.frame, &self.lags),
            lag_ms: lags.collect(),
            links: links.collect(),
            heals: self.heals.report(self.traffic.0),
            violations: self.violations.iter().map(ToString::to_string).collect(),
            events: self.trace.events(),
            trace: self.trace.digest(),
            regions,
        }
    }
}

fn number(index: usize) -> u64 {
    u64::try_from(index).unwrap_or(u64::MAX)
}
