//! Which hits a pair has had: the counters `c` and `cp`, and when two sightings are of the same hit.
//!
//! Like two scorers at opposite ends of a field who compare slips of paper. Each writes down *when* it saw a hit, and a slip whose
//! time is on the list already is the same hit, whoever saw it, however often and in whatever order the slips arrive.
//! Two real hits of one pair are never closer than the refractory time, because nobody looks for the next one before
//! that has passed and the bodies have been apart.
//!
//! The published rule compares counts only: the larger wins. Two different hits, one seen by each scorer alone, then
//! become one (D7).

use crate::events::Counters;
use crate::messages::{MAX_EARLIER, Record, RecordKind};
use crate::settings::Identity;
use domain::SimTime;
use std::collections::VecDeque;

/// Times that are kept: the last one, and as many before it as a record carries.
const KEPT: usize = MAX_EARLIER + 1;

#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    identity: Identity,
    refractory: SimTime,
    counters: Counters,
    /// In ascending order.
    recent: VecDeque<SimTime>,
    /// No own detection before this ...
    blocked_until: SimTime,
    /// ... nor before the bodies have been apart.
    armed: bool,
}

/// What a peer's record tells that was not known.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct News {
    /// Times of hits, in ascending order.
    pub times: Vec<SimTime>,
    /// Hits whose times are too long ago to be told.
    pub untimed: u32,
}

impl News {
    pub fn is_empty(&self) -> bool {
        self.times.is_empty() && self.untimed == 0
    }
}

impl Ledger {
    pub fn new(identity: Identity, refractory: SimTime) -> Self {
        Self {
            identity,
            refractory,
            counters: Counters::default(),
            recent: VecDeque::new(),
            blocked_until: SimTime::ZERO,
            armed: true,
        }
    }

    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The hits that are remembered, newest first.
    pub fn recent(&self) -> impl Iterator<Item = SimTime> + '_ {
        self.recent.iter().rev().copied()
    }

    /// Whether a contact seen now would be a new hit (D6).
    pub fn is_armed(&self, now: SimTime) -> bool {
        self.armed && now >= self.blocked_until
    }

    /// The bodies are this far apart now: from `rearm_gap` on, the next contact is a new one.
    pub fn observe_gap(&mut self, now: SimTime, gap: f64, rearm_gap: f64) {
        if !self.armed && gap > rearm_gap && now >= self.blocked_until {
            self.armed = true;
        }
    }

    /// The present encounter is over without a hit (an agreement that failed): nothing counts before the bodies have been apart.
    pub fn disarm(&mut self) {
        self.armed = false;
    }

    /// A hit is committed: the number it will have. Once per commit (ML-22, D1).
    pub fn commit(&mut self) -> u32 {
        self.counters.cp = self.counters.cp.max(self.counters.c).saturating_add(1);
        self.counters.cp
    }

    /// A commit was given up.
    pub fn uncommit(&mut self) {
        self.counters.cp = self.counters.c;
    }

    /// A hit at `time` is registered at `at`. The number it has (ML-12); `cp ≥ c` stays true (D3).
    pub fn count(&mut self, time: SimTime, at: SimTime) -> u32 {
        self.armed = false;
        self.blocked_until = self.blocked_until.max(time.max(at) + self.refractory);
        self.enter(time)
    }

    /// A hit that is only counted, because it is long past. It must not stand in the way of one that is just happening.
    pub fn count_past(&mut self, time: SimTime, now: SimTime) -> u32 {
        if now.since(time) < self.refractory {
            return self.count(time, time);
        }
        self.enter(time)
    }

    fn enter(&mut self, time: SimTime) -> u32 {
        let place = self.recent.partition_point(|known| *known <= time);
        self.recent.insert(place, time);
        if self.recent.len() > KEPT {
            self.recent.pop_front();
        }
        self.raise(1)
    }

    /// Hits nobody knows the time of.
    pub fn count_untimed(&mut self, hits: u32) -> u32 {
        self.raise(hits)
    }

    fn raise(&mut self, hits: u32) -> u32 {
        let Counters { c, cp } = &mut self.counters;
        *c = c.saturating_add(hits);
        *cp = (*cp).max(*c);
        *c
    }

    /// Whether a hit at this time is on the list.
    pub fn knows(&self, time: SimTime) -> bool {
        self.recent
            .iter()
            .any(|known| is_close(*known, time, self.refractory))
    }

    /// Whether the hit a record speaks of has been registered here.
    pub fn has(&self, index: u32, time: SimTime) -> bool {
        match self.identity {
            Identity::Index => index <= self.counters.c,
            Identity::Time => self.knows(time) || self.is_forgotten(index, time),
        }
    }

    /// Older than anything on the list, which is full: only the count can tell.
    fn is_forgotten(&self, index: u32, time: SimTime) -> bool {
        let full = self.recent.len() == KEPT;
        full && self.recent.front().is_some_and(|oldest| time < *oldest) && index <= self.counters.c
    }

    /// Whether two sightings are of one hit.
    pub fn is_same(&self, one: (u32, SimTime), other: (u32, SimTime)) -> bool {
        match self.identity {
            Identity::Index => one.0 == other.0,
            Identity::Time => is_close(one.1, other.1, self.refractory),
        }
    }

    /// What a record of hits that happened tells that was not known here.
    pub fn news(&self, record: &Record) -> News {
        let c = self.counters.c;
        if record.kind != RecordKind::Done || record.index == 0 {
            return News::default();
        }
        if self.identity == Identity::Index {
            let missing = record.index.saturating_sub(c);
            let times = if missing > 0 {
                vec![record.time]
            } else {
                Vec::new()
            };
            return News {
                times,
                untimed: missing.saturating_sub(1),
            };
        }
        let told = std::iter::once(&record.time).chain(&record.earlier);
        let mut times: Vec<SimTime> = told
            .zip(0..record.index)
            .filter(|(time, back)| !self.has(record.index - back, **time))
            .map(|(time, _)| *time)
            .collect();
        times.sort_unstable();
        times.dedup_by(|one, other| is_close(*one, *other, self.refractory));
        let untimed = record
            .index
            .saturating_sub(c.saturating_add(times.len() as u32));
        News { times, untimed }
    }
}

fn is_close(one: SimTime, other: SimTime, within: SimTime) -> bool {
    one.since(other).max(other.since(one)) < within
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::PairId;
    use domain::BodyId;

    fn ms(millis: u64) -> SimTime {
        SimTime(millis * 1_000_000)
    }

    fn done(index: u32, times: &[u64]) -> Record {
        Record {
            pair: PairId::new(BodyId(1), BodyId(2)).expect("two"),
            kind: RecordKind::Done,
            index,
            time: ms(times[0]),
            score: 0,
            velocities: None,
            earlier: times[1..].iter().map(|t| ms(*t)).collect(),
        }
    }

    fn ledger(identity: Identity) -> Ledger {
        Ledger::new(identity, ms(250))
    }

    // D7: a hit seen only here and another seen only there are two.
    #[test]
    fn two_hits_seen_by_one_each_are_two() {
        let mut ours = ledger(Identity::Time);
        ours.count(ms(1_000), ms(1_000));
        let news = ours.news(&done(1, &[2_000]));
        assert_eq!(news.times, [ms(2_000)], "same number, another hit");
        let mut published = ledger(Identity::Index);
        published.count(ms(1_000), ms(1_000));
        assert!(
            published.news(&done(1, &[2_000])).is_empty(),
            "the published rule loses it"
        );
    }

    #[test]
    fn one_hit_is_one_however_often_it_is_told() {
        let mut ledger = ledger(Identity::Time);
        ledger.count(ms(1_000), ms(1_020));
        for t in [900, 1_000, 1_100, 1_240] {
            assert!(ledger.news(&done(1, &[t])).is_empty(), "{t}");
        }
        assert!(!ledger.is_armed(ms(1_269)));
        ledger.observe_gap(ms(1_280), 0.4, 0.5);
        assert!(!ledger.is_armed(ms(1_280)), "not apart yet");
        ledger.observe_gap(ms(1_300), 0.6, 0.5);
        assert!(ledger.is_armed(ms(1_300)));
    }

    #[test]
    fn times_of_earlier_hits_make_good_for_lost_records() {
        let mut ledger = ledger(Identity::Time);
        let news = ledger.news(&done(6, &[5_000, 4_000, 3_000, 2_000]));
        assert_eq!(news.times, [ms(2_000), ms(3_000), ms(4_000), ms(5_000)]);
        assert_eq!(news.untimed, 2);
        for time in news.times {
            ledger.count(time, ms(5_100));
        }
        ledger.count_untimed(2);
        assert_eq!(ledger.counters(), Counters { c: 6, cp: 6 });
        assert!(
            ledger
                .news(&done(6, &[5_000, 4_000, 3_000, 2_000]))
                .is_empty()
        );
        assert!(
            ledger.news(&done(2, &[1_000, 500])).is_empty(),
            "long forgotten, but counted"
        );
    }

    // ML-22, D3: `cp` never falls behind `c`.
    #[test]
    fn a_hit_without_commit_raises_both() {
        let mut ledger = ledger(Identity::Time);
        assert_eq!(ledger.count(ms(1), ms(1)), 1);
        assert_eq!(ledger.counters(), Counters { c: 1, cp: 1 });
        assert_eq!(ledger.commit(), 2);
        assert_eq!(ledger.counters(), Counters { c: 1, cp: 2 });
        assert_eq!(ledger.count(ms(900), ms(900)), 2);
        assert_eq!(ledger.counters(), Counters { c: 2, cp: 2 });
    }
}
