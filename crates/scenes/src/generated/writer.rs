//! Scene files, written: the few tables that generated scenes need.

use crate::Tolerances;
use domain::{Layout, Rect};
use std::fmt::Write;

/// A scene file in the making.
pub(super) struct Writer {
    text: String,
}

/// What stands at the top of a file.
pub(super) struct Head<'h> {
    pub(super) name: &'h str,
    /// What it is and what to expect, as a reader of the file would want it; without the `#`.
    pub(super) comment: &'h str,
    pub(super) seconds: f64,
    pub(super) world: Rect,
    pub(super) layout: Layout,
    pub(super) servers: usize,
}

/// A box in which bodies appear.
pub(super) struct Volume {
    pub(super) min: [f64; 3],
    pub(super) max: [f64; 3],
}

/// Where equal bodies stand.
pub(super) struct Rows {
    pub(super) origin: [f64; 3],
    pub(super) count: [usize; 3],
    pub(super) spacing: [f64; 3],
}

impl Writer {
    pub(super) fn new(head: &Head) -> Self {
        let mut text = String::new();
        for line in head.comment.lines() {
            let _ = writeln!(text, "# {line}");
        }
        let Head { name, seconds, .. } = head;
        let Rect { min, max } = head.world;
        let (layout, servers) = (head.layout, head.servers);
        let _ = write!(
            text,
            "name = \"{name}\"\nseconds = {seconds:?}\nseed = 3\n\n\
             [world]\nmin = {min:?}\nmax = {max:?}\n\n\
             [regions]\nlayout = \"{layout}\"\nservers = {servers}\n\n",
        );
        Self { text }
    }

    /// Other tolerances than the usual ones. Like everything that a file has once, it stands before its lists.
    pub(super) fn tolerances(&mut self, tolerances: &Tolerances) {
        let Tolerances {
            speed,
            latency_ms,
            frame_ms,
        } = tolerances;
        let _ = write!(
            self.text,
            "[tolerances]\nspeed = {speed:?}\nlatency_ms = {latency_ms:?}\nframe_ms = {frame_ms:?}\n\n",
        );
    }

    /// A table of this kind with these lines in it.
    pub(super) fn table(&mut self, kind: &str, lines: &str) {
        let _ = writeln!(self.text, "[[{kind}]]\n{lines}\n");
    }

    /// The ground.
    pub(super) fn plane(&mut self, surface: &str) {
        self.table(
            "static",
            &format!("shape = {{ type = \"plane\" }}\n{surface}"),
        );
    }

    /// A block that does not move.
    pub(super) fn block(&mut self, min: [f64; 3], max: [f64; 3], surface: &str) {
        let size = std::array::from_fn::<_, 3, _>(|i| max[i] - min[i]);
        let middle = std::array::from_fn::<_, 3, _>(|i| 0.5 * (min[i] + max[i]));
        let shape = format!("shape = {{ type = \"cuboid\", size = {size:?} }}");
        self.table(
            "static",
            &format!("{shape}\nposition = {middle:?}\n{surface}"),
        );
    }

    /// Four walls around a rectangle, so high that nothing flies over them.
    pub(super) fn walls(&mut self, around: Rect, height: f64, surface: &str) {
        const THICK: f64 = 2.0;
        let Rect {
            min: [x0, z0],
            max: [x1, z1],
        } = around;
        let (low, high) = ([x0 - THICK, z0 - THICK], [x1 + THICK, z1 + THICK]);
        self.block([low[0], 0.0, low[1]], [x0, height, high[1]], surface);
        self.block([x1, 0.0, low[1]], [high[0], height, high[1]], surface);
        self.block([x0, 0.0, low[1]], [x1, height, z0], surface);
        self.block([x0, 0.0, z1], [x1, height, high[1]], surface);
    }

    /// Equal bodies in rows; `rest` are further keys.
    pub(super) fn grid(&mut self, shape: &str, rows: &Rows, rest: &str) {
        let Rows {
            origin,
            count,
            spacing,
        } = rows;
        let place = format!("origin = {origin:?}\ncount = {count:?}\nspacing = {spacing:?}");
        self.table("grid", &format!("shape = {shape}\n{place}\n{rest}"));
    }

    /// Bodies that appear in a volume; `rest` are further keys.
    pub(super) fn injector(&mut self, volume: &Volume, rate: f64, rest: &str) {
        let Volume { min, max } = volume;
        self.table(
            "injector",
            &format!("min = {min:?}\nmax = {max:?}\nrate = {rate:?}\n{rest}"),
        );
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}
