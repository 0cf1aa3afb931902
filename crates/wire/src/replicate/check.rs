//! What a parcel may say.

use super::{BodyState, Parcel, Word};
use crate::{MAX_COORDINATE_M, MAX_EPOCH, MAX_NUMBER};
use domain::{BodyId, Motion, RegionId};
use thiserror::Error;

/// The most members of a group, and so the largest number in a name.
pub const MAX_MEMBERS: u32 = 1 << 16;
/// The most states in a parcel.
pub const MAX_STATES: usize = 1 << 16;
/// No body is faster than this, m/s or rad/s.
pub const MAX_SPEED: f32 = 1.0e5;
const MAX_VERSION: u32 = u32::MAX / 2;

/// Something that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Absurd {
    /// A number that is none, or out of all proportion.
    #[error("the motion of {0} is absurd")]
    Motion(BodyId),
    /// A count that no run reaches.
    #[error("version or epoch of {0} is absurd")]
    Count(BodyId),
    /// A member that cannot exist.
    #[error("a member's number is absurd")]
    Member,
    /// A tick that no run reaches.
    #[error("the tick is absurd")]
    Tick,
    /// Too many.
    #[error("too many states")]
    TooMany,
}

impl Parcel {
    /// Could a member have said this?
    pub fn check(&self) -> Result<(), Absurd> {
        if self.from.0 >= MAX_MEMBERS {
            return Err(Absurd::Member);
        }
        if self.tick.0 > MAX_NUMBER {
            return Err(Absurd::Tick);
        }
        self.words.iter().try_for_each(Word::check)
    }
}

impl Word {
    fn check(&self) -> Result<(), Absurd> {
        match self {
            Self::Replicate(states)
            | Self::Transfer(states)
            | Self::Contested(states)
            | Self::Correct(states) => {
                if states.len() > MAX_STATES {
                    return Err(Absurd::TooMany);
                }
                states.iter().try_for_each(BodyState::check)
            }
            Self::Accept(accepted) => {
                let bad = accepted.iter().find(|(_, epoch)| epoch.0 > MAX_EPOCH.0);
                bad.map_or(Ok(()), |(body, _)| Err(Absurd::Count(*body)))
            }
            Self::Settled(_) => Ok(()),
            Self::Done { wrote } | Self::Go { wrote } => {
                let exists = |member: RegionId| member.0 < MAX_MEMBERS;
                match wrote.iter().all(|(a, b)| exists(*a) && exists(*b)) {
                    true => Ok(()),
                    false => Err(Absurd::Member),
                }
            }
        }
    }
}

impl BodyState {
    /// Could a body be like this?
    pub fn check(&self) -> Result<(), Absurd> {
        if self.author.0 >= MAX_MEMBERS || self.home.0 >= MAX_MEMBERS {
            return Err(Absurd::Member);
        }
        // What was before a change is told with the change, and that has been counted.
        let uncounted = self.base.is_some() && self.version == 0;
        if uncounted || self.version > MAX_VERSION || self.epoch.0 > MAX_EPOCH.0 {
            return Err(Absurd::Count(self.body));
        }
        let sound = is_sound(&self.motion) && self.base.as_ref().is_none_or(is_sound);
        if sound {
            Ok(())
        } else {
            Err(Absurd::Motion(self.body))
        }
    }
}

fn is_sound(motion: &Motion) -> bool {
    let far = motion.position.abs().max_element();
    let turn = motion.rotation.length_squared();
    let fast = motion
        .linear_velocity
        .length()
        .max(motion.angular_velocity.length());
    motion.is_finite() && far <= MAX_COORDINATE_M && (turn - 1.0).abs() < 1e-2 && fast <= MAX_SPEED
}
