//! I5, the other half: whoever leaves takes along everything it touches. A cluster is closed under touch, so a body that stays behind in
//! contact with one that leaves was overlooked by the cluster search.

use super::Checker;
use super::findings::{ErrorKind, Finding, Findings, View};
use crate::facts::Fact;
use domain::{BodyForm, BodyId, Epoch, Motion, RegionId, Tick};
use glam::{DVec3, Quat};
use rustc_hash::{FxHashMap, FxHashSet};
use world::{PreparedShape, ShapeCache};

#[derive(Default)]
pub(super) struct NoContactCut {
    cache: ShapeCache,
    shapes: FxHashMap<BodyId, PreparedShape>,
    /// Each region as it was after its latest step.
    latest: FxHashMap<RegionId, (Tick, Vec<(BodyId, Motion)>)>,
}

impl Checker for NoContactCut {
    fn observe(&mut self, fact: &Fact<'_>, view: &View<'_>, findings: &mut Findings) {
        match *fact {
            Fact::Born { body, form, .. } => self.prepare(body, form),
            Fact::Stepped {
                tick,
                region,
                bodies,
            } => {
                let (latest, copy) = self.latest.entry(region).or_default();
                *latest = tick;
                copy.clear();
                copy.extend_from_slice(bodies);
            }
            Fact::Departed {
                tick,
                from,
                members,
                ..
            } => {
                if let Some((a, b, depth_m)) = self.cut(tick, from, members) {
                    let finding = Finding {
                        kind: ErrorKind::SplitCluster,
                        count: 1,
                        tick,
                        bodies: &[a, b],
                        excused: view.ledger.is_disturbed(tick, tick, &[from]),
                    };
                    findings.add(view, finding, || {
                        format!(
                            "{a} left {from} without {b}, which it touches ({depth_m:.4} m deep)"
                        )
                    });
                }
            }
            _ => {}
        }
    }
}

impl NoContactCut {
    /// A shape that no world accepts is in no world; nothing can touch it.
    fn prepare(&mut self, body: BodyId, form: &BodyForm) {
        if let Ok(shape) = self.cache.get(&form.shape) {
            self.shapes.insert(body, shape);
        }
    }

    /// The first pair that touches although only one of the two leaves.
    fn cut(
        &self,
        tick: Tick,
        from: RegionId,
        members: &[(BodyId, Epoch)],
    ) -> Option<(BodyId, BodyId, f64)> {
        let (_, bodies) = self.latest.get(&from).filter(|(at, _)| *at == tick)?;
        let leaving: FxHashSet<BodyId> = members.iter().map(|(body, _)| *body).collect();
        let (leaving, staying): (Vec<_>, Vec<_>) = bodies
            .iter()
            .filter_map(|(body, motion)| Some((*body, pose(motion), self.shapes.get(body)?)))
            .partition(|(body, ..)| leaving.contains(body));
        let pairs = leaving
            .iter()
            .flat_map(|one| staying.iter().map(move |other| (one, other)));
        pairs
            .filter(|((_, a, shape_a), (_, b, shape_b))| {
                let reach = shape_a.radius() + shape_b.radius();
                a.0.distance_squared(b.0) <= reach * reach
            })
            .map(|((a, pose_a, shape_a), (b, pose_b, shape_b))| {
                (*a, *b, shape_a.penetration(*pose_a, shape_b, *pose_b))
            })
            .find(|(.., depth_m)| *depth_m > 0.0)
    }
}

fn pose(motion: &Motion) -> (DVec3, Quat) {
    (motion.position, motion.rotation)
}

#[cfg(test)]
mod tests {
    use crate::checkers::testing::History;

    /// Bodies of radius 0.5: 1 and 2 touch, 3 is apart.
    fn three() -> History {
        let mut history = History::new(2);
        history
            .born(0, 0, 1, 0.0)
            .born(0, 0, 2, 0.99)
            .born(0, 0, 3, 5.0);
        history.step(1, 0, &[1, 2, 3]).step(1, 1, &[]);
        history
    }

    // AP-12
    #[test]
    fn what_touches_leaves_together() {
        let mut history = three();
        history.depart(1, 0, 1, 1, &[(1, 1), (2, 1)]);
        assert_eq!(history.errors().split_clusters, 0);
    }

    // AP-12
    #[test]
    fn a_body_left_behind_in_contact_is_seen() {
        let mut history = three();
        history.depart(1, 0, 1, 1, &[(2, 1), (3, 1)]);
        let report = history.finish();
        assert_eq!(report.errors.split_clusters, 1);
        let first = report.first_violation.expect("seen");
        assert!(
            first.what.starts_with("b2 left r0 without b1"),
            "{}",
            first.what
        );
    }
}
