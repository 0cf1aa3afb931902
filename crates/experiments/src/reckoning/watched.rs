//! One drive, seen by a receiver with a local and with a global clock, from one and the same stream of vectors (DR-10).

use super::motion::Motion;
use super::playback::Playback;
use super::trace::{Trace, frames};
use domain::{BodyId, SimTime};
use reckoning::fairness::Link;
use reckoning::motion::{ClockMode, Receiver};

/// Counted from here on: by then every receiver has something.
const START_SECS: f64 = 1.0;
/// Fig. 2.2 shows this part of a run: 25 to 30 s.
const WINDOW: std::ops::RangeInclusive<SimTime> = SimTime(25_000_000_000)..=SimTime(30_000_000_000);
/// An error below this counts as none, units: about what the trigger lets pass.
pub(super) const NONE_M: f64 = 0.15;

/// Error of one placed path over a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PathError {
    sum: f64,
    pub frames: f64,
    pub most: f64,
    none: f64,
}

impl PathError {
    fn add(&mut self, error: f64) {
        self.sum += error;
        self.frames += 1.0;
        self.most = self.most.max(error);
        self.none += f64::from(u8::from(error <= NONE_M));
    }

    pub fn mean(&self) -> f64 {
        self.sum / self.frames.max(1.0)
    }

    /// The part of the time without an error worth mentioning.
    pub fn none(&self) -> f64 {
        self.none / self.frames.max(1.0)
    }
}

/// What one receiver saw of one drive.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Watched {
    pub local: PathError,
    pub global: PathError,
    /// Part of the time in which the global clock's error is the larger one ...
    pub worse: f64,
    /// ... and the part of that in which the tank is slower than the receiver believes: it brakes, stops or reverses.
    pub worse_braking: f64,
    pub triggers_per_sec: f64,
    /// Time, local error, global error; in the window of Fig. 2.2 only.
    pub window: Vec<(f64, f64, f64)>,
}

/// Drives and watches.
pub(super) fn watch(motion: Motion, delay_ms: f64, seed: u64, secs: f64) -> Watched {
    let trace = Trace::record(motion, BodyId(1), seed, secs);
    let link = Link::fixed(delay_ms);
    let mut playback = Playback::new(&trace, &link, &link, seed);
    let mut local = Receiver::new(BodyId(1), ClockMode::Local);
    let mut global = Receiver::new(BodyId(1), ClockMode::Global);
    let mut watched = Watched {
        triggers_per_sec: trace.rate(),
        ..Watched::default()
    };
    for now in frames(trace.duration) {
        for arrival in playback.due(now) {
            for receiver in [&mut local, &mut global] {
                receiver
                    .receive(arrival.at, &arrival.vector)
                    .expect("a fixed delay keeps the order");
            }
        }
        let (Some(lagging), Some(placed)) = (local.place(now), global.place(now)) else {
            continue;
        };
        if now.as_secs() < START_SECS {
            continue;
        }
        let real = trace.course.state_at(now);
        let by_local = lagging.position.distance(real.position);
        let by_global = placed.position.distance(real.position);
        watched.local.add(by_local);
        watched.global.add(by_global);
        // What differs by less than nothing is no difference.
        if by_global > by_local + NONE_M {
            watched.worse += 1.0;
            let slower =
                real.velocity.dot(placed.velocity) < 0.99 * placed.velocity.length_squared();
            watched.worse_braking += f64::from(u8::from(slower));
        }
        if WINDOW.contains(&now) {
            watched.window.push((now.as_secs(), by_local, by_global));
        }
    }
    watched.worse_braking /= watched.worse.max(1.0);
    watched.worse /= watched.global.frames.max(1.0);
    watched
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DR-38: the window holds 25 to 30 s at 50 Hz, and both paths come from one stream.
    #[test]
    fn the_window_is_that_of_the_figure() {
        let watched = watch(Motion::Linear, 300.0, 1, 32.0);
        assert_eq!(watched.window.len(), 251);
        assert!(watched.local.mean() > 5.0 && watched.global.mean() < watched.local.mean());
        assert_eq!(watched, watch(Motion::Linear, 300.0, 1, 32.0));
    }

    /// DR-11: at a stop the lagging clock is the nearer one.
    #[test]
    fn stopping_is_where_the_global_clock_is_worse() {
        let watched = watch(Motion::StopAndGo, 300.0, 1, 60.0);
        assert!(watched.worse > 0.0 && watched.worse < 0.5);
        assert!(watched.worse_braking > 0.5);
    }
}
