//! What two participants know of one pair: the state machine of the digest's §2.15, without the motion.
//!
//! ```text
//!             foresee ≤ window                         its time has come
//!    FREE ───────────────────────▶ COMMITTED(t,traj) ───────────────────▶ play: c += 1, tell Done
//!     │  ▲                            │ the other's notice of the same hit: whose trajectories? ┐
//!     │  │ apart & refractory         ▼                                                          ▼
//!     │  └───────────────────────────────────────────────────────────────────────────────────  COOLING
//!     │ notice, t ahead                                its time has come                         ▲
//!     ├───────────────────────▶ INFORMED(t,traj) ───────────────────▶ play with traj ────────────┤
//!     │ done: younger than T_cut → play now with traj; older → count only ───────────────────────┤
//!     └ contact never foreseen → play: c += 1, tell Done ────────────────────────────────────────┘
//! ```

use super::Ledger;
use super::ledger::News;
use crate::ids::{PairId, StationId};
use crate::messages::{MAX_EARLIER, Record, RecordKind};
use crate::settings::{AgreementSettings, Conflict};
use domain::SimTime;
use glam::DVec3;

/// A hit that we have committed ourselves to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Commit {
    pub index: u32,
    pub time: SimTime,
    /// Our lock ends no later than this. The hit may be due later if the other's time counts; until then the bodies are free.
    pub deadline: SimTime,
    pub velocities: [DVec3; 2],
    pub score: u8,
    pub author: StationId,
    /// The order of detection, which is the order in which a bucket is resolved.
    pub order: u64,
}

/// A hit that the other has told us of.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {
    pub record: Record,
    pub from: StationId,
}

/// The last hit played here: what may still be settled differently.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Played {
    pub index: u32,
    pub time: SimTime,
    pub at: SimTime,
    pub velocities: [DVec3; 2],
    pub has_trajectories: bool,
    pub score: u8,
    pub author: StationId,
}

/// Where a two-phase agreement stands (pre-collision).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Voting {
    pub will: bool,
    pub can: bool,
}

/// What became of a record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Heard {
    /// Known already, or not better than what is known.
    Nothing,
    /// Remembered until its time, or until the end of this frame.
    Noted,
    /// Of a hit played already, and its trajectories are the ones that count: the velocities to change to.
    Settle([DVec3; 2]),
}

#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub id: PairId,
    /// Who is told of this pair's hits.
    pub peers: Vec<StationId>,
    /// Since when the pair is known.
    pub since: SimTime,
    pub ledger: Ledger,
    pub commit: Option<Commit>,
    pub notice: Option<Told>,
    pub done: Option<Told>,
    pub played: Option<Played>,
    pub voting: Voting,
    /// When its record was last sent.
    pub told_at: Option<SimTime>,
}

impl Pair {
    pub fn new(
        id: PairId,
        peers: Vec<StationId>,
        since: SimTime,
        settings: &AgreementSettings,
    ) -> Self {
        Self {
            id,
            peers,
            since,
            ledger: Ledger::new(settings.identity, settings.refractory),
            commit: None,
            notice: None,
            done: None,
            played: None,
            voting: Voting::default(),
            told_at: None,
        }
    }

    /// The other participant says this. Any order, any repetition, any loss (ML-27).
    pub fn hear(
        &mut self,
        us: StationId,
        from: StationId,
        record: Record,
        now: SimTime,
        settings: &AgreementSettings,
    ) -> Heard {
        if self.ledger.has(record.index, record.time) {
            let news = self.ledger.news(&record);
            if news.is_empty() {
                return self.settle(us, from, &record, now, settings);
            }
        }
        if record.kind == RecordKind::Done && record.index == 0 {
            return Heard::Nothing;
        }
        let settled = settings.conflict != Conflict::EarlierFirst;
        if settled && record.kind == RecordKind::Notice && self.is_committed_to(&record) {
            // Both have foretold it: there is nothing to wait for but the commit, whoever's it is by now.
            self.merge_commit(us, from, &record, settings.conflict);
            return Heard::Noted;
        }
        let slot = match record.kind {
            RecordKind::Notice => &mut self.notice,
            RecordKind::Done => &mut self.done,
        };
        // Only what is newer replaces what is there (D4): a record that was overtaken changes nothing.
        if slot
            .as_ref()
            .is_some_and(|told| told.record.index >= record.index)
        {
            return Heard::Nothing;
        }
        *slot = Some(Told { record, from });
        Heard::Noted
    }

    fn is_committed_to(&self, record: &Record) -> bool {
        self.commit.is_some_and(|commit| {
            self.ledger
                .is_same((commit.index, commit.time), (record.index, record.time))
        })
    }

    /// A notice of the same hit may have been here before our own commit.
    pub fn weigh_notice(&mut self, us: StationId, conflict: Conflict) {
        if conflict == Conflict::EarlierFirst {
            // Both stand: whichever is due at an earlier frame is played.
            return;
        }
        if let Some(told) = self.notice.take() {
            if self.is_committed_to(&told.record) {
                self.merge_commit(us, told.from, &told.record, conflict);
            } else {
                self.notice = Some(told);
            }
        }
    }

    /// Both have committed to this hit: one set of trajectories, and one time, is to count (ML-26, ML-57).
    fn merge_commit(
        &mut self,
        us: StationId,
        from: StationId,
        record: &Record,
        conflict: Conflict,
    ) {
        let (Some(commit), Some(velocities)) = (&mut self.commit, record.velocities) else {
            return;
        };
        if commit.author != us || !prevails(conflict, (from, record.score), (us, commit.score)) {
            return;
        }
        commit.velocities = velocities;
        commit.score = record.score;
        commit.author = from;
        // Never before its time (ML-21), even if our lock, whose end stays where it is whatever the other says, is over by then.
        commit.time = record.time;
    }

    /// Our commit to the hit the other tells of, if its trajectories are the ones that count.
    pub fn own_commit(
        &self,
        us: StationId,
        from: StationId,
        record: &Record,
        conflict: Conflict,
    ) -> Option<Commit> {
        let commit = self.commit.filter(|_| self.is_committed_to(record))?;
        if conflict == Conflict::EarlierFirst {
            return None;
        }
        let theirs = record.velocities.is_some()
            && prevails(conflict, (from, record.score), (us, commit.score));
        (commit.author == us && !theirs).then_some(commit)
    }

    /// A hit of ours that the other has computed as well.
    fn settle(
        &mut self,
        us: StationId,
        from: StationId,
        record: &Record,
        now: SimTime,
        settings: &AgreementSettings,
    ) -> Heard {
        let (Some(played), Some(velocities)) = (&mut self.played, record.velocities) else {
            return Heard::Nothing;
        };
        let same = self
            .ledger
            .is_same((played.index, played.time), (record.index, record.time));
        let fresh = now.since(played.at) < settings.cut_off;
        let wins = prevails(settings.conflict, (from, record.score), (us, played.score));
        if !same || !fresh || played.author != us || !wins {
            return Heard::Nothing;
        }
        played.velocities = velocities;
        played.score = record.score;
        played.author = from;
        played.has_trajectories = true;
        Heard::Settle(velocities)
    }

    /// The notice whose time has come, if its hit has not been registered meanwhile.
    pub fn take_due_notice(&mut self, now: SimTime) -> Option<Told> {
        let told = self.notice.take_if(|told| told.record.time <= now)?;
        let known = self.ledger.has(told.record.index, told.record.time);
        (!known).then_some(told)
    }

    /// What the other says has happened, and we did not know.
    pub fn take_done(&mut self) -> Option<(Told, News)> {
        let told = self.done.take()?;
        let news = self.ledger.news(&told.record);
        (!news.is_empty()).then_some((told, news))
    }

    /// Registers a hit.
    pub fn play(&mut self, played: Played) -> u32 {
        let index = self.ledger.count(played.time, played.at);
        self.played = Some(Played { index, ..played });
        // A commit to this very hit is kept with it; one to the next hit stands.
        let ledger = &self.ledger;
        self.commit
            .take_if(|commit| ledger.is_same((commit.index, commit.time), (index, played.time)));
        let stale = |told: &mut Told| self.ledger.has(told.record.index, told.record.time);
        self.notice.take_if(stale);
        index
    }

    /// The record of the last hit that happened, if there was one. Trajectories go along while they can still be of use.
    pub fn done_record(&self, now: SimTime, settings: &AgreementSettings) -> Option<Record> {
        let index = self.ledger.counters().c;
        let mut times = self.ledger.recent();
        let time = times.next()?;
        let earlier = times.take(MAX_EARLIER).collect();
        let played = self.played.filter(|played| {
            let fresh = now.since(played.at) < settings.cut_off + settings.cut_off;
            played.time == time && played.has_trajectories && settings.trajectories && fresh
        });
        Some(Record {
            pair: self.id,
            kind: RecordKind::Done,
            index,
            time,
            score: played.map_or(0, |played| played.score),
            velocities: played.map(|played| played.velocities),
            earlier,
        })
    }

    /// The notice of our commit (ML-20).
    pub fn notice_record(&self, settings: &AgreementSettings) -> Option<Record> {
        let commit = self.commit?;
        Some(Record {
            pair: self.id,
            kind: RecordKind::Notice,
            index: commit.index,
            time: commit.time,
            score: commit.score,
            velocities: settings.trajectories.then_some(commit.velocities),
            earlier: Vec::new(),
        })
    }
}

/// Whether the first's trajectories count rather than the second's (ours).
fn prevails(conflict: Conflict, other: (StationId, u8), ours: (StationId, u8)) -> bool {
    match conflict {
        Conflict::LocalPriority | Conflict::EarlierFirst => false,
        Conflict::LowerStation => other.0 < ours.0,
        Conflict::Score => (other.1, ours.0) > (ours.1, other.0),
    }
}

#[cfg(test)]
#[path = "pair_tests.rs"]
mod tests;
