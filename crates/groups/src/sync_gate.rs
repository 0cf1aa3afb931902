//! When the next synchronised iteration may begin (thesis §3.3.8.1; ST-44).

use crate::NodeId;
use std::collections::BTreeSet;

/// Counts reports. The next iteration begins when all members have reported the last one and something new has arrived since: running
/// again on the same data would change nothing.
#[derive(Clone, Debug, Default)]
pub struct SyncGate {
    iteration: u64,
    missing: BTreeSet<NodeId>,
    new_input: bool,
}

impl SyncGate {
    /// A gate for these members, closed until there is input.
    pub fn new(iteration: u64) -> Self {
        Self {
            iteration,
            missing: BTreeSet::new(),
            new_input: false,
        }
    }

    /// The iteration that runs, or ran last.
    pub fn iteration(&self) -> u64 {
        self.iteration
    }

    /// Something new has come.
    pub fn input(&mut self) {
        self.new_input = true;
    }

    /// A member has done an iteration; `false` if that was not asked of it (an old one, or twice).
    pub fn reported(&mut self, member: NodeId, iteration: u64) -> bool {
        iteration == self.iteration && self.missing.remove(&member)
    }

    /// A member has gone: nobody waits for it.
    pub fn gone(&mut self, member: NodeId) {
        self.missing.remove(&member);
    }

    /// The number of the next iteration, if it may begin; it has, then, for these members.
    pub fn next(&mut self, members: impl IntoIterator<Item = NodeId>) -> Option<u64> {
        if !self.missing.is_empty() || !self.new_input {
            return None;
        }
        self.new_input = false;
        self.iteration += 1;
        self.missing = members.into_iter().collect();
        Some(self.iteration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn st_44_all_reports_and_something_new() {
        let members = [NodeId(1), NodeId(2)];
        let mut gate = SyncGate::new(0);
        assert_eq!(gate.next(members), None, "nothing new");
        gate.input();
        assert_eq!(gate.next(members), Some(1));
        gate.input();
        assert!(gate.reported(NodeId(1), 1) && !gate.reported(NodeId(1), 1));
        assert_eq!(gate.next(members), None, "n2 has not reported");
        assert!(!gate.reported(NodeId(2), 0) && !gate.reported(NodeId(9), 1));
        assert!(gate.reported(NodeId(2), 1));
        assert_eq!(gate.next(members), Some(2));
        gate.reported(NodeId(1), 2);
        gate.gone(NodeId(2));
        assert_eq!(gate.next(members), None, "all reported, nothing new");
        gate.input();
        assert_eq!(gate.next(members), Some(3));
    }
}
