//! What one region server can say to another.

use domain::{Body, BodyId, Cluster, Epoch, Rect, RegionId, SimTime, Tick};
use glam::{DVec3, Vec3};
use serde::{Deserialize, Serialize};

/// Everything one region says to one other in one network update (the thesis: BNU).
///
/// ```text
/// region 1 ── Envelope [AuraUpsert, AuraUpsert, Offer, Accept, …] ──► region 2
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// Who speaks.
    pub from: RegionId,
    /// To whom.
    pub to: RegionId,
    /// The speaker's latest completed tick.
    pub tick: Tick,
    /// When it was handed to the channel, on the shared clock; the receiver measures latency by it.
    pub sent_at: SimTime,
    /// What is said, in order.
    pub messages: Vec<Message>,
}

/// One thing said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Message {
    /// A body's aura was created or has moved.
    AuraUpsert(AuraUpsert),
    /// A body's aura is gone.
    AuraDelete(AuraDelete),
    /// Take over this cluster.
    Offer(Box<Offer>),
    /// The offer has been received and will be, or has been, carried out. `offer.from` → here.
    Accept {
        /// Which offer.
        handover: HandoverNumber,
    },
    /// The accept has been received: the offer will not be sent again.
    Release {
        /// Which offer.
        handover: HandoverNumber,
    },
    /// These regions have bodies in or near the sender's region: tell them of yours that are at the same place.
    Introduce {
        /// Regions that are visiting the sender's region.
        visitors: Vec<Visitor>,
    },
    /// The sender's latest snapshot holds everything you handed over up to this number.
    SnapshotCovers {
        /// The snapshot's tick.
        tick: Tick,
        /// Offers from you up to this number are in it.
        upto: HandoverNumber,
    },
    /// The sender has restarted from its snapshot of this tick: forget its auras, answer with [`Message::Recovery`]. Repeated until answered.
    Restarted {
        /// The tick of the snapshot.
        snapshot: Tick,
        /// Higher at each restart of the sender: tells another restart from a question asked again.
        incarnation: u32,
    },
    /// The answer to [`Message::Restarted`]: what the restarted region must not believe it still owns. Whoever answers takes none of it back,
    /// not even by dying. Offers that the sender's snapshot does not hold follow in the same envelope.
    Recovery {
        /// Every body that has changed owners as far as the answerer knows, and the latest change it knows of; by ascending id, each once.
        known: Vec<Ownership>,
    },
}

/// A region that has bodies in or near another one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Visitor {
    /// Which.
    pub region: RegionId,
    /// What is there may soon meet one of its bodies.
    pub place: Rect,
}

/// Whose a body is, or was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ownership {
    /// Which body.
    pub body: BodyId,
    /// Under this epoch …
    pub epoch: Epoch,
    /// … it is this region's, or is on its way there.
    pub owner: RegionId,
}

/// "I own this body; whatever of yours touches this sphere, send to me." (The thesis: aura create/update.)
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuraUpsert {
    /// Whose aura.
    pub body: BodyId,
    /// The body's ownership this speaks of.
    pub epoch: Epoch,
    /// The tick at which the body was there.
    pub tick: Tick,
    /// The body's origin.
    pub centre: DVec3,
    /// The body is within `radius` of the line from `centre − spine` to `centre + spine`. Sizes `thesis` and `safe`
    /// know spheres only: no spine.
    pub radius: f32,
    /// Half of that line.
    pub spine: Vec3,
    /// How far beyond the bounding sphere the aura reaches at the tick it speaks of, metres.
    pub reach: f32,
    /// How much the reach grows per tick without news, metres. Zero for a sleeping body and for size `thesis`.
    pub growth: f32,
    /// Who stays if two clusters want each other.
    pub key: ClusterKey,
}

/// Rank of a cluster in the tie-break: the lower one stays, the higher one moves. It is the lowest of
/// its projecting members, so both sides of a boundary compute the same answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClusterKey {
    /// The lower, the more work it would be to move the cluster, and the less its owner has to do. Zero with sizes
    /// `thesis` and `safe`: there age alone decides.
    pub class: u16,
    /// Since when its longest-projecting member projects.
    pub since: Tick,
    /// That member (the lowest id among equals).
    pub body: BodyId,
}

/// "This body's aura is gone." (The thesis: aura delete.)
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuraDelete {
    /// Whose aura.
    pub body: BodyId,
    /// The ownership under which it was projected.
    pub epoch: Epoch,
    /// The tick after which it is gone.
    pub tick: Tick,
    /// If the body migrated: its new owner, who will speak for it from now on.
    pub moved_to: Option<NewOwner>,
}

/// Where a body has gone, and the rank it has there: whoever hears it can decide at once who moves, without waiting for the new
/// owner's first word.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewOwner {
    /// The new owner.
    pub region: RegionId,
    /// The lower of the cluster's rank and of the rank of the aura that called it.
    pub key: ClusterKey,
}

/// Number of an offer, counted by the offering region per receiver from 1.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct HandoverNumber(pub u64);

/// Why a cluster migrates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HandoverCause {
    /// A member touched an aura of the receiver (algorithm AC).
    AuraCollision {
        /// The member that touched.
        member: BodyId,
        /// The body whose aura it was.
        aura: BodyId,
    },
    /// The cluster is an island in the receiver's region (algorithm BT).
    BoundaryTraversal,
    /// Policy `naive`: the centre crossed the border.
    CentreCrossed,
}

/// A cluster on its way to a new owner.
///
/// ```text
/// old owner ── Offer ──► new owner      removed from the old owner's world at `tick`
/// old owner ◄── Accept ── new owner     inserted at the new owner's next tick
/// old owner ── Release ──► new owner    neither needs the number any more
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    /// Its number; the same number is the same offer.
    pub handover: HandoverNumber,
    /// The last tick through which the old owner stepped the cluster.
    pub tick: Tick,
    /// Why.
    pub cause: HandoverCause,
    /// Ownership of each body in `cluster.bodies`, in the same order.
    pub members: Vec<Member>,
    /// The bodies with all their state.
    pub cluster: Cluster,
    /// Spawns announced near the cluster but not yet born; they go with it. By ascending id.
    pub unborn: Vec<Unborn>,
    /// Regions that were told of every member who its new owner is, ascending. The tie-break holds towards them at once.
    pub told: Vec<RegionId>,
    /// How far members may go until others have heard otherwise; by ascending body, each body's oldest first. A member
    /// without
    /// any has promised what follows from its motion at `tick`.
    pub bonds: Vec<(BodyId, Bond)>,
}

/// A promise about where a body's origin will be: within `reach + growth · age` of `centre`. Whoever reads it at tick
/// `b` counts
/// `age = b − tick` and may rely on it up to tick `b + h + 1` (`h`: ticks per hop); the owner keeps the body inside.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bond {
    /// When it was given.
    pub tick: Tick,
    /// Where the body was then, or near there.
    pub centre: DVec3,
    /// How it lay: half of the line through it. Turning is a way as well.
    pub spine: Vec3,
    /// How far from there, metres.
    pub reach: f32,
    /// How much farther per tick of age, metres.
    pub growth: f32,
    /// The last tick at which somebody may still rely on it; `None`: it has not been replaced.
    pub until: Option<Tick>,
}

/// A body's ownership, handed over with it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// Its epoch under the new owner.
    pub epoch: Epoch,
    /// Since when it projects, if it does: the tie-break outlives the migration.
    pub projecting_since: Option<Tick>,
    /// The rank that others were told it has under its new owner, if they were told.
    pub rank: Option<ClusterKey>,
}

/// A spawn near a boundary waits until its aura is known to all neighbours, so that nothing is born
/// into a contact across a border.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unborn {
    /// What will be born.
    pub body: Body,
    /// Since when it is announced.
    pub since: Tick,
    /// Its ownership under the new owner: a spawn can be doubled just as a body can.
    pub epoch: Epoch,
}
