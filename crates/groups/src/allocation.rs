//! Who in a group has which vertex of its tree (thesis §4.3.1.3, Fig. 4.4).
//!
//! ```text
//!   1 member       2              3                    5
//!      0           0              0                    0
//!      ●        ●1    ●2      ●1     2            1          2
//!                                  ●5  ●6      ●3  ●4     ●5    6
//!                                                            ●13 ●14
//! ```
//!
//! The first half of the members, by id, goes left, the rest right, and so on down. Every member is at exactly one vertex, the
//! vertices cover the world exactly once, depths differ by one at most, and the member with the lowest id, the
//! leader, is the last to be pushed down. Everyone who knows the members knows the allocation.

use crate::{Division, NodeId, SubSpace, VertexId};
use domain::Bounds;
use glam::DVec3;
use serde::{Deserialize, Serialize};

/// The vertices of a group's members.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocation {
    /// By node id.
    places: Vec<(NodeId, VertexId)>,
}

/// The allocation of these members, whatever order they come in; a repeated id counts once.
pub fn allocate(members: &[NodeId]) -> Allocation {
    let mut members = members.to_vec();
    members.sort_unstable();
    members.dedup();
    let mut places = Vec::with_capacity(members.len());
    place(&members, VertexId::ROOT, &mut places);
    Allocation { places }
}

fn place(members: &[NodeId], vertex: VertexId, places: &mut Vec<(NodeId, VertexId)>) {
    match members {
        [] => {}
        [one] => places.push((*one, vertex)),
        many => {
            let (left, right) = many.split_at(many.len() / 2);
            place(left, vertex.left(), places);
            place(right, vertex.right(), places);
        }
    }
}

impl Allocation {
    /// Members and their vertices, by node id.
    pub fn places(&self) -> &[(NodeId, VertexId)] {
        &self.places
    }

    /// The members, by id.
    pub fn members(&self) -> impl ExactSizeIterator<Item = NodeId> + '_ {
        self.places.iter().map(|(node, _)| *node)
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Is nobody there?
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The member with the lowest id (ST-35).
    pub fn leader(&self) -> Option<NodeId> {
        self.places.first().map(|(node, _)| *node)
    }

    /// The vertex of a member.
    pub fn vertex_of(&self, node: NodeId) -> Option<VertexId> {
        let at = self.places.binary_search_by_key(&node, |(n, _)| *n).ok()?;
        Some(self.places[at].1)
    }

    /// The member at exactly this vertex.
    pub fn owner_of(&self, vertex: VertexId) -> Option<NodeId> {
        let place = self.places.iter().find(|(_, v)| *v == vertex);
        place.map(|(node, _)| *node)
    }

    /// The sub-space of a member.
    pub fn sub_space(&self, division: &Division, node: NodeId) -> Option<SubSpace> {
        Some(division.sub_space(self.vertex_of(node)?))
    }

    /// The member whose sub-space holds a point; `None` only if there are no members. As many steps as the tree is deep.
    pub fn owner_at(&self, division: &Division, point: DVec3) -> Option<NodeId> {
        let mut members = &self.places[..];
        let mut walk = division.walk();
        while members.len() > 1 {
            let (left, right) = members.split_at(members.len() / 2);
            members = if walk.turn_towards(point) {
                right
            } else {
                left
            };
        }
        members.first().map(|(node, _)| *node)
    }

    /// The members whose sub-spaces a box reaches into, by id. A box that only touches a cut from below is not beyond it.
    pub fn owners_touching(&self, division: &Division, bounds: &Bounds) -> Vec<NodeId> {
        let spaces = self.places.iter().map(|(n, v)| (n, division.sub_space(*v)));
        let reached = spaces.filter(|(_, space)| space.reached_by(bounds));
        reached.map(|(node, _)| *node).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Axes;

    fn nodes(n: u32) -> Vec<NodeId> {
        (1..=n).map(NodeId).collect()
    }

    fn vertices(n: u32) -> Vec<u64> {
        let allocation = allocate(&nodes(n));
        allocation.places().iter().map(|(_, v)| v.0).collect()
    }

    /// ST-18: half, quarter, quarter; three quarters and two eighths (Fig. 4.4).
    #[test]
    fn st_18_the_thesis_s_examples() {
        assert_eq!(vertices(1), [0]);
        assert_eq!(vertices(2), [1, 2]);
        assert_eq!(vertices(3), [1, 5, 6]);
        assert_eq!(vertices(5), [3, 4, 5, 13, 14]);
        assert_eq!(vertices(8), [7, 8, 9, 10, 11, 12, 13, 14]);
    }

    /// ST-17, ST-18: each member once, the whole world once, the lowest id pushed down last.
    #[test]
    fn st_17_every_size_covers_the_world_once() {
        for n in 1..=200 {
            let allocation = allocate(&nodes(n));
            assert_eq!(allocation.len(), n as usize);
            let depths: Vec<u32> = allocation.places().iter().map(|(_, v)| v.depth()).collect();
            // Shares of 2^-depth add up to one, and no vertex is above another: a partition.
            let share: f64 = depths.iter().map(|d| 0.5_f64.powi(*d as i32)).sum();
            assert_eq!(share, 1.0, "{n}");
            for (i, (_, a)) in allocation.places().iter().enumerate() {
                for (_, b) in &allocation.places()[i + 1..] {
                    assert!(!a.contains(*b) && !b.contains(*a), "{n}: {a} {b}");
                }
            }
            assert_eq!(depths[0], n.ilog2(), "{n}: the leader's depth");
            assert!(
                depths
                    .iter()
                    .all(|d| *d == n.ilog2() || *d == (2 * n - 1).ilog2())
            );
        }
    }

    /// Everyone derives the same owner of a point from the members alone, by walking or by looking at all sub-spaces.
    #[test]
    fn st_17_one_owner_for_every_point() {
        let world = Bounds {
            min: DVec3::new(-40.0, 0.0, -10.0),
            max: DVec3::new(40.0, 30.0, 10.0),
        };
        for axes in [Axes::Space, Axes::Ground] {
            let division = Division::new(world, axes).expect("a good world");
            for n in [1, 2, 3, 5, 7, 8, 31] {
                let allocation = allocate(&nodes(n));
                for i in 0..4000_u32 {
                    let unit = |k: u32| f64::from(i.wrapping_mul(k) % 1009) / 1009.0 * 1.2 - 0.1;
                    let point = world.min
                        + (world.max - world.min) * DVec3::new(unit(7), unit(131), unit(577));
                    let holding: Vec<NodeId> = allocation
                        .members()
                        .filter(|m| {
                            allocation
                                .sub_space(&division, *m)
                                .expect("a member")
                                .holds(point)
                        })
                        .collect();
                    assert_eq!(
                        holding,
                        [allocation.owner_at(&division, point).expect("members")]
                    );
                }
            }
        }
    }
}
