//! The way another station's body went between two of its samples, seen afterwards.

use super::Sample;
use crate::body::State;
use domain::SimTime;
use glam::DVec3;

/// Samples farther apart say nothing of the way between them.
const LONGEST_SECS: f64 = 0.2;

/// From one sample to the next, or one sample alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Leg {
    from: (SimTime, DVec3),
    to: (SimTime, DVec3),
    /// How far from the straight line it may have been in the middle.
    bend: f64,
    /// On average.
    pub velocity: DVec3,
}

impl Leg {
    /// Between two samples of a body that accelerates by about this much.
    pub fn between(from: &Sample, to: &Sample, acceleration: f64) -> Option<Self> {
        let secs = to.time.since(from.time).as_secs();
        if from.segment != to.segment || secs <= 0.0 || secs > LONGEST_SECS {
            return None;
        }
        Some(Self {
            from: (from.time, from.position),
            to: (to.time, to.position),
            bend: acceleration * secs * secs / 8.0,
            velocity: (to.position - from.position) / secs,
        })
    }

    /// A sample of its own.
    pub fn alone(sample: &Sample, velocity: DVec3) -> Self {
        let here = (sample.time, sample.position);
        Self {
            from: here,
            to: here,
            bend: 0.0,
            velocity,
        }
    }

    /// The time of its later end.
    pub fn end(&self) -> SimTime {
        self.to.0
    }

    /// Whether a body that moved so at its end was not within reach on all of it, unless it was four times as fast a moment before.
    pub fn is_far_from(&self, there: &State, reach: f64) -> bool {
        let secs = self.to.0.since(self.from.0).as_secs();
        let way = 4.0 * (there.velocity.length() + self.velocity.length()) * secs;
        there.position.distance(self.to.1) > reach + way + self.bend
    }

    /// Times on it, both ends included, where it was then, and by how much that may be wrong: not at all at the ends, like a bow.
    pub fn places(&self, step_secs: f64) -> impl Iterator<Item = (SimTime, DVec3, f64)> + '_ {
        let secs = self.to.0.since(self.from.0).as_secs();
        let steps = (secs / step_secs).ceil() as u32;
        (0..=steps).map(move |step| {
            let share = f64::from(step) / f64::from(steps.max(1));
            let time = self.from.0 + SimTime::from_secs(secs * share);
            let doubt = 4.0 * self.bend * share * (1.0 - share);
            (time, self.from.1.lerp(self.to.1, share), doubt)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(millis: u64, segment: u8, position: DVec3) -> Sample {
        Sample {
            time: SimTime(millis * 1_000_000),
            segment,
            position,
            velocity: None,
            acceleration: None,
        }
    }

    #[test]
    fn the_way_between_two_samples_is_known_but_for_its_bend() {
        let from = sample(100, 1, DVec3::ZERO);
        let to = sample(140, 1, DVec3::X * 20.0);
        let leg = Leg::between(&from, &to, 1_000.0).expect("near enough");
        assert_eq!(leg.velocity, DVec3::X * 500.0);
        let places: Vec<_> = leg.places(0.01).collect();
        assert_eq!(places.len(), 5);
        assert_eq!(places[0], (from.time, from.position, 0.0));
        assert_eq!(places[4], (to.time, to.position, 0.0));
        let (_, middle, doubt) = places[2];
        assert!(middle.distance(DVec3::X * 10.0) < 1e-9);
        assert!((doubt - 0.2).abs() < 1e-9, "a t² / 8");
        assert_eq!(Leg::alone(&to, DVec3::X).places(0.01).count(), 1);
    }

    #[test]
    fn a_bounce_or_a_long_silence_breaks_it() {
        let from = sample(100, 1, DVec3::ZERO);
        assert_eq!(Leg::between(&from, &sample(140, 2, DVec3::X), 0.0), None);
        assert_eq!(Leg::between(&from, &sample(400, 1, DVec3::X), 0.0), None);
        assert_eq!(Leg::between(&from, &from, 0.0), None);
    }
}
