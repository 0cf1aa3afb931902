//! One member of a group under the policy `replicate`, as a core.
//!
//! ```text
//! handle_parcel(parcel)     something arrived from another member
//! is_ready()                synchronised: may the next iteration begin?
//! handle_tick(tick)         take in ─► integrate ─► detect ─► respond ─► say what others must know
//! poll_transmit()           parcels to send, until `None`
//! ```
//!
//! Feed it in that order; the simulator, a test or a socket may do so. It reads no clock, and the same inputs give the same bits.

use super::barrier::Barrier;
use super::leader::Arbiter;
use super::sub_spaces::SubSpaces;
use super::tracks::{Track, Tracks};
use detection::{Form, LimitsError, Settings, Slot, Space};
use domain::{Body, BodyForm, BodyId, Motion, RegionId, ShapeError, Static, Tick};
use glam::Vec3;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use wire::replicate::{BodyState, Parcel, Word};

/// Do members wait for each other?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemberMode {
    /// An iteration begins when everyone has done the last one and its results are here (thesis 3.3.8.1). Pairs are tested exactly once.
    #[default]
    Synchronised,
    /// Everyone goes on by himself (thesis 3.3.11). Faster on a slow network; for a moment a pair may be tested by nobody or by two.
    Unsynchronised,
}

/// What happens when two members change one body in one iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConflictRule {
    /// The changes add up: each is the sum of impulses from different contacts (default, synchronised mode only).
    #[default]
    Sum,
    /// The state of whoever answers for the body stands; the leader averages what is too far apart (thesis 3.3.8.1).
    HomeWins,
}

/// How a member behaves.
#[derive(Clone, Debug)]
pub struct MemberConfig {
    /// Its number, 0 to members − 1. 0 is the leader.
    pub id: RegionId,
    /// Who has which part of the world.
    pub sub_spaces: Arc<SubSpaces>,
    /// Detection, gravity, step.
    pub settings: Settings,
    /// Do members wait for each other?
    pub mode: MemberMode,
    /// When two change one body.
    pub conflict: ConflictRule,
    /// No body gets faster, m/s (default 32). More: more members hear of a body that was hit near a border.
    pub max_speed: f32,
    /// A straddling body is told again after so many ticks, if nothing has changed (default 20; unsynchronised mode only). It repairs loss.
    pub refresh_ticks: u64,
    /// A copy that nobody has spoken of for so many ticks is dropped (default 120; unsynchronised mode only).
    pub expire_ticks: u64,
    /// Results go to the leader every so many ticks (default 6).
    pub result_ticks: u64,
    /// Also those of bodies that only this member has, for the server (default false: there is none).
    pub report_settled: bool,
    /// The leader corrects states that differ by more than this share of the body's radius (default 0.05).
    pub theta_intra: f32,
}

impl MemberConfig {
    /// The usual one.
    pub fn new(id: RegionId, sub_spaces: Arc<SubSpaces>, settings: Settings) -> Self {
        Self {
            id,
            sub_spaces,
            settings,
            mode: MemberMode::default(),
            conflict: ConflictRule::default(),
            max_speed: 32.0,
            refresh_ticks: 20,
            expire_ticks: 120,
            result_ticks: 6,
            report_settled: false,
            theta_intra: 0.05,
        }
    }
}

/// What a member has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemberCounts {
    /// States of bodies that no admin message has announced: discarded (ST-22).
    pub unknown: u64,
    /// States older than what was known: discarded.
    pub stale: u64,
    /// Parcels of another division, of no member, or for someone else: discarded.
    pub foreign: u64,
    /// Bodies that two or more members changed in one tick.
    pub conflicts: u64,
    /// States the leader has put right.
    pub corrections: u64,
    /// Bodies handed to another member.
    pub transfers: u64,
    /// States sent to other members as replicas.
    pub replicated: u64,
    /// Copies nobody spoke of any more.
    pub expired: u64,
    /// Speeds that had to be cut to `max_speed`.
    pub too_fast: u64,
}

/// Something the driver may want to know.
#[derive(Clone, Debug, PartialEq)]
pub enum MemberEvent {
    /// Results for the server (only from the leader): states in the format of [`wire::replicate::open_settled`].
    ForServer {
        /// They are how bodies are at the end of this tick.
        tick: Tick,
        /// States as [`wire::replicate::settled`] packs them.
        states: Vec<u8>,
    },
}

/// A parcel to be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Transmit {
    /// To whom.
    pub to: RegionId,
    /// Must it arrive?
    pub reliable: bool,
    /// What.
    pub parcel: Parcel,
}

/// What has gathered for one peer.
#[derive(Default)]
pub(super) struct Outbox {
    pub replicate: Vec<BodyState>,
    pub transfer: Vec<BodyState>,
    pub accept: Vec<(BodyId, domain::Epoch)>,
    pub words: Vec<Word>,
}

impl Outbox {
    pub(super) fn is_empty(&self) -> bool {
        self.replicate.is_empty()
            && self.transfer.is_empty()
            && self.accept.is_empty()
            && self.words.is_empty()
    }
}

/// A state that has come and is not taken in yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    pub state: BodyState,
    pub from: u32,
    pub tick: u64,
    pub transfer: bool,
}

/// One member.
pub struct Member {
    pub(super) config: MemberConfig,
    pub(super) allocation: u32,
    /// The division that holds from the end of the next iteration on.
    pub(super) next_division: Option<(u32, Arc<SubSpaces>)>,
    pub(super) space: Space,
    pub(super) tracks: Tracks,
    pub(super) by_id: FxHashMap<BodyId, Slot>,
    pub(super) catalogue: FxHashMap<BodyId, u32>,
    forms: Vec<(BodyForm, u32)>,
    /// The last known epoch of bodies that were dropped, and who answered for them: whoever says otherwise with an older epoch has not heard of it.
    pub(super) passed: FxHashMap<BodyId, (u32, u32)>,
    /// Bodies that users drive.
    driven: FxHashSet<BodyId>,
    pub(super) tick: u64,
    pub(super) arrived: Vec<Arrived>,
    pub(super) out: Vec<Outbox>,
    pub(super) waiting: VecDeque<Transmit>,
    pub(super) events: VecDeque<MemberEvent>,
    pub(super) arbiter: Option<Arbiter>,
    pub(super) barrier: Barrier,
    pub(super) counts: MemberCounts,
    pub(super) changed: Vec<Slot>,
    pub(super) attended: Vec<Slot>,
    /// To whom, of which tick, what.
    pub(super) corrections: Vec<(u32, u64, BodyState)>,
}

impl Member {
    /// A member without bodies, at tick 0.
    pub fn new(config: MemberConfig) -> Result<Self, LimitsError> {
        let spaces = &config.sub_spaces;
        let plan = spaces.plan(config.id.0);
        let members = spaces.members() as usize;
        let space = Space::new(spaces.origin(), spaces.world(), &plan, config.settings)?;
        let arbiter = (config.id.0 == 0).then(|| Arbiter::new(config.theta_intra));
        Ok(Self {
            allocation: 0,
            next_division: None,
            space,
            tracks: Tracks::default(),
            by_id: FxHashMap::default(),
            catalogue: FxHashMap::default(),
            forms: Vec::new(),
            passed: FxHashMap::default(),
            driven: FxHashSet::default(),
            tick: 0,
            arrived: Vec::new(),
            out: (0..members).map(|_| Outbox::default()).collect(),
            waiting: VecDeque::new(),
            events: VecDeque::new(),
            arbiter,
            barrier: Barrier::new(members),
            counts: MemberCounts::default(),
            changed: Vec::new(),
            attended: Vec::new(),
            corrections: Vec::new(),
            config,
        })
    }

    pub(super) fn me(&self) -> u32 {
        self.config.id.0
    }

    /// Another narrow phase than Parry's.
    pub fn set_narrow_phase(&mut self, narrow: Box<dyn detection::NarrowPhase + Send>) {
        self.space.set_narrow_phase(narrow);
    }

    /// Scenery, the same for every member.
    pub fn add_static(&mut self, scenery: &Static) -> Result<(), ShapeError> {
        let form = Form::immoveable(&scenery.shape, scenery.material)?;
        let form = self.space.add_form(form);
        let motion = Motion {
            rotation: scenery.rotation,
            ..Motion::at(scenery.position)
        };
        self.space.add_static(form, motion);
        Ok(())
    }

    /// An admin message: there is, or will be, such a body. Bodies of one form share it (the thesis's object factory, 3.5); what a body is does not change.
    pub fn learn(&mut self, id: BodyId, form: &BodyForm) -> Result<(), ShapeError> {
        if self.catalogue.contains_key(&id) {
            return Ok(());
        }
        let known = self.forms.iter().rev().find(|(known, _)| known == form);
        let number = match known {
            Some((_, number)) => *number,
            None => {
                form.shape.check_for_body()?;
                let number = self.space.add_form(Form::new(form)?);
                self.forms.push((form.clone(), number));
                number
            }
        };
        self.catalogue.insert(id, number);
        Ok(())
    }

    /// The server hands out a body: everyone whose sub-space it reaches, or may reach in its first step, keeps a copy; others
    /// learn of it only.
    pub fn place(&mut self, body: &Body) -> Result<(), ShapeError> {
        self.learn(body.id, &body.form)?;
        if self.by_id.contains_key(&body.id) {
            return Ok(());
        }
        let form = self.catalogue[&body.id];
        let spaces = &self.config.sub_spaces;
        let at = (body.motion.position - spaces.origin()).as_vec3();
        let home = spaces.owner_of(at);
        let radius = self.space.form(form).geometry.radius() + self.stride();
        let near = detection::Aabb::around(at, Vec3::splat(radius));
        let mine = home == self.me()
            || self
                .space
                .local_cell()
                .is_some_and(|cell| cell.reached_by(&near));
        if mine {
            self.adopt_new(body.id, form, home, body.motion);
        }
        Ok(())
    }

    pub(super) fn adopt_new(&mut self, id: BodyId, form: u32, home: u32, motion: Motion) -> Slot {
        let slot = self.space.insert(form, motion);
        let mut track = Track::new(id, form, home, self.tick);
        track.driven = self.driven.contains(&id);
        self.tracks.put(slot, track);
        self.by_id.insert(id, slot);
        slot
    }

    /// The farthest a body can get in a step, with what a response may push it.
    pub(super) fn stride(&self) -> f32 {
        self.config.max_speed * self.config.settings.step_secs + MOST_PUSHED_M
    }

    /// An admin message: a user may push this body at any time. Everyone it could then reach in a step keeps a copy.
    pub fn expect_commands(&mut self, body: BodyId) {
        self.driven.insert(body);
        if let Some(&slot) = self.by_id.get(&body) {
            self.tracks.of(slot).driven = true;
        }
    }

    /// A user pushes a body. Every member is told, between the same two iterations and when it [`is_ready`](Self::is_ready) for the second; those who have
    /// a copy act on it.
    pub fn apply_impulse(&mut self, body: BodyId, impulse: Vec3) {
        // What others have changed comes first, here as there.
        self.take_in();
        let Some(&slot) = self.by_id.get(&body) else {
            return;
        };
        let form = self.tracks.of(slot).form;
        let inverse_mass = self.space.form(form).inverse_mass;
        let velocity = self.space.motion(slot).linear_velocity + impulse * inverse_mass;
        self.set_velocity(body, velocity);
    }

    /// A user gives a body a velocity; see [`apply_impulse`](Self::apply_impulse).
    pub fn set_velocity(&mut self, body: BodyId, velocity: Vec3) {
        self.take_in();
        let Some(&slot) = self.by_id.get(&body) else {
            return;
        };
        let mut motion = *self.space.motion(slot);
        motion.linear_velocity = velocity.clamp_length_max(self.config.max_speed);
        self.space.set_frozen(slot, false);
        self.space.set_motion(slot, motion);
        let home = self.tracks.of(slot).home;
        let track = self.tracks.of(slot);
        track.version += 1;
        track.author = home;
    }

    /// The relay between groups knows better where a body is (above θ_inter). Every member of the group is told between the same two
    /// iterations; those who have a copy take it over.
    pub fn correct(&mut self, body: BodyId, motion: Motion) {
        self.take_in();
        let Some(&slot) = self.by_id.get(&body) else {
            return;
        };
        self.space.set_frozen(slot, false);
        self.space.set_motion(slot, motion);
        let track = self.tracks.of(slot);
        track.version += 1;
        track.author = track.home;
        self.counts.corrections += 1;
    }

    /// Takes in what has arrived. [`handle_tick`](Self::handle_tick) does so, too; whoever wants to see the copies as all
    /// members agree on them calls it before.
    pub fn begin(&mut self) {
        self.take_in();
    }

    /// One iteration.
    pub fn handle_tick(&mut self, tick: Tick) {
        self.iterate(tick, Space::detect);
    }

    /// One iteration with an eye on the time, for a budget (see [`detection::Effort`]): `clock` says how much time this member has used, of its CPU if it
    /// shares one. What detection takes decides how hard the next one tries.
    pub fn handle_tick_timed(&mut self, tick: Tick, mut clock: impl FnMut() -> Duration) {
        self.iterate(tick, |space| {
            let before = clock();
            space.detect();
            space.note_time(clock().saturating_sub(before));
        });
    }

    fn iterate(&mut self, tick: Tick, detect: impl FnOnce(&mut Space)) {
        self.take_in();
        self.report();
        self.pack_corrections();
        self.tick = tick.0;
        self.space.integrate();
        detect(&mut self.space);
        self.space.respond();
        self.note_changes();
        self.freeze();
        self.change_division();
        self.flush();
    }

    /// What the response changed has a new version; nothing is faster or farther than promised.
    fn note_changes(&mut self) {
        let (me, tick) = (self.me(), self.tick);
        self.changed.clear();
        self.changed
            .extend(self.space.changed().map(|(slot, _)| slot));
        for index in 0..self.changed.len() {
            let slot = self.changed[index];
            let base = self.space.before(index);
            let slowed = self
                .space
                .limit(slot, &base, self.config.max_speed, MOST_PUSHED_M);
            self.counts.too_fast += u64::from(slowed);
            let track = self.tracks.of(slot);
            track.base = base;
            track.version += 1;
            track.author = me;
            track.changed_at = tick;
        }
        self.note_thawed();
    }

    fn note_thawed(&mut self) {
        let thawed: Vec<Slot> = self.space.take_thawed().collect();
        for slot in thawed {
            let motion = *self.space.motion(slot);
            let (me, tick) = (self.me(), self.tick);
            let track = self.tracks.of(slot);
            if track.changed_at != tick {
                track.base = motion;
                track.version += 1;
                track.author = me;
                track.changed_at = tick;
                self.changed.push(slot);
            }
        }
    }

    /// Only who answers for a body may freeze it.
    fn freeze(&mut self) {
        let (me, tick) = (self.me(), self.tick);
        let mut frozen = Vec::new();
        let tracks = &self.tracks;
        let may = |slot: Slot| {
            let track = tracks.get(slot);
            track.is_some_and(|track| track.home == me && track.changed_at != tick)
                || track.is_some_and(|track| track.home == me && track.told.is_empty())
        };
        self.space
            .freeze(may, |slot, before| frozen.push((slot, before)));
        for (slot, before) in frozen {
            let track = self.tracks.of(slot);
            if track.changed_at != tick {
                // How it moved until now: what others have changed of it meanwhile is added to the same.
                track.base = before;
                track.version += 1;
                track.author = me;
                track.changed_at = tick;
                self.changed.push(slot);
            }
        }
    }

    /// The next parcel to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.waiting.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<MemberEvent> {
        self.events.pop_front()
    }

    /// A new division of the world, from the server. It holds from the end of the next iteration on, before anyone is told of anything: so whoever has a part now has
    /// heard of everything in it before the iteration after that. Everyone must hear of it between the same two iterations. It is among the same members: a group of another size is another group.
    pub fn divide(&mut self, allocation: u32, sub_spaces: Arc<SubSpaces>) {
        if sub_spaces.members() as usize != self.out.len() {
            self.counts.foreign += 1;
            return;
        }
        self.next_division = Some((allocation, sub_spaces));
    }

    fn change_division(&mut self) {
        let Some((allocation, sub_spaces)) = self.next_division.take() else {
            return;
        };
        let plan = sub_spaces.plan(self.me());
        self.space
            .divide(sub_spaces.world(), &plan)
            .expect("the limits are those of the beginning");
        self.allocation = allocation;
        self.config.sub_spaces = sub_spaces;
        for index in 0..self.tracks.watched.len() {
            let slot = Slot(index as u32);
            if self.tracks.get(slot).is_some() {
                self.tracks.watched[index] = true;
                self.tracks.of(slot).told.clear();
            }
        }
    }

    /// Its number.
    pub fn id(&self) -> RegionId {
        self.config.id
    }

    /// The last completed tick.
    pub fn tick(&self) -> Tick {
        Tick(self.tick)
    }

    /// What it has counted.
    pub fn counts(&self) -> MemberCounts {
        self.counts
    }

    /// Its bodies and their subdivision.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Who has which part of the world.
    pub fn sub_spaces(&self) -> &SubSpaces {
        &self.config.sub_spaces
    }

    /// All copies it has.
    pub fn copies(&self) -> impl Iterator<Item = Copied<'_>> {
        self.space.moving().filter_map(|slot| {
            let track = self.tracks.get(slot)?;
            Some(Copied {
                body: track.id,
                motion: self.space.motion(slot),
                aabb: *self.space.aabb(slot),
                at_home: track.home == self.me(),
                leaving: track.leaving.is_some(),
                version: track.version,
                frozen: self.space.is_frozen(slot),
                local: self.space.is_local(slot),
            })
        })
    }

    /// Pairs of bodies it tested in the last iteration, scenery left out.
    pub fn tested_pairs(&self) -> impl Iterator<Item = (BodyId, BodyId)> + '_ {
        self.space.pairs().filter_map(|(a, b)| {
            let (a, b) = (self.tracks.id_of(a)?, self.tracks.id_of(b)?);
            Some((a.min(b), a.max(b)))
        })
    }

    /// Pairs of bodies that touched in the last iteration, scenery left out; a pair with several points of contact once per point.
    pub fn touching_pairs(&self) -> impl Iterator<Item = (BodyId, BodyId)> + '_ {
        self.space.contacts().iter().filter_map(|contact| {
            let a = self.tracks.id_of(Slot(contact.a))?;
            let b = self.tracks.id_of(Slot(contact.b))?;
            Some((a.min(b), a.max(b)))
        })
    }

    /// Does it know of this body?
    pub fn knows(&self, body: BodyId) -> bool {
        self.catalogue.contains_key(&body)
    }
}

/// A copy as others see it from outside.
#[derive(Clone, Copy, Debug)]
pub struct Copied<'a> {
    /// Of which body.
    pub body: BodyId,
    /// Where it is and how it moves.
    pub motion: &'a Motion,
    /// The box it was last sorted by.
    pub aabb: detection::Aabb,
    /// Does this member answer for it?
    pub at_home: bool,
    /// Is a transfer under way?
    pub leaving: bool,
    /// Changes so far.
    pub version: u32,
    /// Does it rest?
    pub frozen: bool,
    /// Does it reach into this member's sub-space?
    pub local: bool,
}

/// A response moves no body farther than this in one step, metres.
pub(super) const MOST_PUSHED_M: f32 = 0.2;

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Bounds, Shape};
    use glam::DVec3;

    fn alone() -> Member {
        let world = Bounds {
            min: DVec3::splat(-10.0),
            max: DVec3::splat(10.0),
        };
        let spaces = Arc::new(SubSpaces::published(world, 1));
        let config = MemberConfig::new(RegionId(0), spaces, Settings::default());
        Member::new(config).expect("valid")
    }

    fn ball(radius: f32) -> BodyForm {
        BodyForm::of(Shape::Sphere { radius })
    }

    /// ST-54: bodies of one form share its geometry; a body that exists is found again, whatever it is now said to be.
    #[test]
    fn st_54_one_geometry_per_form_one_copy_per_body() {
        let mut member = alone();
        for id in 0..100 {
            let form = ball(if id % 2 == 0 { 0.5 } else { 0.25 });
            let body = Body::new(BodyId(id), form, Motion::at(DVec3::ZERO));
            member.place(&body).expect("valid");
        }
        assert_eq!(member.forms.len(), 2, "two forms for a hundred bodies");
        let slot = member.by_id[&BodyId(0)];
        let again = Body::new(BodyId(0), ball(3.0), Motion::at(DVec3::ONE));
        member.place(&again).expect("valid");
        assert_eq!(member.by_id[&BodyId(0)], slot, "it exists");
        assert_eq!(member.copies().count(), 100);
        let form = member.catalogue[&BodyId(0)];
        assert_eq!(member.space.form(form).geometry.radius(), 0.5);
        assert_eq!(member.space.motion(slot).position, DVec3::ZERO);
    }
}
