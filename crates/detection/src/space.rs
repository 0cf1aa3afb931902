//! Everything one node does in an iteration: move, sort into leaves, find pairs, find contacts, respond.
//!
//! ```text
//!   step = integrate ── adapt ── detect ── respond
//! ```
//!
//! A group's member calls the parts one by one, because it talks to the others in between.

use crate::bounds::{Aabb, Cell};
use crate::budget::Effort;
use crate::forms::Form;
use crate::freezing::Freezing;
use crate::limits::{Limits, LimitsError};
use crate::narrow::{Contact, NarrowPhase, ParryNarrow, Placed};
use crate::pairs::{Candidate, PairRule, candidates};
use crate::response::{PairContact, Participants, Response, fly};
use crate::tree::{Plan, Rooms, Tree};
use domain::Motion;
use glam::{DVec3, Vec3};
use smallvec::SmallVec;
use std::time::Duration;

/// A body's place in a [`Space`]; used again after the body is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u32);

/// What can be chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// When leaves are cut and mended.
    pub limits: Limits,
    /// Which leaf tests a pair.
    pub rule: PairRule,
    /// How hard the narrow phase tries.
    pub effort: Effort,
    /// m/s².
    pub gravity: Vec3,
    /// The length of an iteration, seconds.
    pub step_secs: f32,
    /// How often contacts are swept over (default 4). More: heaps are firmer.
    pub sweeps: u32,
    /// When bodies are frozen; `None`: never (default).
    pub freezing: Option<Freezing>,
    /// Do bodies that touch each other notice? Without (for measurements of detection alone) they pass through each other; scenery
    /// stops them all the same.
    pub responds: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            rule: PairRule::default(),
            effort: Effort::default(),
            gravity: Vec3::new(0.0, -9.81, 0.0),
            step_secs: 1.0 / 60.0,
            sweeps: 4,
            freezing: None,
            responds: true,
        }
    }
}

/// What the last iteration did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Comparisons of two boxes.
    pub compared: u64,
    /// Pairs given to the narrow phase.
    pub pairs: u64,
    /// Of these: pairs of two moving bodies.
    pub moving_pairs: u64,
    /// Of these: pairs that touch.
    pub collisions: u64,
    /// Points of contact, scenery included.
    pub contacts: u64,
    /// Local leaves.
    pub leaves: u64,
}

/// One node's bodies and their subdivision of space.
pub struct Space {
    settings: Settings,
    origin: DVec3,
    tree: Tree,
    narrow: Box<dyn NarrowPhase + Send>,
    forms: Vec<Form>,
    form_of: Vec<u32>,
    motions: Vec<Motion>,
    boxes: Vec<Aabb>,
    origins: Vec<Vec3>,
    rooms: Vec<Rooms>,
    frozen: Vec<bool>,
    still_secs: Vec<f32>,
    is_static: Vec<bool>,
    free: Vec<u32>,
    /// Live bodies that move, and where each stands in the list.
    moving: Vec<u32>,
    place: Vec<u32>,
    pairs: Vec<Candidate>,
    contacts: Vec<PairContact>,
    response: Response,
    /// Bodies the last response changed, with their motion before it.
    changed: Vec<(u32, Motion)>,
    changed_in: Vec<u64>,
    iteration: u64,
    /// Bodies that were woken in this iteration.
    thawed: Vec<u32>,
    /// The farthest that any part of any body moved in the last integration, metres.
    longest_stride: f32,
    /// The largest share of gravity that any form feels.
    steepest_fall: f32,
    found: Vec<Contact>,
    stats: Stats,
}

impl Space {
    /// The part of `world` that the plan calls mine. `origin` is where the group's single-precision coordinates begin; it must
    /// be the same on every member. `world` is relative to it.
    pub fn new(
        origin: DVec3,
        world: Aabb,
        plan: &Plan,
        settings: Settings,
    ) -> Result<Self, LimitsError> {
        Ok(Self {
            tree: Tree::new(world, plan, settings.limits)?,
            settings,
            origin,
            narrow: Box::new(ParryNarrow::default()),
            forms: Vec::new(),
            form_of: Vec::new(),
            motions: Vec::new(),
            boxes: Vec::new(),
            origins: Vec::new(),
            rooms: Vec::new(),
            frozen: Vec::new(),
            still_secs: Vec::new(),
            is_static: Vec::new(),
            free: Vec::new(),
            moving: Vec::new(),
            place: Vec::new(),
            pairs: Vec::new(),
            contacts: Vec::new(),
            response: Response::default(),
            changed: Vec::new(),
            changed_in: Vec::new(),
            iteration: 0,
            thawed: Vec::new(),
            longest_stride: 0.0,
            steepest_fall: 0.0,
            found: Vec::new(),
            stats: Stats::default(),
        })
    }

    /// Another narrow phase (ST-10).
    pub fn set_narrow_phase(&mut self, narrow: Box<dyn NarrowPhase + Send>) {
        self.narrow = narrow;
    }

    /// A new division of the world: everything is sorted into it afresh.
    pub fn divide(&mut self, world: Aabb, plan: &Plan) -> Result<(), LimitsError> {
        self.tree = Tree::new(world, plan, self.settings.limits)?;
        for body in 0..self.motions.len() as u32 {
            let at = body as usize;
            self.rooms[at].clear();
            if self.is_static[at] || self.place[at] != u32::MAX {
                let aabb = self.boxes[at];
                self.tree
                    .insert(body, &aabb, self.is_static[at], &mut self.rooms[at]);
            }
        }
        Ok(())
    }

    /// Makes a form known; bodies of one form share it.
    pub fn add_form(&mut self, form: Form) -> u32 {
        self.steepest_fall = self.steepest_fall.max(form.gravity_scale.abs());
        self.forms.push(form);
        (self.forms.len() - 1) as u32
    }

    /// The form of this number.
    pub fn form(&self, form: u32) -> &Form {
        &self.forms[form as usize]
    }

    /// Scenery: sorted in once, never again (ST-8).
    pub fn add_static(&mut self, form: u32, motion: Motion) -> Slot {
        self.put(form, motion, true)
    }

    /// A body that moves.
    pub fn insert(&mut self, form: u32, motion: Motion) -> Slot {
        self.put(form, motion, false)
    }

    fn put(&mut self, form: u32, motion: Motion, is_static: bool) -> Slot {
        let at = (motion.position - self.origin).as_vec3();
        let aabb = self.forms[form as usize].geometry.aabb(at, motion.rotation);
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.grow();
                (self.motions.len() - 1) as u32
            }
        };
        let i = slot as usize;
        self.form_of[i] = form;
        self.motions[i] = motion;
        self.boxes[i] = aabb;
        self.origins[i] = at;
        self.frozen[i] = false;
        self.still_secs[i] = 0.0;
        self.is_static[i] = is_static;
        self.changed_in[i] = 0;
        self.place[i] = u32::MAX;
        if !is_static {
            self.place[i] = self.moving.len() as u32;
            self.moving.push(slot);
        }
        self.tree.insert(slot, &aabb, is_static, &mut self.rooms[i]);
        Slot(slot)
    }

    fn grow(&mut self) {
        self.form_of.push(0);
        self.motions.push(Motion::at(DVec3::ZERO));
        self.boxes.push(Aabb::around(Vec3::ZERO, Vec3::ZERO));
        self.origins.push(Vec3::ZERO);
        self.rooms.push(Rooms::new());
        self.frozen.push(false);
        self.still_secs.push(0.0);
        self.is_static.push(false);
        self.place.push(u32::MAX);
        self.changed_in.push(0);
    }

    /// Takes a moving body out; what is frozen beside it wakes up.
    pub fn remove(&mut self, slot: Slot) {
        self.forget(slot);
        if self.settings.freezing.is_some() {
            self.thaw_touching(self.boxes[slot.0 as usize]);
        }
    }

    /// Takes a copy out of a body that goes on elsewhere: nothing has happened to what rests beside it.
    pub fn forget(&mut self, slot: Slot) {
        let i = slot.0 as usize;
        self.tree.remove(slot.0, &mut self.rooms[i]);
        let place = self.place[i] as usize;
        self.moving.swap_remove(place);
        if let Some(moved) = self.moving.get(place) {
            self.place[*moved as usize] = place as u32;
        }
        self.place[i] = u32::MAX;
        self.free.push(slot.0);
    }

    fn thaw_touching(&mut self, aabb: Aabb) {
        let near = aabb.grown(Vec3::splat(0.01));
        for body in 0..self.frozen.len() {
            let is_near = self.frozen[body] && self.boxes[body].touches(&near);
            if is_near {
                self.set_frozen(Slot(body as u32), false);
                self.thawed.push(body as u32);
            }
        }
    }

    /// Everything moves by one step of free flight and is sorted into the leaves it has reached.
    pub fn integrate(&mut self) {
        let (gravity, step) = (self.settings.gravity, self.settings.step_secs);
        let mut fastest = 0.0_f32;
        for index in 0..self.moving.len() {
            let slot = self.moving[index];
            let i = slot as usize;
            if self.frozen[i] {
                self.follow_last_push(slot);
                continue;
            }
            let form = &self.forms[self.form_of[i] as usize];
            fly(&mut self.motions[i], form, gravity, step);
            let motion = &self.motions[i];
            let swing = form.swing;
            // Twice the sum of squares is at least the square of the sum: no root per body.
            let speeds = motion.linear_velocity.length_squared()
                + motion.angular_velocity.length_squared() * swing * swing;
            fastest = fastest.max(speeds);
            let at = (motion.position - self.origin).as_vec3();
            let aabb = form.geometry.aabb(at, motion.rotation);
            self.origins[i] = at;
            self.boxes[i] = aabb;
            self.tree.update(slot, &aabb, &mut self.rooms[i]);
        }
        self.longest_stride = (2.0 * fastest).sqrt() * step;
        self.tree.adapt(&self.boxes, &mut self.rooms);
        self.tree.refresh();
    }

    /// A body that was pushed in the tick in which it was frozen: its box follows once. Other members have sorted in where it is now, and all must test by
    /// the same box.
    fn follow_last_push(&mut self, slot: u32) {
        let motion = self.motions[slot as usize];
        if (motion.position - self.origin).as_vec3() != self.origins[slot as usize] {
            self.set_motion(Slot(slot), motion);
        }
    }

    /// Finds every pair that this node is responsible for, and its contacts.
    pub fn detect(&mut self) {
        self.pairs.clear();
        self.contacts.clear();
        let counts = candidates(
            &self.tree,
            self.settings.rule,
            &self.boxes,
            &self.origins,
            &mut self.pairs,
        );
        let moving = self.pairs.iter();
        let moving = moving
            .filter(|pair| !self.is_static[pair.b as usize])
            .count();
        self.stats = Stats {
            moving_pairs: moving as u64,
            compared: counts.compared,
            pairs: self.pairs.len() as u64,
            leaves: self.tree.len() as u64,
            ..Stats::default()
        };
        if self.settings.freezing.is_some() {
            self.wake_the_touched();
        }
        let level = self.settings.effort.level();
        for index in 0..self.pairs.len() {
            self.touch(self.pairs[index], level);
        }
        self.stats.contacts = self.contacts.len() as u64;
    }

    fn touch(&mut self, pair: Candidate, level: crate::Level) {
        let (a, b) = (pair.a as usize, pair.b as usize);
        let rests = |body: usize| self.frozen[body] || self.is_static[body];
        if rests(a) && rests(b) {
            return;
        }
        let forms = [a, b].map(|body| &self.forms[self.form_of[body] as usize]);
        let (first, second) = (&self.motions[a], &self.motions[b]);
        let offset = (second.position - first.position).as_vec3();
        let reach = forms[0].geometry.radius + forms[1].geometry.radius;
        if offset.length_squared() > reach * reach {
            return;
        }
        let placed = [
            Placed {
                geometry: &forms[0].geometry,
                offset: Vec3::ZERO,
                rotation: first.rotation,
            },
            Placed {
                geometry: &forms[1].geometry,
                offset,
                rotation: second.rotation,
            },
        ];
        self.found.clear();
        self.narrow
            .contacts(&placed[0], &placed[1], level, &mut self.found);
        let centre_a = first.rotation * forms[0].centre_of_mass;
        let centre_b = offset + second.rotation * forms[1].centre_of_mass;
        for contact in &self.found {
            self.contacts.push(PairContact {
                a: pair.a,
                b: pair.b,
                arm_a: contact.point - centre_a,
                arm_b: contact.point - centre_b,
                normal: contact.normal,
                depth: contact.depth,
                of_pair: self.found.len() as u32,
            });
        }
        let hit = !self.found.is_empty() && !self.is_static[b];
        self.stats.collisions += u64::from(hit);
    }

    /// What an awake body that moves noticeably touches wakes up, and what that touches, too.
    fn wake_the_touched(&mut self) {
        let Some(freezing) = self.settings.freezing else {
            return;
        };
        let still = |motion: &Motion| {
            // A body at rest falls for one step before its contact stops it: that is no motion to wake others.
            let share = 0.05;
            freezing.is_still(
                motion.linear_velocity.length_squared() * share,
                motion.angular_velocity.length_squared() * share,
            )
        };
        loop {
            let before = self.thawed.len();
            for index in 0..self.pairs.len() {
                let Candidate { a, b } = self.pairs[index];
                for (one, other) in [(a, b), (b, a)] {
                    let i = one as usize;
                    let awake = !self.frozen[i] && !self.is_static[i];
                    let wakes = awake && (self.thawed.contains(&one) || !still(&self.motions[i]));
                    if wakes && self.frozen[other as usize] {
                        self.set_frozen(Slot(other), false);
                        self.thawed.push(other);
                    }
                }
            }
            if self.thawed.len() == before {
                return;
            }
        }
    }

    /// Bodies in contact get new velocities; [`changed`](Self::changed) says which.
    pub fn respond(&mut self) {
        self.iteration += 1;
        self.changed.clear();
        if !self.settings.responds {
            let is_static = &self.is_static;
            self.contacts
                .retain(|contact| is_static[contact.b as usize]);
        }
        let who = Participants {
            forms: &self.forms,
            form_of: &self.form_of,
            frozen: &self.frozen,
        };
        let gravity = self.settings.gravity.length();
        let (changed, changed_in, iteration) =
            (&mut self.changed, &mut self.changed_in, self.iteration);
        self.response.respond(
            &self.contacts,
            &who,
            &mut self.motions,
            self.settings.sweeps,
            2.0 * gravity * self.settings.step_secs,
            |body, before| {
                let seen = &mut changed_in[body as usize];
                if *seen != iteration {
                    *seen = iteration;
                    changed.push((body, *before));
                }
            },
        );
    }

    /// Counts how long bodies have been still, and freezes those that may be. `frozen` hears of each, and how it moved before.
    pub fn freeze(&mut self, may: impl Fn(Slot) -> bool, mut frozen: impl FnMut(Slot, Motion)) {
        let Some(freezing) = self.settings.freezing else {
            return;
        };
        for index in 0..self.moving.len() {
            let slot = self.moving[index];
            let i = slot as usize;
            if self.frozen[i] {
                continue;
            }
            let motion = &self.motions[i];
            let still = freezing.is_still(
                motion.linear_velocity.length_squared(),
                motion.angular_velocity.length_squared(),
            );
            self.still_secs[i] = if still {
                self.still_secs[i] + self.settings.step_secs
            } else {
                0.0
            };
            if self.still_secs[i] >= freezing.after_secs && may(Slot(slot)) {
                let before = *motion;
                self.set_frozen(Slot(slot), true);
                frozen(Slot(slot), before);
            }
        }
    }

    /// Freezes or thaws a body.
    pub fn set_frozen(&mut self, slot: Slot, frozen: bool) {
        let i = slot.0 as usize;
        self.frozen[i] = frozen;
        self.still_secs[i] = 0.0;
        if frozen {
            self.motions[i].linear_velocity = Vec3::ZERO;
            self.motions[i].angular_velocity = Vec3::ZERO;
        }
    }

    /// A whole iteration, for a node that is alone.
    pub fn step(&mut self) {
        self.integrate();
        self.detect();
        self.respond();
        self.freeze(|_| true, |_, _| {});
        self.thawed.clear();
    }

    /// Detection took that long: the budget, if there is one, hears it (ST-13).
    pub fn note_time(&mut self, spent: Duration) {
        self.settings.effort.note(spent);
    }

    /// Puts a body somewhere else, for instance because another member knows better.
    pub fn set_motion(&mut self, slot: Slot, motion: Motion) {
        let i = slot.0 as usize;
        let form = &self.forms[self.form_of[i] as usize];
        let at = (motion.position - self.origin).as_vec3();
        let aabb = form.geometry.aabb(at, motion.rotation);
        self.motions[i] = motion;
        self.origins[i] = at;
        self.boxes[i] = aabb;
        self.tree.update(slot.0, &aabb, &mut self.rooms[i]);
    }

    /// One step of free flight of a motion that is not, or not yet, in this space.
    pub fn fly(&self, form: u32, motion: &mut Motion) {
        let form = &self.forms[form as usize];
        fly(motion, form, self.settings.gravity, self.settings.step_secs);
    }

    /// The box that holds the body now and after its next step of free flight.
    #[inline]
    pub fn swept(&self, slot: Slot) -> Aabb {
        let i = slot.0 as usize;
        let form = &self.forms[self.form_of[i] as usize];
        self.swept_by(i, form, &self.motions[i])
    }

    /// The same for a body that moves like this, which it did before the last response: what those compute who have not heard of the change.
    pub fn swept_unchanged(&self, slot: Slot, before: &Motion) -> Aabb {
        let i = slot.0 as usize;
        let form = &self.forms[self.form_of[i] as usize];
        self.swept_by(i, form, before)
    }

    #[inline]
    fn swept_by(&self, i: usize, form: &Form, motion: &Motion) -> Aabb {
        let step = self.settings.step_secs;
        let velocity = motion.linear_velocity + self.settings.gravity * (form.gravity_scale * step);
        let travel = velocity * step;
        // Where the response has pushed it, its box has not followed yet.
        let at = (motion.position - self.origin).as_vec3();
        let pushed = (at - self.origins[i]).abs();
        let turn = motion.angular_velocity.length() * step * form.swing;
        let aabb = self.boxes[i].grown(pushed + Vec3::splat(turn + 1e-4));
        Aabb {
            min: aabb.min + travel.min(Vec3::ZERO),
            max: aabb.max + travel.max(Vec3::ZERO),
        }
    }

    /// The box that holds the body now and after its next step, whatever happens to it, if its speed stays below `fastest`.
    pub fn reachable(&self, slot: Slot, fastest: f32) -> Aabb {
        let i = slot.0 as usize;
        let form = &self.forms[self.form_of[i] as usize];
        let at = (self.motions[i].position - self.origin).as_vec3();
        let radius = form.geometry.radius + fastest * self.settings.step_secs + 1e-4;
        Aabb::around(at, Vec3::splat(radius)).union(self.swept_by(i, form, &self.motions[i]))
    }

    /// The farthest that any part of any body can move in the next step of free flight, metres.
    pub fn longest_stride(&self) -> f32 {
        let fall = self.settings.gravity.length() * self.steepest_fall * self.settings.step_secs;
        self.longest_stride + 2.0 * fall * self.settings.step_secs
    }

    /// The other owners whose part of the world a body's box, or a larger one, reaches, and whether it reaches mine: the same walk as an insertion, which stops at remote vertices
    /// and notes the body for their owners (ST-19).
    #[inline]
    pub fn owners_reached(&self, slot: Slot, aabb: &Aabb, owners: &mut SmallVec<[u32; 4]>) -> bool {
        self.tree.reach_owners(slot.0, aabb, owners)
    }

    /// What is mine of the world.
    pub fn local_cell(&self) -> Option<Cell> {
        self.tree.local_cell()
    }

    /// Is the body in any of my leaves?
    pub fn is_local(&self, slot: Slot) -> bool {
        !self.rooms[slot.0 as usize].is_empty()
    }

    /// Bodies the last response changed, with their motion before it; in the order in which they were met.
    pub fn changed(&self) -> impl Iterator<Item = (Slot, &Motion)> {
        self.changed
            .iter()
            .map(|(slot, before)| (Slot(*slot), before))
    }

    /// The motion before the response of the body that [`changed`](Self::changed) lists at this place.
    pub fn before(&self, index: usize) -> Motion {
        self.changed[index].1
    }

    /// Cuts what a response has done to a body: not faster than `max_speed`, at the rim neither, and not farther from where it
    /// was than `max_push`. True if it had to be slowed down.
    pub fn limit(&mut self, slot: Slot, before: &Motion, max_speed: f32, max_push: f32) -> bool {
        let i = slot.0 as usize;
        let radius = self.forms[self.form_of[i] as usize].geometry.radius;
        let motion = &mut self.motions[i];
        let push = motion.position - before.position;
        motion.position = before.position + push.clamp_length_max(f64::from(max_push));
        let max_spin = max_speed / radius.max(1e-3);
        let too_fast = motion.linear_velocity.length_squared() > max_speed * max_speed
            || motion.angular_velocity.length_squared() > max_spin * max_spin;
        if too_fast {
            motion.linear_velocity = motion.linear_velocity.clamp_length_max(max_speed);
            motion.angular_velocity = motion.angular_velocity.clamp_length_max(max_spin);
        }
        too_fast
    }

    /// Bodies that were woken since anyone asked.
    pub fn take_thawed(&mut self) -> impl Iterator<Item = Slot> + '_ {
        self.thawed.drain(..).map(Slot)
    }

    /// All moving bodies, in an order that depends on what has happened only.
    pub fn moving(&self) -> impl Iterator<Item = Slot> + '_ {
        self.moving.iter().copied().map(Slot)
    }

    /// How many bodies move.
    pub fn len(&self) -> usize {
        self.moving.len()
    }

    /// Does none?
    pub fn is_empty(&self) -> bool {
        self.moving.is_empty()
    }

    /// Where a body is and how it moves.
    #[inline]
    pub fn motion(&self, slot: Slot) -> &Motion {
        &self.motions[slot.0 as usize]
    }

    /// Is it frozen?
    #[inline]
    pub fn is_frozen(&self, slot: Slot) -> bool {
        self.frozen[slot.0 as usize]
    }

    /// The box around it at the last sorting.
    #[inline]
    pub fn aabb(&self, slot: Slot) -> &Aabb {
        &self.boxes[slot.0 as usize]
    }

    /// Pairs of the last detection: overlapping boxes this node was responsible for. The second may be scenery.
    pub fn pairs(&self) -> impl Iterator<Item = (Slot, Slot)> + '_ {
        self.pairs.iter().map(|pair| (Slot(pair.a), Slot(pair.b)))
    }

    /// Contacts of the last detection.
    pub fn contacts(&self) -> &[PairContact] {
        &self.contacts
    }

    /// Is it scenery?
    pub fn is_static(&self, slot: Slot) -> bool {
        self.is_static[slot.0 as usize]
    }

    /// What the last iteration did.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// The subdivision.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The settings; the effort changes with the budget.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}
