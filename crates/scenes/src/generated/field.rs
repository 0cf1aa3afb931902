//! Many small things beside each other that have nothing to do with each other: what fixed auras weld into one.

use super::writer::{Head, Rows, Volume, Writer};
use domain::{Layout, Rect};

/// A field of 800 x 800 stacks, with the balls within what a scene may hold.
pub(super) const MOST_STACKS: usize = 640_000;
/// From stack to stack.
const APART_M: f64 = 8.0;
const STOREYS: usize = 5;
const SECONDS: f64 = 10.0;
/// Balls per second for each stack: 400 for 10,000.
const RATE_PER_STACK: f64 = 0.04;
/// About how wide a region is, unless the run says how many there are.
const REGION_M: f64 = 100.0;
/// The most regions along one side: 32 x 32 is all there may be.
const MOST_ALONG: f64 = 32.0;

/// So many stacks on a square, the last row perhaps not full.
pub(super) fn field(stacks: usize) -> String {
    let along = stacks.isqrt() + usize::from(stacks.isqrt().pow(2) < stacks);
    let half = 0.5 * APART_M * along as f64;
    let world = Rect {
        min: [-half; 2],
        max: [half; 2],
    };
    let regions = (2.0 * half / REGION_M).round().clamp(2.0, MOST_ALONG) as usize;
    let mut writer = Writer::new(&Head {
        name: &format!("field-{stacks}"),
        comment: &format!(
            "{stacks} stacks of {STOREYS} boxes, {APART_M} m apart, balls raining on them.\n\
             Expect: every server has its own stacks; none moves because of another that it cannot touch."
        ),
        seconds: SECONDS,
        world,
        layout: Layout::Grid,
        servers: regions * regions,
    });
    writer.plane("");
    let first = -half + 0.5 * APART_M;
    let (full, rest) = (stacks / along, stacks % along);
    for (count, row, rows) in [(along, 0, full), (rest, full, 1)] {
        if count == 0 || rows == 0 {
            continue;
        }
        let rows = Rows {
            origin: [first, 0.5, first + APART_M * row as f64],
            count: [count, STOREYS, rows],
            spacing: [APART_M, 1.0, APART_M],
        };
        writer.grid("{ type = \"cuboid\", size = [1, 1, 1] }", &rows, "");
    }
    let above = Volume {
        min: [-half, 15.0, -half],
        max: [half, 35.0, half],
    };
    // One ball at least, however small the field.
    let rate = (RATE_PER_STACK * stacks as f64).max(1.0 / SECONDS);
    let balls = "velocity_min = [-5, -10, -5]\nvelocity_max = [5, 0, 5]\n\
        shapes = [{ type = \"sphere\", radius = 0.3 }]";
    writer.injector(&above, rate, balls);
    writer.finish()
}

#[cfg(test)]
mod tests {
    use crate::generated::Generated;
    use std::collections::BTreeSet;

    #[test]
    fn stacks_stand_eight_metres_apart() {
        for stacks in [1, 2, 7, 9, 10, 100, 1000] {
            let scene = Generated::Field(stacks).scene();
            assert_eq!(scene.bodies.len(), 5 * stacks);
            let places = scene.bodies.iter().map(|body| body.motion.position);
            let ground: BTreeSet<[i64; 2]> = places.map(|p| [p.x as i64, p.z as i64]).collect();
            assert_eq!(ground.len(), stacks);
            assert!(scene.warnings().is_empty(), "{:?}", scene.warnings());
            assert!(!scene.spawns(1).is_empty());
        }
    }

    /// The field of the issue: 10,000 stacks on 64 servers, 400 balls/s.
    #[test]
    fn the_large_field_is_cut_for_64_servers() {
        let scene = Generated::Field(10_000).scene();
        assert_eq!(scene.regions.servers, 64);
        assert_eq!(scene.injectors[0].rate, 400.0);
        assert_eq!(scene.world.size(), [800.0, 800.0]);
    }
}
