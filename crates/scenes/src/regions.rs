//! `[world]` and `[regions]`: the extent and how it is cut.

use crate::reader::{Allowed, Table};
use crate::{MAX_SERVERS, Regions};
use domain::{Layout, Rect};

pub(crate) const WORLD_KEYS: &[&str] = &["min", "max"];
pub(crate) const REGION_KEYS: &[&str] = &["layout", "servers", "boxes"];
pub(crate) const BOX_KEYS: &[&str] = &["min", "max"];

/// The names of the layouts in scene files and on the command line.
pub(crate) const LAYOUTS: &[(&str, Layout)] = &[
    ("single", Layout::Single),
    ("columns", Layout::Columns),
    ("grid", Layout::Grid),
    ("tree", Layout::Tree),
    ("boxes", Layout::Boxes),
];

const DEFAULT_WORLD: Rect = Rect {
    min: [-100.0; 2],
    max: [100.0; 2],
};

pub(crate) fn read_world(root: &Table) -> Rect {
    let Some(table) = root.field("world").and_then(|f| f.table()) else {
        return DEFAULT_WORLD;
    };
    table.allow(&[WORLD_KEYS]);
    read_rect(&table).unwrap_or(DEFAULT_WORLD)
}

pub(crate) fn read_regions(root: &Table, world: Rect) -> Regions {
    let single = Regions {
        layout: Layout::Single,
        servers: 1,
        boxes: Vec::new(),
    };
    let Some(table) = root.field("regions").and_then(|f| f.table()) else {
        return single;
    };
    table.allow(&[REGION_KEYS]);
    let layout = table.required("layout", "how the world is cut");
    let Some(layout) = layout.and_then(|f| f.choice("layout", LAYOUTS)) else {
        return single;
    };
    let boxes = read_boxes(&table, layout, world);
    let servers = read_servers(&table, layout, boxes.len());
    Regions {
        layout,
        servers,
        boxes,
    }
}

fn read_servers(table: &Table, layout: Layout, boxes: usize) -> usize {
    let implied = match layout {
        Layout::Single => Some(1),
        Layout::Boxes => Some(boxes),
        _ => None,
    };
    let field = match implied {
        Some(_) => table.field("servers"),
        None => table.required("servers", "how many regions"),
    };
    let given = field.as_ref().and_then(|f| f.integer(1..=MAX_SERVERS as u64));
    match (given.map(|n| n as usize), implied) {
        (Some(given), Some(implied)) if given != implied && implied > 0 => {
            table.note("servers", format!("this layout has {implied} region(s), so `servers` cannot be {given}"));
            implied
        }
        (Some(given), _) => given,
        (None, implied) => implied.unwrap_or(1),
    }
}

fn read_boxes(table: &Table, layout: Layout, world: Rect) -> Vec<Rect> {
    match (layout, table.field("boxes")) {
        (Layout::Boxes, None) => {
            table.note("boxes", "missing key `boxes`: layout \"boxes\" needs a list of { min, max } boxes");
            Vec::new()
        }
        (Layout::Boxes, Some(_)) => read_box_list(table, world),
        (_, Some(field)) => {
            field.note("boxes are only for layout \"boxes\"");
            Vec::new()
        }
        (_, None) => Vec::new(),
    }
}

fn read_box_list(table: &Table, world: Rect) -> Vec<Rect> {
    let before = table.problems().count();
    let tables = table.tables("boxes");
    if before == table.problems().count() && !(1..=MAX_SERVERS).contains(&tables.len()) {
        table.note("boxes", format!("1 to {MAX_SERVERS} boxes are allowed, not {}", tables.len()));
    }
    let mut boxes: Vec<Rect> = Vec::new();
    for item in tables.iter().take(MAX_SERVERS) {
        item.allow(&[BOX_KEYS]);
        let Some(rect) = read_rect(item) else { continue };
        if let Some(i) = boxes.iter().position(|other| overlap(other, &rect)) {
            item.note("min", format!("this box overlaps boxes[{i}]; every place must have one region"));
        }
        boxes.push(rect);
    }
    if before == table.problems().count() {
        check_cover(table, &boxes, world);
    }
    boxes
}

/// The boxes do not overlap, so they leave no gap exactly if their shares of the world add up to it.
fn check_cover(table: &Table, boxes: &[Rect], world: Rect) {
    let area = |r: &Rect| (r.max[0] - r.min[0]).max(0.0) * (r.max[1] - r.min[1]).max(0.0);
    let covered: f64 = boxes.iter().map(|b| area(&intersection(b, &world))).sum();
    if covered < area(&world) * (1.0 - 1e-9) {
        let percent = 100.0 * covered / area(&world);
        table.note("boxes", format!("the boxes cover only {percent:.1} % of the world; leave no gap"));
    }
}

fn read_rect(table: &Table) -> Option<Rect> {
    let corner = |key: &str| {
        let field = table.required(key, "two numbers, x and z")?;
        field.vector::<2>(Allowed::within(1e6))
    };
    let (min, max) = (corner("min"), corner("max"));
    let (min, max) = (min?, max?);
    if (0..2).any(|i| min[i] >= max[i]) {
        table.note("max", "`max` must be above `min` in both x and z");
        return None;
    }
    Some(Rect { min, max })
}

fn overlap(a: &Rect, b: &Rect) -> bool {
    let common = intersection(a, b);
    (0..2).all(|i| common.min[i] < common.max[i])
}

fn intersection(a: &Rect, b: &Rect) -> Rect {
    let pick = |f: fn(f64, f64) -> f64, p: [f64; 2], q: [f64; 2]| [f(p[0], q[0]), f(p[1], q[1])];
    Rect {
        min: pick(f64::max, a.min, b.min),
        max: pick(f64::min, a.max, b.max),
    }
}
