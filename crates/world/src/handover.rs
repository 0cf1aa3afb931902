//! Whole clusters out and in, with everything the engine remembers of them.

use crate::check::check_cluster;
use crate::config::WorldError;
use crate::contacts::Tag;
use crate::sleep;
use crate::warm_start::{self, address};
use crate::world::{World, build_shape};
use domain::{Body, BodyId, Cluster, ContactEnd, ContactMemory, Motion, Rest};
use rapier3d::math::Pose;
use rapier3d::prelude::{ColliderHandle, ContactPair, SharedShape};
use rustc_hash::FxHashSet;

impl World {
    /// Takes bodies out as a cluster, for another world to [`insert`](Self::insert). Bodies that stay
    /// behind and touched them wake. Unknown ids are ignored; a joint to a body that stays is dropped
    /// (move whole [assemblies](Self::assembly)).
    pub fn extract(&mut self, ids: &[BodyId]) -> Cluster {
        let mut cluster = self.copy(ids);
        self.rouse(&mut cluster);
        let ids: Vec<BodyId> = cluster.bodies.iter().map(|body| body.id).collect();
        self.take_out(&ids);
        cluster
    }

    /// What [`extract`](Self::extract) would give if nobody stayed behind, without removing anything.
    pub fn copy(&self, ids: &[BodyId]) -> Cluster {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        ids.dedup();
        let bodies: Vec<Body> = ids.iter().filter_map(|id| self.read_body(*id)).collect();
        let members: FxHashSet<BodyId> = bodies.iter().map(|body| body.id).collect();
        let mut joints = self.joints.of(&ids);
        joints.retain(|joint| members.contains(&joint.a) && members.contains(&joint.b));
        let contacts = self.remember_contacts(&bodies, &members);
        Cluster {
            bodies,
            joints,
            contacts,
        }
    }

    /// Takes a cluster in. Refused as a whole if it does not pass [`check_cluster`], if a hull cannot
    /// be built or if one of its bodies or joints is already here.
    pub fn insert(&mut self, cluster: &Cluster) -> Result<(), WorldError> {
        check_cluster(cluster)?;
        self.check_strangers(cluster)?;
        let shapes: Result<Vec<SharedShape>, _> = cluster
            .bodies
            .iter()
            .map(|body| build_shape(body.id, &body.form))
            .collect();
        let shapes = shapes?;
        let poses: Vec<Pose> = cluster
            .bodies
            .iter()
            .map(|body| {
                self.frame
                    .local_pose(body.motion.position, body.motion.rotation)
            })
            .collect();
        let dt = self.physics.integration_parameters.dt;
        let activations = sleep::activations(&cluster.bodies, &poses, dt, self.longest_still());
        for ((body, shape), activation) in cluster.bodies.iter().zip(shapes).zip(activations) {
            self.put(body, shape, Some(activation));
        }
        self.put_joints(&cluster.joints, false);
        self.seed_contacts(&cluster.contacts);
        Ok(())
    }

    fn check_strangers(&self, cluster: &Cluster) -> Result<(), WorldError> {
        if let Some(body) = cluster.bodies.iter().find(|b| self.contains(b.id)) {
            return Err(WorldError::DuplicateBody(body.id));
        }
        match cluster.joints.iter().find(|j| self.joints.contains(j.id)) {
            Some(joint) => Err(WorldError::BadJoint {
                id: joint.id,
                what: "there is already a joint of this id",
            }),
            None => Ok(()),
        }
    }

    /// How sleepy a newcomer may be. In the very first step of a world the engine cannot tell islands
    /// apart yet (see [`sleep::settled_islands`]): an empty world is prepared for it, in a world that
    /// has bodies already nobody may fall asleep in that step.
    fn longest_still(&mut self) -> f32 {
        if self.islands_settled {
            return f32::MAX;
        }
        if self.bodies.is_empty() {
            self.physics.islands = sleep::settled_islands();
            self.islands_settled = true;
            return f32::MAX;
        }
        let dt = self.physics.integration_parameters.dt;
        (rapier3d::prelude::RigidBodyActivation::default_time_until_sleep() - 2.0 * dt).max(0.0)
    }

    /// A body as it is now.
    pub(crate) fn read_body(&self, id: BodyId) -> Option<Body> {
        let entry = self.bodies.get(&id)?;
        let rigid = &self.physics.bodies[entry.handle];
        let activation = rigid.activation();
        Some(Body {
            id,
            form: (*entry.form).clone(),
            motion: Motion {
                position: self.frame.world(rigid.translation()),
                rotation: *rigid.rotation(),
                linear_velocity: rigid.linvel(),
                angular_velocity: rigid.angvel(),
            },
            rest: Rest {
                asleep: self.sleeps(entry),
                still_secs: activation.time_since_can_sleep,
            },
        })
    }

    /// The pairs with which a collider is in touch, and the other side of each.
    pub(crate) fn touching_pairs(
        &self,
        collider: ColliderHandle,
    ) -> impl Iterator<Item = (&ContactPair, ContactEnd)> {
        self.physics
            .narrow_phase
            .contact_pairs_with(collider)
            .filter(|pair| pair.has_any_active_contact())
            .filter_map(move |pair| {
                let other = if pair.collider1 == collider {
                    pair.collider2
                } else {
                    pair.collider1
                };
                let other = self.physics.colliders.get(other)?;
                Some((pair, Tag::of(other).end()))
            })
    }

    fn remember_contacts(
        &self,
        bodies: &[Body],
        members: &FxHashSet<BodyId>,
    ) -> Vec<ContactMemory> {
        let mut contacts = Vec::new();
        for body in bodies {
            let me = ContactEnd::Body(body.id);
            let collider = self.bodies[&body.id].collider;
            for (pair, other) in self.touching_pairs(collider) {
                // A pair of members is met from both sides; the lower id tells it.
                let mine = match other {
                    ContactEnd::Body(id) => members.contains(&id) && body.id < id,
                    ContactEnd::Static(_) => true,
                };
                if mine {
                    let (a, b) = if pair.collider1 == collider {
                        (me, other)
                    } else {
                        (other, me)
                    };
                    contacts.extend(warm_start::memories(pair, a, b));
                }
            }
        }
        // What came in since the last step is still waiting to be used.
        contacts.extend(self.seeds.among(members));
        contacts.sort_by_key(|memory| (memory.a, memory.b, memory.part_a, memory.part_b));
        contacts
    }

    fn seed_contacts(&self, contacts: &[ContactMemory]) {
        for memory in contacts {
            if let (Some(a), Some(b)) = (self.shape_address(memory.a), self.shape_address(memory.b))
            {
                self.seeds.add((a, b), memory.clone());
            }
        }
    }

    fn shape_address(&self, end: ContactEnd) -> Option<usize> {
        let collider = match end {
            ContactEnd::Body(id) => self.bodies.get(&id)?.collider,
            ContactEnd::Static(id) => *self.statics.get(&id)?,
        };
        Some(address(self.physics.colliders.get(collider)?.shape()))
    }

    /// Marks as awake those sleepers of a leaving cluster that leaned on bodies which stay, and those
    /// that lean on them in turn: their support is gone.
    fn rouse(&self, cluster: &mut Cluster) {
        let members: FxHashSet<BodyId> = cluster.bodies.iter().map(|body| body.id).collect();
        let mut awake: FxHashSet<BodyId> = FxHashSet::default();
        let mut queue: Vec<BodyId> = Vec::new();
        for body in cluster.bodies.iter().filter(|body| body.rest.asleep) {
            if self
                .neighbours(body.id)
                .any(|other| !members.contains(&other))
            {
                awake.insert(body.id);
                queue.push(body.id);
            }
        }
        while let Some(id) = queue.pop() {
            for other in self.neighbours(id).filter(|id| members.contains(id)) {
                if awake.insert(other) {
                    queue.push(other);
                }
            }
        }
        for body in &mut cluster.bodies {
            if awake.contains(&body.id) {
                body.rest = Rest::default();
            }
        }
    }

    /// Bodies in touch with this one.
    pub(crate) fn neighbours(&self, id: BodyId) -> impl Iterator<Item = BodyId> {
        let collider = self.bodies.get(&id).map(|entry| entry.collider);
        collider
            .into_iter()
            .flat_map(|collider| self.touching_pairs(collider))
            .filter_map(|(_, other)| match other {
                ContactEnd::Body(id) => Some(id),
                ContactEnd::Static(_) => None,
            })
    }
}
