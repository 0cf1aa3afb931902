//! What is seen from above: who answers for whom, who tested what, how far copies are apart.

use super::node::Node;
use super::pairs_tested_once::{PairCounts, PairsTestedOnce};
use crate::checkers::{ErrorCounts, ErrorKind, Tally, Violation};
use boundary::replicate::{MemberCounts, MemberMode};
use detection::Aabb;
use domain::{BodyId, Motion, SimTime, Tick};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use xxhash_rust::xxh3::Xxh3;

/// How far copies of one body are apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Consistency {
    /// Comparisons of a copy with that of whoever answers for the body, by tick.
    pub copies: u64,
    /// Of these: not equal bit by bit.
    pub different: u64,
    /// Mean distance over all comparisons, metres.
    pub mean_m: f64,
    /// The largest distance, metres.
    pub max_m: f64,
}

/// What a run under the policy has shown beyond what all policies show.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ReplicateReport {
    /// `synchronised` or `unsynchronised`.
    pub mode: &'static str,
    /// I9.
    pub pairs: PairCounts,
    /// Between members of the group.
    pub consistency: Consistency,
    /// Bodies that two members changed in one tick.
    pub conflicts: u64,
    /// Corrections by the leader that members heard.
    pub corrections: u64,
    /// States sent as replicas.
    pub replicated: u64,
    /// Copies per body, mean over ticks.
    pub copies_per_body: f64,
    /// Stale states that changed nothing.
    pub stale: u64,
    /// Bytes of results for the server.
    pub bytes_to_server: u64,
}

/// A copy at the end of a tick.
struct Held {
    body: BodyId,
    motion: Motion,
    aabb: Aabb,
    holding: Holding,
}

/// What all members together have of one body.
#[derive(Default)]
struct Holders<'a> {
    /// The copy of whoever answers for it, or of whoever is handing it on.
    truth: Option<&'a Held>,
    homes: u32,
    copies: u32,
}

/// A copy after all news of a tick has been taken in: of which body, where, and whether by who answers for it.
type Agreed = (BodyId, Motion, bool);

/// One member's tick, as it was.
#[derive(Default)]
struct Seen {
    pairs: Vec<(BodyId, BodyId)>,
    touching: Vec<(BodyId, BodyId)>,
    copies: Vec<Held>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Holding {
    Home,
    Leaving,
    Copy,
}

/// Puts the members' ticks side by side.
pub(super) struct Watch {
    members: usize,
    mode: MemberMode,
    waiting: BTreeMap<u64, Vec<Option<Seen>>>,
    /// Copies as they are after all news of a tick has been taken in.
    agreed: BTreeMap<u64, Vec<Option<Vec<Agreed>>>>,
    pairs: PairsTestedOnce,
    consistency: Consistency,
    distance_sum: f64,
    errors: ErrorCounts,
    first: Option<Violation>,
    touching: BTreeSet<(BodyId, BodyId)>,
    pub collisions: u64,
    pub start: u64,
    pub spawned: u64,
    copies: u64,
    bodies: u64,
    straddling: u64,
    ticks: u64,
    end: u64,
    in_flight: u64,
    history: Xxh3,
    last_hash: u64,
    step: domain::TickLength,
}

impl Watch {
    pub fn new(members: usize, mode: MemberMode, step: domain::TickLength) -> Self {
        Self {
            members,
            mode,
            waiting: BTreeMap::new(),
            agreed: BTreeMap::new(),
            pairs: PairsTestedOnce::default(),
            consistency: Consistency::default(),
            distance_sum: 0.0,
            errors: ErrorCounts::default(),
            first: None,
            touching: BTreeSet::new(),
            collisions: 0,
            start: 0,
            spawned: 0,
            copies: 0,
            bodies: 0,
            straddling: 0,
            ticks: 0,
            end: 0,
            in_flight: 0,
            history: Xxh3::new(),
            last_hash: 0,
            step,
        }
    }

    /// A member has taken in the news of the tick it completed last.
    pub fn taken_in(&mut self, node: &Node) {
        let tick = node.member.tick().0;
        let copies = node.member.copies().filter(|copy| copy.local);
        let copies = copies
            .map(|copy| (copy.body, *copy.motion, copy.at_home))
            .collect();
        let members = self.members;
        let agreed = self
            .agreed
            .entry(tick)
            .or_insert_with(|| vec![None; members]);
        agreed[node.member.id().0 as usize] = Some(copies);
        if agreed.iter().all(Option::is_some) {
            let all = self.agreed.remove(&tick).expect("just looked at");
            self.compare_copies(all.into_iter().flatten().collect());
        }
    }

    fn compare_copies(&mut self, members: Vec<Vec<Agreed>>) {
        let mut homes: BTreeMap<BodyId, Motion> = BTreeMap::new();
        for (body, motion, at_home) in members.iter().flatten() {
            if *at_home {
                homes.insert(*body, *motion);
            }
        }
        for (body, motion, _) in members.iter().flatten().filter(|(_, _, home)| !home) {
            let Some(home) = homes.get(body) else {
                continue;
            };
            let distance = (home.position - motion.position).length();
            self.consistency.copies += 1;
            self.consistency.different += u64::from(home != motion);
            self.consistency.max_m = self.consistency.max_m.max(distance);
            self.distance_sum += distance;
        }
    }

    /// A member has completed a tick.
    pub fn stepped(&mut self, node: &Node) {
        let tick = node.member.tick().0;
        let seen = Seen {
            pairs: node.member.tested_pairs().collect(),
            touching: node.member.touching_pairs().collect(),
            copies: node
                .member
                .copies()
                .map(|copy| {
                    let holding = match (copy.at_home, copy.leaving) {
                        (true, _) => Holding::Home,
                        (false, true) => Holding::Leaving,
                        _ => Holding::Copy,
                    };
                    Held {
                        body: copy.body,
                        motion: *copy.motion,
                        aabb: copy.aabb,
                        holding,
                    }
                })
                .collect(),
        };
        let members = self.members;
        let ticks = self
            .waiting
            .entry(tick)
            .or_insert_with(|| (0..members).map(|_| None).collect());
        ticks[node.member.id().0 as usize] = Some(seen);
        if ticks.iter().all(Option::is_some) {
            let all = self.waiting.remove(&tick).expect("just looked at");
            self.judge(tick, &all.into_iter().flatten().collect::<Vec<_>>());
        }
    }

    fn judge(&mut self, tick: u64, members: &[Seen]) {
        let mut held: BTreeMap<BodyId, Holders<'_>> = BTreeMap::new();
        for copy in members.iter().flat_map(|seen| &seen.copies) {
            let holders = held.entry(copy.body).or_default();
            holders.copies += 1;
            match copy.holding {
                Holding::Home => {
                    holders.homes += 1;
                    holders.truth = Some(copy);
                }
                Holding::Leaving if holders.truth.is_none() => holders.truth = Some(copy),
                _ => {}
            }
        }
        let mut boxes = BTreeMap::new();
        (self.end, self.in_flight) = (0, 0);
        let mut digest = Xxh3::new();
        for (body, holders) in &held {
            self.copies += u64::from(holders.copies);
            self.straddling += u64::from(holders.copies > 1);
            self.bodies += 1;
            if holders.homes > 1 {
                let what = "several members answer for it";
                self.fault(ErrorKind::Duplicated, tick, *body, what);
            }
            let Some(Held { motion, aabb, .. }) = holders.truth else {
                let what = "there are copies, but nobody answers for it";
                self.fault(ErrorKind::Lost, tick, *body, what);
                continue;
            };
            match holders.homes {
                0 => self.in_flight += 1,
                _ => self.end += 1,
            }
            boxes.insert(*body, *aabb);
            digest.update(&body.0.to_le_bytes());
            for value in motion.position.to_array() {
                digest.update(&value.to_le_bytes());
            }
            for value in motion.linear_velocity.to_array() {
                digest.update(&value.to_le_bytes());
            }
        }
        self.ticks += 1;
        self.last_hash = digest.digest();
        self.history.update(&self.last_hash.to_le_bytes());
        let tested: Vec<_> = members
            .iter()
            .flat_map(|seen| seen.pairs.iter().copied())
            .collect();
        self.pairs.judge(tick, &boxes, &tested);
        let touching: BTreeSet<_> = members
            .iter()
            .flat_map(|seen| seen.touching.iter().copied())
            .collect();
        self.collisions += touching.difference(&self.touching).count() as u64;
        self.touching = touching;
    }

    fn fault(&mut self, kind: ErrorKind, tick: u64, body: BodyId, what: &str) {
        self.errors.add(kind, 1);
        if self.first.is_none() {
            self.first = Some(Violation {
                kind,
                at: self.step.due(Tick(tick)),
                tick: Tick(tick),
                bodies: vec![body],
                what: format!("{body}: {what}"),
                witnesses: Vec::new(),
                recent: Vec::new(),
            });
        }
    }

    /// What came out.
    pub fn finish(mut self, now: SimTime, counts: &[MemberCounts]) -> Watched {
        let pairs = self.pairs.counts();
        let expected = self.start + self.spawned;
        let found = self.end + self.in_flight;
        if found < expected {
            self.errors.add(ErrorKind::Lost, expected - found);
        }
        // Without waiting for each other, moments of disagreement are the policy's nature, and a statistic.
        if self.mode == MemberMode::Synchronised {
            self.errors.add(ErrorKind::MissedPair, pairs.missed);
            self.errors
                .add(ErrorKind::DoubledPair, pairs.doubled + pairs.in_vain);
            if let (None, Some(what)) = (&self.first, self.pairs.first()) {
                self.first = Some(Violation {
                    kind: ErrorKind::MissedPair,
                    at: now,
                    tick: Tick(self.ticks),
                    bodies: Vec::new(),
                    what: what.to_owned(),
                    witnesses: Vec::new(),
                    recent: Vec::new(),
                });
            }
        }
        let sum = |of: fn(&MemberCounts) -> u64| counts.iter().map(of).sum();
        self.consistency.mean_m = self.distance_sum / self.consistency.copies.max(1) as f64;
        Watched {
            report: ReplicateReport {
                mode: match self.mode {
                    MemberMode::Synchronised => "synchronised",
                    MemberMode::Unsynchronised => "unsynchronised",
                },
                pairs,
                consistency: self.consistency,
                conflicts: sum(|counts| counts.conflicts),
                corrections: sum(|counts| counts.corrections),
                replicated: sum(|counts| counts.replicated),
                copies_per_body: self.copies as f64 / self.bodies.max(1) as f64,
                stale: sum(|counts| counts.stale),
                bytes_to_server: 0,
            },
            bodies: Tally {
                start: self.start,
                spawned: self.spawned,
                removed: 0,
                end: self.end,
                in_flight: self.in_flight,
            },
            errors: self.errors,
            first: self.first,
            collisions: self.collisions,
            straddling: self.straddling as f64 / self.ticks.max(1) as f64,
            state_hash: self.last_hash,
            history_hash: self.history.digest(),
        }
    }
}

/// Everything the watch knows at the end.
pub(super) struct Watched {
    pub report: ReplicateReport,
    pub bodies: Tally,
    pub errors: ErrorCounts,
    pub first: Option<Violation>,
    pub collisions: u64,
    pub straddling: f64,
    pub state_hash: u64,
    pub history_hash: u64,
}
