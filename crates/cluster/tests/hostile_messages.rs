//! Whatever bytes a process is sent, they are a message or they are refused; nothing panics and nothing grows without bound.
//!
//! The bounded run of the fuzz target `cluster`.

use cluster::messages::{
    Account, Answer, Feed, FromRegion, Heartbeat, Pulse, Question, RegionPulse, RegionState,
    Subscription, ToRegion, decode, encode,
};
use cluster::names::{Generation, NodeId, Term};
use cluster::schema::{ClusterView, Keys, Promises};
use cluster::store::{Entry, Revision};
use domain::{BodyId, CompoundPart, Epoch, RegionId, Shape, SimTime, Tick};
use glam::{DVec3, Quat, Vec3};
use rand::{RngExt, SeedableRng};
use serde::Serialize;
use serde::de::DeserializeOwned;

fn samples() -> Vec<Vec<u8>> {
    let part = CompoundPart {
        position: Vec3::X,
        rotation: Quat::IDENTITY,
        shape: Shape::Sphere { radius: 0.5 },
    };
    let compound = Shape::Compound {
        parts: vec![part.clone(), part].into(),
    };
    let questions = [
        Question::Remove(BodyId(7)),
        Question::Impulse {
            body: BodyId(7),
            impulse: Vec3::NAN,
            at: Some(DVec3::INFINITY),
        },
        Question::Overlap {
            shape: compound,
            position: DVec3::ONE,
            rotation: Quat::IDENTITY,
        },
        Question::Account,
    ];
    let mut samples: Vec<Vec<u8>> = questions
        .into_iter()
        .map(|question| encode(&ToRegion::Ask { id: 300, question }))
        .collect();
    let account = Account {
        owned: vec![(BodyId(1), Epoch(2)); 20],
        under_way: vec![BodyId(1 << 63)],
        ..Account::default()
    };
    let snapshot = FromRegion::Snapshot {
        tick: Tick(600),
        last: true,
        spawned_before: Tick(601),
        subscribers: vec![(
            NodeId(9),
            Subscription {
                feed: true,
                records: false,
            },
        )],
        bytes_before: 0,
        bytes: vec![1, 2, 3],
    };
    let answer = Answer::Account(Box::new(account));
    samples.push(encode(&snapshot));
    samples.push(encode(&FromRegion::SnapshotPiece {
        tick: Tick(7),
        bytes: vec![1; 50],
    }));
    samples.push(encode(&FromRegion::Answer { id: 1, answer }));
    samples.push(encode(&FromRegion::Feed(Box::default())));
    samples.push(encode(&Heartbeat {
        node: NodeId(5),
        sent: SimTime(1),
        answered: SimTime(0),
        generation: Generation(1),
        regions: vec![
            RegionPulse {
                region: RegionId(1),
                term: Term(2),
                tick: Tick(3),
                overdue: 0,
                state: RegionState::Running,
                bodies: 4,
                kept: Some((NodeId(6), Tick(2))),
                promises: Promises::default(),
            };
            4
        ],
        keeps: vec![(RegionId(2), Term(1), Tick(9))],
        clock_bound: None,
    }));
    samples
}

/// What can be read means the same when it is written again.
fn read<T: DeserializeOwned + Serialize>(bytes: &[u8]) -> bool {
    let Ok(message) = decode::<T>(bytes) else {
        return false;
    };
    let again = encode(&message);
    let same: T = decode(&again).expect("what was read can be written");
    assert_eq!(encode(&same), again);
    true
}

fn read_as_anything(bytes: &[u8]) -> bool {
    let all = [
        read::<FromRegion>(bytes),
        read::<ToRegion>(bytes),
        read::<Heartbeat>(bytes),
        read::<Pulse>(bytes),
        read::<Feed>(bytes),
    ];
    // The control plane's values are JSON; whatever cannot be read counts as not there.
    let keys = Keys::new("x");
    let names = [
        keys.leader(),
        keys.world(),
        keys.assignment(),
        keys.keeping(),
        keys.node(NodeId(1)),
    ];
    let entries = names.into_iter().map(|key| {
        let entry = Entry {
            key: key.clone(),
            value: bytes.to_vec(),
            revision: Revision(1),
        };
        (key, entry)
    });
    ClusterView::read(&keys, &entries.collect());
    all.contains(&true)
}

#[test]
fn damaged_messages_are_refused_or_mean_something() {
    let samples = samples();
    for sample in &samples {
        assert!(read_as_anything(sample), "the samples are sound");
    }
    let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(4);
    let (mut sound, mut refused) = (0_u32, 0_u32);
    for _ in 0..20_000 {
        let mut bytes = samples[rng.random_range(0..samples.len())].clone();
        for _ in 0..rng.random_range(1..4) {
            let at = rng.random_range(0..bytes.len());
            match rng.random_range(0..4) {
                0 => bytes[at] = rng.random(),
                1 => bytes.truncate(at.max(1)),
                2 => bytes.insert(at, rng.random()),
                _ => bytes[at] ^= 1 << rng.random_range(0..8),
            }
        }
        match read_as_anything(&bytes) {
            true => sound += 1,
            false => refused += 1,
        }
    }
    // Both happen, so both were tried.
    assert!(
        sound > 1000 && refused > 1000,
        "{sound} sound, {refused} refused"
    );
}

#[test]
fn a_length_that_is_a_lie_costs_no_memory() {
    // A snapshot that says it has 2^60 bytes.
    let mut bytes = encode(&FromRegion::Snapshot {
        tick: Tick(1),
        last: false,
        spawned_before: Tick(1),
        subscribers: Vec::new(),
        bytes_before: 0,
        bytes: Vec::new(),
    });
    bytes.pop();
    bytes.extend([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10]);
    assert!(decode::<FromRegion>(&bytes).is_err());
}

/// Found by reading: compounds within compounds, without end, would have exhausted the stack of a region's thread.
#[test]
fn shapes_nested_without_end_are_refused() {
    let mut inner = Shape::Sphere { radius: 1.0 };
    for _ in 0..2 {
        let part = CompoundPart {
            position: Vec3::ZERO,
            rotation: Quat::IDENTITY,
            shape: inner,
        };
        inner = Shape::Compound {
            parts: vec![part].into(),
        };
    }
    let ask = |shape: Shape| ToRegion::Ask {
        id: 1,
        question: Question::Overlap {
            shape,
            position: DVec3::ZERO,
            rotation: Quat::IDENTITY,
        },
    };
    let twice = encode(&ask(inner));
    assert!(
        decode::<ToRegion>(&twice).is_err(),
        "two levels are one too many"
    );
    // The same a million times: variant, one part, its place.
    let level: Vec<u8> = [&[5, 1][..], &[0; 28]].concat();
    let mut bytes = twice[..3].to_vec();
    assert_eq!(twice[3..5], level[..2], "this is how it is written");
    for _ in 0..1_000_000 {
        bytes.extend_from_slice(&level);
    }
    assert!(decode::<ToRegion>(&bytes).is_err());
    // And afterwards sound ones are read as before.
    assert!(decode::<ToRegion>(&samples()[2]).is_ok());
}
