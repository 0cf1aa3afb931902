//! What does `World` cost over bare Rapier? Both step the same pile of boxes in turns; the times are the
//! thread's own CPU time. `World` also pays for a state hash per tick and for its contact events.
//!
//! ```text
//! cargo run --release -p auramesh-world --example overhead [BOXES] [TICKS]
//! ```

use domain::{Body, BodyForm, BodyId, Motion, Shape, Static, StaticId};
use glam::{DVec3, Quat, Vec3};
use rapier3d::prelude::{ColliderBuilder, PhysicsWorld, RigidBodyBuilder, SharedShape, Vector};
use world::{World, WorldConfig};

/// Ticks per round.
const ROUND: usize = 20;

fn thread_cpu_secs() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a live timespec, which the call fills in.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn timed(work: impl FnOnce()) -> f64 {
    let start = thread_cpu_secs();
    work();
    thread_cpu_secs() - start
}

/// Columns of boxes that fall onto each other, each layer a little off.
fn boxes(count: u64) -> Vec<Body> {
    let side = (count as f64 / 12.0).sqrt().ceil() as u64;
    (0..count)
        .map(|i| {
            let (x, z, y) = (i % side, i / side % side, i / (side * side));
            let place = DVec3::new(
                x as f64 * 1.3 + 0.2 * (y % 3) as f64,
                0.6 + y as f64 * 1.2,
                z as f64 * 1.3 + 0.15 * (y % 2) as f64,
            );
            let shape = Shape::Cuboid { size: Vec3::ONE };
            Body::new(BodyId(i), BodyForm::of(shape), Motion::at(place))
        })
        .collect()
}

fn bare(bodies: &[Body]) -> PhysicsWorld {
    let mut physics = PhysicsWorld::new();
    let plane = ColliderBuilder::new(SharedShape::halfspace(Vector::Y));
    physics.insert_collider(plane, None);
    for body in bodies {
        physics.insert(
            RigidBodyBuilder::dynamic().translation(body.motion.position.as_vec3()),
            ColliderBuilder::cuboid(0.5, 0.5, 0.5).density(1000.0),
        );
    }
    physics
}

fn ours(bodies: &[Body]) -> World {
    let ground = Static {
        id: StaticId(0),
        shape: Shape::Plane,
        position: DVec3::ZERO,
        rotation: Quat::IDENTITY,
        material: Default::default(),
    };
    let mut world = World::new(WorldConfig::default(), &[ground]).expect("a plane is fine");
    for body in bodies {
        world.spawn(body).expect("a box is fine");
    }
    world
}

fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<u64>());
    let (count, ticks) = match (args.next(), args.next()) {
        (None, _) => (5000, 300),
        (Some(Ok(count)), None) => (count, 300),
        (Some(Ok(count)), Some(Ok(ticks))) => (count, ticks),
        _ => {
            eprintln!("usage: overhead [BOXES] [TICKS]");
            std::process::exit(2);
        }
    };
    let bodies = boxes(count);
    let mut ratios = Vec::new();
    let mut totals = Times::default();
    // Which of the two is built first decides who gets the better memory; so each is first once.
    for plain_first in [true, false] {
        let (mut plain, mut world) = if plain_first {
            let plain = bare(&bodies);
            (plain, ours(&bodies))
        } else {
            let world = ours(&bodies);
            (bare(&bodies), world)
        };
        for _ in 0..ticks as usize / ROUND {
            let times = round(&mut plain, &mut world);
            ratios.push(times.world() / times.plain);
            totals.add(&times);
        }
    }
    ratios.sort_by(f64::total_cmp);
    let per_tick = |secs: f64| secs / (2 * (ticks as usize / ROUND * ROUND)) as f64 * 1e3;
    println!(
        "{count} boxes, twice {ticks} ticks, {} contacts begun",
        totals.begun
    );
    println!(
        "bare Rapier {:.3} ms per tick, World {:.3} ms: step {:.3} ms, state hash {:.3} ms",
        per_tick(totals.plain),
        per_tick(totals.world()),
        per_tick(totals.step),
        per_tick(totals.hash),
    );
    println!(
        "World / bare: total {:.3}, median of rounds {:.3}",
        totals.world() / totals.plain,
        ratios[ratios.len() / 2],
    );
}

#[derive(Default)]
struct Times {
    plain: f64,
    step: f64,
    hash: f64,
    begun: usize,
}

impl Times {
    fn world(&self) -> f64 {
        self.step + self.hash
    }

    fn add(&mut self, other: &Self) {
        self.plain += other.plain;
        self.step += other.step;
        self.hash += other.hash;
        self.begun += other.begun;
    }
}

/// Some ticks of both, in turns, the first one changing with every tick.
fn round(plain: &mut PhysicsWorld, world: &mut World) -> Times {
    let mut times = Times::default();
    for tick in 0..ROUND {
        if tick % 2 == 0 {
            times.plain += timed(|| plain.step());
        }
        times.step += timed(|| world.step());
        times.hash += timed(|| {
            std::hint::black_box(world.state_hash());
        });
        times.begun += world.contacts_begun().len();
        if tick % 2 == 1 {
            times.plain += timed(|| plain.step());
        }
    }
    times
}
