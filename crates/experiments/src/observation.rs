//! What the harness sees of a run: who left which server, and the first contact.

use crate::head_on::{A, B};
use domain::{BodyId, Motion, RegionId, Tick};
use simulator::facts::Fact;

/// The first contact as the engine found it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sighting {
    pub depth_m: f64,
    pub relative_speed: f64,
    pub times_thrashed: u32,
    pub just_migrated: bool,
    /// Had their centres already passed each other when it was found?
    pub crossed: bool,
}

impl Sighting {
    /// How far they are in each other along their path. Once the centres have passed, the engine's depth shrinks again
    /// although they are later still.
    pub fn penetration_m(&self, radius_m: f64) -> f64 {
        if self.crossed {
            4.0 * radius_m - self.depth_m
        } else {
            self.depth_m
        }
    }
}

/// Follows two spheres until they meet or have passed.
pub(crate) struct Observation {
    passed_m: f64,
    // Where A and B were after the latest and the step before it. A contact is found at the start of a step.
    latest: [Option<f64>; 2],
    before: [Option<f64>; 2],
    departed_from: Vec<RegionId>,
    arrived: Option<(RegionId, Tick)>,
    contact: Option<Sighting>,
    passed: bool,
}

impl Observation {
    /// They have passed when A is this far beyond B.
    pub fn new(passed_m: f64) -> Self {
        Self {
            passed_m,
            latest: [None; 2],
            before: [None; 2],
            departed_from: Vec::new(),
            arrived: None,
            contact: None,
            passed: false,
        }
    }

    pub fn is_over(&self) -> bool {
        self.contact.is_some() || self.passed
    }

    pub fn contact(&self) -> Option<Sighting> {
        self.contact
    }

    /// Changes of owner before the first contact.
    pub fn departures(&self) -> u32 {
        self.departed_from.len() as u32
    }

    /// Something happened; nothing counts after the end.
    pub fn note(&mut self, fact: &Fact<'_>) {
        if self.is_over() {
            return;
        }
        match *fact {
            Fact::Stepped { bodies, .. } | Fact::CaughtUp { bodies, .. } => self.follow(bodies),
            Fact::Departed { from, members, .. } => {
                self.departed_from.extend(members.iter().map(|_| from));
            }
            Fact::Arrived { region, tick, .. } => self.arrived = Some((region, tick)),
            Fact::Contact {
                region,
                tick,
                depth_m,
                relative_speed,
                ..
            } => {
                let away = self.departed_from.iter().filter(|from| **from == region);
                self.contact = Some(Sighting {
                    depth_m,
                    relative_speed,
                    times_thrashed: away.count() as u32,
                    just_migrated: self.arrived.is_some_and(|(at, m)| at == region && m.next() == tick),
                    crossed: matches!(self.before, [Some(a), Some(b)] if a > b),
                });
            }
            _ => {}
        }
    }

    fn follow(&mut self, bodies: &[(BodyId, Motion)]) {
        for (id, motion) in bodies {
            let index = match *id {
                A => 0,
                B => 1,
                _ => continue,
            };
            self.before[index] = self.latest[index];
            self.latest[index] = Some(motion.position.x);
        }
        if let [Some(a), Some(b)] = self.latest {
            self.passed = a - b > self.passed_m;
        }
    }
}
