//! Worlds in which most things rest, and one so large that most things must.
//!
//! Boxes are set down exactly on the ground and sleep as soon as the engine lets them. The ground is without
//! friction, so a box that is given a velocity glides on for ever: the same box in the same contact, awake. Gliders
//! keep to the lanes between the rows.

use super::writer::{Head, Rows, Volume, Writer};
use domain::{Layout, Rect, RegionMap};

const SLIPPERY: &str = "friction = 0.0";
const BOX: &str = "{ type = \"cuboid\", size = [0.6, 0.6, 0.6] }";
const BOX_HALF_M: f64 = 0.3;
const SECONDS: f64 = 10.0;

/// Boxes along each side of the world of `rest`, and how far apart.
const ALONG: usize = 80;
const APART_M: f64 = 3.0;
/// Gliders in a square in the middle of each region: far from every border.
const GLIDERS: usize = 4;

fn gliding(velocity: [f64; 3]) -> String {
    format!("{SLIPPERY}\nvelocity = {velocity:?}")
}

/// 6,400 boxes on four regions, and 64 gliders; or all of them gliding.
pub(super) fn rest(awake: bool) -> String {
    let half = 0.5 * APART_M * ALONG as f64;
    let world = Rect {
        min: [-half; 2],
        max: [half; 2],
    };
    let (name, what) = match awake {
        false => (
            "rest",
            "99 in 100 of them asleep after a few seconds.\nExpect: next to no work, and nothing between servers.",
        ),
        true => (
            "rest-awake",
            "all of them gliding at 1 m/s.\nExpect: much more work than in `rest`.",
        ),
    };
    let mut writer = Writer::new(&Head {
        name,
        comment: &format!("6,464 boxes on the ground, {what}"),
        seconds: SECONDS,
        world,
        layout: Layout::Grid,
        servers: 4,
    });
    writer.plane(SLIPPERY);
    let first = -half + 0.5 * APART_M;
    let boxes = Rows {
        origin: [first, BOX_HALF_M, first],
        count: [ALONG, 1, ALONG],
        spacing: [APART_M, 1.0, APART_M],
    };
    let glide = gliding([1.0, 0.0, 0.0]);
    writer.grid(BOX, &boxes, if awake { &glide } else { SLIPPERY });
    for x in [-0.5 * half, 0.5 * half] {
        for z in [-0.5 * half, 0.5 * half] {
            // Half a row beside the boxes: in the lane.
            let gliders = Rows {
                origin: [x, BOX_HALF_M, z],
                count: [GLIDERS, 1, GLIDERS],
                spacing: [APART_M, 1.0, APART_M],
            };
            writer.grid(BOX, &gliders, &glide);
        }
    }
    writer.finish()
}

/// Regions along each side of the large world: 256 in all.
const MEGA_REGIONS: usize = 16;
const MEGA_REGION_M: f64 = 240.0;
const MEGA_APART_M: f64 = 4.0;
/// Gliders along each side of a square at the low corner of each region: many of them are beside its borders.
const MEGA_GLIDERS: usize = 21;
/// Balls per second and region.
const MEGA_RAIN: f64 = 1.0;

/// 921,600 boxes, 112,896 gliders, and 2,560 balls that fall among them.
pub(super) fn megaworld() -> String {
    let half = 0.5 * MEGA_REGION_M * MEGA_REGIONS as f64;
    let world = Rect {
        min: [-half; 2],
        max: [half; 2],
    };
    let servers = MEGA_REGIONS * MEGA_REGIONS;
    let mut writer = Writer::new(&Head {
        name: "megaworld",
        comment: "A million boxes on the ground, one in ten of them gliding at 3 m/s, in a thin rain of balls.\n\
                  Expect: each server works for what moves, not for what is there.",
        seconds: SECONDS,
        world,
        layout: Layout::Grid,
        servers,
    });
    writer.plane(SLIPPERY);
    let along = (2.0 * half / MEGA_APART_M) as usize;
    let first = -half + 0.5 * MEGA_APART_M;
    let boxes = Rows {
        origin: [first, BOX_HALF_M, first],
        count: [along, 1, along],
        spacing: [MEGA_APART_M, 1.0, MEGA_APART_M],
    };
    writer.grid(BOX, &boxes, SLIPPERY);
    let map = RegionMap::build(Layout::Grid, servers, world).expect("a square of squares");
    for region in map.regions() {
        let Rect { min, max } = map.finite_rect(region);
        // The lanes lie at whole multiples of the distance, the boxes half of it beside.
        let gliders = Rows {
            origin: [min[0] + MEGA_APART_M, BOX_HALF_M, min[1] + MEGA_APART_M],
            count: [MEGA_GLIDERS, 1, MEGA_GLIDERS],
            spacing: [MEGA_APART_M, 1.0, MEGA_APART_M],
        };
        writer.grid(BOX, &gliders, &gliding([3.0, 0.0, 0.0]));
        let above = Volume {
            min: [min[0], 10.0, min[1]],
            max: [max[0], 20.0, max[1]],
        };
        let balls = "velocity_min = [-5, -5, -5]\nvelocity_max = [5, 0, 5]\n\
            shapes = [{ type = \"sphere\", radius = 0.3 }]";
        writer.injector(&above, MEGA_RAIN, balls);
    }
    writer.finish()
}
