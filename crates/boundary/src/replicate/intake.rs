//! What others have said: taken apart as it comes, and taken in at the beginning of the next iteration.

use super::member::{Arrived, ConflictRule, Member, MemberEvent, MemberMode};
use super::merge;
use detection::Slot;
use domain::{BodyId, Motion};
use wire::replicate::{BodyState, Parcel, Word};

/// A state is flown forward by at most so many ticks: two seconds. An older one stays where it was then.
const MOST_FLOWN: u64 = 120;

impl Member {
    /// Something arrived. What makes no sense is counted and changes nothing.
    pub fn handle_parcel(&mut self, parcel: Parcel) {
        let from = parcel.from.0;
        if from as usize >= self.out.len() || from == self.me() {
            self.counts.foreign += 1;
            return;
        }
        // Others may have done the iteration after which a new division holds before we have.
        let next = self.next_division.as_ref().map(|(next, _)| *next);
        let current = parcel.allocation == self.allocation || Some(parcel.allocation) == next;
        let tick = parcel.tick.0;
        let mut taken = false;
        for word in parcel.words {
            // Of another division only transfers count: a body must not be lost because the world was cut anew.
            let heard = current || matches!(word, Word::Transfer(_) | Word::Accept(_));
            if heard {
                taken |= self.handle_word(from, tick, word);
            } else {
                self.counts.foreign += 1;
            }
        }
        // What was refused has not been said: who waits for this member's results goes on waiting for them.
        if taken {
            let heard = &mut self.barrier.heard[from as usize];
            *heard = (*heard).max(tick);
        }
    }

    /// False if the sender had no right to say it.
    fn handle_word(&mut self, from: u32, tick: u64, word: Word) -> bool {
        match word {
            Word::Replicate(states) => return self.hear(from, tick, &states, false),
            Word::Transfer(states) => return self.hear(from, tick, &states, true),
            Word::Correct(states) if from == 0 => {
                self.counts.corrections += states.len() as u64;
                return self.hear(from, tick, &states, false);
            }
            Word::Accept(accepted) => {
                for (body, epoch) in accepted {
                    self.accepted(from, body, epoch.0);
                }
            }
            Word::Contested(states) if self.me() == 0 => {
                for state in &states {
                    self.arbitrate(from, tick, state);
                }
                self.pack_corrections();
            }
            Word::Settled(bytes) if self.me() == 0 => {
                self.events.push_back(MemberEvent::ForServer {
                    tick: domain::Tick(tick),
                    states: bytes,
                });
            }
            Word::Done { wrote } if self.barrier.is_child(self.me(), from) => {
                self.hear_done(from, tick, wrote);
                self.pack();
            }
            Word::Go { wrote } if self.barrier.is_parent(self.me(), from) => {
                self.hear_go(tick, wrote);
                self.pack();
            }
            // Only the leader decides, and only the leader hears results.
            _ => {
                self.counts.foreign += 1;
                return false;
            }
        }
        true
    }

    /// False if no state is a member's. Bodies that are not announced here are somebody's all the same (ST-22).
    fn hear(&mut self, from: u32, tick: u64, states: &[BodyState], transfer: bool) -> bool {
        let members = self.out.len() as u32;
        let a_members = |state: &BodyState| state.author.0 < members && state.home.0 < members;
        for state in states {
            if !a_members(state) {
                self.counts.foreign += 1;
            } else if self.catalogue.contains_key(&state.body) {
                self.arrived.push(Arrived {
                    state: *state,
                    from,
                    tick,
                    transfer,
                });
            } else {
                self.counts.unknown += 1;
            }
        }
        states.iter().any(a_members)
    }

    fn accepted(&mut self, from: u32, body: BodyId, epoch: u32) {
        let Some(&slot) = self.by_id.get(&body) else {
            return;
        };
        let track = self.tracks.of(slot);
        let meant = track.leaving.is_some_and(|leaving| leaving.to == from);
        if meant && track.epoch == epoch {
            track.leaving = None;
        }
    }

    /// Takes in what has come, body by body, in an order that does not depend on who was faster.
    pub(super) fn take_in(&mut self) {
        if self.arrived.is_empty() {
            return;
        }
        let completed = self.tick;
        let mut now = std::mem::take(&mut self.arrived);
        // Who is ahead of us is heard when we are there.
        let ahead = now.extract_if(.., |arrived| arrived.tick > completed);
        self.arrived = ahead.collect();
        now.sort_by_key(|arrived| {
            let state = &arrived.state;
            (
                state.body,
                state.version,
                state.author,
                arrived.from,
                arrived.tick,
            )
        });
        for group in now.chunk_by(|a, b| a.state.body == b.state.body) {
            self.take_in_body(group);
        }
    }

    fn take_in_body(&mut self, group: &[Arrived]) {
        let body = group[0].state.body;
        let sums = self.config.mode == MemberMode::Synchronised
            && self.config.conflict == ConflictRule::Sum;
        if sums && self.sum_up(body, group) {
            self.take_transfers(group);
            return;
        }
        for arrived in group {
            self.believe(arrived);
        }
        self.take_transfers(group);
    }

    /// Several members changed the body in the tick that has just ended: the changes add up. False if there is nothing to add.
    fn sum_up(&mut self, body: BodyId, group: &[Arrived]) -> bool {
        let completed = self.tick;
        let slot = self.by_id.get(&body).copied();
        let (version, mine, base) = match slot {
            Some(slot) => {
                let track = self.tracks.of(slot);
                let changed = track.changed_at == completed;
                let version = track.version - u32::from(changed);
                let base = changed.then_some(track.base);
                let motion = *self.space.motion(slot);
                (version, changed.then_some(motion), base.unwrap_or(motion))
            }
            None => {
                let before = |arrived: &Arrived| {
                    let version = arrived.state.version.checked_sub(1)?;
                    Some((version, arrived.state.base?))
                };
                let Some((version, base)) = group.iter().find_map(before) else {
                    return false;
                };
                (version, None, base)
            }
        };
        let me = self.me();
        let mut changes: Vec<(u32, BodyState)> = group
            .iter()
            .filter(|arrived| {
                arrived.tick == completed
                    && arrived.state.version == version + 1
                    && arrived.state.author.0 == arrived.from
            })
            .map(|arrived| (arrived.from, arrived.state))
            .collect();
        changes.dedup_by_key(|(author, _)| *author);
        if let (Some(motion), Some(slot)) = (mine, slot) {
            let frozen = self.space.is_frozen(slot);
            let state = self.tracks.of(slot).state(&motion, frozen);
            changes.push((me, state));
        }
        if changes.len() < 2 {
            return false;
        }
        changes.sort_by_key(|(author, _)| *author);
        let states: Vec<&BodyState> = changes.iter().map(|(_, state)| state).collect();
        let motion = merge::sum(&base, &states, self.config.max_speed);
        let newest = states.iter().max_by_key(|state| state.epoch);
        let newest = **newest.expect("there are at least two");
        let summed = BodyState {
            version: version + 2,
            author: states[0].author,
            frozen: states.iter().all(|state| state.frozen),
            motion,
            base: None,
            ..newest
        };
        self.counts.conflicts += 1;
        self.adopt(&summed, 0);
        true
    }

    fn believe(&mut self, arrived: &Arrived) {
        let state = &arrived.state;
        let late = (self.tick - arrived.tick).min(MOST_FLOWN);
        let Some(&slot) = self.by_id.get(&state.body) else {
            // A late transfer of a body that was handed on long ago must not make two of it. A late change may be of a body that is long gone; where
            // members wait for each other none is late, only its author has not heard who answers for the body.
            let passed = self.passed.get(&state.body);
            let outdated = passed.is_some_and(|(epoch, _)| state.epoch.0 < *epoch);
            let synchronised = self.config.mode == MemberMode::Synchronised;
            if outdated && (arrived.transfer || !synchronised) {
                self.counts.stale += 1;
            } else {
                self.adopt(state, late);
            }
            return;
        };
        let tick = self.tick;
        let track = self.tracks.of(slot);
        track.heard_at = tick;
        if state.epoch.0 > track.epoch {
            track.epoch = state.epoch.0;
            track.home = state.home.0;
            track.leaving = None;
        }
        if state.version < track.version {
            // Whoever lags behind is told again at the next flush.
            track.told_at = 0;
            self.counts.stale += 1;
            return;
        }
        if state.version == track.version {
            if state.author.0 == track.author {
                return;
            }
            self.counts.conflicts += 1;
            let home = self.tracks.of(slot).home;
            let author = self.tracks.of(slot).author;
            let theirs_stands = match (state.author.0 == home, author == home) {
                (true, _) => true,
                (_, true) => false,
                _ => state.author.0 < author,
            };
            if !theirs_stands {
                self.tracks.of(slot).told_at = 0;
                return;
            }
        }
        self.adopt(state, late);
    }

    /// The body is like this, or was so many ticks ago.
    fn adopt(&mut self, state: &BodyState, late: u64) {
        let form = self.catalogue[&state.body];
        let mut motion: Motion = state.motion;
        if !state.frozen {
            for _ in 0..late {
                self.space.fly(form, &mut motion);
            }
        }
        let slot: Slot = match self.by_id.get(&state.body) {
            Some(&slot) => {
                self.space.set_motion(slot, motion);
                slot
            }
            None => {
                let said = (state.epoch.0, state.home.0);
                let passed = self.passed.get(&state.body).copied();
                let newer = passed.filter(|(epoch, _)| *epoch > said.0);
                let (epoch, home) = newer.unwrap_or(said);
                let slot = self.adopt_new(state.body, form, home, motion);
                self.tracks.of(slot).epoch = epoch;
                slot
            }
        };
        self.space.set_frozen(slot, state.frozen);
        let tick = self.tick;
        let track = self.tracks.of(slot);
        track.version = state.version;
        track.author = state.author.0;
        track.heard_at = tick;
        if state.epoch.0 >= track.epoch {
            track.epoch = state.epoch.0;
            track.home = state.home.0;
        }
        self.tracks.watched[slot.0 as usize] = true;
    }

    /// From now on this member answers for these (ST-20, ST-21); whoever handed them over hears that it is so.
    fn take_transfers(&mut self, group: &[Arrived]) {
        for arrived in group.iter().filter(|arrived| arrived.transfer) {
            let state = &arrived.state;
            if state.home.0 != self.me() {
                self.counts.foreign += 1;
                continue;
            }
            let accepted = (state.body, state.epoch);
            self.out[arrived.from as usize].accept.push(accepted);
            let Some(&slot) = self.by_id.get(&state.body) else {
                continue;
            };
            let me = self.me();
            let track = self.tracks.of(slot);
            if state.epoch.0 >= track.epoch {
                track.epoch = state.epoch.0;
                track.home = me;
                track.leaving = None;
            }
        }
    }
}
