//! What does it cost to be distributed? Two ratios, of the thread's own CPU time:
//!
//! * one region that owns everything, with a state hash per tick, against bare Rapier stepping the same 5,000 boxes;
//! * four regions with a tenth of their boxes at the borders: all that is not physics against the physics.
//!
//! ```text
//! cargo run --release -p auramesh-simulator --example cost                    both
//! cargo run --release -p auramesh-simulator --example cost one | four         one of them
//! cargo run --release -p auramesh-simulator --example cost SCENE [SERVERS]    the split of a built-in scene or a file
//! ```
//!
//! Exit status: 0 if every ratio of total times is within its bar, 1 if one is above it, 2 for bad usage. (A scene's split has
//! no bar.) Other programs on the machine disturb a clock, even that of CPU time: what is compared takes turns tick by tick,
//! and the median of many short rounds is printed beside the total; if the two are far apart, measure again.

use boundary::{BodyView, BoundaryConfig, initial};
use domain::{
    Body, BodyForm, BodyId, Joint, Layout, Material, Motion, Rect, RegionId, RegionMap, Shape,
    SimTime, Static, StaticId, Tick, TickLength,
};
use glam::{DVec3, Quat, Vec3};
use rapier3d::prelude::{ColliderBuilder, PhysicsWorld, RigidBodyBuilder, SharedShape, Vector};
use region::{Region, RegionConfig};
use scenes::Scene;
use simulator::Stopwatch;
use std::process::ExitCode;
use std::time::Duration;

const BOXES: u64 = 5_000;
const TICKS: u64 = 300;
const GRAVITY: Vec3 = Vec3::new(0.0, -9.81, 0.0);
/// Ticks per round.
const ROUND: u64 = 20;
/// One region may cost so much of what bare Rapier costs.
const MOST_OF_RAPIER: f64 = 1.05;
/// Boundary work may cost so much of what physics costs.
const MOST_OF_PHYSICS: f64 = 0.06;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let servers = args.get(1).map(|text| text.parse()).transpose();
    let within = match (args.first().map(String::as_str), servers) {
        (None, _) => {
            let verdicts = [compare_one_region(), compare_four_regions()];
            verdicts == [true; 2]
        }
        (Some("one"), _) => compare_one_region(),
        (Some("four"), _) => compare_four_regions(),
        (Some(scene), Ok(servers)) => {
            split_of(scene, servers);
            true
        }
        (Some(_), Err(_)) => fail("usage: cost [one | four | SCENE [SERVERS]]"),
    };
    ExitCode::from(u8::from(!within))
}

/// Prints a ratio against its bar; answers whether the total is within it.
fn judge(what: &str, rounds: Vec<f64>, total: f64, most: f64) -> bool {
    let within = total <= most;
    println!(
        "  {what}: total {total:.3}, median of rounds {:.3} (at most {most:.2}: {})",
        median(rounds),
        if within { "ok" } else { "FAILED" },
    );
    within
}

fn fail(why: impl std::fmt::Display) -> ! {
    eprintln!("{why}");
    std::process::exit(2);
}

fn timed<T>(spent: &mut Duration, work: impl FnOnce() -> T) -> T {
    let mut watch = Stopwatch::start();
    let result = work();
    *spent += watch.lap();
    result
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

// ── one region against bare Rapier ─────────────────────────────────────────────────────────────────────────────────

fn compare_one_region() -> bool {
    let bodies = heap(0..BOXES, DVec3::ZERO, 0.5);
    let mut ratios = Vec::new();
    let (mut bare, mut ours) = (Duration::ZERO, Duration::ZERO);
    // Which of the two is built first decides who gets the better memory; so each is first once.
    for plain_first in [true, false] {
        let one = || {
            Fleet::new(
                RegionMap::single(),
                BoundaryConfig::default(),
                &[ground(0.5)],
                &bodies,
            )
        };
        let (mut plain, mut fleet) = if plain_first {
            let plain = plain_rapier(&bodies);
            (plain, one())
        } else {
            let fleet = one();
            (plain_rapier(&bodies), fleet)
        };
        for _ in 0..TICKS / ROUND {
            let (mut bare_round, mut our_round) = (Duration::ZERO, Duration::ZERO);
            for tick in 0..ROUND {
                if tick % 2 == 0 {
                    timed(&mut bare_round, || plain.step());
                }
                timed(&mut our_round, || fleet.whole_tick_with_hash());
                if tick % 2 == 1 {
                    timed(&mut bare_round, || plain.step());
                }
            }
            ratios.push(our_round.as_secs_f64() / bare_round.as_secs_f64());
            bare += bare_round;
            ours += our_round;
        }
        assert!(
            are_alike(&plain, &fleet),
            "both must have done the same work"
        );
    }
    let per_tick = |spent: Duration| spent.as_secs_f64() * 1e3 / (2 * TICKS) as f64;
    println!("one region, {BOXES} boxes, twice {TICKS} ticks");
    println!(
        "  bare Rapier {:.3} ms per tick, Region {:.3} ms",
        per_tick(bare),
        per_tick(ours)
    );
    let total = ours.as_secs_f64() / bare.as_secs_f64();
    judge("Region / bare Rapier", ratios, total, MOST_OF_RAPIER)
}

fn plain_rapier(bodies: &[Body]) -> PhysicsWorld {
    let mut physics = PhysicsWorld::new();
    let plane = SharedShape::halfspace(Vector::Y);
    physics.insert_collider(ColliderBuilder::new(plane).friction(0.5), None);
    for body in bodies {
        physics.insert(
            RigidBodyBuilder::dynamic().translation(body.motion.position.as_vec3()),
            ColliderBuilder::cuboid(0.5, 0.5, 0.5)
                .density(1000.0)
                .friction(0.5),
        );
    }
    physics
}

fn are_alike(plain: &PhysicsWorld, fleet: &Fleet) -> bool {
    let heights = plain.bodies.iter().map(|(_, body)| body.translation().y);
    let ours = fleet.regions[0].world().motions();
    heights.eq(ours.map(|(_, motion)| motion.position.y as f32))
}

// ── four regions ───────────────────────────────────────────────────────────────────────────────────────────────────

fn compare_four_regions() -> bool {
    let extent = Rect {
        min: [-340.0; 2],
        max: [340.0; 2],
    };
    let map = RegionMap::build(Layout::Grid, 4, extent).expect("four squares");
    let mut bodies = at_the_borders();
    let at_borders = bodies.len() as u64;
    for (i, (x, z)) in [(-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 1.0)]
        .into_iter()
        .enumerate()
    {
        let share = (BOXES - at_borders) / 4;
        let first = at_borders + i as u64 * share;
        bodies.extend(heap(
            first..first + share,
            DVec3::new(170.0 * x, 0.0, 170.0 * z),
            0.5,
        ));
    }
    let mut fleet = Fleet::new(map, BoundaryConfig::default(), &[ground(0.0)], &bodies);
    let mut ratios = Vec::new();
    let mut total = Cost::default();
    let mut projecting = 0;
    let mut awake = 0;
    for _ in 0..TICKS / ROUND {
        let mut round = Cost::default();
        for _ in 0..ROUND {
            fleet.tick(&mut round);
            projecting += fleet.projecting();
        }
        awake += fleet.awake();
        ratios.push(round.ratio());
        total.add(&round);
    }
    println!(
        "four regions, {} boxes, {TICKS} ticks, {:.1} % awake, {:.1} % projecting, {} bodies handed over",
        bodies.len(),
        100.0 * awake as f64 / (TICKS / ROUND) as f64 / bodies.len() as f64,
        100.0 * projecting as f64 / TICKS as f64 / bodies.len() as f64,
        fleet.handed_over,
    );
    total.print(TICKS);
    judge("boundary / physics", ratios, total.ratio(), MOST_OF_PHYSICS)
}

/// Groups of five boxes that slide along the borders, farther apart than clusters link. Two groups of five keep to their
/// side; the others cross, some of them towards a group that comes from the other side.
fn at_the_borders() -> Vec<Body> {
    let mut bodies = Vec::new();
    for line in 0..4 {
        let outwards = if line < 2 { 1.0 } else { -1.0 };
        for slot in 0..23 {
            let side = if slot % 2 == 0 { 1.0 } else { -1.0 };
            let meets = slot % 12 == 5;
            let crosses = meets || slot % 5 == 0;
            let group = Group {
                along: outwards * (20.0 + 13.0 * f64::from(slot)),
                across: side
                    * if meets {
                        3.0
                    } else {
                        1.6 + 0.3 * f64::from(slot % 5)
                    },
                speed: Vec3::new(
                    if crosses { -side as f32 } else { 0.0 },
                    0.0,
                    outwards as f32,
                ),
                turned: line % 2 == 1,
            };
            group.put(&mut bodies);
            if meets {
                group.opposite().put(&mut bodies);
            }
        }
    }
    bodies
}

/// Five boxes near a border.
struct Group {
    along: f64,
    across: f64,
    /// Across, up, along.
    speed: Vec3,
    /// The border is z = 0 and not x = 0.
    turned: bool,
}

impl Group {
    fn opposite(&self) -> Self {
        Self {
            across: -self.across,
            speed: self.speed * Vec3::new(-1.0, 1.0, 1.0),
            ..*self
        }
    }

    fn put(&self, bodies: &mut Vec<Body>) {
        for (x, z) in [(0.0, 0.0), (1.4, 0.0), (-1.4, 0.0), (0.0, 1.4), (0.0, -1.4)] {
            let place = DVec3::new(self.across + x, 0.5, self.along + z);
            let turn = |v: [f64; 3]| if self.turned { [v[2], v[1], v[0]] } else { v };
            let mut body = cube(bodies.len() as u64, turn(place.to_array()).into(), 0.0);
            body.motion.linear_velocity =
                DVec3::from_array(turn(self.speed.as_dvec3().to_array())).as_vec3();
            bodies.push(body);
        }
    }
}

/// Columns of boxes that fall onto each other, each layer a little off.
fn heap(ids: std::ops::Range<u64>, middle: DVec3, friction: f32) -> Vec<Body> {
    let side = ((ids.end - ids.start) as f64 / 12.0).sqrt().ceil() as u64;
    let corner = middle - DVec3::new(0.65, 0.0, 0.65) * side as f64;
    ids.clone()
        .map(|id| {
            let i = id - ids.start;
            let (x, z, y) = (i % side, i / side % side, i / (side * side));
            let place = DVec3::new(
                x as f64 * 1.3 + 0.2 * (y % 3) as f64,
                0.6 + y as f64 * 1.2,
                z as f64 * 1.3 + 0.15 * (y % 2) as f64,
            );
            cube(id, corner + place, friction)
        })
        .collect()
}

fn cube(id: u64, place: DVec3, friction: f32) -> Body {
    let mut form = BodyForm::of(Shape::Cuboid { size: Vec3::ONE });
    form.material.friction = friction;
    Body::new(BodyId(id), form, Motion::at(place))
}

fn ground(friction: f32) -> Static {
    Static {
        id: StaticId(0),
        shape: Shape::Plane,
        position: DVec3::ZERO,
        rotation: Quat::IDENTITY,
        material: Material {
            friction,
            ..Material::default()
        },
    }
}

// ── a scene ────────────────────────────────────────────────────────────────────────────────────────────────────────

fn split_of(name: &str, servers: Option<usize>) {
    let scene = Scene::load(name).unwrap_or_else(|why| fail(why));
    let servers = servers.unwrap_or(scene.regions.servers);
    let layout = match scene.regions.layout {
        Layout::Columns => Layout::Columns,
        _ => Layout::Grid,
    };
    let map = RegionMap::build(layout, servers, scene.world).unwrap_or_else(|why| fail(why));
    let config = BoundaryConfig {
        tolerances: region::staging::tolerances(&scene),
        step: scene.step,
        ..BoundaryConfig::default()
    };
    let mut fleet = Fleet::tied(map, config, &scene.statics, &scene.bodies, &scene.joints);
    let ticks = scene.step.ticks_in(scene.seconds);
    let mut spawns = scene.spawns(scene.seed).into_iter().peekable();
    let mut total = Cost::default();
    let mut projecting = 0;
    for tick in 0..ticks {
        while let Some(spawn) =
            spawns.next_if(|spawn| spawn.at <= scene.step.due(Tick(tick)).as_secs())
        {
            fleet.spawn(&spawn.body);
        }
        fleet.tick(&mut total);
        projecting += fleet.projecting();
    }
    println!(
        "{}: {servers} regions, {ticks} ticks, {} bodies at the end, {:.1} projecting, {} handed over",
        scene.name,
        fleet
            .regions
            .iter()
            .map(|region| region.world().len())
            .sum::<usize>(),
        projecting as f64 / ticks as f64,
        fleet.handed_over,
    );
    total.print(ticks);
    println!("  boundary / physics: {:.3}", total.ratio());
}

// ── regions and what they cost ─────────────────────────────────────────────────────────────────────────────────────

/// CPU time of all regions together.
#[derive(Default)]
struct Cost {
    /// The step of the world.
    physics: Duration,
    /// Births and arrivals, catch-up included.
    entering: Duration,
    /// Who projects and who leaves, extraction included.
    leaving: Duration,
    /// Acting on messages.
    hearing: Duration,
    /// Messages to bytes and back.
    wire: Duration,
}

impl Cost {
    fn boundary(&self) -> Duration {
        self.entering + self.leaving + self.hearing + self.wire
    }

    /// Boundary work over physics.
    fn ratio(&self) -> f64 {
        self.boundary().as_secs_f64() / self.physics.as_secs_f64()
    }

    fn add(&mut self, other: &Self) {
        self.physics += other.physics;
        self.entering += other.entering;
        self.leaving += other.leaving;
        self.hearing += other.hearing;
        self.wire += other.wire;
    }

    fn print(&self, ticks: u64) {
        let us = |spent: Duration| spent.as_secs_f64() * 1e6 / ticks as f64;
        println!(
            "  µs per tick, all regions: physics {:.0}, boundary {:.0} = after the step {:.0}, arrivals and catch-up {:.0}, \
             messages {:.0}, wire {:.0}",
            us(self.physics),
            us(self.boundary()),
            us(self.leaving),
            us(self.entering),
            us(self.hearing),
            us(self.wire),
        );
    }
}

/// All regions in one thread; what is said after one tick is heard before the next.
struct Fleet {
    map: RegionMap,
    step: TickLength,
    regions: Vec<Region>,
    inboxes: Vec<Vec<Vec<u8>>>,
    handed_over: usize,
}

impl Fleet {
    fn new(map: RegionMap, boundary: BoundaryConfig, statics: &[Static], bodies: &[Body]) -> Self {
        Self::tied(map, boundary, statics, bodies, &[])
    }

    fn tied(
        map: RegionMap,
        boundary: BoundaryConfig,
        statics: &[Static],
        bodies: &[Body],
        joints: &[Joint],
    ) -> Self {
        let region = |id| {
            Region::new(RegionConfig {
                id,
                map: map.clone(),
                boundary,
                gravity: GRAVITY,
                statics: statics.into(),
                snapshot_ticks: None,
            })
        };
        let regions: Result<Vec<_>, _> = map.regions().map(region).collect();
        let mut fleet = Self {
            regions: regions.unwrap_or_else(|why| fail(why)),
            inboxes: vec![Vec::new(); map.len()],
            step: boundary.step,
            handed_over: 0,
            map,
        };
        let owners = fleet.owners(bodies, joints, &boundary);
        for body in bodies {
            fleet
                .region(owners[&body.id])
                .place(body)
                .unwrap_or_else(|why| fail(why));
        }
        for joint in joints {
            fleet
                .region(owners[&joint.a])
                .tie(joint)
                .unwrap_or_else(|why| fail(why));
        }
        fleet
    }

    fn owners(
        &self,
        bodies: &[Body],
        joints: &[Joint],
        boundary: &BoundaryConfig,
    ) -> std::collections::BTreeMap<BodyId, RegionId> {
        let views: Vec<BodyView> = bodies.iter().map(boundary::nursery::view_of).collect();
        let partners = |id: BodyId, out: &mut Vec<BodyId>| {
            let tied = joints.iter().filter(|joint| joint.a == id || joint.b == id);
            out.extend(tied.flat_map(|joint| [joint.a, joint.b]));
        };
        initial::owners(views, &self.map, boundary, &partners)
    }

    fn region(&mut self, id: RegionId) -> &mut Region {
        &mut self.regions[id.0 as usize]
    }

    fn spawn(&mut self, body: &Body) {
        let home = self
            .map
            .region_at(body.motion.position.x, body.motion.position.z);
        self.region(home)
            .spawn(body)
            .unwrap_or_else(|why| fail(why));
    }

    fn projecting(&self) -> usize {
        self.regions
            .iter()
            .map(|region| region.boundary().projecting().count())
            .sum()
    }

    fn awake(&self) -> usize {
        self.regions
            .iter()
            .map(|region| region.world().awake_count())
            .sum()
    }

    /// A tick as the simulator drives it.
    fn whole_tick_with_hash(&mut self) {
        let mut unused = Cost::default();
        self.tick(&mut unused);
        std::hint::black_box(self.regions[0].world().state_hash());
    }

    fn tick(&mut self, cost: &mut Cost) {
        for index in 0..self.regions.len() {
            let region = &mut self.regions[index];
            let tick = region.tick().next();
            let now = self.step.due(tick);
            region.handle_frame(now);
            for bytes in std::mem::take(&mut self.inboxes[index]) {
                let envelope = timed(&mut cost.wire, || {
                    wire::decode(&bytes).expect("just encoded")
                });
                timed(&mut cost.hearing, || region.handle_message(now, envelope));
            }
            timed(&mut cost.entering, || region.begin_tick(tick));
            timed(&mut cost.physics, || region.step_physics(tick));
            timed(&mut cost.leaving, || region.end_tick());
            self.send(index, now, cost);
        }
    }

    fn send(&mut self, index: usize, now: SimTime, cost: &mut Cost) {
        let region = &mut self.regions[index];
        while let Some(event) = region.poll_event() {
            if let region::RegionEvent::Departed { members, .. } = event {
                self.handed_over += members.len();
            }
        }
        timed(&mut cost.wire, || region.handle_network_update(now));
        while let Some(envelope) = region.poll_transmit() {
            let bytes = timed(&mut cost.wire, || wire::encode(&envelope).expect("sound"));
            self.inboxes[envelope.to.0 as usize].push(bytes);
        }
    }
}
