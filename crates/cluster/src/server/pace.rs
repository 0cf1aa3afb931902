//! Nobody runs away from a neighbour that cannot follow.
//!
//! Auras are large enough if whatever a region says at tick t is used by its neighbours when they step to tick t + [`hop_ticks`](boundary::AuraGeometry::hop_ticks). On machines that keep up the clock
//! sees to that. Where one is too slow, for a moment or for good, the others wait for it, and it is the world that is slow: late, but with every collision. Whose owner is
//! dead, or has just changed, is not waited for until it speaks.

use crate::names::Term;
use domain::{RegionId, SimTime, Tick};
use std::collections::BTreeMap;

/// A neighbour that has completed no tick for so long is not waited for: it hangs, or the network between it and us does, and no control plane has noticed.
const PATIENCE: SimTime = SimTime(3_000_000_000);
/// How far we are is said again after so long, if nothing has changed: who has restarted has not heard it.
pub const SAID_AGAIN: SimTime = SimTime(100_000_000);

/// What is known of a neighbour.
#[derive(Clone, Copy, Debug)]
struct Neighbour {
    /// How far it is, and since when; `None`: it has not spoken since it has this owner.
    progress: Option<(Tick, SimTime)>,
    term: Option<Term>,
    alive: bool,
}

/// How far the neighbours are, by what they say.
#[derive(Debug)]
pub struct Pace {
    hop_ticks: u64,
    neighbours: BTreeMap<RegionId, Neighbour>,
    held: Option<Tick>,
}

impl Pace {
    /// For a region that begins at this tick, now; its neighbours are there, too, for all it knows.
    pub fn new(hop_ticks: u64, neighbours: &[RegionId], tick: Tick, now: SimTime) -> Self {
        let neighbour = Neighbour {
            progress: Some((tick, now)),
            term: None,
            alive: true,
        };
        Self {
            hop_ticks,
            neighbours: neighbours.iter().map(|id| (*id, neighbour)).collect(),
            held: None,
        }
    }

    /// The control plane says who has a region: in which term, and whether its process lives.
    pub fn seat(&mut self, region: RegionId, term: Term, alive: bool) {
        if let Some(neighbour) = self.neighbours.get_mut(&region) {
            neighbour.alive = alive;
            if neighbour.term.replace(term).is_some_and(|old| old != term) {
                neighbour.progress = None;
            }
        }
    }

    /// A neighbour says how far it is. One that was restored from a snapshot may be behind what it said before.
    pub fn hear(&mut self, from: RegionId, tick: Tick, now: SimTime) {
        if let Some(neighbour) = self.neighbours.get_mut(&from)
            && neighbour.progress.is_none_or(|(known, _)| known != tick)
        {
            neighbour.progress = Some((tick, now));
        }
    }

    /// May the region step to this tick?
    pub fn allows(&self, tick: Tick, now: SimTime) -> bool {
        self.neighbours.values().all(|neighbour| {
            let follows = |(known, since): (Tick, SimTime)| {
                known.0 + self.hop_ticks >= tick.0 || now.since(since) > PATIENCE
            };
            !neighbour.alive || neighbour.progress.is_none_or(follows)
        })
    }

    /// The last tick that had to wait.
    pub fn held(&self) -> Option<Tick> {
        self.held
    }

    /// This tick is due and not allowed yet. Says whether that is new.
    pub fn hold(&mut self, tick: Tick) -> bool {
        self.held.replace(tick) != Some(tick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHERS: [RegionId; 2] = [RegionId(1), RegionId(2)];

    fn ms(ms: u64) -> SimTime {
        SimTime(ms * 1_000_000)
    }

    #[test]
    fn the_slowest_neighbour_is_waited_for() {
        let mut pace = Pace::new(2, &OTHERS, Tick(10), ms(0));
        assert!(pace.allows(Tick(12), ms(1)));
        assert!(!pace.allows(Tick(13), ms(1)));
        pace.hear(OTHERS[0], Tick(11), ms(20));
        assert!(!pace.allows(Tick(13), ms(20)), "the other one is at 10");
        pace.hear(OTHERS[1], Tick(11), ms(21));
        assert!(pace.allows(Tick(13), ms(21)));
    }

    #[test]
    fn who_makes_no_progress_is_not_waited_for_until_it_does() {
        let mut pace = Pace::new(2, &OTHERS, Tick(0), ms(0));
        pace.hear(OTHERS[0], Tick(100), ms(200));
        assert!(!pace.allows(Tick(3), ms(3_000)));
        assert!(pace.allows(Tick(3), ms(3_001)), "the other one hangs");
        // It talks, but stands still.
        pace.hear(OTHERS[1], Tick(0), ms(3_100));
        assert!(pace.allows(Tick(50), ms(3_100)));
        pace.hear(OTHERS[1], Tick(1), ms(3_110));
        assert!(!pace.allows(Tick(50), ms(3_110)), "it is back");
    }

    #[test]
    fn the_dead_are_not_waited_for_and_their_successors_when_they_speak() {
        let mut pace = Pace::new(2, &OTHERS, Tick(0), ms(0));
        for other in OTHERS {
            pace.seat(other, Term(1), true);
        }
        pace.hear(OTHERS[0], Tick(100), ms(0));
        assert!(!pace.allows(Tick(3), ms(1)));
        pace.seat(OTHERS[1], Term(1), false);
        assert!(pace.allows(Tick(3), ms(1)));
        pace.seat(OTHERS[1], Term(2), true);
        assert!(pace.allows(Tick(3), ms(1)), "it has not spoken");
        pace.hear(OTHERS[1], Tick(0), ms(2));
        assert!(!pace.allows(Tick(3), ms(2)));
    }

    /// Two that wait for each other would wait for ever.
    #[test]
    fn of_two_one_may_always_go_on() {
        for (mine, theirs) in [(0, 0), (5, 0), (0, 5), (7, 7)] {
            let allows = |mine: u64, theirs: u64| {
                Pace::new(1, &OTHERS[..1], Tick(theirs), ms(0)).allows(Tick(mine + 1), ms(0))
            };
            assert!(allows(mine, theirs) || allows(theirs, mine));
        }
    }

    #[test]
    fn a_held_tick_counts_once() {
        let mut pace = Pace::new(1, &OTHERS, Tick(0), ms(0));
        assert!(pace.hold(Tick(2)) && !pace.hold(Tick(2)) && pace.hold(Tick(3)));
    }
}
