//! Who worked with us before. A transfer may still be on its way when its allocation ends: what its sender says of its objects counts if it was a
//! member then. Nobody else's word does.

use super::{Member, Term};
use crate::{GroupEpoch, GroupId, NodeId};
use std::collections::{BTreeSet, VecDeque};

/// So many allocations are remembered: a transfer that was sent again and again outlives one or two. Older ones are refused, which costs only
/// their last word; the objects have had a holder since.
const MAX_PAST: usize = 8;

#[derive(Debug)]
struct PastTerm {
    epoch: GroupEpoch,
    group: GroupId,
    members: BTreeSet<NodeId>,
}

/// The allocations before the present one, the latest last.
#[derive(Debug, Default)]
pub(super) struct Past {
    terms: VecDeque<PastTerm>,
}

impl Past {
    /// This one is over, or was never started.
    pub(super) fn add(&mut self, term: &Term) {
        if self.terms.len() == MAX_PAST {
            self.terms.pop_front();
        }
        self.terms.push_back(PastTerm {
            epoch: term.epoch,
            group: term.group,
            members: term.allocation.members().collect(),
        });
    }

    /// Under another name we had no part in any of it.
    pub(super) fn clear(&mut self) {
        self.terms.clear();
    }
}

impl Member {
    /// A message under an allocation that is over, from one of its members, and of the group we are still in? Counts what is not: another group's
    /// world is not news of ours.
    pub(super) fn was_ours(&mut self, node: NodeId, epoch: GroupEpoch) -> bool {
        let group = self.group();
        let term = self.past.terms.iter().find(|term| term.epoch == epoch);
        let Some(term) = term.filter(|term| Some(term.group) == group) else {
            self.rejections.wrong_epoch += 1;
            return false;
        };
        let member = term.members.contains(&node);
        self.rejections.stranger += u64::from(!member);
        member
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn only_a_few_allocations_are_remembered() {
        let mut past = Past::default();
        for epoch in 1..=100 {
            past.add(&Term {
                epoch: GroupEpoch(epoch),
                group: GroupId(1),
                allocation: crate::allocate(&[NodeId(1)]),
                assigned: BTreeMap::new(),
                seeds: Vec::new(),
            });
        }
        let epochs: Vec<u64> = past.terms.iter().map(|term| term.epoch.0).collect();
        assert_eq!(epochs, (93..=100).collect::<Vec<_>>(), "the latest");
    }
}
