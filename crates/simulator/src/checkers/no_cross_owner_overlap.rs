//! I3: no two bodies with different owners ever overlap.
//!
//! Regions and handed-over clusters reach a tick at different times, so the picture of tick k is collected until
//! everybody has been there:
//!
//! ```text
//!   tick k:   r0 stepped {1,2,3}   r1 stepped {4}   r1 caught up {5} alone     5 left r0 at k−2
//!             └── group ─────┘     └─ group ┘       └─ group ┘                 and was in flight at k
//! ```
//!
//! Bodies that were stepped together saw each other; the engine kept them apart. Bodies of different groups did
//! not, and must be so far from each other that it made no difference; nor may they have passed through each other since the tick before. Note that 4 and 5 have one owner and still
//! are two groups.

mod near_pairs;

use super::Checker;
use super::findings::{ErrorKind, Finding, Findings, View};
use crate::facts::Fact;
use domain::{BodyForm, BodyId, Motion, RegionId, Tick};
use glam::{DVec3, Quat};
use near_pairs::{Ball, NearPairs};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use world::{PreparedShape, ShapeCache};

/// What is allowed, metres: the engine's own contact margin of 1 mm, and rounding.
const ALLOWED_M: f64 = 1.1e-3;
/// Between two ticks everyone is taken to move straight, which is not quite true: a bounce, a fall. Metres.
const ALLOWED_BETWEEN_M: f64 = 0.01;
/// Between two ticks we look this often, metres of relative motion.
const SAMPLE_M: f64 = 0.1;
/// But not more often than this: bodies that fast are far above every tolerance.
const MOST_SAMPLES: f64 = 64.0;
/// How many ticks wait for a handover at most; then the oldest is tested without it.
const WAITING_TICKS: usize = 240;

pub(super) struct NoCrossOwnerOverlap {
    cache: ShapeCache,
    /// Kept after a removal: pictures of its last ticks may still wait.
    shapes: FxHashMap<BodyId, PreparedShape>,
    pictures: BTreeMap<Tick, Picture>,
    /// Pictures up to this tick have been tested.
    tested: Tick,
    /// The latest tick of each region; `None`: crashed, nobody waits for it.
    reached: Vec<Option<Tick>>,
    /// Handovers in flight and the last tick before them.
    flights: FxHashMap<(RegionId, RegionId, u64), Tick>,
    /// Pairs that overlapped in the picture before, and whether that was excused: a long overlap is one error,
    /// but one that outlasts its excuse is an error too.
    overlapping: FxHashMap<(BodyId, BodyId), bool>,
    near_pairs: NearPairs,
    /// Where everyone was in the picture before, and its tick: fast bodies can pass each other between two ticks.
    before: (Tick, FxHashMap<BodyId, DVec3>),
    untested: u64,
}

/// Everything as it was at one tick.
#[derive(Default)]
struct Picture {
    groups: Vec<Group>,
    bodies: Vec<Posed>,
}

/// Bodies that were stepped together.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Group {
    region: RegionId,
    batch: Option<u64>,
}

struct Posed {
    body: BodyId,
    group: u32,
    position: DVec3,
    rotation: Quat,
}

impl Checker for NoCrossOwnerOverlap {
    fn observe(&mut self, fact: &Fact<'_>, view: &View<'_>, findings: &mut Findings) {
        match *fact {
            Fact::Born { body, form, .. } => self.prepare(body, form),
            Fact::Stepped {
                tick,
                region,
                bodies,
            } => {
                self.test_complete(view, findings);
                let batch = None;
                self.collect(tick, Group { region, batch }, bodies);
                self.reach(region, Some(tick));
            }
            Fact::CaughtUp {
                tick,
                region,
                batch,
                bodies,
            } => {
                let batch = Some(batch);
                self.collect(tick, Group { region, batch }, bodies);
            }
            Fact::Departed {
                tick,
                from,
                to,
                handover,
                ..
            } => {
                self.flights.insert((from, to, handover), tick);
            }
            Fact::Arrived {
                region,
                from,
                handover,
                ..
            } => {
                self.flights.remove(&(from, region, handover));
            }
            Fact::Crashed { region, .. } => self.reach(region, None),
            Fact::Restored { tick, region, .. } => {
                // Offers from before the crash may never arrive.
                self.flights
                    .retain(|(from, to, _), _| *from != region && *to != region);
                self.reach(region, Some(tick));
            }
            _ => {}
        }
    }

    fn finish(&mut self, view: &View<'_>, findings: &mut Findings) {
        let last = self.reached.iter().flatten().min().copied();
        self.test_upto(view, findings, last.unwrap_or_default());
    }
}

impl NoCrossOwnerOverlap {
    pub fn new(regions: usize) -> Self {
        Self {
            cache: ShapeCache::default(),
            shapes: FxHashMap::default(),
            pictures: BTreeMap::new(),
            tested: Tick::ZERO,
            reached: vec![Some(Tick::ZERO); regions],
            flights: FxHashMap::default(),
            overlapping: FxHashMap::default(),
            near_pairs: NearPairs::default(),
            before: Default::default(),
            untested: 0,
        }
    }

    /// Body ticks that came after their picture had been tested.
    pub fn untested(&self) -> u64 {
        self.untested
    }

    /// A shape that no world accepts is in no world; nothing can overlap it.
    fn prepare(&mut self, body: BodyId, form: &BodyForm) {
        if let Ok(shape) = self.cache.get(&form.shape) {
            self.shapes.insert(body, shape);
        }
    }

    fn reach(&mut self, region: RegionId, tick: Option<Tick>) {
        if let Some(reached) = self.reached.get_mut(region.0 as usize) {
            *reached = tick;
        }
    }

    fn collect(&mut self, tick: Tick, group: Group, bodies: &[(BodyId, Motion)]) {
        if tick <= self.tested {
            self.untested += bodies.len() as u64;
            return;
        }
        let picture = self.pictures.entry(tick).or_default();
        let group = picture.group(group);
        let posed = bodies.iter().map(|(body, motion)| Posed {
            body: *body,
            group,
            position: motion.position,
            rotation: motion.rotation,
        });
        picture.bodies.extend(posed);
    }

    /// Tests the pictures for which nothing more can come. Called before a step is collected, so that a region
    /// can tell a catch-up before or after the arrival it belongs to.
    fn test_complete(&mut self, view: &View<'_>, findings: &mut Findings) {
        let slowest = self.reached.iter().flatten().min();
        let earliest = self.flights.values().min();
        let mut complete = slowest.into_iter().chain(earliest).min().copied();
        if self.pictures.len() > WAITING_TICKS {
            complete = complete.max(self.pictures.keys().next().copied());
        }
        self.test_upto(view, findings, complete.unwrap_or_default());
    }

    fn test_upto(&mut self, view: &View<'_>, findings: &mut Findings, last: Tick) {
        while let Some(entry) = self.pictures.first_entry() {
            if *entry.key() > last {
                break;
            }
            let (tick, picture) = entry.remove_entry();
            self.tested = tick;
            self.test(view, findings, tick, &picture);
        }
    }

    fn test(&mut self, view: &View<'_>, findings: &mut Findings, tick: Tick, picture: &Picture) {
        let mut overlapping = FxHashMap::default();
        for (a, b, depth_m) in self.overlaps(tick, picture) {
            let (a, b) = if a.body < b.body { (a, b) } else { (b, a) };
            let pair = (a.body, b.body);
            let groups = [a, b].map(|posed| picture.groups[posed.group as usize]);
            let regions = groups.map(|group| group.region);
            let excused = view.ledger.is_disturbed(tick, tick, &regions);
            overlapping.insert(pair, excused);
            let before = self.overlapping.get(&pair);
            if before.is_some_and(|was_excused| excused || !was_excused) {
                continue;
            }
            let finding = Finding {
                kind: ErrorKind::CrossOwnerOverlap,
                count: 1,
                tick,
                bodies: &[pair.0, pair.1],
                excused,
            };
            findings.add(view, finding, || sentence(tick, [a, b], groups, depth_m));
        }
        self.overlapping = overlapping;
        let places = picture.bodies.iter();
        self.before.0 = tick;
        self.before.1.clear();
        self.before
            .1
            .extend(places.map(|posed| (posed.body, posed.position)));
    }

    fn overlaps<'a>(
        &mut self,
        tick: Tick,
        picture: &'a Picture,
    ) -> Vec<(&'a Posed, &'a Posed, f64)> {
        if picture.groups.len() < 2 {
            return Vec::new();
        }
        let shapes = &self.shapes;
        let (last, places) = &self.before;
        let is_next = tick == last.next();
        let moved = |posed: &Posed| {
            let before = places.get(&posed.body).filter(|_| is_next);
            before.map_or(DVec3::ZERO, |before| posed.position - before)
        };
        let balls = picture.bodies.iter().map(|posed| {
            let path = moved(posed);
            let radius = shapes.get(&posed.body).map_or(0.0, PreparedShape::radius);
            Ball {
                centre: posed.position - path / 2.0,
                radius: radius + path.length() / 2.0,
                group: posed.group,
            }
        });
        let near = self.near_pairs.find(balls);
        let test = |(i, j): &(u32, u32)| {
            let (a, b) = (&picture.bodies[*i as usize], &picture.bodies[*j as usize]);
            let (shape_a, shape_b) = (shapes.get(&a.body)?, shapes.get(&b.body)?);
            if a.body == b.body {
                return None;
            }
            let depth_at = |share: f64| {
                let place = |posed: &Posed| posed.position - moved(posed) * (1.0 - share);
                shape_a.penetration((place(a), a.rotation), shape_b, (place(b), b.rotation))
            };
            let depth_m = depth_at(1.0);
            if depth_m > ALLOWED_M {
                return Some((a, b, depth_m));
            }
            let passed = (moved(a) - moved(b)).length();
            let samples = (passed / SAMPLE_M).ceil().min(MOST_SAMPLES);
            let between = (1..samples as u32).map(|i| depth_at(f64::from(i) / samples));
            let deepest = between.fold(f64::NEG_INFINITY, f64::max);
            (deepest > ALLOWED_BETWEEN_M).then_some((a, b, deepest))
        };
        near.iter().filter_map(test).collect()
    }
}

impl Picture {
    fn group(&mut self, group: Group) -> u32 {
        let known = self.groups.iter().position(|g| *g == group);
        let index = known.unwrap_or_else(|| {
            self.groups.push(group);
            self.groups.len() - 1
        });
        index as u32
    }
}

impl std::fmt::Display for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.batch {
            None => write!(f, "stepped by {}", self.region),
            Some(batch) => write!(f, "caught up alone by {} in batch {batch}", self.region),
        }
    }
}

fn sentence(tick: Tick, [a, b]: [&Posed; 2], groups: [Group; 2], depth_m: f64) -> String {
    let place = |posed: &Posed, group: Group| {
        let at = posed.position;
        format!(
            "{} ({group}) at ({:.3}, {:.3}, {:.3})",
            posed.body, at.x, at.y, at.z
        )
    };
    format!(
        "{} and {} overlapped by {:.1} mm at tick {tick}",
        place(a, groups[0]),
        place(b, groups[1]),
        depth_m * 1e3
    )
}

#[cfg(test)]
mod tests;
