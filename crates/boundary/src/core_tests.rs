//! Two boundaries talk to each other over a perfect wire; the worlds are plain lists of balls.

use crate::testing::{Balls, ball, safe};
use crate::{Boundary, BoundaryConfig, Departure};
use domain::{
    Body, BodyForm, BodyId, Cluster, Epoch, Layout, Motion, Rect, RegionId, RegionMap, Shape,
    SimTime, Tick,
};
use glam::DVec3;
use wire::{Envelope, HandoverCause, Message};

/// Two regions left and right of x = 0.
struct Pair {
    sides: [(Boundary, Balls); 2],
    tick: Tick,
}

impl Pair {
    fn new(config: BoundaryConfig) -> Self {
        let extent = Rect {
            min: [-100.0; 2],
            max: [100.0; 2],
        };
        let map = RegionMap::build(Layout::Columns, 2, extent).expect("valid");
        let side = |id| {
            let boundary = Boundary::new(RegionId(id), map.clone(), config, true);
            (boundary.expect("large enough"), Balls::default())
        };
        Self {
            sides: [side(0), side(1)],
            tick: Tick::ZERO,
        }
    }

    fn put(&mut self, side: usize, id: u64, x: f64) {
        let (boundary, balls) = &mut self.sides[side];
        balls.put(ball(id, x, 0.0, 0.5));
        boundary.adopt(self.tick, &body(id, x));
    }

    /// One tick on both sides; what is said arrives before the next. Returns who left from where.
    fn tick(&mut self) -> Vec<(usize, Departure)> {
        self.tick = self.tick.next();
        let mut left = Vec::new();
        for (side, (boundary, balls)) in self.sides.iter_mut().enumerate() {
            for departure in boundary.after_step(self.tick, balls) {
                let bodies = departure.members.iter().map(|(id, _)| {
                    let view = balls.remove(*id).expect("it was here");
                    body(id.0, view.centre.x)
                });
                let cluster = Cluster {
                    bodies: bodies.collect(),
                    ..Cluster::default()
                };
                left.push((side, departure.clone()));
                boundary.offer(self.tick, departure, cluster);
            }
        }
        self.exchange();
        left
    }

    fn exchange(&mut self) {
        for side in 0..2 {
            for (to, messages) in self.sides[side].0.flush() {
                self.deliver(side, to, messages);
            }
        }
    }

    fn deliver(&mut self, from: usize, to: RegionId, messages: Vec<Message>) {
        let envelope = Envelope {
            from: RegionId(from as u32),
            to,
            tick: self.tick,
            sent_at: SimTime::ZERO,
            messages,
        };
        let (boundary, balls) = &mut self.sides[to.0 as usize];
        boundary.handle_envelope(SimTime::ZERO, self.tick, envelope);
        for arrival in boundary.take_arrivals(self.tick, false) {
            for body in &arrival.offer.cluster.bodies {
                balls.put(ball(body.id.0, body.motion.position.x, 0.0, 0.5));
            }
            boundary.arrived(self.tick, &arrival);
        }
    }

    fn owner_of(&self, id: u64) -> Option<usize> {
        (0..2).find(|side| self.sides[*side].1.by_id.contains_key(&BodyId(id)))
    }
}

fn body(id: u64, x: f64) -> Body {
    Body::new(
        BodyId(id),
        BodyForm::of(Shape::Sphere { radius: 0.5 }),
        Motion::at(DVec3::new(x, 0.0, 0.0)),
    )
}

/// AP-11, AP-12, AP-19: whoever touches an aura goes to its owner with its whole cluster, in one tick.
#[test]
fn a_touched_cluster_moves_whole_to_the_auras_owner() {
    let mut pair = Pair::new(safe());
    pair.put(0, 1, -1.0);
    pair.tick();
    pair.tick();
    pair.put(1, 2, 1.0);
    pair.put(1, 3, 3.0);
    pair.put(1, 4, 60.0);
    let left = pair.tick();
    assert_eq!(left.len(), 1);
    let (from, departure) = &left[0];
    assert_eq!((*from, departure.to), (1, RegionId(0)));
    let ids: Vec<_> = departure.members.iter().map(|(id, _)| id.0).collect();
    assert_eq!(ids, [2, 3], "the cluster, and not the far one");
    assert!(
        departure
            .members
            .iter()
            .all(|(_, member)| member.epoch == Epoch(1))
    );
    assert!(matches!(
        departure.cause,
        HandoverCause::AuraCollision {
            aura: BodyId(1),
            ..
        }
    ));
    assert_eq!((pair.owner_of(2), pair.owner_of(4)), (Some(0), Some(1)));
}

/// AP-21: the receiver drops the aura of a body it has received; after that nobody holds an aura without its body.
#[test]
fn no_aura_is_left_behind() {
    let mut pair = Pair::new(safe());
    pair.put(0, 1, -1.0);
    pair.put(1, 2, 1.0);
    for _ in 0..30 {
        pair.tick();
    }
    let owner = pair.owner_of(1).expect("owned");
    assert_eq!(pair.owner_of(2), Some(owner), "together before they touch");
    for (side, (boundary, balls)) in pair.sides.iter().enumerate() {
        for (id, aura) in boundary.remote_auras() {
            assert_eq!(aura.owner, RegionId(1 - side as u32));
            assert!(!balls.by_id.contains_key(&id), "an aura of our own body");
        }
    }
}

/// AP-25 and digest 2.9: two that see each other at the same tick swap without the tie-break and do not with it.
#[test]
fn the_tie_break_ends_the_two_object_thrash() {
    let moves = |tie_break| {
        let mut pair = Pair::new(BoundaryConfig {
            tie_break,
            ..safe()
        });
        pair.put(0, 1, -12.0);
        pair.put(1, 2, 12.0);
        let mut moves = 0;
        // They close in; both start to project at the same tick.
        for step in 0..40 {
            let x = (12.0 - f64::from(step) * 0.3).max(1.0);
            for (id, x) in [(1, -x), (2, x)] {
                let side = pair.owner_of(id).expect("owned");
                pair.sides[side].1.put(ball(id, x, 0.0, 0.5));
            }
            moves += pair.tick().len();
        }
        (moves, pair.owner_of(1) == pair.owner_of(2))
    };
    assert_eq!(moves(true), (1, true), "one moves, and they are together");
    let (swaps, together) = moves(false);
    assert!(
        swaps > 10 && !together,
        "in perfect symmetry they swap for ever"
    );
}

/// A spawn near a border waits until its aura is known; one in the interior is born at once.
#[test]
fn a_spawn_near_a_border_is_announced_first() {
    let mut pair = Pair::new(safe());
    assert!(pair.sides[0].0.announce(Tick::ZERO, &body(1, -60.0)));
    assert!(!pair.sides[0].0.announce(Tick::ZERO, &body(2, -1.0)));
    let announce_ticks = pair.sides[0].0.geometry().announce_ticks;
    for _ in 1..announce_ticks {
        pair.tick();
        assert!(pair.sides[0].0.take_births(pair.tick).is_empty());
    }
    assert!(
        pair.sides[1]
            .0
            .remote_auras()
            .any(|(id, _)| id == BodyId(2))
    );
    pair.tick();
    assert_eq!(pair.sides[0].0.take_births(pair.tick).len(), 1);
}

/// A spawn that touches a neighbour's aura is created on that neighbour: nothing is born into a contact across a border.
#[test]
fn a_spawn_in_a_neighbours_aura_goes_to_that_neighbour() {
    let mut pair = Pair::new(safe());
    pair.put(1, 7, 1.0);
    pair.tick();
    pair.tick();
    assert!(!pair.sides[0].0.announce(pair.tick, &body(8, -1.0)));
    let left = pair.tick();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].1.unborn.len(), 1);
    assert_eq!(pair.sides[1].0.announced().collect::<Vec<_>>(), [BodyId(8)]);
    let born = (0..40).any(|_| {
        pair.tick();
        !pair.sides[1].0.take_births(pair.tick).is_empty()
    });
    assert!(born);
}

/// Digest 2.10: regions too small for the auras are refused with the numbers.
#[test]
fn regions_too_small_for_the_auras_are_refused() {
    let extent = Rect {
        min: [-4.0; 2],
        max: [4.0; 2],
    };
    let map = RegionMap::build(Layout::Grid, 4, extent).expect("a map");
    let error = Boundary::new(RegionId(0), map, safe(), false).expect_err("small");
    assert!(error.to_string().contains("4.0 m"), "{error}");
}

/// AP-2, I3: a body that has been handed over to us and waits for its tick is in no world and has no aura; a spawn must not be born onto it.
#[test]
fn a_spawn_beside_a_waiting_arrival_is_announced() {
    let mut pair = Pair::new(safe());
    let offer = wire::Offer {
        handover: wire::HandoverNumber(1),
        tick: Tick(5),
        cause: HandoverCause::BoundaryTraversal,
        members: vec![wire::Member {
            epoch: Epoch(1),
            projecting_since: None,
            rank: None,
        }],
        cluster: Cluster {
            bodies: vec![body(7, -50.0)],
            ..Cluster::default()
        },
        unborn: Vec::new(),
        told: Vec::new(),
        bonds: Vec::new(),
    };
    let (far, near) = (body(8, -70.0), body(9, -50.5));
    assert!(
        pair.sides[0].0.announce(pair.tick, &near),
        "nothing is there yet"
    );
    pair.deliver(1, RegionId(0), vec![Message::Offer(Box::new(offer))]);
    let boundary = &mut pair.sides[0].0;
    assert_eq!(boundary.waiting().count(), 1);
    assert!(boundary.announce(pair.tick, &far));
    assert!(!boundary.announce(pair.tick, &near));
    assert!(
        boundary.take_births(pair.tick + 30).is_empty(),
        "still waiting"
    );
}
