//! The world itself: what is in it, how it gets in and out one by one, and the step.

use crate::config::{WorldConfig, WorldError};
use crate::contacts::{ContactBegun, Tag};
use crate::frame::Frame;
use crate::joints::{self, JointBook};
use crate::roster::Roster;
use crate::seeds::Seeds;
use crate::survey::AwakeBody;
use crate::views::Mark;
use crate::warm_start::SeedingDispatcher;
use crate::{check, contacts, shapes, sleep};
use domain::{Body, BodyForm, BodyId, ContactEnd, Joint, Shape, ShapeError, Static, StaticId};
use glam::{DVec3, Quat, Vec3};
use rapier3d::prelude::{
    ActiveEvents, Collider, ColliderBuilder, ColliderHandle, PhysicsWorld, RigidBodyActivation,
    RigidBodyBuilder, RigidBodyHandle, SharedShape,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// One engine world: static scenery and the dynamic bodies of one region.
///
/// *Feeding*: [`spawn`](Self::spawn), [`add_joint`](Self::add_joint), [`insert`](Self::insert),
/// [`apply_impulse`](Self::apply_impulse), [`remove`](Self::remove), [`extract`](Self::extract).
/// *Time*: [`step`](Self::step). *Looking*: everything else takes `&self`.
///
/// The same operations in the same order give the same bits. A world that is only spawned into and
/// stepped gives the bits of plain Rapier.
pub struct World {
    pub(crate) physics: PhysicsWorld,
    pub(crate) frame: Frame,
    pub(crate) bodies: Roster,
    pub(crate) statics: FxHashMap<StaticId, ColliderHandle>,
    pub(crate) joints: JointBook,
    /// Bodies the engine's tree does not know yet: inserted since the last step.
    pub(crate) fresh: FxHashSet<BodyId>,
    /// What the next step's first contact computations start from.
    pub(crate) seeds: Arc<Seeds>,
    pub(crate) begun: Vec<ContactBegun>,
    /// See [`Self::survey`].
    pub(crate) awake: Vec<AwakeBody>,
    /// Has the engine's first update of its islands happened? (see `sleep::settled_islands`)
    pub(crate) islands_settled: bool,
    pub(crate) may_sleep: bool,
    last_form: Option<Arc<BodyForm>>,
    /// The largest bounding radius of all bodies that were ever here.
    widest: f32,
}

/// What the world keeps of a body beside the engine's own.
pub(crate) struct Entry {
    pub(crate) handle: RigidBodyHandle,
    pub(crate) collider: ColliderHandle,
    /// The collider's, so that nobody need look at the collider.
    pub(crate) shape: SharedShape,
    /// Shared by bodies of one kind: walks over all bodies read the rest only.
    pub(crate) form: Arc<BodyForm>,
    pub(crate) gravity_scale: f32,
    pub(crate) radius: f32,
    /// The line through its shape, and how far the shape is from it.
    pub(crate) spine: Vec3,
    pub(crate) girth: f32,
    /// Came in asleep and has not been stepped here: the engine has it awake, on the brink of sleep.
    pub(crate) dozes: bool,
}

impl World {
    /// A world with its scenery and no bodies.
    pub fn new(config: WorldConfig, statics: &[Static]) -> Result<Self, WorldError> {
        check::check_config(&config)?;
        let mut physics = PhysicsWorld::new();
        physics.gravity = config.gravity;
        physics.integration_parameters.dt = config.step.as_secs() as f32;
        let seeds = Arc::new(Seeds::default());
        physics
            .narrow_phase
            .set_query_dispatcher(SeedingDispatcher::new(seeds.clone()));
        let mut world = Self {
            physics,
            frame: Frame {
                origin: config.origin,
            },
            bodies: Roster::default(),
            statics: FxHashMap::default(),
            joints: JointBook::default(),
            fresh: FxHashSet::default(),
            seeds,
            begun: Vec::new(),
            awake: Vec::new(),
            islands_settled: false,
            may_sleep: true,
            last_form: None,
            widest: 0.0,
        };
        for scenery in statics {
            world.add_static(scenery)?;
        }
        Ok(world)
    }

    /// Adds scenery. What it touches wakes.
    pub fn put_up(&mut self, scenery: &Static) -> Result<(), WorldError> {
        self.add_static(scenery)?;
        let (shape, place) = (&scenery.shape, scenery.position);
        for end in self.overlap_shape(shape, place, scenery.rotation)? {
            if let ContactEnd::Body(id) = end
                && let Some(entry) = self.bodies.get_mut(&id)
            {
                entry.dozes = false;
                self.physics.wake_up(entry.handle, true);
            }
        }
        Ok(())
    }

    fn add_static(&mut self, scenery: &Static) -> Result<(), WorldError> {
        check::check_static(scenery)?;
        if self.statics.contains_key(&scenery.id) {
            return Err(WorldError::DuplicateStatic(scenery.id));
        }
        let bad = |cause: ShapeError| WorldError::BadStatic {
            id: scenery.id,
            cause,
        };
        let collider = ColliderBuilder::new(shapes::build(&scenery.shape).map_err(bad)?)
            .position(self.frame.local_pose(scenery.position, scenery.rotation))
            .friction(scenery.material.friction)
            .restitution(scenery.material.restitution)
            .user_data(Tag::Static(scenery.id).pack());
        let handle = self.physics.insert_collider(collider, None);
        self.statics.insert(scenery.id, handle);
        Ok(())
    }

    /// The place of the engine's zero.
    pub fn origin(&self) -> DVec3 {
        self.frame.origin
    }

    /// Adds a new body. Its [`Rest`](domain::Rest) is ignored: what is new is awake.
    pub fn spawn(&mut self, body: &Body) -> Result<(), WorldError> {
        check::check_numbers(body)?;
        if self.bodies.contains_key(&body.id) {
            return Err(WorldError::DuplicateBody(body.id));
        }
        let shape = build_shape(body.id, &body.form)?;
        self.put(body, shape, None);
        Ok(())
    }

    /// Puts a checked body into the engine.
    pub(crate) fn put(
        &mut self,
        body: &Body,
        shape: SharedShape,
        activation: Option<RigidBodyActivation>,
    ) {
        let form = &body.form;
        let (spine, girth) = form.shape.spine();
        let mark = Mark {
            id: body.id,
            spine_m: spine.length(),
            radius_m: form.shape.bounding_radius(),
        };
        let mut rigid = RigidBodyBuilder::dynamic()
            .pose(
                self.frame
                    .local_pose(body.motion.position, body.motion.rotation),
            )
            .linvel(body.motion.linear_velocity)
            .angvel(body.motion.angular_velocity)
            .gravity_scale(form.gravity_scale)
            .linear_damping(form.linear_damping)
            .angular_damping(form.angular_damping)
            .ccd_enabled(form.continuous)
            .user_data(mark.pack())
            .build();
        if let Some(activation) = activation {
            *rigid.activation_mut() = activation;
        }
        if !self.may_sleep {
            sleep::allow(&mut rigid, false);
        }
        let (handle, collider) = self
            .physics
            .insert(rigid, collider_of(body.id, form, shape.clone()));
        self.widest = self.widest.max(form.shape.bounding_radius());
        let entry = Entry {
            handle,
            collider,
            spine,
            girth,
            shape,
            form: self.shared_form(form),
            gravity_scale: form.gravity_scale,
            radius: form.shape.bounding_radius(),
            dozes: activation.is_some() && body.rest.asleep && self.may_sleep,
        };
        self.bodies.insert(body.id, entry);
        self.fresh.insert(body.id);
    }

    /// No body here has a bounding sphere of a larger radius.
    pub fn widest_radius(&self) -> f32 {
        self.widest
    }

    /// Bodies of one kind come in rows; a row shares one form.
    fn shared_form(&mut self, form: &BodyForm) -> Arc<BodyForm> {
        match &self.last_form {
            Some(last) if **last == *form => last.clone(),
            _ => {
                let form = Arc::new(form.clone());
                self.last_form = Some(form.clone());
                form
            }
        }
    }

    /// Ties two bodies of this world. Both wake.
    pub fn add_joint(&mut self, joint: &Joint) -> Result<(), WorldError> {
        check::check_joint(joint)?;
        if self.joints.contains(joint.id) {
            return Err(WorldError::BadJoint {
                id: joint.id,
                what: "there is already a joint of this id",
            });
        }
        for end in [joint.a, joint.b] {
            if !self.bodies.contains_key(&end) {
                return Err(WorldError::UnknownBody(end));
            }
        }
        self.put_joints(&[*joint], true);
        Ok(())
    }

    /// Puts checked joints into the engine.
    pub(crate) fn put_joints(&mut self, joints: &[Joint], wake: bool) {
        let mut made = Vec::with_capacity(joints.len());
        for joint in joints {
            let a = self.bodies[&joint.a].handle;
            let b = self.bodies[&joint.b].handle;
            let handle = self
                .physics
                .impulse_joints
                .insert(a, b, joints::build(joint), wake);
            made.push((*joint, handle));
        }
        self.joints.insert(&made);
    }

    /// Takes a body out of the world, with its joints; what it touched wakes. Returns it as it was.
    pub fn remove(&mut self, id: BodyId) -> Option<Body> {
        let body = self.read_body(id)?;
        self.take_out(&[id]);
        Some(body)
    }

    /// Removes bodies from the engine and from our books and wakes what they touched.
    pub(crate) fn take_out(&mut self, ids: &[BodyId]) {
        // The engine would wake them too, but only in the next step; until then they would pass for
        // undisturbed sleepers.
        let leaving: FxHashSet<BodyId> = ids.iter().copied().collect();
        let touched: Vec<BodyId> = ids
            .iter()
            .flat_map(|id| self.neighbours(*id))
            .filter(|other| !leaving.contains(other) && self.is_asleep(*other))
            .collect();
        for id in touched {
            self.physics.wake_up(self.bodies[&id].handle, true);
        }
        self.seeds.forget(ids);
        // The engine fills the slot freed last first, and solves in the order of slots. Freed from the
        // end, the slots are filled in id order again by whatever comes in next.
        for id in ids.iter().rev() {
            if let Some(entry) = self.bodies.remove(id) {
                self.physics.remove_body(entry.handle);
                self.fresh.remove(id);
            }
        }
        self.joints.remove_bodies(ids);
    }

    /// Kicks a body (N·s), at its centre of mass or at a point of the world; it wakes. A push after which
    /// its numbers would make no sense is refused, and nothing changes: it would spoil all that it touches.
    pub fn apply_impulse(
        &mut self,
        id: BodyId,
        impulse: Vec3,
        at: Option<DVec3>,
    ) -> Result<(), WorldError> {
        let entry = self.bodies.get_mut(&id);
        let entry = entry.ok_or(WorldError::UnknownBody(id))?;
        check::check_push(id, impulse, at)?;
        let rigid = &mut self.physics.bodies[entry.handle];
        if self.fresh.contains(&id) {
            // The engine weighs a body in its first step; before that an impulse would do nothing.
            rigid.recompute_mass_properties_from_colliders(&self.physics.colliders);
        }
        let before = (rigid.linvel(), rigid.angvel());
        match at {
            Some(point) => {
                rigid.apply_impulse_at_point(impulse, self.frame.local(point), false);
            }
            None => rigid.apply_impulse(impulse, false),
        }
        if !(check::is_speed(rigid.linvel()) && check::is_speed(rigid.angvel())) {
            rigid.set_linvel(before.0, false);
            rigid.set_angvel(before.1, false);
            let what = "it would be too fast";
            return Err(WorldError::BadPush { id, what });
        }
        entry.dozes = false;
        if impulse != Vec3::ZERO {
            rigid.wake_up(true);
        }
        Ok(())
    }

    /// Gives a body's centre of mass this velocity, m/s; it wakes. Refused if that makes no sense.
    pub fn set_velocity(&mut self, id: BodyId, velocity: Vec3) -> Result<(), WorldError> {
        let entry = self.bodies.get_mut(&id);
        let entry = entry.ok_or(WorldError::UnknownBody(id))?;
        if !check::is_speed(velocity) {
            let what = "it would be too fast";
            return Err(WorldError::BadPush { id, what });
        }
        entry.dozes = false;
        self.physics.bodies[entry.handle].set_linvel(velocity, true);
        Ok(())
    }

    /// Puts a body elsewhere; it keeps its velocity. Says whether it is here.
    pub fn put_back(&mut self, id: BodyId, position: DVec3, rotation: Quat) -> bool {
        let Some(entry) = self.bodies.get(&id) else {
            return false;
        };
        let pose = self.frame.local_pose(position, rotation.normalize());
        self.physics.bodies[entry.handle].set_position(pose, false);
        true
    }

    /// Moves all bodies by one step and collects the contacts that began in it.
    pub fn step(&mut self) {
        let collector = contacts::Collector::new(&self.seeds);
        self.physics.step_with_events(&(), &collector);
        self.begun = collector.finish();
        self.seeds.clear();
        for id in self.fresh.drain() {
            if let Some(entry) = self.bodies.get_mut(&id) {
                entry.dozes = false;
            }
        }
        self.islands_settled = true;
    }

    /// Lets bodies fall asleep (the default) or keeps all of them awake, those that come later too.
    pub fn set_sleeping(&mut self, allowed: bool) {
        self.may_sleep = allowed;
        for entry in self.bodies.values() {
            sleep::allow(&mut self.physics.bodies[entry.handle], allowed);
        }
    }
}

/// The collider of a body. It reports when it begins to touch something.
fn collider_of(id: BodyId, form: &BodyForm, shape: SharedShape) -> Collider {
    ColliderBuilder::new(shape)
        .density(form.material.density)
        .friction(form.material.friction)
        .restitution(form.material.restitution)
        .active_events(ActiveEvents::COLLISION_EVENTS)
        .user_data(Tag::Body(id).pack())
        .build()
}

/// The engine's shape of a body, and what it weighs is a number.
pub(crate) fn build_shape(id: BodyId, form: &BodyForm) -> Result<SharedShape, WorldError> {
    let built = shapes::build(&form.shape);
    let shape = built.map_err(|cause| WorldError::BadShape { id, cause })?;
    let has_weight = match &form.shape {
        Shape::Sphere { .. } | Shape::Cuboid { .. } | Shape::Capsule { .. } => true,
        _ => shapes::has_weight(&shape, form.material.density),
    };
    let what = "its mass";
    has_weight
        .then_some(shape)
        .ok_or(WorldError::BadBody { id, what })
}
