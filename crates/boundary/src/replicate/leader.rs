//! The leader compares what members report of one body at one tick, and decides if they differ too much (thesis 3.3.8.1, ST-38).
//!
//! Below the threshold a discrepancy is left alone. A state of an older version is no discrepancy: it is merely late.

use super::member::{Member, MemberMode};
use super::relay::average;
use domain::{BodyId, Motion};
use rustc_hash::FxHashMap;
use wire::replicate::{BodyState, Word, settled};

/// How far two states are apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviation {
    /// Of positions, metres.
    pub position_m: f64,
    /// Of velocities, m/s.
    pub velocity: f64,
}

impl Deviation {
    /// Of two motions.
    pub fn of(a: &Motion, b: &Motion) -> Self {
        Self {
            position_m: (a.position - b.position).length(),
            velocity: f64::from((a.linear_velocity - b.linear_velocity).length()),
        }
    }

    /// The larger of the distance now and, at these velocities, the distance gained in a tenth of a second.
    pub fn noticeable_m(&self) -> f64 {
        self.position_m.max(self.velocity * 0.1)
    }
}

/// Compares and decides: the leader's, for its members (θ_intra). Between groups there is a [`Relay`](super::Relay).
#[derive(Debug, Default)]
pub struct Arbiter {
    theta: f32,
    reports: FxHashMap<BodyId, Reports>,
}

#[derive(Debug, Default)]
struct Reports {
    tick: u64,
    states: Vec<(u32, BodyState)>,
    decided: bool,
}

/// A decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// What is to be believed.
    pub state: BodyState,
    /// Who reported it otherwise.
    pub reporters: Vec<u32>,
}

impl Arbiter {
    /// Differences up to `theta` times the body's radius are left alone.
    pub fn new(theta: f32) -> Self {
        Self {
            theta,
            reports: FxHashMap::default(),
        }
    }

    /// Someone reports a state; the answer is what all reporters shall believe, if their states are too far apart.
    pub fn report(
        &mut self,
        from: u32,
        tick: u64,
        state: &BodyState,
        radius: f32,
    ) -> Option<Decision> {
        let reports = self.reports.entry(state.body).or_default();
        if tick < reports.tick {
            return None;
        }
        if tick > reports.tick {
            reports.tick = tick;
            reports.states.clear();
            reports.decided = false;
        }
        reports.states.retain(|(reporter, _)| *reporter != from);
        reports.states.push((from, *state));
        let newest = reports
            .states
            .iter()
            .map(|(_, state)| state.version)
            .max()?;
        let mut rivals: Vec<&(u32, BodyState)> = reports
            .states
            .iter()
            .filter(|(_, state)| state.version == newest)
            .collect();
        rivals.sort_by_key(|(reporter, _)| *reporter);
        let apart = rivals.iter().any(|(_, other)| {
            let deviation = Deviation::of(&other.motion, &rivals[0].1.motion);
            deviation.noticeable_m() > f64::from(self.theta * radius)
        });
        if !apart || reports.decided {
            return None;
        }
        reports.decided = true;
        let motion = weighted(&rivals);
        let first = rivals.iter().max_by_key(|(_, state)| state.epoch)?.1;
        Some(Decision {
            state: BodyState {
                version: newest + 1,
                motion,
                base: None,
                ..first
            },
            reporters: reports
                .states
                .iter()
                .map(|(reporter, _)| *reporter)
                .collect(),
        })
    }

    /// Forgets what nobody will speak of again.
    pub fn forget_before(&mut self, tick: u64) {
        self.reports.retain(|_, reports| reports.tick >= tick);
    }
}

/// The average; whoever answers for the body counts twice.
fn weighted(states: &[&(u32, BodyState)]) -> Motion {
    let weight = |(reporter, state): &(u32, BodyState)| {
        if state.home.0 == *reporter { 2.0 } else { 1.0 }
    };
    let weights: Vec<f32> = states.iter().map(|one| weight(one)).collect();
    average(states.iter().map(|(_, state)| &state.motion).zip(&weights))
}

impl Member {
    /// Every few ticks the leader hears what has changed: straddling bodies one by one, others in a sealed bundle for the server.
    pub(super) fn report(&mut self) {
        let period = self.config.result_ticks.max(1);
        // A group of one has nothing to compare, but the server wants to hear of it, too.
        let nobody_asks = self.out.len() == 1 && !self.config.report_settled;
        if nobody_asks || !self.tick.is_multiple_of(period) || self.tick == 0 {
            return;
        }
        let settled_bytes = self.settled();
        let mut contested = Vec::new();
        // Synchronised copies are equal by construction if changes add up; there is nothing to compare.
        let compare = self.config.mode == MemberMode::Unsynchronised
            || self.config.conflict == super::ConflictRule::HomeWins;
        let slots: Vec<_> = if compare {
            self.space.moving().collect()
        } else {
            Vec::new()
        };
        for slot in slots {
            if !self.tracks.watched[slot.0 as usize] {
                continue;
            }
            let motion = *self.space.motion(slot);
            let frozen = self.space.is_frozen(slot);
            let track = self.tracks.of(slot);
            if track.reported != track.version {
                track.reported = track.version;
                contested.push(track.state(&motion, frozen));
            }
        }
        if self.me() == 0 {
            let tick = self.tick;
            for state in &contested {
                self.arbitrate(0, tick, state);
            }
            if let Some(arbiter) = &mut self.arbiter {
                arbiter.forget_before(tick.saturating_sub(4 * period));
            }
            if !settled_bytes.is_empty() {
                self.events.push_back(super::MemberEvent::ForServer {
                    tick: domain::Tick(tick),
                    states: settled_bytes,
                });
            }
            return;
        }
        if !contested.is_empty() {
            self.out[0].words.push(Word::Contested(contested));
        }
        if !settled_bytes.is_empty() {
            self.out[0].words.push(Word::Settled(settled_bytes));
        }
    }

    /// The bodies this member answers for that are not as the server was last told, whoever changed them: a member, a user, or who answered before.
    fn settled(&mut self) -> Vec<u8> {
        if !self.config.report_settled {
            return Vec::new();
        }
        let (me, space) = (self.me(), &self.space);
        let states: Vec<BodyState> = self
            .tracks
            .all()
            .filter(|(_, track)| track.home == me && track.settled != track.version)
            .map(|(slot, track)| {
                track.settled = track.version;
                track.state(space.motion(slot), space.is_frozen(slot))
            })
            .collect();
        settled(states.iter())
    }

    pub(super) fn arbitrate(&mut self, from: u32, tick: u64, state: &BodyState) {
        let Some(form) = self.catalogue.get(&state.body) else {
            self.counts.unknown += 1;
            return;
        };
        let radius = self.space.form(*form).geometry.radius();
        let Some(arbiter) = &mut self.arbiter else {
            return;
        };
        let Some(decision) = arbiter.report(from, tick, state, radius) else {
            return;
        };
        let state = BodyState {
            author: self.config.id,
            ..decision.state
        };
        // The decision is about that tick; whoever hears it later flies it forward. The leader hears it like anyone else.
        for reporter in decision.reporters {
            if reporter == 0 {
                self.arrived.push(super::member::Arrived {
                    state,
                    from: 0,
                    tick,
                    transfer: false,
                });
            } else {
                self.corrections.push((reporter, tick, state));
            }
        }
    }

    /// Corrections speak of the tick that was compared, not of the leader's own.
    pub(super) fn pack_corrections(&mut self) {
        for (to, tick, state) in std::mem::take(&mut self.corrections) {
            self.waiting.push_back(super::Transmit {
                to: domain::RegionId(to),
                reliable: false,
                parcel: wire::replicate::Parcel {
                    allocation: self.allocation,
                    from: self.config.id,
                    tick: domain::Tick(tick),
                    words: vec![Word::Correct(vec![state])],
                },
            });
        }
    }
}
