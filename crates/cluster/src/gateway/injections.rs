//! Injection volumes: bodies that appear in a box, so many per second, for a while (thesis 4.8).

use client_protocol::{Injection, Spawn};
use domain::SimTime;
use glam::{DVec3, Vec3};

/// An injection that goes on.
pub struct Running {
    injection: Injection,
    /// Whose bodies they are.
    pub player: usize,
    /// Which client ordered it.
    pub session: u64,
    begun: SimTime,
    made: u64,
    chance: Chance,
}

impl Running {
    /// It begins now. What it draws follows from the seed.
    pub fn new(injection: Injection, player: usize, session: u64, now: SimTime, seed: u64) -> Self {
        Self {
            injection,
            player,
            session,
            begun: now,
            made: 0,
            chance: Chance(seed),
        }
    }

    /// Bodies per second.
    pub fn rate(&self) -> f32 {
        self.injection.rate
    }

    /// Is it over?
    pub fn is_over(&self, now: SimTime) -> bool {
        now.since(self.begun).as_secs() >= f64::from(self.injection.secs)
    }

    /// The bodies that are due.
    pub fn take_due(&mut self, now: SimTime) -> Vec<Spawn> {
        let secs = now.since(self.begun).as_secs();
        let secs = secs.min(self.injection.secs.into());
        let due = (secs * f64::from(self.injection.rate)) as u64;
        let count = due.saturating_sub(self.made);
        self.made = due;
        (0..count).map(|_| self.draw()).collect()
    }

    fn draw(&mut self) -> Spawn {
        let injection = &self.injection;
        let mut part = || self.chance.unit();
        let place = DVec3::new(part(), part(), part());
        let speed = Vec3::new(part() as f32, part() as f32, part() as f32);
        let index = (part() * injection.shapes.len() as f64) as usize;
        let shape = injection.shapes[index.min(injection.shapes.len() - 1)].clone();
        let position = injection.min + (injection.max - injection.min) * place;
        let (low, high) = (injection.velocity_min, injection.velocity_max);
        Spawn {
            velocity: low + (high - low) * speed,
            ..Spawn::new(shape, position)
        }
    }
}

/// Numbers that look random (SplitMix64): enough for places and speeds.
struct Chance(u64);

impl Chance {
    /// From 0 to 1.
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^= word >> 31;
        (word >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Shape;

    // AP-46
    #[test]
    fn as_many_appear_as_were_ordered_and_where() {
        let (min, max) = (DVec3::new(-1.0, 2.0, 5.0), DVec3::new(1.0, 3.0, 5.0));
        let injection = Injection {
            min,
            max,
            rate: 20.0,
            secs: 3.0,
            velocity_min: Vec3::new(-1.0, -2.0, 0.0),
            velocity_max: Vec3::new(1.0, 0.0, 0.0),
            shapes: vec![
                Shape::Sphere { radius: 0.3 },
                Shape::Cuboid { size: Vec3::ONE },
            ],
        };
        let start = SimTime::from_secs(100.0);
        let mut running = Running::new(injection, 0, 1, start, 7);
        let mut all = Vec::new();
        for step in 0..500 {
            all.extend(running.take_due(start + SimTime::from_millis(10.0 * f64::from(step))));
        }
        assert_eq!(all.len(), 60);
        assert!(running.is_over(start + SimTime::from_secs(3.0)));
        let spheres = all
            .iter()
            .filter(|spawn| matches!(spawn.shape, Shape::Sphere { .. }));
        assert!((15..45).contains(&spheres.count()), "both shapes appear");
        for spawn in &all {
            assert!(spawn.position.cmpge(min).all() && spawn.position.cmple(max).all());
            assert!(spawn.velocity.y <= 0.0 && spawn.velocity.y >= -2.0);
        }
    }
}
