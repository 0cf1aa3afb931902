//! `shape = { type = ..., ... }`: geometry in a scene file.

use crate::nearest::unknown;
use crate::obj::{self, ObjMesh};
use crate::reader::{Allowed, Field, Table};
use crate::rotation::from_degrees;
use domain::{CompoundPart, Shape, ShapeError};
use glam::{Quat, Vec3};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The keys each type of shape takes, besides `type`.
pub(crate) const SHAPE_KEYS: &[(&str, &[&str])] = &[
    ("sphere", &["radius"]),
    ("cuboid", &["size"]),
    ("capsule", &["radius", "height"]),
    ("convex", &["points"]),
    ("mesh", &["file", "scale", "vertices", "triangles"]),
    ("compound", &["parts"]),
    ("plane", &[]),
];
pub(crate) const PART_KEYS: &[&str] = &["shape", "position", "rotation"];

/// Any number: the domain's own checks say which sizes are allowed.
const SIZE: Allowed = Allowed::within(1e9);
const COORDINATE: Allowed = Allowed::within(1e6);
/// So many list entries are read; how many a shape may have is for the domain to say.
const MOST_ENTRIES: usize = 200_000;

const BARE_PART: &str = "a part is not a shape but has one: put `type` and the keys that belong to it into `shape`, \
                         e.g. { shape = { type = \"sphere\", radius = 0.5 }, position = [0, 1, 0] }";

/// Where a shape stands decides what it may be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Static,
    Body,
    Part,
}

impl Place {
    fn allows(self, kind: &str) -> bool {
        match self {
            Self::Static => true,
            Self::Body => kind != "plane",
            Self::Part => kind != "plane" && kind != "compound",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Static => "static scenery",
            Self::Body => "a moving body",
            Self::Part => "part of a compound",
        }
    }
}

/// Mesh files, each read once.
pub(crate) struct Meshes<'p> {
    base_dir: Option<&'p Path>,
    read: RefCell<BTreeMap<PathBuf, Result<ObjMesh, String>>>,
}

impl<'p> Meshes<'p> {
    pub(crate) fn relative_to(base_dir: Option<&'p Path>) -> Self {
        Self {
            base_dir,
            read: RefCell::default(),
        }
    }

    fn load(&self, file: &str) -> Result<ObjMesh, String> {
        let base = self
            .base_dir
            .ok_or("a scene that is not read from a file cannot name other files")?;
        let path = base.join(file);
        let mut read = self.read.borrow_mut();
        read.entry(path.clone())
            .or_insert_with(|| obj::load(&path))
            .clone()
    }
}

/// Reads the required key `shape`.
pub(crate) fn read_shape(table: &Table, place: Place, meshes: &Meshes) -> Option<Shape> {
    let field = table.required("shape", "e.g. { type = \"sphere\", radius = 0.5 }")?;
    shape_of(&field, place, meshes)
}

/// The shape of this value, checked for its place.
pub(crate) fn shape_of(field: &Field, place: Place, meshes: &Meshes) -> Option<Shape> {
    let table = field.table()?;
    let kinds: Vec<&str> = SHAPE_KEYS
        .iter()
        .map(|(kind, _)| *kind)
        .filter(|k| place.allows(k))
        .collect();
    let kind_field = table.required("type", &format!("one of {}", kinds.join(", ")))?;
    let kind = kind_field.text()?;
    let Some((_, keys)) = SHAPE_KEYS.iter().find(|(name, _)| *name == kind) else {
        kind_field.note(unknown("shape type", kind, &kinds));
        return None;
    };
    if !place.allows(kind) {
        kind_field.note(format!(
            "a {kind} cannot be {}; allowed: {}",
            place.name(),
            kinds.join(", ")
        ));
        return None;
    }
    table.allow(&[&["type"], keys]);
    let shape = build(kind, &table, meshes)?;
    let sized = match place {
        Place::Body => shape.check_size_of_body(),
        _ => Ok(()),
    };
    match shape.check_for_static().and(sized) {
        Ok(()) => Some(shape),
        Err(error) => {
            table.note(blamed_key(&error, kind), error.to_string());
            None
        }
    }
}

fn build(kind: &str, table: &Table, meshes: &Meshes) -> Option<Shape> {
    Some(match kind {
        "sphere" => Shape::Sphere {
            radius: length(table, "radius")?,
        },
        "cuboid" => Shape::Cuboid {
            size: vec3(&table.required("size", "[x, y, z], full extents")?, SIZE)?,
        },
        "capsule" => {
            let (radius, height) = (length(table, "radius"), length(table, "height"));
            Shape::Capsule {
                radius: radius?,
                height: height?,
            }
        }
        "convex" => Shape::Convex {
            points: points(&table.required("points", "a list of [x, y, z]")?)?,
        },
        "mesh" => mesh(table, meshes)?,
        "compound" => Shape::Compound {
            parts: parts(table, meshes)?,
        },
        _ => Shape::Plane,
    })
}

fn length(table: &Table, key: &str) -> Option<f32> {
    let value = table.required(key, "a length in metres")?.number(SIZE)?;
    Some(value as f32)
}

pub(crate) fn vec3(field: &Field, allowed: Allowed) -> Option<Vec3> {
    let values: [f64; 3] = field.vector(allowed)?;
    Some(Vec3::from_array(values.map(|v| v as f32)))
}

/// All items must be good, but each bad one is noted.
fn all<T>(items: impl Iterator<Item = Option<T>>) -> Option<Vec<T>> {
    let items: Vec<Option<T>> = items.collect();
    items.into_iter().collect()
}

fn points(field: &Field) -> Option<Arc<[Vec3]>> {
    let items = field.items("a list of [x, y, z]", MOST_ENTRIES)?;
    Some(all(items.iter().map(|i| vec3(i, COORDINATE)))?.into())
}

fn mesh(table: &Table, meshes: &Meshes) -> Option<Shape> {
    let scale = match table.field("scale") {
        Some(field) => field.number(Allowed::above(0.0).up_to(1e4))? as f32,
        None => 1.0,
    };
    let Some(file) = table.field("file") else {
        return inline_mesh(table, scale);
    };
    for key in ["vertices", "triangles"] {
        if table.field(key).is_some() {
            table.note(
                key,
                format!("a mesh has either `file` or `{key}`, not both"),
            );
        }
    }
    match meshes.load(file.text()?) {
        Ok(mesh) => Some(scaled(mesh.vertices, mesh.triangles, scale)),
        Err(message) => {
            file.note(message);
            None
        }
    }
}

fn inline_mesh(table: &Table, scale: f32) -> Option<Shape> {
    let vertices = table.required("vertices", "a list of [x, y, z] (or give `file`)");
    let triangles = table.required(
        "triangles",
        "a list of three vertex numbers each, from 0 (or give `file`)",
    );
    let (vertices, triangles) = (points(&vertices?), corners(&triangles?));
    Some(scaled(vertices?, triangles?, scale))
}

fn corners(field: &Field) -> Option<Arc<[[u32; 3]]>> {
    let triangle = |item: &Field| {
        let corners = item.items("a list of 3 vertex numbers", 3)?;
        if corners.len() != 3 {
            item.note(format!("a triangle has 3 corners, not {}", corners.len()));
            return None;
        }
        let corners = all(corners.iter().map(|c| c.integer(0..=u64::from(u32::MAX))))?;
        Some([corners[0] as u32, corners[1] as u32, corners[2] as u32])
    };
    let items = field.items("a list of triangles", MOST_ENTRIES)?;
    Some(all(items.iter().map(triangle))?.into())
}

fn scaled(vertices: Arc<[Vec3]>, triangles: Arc<[[u32; 3]]>, scale: f32) -> Shape {
    let vertices = match scale {
        1.0 => vertices,
        _ => vertices.iter().map(|v| *v * scale).collect(),
    };
    Shape::Mesh {
        vertices,
        triangles,
    }
}

fn parts(table: &Table, meshes: &Meshes) -> Option<Arc<[CompoundPart]>> {
    let field = table.required("parts", "a list of { shape, position, rotation }")?;
    let items = field.items("a list of { shape, position, rotation }", MOST_ENTRIES)?;
    let mut told = false;
    Some(all(items.iter().map(|item| part(item, meshes, &mut told)))?.into())
}

/// Who writes a part as if it were a shape writes all of them so, and is `told` once.
fn part(item: &Field, meshes: &Meshes, told: &mut bool) -> Option<CompoundPart> {
    let table = item.table()?;
    if table.field("shape").is_none() && table.field("type").is_some() {
        if !std::mem::replace(told, true) {
            item.note(BARE_PART);
        }
        return None;
    }
    table.allow(&[PART_KEYS]);
    let shape = read_shape(&table, Place::Part, meshes);
    let position = match table.field("position") {
        Some(field) => vec3(&field, COORDINATE),
        None => Some(Vec3::ZERO),
    };
    let rotation = read_rotation(&table);
    Some(CompoundPart {
        position: position?,
        rotation: rotation?,
        shape: shape?,
    })
}

/// The key `rotation`, no rotation if absent.
pub(crate) fn read_rotation(table: &Table) -> Option<Quat> {
    match table.field("rotation") {
        Some(field) => Some(from_degrees(field.vector(Allowed::within(1e6))?)),
        None => Some(Quat::IDENTITY),
    }
}

/// Which key of the shape's table a refusal speaks of.
fn blamed_key(error: &ShapeError, kind: &str) -> &'static str {
    match error {
        ShapeError::BadSize { what, .. } | ShapeError::BadCount { what, .. } => what,
        ShapeError::TooSmall { .. } => match kind {
            "sphere" | "capsule" => "radius",
            "cuboid" => "size",
            "convex" => "points",
            "compound" => "parts",
            _ => "type",
        },
        ShapeError::FlatCapsule { .. } => "height",
        ShapeError::FlatHull => "points",
        ShapeError::BadIndex { .. } => "triangles",
        ShapeError::NotFinite if kind == "mesh" => "vertices",
        ShapeError::NotFinite if kind == "convex" => "points",
        ShapeError::NotFinite | ShapeError::Misplaced { .. } => "type",
    }
}
