//! Crowds that do not come to rest: the same in each of many regions, or all of them where it hurts most.
//!
//! What bounces does it for long: it is elastic and slides, and so are ground and walls.

use super::writer::{Head, Rows, Volume, Writer};
use domain::{Layout, Rect, RegionMap};

const SECONDS: f64 = 20.0;
pub(super) const ELASTIC: &str = "friction = 0.0\nrestitution = 1.0";
/// The crowd is there after so long: before anything has bounced, so that nobody appears inside another.
pub(super) const FILLED_AFTER_S: f64 = 0.25;
/// Nothing flies over.
pub(super) const WALL_M: f64 = 60.0;
/// What bounces, drawn at random.
pub(super) const SHAPES: [&str; 3] = [
    "{ type = \"sphere\", radius = 0.3 }",
    "{ type = \"cuboid\", size = [0.5, 0.5, 0.5] }",
    "{ type = \"capsule\", radius = 0.25, height = 1.0 }",
];

/// What bounces: up to so many metres per second along each axis.
fn bouncing(speed: f64) -> String {
    let [low, high] = [[-speed; 3], [speed, 0.0, speed]];
    let shapes = SHAPES.join(",\n    ");
    format!(
        "until = {FILLED_AFTER_S:?}\nvelocity_min = {low:?}\nvelocity_max = {high:?}\n{ELASTIC}\n\
         shapes = [\n    {shapes},\n]"
    )
}

/// The side of a region of a `weak` scene.
const WEAK_M: f64 = 60.0;
/// Boxes that stand along each side of a region, and how far apart.
const STANDING: (usize, f64) = (14, 4.0);
const BOUNCING: usize = 204;

/// So many regions, each with 196 boxes on the ground and 204 bodies that bounce among them.
pub(super) fn weak(regions: usize) -> String {
    // The shape of the grid decides the shape of the world: every region is a square, or nearly.
    let across = regions.isqrt().max(1);
    let short = (1..=across)
        .rev()
        .find(|n| regions.is_multiple_of(*n))
        .unwrap_or(1);
    let squares = if regions / short > 3 * short {
        let side = (regions as f64).sqrt();
        [side, side]
    } else {
        [(regions / short) as f64, short as f64]
    };
    let half = squares.map(|count| 0.5 * WEAK_M * count);
    let world = Rect {
        min: half.map(|half| -half),
        max: half,
    };
    let mut writer = Writer::new(&Head {
        name: &format!("weak-{regions}"),
        comment: &format!(
            "{regions} region(s) with the same crowd in each: 196 boxes on the ground, {BOUNCING} bodies that bounce.\n\
             Expect: however many servers, each has the same work."
        ),
        seconds: SECONDS,
        world,
        layout: Layout::Grid,
        servers: regions,
    });
    writer.plane(ELASTIC);
    writer.walls(world, WALL_M, ELASTIC);
    let map = RegionMap::build(Layout::Grid, regions, world).expect("a number that was checked");
    for region in map.regions() {
        let Rect { min, max } = map.finite_rect(region);
        let (count, apart) = STANDING;
        let spacing = [0, 1].map(|i| apart * (max[i] - min[i]) / WEAK_M);
        let first =
            [0, 1].map(|i| min[i] + 0.5 * ((max[i] - min[i]) - spacing[i] * (count - 1) as f64));
        let rows = Rows {
            origin: [first[0], 0.3, first[1]],
            count: [count, 1, count],
            spacing: [spacing[0], 1.0, spacing[1]],
        };
        writer.grid(
            "{ type = \"cuboid\", size = [0.6, 0.6, 0.6] }",
            &rows,
            "friction = 0.5\nrestitution = 0.5",
        );
        let above = Volume {
            min: [min[0] + 1.0, 3.0, min[1] + 1.0],
            max: [max[0] - 1.0, 12.0, max[1] - 1.0],
        };
        writer.injector(&above, BOUNCING as f64 / FILLED_AFTER_S, &bouncing(5.0));
    }
    writer.finish()
}

/// Half the world's side.
const WORST_HALF_M: f64 = 100.0;
/// How far the trench reaches on each side of a border.
const TRENCH_M: f64 = 6.0;
const IN_EACH_ARM: usize = 250;

/// Four regions, and a trench along their borders in which everything bounces.
///
/// ```text
///  ▓▓▓▓│·│▓▓▓▓      ▓ solid      │·│ the trench: six metres on each side of a border
///  ────┘·└────
///   · · ·│· · ·
///  ────┐·┌────
///  ▓▓▓▓│·│▓▓▓▓
/// ```
pub(super) fn worst() -> String {
    let world = Rect {
        min: [-WORST_HALF_M; 2],
        max: [WORST_HALF_M; 2],
    };
    let mut writer = Writer::new(&Head {
        name: "worst",
        comment: "Everything is within six metres of a border, moves, and cannot leave: a cross-shaped trench.\n\
                  Expect: four servers still share the work.",
        seconds: SECONDS,
        world,
        layout: Layout::Grid,
        servers: 4,
    });
    writer.plane(ELASTIC);
    writer.walls(world, WALL_M, ELASTIC);
    let sides = [[-WORST_HALF_M, -TRENCH_M], [TRENCH_M, WORST_HALF_M]];
    for [x0, x1] in sides {
        for [z0, z1] in sides {
            writer.block([x0, 0.0, z0], [x1, WALL_M, z1], ELASTIC);
        }
    }
    for [from, to] in sides.map(|side| [side[0] + 1.0, side[1] - 1.0]) {
        let across = TRENCH_M - 1.0;
        let arms = [
            ([from, -across], [to, across]),
            ([-across, from], [across, to]),
        ];
        for ([x0, z0], [x1, z1]) in arms {
            let volume = Volume {
                min: [x0, 3.0, z0],
                max: [x1, 10.0, z1],
            };
            writer.injector(&volume, IN_EACH_ARM as f64 / FILLED_AFTER_S, &bouncing(4.0));
        }
    }
    writer.finish()
}
