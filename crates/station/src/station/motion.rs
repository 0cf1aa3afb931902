//! Bodies move: masters by commands, locked ones on their course, replicas by forecasts; and what is this station's own business bounces.

use super::Station;
use super::bodies::{Body, Kind};
use crate::body::{Authority, State};
use crate::events::Event;
use crate::geometry::{bounce, rebound};
use crate::ids::PairId;
use crate::settings::Protocol;
use domain::{BodyId, SimTime};

impl Station {
    /// Masters and the game's own bodies, walls included (ML-33).
    pub(super) fn move_masters(&mut self, now: SimTime) {
        let (secs, arena, settings) = (self.frame_secs, self.arena, self.settings.reckoning);
        let foresight = self.settings.foresight;
        for body in self.bodies.values_mut() {
            let hold = body.hold;
            match &mut body.kind {
                Kind::Replica(_) => {}
                Kind::Global(state) => {
                    *state = state.after(secs);
                    if let Some(arena) = &arena {
                        rebound(arena, &body.ball, state);
                    }
                }
                Kind::Master(master) => match hold {
                    Some(course) => master.state = course.at(now),
                    None => {
                        master.advance(secs);
                        if let Some(arena) = &arena
                            && rebound(arena, &body.ball, &mut master.state)
                        {
                            master.bounce(&settings, false);
                        }
                        if foresight.gate.is_some() {
                            master.look_back(now, foresight.path);
                        }
                    }
                },
            }
        }
    }

    /// Replicas go where their updates, their bounce or their lock puts them.
    pub(super) fn move_replicas(&mut self, now: SimTime) {
        let settings = self.settings.reckoning;
        for body in self.bodies.values_mut() {
            if let Kind::Replica(replica) = &mut body.kind {
                replica.advance(now, &settings);
                if let Some(course) = body.hold {
                    replica.show(course.at(now));
                }
            }
        }
    }

    /// Master–master and master–global hits: ordinary physics, no counter, no message (ML-1, ML-32).
    pub(super) fn bounce_locally(&mut self, now: SimTime) {
        if let Protocol::SuperNode { authority } = self.settings.protocol
            && authority != self.id
        {
            return;
        }
        let ours: Vec<BodyId> = self
            .bodies
            .iter()
            .filter(|(_, body)| !matches!(body.kind, Kind::Replica(_)))
            .map(|(id, _)| *id)
            .collect();
        for (index, one) in ours.iter().enumerate() {
            for other in &ours[index + 1..] {
                self.bounce_pair_locally(now, *one, *other);
            }
        }
    }

    fn bounce_pair_locally(&mut self, now: SimTime, one: BodyId, other: BodyId) {
        let (Some(a), Some(b)) = (self.bodies.get(&one), self.bodies.get(&other)) else {
            return;
        };
        // What is locked keeps its word first; they part when it is free.
        let locked = a.is_locked() || b.is_locked();
        let local = Authority::over(a.role(), b.role()) == Authority::Local;
        if locked || !local || !is_touching(a, b) {
            return;
        }
        let velocities = bounce(self.settings.bounce, [a.bouncer(), b.bouncer()], false);
        for (body, velocity) in [one, other].into_iter().zip(velocities) {
            self.deflect(now, body, velocity, false);
        }
        if let Some(pair) = PairId::new(one, other) {
            self.events.push_back(Event::LocalBounce { pair, at: now });
        }
    }

    /// A body's velocity changes at once. `shared`: its replicas' stations know why.
    pub(super) fn deflect(
        &mut self,
        now: SimTime,
        id: BodyId,
        velocity: glam::DVec3,
        shared: bool,
    ) {
        let settings = self.settings.reckoning;
        let Some(body) = self.bodies.get_mut(&id) else {
            return;
        };
        let position = body.state().position;
        match &mut body.kind {
            Kind::Master(master) => {
                master.state = State::moving(position, velocity);
                master.bounce(&settings, shared);
            }
            Kind::Replica(replica) => replica.bounce(now, now, position, velocity, &settings),
            Kind::Global(state) => *state = State::moving(position, velocity),
        }
    }

    /// Which pairs could touch within T_lock if both made straight for each other: the few that are looked at closely.
    pub(super) fn find_near(&mut self) {
        let ahead = self.settings.lock.max.as_secs() + 2.0 * self.frame_secs;
        let seen: Vec<(BodyId, glam::DVec3, f64)> = self
            .bodies
            .iter()
            .map(|(id, body)| {
                let state = body.state();
                let speed = state.velocity.length() + state.acceleration.length() * ahead;
                (*id, state.position, body.ball.radius + speed * ahead)
            })
            .collect();
        self.near.clear();
        for (index, (one, here, reach)) in seen.iter().enumerate() {
            for (other, there, far) in &seen[index + 1..] {
                let within = reach + far;
                if here.distance_squared(*there) <= within * within {
                    let pair = PairId::new(*one, *other);
                    let known = pair.filter(|pair| self.pairs.contains_key(pair));
                    self.near.extend(known);
                }
            }
        }
    }

    /// Pairs that have come apart are looked at again (D6).
    pub(super) fn watch_gaps(&mut self, now: SimTime) {
        let rearm_gap = self.settings.agreement.rearm_gap;
        for (id, pair) in &mut self.pairs {
            if pair.ledger.is_armed(now) {
                continue;
            }
            let [one, other] = id.bodies().map(|body| self.bodies.get(&body));
            if let (Some(one), Some(other)) = (one, other) {
                pair.ledger.observe_gap(now, gap(one, other), rearm_gap);
            }
        }
    }
}

/// Distance between the surfaces.
pub(super) fn gap(one: &Body, other: &Body) -> f64 {
    let apart = one.state().position.distance(other.state().position);
    apart - one.ball.radius - other.ball.radius
}

/// Touching and approaching.
pub(super) fn is_touching(one: &Body, other: &Body) -> bool {
    let (a, b) = (one.state(), other.state());
    let approaching = (a.position - b.position).dot(a.velocity - b.velocity) < 0.0;
    approaching && gap(one, other) <= 0.0
}
