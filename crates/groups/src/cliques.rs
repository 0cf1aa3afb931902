//! Who may share a group: nodes that all hear each other quickly (thesis §3.3.7, §4.3.1.4).
//!
//! Two nodes are joined if *both* find the other near; a group must be a clique of that graph. The largest clique becomes a group, its
//! members leave the others, and so on. The best division is a knapsack problem; the thesis's greedy one is not the best
//! (its own example leaves one node alone), but it is the same on every machine.

use crate::NodeId;
use std::collections::{BTreeMap, BTreeSet};

/// Beyond so many nodes, or so many cliques, groups are grown one node at a time instead of choosing among all cliques: their
/// number can grow exponentially.
const MAX_NODES_FOR_ALL: usize = 64;
const MAX_CLIQUES: usize = 4096;

/// Who finds whom near. Only what both say counts.
#[derive(Clone, Debug, Default)]
pub struct Nearness {
    nodes: BTreeSet<NodeId>,
    said: BTreeSet<(NodeId, NodeId)>,
}

impl Nearness {
    /// These nodes, nobody near anybody.
    pub fn of(nodes: impl IntoIterator<Item = NodeId>) -> Self {
        Self {
            nodes: nodes.into_iter().collect(),
            said: BTreeSet::new(),
        }
    }

    /// From measured delays: `(who, of whom, delay)`; near is what is below `threshold`. Nodes that are not among `nodes` do not
    /// count, nor does a delay that is not a number.
    pub fn from_delays(
        nodes: impl IntoIterator<Item = NodeId>,
        delays: impl IntoIterator<Item = (NodeId, NodeId, f64)>,
        threshold: f64,
    ) -> Self {
        let mut nearness = Self::of(nodes);
        for (who, whom, delay) in delays {
            if delay < threshold {
                nearness.say(who, whom);
            }
        }
        nearness
    }

    /// `who` finds `whom` near.
    pub fn say(&mut self, who: NodeId, whom: NodeId) {
        if who != whom && self.nodes.contains(&who) && self.nodes.contains(&whom) {
            self.said.insert((who, whom));
        }
    }

    /// Do both say so?
    pub fn mutual(&self, a: NodeId, b: NodeId) -> bool {
        self.said.contains(&(a, b)) && self.said.contains(&(b, a))
    }

    fn neighbours(&self) -> BTreeMap<NodeId, BTreeSet<NodeId>> {
        let of = |a: NodeId| {
            let others = self.said.range((a, NodeId(0))..=(a, NodeId(u32::MAX)));
            others
                .map(|(_, b)| *b)
                .filter(|b| self.said.contains(&(*b, a)))
                .collect()
        };
        self.nodes.iter().map(|a| (*a, of(*a))).collect()
    }
}

/// The groups: every node in exactly one, isolated nodes alone, none larger than `max` (0: no limit), in the order in which
/// they were chosen. Of equally large candidates the one with the lower ids is first (ST-27, ST-28).
pub fn form_groups(nearness: &Nearness, max: usize) -> Vec<Vec<NodeId>> {
    let neighbours = nearness.neighbours();
    let max = if max == 0 { usize::MAX } else { max };
    let candidates = match neighbours.len() <= MAX_NODES_FOR_ALL {
        true => all_cliques(&neighbours),
        false => None,
    };
    match candidates {
        Some(candidates) => largest_first(candidates, max),
        None => grown(&neighbours, max),
    }
}

fn largest_first(mut candidates: Vec<BTreeSet<NodeId>>, max: usize) -> Vec<Vec<NodeId>> {
    let mut groups = Vec::new();
    loop {
        candidates.retain(|candidate| !candidate.is_empty());
        // Reversed ids: of equal sizes the lexicographically lowest is the greatest.
        let order = |c: &BTreeSet<NodeId>| {
            let ids: Vec<_> = c.iter().map(|n| std::cmp::Reverse(*n)).collect();
            (c.len().min(max), ids)
        };
        let Some(best) = candidates.iter().max_by_key(|c| order(c)) else {
            return groups;
        };
        let group: Vec<NodeId> = best.iter().copied().take(max).collect();
        for candidate in &mut candidates {
            candidate.retain(|node| !group.contains(node));
        }
        groups.push(group);
    }
}

/// All maximal cliques (Bron and Kerbosch, with a pivot); `None` if there are too many.
fn all_cliques(neighbours: &BTreeMap<NodeId, BTreeSet<NodeId>>) -> Option<Vec<BTreeSet<NodeId>>> {
    let mut found = Vec::new();
    let all = neighbours.keys().copied().collect();
    extend(
        neighbours,
        &mut Vec::new(),
        all,
        BTreeSet::new(),
        &mut found,
    )?;
    Some(found)
}

fn extend(
    neighbours: &BTreeMap<NodeId, BTreeSet<NodeId>>,
    clique: &mut Vec<NodeId>,
    mut open: BTreeSet<NodeId>,
    mut done: BTreeSet<NodeId>,
    found: &mut Vec<BTreeSet<NodeId>>,
) -> Option<()> {
    if open.is_empty() && done.is_empty() {
        if !clique.is_empty() {
            found.push(clique.iter().copied().collect());
        }
        return (found.len() <= MAX_CLIQUES).then_some(());
    }
    let pivot = open
        .union(&done)
        .max_by_key(|n| neighbours[n].intersection(&open).count())?;
    let try_these: Vec<NodeId> = open.difference(&neighbours[pivot]).copied().collect();
    for node in try_these {
        let near = &neighbours[&node];
        clique.push(node);
        let (o, d) = (
            open.intersection(near).copied().collect(),
            done.intersection(near).copied().collect(),
        );
        extend(neighbours, clique, o, d, found)?;
        clique.pop();
        open.remove(&node);
        done.insert(node);
    }
    Some(())
}

/// Groups grown from the best-connected node that is left, always by the candidate that keeps most others possible.
fn grown(neighbours: &BTreeMap<NodeId, BTreeSet<NodeId>>, max: usize) -> Vec<Vec<NodeId>> {
    let mut left: BTreeSet<NodeId> = neighbours.keys().copied().collect();
    let mut groups = Vec::new();
    let best = |from: &BTreeSet<NodeId>, among: &BTreeSet<NodeId>| {
        let degree = |n: &NodeId| neighbours[n].intersection(among).count();
        from.iter()
            .max_by_key(|n| (degree(n), std::cmp::Reverse(**n)))
            .copied()
    };
    while let Some(seed) = best(&left, &left) {
        let mut group = vec![seed];
        let mut open: BTreeSet<NodeId> = neighbours[&seed].intersection(&left).copied().collect();
        while group.len() < max {
            let Some(next) = best(&open, &open) else {
                break;
            };
            open = open.intersection(&neighbours[&next]).copied().collect();
            group.push(next);
        }
        left.retain(|node| !group.contains(node));
        group.sort_unstable();
        groups.push(group);
    }
    groups.sort_by_key(|g| (std::cmp::Reverse(g.len()), g.clone()));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(ids: &[u32]) -> Vec<NodeId> {
        ids.iter().copied().map(NodeId).collect()
    }

    /// The first worked example of the thesis (§3.3.7), T = 5 ms.
    fn example_1() -> Nearness {
        #[rustfmt::skip]
        let delays = [
            (1, 2, 3.0), (1, 3, 4.0), (1, 4, 10.0), (2, 1, 2.0), (2, 3, 1.0), (2, 4, 6.0),
            (3, 1, 4.0), (3, 2, 3.0), (3, 4, 2.0), (4, 1, 7.0), (4, 2, 4.0), (4, 3, 1.0),
        ];
        let delays = delays.map(|(a, b, ms)| (NodeId(a), NodeId(b), ms));
        Nearness::from_delays(ids(&[1, 2, 3, 4]), delays, 5.0)
    }

    #[test]
    fn st_27_the_first_worked_example() {
        assert_eq!(form_groups(&example_1(), 0), [ids(&[1, 2, 3]), ids(&[4])]);
    }

    /// The second one (§4.3.1.4): A..E are 1..5.
    #[test]
    fn st_27_the_second_worked_example() {
        let mut nearness = Nearness::of(ids(&[1, 2, 3, 4, 5]));
        let lists: [(u32, &[u32]); 5] = [
            (1, &[2, 3, 4]),
            (2, &[1, 3, 5]),
            (3, &[1, 4]),
            (4, &[1, 3, 5]),
            (5, &[4]),
        ];
        for (who, near) in lists {
            near.iter()
                .for_each(|whom| nearness.say(NodeId(who), NodeId(*whom)));
        }
        let mut candidates = all_cliques(&nearness.neighbours()).expect("few");
        candidates.sort_by_key(|c| {
            (
                std::cmp::Reverse(c.len()),
                c.iter().copied().collect::<Vec<_>>(),
            )
        });
        let candidates: Vec<Vec<NodeId>> = candidates
            .into_iter()
            .map(|c| c.into_iter().collect())
            .collect();
        assert_eq!(candidates, [ids(&[1, 3, 4]), ids(&[1, 2]), ids(&[4, 5])]);
        assert_eq!(
            form_groups(&nearness, 0),
            [ids(&[1, 3, 4]), ids(&[2]), ids(&[5])]
        );
    }

    /// ST-27: what only one of the two finds near is not near.
    #[test]
    fn st_27_nearness_must_be_mutual() {
        let nearness = example_1();
        assert!(nearness.mutual(NodeId(3), NodeId(4)) && nearness.mutual(NodeId(4), NodeId(3)));
        assert!(!nearness.mutual(NodeId(2), NodeId(4)), "n24 = 6, n42 = 4");
        let strangers = Nearness::from_delays(
            ids(&[1]),
            [(NodeId(1), NodeId(9), 1.0), (NodeId(1), NodeId(1), 0.0)],
            5.0,
        );
        assert_eq!(form_groups(&strangers, 0), [ids(&[1])]);
        let nan = Nearness::from_delays(
            ids(&[1, 2]),
            [
                (NodeId(1), NodeId(2), f64::NAN),
                (NodeId(2), NodeId(1), 1.0),
            ],
            5.0,
        );
        assert_eq!(form_groups(&nan, 0).len(), 2);
    }

    /// ST-28: a cap leaves the rest as a candidate.
    #[test]
    fn st_28_groups_have_a_maximum_size() {
        let all = ids(&[1, 2, 3, 4, 5, 6, 7]);
        let pairs = all
            .iter()
            .flat_map(|a| all.iter().map(move |b| (*a, *b, 1.0)));
        let nearness = Nearness::from_delays(all.clone(), pairs, 5.0);
        assert_eq!(
            form_groups(&nearness, 3),
            [ids(&[1, 2, 3]), ids(&[4, 5, 6]), ids(&[7])]
        );
        assert_eq!(form_groups(&nearness, 0), [all]);
    }

    fn random(n: u32, share: u32, seed: u32) -> Nearness {
        let mut nearness = Nearness::of((0..n).map(NodeId));
        for a in 0..n {
            for b in 0..a {
                let dice =
                    (a.wrapping_mul(7919) ^ b.wrapping_mul(104_729) ^ seed.wrapping_mul(1_299_709))
                        .wrapping_mul(2_654_435_761)
                        >> 16;
                if dice % 100 < share {
                    nearness.say(NodeId(a), NodeId(b));
                    nearness.say(NodeId(b), NodeId(a));
                }
            }
        }
        nearness
    }

    /// ST-28: every node in exactly one group, every group a clique, none above its cap; small graphs and ones with too many
    /// nodes or cliques to look at all.
    #[test]
    fn st_28_every_node_is_in_exactly_one_clique() {
        for (n, share) in [
            (1, 50),
            (9, 0),
            (9, 100),
            (20, 30),
            (40, 70),
            (64, 90),
            (200, 50),
        ] {
            for seed in 0..10 {
                for max in [0, 4] {
                    let nearness = random(n, share, seed);
                    let groups = form_groups(&nearness, max);
                    let mut everyone: Vec<NodeId> = groups.concat();
                    everyone.sort_unstable();
                    assert_eq!(everyone, (0..n).map(NodeId).collect::<Vec<_>>());
                    for group in groups {
                        assert!(max == 0 || group.len() <= max);
                        let pairs = group
                            .iter()
                            .enumerate()
                            .flat_map(|(i, a)| group[i + 1..].iter().map(move |b| (*a, *b)));
                        pairs
                            .into_iter()
                            .for_each(|(a, b)| assert!(nearness.mutual(a, b), "{a} {b}"));
                    }
                }
            }
        }
    }
}
