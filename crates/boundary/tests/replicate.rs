//! What a member says and what it believes, word by word (ST-19, ST-20, ST-22, ST-23, ST-51, ST-52).

use boundary::replicate::{Member, MemberConfig, MemberMode, SubSpaces, Transmit};
use detection::Settings;
use domain::{Body, BodyForm, BodyId, Bounds, Epoch, Motion, RegionId, Shape, Tick};
use glam::{DVec3, Vec3};
use std::sync::Arc;
use wire::replicate::{BodyState, Parcel, Word, decode, encode};

/// Members side by side along x: 0 has x < 0, 1 has the rest.
fn group(count: u32, mode: MemberMode) -> Vec<Member> {
    let world = Bounds {
        min: DVec3::new(-50.0, -10.0, -10.0),
        max: DVec3::new(50.0, 10.0, 10.0),
    };
    let spaces = Arc::new(SubSpaces::published(world, count));
    let settings = Settings {
        gravity: Vec3::ZERO,
        ..Settings::default()
    };
    (0..count)
        .map(|id| {
            let config = MemberConfig {
                mode,
                ..MemberConfig::new(RegionId(id), spaces.clone(), settings)
            };
            Member::new(config).expect("valid")
        })
        .collect()
}

fn cube(id: u64, x: f64, speed: f32) -> Body {
    let mut form = BodyForm::of(Shape::Cuboid { size: Vec3::ONE });
    form.material.restitution = 1.0;
    let mut motion = Motion::at(DVec3::X * x);
    motion.linear_velocity = Vec3::X * speed;
    Body::new(BodyId(id), form, motion)
}

fn place(members: &mut [Member], body: &Body) {
    for member in members {
        member.place(body).expect("valid");
    }
}

fn drain(member: &mut Member) -> Vec<Transmit> {
    std::iter::from_fn(|| member.poll_transmit()).collect()
}

/// One tick of everyone, everything delivered; what was said.
fn tick(members: &mut [Member], tick: u64) -> Vec<Transmit> {
    for member in members.iter_mut() {
        assert!(member.is_ready(), "tick {tick}");
        member.handle_tick(Tick(tick));
    }
    let mut said = Vec::new();
    // The leader's answers need a second round.
    loop {
        let now: Vec<Transmit> = members.iter_mut().flat_map(drain).collect();
        if now.is_empty() {
            return said;
        }
        for transmit in &now {
            let bytes = encode(&transmit.parcel).expect("sensible");
            let parcel = decode(&bytes).expect("just encoded");
            members[transmit.to.0 as usize].handle_parcel(parcel);
        }
        said.extend(now);
    }
}

fn holders(members: &[Member], body: u64) -> Vec<(u32, bool)> {
    let mut holders = Vec::new();
    for member in members {
        let copies = member.copies().filter(|copy| copy.body == BodyId(body));
        holders.extend(copies.map(|copy| (member.id().0, copy.at_home)));
    }
    holders
}

/// ST-19, ST-20: a body that approaches a border is replicated when it is about to reach the other side, handed on when its centre has
/// crossed, and dropped when it is gone.
#[test]
fn st_20_a_body_is_replicated_transferred_and_dropped() {
    let mut members = group(2, MemberMode::Synchronised);
    place(&mut members, &cube(1, -3.0, 6.0));
    assert_eq!(holders(&members, 1), [(0, true)]);
    let mut history = Vec::new();
    for number in 1..=60 {
        tick(&mut members, number);
        let now = holders(&members, 1);
        if history.last() != Some(&now) {
            history.push(now);
        }
    }
    // Between a transfer and its acceptance nobody is at home: it is under way.
    let expected: [&[(u32, bool)]; 5] = [
        &[(0, true)],
        &[(0, true), (1, false)],
        &[(0, false), (1, false)],
        &[(0, false), (1, true)],
        &[(1, true)],
    ];
    assert_eq!(history, expected);
    assert_eq!(members[0].counts().transfers, 1);
}

/// ST-23: results, not events; at most one state per body and receiver per flush, and none without news.
#[test]
fn st_23_at_most_one_state_per_body_per_flush() {
    let mut members = group(4, MemberMode::Synchronised);
    for (id, x, speed) in [
        (1, -0.9, 2.0),
        (2, 0.1, -2.0),
        (3, 1.2, 0.0),
        (4, -2.0, 1.0),
    ] {
        place(&mut members, &cube(id, x, speed));
    }
    let (mut states, mut quiet) = (0, 0);
    for number in 1..=120 {
        let said = tick(&mut members, number);
        for transmit in &said {
            let mut bodies: Vec<BodyId> = Vec::new();
            for word in &transmit.parcel.words {
                if let Word::Replicate(list) | Word::Transfer(list) = word {
                    bodies.extend(list.iter().map(|state| state.body));
                }
            }
            states += bodies.len();
            quiet += usize::from(bodies.is_empty());
            let count = bodies.len();
            bodies.sort_unstable();
            bodies.dedup();
            assert_eq!(bodies.len(), count);
        }
    }
    assert!(
        states > 5 && quiet > 100,
        "{states} states, {quiet} parcels without"
    );
}

fn state(body: u64, version: u32, author: u32, x: f64) -> BodyState {
    BodyState {
        body: BodyId(body),
        epoch: Epoch(0),
        version,
        author: RegionId(author),
        home: RegionId(0),
        frozen: false,
        motion: Motion::at(DVec3::X * x),
        base: None,
    }
}

fn parcel(from: u32, tick: u64, word: Word) -> Parcel {
    Parcel {
        allocation: 0,
        from: RegionId(from),
        tick: Tick(tick),
        words: vec![word],
    }
}

fn position(member: &Member, body: u64) -> Option<f64> {
    let mut copies = member.copies().filter(|copy| copy.body == BodyId(body));
    copies.next().map(|copy| copy.motion.position.x)
}

/// ST-22: a state of a body that was never announced is discarded and counted.
#[test]
fn st_22_unknown_bodies_are_discarded() {
    let mut members = group(2, MemberMode::Unsynchronised);
    let member = &mut members[1];
    member.handle_parcel(parcel(0, 0, Word::Replicate(vec![state(99, 1, 0, 0.0)])));
    member.handle_parcel(parcel(0, 0, Word::Transfer(vec![state(98, 1, 0, 0.0)])));
    member.handle_tick(Tick(1));
    assert_eq!(member.counts().unknown, 2);
    assert_eq!(member.copies().count(), 0);
    assert!(drain(member).is_empty(), "nothing is accepted");
}

/// ST-51: an old or repeated state changes nothing; a newer one does; of two of one version that of the home stands.
#[test]
fn st_51_an_old_state_never_overwrites_a_new_one() {
    let mut members = group(2, MemberMode::Unsynchronised);
    place(&mut members, &cube(1, -0.4, 0.0));
    let member = &mut members[1];
    let mut now = 0;
    let mut hear = |member: &mut Member, version, author, x| {
        let word = Word::Replicate(vec![state(1, version, author, x)]);
        member.handle_parcel(parcel(0, now, word));
        now += 1;
        member.handle_tick(Tick(now));
        drain(member);
        position(member, 1).expect("it is there")
    };
    assert_eq!(hear(member, 5, 0, -0.3), -0.3);
    assert_eq!(hear(member, 4, 0, 0.2), -0.3, "older");
    assert_eq!(hear(member, 5, 0, 0.3), -0.3, "repeated");
    assert_eq!(hear(member, 5, 1, 0.1), -0.3, "as new, but not of the home");
    assert_eq!(hear(member, 6, 0, -0.2), -0.2, "newer");
    assert_eq!(member.counts().stale, 1);
}

/// Words that the sender has no right to say, of another division, or of nobody, change nothing and are counted.
#[test]
fn words_out_of_place_change_nothing() {
    let mut members = group(3, MemberMode::Unsynchronised);
    place(&mut members, &cube(1, -0.4, 0.0));
    let member = &mut members[1];
    let before: Vec<Motion> = member.copies().map(|copy| *copy.motion).collect();
    let newer = state(1, 9, 2, 0.2);
    member.handle_parcel(parcel(2, 0, Word::Correct(vec![newer])));
    member.handle_parcel(parcel(7, 0, Word::Replicate(vec![newer])));
    member.handle_parcel(parcel(1, 0, Word::Replicate(vec![newer])));
    let foreign = BodyState {
        author: RegionId(9),
        ..newer
    };
    member.handle_parcel(parcel(2, 0, Word::Replicate(vec![foreign])));
    let other = Parcel {
        allocation: 3,
        ..parcel(2, 0, Word::Replicate(vec![newer]))
    };
    member.handle_parcel(other);
    member.handle_parcel(parcel(0, 0, Word::Contested(vec![newer])));
    member.handle_parcel(parcel(2, 0, Word::Go { wrote: Vec::new() }));
    assert_eq!(member.counts().foreign, 7);
    member.begin();
    let after: Vec<Motion> = member.copies().map(|copy| *copy.motion).collect();
    assert_eq!(before, after);
}

/// A parcel of which every word is refused has not been heard: in a synchronised group it ends nobody's waiting for the results of its sender.
#[test]
fn refused_words_end_no_waiting() {
    let mut members = group(3, MemberMode::Synchronised);
    for (id, x) in [(1, -25.2), (2, -0.2), (3, 24.8)] {
        place(&mut members, &cube(id, x, 1.0));
    }
    for member in &mut members {
        member.handle_tick(Tick(1));
    }
    // What one member writes to another, neither of them the leader, is held back; everything else is delivered.
    let mut held = Vec::new();
    loop {
        let now: Vec<Transmit> = members.iter_mut().flat_map(drain).collect();
        if now.is_empty() {
            break;
        }
        for transmit in now {
            match transmit.to.0 > 0 && transmit.parcel.from.0 > 0 {
                true => held.push(transmit),
                false => members[transmit.to.0 as usize].handle_parcel(transmit.parcel),
            }
        }
    }
    let Transmit {
        to, parcel: late, ..
    } = held.pop().expect("a body reaches into both");
    let waiting = &mut members[to.0 as usize];
    assert!(!waiting.is_ready(), "something is under way to it");
    let (from, newest) = (late.from.0, 1 << 40);
    let refused = [
        parcel(from, newest, Word::Contested(vec![state(1, 1, 0, 0.0)])),
        parcel(from, newest, Word::Replicate(vec![state(1, 1, 9, 0.0)])),
        Parcel {
            allocation: 3,
            ..parcel(from, newest, Word::Replicate(vec![state(1, 1, 0, 0.0)]))
        },
        Parcel {
            words: Vec::new(),
            ..late.clone()
        },
    ];
    for parcel in refused {
        waiting.handle_parcel(parcel);
        assert!(!waiting.is_ready());
    }
    assert_eq!(waiting.counts().foreign, 3);
    waiting.handle_parcel(late);
    assert!(waiting.is_ready(), "now it has been heard");
}

/// A state that says what was before a change it has not counted cannot be: neither is it sent, nor read, nor, should it get here all the same, added up.
#[test]
fn a_change_without_a_version_is_refused() {
    let odd = BodyState {
        base: Some(Motion::at(DVec3::ZERO)),
        ..state(1, 0, 0, 0.5)
    };
    let parcels = parcel(0, 1, Word::Replicate(vec![odd]));
    assert!(encode(&parcels).is_err());
    let mut members = group(2, MemberMode::Synchronised);
    let member = &mut members[1];
    member
        .learn(BodyId(1), &cube(1, 0.0, 0.0).form)
        .expect("valid");
    member.handle_tick(Tick(1));
    member.handle_parcel(parcels);
    member.begin();
    assert_eq!(position(member, 1), Some(0.5), "it is a state all the same");
}

/// ST-21, ST-52: a transfer whose acceptance is lost is sent again; a repeated one is accepted again and changes nothing.
#[test]
fn st_52_a_transfer_is_kept_until_it_is_accepted() {
    let mut members = group(2, MemberMode::Unsynchronised);
    place(&mut members, &cube(1, -0.2, 10.0));
    let [giver, taker] = &mut members[..] else {
        unreachable!("two members");
    };
    let mut transfers: Vec<Parcel> = Vec::new();
    for number in 1..=130 {
        giver.handle_tick(Tick(number));
        for transmit in drain(giver) {
            let is_transfer = transmit
                .parcel
                .words
                .iter()
                .any(|word| matches!(word, Word::Transfer(_)));
            if is_transfer {
                assert!(transmit.reliable, "a transfer must arrive");
                transfers.push(transmit.parcel);
            } else {
                assert!(!transmit.reliable, "a replica may be lost");
            }
        }
    }
    assert!(transfers.len() >= 2, "nobody answers: it is sent again");
    assert_eq!(giver.copies().count(), 1, "and kept, although it has left");
    let mut accepts = Vec::new();
    for parcel in transfers {
        taker.handle_parcel(parcel);
        let next = taker.tick().next();
        taker.handle_tick(Tick(next.0.max(130)));
        accepts.extend(drain(taker));
    }
    assert_eq!(taker.copies().filter(|copy| copy.at_home).count(), 1);
    assert!(accepts.len() >= 2, "each is answered");
    for transmit in accepts {
        if transmit.to == RegionId(0) {
            giver.handle_parcel(transmit.parcel);
        }
    }
    giver.handle_tick(Tick(131));
    assert_eq!(giver.copies().count(), 0, "accepted: it lets go");
}
