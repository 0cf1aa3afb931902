//! No lock lasts longer than T_lock and one frame (ML-23), whatever happens to the other station or to the link.

use super::stage::Watcher;
use domain::{BodyId, SimTime};
use station::{Event, PairId, Station, StationId};
use std::collections::BTreeMap;

/// A lock that lasted too long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overlong {
    /// Where.
    pub station: StationId,
    /// Whose.
    pub pair: PairId,
    /// How long, so far.
    pub lasted: SimTime,
}

/// Watches every lock of every station. It believes neither the station's events nor its lock table alone: a lock begins with
/// whichever shows it first and ends when neither shows it.
#[derive(Debug)]
pub struct LockChecker {
    limit: SimTime,
    open: BTreeMap<(StationId, PairId), SimTime>,
    held: BTreeMap<(StationId, BodyId), SimTime>,
    /// How many locks there were.
    pub locks: u64,
    /// The longest lock of a pair.
    pub longest: SimTime,
    /// The longest time a body was held without a break, by one lock or by several after each other.
    pub longest_held: SimTime,
    /// All that lasted too long.
    pub overlong: Vec<Overlong>,
}

impl LockChecker {
    /// T_lock and one frame.
    pub fn new(longest: SimTime, frame: SimTime) -> Self {
        Self {
            limit: longest + frame,
            open: BTreeMap::new(),
            held: BTreeMap::new(),
            locks: 0,
            longest: SimTime::ZERO,
            longest_held: SimTime::ZERO,
            overlong: Vec::new(),
        }
    }

    fn begin(&mut self, station: StationId, pair: PairId, now: SimTime) {
        let locks = &mut self.locks;
        self.open.entry((station, pair)).or_insert_with(|| {
            *locks += 1;
            now
        });
    }

    fn look(&mut self, station: StationId, pair: PairId, now: SimTime) {
        let Some(since) = self.open.get(&(station, pair)) else {
            return;
        };
        let lasted = now.since(*since);
        self.longest = self.longest.max(lasted);
        // Half a nanosecond of rounding per conversion; frames are whole nanoseconds.
        if lasted.0 > self.limit.0 + 2 {
            self.overlong.push(Overlong {
                station,
                pair,
                lasted,
            });
        }
    }
}

impl Watcher for LockChecker {
    fn event(&mut self, now: SimTime, station: StationId, event: &Event) {
        match *event {
            Event::Locked { pair, .. } => self.begin(station, pair, now),
            Event::Unlocked { pair, .. } => {
                self.look(station, pair, now);
                self.open.remove(&(station, pair));
            }
            _ => {}
        }
    }

    fn frame(&mut self, now: SimTime, station: &Station) {
        let id = station.id();
        let shown: Vec<PairId> = station.locks().map(|lock| lock.pair).collect();
        for pair in &shown {
            self.begin(id, *pair, now);
        }
        let open: Vec<PairId> = self
            .open
            .keys()
            .filter(|key| key.0 == id)
            .map(|key| key.1)
            .collect();
        for pair in open {
            self.look(id, pair, now);
            if !shown.contains(&pair) {
                self.open.remove(&(id, pair));
            }
        }
        let bodies = station.bodies().map(|(body, _)| body);
        let locked: Vec<BodyId> = bodies.filter(|body| station.is_locked(*body)).collect();
        self.held
            .retain(|key, _| key.0 != id || locked.contains(&key.1));
        for body in locked {
            let since = *self.held.entry((id, body)).or_insert(now);
            self.longest_held = self.longest_held.max(now.since(since));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: f64) -> SimTime {
        SimTime::from_millis(millis)
    }

    fn checker_after(millis: f64) -> LockChecker {
        let mut checker = LockChecker::new(ms(100.0), ms(20.0));
        let (station, pair) = (StationId(0), PairId::new(BodyId(1), BodyId(2)));
        let pair = pair.expect("two bodies");
        let locked = Event::Locked {
            pair,
            at: ms(1000.0),
            until: ms(1100.0),
            own: true,
        };
        checker.event(ms(1000.0), station, &locked);
        let at = ms(1000.0 + millis);
        let unlocked = Event::Unlocked {
            pair,
            since: ms(1000.0),
            at,
            why: station::Unlock::Played,
        };
        checker.event(at, station, &unlocked);
        checker
    }

    /// ML-23: the checker can fail.
    #[test]
    fn a_lock_that_lasts_too_long_is_found() {
        let fine = checker_after(120.0);
        assert_eq!((fine.locks, fine.overlong.len()), (1, 0));
        let long = checker_after(121.0);
        assert_eq!(long.overlong.len(), 1);
        assert_eq!(long.longest, ms(121.0));
    }
}
