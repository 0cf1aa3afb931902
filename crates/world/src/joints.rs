//! Joints by id, and the assemblies they tie together.

use domain::{BodyId, Joint, JointId, JointKind};
use glam::Vec3;
use rapier3d::prelude::{
    FixedJointBuilder, GenericJoint, ImpulseJointHandle, PrismaticJointBuilder,
    RevoluteJointBuilder, SphericalJointBuilder,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The engine's joint. Jointed bodies do not collide with each other.
pub(crate) fn build(joint: &Joint) -> GenericJoint {
    let axis = joint.axis.normalize_or(Vec3::X);
    match joint.kind {
        JointKind::Fixed => FixedJointBuilder::new()
            .local_anchor1(joint.anchor_a)
            .local_anchor2(joint.anchor_b)
            .contacts_enabled(false)
            .build()
            .into(),
        JointKind::Revolute => RevoluteJointBuilder::new(axis)
            .local_anchor1(joint.anchor_a)
            .local_anchor2(joint.anchor_b)
            .contacts_enabled(false)
            .build()
            .into(),
        JointKind::Spherical => SphericalJointBuilder::new()
            .local_anchor1(joint.anchor_a)
            .local_anchor2(joint.anchor_b)
            .contacts_enabled(false)
            .build()
            .into(),
        JointKind::Prismatic => PrismaticJointBuilder::new(axis)
            .local_anchor1(joint.anchor_a)
            .local_anchor2(joint.anchor_b)
            .contacts_enabled(false)
            .build()
            .into(),
    }
}

/// All joints of a world. Bodies without joints cost nothing here.
#[derive(Default)]
pub(crate) struct JointBook {
    joints: BTreeMap<JointId, (Joint, ImpulseJointHandle)>,
    of_body: FxHashMap<BodyId, Vec<JointId>>,
    assemblies: FxHashMap<BodyId, Arc<[BodyId]>>,
}

impl JointBook {
    pub(crate) fn contains(&self, id: JointId) -> bool {
        self.joints.contains_key(&id)
    }

    pub(crate) fn len(&self) -> usize {
        self.joints.len()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Joint> {
        self.joints.values().map(|(joint, _)| joint)
    }

    /// Joints that touch any of the bodies, by ascending id.
    pub(crate) fn of(&self, bodies: &[BodyId]) -> Vec<Joint> {
        let mut ids: Vec<JointId> = bodies
            .iter()
            .filter_map(|body| self.of_body.get(body))
            .flatten()
            .copied()
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids.iter().map(|id| self.joints[id].0).collect()
    }

    /// The bodies tied to this one, itself included, by ascending id; `None` if it has no joint.
    pub(crate) fn assembly(&self, body: BodyId) -> Option<&[BodyId]> {
        self.assemblies.get(&body).map(|members| &**members)
    }

    pub(crate) fn insert(&mut self, joints: &[(Joint, ImpulseJointHandle)]) {
        for (joint, handle) in joints {
            self.joints.insert(joint.id, (*joint, *handle));
            self.of_body.entry(joint.a).or_default().push(joint.id);
            self.of_body.entry(joint.b).or_default().push(joint.id);
        }
        let ends: Vec<BodyId> = joints.iter().flat_map(|(j, _)| [j.a, j.b]).collect();
        self.rebuild(&ends);
    }

    /// Forgets the bodies with all their joints.
    pub(crate) fn remove_bodies(&mut self, bodies: &[BodyId]) {
        let gone = self.of(bodies);
        if gone.is_empty() {
            return;
        }
        for joint in &gone {
            self.joints.remove(&joint.id);
            for end in [joint.a, joint.b] {
                if let Some(ids) = self.of_body.get_mut(&end) {
                    ids.retain(|id| *id != joint.id);
                    if ids.is_empty() {
                        self.of_body.remove(&end);
                    }
                }
            }
        }
        let touched: Vec<BodyId> = gone
            .iter()
            .filter_map(|joint| self.assemblies.get(&joint.a))
            .flat_map(|members| members.iter().copied())
            .collect();
        for body in &touched {
            self.assemblies.remove(body);
        }
        self.rebuild(&touched);
    }

    /// Finds the assemblies of these bodies again.
    fn rebuild(&mut self, bodies: &[BodyId]) {
        let mut done = FxHashSet::default();
        for &start in bodies {
            if done.contains(&start) || !self.of_body.contains_key(&start) {
                continue;
            }
            let members = self.reach(start);
            done.extend(members.iter().copied());
            let members: Arc<[BodyId]> = members.into();
            for &body in &*members {
                self.assemblies.insert(body, members.clone());
            }
        }
    }

    fn reach(&self, start: BodyId) -> Vec<BodyId> {
        let mut seen = FxHashSet::from_iter([start]);
        let mut queue = vec![start];
        let mut next = 0;
        while let Some(&body) = queue.get(next) {
            next += 1;
            for id in self.of_body.get(&body).into_iter().flatten() {
                let joint = &self.joints[id].0;
                for end in [joint.a, joint.b] {
                    if seen.insert(end) {
                        queue.push(end);
                    }
                }
            }
        }
        queue.sort_unstable();
        queue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joint(id: u64, a: u64, b: u64) -> (Joint, ImpulseJointHandle) {
        let joint = Joint {
            id: JointId(id),
            kind: JointKind::Fixed,
            a: BodyId(a),
            b: BodyId(b),
            anchor_a: Vec3::ZERO,
            anchor_b: Vec3::ZERO,
            axis: Vec3::X,
        };
        (joint, ImpulseJointHandle::invalid())
    }

    fn ids(ids: &[u64]) -> Vec<BodyId> {
        ids.iter().copied().map(BodyId).collect()
    }

    #[test]
    fn assemblies_grow_together_and_fall_apart() {
        let mut book = JointBook::default();
        book.insert(&[joint(1, 1, 2), joint(2, 4, 5)]);
        assert_eq!(book.assembly(BodyId(2)), Some(&*ids(&[1, 2])));
        assert_eq!(book.assembly(BodyId(3)), None);
        book.insert(&[joint(3, 2, 4)]);
        assert_eq!(book.assembly(BodyId(5)), Some(&*ids(&[1, 2, 4, 5])));
        book.remove_bodies(&ids(&[2]));
        assert_eq!(book.assembly(BodyId(1)), None);
        assert_eq!(book.assembly(BodyId(4)), Some(&*ids(&[4, 5])));
        assert_eq!(book.len(), 1);
        assert!(!book.contains(JointId(3)));
    }
}
