//! What the texts leave out, chosen once: sizes, speeds, frames, the width of delays.
//!
//! The radius of the bodies, the distance of a miss, T_lock, T_cut, means of delay, loss and the termination rules are the thesis's.
//! Everything else here is a choice. It was made by fitting *control's* published counts only (the digest's grid search); the
//! agreement protocols were not fitted. [`super::sensitivity`] shows what another choice does.

use super::networks::Shape;
use scenes::encounters::{Curve, Field};
use serde_json::{Value, json};

/// Free parameters of the offline experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Setup {
    /// Of both bodies, pixels (thesis 5.3.1: 10).
    pub radius: f64,
    /// Of the circles, pixels.
    pub circle_radius: f64,
    /// Along the circles, pixels per second.
    pub circle_speed: f64,
    /// Along the lines, pixels per second.
    pub line_speed: f64,
    /// M2 comes towards M1 instead of moving along with it, where a circle is involved.
    pub head_on: bool,
    /// What the bodies move on instead of circles.
    pub curve: Option<Curve>,
    /// When the two are nearest, seconds after the start.
    pub meeting_secs: f64,
    /// From frame to frame.
    pub frame_ms: f64,
    /// Station B's frames come this much after A's.
    pub phase_ms: f64,
    /// The form of the delays.
    pub shape: Shape,
    /// Where a replica may be off before its owner sends, pixels.
    pub threshold: f64,
    /// T_lock.
    pub lock_ms: f64,
    /// T_beat around a hit.
    pub beat_ms: f64,
    /// All messages of a frame share a datagram, instead of each going alone as in the thesis.
    pub bundle: bool,
    /// Replicas glide to where they should be over this time; 0: they jump.
    pub glide_ms: f64,
}

impl Default for Setup {
    fn default() -> Self {
        let Field {
            radius,
            circle_radius,
            circle_speed,
            line_speed,
            head_on,
            instead,
        } = Field::default();
        Self {
            radius,
            circle_radius,
            circle_speed,
            line_speed,
            head_on,
            curve: instead,
            meeting_secs: 1.5,
            frame_ms: 20.0,
            phase_ms: 0.0,
            shape: Shape::Even(0.1),
            threshold: 1.0,
            lock_ms: 100.0,
            beat_ms: 50.0,
            bundle: false,
            glide_ms: 0.0,
        }
    }
}

impl Setup {
    /// Of the scenarios.
    pub fn field(&self) -> Field {
        Field {
            radius: self.radius,
            circle_radius: self.circle_radius,
            circle_speed: self.circle_speed,
            line_speed: self.line_speed,
            head_on: self.head_on,
            instead: self.curve,
        }
    }

    /// For the result's readers.
    pub fn json(&self) -> Value {
        json!({
            "radius_px": self.radius,
            "circle_radius_px": self.circle_radius,
            "circle_speed_px_s": self.circle_speed,
            "line_speed_px_s": self.line_speed,
            "head_on": self.head_on,
            "instead_of_circles": self.curve.map(|curve| format!("{curve:?}")),
            "meeting_s": self.meeting_secs,
            "frame_ms": self.frame_ms,
            "phase_ms": self.phase_ms,
            "delay": format!("{:?}", self.shape),
            "threshold_px": self.threshold,
            "t_lock_ms": self.lock_ms,
            "t_beat_ms": self.beat_ms,
            "bundle": self.bundle,
            "glide_ms": self.glide_ms,
        })
    }
}
