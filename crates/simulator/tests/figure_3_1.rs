//! The groups of the thesis's Fig. 3.1, each as a scene on as many servers as the figure has: who ends where, after how many migrations.
//!
//! Every group is played with several phases, frame times and networks within the tolerances: the answer is always the same.

use crate::common::{History, assert_clean, network, run_watched, scene};
use boundary::{AuraSize, Policy};
use domain::{BodyId, RegionId};
use scenes::Scene;
use simulator::frames::FrameModel;
use simulator::{SendOrder, SimOptions};
use std::collections::BTreeSet;
use wire::HandoverCause;

/// Ways to play a scene.
fn manners(aura: AuraSize) -> Vec<SimOptions> {
    let mut manners = Vec::new();
    for seed in 1..=4 {
        for (send_order, frame_ms, net) in [
            (SendOrder::AfterPhysics, 5.0, "latency_ms=0.3"),
            (
                SendOrder::AfterPhysics,
                15.0,
                "latency_ms=1.5,jitter_ms=0.5",
            ),
            (
                SendOrder::NextFrame,
                14.0,
                "latency_ms=1.5,jitter_ms=0.5,dup=0.05",
            ),
        ] {
            manners.push(SimOptions {
                seed: Some(seed),
                aligned_steps: seed % 2 == 0,
                frames: Some(FrameModel::Fixed(frame_ms * 1e-3)),
                network: network(net),
                send_order,
                aura,
                ..SimOptions::default()
            });
        }
    }
    manners
}

/// Plays a scene in every manner; each run must be clean.
fn play(name: &str, check: impl Fn(&Scene, &History)) {
    play_scene(&scene(name), AuraSize::Adaptive, check);
}

/// Some groups of the figure meet only if auras are as large as the figure draws them.
fn play_drawn(scene: &Scene, check: impl Fn(&Scene, &History)) {
    play_scene(scene, AuraSize::Safe, check);
}

fn play_scene(scene: &Scene, aura: AuraSize, check: impl Fn(&Scene, &History)) {
    for options in manners(aura) {
        let (outcome, history) = run_watched(scene, &options);
        assert_clean(&outcome, &format!("{options:?}"));
        assert_eq!(outcome.thrashed_pairs, 0);
        check(scene, &history);
    }
}

fn id(scene: &Scene, name: &str) -> BodyId {
    scene.names[name]
}

/// AP-11, A and B: they are on one server before they touch, after a single migration.
#[test]
fn a_and_b_are_together_before_they_touch() {
    play("group-ab", |scene, history| {
        let (tick, region, ..) = *history.contacts.first().expect("they meet");
        let before: Vec<_> = history
            .moves
            .iter()
            .filter(|change| change.tick < tick)
            .collect();
        assert_eq!(before.len(), 1, "{before:?}");
        assert_eq!(before[0].to, region);
        let pair = [id(scene, "A"), id(scene, "B")];
        assert!(pair.contains(&before[0].bodies[0]) && before[0].bodies.len() == 1);
    });
}

/// The contrast to AP-11: with ownership by centre alone A and B overlap while two servers own them (F1).
#[test]
fn by_centre_alone_a_and_b_overlap_across_the_border() {
    let scene = scene("group-ab");
    let options = SimOptions {
        policy: Policy::Naive,
        ..SimOptions::default()
    };
    let (outcome, _) = run_watched(&scene, &options);
    assert!(outcome.errors.cross_owner_overlaps > 0);
    assert_eq!((outcome.errors.lost, outcome.errors.duplicated), (0, 0));
}

/// AP-11, C and D: C rests on the border and projects; D touches its aura and goes to C's server, once.
#[test]
fn d_is_called_to_cs_server() {
    play("group-cd", |scene, history| {
        let (c, d) = (id(scene, "C"), id(scene, "D"));
        let first = history.moves.first().expect("D moves");
        assert_eq!((first.from, first.to), (RegionId(1), RegionId(0)));
        assert_eq!(first.bodies, [d]);
        assert_eq!(
            first.cause,
            HandoverCause::AuraCollision { member: d, aura: c }
        );
        assert_eq!((history.moves_of(c), history.moves_of(d)), (0, 1));
        assert_eq!(history.contacts.len(), 1);
        assert_eq!(history.contacts[0].1, RegionId(0));
        assert!(first.tick < history.contacts[0].0);
    });
}

/// AP-14, AP-15, E F G: E still touches its region, so the chain is no island and nothing migrates.
#[test]
fn the_chain_efg_stays() {
    play("group-efg", |_, history| {
        assert_eq!(history.moves, []);
        assert!(history.owners.values().all(|owner| *owner == RegionId(0)));
    });
}

/// AP-12, AP-13, AP-15, H I J: the island migrates whole, in one tick, to the region it is in, and never back.
#[test]
fn the_island_hij_migrates_whole() {
    play("group-hij", |scene, history| {
        let chain = ["H", "I", "J"].map(|name| id(scene, name));
        assert_eq!(history.moves.len(), 1, "{:?}", history.moves);
        let island = &history.moves[0];
        assert_eq!((island.from, island.to), (RegionId(0), RegionId(2)));
        assert_eq!(island.bodies, chain);
        assert_eq!(island.cause, HandoverCause::BoundaryTraversal);
    });
}

/// AP-16, K L M: K comes within the auras of two servers, in the figure in the same tick, else a little earlier into the one that
/// stays: all three end on one server after at most one migration each.
#[test]
fn k_l_and_m_move_at_most_once() {
    for off_the_middle in [-0.5, -0.2, 0.0] {
        play_drawn(&klm(off_the_middle), |scene, history| {
            let three = ["K", "L", "M"].map(|name| id(scene, name));
            assert!(
                three.iter().all(|body| history.moves_of(*body) <= 1),
                "K {off_the_middle} m off: {:?}",
                history.moves
            );
            assert_together(history, three);
        });
    }
}

/// AP-16: if K comes first into the aura that will have to yield, it joins that cluster and later moves with it: that is two, and
/// nobody comes back to a server it has left.
#[test]
fn k_l_and_m_never_bounce() {
    for off_the_middle in [0.2, 0.5] {
        play_drawn(&klm(off_the_middle), |scene, history| {
            let three @ [k, l, m] = ["K", "L", "M"].map(|name| id(scene, name));
            assert!(history.moves_of(l) <= 1 && history.moves_of(m) <= 1);
            assert!(history.moves_of(k) <= 2, "{:?}", history.moves);
            for (body, owners) in &history.ever {
                let different: BTreeSet<_> = owners.iter().collect();
                assert_eq!(different.len(), owners.len(), "{body}: {owners:?}");
            }
            assert_together(history, three);
        });
    }
}

fn klm(off_the_middle: f64) -> Scene {
    let mut scene = scene("group-klm");
    let k = id(&scene, "K");
    let start = scene.bodies.iter_mut().find(|body| body.id == k);
    start.expect("K").motion.position.z += off_the_middle;
    scene
}

fn assert_together(history: &History, bodies: [BodyId; 3]) {
    let owners = bodies.map(|body| history.owners[&body]);
    assert!(owners.iter().all(|owner| *owner == owners[0]), "{owners:?}");
}

/// AP-17, N O: in a third server's region O's cluster goes straight to N's server, or by the tie-break N's to O's; once, and the third
/// server never owns any of them.
#[test]
fn n_and_o_come_together_in_a_third_servers_region() {
    play_drawn(&scene("group-no"), |scene, history| {
        let [n, n2, o, o2] = ["N", "N2", "O", "O2"].map(|name| id(scene, name));
        assert_eq!(history.moves.len(), 1, "{:?}", history.moves);
        let change = &history.moves[0];
        assert!(matches!(change.cause, HandoverCause::AuraCollision { .. }));
        match change.bodies.contains(&o) {
            true => assert_eq!(
                (change.bodies.clone(), change.to),
                (vec![o, o2], RegionId(2))
            ),
            false => assert_eq!(
                (change.bodies.clone(), change.to),
                (vec![n, n2], RegionId(1))
            ),
        }
        let by_the_left = |body: &BodyId| history.ever[body].contains(&RegionId(0));
        assert!(![n, n2, o, o2].iter().any(by_the_left));
    });
}
