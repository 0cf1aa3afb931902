//! The world as the boundary sees it.

use boundary::{Bodies, BodyView};
use domain::{BodyId, Bounds, Rect};
use world::World;

/// A borrowed world.
pub struct Seen<'a>(pub &'a World);

fn view(id: BodyId, body: &world::BodyView) -> BodyView {
    BodyView {
        id,
        centre: body.motion.position,
        radius: f64::from(body.radius),
        ground: body.bounds.ground(),
        speed: f64::from(body.motion.linear_velocity.length()),
        asleep: body.asleep,
    }
}

impl Bodies for Seen<'_> {
    fn view(&self, id: BodyId) -> Option<BodyView> {
        self.0.body(id).map(|body| view(id, &body))
    }

    fn not_within(&self, inner: &Rect, out: &mut Vec<BodyView>) {
        self.0
            .for_each_not_within(inner, |id, body| out.push(view(id, &body)));
    }

    fn touching(&self, boxes: &[Bounds], out: &mut Vec<BodyId>) {
        // One by one: each box meets few nodes of the engine's tree, all of them together meet every node.
        for part in boxes.chunks(1) {
            self.0.for_each_touching(part, |id, _| out.push(id));
        }
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
