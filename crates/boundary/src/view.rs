//! What the boundary sees of the bodies its region owns. The world implements it; tests use a plain list.

use domain::{BodyId, Bounds, Rect};
use glam::DVec3;

/// A body as the boundary sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyView {
    /// Which.
    pub id: BodyId,
    /// Its origin.
    pub centre: DVec3,
    /// Radius of its bounding sphere around the origin.
    pub radius: f64,
    /// The shadow of its true shape on the ground plane. Borders are vertical planes, so comparing this shadow
    /// with a border is comparing the true shape with it.
    pub ground: Rect,
    /// Of its centre of mass, m/s.
    pub speed: f64,
    /// Sleeping bodies do not move and send nothing.
    pub asleep: bool,
}

/// The bodies a region owns.
pub trait Bodies {
    /// One of them; `None` if it is not ours.
    fn view(&self, id: BodyId) -> Option<BodyView>;
    /// Adds every body whose shadow is not wholly inside `inner`; extra bodies do no harm. Cost must follow the
    /// number of hits, not of bodies: this is called every tick.
    fn not_within(&self, inner: &Rect, out: &mut Vec<BodyView>);
    /// Adds every body that touches one of the boxes; extra and repeated bodies do no harm.
    fn touching(&self, boxes: &[Bounds], out: &mut Vec<BodyId>);
    /// No body has a bounding sphere of a larger radius.
    fn widest_radius(&self) -> f64;
    /// Adds all bodies tied to this one by joints, directly or not, itself included or not.
    fn assembly(&self, id: BodyId, out: &mut Vec<BodyId>);
}
