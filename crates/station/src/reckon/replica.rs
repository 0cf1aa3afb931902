//! Another station's body, as shown here: it follows its updates, or for a short while the bounce seen here (ML-8).

use super::converge::Smoother;
use super::forecast::Forecasts;
use super::{History, Leg, Sample};
use crate::body::State;
use crate::geometry::{Course, signed_secs};
use crate::ids::StationId;
use crate::settings::{HistoryReset, ReckoningSettings};
use domain::SimTime;
use glam::DVec3;

/// The bounce computed or told here, which the replica follows until its owner's updates have caught up with it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Correction {
    course: Course,
    /// When it was played here, and when this ends at the latest.
    at: SimTime,
    until: SimTime,
    /// The number of the master's stretch that was known then.
    segment: Option<u8>,
}

/// Before any forecast was put to the test, a body may stray by this share of its way.
const UNKNOWN_SHARE: f64 = 0.1;
/// More ways than this are not looked at in a frame.
const MOST_LEGS: usize = 64;
/// A new stretch that began this long before a hit, or later, began with that hit.
const SAME_BOUNCE: SimTime = SimTime(100_000_000);

#[derive(Clone, Debug)]
pub(crate) struct Replica {
    pub owner: StationId,
    history: History,
    /// The number of the master's present stretch and its first sample's time, if we saw another before it.
    stretch: Option<(u8, SimTime)>,
    /// What the history foretells; made anew when it changes.
    net: Course,
    forecasts: Forecasts,
    correction: Option<Correction>,
    /// Ways that the samples since the last frame have shown.
    legs: Vec<Leg>,
    smoother: Smoother,
    /// What is shown, as of the last frame.
    shown: State,
    /// How wrong it was when the last update came: for closed-loop reports.
    pub last_deviation: Option<f64>,
    pub reported_at: SimTime,
}

impl Replica {
    pub fn new(owner: StationId, at: SimTime, state: State) -> Self {
        Self {
            owner,
            history: History::default(),
            stretch: None,
            net: Course::parabola(at, state),
            forecasts: Forecasts::default(),
            correction: None,
            legs: Vec::new(),
            smoother: Smoother::default(),
            shown: state,
            last_deviation: None,
            reported_at: SimTime::ZERO,
        }
    }

    /// The start state is of this time: before the first frame nobody knows which. It counts as a first sample.
    pub fn start_at(&mut self, now: SimTime, settings: &ReckoningSettings) {
        let state = self.net.at(self.net.from());
        let start = Sample {
            time: now,
            segment: 0,
            position: state.position,
            velocity: Some(state.velocity),
            acceleration: Some(state.acceleration),
        };
        self.history.insert(start, settings.reset);
        self.net = self.history.course(settings).unwrap_or(self.net);
    }

    /// An update arrived. Says whether it was of use.
    pub fn handle_update(
        &mut self,
        now: SimTime,
        sample: Sample,
        settings: &ReckoningSettings,
    ) -> bool {
        let foretold = self.net.at(sample.time).position;
        let basis = self.history.newest().copied();
        if !self.history.insert(sample, settings.reset) {
            return false;
        }
        if basis.is_some_and(|basis| basis.segment != sample.segment) {
            self.stretch = Some((sample.segment, sample.time));
            self.forecasts.restart();
        }
        self.forecasts.learn(sample.time, sample.position);
        let newest = self
            .history
            .newest()
            .is_some_and(|newest| newest.time == sample.time);
        if newest {
            self.last_deviation = Some(foretold.distance(sample.position));
        }
        if let Some(course) = self.history.course(settings) {
            // A lone position says nothing of where it is going: as before, until the next one tells.
            let course = match self.history.len() == 1 && sample.velocity.is_none() {
                true => Course::straight(
                    sample.time,
                    sample.position,
                    self.net.at(sample.time).velocity,
                ),
                false => course,
            };
            // Courses through too few samples are known to be bad; nothing is learned from that.
            if self.history.len() > 2 || sample.velocity.is_some() {
                let basis = self.history.newest().map_or(now, |newest| newest.time);
                self.forecasts.remember(basis, course);
            }
            self.follow(now, course, settings);
        }
        self.show_ways(&sample);
        true
    }

    /// Between this sample and its neighbours.
    fn show_ways(&mut self, sample: &Sample) {
        if self.legs.len() >= MOST_LEGS {
            return;
        }
        let course = self.net.at(sample.time);
        let bend = course.acceleration.length();
        let [before, after] = self.history.around(sample.time);
        let legs = [
            before.and_then(|before| Leg::between(before, sample, bend)),
            after.and_then(|after| Leg::between(sample, after, bend)),
        ];
        if legs == [None; 2] {
            self.legs.push(Leg::alone(sample, course.velocity));
        }
        self.legs.extend(legs.into_iter().flatten());
    }

    /// Whether there are new ways to look at.
    pub fn has_legs(&self) -> bool {
        !self.legs.is_empty()
    }

    /// The ways shown since this was last asked.
    pub fn take_legs(&mut self) -> Vec<Leg> {
        std::mem::take(&mut self.legs)
    }

    /// Goes on from what is shown now to another forecast.
    fn follow(&mut self, now: SimTime, course: Course, settings: &ReckoningSettings) {
        let before = self.shown_at(now);
        self.net = course;
        if self.correction.is_none() {
            self.smooth_from(now, before, settings);
        }
    }

    fn smooth_from(&mut self, now: SimTime, before: State, settings: &ReckoningSettings) {
        let interval = self.history.interval();
        self.smoother.restart(
            settings.convergence,
            now,
            before,
            self.net.at(now),
            interval,
        );
    }

    /// Time moves on: correction ends when it is no longer needed.
    pub fn advance(&mut self, now: SimTime, settings: &ReckoningSettings) {
        if let Some(correction) = self.correction
            && (now > correction.until || self.has_caught_up(&correction, settings))
        {
            let before = correction.course.at(now);
            if settings.reset == HistoryReset::ByTime && now <= correction.until {
                self.history.forget_until(correction.at);
                if let Some(course) = self.history.course(settings) {
                    self.net = course;
                }
            }
            self.correction = None;
            self.smooth_from(now, before, settings);
        }
        self.shown = self.shown_at(now);
    }

    /// Whether the owner's updates speak of the time after the bounce.
    fn has_caught_up(&self, correction: &Correction, settings: &ReckoningSettings) -> bool {
        let Some(newest) = self.history.newest() else {
            return false;
        };
        // A sample with its velocity is enough to go on from; without, it takes two.
        let needed = if newest.velocity.is_some() { 1 } else { 2 };
        match settings.reset {
            HistoryReset::BySegment => {
                let new_stretch = correction.segment != Some(newest.segment);
                new_stretch && (self.history.len() >= needed || self.begins_with_velocity())
            }
            HistoryReset::ByTime | HistoryReset::None => {
                self.history.newer_than(correction.at) >= needed
            }
        }
    }

    fn begins_with_velocity(&self) -> bool {
        self.history
            .oldest()
            .is_some_and(|oldest| oldest.velocity.is_some())
    }

    /// Bounced, as seen or told here: from `position` on at `velocity`. Not needed if the owner's updates are past it already.
    pub fn bounce(
        &mut self,
        now: SimTime,
        hit: SimTime,
        position: DVec3,
        velocity: DVec3,
        settings: &ReckoningSettings,
    ) {
        let by_segment = settings.reset == HistoryReset::BySegment;
        let began = self.stretch.filter(|_| by_segment).map(|(_, began)| began);
        if began.is_some_and(|began| began + SAME_BOUNCE >= hit) {
            return;
        }
        self.correction = Some(Correction {
            course: Course::straight(now, position, velocity),
            at: now,
            until: now + settings.correction,
            segment: self.history.newest().map(|newest| newest.segment),
        });
        self.shown = State::moving(position, velocity);
    }

    /// The bounce is settled differently: its velocity changes by this much.
    pub fn amend(&mut self, now: SimTime, change: DVec3) {
        if let Some(correction) = &mut self.correction {
            correction.course = correction.course.with_kick(now, change);
            self.shown = correction.course.at(now);
        }
    }

    /// Where it is shown if it is not locked.
    pub fn shown_at(&self, now: SimTime) -> State {
        if let Some(correction) = &self.correction {
            return correction.course.at(now);
        }
        let net = self.net.at(now);
        State {
            position: net.position + self.smoother.offset(now),
            ..net
        }
    }

    /// It is shown somewhere else (a lock): it will go on from there.
    pub fn show(&mut self, state: State) {
        self.shown = state;
    }

    /// A lock ended without a bounce: back to the forecast, from where it is shown.
    pub fn release(&mut self, now: SimTime, settings: &ReckoningSettings) {
        if self.correction.is_none() {
            let before = self.shown;
            self.smooth_from(now, before, settings);
        }
    }

    pub fn net(&self, now: SimTime) -> State {
        self.net.at(now)
    }

    /// The newest place its owner has told, and when it was there.
    pub fn last_told(&self) -> Option<(SimTime, DVec3)> {
        self.history
            .newest()
            .map(|newest| (newest.time, newest.position))
    }

    pub fn shown(&self) -> State {
        self.shown
    }

    /// How far off it may be `ahead` seconds from now (G2): nothing but the threshold if all forecasts came true, its whole way if
    /// nothing is known of the stretch it is on.
    pub fn uncertainty(&self, now: SimTime, ahead: f64, settings: &ReckoningSettings) -> f64 {
        let basis = self
            .history
            .newest()
            .map_or(self.net.from(), |newest| newest.time);
        let age = signed_secs(now, basis).max(0.0) + ahead;
        let way = self.shown.velocity.length() * age;
        let unknown = match (self.is_guess(), self.forecasts.knows_nothing()) {
            (true, _) => way,
            (false, true) => UNKNOWN_SHARE * way,
            (false, false) => 0.0,
        };
        0.5 * settings.threshold + self.forecasts.error(age).max(unknown)
    }

    /// Whether its course is no more than a guess: a bounce its owner has not spoken of yet, or a lone position.
    fn is_guess(&self) -> bool {
        let lone = self.history.len() < 2
            && self
                .history
                .newest()
                .is_none_or(|newest| newest.velocity.is_none());
        self.correction.is_some() || lone
    }
}
