//! A box with bodies in it: the world of experiments that want nothing else.

use crate::{Regions, Scene, Tolerances};
use domain::{Body, Layout, Material, Rect, Shape, Static, StaticId, TickLength};
use glam::{DVec3, Quat, Vec3};
use std::collections::BTreeMap;

/// Thick enough that nothing passes through in a step, metres.
const WALL_M: f32 = 10.0;

impl Scene {
    /// Bodies in a cube from `-half` to `half`, closed on all six sides, without gravity, for a second on one server.
    pub fn closed_box(
        name: impl Into<String>,
        half: f64,
        material: Material,
        bodies: Vec<Body>,
    ) -> Self {
        Self {
            name: name.into(),
            seconds: 1.0,
            seed: 0,
            gravity: Vec3::ZERO,
            step: TickLength::default(),
            world: Rect {
                min: [-half; 2],
                max: [half; 2],
            },
            regions: Regions {
                layout: Layout::Tree,
                servers: 1,
                boxes: Vec::new(),
            },
            tolerances: Tolerances::default(),
            statics: walls(half, material),
            bodies,
            joints: Vec::new(),
            injectors: Vec::new(),
            commands: Vec::new(),
            names: BTreeMap::new(),
        }
    }
}

fn walls(half: f64, material: Material) -> Vec<Static> {
    (0..6_u32)
        .map(|side| {
            let axis = side as usize / 2;
            let mut position = DVec3::ZERO;
            let out = half + f64::from(0.5 * WALL_M);
            position[axis] = out * if side % 2 == 0 { 1.0 } else { -1.0 };
            let mut size = Vec3::splat(2.0 * half as f32 + 2.0 * WALL_M);
            size[axis] = WALL_M;
            Static {
                id: StaticId(side),
                shape: Shape::Cuboid { size },
                position,
                rotation: Quat::IDENTITY,
                material,
            }
        })
        .collect()
}
