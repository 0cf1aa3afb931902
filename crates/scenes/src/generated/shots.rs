//! Fast bodies, light and heavy, shot into what lies loosely on borders.
//!
//! Where bodies only fall and roll, nearly every promise of how far a body will go is kept by itself, and a mistake in
//! keeping them does not show. Here a resting body is hit at 15 to 30 m/s by one of a hundredth or a hundred times its
//! weight, on a border, all the time.

use super::writer::{Head, Rows, Volume, Writer};
use domain::{Layout, Rect};
use std::fmt::Write;

const SECONDS: f64 = 8.0;
const HALF_M: f64 = 60.0;
/// Bodies per second from each side.
const RATE: f64 = 8.0;
/// What is shot at has 1,000 kg/m³.
const LIGHT: f64 = 100.0;
const HEAVY: f64 = 10_000.0;
const BALL: &str = "{ type = \"sphere\", radius = 0.3 }";

/// What is shot at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShotAt {
    /// One layer of balls, 0.3 m apart, on one border.
    Layer,
    /// Boxes in loose heaps on one border.
    Heap,
    /// Figures of four bodies, tied by joints, that lie across one border.
    Figures,
    /// A layer of balls on a corner of four regions, shot at from all sides.
    Corner,
}

pub(super) fn shots(target: ShotAt) -> String {
    let (name, what, servers, layout) = match target {
        ShotAt::Layer => ("shots-layer", "a loose layer of balls", 2, Layout::Columns),
        ShotAt::Heap => ("shots-heap", "loose heaps of boxes", 2, Layout::Columns),
        ShotAt::Figures => ("shots-figures", "jointed figures", 2, Layout::Columns),
        ShotAt::Corner => ("shots-corner", "a loose layer of balls", 4, Layout::Grid),
    };
    let place = match servers {
        2 => "a border",
        _ => "a corner of four regions",
    };
    let mut writer = Writer::new(&Head {
        name,
        comment: &format!(
            "Light and heavy balls of 15 to 30 m/s are shot into {what} on {place}.\n\
             Expect: nothing of two servers ever overlaps, whatever is hit however hard."
        ),
        seconds: SECONDS,
        world: Rect {
            min: [-HALF_M; 2],
            max: [HALF_M; 2],
        },
        layout,
        servers,
    });
    writer.plane("");
    match target {
        ShotAt::Layer => layer(&mut writer, [-2.7, -8.0], [7, 18]),
        ShotAt::Heap => heaps(&mut writer),
        ShotAt::Figures => figures(&mut writer),
        ShotAt::Corner => layer(&mut writer, [-5.4, -5.4], [13, 13]),
    }
    for (side, density) in [(-1.0, LIGHT), (1.0, HEAVY)] {
        shoot(&mut writer, 0, side, density);
        if target == ShotAt::Corner {
            shoot(&mut writer, 2, side, LIGHT + HEAVY - density);
        }
    }
    writer.finish()
}

/// Balls on the ground.
fn layer(writer: &mut Writer, [x, z]: [f64; 2], [along_x, along_z]: [usize; 2]) {
    let rows = Rows {
        origin: [x, 0.3, z],
        count: [along_x, 1, along_z],
        spacing: [0.9, 1.0, 0.9],
    };
    writer.grid(BALL, &rows, "");
}

/// Three heaps of 48 boxes each, with gaps in between: they fall together when they are hit.
fn heaps(writer: &mut Writer) {
    for z in [-6.0, -1.0, 4.0] {
        let rows = Rows {
            origin: [-1.2, 0.25, z],
            count: [4, 3, 4],
            spacing: [0.8, 0.5, 0.7],
        };
        writer.grid(
            "{ type = \"cuboid\", size = [0.5, 0.5, 0.5] }",
            &rows,
            "restitution = 0.3",
        );
    }
}

/// Twelve figures, each a row of four capsules and balls with ball joints between them, half of them across the border.
fn figures(writer: &mut Writer) {
    for figure in 0..12 {
        let z = -7.0 + 1.2 * f64::from(figure);
        let x = -1.8 + 0.9 * f64::from(figure % 3);
        for part in 0..4 {
            let name = format!("figure {figure}, part {part}");
            let middle = [x + 0.7 * f64::from(part), 0.3, z];
            let lines = format!(
                "name = \"{name}\"\nshape = {{ type = \"capsule\", radius = 0.15, height = 0.65 }}\n\
                 rotation = [0.0, 0.0, 90.0]\nposition = {middle:?}\nangular_damping = 0.5"
            );
            writer.table("body", &lines);
        }
        for part in 0..3 {
            let mut lines = String::from("type = \"spherical\"\n");
            for (key, number) in [("a", part), ("b", part + 1)] {
                let _ = writeln!(lines, "{key} = \"figure {figure}, part {number}\"");
            }
            // A capsule's own axis is y, and it lies on its side: turned by 90 degrees about z, up is towards -x.
            lines += "anchor_a = [0.0, -0.35, 0.0]\nanchor_b = [0.0, 0.35, 0.0]";
            writer.table("joint", &lines);
        }
    }
}

/// A volume from which balls fly towards the middle of the world along an axis (0: x, 2: z), from its low or high side.
fn shoot(writer: &mut Writer, axis: usize, side: f64, density: f64) {
    let from = match axis {
        0 => 5.0,
        _ => 8.0,
    };
    let (mut min, mut max) = ([-8.0, 0.4, -8.0], [8.0, 0.8, 8.0]);
    let ends = [side * from, side * (from + 2.0)];
    (min[axis], max[axis]) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
    let (mut slow, mut fast) = ([-3.0, -1.0, -3.0], [3.0, 0.0, 3.0]);
    let speeds = [-side * 15.0, -side * 30.0];
    (slow[axis], fast[axis]) = (speeds[0].min(speeds[1]), speeds[0].max(speeds[1]));
    let rest = format!(
        "velocity_min = {slow:?}\nvelocity_max = {fast:?}\ndensity = {density:?}\nshapes = [{BALL}]"
    );
    writer.injector(&Volume { min, max }, RATE, &rest);
}
