//! I8: every body is stepped exactly once per tick, migration included.
//!
//! A body's records must be consecutive from its birth on. Handover mode `freeze` knows no common ticks: a body stands still in
//! flight, and enters a server that is a tick behind; both are counted apart. A crash turns a region's time
//! back by up to one snapshot interval: those ticks are excused, the ones after it are not.

use super::Checker;
use super::findings::{ErrorKind, Finding, Findings, View, regions_of};
use super::ledger::Slot;
use crate::facts::Fact;
use domain::{BodyId, RegionId, Tick};

pub(super) struct SteppedOnce {
    frozen_in_flight: bool,
    frozen: u64,
}

impl Checker for SteppedOnce {
    fn observe(&mut self, fact: &Fact<'_>, view: &View<'_>, findings: &mut Findings) {
        match *fact {
            Fact::Stepped {
                tick,
                region,
                bodies,
            } => {
                for ((body, _), slot) in bodies.iter().zip(&view.roll.present) {
                    if let Some(slot) = slot {
                        self.record(view, findings, tick, region, *body, *slot);
                    }
                }
            }
            Fact::CaughtUp {
                tick,
                region,
                bodies,
                ..
            } => {
                for (body, _) in bodies {
                    if let Some(slot) = view.ledger.slot_for_catch_up(*body, region) {
                        self.record(view, findings, tick, region, *body, slot);
                    }
                }
            }
            _ => {}
        }
    }
}

impl SteppedOnce {
    pub fn new(frozen_in_flight: bool) -> Self {
        Self {
            frozen_in_flight,
            frozen: 0,
        }
    }

    /// Body ticks spent standing still in flight.
    pub fn frozen(&self) -> u64 {
        self.frozen
    }

    fn record(
        &mut self,
        view: &View<'_>,
        findings: &mut Findings,
        tick: Tick,
        region: RegionId,
        body: BodyId,
        slot: Slot,
    ) {
        let entry = view.ledger.at(slot);
        let due = entry.tick.next();
        if tick == due {
            return;
        }
        // A body may be born just before a step or just after it.
        if entry.fresh && tick == entry.tick {
            return;
        }
        let missed = tick.since(due);
        if entry.moved && self.frozen_in_flight {
            self.frozen += missed.max(1);
            return;
        }
        let mut regions = regions_of(Some(entry.holder));
        regions.push(region);
        let (from, until) = (due.min(tick), due.max(tick));
        let finding = Finding {
            kind: if missed > 0 {
                ErrorKind::MissedUpdate
            } else {
                ErrorKind::DoubledUpdate
            },
            count: missed.max(1),
            tick,
            bodies: &[body],
            excused: entry.rewound || view.ledger.is_disturbed(from, until, &regions),
        };
        findings.add(view, finding, || {
            format!(
                "{region} stepped {body} to tick {tick}, but tick {due} was due ({})",
                if missed > 0 { "missed" } else { "twice" }
            )
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::checkers::testing::History;

    fn handover(history: &mut History, caught_up: &[u64]) {
        history.born(0, 0, 1, 0.0).step(1, 0, &[1]);
        history.depart(1, 0, 1, 1, &[(1, 1)]);
        for tick in caught_up {
            history.catch_up(*tick, 1, &[1]);
        }
        history
            .arrive(3, 1, 0, 1, &[(1, 1)])
            .step(4, 1, &[1])
            .step(5, 1, &[1]);
    }

    // AP-19
    #[test]
    fn a_caught_up_body_misses_nothing() {
        let mut history = History::new(2);
        handover(&mut history, &[2, 3]);
        assert!(history.finish().is_clean());
    }

    #[test]
    fn a_missed_tick_is_seen() {
        let mut history = History::new(2);
        handover(&mut history, &[2]);
        let report = history.finish();
        assert_eq!(report.errors.missed_updates, 1);
        let what = report.first_violation.unwrap().what;
        assert_eq!(what, "r1 stepped b1 to tick 4, but tick 3 was due (missed)");
    }

    #[test]
    fn a_tick_stepped_twice_is_seen_in_both_modes() {
        for mut history in [History::new(2), History::frozen(2)] {
            handover(&mut history, &[2, 2, 3]);
            let report = history.finish();
            assert_eq!(report.errors.doubled_updates, 1);
            assert_eq!(report.errors.total(), 1);
        }
    }

    // The thesis's mode, F6
    #[test]
    fn frozen_in_flight_is_counted_apart() {
        let mut history = History::frozen(2);
        handover(&mut history, &[]);
        let report = history.finish();
        assert!(report.is_clean());
        assert_eq!(report.frozen_updates, 2);
    }

    #[test]
    fn frozen_without_a_flight_is_an_error_in_both_modes() {
        for mut history in [History::new(1), History::frozen(1)] {
            history.born(0, 0, 1, 0.0).step(1, 0, &[1]).step(3, 0, &[1]);
            assert_eq!(history.finish().errors.missed_updates, 1);
        }
    }

    #[test]
    fn a_crash_excuses_its_own_rewind_and_nothing_after_it() {
        let mut history = History::new(1);
        history.born(0, 0, 1, 0.0);
        (1..=5).for_each(|tick| {
            history.step(tick, 0, &[1]);
        });
        history.crash(5, 0).restore(3, 0, 3, &[(1, 0)]);
        history.step(4, 0, &[1]).step(5, 0, &[1]).step(6, 0, &[1]);
        assert_eq!(history.errors().total(), 0);
        history.step(8, 0, &[1]);
        let report = history.finish();
        assert_eq!(report.excused.doubled_updates, 1);
        assert_eq!(report.errors.missed_updates, 1);
    }

    #[test]
    fn a_disturbance_excuses_what_it_touches() {
        let mut history = History::new(2);
        history.disturb(2, 3, &[0]);
        history.born(0, 0, 1, 0.0).step(1, 0, &[1]).step(4, 0, &[1]);
        history
            .born(0, 1, 2, 50.0)
            .step(1, 1, &[2])
            .step(4, 1, &[2]);
        let report = history.finish();
        assert_eq!(
            (report.excused.missed_updates, report.errors.missed_updates),
            (2, 2)
        );
    }
}
