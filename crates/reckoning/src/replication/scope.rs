//! What concerns whom: the scope query, asked for each client and object.

use super::DrObject;
use domain::SimTime;
use glam::DVec3;
use std::fmt::Debug;

/// A client's number at its server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u32);

/// Whose view is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Viewer {
    /// Which client.
    pub client: ClientId,
    /// Where it is: its own object with the lowest id; `None` if it has none that has moved.
    pub position: Option<DVec3>,
}

/// Decides what a client sees, and what of it first.
pub trait Scope: Debug + Send {
    /// How important the object is to the viewer; `None` if it is out of scope. `seen`: it is in scope now. Twice as
    /// important means: sent after half the wait when not everything fits.
    fn importance(
        &self,
        viewer: &Viewer,
        object: &DrObject,
        seen: bool,
        now: SimTime,
    ) -> Option<f64>;
}

/// Everybody sees everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Everything;

impl Scope for Everything {
    fn importance(&self, _: &Viewer, _: &DrObject, _: bool, _: SimTime) -> Option<f64> {
        Some(1.0)
    }
}

/// A client sees what is near it, the nearer the more important. Without a place of its own it sees everything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Within {
    /// How far it sees, metres.
    pub metres: f64,
}

/// What is seen stays seen up to this much further away: no flicker at the edge.
const HYSTERESIS: f64 = 1.1;
/// Objects nearer than this are equally important.
const NEAR_M: f64 = 1.0;

impl Scope for Within {
    fn importance(
        &self,
        viewer: &Viewer,
        object: &DrObject,
        seen: bool,
        now: SimTime,
    ) -> Option<f64> {
        let Some(eye) = viewer.position else {
            return Some(1.0);
        };
        let distance = object.place(now)?.position.distance(eye);
        let limit = self.metres * if seen { HYSTERESIS } else { 1.0 };
        (distance <= limit).then(|| 1.0 / distance.max(NEAR_M))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motion::{Thresholds, TrueState};
    use domain::BodyId;

    #[test]
    fn near_things_are_seen_and_stay_seen_a_little_longer() {
        let scope = Within { metres: 10.0 };
        let viewer = Viewer {
            client: ClientId(1),
            position: Some(DVec3::ZERO),
        };
        let asked = |x: f64, seen| {
            let mut object = DrObject::owned(BodyId(1), Thresholds::default());
            let position = DVec3::new(x, 0.0, 0.0);
            let state = TrueState {
                position,
                ..TrueState::default()
            };
            object.observe(SimTime::ZERO, &state).unwrap();
            scope.importance(&viewer, &object, seen, SimTime::ZERO)
        };
        assert_eq!(asked(5.0, false), Some(0.2));
        assert_eq!(asked(10.5, false), None);
        assert!(asked(10.5, true).is_some());
        assert_eq!(asked(11.5, true), None);
        assert_eq!(asked(0.1, false), Some(1.0));
    }
}
