//! A random world extent and how it is cut.

use boundary::AuraGeometry;
use domain::{Layout, Rect, RegionMap};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use scenes::Regions;

/// The layouts that are tried.
const LAYOUTS: [Layout; 6] = [
    Layout::Columns,
    Layout::Grid,
    Layout::Tree,
    Layout::Boxes,
    Layout::ThesisThree,
    Layout::ThesisSeven,
];

/// Draws a layout, and the smallest world (with a little room) whose regions are large enough for the auras.
pub(super) fn draw(rng: &mut Pcg64Mcg, geometry: &AuraGeometry) -> (Regions, Rect) {
    let layout = LAYOUTS[rng.random_range(0..LAYOUTS.len())];
    let drawn = rng.random_range(2..=9);
    let servers = layout.fixed_servers().unwrap_or(drawn);
    let aspect = rng.random_range(0.6..1.6);
    let cuts = cuts(rng, servers);
    let room = rng.random_range(1.02..1.5);
    // Half a region to begin with: even the most wasteful layout fits after a few rounds.
    let mut side_m = geometry.smallest_region_m() * room;
    loop {
        let world = Rect {
            min: [-side_m * aspect, -side_m],
            max: [side_m * aspect, side_m],
        };
        let boxes = match layout {
            Layout::Boxes => boxes(world, &cuts),
            _ => Vec::new(),
        };
        let regions = Regions {
            layout,
            servers,
            boxes,
        };
        let fits = map(&regions, world).check_size(geometry.smallest_region_m());
        if fits.is_ok() {
            return (regions, world);
        }
        side_m *= 1.1;
    }
}

/// The map that the drawn regions make.
pub(super) fn map(regions: &Regions, world: Rect) -> RegionMap {
    let map = match regions.layout {
        Layout::Boxes => RegionMap::boxes(&regions.boxes, world),
        layout => RegionMap::build(layout, regions.servers, world),
    };
    map.expect("the drawn regions cover the world")
}

/// One cut through one box: which box, across which axis, at which share of its length.
struct Cut {
    index: usize,
    axis: usize,
    share: f64,
}

fn cuts(rng: &mut Pcg64Mcg, servers: usize) -> Vec<Cut> {
    (1..servers)
        .map(|boxes| Cut {
            index: rng.random_range(0..boxes),
            axis: rng.random_range(0..2),
            share: rng.random_range(0.3..0.7),
        })
        .collect()
}

fn boxes(world: Rect, cuts: &[Cut]) -> Vec<Rect> {
    let mut boxes = vec![world];
    for cut in cuts {
        let mut far = boxes[cut.index];
        let (min, max) = (far.min[cut.axis], far.max[cut.axis]);
        let at = min + (max - min) * cut.share;
        boxes[cut.index].max[cut.axis] = at;
        far.min[cut.axis] = at;
        boxes.push(far);
    }
    boxes
}
