//! What the boundary sees of the bodies its region owns. The world implements it; tests use a plain list.

use crate::keeping::Place;
use domain::{BodyId, Bounds, Capsule, Rect};
use glam::{DVec3, Quat, Vec3};

/// A body as the boundary sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyView {
    /// Which.
    pub id: BodyId,
    /// Its origin.
    pub centre: DVec3,
    /// How it is turned.
    pub rotation: Quat,
    /// Radius of its bounding sphere around the origin.
    pub radius: f64,
    /// It is within `girth` of the line from `centre − spine` to `centre + spine`.
    pub spine: Vec3,
    /// See `spine`.
    pub girth: f64,
    /// The shadow of its true shape on the ground plane. Borders are vertical planes, so comparing this shadow
    /// with a border is comparing the true shape with it.
    pub ground: Rect,
    /// Of its centre of mass, m/s.
    pub velocity: DVec3,
    /// The speed of its fastest point, at most, m/s.
    pub surge: f64,
    /// How fast gravity makes it, m/s².
    pub pull: f64,
    /// Sleeping bodies do not move and send nothing.
    pub asleep: bool,
    /// A small number that no other body of the region has while this one is there.
    pub slot: u32,
}

impl BodyView {
    /// Of its centre of mass, m/s.
    pub fn speed(&self) -> f64 {
        self.velocity.length()
    }

    /// The line through it, and how far it is from that.
    pub fn capsule(&self) -> Capsule {
        Capsule {
            centre: self.centre,
            spine: self.spine.as_dvec3(),
            girth: self.girth,
        }
    }

    /// The same body elsewhere. (Its shadow is not moved.)
    #[must_use]
    pub fn at(&self, place: &Place) -> Self {
        Self {
            centre: place.centre,
            rotation: place.rotation,
            spine: place.spine,
            ..*self
        }
    }

    /// What matters of it while it is only one of many.
    pub fn in_short(&self) -> FastBody {
        FastBody {
            id: self.id,
            centre: self.centre,
            surge: self.surge,
        }
    }

    /// Is the gap between two bodies at most this?
    pub fn is_within(&self, other: &Self, gap_m: f64) -> bool {
        // Most are far apart, and spheres tell.
        let farthest = self.radius + other.radius + gap_m;
        self.centre.distance_squared(other.centre) <= farthest * farthest
            && self.gap_m(other) <= gap_m
    }

    /// The gap between two bodies; negative if they may overlap.
    pub fn gap_m(&self, other: &Self) -> f64 {
        self.capsule().gap_m(&other.capsule())
    }
}

/// A fast body, in few numbers: of all that are fast, few matter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FastBody {
    /// Which.
    pub id: BodyId,
    /// Its origin.
    pub centre: DVec3,
    /// The speed of its fastest point, at most, m/s.
    pub surge: f64,
}

/// A body that is awake: of all that are, few matter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AwakeBody {
    /// Which.
    pub id: BodyId,
    /// Its origin.
    pub centre: DVec3,
    /// The speed of its fastest point, at most, m/s, if it is fast.
    pub surge: Option<f64>,
    /// Radius of its bounding sphere around the origin.
    pub radius: f64,
    /// See [`BodyView::slot`].
    pub slot: u32,
}

/// The bodies a region owns.
pub trait Bodies {
    /// One of them; `None` if it is not ours.
    fn view(&self, id: BodyId) -> Option<BodyView>;
    /// As [`view`](Self::view), with a guess in which slot it is.
    fn view_in(&self, slot: u32, id: BodyId) -> Option<BodyView>;
    /// Adds every body whose shadow is not wholly inside `inner`; extra bodies do no harm. Cost must follow the
    /// number of hits, not of bodies: this is called every tick.
    fn not_within(&self, inner: &Rect, out: &mut Vec<BodyView>);
    /// Adds every body that touches one of the boxes; extra and repeated bodies do no harm.
    fn touching(&self, boxes: &[Bounds], out: &mut Vec<BodyId>);
    /// Calls back for every body that is awake and whose origin is not in `inner`; of those whose fastest point is
    /// faster than
    /// `slow`, m/s, with that speed. Extra bodies do no harm.
    fn for_each_awake(&self, inner: &Rect, slow: f64, f: &mut impl FnMut(AwakeBody));
    /// Is there a body that [`for_each_awake`](Self::for_each_awake) would not tell of, wherever it is? A wrong yes
    /// does no harm.
    fn sleeps_any(&self) -> bool;
    /// How many bodies are awake. Asked now and then.
    fn awake(&self) -> u64;
    /// No body has a bounding sphere of a larger radius.
    fn widest_radius(&self) -> f64;
    /// Adds all bodies tied to this one by joints, directly or not, itself included or not.
    fn assembly(&self, id: BodyId, out: &mut Vec<BodyId>);
}
