//! BT: migration by boundary traversal, and the island test (thesis Algorithm 2).
//!
//! A body that has wholly left its host's region goes to the server whose region it is in, unless the cluster it
//! belongs to still has a member in the host's region. A cluster with no such member is an *island* and moves whole.

use crate::cluster::ClusterFinder;
use crate::view::BodyView;
use domain::{BodyId, Rect, RegionId, RegionMap};
use std::collections::BTreeMap;

/// **BT**, the island test: the whole cluster of `start` if no member touches the host's region, else `None`.
/// A cluster already looked at in this tick gives `None` as well.
pub fn island(finder: &mut ClusterFinder<'_>, start: BodyId, home: &Rect) -> Option<Vec<BodyView>> {
    let members = finder.take(start);
    let touches_home = members.iter().any(|view| home.touches(&view.ground));
    (!touches_home && !members.is_empty()).then_some(members)
}

/// Where an island goes: to the region that holds most of it, the lowest of equals.
pub fn destination(island: &[BodyView], map: &RegionMap) -> RegionId {
    let mut votes: BTreeMap<RegionId, usize> = BTreeMap::new();
    for view in island {
        *votes.entry(region_of(view, map)).or_default() += 1;
    }
    votes
        .into_iter()
        .max_by_key(|(region, count)| (*count, std::cmp::Reverse(*region)))
        .expect("an island has members")
        .0
}

/// The region in which the middle of the body's shadow lies.
pub fn region_of(view: &BodyView, map: &RegionMap) -> RegionId {
    let [x, z] = middle(&view.ground);
    map.region_at(x, z)
}

/// Is that this region?
pub fn is_in(view: &BodyView, region: &Rect) -> bool {
    let [x, z] = middle(&view.ground);
    region.holds(x, z)
}

fn middle(Rect { min, max }: &Rect) -> [f64; 2] {
    [0, 1].map(|i| (min[i] + max[i]) * 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ball;

    const HOME: Rect = Rect {
        min: [f64::NEG_INFINITY; 2],
        max: [0.0, f64::INFINITY],
    };

    fn nobody(_: BodyId, _: &mut Vec<BodyId>) {}

    fn island_of(views: Vec<BodyView>, start: u64) -> Option<Vec<u64>> {
        let mut finder = ClusterFinder::new(views, 1.0, &nobody);
        island(&mut finder, BodyId(start), &HOME)
            .map(|members| members.iter().map(|view| view.id.0).collect())
    }

    /// AP-13: a single body wholly outside is an island.
    #[test]
    fn a_single_traversed_body_is_an_island() {
        assert_eq!(island_of(vec![ball(1, 2.0, 0.0, 0.5)], 1), Some(vec![1]));
    }

    /// AP-14, AP-15: chain E-F-G, whose E still touches the host's region, stays.
    #[test]
    fn a_chain_with_one_foot_at_home_stays() {
        let chain = vec![
            ball(1, 0.2, 0.0, 0.5),
            ball(2, 1.8, 0.0, 0.5),
            ball(3, 3.4, 0.0, 0.5),
        ];
        assert_eq!(island_of(chain, 3), None);
    }

    /// A cluster with several traversed members is searched once: none of them is later found alone.
    #[test]
    fn no_member_of_a_straddling_cluster_is_an_island() {
        let chain: Vec<_> = (0..6)
            .map(|i| ball(i, 0.3 + i as f64 * 1.8, 0.0, 0.5))
            .collect();
        let mut finder = ClusterFinder::new(chain, 1.0, &nobody);
        for start in [3, 1, 5, 2, 4] {
            assert_eq!(
                island(&mut finder, BodyId(start), &HOME),
                None,
                "from {start}"
            );
        }
    }

    /// AP-15: chain H-I-J wholly outside goes as one.
    #[test]
    fn a_chain_wholly_outside_is_one_island() {
        let chain = vec![
            ball(1, 2.0, 0.0, 0.5),
            ball(2, 3.6, 0.0, 0.5),
            ball(3, 5.2, 0.0, 0.5),
        ];
        assert_eq!(island_of(chain, 2), Some(vec![1, 2, 3]));
    }
}
