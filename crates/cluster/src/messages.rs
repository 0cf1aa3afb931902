//! What the processes of a cluster say to each other, besides what regions say to regions (crate `wire`).
//!
//! Heartbeats are single datagrams; everything else goes over channels. All bytes are those of `postcard`, and whatever cannot be read is
//! refused as a whole.

use crate::geometry::cut;
use crate::names::{Generation, NodeId, Term};
use crate::schema::Promises;
use boundary::Kept;
use domain::{Body, BodyId, ContactEnd, Epoch, Motion, RegionId, Shape, SimTime, Static, Tick};
use glam::{DVec3, Quat, Vec3};
use region::{DueAura, TickRecord};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// These bytes are not the message that was expected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("not a message: {0}")]
pub struct NotAMessage(String);

/// Reads a message.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, NotAMessage> {
    match postcard::take_from_bytes(bytes) {
        Ok((message, [])) => Ok(message),
        Ok(_) => Err(NotAMessage("bytes are left over".to_owned())),
        Err(error) => Err(NotAMessage(error.to_string())),
    }
}

/// Writes a message.
pub fn encode<T: Serialize>(message: &T) -> Vec<u8> {
    postcard::to_stdvec(message).expect("our own types can be written")
}

/// A server to the coordinator, many times a second. Also the question of a clock exchange.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Heartbeat {
    /// Who.
    pub node: NodeId,
    /// When it was sent, by the sender's own clock.
    pub sent: SimTime,
    /// When the last one was sent that was answered, by the same clock: who is not reached knows it first.
    pub answered: SimTime,
    /// Of which world the regions are.
    pub generation: Generation,
    /// What it simulates.
    pub regions: Vec<RegionPulse>,
    /// Snapshots of others' regions that it keeps: of which region, of an owner of which term, after which tick.
    pub keeps: Vec<(RegionId, Term, Tick)>,
    /// How far its clock may be off, as far as it knows.
    pub clock_bound: Option<SimTime>,
}

/// One region in a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegionPulse {
    /// Which.
    pub region: RegionId,
    /// In which term the server has it.
    pub term: Term,
    /// The last completed tick.
    pub tick: Tick,
    /// Ticks that are due and that it was free to do: none while it waits for a neighbour.
    pub overdue: u64,
    /// How it is.
    pub state: RegionState,
    /// How many bodies it owns.
    pub bodies: u32,
    /// The newest snapshot that its standby has; of which standby.
    pub kept: Option<(NodeId, Tick)>,
    /// How its bodies were held to their promises.
    pub promises: Promises,
}

/// How a region is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RegionState {
    /// Furnished, waits for the world to start.
    Ready,
    /// Restored, waits for the others' answers.
    Recovering,
    /// Steps.
    Running,
    /// It has stopped for good, and its standby has its last state.
    GivenAway,
}

/// The coordinator's answer to a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pulse {
    /// When the heartbeat was sent.
    pub sent: SimTime,
    /// When it came, Unix time.
    pub received: SimTime,
    /// When this was sent, Unix time.
    pub replied: SimTime,
}

/// A region to a process: to its standby, to gateways, to observers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FromRegion {
    /// To the standby: keep this.
    Snapshot {
        /// The state after this tick.
        tick: Tick,
        /// Nothing happens after it: the region stops and goes on elsewhere.
        last: bool,
        /// All of the scene's spawns due before this tick are done.
        spawned_before: Tick,
        /// Who is told what happens, so that its next owner tells them without being asked.
        subscribers: Vec<(NodeId, Subscription)>,
        /// So many bytes of it have come as pieces.
        bytes_before: u64,
        /// A region's snapshot, or the rest of it.
        bytes: Vec<u8>,
    },
    /// To a subscriber: what the region's clients see.
    Feed(Box<Feed>),
    /// To an observer: everything that happened in a tick.
    Record {
        /// What.
        record: Box<TickRecord>,
        /// The thread's CPU time for it, with the messages read and written before it, milliseconds.
        cpu_ms: f32,
    },
    /// To whoever asked.
    Answer {
        /// The question's number.
        id: u64,
        /// The answer.
        answer: Answer,
    },
    /// To whoever looks closely.
    Insight(Box<Insight>),
    /// To the standby: a piece of a snapshot that is too large for one message; the last piece comes as `Snapshot`.
    SnapshotPiece {
        /// Of the state after this tick.
        tick: Tick,
        /// It follows the piece before.
        bytes: Vec<u8>,
    },
}

/// What a region shows of itself, for clients that ask for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Insight {
    /// After this tick.
    pub tick: Tick,
    /// How it is.
    pub state: Option<RegionState>,
    /// How often the tolerances were exceeded: speed, latency, frame.
    pub exceeded: [u64; 3],
    /// Parts of the client protocol, byte by byte as clients get them, each with its layer.
    pub parts: Vec<(u16, Vec<u8>)>,
}

/// A process to a region.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ToRegion {
    /// The standby keeps this snapshot.
    Kept {
        /// Of which tick.
        tick: Tick,
    },
    /// Tell me everything there is, then what changes.
    Subscribe(Subscription),
    /// Do or tell something; answered once.
    Ask {
        /// The asker's number.
        id: u64,
        /// What.
        question: Question,
    },
    /// Tell me of these layers (bits of the client protocol) until I say otherwise; none: of nothing any more.
    Inspect {
        /// Which.
        layers: u16,
    },
    /// A watcher has seen everything up to this tick. From the first of these on the region does not run far ahead of it: whoever judges every tick
    /// must not drown when a machine is too slow for a world.
    Seen {
        /// Of all regions.
        tick: Tick,
    },
}

/// What a subscriber wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscription {
    /// A [`Feed`] many times a second.
    pub feed: bool,
    /// A [`TickRecord`] of every tick.
    pub records: bool,
}

/// What changed in a region since the last feed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Feed {
    /// The state is that after this tick.
    pub tick: Tick,
    /// This is all there is, not what changed: forget what you knew of the region.
    pub whole: bool,
    /// The newest snapshot that is safe with the standby. What was done later must be done again if the region is restored.
    pub kept: Tick,
    /// Bodies that are new here.
    pub entered: Vec<Entered>,
    /// Bodies that have moved.
    pub moved: Vec<(BodyId, Motion)>,
    /// Bodies that have fallen asleep, and where.
    pub slept: Vec<(BodyId, Motion)>,
    /// Bodies that are no longer here.
    pub left: Vec<Left>,
    /// Contacts that began: where, and how fast.
    pub contacts: Vec<(DVec3, f32)>,
    /// Scenery that was put up; in a whole feed all of it, besides the scene's own.
    pub scenery: Vec<Static>,
}

/// A feed with more than this is cut: a quarter of what a channel carries in one piece.
const MOST_FEED_BYTES: usize = channel::MAX_PAYLOAD_BYTES / 4;

impl Feed {
    /// The same in feeds that each fit a message, to be taken in this order. Only the first says that it is the whole: what it does not name waits for the others, as for a body on its way.
    pub fn cut(mut self) -> Vec<Self> {
        let entered = std::mem::take(&mut self.entered);
        let scenery = std::mem::take(&mut self.scenery);
        let mut entered = cut(entered, MOST_FEED_BYTES, |it| &it.body.form.shape).into_iter();
        let mut scenery = cut(scenery, MOST_FEED_BYTES, |it| &it.shape).into_iter();
        let (tick, kept) = (self.tick, self.kept);
        self.entered = entered.next().unwrap_or_default();
        self.scenery = scenery.next().unwrap_or_default();
        let more = || Self {
            tick,
            kept,
            ..Self::default()
        };
        let mut feeds = vec![self];
        feeds.extend(entered.map(|entered| Self { entered, ..more() }));
        feeds.extend(scenery.map(|scenery| Self { scenery, ..more() }));
        feeds
    }
}

/// A body that is new in a region.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entered {
    /// The body, as it is now.
    pub body: Body,
    /// Its ownership: of two regions that claim it, the higher is right.
    pub epoch: Epoch,
}

/// A body that has left a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// Which.
    pub body: BodyId,
    /// Its new ownership.
    pub epoch: Epoch,
    /// To whom; `None`: it was removed for good.
    pub to: Option<RegionId>,
}

/// Something to be done by a region, or told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Question {
    /// Create this body. Repeating it does no harm.
    Spawn(Box<Body>),
    /// Put up this scenery. Repeating it does no harm.
    PutUp(Box<Static>),
    /// Remove this body.
    Remove(BodyId),
    /// Push a body, N·s, at its centre of mass or at a point.
    Impulse {
        /// Which.
        body: BodyId,
        /// How hard.
        impulse: Vec3,
        /// Where.
        at: Option<DVec3>,
    },
    /// Give a body another velocity.
    Velocity {
        /// Which.
        body: BodyId,
        /// m/s.
        velocity: Vec3,
    },
    /// What does a ray hit first?
    Ray {
        /// From where.
        origin: DVec3,
        /// Whither; its length does not matter.
        direction: Vec3,
        /// How far at most, metres.
        reach: f32,
    },
    /// Which bodies touch this shape?
    Overlap {
        /// The shape.
        shape: Shape,
        /// Where.
        position: DVec3,
        /// How turned.
        rotation: Quat,
    },
    /// What is there, and what is on its way?
    Account,
}

/// What a region answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// It is done.
    Done {
        /// After which tick.
        tick: Tick,
    },
    /// The body is not here.
    NotHere,
    /// It cannot be done.
    Refused(String),
    /// The nearest thing on the ray, if any.
    Hit(Option<Hit>),
    /// The bodies that touch the shape.
    Touching(Vec<BodyId>),
    /// Everything.
    Account(Box<Account>),
}

/// A region's own account of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// After which tick.
    pub tick: Tick,
    /// Owned.
    pub owned: Vec<(BodyId, Epoch)>,
    /// Offered to others and not yet accepted, or accepted and not yet entered, or announced.
    pub under_way: Vec<BodyId>,
    /// Of these announced, not yet born.
    pub unborn: u64,
    /// Auras of others' bodies: whose, and of which ownership.
    pub auras: Vec<(BodyId, RegionId, Epoch)>,
    /// Bodies that others must know, from where they are.
    pub due_to_project: Vec<DueAura>,
    /// How often the tolerances were exceeded: speed, latency, frame.
    pub exceeded: [u64; 3],
    /// How often bodies were held to what they had promised.
    pub kept: Kept,
    /// The largest cluster of which it had to be decided whether it migrates.
    pub largest_cluster: u64,
    /// Datagram bytes sent to other regions.
    pub bytes_to_regions: u64,
    /// Ticks stepped.
    pub ticks: u64,
    /// Ticks stepped more than one step after they were due.
    pub late_ticks: u64,
    /// How far the server's clock may be off.
    pub clock_bound: Option<SimTime>,
}

/// What a ray has hit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// A body or a piece of scenery.
    pub end: ContactEnd,
    /// How far away, metres.
    pub distance: f32,
    /// Where.
    pub point: DVec3,
    /// The surface's normal there.
    pub normal: Vec3,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_message_is_refused() {
        let question = ToRegion::Ask {
            id: 7,
            question: Question::Remove(BodyId(3)),
        };
        let bytes = encode(&question);
        assert_eq!(decode::<ToRegion>(&bytes).as_ref(), Ok(&question));
        for end in 0..bytes.len() {
            assert!(decode::<ToRegion>(&bytes[..end]).is_err());
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(decode::<ToRegion>(&longer).is_err());
        assert!(decode::<ToRegion>(&[0xff; 40]).is_err());
    }
}
