//! The subdivision of space (ST-1 to ST-3, ST-6 to ST-9).

use detection::{Aabb, Limits, LimitsError, PairRule, Plan, Tree, pairs, tree::Rooms};
use glam::Vec3;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use smallvec::SmallVec;

const WORLD: Aabb = Aabb {
    min: Vec3::new(-32.0, -32.0, -32.0),
    max: Vec3::new(32.0, 32.0, 32.0),
};

fn subdivided(limits: Limits) -> Tree {
    let mut tree = Tree::alone(WORLD, limits).expect("valid");
    tree.subdivide();
    tree.refresh();
    tree
}

/// Limits that forbid nothing a test does not ask for.
fn loose() -> Limits {
    Limits {
        min_size: 1e-3,
        max_depth: 60,
        max_leaves: usize::MAX,
        ..Limits::default()
    }
}

fn random_point(rng: &mut Pcg64Mcg, reach: f32) -> Vec3 {
    Vec3::from_array(std::array::from_fn(|_| rng.random_range(-reach..reach)))
}

/// ST-1: each of the three limits alone ends the cutting; cuts halve the longest axis.
#[test]
fn st_1_size_depth_and_number_each_end_the_cutting() {
    let by_size = subdivided(Limits {
        min_size: 16.0,
        ..loose()
    });
    assert_eq!((by_size.len(), by_size.shortest_side()), (64, 16.0));
    let by_depth = subdivided(Limits {
        max_depth: 4,
        ..loose()
    });
    assert_eq!((by_depth.len(), by_depth.depth()), (16, 4));
    let by_number = subdivided(Limits {
        max_leaves: 10,
        ..loose()
    });
    assert_eq!(by_number.len(), 10);
    // x, y, z in turn: after two cuts the leaves are 32 × 32 × 64.
    let twice = subdivided(Limits {
        max_depth: 2,
        ..loose()
    });
    let inner: Vec<_> = twice.leaves().map(|leaf| leaf.cell).collect();
    assert!(inner.iter().all(|cell| cell.min.z == f32::NEG_INFINITY));
    assert_eq!(inner[0].max.x, 0.0);
    assert_eq!(inner[0].max.y, 0.0);
}

/// ST-2: every point, also on a cut and outside the world, is in exactly one leaf.
#[test]
fn st_2_every_point_is_in_one_leaf() {
    let tree = subdivided(Limits {
        min_size: 4.0,
        ..loose()
    });
    let mut rng = Pcg64Mcg::seed_from_u64(2);
    for round in 0..20_000 {
        let mut point = random_point(&mut rng, 40.0);
        if round % 2 == 0 {
            point = (point / 4.0).round() * 4.0;
        }
        let homes = tree.leaves().filter(|leaf| leaf.cell.holds(point)).count();
        assert_eq!(homes, 1, "{point}");
    }
}

/// ST-3: a body is in exactly the leaves its box reaches, and in at most 8 if no leaf is smaller than it.
#[test]
fn st_3_a_body_is_in_every_leaf_it_reaches_and_in_at_most_eight() {
    let tree = subdivided(Limits {
        min_size: 4.0,
        ..loose()
    });
    let mut rng = Pcg64Mcg::seed_from_u64(3);
    let mut most = 0;
    for _ in 0..5_000 {
        let half = Vec3::from_array(std::array::from_fn(|_| rng.random_range(0.1..2.0)));
        let aabb = Aabb::around(random_point(&mut rng, 34.0), half);
        let (mut rooms, mut remotes) = (Rooms::new(), SmallVec::new());
        tree.reach(&aabb, &mut rooms, &mut remotes);
        let reached = tree.leaves().filter(|leaf| leaf.cell.reached_by(&aabb));
        assert_eq!(reached.count(), rooms.len());
        most = most.max(rooms.len());
    }
    assert_eq!(most, 8, "a body at a corner is in eight");
}

/// Bodies in a tree, as a node keeps them.
struct Crowd {
    tree: Tree,
    boxes: Vec<Aabb>,
    rooms: Vec<Rooms>,
}

impl Crowd {
    fn new(limits: Limits) -> Self {
        Self {
            tree: Tree::alone(WORLD, limits).expect("valid"),
            boxes: Vec::new(),
            rooms: Vec::new(),
        }
    }

    fn add(&mut self, aabb: Aabb, is_static: bool) {
        let body = self.boxes.len() as u32;
        self.boxes.push(aabb);
        self.rooms.push(Rooms::new());
        let rooms = &mut self.rooms[body as usize];
        self.tree.insert(body, &aabb, is_static, rooms);
    }

    fn step(&mut self) {
        for body in 0..self.boxes.len() {
            self.tree
                .update(body as u32, &self.boxes[body], &mut self.rooms[body]);
        }
        self.tree.adapt(&self.boxes, &mut self.rooms);
        self.tree.refresh();
    }

    /// What a body's list of leaves says and what the leaves' lists say is the same.
    fn check(&self) {
        let listed: usize = (self.tree.leaves())
            .map(|leaf| leaf.bodies.len() + leaf.statics.len())
            .sum();
        assert_eq!(listed, self.rooms.iter().map(|rooms| rooms.len()).sum());
        for leaf in self.tree.leaves() {
            for &body in leaf.bodies.iter().chain(&leaf.statics) {
                assert!(leaf.cell.reached_by(&self.boxes[body as usize]));
            }
        }
        for aabb in &self.boxes {
            let leaves = self.tree.leaves();
            let reached = leaves.filter(|leaf| leaf.cell.reached_by(aabb)).count();
            assert!(reached > 0);
        }
    }
}

/// ST-6: more than six are cut, fewer than four mended, in between nothing happens; nothing oscillates while nothing moves.
#[test]
fn st_6_leaves_are_cut_and_mended_with_hysteresis() {
    let upside_down = Limits {
        split_above: 4,
        merge_below: 4,
        ..Limits::default()
    };
    assert_eq!(
        Tree::alone(WORLD, upside_down).err(),
        Some(LimitsError::NoHysteresis {
            split_above: 4,
            merge_below: 4
        })
    );
    let mut crowd = Crowd::new(Limits::default());
    let mut rng = Pcg64Mcg::seed_from_u64(6);
    for count in 1..=6 {
        crowd.add(
            Aabb::around(random_point(&mut rng, 30.0), Vec3::splat(0.2)),
            false,
        );
        crowd.step();
        assert_eq!(crowd.tree.len(), 1, "{count} are not too many");
    }
    crowd.add(Aabb::around(Vec3::splat(9.0), Vec3::splat(0.2)), false);
    crowd.step();
    assert!(crowd.tree.len() > 1, "seven are");
    for _ in 0..400 {
        crowd.add(
            Aabb::around(random_point(&mut rng, 31.0), Vec3::splat(0.2)),
            false,
        );
    }
    crowd.step();
    crowd.check();
    let (leaves, rebuilds) = (crowd.tree.len(), crowd.tree.rebuilds());
    for _ in 0..50 {
        crowd.step();
    }
    // ST-7: the flat list is made again only if the tree changes.
    assert_eq!(
        (crowd.tree.len(), crowd.tree.rebuilds()),
        (leaves, rebuilds)
    );
    // Everyone gathers in one corner: the rest of the world is mended.
    for aabb in &mut crowd.boxes {
        *aabb = Aabb::around(aabb.centre() * 0.02 - Vec3::splat(25.0), Vec3::splat(0.2));
    }
    for _ in 0..4 {
        crowd.step();
        crowd.check();
    }
    assert!(
        crowd.tree.len() < leaves / 2,
        "{} of {leaves}",
        crowd.tree.len()
    );
}

/// ST-6, at the very edge: seven are cut, and the two halves stay apart with six, five and four; three are fewer than four.
#[test]
fn st_6_four_stay_apart_and_three_are_mended() {
    let mut crowd = Crowd::new(Limits::default());
    for body in 0..7 {
        // Four on one side of the first cut, three on the other, none on both.
        let side = if body < 4 { -1.0 } else { 1.0 };
        let at = Vec3::new(10.0 * side, 4.0 * body as f32 - 14.0, 5.0);
        crowd.add(Aabb::around(at, Vec3::splat(0.2)), false);
    }
    crowd.step();
    assert_eq!(crowd.tree.len(), 2, "seven are too many");
    for left in [6, 5, 4, 3] {
        // Now from this side, now from that one: what counts is how many are in both.
        let body = if left % 2 == 0 { left / 2 } else { left + 1 };
        crowd
            .tree
            .remove(body as u32, &mut crowd.rooms[body as usize]);
        crowd.tree.adapt(&crowd.boxes, &mut crowd.rooms);
        crowd.tree.refresh();
        let leaves = if left < 4 { 1 } else { 2 };
        assert_eq!(crowd.tree.len(), leaves, "{left} are left");
    }
}

/// ST-6: a random walk keeps all lists right.
#[test]
fn st_6_lists_stay_right_while_everything_moves() {
    let mut rng = Pcg64Mcg::seed_from_u64(66);
    let mut crowd = Crowd::new(Limits::default());
    for _ in 0..300 {
        let half = rng.random_range(0.1..0.5);
        crowd.add(
            Aabb::around(random_point(&mut rng, 31.0), Vec3::splat(half)),
            false,
        );
    }
    for _ in 0..150 {
        for aabb in &mut crowd.boxes {
            let shift = random_point(&mut rng, 1.5);
            *aabb = Aabb {
                min: aabb.min + shift,
                max: aabb.max + shift,
            };
        }
        crowd.step();
        crowd.check();
    }
}

/// ST-7: a plan's local root is found directly, and the leaves below remote vertices are no leaves of ours.
#[test]
fn st_7_only_local_leaves_are_in_the_list() {
    let plan = Plan::Cut {
        axis: 0,
        at: 0.0,
        sides: Box::new([Plan::Remote(4), Plan::Mine]),
    };
    let mut tree = Tree::new(
        WORLD,
        &plan,
        Limits {
            max_depth: 5,
            ..loose()
        },
    )
    .expect("valid");
    tree.subdivide();
    tree.refresh();
    assert_eq!(tree.len(), 16);
    assert!(tree.leaves().all(|leaf| leaf.cell.min.x >= 0.0));
    assert_eq!(tree.local_cell().map(|cell| cell.min.x), Some(0.0));
}

/// ST-19: the short walk that asks only whose part a box reaches gives the same owners as the one that sorts it in.
#[test]
fn st_19_the_owners_that_a_box_reaches() {
    let cut = |axis, at, low, high| Plan::Cut {
        axis,
        at,
        sides: Box::new([low, high]),
    };
    let left = cut(1, -3.0, Plan::Remote(4), Plan::Remote(2));
    let right = cut(2, 5.0, Plan::Mine, Plan::Remote(4));
    let limits = Limits {
        max_depth: 8,
        ..loose()
    };
    let mut tree = Tree::new(WORLD, &cut(0, 0.0, left, right), limits).expect("valid");
    tree.subdivide();
    tree.refresh();
    let mut rng = Pcg64Mcg::seed_from_u64(19);
    let mut several = 0;
    for body in 0..10_000 {
        // It was sorted where it is, or, for half of them, near by: the walk may begin where the last one ended.
        let half = Vec3::splat(rng.random_range(0.1..6.0));
        let sorted = Aabb::around(random_point(&mut rng, 31.0), half);
        tree.insert(body, &sorted, false, &mut Rooms::new());
        let grown = if body < 5_000 { 0.0 } else { 2.0 };
        let aabb = sorted.grown(Vec3::splat(grown));
        let (mut rooms, mut remotes, mut owners) = (Rooms::new(), SmallVec::new(), SmallVec::new());
        tree.reach(&aabb, &mut rooms, &mut remotes);
        let local = tree.reach_owners(body, &aabb, &mut owners);
        assert_eq!(local, !rooms.is_empty());
        remotes.sort_unstable();
        owners.sort_unstable();
        assert_eq!(owners, remotes);
        several += u32::from(owners.len() == 2 && local);
    }
    assert!(several > 50, "{several}");
}

/// ST-8: scenery is sorted in once; cutting and mending hands it on, nothing inserts it again.
#[test]
fn st_8_scenery_is_inserted_once() {
    let mut crowd = Crowd::new(Limits::default());
    let floor = Aabb::around(Vec3::Y * -30.0, Vec3::new(100.0, 1.0, 100.0));
    let body = crowd.boxes.len() as u32;
    crowd.boxes.push(floor);
    crowd.rooms.push(Rooms::new());
    crowd.tree.insert(body, &floor, true, &mut crowd.rooms[0]);
    let mut rng = Pcg64Mcg::seed_from_u64(8);
    for _ in 0..200 {
        crowd.add(
            Aabb::around(random_point(&mut rng, 31.0), Vec3::splat(0.3)),
            false,
        );
    }
    for _ in 0..10 {
        // `update` is for what moves; the floor is not among it.
        for body in 1..crowd.boxes.len() {
            crowd.boxes[body] = Aabb::around(random_point(&mut rng, 31.0), Vec3::splat(0.3));
            let rooms = &mut crowd.rooms[body];
            crowd.tree.update(body as u32, &crowd.boxes[body], rooms);
        }
        crowd.tree.adapt(&crowd.boxes, &mut crowd.rooms);
        crowd.tree.refresh();
    }
    assert_eq!(crowd.tree.static_insertions(), 1);
    let with_floor = crowd.tree.leaves().filter(|leaf| !leaf.statics.is_empty());
    let reached = crowd
        .tree
        .leaves()
        .filter(|leaf| leaf.cell.reached_by(&floor));
    assert_eq!(with_floor.count(), reached.count());
}

/// Comparisons of boxes with `n` point-like bodies placed by `place` in a static subdivision.
fn comparisons(leaves: usize, points: &[Vec3]) -> u64 {
    let mut tree = Tree::alone(
        WORLD,
        Limits {
            max_leaves: leaves,
            split_above: usize::MAX,
            merge_below: 0,
            ..loose()
        },
    )
    .expect("valid");
    tree.subdivide();
    let boxes: Vec<Aabb> = (points.iter())
        .map(|point| Aabb::around(*point, Vec3::ZERO))
        .collect();
    let mut rooms = vec![Rooms::new(); boxes.len()];
    for (body, aabb) in boxes.iter().enumerate() {
        tree.insert(body as u32, aabb, false, &mut rooms[body]);
    }
    tree.refresh();
    let mut found = Vec::new();
    pairs::candidates(&tree, PairRule::OverlapMin, &boxes, points, &mut found).compared
}

/// ST-9: n bodies, n/s in each of s leaves: (n² − ns) / 2s comparisons. (The thesis's own examples, 50 and 450, do not divide evenly.)
#[test]
fn st_9_the_cost_of_even_placement() {
    for (n, s, expected) in [(96_usize, 32_usize, 96), (128, 16, 448), (64, 64, 0)] {
        assert_eq!((n * n - n * s) / (2 * s), expected);
        let mut tree = Tree::alone(
            WORLD,
            Limits {
                max_leaves: s,
                ..loose()
            },
        )
        .expect("valid");
        tree.subdivide();
        tree.refresh();
        let inside = |leaf: &detection::tree::Leaf| {
            let min = leaf.cell.min.max(WORLD.min);
            let max = leaf.cell.max.min(WORLD.max);
            (min + max) * 0.5
        };
        let centres: Vec<Vec3> = tree.leaves().map(inside).collect();
        let points: Vec<Vec3> = (0..n)
            .map(|i| centres[i % s] + Vec3::splat(1e-3 * (i / s) as f32))
            .collect();
        assert_eq!(comparisons(s, &points), expected as u64);
    }
}

/// ST-9: placed at random it is n(n − 1) / 2s on average, not the thesis's (n² − ns) / 2s.
#[test]
fn st_9_the_cost_of_random_placement() {
    let (n, s, rounds) = (100.0, 32.0, 400);
    let mut rng = Pcg64Mcg::seed_from_u64(9);
    let total: u64 = (0..rounds)
        .map(|_| {
            let points: Vec<Vec3> = (0..100).map(|_| random_point(&mut rng, 32.0)).collect();
            comparisons(32, &points)
        })
        .sum();
    let mean = total as f64 / f64::from(rounds);
    let (random, even) = (n * (n - 1.0) / (2.0 * s), (n * n - n * s) / (2.0 * s));
    assert!(
        (mean - random).abs() < 0.03 * random,
        "{mean} against {random}"
    );
    assert!(mean > 1.2 * even);
}
