//! Scenery that is put up while the world runs (AP-42): solid at once, kept in snapshots, known to clusters that are caught up.

use domain::{Body, BodyForm, BodyId, Material, Motion, Shape, SimTime, Static, StaticId, Tick};
use glam::{DVec3, Quat, Vec3};
use region::staging::{Staging, region_map};
use region::{Region, RegionSnapshot};
use scenes::Scene;

const TABLE_TOP_M: f64 = 20.5;

fn region() -> (Region, region::RegionConfig) {
    let text = scenes::builtin::text("stacks").expect("built in");
    let scene = Scene::parse(text, None).expect("sound");
    let map = region_map(&scene, Some(domain::Layout::Single), Some(1)).expect("fits");
    let staging = Staging::new(&scene, map, boundary::BoundaryConfig::default());
    let config = staging.config(domain::RegionId(0), Some(30));
    (Region::new(config.clone()).expect("sound"), config)
}

fn table(region: &Region) -> Static {
    Static {
        id: StaticId(1 << 31),
        shape: Shape::Cuboid {
            size: Vec3::new(10.0, 1.0, 10.0),
        },
        position: above(region, 20.0),
        rotation: Quat::IDENTITY,
        material: Material::default(),
    }
}

fn above(region: &Region, y: f64) -> DVec3 {
    let origin = region.config().map.origin(region.id());
    DVec3::new(origin.x, y, origin.z)
}

fn drop_ball(region: &mut Region) -> BodyId {
    let id = BodyId(1 << 63);
    let form = BodyForm::of(Shape::Sphere { radius: 0.5 });
    let motion = Motion::at(above(region, 22.0));
    region.place(&Body::new(id, form, motion)).expect("sound");
    id
}

fn run(region: &mut Region, ticks: u64) {
    for tick in region.tick().0 + 1..=region.tick().0 + ticks {
        region.handle_tick(SimTime::ZERO, Tick(tick));
    }
}

#[test]
fn a_ball_stays_on_a_table_that_was_put_up_and_on_the_restored_one() {
    let (mut region, config) = region();
    region.put_up(&table(&region)).expect("sound");
    region
        .put_up(&table(&region))
        .expect("repeating it does no harm");
    assert_eq!(region.scenery().len(), 1);
    let ball = drop_ball(&mut region);
    run(&mut region, 120);
    let height = |region: &Region| region.world().motion(ball).expect("here").position.y;
    assert!((height(&region) - TABLE_TOP_M - 0.5).abs() < 0.05);

    let bytes = region.make_snapshot().to_bytes();
    let snapshot = RegionSnapshot::from_bytes(&bytes).expect("ours");
    let mut restored = Region::resume(config, snapshot, 2).expect("sound");
    assert_eq!(restored.scenery(), region.scenery());
    run(&mut restored, 60);
    assert!((height(&restored) - TABLE_TOP_M - 0.5).abs() < 0.05);
    restored.put_up(&table(&restored)).expect("known already");
    assert_eq!(restored.scenery().len(), 1);
}

#[test]
fn scenery_that_cannot_be_is_refused() {
    let (mut region, _) = region();
    let mut bad = table(&region);
    bad.position.x = f64::NAN;
    assert!(region.put_up(&bad).is_err());
    let taken = Static {
        id: region
            .config()
            .statics
            .first()
            .map_or(StaticId(0), |s| s.id),
        ..table(&region)
    };
    let is_taken = !region.config().statics.is_empty();
    assert_eq!(region.put_up(&taken).is_err(), is_taken);
}
