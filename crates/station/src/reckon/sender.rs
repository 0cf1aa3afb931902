//! When a master's owner sends an update (ML-3, ML-4, ML-10): when the others would otherwise be too wrong about it, and why else.

use super::kalman::Kalman;
use super::{History, Sample};
use crate::body::State;
use crate::messages::{Update, on_grid, whole_micros};
use crate::settings::{HistoryReset, Predictor, ReckoningSettings};
use domain::{BodyId, SimTime};
use glam::DVec3;

/// Slower than this share of the threshold per frame is rest.
const REST_SHARE: f64 = 1e-3;
/// Updates of a stretch this young can carry velocities: one of them will arrive.
const YOUNG: SimTime = SimTime(250_000_000);

/// What the sender should know of the world around the body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings {
    /// Gap to the nearest body of another station.
    pub gap: f64,
    /// Seconds until a contact if both made straight for each other.
    pub contact_secs: f64,
    /// The longest measured delay to a peer.
    pub delay: SimTime,
}

/// The master itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject {
    pub body: BodyId,
    pub segment: u8,
    pub state: State,
}

/// One master's sender.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    /// What was sent: what the others have, if nothing was lost.
    sent: History,
    sent_at: Option<SimTime>,
    /// Deviation integrated since the last update, for the time–space rule.
    integral: f64,
    /// Closed loop: the threshold as a multiple of the plain one.
    share: f64,
    /// Updates that go out whatever the rules say.
    forced: u8,
    /// Since when the present stretch lasts, from the first frame after the bounce on.
    stretch_since: Option<SimTime>,
    velocity_before: Option<DVec3>,
    kalman: Option<Kalman>,
    at: Option<SimTime>,
}

impl Default for Sender {
    fn default() -> Self {
        Self {
            sent: History::default(),
            sent_at: None,
            integral: 0.0,
            share: 1.0,
            forced: 1,
            stretch_since: None,
            velocity_before: None,
            kalman: None,
            at: None,
        }
    }
}

impl Sender {
    /// The body bounced: what was sent before says nothing about what comes now. `shared`: the receivers know of the hit.
    pub fn handle_bounce(&mut self, settings: &ReckoningSettings, shared: bool) {
        let repeats = settings.sender.bounce_repeats;
        self.forced = 1 + repeats;
        self.stretch_since = None;
        self.kalman = None;
        self.velocity_before = None;
        let forget = match settings.reset {
            HistoryReset::None => false,
            HistoryReset::ByTime => shared,
            HistoryReset::BySegment => true,
        };
        if forget {
            self.sent.clear();
        }
    }

    /// A receiver reports how wrong it was (closed loop).
    pub fn handle_report(&mut self, deviation: f64, settings: &ReckoningSettings) {
        let Some(closed) = settings.sender.closed_loop else {
            return;
        };
        // A quarter of the way each time: reports are late, and a quick loop would swing.
        let wanted = (closed.goal / deviation.max(1e-9)).clamp(0.5, 2.0);
        let share = self.share * (0.75 + 0.25 * wanted);
        self.share = share.clamp(closed.min_share, closed.max_share);
    }

    /// What the receivers believe, as far as we know.
    pub fn believed(&self, now: SimTime, settings: &ReckoningSettings) -> Option<State> {
        Some(self.sent.course(settings)?.at(now))
    }

    /// The update to send in this frame, if any.
    pub fn poll(
        &mut self,
        now: SimTime,
        subject: &Subject,
        around: &Surroundings,
        settings: &ReckoningSettings,
        steps_per_unit: f64,
    ) -> Option<Update> {
        let state = &subject.state;
        let elapsed = self.at.map_or(0.0, |at| now.since(at).as_secs());
        self.at = Some(now);
        self.stretch_since.get_or_insert(now);
        self.filter(now, state, settings);
        let error = self
            .believed(now, settings)
            .map_or(f64::INFINITY, |believed| {
                believed.position.distance(state.position)
            });
        self.integral += error * elapsed;
        let due = self.is_due(now, error, state, around, settings);
        self.velocity_before = Some(state.velocity);
        if !due {
            return None;
        }
        let update = self.compose(now, subject, around, settings, steps_per_unit);
        self.sent.insert(Sample::from(&update), settings.reset);
        self.sent_at = Some(now);
        self.integral = 0.0;
        self.forced = self.forced.saturating_sub(1);
        Some(update)
    }

    fn is_due(
        &self,
        now: SimTime,
        error: f64,
        state: &State,
        around: &Surroundings,
        settings: &ReckoningSettings,
    ) -> bool {
        let policies = &settings.sender;
        let silent = self.sent_at.map(|at| now.since(at));
        let waited = |time: SimTime| silent.is_none_or(|silent| silent >= time);
        let near = policies
            .proximity_rate
            .is_some_and(|rate| around.contact_secs <= rate.within.as_secs() && waited(rate.every));
        let integrated = policies
            .time_space
            .is_some_and(|limit| self.integral > limit);
        self.forced > 0
            || waited(settings.keepalive)
            || near
            || integrated
            || error > self.threshold(around, settings)
            || self.changes_abruptly(state, settings)
    }

    /// The plain threshold, closer where somebody is near (Cai), scaled to what receivers report (Kenny).
    fn threshold(&self, around: &Surroundings, settings: &ReckoningSettings) -> f64 {
        let near = settings.sender.distance.map_or(1.0, |distance| {
            let way = (around.gap / distance.far).clamp(0.0, 1.0);
            distance.near_share + (1.0 - distance.near_share) * way
        });
        settings.threshold * near * self.share
    }

    /// Pre-reckoning: starts, stops, sharp turns.
    fn changes_abruptly(&self, state: &State, settings: &ReckoningSettings) -> bool {
        let (Some(degrees), Some(before)) =
            (settings.sender.pre_reckoning_deg, self.velocity_before)
        else {
            return false;
        };
        let rest = settings.threshold * REST_SHARE;
        let (was_still, is_still) = (before.length() <= rest, state.velocity.length() <= rest);
        if was_still || is_still {
            return was_still != is_still;
        }
        before.angle_between(state.velocity).to_degrees() > degrees
    }

    fn filter(&mut self, now: SimTime, state: &State, settings: &ReckoningSettings) {
        let Some(lead) = &settings.sender.kalman_lead else {
            return;
        };
        match &mut self.kalman {
            Some(kalman) => kalman.observe(now, state.position, lead),
            None => self.kalman = Some(Kalman::new(now, *state)),
        }
    }

    fn compose(
        &self,
        now: SimTime,
        subject: &Subject,
        around: &Surroundings,
        settings: &ReckoningSettings,
        steps_per_unit: f64,
    ) -> Update {
        let (time, state) = match (&settings.sender.kalman_lead, &self.kalman) {
            (Some(lead), Some(kalman)) => {
                let by = around.delay.min(lead.max_lead);
                (now + by, kalman.ahead(by))
            }
            _ => (now, subject.state),
        };
        let young = self
            .stretch_since
            .is_none_or(|since| now.since(since) < YOUNG);
        let keyframe = settings.sender.velocity_at_bounce && young;
        // The first of all carries everything: whoever did not know the body before knows it then.
        let dis = settings.predictor == Predictor::Dis || self.sent_at.is_none();
        let grid = |vector| on_grid(vector, steps_per_unit);
        Update {
            body: subject.body,
            time: whole_micros(time),
            segment: subject.segment,
            position: grid(state.position),
            velocity: (dis || keyframe).then(|| grid(state.velocity)),
            acceleration: dis.then(|| grid(state.acceleration)),
        }
    }
}
