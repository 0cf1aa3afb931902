//! How good what is drawn looks: how far it is from the truth, and how badly it jumps.

use super::models::{Placed, signed_secs};
use domain::SimTime;
use glam::DVec3;

/// Summary of what one receiver drew of one entity, frame by frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct VisualError {
    frames: u64,
    sum_m: f64,
    worst_m: f64,
    worst_jump_m: f64,
    sum_jump_m: f64,
    worst_velocity_jump: f64,
    last: Option<(SimTime, Placed)>,
}

impl VisualError {
    /// Takes one frame: what was drawn, and where the entity really was at that time.
    pub fn observe(&mut self, now: SimTime, shown: &Placed, real: DVec3) {
        let distance = shown.position.distance(real);
        self.frames += 1;
        self.sum_m += distance;
        self.worst_m = self.worst_m.max(distance);
        if let Some((then, before)) = self.last {
            let jump = jump(&before, shown, signed_secs(then, now));
            self.sum_jump_m += jump;
            self.worst_jump_m = self.worst_jump_m.max(jump);
            let kink = shown.velocity.distance(before.velocity);
            self.worst_velocity_jump = self.worst_velocity_jump.max(kink);
        }
        self.last = Some((now, *shown));
    }

    /// Mean distance to the truth, in metres.
    pub fn mean_m(&self) -> f64 {
        self.sum_m / self.frames.max(1) as f64
    }

    /// Largest distance to the truth, in metres.
    pub fn worst_m(&self) -> f64 {
        self.worst_m
    }

    /// Largest jump between two frames, in metres: movement that the drawn velocities do not explain.
    pub fn worst_jump_m(&self) -> f64 {
        self.worst_jump_m
    }

    /// Mean jump per frame, in metres: how restless the picture is.
    pub fn mean_jump_m(&self) -> f64 {
        self.sum_jump_m / self.frames.saturating_sub(1).max(1) as f64
    }

    /// Largest change of velocity between two frames, in m/s.
    pub fn worst_velocity_jump(&self) -> f64 {
        self.worst_velocity_jump
    }
}

/// Movement between two frames that the mean of their velocities does not explain.
fn jump(before: &Placed, after: &Placed, secs: f64) -> f64 {
    let explained = (before.velocity + after.velocity) * (0.5 * secs);
    (after.position - before.position - explained).length()
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    #[test]
    fn it_tells_a_jump_from_a_movement() {
        let shown = |x: f64| Placed {
            position: DVec3::new(x, 0.0, 0.0),
            velocity: DVec3::new(10.0, 0.0, 0.0),
            rotation: DQuat::IDENTITY,
        };
        let mut error = VisualError::default();
        error.observe(SimTime::ZERO, &shown(0.0), DVec3::ZERO);
        error.observe(
            SimTime::from_secs(0.1),
            &shown(1.0),
            DVec3::new(1.0, 0.0, 0.0),
        );
        assert!(error.worst_jump_m() < 1e-12 && error.worst_m() < 1e-12);
        error.observe(
            SimTime::from_secs(0.2),
            &shown(5.0),
            DVec3::new(2.0, 0.0, 0.0),
        );
        assert!((error.worst_jump_m() - 3.0).abs() < 1e-12);
        assert!((error.mean_m() - 1.0).abs() < 1e-12);
    }
}
