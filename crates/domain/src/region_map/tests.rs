//! Topologies of the thesis (3.2), partitions from outside, and properties of every map.

use super::*;
use proptest::prelude::*;

const EXTENT: Rect = Rect {
    min: [-75.0, -75.0],
    max: [75.0, 75.0],
};

fn rect(min: [f64; 2], max: [f64; 2]) -> Rect {
    Rect { min, max }
}

fn build(layout: Layout, servers: usize) -> RegionMap {
    RegionMap::build(layout, servers, EXTENT).unwrap()
}

fn neighbours(map: &RegionMap, region: u32) -> Vec<u32> {
    let list = map.neighbours(RegionId(region));
    list.iter().map(|id| id.0).collect()
}

// AP-26
#[test]
fn columns_have_at_most_two_neighbours() {
    for servers in 1..=10_u32 {
        let map = build(Layout::Columns, servers as usize);
        assert_eq!(map.len(), servers as usize);
        for i in 0..servers {
            let expected: Vec<u32> = [i.checked_sub(1), Some(i + 1).filter(|n| *n < servers)]
                .into_iter()
                .flatten()
                .collect();
            assert_eq!(neighbours(&map, i), expected);
        }
    }
}

// AP-27, A-18
#[test]
fn at_a_three_way_corner_all_talk_to_each_other() {
    let map = RegionMap::thesis_three(EXTENT).unwrap();
    assert_eq!(neighbours(&map, 0), [1, 2]);
    assert_eq!(neighbours(&map, 1), [0, 2]);
    assert_eq!(neighbours(&map, 2), [0, 1]);
    let width_x = |i| map.finite_rect(RegionId(i)).size()[0];
    assert_eq!([0, 1, 2].map(width_x), [150.0, 75.0, 75.0]);
}

// AP-27
#[test]
fn at_a_four_way_corner_all_talk_to_each_other() {
    let map = build(Layout::Grid, 4);
    assert_eq!(neighbours(&map, 0), [1, 2, 3]);
    assert_eq!(neighbours(&map, 3), [0, 1, 2]);
}

// AP-27, AP-28
#[test]
fn in_a_three_by_three_grid_the_centre_has_eight_neighbours() {
    let map = build(Layout::Grid, 9);
    assert_eq!(neighbours(&map, 4), [0, 1, 2, 3, 5, 6, 7, 8]);
    assert_eq!(neighbours(&map, 0), [1, 3, 4]);
    assert!(!map.are_neighbours(RegionId(0), RegionId(2)));
    assert!(!map.are_neighbours(RegionId(0), RegionId(5)));
    let most = map.regions().map(|id| map.neighbours(id).len()).max();
    assert_eq!(most, Some(8));
}

// AP-27, AP-28
#[test]
fn seven_servers_meet_at_three_way_corners_only() {
    for map in [
        RegionMap::thesis_seven(EXTENT).unwrap(),
        build(Layout::Grid, 7),
    ] {
        assert_eq!(neighbours(&map, 3), [0, 1, 2, 4, 5, 6]);
        assert_eq!(neighbours(&map, 0), [1, 2, 3]);
        assert_eq!(neighbours(&map, 2), [0, 3, 5]);
        let most = map.regions().map(|id| map.neighbours(id).len()).max();
        assert_eq!(most, Some(6));
        assert_eq!(corner_sizes(&map).into_iter().max(), Some(3));
    }
}

/// How many regions meet at each corner of each region.
fn corner_sizes(map: &RegionMap) -> Vec<usize> {
    let all: Vec<Rect> = map.regions().map(|id| map.rect(id)).collect();
    let corners = all
        .iter()
        .flat_map(|r| [r.min[0], r.max[0]].map(|x| [r.min[1], r.max[1]].map(|z| (x, z))));
    let finite = corners
        .flatten()
        .filter(|(x, z)| x.is_finite() && z.is_finite());
    finite
        .map(|(x, z)| all.iter().filter(|r| r.distance(x, z) == 0.0).count())
        .collect()
}

#[test]
fn grids_are_as_square_as_they_can_be() {
    let rows = |servers| {
        let map = build(Layout::Grid, servers);
        let mut rows: Vec<(f64, usize)> = Vec::new();
        for id in map.regions() {
            let z = map.finite_rect(id).min[1];
            match rows.last_mut() {
                Some((row, count)) if *row == z => *count += 1,
                _ => rows.push((z, 1)),
            }
        }
        rows.into_iter().map(|(_, count)| count).collect::<Vec<_>>()
    };
    assert_eq!(rows(2), [2]);
    assert_eq!(rows(5), [3, 2]);
    assert_eq!(rows(6), [3, 3]);
    assert_eq!(rows(7), [2, 3, 2]);
    assert_eq!(rows(11), [4, 4, 3]);
    assert_eq!(rows(12), [4, 4, 4]);
    assert_eq!(rows(14), [3, 4, 4, 3]);
    let deep = rect([0.0, 0.0], [50.0, 100.0]);
    let map = RegionMap::build(Layout::Grid, 6, deep).unwrap();
    assert_eq!(
        map.finite_rect(RegionId(1)).min,
        [25.0, 0.0],
        "two columns, three rows"
    );
}

#[test]
fn a_tree_gives_every_server_the_same_area() {
    for servers in 1..=17 {
        let map = build(Layout::Tree, servers);
        assert_eq!(map.len(), servers);
        for id in map.regions() {
            let [width, depth] = map.finite_rect(id).size();
            let share = width * depth * servers as f64 / (150.0 * 150.0);
            assert!(
                (share - 1.0).abs() < 1e-9,
                "{servers} servers, {id}: {share}"
            );
            assert!(width.max(depth) / width.min(depth) < 3.0 + 1e-9);
        }
    }
}

// AP-2
#[test]
fn a_point_on_a_border_belongs_to_the_higher_side() {
    let map = build(Layout::Grid, 4);
    assert_eq!(map.region_at(0.0, 0.0), RegionId(3));
    assert_eq!(map.region_at(-1e-12, 0.0), RegionId(2));
    assert_eq!(map.region_at(0.0, -1e-12), RegionId(1));
    assert_eq!(map.region_at(-1e300, -1e300), RegionId(0));
    assert_eq!(map.region_at(f64::INFINITY, f64::NEG_INFINITY), RegionId(1));
}

// AP-29
#[test]
fn any_partition_is_accepted_even_with_rounded_numbers() {
    // Five boxes around a middle one, like a pinwheel, with sides that miss each other by a micrometre.
    let boxes = [
        rect([0.0, 0.0], [2.0, 1.000_001]),
        rect([2.0, 0.0], [3.0, 2.0]),
        rect([1.0, 2.0], [3.0, 3.0]),
        rect([0.0, 1.0], [1.0, 3.0]),
        rect([0.999_999, 1.0], [2.000_001, 2.0]),
    ];
    let map = RegionMap::boxes(&boxes, rect([0.0, 0.0], [3.0, 3.0])).unwrap();
    assert_eq!(neighbours(&map, 4), [0, 1, 2, 3]);
    assert_eq!(neighbours(&map, 0), [1, 3, 4]);
    assert_eq!(map.region_at(1.5, 1.5), RegionId(4));
    assert_eq!(map.rect(RegionId(1)).max, [f64::INFINITY, 2.0]);
}

#[test]
fn what_is_no_partition_is_refused_with_the_place() {
    let extent = rect([0.0, 0.0], [4.0, 2.0]);
    let refuse = |boxes: &[Rect]| RegionMap::boxes(boxes, extent).unwrap_err().to_string();
    let left = rect([0.0, 0.0], [2.0, 2.0]);
    assert_eq!(
        refuse(&[left, rect([3.0, 0.0], [4.0, 2.0])]),
        "no box covers x 2 to 3, z 0 to 2 (beside boxes 0 and 1)"
    );
    assert_eq!(
        refuse(&[left, rect([1.5, 0.0], [4.0, 2.0])]),
        "boxes 0 and 1 overlap, for example in x 1.5 to 2, z 0 to 2"
    );
    assert!(refuse(&[rect([0.0, 0.0], [4.0, 3.0])]).contains("reaches out of the world's extent"));
    assert!(refuse(&[rect([0.0, 0.0], [0.0, 2.0])]).contains("must be finite and not empty"));
    assert!(refuse(&[rect([f64::NAN, 0.0], [4.0, 2.0])]).contains("must be finite"));
    assert!(refuse(&[]).contains("0 regions"));
    assert!(RegionMap::boxes(&[extent; 2000], extent).is_err());
    assert!(RegionMap::build(Layout::Grid, 4, Rect::EVERYWHERE).is_err());
    assert!(RegionMap::build(Layout::Boxes, 4, extent).is_err());
    assert_eq!(
        RegionMap::build(Layout::ThesisSeven, 4, extent)
            .unwrap_err()
            .to_string(),
        "layout thesis-7 is for 7 server(s), not 4"
    );
}

// Digest 2.10: the thesis's assumption is a checked precondition.
#[test]
fn regions_narrower_than_their_auras_are_named() {
    let strip = rect([0.0, 0.0], [100.0, 12.0]);
    let map = RegionMap::build(Layout::Grid, 9, strip).unwrap();
    assert_eq!(map.check_size(4.0), Ok(()));
    assert_eq!(
        map.check_size(10.6).unwrap_err().to_string(),
        "region r0 is 4.0 m wide in z, but auras of 5.3 m need at least 10.6 m: \
         fewer servers, another layout, or smaller tolerances"
    );
    // Columns are alone in z, however thin the strip.
    let columns = RegionMap::build(Layout::Columns, 5, strip).unwrap();
    assert_eq!(columns.check_size(20.0), Ok(()));
    assert!(columns.check_size(20.1).is_err());
    assert_eq!(RegionMap::single().check_size(1e9), Ok(()));
    // In staggered rows r0 and r4 are wide, but only a sixth of the width apart.
    let seven = RegionMap::thesis_seven(EXTENT).unwrap();
    assert_eq!(seven.check_size(25.0), Ok(()));
    let error = seven.check_size(26.0).unwrap_err().to_string();
    assert!(error.starts_with("regions r0 and r4 are no neighbours and only 25.0 m apart"));
}

#[test]
fn each_region_computes_around_its_own_middle() {
    let map = build(Layout::Columns, 4);
    assert_eq!(map.origin(RegionId(0)), DVec3::new(-56.0, 0.0, 0.0));
    assert_eq!(map.origin(RegionId(3)), DVec3::new(56.0, 0.0, 0.0));
    assert_eq!(RegionMap::single().origin(RegionId(0)), DVec3::ZERO);
}

#[test]
fn layouts_are_called_by_name() {
    for layout in Layout::ALL {
        assert_eq!(layout.name().parse(), Ok(layout));
        assert_eq!(layout.to_string(), layout.name());
        assert_eq!(serde_json::to_value(layout).unwrap(), layout.name());
    }
    assert_eq!(
        "hexagons".parse::<Layout>().unwrap_err().to_string(),
        "unknown layout \"hexagons\"; known are single, columns, grid, tree, boxes, thesis-3, thesis-7"
    );
}

#[test]
fn a_map_from_outside_is_checked_before_it_is_a_map() {
    let map = build(Layout::Grid, 7).with_version(3);
    let text = serde_json::to_string(&map).unwrap();
    let back: RegionMap = serde_json::from_str(&text).unwrap();
    assert_eq!(back, map);
    assert_eq!(back.version(), 3);
    let broken = text.replacen("-75.0", "-74.0", 3);
    let error = serde_json::from_str::<RegionMap>(&broken).unwrap_err();
    assert!(error.to_string().contains("box"), "{error}");
}

fn any_map() -> impl Strategy<Value = RegionMap> {
    let layout = prop_oneof![
        Just(Layout::Columns),
        Just(Layout::Grid),
        Just(Layout::Tree)
    ];
    let corner = [-2000.0..2000.0, -2000.0..2000.0];
    let size = [10.0..3000.0, 10.0..3000.0];
    (layout, 1_usize..40, corner, size).prop_map(
        |(layout, servers, min, size): (_, _, [f64; 2], [f64; 2])| {
            let extent = rect(min, [min[0] + size[0], min[1] + size[1]]);
            RegionMap::build(layout, servers, extent).unwrap()
        },
    )
}

proptest! {
    // AP-2
    #[test]
    fn every_point_has_exactly_one_region(map in any_map(), x in -6000.0..6000.0, z in -6000.0..6000.0) {
        let holders: Vec<RegionId> = map.regions().filter(|id| map.rect(*id).holds(x, z)).collect();
        prop_assert_eq!(holders, vec![map.region_at(x, z)]);
    }

    // AP-2: the low corner is inside, the high corner is not.
    #[test]
    fn borders_are_half_open(map in any_map()) {
        for id in map.regions() {
            let Rect { min, max } = map.finite_rect(id);
            prop_assert_eq!(map.region_at(min[0], min[1]), id);
            prop_assert_eq!(map.region_at(max[0].next_down(), max[1].next_down()), id);
            if map.rect(id).max[0].is_finite() {
                prop_assert_ne!(map.region_at(max[0], min[1]), id);
            }
        }
    }

    // AP-28: neighbours are mutual, and whoever is just across a corner is one.
    #[test]
    fn neighbours_are_who_is_just_across(map in any_map()) {
        for id in map.regions() {
            for other in map.neighbours(id) {
                prop_assert!(map.are_neighbours(*other, id), "{} {}", id, other);
                prop_assert_ne!(id, *other);
            }
            let Rect { min, max } = map.finite_rect(id).grown(0.002);
            for (x, z) in [(min[0], min[1]), (min[0], max[1]), (max[0], min[1]), (max[0], max[1])] {
                let across = map.region_at(x, z);
                prop_assert!(across == id || map.are_neighbours(id, across), "{} {}", id, across);
            }
        }
    }
}
