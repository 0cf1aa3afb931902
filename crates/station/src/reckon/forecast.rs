//! How wrong forecasts have been, and so how wrong the present one may be: the confidence behind the gate (G2).
//!
//! A weather service that wants to know how good its five-day forecast is looks up what it said five days ago. So does this: the
//! last few courses are kept, and each new sample says how far each of them was off, as many milliseconds ahead as it
//! is old. A body that moves as foretold is trusted far ahead; one that weaves is not, and less the farther one looks.

use crate::geometry::Course;
use domain::SimTime;
use glam::DVec3;
use std::collections::VecDeque;

/// Errors are kept by how far ahead the forecast was, in steps of this ...
const STEP_SECS: f64 = 0.02;
/// ... up to half a second.
const STEPS: usize = 25;
/// So many courses are remembered.
const COURSES: usize = 16;
/// How much of what was learned is left after each lesson: the last eight or so count.
const MEMORY: f64 = 0.875;
/// What is not known yet is taken from what is, growing with this power of the time: a turn rate that changes errs with the cube.
const GROWTH: i32 = 3;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Lesson {
    squares: f64,
    weight: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Forecasts {
    /// Each with the time of the newest sample it was made from.
    courses: VecDeque<(SimTime, Course)>,
    lessons: [Lesson; STEPS],
}

impl Forecasts {
    /// A new course was made from samples up to this time.
    pub fn remember(&mut self, basis: SimTime, course: Course) {
        if self.courses.len() == COURSES {
            self.courses.pop_front();
        }
        self.courses.push_back((basis, course));
    }

    /// At this time it was there: how far off were the courses made before?
    pub fn learn(&mut self, time: SimTime, position: DVec3) {
        for (basis, course) in &self.courses {
            let ahead = time.since(*basis).as_secs();
            let step = (ahead / STEP_SECS).round() as usize;
            let error = course.at(time).position.distance(position);
            if let Some(lesson) = step
                .checked_sub(1)
                .and_then(|step| self.lessons.get_mut(step))
                && error.is_finite()
            {
                lesson.squares = lesson.squares * MEMORY + error * error;
                lesson.weight = lesson.weight * MEMORY + 1.0;
            }
        }
    }

    /// A new stretch of motion: old courses say nothing about it. What was learned about the mover stays.
    pub fn restart(&mut self) {
        self.courses.clear();
    }

    /// Whether no forecast has been put to the test yet.
    pub fn knows_nothing(&self) -> bool {
        self.lessons.iter().all(|lesson| lesson.weight == 0.0)
    }

    /// How wrong a forecast this far ahead usually is; never less than one less far ahead.
    pub fn error(&self, ahead_secs: f64) -> f64 {
        let ahead = (ahead_secs / STEP_SECS).max(0.0);
        let mut worst = 0.0_f64;
        for (step, lesson) in (1..).zip(&self.lessons) {
            let step = f64::from(step);
            if lesson.weight == 0.0 {
                continue;
            }
            let error = (lesson.squares / lesson.weight).sqrt();
            if step <= ahead {
                // Beyond what is known it grows.
                worst = worst.max(error);
                let known = self.knows_beyond(step);
                if !known {
                    worst = worst.max(error * (ahead / step).powi(GROWTH));
                }
            } else {
                // Nearer than what is known it shrinks.
                worst = worst.max(error * (ahead / step).powi(GROWTH));
                break;
            }
        }
        worst
    }

    fn knows_beyond(&self, step: f64) -> bool {
        self.lessons[(step as usize).min(STEPS)..]
            .iter()
            .any(|lesson| lesson.weight > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> SimTime {
        SimTime(millis * 1_000_000)
    }

    #[test]
    fn errors_are_those_of_forecasts_as_far_ahead() {
        let mut forecasts = Forecasts::default();
        assert_eq!(forecasts.error(1.0), 0.0, "nothing was ever wrong");
        // A body that accelerates, and forecasts that do not know it: off by t².
        let place = |t: u64| DVec3::X * (t as f64 * 0.01).powi(2);
        for t in (0..2_000).step_by(20) {
            forecasts.learn(ms(t), place(t));
            let velocity = DVec3::X * (2.0 * 1e-4 * t as f64 * 1_000.0);
            forecasts.remember(ms(t), Course::straight(ms(t), place(t), velocity));
        }
        for ahead in [40_u64, 100, 200, 300] {
            let expected = (ahead as f64 * 0.01).powi(2);
            let error = forecasts.error(ahead as f64 * 1e-3);
            assert!(
                (error / expected - 1.0).abs() < 0.05,
                "{ahead} ms: {error}, not {expected}"
            );
        }
        assert!(
            forecasts.error(0.6) > forecasts.error(0.32) * 4.0,
            "unknown: it grows"
        );
    }
}
