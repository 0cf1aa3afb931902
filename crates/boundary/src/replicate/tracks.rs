//! What a member knows about each of its copies beyond where it is.

use detection::Slot;
use domain::{BodyId, Epoch, Motion, RegionId};
use glam::DVec3;
use smallvec::SmallVec;
use wire::replicate::BodyState;

/// A copy of a body.
#[derive(Clone, Debug)]
pub(crate) struct Track {
    pub id: BodyId,
    pub form: u32,
    /// Changes of who answers for it.
    pub epoch: u32,
    /// Changes of its motion by anything but free flight.
    pub version: u32,
    /// Who made the last of them.
    pub author: u32,
    /// Who answers for it.
    pub home: u32,
    /// Who has been told of it, and for how many flushes each is still told although the body has left.
    pub told: SmallVec<[Told; 4]>,
    /// When everyone was last told.
    pub told_at: u64,
    /// The last tick in which this member changed it.
    pub changed_at: u64,
    /// Its motion before that change.
    pub base: Motion,
    /// When another member last spoke of it.
    pub heard_at: u64,
    /// A transfer that is not accepted yet.
    pub leaving: Option<Leaving>,
    /// The version that the leader was last told.
    pub reported: u32,
    /// The version that the server was last told.
    pub settled: u32,
    /// A user may push it at any time.
    pub driven: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub member: u32,
    pub farewells: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leaving {
    pub to: u32,
    pub sent_at: u64,
}

impl Track {
    pub fn new(id: BodyId, form: u32, home: u32, tick: u64) -> Self {
        Self {
            id,
            form,
            epoch: 0,
            version: 0,
            author: home,
            home,
            told: SmallVec::new(),
            told_at: tick,
            changed_at: u64::MAX,
            base: Motion::at(DVec3::ZERO),
            heard_at: tick,
            leaving: None,
            reported: 0,
            settled: 0,
            driven: false,
        }
    }

    pub fn knows(&self, member: u32) -> bool {
        self.told.iter().any(|told| told.member == member)
    }

    pub fn state(&self, motion: &Motion, frozen: bool) -> BodyState {
        BodyState {
            body: self.id,
            epoch: Epoch(self.epoch),
            version: self.version,
            author: RegionId(self.author),
            home: RegionId(self.home),
            frozen,
            motion: *motion,
            base: None,
        }
    }
}

/// Tracks by slot.
#[derive(Default)]
pub(crate) struct Tracks {
    by_slot: Vec<Option<Track>>,
    /// Whose copy is, or was last, in a slot.
    ids: Vec<Option<BodyId>>,
    /// Bodies with something to remember: told to others, or not ours. Others need no look unless they are near a border.
    pub watched: Vec<bool>,
}

impl Tracks {
    pub fn put(&mut self, slot: Slot, track: Track) {
        let index = slot.0 as usize;
        if self.by_slot.len() <= index {
            self.by_slot.resize(index + 1, None);
            self.watched.resize(index + 1, false);
            self.ids.resize(index + 1, None);
        }
        self.ids[index] = Some(track.id);
        self.by_slot[index] = Some(track);
        self.watched[index] = true;
    }

    pub fn take(&mut self, slot: Slot) -> Option<Track> {
        self.watched[slot.0 as usize] = false;
        self.by_slot[slot.0 as usize].take()
    }

    pub fn get(&self, slot: Slot) -> Option<&Track> {
        self.by_slot.get(slot.0 as usize)?.as_ref()
    }

    /// The body in a slot, also of a copy that was dropped at the end of this iteration; `None` for scenery.
    pub fn id_of(&self, slot: Slot) -> Option<BodyId> {
        self.ids.get(slot.0 as usize).copied().flatten()
    }

    /// All tracks, by slot.
    pub fn all(&mut self) -> impl Iterator<Item = (Slot, &mut Track)> {
        let slots = self.by_slot.iter_mut().enumerate();
        slots.filter_map(|(index, track)| Some((Slot(index as u32), track.as_mut()?)))
    }

    pub fn of(&mut self, slot: Slot) -> &mut Track {
        let track = self.by_slot[slot.0 as usize].as_mut();
        track.expect("every moving body has a track")
    }
}
