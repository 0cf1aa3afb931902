//! An object that everyone sees: set its thresholds once, tell it every loop where it is; the rest happens by itself (DR-46).
//!
//! ```text
//! owner client                     server                          other clients in scope
//! DrObject::owned                  DrObject::ghost                 DrObject::ghost
//!   observe(true state)              receive(vector)                 receive(vector)
//!   └ trigger? ─ vector ──────────▶  mark bit 0 for each ──────────▶ place(now): extrapolated from the vector,
//!                packet              client in scope     packet                 every frame afresh
//! ```
//!
//! The three are one type, as in the thesis (§4.5), without the faults of its listing (digest §7, C1–C8):
//! the trigger compares with the last vector generated, in all axes, by distance to the predicted *point*; every trigger sets
//! the time of the last one; spin is part of the state; vectors carry their time of generation, so that neither waiting nor
//! loss makes them wrong; and a place is computed from the vector, never added up frame by frame.

use crate::codec::{MAX_STATE_BYTES, StateBits, Unsendable, check_vector, rounded};
use crate::motion::{
    BuiltIn, ClockMode, Model, Placed, Receiver, Rejected, Thresholds, Trigger, TrueState,
};
use crate::{DrVector, Seq};
use domain::{BodyId, SimTime};
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// How a vector finds its place in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timing {
    /// It carries the global time of its generation: right whatever the delay was. Needs the shared clock.
    #[default]
    Timestamped,
    /// It carries no time; each hop moves it on by half its own round trip, at the moment of packing and at the moment of reception
    /// (thesis chapter 4, DR-12). Wrong under asymmetric or varying delays, twice over two hops; needs no clock.
    OneWayDelay,
}

/// Why an object did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ObjectError {
    /// Only the owner observes; only others receive.
    #[error("{0} is owned elsewhere")]
    NotOwned(BodyId),
    /// There is no such object here.
    #[error("there is no object {0}")]
    Unknown(BodyId),
    /// There is one already.
    #[error("there is an object {0} already")]
    Exists(BodyId),
    /// The true state is absurd; receivers keep what they have.
    #[error(transparent)]
    Unsendable(#[from] Unsendable),
    /// Bit 0 is the vector's, and there are 32.
    #[error("state bit {0} is not between 1 and 31")]
    BadBit(u8),
    /// Too many bytes for one bit of state.
    #[error("{0} bytes of state, at most {MAX_STATE_BYTES} fit")]
    TooLarge(usize),
}

#[derive(Clone, Debug)]
enum Side {
    Owner(Box<Trigger>),
    Ghost(Box<Received>),
}

#[derive(Clone, Debug)]
struct Received {
    receiver: Receiver,
    /// The vector exactly as it came: passed on without loss.
    newest: Option<DrVector>,
}

/// A dead-reckoned object, at its owner or elsewhere.
#[derive(Clone, Debug)]
pub struct DrObject {
    id: BodyId,
    class: u16,
    model: Arc<dyn Model>,
    side: Side,
    state: BTreeMap<u8, Vec<u8>>,
}

impl DrObject {
    /// An object that moves here. Positions travel on a grid of 1 mm, so a distance threshold should not be below 2 mm.
    pub fn owned(id: BodyId, thresholds: Thresholds) -> Self {
        Self::with_side(id, Side::Owner(Box::new(Trigger::new(id, thresholds))))
    }

    /// An object that moves elsewhere.
    pub fn ghost(id: BodyId) -> Self {
        let received = Received {
            receiver: Receiver::new(id, ClockMode::Global),
            newest: None,
        };
        Self::with_side(id, Side::Ghost(Box::new(received)))
    }

    fn with_side(id: BodyId, side: Side) -> Self {
        Self {
            id,
            class: 0,
            model: Arc::new(BuiltIn),
            side,
            state: BTreeMap::new(),
        }
    }

    /// What kind of thing it is; the application's own numbers (default 0). Receivers learn it first.
    #[must_use]
    pub fn with_class(mut self, class: u16) -> Self {
        self.class = class;
        self
    }

    /// Another way to extrapolate (default: the curves of [`Kind`](crate::Kind)); owner and receivers must use the same one.
    #[must_use]
    pub fn with_model(mut self, model: Arc<dyn Model>) -> Self {
        self.model = model;
        self
    }

    /// Its name.
    pub fn id(&self) -> BodyId {
        self.id
    }

    /// Its class.
    pub fn class(&self) -> u16 {
        self.class
    }

    /// Does it move here?
    pub fn is_owned(&self) -> bool {
        matches!(self.side, Side::Owner(_))
    }

    /// The thresholds, at the owner.
    pub fn thresholds(&self) -> Option<&Thresholds> {
        match &self.side {
            Side::Owner(trigger) => Some(trigger.thresholds()),
            Side::Ghost(_) => None,
        }
    }

    /// Changes the thresholds from the next loop on.
    pub fn set_thresholds(&mut self, thresholds: Thresholds) -> Result<(), ObjectError> {
        match &mut self.side {
            Side::Owner(trigger) => trigger.set_thresholds(thresholds),
            Side::Ghost(_) => return Err(ObjectError::NotOwned(self.id)),
        }
        Ok(())
    }

    /// Tells the true state at `now`; call it every loop. Returns the new vector if one was due: exactly as receivers will
    /// read it, so that owner and receivers believe the same to the last bit.
    pub fn observe(
        &mut self,
        now: SimTime,
        state: &TrueState,
    ) -> Result<Option<DrVector>, ObjectError> {
        let Side::Owner(trigger) = &mut self.side else {
            return Err(ObjectError::NotOwned(self.id));
        };
        check_vector(&state.vector(self.id, Seq(1), now))?;
        let vector = trigger.observe_with(self.model.as_ref(), now, state);
        Ok(vector.map(|vector| {
            let exported = rounded(&vector);
            **trigger = Trigger::resume(exported, *trigger.thresholds());
            exported
        }))
    }

    /// A vector arrived. With a `delay`, its time is ignored and it counts as this old (one-way-delay mode). On an error
    /// nothing has changed.
    pub fn receive(
        &mut self,
        now: SimTime,
        vector: &DrVector,
        delay: Option<SimTime>,
    ) -> Result<(), Rejected> {
        let Side::Ghost(ghost) = &mut self.side else {
            return Err(Rejected::OtherEntity(vector.entity));
        };
        ghost.receiver.set_mode(match delay {
            Some(delay) => ClockMode::OneWay { delay },
            None => ClockMode::Global,
        });
        ghost.receiver.receive(now, vector)?;
        ghost.newest = Some(*vector);
        Ok(())
    }

    /// Where the object is at `now`, as far as is known here: computed from the last vector, however long ago. `None` before
    /// the first.
    pub fn place(&self, now: SimTime) -> Option<Placed> {
        match &self.side {
            Side::Owner(trigger) => Some(self.model.extrapolate(trigger.last()?, now)),
            Side::Ghost(ghost) => ghost.receiver.place_with(self.model.as_ref(), now),
        }
    }

    /// The newest vector, as generated.
    pub fn vector(&self) -> Option<&DrVector> {
        match &self.side {
            Side::Owner(trigger) => trigger.last(),
            Side::Ghost(ghost) => ghost.newest.as_ref(),
        }
    }

    /// What to put into a packet that leaves now.
    pub fn vector_to_send(&self, now: SimTime, timing: Timing) -> Option<DrVector> {
        let vector = *self.vector()?;
        match timing {
            Timing::Timestamped => Some(vector),
            Timing::OneWayDelay => self.place(now).map(|placed| {
                rounded(&DrVector {
                    time: now,
                    position: placed.position,
                    rotation: placed.rotation,
                    velocity: placed.velocity,
                    ..vector
                })
            }),
        }
    }

    /// The application's state behind one of the bits 1 to 31.
    pub fn state(&self, bit: u8) -> Option<&[u8]> {
        self.state.get(&bit).map(Vec::as_slice)
    }

    /// Sets it; says which bit that makes dirty (none if it is the same as before).
    pub fn set_state(&mut self, bit: u8, bytes: Vec<u8>) -> Result<StateBits, ObjectError> {
        let bits = StateBits::application(bit).ok_or(ObjectError::BadBit(bit))?;
        if bytes.len() > MAX_STATE_BYTES {
            return Err(ObjectError::TooLarge(bytes.len()));
        }
        if self.state.get(&bit) == Some(&bytes) {
            return Ok(StateBits::NONE);
        }
        self.state.insert(bit, bytes);
        Ok(bits)
    }

    /// All bits that have any state.
    pub fn bits(&self) -> StateBits {
        let vector = self.vector().map_or(StateBits::NONE, |_| StateBits::VECTOR);
        let state = self.state.keys().map(|bit| StateBits(1 << bit));
        state.fold(vector, StateBits::with)
    }

    /// The application's state behind these bits.
    pub fn states(&self, bits: StateBits) -> Vec<(u8, Vec<u8>)> {
        let chosen = bits.application_bits();
        chosen
            .filter_map(|bit| Some((bit, self.state.get(&bit)?.clone())))
            .collect()
    }
}

#[cfg(test)]
#[path = "dr_object_tests.rs"]
mod tests;
