//! `[[injector]]`: volumes in which bodies appear over time.

use crate::bodies::{FORM_KEYS, SURFACE_KEYS, VELOCITY, position, read_form};
use crate::reader::{Allowed, Table};
use crate::shapes::{Meshes, Place, shape_of, vec3};
use crate::{Injector, MAX_BODIES, MAX_SECONDS};
use domain::BodyForm;
use glam::{DVec3, Vec3};

pub(crate) const INJECTOR_KEYS: &[&str] = &[
    "min",
    "max",
    "rate",
    "from",
    "until",
    "velocity_min",
    "velocity_max",
    "shapes",
];
/// Three per region and some to spare, for as many regions as there may be.
const MAX_INJECTORS: usize = 20_000;
const MAX_SHAPES: usize = 1000;

pub(crate) fn read_injectors(root: &Table, seconds: f64, meshes: &Meshes) -> Vec<Injector> {
    let tables = root.tables("injector", MAX_INJECTORS);
    let mut injected = 0;
    let mut injectors = Vec::new();
    for table in &tables {
        let Some(injector) = read_injector(table, seconds, meshes) else {
            continue;
        };
        if injector.total() == 0 {
            table.note(
                "rate",
                "below one body from `from` to `until`: nothing would ever appear",
            );
            continue;
        }
        injected += injector.total();
        if injected > MAX_BODIES {
            table.note(
                "rate",
                format!("{injected} injected bodies are too many: at most {MAX_BODIES}"),
            );
            break;
        }
        injectors.push(injector);
    }
    injectors
}

fn read_injector(table: &Table, seconds: f64, meshes: &Meshes) -> Option<Injector> {
    table.allow(&[INJECTOR_KEYS, SURFACE_KEYS, FORM_KEYS]);
    let volume = read_volume(table);
    let velocity = read_velocity(table);
    let rate = table.required("rate", "bodies per second");
    let rate = rate.and_then(|f| f.number(Allowed::above(0.0).up_to(1e6)));
    let time = read_time(table, seconds);
    let forms = read_forms(table, meshes);
    let ((min, max), (velocity_min, velocity_max), (from, until)) = (volume?, velocity?, time?);
    Some(Injector {
        min,
        max,
        rate: rate?,
        from,
        until,
        velocity_min,
        velocity_max,
        forms: forms?,
    })
}

fn read_volume(table: &Table) -> Option<(DVec3, DVec3)> {
    let corner = |key| position(&table.required(key, "a corner of the volume, [x, y, z]")?);
    let (min, max) = (corner("min"), corner("max"));
    let (min, max) = (min?, max?);
    if !min.cmple(max).all() {
        table.note("max", "`max` must not be below `min` in x, y or z");
        return None;
    }
    Some((min, max))
}

fn read_velocity(table: &Table) -> Option<(Vec3, Vec3)> {
    let end = |key| match table.field(key) {
        Some(field) => vec3(&field, VELOCITY).map(Some),
        None => Some(None),
    };
    let (min, max) = (end("velocity_min"), end("velocity_max"));
    // With one end given, all bodies start with exactly that velocity.
    let (min, max) = match (min?, max?) {
        (None, None) => (Vec3::ZERO, Vec3::ZERO),
        (Some(only), None) | (None, Some(only)) => (only, only),
        (Some(min), Some(max)) => (min, max),
    };
    if !min.cmple(max).all() {
        table.note(
            "velocity_max",
            "`velocity_max` must not be below `velocity_min` in x, y or z",
        );
        return None;
    }
    Some((min, max))
}

fn read_time(table: &Table, seconds: f64) -> Option<(f64, f64)> {
    let time = |key, default| match table.field(key) {
        Some(field) => field.number(Allowed::at_least(0.0).up_to(MAX_SECONDS)),
        None => Some(default),
    };
    let (from, until) = (time("from", 0.0), time("until", seconds));
    let (from, until) = (from?, until?);
    if from >= until {
        table.note("from", format!("must be before `until` ({until})"));
        return None;
    }
    Some((from, until))
}

fn read_forms(table: &Table, meshes: &Meshes) -> Option<Vec<BodyForm>> {
    let field = table.required(
        "shapes",
        "a list of shapes, one of which is drawn for each body",
    )?;
    let items = field.items("a list of shapes", MAX_SHAPES)?;
    if items.is_empty() {
        field.note("at least one shape is needed");
    }
    let shapes: Vec<_> = items
        .iter()
        .map(|item| shape_of(item, Place::Body, meshes))
        .collect();
    let form = read_form(table, domain::Shape::Sphere { radius: 0.5 });
    let with = |shape: Option<_>| {
        Some(BodyForm {
            shape: shape?,
            ..form.clone()
        })
    };
    shapes.into_iter().map(with).collect()
}
