//! Who should have which region: the coordinator's decisions, without I/O.
//!
//! ```text
//!  nodes (leases) ──┐
//!  heartbeats ──────┼──► Planner ──► a new Assignment, to be committed if nobody was faster
//!  time ────────────┘
//! ```
//! The rules, in order of importance:
//!
//! 1. An owner that is silent or gone is fenced: its region goes to the standby, with the next term. From then on nobody listens to the old one.
//! 2. A region goes only to who is sure to have its newest *kept* snapshot: a standby that has one of this very owner. (Others rely on what is in it, and have
//!    forgotten what they gave.) Without such a standby it waits for its owner; when that is gone for good, its lease run out, the newest snapshot there is must do, and without any the
//!    region starts anew.
//!    The same goes for an owner that lives but does not begin with its region for long: whoever else has a snapshot may try.
//! 3. Every region has a standby on another server.
//! 4. Who was too slow for a region gets none for a while, if there is anybody else.
//! 5. Where consistency groups are on, regions are with the members of one group: who is outside gets none and keeps nobody's snapshots, as long as there is anybody else who could; what it
//!    has it gives away like one that leaves.
//! 6. Who wants to leave, and who has more regions than others, gives away regions, one after another: the owner stops, its standby takes over from
//!    exactly that state.

use super::sharing::Sharing;
use crate::groups::GroupSettings;
use crate::messages::{Heartbeat, RegionPulse, RegionState};
use crate::names::{Generation, NodeId, Term};
use crate::schema::{Assignment, ClusterView, Keeping, Role, Seat, WorldSpec};
use domain::{RegionId, SimTime, Tick};
use std::collections::BTreeMap;

/// When a server counts as dead or too slow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannerSettings {
    /// A server that has not been heard for so long is replaced (default 0.4 s). Less: faster recovery; more: fewer false alarms on a busy
    /// machine or a bad network. A server whose heart has been heard to pause gets more, twice its longest pause of late, up to three times as much.
    pub silence: SimTime,
    /// A server that has just appeared, or a coordinator that has just taken over, gets so much longer (default 2 s).
    pub grace: SimTime,
    /// A region that is so late, or so far behind the others, and gets later, is given to its standby, if that keeps up (default 5 s).
    pub lag: SimTime,
    /// A server that was too slow for a region gets no other as long as there is another choice, for so long (default 60 s). Less: back to the
    /// same trouble soon; more: a server that had a bad moment stays idle.
    pub shun: SimTime,
    /// Regions of servers that have more than others are moved (default yes).
    pub balance: bool,
    /// Only servers that are near each other share the world: when they are (default: wherever they are).
    pub groups: Option<GroupSettings>,
}

impl Default for PlannerSettings {
    fn default() -> Self {
        Self {
            silence: SimTime::from_millis(400.0),
            grace: SimTime::from_millis(2000.0),
            lag: SimTime::from_millis(5000.0),
            shun: SimTime::from_millis(60_000.0),
            balance: true,
            groups: None,
        }
    }
}

/// A server's patience is at most so many times what is set.
const LONGEST_PATIENCE: u64 = 3;
/// One tick in so many may be lost before a region that is late counts as slow.
const LOST_SHARE: u64 = 10;
/// Whose heartbeats have not been answered for so long is deaf.
const LONGEST_DEAFNESS: SimTime = SimTime(1_500_000_000);
/// An owner that lives and has not begun with its region after so long cannot. One that begins with many, one after another, gets as much for each.
const LONGEST_BEGINNING: SimTime = SimTime(10_000_000_000);
/// So many heartbeats make a pause count a third of what it did: 10 s.
const PAUSE_FADES_IN: u64 = 200;

#[derive(Clone, Debug)]
struct Server {
    /// Counts as heard until then.
    good_until: SimTime,
    heard: Option<SimTime>,
    /// When its newest heartbeat was sent, by its own clock. Another of that time or before is late, doubled, or a recording.
    sent: Option<SimTime>,
    /// When it last began with a region.
    began: SimTime,
    /// The longest time between two heartbeats; what is long ago counts less.
    longest_pause: SimTime,
    leaving: bool,
    pulses: BTreeMap<RegionId, RegionPulse>,
    /// The snapshots that it keeps: of an owner of which term, after which tick.
    keeps: BTreeMap<RegionId, (Term, Tick)>,
}

/// The coordinator's mind.
#[derive(Debug)]
pub struct Planner {
    settings: PlannerSettings,
    servers: BTreeMap<NodeId, Server>,
    assignment: Assignment,
    /// How far the newest region has come.
    newest_tick: u64,
    /// Since when a region has been too slow, and how many ticks it was late then.
    slow_since: BTreeMap<RegionId, (SimTime, u64)>,
    /// Who was too slow, and until when that counts.
    shunned: BTreeMap<NodeId, SimTime>,
    /// Who is near enough.
    sharing: Sharing,
    /// Regions with which their living owner has not begun: in which term, and since when.
    unbegun: BTreeMap<RegionId, (Term, SimTime)>,
}

/// Why a region got another owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It had none.
    First,
    /// Its owner is silent or gone.
    Dead,
    /// Its owner does not keep up.
    Slow,
    /// Its owner lives, but cannot begin with it.
    Stuck,
    /// Its owner has stopped on purpose.
    Moved,
    /// Its owner and everything it had is gone.
    Lost,
}

/// A change of owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Which region.
    pub region: RegionId,
    /// Why.
    pub why: Why,
    /// Who had it.
    pub from: Option<NodeId>,
    /// Who has it.
    pub to: NodeId,
}

/// What should be committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Who has which region.
    pub assignment: Assignment,
    /// What is new about it.
    pub verdicts: Vec<Verdict>,
}

impl Planner {
    /// A coordinator that has just taken over.
    pub fn new(settings: PlannerSettings) -> Self {
        Self {
            settings,
            servers: BTreeMap::new(),
            assignment: Assignment::default(),
            newest_tick: 0,
            slow_since: BTreeMap::new(),
            shunned: BTreeMap::new(),
            sharing: Sharing::default(),
            unbegun: BTreeMap::new(),
        }
    }

    /// The control plane has changed.
    pub fn handle_view(&mut self, now: SimTime, view: &ClusterView) {
        let grace = self.settings.grace;
        let servers = view.nodes.values().filter(|info| info.role == Role::Server);
        let mut known = std::mem::take(&mut self.servers);
        for info in servers {
            let server = known.remove(&info.node).unwrap_or_else(|| Server {
                good_until: now + grace,
                heard: None,
                sent: None,
                began: now,
                longest_pause: SimTime::ZERO,
                leaving: false,
                pulses: BTreeMap::new(),
                keeps: BTreeMap::new(),
            });
            let leaving = info.leaving;
            self.servers.insert(info.node, Server { leaving, ..server });
        }
        let servers = &self.servers;
        self.shunned.retain(|node, _| servers.contains_key(node));
        self.committed(view.assignment.clone());
    }

    /// What was planned is law.
    pub fn committed(&mut self, assignment: Assignment) {
        if assignment.generation != self.assignment.generation {
            // Another world: what servers said of the one before is worth nothing. A dead one would count as ready.
            self.newest_tick = 0;
            self.slow_since.clear();
            self.unbegun.clear();
            for server in self.servers.values_mut() {
                server.pulses.clear();
                server.keeps.clear();
            }
        }
        self.assignment = assignment;
    }

    /// A server lives. Says whether it is known.
    pub fn handle_heartbeat(&mut self, now: SimTime, heartbeat: &Heartbeat) -> bool {
        let Some(server) = self.servers.get_mut(&heartbeat.node) else {
            return false;
        };
        if server.sent.is_some_and(|newest| heartbeat.sent <= newest) {
            // Whoever plays back what a dead server has said must not keep it alive.
            return true;
        }
        server.sent = Some(heartbeat.sent);
        if heartbeat.sent.since(heartbeat.answered) > LONGEST_DEAFNESS {
            // It does not hear us, so nor does it hear its neighbours: cut off as if we did not hear it. It may be new, or we may be: then it hears us soon.
            return true;
        }
        let silence = self.settings.silence;
        let pause = server.heard.map_or(SimTime::ZERO, |heard| now.since(heard));
        let faded = server.longest_pause.0 - server.longest_pause.0 / PAUSE_FADES_IN;
        server.longest_pause = SimTime(faded).max(pause);
        server.heard = Some(now);
        let patience = SimTime(2 * server.longest_pause.0).max(silence);
        let patience = patience.min(SimTime(LONGEST_PATIENCE * silence.0));
        server.good_until = server.good_until.max(now + patience);
        if heartbeat.generation == self.assignment.generation {
            let pulses = heartbeat.regions.iter();
            let pulses: BTreeMap<_, _> = pulses.map(|pulse| (pulse.region, *pulse)).collect();
            let before = std::mem::replace(&mut server.pulses, pulses);
            let is_new = |pulse: &RegionPulse| {
                before.get(&pulse.region).map(|before| before.term) != Some(pulse.term)
            };
            if server.pulses.values().any(is_new) {
                server.began = now;
            }
            let keeps = heartbeat.keeps.iter();
            server.keeps = keeps
                .map(|(region, term, tick)| (*region, (*term, *tick)))
                .collect();
            let ticks = heartbeat.regions.iter().map(|pulse| pulse.tick.0);
            self.newest_tick = ticks.fold(self.newest_tick, u64::max);
        }
        true
    }

    /// The coordinator itself was away for so long: nobody can be blamed for not having been heard.
    pub fn was_away(&mut self, away: SimTime) {
        for server in self.servers.values_mut() {
            server.good_until += away;
            server.heard = server.heard.map(|heard| heard + away);
        }
        for (_, since) in self.unbegun.values_mut() {
            *since += away;
        }
    }

    /// The carrier says that a process is gone. If it lives after all, its next heartbeat says so.
    pub fn handle_death(&mut self, now: SimTime, node: NodeId) {
        if let Some(server) = self.servers.get_mut(&node) {
            server.good_until = server.good_until.min(now);
        }
    }

    /// Servers are near each other in these groups; of several, one shares the world. None: everyone does.
    pub fn handle_groups(&mut self, groups: &[Vec<NodeId>]) {
        self.sharing.handle_groups(groups);
    }

    /// The groups, the one that shares the world first.
    pub fn groups(&self) -> &[Vec<NodeId>] {
        self.sharing.groups()
    }

    /// When a server would count as dead next.
    pub fn next_wakeup(&self) -> Option<SimTime> {
        self.servers.values().map(|server| server.good_until).min()
    }

    /// Is every region of this world furnished and waiting for the start?
    pub fn all_ready(&self, generation: Generation) -> bool {
        self.assignment.generation == generation
            && !self.assignment.seats.is_empty()
            && self
                .assignment
                .regions()
                .all(|(region, _)| self.pulse(region).is_some())
    }

    /// How its owner says a region is.
    pub fn pulse(&self, region: RegionId) -> Option<&RegionPulse> {
        let seat = self.assignment.seat(region)?;
        let pulse = self.servers.get(&seat.owner?)?.pulses.get(&region)?;
        (pulse.term == seat.term).then_some(pulse)
    }

    /// How its owner says that each region keeps its promises.
    pub fn keeping(&self) -> Keeping {
        let regions = self.assignment.regions();
        let promises = |region| self.pulse(region).map(|pulse| pulse.promises);
        Keeping {
            generation: self.assignment.generation,
            regions: regions.map(|(region, _)| promises(region)).collect(),
        }
    }

    fn is_alive(&self, now: SimTime, node: NodeId) -> bool {
        self.servers
            .get(&node)
            .is_some_and(|server| now < server.good_until)
    }

    fn stays(&self, now: SimTime, node: NodeId) -> bool {
        self.is_alive(now, node) && !self.servers[&node].leaving
    }

    /// What should change now, if anything.
    pub fn plan(&mut self, now: SimTime, world: &WorldSpec) -> Option<Plan> {
        let mut next = self.assignment.clone();
        if next.generation != world.generation || next.seats.len() != world.map.len() {
            next = Assignment {
                generation: world.generation,
                seats: vec![Seat::default(); world.map.len()],
            };
        }
        let begun = next.seats.iter().any(|seat| seat.owner.is_some());
        let alive = self.servers.keys().filter(|node| self.stays(now, **node));
        if !begun && alive.count() < world.min_servers {
            return None;
        }
        let mut verdicts = Vec::new();
        for index in 0..next.seats.len() {
            let region = RegionId(index as u32);
            if let Some(verdict) = self.replace_owner(now, world, region, &mut next) {
                verdicts.push(verdict);
            }
        }
        self.move_one(now, &mut next);
        self.choose_standbys(now, &mut next);
        (next != self.assignment).then_some(Plan {
            assignment: next,
            verdicts,
        })
    }

    fn replace_owner(
        &mut self,
        now: SimTime,
        world: &WorldSpec,
        region: RegionId,
        next: &mut Assignment,
    ) -> Option<Verdict> {
        let seat = next.seats[region.0 as usize];
        let standby = seat.standby.filter(|standby| self.is_alive(now, *standby));
        let (why, to) = match seat.owner {
            None => (Why::First, self.least_loaded(now, next, |_| true)?),
            Some(owner) if seat.moving && self.has_given_away(region, seat) => {
                // Gone already? Then it has what the owner gave it nowhere, and the owner, still there, goes on.
                let Some(standby) = standby else {
                    next.seats[region.0 as usize].moving = !self.is_alive(now, owner);
                    return None;
                };
                (Why::Moved, standby)
            }
            Some(owner) if self.is_stuck(now, world, region, seat) => {
                match self.newest_snapshot(now, region, |node| node != owner) {
                    Some(heir) => (Why::Stuck, heir),
                    // It has the only one: to give the region to anybody else would be to throw that away.
                    None if self.servers[&owner].keeps.contains_key(&region) => return None,
                    None => (Why::Lost, self.least_loaded(now, next, |_| true)?),
                }
            }
            Some(owner) if self.is_alive(now, owner) => {
                let slow = self.is_slow(now, world, region);
                // Back to someone who was too slow: to and fro for ever. Then it is the region that is too large.
                let better = |standby: &NodeId| {
                    slow && !self.is_shunned(now, *standby)
                        && !self.sharing.is_outside(*standby)
                        && self.is_sure(region, seat, *standby)
                };
                (Why::Slow, standby.filter(better)?)
            }
            Some(owner) => match self.heir(now, region, seat) {
                Some(heir) => (Why::Dead, heir),
                // Nothing has happened yet that could be lost.
                None if world.start_unix_ns.is_none() => {
                    (Why::Lost, self.least_loaded(now, next, |_| true)?)
                }
                None if self.may_return(now, region, seat, owner) => return None,
                None => match self.newest_snapshot(now, region, |_| true) {
                    Some(heir) => (Why::Dead, heir),
                    None => (Why::Lost, self.least_loaded(now, next, |_| true)?),
                },
            },
        };
        let from = seat.owner;
        // Who gave it away on purpose still has what it gave, until another standby has something newer.
        let keeper = from.filter(|from| why == Why::Moved && self.stays(now, *from));
        if let Some(slow) = from.filter(|_| why == Why::Slow) {
            self.shunned.insert(slow, now + self.settings.shun);
        }
        next.seats[region.0 as usize] = Seat {
            owner: Some(to),
            term: seat.term.next(),
            standby: keeper,
            moving: false,
            handed: why == Why::Moved,
            lost: why == Why::Lost,
        };
        self.slow_since.remove(&region);
        self.unbegun.remove(&region);
        Some(Verdict {
            region,
            why,
            from,
            to,
        })
    }

    /// Who takes over from a silent owner without any doubt.
    fn heir(&self, now: SimTime, region: RegionId, seat: Seat) -> Option<NodeId> {
        let standby = seat.standby.filter(|standby| self.is_alive(now, *standby));
        let sure = standby.filter(|standby| self.is_sure(region, seat, *standby));
        // While a region moves, its owner tells nobody what its next owner keeps: the standby before that one is as good.
        let of_this_owner = |node: &NodeId| {
            let kept = self.servers[node].keeps.get(&region);
            kept.is_some_and(|(term, _)| *term == seat.term)
        };
        let newest = || self.newest_snapshot(now, region, |_| true);
        let before = || newest().filter(of_this_owner);
        sure.or_else(|| before().filter(|_| seat.moving))
    }

    /// Does it keep a snapshot of this very owner, and nobody a newer one? An owner sends its snapshots to one standby at a time: this one is then the newest
    /// that was ever called safe.
    fn is_sure(&self, region: RegionId, seat: Seat, node: NodeId) -> bool {
        let kept = |server: &Server| server.keeps.get(&region).copied();
        let its = self.servers.get(&node).and_then(kept);
        let newest = self.servers.values().filter_map(kept).max();
        let called_safe = self.pulse(region).and_then(|pulse| pulse.kept);
        let called_safe = called_safe.map(|(_, tick)| (seat.term, tick));
        its.is_some_and(|(term, _)| term == seat.term) && its >= newest && its >= called_safe
    }

    /// Can the region itself still be there, or who may have its newest snapshot? A lease tells who is gone for good.
    fn may_return(&self, now: SimTime, region: RegionId, seat: Seat, owner: NodeId) -> bool {
        let silent = seat
            .standby
            .filter(|standby| !self.is_alive(now, *standby))
            .and_then(|standby| self.servers.get(&standby));
        self.servers.contains_key(&owner)
            || silent.is_some_and(|standby| standby.keeps.contains_key(&region))
    }

    /// Whoever has the newest snapshot of all who live. What was called safe may be newer: then some bodies are lost.
    fn newest_snapshot(
        &self,
        now: SimTime,
        region: RegionId,
        fits: impl Fn(NodeId) -> bool,
    ) -> Option<NodeId> {
        let kept = |node: &NodeId| self.servers[node].keeps.get(&region).copied();
        let holders = self.servers.keys().copied();
        let holders = holders.filter(|node| self.is_alive(now, *node) && fits(*node));
        holders.filter(|node| kept(node).is_some()).max_by_key(kept)
    }

    /// Does its owner live, and yet say nothing of the region for too long? It could not read its snapshot, or its scene, or start a thread. Before the world has
    /// begun nobody else could do better.
    fn is_stuck(&mut self, now: SimTime, world: &WorldSpec, region: RegionId, seat: Seat) -> bool {
        let owner = seat.owner.filter(|owner| self.is_alive(now, *owner));
        let owner = owner.filter(|_| world.start_unix_ns.is_some());
        let Some(owner) = owner.filter(|_| self.pulse(region).is_none()) else {
            self.unbegun.remove(&region);
            return false;
        };
        let since = self.unbegun.entry(region).or_insert((seat.term, now));
        if since.0 != seat.term {
            *since = (seat.term, now);
        }
        let since = since.1.max(self.servers[&owner].began);
        now >= since + LONGEST_BEGINNING
    }

    fn has_given_away(&self, region: RegionId, seat: Seat) -> bool {
        let pulse = seat
            .owner
            .and_then(|owner| self.servers.get(&owner)?.pulses.get(&region));
        pulse.is_some_and(|pulse| {
            pulse.term == seat.term
                && pulse.state == RegionState::GivenAway
                && pulse.kept.map(|(node, _)| node) == seat.standby
        })
    }

    /// Late, or behind the others, by `lag` and for as long: a hiccup is not slowness. And getting later: who has taken over a late region, or is the last one of a world that
    /// makes up for lost time, is not to blame for it.
    fn is_slow(&mut self, now: SimTime, world: &WorldSpec, region: RegionId) -> bool {
        let step = world.boundary.step;
        let lag_ticks = step.ticks_in(self.settings.lag.as_secs());
        let pulse = self.pulse(region);
        let running = pulse.filter(|pulse| pulse.state == RegionState::Running);
        let Some((overdue, behind)) = running.map(|pulse| {
            // Neighbours wait for one that is slow, but not for one that stands still.
            let behind = pulse.tick.0 + lag_ticks < self.newest_tick;
            (pulse.overdue, behind)
        }) else {
            self.slow_since.remove(&region);
            return false;
        };
        if overdue <= lag_ticks && !behind {
            self.slow_since.remove(&region);
            return false;
        }
        let (since, overdue_then) = *self.slow_since.entry(region).or_insert((now, overdue));
        if now < since + self.settings.lag {
            return false;
        }
        let passed = step.ticks_in(now.since(since).as_secs());
        let gets_later = overdue.saturating_sub(overdue_then) * LOST_SHARE > passed;
        if !gets_later && !behind {
            self.slow_since.insert(region, (now, overdue));
        }
        gets_later || behind
    }

    /// At most one region moves at a time: each stands still for a moment, and its neighbours should not all at once.
    fn move_one(&self, now: SimTime, next: &mut Assignment) {
        if next.seats.iter().any(|seat| seat.moving) {
            return;
        }
        let settled =
            |(_, seat): &(usize, &Seat)| seat.owner.is_some_and(|owner| self.is_alive(now, owner));
        // Not while one recovers: two that begin anew at the same time make each other wait.
        let running = |(region, _): (RegionId, &Seat)| {
            let pulse = self.pulse(region);
            pulse.is_some_and(|pulse| pulse.state == RegionState::Running)
        };
        if !self.assignment.regions().all(running) {
            return;
        }
        let choice = next
            .seats
            .iter()
            .enumerate()
            .filter(settled)
            .find_map(|(index, seat)| {
                let owner = seat.owner?;
                let to = self.least_loaded(now, next, |node| node != owner)?;
                let near = !self.sharing.is_outside(to);
                let leaves = self.servers[&owner].leaving || near && self.sharing.is_outside(owner);
                let uneven = self.settings.balance
                    && load(next, owner) > load(next, to) + 1
                    && near
                    && !self.is_shunned(now, to);
                (leaves || uneven).then_some((index, to))
            });
        if let Some((index, to)) = choice {
            let seat = &mut next.seats[index];
            seat.standby = Some(to);
            seat.moving = true;
        }
    }

    fn choose_standbys(&self, now: SimTime, next: &mut Assignment) {
        for index in 0..next.seats.len() {
            let seat = next.seats[index];
            let owner = seat.owner;
            let best = self.least_loaded(now, next, |node| Some(node) != owner);
            // Better a standby far away than none, but none far away if there is another. What is on its way to one arrives there first.
            let near = best.is_some_and(|best| !self.sharing.is_outside(best));
            let too_far = |node| near && !seat.moving && self.sharing.is_outside(node);
            let good =
                |node: NodeId| self.is_alive(now, node) && Some(node) != owner && !too_far(node);
            // A silent owner gives nothing to a new standby, and the old one, silent too, may have what counts.
            let speaks = owner.is_some_and(|owner| self.is_alive(now, owner));
            if !speaks || seat.standby.is_some_and(good) {
                continue;
            }
            next.seats[index].moving = false;
            next.seats[index].standby = best;
        }
    }

    fn is_shunned(&self, now: SimTime, node: NodeId) -> bool {
        self.shunned.get(&node).is_some_and(|until| now < *until)
    }

    /// The living server that has the least to do: regions first, standbys second. Those that were too slow come last, and after them those that are too far away.
    fn least_loaded(
        &self,
        now: SimTime,
        next: &Assignment,
        fits: impl Fn(NodeId) -> bool,
    ) -> Option<NodeId> {
        let standbys = |node: NodeId| {
            let watched = next.seats.iter().filter(|seat| seat.standby == Some(node));
            watched.count()
        };
        self.servers
            .keys()
            .copied()
            .filter(|node| self.stays(now, *node) && fits(*node))
            .min_by_key(|node| {
                let far = self.sharing.is_outside(*node);
                let shunned = self.is_shunned(now, *node);
                (far, shunned, load(next, *node), standbys(*node), *node)
            })
    }
}

fn load(assignment: &Assignment, node: NodeId) -> usize {
    let owned = assignment
        .seats
        .iter()
        .filter(|seat| seat.owner == Some(node));
    owned.count()
}
