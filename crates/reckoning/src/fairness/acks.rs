//! Acknowledgements: which vectors a receiver got, and when.
//!
//! ```text
//!   receiver ──► sender     Ack { (seq, reception time) × up to 8, newest reception last }
//! ```
//!
//! Each repeats what the ones before it said, so that the sender misses a reception only if eight acknowledgements in a row
//! are lost.

use crate::vector::Seq;
use domain::SimTime;
use serde::{Deserialize, Serialize};

/// How many receptions one acknowledgement reports.
pub const ACK_PAIRS: usize = 8;

/// The last receptions of one receiver, in order of time. From outside, so nothing in it is trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ack {
    /// Number of the vector and its reception time on the global clock; at most [`ACK_PAIRS`].
    pub pairs: Vec<(Seq, SimTime)>,
}

/// What the receiver remembers in order to acknowledge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Receptions {
    recent: Vec<(Seq, SimTime)>,
    newest: Seq,
}

impl Receptions {
    /// A vector arrived. Returns whether it is newer than all before it, that is, to be followed. A stale one is
    /// acknowledged too: its delay is worth knowing. A duplicate keeps its first time.
    pub fn receive(&mut self, now: SimTime, seq: Seq) -> bool {
        let newer = seq > self.newest;
        if self.recent.iter().any(|&(known, _)| known == seq) {
            return newer;
        }
        if self.recent.len() == ACK_PAIRS {
            // The one in use stays: without it a duplicate of an old vector could look like news to the sender.
            let oldest = self
                .recent
                .iter()
                .position(|&(known, _)| known != self.newest);
            self.recent.remove(oldest.unwrap_or(0));
        }
        self.recent.push((seq, now));
        self.newest = self.newest.max(seq);
        newer
    }

    /// What to send back (DR-17).
    pub fn ack(&self) -> Ack {
        Ack {
            pairs: self.recent.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // DR-6, DR-17
    #[test]
    fn dr_17_every_vector_is_acknowledged_with_its_first_reception_time() {
        let mut receptions = Receptions::default();
        let at = SimTime::from_millis;
        assert!(receptions.receive(at(10.0), Seq(2)));
        assert!(!receptions.receive(at(20.0), Seq(1)), "stale");
        assert!(!receptions.receive(at(30.0), Seq(2)), "duplicate");
        assert_eq!(
            receptions.ack().pairs,
            vec![(Seq(2), at(10.0)), (Seq(1), at(20.0))]
        );
    }

    #[test]
    fn repeats_the_last_eight_and_always_the_one_in_use() {
        let mut receptions = Receptions::default();
        receptions.receive(SimTime(100), Seq(100));
        for seq in 1..=20 {
            receptions.receive(SimTime(100 + u64::from(seq)), Seq(seq));
        }
        let pairs = receptions.ack().pairs;
        assert_eq!(pairs.len(), ACK_PAIRS);
        assert_eq!(pairs[0], (Seq(100), SimTime(100)));
        assert_eq!(pairs[7], (Seq(20), SimTime(120)));
    }
}
