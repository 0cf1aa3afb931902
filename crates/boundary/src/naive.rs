//! Policy `naive`, the contrast: a body belongs to whoever's region holds its centre, and nobody knows of the other side. It fails
//! as the thesis says (3.2): overlaps across the border, late and missed collisions.

use crate::view::{Bodies, BodyView};
use domain::{BodyId, Rect, RegionId, RegionMap};

/// Bodies whose centre has left `home`, each with what is tied to it, and where they go.
pub fn crossings(
    bodies: &impl Bodies,
    home: &Rect,
    map: &RegionMap,
) -> Vec<(RegionId, Vec<BodyView>)> {
    let mut near = Vec::new();
    bodies.not_within(home, &mut near);
    near.sort_unstable_by_key(|view: &BodyView| view.id);
    near.dedup_by_key(|view| view.id);
    let mut gone: Vec<BodyId> = Vec::new();
    let mut crossings = Vec::new();
    for view in near {
        let id = view.id;
        if home.holds(view.centre.x, view.centre.z) || gone.contains(&id) {
            continue;
        }
        let mut tied = vec![id];
        bodies.assembly(id, &mut tied);
        tied.sort_unstable();
        tied.dedup();
        gone.extend(&tied);
        let members = tied.iter().filter_map(|id| bodies.view(*id)).collect();
        crossings.push((map.region_at(view.centre.x, view.centre.z), members));
    }
    crossings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Balls, ball};
    use domain::Layout;

    #[test]
    fn the_centre_decides() {
        let extent = Rect {
            min: [-50.0; 2],
            max: [50.0; 2],
        };
        let map = RegionMap::build(Layout::Columns, 2, extent).expect("valid");
        let balls = Balls::of([ball(1, -0.1, 0.0, 0.5), ball(2, 0.1, 0.0, 0.5)]);
        let crossed = crossings(&balls, &map.rect(RegionId(0)), &map);
        assert_eq!(crossed.len(), 1);
        assert_eq!(crossed[0].0, RegionId(1));
        assert_eq!(crossed[0].1[0].id, BodyId(2));
    }
}
