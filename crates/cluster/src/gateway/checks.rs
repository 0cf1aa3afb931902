//! Is what a client asks for within bounds? The regions check again what they rely on; here it is refused early, with a reason.

use super::settings::ClientLimits;
use crate::schema::WorldSpec;
use client_protocol::{Injection, Spawn, StaticPiece};
use domain::{LOWEST_DENSITY, Material, Rect, Shape};
use glam::{DVec3, Vec3};

/// Nothing is created farther outside the world than this, metres.
const OUTSIDE_M: f64 = 100.0;
/// Nor higher or lower.
const HIGHEST_M: f64 = 10_000.0;
/// rad/s.
const FASTEST_SPIN: f32 = 100.0;
/// How far a shape may reach about which is asked, metres.
const LARGEST_PROBE_M: f32 = 50.0;
/// N·s.
const HARDEST_PUSH: f32 = 1e7;
/// kg/m³: osmium and then some; a heavier body would push everything else through the floor.
const DENSEST: f32 = 30_000.0;

/// What a client may ask for in this world.
pub struct Bounds<'a> {
    pub limits: &'a ClientLimits,
    pub world: &'a WorldSpec,
}

type Checked = Result<(), String>;

fn ensure(holds: bool, why: impl Into<String>) -> Checked {
    if holds { Ok(()) } else { Err(why.into()) }
}

impl Bounds<'_> {
    pub fn spawn(&self, spawn: &Spawn) -> Checked {
        self.place(spawn.position)?;
        self.shape(&spawn.shape)?;
        spawn
            .shape
            .check_for_body()
            .map_err(|error| error.to_string())?;
        self.speed(spawn.velocity)?;
        ensure(spawn.spin.length() <= FASTEST_SPIN, "it spins too fast")?;
        material(&spawn.material)
    }

    pub fn scenery(&self, piece: &StaticPiece) -> Checked {
        self.place(piece.position)?;
        self.elements(&piece.shape)?;
        piece
            .shape
            .check_for_static()
            .map_err(|error| error.to_string())?;
        material(&piece.material)
    }

    pub fn injection(&self, injection: &Injection) -> Checked {
        self.place(injection.min)?;
        self.place(injection.max)?;
        let is_box = injection.min.cmple(injection.max).all();
        ensure(is_box, "the volume's max is below its min")?;
        let limits = self.limits;
        let rate = injection.rate > 0.0 && injection.rate <= limits.injected_per_sec;
        ensure(
            rate,
            format!(
                "the rate must be above 0 and at most {}",
                limits.injected_per_sec
            ),
        )?;
        let secs = injection.secs > 0.0 && injection.secs <= limits.injection_secs;
        ensure(
            secs,
            format!(
                "it must last above 0 s and at most {} s",
                limits.injection_secs
            ),
        )?;
        self.speed(injection.velocity_min)?;
        self.speed(injection.velocity_max)?;
        ensure(
            !injection.shapes.is_empty(),
            "without shapes nothing can appear",
        )?;
        for shape in &injection.shapes {
            self.shape(shape)?;
            shape.check_for_body().map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    pub fn push(&self, impulse: Vec3, at: Option<DVec3>) -> Checked {
        ensure(impulse.length() <= HARDEST_PUSH, "nobody pushes that hard")?;
        at.map_or(Ok(()), |at| self.place(at))
    }

    /// Faster bodies than the world was made for could meet others too late.
    pub fn speed(&self, velocity: Vec3) -> Checked {
        let most = self.world.boundary.tolerances.speed;
        let fine = f64::from(velocity.length()) <= most;
        ensure(
            fine,
            format!("faster than this world is made for: {most} m/s"),
        )
    }

    pub fn place(&self, position: DVec3) -> Checked {
        let world: Rect = self.world.map.extent().grown(OUTSIDE_M);
        let inside = world.holds(position.x, position.z) && position.y.abs() <= HIGHEST_M;
        ensure(inside, "that is outside the world")
    }

    /// For questions.
    pub fn probe(&self, shape: &Shape) -> Checked {
        self.elements(shape)?;
        let fits = shape.bounding_radius() <= LARGEST_PROBE_M;
        ensure(
            fits,
            format!("it may reach {LARGEST_PROBE_M} m from its middle"),
        )?;
        shape.check_for_body().map_err(|error| error.to_string())
    }

    fn elements(&self, shape: &Shape) -> Checked {
        let most = self.limits.shape_elements;
        ensure(
            elements(shape) <= most,
            format!("a shape may have {most} points or triangles"),
        )
    }

    /// For bodies.
    fn shape(&self, shape: &Shape) -> Checked {
        self.elements(shape)?;
        let radius = self.limits.body_radius_m;
        let fits = shape.bounding_radius() <= radius;
        ensure(fits, format!("a body may reach {radius} m from its middle"))?;
        shape
            .check_size_of_body()
            .map_err(|error| error.to_string())
    }
}

fn material(material: &Material) -> Checked {
    let density = f64::from(material.density) >= LOWEST_DENSITY && material.density <= DENSEST;
    ensure(
        density,
        format!("the density must be at least {LOWEST_DENSITY} and at most {DENSEST}"),
    )?;
    ensure(
        (0.0..=10.0).contains(&material.friction),
        "friction is 0 to 10",
    )?;
    ensure(
        (0.0..=1.0).contains(&material.restitution),
        "restitution is 0 to 1",
    )
}

fn elements(shape: &Shape) -> usize {
    match shape {
        Shape::Convex { points } => points.len(),
        Shape::Mesh {
            vertices,
            triangles,
        } => vertices.len().max(triangles.len()),
        Shape::Compound { parts } => parts.iter().map(|part| 1 + elements(&part.shape)).sum(),
        _ => 1,
    }
}
