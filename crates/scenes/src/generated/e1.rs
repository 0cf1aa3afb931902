//! The scalability experiments of the aura thesis (5.1) at their published size.
//!
//! ```text
//!   column 0      column 1      column 2          from above; regions of 100 m, borders │
//!  ┌──────────┬─────────────┬──────────┐
//!  │        ▒▒│▒▒         ▒▒│▒▒        │          ▒ boundary volumes: 20 x 20 x 150 m, 2 to 22 m from
//!  │   ▓▓   ▒▒│▒▒   ▓▓    ▒▒│▒▒   ▓▓   │            the border, from 15 to 35 m above the ground
//!  │   ▓▓   ▒▒│▒▒   ▓▓    ▒▒│▒▒   ▓▓   │          ▓ centre volumes: 20 x 20 x 20 m, as high
//!  │        ▒▒│▒▒         ▒▒│▒▒        │
//!  └──────────┴─────────────┴──────────┘
//! ```
//!
//! The total rate is 160 bodies/s whatever the number of servers, every server has the same share of it, and
//! half of a server's share falls into its boundary volumes. Nothing is removed: 9,600 bodies at the end (up to one
//! less per volume, where a volume's share of them is no whole number).
//!
//! What the published text leaves open is ours: how deep the columns are (200 m, so that the volumes of 150 m and
//! the flight of what falls from their ends fit), the walls around the world, the side of a region in the
//! corner layouts (150 m, so that a volume lies along the whole of a border), and what one server without any
//! border gets: the volumes of an inner column, which has a border on either side.

use super::writer::{Head, Volume, Writer};
use domain::{Layout, Rect, RegionMap};

/// Bodies per second in the whole world.
const RATE: f64 = 160.0;
const SECONDS: f64 = 60.0;
/// Above the highest volume, and no body starts upwards: nothing flies over.
const WALL_M: f64 = 40.0;
const COLUMN_WIDTH_M: f64 = 100.0;
const COLUMN_DEPTH_M: f64 = 200.0;
/// How far a boundary volume begins and ends from its border.
const BESIDE_M: [f64; 2] = [2.0, 22.0];
const LENGTH_M: f64 = 150.0;
/// Half the side of a centre volume.
const CENTRE_HALF_M: f64 = 10.0;
const BOTTOM_M: f64 = 15.0;
const TOP_M: f64 = 35.0;

/// The side of a region where regions meet at corners.
const SQUARE_M: f64 = 150.0;
/// How many regions may meet at corners: the thesis's three layouts and larger squares.
pub(super) const CORNERS: [usize; 5] = [3, 4, 9, 16, 36];

/// What falls (thesis 5.1): shapes drawn at random, and their first velocities.
const FALLING: &str = "\
velocity_min = [-10, -10, -10]
velocity_max = [10, 0, 10]
shapes = [
    { type = \"sphere\", radius = 0.3 },
    { type = \"cuboid\", size = [0.3, 0.3, 1.0] },
    { type = \"capsule\", radius = 0.3, height = 2.0 },
]";

/// E1 for so many columns.
pub(super) fn columns(columns: usize) -> String {
    let half = 0.5 * COLUMN_WIDTH_M * columns as f64;
    let world = Rect {
        min: [-half, -0.5 * COLUMN_DEPTH_M],
        max: [half, 0.5 * COLUMN_DEPTH_M],
    };
    let comment = format!(
        "E1 of the aura thesis (5.1) for {columns} column(s): {RATE} bodies/s in all for {SECONDS} s, half of them in\n\
         volumes beside the borders, half in the middle of the regions; 9,600 bodies at the end.\n\
         Expect: more servers, less work for the busiest."
    );
    write(
        &format!("e1-columns-{columns}"),
        &comment,
        world,
        Layout::Columns,
        columns,
    )
}

/// E2: three regions in a T junction, or a square of squares.
pub(super) fn corners(regions: usize) -> String {
    let (layout, across) = match regions {
        3 => (Layout::ThesisThree, 2),
        squares => (Layout::Grid, squares.isqrt()),
    };
    let half = 0.5 * SQUARE_M * across as f64;
    let world = Rect {
        min: [-half; 2],
        max: [half; 2],
    };
    let comment = format!(
        "E2 of the aura thesis (5.1) for {regions} regions that meet at corners: {RATE} bodies/s in all for\n\
         {SECONDS} s, half of them in volumes beside the borders, half in the middle of the regions.\n\
         Expect: more servers, less work for the busiest, also where one has eight neighbours."
    );
    write(
        &format!("e1-corners-{regions}"),
        &comment,
        world,
        layout,
        regions,
    )
}

fn write(name: &str, comment: &str, world: Rect, layout: Layout, servers: usize) -> String {
    let mut writer = Writer::new(&Head {
        name,
        comment,
        seconds: SECONDS,
        world,
        layout,
        servers,
    });
    writer.plane("");
    writer.walls(world, WALL_M, "");
    let map = RegionMap::build(layout, servers, world).expect("a number that was checked");
    let regions: Vec<Rect> = map
        .regions()
        .map(|region| map.finite_rect(region))
        .collect();
    let half_share = 0.5 * RATE / servers as f64;
    for region in &regions {
        let beside = boundary_volumes(region, &regions);
        for volume in &beside {
            writer.injector(volume, half_share / beside.len() as f64, FALLING);
        }
        writer.injector(&centre_volume(region), half_share, FALLING);
    }
    writer.finish()
}

fn centre_volume(region: &Rect) -> Volume {
    let [x, z] = [0, 1].map(|i| 0.5 * (region.min[i] + region.max[i]));
    Volume {
        min: [x - CENTRE_HALF_M, BOTTOM_M, z - CENTRE_HALF_M],
        max: [x + CENTRE_HALF_M, TOP_M, z + CENTRE_HALF_M],
    }
}

/// One for each border of this region with another; along both its x sides where there is no other.
fn boundary_volumes(region: &Rect, all: &[Rect]) -> Vec<Volume> {
    if all.len() == 1 {
        let ends = [region.min[1], region.max[1]];
        return [-1.0, 1.0].map(|side| beside(region, 0, side, ends)).into();
    }
    let mut volumes = Vec::new();
    for other in all.iter().filter(|other| *other != region) {
        for axis in [0, 1] {
            let along = 1 - axis;
            let from = region.min[along].max(other.min[along]);
            let to = region.max[along].min(other.max[along]);
            // Regions that touch at a corner only share no border.
            if to <= from {
                continue;
            }
            if region.max[axis] == other.min[axis] {
                volumes.push(beside(region, axis, 1.0, [from, to]));
            } else if region.min[axis] == other.max[axis] {
                volumes.push(beside(region, axis, -1.0, [from, to]));
            }
        }
    }
    volumes
}

/// The volume inside a region beside its low (-1) or high (1) side across an axis, in the middle of a stretch of that
/// side.
fn beside(region: &Rect, axis: usize, side: f64, stretch: [f64; 2]) -> Volume {
    let border = if side > 0.0 {
        region.max[axis]
    } else {
        region.min[axis]
    };
    let across = BESIDE_M.map(|metres| border - side * metres);
    let middle = 0.5 * (stretch[0] + stretch[1]);
    let half = 0.5 * LENGTH_M.min(stretch[1] - stretch[0]);
    let (mut min, mut max) = ([0.0, BOTTOM_M, 0.0], [0.0, TOP_M, 0.0]);
    // Of the axes of the plane, the second is z: the third of space.
    let (across_in_space, along_in_space) = (2 * axis, 2 * (1 - axis));
    (min[across_in_space], max[across_in_space]) =
        (across[0].min(across[1]), across[0].max(across[1]));
    (min[along_in_space], max[along_in_space]) = (middle - half, middle + half);
    Volume { min, max }
}

#[cfg(test)]
mod tests {
    use crate::generated::Generated;
    use crate::{Injector, Scene};

    /// Length, across, and how near the border of eight columns the volume begins.
    fn is_beside_a_border(injector: &Injector) -> bool {
        let size = injector.max - injector.min;
        let to_border = |x: f64| {
            (0..=8)
                .map(|i| (x + 400.0 - 100.0 * f64::from(i)).abs())
                .fold(f64::MAX, f64::min)
        };
        let near = to_border(injector.min.x).min(to_border(injector.max.x));
        size.to_array() == [20.0, 20.0, 150.0] && near == 2.0
    }

    fn rate<'i>(injectors: impl IntoIterator<Item = &'i Injector>) -> f64 {
        injectors.into_iter().map(|injector| injector.rate).sum()
    }

    fn eight() -> Scene {
        Generated::E1Columns(8).scene()
    }

    #[test]
    fn half_of_the_published_rate_falls_beside_the_borders() {
        let scene = eight();
        assert!((rate(&scene.injectors) - 160.0).abs() < 1e-9);
        let beside: Vec<_> = scene
            .injectors
            .iter()
            .filter(|i| is_beside_a_border(i))
            .collect();
        assert_eq!(beside.len(), 14, "one on each side of seven borders");
        assert!((rate(beside) - 80.0).abs() < 1e-9);
        assert_eq!(scene.spawns(1).len(), 9600);
    }

    #[test]
    fn every_column_has_the_same_share() {
        let scene = eight();
        for column in 0..8 {
            let from = -400.0 + 100.0 * f64::from(column);
            let here = |i: &&Injector| i.min.x >= from && i.max.x <= from + 100.0;
            let share = rate(scene.injectors.iter().filter(here));
            assert!((share - 20.0).abs() < 1e-9, "column {column}: {share}");
        }
    }

    #[test]
    fn one_server_gets_the_volumes_of_an_inner_column() {
        let scene = Generated::E1Columns(1).scene();
        assert_eq!(scene.injectors.len(), 3);
        assert_eq!(scene.regions.servers, 1);
        let lowest = scene
            .injectors
            .iter()
            .map(|i| i.min.x)
            .fold(f64::MAX, f64::min);
        assert_eq!(lowest, -48.0);
        assert!((rate(&scene.injectors) - 160.0).abs() < 1e-9);
    }

    /// A T junction has two borders between the full width and a half each, and one between the halves.
    #[test]
    fn corners_have_a_volume_on_each_side_of_every_border() {
        for (regions, borders) in [(3, 3), (4, 4), (9, 12), (16, 24), (36, 60)] {
            let scene = Generated::E1Corners(regions).scene();
            assert_eq!(scene.regions.servers, regions);
            assert_eq!(scene.injectors.len(), 2 * borders + regions, "{regions}");
            assert!((rate(&scene.injectors) - 160.0).abs() < 1e-9);
            let long = |i: &&Injector| (i.max - i.min).max_element() == 150.0;
            let beside = rate(scene.injectors.iter().filter(long));
            assert!((beside - 80.0).abs() < 1e-9, "{regions}: {beside}");
        }
    }

    /// The thesis's highest possible speed, sqrt(3 · 10² + 2 · 9.81 · 35) = 31.4 m/s, is within the tolerance.
    #[test]
    fn nothing_falls_faster_than_the_tolerance() {
        let scene = eight();
        let tolerance = scene.tolerances.speed;
        for injector in &scene.injectors {
            let start = injector.velocity_min.as_dvec3().length_squared();
            assert!((start + 2.0 * 9.81 * injector.max.y).sqrt() < tolerance);
        }
    }
}
