//! What the harness sees of a run: who left which server, and the first contact.

use crate::head_on::{A, B};
use domain::{BodyId, Motion, RegionId, Tick};
use simulator::facts::Fact;
use std::collections::BTreeMap;

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

/// Two spheres may be this much nearer than touching, metres: the engine's own margin.
const MARGIN_M: f64 = 1.1e-3;

/// Follows two spheres until they meet or have passed.
pub(crate) struct Observation {
    passed_m: f64,
    radius_m: f64,
    // Where A or B was at ticks that the other has not reached yet: servers are a little apart in time.
    waiting: BTreeMap<Tick, (BodyId, RegionId, f64)>,
    overlapped_across: bool,
    // Where A and B were after the latest and the step before it. A contact is found at the start of a step.
    latest: [Option<f64>; 2],
    before: [Option<f64>; 2],
    departed_from: Vec<RegionId>,
    arrived: Option<(RegionId, Tick)>,
    contact: Option<Sighting>,
    passed: bool,
}

impl Observation {
    /// Spheres of this radius; they have passed when A is so far beyond B.
    pub fn new(radius_m: f64, passed_m: f64) -> Self {
        Self {
            passed_m,
            radius_m,
            waiting: BTreeMap::new(),
            overlapped_across: false,
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

    /// F1: were they in each other at some tick at which they had different owners?
    pub fn overlapped_across(&self) -> bool {
        self.overlapped_across
    }

    /// Something happened; nothing counts after the end.
    pub fn note(&mut self, fact: &Fact<'_>) {
        if self.is_over() {
            return;
        }
        match *fact {
            Fact::Stepped {
                tick,
                region,
                bodies,
            }
            | Fact::CaughtUp {
                tick,
                region,
                bodies,
                ..
            } => self.follow(tick, region, bodies),
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
                    just_migrated: self
                        .arrived
                        .is_some_and(|(at, m)| at == region && m.next() == tick),
                    crossed: matches!(self.before, [Some(a), Some(b)] if a > b),
                });
            }
            _ => {}
        }
    }

    fn follow(&mut self, tick: Tick, owner: RegionId, bodies: &[(BodyId, Motion)]) {
        for (id, motion) in bodies {
            let index = match *id {
                A => 0,
                B => 1,
                _ => continue,
            };
            self.before[index] = self.latest[index];
            self.latest[index] = Some(motion.position.x);
            self.compare(tick, *id, owner, motion.position.x);
        }
        if let [Some(a), Some(b)] = self.latest {
            self.passed = a - b > self.passed_m;
        }
    }

    /// Whoever comes second to a tick is compared with whoever was there first.
    fn compare(&mut self, tick: Tick, id: BodyId, owner: RegionId, x: f64) {
        match self.waiting.remove(&tick) {
            Some((other, its_owner, its_x)) if other != id => {
                let overlap_m = 2.0 * self.radius_m - (x - its_x).abs();
                self.overlapped_across |= owner != its_owner && overlap_m > MARGIN_M;
            }
            _ => {
                self.waiting.insert(tick, (id, owner, x));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Epoch;
    use glam::DVec3;
    use wire::HandoverCause;

    fn step(seen: &mut Observation, tick: u64, a: f64, b: f64) {
        let at = |x| Motion::at(DVec3::new(x, 0.0, 0.0));
        let bodies = [(A, at(a)), (B, at(b))];
        seen.note(&Fact::Stepped {
            tick: Tick(tick),
            region: RegionId(1),
            bodies: &bodies,
        });
    }

    fn touch(seen: &mut Observation, tick: u64, depth_m: f64) {
        seen.note(&Fact::Contact {
            tick: Tick(tick),
            region: RegionId(1),
            a: A,
            b: B,
            depth_m,
            relative_speed: 10.0,
            restored: false,
        });
    }

    fn depart(seen: &mut Observation, from: u32) {
        seen.note(&Fact::Departed {
            tick: Tick(1),
            from: RegionId(from),
            to: RegionId(1 - from),
            handover: 1,
            members: &[(A, Epoch(1))],
            cause: HandoverCause::BoundaryTraversal,
        });
    }

    #[test]
    fn only_the_first_contact_counts() {
        let mut seen = Observation::new(1.0, 3.0);
        step(&mut seen, 1, -1.5, 1.5);
        touch(&mut seen, 2, 0.1);
        touch(&mut seen, 9, 0.7);
        assert_eq!(seen.contact().expect("met").penetration_m(1.0), 0.1);
    }

    /// The engine sees spheres whose centres have passed as less and less deep; along their path they are deeper.
    #[test]
    fn past_the_middle_is_deeper_not_shallower() {
        let mut seen = Observation::new(1.0, 3.0);
        step(&mut seen, 1, 0.25, -0.25);
        step(&mut seen, 2, 0.3, -0.3);
        touch(&mut seen, 2, 1.5);
        assert_eq!(seen.contact().expect("met").penetration_m(1.0), 2.5);
    }

    #[test]
    fn spheres_that_have_passed_end_the_run() {
        let mut seen = Observation::new(1.0, 3.0);
        step(&mut seen, 1, 1.0, -1.0);
        assert!(!seen.is_over());
        step(&mut seen, 2, 2.0, -2.0);
        assert!(seen.is_over() && seen.contact().is_none());
    }

    fn step_alone(seen: &mut Observation, tick: u64, region: u32, body: BodyId, x: f64) {
        seen.note(&Fact::Stepped {
            tick: Tick(tick),
            region: RegionId(region),
            bodies: &[(body, Motion::at(DVec3::new(x, 0.0, 0.0)))],
        });
    }

    /// AP-60, F1: in each other at the same tick on two servers, however far these are apart in time.
    #[test]
    fn an_overlap_counts_if_the_owners_differ() {
        let mut together = Observation::new(1.0, 3.0);
        step(&mut together, 1, -0.9, 0.9);
        assert!(!together.overlapped_across());
        let mut apart = Observation::new(1.0, 3.0);
        step_alone(&mut apart, 1, 0, A, -1.1);
        step_alone(&mut apart, 2, 0, A, -0.9);
        step_alone(&mut apart, 1, 1, B, 1.1);
        assert!(!apart.overlapped_across());
        step_alone(&mut apart, 2, 1, B, 0.9);
        assert!(apart.overlapped_across());
    }

    /// AP-57: times thrashed = migrations away from the server of the collision (Fig. 5.42).
    #[test]
    fn thrash_is_counted_at_the_server_of_the_collision() {
        let mut seen = Observation::new(1.0, 3.0);
        for from in [0, 1, 0] {
            depart(&mut seen, from);
        }
        touch(&mut seen, 5, 0.0);
        assert_eq!(seen.departures(), 3);
        assert_eq!(seen.contact().expect("met").times_thrashed, 1);
    }

    /// received since the step before.
    #[test]
    fn a_sphere_that_has_just_come_over_is_noted() {
        for (contact_tick, just) in [(6, true), (7, false)] {
            let mut seen = Observation::new(1.0, 3.0);
            seen.note(&Fact::Arrived {
                tick: Tick(5),
                region: RegionId(1),
                from: RegionId(0),
                handover: 1,
                members: &[(A, Epoch(1))],
            });
            touch(&mut seen, contact_tick, 0.0);
            assert_eq!(seen.contact().expect("met").just_migrated, just);
        }
    }
}
