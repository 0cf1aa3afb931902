//! What an aura costs on the wire, ours against postcard: `cargo run --release -p auramesh-wire --example sizes`.

use domain::{Body, BodyForm, BodyId, Cluster, Epoch, Motion, RegionId, Shape, SimTime, Tick};
use glam::{DVec3, Vec3};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::hint::black_box;
use std::time::Instant;
use wire::{
    AuraUpsert, ClusterKey, Envelope, HandoverCause, HandoverNumber, Member, Message, Offer,
    decode, encode_into,
};

fn main() {
    println!(
        "{:34} {:>9} {:>9} {:>11} {:>11} {:>11} {:>11}",
        "per element, 400 in an envelope",
        "postcard",
        "ours",
        "encode",
        "decode",
        "postcard e.",
        "postcard d."
    );
    row("bricks at rest, equal auras", &auras(|_, n| brick_wall(n)));
    row("falling, three shapes, adaptive", &auras(falling));
    row("debris, every number different", &auras(debris));
    row(
        "a cluster of bricks (offer)",
        &offer(BodyForm::of(Shape::Cuboid { size: Vec3::ONE })),
    );
}

fn envelope(messages: Vec<Message>) -> Envelope {
    Envelope {
        from: RegionId(3),
        to: RegionId(4),
        tick: Tick(36_000),
        sent_at: SimTime(600_000_000_000),
        messages,
    }
}

const COUNT: u64 = 400;

fn auras(of: impl Fn(&mut Pcg64Mcg, u64) -> AuraUpsert) -> Envelope {
    let mut rng = Pcg64Mcg::seed_from_u64(7);
    envelope(
        (0..COUNT)
            .map(|n| Message::AuraUpsert(of(&mut rng, n)))
            .collect(),
    )
}

fn upsert(
    body: u64,
    centre: DVec3,
    radius: f32,
    reach: f32,
    growth: f32,
    key: (u64, u64),
) -> AuraUpsert {
    AuraUpsert {
        body: BodyId(body),
        epoch: Epoch(2),
        tick: Tick(36_000),
        centre,
        radius,
        spine: glam::Vec3::ZERO,
        reach,
        growth,
        key: ClusterKey {
            class: 0,
            since: Tick(key.0),
            body: BodyId(key.1),
        },
    }
}

fn brick_wall(n: u64) -> AuraUpsert {
    let centre = DVec3::new(60.0 + (n % 20) as f64 * 1.02, 0.5 + (n / 20) as f64, -40.0);
    upsert(1000 + n, centre, 0.866, 1.6, 0.0, (35_100, 1000))
}

fn falling(rng: &mut Pcg64Mcg, n: u64) -> AuraUpsert {
    let mut coordinate = |from, to| rng.random_range::<f64, _>(from..to);
    let centre = DVec3::new(
        coordinate(-20.0, 20.0),
        coordinate(0.0, 30.0),
        coordinate(-20.0, 20.0),
    );
    let radius = [0.3, 1.0, 0.866][rng.random_range(0..3)];
    let (reach, growth) = (rng.random_range(0.2..4.0), rng.random_range(0.0..0.5));
    let own = (rng.random_range(35_000..36_000), 1000 + 2 * n);
    upsert(1000 + 2 * n, centre, radius, reach, growth, own)
}

fn debris(rng: &mut Pcg64Mcg, n: u64) -> AuraUpsert {
    let id = rng.random_range(0..1_000_000);
    AuraUpsert {
        radius: rng.random_range(0.1..2.0),
        spine: glam::Vec3::ZERO,
        epoch: Epoch(rng.random_range(0..100)),
        tick: Tick(rng.random_range(35_990..36_000)),
        ..upsert(
            id,
            falling(rng, n).centre * 10.0,
            0.3,
            rng.random_range(0.2..4.0),
            0.1,
            (35_000 + n, id / 2),
        )
    }
}

fn offer(form: BodyForm) -> Envelope {
    let body = |n: u64| {
        Body::new(
            BodyId(n),
            form.clone(),
            Motion::at(DVec3::new(n as f64 * 1.1, 0.5, 3.0)),
        )
    };
    let member = Member {
        epoch: Epoch(1),
        projecting_since: None,
        rank: None,
    };
    envelope(vec![Message::Offer(Box::new(Offer {
        handover: HandoverNumber(1),
        tick: Tick(36_000),
        cause: HandoverCause::BoundaryTraversal,
        members: vec![member; COUNT as usize],
        cluster: Cluster {
            bodies: (0..COUNT).map(body).collect(),
            ..Cluster::default()
        },
        unborn: vec![],
        told: vec![],
        bonds: vec![],
    }))])
}

fn row(name: &str, envelope: &Envelope) {
    let mut ours = Vec::new();
    let encoded = time(|| encode_into(black_box(envelope), &mut ours).expect("a valid envelope"));
    let decoded = time(|| drop(black_box(decode(black_box(&ours)).expect("our bytes"))));
    let mut theirs = Vec::new();
    let posted = time(|| {
        theirs =
            postcard::to_extend(black_box(envelope), std::mem::take(&mut theirs)).expect("it fits");
        black_box(&theirs);
        theirs.clear();
    });
    let theirs = postcard::to_stdvec(envelope).expect("it fits");
    let unposted = time(|| {
        drop(black_box(
            postcard::from_bytes::<Envelope>(black_box(&theirs)).expect("its bytes"),
        ))
    });
    let each = |bytes: usize| bytes as f64 / COUNT as f64;
    println!(
        "{name:34} {:>7.1} B {:>7.1} B {encoded:>8.1} ns {decoded:>8.1} ns {posted:>8.1} ns {unposted:>8.1} ns",
        each(theirs.len()),
        each(ours.len())
    );
}

/// Nanoseconds per element: the best of several rounds, because other programs run too.
fn time(mut work: impl FnMut()) -> f64 {
    let round = |_| {
        let start = Instant::now();
        (0..200).for_each(|_| work());
        start.elapsed().as_secs_f64() * 1e9 / (200 * COUNT) as f64
    };
    (0..10).map(round).fold(f64::INFINITY, f64::min)
}
