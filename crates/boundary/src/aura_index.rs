//! The remote auras of one tick, so sorted that a body is compared only with those around it.
//!
//! The ground plane is cut into cells as wide as most auras. The few that are much wider (of fast bodies, of silent ones)
//! are in a list of their own: one of them would make every cell wide.

use crate::geometry::AuraGeometry;
use crate::remote_auras::{RemoteAura, RemoteAuras};
use crate::view::BodyView;
use domain::{BodyId, Bounds, Rect, RegionId, Tick};
use glam::DVec3;

/// Up to so many auras each is its own box; beyond, they are gathered in cells.
const FEW_AURAS: usize = 8;
/// An aura that is wider than the mean by this factor is compared with everybody.
const MUCH_WIDER: f64 = 1.5;
/// Auras that are not wider than this are in cells, metres.
const NOT_WIDE_M: f64 = 1.0;

/// Column and row of a square of the ground plane, in one number that sorts as the pair does.
type Cell = u64;

/// The auras of one tick, sorted by cells of the ground plane.
#[derive(Clone, Debug, Default)]
pub struct AuraIndex {
    // The first `wide` ones are in no cell; the others are in the order of their cells. What is looked at of many of them
    // lies apart from what is looked at of few.
    spots: Vec<Spot>,
    auras: Vec<(BodyId, RemoteAura)>,
    wide: usize,
    /// The widest in a cell.
    widest_m: f64,
    cell_m: f64,
    boxes: Vec<Bounds>,
    // Ascending, with a rectangle that holds the shadows of all they have.
    owners: Vec<(RegionId, Rect)>,
    fallen_silent: u64,
    // Where the auras of each cell begin and end: a hash table, half empty, in which a cell is at its own place or
    // after it.
    cells: Vec<CellRun>,
    // Memory that is used again.
    found: Vec<(u32, f64)>,
    order: Vec<(bool, Cell, BodyId, u32)>,
}

/// The auras of one cell are those from `start` to `end`; none: an empty place.
#[derive(Clone, Copy, Debug, Default)]
struct CellRun {
    cell: Cell,
    start: u32,
    end: u32,
}

#[derive(Clone, Copy, Debug)]
struct Spot {
    /// That of its centre.
    cell: Cell,
    centre: DVec3,
    /// At the index's tick.
    radius: f64,
}

impl AuraIndex {
    /// Sorts the auras that reach into `space`, as they are at this tick.
    pub fn build(remote: &RemoteAuras, geometry: &AuraGeometry, now: Tick, space: &Rect) -> Self {
        let mut index = Self::default();
        index.rebuild(remote, geometry, now, space);
        index
    }

    /// As [`Self::build`], in the memory that is there.
    pub fn rebuild(
        &mut self,
        remote: &RemoteAuras,
        geometry: &AuraGeometry,
        now: Tick,
        space: &Rect,
    ) {
        self.spots.clear();
        self.auras.clear();
        self.boxes.clear();
        self.owners.clear();
        self.wide = 0;
        self.fallen_silent = 0;
        if remote.is_empty() {
            return;
        }
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        let first_overdue = geometry.first_overdue_ticks();
        let late = Lateness::of(remote, geometry, now);
        let is_everywhere = *space == Rect::EVERYWHERE;
        for (place, (_, aura)) in (0..).zip(remote.iter()) {
            let is_awake = aura.growth > 0.0 && aura.provisional_until.is_none();
            self.fallen_silent += u64::from(is_awake && now.since(aura.tick) == first_overdue);
            let radius = aura.full_radius(geometry, now) + late.widens_m(aura);
            let distance_squared = || space.distance_squared(aura.centre.x, aura.centre.z);
            if is_everywhere || distance_squared() <= radius * radius {
                found.push((place, radius));
                let shadow = Bounds::of_sphere(aura.centre, radius).ground();
                match self
                    .owners
                    .binary_search_by_key(&aura.owner, |(owner, _)| *owner)
                {
                    Ok(place) => self.owners[place].1 = self.owners[place].1.union(&shadow),
                    Err(place) => self.owners.insert(place, (aura.owner, shadow)),
                }
            }
        }
        self.sort(remote, &found);
        self.found = found;
        self.find_cells();
        self.gather_boxes();
    }

    fn sort(&mut self, remote: &RemoteAuras, found: &[(u32, f64)]) {
        let radii = || found.iter().map(|(_, radius)| *radius);
        // In whole centimetres: a sum that does not depend on the order.
        let sum: u64 = radii().map(|radius| (100.0 * radius) as u64).sum();
        let mean = 0.01 * sum as f64 / found.len().max(1) as f64;
        let wide_m = (MUCH_WIDER * mean).max(NOT_WIDE_M);
        let in_cells = radii().filter(|radius| *radius <= wide_m);
        self.widest_m = in_cells.fold(NOT_WIDE_M, f64::max);
        self.cell_m = 2.0 * self.widest_m;
        let cell = |aura: &RemoteAura| cell_at(aura.centre.x, aura.centre.z, self.cell_m);
        // Small keys are sorted, and each aura is moved once.
        let keys = (0..).zip(found).map(|(i, (place, radius))| {
            let (body, aura) = remote.at(*place as usize);
            let is_wide = *radius > wide_m;
            let cell = if is_wide { 0 } else { cell(aura) };
            (!is_wide, cell, body, i)
        });
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        order.extend(keys);
        order.sort_unstable();
        self.wide = order.partition_point(|(is_in_cell, ..)| !is_in_cell);
        self.spots.reserve(order.len());
        self.auras.reserve(order.len());
        for (_, cell, _, i) in &order {
            let (place, radius) = found[*i as usize];
            let (body, aura) = remote.at(place as usize);
            self.spots.push(Spot {
                cell: *cell,
                centre: aura.centre,
                radius,
            });
            self.auras.push((body, *aura));
        }
        self.order = order;
    }

    fn find_cells(&mut self) {
        self.cells.clear();
        let in_cells = &self.spots[self.wide..];
        if in_cells.is_empty() {
            return;
        }
        self.cells
            .resize((2 * in_cells.len()).next_power_of_two(), CellRun::default());
        let mut start = self.wide as u32;
        for run in in_cells.chunk_by(|a, b| a.cell == b.cell) {
            let end = start + run.len() as u32;
            let cell = run[0].cell;
            let mut place = self.place_of(cell);
            while self.cells[place].end > 0 {
                place = (place + 1) % self.cells.len();
            }
            self.cells[place] = CellRun { cell, start, end };
            start = end;
        }
    }

    /// Where a cell would be, were it alone.
    fn place_of(&self, cell: Cell) -> usize {
        // Knuth's multiplicative hashing: the upper bits are mixed best.
        let mixed = (cell ^ cell >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize & (self.cells.len() - 1)
    }

    /// The auras of a cell.
    fn in_cell(&self, cell: Cell) -> std::ops::Range<usize> {
        let mut place = self.place_of(cell);
        loop {
            let run = &self.cells[place];
            match run.end > 0 {
                true if run.cell == cell => return run.start as usize..run.end as usize,
                true => place = (place + 1) & (self.cells.len() - 1),
                false => return 0..0,
            }
        }
    }

    fn gather_boxes(&mut self) {
        let bounds = |spot: &Spot| Bounds::of_sphere(spot.centre, spot.radius);
        if self.spots.len() <= FEW_AURAS {
            self.boxes.extend(self.spots.iter().map(bounds));
            return;
        }
        let (wide, in_cells) = self.spots.split_at(self.wide);
        let cells = in_cells
            .chunk_by(|a, b| a.cell == b.cell)
            .filter_map(|neighbours| neighbours.iter().map(bounds).reduce(Bounds::union));
        self.boxes.extend(wide.iter().map(bounds).chain(cells));
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.spots.is_empty()
    }

    /// Whose they are, ascending, and where all of one owner's are.
    pub fn owners(&self) -> &[(RegionId, Rect)] {
        &self.owners
    }

    /// No point of [`boxes`](Self::boxes) is farther inside the rectangle than this; 0 if none is inside.
    pub fn depth_in(&self, rect: &Rect) -> f64 {
        let depth = |bounds: &Bounds| {
            let shadow = bounds.ground();
            let along = |i: usize| (shadow.max[i] - rect.min[i]).min(rect.max[i] - shadow.min[i]);
            along(0).min(along(1))
        };
        self.boxes.iter().map(depth).fold(0.0, f64::max)
    }

    /// Does the ball touch one of them?
    pub fn is_near(&self, centre: DVec3, radius: f64) -> bool {
        let mut is_near = false;
        self.for_each_within(centre, radius, &mut |_, _, _| is_near = true);
        is_near
    }

    /// How many auras of moving bodies have had no news for one tick longer than the tolerances allow. Asked at every
    /// tick, it counts each silence once.
    pub fn fallen_silent(&self) -> u64 {
        self.fallen_silent
    }

    /// Boxes that together hold every aura: what lies outside all of them touches none.
    pub fn boxes(&self) -> &[Bounds] {
        &self.boxes
    }

    /// Calls back for every aura the body touches, with the depth.
    pub fn for_each_touched(
        &self,
        body: &BodyView,
        mut touched: impl FnMut(BodyId, &RemoteAura, f64),
    ) {
        self.for_each_within(body.centre, body.radius, &mut touched);
    }

    /// Calls back for every aura that the ball touches, with the depth.
    pub fn for_each_within(
        &self,
        centre: DVec3,
        radius: f64,
        touched: &mut impl FnMut(BodyId, &RemoteAura, f64),
    ) {
        let mut compare = |place: usize| {
            let spot = &self.spots[place];
            let sum = spot.radius + radius;
            let squared = spot.centre.distance_squared(centre);
            if squared <= sum * sum {
                let (body, aura) = &self.auras[place];
                touched(*body, aura, sum - squared.sqrt());
            }
        };
        (0..self.wide).for_each(&mut compare);
        if self.wide == self.spots.len() {
            return;
        }
        let reach = radius + self.widest_m;
        let cell = |v: f64| cell_number(v, self.cell_m);
        let (first_x, last_x) = (cell(centre.x - reach), cell(centre.x + reach));
        let (first_z, last_z) = (cell(centre.z - reach), cell(centre.z + reach));
        let across = |first: i32, last: i32| u64::from(last.abs_diff(first)) + 1;
        if across(first_x, last_x).saturating_mul(across(first_z, last_z)) > self.spots.len() as u64
        {
            // More cells than auras.
            let in_reach = |v: f64, centre: f64| (v - centre).abs() <= reach;
            for place in self.wide..self.spots.len() {
                let at = self.spots[place].centre;
                if in_reach(at.x, centre.x) && in_reach(at.z, centre.z) {
                    compare(place);
                }
            }
            return;
        }
        for x in first_x..=last_x {
            for z in first_z..=last_z {
                self.in_cell(pack(x, z)).for_each(&mut compare);
            }
        }
    }
}

/// Who is later than the tolerances allow. Moving bodies are told of at every second tick; if those of a region have no news,
/// the news of its
/// resting bodies is missing as well, and each of them may have been thrown.
struct Lateness {
    widening_m: Vec<(RegionId, f64)>,
}

impl Lateness {
    fn of(remote: &RemoteAuras, geometry: &AuraGeometry, now: Tick) -> Self {
        let mut newest: Vec<(RegionId, Tick)> = Vec::new();
        let moving = |aura: &&RemoteAura| aura.growth > 0.0 && aura.provisional_until.is_none();
        let speaks = geometry.late_growth_m > 0.0;
        let auras = remote.iter().map(|(_, aura)| aura);
        for aura in auras.filter(moving).filter(|_| speaks) {
            match newest.iter_mut().find(|(owner, _)| *owner == aura.owner) {
                Some((_, tick)) => *tick = (*tick).max(aura.tick),
                None => newest.push((aura.owner, aura.tick)),
            }
        }
        let widening_m = newest.into_iter().filter_map(|(owner, tick)| {
            let late = geometry.late_ticks(now.since(tick));
            (late > 0).then_some((owner, geometry.late_growth_m * late as f64))
        });
        Self {
            widening_m: widening_m.collect(),
        }
    }

    /// Growing auras widen by themselves.
    fn widens_m(&self, aura: &RemoteAura) -> f64 {
        if aura.growth > 0.0 || aura.provisional_until.is_some() {
            return 0.0;
        }
        let of_owner = self
            .widening_m
            .iter()
            .find(|(owner, _)| *owner == aura.owner);
        of_owner.map_or(0.0, |(_, widening)| *widening)
    }
}

fn cell_at(x: f64, z: f64, cell_m: f64) -> Cell {
    pack(cell_number(x, cell_m), cell_number(z, cell_m))
}

/// Cells are metres wide: 32 bits reach beyond any world, and farther out all is one cell.
fn cell_number(v: f64, cell_m: f64) -> i32 {
    let cell = v / cell_m;
    // The next whole number below. `floor` is a call on processors without SSE 4.1.
    let towards_zero = cell as i32;
    towards_zero.saturating_sub(i32::from(cell < f64::from(towards_zero)))
}

fn pack(x: i32, z: i32) -> Cell {
    let ascending = |cell: i32| u64::from((cell as u32) ^ 0x8000_0000);
    ascending(x) << 32 | ascending(z)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ball, safe};
    use domain::Epoch;
    use wire::{AuraUpsert, ClusterKey};

    fn upsert(body: u64, epoch: u32, tick: u64, x: f64) -> AuraUpsert {
        AuraUpsert {
            body: BodyId(body),
            epoch: Epoch(epoch),
            tick: Tick(tick),
            centre: DVec3::new(x, 0.0, 0.0),
            radius: 0.5,
            spine: glam::Vec3::ZERO,
            reach: 2.0,
            growth: 0.0,
            key: ClusterKey {
                class: 0,
                since: Tick(0),
                body: BodyId(body),
            },
        }
    }

    /// AP-4: a moving body of which nothing is heard for longer than the tolerances allow is noticed, once; a sleeper may be silent.
    #[test]
    fn silence_is_noticed_once() {
        let geometry = AuraGeometry::of(&safe());
        let mut auras = RemoteAuras::default();
        let mut moving = upsert(7, 1, 10, 0.0);
        moving.growth = 0.5;
        auras.upsert(RegionId(1), &moving);
        auras.upsert(RegionId(1), &upsert(8, 1, 10, 0.0));
        let silent = |tick| {
            let index = AuraIndex::build(&auras, &geometry, Tick(tick), &Rect::EVERYWHERE);
            index.fallen_silent()
        };
        assert_eq!((10..60).map(silent).sum::<u64>(), 1);
        assert_eq!(silent(10 + geometry.max_age_ticks), 0, "still in time");
    }

    #[test]
    fn many_auras_are_found_through_cells() {
        let mut auras = RemoteAuras::default();
        for body in 0..100 {
            auras.upsert(RegionId(1), &upsert(body, 1, 10, body as f64 * 10.0));
        }
        let geometry = AuraGeometry::of(&safe());
        let index = AuraIndex::build(&auras, &geometry, Tick(10), &Rect::EVERYWHERE);
        for (x, expected) in [
            (20.0, vec![2]),
            (23.1, vec![]),
            (22.9, vec![2]),
            (985.0, vec![]),
        ] {
            let mut found = Vec::new();
            index.for_each_touched(&ball(1000, x, 0.0, 0.5), |id, _, _| found.push(id.0));
            found.dedup();
            assert_eq!(found, expected, "at {x}");
        }
    }

    /// One aura that is much wider than the others is found from afar, and does not hide them.
    #[test]
    fn a_wide_aura_is_found_from_afar() {
        let mut auras = RemoteAuras::default();
        for body in 0..20 {
            auras.upsert(RegionId(1), &upsert(body, 1, 10, body as f64 * 10.0));
        }
        let wide = AuraUpsert {
            reach: 60.0,
            ..upsert(99, 1, 10, 300.0)
        };
        auras.upsert(RegionId(4), &wide);
        let geometry = AuraGeometry::of(&safe());
        let index = AuraIndex::build(&auras, &geometry, Tick(10), &Rect::EVERYWHERE);
        let owners = index.owners().iter().map(|(owner, _)| *owner);
        assert!(owners.eq([RegionId(1), RegionId(4)]));
        let found = |x: f64| {
            let mut found = Vec::new();
            index.for_each_within(DVec3::new(x, 0.0, 0.0), 0.5, &mut |body, _, _| {
                found.push(body.0);
            });
            found
        };
        assert_eq!(found(245.0), [99]);
        assert_eq!(found(100.0), [10]);
        assert!(found(-15.0).is_empty());
        assert!((0..index.boxes().len()).all(|i| index.boxes()[i].max.x <= 360.6));
    }

    #[test]
    fn cells_are_numbered_from_below() {
        let numbers = [-4.1, -4.0, -0.1, 0.0, 3.9, 4.0].map(|v| cell_number(v, 2.0));
        assert_eq!(numbers, [-3, -2, -1, 0, 1, 2]);
        assert_eq!(cell_number(-1e300, 2.0), i32::MIN);
        assert_eq!(cell_number(1e300, 2.0), i32::MAX);
    }
}
