//! A Kalman filter with constant acceleration, for senders that look ahead (Tumanov).
//!
//! All three axes have the same noise, so they share one 3 × 3 covariance and one gain.

use crate::body::State;
use crate::settings::KalmanLead;
use domain::SimTime;
use glam::{DMat3, DVec3};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Kalman {
    at: SimTime,
    state: State,
    covariance: DMat3,
}

impl Kalman {
    /// From a first measurement of the position.
    pub fn new(at: SimTime, state: State) -> Self {
        Self {
            at,
            state,
            covariance: DMat3::from_diagonal(DVec3::new(1.0, 1e6, 1e8)),
        }
    }

    /// A measured position.
    pub fn observe(&mut self, now: SimTime, position: DVec3, settings: &KalmanLead) {
        let dt = now.since(self.at).as_secs();
        if dt <= 0.0 {
            return;
        }
        self.at = now;
        self.state = self.state.after(dt);
        let step = DMat3::from_cols(
            DVec3::X,
            DVec3::new(dt, 1.0, 0.0),
            DVec3::new(0.5 * dt * dt, dt, 1.0),
        );
        // Jerk, constant over the step, moves position, velocity and acceleration by this much.
        let jerk = DVec3::new(dt * dt * dt / 6.0, 0.5 * dt * dt, dt) * settings.jerk;
        let noise = DMat3::from_cols(jerk * jerk.x, jerk * jerk.y, jerk * jerk.z);
        self.covariance = step * self.covariance * step.transpose() + noise;
        let spread = self.covariance.x_axis.x + settings.noise * settings.noise;
        if spread <= 0.0 {
            return;
        }
        let gain = self.covariance.x_axis / spread;
        let surprise = position - self.state.position;
        self.state.position += surprise * gain.x;
        self.state.velocity += surprise * gain.y;
        self.state.acceleration += surprise * gain.z;
        let row = self.covariance.row(0);
        let learned = DMat3::from_cols(gain * row.x, gain * row.y, gain * row.z);
        self.covariance -= learned;
    }

    /// The expected state this much later.
    pub fn ahead(&self, by: SimTime) -> State {
        self.state.after(by.as_secs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_learns_velocity_and_acceleration_from_positions() {
        let settings = KalmanLead {
            jerk: 100.0,
            noise: 0.01,
            max_lead: SimTime::from_secs(1.0),
        };
        let truth = State {
            position: DVec3::new(1.0, 2.0, 3.0),
            velocity: DVec3::new(-20.0, 5.0, 0.0),
            acceleration: DVec3::new(0.0, 30.0, -9.81),
        };
        let mut filter = Kalman::new(SimTime::ZERO, State::at(truth.position));
        for frame in 1..=60_u64 {
            let now = SimTime(frame * 20_000_000);
            filter.observe(now, truth.after(now.as_secs()).position, &settings);
        }
        let ahead = filter.ahead(SimTime::from_millis(100.0));
        let expected = truth.after(1.3);
        assert!((ahead.position - expected.position).length() < 0.05);
        assert!((ahead.velocity - expected.velocity).length() < 0.5);
    }
}
