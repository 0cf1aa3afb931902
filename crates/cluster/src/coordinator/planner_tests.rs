//! The planner's rules, one by one.

use super::planner::{Plan, Planner, PlannerSettings, Why};
use crate::messages::{Heartbeat, RegionPulse, RegionState};
use crate::names::{Generation, NodeId, Term};
use crate::schema::{Assignment, ClusterView, NodeInfo, Promises, Role, WorldOptions, WorldSpec};
use domain::{RegionId, SimTime, Tick};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const A: NodeId = NodeId(1);
const B: NodeId = NodeId(2);
const C: NodeId = NodeId(3);

fn ms(millis: u64) -> SimTime {
    SimTime(millis * 1_000_000)
}

/// A coordinator, its servers, and a control plane that takes every plan.
struct Stage {
    planner: Planner,
    world: WorldSpec,
    view: ClusterView,
    now: SimTime,
    /// Who is heard.
    beating: BTreeSet<NodeId>,
    state: RegionState,
    ticks: [u64; 4],
    overdue: [u64; 4],
    /// Who does not hear us, and since when.
    answered: BTreeMap<NodeId, SimTime>,
    /// Which snapshots each server has.
    keeps: BTreeMap<NodeId, Vec<(RegionId, Term, Tick)>>,
    /// Who lives but cannot begin with these regions.
    unable: BTreeSet<(NodeId, u32)>,
}

impl Stage {
    fn new(regions: usize, servers: &[NodeId]) -> Self {
        let text = scenes::builtin::text("orbit").expect("built in");
        let options = WorldOptions {
            regions: Some(regions),
            ..WorldOptions::default()
        };
        let mut world = WorldSpec::new(text, None, &options).expect("fits");
        world.start_unix_ns = Some(1);
        let mut stage = Self {
            planner: Planner::new(PlannerSettings::default()),
            view: ClusterView::default(),
            world,
            now: ms(1000),
            beating: BTreeSet::new(),
            state: RegionState::Running,
            ticks: [100; 4],
            overdue: [0; 4],
            answered: BTreeMap::new(),
            keeps: BTreeMap::new(),
            unable: BTreeSet::new(),
        };
        stage.view.world = Some(Arc::new(stage.world.clone()));
        for server in servers {
            stage.join(*server);
        }
        stage
    }

    fn join(&mut self, node: NodeId) {
        let info = NodeInfo {
            node,
            role: Role::Server,
            name: node.to_string(),
            address: "127.0.0.1:1".parse().expect("an address"),
            url: None,
            leaving: false,
        };
        self.view.nodes.insert(node, info);
        self.beating.insert(node);
        self.planner.handle_view(self.now, &self.view);
    }

    fn lease_ends(&mut self, node: NodeId) {
        self.view.nodes.remove(&node);
        self.planner.handle_view(self.now, &self.view);
    }

    fn beat(&mut self) {
        for heartbeat in self.heartbeats() {
            self.planner.handle_heartbeat(self.now, &heartbeat);
        }
    }

    fn heartbeats(&self) -> Vec<Heartbeat> {
        let mut heartbeats = Vec::new();
        let assignment = &self.view.assignment;
        // Whoever should keep a snapshot has one.
        let standby = |node: NodeId| {
            let seats = assignment.regions();
            let its = seats.filter(|(_, seat)| seat.standby == Some(node));
            its.map(|(region, seat)| (region, seat.term, Tick(1)))
                .collect()
        };
        for node in &self.beating {
            let its = assignment
                .regions()
                .filter(|(_, seat)| seat.owner == Some(*node))
                .filter(|(region, _)| !self.unable.contains(&(*node, region.0)));
            let pulse = |(region, seat): (RegionId, &crate::schema::Seat)| RegionPulse {
                region,
                term: seat.term,
                tick: Tick(self.ticks[region.0 as usize]),
                overdue: self.overdue[region.0 as usize],
                state: if seat.moving {
                    RegionState::GivenAway
                } else {
                    self.state
                },
                bodies: 0,
                kept: seat.standby.map(|standby| (standby, Tick(1))),
                promises: Promises {
                    held: u64::from(region.0),
                    ..Promises::default()
                },
            };
            heartbeats.push(Heartbeat {
                node: *node,
                sent: self.now,
                answered: self.answered.get(node).copied().unwrap_or(self.now),
                generation: assignment.generation,
                regions: its.map(pulse).collect(),
                keeps: self
                    .keeps
                    .get(node)
                    .cloned()
                    .unwrap_or_else(|| standby(*node)),
                clock_bound: None,
            });
        }
        heartbeats
    }

    /// Time passes in heartbeats; every plan is committed. Returns all verdicts.
    fn run(&mut self, millis: u64) -> Vec<(u32, Why, NodeId)> {
        let mut verdicts = Vec::new();
        for _ in 0..millis / 50 {
            self.now += ms(50);
            self.beat();
            if let Some(Plan {
                assignment,
                verdicts: new,
            }) = self.planner.plan(self.now, &self.world)
            {
                verdicts.extend(
                    new.iter()
                        .map(|verdict| (verdict.region.0, verdict.why, verdict.to)),
                );
                self.view.assignment = assignment;
                self.planner.handle_view(self.now, &self.view);
            }
        }
        verdicts
    }

    fn owners(&self) -> Vec<Option<NodeId>> {
        self.view
            .assignment
            .seats
            .iter()
            .map(|seat| seat.owner)
            .collect()
    }

    fn assignment(&self) -> &Assignment {
        &self.view.assignment
    }
}

/// What owners say of promises is known of every region, and of nobody's before it was said.
#[test]
fn how_promises_are_kept_is_known() {
    let mut stage = Stage::new(4, &[A, B]);
    let held = |stage: &Stage| -> Vec<Option<u64>> {
        let regions = stage.planner.keeping().regions;
        let held = regions.iter().map(|it| it.map(|promises| promises.held));
        held.collect()
    };
    assert_eq!(held(&stage), []);
    stage.run(50);
    assert_eq!(held(&stage), [None; 4]);
    stage.run(50);
    assert_eq!(held(&stage), [Some(0), Some(1), Some(2), Some(3)]);
    assert_eq!(stage.planner.keeping().generation, stage.world.generation);
}

#[test]
fn regions_are_spread_and_every_region_has_a_standby_elsewhere() {
    let mut stage = Stage::new(4, &[A, B]);
    stage.run(100);
    let of_a = stage
        .owners()
        .iter()
        .filter(|owner| **owner == Some(A))
        .count();
    assert_eq!(of_a, 2);
    for seat in &stage.assignment().seats {
        assert_eq!(seat.term, Term(1));
        assert!(seat.standby.is_some() && seat.standby != seat.owner);
    }
    assert!(stage.run(5000).is_empty(), "and then nothing changes");
}

#[test]
fn the_first_assignment_waits_for_the_servers_it_was_promised() {
    let mut stage = Stage::new(2, &[A]);
    stage.world.min_servers = 2;
    stage.run(3000);
    assert!(stage.owners().iter().all(Option::is_none));
    stage.join(B);
    stage.run(100);
    assert!(stage.owners().iter().all(Option::is_some));
}

/// Found by killing a server right before a reset: its word of the old world counted in the new one, which started without that region.
#[test]
fn a_new_world_does_not_start_with_a_server_that_died_in_the_old_one() {
    let mut stage = Stage::new(2, &[A, B]);
    stage.run(3000);
    let old = stage.world.generation;
    assert!(stage.planner.all_ready(old));
    stage.beating.remove(&A);
    stage.keeps.insert(B, Vec::new());
    stage.world.generation = Generation(old.0 + 1);
    stage.world.start_unix_ns = None;
    let new = stage.world.generation;
    assert!(!stage.planner.all_ready(new), "nothing is assigned yet");
    stage.run(50);
    assert_eq!(stage.owners(), [Some(A), Some(B)], "nobody has noticed yet");
    stage.run(100);
    assert!(!stage.planner.all_ready(new), "A has never said a word");
    assert_eq!(stage.run(400), [(0, Why::Lost, B)], "before the start");
    stage.run(100);
    assert!(stage.planner.all_ready(new));
}

#[test]
fn a_silent_owner_is_fenced_and_its_standby_takes_over() {
    let mut stage = Stage::new(2, &[A, B]);
    stage.run(3000);
    let before = stage.assignment().clone();
    let victim = before.seats[0].owner.expect("assigned");
    let other = if victim == A { B } else { A };
    stage.beating.remove(&victim);
    assert!(stage.run(350).is_empty(), "not yet");
    assert_eq!(stage.run(150), [(0, Why::Dead, other)]);
    let seat = stage.assignment().seats[0];
    assert_eq!(
        (seat.term, seat.standby),
        (before.seats[0].term.next(), None),
        "nobody else is there"
    );
    assert_eq!(stage.assignment().seats[1].term, before.seats[1].term);
    stage.join(C);
    stage.run(1000);
    for seat in &stage.assignment().seats {
        assert!(seat.standby.is_some() && seat.standby != seat.owner);
        assert!(seat.owner != Some(victim) && seat.standby != Some(victim));
    }
}

/// The standby has just been chosen and has nothing yet, or something old: neighbours have forgotten what is only in the newest snapshot. Its owner is waited for; when its
/// lease has ended, whoever has the newest snapshot takes over.
#[test]
fn only_who_has_the_newest_snapshot_takes_over() {
    let mut stage = Stage::new(1, &[A, B, C]);
    stage.run(3000);
    let seat = stage.assignment().seats[0];
    let (owner, standby) = (seat.owner.expect("assigned"), seat.standby.expect("chosen"));
    let third = [A, B, C]
        .into_iter()
        .find(|node| *node != owner && *node != standby);
    let third = third.expect("there are three");
    let region = RegionId(0);
    let (now, before) = (seat.term, Term(0));
    for (of_standby, of_third, at_once, in_the_end) in [
        (Some((now, 60)), Some((now, 60)), Some(standby), standby),
        (Some((now, 60)), Some((before, 90)), Some(standby), standby),
        (Some((now, 60)), None, Some(standby), standby),
        (None, Some((now, 60)), None, third),
        (Some((now, 30)), Some((now, 60)), None, third),
        (Some((before, 90)), None, None, standby),
    ] {
        let mut stage = Stage::new(1, &[A, B, C]);
        stage.run(3000);
        for (node, kept) in [(standby, of_standby), (third, of_third)] {
            let kept = kept.map(|(term, tick)| (region, term, Tick(tick)));
            stage.keeps.insert(node, kept.into_iter().collect());
        }
        stage.run(200);
        stage.beating.remove(&owner);
        let verdicts = stage.run(3000);
        let expected = at_once.map(|heir| (0, Why::Dead, heir));
        assert_eq!(verdicts, expected.into_iter().collect::<Vec<_>>());
        stage.lease_ends(owner);
        stage.run(100);
        assert_eq!(stage.owners(), [Some(in_the_end)]);
    }
}

/// Owner and standby are silent, a third one lives: whichever of the two comes back goes on with the region, and nothing begins anew.
#[test]
fn who_has_the_newest_snapshot_is_waited_for() {
    for owner_returns in [true, false] {
        let mut stage = Stage::new(1, &[A, B, C]);
        stage.run(3000);
        let seat = stage.assignment().seats[0];
        let (owner, standby) = (seat.owner.expect("assigned"), seat.standby.expect("chosen"));
        stage.beating.remove(&owner);
        stage.beating.remove(&standby);
        assert!(stage.run(2000).is_empty());
        if owner_returns {
            stage.beating.insert(owner);
            assert!(stage.run(1000).is_empty());
            assert_ne!(stage.assignment().seats[0].standby, Some(standby));
        } else {
            stage.beating.insert(standby);
            assert_eq!(stage.run(100), [(0, Why::Dead, standby)]);
        }
    }
}

/// A region without any snapshot starts anew only when its owner is gone for good; before the world has begun there is nothing to wait for.
#[test]
fn a_standby_with_nothing_does_not_begin_anew_in_haste() {
    for begun in [true, false] {
        let mut stage = Stage::new(1, &[A, B]);
        stage.world.start_unix_ns = begun.then_some(1);
        stage.run(3000);
        let owner = stage.owners()[0].expect("assigned");
        let standby = stage.assignment().seats[0].standby.expect("chosen");
        stage.keeps.insert(standby, Vec::new());
        stage.run(100);
        stage.beating.remove(&owner);
        let in_haste = stage.run(3000);
        let lost = [(0, Why::Lost, standby)];
        match begun {
            true => assert_eq!(in_haste, []),
            false => assert_eq!(in_haste, lost),
        }
        stage.lease_ends(owner);
        let verdicts = stage.run(100);
        assert_eq!(verdicts.len(), usize::from(begun));
    }
}

/// On a busy machine hearts pause: who has paused before is not taken for dead so soon. A coordinator that was away blames nobody.
#[test]
fn who_pauses_now_and_then_is_given_more_time() {
    let mut stage = Stage::new(2, &[A, B]);
    stage.run(3000);
    stage.beating.clear();
    assert!(stage.run(300).is_empty());
    stage.beating.extend([A, B]);
    stage.run(1000);
    stage.beating.remove(&A);
    assert!(stage.run(600).is_empty(), "it has paused for 350 ms before");
    assert_eq!(stage.run(150).len(), 1);

    let mut stage = Stage::new(2, &[A, B]);
    stage.run(3000);
    stage.now += ms(3000);
    stage.planner.was_away(ms(3000));
    assert!(stage.run(1000).is_empty());
}

#[test]
fn without_a_standby_the_owner_is_waited_for_until_its_lease_ends() {
    let mut stage = Stage::new(2, &[A]);
    stage.run(3000);
    stage.beating.remove(&A);
    stage.join(B);
    // B is standby now, but had no time to be given anything: take it away again.
    stage.beating.remove(&B);
    stage.lease_ends(B);
    assert!(stage.run(3000).is_empty(), "it may come back");
    stage.lease_ends(A);
    stage.join(C);
    let verdicts = stage.run(100);
    assert_eq!(verdicts, [(0, Why::Lost, C), (1, Why::Lost, C)]);
}

#[test]
fn a_new_coordinator_does_not_take_silence_before_its_time_for_death() {
    let mut stage = Stage::new(2, &[A, B]);
    stage.run(3000);
    let settings = PlannerSettings::default();
    stage.planner = Planner::new(settings);
    stage.planner.handle_view(stage.now, &stage.view);
    stage.beating.remove(&A);
    assert!(stage.run(1900).is_empty());
    let verdicts = stage.run(500);
    assert!(matches!(verdicts[..], [(_, Why::Dead, B)]), "{verdicts:?}");
}

#[test]
fn regions_move_one_after_another_to_a_server_that_has_none() {
    let mut stage = Stage::new(4, &[A]);
    stage.run(3000);
    stage.join(B);
    stage.state = RegionState::Recovering;
    assert!(stage.run(1000).is_empty(), "not while one recovers");
    stage.state = RegionState::Running;
    let verdicts = stage.run(1000);
    assert_eq!(
        verdicts
            .iter()
            .map(|(_, why, to)| (*why, *to))
            .collect::<Vec<_>>(),
        [(Why::Moved, B); 2]
    );
    assert!(stage.run(5000).is_empty());
}

#[test]
fn who_leaves_gives_everything_away() {
    let mut stage = Stage::new(4, &[A, B]);
    stage.run(3000);
    stage.view.nodes.get_mut(&A).expect("there").leaving = true;
    stage.planner.handle_view(stage.now, &stage.view);
    let verdicts = stage.run(1000);
    assert_eq!(verdicts.len(), 2);
    assert!(stage.owners().iter().all(|owner| *owner == Some(B)));
}

/// Its regions move one after another, as if it left; it keeps nobody's snapshots; and when it is near again it gets regions again.
#[test]
fn who_is_too_far_away_gives_everything_away_and_gets_nothing_until_it_is_near() {
    let mut stage = Stage::new(4, &[A, B, C]);
    stage.run(3000);
    let has = |stage: &Stage, node: NodeId| {
        let seats = stage.assignment().seats.iter();
        let its = seats.filter(|seat| seat.owner == Some(node) || seat.standby == Some(node));
        its.count()
    };
    let owned = stage.owners().iter().filter(|it| **it == Some(C)).count();
    assert!(owned > 0, "it has some to give");
    stage.planner.handle_groups(&[vec![C], vec![A, B]]);
    assert_eq!(stage.planner.groups(), [vec![A, B], vec![C]]);
    let verdicts = stage.run(3000);
    assert_eq!(verdicts.len(), owned, "{verdicts:?}");
    assert!(
        verdicts
            .iter()
            .all(|(_, why, to)| *why == Why::Moved && *to != C)
    );
    assert_eq!(has(&stage, C), 0, "{:?}", stage.assignment());
    for seat in &stage.assignment().seats {
        assert!(seat.standby.is_some() && seat.standby != seat.owner && !seat.moving);
    }
    assert!(stage.run(5000).is_empty(), "and then nothing changes");
    stage.planner.handle_groups(&[vec![A, B, C]]);
    assert_eq!(stage.run(3000).len(), 1, "two, one and one");
    assert_eq!(
        stage.owners().iter().filter(|it| **it == Some(C)).count(),
        1
    );
}

/// Two servers that are far from each other: one has the world, and the other is better than no standby. It takes over when the first one dies, and not before.
#[test]
fn a_standby_far_away_is_better_than_none() {
    let mut stage = Stage::new(2, &[A, B]);
    stage.planner.handle_groups(&[vec![A], vec![B]]);
    stage.run(3000);
    assert_eq!(stage.owners(), [Some(A); 2]);
    let standbys = |stage: &Stage| {
        let seats = stage.assignment().seats.iter();
        seats.map(|seat| seat.standby).collect::<Vec<_>>()
    };
    assert_eq!(standbys(&stage), [Some(B); 2]);
    // Slow as it may be, it is where the world is.
    stage.overdue = [2000; 4];
    stage.run(4000);
    stage.overdue = [4000; 4];
    assert!(stage.run(10_000).is_empty());
    stage.overdue = [0; 4];
    stage.run(100);
    // One that is near is a better one.
    stage.join(C);
    stage.planner.handle_groups(&[vec![A, C], vec![B]]);
    stage.run(50);
    assert_eq!(standbys(&stage), [Some(C); 2]);
    stage.planner.handle_groups(&[vec![A], vec![C], vec![B]]);
    stage.run(3000);
    assert_eq!(
        (stage.owners(), standbys(&stage)),
        (vec![Some(A); 2], vec![Some(C); 2])
    );
    stage.beating.remove(&A);
    assert_eq!(stage.run(1000), [(0, Why::Dead, C), (1, Why::Dead, C)]);
}

/// Groups say who should have the world, never that nobody has it.
#[test]
fn the_world_has_an_owner_whatever_the_groups_are() {
    // Everyone is alone: the promised number of servers is there all the same.
    let mut stage = Stage::new(2, &[A, B, C]);
    stage.world.min_servers = 3;
    stage.planner.handle_groups(&[vec![B], vec![A], vec![C]]);
    stage.run(100);
    assert_eq!(stage.owners(), [Some(B); 2]);
    // Those who should have it are not there.
    for nobody in [C, NodeId(77)] {
        let mut stage = Stage::new(2, &[A, B, C]);
        stage.beating.remove(&C);
        stage.run(3000);
        stage.lease_ends(C);
        stage.planner.handle_groups(&[vec![nobody]]);
        stage.run(3000);
        let all: BTreeSet<_> = stage.owners().into_iter().flatten().collect();
        assert_eq!(all, BTreeSet::from([A, B]));
        stage.beating.remove(&A);
        stage.run(1000);
        assert_eq!(stage.owners(), [Some(B); 2]);
    }
}

/// It leaves, and nobody near is left: what is far away gets its regions rather than nobody.
#[test]
fn who_leaves_gives_to_one_far_away_if_there_is_no_other() {
    let mut stage = Stage::new(2, &[A, B]);
    stage.planner.handle_groups(&[vec![A], vec![B]]);
    stage.run(3000);
    stage.view.nodes.get_mut(&A).expect("there").leaving = true;
    stage.planner.handle_view(stage.now, &stage.view);
    assert_eq!(stage.run(1000), [(0, Why::Moved, B), (1, Why::Moved, B)]);
}

#[test]
fn a_region_that_stays_behind_is_given_to_its_standby() {
    let mut stage = Stage::new(2, &[A, B]);
    stage.run(3000);
    let standby = stage.assignment().seats[1].standby.expect("chosen");
    stage.ticks = [1000, 600, 0, 0];
    assert!(stage.run(4900).is_empty(), "a hiccup");
    assert_eq!(stage.run(200).first(), Some(&(1, Why::Slow, standby)));
}

/// Its neighbours wait for it, so nobody is ahead of it: it is late by the clock, and they are not.
#[test]
fn a_region_that_others_wait_for_is_given_to_its_standby() {
    let mut stage = Stage::new(2, &[A, B]);
    stage.run(3000);
    let standby = stage.assignment().seats[1].standby.expect("chosen");
    stage.ticks = [602, 600, 0, 0];
    stage.overdue = [0, 400, 0, 0];
    assert!(stage.run(4900).is_empty(), "a hiccup");
    stage.overdue[1] = 450;
    assert_eq!(stage.run(200).first(), Some(&(1, Why::Slow, standby)));
}

/// The world was late before: whoever keeps the clock's pace, or makes up for what was lost, is not to blame.
#[test]
fn a_region_that_gets_no_later_keeps_its_owner() {
    let mut stage = Stage::new(2, &[A, B]);
    stage.run(3000);
    for overdue in (350..3000).rev().step_by(20) {
        stage.overdue = [0, overdue, 0, 0];
        assert!(stage.run(500).is_empty(), "it makes up for it");
    }
    stage.overdue = [0; 4];
    stage.run(100);
    stage.overdue = [0, 600, 0, 0];
    assert!(stage.run(30_000).is_empty(), "it keeps up");
}

/// Its heart is heard, but it hears nothing: it is cut off as much as one that is not heard.
#[test]
fn a_server_that_hears_nothing_is_replaced() {
    let mut stage = Stage::new(2, &[A, B]);
    stage.run(3000);
    let deaf = stage.assignment().seats[0].owner.expect("assigned");
    stage.answered.insert(deaf, stage.now);
    assert!(stage.run(1000).is_empty(), "a hiccup");
    let verdicts = stage.run(2000);
    assert_eq!(verdicts.first().map(|(_, why, _)| *why), Some(Why::Dead));
    assert!(stage.owners().iter().all(|owner| *owner != Some(deaf)));
}

/// Balance alone would give it back at once: the slow one has nothing to do now.
#[test]
fn who_was_too_slow_gets_no_region_for_a_while() {
    let mut stage = Stage::new(4, &[A, B]);
    stage.run(3000);
    let slow = stage.assignment().seats[1].owner.expect("assigned");
    let others = |stage: &Stage| {
        let owners = stage.owners();
        owners.iter().filter(|owner| **owner != Some(slow)).count()
    };
    assert_eq!(others(&stage), 2);
    for region in 0..4 {
        let its = stage.assignment().seats[region].owner == Some(slow);
        stage.ticks[region] = if its { 600 } else { 1000 };
    }
    let verdicts = stage.run(6000);
    assert_eq!(verdicts.len(), 2, "{verdicts:?}");
    assert!(verdicts.iter().all(|(_, why, _)| *why == Why::Slow));
    // Everyone keeps up now; it would be even again with two each.
    stage.ticks = [1000; 4];
    assert!(stage.run(50_000).is_empty(), "remembered");
    assert_eq!(others(&stage), 4);
    stage.run(20_000);
    assert_eq!(others(&stage), 2, "forgiven");
}

/// A region that is too large for anybody is not carried to and fro.
#[test]
fn a_region_does_not_go_back_to_who_was_too_slow_for_it() {
    let mut stage = Stage::new(2, &[A, B]);
    stage.run(3000);
    stage.ticks = [1000, 600, 0, 0];
    assert_eq!(stage.run(6000).len(), 1);
    assert!(stage.run(50_000).is_empty());
}

#[test]
fn the_carrier_may_notice_a_death_earlier_and_may_be_wrong() {
    let mut stage = Stage::new(2, &[A, B]);
    stage.run(3000);
    let owner = stage.assignment().seats[0].owner.expect("assigned");
    stage.planner.handle_death(stage.now, owner);
    assert!(stage.run(200).is_empty(), "its heart beats");
    stage.beating.remove(&owner);
    stage.planner.handle_death(stage.now, owner);
    assert_eq!(stage.run(50).len(), 1);
}

/// Whoever has recorded a server's heartbeats and plays them back does not keep it alive, nor does the network that doubles them.
#[test]
fn a_recorded_heartbeat_keeps_nobody_alive() {
    let mut stage = Stage::new(2, &[A, B]);
    stage.run(3000);
    let victim = stage.assignment().seats[0].owner.expect("assigned");
    let other = if victim == A { B } else { A };
    let mut recorded = Vec::new();
    for _ in 0..20 {
        stage.run(50);
        recorded.extend(stage.heartbeats());
    }
    recorded.retain(|heartbeat| heartbeat.node == victim);
    stage.beating.remove(&victim);
    let mut verdicts = Vec::new();
    for heartbeat in &recorded {
        assert!(stage.planner.handle_heartbeat(stage.now, heartbeat));
        verdicts.extend(stage.run(50));
    }
    assert_eq!(verdicts, [(0, Why::Dead, other)]);
}

/// It is another process behind the same address, with a clock that begins anew: its name tells.
#[test]
fn a_server_that_was_started_again_is_heard() {
    let mut stage = Stage::new(1, &[A, B]);
    stage.run(3000);
    stage.beating.remove(&A);
    stage.run(600);
    stage.lease_ends(A);
    stage.join(C);
    let mut heartbeat = stage.heartbeats().pop().expect("someone beats");
    heartbeat.node = C;
    (heartbeat.sent, heartbeat.answered) = (ms(5), ms(5));
    stage.beating.remove(&C);
    stage.run(1900);
    stage.planner.handle_heartbeat(stage.now, &heartbeat);
    stage.run(350);
    let seat = stage.assignment().seats[0];
    assert_eq!((seat.owner, seat.standby), (Some(B), Some(C)));
}

/// The heir lives, but cannot begin with what it has (it cannot read it, it has no thread for it): another one who has a snapshot may try.
#[test]
fn an_owner_that_does_not_begin_is_replaced_by_who_has_a_snapshot() {
    let mut stage = Stage::new(1, &[A, B, C]);
    stage.run(3000);
    let seat = stage.assignment().seats[0];
    let (owner, standby) = (seat.owner.expect("assigned"), seat.standby.expect("chosen"));
    let third = [A, B, C]
        .into_iter()
        .find(|node| *node != owner && *node != standby)
        .expect("there are three");
    let region = RegionId(0);
    for (node, tick) in [(standby, 60), (third, 30)] {
        let kept = vec![(region, seat.term, Tick(tick))];
        stage.keeps.insert(node, kept);
    }
    stage.run(100);
    stage.beating.remove(&owner);
    stage.unable.insert((standby, 0));
    assert_eq!(stage.run(600), [(0, Why::Dead, standby)]);
    assert!(stage.run(9000).is_empty(), "it may take some time");
    assert_eq!(stage.run(1500), [(0, Why::Stuck, third)]);
    let seat = stage.assignment().seats[0];
    assert!(!seat.lost && !seat.handed);
    assert!(stage.run(30_000).is_empty(), "that one has begun");
}

/// Who has the only snapshot keeps its region, even if it cannot begin with it: elsewhere everything in it would be lost for certain. Only if nobody has any does the region
/// begin anew, and its owner is told that it should.
#[test]
fn a_region_begins_anew_only_if_nobody_has_a_snapshot() {
    for has_it in [true, false] {
        let mut stage = Stage::new(1, &[A, B]);
        stage.run(3000);
        let seat = stage.assignment().seats[0];
        let (owner, standby) = (seat.owner.expect("assigned"), seat.standby.expect("chosen"));
        let kept = vec![(RegionId(0), seat.term, Tick(60))];
        stage.keeps.insert(standby, kept);
        stage.run(100);
        stage.beating.remove(&owner);
        stage.unable.insert((standby, 0));
        assert_eq!(stage.run(600), [(0, Why::Dead, standby)]);
        assert!(!stage.assignment().seats[0].lost);
        if has_it {
            assert!(stage.run(60_000).is_empty());
            continue;
        }
        // It had said so, and then it had not.
        stage.keeps.insert(standby, Vec::new());
        assert_eq!(stage.run(11_000), [(0, Why::Lost, standby)]);
        assert!(stage.assignment().seats[0].lost);
    }
}

/// An heir of many regions begins with one after another; as long as it gets on, it is left alone.
#[test]
fn who_begins_with_one_region_after_another_is_given_time() {
    let mut stage = Stage::new(4, &[A, B]);
    stage.run(3000);
    let owners = (0..).zip(stage.owners());
    let inherited = owners.filter(|(_, owner)| *owner == Some(A));
    stage.unable = inherited.map(|(region, _)| (B, region)).collect();
    stage.beating.remove(&A);
    assert_eq!(stage.run(600).len(), 2);
    while let Some(next) = stage.unable.pop_first() {
        stage.unable.insert(next);
        assert!(stage.run(8000).is_empty());
        stage.unable.remove(&next);
    }
    assert!(stage.run(20_000).is_empty());
}

/// Before the world has begun, everybody furnishes from the same scene: another one would not be faster.
#[test]
fn before_the_start_an_owner_may_take_as_long_as_it_needs() {
    let mut stage = Stage::new(1, &[A, B]);
    stage.world.start_unix_ns = None;
    stage.unable.extend([(A, 0), (B, 0)]);
    stage.run(3000);
    assert!(stage.owners()[0].is_some());
    assert!(stage.run(60_000).is_empty());
}
