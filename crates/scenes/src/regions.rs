//! `[world]` and `[regions]`: the extent and how it is cut.

use crate::reader::{Allowed, Table};
use crate::{MAX_SERVERS, Regions};
use domain::{Layout, Rect, RegionMap, RegionMapError};

pub(crate) const WORLD_KEYS: &[&str] = &["min", "max"];
pub(crate) const REGION_KEYS: &[&str] = &["layout", "servers", "boxes"];
pub(crate) const BOX_KEYS: &[&str] = &["min", "max"];

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
    let choices = Layout::ALL.map(|layout| (layout.name(), layout));
    let Some(layout) = layout.and_then(|f| f.choice("layout", &choices)) else {
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
        Layout::Boxes => Some(boxes),
        other => other.fixed_servers(),
    };
    let field = match implied {
        Some(_) => table.field("servers"),
        None => table.required("servers", "how many regions"),
    };
    let given = field
        .as_ref()
        .and_then(|f| f.integer(1..=MAX_SERVERS as u64));
    match (given.map(|n| n as usize), implied) {
        (Some(given), Some(implied)) if given != implied && implied > 0 => {
            table.note(
                "servers",
                format!("this layout has {implied} region(s), so `servers` cannot be {given}"),
            );
            implied
        }
        (Some(given), _) => given,
        (None, implied) => implied.unwrap_or(1),
    }
}

fn read_boxes(table: &Table, layout: Layout, world: Rect) -> Vec<Rect> {
    match (layout, table.field("boxes")) {
        (Layout::Boxes, None) => {
            table.note(
                "boxes",
                "missing key `boxes`: layout \"boxes\" needs a list of { min, max } boxes",
            );
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
    let tables = table.tables("boxes", MAX_SERVERS);
    let read = |item: &Table| {
        item.allow(&[BOX_KEYS]);
        read_rect(item)
    };
    let boxes: Vec<Rect> = tables.iter().filter_map(read).collect();
    if before == table.problems().count()
        && let Err(error) = RegionMap::boxes(&boxes, world)
    {
        // Said of the box at fault where there is one, of the list otherwise.
        match blamed_box(&error) {
            Some(index) => tables[index].note("min", error.to_string()),
            None => table.note("boxes", error.to_string()),
        }
    }
    boxes
}

fn blamed_box(error: &RegionMapError) -> Option<usize> {
    match error {
        RegionMapError::BadBox { index, .. } | RegionMapError::OutsideExtent { index, .. } => {
            Some(*index)
        }
        RegionMapError::Overlap { b, .. } => Some(*b),
        _ => None,
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
