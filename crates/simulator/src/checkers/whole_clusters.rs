//! I5: a cluster moves whole, in one tick; joints never span two owners.

use super::Checker;
use super::findings::{ErrorKind, Finding, Findings, View};
use super::ledger::Holder;
use crate::facts::Fact;
use domain::{BodyId, Epoch, RegionId};
use rustc_hash::{FxHashMap, FxHashSet};

pub(super) struct WholeClusters {
    assemblies: Vec<Vec<BodyId>>,
    assembly_of: FxHashMap<BodyId, usize>,
    /// The members of each handover in flight.
    flights: FxHashMap<(RegionId, RegionId, u64), FxHashSet<BodyId>>,
}

impl Checker for WholeClusters {
    fn observe(&mut self, fact: &Fact<'_>, view: &View<'_>, findings: &mut Findings) {
        match *fact {
            Fact::Born { region, body, .. } => self.check_birth(fact, view, findings, region, body),
            Fact::Departed {
                from,
                to,
                handover,
                members,
                ..
            } => {
                let members = ids(members);
                self.check_assemblies(fact, view, findings, &members, "left");
                self.flights.insert((from, to, handover), members);
            }
            Fact::Arrived {
                region,
                from,
                handover,
                members,
                ..
            } => {
                let members = ids(members);
                self.check_assemblies(fact, view, findings, &members, "arrived");
                // None: offered again after the receiver's crash; the set was compared the first time.
                if let Some(departed) = self.flights.remove(&(from, region, handover)) {
                    check_whole(fact, view, findings, &departed, &members);
                }
            }
            Fact::Restored { region, bodies, .. } => {
                self.check_assemblies(fact, view, findings, &ids(bodies), "was restored");
                self.flights.retain(|(from, ..), _| *from != region);
            }
            _ => {}
        }
    }
}

impl WholeClusters {
    pub fn new(assemblies: &[Vec<BodyId>]) -> Self {
        let places = assemblies.iter().enumerate();
        let members = places.flat_map(|(i, list)| list.iter().map(move |body| (*body, i)));
        Self {
            assemblies: assemblies.to_vec(),
            assembly_of: members.collect(),
            flights: FxHashMap::default(),
        }
    }

    fn companions(&self, body: BodyId) -> &[BodyId] {
        let assembly = self.assembly_of.get(&body);
        assembly.map_or(&[], |i| self.assemblies[*i].as_slice())
    }

    /// Members of an assembly are born one after the other, but all in one region.
    fn check_birth(
        &self,
        fact: &Fact<'_>,
        view: &View<'_>,
        findings: &mut Findings,
        region: RegionId,
        body: BodyId,
    ) {
        let elsewhere = |other: &&BodyId| {
            let holder = view.ledger.holder(**other);
            **other != body && matches!(holder, Some(Holder::Owned(owner)) if owner != region)
        };
        if let Some(other) = self.companions(body).iter().find(elsewhere) {
            report(fact, view, findings, &[body, *other], || {
                format!("{body} was born in {region} away from {other}, to which it is tied")
            });
        }
    }

    /// Whoever moves takes every living member of its assembly along.
    fn check_assemblies(
        &self,
        fact: &Fact<'_>,
        view: &View<'_>,
        findings: &mut Findings,
        members: &FxHashSet<BodyId>,
        deed: &str,
    ) {
        if self.assemblies.is_empty() {
            return;
        }
        let mut touched: Vec<(usize, BodyId)> = members
            .iter()
            .filter_map(|body| self.assembly_of.get(body).map(|i| (*i, *body)))
            .collect();
        touched.sort_unstable();
        touched.dedup_by_key(|(assembly, _)| *assembly);
        for (assembly, body) in touched {
            let left_behind =
                |other: &&BodyId| view.ledger.is_alive(**other) && !members.contains(other);
            if let Some(other) = self.assemblies[assembly].iter().find(left_behind) {
                report(fact, view, findings, &[body, *other], || {
                    format!("{body} {deed} without {other}, to which it is tied")
                });
            }
        }
    }
}

fn ids(members: &[(BodyId, Epoch)]) -> FxHashSet<BodyId> {
    members.iter().map(|(body, _)| *body).collect()
}

fn check_whole(
    fact: &Fact<'_>,
    view: &View<'_>,
    findings: &mut Findings,
    departed: &FxHashSet<BodyId>,
    arrived: &FxHashSet<BodyId>,
) {
    let mut odd: Vec<BodyId> = departed.symmetric_difference(arrived).copied().collect();
    odd.sort_unstable();
    if let Some(first) = odd.first() {
        let both = (departed.len(), arrived.len());
        report(fact, view, findings, &odd, || {
            format!(
                "a cluster of {} arrived as {}: {first} is the first difference",
                both.0, both.1
            )
        });
    }
}

fn report(
    fact: &Fact<'_>,
    view: &View<'_>,
    findings: &mut Findings,
    bodies: &[BodyId],
    what: impl FnOnce() -> String,
) {
    let finding = Finding {
        kind: ErrorKind::SplitCluster,
        count: 1,
        tick: fact.tick(),
        bodies,
        excused: false,
    };
    findings.add(view, finding, what);
}

#[cfg(test)]
mod tests {
    use crate::checkers::testing::History;

    fn rod_and_ball() -> History {
        let mut history = History::with_assemblies(2, &[&[1, 2]]);
        history
            .born(0, 0, 1, 0.0)
            .born(0, 0, 2, 2.0)
            .born(0, 0, 3, 50.0);
        history
    }

    // AP-12
    #[test]
    fn an_assembly_that_moves_whole_is_silent() {
        let mut history = rod_and_ball();
        history.depart(1, 0, 1, 1, &[(1, 1), (2, 1), (3, 1)]);
        history.arrive(1, 1, 0, 1, &[(1, 1), (2, 1), (3, 1)]);
        history
            .crash(2, 1)
            .restore(4, 1, 1, &[(1, 1), (2, 1), (3, 1)]);
        assert!(history.finish().is_clean());
    }

    #[test]
    fn a_joint_over_two_owners_is_seen() {
        let mut history = rod_and_ball();
        history.depart(1, 0, 1, 1, &[(1, 1), (3, 1)]);
        let report = history.finish();
        assert_eq!(report.errors.split_clusters, 1);
        let first = report.first_violation.unwrap();
        assert_eq!(first.what, "b1 left without b2, to which it is tied");
    }

    #[test]
    fn a_joint_born_over_two_owners_is_seen() {
        let mut history = History::with_assemblies(2, &[&[1, 2]]);
        history.born(0, 0, 1, 0.0).born(0, 1, 2, 2.0);
        assert_eq!(history.finish().errors.split_clusters, 1);
    }

    #[test]
    fn a_cluster_that_arrives_in_parts_is_seen() {
        let mut history = rod_and_ball();
        history.depart(1, 0, 1, 1, &[(1, 1), (2, 1), (3, 1)]);
        history.arrive(1, 1, 0, 1, &[(1, 1), (2, 1)]);
        assert_eq!(history.finish().errors.split_clusters, 1);
    }
}
