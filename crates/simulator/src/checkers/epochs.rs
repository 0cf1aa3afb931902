//! I4: a body's epoch rises by one at each change of owner; an old epoch changes nothing.

use super::Checker;
use super::findings::{ErrorKind, Finding, Findings, View};
use crate::facts::Fact;
use domain::{BodyId, Epoch};

pub(super) struct Epochs;

impl Checker for Epochs {
    fn observe(&mut self, fact: &Fact<'_>, view: &View<'_>, findings: &mut Findings) {
        // After a crash a lower epoch may return: the ownership that died with the server never came into being.
        let (members, fits, deed): (&[_], fn(Epoch, Epoch) -> bool, _) = match *fact {
            Fact::Departed { members, .. } => (members, |was, is| is == was.next(), "left"),
            Fact::Arrived { members, .. } => {
                // Offered again by an owner before the one that died with it: see I1 for whether it may.
                let died = |(body, _): &(BodyId, Epoch)| {
                    let holder = view.ledger.holder(*body);
                    holder.is_some_and(|holder| view.ledger.is_lost_to_a_crash(holder))
                };
                match members.iter().any(died) {
                    true => (members, |was, is| is <= was, "arrived"),
                    false => (members, |was, is| is == was, "arrived"),
                }
            }
            Fact::Restored { bodies, .. } => (bodies, |was, is| is <= was, "was restored"),
            _ => return,
        };
        for (body, epoch) in members {
            let Some(was) = view.ledger.get(*body).map(|entry| entry.epoch) else {
                continue;
            };
            if !fits(was, *epoch) {
                report(fact, view, findings, (*body, *epoch), was, deed);
            }
        }
    }
}

fn report(
    fact: &Fact<'_>,
    view: &View<'_>,
    findings: &mut Findings,
    (body, is): (BodyId, Epoch),
    was: Epoch,
    deed: &str,
) {
    let finding = Finding {
        kind: ErrorKind::EpochError,
        count: 1,
        tick: fact.tick(),
        bodies: &[body],
        excused: false,
    };
    findings.add(view, finding, || {
        format!("{body} {deed} with epoch {is} while its epoch was {was}")
    });
}

#[cfg(test)]
mod tests {
    use crate::checkers::testing::History;

    #[test]
    fn one_more_at_each_change_of_owner_is_right() {
        let mut history = History::new(2);
        history.born(0, 0, 1, 0.0);
        for trip in 0..3 {
            let (from, to, epoch) = (trip % 2, (trip + 1) % 2, trip + 1);
            history.depart(0, from, to, 1 + u64::from(trip), &[(1, epoch)]);
            history.arrive(0, to, from, 1 + u64::from(trip), &[(1, epoch)]);
        }
        assert!(history.finish().is_clean());
    }

    #[test]
    fn a_leap_and_an_old_epoch_are_seen() {
        let mut history = History::new(2);
        history.born(0, 0, 1, 0.0).depart(0, 0, 1, 1, &[(1, 2)]);
        assert_eq!(history.errors().epoch_errors, 1);
        history.arrive(0, 1, 0, 1, &[(1, 1)]);
        let report = history.finish();
        assert_eq!(report.errors.epoch_errors, 2);
        let first = report.first_violation.unwrap();
        assert_eq!(first.what, "b1 left with epoch e2 while its epoch was e0");
    }

    #[test]
    fn a_crash_may_take_an_epoch_back_but_not_invent_one() {
        let mut history = History::new(2);
        history.born(0, 0, 1, 0.0).depart(3, 0, 1, 1, &[(1, 1)]);
        history.crash(3, 0).restore(5, 0, 2, &[(1, 0)]);
        history
            .depart(6, 0, 1, 1, &[(1, 1)])
            .arrive(6, 1, 0, 1, &[(1, 1)]);
        assert_eq!(history.errors().epoch_errors, 0);
        history.crash(7, 1).restore(8, 1, 6, &[(1, 2)]);
        assert_eq!(history.finish().errors.epoch_errors, 1);
    }
}
