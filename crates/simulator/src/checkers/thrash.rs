//! AP-25: pairs that migrate because of each other more than once before they meet or part (thesis 3.7).
//!
//! C is called to D's server while D is already on its way to C's: they have swapped and are still apart. That is
//! no broken promise by itself, but it delays their meeting, so it is counted.

use super::Checker;
use super::findings::{Findings, View};
use crate::facts::Fact;
use domain::{BodyId, Tick};
use rustc_hash::FxHashMap;
use wire::HandoverCause;

/// A pair that has left each other alone for this many ticks has parted.
const PARTED_AFTER: u64 = 120;
/// Above this many open pairs those that have parted are swept out.
const SWEEP_ABOVE: usize = 4096;

#[derive(Default)]
pub(super) struct Thrash {
    open: FxHashMap<(BodyId, BodyId), Approach>,
    thrashed: u64,
}

/// Two bodies on their way to each other.
struct Approach {
    migrations: u32,
    latest: Tick,
}

impl Thrash {
    /// How many pairs thrashed.
    pub fn pairs(&self) -> u64 {
        self.thrashed
    }

    fn migrate(&mut self, tick: Tick, pair: (BodyId, BodyId)) {
        if self.open.len() > SWEEP_ABOVE {
            self.open
                .retain(|_, a| tick.since(a.latest) <= PARTED_AFTER);
        }
        let approach = self.open.entry(pair).or_insert(Approach {
            migrations: 0,
            latest: tick,
        });
        if tick.since(approach.latest) > PARTED_AFTER {
            approach.migrations = 0;
        }
        approach.latest = approach.latest.max(tick);
        approach.migrations += 1;
        if approach.migrations == 2 {
            self.thrashed += 1;
        }
    }
}

impl Checker for Thrash {
    fn observe(&mut self, fact: &Fact<'_>, _view: &View<'_>, _findings: &mut Findings) {
        match *fact {
            Fact::Departed {
                tick,
                cause: HandoverCause::AuraCollision { member, aura },
                ..
            } => self.migrate(tick, (member.min(aura), member.max(aura))),
            Fact::Contact { a, b, .. } => {
                self.open.remove(&(a.min(b), a.max(b)));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::checkers::testing::History;

    fn two() -> History {
        let mut history = History::new(2);
        history.born(0, 0, 1, 0.0).born(0, 1, 2, 5.0);
        history
    }

    // AP-25
    #[test]
    fn a_pair_that_swaps_servers_has_thrashed_once() {
        let mut history = two();
        history.depart_for_aura(1, 0, 1, (1, 1), 2);
        history.depart_for_aura(1, 1, 0, (2, 1), 1);
        history
            .arrive(3, 1, 0, 1, &[(1, 1)])
            .arrive(3, 0, 1, 1, &[(2, 1)]);
        history.depart_for_aura(4, 1, 0, (1, 2), 2);
        assert_eq!(history.finish().thrashed_pairs, 1);
    }

    #[test]
    fn one_migration_a_meeting_or_a_parting_in_between_is_no_thrash() {
        let mut history = two();
        history
            .depart_for_aura(1, 0, 1, (1, 1), 2)
            .arrive(2, 1, 0, 1, &[(1, 1)]);
        history.contact(3, 1, (1, 2), 0.0, 1.0, false);
        history
            .depart_for_aura(4, 1, 0, (1, 2), 2)
            .arrive(5, 0, 1, 1, &[(1, 2)]);
        history.depart_for_aura(400, 0, 1, (1, 3), 2);
        assert_eq!(history.finish().thrashed_pairs, 0);
    }
}
