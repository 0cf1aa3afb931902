//! The receiver's side of one entity's stream: which vector it follows, and where that puts the entity now.
//!
//! A vector says "at T I was here, going there". What a receiver makes of it depends on the clock it trusts:
//!
//! ```text
//!   T              R                      t
//!   |---- delay ---|----------------------|        owner generates at T, receiver gets it at R, draws at t
//!   |<------------- t − T --------------->|        Global: exact, however long the delay was
//!                  |<------- t − R ------>|        Local:  trails by speed × delay, for ever (the legacy way)
//!          |<- D ->|<------- t − R ------>|        OneWay: as right as the guess D of the delay
//! ```
//!
//! With [`ClockMode::Global`] the error after reception is zero (digest §2.3); what remains is the time until
//! reception, when the receiver cannot know better. The one case where `Local` is nearer to the truth is a sudden
//! stop: it lags, so it overshoots less.

use super::models::{BuiltIn, Model, Placed};
use super::validate::{Limits, Rejected, validate};
use crate::vector::{DrVector, Seq};
use domain::{BodyId, SimTime};

/// From when on a receiver counts the time of a vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockMode {
    /// From its generation, on the clock all share. The times told to the receiver must be of that clock.
    #[default]
    Global,
    /// From its reception, as if it had taken no time to arrive. The baseline of the thesis.
    Local,
    /// From its reception less an estimate of the delay of this hop; its time stamp is not looked at, so neither end
    /// needs the shared clock (thesis chapter 4).
    OneWay {
        /// The estimated delay from the previous hop to here, usually half a round trip
        /// ([`OneWayDelay`](super::OneWayDelay)).
        delay: SimTime,
    },
}

/// What a receiver holds of one entity.
#[derive(Clone, Debug)]
pub struct Receiver {
    entity: BodyId,
    mode: ClockMode,
    limits: Limits,
    followed: Option<Followed>,
}

/// The vector in use, as it was received, and as it is evaluated: with the time from which its curve counts, and how
/// far ahead of the asked time it is evaluated (the estimated delay). Both are kept apart so that nothing goes below
/// zero in the first moments of a run.
#[derive(Clone, Copy, Debug)]
struct Followed {
    original: DrVector,
    based: DrVector,
    ahead: SimTime,
    received: SimTime,
}

impl Receiver {
    /// For one entity, holding nothing yet.
    pub fn new(entity: BodyId, mode: ClockMode) -> Self {
        Self::with_limits(entity, mode, Limits::default())
    }

    /// As [`Self::new`], with other limits to what is believed.
    pub fn with_limits(entity: BodyId, mode: ClockMode, limits: Limits) -> Self {
        Self {
            entity,
            mode,
            limits,
            followed: None,
        }
    }

    /// Whose vectors these are.
    pub fn entity(&self) -> BodyId {
        self.entity
    }

    /// The clock in use.
    pub fn mode(&self) -> ClockMode {
        self.mode
    }

    /// Changes the clock for vectors still to come (a new estimate of the delay).
    pub fn set_mode(&mut self, mode: ClockMode) {
        self.mode = mode;
    }

    /// The number of the vector in use; 0 if there is none.
    pub fn seq(&self) -> Seq {
        self.followed
            .map_or(Seq::default(), |followed| followed.original.seq)
    }

    /// The vector in use, as it was received.
    pub fn vector(&self) -> Option<&DrVector> {
        self.followed.as_ref().map(|followed| &followed.original)
    }

    /// When the vector in use was received: what an acknowledgement reports.
    pub fn received_at(&self) -> Option<SimTime> {
        self.followed.map(|followed| followed.received)
    }

    /// Takes a vector that arrived at `now`. On an error nothing has changed; a stale one
    /// ([`Rejected::Stale`]) is normal on a network that reorders, any other means a faulty or hostile sender.
    pub fn receive(&mut self, now: SimTime, vector: &DrVector) -> Result<(), Rejected> {
        if vector.entity != self.entity {
            return Err(Rejected::OtherEntity(vector.entity));
        }
        if vector.seq <= self.seq() {
            return Err(Rejected::Stale {
                seq: vector.seq,
                held: self.seq(),
            });
        }
        let clock = (self.mode == ClockMode::Global).then_some(now);
        validate(vector, clock, &self.limits)?;
        self.followed = Some(self.follow(now, vector));
        Ok(())
    }

    fn follow(&self, now: SimTime, vector: &DrVector) -> Followed {
        // A quantised quaternion is a little off unit length; extrapolation keeps whatever length it is given.
        let original = DrVector {
            rotation: vector.rotation.normalize(),
            ..*vector
        };
        let (time, ahead) = match self.mode {
            ClockMode::Global => (vector.time, SimTime::ZERO),
            ClockMode::Local => (now, SimTime::ZERO),
            ClockMode::OneWay { delay } => (now, delay),
        };
        Followed {
            original,
            based: DrVector { time, ..original },
            ahead,
            received: now,
        }
    }

    /// Where the entity is believed to be at `at`; `None` before the first vector.
    pub fn place(&self, at: SimTime) -> Option<Placed> {
        self.place_with(&BuiltIn, at)
    }

    /// As [`Self::place`], with the application's own model; the owner must use the same one.
    pub fn place_with(&self, model: &dyn Model, at: SimTime) -> Option<Placed> {
        let followed = self.followed.as_ref()?;
        let ahead = SimTime(at.0.saturating_add(followed.ahead.0));
        Some(model.extrapolate(&followed.based, ahead))
    }

    /// The vector in use, moved on to `now` as this host believes it: what a server without a shared clock passes on
    /// to the next hop, at the moment the packet leaves (digest §7, C7). Number, kind and status stay.
    pub fn relay(&self, now: SimTime) -> Option<DrVector> {
        let placed = self.place(now)?;
        let vector = self.vector()?;
        Some(DrVector {
            time: now,
            position: placed.position,
            rotation: placed.rotation,
            velocity: placed.velocity,
            ..*vector
        })
    }
}
