//! Facts: what really happened in a run, told by the simulator, which sees everything.
//!
//! Regions only know what messages told them. The simulator stands above all of them and tells the checkers
//! each thing once, in the order in which it happened:
//!
//! ```text
//!   Born ─► Stepped k ─► Stepped k+1 ─► Departed (tick k+1)      at the old owner
//!                                           ┊ in flight
//!                                           ▼
//!      CaughtUp k+2, …, CaughtUp m ─► Arrived (tick m) ─► Stepped m+1      at the new owner
//! ```
//!
//! A fact borrows what it speaks of: telling it costs nothing, and whoever wants to remember it copies what it needs.

use domain::{BodyForm, BodyId, Epoch, Motion, RegionId, Tick};
use wire::HandoverCause;

/// One thing that happened. `tick` is the tick that the region of the fact has completed when it happens.
#[derive(Clone, Copy, Debug)]
pub enum Fact<'a> {
    /// A body was created for the first time (bodies of the scene: at tick 0). Its first step is the next tick.
    Born {
        /// The tick its motion belongs to.
        tick: Tick,
        /// Its first owner.
        region: RegionId,
        /// Its name.
        body: BodyId,
        /// Its first ownership: zero unless the announcement of its spawn was handed over.
        epoch: Epoch,
        /// Its shape and material.
        form: &'a BodyForm,
        /// Where it starts.
        motion: &'a Motion,
    },
    /// A body was removed for good, by command.
    Removed {
        /// The last tick of its life.
        tick: Tick,
        /// Its last owner.
        region: RegionId,
        /// Its name.
        body: BodyId,
    },
    /// A region has made a step.
    Stepped {
        /// The tick it has completed by that.
        tick: Tick,
        /// Which region.
        region: RegionId,
        /// All bodies it owns, sleeping ones too, in ascending order of id.
        bodies: &'a [(BodyId, Motion)],
    },
    /// A receiver has stepped a handed-over cluster alone to this tick. Told for sleeping clusters too, with
    /// unchanged motion. Comes before the cluster's [`Fact::Arrived`] or right after it.
    CaughtUp {
        /// The tick the cluster has reached.
        tick: Tick,
        /// The receiver.
        region: RegionId,
        /// Bodies with the same region, batch and tick were stepped together.
        batch: u64,
        /// The members, in ascending order of id.
        bodies: &'a [(BodyId, Motion)],
    },
    /// A cluster has left its owner's world and is in flight.
    Departed {
        /// The last tick through which the old owner stepped it.
        tick: Tick,
        /// The old owner.
        from: RegionId,
        /// The new owner.
        to: RegionId,
        /// The offer's number, counted per pair of regions.
        handover: u64,
        /// Its members with their new epochs.
        members: &'a [(BodyId, Epoch)],
        /// Why.
        cause: HandoverCause,
    },
    /// A cluster was inserted into its receiver's world.
    Arrived {
        /// The tick the receiver has completed; the next step includes the cluster.
        tick: Tick,
        /// The receiver.
        region: RegionId,
        /// Who handed it over.
        from: RegionId,
        /// The number under which it departed.
        handover: u64,
        /// Its members with their new epochs.
        members: &'a [(BodyId, Epoch)],
    },
    /// A region has read a message. Not told for auras that move: they are most of what is said and the normal course of things.
    Heard {
        /// The reader's latest completed tick.
        tick: Tick,
        /// The reader.
        region: RegionId,
        /// The writer.
        from: RegionId,
        /// What it says, in short.
        what: &'a str,
        /// Whom it is about.
        bodies: &'a [BodyId],
    },
    /// Two bodies touch that did not touch in the step before.
    Contact {
        /// The tick of the step that found it.
        tick: Tick,
        /// Their owner.
        region: RegionId,
        /// One body.
        a: BodyId,
        /// The other.
        b: BodyId,
        /// How deep they are in each other when the contact is found, metres.
        depth_m: f64,
        /// Their whole relative speed at the contact before it is solved, m/s. (Not only the part along the
        /// contact's normal: a box that slides over an edge meets it sideways and is pushed upwards.)
        relative_speed: f64,
        /// The contact existed before and came with a handover or a snapshot.
        restored: bool,
    },
    /// A region server died with all it had in memory.
    Crashed {
        /// Its last tick.
        tick: Tick,
        /// Which region.
        region: RegionId,
    },
    /// A region is back, from a snapshot and with its neighbours' answers.
    Restored {
        /// The tick after which it goes on stepping.
        tick: Tick,
        /// Which region.
        region: RegionId,
        /// The tick of the snapshot.
        snapshot: Tick,
        /// Everything it owns now, in ascending order of id. What it was given after the snapshot is offered
        /// again and arrives again.
        bodies: &'a [(BodyId, Epoch)],
    },
    /// From one tick to another, both included, these regions cannot keep the tolerances: a partition, a
    /// crash and its recovery. Told before the window begins or while it lasts. What goes wrong there is counted apart.
    Disturbed {
        /// First tick of the window.
        from: Tick,
        /// Last tick of the window.
        until: Tick,
        /// Whom it touches.
        regions: &'a [RegionId],
    },
    /// Nothing moves and no message is under way. Told once, after the run has settled.
    Quiescent {
        /// The latest completed tick.
        tick: Tick,
        /// Every aura that any region holds of a neighbour's body.
        auras: &'a [AuraHeld],
        /// Every body that must be projected, from where it is.
        projecting: &'a [Projecting],
    },
}

/// An aura that a region holds of another region's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuraHeld {
    /// Who holds it.
    pub holder: RegionId,
    /// Who sent it.
    pub owner: RegionId,
    /// Whose aura it is.
    pub body: BodyId,
    /// The body's ownership it speaks of.
    pub epoch: Epoch,
}

/// A body that its owner must make known to others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projecting {
    /// The owner.
    pub owner: RegionId,
    /// The body.
    pub body: BodyId,
    /// Its ownership.
    pub epoch: Epoch,
    /// Everyone who must hold its aura.
    pub audience: Vec<RegionId>,
}

impl Fact<'_> {
    /// The tick it speaks of; for a window its first.
    pub fn tick(&self) -> Tick {
        match *self {
            Self::Born { tick, .. }
            | Self::Removed { tick, .. }
            | Self::Stepped { tick, .. }
            | Self::CaughtUp { tick, .. }
            | Self::Departed { tick, .. }
            | Self::Arrived { tick, .. }
            | Self::Heard { tick, .. }
            | Self::Contact { tick, .. }
            | Self::Crashed { tick, .. }
            | Self::Restored { tick, .. }
            | Self::Quiescent { tick, .. }
            | Self::Disturbed { from: tick, .. } => tick,
        }
    }
}
