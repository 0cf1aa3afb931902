//! After an iteration: who must hear of what.
//!
//! A body that stays well inside costs six comparisons. The others are looked at one by one:
//!
//! - Everyone its box can reach in the next step must have a copy. For a body in free flight that box is exact; a body that was
//!   changed may be changed by others, too, so the box is as large as the highest speed makes it, around where it was *before* the
//!   change: all members who have it compute the same box, and so tell the same members.
//! - Who answers for it hands it on when its centre has left.
//! - Who neither answers for it nor is reached by it drops it.

use super::member::{MOST_PUSHED_M, Member, MemberMode, Outbox, Transmit};
use super::tracks::{Leaving, Told};
use detection::{Aabb, Slot};
use domain::{RegionId, Tick};
use glam::Vec3;
use smallvec::SmallVec;
use wire::replicate::{BodyState, Parcel, Word};

/// A body that has left is told so many times more, in case the news is lost.
const FAREWELLS: u8 = 3;
/// A transfer that is not accepted is sent again after so many ticks.
const TRANSFER_AGAIN_TICKS: u64 = 60;
/// States per parcel that may be lost: it fits a datagram.
const STATES_PER_DATAGRAM: usize = 13;

impl Member {
    pub(super) fn flush(&mut self) {
        if self.out.len() > 1 {
            self.attend_to_borders();
        }
        self.say_done();
        self.pack();
    }

    fn attend_to_borders(&mut self) {
        let Some(cell) = self.space.local_cell() else {
            return;
        };
        let stride = self.space.longest_stride() + 1e-3;
        let mut attended = std::mem::take(&mut self.attended);
        attended.clear();
        for slot in self.space.moving() {
            let near = self.space.aabb(slot).grown(Vec3::splat(stride));
            if self.tracks.watched[slot.0 as usize] || !cell.contains(&near) {
                attended.push(slot);
            }
        }
        let tick = self.tick;
        for &slot in &self.changed {
            let radius = self.reach_of_changed(slot);
            let at = self.changed_at(slot);
            if !cell.contains(&Aabb::around(at, Vec3::splat(radius))) {
                attended.push(slot);
            }
        }
        attended.sort_unstable();
        attended.dedup();
        for &slot in &attended {
            let changed = self.tracks.of(slot).changed_at == tick;
            self.attend(slot, changed);
        }
        self.attended = attended;
    }

    fn changed_at(&self, slot: Slot) -> Vec3 {
        let base = self
            .tracks
            .get(slot)
            .expect("every moving body has a track");
        (base.base.position - self.config.sub_spaces.origin()).as_vec3()
    }

    fn reach_of_changed(&self, slot: Slot) -> f32 {
        let track = self
            .tracks
            .get(slot)
            .expect("every moving body has a track");
        let radius = self.space.form(track.form).geometry.radius();
        // Once for this step's push, once for the sum of several members' pushes.
        radius + self.stride() + MOST_PUSHED_M
    }

    fn attend(&mut self, slot: Slot, changed: bool) {
        let (me, tick) = (self.me(), self.tick);
        let aabb = if changed {
            let reach = self.reach_of_changed(slot);
            Aabb::around(self.changed_at(slot), Vec3::splat(reach))
        } else if self.tracks.of(slot).driven {
            self.space.reachable(slot, self.config.max_speed)
        } else {
            self.space.swept(slot)
        };
        let mut reached: SmallVec<[u32; 4]> = SmallVec::new();
        let local = self.space.owners_reached(slot, &aabb, &mut reached);
        let track = self.tracks.of(slot);
        let was_home = track.home == me;
        if was_home {
            // Most that come near a border do not reach over it.
            let quiet = !changed && track.told.is_empty() && track.leaving.is_none();
            if quiet && local && reached.is_empty() && self.is_centred_here(slot) {
                self.tracks.watched[slot.0 as usize] = self.tracks.of(slot).driven;
                return;
            }
            self.hand_on(slot);
        }
        let keepers = if changed {
            self.keepers(slot)
        } else {
            SmallVec::new()
        };
        self.tell(slot, changed, was_home, &reached, &keepers);
        self.transfer_again(slot);
        let unsynchronised = self.config.mode == MemberMode::Unsynchronised;
        let expire = self.config.expire_ticks;
        let track = self.tracks.of(slot);
        let mine = track.home == me || track.leaving.is_some();
        let forgotten = unsynchronised && tick.saturating_sub(track.heard_at) > expire;
        if !mine && (!local || forgotten) {
            self.counts.expired += u64::from(local);
            self.drop_copy(slot);
            return;
        }
        let watched = !mine || track.driven || track.leaving.is_some() || !track.told.is_empty();
        self.tracks.watched[slot.0 as usize] = watched;
    }

    /// Who keeps its copy of a body that only we have changed: the box that decides it there is that of free flight.
    fn keepers(&mut self, slot: Slot) -> SmallVec<[u32; 4]> {
        let base = self.tracks.of(slot).base;
        let aabb = self.space.swept_unchanged(slot, &base);
        let mut keepers = SmallVec::new();
        self.space.owners_reached(slot, &aabb, &mut keepers);
        keepers
    }

    pub(super) fn drop_copy(&mut self, slot: Slot) {
        self.space.forget(slot);
        if let Some(track) = self.tracks.take(slot) {
            self.by_id.remove(&track.id);
            self.passed.insert(track.id, (track.epoch, track.home));
        }
    }

    fn is_centred_here(&self, slot: Slot) -> bool {
        let position = self.space.motion(slot).position;
        let at = (position - self.config.sub_spaces.origin()).as_vec3();
        self.space.local_cell().is_some_and(|cell| cell.holds(at))
    }

    /// Its centre has left: someone else answers for it from now on (ST-20).
    fn hand_on(&mut self, slot: Slot) {
        let motion = *self.space.motion(slot);
        let frozen = self.space.is_frozen(slot);
        let at = (motion.position - self.config.sub_spaces.origin()).as_vec3();
        if self.is_centred_here(slot) {
            return;
        }
        let owner = self.config.sub_spaces.owner_of(at);
        if owner == self.me() {
            return;
        }
        let tick = self.tick;
        let track = self.tracks.of(slot);
        track.epoch += 1;
        track.home = owner;
        track.leaving = Some(Leaving {
            to: owner,
            sent_at: tick,
        });
        track.heard_at = tick;
        // If others have changed it in this tick, too, the new home must know what it was.
        let base = (track.changed_at == tick).then_some(track.base);
        let state = BodyState {
            base,
            ..track.state(&motion, frozen)
        };
        self.out[owner as usize].transfer.push(state);
        self.counts.transfers += 1;
    }

    fn transfer_again(&mut self, slot: Slot) {
        let tick = self.tick;
        let motion = *self.space.motion(slot);
        let frozen = self.space.is_frozen(slot);
        let track = self.tracks.of(slot);
        let Some(leaving) = &mut track.leaving else {
            return;
        };
        if tick - leaving.sent_at >= TRANSFER_AGAIN_TICKS {
            leaving.sent_at = tick;
            let to = leaving.to;
            let state = track.state(&motion, frozen);
            self.out[to as usize].transfer.push(state);
        }
    }

    /// Whoever is reached and does not know the present state is told it; at most once per flush (ST-23).
    fn tell(
        &mut self,
        slot: Slot,
        changed: bool,
        was_home: bool,
        reached: &[u32],
        keepers: &[u32],
    ) {
        let unsynchronised = self.config.mode == MemberMode::Unsynchronised;
        let (me, tick, refresh) = (self.me(), self.tick, self.config.refresh_ticks);
        let motion = *self.space.motion(slot);
        let frozen = self.space.is_frozen(slot);
        let track = self.tracks.of(slot);
        let due = unsynchronised && tick.saturating_sub(track.told_at) >= refresh;
        let speaks = changed || was_home || (due && track.author == me);
        let mut told: SmallVec<[Told; 4]> = SmallVec::new();
        let state = track.state(&motion, frozen);
        let mut sent = 0;
        for &member in reached {
            let known = track.knows(member);
            told.push(Told {
                member,
                farewells: FAREWELLS,
            });
            // Its new home has it from the transfer (ST-23).
            let transferred = track
                .leaving
                .is_some_and(|leaving| (leaving.to, leaving.sent_at) == (member, tick));
            if speaks && (changed || due || !known) && !transferred {
                // One that does not know it, or forgets it just now, may hear of several changes at once, and must know what they changed.
                let has_base = known && keepers.contains(&member);
                let base = (changed && !has_base).then_some(track.base);
                let state = BodyState { base, ..state };
                self.out[member as usize].replicate.push(state);
                sent += 1;
            }
        }
        for gone in track
            .told
            .iter()
            .filter(|old| !reached.contains(&old.member))
        {
            if changed || (unsynchronised && was_home) {
                self.out[gone.member as usize].replicate.push(state);
                sent += 1;
            }
            if unsynchronised && gone.farewells > 1 {
                told.push(Told {
                    farewells: gone.farewells - 1,
                    ..*gone
                });
            }
        }
        track.told = told;
        if changed || due {
            track.told_at = tick;
        }
        self.counts.replicated += sent;
    }

    /// Everything gathered becomes parcels.
    pub(super) fn pack(&mut self) {
        let (allocation, from, tick) = (self.allocation, self.config.id, Tick(self.tick));
        let synchronised = self.config.mode == MemberMode::Synchronised;
        for (to, outbox) in self.out.iter_mut().enumerate() {
            if outbox.is_empty() {
                continue;
            }
            let to = RegionId(to as u32);
            let mut parcel = |words: Vec<Word>, reliable| {
                if !words.is_empty() {
                    self.waiting.push_back(Transmit {
                        to,
                        reliable,
                        parcel: Parcel {
                            allocation,
                            from,
                            tick,
                            words,
                        },
                    });
                }
            };
            let mut words = reliable_words(outbox);
            if synchronised {
                let replicate = std::mem::take(&mut outbox.replicate);
                if !replicate.is_empty() {
                    words.push(Word::Replicate(replicate));
                }
                words.append(&mut outbox.words);
                parcel(words, true);
                continue;
            }
            parcel(words, true);
            for chunk in outbox.replicate.chunks(STATES_PER_DATAGRAM) {
                parcel(vec![Word::Replicate(chunk.to_vec())], false);
            }
            outbox.replicate.clear();
            parcel(std::mem::take(&mut outbox.words), false);
        }
    }
}

fn reliable_words(outbox: &mut Outbox) -> Vec<Word> {
    let mut words = Vec::new();
    if !outbox.transfer.is_empty() {
        words.push(Word::Transfer(std::mem::take(&mut outbox.transfer)));
    }
    if !outbox.accept.is_empty() {
        words.push(Word::Accept(std::mem::take(&mut outbox.accept)));
    }
    words
}
