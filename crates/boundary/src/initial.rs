//! Who owns what at the start: every cluster whole, so that the first tick finds no contact across a border.

use crate::boundary_traversal::destination;
use crate::cluster::ClusterFinder;
use crate::config::{AuraSize, BoundaryConfig, Policy};
use crate::geometry::AuraGeometry;
use crate::promise::PromiseLaw;
use crate::view::BodyView;
use domain::{BodyId, RegionId, RegionMap};
use std::collections::BTreeMap;

/// The owner of each body at the start. A cluster belongs to the region that holds most of its members.
pub fn owners(
    views: Vec<BodyView>,
    map: &RegionMap,
    config: &BoundaryConfig,
    assembly: &dyn Fn(BodyId, &mut Vec<BodyId>),
) -> BTreeMap<BodyId, RegionId> {
    let ids: Vec<BodyId> = views.iter().map(|view| view.id).collect();
    let mut finder = match (config.policy, config.aura) {
        (Policy::Aura, AuraSize::Adaptive) => {
            // At the start nobody has heard a promise yet, however small: who may meet soon starts together.
            let law = PromiseLaw::of(&BoundaryConfig {
                promise_share: 1.0,
                ..*config
            });
            ClusterFinder::with_halves(views, |view| law.half_m(view), assembly)
        }
        (Policy::Aura, _) => ClusterFinder::new(views, AuraGeometry::of(config).link_m, assembly),
        // Only joints tie: overlap is what these policies do not care about. Below zero no two spheres are near.
        (Policy::Naive | Policy::Replicate, _) => {
            ClusterFinder::new(views, f64::NEG_INFINITY, assembly)
        }
    };
    let mut owners = BTreeMap::new();
    for id in ids {
        let cluster = finder.take(id);
        if cluster.is_empty() {
            continue;
        }
        let owner = destination(&cluster, map);
        owners.extend(cluster.iter().map(|view| (view.id, owner)));
    }
    owners
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ball, safe};
    use domain::{Layout, Rect};

    #[test]
    fn a_cluster_over_a_border_starts_with_one_owner() {
        let extent = Rect {
            min: [-100.0; 2],
            max: [100.0; 2],
        };
        let map = RegionMap::build(Layout::Columns, 2, extent).expect("valid");
        let views = vec![
            ball(1, -1.0, 0.0, 0.5),
            ball(2, 1.0, 0.0, 0.5),
            ball(3, 2.0, 0.0, 0.5),
            ball(4, -60.0, 0.0, 0.5),
        ];
        let nobody = |_: BodyId, _: &mut Vec<BodyId>| {};
        let aura = owners(views.clone(), &map, &safe(), &nobody);
        let of = |owners: &BTreeMap<BodyId, RegionId>| {
            owners.values().map(|region| region.0).collect::<Vec<_>>()
        };
        assert_eq!(of(&aura), [1, 1, 1, 0]);
        let naive = BoundaryConfig {
            policy: Policy::Naive,
            ..BoundaryConfig::default()
        };
        assert_eq!(of(&owners(views, &map, &naive, &nobody)), [0, 1, 1, 0]);
    }
}
