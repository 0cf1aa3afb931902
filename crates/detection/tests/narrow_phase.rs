//! The narrow phases (ST-10 to ST-12, ST-14).

use detection::mesh::brute_force;
use detection::{Aabb, Plan};
use detection::{
    Contact, Form, Geometry, Level, MeshNarrow, NarrowPhase, ParryNarrow, Placed, Settings, Space,
};
use domain::{BodyForm, Motion, Shape};
use glam::{DVec3, Quat, Vec3};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

fn random_vec(rng: &mut Pcg64Mcg, reach: f32) -> Vec3 {
    Vec3::from_array(std::array::from_fn(|_| rng.random_range(-reach..reach)))
}

fn random_rotation(rng: &mut Pcg64Mcg) -> Quat {
    let axis = random_vec(rng, 1.0).normalize_or(Vec3::Y);
    Quat::from_axis_angle(axis, rng.random_range(0.0..std::f32::consts::TAU))
}

fn shapes() -> Vec<Geometry> {
    let shapes = [
        Shape::Cuboid { size: Vec3::ONE },
        Shape::Cuboid {
            size: Vec3::new(2.0, 0.3, 0.5),
        },
        Shape::Sphere { radius: 0.6 },
        Shape::Capsule {
            radius: 0.3,
            height: 1.6,
        },
        Shape::Convex {
            points: [Vec3::X, Vec3::NEG_X, Vec3::Y, Vec3::Z, Vec3::NEG_Z].into(),
        },
    ];
    shapes
        .iter()
        .map(|shape| Geometry::new(shape).expect("valid"))
        .collect()
}

fn placed<'a>(geometry: &'a Geometry, offset: Vec3, rotation: Quat) -> Placed<'a> {
    Placed {
        geometry,
        offset,
        rotation,
    }
}

fn ask(
    narrow: &mut impl NarrowPhase,
    a: &Placed<'_>,
    b: &Placed<'_>,
    level: Level,
) -> Vec<Contact> {
    let mut out = Vec::new();
    narrow.contacts(a, b, level, &mut out);
    out
}

fn close(rng: &mut Pcg64Mcg) -> (Vec3, Quat, Quat) {
    (
        random_vec(rng, 1.2),
        random_rotation(rng),
        random_rotation(rng),
    )
}

/// ST-12: without limits the tree agrees with all pairs of triangles.
#[test]
fn st_12_the_tree_agrees_with_brute_force() {
    let shapes = shapes();
    let mut rng = Pcg64Mcg::seed_from_u64(12);
    let mut narrow = MeshNarrow::default();
    let (mut touching, mut apart) = (0, 0);
    for _ in 0..1_500 {
        let [a, b] = [0; 2].map(|_| &shapes[rng.random_range(0..shapes.len())]);
        let (offset, first, second) = close(&mut rng);
        let (a, b) = (placed(a, Vec3::ZERO, first), placed(b, offset, second));
        let found = ask(&mut narrow, &a, &b, Level::FULL);
        // Brute force sees the first body unturned: turn everything back.
        let back = first.conjugate();
        let seen = placed(b.geometry, back * offset, back * second);
        assert_eq!(!found.is_empty(), brute_force(a.geometry, &seen));
        assert!(found.iter().all(|contact| !contact.approximate));
        if found.is_empty() {
            apart += 1
        } else {
            touching += 1
        }
    }
    assert!(
        touching > 200 && apart > 200,
        "{touching} touch, {apart} do not"
    );
}

/// ST-11, ST-12: a limited depth may give false alarms, never misses a contact, and finds no more than it may.
#[test]
fn st_12_a_limited_depth_never_misses() {
    let shapes = shapes();
    let mut rng = Pcg64Mcg::seed_from_u64(112);
    let (mut mesh, mut parry) = (MeshNarrow::default(), ParryNarrow::default());
    let mut false_alarms = 0;
    for round in 0..1_500 {
        let [a, b] = [0; 2].map(|_| &shapes[rng.random_range(0..shapes.len())]);
        let (offset, first, second) = close(&mut rng);
        let (a, b) = (placed(a, Vec3::ZERO, first), placed(b, offset, second));
        let limited = Level {
            max_contacts: Some(rng.random_range(1..4)),
            max_depth: Some(rng.random_range(0..6)),
        };
        let exact = ask(&mut mesh, &a, &b, Level::FULL);
        let cheap = ask(&mut mesh, &a, &b, limited);
        assert!(exact.is_empty() || !cheap.is_empty(), "round {round}");
        assert!(cheap.len() <= limited.max_contacts.unwrap_or(0) as usize);
        false_alarms += usize::from(exact.is_empty() && !cheap.is_empty());
        let boxes_touch = {
            let around = |p: &Placed<'_>| p.geometry.aabb(p.offset, p.rotation);
            around(&a).touches(&around(&b))
        };
        if boxes_touch {
            let exact = ask(&mut parry, &a, &b, Level::FULL);
            let cheap = ask(&mut parry, &a, &b, Level::LEAST);
            assert!(exact.is_empty() || !cheap.is_empty());
            assert_eq!(cheap.len(), 1);
        }
    }
    assert!(false_alarms > 50, "limits cost exactness: {false_alarms}");
}

/// ST-11: `max_contacts` stops early; without it all contacts are found.
#[test]
fn st_11_the_number_of_contacts_is_limited() {
    let cube = Geometry::new(&Shape::Cuboid { size: Vec3::ONE }).expect("valid");
    let (a, b) = (
        placed(&cube, Vec3::ZERO, Quat::IDENTITY),
        placed(&cube, Vec3::new(0.3, 0.9, 0.2), Quat::from_rotation_y(0.4)),
    );
    for narrow in [
        &mut ParryNarrow::default() as &mut dyn NarrowPhase,
        &mut MeshNarrow::default(),
    ] {
        let mut all = Vec::new();
        narrow.contacts(&a, &b, Level::FULL, &mut all);
        assert!(all.len() >= 4, "{}", all.len());
        for most in 1..4 {
            let level = Level {
                max_contacts: Some(most),
                max_depth: None,
            };
            let mut some = Vec::new();
            narrow.contacts(&a, &b, level, &mut some);
            assert_eq!(some.len(), most as usize);
        }
    }
}

/// Parry's contacts make sense: the normal points from the first to the second, the depth is what two cubes share.
#[test]
fn contacts_have_sensible_normals_and_depths() {
    let cube = Geometry::new(&Shape::Cuboid { size: Vec3::ONE }).expect("valid");
    let a = placed(&cube, Vec3::ZERO, Quat::IDENTITY);
    let b = placed(&cube, Vec3::Y * 0.9, Quat::IDENTITY);
    for contact in ask(&mut ParryNarrow::default(), &a, &b, Level::FULL) {
        assert!((contact.normal - Vec3::Y).length() < 1e-4);
        assert!((contact.depth - 0.1).abs() < 1e-4, "{}", contact.depth);
    }
    let compound = Shape::Compound {
        parts: [domain::CompoundPart {
            position: Vec3::X * 3.0,
            rotation: Quat::IDENTITY,
            shape: Shape::Cuboid { size: Vec3::ONE },
        }]
        .into(),
    };
    let compound = Geometry::new(&compound).expect("valid");
    let turned = Quat::from_rotation_y(std::f32::consts::FRAC_PI_2);
    let part_at = turned * Vec3::X * 3.0;
    let a = placed(&compound, Vec3::ZERO, turned);
    let b = placed(&cube, part_at + Vec3::Y * 0.9, Quat::IDENTITY);
    let found = ask(&mut ParryNarrow::default(), &a, &b, Level::FULL);
    assert!(!found.is_empty());
    for contact in found {
        assert!(
            (contact.normal - Vec3::Y).length() < 1e-3,
            "{}",
            contact.normal
        );
        assert!(
            (contact.point - part_at).length() < 1.0,
            "{}",
            contact.point
        );
    }
}

/// ST-14: every volume and triangle of the smaller body is moved at most once per test, and only if the walk meets it.
#[test]
fn st_14_each_primitive_is_transformed_at_most_once() {
    let ball = Geometry::new(&Shape::Sphere { radius: 0.6 }).expect("valid");
    let cube = Geometry::new(&Shape::Cuboid { size: Vec3::ONE }).expect("valid");
    let mut narrow = MeshNarrow::default();
    let most = (cube.mesh().volumes() + cube.mesh().len()) as u64;
    assert!(ball.mesh().len() > cube.mesh().len());
    let mut rng = Pcg64Mcg::seed_from_u64(14);
    let mut fewest = u64::MAX;
    for _ in 0..300 {
        let (offset, first, second) = close(&mut rng);
        let (a, b) = (
            placed(&cube, Vec3::ZERO, first),
            placed(&ball, offset, second),
        );
        let before = narrow.transforms();
        ask(&mut narrow, &a, &b, Level::FULL);
        let moved = narrow.transforms() - before;
        assert!(moved <= most, "{moved} of {most}");
        fewest = fewest.min(moved);
    }
    assert!(
        fewest < most / 2,
        "lazily: what is not met is not moved ({fewest})"
    );
}

/// ST-10: any narrow phase can be plugged in.
#[test]
fn st_10_the_narrow_phase_is_pluggable() {
    struct Never;
    impl NarrowPhase for Never {
        fn contacts(&mut self, _: &Placed<'_>, _: &Placed<'_>, _: Level, _: &mut Vec<Contact>) {}
    }
    let collisions = |narrow: Option<Box<dyn NarrowPhase + Send>>| {
        let world = Aabb::around(Vec3::ZERO, Vec3::splat(10.0));
        let mut space =
            Space::new(DVec3::ZERO, world, &Plan::Mine, Settings::default()).expect("valid");
        if let Some(narrow) = narrow {
            space.set_narrow_phase(narrow);
        }
        let form = BodyForm::of(Shape::Cuboid { size: Vec3::ONE });
        let form = space.add_form(Form::new(&form).expect("valid"));
        for x in [0.0, 0.9] {
            space.insert(form, Motion::at(DVec3::X * x));
        }
        space.step();
        space.stats().collisions
    };
    assert_eq!(collisions(None), 1);
    assert_eq!(collisions(Some(Box::new(MeshNarrow::default()))), 1);
    assert_eq!(collisions(Some(Box::new(Never))), 0);
}
