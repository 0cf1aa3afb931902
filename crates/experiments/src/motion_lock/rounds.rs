//! The online scenario (Chen 2010, 5.4.1): eight spheres in a box, one of station A and seven of station B. They start far from the
//! centre and make for it; every three seconds they are sent to the centre again.

use crate::seeds;
use domain::{BodyId, SimTime};
use glam::DVec3;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use simulator::stations::Player;
use station::{
    Arena, Ball, Cause, Command, Event, LinkKey, Refused, Settings, State, Station, StationId,
};

pub(super) const A: StationId = StationId(0);
pub(super) const B: StationId = StationId(1);
/// M1 is A's only master; 2 to 8 are B's.
pub(super) const M1: BodyId = BodyId(1);
pub(super) const BODIES: u64 = 8;

/// What the texts leave out, chosen once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Field {
    /// Of the spheres.
    pub radius: f64,
    /// Half the width of the box.
    pub half: f64,
    /// Where they start, from the centre.
    pub start: f64,
    /// Towards the centre, units per second; each body and round differs by up to a tenth.
    pub speed: f64,
    /// How hard they can steer, units per second squared.
    pub steering: f64,
    /// They aim at a point up to this far from the centre.
    pub aim: f64,
    /// From one start for the centre to the next, seconds.
    pub round_secs: f64,
}

impl Default for Field {
    fn default() -> Self {
        Self {
            radius: 10.0,
            half: 220.0,
            start: 170.0,
            speed: 150.0,
            steering: 600.0,
            aim: 8.0,
            round_secs: 3.0,
        }
    }
}

impl Field {
    /// Where a body starts: M1 alone on one side, the others spread over the rest of a sphere.
    pub fn home(&self, body: BodyId) -> DVec3 {
        let directions = [
            DVec3::new(-1.0, 0.0, 0.0),
            DVec3::new(1.0, 0.1, 0.0),
            DVec3::new(0.3, 1.0, 0.1),
            DVec3::new(0.3, -1.0, -0.1),
            DVec3::new(0.2, 0.1, 1.0),
            DVec3::new(0.2, -0.1, -1.0),
            DVec3::new(0.6, 0.6, 0.7),
            DVec3::new(0.6, -0.6, -0.7),
        ];
        let index = (body.0 as usize).saturating_sub(1) % directions.len();
        self.start * directions[index].normalize()
    }

    /// A station with all eight, each of which is its own or the other's.
    pub fn station(
        &self,
        id: StationId,
        incarnation: u32,
        settings: Settings,
    ) -> Result<Station, Refused> {
        let mut station = Station::new(id, incarnation, settings);
        let other = if id == A { B } else { A };
        station.add_peer(other, LinkKey::for_link(b"ml-online", A, B));
        let corner = DVec3::splat(self.half);
        station.set_arena(Some(Arena {
            min: -corner,
            max: corner,
            restitution: 1.0,
        }));
        for body in (1..=BODIES).map(BodyId) {
            let ball = Ball::new(self.radius);
            let state = State::at(self.home(body));
            if owner(body) == id {
                station.add_master(body, ball, state)?;
            } else {
                station.add_replica(body, other, ball, state)?;
            }
        }
        Ok(station)
    }
}

/// Whose it is.
pub(super) fn owner(body: BodyId) -> StationId {
    if body == M1 { A } else { B }
}

struct Steered {
    body: BodyId,
    /// It has hit something, or reached its aim, in the round of this number.
    done_in: Option<u64>,
}

/// Sends a station's masters to the centre once per round and back out after they have hit something.
pub(super) struct RoundPlayer {
    field: Field,
    seed: u64,
    steered: Vec<Steered>,
}

impl RoundPlayer {
    /// For all of a station's masters. What it wants depends on the round and the seed, not on what has happened elsewhere.
    pub fn new(field: Field, seed: u64, station: StationId) -> Self {
        let own = (1..=BODIES)
            .map(BodyId)
            .filter(|body| owner(*body) == station);
        Self {
            field,
            seed,
            steered: own
                .map(|body| Steered {
                    body,
                    done_in: None,
                })
                .collect(),
        }
    }

    fn round(&self, at: SimTime) -> u64 {
        (at.as_secs() / self.field.round_secs) as u64
    }

    /// Aim and speed of a body in a round.
    fn plan(&self, body: BodyId, round: u64) -> (DVec3, f64) {
        let seed = seeds::derive(self.seed, &[body.0, round]);
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let [x, y, z, speed] = rng.random::<[f64; 4]>();
        let aim = self.field.aim * (2.0 * DVec3::new(x, y, z) - DVec3::ONE);
        (aim, self.field.speed * (0.9 + 0.2 * speed))
    }

    /// What a body wants next, given where it is.
    pub fn wish(
        &mut self,
        body: BodyId,
        now: SimTime,
        position: DVec3,
        velocity: DVec3,
    ) -> Command {
        let round = self.round(now);
        let (aim, speed) = self.plan(body, round);
        let one = self.steered.iter_mut().find(|one| one.body == body);
        let mut inwards = false;
        if let Some(one) = one {
            if position.distance(aim) < self.field.radius {
                one.done_in = Some(round);
            }
            inwards = one.done_in != Some(round);
        }
        let goal = if inwards { aim } else { self.field.home(body) };
        let way = goal - position;
        // Slow down only when coming home: the centre is passed at full speed.
        let fast = if inwards {
            speed
        } else {
            speed.min(2.0 * way.length())
        };
        let wanted = fast * way.normalize_or_zero();
        let change = (wanted - velocity) / 0.1;
        Command::Accelerate(change.clamp_length_max(self.field.steering))
    }
}

impl Player for RoundPlayer {
    fn play(&mut self, now: SimTime, _next: SimTime, station: &mut Station) {
        let bodies: Vec<BodyId> = self.steered.iter().map(|one| one.body).collect();
        // Rounds follow the shared time, so that all set out together.
        let shared = station.shared_now().unwrap_or(now);
        for body in bodies {
            let Some(view) = station.view(body) else {
                continue;
            };
            let state = view.physics;
            let command = self.wish(body, shared, state.position, state.velocity);
            let obeyed = station.command(body, command);
            obeyed.expect("the body is a master and the wish is finite");
        }
    }

    fn hear(&mut self, event: &Event) {
        let (pair, at) = match event {
            Event::Hit(hit) if hit.cause != Cause::CountOnly => (hit.pair, hit.at),
            Event::LocalBounce { pair, at } => (*pair, *at),
            _ => return,
        };
        let round = self.round(at);
        for one in self.steered.iter_mut().filter(|one| pair.has(one.body)) {
            one.done_in = Some(round);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ML-51: one master against seven, all far from the centre at first and apart from each other.
    #[test]
    fn one_against_seven() {
        let field = Field::default();
        let bodies: Vec<BodyId> = (1..=BODIES).map(BodyId).collect();
        assert_eq!(bodies.iter().filter(|one| owner(**one) == A).count(), 1);
        assert_eq!(bodies.iter().filter(|one| owner(**one) == B).count(), 7);
        for one in &bodies {
            assert!((field.home(*one).length() - field.start).abs() < 1e-9);
            for other in bodies.iter().filter(|other| *other > one) {
                let apart = field.home(*one).distance(field.home(*other));
                assert!(apart > 4.0 * field.radius, "{one} {other}: {apart}");
            }
        }
    }

    /// Every three seconds all are sent to the centre again.
    #[test]
    fn rounds_begin_every_three_seconds() {
        let field = Field::default();
        let mut player = RoundPlayer::new(field, 1, A);
        let home = field.home(M1);
        let towards = |command: Command| match command {
            Command::Accelerate(push) => push.dot(-home) > 0.0,
            _ => false,
        };
        let at = SimTime::from_secs;
        assert!(towards(player.wish(M1, at(0.1), home, DVec3::ZERO)));
        // At its aim it turns round and goes home.
        let (aim, _) = player.plan(M1, 0);
        let back = player.wish(M1, at(1.3), aim, DVec3::new(150.0, 0.0, 0.0));
        assert!(!towards(back));
        assert!(!towards(player.wish(M1, at(2.9), 0.9 * home, DVec3::ZERO)));
        assert!(towards(player.wish(M1, at(3.0), home, DVec3::ZERO)));
    }
}
