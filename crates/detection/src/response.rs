//! What contacts do to bodies. The thesis leaves it to "a dynamic simulation"; this is a small one: impulses at the points of contact,
//! swept over a few times, with restitution and Coulomb friction, and a gentle push apart of what is too deep.
//!
//! It has no memory between steps, so stacks settle less well than in a full engine; freezing helps them. Momentum is conserved by
//! every impulse.

use crate::forms::Form;
use domain::Motion;
use glam::{DVec3, Quat, Vec3};

/// Bodies may be this deep in each other before they are pushed apart, metres.
const SLOP_M: f32 = 0.005;
/// The share of the excess that is removed per step.
const PUSH: f32 = 0.4;
/// Never more than this per step, metres.
const MOST_PUSH_M: f32 = 0.2;

/// A contact between bodies by their numbers; the second may be immoveable.
#[derive(Clone, Copy, Debug)]
pub struct PairContact {
    /// The first.
    pub a: u32,
    /// The second.
    pub b: u32,
    /// From the first one's centre of mass.
    pub arm_a: Vec3,
    /// From the second one's centre of mass.
    pub arm_b: Vec3,
    /// Unit vector from the first to the second.
    pub normal: Vec3,
    /// At least zero, metres.
    pub depth: f32,
    /// How many contacts this pair has.
    pub of_pair: u32,
}

/// A contact while it is being solved.
#[derive(Clone, Copy)]
struct Row {
    contact: PairContact,
    inverse_mass: [f32; 2],
    effective: f32,
    wanted: f32,
    friction: f32,
    push: f32,
    slide: Vec3,
}

/// What the solver may look up of a body: its form, or `None` for one that is not to be moved (frozen).
pub struct Participants<'a> {
    /// All forms.
    pub forms: &'a [Form],
    /// The form of each body.
    pub form_of: &'a [u32],
    /// Bodies that stand like walls.
    pub frozen: &'a [bool],
}

impl Participants<'_> {
    #[inline]
    fn form(&self, body: u32) -> &Form {
        &self.forms[self.form_of[body as usize] as usize]
    }

    #[inline]
    fn inverse_mass(&self, body: u32) -> f32 {
        if self.frozen[body as usize] {
            0.0
        } else {
            self.form(body).inverse_mass
        }
    }

    #[inline]
    fn turn(&self, body: u32, rotation: Quat, impulse: Vec3) -> Vec3 {
        if self.frozen[body as usize] {
            Vec3::ZERO
        } else {
            self.form(body).turn(rotation, impulse)
        }
    }
}

/// Solver and its memory.
#[derive(Default)]
pub struct Response {
    rows: Vec<Row>,
}

impl Response {
    /// Changes the velocities and, of deep ones, the positions of the bodies in contact. `touched` hears every body that is
    /// changed, before it is.
    pub fn respond(
        &mut self,
        contacts: &[PairContact],
        who: &Participants<'_>,
        motions: &mut [Motion],
        sweeps: u32,
        bounce_above: f32,
        mut touched: impl FnMut(u32, &Motion),
    ) {
        self.rows.clear();
        for contact in contacts {
            let row = Row::new(contact, who, motions, bounce_above);
            if let Some(row) = row {
                self.rows.push(row);
            }
        }
        for row in &self.rows {
            for (body, mass) in [
                (row.contact.a, row.inverse_mass[0]),
                (row.contact.b, row.inverse_mass[1]),
            ] {
                if mass > 0.0 {
                    touched(body, &motions[body as usize]);
                }
            }
        }
        for _ in 0..sweeps {
            for row in &mut self.rows {
                row.solve(who, motions);
            }
        }
        for row in &self.rows {
            row.push_apart(motions);
        }
    }
}

impl Row {
    /// `None` if nothing is to be done: neither approaching nor too deep.
    fn new(
        contact: &PairContact,
        who: &Participants<'_>,
        motions: &[Motion],
        bounce_above: f32,
    ) -> Option<Self> {
        let (a, b) = (contact.a, contact.b);
        let inverse_mass = [who.inverse_mass(a), who.inverse_mass(b)];
        let mass = inverse_mass[0] + inverse_mass[1];
        let normal = contact.normal;
        let approach = -relative(contact, motions).dot(normal);
        if mass <= 0.0 || (approach <= 0.0 && contact.depth <= SLOP_M) {
            return None;
        }
        let bend = |body: u32, arm: Vec3| {
            let turned = who.turn(body, motions[body as usize].rotation, arm.cross(normal));
            turned.cross(arm).dot(normal)
        };
        let effective = mass + bend(a, contact.arm_a) + bend(b, contact.arm_b);
        let (first, second) = (&who.form(a).material, &who.form(b).material);
        let restitution = 0.5 * (first.restitution + second.restitution);
        let bounce = if approach > bounce_above {
            restitution * approach
        } else {
            0.0
        };
        Some(Self {
            contact: *contact,
            inverse_mass,
            effective: 1.0 / effective,
            wanted: bounce,
            friction: 0.5 * (first.friction + second.friction),
            push: 0.0,
            slide: Vec3::ZERO,
        })
    }

    fn solve(&mut self, who: &Participants<'_>, motions: &mut [Motion]) {
        let normal = self.contact.normal;
        let speed = relative(&self.contact, motions);
        let approach = -speed.dot(normal);
        let push = (self.push + self.effective * (approach + self.wanted)).max(0.0);
        let change = push - self.push;
        self.push = push;
        self.apply(normal * change, who, motions);
        if self.friction > 0.0 {
            let speed = relative(&self.contact, motions);
            let sideways = speed - normal * speed.dot(normal);
            // The same effective mass as along the normal: close enough for a cone that clips it anyway.
            let slide = self.slide - sideways * self.effective;
            let most = self.friction * self.push;
            let slide = slide.clamp_length_max(most);
            let change = slide - self.slide;
            self.slide = slide;
            self.apply(change, who, motions);
        }
    }

    /// An impulse on the second body, and its opposite on the first.
    fn apply(&self, impulse: Vec3, who: &Participants<'_>, motions: &mut [Motion]) {
        if impulse == Vec3::ZERO {
            return;
        }
        let ends = [
            (
                self.contact.a,
                self.contact.arm_a,
                -impulse,
                self.inverse_mass[0],
            ),
            (
                self.contact.b,
                self.contact.arm_b,
                impulse,
                self.inverse_mass[1],
            ),
        ];
        for (body, arm, impulse, inverse_mass) in ends {
            if inverse_mass > 0.0 {
                let motion = &mut motions[body as usize];
                let turned = who.turn(body, motion.rotation, arm.cross(impulse));
                motion.linear_velocity += impulse * inverse_mass;
                motion.angular_velocity += turned;
            }
        }
    }

    fn push_apart(&self, motions: &mut [Motion]) {
        let excess = ((self.contact.depth - SLOP_M) * PUSH).min(MOST_PUSH_M);
        if excess <= 0.0 {
            return;
        }
        let mass = self.inverse_mass[0] + self.inverse_mass[1];
        let shift = self.contact.normal * (excess / (mass * self.contact.of_pair as f32));
        let ends = [
            (self.contact.a, -shift * self.inverse_mass[0]),
            (self.contact.b, shift * self.inverse_mass[1]),
        ];
        for (body, shift) in ends {
            if shift != Vec3::ZERO {
                motions[body as usize].position += shift.as_dvec3();
            }
        }
    }
}

/// Velocity of the second body at the contact, seen from the first.
fn relative(contact: &PairContact, motions: &[Motion]) -> Vec3 {
    let at = |body: u32, arm: Vec3| {
        let motion = &motions[body as usize];
        motion.linear_velocity + motion.angular_velocity.cross(arm)
    };
    at(contact.b, contact.arm_b) - at(contact.a, contact.arm_a)
}

/// One step of free flight, the same bits for whoever computes it.
#[inline]
pub fn fly(motion: &mut Motion, form: &Form, gravity: Vec3, step_secs: f32) {
    let mut velocity = motion.linear_velocity + gravity * (form.gravity_scale * step_secs);
    if form.linear_damping > 0.0 {
        velocity *= 1.0 / (1.0 + step_secs * form.linear_damping);
    }
    let mut spin = motion.angular_velocity;
    if form.angular_damping > 0.0 {
        spin *= 1.0 / (1.0 + step_secs * form.angular_damping);
    }
    let travelled: DVec3 = (velocity * step_secs).as_dvec3();
    let turned = if spin == Vec3::ZERO {
        motion.rotation
    } else {
        let half = spin * (0.5 * step_secs);
        let delta = Quat::from_xyzw(half.x, half.y, half.z, 0.0) * motion.rotation;
        (motion.rotation + delta).normalize()
    };
    motion.position += travelled;
    if form.centre_of_mass != Vec3::ZERO {
        // It turns about its centre of mass, not about its origin.
        let moved = motion.rotation * form.centre_of_mass - turned * form.centre_of_mass;
        motion.position += moved.as_dvec3();
    }
    motion.rotation = turned;
    motion.linear_velocity = velocity;
    motion.angular_velocity = spin;
}
