//! F2 and F3: a collision is found within one step of relative motion.
//!
//! Two bodies that were apart one step ago cannot be deeper in each other than they moved in that step. If they are,
//! somebody did not know of the other in time: a late collision (thesis 3.1.2). A collision that is missed
//! altogether, because two bodies passed through each other, shows as overlaps of different owners (I3) if
//! it takes a tick or longer.
//!
//! Only a body that has just come over can meet another too late: bodies that were stepped together before are the
//! engine's own business, and in a dense crowd the engine itself now and then finds a contact a few centimetres late.

use super::Checker;
use super::findings::{ErrorKind, Finding, Findings, View};
use crate::facts::Fact;
use domain::{BodyId, RegionId, Tick, TickLength};
use std::collections::HashMap;

/// What is allowed on top, metres: the engine lets touching bodies sink in a little before it pushes back, and
/// gravity adds to the motion within the step.
const SLACK_M: f64 = 0.02;

/// A body has just come over if it is in its new world for at most so many steps.
const JUST_ARRIVED_TICKS: u64 = 2;

pub(super) struct LateCollisions {
    step_secs: f64,
    // Looked up by body only, never walked over.
    arrived: HashMap<BodyId, Tick>,
}

impl LateCollisions {
    pub fn new(step: TickLength) -> Self {
        Self {
            step_secs: step.as_secs(),
            arrived: HashMap::new(),
        }
    }

    fn has_just_arrived(&self, body: BodyId, tick: Tick) -> bool {
        self.arrived
            .get(&body)
            .is_some_and(|arrived| tick.since(*arrived) <= JUST_ARRIVED_TICKS)
    }
}

impl Checker for LateCollisions {
    fn observe(&mut self, fact: &Fact<'_>, view: &View<'_>, findings: &mut Findings) {
        match *fact {
            Fact::Arrived { tick, members, .. } => {
                self.arrived
                    .extend(members.iter().map(|(body, _)| (*body, tick)));
            }
            Fact::Contact {
                tick,
                region,
                a,
                b,
                depth_m,
                relative_speed,
                restored: false,
            } if self.has_just_arrived(a, tick) || self.has_just_arrived(b, tick) => {
                self.judge(
                    tick,
                    region,
                    (a, b),
                    depth_m,
                    relative_speed,
                    view,
                    findings,
                );
            }
            _ => {}
        }
    }
}

impl LateCollisions {
    #[allow(clippy::too_many_arguments)] // The parts of one fact, and where to report.
    fn judge(
        &self,
        tick: Tick,
        region: RegionId,
        (a, b): (BodyId, BodyId),
        depth_m: f64,
        relative_speed: f64,
        view: &View<'_>,
        findings: &mut Findings,
    ) {
        let possible_m = relative_speed.max(0.0) * self.step_secs;
        if depth_m <= possible_m + SLACK_M {
            return;
        }
        let finding = Finding {
            kind: ErrorKind::LateCollision,
            count: 1,
            tick,
            bodies: &[a, b],
            excused: view.ledger.is_disturbed(tick, tick, &[region]),
        };
        findings.add(view, finding, || {
            format!(
                "{region} found {a} and {b} {depth_m:.3} m deep in each other at first contact; \
                 at {relative_speed:.2} m/s one step explains {possible_m:.3} m"
            )
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::checkers::testing::History;

    /// Body 2 comes over to region 0 at tick 1, where body 1 is.
    fn met() -> History {
        let mut history = History::new(2);
        history.born(0, 0, 1, 0.0).born(0, 1, 2, 5.0);
        history.step(1, 0, &[1]).step(1, 1, &[2]);
        history
            .depart(1, 1, 0, 1, &[(2, 1)])
            .arrive(1, 0, 1, 1, &[(2, 1)]);
        history
    }

    // F2, AP-53
    #[test]
    fn within_one_step_of_relative_motion_is_in_time() {
        let mut history = met();
        history.contact(2, 0, (1, 2), 1.0, 60.0, false);
        history.contact(2, 0, (1, 2), 0.015, 0.0, false);
        history.contact(2, 0, (1, 2), 0.5, 0.0, true);
        assert_eq!(history.errors().late_collisions, 0);
    }

    #[test]
    fn deeper_than_one_step_is_late() {
        let mut history = met();
        history.contact(2, 0, (1, 2), 1.1, 60.0, false);
        let report = history.finish();
        assert_eq!(report.errors.late_collisions, 1);
        let first = report.first_violation.unwrap();
        assert!(
            first.what.contains("one step explains 1.000 m"),
            "{}",
            first.what
        );
    }

    #[test]
    fn bodies_stepped_together_for_long_are_the_engines_business() {
        let mut history = met();
        history.contact(9, 0, (1, 2), 1.1, 60.0, false);
        assert_eq!(history.errors().late_collisions, 0);
    }

    #[test]
    fn late_in_a_partition_is_counted_apart() {
        let mut history = met();
        history.disturb(1, 5, &[0]);
        history.contact(2, 0, (1, 2), 1.1, 60.0, false);
        let report = history.finish();
        assert_eq!(
            (
                report.excused.late_collisions,
                report.errors.late_collisions
            ),
            (1, 0)
        );
    }
}
