//! Every message there is: one fixed envelope for the golden bytes, and strategies for all others.

#![allow(dead_code, reason = "each test file uses its own part")]

use domain::{
    Body, BodyForm, BodyId, Cluster, CompoundPart, ContactEnd, ContactMemory, Epoch, Joint,
    JointId, JointKind, Material, Motion, PointMemory, Rect, RegionId, Rest, Shape, SimTime,
    StaticId, Tick,
};
use glam::{DVec3, Quat, Vec3};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use std::sync::Arc;
use wire::{
    AuraDelete, AuraUpsert, Bond, ClusterKey, Envelope, HandoverCause, HandoverNumber, Member,
    Message, NewOwner, Offer, Ownership, Unborn, Visitor,
};

/// One of each message, with numbers that are easy to find in a hex dump.
pub fn sample() -> Envelope {
    Envelope {
        from: RegionId(1),
        to: RegionId(2),
        tick: Tick(600),
        sent_at: SimTime(10_000_000_000),
        messages: vec![
            Message::AuraUpsert(sample_upsert(7, DVec3::new(10.0, 0.5, -3.25))),
            Message::AuraUpsert(sample_upsert(9, DVec3::new(11.0, 0.5, -3.25))),
            Message::AuraDelete(AuraDelete {
                body: BodyId(8),
                epoch: Epoch(3),
                tick: Tick(599),
                moved_to: Some(NewOwner {
                    region: RegionId(4),
                    key: ClusterKey {
                        class: 117,
                        since: Tick(590),
                        body: BodyId(6),
                    },
                }),
            }),
            Message::Offer(Box::new(sample_offer())),
            Message::Accept {
                handover: HandoverNumber(5),
            },
            Message::Release {
                handover: HandoverNumber(4),
            },
            Message::Introduce {
                visitors: vec![
                    visitor(3, [-32.0, 0.0, 16.0, 48.5]),
                    visitor(300, [1e6, -1e6, 1e6, 1e6]),
                ],
            },
            Message::SnapshotCovers {
                tick: Tick(580),
                upto: HandoverNumber(17),
            },
            Message::Restarted {
                snapshot: Tick(540),
                incarnation: 3,
            },
            Message::Recovery {
                known: vec![ownership(1, 2, 3), ownership(5, 1, 300)],
            },
        ],
    }
}

pub fn visitor(region: u32, [min_x, min_z, max_x, max_z]: [f64; 4]) -> Visitor {
    Visitor {
        region: RegionId(region),
        place: Rect {
            min: [min_x, min_z],
            max: [max_x, max_z],
        },
    }
}

fn visitors() -> impl Strategy<Value = Visitor> {
    let edges = [-1e6..=1e6_f64, -1e6..=1e6, 0.0..=1e5, 0.0..=1e5];
    (any::<u32>(), edges).prop_map(|(region, [x, z, width, depth])| {
        let beyond = |v: f64| v.min(wire::MAX_COORDINATE_M);
        visitor(region, [x, z, beyond(x + width), beyond(z + depth)])
    })
}

fn ownership(body: u64, epoch: u32, owner: u32) -> Ownership {
    Ownership {
        body: BodyId(body),
        epoch: Epoch(epoch),
        owner: RegionId(owner),
    }
}

pub fn sample_upsert(body: u64, centre: DVec3) -> AuraUpsert {
    AuraUpsert {
        body: BodyId(body),
        epoch: Epoch(1),
        tick: Tick(600),
        centre,
        radius: 0.3,
        spine: Vec3::new(0.25, -0.5, 0.125),
        reach: 1.25,
        growth: 0.0625,
        key: ClusterKey {
            class: 0,
            since: Tick(590),
            body: BodyId(7),
        },
    }
}

pub fn sample_offer() -> Offer {
    let bodies = [
        Shape::Sphere { radius: 0.5 },
        Shape::Sphere { radius: 0.5 },
        Shape::Cuboid { size: Vec3::ONE },
        Shape::Capsule {
            radius: 0.25,
            height: 2.0,
        },
        tetrahedron(),
        Shape::Mesh {
            vertices: Arc::from([Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z]),
            triangles: Arc::from([[0, 1, 2], [0, 2, 3]]),
        },
        Shape::Compound {
            parts: Arc::from([CompoundPart {
                position: Vec3::X,
                rotation: Quat::IDENTITY,
                shape: Shape::Sphere { radius: 1.0 },
            }]),
        },
    ];
    let bodies: Vec<Body> = (20..)
        .zip(bodies)
        .map(|(id, shape)| sample_body(id, shape))
        .collect();
    let member = |n| Member {
        epoch: Epoch(n),
        projecting_since: (n % 2 == 0).then_some(Tick(500)),
        rank: (n % 3 == 0).then_some(ClusterKey {
            class: 30,
            since: Tick(499),
            body: BodyId(20),
        }),
    };
    let bond = |tick, until| Bond {
        tick: Tick(tick),
        centre: DVec3::new(1.0, -2.5, 3.0),
        spine: Vec3::new(0.0, 0.5, 0.25),
        reach: 0.25,
        growth: 0.125,
        until,
    };
    let bonds = vec![
        (BodyId(21), bond(598, Some(Tick(605)))),
        (BodyId(21), bond(599, None)),
        (BodyId(22), bond(600, None)),
    ];
    Offer {
        handover: HandoverNumber(6),
        tick: Tick(600),
        cause: HandoverCause::AuraCollision {
            member: BodyId(20),
            aura: BodyId(99),
        },
        members: (1..=bodies.len() as u32).map(member).collect(),
        cluster: Cluster {
            bodies,
            joints: vec![Joint {
                id: JointId(3),
                kind: JointKind::Revolute,
                a: BodyId(20),
                b: BodyId(21),
                anchor_a: Vec3::X,
                anchor_b: Vec3::NEG_X,
                axis: Vec3::Z,
            }],
            contacts: vec![ContactMemory {
                a: ContactEnd::Body(BodyId(22)),
                b: ContactEnd::Static(StaticId(0)),
                part_a: 0,
                part_b: 300,
                points: vec![PointMemory {
                    feature_a: 1,
                    feature_b: 0x8000_0002,
                    normal_impulse: 1.5,
                    friction_impulse: Vec3::new(-0.0, 1e-40, 0.25),
                    twist_impulse: -0.5,
                    place: Vec3::new(0.5, -0.5, 0.5),
                }],
            }],
        },
        unborn: vec![Unborn {
            body: sample_body(40, Shape::Sphere { radius: 0.5 }),
            since: Tick(598),
            epoch: Epoch(2),
        }],
        told: vec![RegionId(0), RegionId(5)],
        bonds,
    }
}

pub fn sample_body(id: u64, shape: Shape) -> Body {
    let mut body = Body::new(
        BodyId(id),
        BodyForm::of(shape),
        Motion::at(DVec3::new(1.0, 2.0, 3.0)),
    );
    body.motion.linear_velocity = Vec3::new(-0.0, -9.81, 1e-42);
    body
}

pub fn tetrahedron() -> Shape {
    Shape::Convex {
        points: Arc::from([Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z]),
    }
}

pub fn envelopes() -> impl Strategy<Value = Envelope> {
    let messages = vec(
        prop_oneof![
            // Runs of upserts are what the encoding is about.
            3 => vec(upserts().prop_map(Message::AuraUpsert), 0..12),
            2 => vec(others(), 1..3),
        ],
        0..6,
    );
    (0_u32..9, 1_u32..9, numbers(), numbers(), messages).prop_map(
        |(from, step, tick, sent_at, messages)| Envelope {
            from: RegionId(from),
            to: RegionId(from + step),
            tick: Tick(tick),
            sent_at: SimTime(sent_at),
            messages: messages.concat(),
        },
    )
}

fn others() -> impl Strategy<Value = Message> {
    let handover = (1..=wire::MAX_NUMBER).prop_map(HandoverNumber);
    prop_oneof![
        deletes().prop_map(Message::AuraDelete),
        offers().prop_map(|offer| Message::Offer(Box::new(offer))),
        handover
            .clone()
            .prop_map(|handover| Message::Accept { handover }),
        handover
            .clone()
            .prop_map(|handover| Message::Release { handover }),
        vec(visitors(), 0..20).prop_map(|visitors| Message::Introduce { visitors }),
        (numbers(), handover).prop_map(|(tick, upto)| Message::SnapshotCovers {
            tick: Tick(tick),
            upto
        }),
        (numbers(), any::<u32>()).prop_map(|(tick, incarnation)| Message::Restarted {
            snapshot: Tick(tick),
            incarnation
        }),
        (btree_set(any::<u64>(), 0..9), epochs()).prop_map(|(ids, epoch)| Message::Recovery {
            known: ids
                .into_iter()
                .map(|id| ownership(id, epoch.0, 7))
                .collect(),
        }),
    ]
}

/// Small numbers and huge ones.
fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![3 => 0_u64..100_000, 1 => 0..=wire::MAX_NUMBER]
}

fn epochs() -> impl Strategy<Value = Epoch> {
    prop_oneof![3 => 0_u32..100, 1 => 0..=wire::MAX_EPOCH.0].prop_map(Epoch)
}

fn coordinates() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => -200.0..200.0,
        1 => -wire::MAX_COORDINATE_M..=wire::MAX_COORDINATE_M,
        1 => prop_oneof![Just(-0.0), Just(5e-324), Just(1e-310), Just(wire::MAX_COORDINATE_M)],
    ]
}

fn points() -> impl Strategy<Value = DVec3> {
    (coordinates(), coordinates(), coordinates()).prop_map(|(x, y, z)| DVec3::new(x, y, z))
}

/// Any finite number: tiny, huge, denormal, minus zero.
fn floats() -> impl Strategy<Value = f32> {
    prop_oneof![
        4 => -100.0_f32..100.0,
        2 => any::<u32>().prop_map(f32::from_bits).prop_filter("finite", |v| v.is_finite()),
        1 => prop_oneof![Just(-0.0), Just(1e-45), Just(f32::MAX)],
    ]
}

fn vectors() -> impl Strategy<Value = Vec3> {
    (floats(), floats(), floats()).prop_map(|(x, y, z)| Vec3::new(x, y, z))
}

fn rotations() -> impl Strategy<Value = Quat> {
    (-1.0_f32..1.0, -1.0_f32..1.0, -1.0_f32..1.0, -3.0_f32..3.0)
        .prop_map(|(x, y, z, angle)| Quat::from_scaled_axis(Vec3::new(x, y, z) * angle))
}

fn aura_sizes() -> impl Strategy<Value = f32> {
    prop_oneof![
        6 => 0.0_f32..40.0,
        2 => Just(0.5),
        1 => 0.0..=wire::MAX_AURA_M - 1.0,
        1 => prop_oneof![Just(0.0), Just(-0.0), Just(1e-45)],
    ]
}

pub fn upserts() -> impl Strategy<Value = AuraUpsert> {
    let ids = || prop_oneof![4 => 0_u64..500, 1 => any::<u64>()];
    let sizes = (aura_sizes(), aura_sizes(), aura_sizes());
    (
        ids(),
        epochs(),
        numbers(),
        points(),
        sizes,
        numbers(),
        ids(),
    )
        .prop_map(
            |(body, epoch, tick, centre, (radius, reach, growth), since, key)| AuraUpsert {
                body: BodyId(body),
                epoch,
                tick: Tick(tick),
                centre,
                radius,
                spine: Vec3::new(radius.min(9.0), -0.3, 0.0),
                reach,
                growth,
                key: ClusterKey {
                    class: (key % 65_536) as u16,
                    since: Tick(since),
                    body: BodyId(key),
                },
            },
        )
}

fn deletes() -> impl Strategy<Value = AuraDelete> {
    let moved_to = (any::<u32>(), numbers(), any::<u64>()).prop_map(|(region, since, body)| {
        let region = RegionId(region);
        let (since, body) = (Tick(since), BodyId(body));
        let key = ClusterKey {
            class: (body.0 % 65_536) as u16,
            since,
            body,
        };
        NewOwner { region, key }
    });
    let moved_to = proptest::option::of(moved_to);
    (any::<u64>(), epochs(), numbers(), moved_to).prop_map(|(body, epoch, tick, moved_to)| {
        AuraDelete {
            body: BodyId(body),
            epoch,
            tick: Tick(tick),
            moved_to,
        }
    })
}

/// What may be part of a compound.
fn part_shapes() -> impl Strategy<Value = Shape> {
    let size = || prop_oneof![9 => 0.01_f32..50.0, 1 => Just(1e-45_f32)];
    prop_oneof![
        size().prop_map(|radius| Shape::Sphere { radius }),
        (size(), size(), size()).prop_map(|(x, y, z)| Shape::Cuboid {
            size: Vec3::new(x, y, z)
        }),
        (size(), 2.0_f32..4.0).prop_map(|(radius, ratio)| Shape::Capsule {
            radius,
            height: radius * ratio
        }),
        (0.5_f32..3.0).prop_map(|scale| Shape::Convex {
            points: [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z]
                .map(|p| p * scale)
                .into(),
        }),
    ]
}

fn shapes() -> impl Strategy<Value = Shape> {
    let mesh = vec([0_u32..5, 0_u32..5, 0_u32..5], 1..9).prop_map(|triangles| Shape::Mesh {
        vertices: [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z, Vec3::ONE].into(),
        triangles: triangles.into(),
    });
    let part =
        (rotations(), -9.0_f32..9.0, part_shapes()).prop_map(|(rotation, x, shape)| CompoundPart {
            position: Vec3::new(x, -0.0, 1.0),
            rotation,
            shape,
        });
    prop_oneof![
        4 => part_shapes(),
        1 => mesh,
        1 => vec(part, 1..5).prop_map(|parts| Shape::Compound { parts: parts.into() }),
    ]
}

fn forms() -> impl Strategy<Value = BodyForm> {
    let positive = || 0.0_f32..10.0;
    (
        shapes(),
        0.1_f32..9e3,
        positive(),
        0.0_f32..1.0,
        any::<bool>(),
        floats(),
        positive(),
    )
        .prop_map(
            |(shape, density, friction, restitution, continuous, gravity_scale, damping)| {
                BodyForm {
                    shape,
                    material: Material {
                        density,
                        friction,
                        restitution,
                    },
                    continuous,
                    gravity_scale,
                    linear_damping: damping,
                    angular_damping: -0.0,
                }
            },
        )
}

fn motions() -> impl Strategy<Value = Motion> {
    (points(), rotations(), vectors(), vectors()).prop_map(
        |(position, rotation, linear, angular)| Motion {
            position,
            rotation,
            linear_velocity: linear,
            angular_velocity: angular,
        },
    )
}

fn rests() -> impl Strategy<Value = Rest> {
    (any::<bool>(), 0.0_f32..10.0).prop_map(|(asleep, still_secs)| Rest { asleep, still_secs })
}

/// Bodies by ascending id; half of them repeat the form of the one before.
fn bodies(at_least: usize) -> impl Strategy<Value = Vec<Body>> {
    let one = (forms(), any::<bool>(), motions(), rests());
    (btree_set(any::<u64>(), at_least..7), vec(one, 7)).prop_map(|(ids, parts)| {
        let mut bodies: Vec<Body> = Vec::new();
        for (id, (form, repeat, motion, rest)) in ids.into_iter().zip(parts) {
            let form = match bodies.last() {
                Some(last) if repeat => last.form.clone(),
                _ => form,
            };
            bodies.push(Body {
                id: BodyId(id),
                form,
                motion,
                rest,
            });
        }
        bodies
    })
}

fn contact_points() -> impl Strategy<Value = PointMemory> {
    (
        any::<u32>(),
        any::<u32>(),
        floats(),
        vectors(),
        floats(),
        vectors(),
    )
        .prop_map(
            |(feature_a, feature_b, normal_impulse, friction_impulse, twist_impulse, place)| {
                PointMemory {
                    feature_a,
                    feature_b,
                    normal_impulse,
                    friction_impulse,
                    twist_impulse,
                    place,
                }
            },
        )
}

pub fn clusters() -> impl Strategy<Value = Cluster> {
    let joint = (any::<u64>(), 0..4, vectors(), vectors());
    let contact = (
        any::<u32>(),
        any::<u32>(),
        any::<u32>(),
        vec(contact_points(), 0..5),
    );
    (bodies(1), vec(joint, 0..4), vec(contact, 0..5)).prop_map(|(bodies, joints, contacts)| {
        let first = bodies[0].id;
        let last = bodies[bodies.len() - 1].id;
        Cluster {
            joints: joints_between(first, last, joints),
            contacts: contacts
                .into_iter()
                .map(|(id, part_a, part_b, points)| ContactMemory {
                    a: ContactEnd::Static(StaticId(id)),
                    b: ContactEnd::Body(last),
                    part_a,
                    part_b,
                    points,
                })
                .collect(),
            bodies,
        }
    })
}

fn joints_between(a: BodyId, b: BodyId, mut parts: Vec<(u64, i32, Vec3, Vec3)>) -> Vec<Joint> {
    if a == b {
        return Vec::new();
    }
    parts.sort_by_key(|part| part.0);
    parts.dedup_by_key(|part| part.0);
    let kinds = [
        JointKind::Fixed,
        JointKind::Revolute,
        JointKind::Spherical,
        JointKind::Prismatic,
    ];
    let joint = |(id, kind, anchor_a, anchor_b): (u64, i32, Vec3, Vec3)| Joint {
        id: JointId(id),
        kind: kinds[kind as usize],
        a,
        b,
        anchor_a,
        anchor_b,
        axis: Vec3::new(0.6, -0.0, 0.8),
    };
    parts.into_iter().map(joint).collect()
}

pub fn offers() -> impl Strategy<Value = Offer> {
    let cause = prop_oneof![
        (any::<u64>(), any::<u64>()).prop_map(|(member, aura)| HandoverCause::AuraCollision {
            member: BodyId(member),
            aura: BodyId(aura),
        }),
        Just(HandoverCause::BoundaryTraversal),
        Just(HandoverCause::CentreCrossed),
    ];
    let rank =
        (any::<u16>(), numbers(), any::<u64>()).prop_map(|(class, since, body)| ClusterKey {
            class,
            since: Tick(since),
            body: BodyId(body),
        });
    let member = (
        epochs(),
        proptest::option::of(numbers()),
        proptest::option::of(rank),
    )
        .prop_map(|(epoch, since, rank)| Member {
            epoch,
            projecting_since: since.map(Tick),
            rank,
        });
    let bond = (numbers(), proptest::option::of(numbers()), 0.0_f32..10.0).prop_map(
        |(tick, until, reach)| Bond {
            tick: Tick(tick),
            centre: DVec3::new(f64::from(reach), -1.0, 1e6),
            spine: Vec3::new(reach, 0.0, -reach),
            reach,
            growth: reach / 8.0,
            until: until.map(Tick),
        },
    );
    let unborn = (bodies(0), numbers(), epochs()).prop_map(|(bodies, since, epoch)| {
        let since = Tick(since);
        bodies
            .into_iter()
            .map(|body| Unborn { body, since, epoch })
            .collect()
    });
    (
        1_u64..1000,
        numbers(),
        cause,
        vec(member, 7),
        clusters(),
        unborn,
        vec(any::<u32>().prop_map(RegionId), 0..4),
        vec(bond, 0..4),
    )
        .prop_map(
            |(handover, tick, cause, mut members, cluster, unborn, told, bonds): (
                _,
                _,
                _,
                Vec<_>,
                Cluster,
                _,
                _,
                Vec<_>,
            )| {
                members.truncate(cluster.bodies.len());
                let bound = cluster.bodies.first().map(|body| body.id);
                let bonds = bonds.into_iter().filter_map(|bond| Some((bound?, bond)));
                let bonds = bonds.collect();
                Offer {
                    handover: HandoverNumber(handover),
                    tick: Tick(tick),
                    cause,
                    members,
                    cluster,
                    unborn,
                    told,
                    bonds,
                }
            },
        )
}
