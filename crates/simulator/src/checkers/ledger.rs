//! The ledger: where every body is, kept by a bookkeeper who believes only what is possible.
//!
//! All checkers need to know who owns what. The ledger writes that down once, fact by fact; a checker compares a
//! fact with the ledger *before* the fact is entered. An impossible fact (a second birth, an arrival of
//! something that was not in flight) is the checkers' business and leaves the ledger as it was.
//!
//! ```text
//!            Born            Departed                 Arrived
//!   (nobody) ───► Owned(r) ───────────► InFlight(r→s) ───────► Owned(s)
//!                   │ Removed     r crashes │ ▲                    │ s crashes
//!                   ▼                       ▼ │ (the offer may     ▼
//!                 Gone             Owned(r), if r restores it    Adrift(s) ──► Restored or Arrived again
//! ```

use crate::facts::Fact;
use domain::{BodyId, Epoch, Motion, RegionId, Tick};
use rustc_hash::FxHashMap;

/// Where a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// In this region's world.
    Owned(RegionId),
    /// In an offer.
    InFlight {
        /// From here.
        from: RegionId,
        /// To there.
        to: RegionId,
        /// Under this number.
        handover: u64,
    },
    /// It was in the world of a region that crashed, and has not come back yet.
    Adrift(RegionId),
    /// Removed by command, by this region at this tick.
    Gone(RegionId, Tick),
}

/// What is known of one body.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Where it is.
    pub holder: Holder,
    /// Its latest ownership.
    pub epoch: Epoch,
    /// Its latest known motion.
    pub motion: Motion,
    /// The tick that motion belongs to.
    pub tick: Tick,
    /// It has not been stepped since its birth.
    pub fresh: bool,
    /// It has arrived at a new owner since its latest step.
    pub moved: bool,
    /// It has come back from a snapshot, or after a crash, since its latest step.
    pub rewound: bool,
}

/// A place in [`Ledger::entries`]; a body keeps its place forever.
pub type Slot = usize;

/// The latest step of a region, compared with what the region should own.
#[derive(Clone, Debug, Default)]
pub struct RollCall {
    /// The place of each reported body in the order of the report; `None`: not a body this region may step.
    pub present: Vec<Option<Slot>>,
    /// Bodies the region owns and did not report.
    pub missing: Vec<BodyId>,
}

/// All bodies that ever lived, and who holds them.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    crashed: std::collections::BTreeSet<RegionId>,
    slots: FxHashMap<BodyId, Slot>,
    entries: Vec<Entry>,
    /// What each region owns, in ascending order of id, so that a step is compared by one walk along both.
    owned: Vec<Vec<(BodyId, Slot)>>,
    disturbances: Vec<Disturbance>,
}

#[derive(Clone, Debug)]
struct Disturbance {
    from: Tick,
    until: Tick,
    regions: Vec<RegionId>,
}

impl Ledger {
    /// A ledger for this many regions.
    pub fn new(regions: usize) -> Self {
        Self {
            owned: vec![Vec::new(); regions],
            ..Self::default()
        }
    }

    /// A body's place, if it was ever born.
    pub fn slot(&self, body: BodyId) -> Option<Slot> {
        self.slots.get(&body).copied()
    }

    /// What is known of a body.
    pub fn get(&self, body: BodyId) -> Option<&Entry> {
        self.slot(body).map(|slot| &self.entries[slot])
    }

    /// Where a body is, if it was ever born.
    pub fn holder(&self, body: BodyId) -> Option<Holder> {
        self.get(body).map(|entry| entry.holder)
    }

    /// Is the body born and not removed?
    pub fn is_alive(&self, body: BodyId) -> bool {
        self.holder(body)
            .is_some_and(|holder| !matches!(holder, Holder::Gone(..)))
    }

    /// Every body that ever lived, in ascending order of id.
    pub fn all(&self) -> Vec<(BodyId, &Entry)> {
        let mut all: Vec<_> = self
            .slots
            .iter()
            .map(|(body, slot)| (*body, &self.entries[*slot]))
            .collect();
        all.sort_unstable_by_key(|(body, _)| *body);
        all
    }

    /// Did one of these regions have a known disturbance at one of these ticks?
    pub fn is_disturbed(&self, from: Tick, until: Tick, regions: &[RegionId]) -> bool {
        self.disturbances.iter().any(|d| {
            d.from <= until && from <= d.until && d.regions.iter().any(|r| regions.contains(r))
        })
    }

    /// A body's place if this region may catch it up: the body is on its way there or has just arrived.
    pub fn slot_for_catch_up(&self, body: BodyId, region: RegionId) -> Option<Slot> {
        let slot = self.slot(body)?;
        match self.entries[slot].holder {
            Holder::InFlight { to, .. } if to == region => Some(slot),
            Holder::Owned(owner) if owner == region => Some(slot),
            // A crash took it, and one of its former owners offers it again.
            holder if self.is_lost_to_a_crash(holder) => Some(slot),
            _ => None,
        }
    }

    /// What is known of the body at a place.
    pub fn at(&self, slot: Slot) -> &Entry {
        &self.entries[slot]
    }

    /// Compares a step's report with what the region owns.
    pub fn call_roll(&self, region: RegionId, bodies: &[(BodyId, Motion)], roll: &mut RollCall) {
        roll.present.clear();
        roll.missing.clear();
        let owned = self.owned.get(region.0 as usize);
        let mut owned = owned.into_iter().flatten().peekable();
        for (body, _) in bodies {
            while let Some((absent, _)) = owned.next_if(|(id, _)| id < body) {
                roll.missing.push(*absent);
            }
            let found = owned.next_if(|(id, _)| id == body);
            roll.present.push(found.map(|(_, slot)| *slot));
        }
        roll.missing.extend(owned.map(|(id, _)| *id));
    }

    /// Enters a fact. `roll` is that of the same fact, if it is a step.
    pub fn enter(&mut self, fact: &Fact<'_>, roll: &RollCall) {
        match *fact {
            Fact::Born {
                tick,
                region,
                body,
                epoch,
                motion,
                ..
            } => self.bear(tick, region, (body, epoch), motion),
            Fact::Removed { tick, region, body } => {
                if self.holder(body) == Some(Holder::Owned(region)) {
                    self.hold(body, Holder::Gone(region, tick));
                }
            }
            Fact::Stepped { tick, bodies, .. } => {
                for ((_, motion), slot) in bodies.iter().zip(&roll.present) {
                    if let Some(slot) = slot {
                        self.place(*slot, tick, motion);
                    }
                }
            }
            Fact::CaughtUp {
                tick,
                region,
                bodies,
                ..
            } => {
                for (body, motion) in bodies {
                    if let Some(slot) = self.slot_for_catch_up(*body, region) {
                        self.place(slot, tick, motion);
                    }
                }
            }
            Fact::Departed {
                from,
                to,
                handover,
                members,
                ..
            } => {
                let flight = Holder::InFlight { from, to, handover };
                self.pass(members, Holder::Owned(from), flight);
            }
            Fact::Arrived {
                region,
                from,
                handover,
                members,
                ..
            } => self.arrive(region, from, handover, members),
            Fact::Crashed { region, .. } => self.crash(region),
            Fact::Restored {
                region,
                snapshot,
                bodies,
                ..
            } => self.restore(region, snapshot, bodies),
            Fact::Disturbed {
                from,
                until,
                regions,
            } => self.disturbances.push(Disturbance {
                from,
                until,
                regions: regions.to_vec(),
            }),
            Fact::Heard { .. } | Fact::Contact { .. } | Fact::Quiescent { .. } => {}
        }
    }

    fn bear(
        &mut self,
        tick: Tick,
        region: RegionId,
        (body, epoch): (BodyId, Epoch),
        motion: &Motion,
    ) {
        match self.holder(body) {
            None => {
                self.slots.insert(body, self.entries.len());
                self.entries.push(Entry {
                    // Nobody owns it for a moment, so that `hold` has nothing to take away.
                    holder: Holder::Adrift(region),
                    epoch,
                    motion: *motion,
                    tick,
                    fresh: true,
                    moved: false,
                    rewound: false,
                });
            }
            // A spawn after the snapshot of a region that crashed is ordered again.
            Some(Holder::Adrift(_)) => {}
            Some(Holder::InFlight { from, .. }) if self.has_crashed(from) => {}
            Some(_) => return,
        }
        let entry = &mut self.entries[self.slots[&body]];
        (entry.tick, entry.motion) = (tick, *motion);
        (entry.epoch, entry.fresh) = (epoch, true);
        self.hold(body, Holder::Owned(region));
    }

    fn place(&mut self, slot: Slot, tick: Tick, motion: &Motion) {
        let entry = &mut self.entries[slot];
        // Only a crash turns time back.
        if tick >= entry.tick || entry.rewound {
            (entry.tick, entry.motion) = (tick, *motion);
        }
        (entry.fresh, entry.moved, entry.rewound) = (false, false, false);
    }

    fn pass(&mut self, members: &[(BodyId, Epoch)], before: Holder, after: Holder) {
        for (body, epoch) in members {
            if self.holder(*body) == Some(before) {
                self.hold(*body, after);
                self.entries[self.slots[body]].epoch = *epoch;
            }
        }
    }

    fn arrive(
        &mut self,
        region: RegionId,
        from: RegionId,
        handover: u64,
        members: &[(BodyId, Epoch)],
    ) {
        let flight = Holder::InFlight {
            from,
            to: region,
            handover,
        };
        for (body, epoch) in members {
            let Some(before) = self.holder(*body) else {
                continue;
            };
            if before != flight && !self.is_lost_to_a_crash(before) {
                continue;
            }
            self.hold(*body, Holder::Owned(region));
            let entry = &mut self.entries[self.slots[body]];
            (entry.epoch, entry.moved) = (*epoch, true);
            entry.rewound |= before != flight;
        }
    }

    /// Has this region crashed at some time? Then its offers may have died with it.
    pub fn has_crashed(&self, region: RegionId) -> bool {
        self.crashed.contains(&region)
    }

    /// May a body that is here exist no more, until someone who had it before brings it back? If several bring it back, all but the first are wrong: by
    /// then it is theirs.
    pub fn is_lost_to_a_crash(&self, holder: Holder) -> bool {
        match holder {
            Holder::Adrift(_) => true,
            Holder::InFlight { from, .. } => self.has_crashed(from),
            Holder::Owned(_) | Holder::Gone(..) => false,
        }
    }

    /// May a region that comes back from its snapshot of this tick own a body that is here? Yes if a crash took it,
    /// if its offer may have died with a server, or if it was removed after the snapshot was taken.
    pub fn may_restore(&self, holder: Holder, region: RegionId, snapshot: Tick) -> bool {
        match holder {
            Holder::Owned(owner) => owner == region,
            Holder::Gone(owner, tick) => owner == region && tick > snapshot,
            Holder::Adrift(_) | Holder::InFlight { .. } => self.is_lost_to_a_crash(holder),
        }
    }

    fn crash(&mut self, region: RegionId) {
        self.crashed.insert(region);
        let Some(owned) = self.owned.get_mut(region.0 as usize) else {
            return;
        };
        for (_, slot) in owned.drain(..) {
            self.entries[slot].holder = Holder::Adrift(region);
            self.entries[slot].rewound = true;
        }
    }

    fn restore(&mut self, region: RegionId, snapshot: Tick, bodies: &[(BodyId, Epoch)]) {
        for (body, epoch) in bodies {
            if self
                .holder(*body)
                .is_some_and(|h| self.may_restore(h, region, snapshot))
            {
                self.hold(*body, Holder::Owned(region));
                let entry = &mut self.entries[self.slots[body]];
                (entry.epoch, entry.rewound) = (*epoch, true);
            }
        }
    }

    /// Moves a known body to another holder and keeps the lists of owned bodies in order.
    fn hold(&mut self, body: BodyId, holder: Holder) {
        let slot = self.slots[&body];
        let before = std::mem::replace(&mut self.entries[slot].holder, holder);
        if let Some((list, Ok(at))) = self.place_in_list(body, before) {
            self.owned[list].remove(at);
        }
        if let Some((list, Err(at))) = self.place_in_list(body, holder) {
            self.owned[list].insert(at, (body, slot));
        }
    }

    fn place_in_list(&self, body: BodyId, holder: Holder) -> Option<(usize, Result<usize, usize>)> {
        let Holder::Owned(region) = holder else {
            return None;
        };
        let list = self.owned.get(region.0 as usize)?;
        let at = list.binary_search_by_key(&body, |(id, _)| *id);
        Some((region.0 as usize, at))
    }
}
