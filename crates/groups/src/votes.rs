//! Votes: in, out, and how a node decides (thesis §3.3.9, §4.3.1.5).
//!
//! ```text
//!   round trip   0 ───── inclusion ═══════════ rejection ───────────────►
//!   says         for it         nothing                against it
//! ```
//!
//! Members vote instead of telling their leader, because the leader may be the slow one. What lies between the two thresholds changes
//! nothing: that is what keeps groups calm. For a node that somebody else is near it would not be enough: who abstains at 59 ms lets it in, and
//! puts it out again at 61. So who has been found too far has to come half the way back before the abstaining goes on ([`TooFar`]).

use crate::{NodeId, Stabilisers, Thresholds};
use domain::SimTime;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What a vote is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VoteKind {
    /// May a node come in from another group?
    Inclusion,
    /// Must a member go?
    Rejection,
}

/// What a member says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ballot {
    /// Come, or stay.
    For,
    /// Neither.
    Abstain,
    /// Stay away, or go.
    Against,
}

impl Thresholds {
    /// What a member says about a node at this average round trip; it abstains about one it has not measured.
    pub fn ballot(&self, average_ms: Option<f64>) -> Ballot {
        match average_ms {
            Some(ms) if ms < self.inclusion_ms => Ballot::For,
            Some(ms) if ms > self.rejection_ms => Ballot::Against,
            _ => Ballot::Abstain,
        }
    }

    /// Is there reason to ask for a member's removal? On average too far, or once much too far (ST-29).
    pub fn wants_rejection(&self, average_ms: f64, last_ms: f64) -> bool {
        average_ms > self.rejection_ms || last_ms > self.rejection_ms + self.deviation_ms
    }

    /// Half the way from rejection to inclusion, milliseconds.
    fn halfway_ms(&self) -> f64 {
        0.5 * (self.inclusion_ms + self.rejection_ms)
    }

    /// Is there reason to ask a node of another group in (ST-29)?
    pub fn wants_inclusion(&self, average_ms: f64) -> bool {
        average_ms < self.inclusion_ms
    }
}

/// Who has been above rejection, on average, and not half the way back since (ST-32).
#[derive(Clone, Debug, Default)]
pub struct TooFar {
    nodes: BTreeSet<NodeId>,
}

impl TooFar {
    /// A node has been measured.
    pub fn note(&mut self, about: NodeId, average_ms: f64, thresholds: &Thresholds) {
        if average_ms > thresholds.rejection_ms {
            self.nodes.insert(about);
        } else if average_ms < thresholds.halfway_ms() {
            self.nodes.remove(&about);
        }
    }

    /// What a member says in a vote, given what the thresholds say. In votes out nothing changes: there the past is no reason.
    pub fn ballot(&self, kind: VoteKind, about: NodeId, by_threshold: Ballot) -> Ballot {
        let too_far = kind == VoteKind::Inclusion && self.nodes.contains(&about);
        match by_threshold {
            Ballot::Abstain if too_far => Ballot::Against,
            other => other,
        }
    }

    /// Forgets a node.
    pub fn forget(&mut self, about: NodeId) {
        self.nodes.remove(&about);
    }
}

/// The ballots of one vote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Who is for it (the thesis's I).
    pub for_it: u32,
    /// Who says neither (A).
    pub abstained: u32,
    /// Who is against (R).
    pub against: u32,
}

impl Count {
    /// One more.
    pub fn add(&mut self, ballot: Ballot) {
        match ballot {
            Ballot::For => self.for_it += 1,
            Ballot::Abstain => self.abstained += 1,
            Ballot::Against => self.against += 1,
        }
    }

    /// A node comes in if nobody is against it and somebody is for it (ST-30).
    pub fn includes(&self) -> bool {
        self.against == 0 && self.for_it > 0
    }

    /// A member goes if I + 0.5·A − 2·R < 0 (ST-31). In whole numbers: 2I + A − 4R.
    pub fn rejects(&self) -> bool {
        let (i, a, r) = (
            i64::from(self.for_it),
            i64::from(self.abstained),
            i64::from(self.against),
        );
        2 * i + a - 4 * r < 0
    }
}

/// Counts how often in a row there was a reason to ask (ST-32: three strikes).
#[derive(Clone, Debug, Default)]
pub struct Strikes {
    counts: BTreeMap<(VoteKind, NodeId), u32>,
}

impl Strikes {
    /// There was a reason this time, or there was none; says whether it is time to ask. Asking starts the count again.
    pub fn mark(&mut self, kind: VoteKind, about: NodeId, reason: bool, limit: u32) -> bool {
        if !reason {
            self.counts.remove(&(kind, about));
            return false;
        }
        let count = self.counts.entry((kind, about)).or_default();
        *count += 1;
        let enough = *count >= limit.max(1);
        if enough {
            self.counts.remove(&(kind, about));
        }
        enough
    }

    /// Forgets a node.
    pub fn forget(&mut self, about: NodeId) {
        self.counts.retain(|(_, node), _| *node != about);
    }
}

/// How many votes a node may still ask for (ST-32: a cap on votes per period).
#[derive(Clone, Debug, Default)]
pub struct RateLimit {
    asked: BTreeMap<NodeId, VecDeque<SimTime>>,
}

impl RateLimit {
    /// May this node ask now? If so, it has.
    pub fn take(&mut self, now: SimTime, who: NodeId, limits: &Stabilisers) -> bool {
        let asked = self.asked.entry(who).or_default();
        let period = SimTime::from_secs(limits.period_secs);
        while asked.front().is_some_and(|at| now.since(*at) >= period) {
            asked.pop_front();
        }
        let may = asked.len() < limits.votes_per_period as usize;
        if may {
            asked.push_back(now);
        }
        may
    }

    /// Forgets a node.
    pub fn forget(&mut self, who: NodeId) {
        self.asked.remove(&who);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(for_it: u32, abstained: u32, against: u32) -> Count {
        Count {
            for_it,
            abstained,
            against,
        }
    }

    #[test]
    fn st_29_triggers() {
        let t = Thresholds::default();
        assert!(t.wants_rejection(60.1, 0.0), "on average");
        assert!(
            t.wants_rejection(10.0, 160.1),
            "once, by more than is tolerated"
        );
        assert!(!t.wants_rejection(60.0, 160.0));
        assert!(t.wants_inclusion(29.9) && !t.wants_inclusion(30.0));
    }

    #[test]
    fn st_30_one_for_it_and_nobody_against_it() {
        assert!(count(1, 9, 0).includes());
        assert!(!count(0, 9, 0).includes(), "nobody cares");
        assert!(!count(9, 0, 1).includes(), "a veto");
    }

    #[test]
    fn st_31_weights() {
        assert!(
            count(0, 0, 1).rejects(),
            "a group of two: the accuser decides"
        );
        assert!(!count(0, 4, 1).rejects(), "exactly 0 is not below 0");
        assert!(count(0, 3, 1).rejects());
        assert!(!count(2, 0, 1).rejects());
        assert!(count(1, 1, 1).rejects());
        assert!(!count(0, 0, 0).rejects(), "nobody voted");
    }

    #[test]
    fn ballots_follow_the_thresholds() {
        let t = Thresholds::default();
        let said = [
            None,
            Some(29.9),
            Some(30.0),
            Some(60.0),
            Some(60.1),
            Some(f64::NAN),
        ]
        .map(|ms| t.ballot(ms));
        use Ballot::{Abstain, Against, For};
        assert_eq!(said, [Abstain, For, Abstain, Abstain, Against, Abstain]);
    }

    /// ST-32: out at 61 is not in again at 59 because somebody else is near; half the way back is enough.
    #[test]
    fn st_32_who_was_too_far_must_come_half_the_way_back() {
        let t = Thresholds::default();
        let mut too_far = TooFar::default();
        let mut says = |ms, kind| {
            too_far.note(NodeId(1), ms, &t);
            too_far.ballot(kind, NodeId(1), t.ballot(Some(ms)))
        };
        use Ballot::{Abstain, Against, For};
        let inclusions = [59.0, 61.0, 59.0, 45.0, 44.9, 59.0, 61.0, 29.0, 59.0];
        assert_eq!(
            inclusions.map(|ms| says(ms, VoteKind::Inclusion)),
            [
                Abstain, Against, Against, Against, Abstain, Abstain, Against, For, Abstain
            ]
        );
        assert_eq!(
            [61.0, 59.0].map(|ms| says(ms, VoteKind::Rejection)),
            [Against, Abstain],
            "it goes if it is too far now"
        );
    }

    #[test]
    fn st_32_three_strikes_in_a_row() {
        let mut strikes = Strikes::default();
        let mut mark = |reason| strikes.mark(VoteKind::Rejection, NodeId(1), reason, 3);
        assert_eq!(
            [true, true, false, true, true, true, true].map(&mut mark),
            [false, false, false, false, false, true, false]
        );
    }

    #[test]
    fn st_32_so_many_votes_per_period() {
        let limits = Stabilisers {
            votes_per_period: 2,
            period_secs: 10.0,
            ..Stabilisers::default()
        };
        let mut limit = RateLimit::default();
        let mut ask = |secs| limit.take(SimTime::from_secs(secs), NodeId(1), &limits);
        assert_eq!(
            [0.0, 1.0, 2.0, 9.9, 10.0, 10.5, 11.0].map(&mut ask),
            [true, true, false, false, true, false, true]
        );
    }
}
