//! Waiting for each other: who is done, and whose parcels are still under way.
//!
//! ```text
//!             0  leader                Done goes up when a member and everyone below it has done the iteration;
//!         ┌───┴───┐                    Go comes down when all have. Both carry who wrote to whom, so that
//!         1       2                    everyone knows which parcels to wait for.
//!       ┌─┴─┐   ┌─┴─┐
//!       3   4   5   6                  2k + 1 and 2k + 2, as everywhere
//! ```
//!
//! In the thesis all members report to the leader (3.3.8.1); with 32 of them that alone would take it longer than its share of the
//! world. In the tree nobody hears from more than three.

use super::member::{Member, MemberMode};
use domain::RegionId;
use wire::replicate::Word;

/// Writer and reader.
type Wrote = Vec<(RegionId, RegionId)>;

/// Who is done with which iteration.
#[derive(Default)]
pub(super) struct Barrier {
    /// The last tick of which each member's parcel has come.
    pub heard: Vec<u64>,
    /// The iteration that may follow this tick, once these have been heard; `None` until the leader says.
    expected: Option<(u64, Vec<u32>)>,
    /// Of this tick, what the two below have said.
    below: [Option<(u64, Wrote)>; 2],
    /// What this member wrote in the tick it has done; taken when it is passed on.
    own: Option<(u64, Wrote)>,
}

impl Barrier {
    pub fn new(members: usize) -> Self {
        Self {
            heard: vec![0; members],
            expected: Some((0, Vec::new())),
            ..Self::default()
        }
    }

    pub fn is_child(&self, me: u32, other: u32) -> bool {
        other == 2 * me + 1 || other == 2 * me + 2
    }

    pub fn is_parent(&self, me: u32, other: u32) -> bool {
        me > 0 && other == (me - 1) / 2
    }
}

/// Is `member` this one, or below it?
fn is_below(mut member: u32, top: u32) -> bool {
    while member > top {
        member = (member - 1) / 2;
    }
    member == top
}

impl Member {
    /// May the next iteration begin?
    pub fn is_ready(&self) -> bool {
        if self.config.mode == MemberMode::Unsynchronised || self.out.len() == 1 {
            return true;
        }
        let completed = self.tick;
        match &self.barrier.expected {
            Some((tick, expected)) => {
                let heard = |peer: &u32| self.barrier.heard[*peer as usize] >= completed;
                *tick == completed && expected.iter().all(heard)
            }
            None => false,
        }
    }

    /// This iteration is done; whom it was written to is in the outboxes.
    pub(super) fn say_done(&mut self) {
        if self.config.mode != MemberMode::Synchronised || self.out.len() == 1 {
            return;
        }
        let me = self.config.id;
        let wrote = (0..self.out.len() as u32)
            .filter(|peer| !self.out[*peer as usize].is_empty())
            .map(|peer| (me, RegionId(peer)))
            .collect();
        self.barrier.expected = None;
        self.barrier.own = Some((self.tick, wrote));
        self.pass_done_on();
    }

    /// Someone below, and everyone below it, is done.
    pub(super) fn hear_done(&mut self, from: u32, tick: u64, wrote: Wrote) {
        let side = usize::from(from == 2 * self.me() + 2);
        self.barrier.below[side] = Some((tick, wrote));
        self.pass_done_on();
    }

    /// Up, if this member and everyone below is done; at the root it turns round.
    fn pass_done_on(&mut self) {
        let (me, tick, members) = (self.me(), self.tick, self.out.len() as u32);
        let done = |said: &Option<(u64, Wrote)>| said.as_ref().is_some_and(|(of, _)| *of == tick);
        let all = done(&self.barrier.own)
            && (0..2_u32).all(|side| {
                let child = 2 * me + 1 + side;
                child >= members || done(&self.barrier.below[side as usize])
            });
        if !all {
            return;
        }
        let (_, mut wrote) = self.barrier.own.take().expect("just looked at");
        for below in &mut self.barrier.below {
            wrote.extend(below.take().into_iter().flat_map(|(_, wrote)| wrote));
        }
        if me == 0 {
            self.hear_go(tick, wrote);
        } else {
            let parent = (me - 1) / 2;
            self.out[parent as usize].words.push(Word::Done { wrote });
        }
    }

    /// All are done.
    pub(super) fn hear_go(&mut self, tick: u64, wrote: Wrote) {
        let (me, members) = (self.me(), self.out.len() as u32);
        for child in [2 * me + 1, 2 * me + 2] {
            if child < members {
                let theirs = |pair: &&(RegionId, RegionId)| is_below(pair.1.0, child);
                let wrote = wrote.iter().filter(theirs).copied().collect();
                self.out[child as usize].words.push(Word::Go { wrote });
            }
        }
        let mine = wrote.iter().filter(|(_, reader)| reader.0 == me);
        let writers = mine.map(|(writer, _)| writer.0);
        let expected = writers.filter(|writer| *writer < members).collect();
        self.barrier.expected = Some((tick, expected));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_is_below() {
        assert!(is_below(13, 2) && is_below(2, 2) && is_below(13, 0));
        assert!(!is_below(13, 1) && !is_below(0, 1));
    }
}
