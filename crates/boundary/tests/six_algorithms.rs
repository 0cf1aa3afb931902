//! AP-33: the thesis's six algorithms, each called by its own name and tried alone: AC, BT, OBC, OBU, OBE, BNU.

use boundary::aura_collision::strongest_call;
use boundary::aura_index::AuraIndex;
use boundary::boundary_traversal::{destination, island};
use boundary::buffers::Buffers;
use boundary::cluster::ClusterFinder;
use boundary::projection::{
    Track, object_boundary_create, object_boundary_exit, object_boundary_update,
};
use boundary::remote_auras::RemoteAuras;
use boundary::{AuraGeometry, AuraSize, BodyView, BoundaryConfig, LifeState};
use domain::{BodyId, Epoch, Layout, Rect, RegionId, RegionMap, Tick};
use glam::DVec3;
use wire::{AuraDelete, AuraUpsert, ClusterKey, Message};

fn ball(id: u64, x: f64) -> BodyView {
    BodyView {
        id: BodyId(id),
        centre: DVec3::new(x, 0.0, 0.0),
        rotation: glam::Quat::IDENTITY,
        radius: 0.5,
        spine: glam::Vec3::ZERO,
        girth: 0.5,
        ground: Rect {
            min: [x - 0.5, -0.5],
            max: [x + 0.5, 0.5],
        },
        velocity: DVec3::ZERO,
        surge: 0.0,
        pull: 0.0,
        asleep: false,
        slot: 0,
    }
}

fn map() -> RegionMap {
    let extent = Rect {
        min: [-100.0; 2],
        max: [100.0; 2],
    };
    RegionMap::build(Layout::Columns, 2, extent).expect("valid")
}

fn geometry() -> AuraGeometry {
    AuraGeometry::of(&BoundaryConfig {
        aura: AuraSize::Safe,
        ..BoundaryConfig::default()
    })
}

fn aura(id: u64, x: f64, tick: u64) -> AuraUpsert {
    AuraUpsert {
        body: BodyId(id),
        epoch: Epoch(0),
        tick: Tick(tick),
        centre: DVec3::new(x, 0.0, 0.0),
        radius: 0.5,
        spine: glam::Vec3::ZERO,
        reach: 4.0,
        growth: 0.0,
        key: ClusterKey {
            class: 0,
            since: Tick(1),
            body: BodyId(id),
        },
    }
}

/// AC, algorithm 1: a body that touches a remote aura is called by its owner; one that does not, is not. Of two the deeper one calls,
/// unless the tie-break has the last word.
#[test]
fn ac_calls_what_touches_an_aura() {
    let geometry = geometry();
    let mut remote = RemoteAuras::default();
    remote.upsert(RegionId(1), &aura(1, 0.0, 5));
    remote.upsert(RegionId(2), &aura(2, 1.0, 5));
    let index = AuraIndex::build(&remote, &geometry, Tick(5), &Rect::EVERYWHERE);
    let call = |x| strongest_call(&ball(9, x), &index, false, |_| None);
    assert_eq!(call(-5.01), None, "0.01 m outside the first");
    assert_eq!(call(-4.99).map(|call| call.owner), Some(RegionId(1)));
    assert_eq!(
        call(3.0).map(|call| call.owner),
        Some(RegionId(2)),
        "deeper in the second"
    );
}

/// BT, algorithm 2: a chain that has wholly left goes, to the region that holds it; one whose last member is still at home stays.
#[test]
fn bt_sends_islands_only() {
    let (map, alone) = (map(), |_: BodyId, _: &mut Vec<BodyId>| {});
    let home = map.rect(RegionId(0));
    let chain = |first: f64| (0..3).map(|i| ball(i, first + 1.1 * i as f64)).collect();
    let mut finder = ClusterFinder::new(chain(0.6), 4.0, &alone);
    let members = island(&mut finder, BodyId(2), &home).expect("wholly outside");
    assert_eq!(members.len(), 3);
    assert_eq!(destination(&members, &map), RegionId(1));
    let mut finder = ClusterFinder::new(chain(0.4), 4.0, &alone);
    assert_eq!(
        island(&mut finder, BodyId(2), &home),
        None,
        "the first is still across the border"
    );
}

/// OBC and OBE, algorithms 3 and 5: the first boundary begins the projection, the last one left ends it; entering twice counts once.
#[test]
fn obc_and_obe_count_boundaries() {
    let mut track = Track::new(Epoch(0), LifeState::Injected, None);
    object_boundary_create(&mut track, RegionId(1), Tick(3));
    object_boundary_create(&mut track, RegionId(2), Tick(4));
    object_boundary_create(&mut track, RegionId(1), Tick(5));
    assert_eq!(track.boundaries[..], [RegionId(1), RegionId(2)]);
    assert_eq!(track.since, Some(Tick(3)));
    assert!(
        !object_boundary_exit(&mut track, RegionId(1)),
        "one is left"
    );
    assert!(
        object_boundary_exit(&mut track, RegionId(2)),
        "that was the last"
    );
}

/// OBU, algorithm 4: a moving body is told to all; a sleeping one only to who does not know.
#[test]
fn obu_lets_sleepers_be_silent() {
    let geometry = geometry();
    let mut track = Track::new(Epoch(2), LifeState::IntersectingBoundary, Some(Tick(1)));
    let (awake, to_all) =
        object_boundary_update(BodyId(1), &track, &ball(1, -0.6), Tick(9), &geometry);
    assert!(to_all);
    assert_eq!(
        (awake.body, awake.epoch, awake.tick),
        (BodyId(1), Epoch(2), Tick(9))
    );
    let asleep = BodyView {
        asleep: true,
        ..ball(1, -0.6)
    };
    let (resting, to_all) = object_boundary_update(BodyId(1), &track, &asleep, Tick(10), &geometry);
    assert!(to_all, "that it sleeps is news");
    assert!(resting.growth == 0.0 && resting.reach > awake.reach);
    track.told_asleep = true;
    let (_, to_all) = object_boundary_update(BodyId(1), &track, &asleep, Tick(11), &geometry);
    assert!(!to_all, "silence");
}

/// BNU, algorithm 6, and AP-30: three buffers per boundary, emptied by the network update; only the newest aura of a body goes out.
#[test]
fn bnu_empties_the_buffers() {
    let mut buffers = Buffers::default();
    buffers.upsert(RegionId(1), aura(1, 0.0, 5));
    buffers.upsert(RegionId(1), aura(1, 0.1, 6));
    let gone = AuraDelete {
        body: BodyId(2),
        epoch: Epoch(0),
        tick: Tick(6),
        moved_to: None,
    };
    buffers.delete(RegionId(2), gone);
    let said = buffers.flush();
    let expected = [
        (RegionId(1), vec![Message::AuraUpsert(aura(1, 0.1, 6))]),
        (RegionId(2), vec![Message::AuraDelete(gone)]),
    ];
    assert_eq!(said, expected);
    assert_eq!(buffers.flush(), []);
}
