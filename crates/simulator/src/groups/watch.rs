//! What must be true of groups, looked at from above every 50 ms.
//!
//! - **one holder**: under one allocation no object has two holders, ever;
//! - **covered**: from where any member stands, every object is simulated, by itself or by a member it hears under the same
//!   allocation; the only gap allowed is the time it takes to notice that someone has died, or for a transfer to arrive;
//! - **prepared in time**: without trouble, a re-allocation, during which members simulate everything for themselves, is short;
//! - **calm**: bounded jitter alone changes no group once everyone has arrived;
//! - **settled**: when trouble is over, everyone who lives is in exactly one group, works together with it, and only with machines
//!   that are not too far; and every avatar is known in every group.

use super::{GroupRun, Upheaval, draw};
use ::groups::{
    Client, Coordinator, CoordinatorEvent, GroupConfig, GroupEpoch, Member, MemberEvent, NodeId,
    ObjectInfo, ObjectKey,
};
use domain::SimTime;
use std::collections::BTreeMap;

const EVERY: SimTime = SimTime(50_000_000);

/// How long things may last.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// An object without a simulator, from some member's view.
    pub uncovered: SimTime,
    /// A re-allocation without trouble.
    pub preparing: SimTime,
    /// Trouble casts its shadow for so long: everything is noticed, voted on and re-allocated by then.
    pub shadow: SimTime,
    /// After so long everyone has arrived and has been grouped.
    pub arrived: SimTime,
}

impl Limits {
    pub(super) fn of(config: &GroupConfig, run: &GroupRun) -> Self {
        let secs = SimTime::from_secs;
        Self {
            // Noticing silence, one flush, one step, and the longest way with a few losses.
            uncovered: secs(config.silence_secs + config.flush_secs + 2.0 * run.step_secs + 0.4),
            preparing: secs(2.0),
            shadow: secs(draw::CALM_SECS - 4.0),
            arrived: secs(10.0),
        }
    }
}

/// What was found, and how things were.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// Broken promises, in words; at most a few.
    pub broken: Vec<String>,
    /// How many there were.
    pub broken_count: u64,
    /// The longest any object was without a simulator from any member's view, seconds.
    pub longest_gap_secs: f64,
    /// The same outside the shadow of trouble.
    pub longest_calm_gap_secs: f64,
    /// The longest re-allocation outside the shadow of trouble, seconds.
    pub longest_calm_preparation_secs: f64,
    /// The longest any member simulated everything, seconds.
    pub longest_whole_secs: f64,
    /// Re-allocations.
    pub allocations: u64,
    /// Votes that passed: in, out.
    pub voted_in: u64,
    /// See `voted_in`.
    pub voted_out: u64,
    /// Nodes given up.
    pub given_up: u64,
    /// Members that had to do without another.
    pub alone: u64,
    /// Objects corrected between groups.
    pub corrected: u64,
    /// Messages that needed no network.
    pub bypassed: u64,
    /// Groups at the end.
    pub groups: u64,
    /// Impossible states heard by anyone.
    pub impossible: u64,
    /// The oldest news of a living client's avatar in any group at the end, seconds.
    pub oldest_avatar_secs: f64,
}

impl Findings {
    fn breach(&mut self, text: String) {
        self.broken_count += 1;
        if self.broken.len() < 5 {
            self.broken.push(text);
        }
    }
}

/// The checkers.
pub struct Watch {
    limits: Limits,
    next: SimTime,
    /// The end of the shadow of the last trouble.
    shadow_until: SimTime,
    jitter_only: bool,
    uncovered: BTreeMap<(NodeId, ObjectKey), SimTime>,
    whole: BTreeMap<NodeId, SimTime>,
    preparing: BTreeMap<NodeId, SimTime>,
    allocated_late: u64,
    /// What was found.
    pub findings: Findings,
}

impl Watch {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            next: SimTime::ZERO,
            shadow_until: limits.arrived,
            jitter_only: true,
            uncovered: BTreeMap::new(),
            whole: BTreeMap::new(),
            preparing: BTreeMap::new(),
            allocated_late: 0,
            findings: Findings::default(),
        }
    }

    pub(super) fn due(&mut self, now: SimTime) -> bool {
        let due = now >= self.next;
        if due {
            self.next = now + EVERY;
        }
        due
    }

    pub(super) fn bypassed(&mut self, messages: usize) {
        self.findings.bypassed += messages as u64;
    }

    pub(super) fn upheaval(&mut self, now: SimTime, upheaval: &Upheaval) {
        let arrival = matches!(upheaval, Upheaval::Start(_)) && now < self.limits.arrived;
        if !arrival {
            self.jitter_only = false;
            self.shadow_until = self.shadow_until.max(now + self.limits.shadow);
        }
    }

    pub(super) fn event(&mut self, now: SimTime, event: &CoordinatorEvent) {
        match event {
            CoordinatorEvent::Allocated { .. } => {
                self.findings.allocations += 1;
                if self.jitter_only && now > self.limits.arrived {
                    self.allocated_late += 1;
                    self.findings.breach(format!(
                        "{now}: flapping: {event:?} although nothing but jitter happened"
                    ));
                }
            }
            CoordinatorEvent::Voted {
                kind, passed: true, ..
            } => match kind {
                ::groups::VoteKind::Inclusion => self.findings.voted_in += 1,
                ::groups::VoteKind::Rejection => self.findings.voted_out += 1,
            },
            CoordinatorEvent::NodeGone {
                politely: false, ..
            } => self.findings.given_up += 1,
            CoordinatorEvent::Corrected(_) => self.findings.corrected += 1,
            _ => {}
        }
    }

    pub(super) fn member_event(&mut self, event: &MemberEvent) {
        self.findings.alone += u64::from(*event == MemberEvent::Alone);
    }

    /// Looks at everyone.
    pub(super) fn look(&mut self, now: SimTime, members: &[&Member], objects: &[ObjectInfo]) {
        let named: Vec<(NodeId, &Member)> =
            members.iter().filter_map(|m| Some((m.id()?, *m))).collect();
        self.one_holder(now, &named, objects);
        self.covered(now, &named, objects);
        self.in_time(now, &named);
    }

    fn one_holder(&mut self, now: SimTime, members: &[(NodeId, &Member)], objects: &[ObjectInfo]) {
        let mut holders: BTreeMap<(GroupEpoch, ObjectKey), NodeId> = BTreeMap::new();
        for (id, member) in members {
            let Some(epoch) = member.epoch() else {
                continue;
            };
            for info in objects.iter().filter(|info| member.holds(info.key)) {
                if let Some(other) = holders.insert((epoch, info.key), *id) {
                    self.findings.breach(format!(
                        "{now}: doubled: {} is held by {other} and {id} under {epoch}",
                        info.key
                    ));
                }
            }
        }
    }

    fn covered(&mut self, now: SimTime, members: &[(NodeId, &Member)], objects: &[ObjectInfo]) {
        for (id, member) in members {
            // Before its first allocation a newcomer shows nobody anything.
            let whole = member.is_whole();
            if member.epoch().is_none() {
                continue;
            }
            let group = member.members();
            for info in objects {
                let epoch = member.epoch().expect("just looked");
                let by_others = || {
                    let mut others = members.iter().filter(|(other, _)| group.contains(other));
                    others.any(|(_, other)| other.serves(epoch, info.key))
                };
                let simulated = if whole {
                    member.simulates(info.key)
                } else {
                    member.holds(info.key) || by_others()
                };
                self.gap(now, *id, info.key, simulated);
            }
        }
        let living = |id: &NodeId| members.iter().any(|(member, _)| member == id);
        self.uncovered.retain(|(id, _), _| living(id));
    }

    fn gap(&mut self, now: SimTime, id: NodeId, key: ObjectKey, simulated: bool) {
        if simulated {
            self.uncovered.remove(&(id, key));
            return;
        }
        let since = *self.uncovered.entry((id, key)).or_insert(now);
        let gap = now.since(since);
        self.findings.longest_gap_secs = self.findings.longest_gap_secs.max(gap.as_secs());
        if now > self.shadow_until {
            self.findings.longest_calm_gap_secs =
                self.findings.longest_calm_gap_secs.max(gap.as_secs());
        }
        if gap > self.limits.uncovered {
            self.findings.breach(format!(
                "{now}: unsimulated: {key} has had no simulator in {id}'s view since {since}"
            ));
            self.uncovered.remove(&(id, key));
        }
    }

    fn in_time(&mut self, now: SimTime, members: &[(NodeId, &Member)]) {
        let living = |id: &NodeId| members.iter().any(|(member, _)| member == id);
        self.whole.retain(|id, _| living(id));
        self.preparing.retain(|id, _| living(id));
        for (id, member) in members {
            if member.is_whole() {
                let since = *self.whole.entry(*id).or_insert(now);
                let secs = now.since(since).as_secs();
                self.findings.longest_whole_secs = self.findings.longest_whole_secs.max(secs);
                if now > self.shadow_until
                    && now.since(since.max(self.shadow_until)) > self.limits.preparing
                {
                    self.findings.breach(format!(
                        "{now}: doubled work: {id} has simulated everything since {since}"
                    ));
                    self.whole.remove(id);
                }
            } else {
                self.whole.remove(id);
            }
            if member.is_preparing() {
                let since = *self.preparing.entry(*id).or_insert(now);
                if since > self.shadow_until {
                    let longest = &mut self.findings.longest_calm_preparation_secs;
                    *longest = longest.max(now.since(since).as_secs());
                }
            } else {
                self.preparing.remove(id);
            }
        }
    }

    /// Trouble has been over for long: everyone must have found its place.
    pub(super) fn end(
        &mut self,
        now: SimTime,
        run: &GroupRun,
        coordinator: &Coordinator,
        members: &[(usize, &Member)],
        objects: &[ObjectInfo],
    ) {
        let groups: Vec<_> = coordinator.groups().collect();
        self.findings.groups = groups.len() as u64;
        for (machine, member) in members {
            let Some(id) = member.id() else {
                self.findings
                    .breach(format!("{now}: machine {machine} is still without a name"));
                continue;
            };
            let homes: Vec<_> = groups.iter().filter(|(.., m)| m.contains(&id)).collect();
            match &homes[..] {
                [(group, epoch, true, all)] => {
                    let same = member.group() == Some(*group)
                        && member.epoch() == Some(*epoch)
                        && member.members() == *all;
                    if !same || member.is_whole() {
                        self.findings.breach(format!(
                            "{now}: {id} does not work with its group {group} {epoch}"
                        ));
                    }
                }
                other => self.findings.breach(format!("{now}: {id} is in {other:?}")),
            }
        }
        for (a, first) in members {
            for (b, second) in members.iter().filter(|(b, _)| b > a) {
                let together = first.group().is_some() && first.group() == second.group();
                let round_trip = 2.0 * run.one_way_ms(*a, *b);
                if together && round_trip - 2.0 * run.jitter_ms > run.config.thresholds.rejection_ms
                {
                    self.findings.breach(format!(
                        "{now}: machines {a} and {b}, {round_trip:.0} ms apart, share a group"
                    ));
                }
            }
        }
        for (group, ..) in &groups {
            for info in objects
                .iter()
                .filter(|info| coordinator.state(*group, info.key).is_none())
            {
                self.findings
                    .breach(format!("{now}: {} is lost in {group}", info.key));
            }
        }
    }

    /// Every living client's avatar is known in every group, and the news are fresh.
    pub(super) fn avatars_at_the_end(
        &mut self,
        now: SimTime,
        members: &[(usize, &Member)],
        clients: &[&Client],
    ) {
        for client in clients {
            let key = client.id().and_then(|id| ObjectKey::of_client(id, 1));
            let Some(key) = key else {
                self.findings
                    .breach(format!("{now}: a client is still without a name"));
                continue;
            };
            for (_, leader) in members.iter().filter(|(_, member)| member.is_leader()) {
                let group = leader.members();
                let known = group.iter().filter_map(|node| {
                    let (_, member) = members.iter().find(|(_, m)| m.id() == Some(*node))?;
                    member.last_heard(key)
                });
                let age = known
                    .max()
                    .map_or(f64::INFINITY, |stamp| now.since(stamp).as_secs());
                self.findings.oldest_avatar_secs = self.findings.oldest_avatar_secs.max(age);
                // A refresh, the flushes on the way, the delays, and two lost datagrams.
                if age > 3.0 {
                    let group = leader.group();
                    self.findings.breach(format!(
                        "{now}: the last news of avatar {key} in {group:?} are {age:.1} s old"
                    ));
                }
            }
        }
    }
}
