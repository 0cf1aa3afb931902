//! `[[static]]`, `[[body]]` and `[[grid]]`: what stands in the world at the start.

use crate::MAX_BODIES;
use crate::reader::{Allowed, Field, Table};
use crate::shapes::{Meshes, Place, read_rotation, read_shape, vec3};
use domain::{Body, BodyForm, BodyId, LOWEST_DENSITY, Material, Motion, Shape, Static, StaticId};
use glam::{DVec3, Quat, Vec3};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const PLACE_KEYS: &[&str] = &["shape", "position", "rotation"];
pub(crate) const SURFACE_KEYS: &[&str] = &["friction", "restitution"];
pub(crate) const FORM_KEYS: &[&str] = &[
    "density",
    "continuous",
    "gravity_scale",
    "linear_damping",
    "angular_damping",
];
pub(crate) const MOTION_KEYS: &[&str] = &["velocity", "spin"];
pub(crate) const GRID_KEYS: &[&str] =
    &["shape", "rotation", "origin", "count", "spacing", "stagger"];
/// Kept small: every region has all scenery.
const MAX_STATICS: usize = 20_000;

pub(crate) const POSITION: Allowed = Allowed::within(1e6);
pub(crate) const VELOCITY: Allowed = Allowed::within(1e4);

/// All bodies at the start, and what joints and commands need to know of them.
#[derive(Default)]
pub(crate) struct Cast {
    pub(crate) bodies: Vec<Body>,
    pub(crate) names: BTreeMap<String, BodyId>,
    /// Bodies with mistakes: their values stand in for unknown ones, so nothing is derived from them.
    pub(crate) broken: BTreeSet<BodyId>,
    /// The line of each `name` of the file (a grid's is not a body's).
    name_lines: BTreeMap<String, usize>,
}

impl Cast {
    pub(crate) fn body(&self, id: BodyId) -> &Body {
        &self.bodies[id.0 as usize - 1]
    }

    /// Adds a body; answers whether its name was still free.
    fn add(&mut self, form: BodyForm, motion: Motion, name: Option<String>, broken: bool) -> bool {
        let id = BodyId(self.bodies.len() as u64 + 1);
        self.bodies.push(Body::new(id, form, motion));
        if broken {
            self.broken.insert(id);
        }
        name.is_none_or(|name| self.names.insert(name, id).is_none())
    }
}

pub(crate) fn read_statics(root: &Table, meshes: &Meshes) -> Vec<Static> {
    let tables = root.tables("static", MAX_STATICS);
    let read = |(i, table): (usize, &Table)| read_static(StaticId(i as u32), table, meshes);
    tables.iter().enumerate().filter_map(read).collect()
}

fn read_static(id: StaticId, table: &Table, meshes: &Meshes) -> Option<Static> {
    table.allow(&[PLACE_KEYS, SURFACE_KEYS]);
    let shape = read_shape(table, Place::Static, meshes);
    let position = read_position(table, "position");
    let rotation = read_rotation(table);
    let material = read_surface(table);
    Some(Static {
        id,
        shape: shape?,
        position: position?,
        rotation: rotation?,
        material,
    })
}

/// Bodies and grids, in the order in which they stand in the file.
pub(crate) fn read_cast(root: &Table, meshes: &Meshes) -> Cast {
    let bodies = root
        .tables("body", MAX_BODIES)
        .into_iter()
        .map(|t| (t, false));
    let grids = root
        .tables("grid", MAX_BODIES)
        .into_iter()
        .map(|t| (t, true));
    let mut tables: Vec<(Table, bool)> = bodies.chain(grids).collect();
    tables.sort_by_key(|(table, _)| table.start());
    let mut cast = Cast::default();
    for (table, is_grid) in tables {
        if cast.bodies.len() >= MAX_BODIES {
            table.note(
                "shape",
                format!("a scene starts with at most {MAX_BODIES} bodies"),
            );
            break;
        }
        match is_grid {
            true => read_grid(&table, meshes, &mut cast),
            false => read_body(&table, meshes, &mut cast),
        }
    }
    cast
}

fn read_body(table: &Table, meshes: &Meshes, cast: &mut Cast) {
    let before = table.problems().count();
    table.allow(&[&["name"], PLACE_KEYS, SURFACE_KEYS, FORM_KEYS, MOTION_KEYS]);
    let name = read_name(table, cast);
    let shape = read_shape(table, Place::Body, meshes);
    let form = read_form(table, shape.unwrap_or(Shape::Sphere { radius: 0.5 }));
    let position = read_position(table, "position").unwrap_or_default();
    let motion = read_motion(table, position);
    let broken = table.problems().count() > before;
    if !cast.add(form, motion, name, broken) && !broken {
        table.note("name", "a body of a grid already has this name");
    }
}

fn read_grid(table: &Table, meshes: &Meshes, cast: &mut Cast) {
    let before = table.problems().count();
    table.allow(&[&["name"], GRID_KEYS, SURFACE_KEYS, FORM_KEYS, MOTION_KEYS]);
    let name = read_name(table, cast);
    let shape = read_shape(table, Place::Body, meshes);
    let form = read_form(table, shape.unwrap_or(Shape::Sphere { radius: 0.5 }));
    let origin = read_position(table, "origin").unwrap_or_default();
    let spacing = table.required("spacing", "[x, y, z] metres from centre to centre");
    let spacing = spacing.and_then(|f| position(&f)).unwrap_or(DVec3::ONE);
    let stagger = read_position(table, "stagger").unwrap_or_default();
    let count = table.required("count", "how many along x, y and z");
    let count = count
        .and_then(|f| read_count(&f, MAX_BODIES - cast.bodies.len()))
        .unwrap_or([1; 3]);
    let motion = read_motion(table, origin);
    let broken = table.problems().count() > before;
    let mut names_free = true;
    for [x, y, z] in cells(count) {
        let shift = spacing * DVec3::new(x as f64, y as f64, z as f64);
        let stagger = if y % 2 == 1 { stagger } else { DVec3::ZERO };
        let place = Motion {
            position: origin + shift + stagger,
            ..motion
        };
        let name = name.as_ref().map(|name| format!("{name}[{x},{y},{z}]"));
        names_free &= cast.add(form.clone(), place, name, broken);
    }
    if !names_free && !broken {
        table.note(
            "name",
            "another body already has the name of one of this grid's bodies",
        );
    }
}

/// Layer by layer upwards, row by row along z, x fastest: the order in which one would build it.
fn cells([nx, ny, nz]: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..ny).flat_map(move |y| (0..nz).flat_map(move |z| (0..nx).map(move |x| [x, y, z])))
}

fn read_count(field: &Field, room: usize) -> Option<[usize; 3]> {
    let items = field.items("a list of 3 whole numbers", 3)?;
    if items.len() != 3 {
        field.note(format!(
            "must be a list of 3 whole numbers, not of {}",
            items.len()
        ));
        return None;
    }
    let counts: Vec<Option<u64>> = items
        .iter()
        .map(|i| i.integer(1..=MAX_BODIES as u64))
        .collect();
    let counts: Vec<u64> = counts.into_iter().collect::<Option<_>>()?;
    let total: u128 = counts.iter().map(|count| u128::from(*count)).product();
    if total > room as u128 {
        field.note(format!(
            "{total} bodies are too many: a scene starts with at most {MAX_BODIES}, {room} are left"
        ));
        return None;
    }
    Some([counts[0] as usize, counts[1] as usize, counts[2] as usize])
}

fn read_name(table: &Table, cast: &mut Cast) -> Option<String> {
    let field = table.field("name")?;
    let name = field.text()?.to_owned();
    let line = table.problems().line_of(table.span());
    if let Some(first) = cast.name_lines.insert(name.clone(), line) {
        field.note(format!(
            "the name `{name}` is already taken by the body of line {first}"
        ));
    }
    Some(name)
}

fn read_motion(table: &Table, position: DVec3) -> Motion {
    let vector = |key, limit| {
        table
            .field(key)
            .and_then(|f| vec3(&f, limit))
            .unwrap_or(Vec3::ZERO)
    };
    let spin = vector("spin", Allowed::within(1e5));
    Motion {
        position,
        rotation: read_rotation(table).unwrap_or(Quat::IDENTITY),
        linear_velocity: vector("velocity", VELOCITY),
        angular_velocity: Vec3::from_array(spin.to_array().map(f32::to_radians)),
    }
}

/// Everything but the motion.
pub(crate) fn read_form(table: &Table, shape: Shape) -> BodyForm {
    let number = |key, allowed: Allowed| {
        table
            .field(key)
            .and_then(|f| f.number(allowed))
            .map(|v| v as f32)
    };
    let mut form = BodyForm::of(shape);
    form.material = read_surface(table);
    if let Some(density) = number("density", Allowed::at_least(LOWEST_DENSITY).up_to(1e6)) {
        form.material.density = density;
    }
    if let Some(scale) = number("gravity_scale", Allowed::within(1e3)) {
        form.gravity_scale = scale;
    }
    if let Some(damping) = number("linear_damping", Allowed::at_least(0.0).up_to(1e3)) {
        form.linear_damping = damping;
    }
    if let Some(damping) = number("angular_damping", Allowed::at_least(0.0).up_to(1e3)) {
        form.angular_damping = damping;
    }
    form.continuous = table
        .field("continuous")
        .and_then(|f| f.flag())
        .unwrap_or(false);
    form
}

fn read_surface(table: &Table) -> Material {
    let number = |key, allowed: Allowed| {
        table
            .field(key)
            .and_then(|f| f.number(allowed))
            .map(|v| v as f32)
    };
    let mut material = Material::default();
    if let Some(friction) = number("friction", Allowed::at_least(0.0).up_to(100.0)) {
        material.friction = friction;
    }
    if let Some(restitution) = number("restitution", Allowed::at_least(0.0).up_to(1.0)) {
        material.restitution = restitution;
    }
    material
}

/// A place, the origin if absent.
fn read_position(table: &Table, key: &str) -> Option<DVec3> {
    match table.field(key) {
        Some(field) => position(&field),
        None => Some(DVec3::ZERO),
    }
}

pub(crate) fn position(field: &Field) -> Option<DVec3> {
    Some(DVec3::from_array(field.vector(POSITION)?))
}
