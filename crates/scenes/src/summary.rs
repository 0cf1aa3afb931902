//! A scene in a few lines for people: what `check` prints.

use crate::Scene;
use domain::Shape;
use std::collections::BTreeMap;
use std::fmt::Write;

impl Scene {
    /// What the scene holds: bodies by shape, scenery, joints, what appears, regions, duration.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        let mut line = |label: &str, value: String| {
            let _ = writeln!(text, "{label:<9} {value}");
        };
        line("scene", self.name.clone());
        let ticks = self.step.ticks_in(self.seconds);
        line(
            "duration",
            format!("{} s ({ticks} ticks), seed {}", self.seconds, self.seed),
        );
        line(
            "bodies",
            count_by_shape(self.bodies.iter().map(|b| &b.form.shape)),
        );
        line(
            "static",
            count_by_shape(self.statics.iter().map(|s| &s.shape)),
        );
        line("joints", self.joints.len().to_string());
        let injected: usize = self.injectors.iter().map(|i| i.total()).sum();
        line(
            "injected",
            format!("{injected} by {} injectors", self.injectors.len()),
        );
        line("commands", self.commands.len().to_string());
        let [width, depth] = self.world.size();
        let (layout, servers) = (self.regions.layout, self.regions.servers);
        line(
            "regions",
            format!("{servers} ({layout:?}) of a world of {width} m x {depth} m").to_lowercase(),
        );
        let t = self.tolerances;
        line(
            "tolerates",
            format!(
                "{} m/s, {} ms delay, {} ms frames",
                t.speed, t.latency_ms, t.frame_ms
            ),
        );
        text
    }

    /// What is allowed but probably not meant: starts above the speed tolerance or outside the world.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let limit = self.tolerances.speed;
        let fast = self
            .bodies
            .iter()
            .filter(|b| f64::from(b.motion.linear_velocity.length()) > limit)
            .count();
        if fast > 0 {
            warnings.push(format!(
                "{fast} bodies start faster than the speed tolerance of {limit} m/s"
            ));
        }
        let outside = |p: glam::DVec3| !self.world.holds(p.x, p.z);
        let strays = self
            .bodies
            .iter()
            .filter(|b| outside(b.motion.position))
            .count();
        if strays > 0 {
            warnings.push(format!("{strays} bodies start outside the world's extent"));
        }
        for (i, injector) in self.injectors.iter().enumerate() {
            let fastest = injector
                .velocity_min
                .abs()
                .max(injector.velocity_max.abs())
                .length();
            if f64::from(fastest) > limit {
                warnings.push(format!("injector[{i}] may start bodies at {fastest:.1} m/s, above the speed tolerance of {limit} m/s"));
            }
        }
        warnings
    }
}

fn count_by_shape<'s>(shapes: impl Iterator<Item = &'s Shape>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for shape in shapes {
        *counts.entry(kind(shape)).or_default() += 1;
    }
    let total: usize = counts.values().sum();
    let parts: Vec<String> = counts
        .iter()
        .map(|(kind, n)| format!("{n} {kind}"))
        .collect();
    match total {
        0 => "0".to_owned(),
        _ => format!("{total} ({})", parts.join(", ")),
    }
}

fn kind(shape: &Shape) -> &'static str {
    match shape {
        Shape::Sphere { .. } => "sphere",
        Shape::Cuboid { .. } => "cuboid",
        Shape::Capsule { .. } => "capsule",
        Shape::Convex { .. } => "convex",
        Shape::Mesh { .. } => "mesh",
        Shape::Compound { .. } => "compound",
        Shape::Plane => "plane",
    }
}
