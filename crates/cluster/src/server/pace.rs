//! Nobody runs away from a neighbour that cannot follow.
//!
//! Auras are large enough if whatever a region says at tick t is used by its neighbours when they step to tick t + [`hop_ticks`](boundary::AuraGeometry::hop_ticks). On machines that keep up the clock
//! sees to that. Where one is too slow, for a moment or for good, the others wait for it, and it is the world that is slow: late, but with every collision. Whose owner is
//! dead is not waited for. Nor is a network: if all that a neighbour says takes longer than is tolerated, it is not slow, only far, and tolerances are exceeded as they would be.

use crate::names::Term;
use domain::{RegionId, SimTime, Tick, TickLength};
use std::collections::BTreeMap;

/// A neighbour that has completed no tick for so long is not waited for: it hangs, or the network between it and us does, and no control plane has noticed.
pub const PATIENCE: SimTime = SimTime(3_000_000_000);
/// How far we are is said again after so long, if nothing has changed: who has restarted has not heard it.
pub const SAID_AGAIN: SimTime = SimTime(100_000_000);

/// The shortest delay is looked for over one to two of these.
const DELAY_WINDOW: SimTime = SimTime(1_000_000_000);

/// What is known of a neighbour.
#[derive(Clone, Copy, Debug)]
struct Neighbour {
    /// How far it is.
    tick: Tick,
    /// Since when.
    since: SimTime,
    term: Option<Term>,
    alive: bool,
    delay: ShortestDelay,
}

/// The shortest delay of late: what the network needs, whatever else delays messages at times.
#[derive(Clone, Copy, Debug)]
struct ShortestDelay {
    window_began: SimTime,
    last: Option<SimTime>,
    current: Option<SimTime>,
}

impl ShortestDelay {
    fn hear(&mut self, delay: SimTime, now: SimTime) {
        if now.since(self.window_began) > DELAY_WINDOW {
            self.last = self.current.take();
            self.window_began = now;
        }
        self.current = Some(self.current.map_or(delay, |known| known.min(delay)));
    }

    fn get(&self) -> SimTime {
        let shortest = self.last.into_iter().chain(self.current).min();
        shortest.unwrap_or(SimTime::ZERO)
    }
}

/// How far the neighbours are, by what they say.
#[derive(Debug)]
pub struct Pace {
    settings: PaceSettings,
    neighbours: BTreeMap<RegionId, Neighbour>,
    held: Option<Tick>,
}

/// What auras allow for.
#[derive(Clone, Copy, Debug)]
pub struct PaceSettings {
    /// Within so many ticks whatever a region says is used by its neighbours.
    pub hop_ticks: u64,
    /// Delays up to this are part of it.
    pub latency: SimTime,
    /// The length of a tick.
    pub step: TickLength,
}

impl Pace {
    /// For a region that begins at this tick, now; its neighbours are there, too, for all it knows.
    pub fn new(settings: PaceSettings, neighbours: &[RegionId], tick: Tick, now: SimTime) -> Self {
        let neighbour = Neighbour {
            tick,
            since: now,
            term: None,
            alive: true,
            delay: ShortestDelay {
                window_began: now,
                last: None,
                current: None,
            },
        };
        Self {
            settings,
            neighbours: neighbours.iter().map(|id| (*id, neighbour)).collect(),
            held: None,
        }
    }

    /// The world's time begins: until now nobody could make progress.
    pub fn begin(&mut self, now: SimTime) {
        for neighbour in self.neighbours.values_mut() {
            neighbour.since = now;
        }
    }

    /// The control plane says who has a region: in which term, and whether its process lives. A new owner gets time to begin.
    pub fn seat(&mut self, region: RegionId, term: Term, alive: bool, now: SimTime) {
        if let Some(neighbour) = self.neighbours.get_mut(&region) {
            neighbour.alive = alive;
            if neighbour.term.replace(term) != Some(term) {
                neighbour.since = now;
            }
        }
    }

    /// A neighbour says how far it is, and its word took so long. One that was restored from a snapshot may be behind what it said before.
    pub fn hear(&mut self, from: RegionId, tick: Tick, delay: SimTime, now: SimTime) {
        let Some(neighbour) = self.neighbours.get_mut(&from) else {
            return;
        };
        neighbour.delay.hear(delay, now);
        if neighbour.tick != tick {
            neighbour.tick = tick;
            neighbour.since = now;
        }
    }

    /// May the region step to this tick?
    pub fn allows(&self, tick: Tick, now: SimTime) -> bool {
        self.neighbours.values().all(|neighbour| {
            let follows = neighbour.tick.0 + self.lead(neighbour) >= tick.0;
            follows || !neighbour.alive || now.since(neighbour.since) > PATIENCE
        })
    }

    /// So far we may be ahead of what a neighbour has said last.
    fn lead(&self, neighbour: &Neighbour) -> u64 {
        let beyond = neighbour.delay.get().since(self.settings.latency);
        let far = (beyond.as_secs() / self.settings.step.as_secs()).ceil();
        self.settings.hop_ticks + far as u64
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

    fn pace(neighbours: &[RegionId], tick: u64) -> Pace {
        let settings = PaceSettings {
            hop_ticks: 2,
            latency: ms(2),
            step: TickLength::from_secs(1.0 / 60.0).expect("valid"),
        };
        Pace::new(settings, neighbours, Tick(tick), ms(0))
    }

    #[test]
    fn the_slowest_neighbour_is_waited_for() {
        let mut pace = pace(&OTHERS, 10);
        assert!(pace.allows(Tick(12), ms(1)));
        assert!(!pace.allows(Tick(13), ms(1)));
        pace.hear(OTHERS[0], Tick(11), ms(1), ms(20));
        assert!(!pace.allows(Tick(13), ms(20)), "the other one is at 10");
        pace.hear(OTHERS[1], Tick(11), ms(1), ms(21));
        assert!(pace.allows(Tick(13), ms(21)));
    }

    #[test]
    fn who_makes_no_progress_is_not_waited_for_until_it_does() {
        let mut pace = pace(&OTHERS, 0);
        pace.hear(OTHERS[0], Tick(100), ms(1), ms(200));
        assert!(!pace.allows(Tick(3), ms(3_000)));
        assert!(pace.allows(Tick(3), ms(3_001)), "the other one hangs");
        // It talks, but stands still.
        pace.hear(OTHERS[1], Tick(0), ms(1), ms(3_100));
        assert!(pace.allows(Tick(50), ms(3_100)));
        pace.hear(OTHERS[1], Tick(1), ms(1), ms(3_110));
        assert!(!pace.allows(Tick(50), ms(3_110)), "it is back");
    }

    #[test]
    fn the_dead_are_not_waited_for_and_their_successors_get_time_to_begin() {
        let mut pace = pace(&OTHERS, 0);
        for other in OTHERS {
            pace.seat(other, Term(1), true, ms(0));
        }
        pace.hear(OTHERS[0], Tick(100), ms(1), ms(0));
        assert!(!pace.allows(Tick(3), ms(1)));
        pace.seat(OTHERS[1], Term(1), false, ms(2900));
        assert!(pace.allows(Tick(3), ms(2900)));
        pace.seat(OTHERS[1], Term(2), true, ms(2950));
        assert!(!pace.allows(Tick(3), ms(3100)), "it begins");
        assert!(pace.allows(Tick(3), ms(5951)), "it does not");
    }

    #[test]
    fn nobody_is_late_before_the_world_begins() {
        let mut pace = pace(&OTHERS, 0);
        pace.begin(ms(60_000));
        assert!(!pace.allows(Tick(3), ms(60_100)));
    }

    /// Two that wait for each other would wait for ever.
    #[test]
    fn of_two_one_may_always_go_on() {
        for mine in 0..12 {
            for theirs in 0..12 {
                let allows = |mine: u64, theirs: u64| {
                    pace(&OTHERS[..1], theirs).allows(Tick(mine + 1), ms(0))
                };
                assert!(allows(mine, theirs) || allows(theirs, mine));
            }
        }
    }

    /// 100 ms from here to there: everyone keeps up, and is heard six ticks late.
    #[test]
    fn a_neighbour_that_is_far_away_is_not_slow() {
        let mut pace = pace(&OTHERS[..1], 0);
        for tick in 1..60 {
            let now = ms(tick * 1000 / 60 + 100);
            // One in ten takes even longer: that is not the distance.
            let delay = if tick % 10 == 0 { 180 } else { 100 };
            pace.hear(OTHERS[0], Tick(tick), ms(delay), now);
            assert!(pace.allows(Tick(tick + 8), now));
            assert!(!pace.allows(Tick(tick + 9), now), "{tick}");
        }
        // It comes nearer: what was far is forgotten.
        for tick in 60..240 {
            pace.hear(OTHERS[0], Tick(tick), ms(1), ms(tick * 1000 / 60));
        }
        assert!(pace.allows(Tick(241), ms(4000)));
        assert!(!pace.allows(Tick(242), ms(4000)));
    }

    #[test]
    fn a_held_tick_counts_once() {
        let mut pace = pace(&OTHERS, 0);
        assert!(pace.hold(Tick(2)) && !pace.hold(Tick(2)) && pace.hold(Tick(3)));
    }
}
