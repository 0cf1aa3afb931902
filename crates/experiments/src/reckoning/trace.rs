//! One drive and its triggers, recorded once and given to everything that is compared.

use super::motion::{Course, Motion};
use domain::{BodyId, SimTime};
use reckoning::DrVector;
use reckoning::motion::Trigger;

/// The owner's loop runs at 50 Hz.
pub(super) const FRAME: SimTime = SimTime(20_000_000);

/// A drive and the vectors it generated.
#[derive(Clone, Debug)]
pub(super) struct Trace {
    /// The truth.
    pub course: Course,
    /// What was exported of it.
    pub vectors: Vec<DrVector>,
    /// How long it was watched.
    pub duration: SimTime,
}

impl Trace {
    /// Drives and records.
    pub fn record(motion: Motion, entity: BodyId, seed: u64, secs: f64) -> Self {
        let duration = SimTime::from_secs(secs);
        let course = motion.course(seed, duration);
        let mut trigger = Trigger::new(entity, motion.thresholds());
        let vectors = frames(duration)
            .filter_map(|now| trigger.observe(now, &course.state_at(now)))
            .collect();
        Self {
            course,
            vectors,
            duration,
        }
    }

    /// Triggers per second.
    pub fn rate(&self) -> f64 {
        self.vectors.len() as f64 / self.duration.as_secs()
    }
}

/// The time of every loop from zero up to and including `duration`.
pub(super) fn frames(duration: SimTime) -> impl Iterator<Item = SimTime> {
    (0..=duration.0 / FRAME.0).map(|frame| SimTime(frame * FRAME.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two regimes of the digest (§4.11): about 7 and about 1.7 triggers per second.
    #[test]
    fn the_regimes_have_their_trigger_rates() {
        let rate = |motion: Motion| {
            let runs = 0..5;
            let rates =
                runs.map(|run| Trace::record(motion, BodyId(1), motion.seed(7, run), 60.0).rate());
            rates.sum::<f64>() / 5.0
        };
        assert!((6.7..7.5).contains(&rate(Motion::Smooth)));
        assert!((1.4..1.9).contains(&rate(Motion::StopAndGo)));
        assert!((1.0..1.5).contains(&rate(Motion::Linear)));
    }
}
