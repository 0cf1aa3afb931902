//! Scene queries in world coordinates. They see the world as of the last step; bodies inserted since
//! are seen from the next step on.

use crate::config::WorldError;
use crate::contacts::Tag;
use crate::shapes;
use crate::world::World;
use domain::{ContactEnd, Shape, ShapeError};
use glam::{DVec3, Quat, Vec3};
use rapier3d::parry::query::details::ShapeCastOptions;
use rapier3d::prelude::{ColliderHandle, Ray};

/// What a ray hit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RayHit {
    /// What it is.
    pub end: ContactEnd,
    /// How far from the ray's start, metres.
    pub distance: f32,
    /// Where.
    pub point: DVec3,
    /// The surface's normal there, zero if the ray started inside.
    pub normal: Vec3,
}

/// What a swept shape hit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShapeHit {
    /// What it is.
    pub end: ContactEnd,
    /// How far the shape got, metres.
    pub distance: f32,
    /// The point of the thing hit.
    pub point: DVec3,
    /// The normal of the thing hit.
    pub normal: Vec3,
}

impl World {
    /// The first thing on a ray of at most `max_m` metres; `dir` need not have length 1. A start inside
    /// a shape hits it at distance zero. `None` also for a direction without length.
    pub fn cast_ray(&self, origin: DVec3, dir: Vec3, max_m: f32) -> Option<RayHit> {
        let dir = dir.try_normalize()?;
        let ray = Ray::new(self.frame.local(origin), dir);
        let pipeline = self.physics.query_pipeline();
        let (handle, hit) = pipeline.cast_ray_and_get_normal(&ray, max_m, true)?;
        Some(RayHit {
            end: self.end_of(handle)?,
            distance: hit.time_of_impact,
            point: self.frame.world(ray.point_at(hit.time_of_impact)),
            normal: hit.normal,
        })
    }

    /// The first thing that a shape meets when it is moved up to `max_m` metres along `dir`.
    pub fn cast_shape(
        &self,
        shape: &Shape,
        position: DVec3,
        rotation: Quat,
        dir: Vec3,
        max_m: f32,
    ) -> Result<Option<ShapeHit>, WorldError> {
        let built = query_shape(shape)?;
        let Some(dir) = dir.try_normalize() else {
            return Ok(None);
        };
        let pose = self.frame.local_pose(position, rotation);
        let options = ShapeCastOptions::with_max_time_of_impact(max_m);
        let hit = self
            .physics
            .query_pipeline()
            .cast_shape(&pose, dir, &*built, options);
        Ok(hit.and_then(|(handle, hit)| {
            Some(ShapeHit {
                end: self.end_of(handle)?,
                distance: hit.time_of_impact,
                point: self.frame.world(hit.witness1),
                normal: hit.normal1,
            })
        }))
    }

    /// Everything a shape overlaps, in order.
    pub fn overlap_shape(
        &self,
        shape: &Shape,
        position: DVec3,
        rotation: Quat,
    ) -> Result<Vec<ContactEnd>, WorldError> {
        let built = query_shape(shape)?;
        let pose = self.frame.local_pose(position, rotation);
        let mut found: Vec<ContactEnd> = self
            .physics
            .query_pipeline()
            .intersect_shape(pose, &*built)
            .map(|(_, collider)| Tag::of(collider).end())
            .collect();
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    fn end_of(&self, handle: ColliderHandle) -> Option<ContactEnd> {
        Some(Tag::of(self.physics.colliders.get(handle)?).end())
    }
}

fn query_shape(shape: &Shape) -> Result<rapier3d::prelude::SharedShape, WorldError> {
    let bad = |cause: ShapeError| WorldError::BadQuery(cause);
    shape.check_for_body().map_err(bad)?;
    shapes::build(shape).map_err(bad)
}
