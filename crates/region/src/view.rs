//! The world as the boundary sees it.

use boundary::nursery::surge;
use boundary::{AwakeBody, Bodies, BodyView};
use domain::{BodyId, Bounds, Motion, Rect};
use world::World;

/// A borrowed world, and how strong gravity is in it, m/s².
pub struct Seen<'a>(pub &'a World, pub f64);

impl Seen<'_> {
    fn view_of(&self, id: BodyId, body: &world::BodyView) -> BodyView {
        let Motion {
            position,
            rotation,
            linear_velocity,
            angular_velocity,
        } = body.motion;
        let spine = rotation * body.spine;
        BodyView {
            id,
            centre: position,
            rotation,
            radius: f64::from(body.radius),
            spine,
            girth: f64::from(body.girth),
            ground: body.bounds.ground(),
            velocity: linear_velocity.as_dvec3(),
            surge: surge(linear_velocity, angular_velocity, spine),
            pull: self.1 * f64::from(body.gravity_scale).abs(),
            asleep: body.asleep,
            slot: body.slot,
        }
    }
}

impl Bodies for Seen<'_> {
    fn view(&self, id: BodyId) -> Option<BodyView> {
        self.0.body(id).map(|body| self.view_of(id, &body))
    }

    fn view_in(&self, slot: u32, id: BodyId) -> Option<BodyView> {
        self.0.body_in(slot, id).map(|body| self.view_of(id, &body))
    }

    fn not_within(&self, inner: &Rect, out: &mut Vec<BodyView>) {
        self.0
            .for_each_not_within(inner, |id, body| out.push(self.view_of(id, &body)));
    }

    fn touching(&self, boxes: &[Bounds], out: &mut Vec<BodyId>) {
        // One by one: each box meets few nodes of the engine's tree, all of them together meet every node.
        for part in boxes.chunks(1) {
            self.0.for_each_touching(part, |id, _| out.push(id));
        }
    }

    fn for_each_awake(&self, inner: &Rect, slow: f64, f: &mut impl FnMut(AwakeBody)) {
        let slow = slow as f32;
        self.0.for_each_awake_outside(inner, |body, centre| {
            f(AwakeBody {
                id: body.id,
                centre,
                surge: (body.surge > slow).then_some(f64::from(body.surge)),
                radius: f64::from(body.radius),
                slot: body.slot,
            });
        });
    }

    fn sleeps_any(&self) -> bool {
        self.0.surveyed_count() < self.0.len()
    }

    fn awake(&self) -> u64 {
        self.0.stepped_count() as u64
    }

    fn widest_radius(&self) -> f64 {
        f64::from(self.0.widest_radius())
    }

    fn assembly(&self, id: BodyId, out: &mut Vec<BodyId>) {
        if self.0.joint_count() > 0 {
            out.extend(self.0.assembly(id));
        }
    }
}
