//! Bodies as stations know them: balls that move in 3D, or in the plane z = 0 if nobody leaves it (ML-34).

use crate::ids::StationId;
use glam::DVec3;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Where a body is and how it moves, at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Where.
    pub position: DVec3,
    /// Per second.
    pub velocity: DVec3,
    /// Per second, per second.
    pub acceleration: DVec3,
}

impl State {
    /// At rest.
    pub fn at(position: DVec3) -> Self {
        Self {
            position,
            ..Self::default()
        }
    }

    /// In uniform motion.
    pub fn moving(position: DVec3, velocity: DVec3) -> Self {
        Self {
            position,
            velocity,
            acceleration: DVec3::ZERO,
        }
    }

    /// After this many seconds at constant acceleration: `P + VΔ + AΔ²/2`, `V + AΔ` (ML-2).
    #[must_use]
    pub fn after(self, secs: f64) -> Self {
        Self {
            position: self.position
                + self.velocity * secs
                + self.acceleration * (0.5 * secs * secs),
            velocity: self.velocity + self.acceleration * secs,
            acceleration: self.acceleration,
        }
    }

    /// Whether every number is one.
    pub fn is_finite(&self) -> bool {
        self.position.is_finite() && self.velocity.is_finite() && self.acceleration.is_finite()
    }
}

/// The shape and weight of a body.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ball {
    /// Above zero.
    pub radius: f64,
    /// Above zero; infinite for what cannot be moved.
    pub mass: f64,
}

impl Ball {
    /// A ball of mass 1.
    pub fn new(radius: f64) -> Self {
        Self { radius, mass: 1.0 }
    }

    pub(crate) fn is_valid(&self) -> bool {
        self.radius > 0.0 && self.radius.is_finite() && self.mass > 0.0
    }
}

/// What a body is to this station (ML-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Ours: what we say of it is the truth.
    Master,
    /// Another station's, shown here.
    Replica {
        /// Whose.
        owner: StationId,
    },
    /// The game's own, the same everywhere; nobody's input moves it.
    Global,
}

/// Who decides whether and how two bodies hit each other (the table of the digest's §1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Authority {
    /// This station alone, by ordinary physics: master–master, master–global, global–global.
    Local,
    /// This station and the owner of the replica, together: master–replica. The whole subject of this crate.
    Shared {
        /// The other participant.
        peer: StationId,
    },
    /// Not this station: replica–replica, replica–global. The owners' updates will tell.
    Elsewhere,
}

impl Authority {
    /// The table.
    pub fn over(one: Role, other: Role) -> Self {
        match (one, other) {
            (Role::Master, Role::Replica { owner }) | (Role::Replica { owner }, Role::Master) => {
                Self::Shared { peer: owner }
            }
            (Role::Replica { .. }, _) | (_, Role::Replica { .. }) => Self::Elsewhere,
            _ => Self::Local,
        }
    }
}

/// What a player, or the game in the player's place, wants of a master. Holds for one frame; then the body goes straight on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// From now on this velocity.
    Velocity(DVec3),
    /// This acceleration for one frame.
    Accelerate(DVec3),
    /// Turn about this axis, at its length in radians per second, for one frame.
    Turn(DVec3),
    /// Be exactly there at the next frame: bodies on rails, pre-computed paths. The acceleration is what the path is about to do.
    Follow(State),
}

impl Command {
    pub(crate) fn is_finite(&self) -> bool {
        match self {
            Self::Velocity(v) | Self::Accelerate(v) | Self::Turn(v) => v.is_finite(),
            Self::Follow(state) => state.is_finite(),
        }
    }
}

/// What became of a command (ML-45).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Obedience {
    /// It will be carried out at the next frame.
    Accepted,
    /// The body is locked; the command is lost.
    Discarded,
    /// The body is locked; the command waits, in the place of any that waited.
    Buffered,
}

/// The application asked for something impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// The id is taken.
    #[error("a body with this id exists already")]
    Exists,
    /// There is no such body.
    #[error("there is no such body")]
    Unknown,
    /// Only masters take commands.
    #[error("the body is not a master of this station")]
    NotAMaster,
    /// No such station was introduced with `add_peer`.
    #[error("the owner is not a known peer")]
    UnknownPeer,
    /// A number that is not finite, or a radius or mass that is not above zero.
    #[error("a number is not finite, or a radius or mass is not above zero")]
    BadNumber,
    /// Too many bodies for one station.
    #[error("more than {} bodies", crate::MAX_BODIES)]
    TooMany,
}

/// The world's walls: a box that keeps bodies inside. Every station has the same (ML-33).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arena {
    /// Lowest corner.
    pub min: DVec3,
    /// Highest corner.
    pub max: DVec3,
    /// How much of the speed into the wall comes back, 0 to 1.
    pub restitution: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    // ML-1: the authority table, entry by entry.
    #[test]
    fn who_decides() {
        let [ours, global] = [Role::Master, Role::Global];
        let peer = StationId(2);
        let theirs = Role::Replica { owner: peer };
        let third = Role::Replica {
            owner: StationId(3),
        };
        assert_eq!(Authority::over(ours, ours), Authority::Local);
        assert_eq!(Authority::over(ours, global), Authority::Local);
        assert_eq!(Authority::over(global, global), Authority::Local);
        assert_eq!(Authority::over(ours, theirs), Authority::Shared { peer });
        assert_eq!(Authority::over(theirs, ours), Authority::Shared { peer });
        assert_eq!(Authority::over(theirs, third), Authority::Elsewhere);
        assert_eq!(Authority::over(theirs, theirs), Authority::Elsewhere);
        assert_eq!(Authority::over(global, theirs), Authority::Elsewhere);
    }

    // ML-2: equations 3.2 to 3.5, to rounding, against small steps of the same motion.
    #[test]
    fn constant_acceleration() {
        let start = State {
            position: DVec3::new(3.0, -2.0, 7.0),
            velocity: DVec3::new(-11.0, 5.0, 0.25),
            acceleration: DVec3::new(0.5, -9.81, 3.0),
        };
        let end = start.after(0.7);
        let expected = DVec3::new(
            3.0 - 7.7 + 0.5 * 0.245,
            -2.0 + 3.5 - 9.81 * 0.245,
            7.0 + 0.175 + 3.0 * 0.245,
        );
        assert!((end.position - expected).length() < 1e-12);
        assert!((end.velocity - DVec3::new(-10.65, -1.867, 2.35)).length() < 1e-12);
        // F(a) F(b) = F(a + b): extrapolating in two steps is extrapolating in one.
        let stepped = start.after(0.3).after(0.4);
        assert!((stepped.position - end.position).length() < 1e-12);
        assert!((stepped.velocity - end.velocity).length() < 1e-12);
    }
}
