//! Which servers share the world: those of one consistency group.
//!
//! In the thesis every group simulates the whole world for its own users. Here there is one control plane and one assignment, so one world, and its
//! regions must be with servers that are near each other.

use crate::names::NodeId;

/// The groups, the one that shares the world first. As long as there are none, everyone does.
#[derive(Clone, Debug, Default)]
pub struct Sharing {
    groups: Vec<Vec<NodeId>>,
}

impl Sharing {
    /// The groups are these now. The largest shares the world; of several the one that has most in common with whoever does now, so that nothing moves without need; of
    /// those the first.
    pub fn handle_groups(&mut self, groups: &[Vec<NodeId>]) {
        let mut groups = groups.to_vec();
        groups.retain(|group| !group.is_empty());
        let stay = |group: &[NodeId]| group.iter().filter(|node| self.is_inside(**node)).count();
        // Of equals `max_by_key` takes the last.
        let order = groups.iter().enumerate().rev();
        let largest = order.max_by_key(|(_, group)| (group.len(), stay(group)));
        if let Some(index) = largest.map(|(index, _)| index) {
            groups[..=index].rotate_right(1);
        }
        self.groups = groups;
    }

    /// The groups, the one that shares the world first.
    pub fn groups(&self) -> &[Vec<NodeId>] {
        &self.groups
    }

    fn is_inside(&self, node: NodeId) -> bool {
        self.groups
            .first()
            .is_some_and(|world| world.contains(&node))
    }

    /// Is there a group that shares the world, and it is not in it?
    pub fn is_outside(&self, node: NodeId) -> bool {
        !self.groups.is_empty() && !self.is_inside(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: NodeId = NodeId(1);
    const B: NodeId = NodeId(2);
    const C: NodeId = NodeId(3);
    const D: NodeId = NodeId(4);
    const E: NodeId = NodeId(5);

    fn world(sharing: &Sharing) -> &[NodeId] {
        sharing.groups().first().map_or(&[], |world| world)
    }

    #[test]
    fn the_largest_group_shares_the_world_and_stays_while_it_is_as_large_as_any() {
        let mut sharing = Sharing::default();
        assert!(
            !sharing.is_outside(A),
            "nobody was measured: everyone counts"
        );
        sharing.handle_groups(&[vec![A], vec![B, C], vec![D]]);
        assert_eq!(world(&sharing), [B, C]);
        assert_eq!(
            [A, B, C, D, E].map(|node| sharing.is_outside(node)),
            [true, false, false, true, true]
        );
        assert_eq!(sharing.groups()[1..], [vec![A], vec![D]]);
        // Another one gets as large: nothing moves.
        sharing.handle_groups(&[vec![A, D], vec![B, C]]);
        assert_eq!(world(&sharing), [B, C]);
        // One has left, and the other is larger.
        sharing.handle_groups(&[vec![A, D], vec![B], vec![C]]);
        assert_eq!(world(&sharing), [A, D]);
        // And it does not go back when both are equal again.
        sharing.handle_groups(&[vec![B, C], vec![A, D]]);
        assert_eq!(world(&sharing), [A, D]);
    }

    #[test]
    fn of_what_a_group_has_become_the_part_with_most_of_it_goes_on() {
        let mut sharing = Sharing::default();
        sharing.handle_groups(&[vec![A, B, C, D]]);
        sharing.handle_groups(&[vec![E, A], vec![B, C], vec![D]]);
        assert_eq!(world(&sharing), [B, C]);
    }

    /// What is told first is what the control plane says it was before: a new coordinator goes on with it.
    #[test]
    fn groups_as_they_were_written_down_are_taken_over_as_they_are() {
        let mut before = Sharing::default();
        before.handle_groups(&[vec![C, D], vec![A, B]]);
        before.handle_groups(&[vec![A, B], vec![C, D]]);
        assert_eq!(world(&before), [C, D]);
        let mut after = Sharing::default();
        after.handle_groups(before.groups());
        assert_eq!(after.groups(), before.groups());
    }

    #[test]
    fn without_any_group_everyone_counts_again() {
        let mut sharing = Sharing::default();
        sharing.handle_groups(&[vec![A], vec![]]);
        assert!(sharing.is_outside(B));
        sharing.handle_groups(&[vec![]]);
        assert!(!sharing.is_outside(A) && !sharing.is_outside(B));
    }
}
