//! The subdivision against Parry's bounding-volume hierarchy (what Rapier's broad phase is made of) and against sort-and-sweep, on the
//! same moving boxes. CPU time of this thread per iteration; all must find the same pairs.
//!
//! ```text
//! cargo run --release -p auramesh-detection --example broad_phase [ITERATIONS]
//! ```

use cpu_time::ThreadTime;
use detection::tree::Rooms;
use detection::{Aabb, Limits, PairRule, Tree, pairs};
use glam::Vec3;
use parry3d::bounding_volume::Aabb as ParryAabb;
use parry3d::partitioning::{Bvh, BvhWorkspace};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const STEP: f32 = 1.0 / 60.0;
/// The margin by which Rapier fattens boxes, so that small motions need no update of the hierarchy.
const MARGIN: f32 = 0.01;

struct Scene {
    name: &'static str,
    boxes: Vec<Aabb>,
    speeds: Vec<Vec3>,
    half: f32,
    largest: f32,
}

impl Scene {
    /// `sizes` draws half extents; `still` is the share that does not move; `crowd` squeezes that share into a corner.
    fn new(
        name: &'static str,
        count: usize,
        coverage: f32,
        sizes: (f32, f32),
        still: f32,
        crowd: f32,
    ) -> Self {
        let mut rng = Pcg64Mcg::seed_from_u64(7);
        let half = 0.5 * (count as f32 / coverage).cbrt();
        let mut scene = Self {
            name,
            boxes: Vec::new(),
            speeds: Vec::new(),
            half,
            largest: 2.0 * sizes.1,
        };
        for index in 0..count {
            let reach = if (index as f32) < crowd * count as f32 {
                half * 0.2
            } else {
                half
            };
            let place = Vec3::from_array(std::array::from_fn(|_| rng.random_range(-reach..reach)));
            let extent = rng.random_range(sizes.0..=sizes.1);
            scene.boxes.push(Aabb::around(place, Vec3::splat(extent)));
            let speed = Vec3::from_array(std::array::from_fn(|_| rng.random_range(-3.0..3.0)));
            let moves = (index as f32) >= still * count as f32;
            scene.speeds.push(if moves { speed } else { Vec3::ZERO });
        }
        scene
    }

    fn step(&mut self) {
        for (aabb, speed) in self.boxes.iter_mut().zip(&mut self.speeds) {
            for axis in 0..3 {
                if aabb.centre()[axis].abs() > self.half && aabb.centre()[axis] * speed[axis] > 0.0
                {
                    speed[axis] = -speed[axis];
                }
            }
            *aabb = Aabb {
                min: aabb.min + *speed * STEP,
                max: aabb.max + *speed * STEP,
            };
        }
    }
}

/// Something that finds overlapping pairs.
trait BroadPhase {
    fn name(&self) -> &'static str;
    fn pairs(&mut self, boxes: &[Aabb]) -> usize;
}

struct Subdivision {
    tree: Tree,
    rooms: Vec<Rooms>,
    found: Vec<pairs::Candidate>,
}

impl Subdivision {
    fn new(scene: &Scene) -> Self {
        let world = Aabb::around(Vec3::ZERO, Vec3::splat(scene.half));
        let limits = Limits {
            min_size: scene.largest,
            ..Limits::default()
        };
        let mut tree = Tree::alone(world, limits).expect("valid");
        let mut rooms = vec![Rooms::new(); scene.boxes.len()];
        for (body, aabb) in scene.boxes.iter().enumerate() {
            tree.insert(body as u32, aabb, false, &mut rooms[body]);
        }
        tree.adapt(&scene.boxes, &mut rooms);
        Self {
            tree,
            rooms,
            found: Vec::new(),
        }
    }
}

impl BroadPhase for Subdivision {
    fn name(&self) -> &'static str {
        "subdivision (ours)"
    }

    fn pairs(&mut self, boxes: &[Aabb]) -> usize {
        for (body, aabb) in boxes.iter().enumerate() {
            self.tree.update(body as u32, aabb, &mut self.rooms[body]);
        }
        self.tree.adapt(boxes, &mut self.rooms);
        self.tree.refresh();
        self.found.clear();
        pairs::candidates(
            &self.tree,
            PairRule::OverlapMin,
            boxes,
            &[],
            &mut self.found,
        );
        self.found.len()
    }
}

#[derive(Default)]
struct Hierarchy {
    tree: Bvh,
    workspace: BvhWorkspace,
}

impl BroadPhase for Hierarchy {
    fn name(&self) -> &'static str {
        "hierarchy (Parry)"
    }

    fn pairs(&mut self, boxes: &[Aabb]) -> usize {
        for (body, aabb) in boxes.iter().enumerate() {
            let aabb = ParryAabb::new(aabb.min, aabb.max);
            self.tree
                .insert_or_update_partially(aabb, body as u32, MARGIN);
        }
        self.tree.refit(&mut self.workspace);
        self.tree.optimize_incremental(&mut self.workspace);
        let mut found = 0;
        self.tree
            .traverse_bvtt_single_tree::<false>(&mut self.workspace, &mut |a, b| {
                found += usize::from(boxes[a as usize].touches(&boxes[b as usize]));
            });
        found
    }
}

#[derive(Default)]
struct Sweep {
    order: Vec<u32>,
}

impl BroadPhase for Sweep {
    fn name(&self) -> &'static str {
        "sort and sweep"
    }

    fn pairs(&mut self, boxes: &[Aabb]) -> usize {
        if self.order.is_empty() {
            self.order = (0..boxes.len() as u32).collect();
        }
        // Nearly sorted already: cheap.
        self.order.sort_by(|a, b| {
            boxes[*a as usize]
                .min
                .x
                .total_cmp(&boxes[*b as usize].min.x)
        });
        let mut found = 0;
        for (index, a) in self.order.iter().enumerate() {
            let first = &boxes[*a as usize];
            for b in &self.order[index + 1..] {
                let second = &boxes[*b as usize];
                if second.min.x > first.max.x {
                    break;
                }
                found += usize::from(first.touches(second));
            }
        }
        found
    }
}

fn main() {
    let iterations: usize = std::env::args()
        .nth(1)
        .map_or(Ok(200), |text| text.parse())
        .unwrap_or_else(|_| {
            eprintln!("usage: broad_phase [ITERATIONS]");
            std::process::exit(2);
        });
    let unit = (0.5, 0.5);
    let mut scenes = [
        Scene::new("1,000 cubes, 0.44 %", 1_000, 0.0044, unit, 0.0, 0.0),
        Scene::new("5,000 cubes, 0.44 %", 5_000, 0.0044, unit, 0.0, 0.0),
        Scene::new("5,000 cubes, 10 %", 5_000, 0.1, unit, 0.0, 0.0),
        Scene::new(
            "5,000, half of them in a corner",
            5_000,
            0.0044,
            unit,
            0.0,
            0.5,
        ),
        Scene::new("5,000, sizes 1 to 20", 5_000, 0.0044, (0.05, 1.0), 0.0, 0.0),
        Scene::new("5,000, 95 % at rest", 5_000, 0.0044, unit, 0.95, 0.0),
    ];
    println!(
        "{:<34} {:<20} {:>10} {:>9}",
        "scene", "broad phase", "us/iter", "pairs"
    );
    for scene in &mut scenes {
        let mut phases: Vec<(Box<dyn BroadPhase>, Vec<f64>, usize)> = vec![
            (Box::new(Subdivision::new(scene)), Vec::new(), 0),
            (Box::new(Hierarchy::default()), Vec::new(), 0),
            (Box::new(Sweep::default()), Vec::new(), 0),
        ];
        for _ in 0..iterations {
            scene.step();
            for (phase, times, pairs) in &mut phases {
                let start = ThreadTime::now();
                *pairs = phase.pairs(&scene.boxes);
                times.push(start.elapsed().as_secs_f64() * 1e6);
            }
            assert!(
                phases.iter().all(|(_, _, pairs)| *pairs == phases[0].2),
                "all find the same"
            );
        }
        for (phase, mut times, pairs) in phases {
            times.sort_by(f64::total_cmp);
            println!(
                "{:<34} {:<20} {:>10.1} {:>9}",
                scene.name,
                phase.name(),
                times[times.len() / 2],
                pairs
            );
        }
    }
}
