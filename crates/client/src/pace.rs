//! Which frame to show: as late as updates come, and no later.
//!
//! ```text
//!   frames   ────────────────┬───────┬────────► the cluster's present
//!                            │       └ lag: what updates need to get here, at worst
//!                            └ delay: so that curves are known before they are shown
//! ```

/// How fast a lag that was not needed is forgotten, share per update.
const FORGET: f64 = 0.005;

/// Updates that are so much earlier again, in frames: it was a pause, or the world has made up for lost time. That is not forgotten little by little.
const PAUSE: f64 = 30.0;

/// Watches how late updates are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pace {
    lag: Option<f64>,
}

impl Pace {
    /// An update of this frame has come; the cluster's present is that one.
    pub fn observe(&mut self, present: f64, frame: u64) {
        let late = (present - frame as f64).max(0.0);
        self.lag = Some(match self.lag {
            Some(lag) if late < lag && lag - late <= PAUSE => lag + (late - lag) * FORGET,
            _ => late,
        });
    }

    /// The frame to show.
    pub fn shown(&self, present: f64, delay_frames: f64) -> Option<f64> {
        Some(present - self.lag? - delay_frames)
    }

    /// There is another world.
    pub fn reset(&mut self) {
        self.lag = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_never_newer_than_what_has_come() {
        let mut pace = Pace::default();
        assert_eq!(pace.shown(10.0, 1.0), None);
        for frame in 0..200 {
            let late = if frame % 7 == 0 { 2.5 } else { 0.5 };
            let present = f64::from(frame) + late;
            pace.observe(present, u64::from(frame as u32));
            let shown = pace.shown(present, 1.0).expect("known");
            assert!(shown <= f64::from(frame) - 1.0 + 1e-9);
            assert!(shown > f64::from(frame) - 4.0);
        }
    }

    /// A world that runs slower than the clock is shown as it comes, however late; one that is in time again is shown so at once.
    #[test]
    fn a_late_world_is_shown_late_and_a_punctual_one_in_time() {
        let mut pace = Pace::default();
        for frame in 0..300_u32 {
            let present = 2.0 * f64::from(frame);
            pace.observe(present, u64::from(frame));
            assert_eq!(pace.shown(present, 1.0), Some(f64::from(frame) - 1.0));
        }
        pace.observe(700.0, 699);
        assert_eq!(pace.shown(700.0, 1.0), Some(698.0));
    }
}
