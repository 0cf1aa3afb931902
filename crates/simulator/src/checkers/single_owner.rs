//! I1: every dynamic body has exactly one owner, or is in exactly one handover in flight.
//!
//! A region that steps, hands over or takes in a body that the ledger has elsewhere holds a second copy.

use super::Checker;
use super::findings::{ErrorKind, Finding, Findings, View, describe};
use super::ledger::Holder;
use crate::facts::Fact;
use domain::{BodyId, RegionId};
use rustc_hash::FxHashSet;

#[derive(Default)]
pub(super) struct SingleOwner {
    /// Second copies already counted: one copy is one error, however often it is stepped.
    copies: FxHashSet<(BodyId, RegionId)>,
}

impl Checker for SingleOwner {
    fn observe(&mut self, fact: &Fact<'_>, view: &View<'_>, findings: &mut Findings) {
        let (who, did, bodies) = impossible(fact, view);
        for body in bodies {
            if self.copies.insert((body, who)) {
                let finding = Finding {
                    kind: ErrorKind::Duplicated,
                    count: 1,
                    tick: fact.tick(),
                    bodies: &[body],
                    excused: false,
                };
                findings.add(view, finding, || sentence(view, body, did, who));
            }
        }
        // A copy that left, or died with its server, is a new error if it comes back.
        match *fact {
            Fact::Crashed { region, .. } => self.copies.retain(|(_, holder)| *holder != region),
            Fact::Departed { from, members, .. } => {
                for (body, _) in members {
                    self.copies.remove(&(*body, from));
                }
            }
            Fact::Removed { region, body, .. } => {
                self.copies.remove(&(body, region));
            }
            _ => {}
        }
    }
}

fn sentence(view: &View<'_>, body: BodyId, did: &str, who: RegionId) -> String {
    match view.ledger.holder(body) {
        Some(holder) => format!("{body} {did} {who} although it was {}", describe(holder)),
        None => format!("{body} {did} {who} although it was never born"),
    }
}

/// Who did what to which bodies although the ledger has them elsewhere.
fn impossible(fact: &Fact<'_>, view: &View<'_>) -> (RegionId, &'static str, Vec<BodyId>) {
    let unless = |ids: &mut dyn Iterator<Item = BodyId>, fits: &dyn Fn(Option<Holder>) -> bool| {
        ids.filter(|body| !fits(view.ledger.holder(*body)))
            .collect()
    };
    match *fact {
        Fact::Born { region, body, .. } => {
            // An offer that never left its sender dies with it; the restarted sender then bears the spawn again. Should the
            // offer have arrived after all, its arrival is the error.
            let fits = |h| match h {
                None | Some(Holder::Adrift(_)) => true,
                Some(Holder::InFlight { from, .. }) => view.ledger.has_crashed(from),
                Some(_) => false,
            };
            let bodies = unless(&mut [body].into_iter(), &fits);
            (region, "was born again in", bodies)
        }
        Fact::Removed { region, body, .. } => {
            let fits = |h| h == Some(Holder::Owned(region));
            let bodies = unless(&mut [body].into_iter(), &fits);
            (region, "was removed by", bodies)
        }
        Fact::Stepped { region, bodies, .. } => {
            let reported = bodies.iter().zip(&view.roll.present);
            let strangers = reported.filter(|(_, slot)| slot.is_none());
            let bodies = strangers.map(|((body, _), _)| *body).collect();
            (region, "was stepped by", bodies)
        }
        Fact::CaughtUp { region, bodies, .. } => {
            let ids = bodies.iter().map(|(body, _)| *body);
            let strangers = ids.filter(|b| view.ledger.slot_for_catch_up(*b, region).is_none());
            (region, "was caught up by", strangers.collect())
        }
        Fact::Departed { from, members, .. } => {
            let fits = |h| h == Some(Holder::Owned(from));
            let bodies = unless(&mut members.iter().map(|(body, _)| *body), &fits);
            (from, "was handed over by", bodies)
        }
        Fact::Arrived {
            region,
            from,
            handover,
            members,
            ..
        } => {
            let flight = Holder::InFlight {
                from,
                to: region,
                handover,
            };
            let fits = |h: Option<Holder>| {
                h.is_some_and(|h| h == flight || view.ledger.is_lost_to_a_crash(h))
            };
            let bodies = unless(&mut members.iter().map(|(body, _)| *body), &fits);
            (region, "was taken in by", bodies)
        }
        Fact::Restored {
            region,
            snapshot,
            bodies,
            ..
        } => {
            let fits =
                |h: Option<Holder>| h.is_some_and(|h| view.ledger.may_restore(h, region, snapshot));
            let bodies = unless(&mut bodies.iter().map(|(body, _)| *body), &fits);
            (region, "was brought back by", bodies)
        }
        Fact::Heard { region, .. }
        | Fact::Contact { region, .. }
        | Fact::Crashed { region, .. } => (region, "", Vec::new()),
        Fact::Disturbed { .. } | Fact::Quiescent { .. } => (RegionId(0), "", Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use crate::checkers::testing::{History, b};
    use domain::Tick;

    #[test]
    fn a_handover_that_goes_well_is_silent() {
        let mut history = History::new(2);
        history.born(0, 0, 1, 0.0);
        history.step(1, 0, &[1]).step(1, 1, &[]);
        history.depart(1, 0, 1, 1, &[(1, 1)]);
        history.step(2, 0, &[]).step(2, 1, &[]);
        history.catch_up(2, 1, &[1]).arrive(2, 1, 0, 1, &[(1, 1)]);
        history.step(3, 0, &[]).step(3, 1, &[1]);
        assert!(history.finish().is_clean());
    }

    #[test]
    fn a_body_stepped_by_two_regions_is_one_duplicate() {
        let mut history = History::new(2);
        history.born(0, 0, 1, 0.0);
        for tick in 1..5 {
            history.step(tick, 0, &[1]).step(tick, 1, &[1]);
        }
        let report = history.finish();
        assert_eq!(report.errors.duplicated, 1);
        let violation = report.first_violation.unwrap();
        assert_eq!(
            (violation.tick, violation.bodies.as_slice()),
            (Tick(1), &[b(1)][..])
        );
        assert!(
            violation
                .to_string()
                .contains("b1 was stepped by r1 although it was owned by r0")
        );
    }

    #[test]
    fn an_offer_carried_out_twice_is_seen() {
        let mut history = History::new(2);
        history.born(0, 0, 1, 0.0);
        history.depart(0, 0, 1, 1, &[(1, 1)]);
        history.arrive(0, 1, 0, 1, &[(1, 1)]);
        history.depart(0, 1, 0, 1, &[(1, 2)]);
        history.arrive(0, 1, 0, 1, &[(1, 1)]);
        assert_eq!(history.finish().errors.duplicated, 1);
    }

    #[test]
    fn a_body_from_nowhere_is_seen() {
        let mut history = History::new(1);
        history.step(1, 0, &[9]);
        assert_eq!(history.finish().errors.duplicated, 1);
    }

    #[test]
    fn a_crash_may_bring_back_what_died_in_flight_but_nothing_that_lives_elsewhere() {
        let mut history = History::new(3);
        history
            .born(0, 0, 1, 0.0)
            .born(0, 0, 2, 50.0)
            .born(0, 0, 3, 90.0);
        history.depart(4, 0, 1, 1, &[(1, 1)]);
        history
            .depart(4, 0, 2, 1, &[(2, 1)])
            .arrive(4, 2, 0, 1, &[(2, 1)]);
        history.crash(5, 0);
        history.restore(6, 0, 3, &[(1, 0), (3, 0)]);
        assert_eq!(history.errors().duplicated, 0);
        history.crash(7, 0);
        history.restore(8, 0, 3, &[(1, 0), (2, 0), (3, 0)]);
        let report = history.finish();
        assert_eq!(report.errors.duplicated, 1);
        let text = report.first_violation.unwrap().to_string();
        assert!(
            text.contains("b2 was brought back by r0 although it was owned by r2"),
            "{text}"
        );
    }
}
