//! What the owner knows of its entity, and which curve describes it.

use crate::vector::{DrVector, Kind, Seq};
use domain::{BodyId, SimTime};
use glam::{DQuat, DVec3};

/// What the owner knows of its entity at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrueState {
    /// Metres, world coordinates.
    pub position: DVec3,
    /// A unit quaternion.
    pub rotation: DQuat,
    /// m/s.
    pub velocity: DVec3,
    /// Axis times rad/s.
    pub spin: DVec3,
    /// How the velocity is really changing, m/s²: gravity in free flight, `spin × velocity` in a steered turn, zero
    /// for what lies on something or when not known. Gravity that a floor cancels is *not* part of it.
    pub acceleration: DVec3,
    /// Discrete state of the application's own making; any change triggers.
    pub status: u16,
    /// The entity sleeps: it will not move until something wakes it.
    pub resting: bool,
    /// It touches something, so its motion may change at every step.
    pub in_contact: bool,
}

impl Default for TrueState {
    /// Standing at the origin, awake, alone.
    fn default() -> Self {
        Self {
            position: DVec3::ZERO,
            rotation: DQuat::IDENTITY,
            velocity: DVec3::ZERO,
            spin: DVec3::ZERO,
            acceleration: DVec3::ZERO,
            status: 0,
            resting: false,
            in_contact: false,
        }
    }
}

impl TrueState {
    /// The curve that describes the motion best from here on.
    ///
    /// A turn counts as [`Kind::Circular`] only if the course really turns with the spin: a tank in a bend, but not a
    /// rolling or tumbling ball, whose spin says nothing about its course.
    pub fn kind(&self) -> Kind {
        if self.resting {
            return Kind::AtRest;
        }
        let centripetal = self.spin.cross(self.velocity);
        let across = reject(self.acceleration, self.velocity);
        let turns_course = (across - centripetal).length() < 0.5 * centripetal.length();
        let exactly = (self.acceleration - centripetal).length() <= 0.01 * centripetal.length();
        let flying = !self.in_contact && self.acceleration != DVec3::ZERO;
        if turns_course && (exactly || !flying) {
            Kind::Circular
        } else if flying {
            Kind::Ballistic
        } else {
            Kind::Linear
        }
    }

    /// The vector that describes this state.
    pub fn vector(&self, entity: BodyId, seq: Seq, time: SimTime) -> DrVector {
        let kind = self.kind();
        let moving = |value: DVec3| if self.resting { DVec3::ZERO } else { value };
        DrVector {
            entity,
            seq,
            time,
            kind,
            status: self.status,
            position: self.position,
            velocity: moving(self.velocity),
            acceleration: match kind {
                Kind::Ballistic => self.acceleration,
                _ => DVec3::ZERO,
            },
            rotation: self.rotation,
            spin: moving(self.spin),
        }
    }

    /// Whether every number is one.
    pub(super) fn is_finite(&self) -> bool {
        let vectors = [self.position, self.velocity, self.spin, self.acceleration];
        vectors.iter().all(|v| v.is_finite()) && self.rotation.is_finite()
    }
}

/// The part of `vector` at right angles to `direction`; all of it if the direction is zero.
fn reject(vector: DVec3, direction: DVec3) -> DVec3 {
    match direction.try_normalize() {
        Some(unit) => vector - unit * vector.dot(unit),
        None => vector,
    }
}
