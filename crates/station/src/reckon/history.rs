//! The last few samples of a body's motion, and the curve through them (ML-3, ML-4).
//!
//! Three footprints in the snow: from the first two you know the pace, from all three whether the walker turns. Sender and receiver
//! keep the same kind of history, the sender's of what it sent: that is how it knows what the others believe.

use crate::body::State;
use crate::geometry::Course;
use crate::messages::Update;
use crate::settings::{Curve, HistoryReset, ReckoningSettings};
use domain::SimTime;
use glam::DVec3;

/// As many samples as second order needs.
const DEPTH: usize = 3;
/// A turn at constant speed: what it gains or loses in speed is no more than this share of what it turns.
const SIDEWAYS: f64 = 0.2;

/// One sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    pub time: SimTime,
    pub segment: u8,
    pub position: DVec3,
    pub velocity: Option<DVec3>,
    pub acceleration: Option<DVec3>,
}

impl From<&Update> for Sample {
    fn from(update: &Update) -> Self {
        Self {
            time: update.time,
            segment: update.segment,
            position: update.position,
            velocity: update.velocity,
            acceleration: update.acceleration,
        }
    }
}

/// Up to three samples in the order of their own times, whatever the order in which they came.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct History {
    samples: Vec<Sample>,
    /// Nothing stamped up to here is wanted any more.
    forgotten: Option<SimTime>,
}

impl History {
    /// Takes a sample; says whether it was of use. Duplicates, and what is older than all that is kept, are not (ML-9).
    pub fn insert(&mut self, sample: Sample, reset: HistoryReset) -> bool {
        if self.forgotten.is_some_and(|time| sample.time <= time) {
            return false;
        }
        if reset == HistoryReset::BySegment
            && let Some(newest) = self.samples.last()
        {
            match sample.segment.wrapping_sub(newest.segment) as i8 {
                0 => {}
                ..0 => return false,
                _ => self.samples.clear(),
            }
        }
        let place = self.samples.partition_point(|kept| kept.time < sample.time);
        if self
            .samples
            .get(place)
            .is_some_and(|kept| kept.time == sample.time)
        {
            return false;
        }
        if place == 0 && self.samples.len() == DEPTH {
            return false;
        }
        self.samples.insert(place, sample);
        if self.samples.len() > DEPTH {
            self.samples.remove(0);
        }
        true
    }

    /// Forgets all samples stamped up to this time.
    pub fn forget_until(&mut self, time: SimTime) {
        self.samples.retain(|sample| sample.time > time);
        self.forgotten = Some(self.forgotten.map_or(time, |before| before.max(time)));
    }

    pub fn clear(&mut self) {
        self.samples.clear();
    }

    /// The samples before and after the one of this time.
    pub fn around(&self, time: SimTime) -> [Option<&Sample>; 2] {
        let before = self.samples.iter().rfind(|sample| sample.time < time);
        let after = self.samples.iter().find(|sample| sample.time > time);
        [before, after]
    }

    pub fn newest(&self) -> Option<&Sample> {
        self.samples.last()
    }

    /// The first sample of the present stretch.
    pub fn oldest(&self) -> Option<&Sample> {
        self.samples.first()
    }

    /// How many samples are stamped after this time.
    pub fn newer_than(&self, time: SimTime) -> usize {
        self.samples
            .iter()
            .filter(|sample| sample.time > time)
            .count()
    }

    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// How long between the newest two.
    pub fn interval(&self) -> Option<SimTime> {
        match self.samples[..] {
            [.., before, newest] => Some(newest.time.since(before.time)),
            _ => None,
        }
    }

    /// What the samples foretell.
    pub fn course(&self, settings: &ReckoningSettings) -> Option<Course> {
        let newest = self.samples.last()?;
        let course = match (newest.velocity, newest.acceleration) {
            (Some(velocity), Some(acceleration)) => dis(newest, velocity, acceleration, settings),
            _ => self.fit(settings),
        };
        Some(course.straight_after(settings.horizon))
    }

    fn fit(&self, settings: &ReckoningSettings) -> Course {
        match self.samples[..] {
            [one, two, three] => through_three(&one, &two, &three, settings),
            [before, newest] if settings.curve == Curve::Turn && before.velocity.is_some() => {
                through_two(&before, &newest, settings)
            }
            [.., before, newest] => {
                Course::straight(newest.time, newest.position, leg(&before, &newest))
            }
            [only] => Course::straight(only.time, only.position, only.velocity.unwrap_or_default()),
            [] => Course::straight(SimTime::ZERO, DVec3::ZERO, DVec3::ZERO),
        }
    }
}

fn dis(
    newest: &Sample,
    velocity: DVec3,
    acceleration: DVec3,
    settings: &ReckoningSettings,
) -> Course {
    let state = State {
        position: newest.position,
        velocity,
        acceleration,
    };
    match settings.curve {
        Curve::Turn => Course::turn_or_parabola(newest.time, state),
        Curve::Adaptive | Curve::SecondOrder => Course::parabola(newest.time, state),
    }
}

/// The mean velocity between two samples.
fn leg(early: &Sample, late: &Sample) -> DVec3 {
    (late.position - early.position) / late.time.since(early.time).as_secs()
}

fn through_three(
    one: &Sample,
    two: &Sample,
    three: &Sample,
    settings: &ReckoningSettings,
) -> Course {
    let (before, last) = (leg(one, two), leg(two, three));
    let angle = before.angle_between(last);
    let turning = angle.is_finite()
        && angle >= settings.min_turn_deg.to_radians()
        && angle <= settings.max_turn_deg.to_radians();
    match settings.curve {
        Curve::SecondOrder => second_order(one, two, three, before, last),
        _ if !turning => Course::straight(three.time, three.position, last),
        Curve::Adaptive => second_order(one, two, three, before, last),
        Curve::Turn => turn(one, two, three, before, last, angle)
            .unwrap_or_else(|| second_order(one, two, three, before, last)),
    }
}

/// Where it was going at the first sample, and where it was at the second: enough for a turn, too.
fn through_two(one: &Sample, two: &Sample, settings: &ReckoningSettings) -> Course {
    let (start, chord) = (one.velocity.unwrap_or_default(), leg(one, two));
    let secs = two.time.since(one.time).as_secs();
    // The chord points where the path points half-way through its time.
    let angle = start.angle_between(chord);
    let straight = Course::straight(two.time, two.position, chord);
    let turning = 2.0 * angle >= settings.min_turn_deg.to_radians()
        && 2.0 * angle <= settings.max_turn_deg.to_radians();
    if !turning {
        return straight;
    }
    let Some(axis) = start.cross(chord).try_normalize() else {
        return straight;
    };
    let velocity = crate::geometry::turned(start, axis, 2.0 * angle);
    Course::turn(
        two.time,
        two.position,
        velocity,
        axis * (2.0 * angle / secs),
    )
}

fn second_order(one: &Sample, two: &Sample, three: &Sample, before: DVec3, last: DVec3) -> Course {
    let acceleration = (last - before) * (2.0 / three.time.since(one.time).as_secs());
    let state = State {
        position: three.position,
        velocity: last + acceleration * (0.5 * three.time.since(two.time).as_secs()),
        acceleration,
    };
    Course::parabola(three.time, state)
}

/// The circle through three points: each leg is a chord, and points where the path points half-way through its time.
fn turn(
    one: &Sample,
    two: &Sample,
    three: &Sample,
    before: DVec3,
    last: DVec3,
    angle: f64,
) -> Option<Course> {
    let axis = before.cross(last).try_normalize()?;
    let rate = angle / (0.5 * three.time.since(one.time).as_secs());
    // A chord is shorter than its arc.
    let speed = |leg: DVec3, secs: f64| {
        let half = 0.5 * rate * secs;
        leg.length() * half / libm::sin(half)
    };
    let (early_secs, late_secs) = (
        two.time.since(one.time).as_secs(),
        three.time.since(two.time).as_secs(),
    );
    let (early, late) = (speed(before, early_secs), speed(last, late_secs));
    let along = (late - early) / (0.5 * (early_secs + late_secs));
    if along.abs() > SIDEWAYS * rate * late || !late.is_finite() {
        return None;
    }
    let heading = crate::geometry::turned(last.try_normalize()?, axis, 0.5 * rate * late_secs);
    Some(Course::turn(
        three.time,
        three.position,
        heading * late,
        axis * rate,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> SimTime {
        SimTime(millis * 1_000_000)
    }

    fn sample(at: u64, position: DVec3) -> Sample {
        Sample {
            time: ms(at),
            segment: 0,
            position,
            velocity: None,
            acceleration: None,
        }
    }

    fn history(samples: &[(u64, DVec3)]) -> History {
        let mut history = History::default();
        for (at, position) in samples {
            history.insert(sample(*at, *position), HistoryReset::BySegment);
        }
        history
    }

    fn circle(at: u64) -> DVec3 {
        let angle = at as f64 * 1e-3 * 6.25;
        DVec3::new(80.0 * angle.cos(), 80.0 * angle.sin(), 0.0)
    }

    // ML-4: one sample holds, two give first order, three second; the switch is the turn.
    #[test]
    fn order_follows_from_the_samples() {
        let settings = ReckoningSettings::default();
        let at = |history: &History, t| {
            history
                .course(&settings)
                .expect("samples")
                .at(ms(t))
                .position
        };
        let one = history(&[(0, DVec3::X)]);
        assert_eq!(at(&one, 300), DVec3::X);
        let two = history(&[(0, DVec3::ZERO), (100, DVec3::X)]);
        assert_eq!(at(&two, 300), DVec3::X * 3.0);
        let parabola = |t: u64| DVec3::new(t as f64, 1e-3 * (t * t) as f64, 0.0);
        let three = history(&[(0, parabola(0)), (100, parabola(100)), (180, parabola(180))]);
        assert!(
            (at(&three, 300) - parabola(300)).length() < 1e-9,
            "second order is exact on a parabola"
        );
        let nearly = history(&[
            (0, DVec3::ZERO),
            (100, DVec3::X),
            (200, DVec3::new(2.0, 0.03, 0.0)),
        ]);
        assert_eq!(
            at(&nearly, 300),
            DVec3::new(3.0, 0.06, 0.0),
            "below 2°: first order"
        );
        let corner = history(&[
            (0, DVec3::ZERO),
            (100, DVec3::X),
            (200, DVec3::new(1.0, 1.0, 0.0)),
        ]);
        assert!(
            (at(&corner, 300) - DVec3::new(1.0, 2.0, 0.0)).length() < 1e-12,
            "above 60°: first order"
        );
    }

    #[test]
    fn a_turn_is_exact_on_a_circle_where_a_parabola_is_not() {
        let past = history(&[(0, circle(0)), (50, circle(50)), (90, circle(90))]);
        let error = |curve| {
            let settings = ReckoningSettings {
                curve,
                ..ReckoningSettings::default()
            };
            let course = past.course(&settings).expect("samples");
            (course.at(ms(240)).position - circle(240)).length()
        };
        assert!(error(Curve::Turn) < 1e-9);
        assert!(error(Curve::Adaptive) > 10.0, "{}", error(Curve::Adaptive));
    }

    #[test]
    fn two_samples_are_enough_for_a_turn_if_the_first_has_a_velocity() {
        let mut past = History::default();
        let start = Sample {
            velocity: Some(DVec3::Y * 500.0),
            acceleration: Some(DVec3::X * -3125.0),
            ..sample(0, circle(0))
        };
        past.insert(start, HistoryReset::BySegment);
        past.insert(sample(60, circle(60)), HistoryReset::BySegment);
        let settings = ReckoningSettings {
            curve: Curve::Turn,
            ..ReckoningSettings::default()
        };
        let course = past.course(&settings).expect("samples");
        assert!((course.at(ms(200)).position - circle(200)).length() < 1e-9);
    }

    // ML-9: whatever the order of arrival, the history is the same, and old samples never displace newer ones.
    #[test]
    fn order_of_arrival_does_not_matter() {
        let all: Vec<(u64, DVec3)> = (1..=5).map(|i| (i * 20, circle(i * 20))).collect();
        let right = history(&all);
        for order in [[4, 3, 2, 1, 0], [2, 0, 4, 4, 3], [0, 4, 2, 3, 1]] {
            let shuffled: Vec<_> = order.iter().map(|i| all[*i]).collect();
            assert_eq!(history(&shuffled), right);
        }
        assert!(
            !right
                .clone()
                .insert(sample(20, circle(20)), HistoryReset::BySegment)
        );
    }

    // ML-8: a new stretch forgets the old; a straggler of the old one is not taken.
    #[test]
    fn a_bounce_starts_a_new_stretch() {
        let mut past = history(&[(0, DVec3::ZERO), (20, DVec3::X)]);
        let bounced = Sample {
            segment: 1,
            velocity: Some(-DVec3::X * 50.0),
            ..sample(60, DVec3::X)
        };
        assert!(past.insert(bounced, HistoryReset::BySegment));
        assert!(!past.insert(sample(40, DVec3::X * 2.0), HistoryReset::BySegment));
        let course = past
            .course(&ReckoningSettings::default())
            .expect("a sample");
        assert_eq!(course.at(ms(80)).position, DVec3::ZERO);
        let mut mixed = history(&[(0, DVec3::ZERO), (20, DVec3::X)]);
        assert!(mixed.insert(bounced, HistoryReset::None));
        assert_eq!(mixed.len(), 3, "without reset the corner stays in");
    }
}
