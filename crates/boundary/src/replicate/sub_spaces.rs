//! Who has which part of the world.
//!
//! The allocation tree (who is at which vertex) is that of [`groups`]; here each cut gets a plane. Published: the middle of the
//! longest side. Balanced: the same side, cut where both halves have as much to do per member.

use detection::bounds::longest_axis;
use detection::{Aabb, Plan};
use domain::{Bounds, RegionId};
use glam::{DVec3, Vec3};
use groups::{NodeId, VertexId, allocate};

/// Where a box is cut: the box, the axis, the share of the lower part, and what is in it.
type Plane<'a> = dyn FnMut(&Aabb, usize, f64, &mut [Vec3]) -> f32 + 'a;

/// The world, divided among members 0, 1, …
#[derive(Clone, Debug, PartialEq)]
pub struct SubSpaces {
    origin: DVec3,
    world: Aabb,
    root: Part,
    members: u32,
}

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Of(u32),
    Cut(usize, f32, Box<[Part; 2]>),
}

impl SubSpaces {
    /// Cut at the middle of the longest side, as published (ST-1, ST-18). Bodies outside `world` belong to the outer sub-spaces.
    pub fn published(world: Bounds, members: u32) -> Self {
        Self::build(world, members, &mut |finite, axis, _, _| {
            finite.centre()[axis]
        })
    }

    /// Cut so that each member gets the same share of `places`, where the bodies are.
    pub fn balanced(world: Bounds, members: u32, places: &[DVec3]) -> Self {
        let origin = (world.min + world.max) * 0.5;
        let mut points: Vec<Vec3> = places
            .iter()
            .map(|place| (*place - origin).as_vec3())
            .collect();
        Self::build_with(world, members, &mut points, &mut median)
    }

    fn build(world: Bounds, members: u32, plane: &mut Plane<'_>) -> Self {
        Self::build_with(world, members, &mut [], plane)
    }

    fn build_with(world: Bounds, members: u32, points: &mut [Vec3], plane: &mut Plane<'_>) -> Self {
        let origin = (world.min + world.max) * 0.5;
        let finite = Aabb {
            min: (world.min - origin).as_vec3(),
            max: (world.max - origin).as_vec3(),
        };
        let members = members.max(1);
        let nodes: Vec<NodeId> = (0..members).map(NodeId).collect();
        let places = allocate(&nodes);
        let places: Vec<(u32, VertexId)> = places
            .places()
            .iter()
            .map(|(node, vertex)| (node.0, *vertex))
            .collect();
        Self {
            origin,
            world: finite,
            root: lay_out(VertexId::ROOT, &places, finite, points, plane),
            members,
        }
    }

    /// How many members there are.
    pub fn members(&self) -> u32 {
        self.members
    }

    /// Where the group's single-precision coordinates begin.
    pub fn origin(&self) -> DVec3 {
        self.origin
    }

    /// The world's finite part, from the origin.
    pub fn world(&self) -> Aabb {
        self.world
    }

    /// The division as one member sees it.
    pub fn plan(&self, me: u32) -> Plan {
        seen(&self.root, me)
    }

    /// Whose sub-space holds the place?
    pub fn owner_at(&self, place: DVec3) -> u32 {
        self.owner_of((place - self.origin).as_vec3())
    }

    pub(crate) fn owner_of(&self, point: Vec3) -> u32 {
        let mut part = &self.root;
        loop {
            match part {
                Part::Of(member) => return *member,
                Part::Cut(axis, at, sides) => part = &sides[usize::from(point[*axis] >= *at)],
            }
        }
    }

    /// Everyone whose sub-space the box reaches, ascending.
    pub fn reached_by(&self, aabb: &Aabb) -> Vec<RegionId> {
        let mut reached = Vec::new();
        collect(&self.root, aabb, &mut reached);
        reached.sort_unstable();
        reached
    }
}

fn collect(part: &Part, aabb: &Aabb, out: &mut Vec<RegionId>) {
    match part {
        Part::Of(member) => out.push(RegionId(*member)),
        Part::Cut(axis, at, sides) => {
            if aabb.min[*axis] < *at {
                collect(&sides[0], aabb, out);
            }
            if aabb.max[*axis] >= *at {
                collect(&sides[1], aabb, out);
            }
        }
    }
}

fn seen(part: &Part, me: u32) -> Plan {
    match part {
        Part::Of(member) if *member == me => Plan::Mine,
        Part::Of(member) => Plan::Remote(*member),
        Part::Cut(axis, at, sides) => Plan::Cut {
            axis: *axis,
            at: *at,
            sides: Box::new([seen(&sides[0], me), seen(&sides[1], me)]),
        },
    }
}

fn lay_out(
    vertex: VertexId,
    places: &[(u32, VertexId)],
    finite: Aabb,
    points: &mut [Vec3],
    plane: &mut Plane<'_>,
) -> Part {
    if let Some((member, _)) = places.iter().find(|(_, at)| *at == vertex) {
        return Part::Of(*member);
    }
    let below = |side: VertexId| {
        let inside = places.iter().filter(|(_, at)| side.contains(*at));
        inside.count() as f64
    };
    let (left, right) = (below(vertex.left()), below(vertex.right()));
    let axis = longest_axis(finite.size());
    let at = plane(&finite, axis, left / (left + right), points);
    let (mut low, mut high) = (finite, finite);
    low.max[axis] = at;
    high.min[axis] = at;
    let split = partition(points, axis, at);
    let (below, above) = points.split_at_mut(split);
    Part::Cut(
        axis,
        at,
        Box::new([
            lay_out(vertex.left(), places, low, below, plane),
            lay_out(vertex.right(), places, high, above, plane),
        ]),
    )
}

fn partition(points: &mut [Vec3], axis: usize, at: f32) -> usize {
    points.sort_by(|a, b| a[axis].total_cmp(&b[axis]));
    points.partition_point(|point| point[axis] < at)
}

/// Between the bodies at the share that the low side's members make of all; well inside, whatever the crowd.
fn median(finite: &Aabb, axis: usize, share: f64, points: &mut [Vec3]) -> f32 {
    let (low, high) = (finite.min[axis], finite.max[axis]);
    if points.is_empty() {
        return low + (high - low) * share as f32;
    }
    points.sort_by(|a, b| a[axis].total_cmp(&b[axis]));
    let place = ((points.len() as f64 * share).round() as usize).clamp(1, points.len().max(2) - 1);
    let above = points[place.min(points.len() - 1)][axis];
    let below = points[place - 1][axis];
    let margin = 0.05 * (high - low);
    ((below + above) * 0.5).clamp(low + margin, high - margin)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cube(side: f64) -> Bounds {
        Bounds {
            min: DVec3::splat(-side * 0.5),
            max: DVec3::splat(side * 0.5),
        }
    }

    /// ST-18: three members have a half and two quarters; every place has one owner, outside the world too.
    #[test]
    fn st_18_the_published_cut_halves() {
        let three = SubSpaces::published(cube(100.0), 3);
        assert_eq!(three.owner_at(DVec3::new(-1.0, 40.0, 0.0)), 0);
        assert_eq!(three.owner_at(DVec3::new(0.0, -1e6, 0.0)), 1);
        assert_eq!(three.owner_at(DVec3::new(1e9, 0.0, 0.0)), 2);
        let aabb = Aabb::around(Vec3::ZERO, Vec3::ONE);
        assert_eq!(three.reached_by(&aabb), [0, 1, 2].map(RegionId));
    }

    #[test]
    fn the_balanced_cut_gives_everyone_the_same() {
        let places: Vec<DVec3> = (0..1000_u32)
            .map(|i| {
                let [a, b, c] = [i % 10, i / 10 % 10, i / 100].map(f64::from);
                // A crowd in one corner.
                DVec3::new(a * a, b * b, c * c) * 0.5 - DVec3::splat(40.0)
            })
            .collect();
        for members in [2, 3, 5, 8, 32] {
            let spaces = SubSpaces::balanced(cube(100.0), members, &places);
            let mut counts = vec![0_usize; members as usize];
            for place in &places {
                counts[spaces.owner_at(*place) as usize] += 1;
            }
            let most = counts.iter().max().copied().unwrap_or(0) as f64;
            let mean = 1000.0 / f64::from(members);
            assert!(most < 2.6 * mean, "{members}: {counts:?}");
            let published = SubSpaces::published(cube(100.0), members);
            let mut even = vec![0_usize; members as usize];
            for place in &places {
                even[published.owner_at(*place) as usize] += 1;
            }
            let worst = even.iter().max().copied().unwrap_or(0) as f64;
            assert!(most < worst, "{members}: {counts:?} against {even:?}");
        }
    }
}
