//! What a region tells its driver.

use boundary::Transition;
use domain::{Body, BodyId, Epoch, Motion, RegionId, Tick};
use serde::{Deserialize, Serialize};
use wire::{HandoverCause, HandoverNumber};
use world::ContactBegun;

/// A body and its new epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedBody {
    /// Which.
    pub body: BodyId,
    /// Its ownership under the new owner.
    pub epoch: Epoch,
}

/// Something happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum RegionEvent {
    /// A body has come into being. It is stepped for the first time at the tick after this one.
    Born {
        /// The last completed tick.
        tick: Tick,
        /// What.
        body: Body,
        /// Its ownership: zero unless its announcement was handed over.
        epoch: Epoch,
    },
    /// A cluster has left for another region after this tick.
    Departed {
        /// When.
        tick: Tick,
        /// To whom.
        to: RegionId,
        /// The number of the offer.
        handover: HandoverNumber,
        /// Why.
        cause: HandoverCause,
        /// Who.
        members: Vec<MovedBody>,
    },
    /// A handed-over cluster was stepped alone to this tick.
    CaughtUp {
        /// Which tick.
        tick: Tick,
        /// Counts the clusters caught up here: those of one batch were stepped together.
        batch: u64,
        /// Where its bodies are.
        bodies: Vec<(BodyId, Motion)>,
    },
    /// A cluster has been put into the world after this tick.
    Arrived {
        /// When.
        tick: Tick,
        /// From whom.
        from: RegionId,
        /// The number of the offer.
        handover: HandoverNumber,
        /// Who.
        members: Vec<MovedBody>,
    },
    /// Two bodies, or a body and the scenery, have begun to touch.
    Contact {
        /// In which step.
        tick: Tick,
        /// What the engine saw.
        contact: ContactBegun,
    },
    /// A step in a body's life, if tracing.
    Life(Transition),
    /// After a restart, all others have answered; the region steps again.
    Recovered {
        /// From now on.
        tick: Tick,
        /// What of its snapshot nobody else owns.
        bodies: Vec<MovedBody>,
    },
    /// An offer was not fit to be carried out; nothing changed. The sender keeps it.
    Refused {
        /// From whom.
        from: RegionId,
        /// Which.
        handover: HandoverNumber,
        /// Why.
        why: String,
    },
    /// The engine could not compute a body: its numbers made no sense any more, and it was taken out before anybody else saw them. It is nobody's.
    Broken {
        /// The last tick after which it was sound.
        tick: Tick,
        /// Which.
        body: BodyId,
        /// Its last ownership.
        epoch: Epoch,
        /// What made no sense.
        why: String,
    },
    /// A spawn could not be carried out; the body never was.
    NotBorn {
        /// The last completed tick.
        tick: Tick,
        /// Which.
        body: BodyId,
        /// Why.
        why: String,
    },
}
