//! F2 and F3: a collision is found within one step of relative motion.
//!
//! Two bodies that were apart one step ago cannot be deeper in each other than they moved in that step. If they are,
//! somebody did not know of the other in time: a late collision (thesis 3.1.2). A collision that is missed
//! altogether, because two bodies passed through each other, shows as overlaps of different owners (I3) if
//! it takes a tick or longer.

use super::Checker;
use super::findings::{ErrorKind, Finding, Findings, View};
use crate::facts::Fact;
use domain::TickLength;

/// What is allowed on top, metres: the engine lets touching bodies sink in a little before it pushes back, and
/// gravity adds to the motion within the step.
const SLACK_M: f64 = 0.02;

pub(super) struct LateCollisions {
    step_secs: f64,
}

impl LateCollisions {
    pub fn new(step: TickLength) -> Self {
        Self {
            step_secs: step.as_secs(),
        }
    }
}

impl Checker for LateCollisions {
    fn observe(&mut self, fact: &Fact<'_>, view: &View<'_>, findings: &mut Findings) {
        let Fact::Contact {
            tick,
            region,
            a,
            b,
            depth_m,
            relative_speed,
            restored: false,
        } = *fact
        else {
            return;
        };
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

    // F2, AP-53
    #[test]
    fn within_one_step_of_relative_motion_is_in_time() {
        let mut history = History::new(1);
        history.born(0, 0, 1, 0.0).born(0, 0, 2, 5.0);
        history.contact(1, 0, (1, 2), 1.0, 60.0, false);
        history.contact(2, 0, (1, 2), 0.015, 0.0, false);
        history.contact(3, 0, (1, 2), 0.5, 0.0, true);
        assert!(history.finish().is_clean());
    }

    #[test]
    fn deeper_than_one_step_is_late() {
        let mut history = History::new(1);
        history.born(0, 0, 1, 0.0).born(0, 0, 2, 5.0);
        history.contact(1, 0, (1, 2), 1.1, 60.0, false);
        let report = history.finish();
        assert_eq!(report.errors.late_collisions, 1);
        assert!(
            report
                .first_violation
                .unwrap()
                .what
                .contains("one step explains 1.000 m")
        );
    }

    #[test]
    fn late_in_a_partition_is_counted_apart() {
        let mut history = History::new(1);
        history
            .born(0, 0, 1, 0.0)
            .born(0, 0, 2, 5.0)
            .disturb(1, 5, &[0]);
        history.contact(3, 0, (1, 2), 1.1, 60.0, false);
        history.contact(6, 0, (1, 2), 1.1, 60.0, false);
        let report = history.finish();
        assert_eq!(
            (
                report.excused.late_collisions,
                report.errors.late_collisions
            ),
            (1, 1)
        );
    }
}
