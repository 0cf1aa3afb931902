//! I2: bodies are conserved, by id, through loss, duplication, reordering and crashes.
//!
//! At every step of a region each body it owns must answer the roll call. At the end nothing may be adrift, and
//! once everything has settled nothing may still be in flight.

use super::Checker;
use super::findings::{ErrorKind, Finding, Findings, View, describe};
use super::ledger::Holder;
use crate::facts::Fact;
use domain::{BodyId, Tick};
use rustc_hash::FxHashSet;

#[derive(Default)]
pub(super) struct NoBodyLost {
    /// Bodies already counted as lost.
    absent: FxHashSet<BodyId>,
    latest: Tick,
    settled: bool,
}

impl Checker for NoBodyLost {
    fn observe(&mut self, fact: &Fact<'_>, view: &View<'_>, findings: &mut Findings) {
        if let Fact::Stepped {
            tick,
            region,
            bodies,
        } = *fact
        {
            self.latest = self.latest.max(tick);
            if !self.absent.is_empty() {
                bodies.iter().for_each(|(body, _)| {
                    self.absent.remove(body);
                });
            }
            for body in &view.roll.missing {
                self.lost(view, findings, tick, *body, false, || {
                    format!("{region} owns {body} but did not step it")
                });
            }
        }
        self.settled |= matches!(fact, Fact::Quiescent { .. });
    }

    fn finish(&mut self, view: &View<'_>, findings: &mut Findings) {
        let tick = self.latest;
        for (body, entry) in view.ledger.all() {
            // While its server is still down, a body cannot be counted.
            let (lost, excused) = match entry.holder {
                Holder::Adrift(region) => (true, view.ledger.is_disturbed(tick, tick, &[region])),
                Holder::InFlight { .. } => (self.settled, false),
                Holder::Owned(_) | Holder::Gone(..) => (false, false),
            };
            if lost {
                self.lost(view, findings, tick, body, excused, || {
                    format!("at the end {body} is still {}", describe(entry.holder))
                });
            }
        }
    }
}

impl NoBodyLost {
    fn lost(
        &mut self,
        view: &View<'_>,
        findings: &mut Findings,
        tick: Tick,
        body: BodyId,
        excused: bool,
        what: impl FnOnce() -> String,
    ) {
        if self.absent.insert(body) {
            let finding = Finding {
                kind: ErrorKind::Lost,
                count: 1,
                tick,
                bodies: &[body],
                excused,
            };
            findings.add(view, finding, what);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::checkers::testing::History;

    // AP-1
    #[test]
    fn births_removals_and_a_handover_are_accounted_for() {
        let mut history = History::new(2);
        history.born(0, 0, 1, 0.0).born(0, 1, 2, 50.0);
        history.step(1, 0, &[1]).step(1, 1, &[2]);
        history.born(1, 0, 3, -50.0);
        history.step(2, 0, &[1, 3]).removed(2, 0, 1);
        history.step(2, 1, &[2]).depart(2, 1, 0, 1, &[(2, 1)]);
        history.step(3, 0, &[3]).step(3, 1, &[]);
        let report = history.finish();
        assert!(report.is_clean(), "{report:?}");
        let bodies = report.bodies;
        assert_eq!((bodies.start, bodies.spawned, bodies.removed), (2, 1, 1));
        assert_eq!((bodies.end, bodies.in_flight), (1, 1));
    }

    #[test]
    fn a_body_that_is_not_stepped_any_more_is_lost_once() {
        let mut history = History::new(1);
        history.born(0, 0, 1, 0.0).born(0, 0, 2, 50.0);
        history
            .step(1, 0, &[1, 2])
            .step(2, 0, &[2])
            .step(3, 0, &[2]);
        let report = history.finish();
        assert_eq!(report.errors.lost, 1);
        let text = report.first_violation.unwrap().to_string();
        assert!(text.starts_with("tick 2 "), "{text}");
        assert!(text.contains("r0 owns b1 but did not step it"), "{text}");
    }

    #[test]
    fn what_a_crash_took_and_nobody_brought_back_is_lost() {
        let history_with = |restored: &[(u64, u32)], again: bool| {
            let mut history = History::new(2);
            history.born(0, 0, 1, 0.0).born(0, 0, 2, 50.0);
            history
                .depart(1, 0, 1, 1, &[(2, 1)])
                .arrive(1, 1, 0, 1, &[(2, 1)]);
            history
                .depart(2, 0, 1, 2, &[(1, 1)])
                .arrive(2, 1, 0, 2, &[(1, 1)]);
            history.crash(3, 1).restore(5, 1, 1, restored);
            if again {
                history.arrive(6, 1, 0, 2, &[(1, 1)]);
            }
            history.finish()
        };
        // The snapshot has body 2; body 1 came later and its former owner offers it again.
        assert!(history_with(&[(2, 1)], true).is_clean());
        let report = history_with(&[(2, 1)], false);
        assert_eq!(report.errors.lost, 1);
        assert!(
            report
                .first_violation
                .unwrap()
                .what
                .contains("b1 is still adrift since the crash of r1")
        );
    }

    #[test]
    fn a_server_that_is_still_down_is_counted_apart() {
        let mut history = History::new(1);
        history.born(0, 0, 1, 0.0).step(1, 0, &[1]);
        history.disturb(1, 100, &[0]).crash(1, 0);
        let report = history.finish();
        assert_eq!((report.errors.lost, report.excused.lost), (0, 1));
    }

    #[test]
    fn in_flight_after_quiescence_is_lost() {
        let mut history = History::new(2);
        history.born(0, 0, 1, 0.0).depart(1, 0, 1, 1, &[(1, 1)]);
        history.quiescent(9, &[], &[]);
        assert_eq!(history.finish().errors.lost, 1);
    }
}
