//! The built-in duel: two avatars in a ring, one per station, that ram each other.
//!
//! Each player knows its own avatar exactly and the other's as well as the network allows. A player charges where it sees the other,
//! turns away after a hit and comes again. Whoever was faster along the line of centres scores: both stations must agree on
//! every hit, or the score differs.

use super::UdpStation;
use domain::{BodyId, SimTime};
use glam::DVec3;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use station::{
    Arena, Ball, Cause, ClockSource, Command, CommandCounts, Event, Hit, LinkKey, PairId, Refused,
    Settings, State, Station, StationId,
};
use std::io;
use std::time::{Duration, Instant};

/// The two sides. The first one's clock counts.
pub const SIDES: [StationId; 2] = [StationId(0), StationId(1)];
/// Their avatars, metres and kilograms of a bumper car.
pub const AVATARS: [BodyId; 2] = [BodyId(1), BodyId(2)];
const RADIUS_M: f64 = 0.5;
/// The ring: a box with walls, metres.
pub const HALF_WIDTH_M: f64 = 8.0;
const CHARGE_M_PER_S: f64 = 6.0;
const STEERING_M_PER_S2: f64 = 18.0;
/// How long a player backs off after a hit.
const BACK_OFF: SimTime = SimTime(900_000_000);
/// Before the end both brake and stand, so that the last hit is known to both although one may end a little earlier.
const SETTLING: Duration = Duration::from_millis(1500);

/// The other side.
pub fn opponent(side: StationId) -> StationId {
    SIDES[usize::from(side == SIDES[0])]
}

/// A side's own avatar.
pub fn avatar(side: StationId) -> BodyId {
    AVATARS[usize::from(side != SIDES[0])]
}

/// The pair all of this is about.
pub fn pair() -> PairId {
    PairId::new(AVATARS[0], AVATARS[1]).expect("two different bodies")
}

/// Settings of a station in metres: what [`Settings::improved`] has in pixels, at the size of the ring.
pub fn settings(side: StationId) -> Settings {
    let mut settings = Settings::improved();
    settings.frame = SimTime::from_millis(1000.0 / 60.0);
    settings.reckoning.threshold = 0.02;
    settings.agreement.rearm_gap = 0.05;
    settings.guard.max_speed = 40.0;
    settings.guard.reach_slack = 2.0;
    settings.clock = if side == SIDES[0] {
        ClockSource::Given
    } else {
        ClockSource::AskedFrom(SIDES[0])
    };
    settings
}

fn start(body: BodyId) -> State {
    let x = if body == AVATARS[0] { -5.0 } else { 5.0 };
    State::at(DVec3::new(x, RADIUS_M, 0.0))
}

/// One side's station: its own avatar, the other's replica, the ring. `secret` is what the two players share; `incarnation` must rise
/// from one life of a side to the next (a start time will do).
pub fn station(
    side: StationId,
    incarnation: u32,
    secret: &[u8],
    settings: Settings,
) -> Result<Station, Refused> {
    let other = opponent(side);
    let mut station = Station::new(side, incarnation, settings);
    station.add_peer(other, LinkKey::for_link(secret, SIDES[0], SIDES[1]));
    station.set_arena(Some(Arena {
        min: DVec3::new(-HALF_WIDTH_M, 0.0, -HALF_WIDTH_M),
        max: DVec3::new(HALF_WIDTH_M, 2.0 * RADIUS_M, HALF_WIDTH_M),
        restitution: 0.8,
    }));
    let ball = Ball::new(RADIUS_M);
    station.add_master(avatar(side), ball, start(avatar(side)))?;
    station.add_replica(avatar(other), other, ball, start(avatar(other)))?;
    Ok(station)
}

/// Plays one side: charges, backs off, charges again from elsewhere.
pub struct Fighter {
    side: StationId,
    rng: Pcg64Mcg,
    backs_off_until: SimTime,
    retreat: DVec3,
    hits: u32,
}

impl Fighter {
    /// The same seed makes the same choices; the network makes the rest.
    pub fn new(side: StationId, seed: u64) -> Self {
        Self {
            side,
            rng: Pcg64Mcg::seed_from_u64(seed ^ u64::from(side.0)),
            backs_off_until: SimTime::ZERO,
            retreat: DVec3::ZERO,
            hits: 0,
        }
    }

    /// Hits it has heard of: what damage would listen to.
    pub fn hits(&self) -> u32 {
        self.hits
    }

    /// Something has happened at its station.
    pub fn hear(&mut self, event: &Event) {
        if let Event::Hit(hit) = event {
            self.hits += 1;
            if hit.cause != Cause::CountOnly {
                self.backs_off_until = hit.at + BACK_OFF;
                let [x, z] = self.rng.random::<[f64; 2]>();
                let within = 0.8 * HALF_WIDTH_M;
                self.retreat = within * DVec3::new(2.0 * x - 1.0, 0.0, 2.0 * z - 1.0);
            }
        }
    }

    /// Steers its avatar for the next frame.
    pub fn play(&mut self, station: &mut Station) {
        let own = avatar(self.side);
        let (Some(here), Some(there)) =
            (station.view(own), station.view(avatar(opponent(self.side))))
        else {
            return;
        };
        let now = station.shared_now().unwrap_or_default();
        let (here, there) = (here.physics, there.scene);
        let goal = if now < self.backs_off_until {
            self.retreat
        } else {
            // A little ahead of where it is seen, as a player would.
            there.position + 0.15 * there.velocity
        };
        let mut way = goal - here.position;
        way.y = 0.0;
        self.steer(station, CHARGE_M_PER_S * way.normalize_or_zero());
    }

    /// Comes to rest.
    pub fn brake(&mut self, station: &mut Station) {
        self.steer(station, DVec3::ZERO);
    }

    /// Pushes its avatar towards a velocity, as hard as it can.
    fn steer(&self, station: &mut Station, wanted: DVec3) {
        let own = avatar(self.side);
        let Some(here) = station.view(own) else {
            return;
        };
        let mut push = (wanted - here.physics.velocity) / 0.15;
        push.y = 0.0;
        let command = Command::Accelerate(push.clamp_length_max(STEERING_M_PER_S2));
        let obeyed = station.command(own, command);
        obeyed.expect("the avatar is a master and the push is finite");
    }
}

/// What one side has seen.
#[derive(Clone, Debug)]
pub struct Report {
    /// Which side.
    pub side: StationId,
    /// Hits by its count.
    pub count: u32,
    /// All of them.
    pub hits: Vec<Hit>,
    /// Steering commands, and those lost to locks.
    pub commands: CommandCounts,
    /// The longest lock.
    pub longest_lock: SimTime,
    /// The one-way delay it has measured, and its mean deviation.
    pub delay: Option<(SimTime, SimTime)>,
    /// How wrong its clock may be at worst.
    pub clock_error: Option<SimTime>,
    /// Datagrams it did not accept.
    pub refused: u64,
    /// Bytes of the datagrams' messages sent.
    pub bytes: u64,
}

/// Waits until the other side is there: it has been heard of, and what time it is there is known. Two processes that wait for each other set out
/// together, and so end together. Nobody comes in time: an error that says what is known.
pub fn wait_for_opponent(seat: &mut UdpStation, patience: Duration) -> io::Result<()> {
    let other = opponent(seat.station().id());
    let end = Instant::now() + patience;
    while seat.station().delay_from(other).is_none() {
        if Instant::now() >= end {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                nobody(seat, other, patience),
            ));
        }
        seat.frame()?;
    }
    Ok(())
}

fn nobody(seat: &mut UdpStation, other: StationId, patience: Duration) -> String {
    let refused: u64 = seat.station().traffic().refused.iter().sum();
    let strangers = seat.strangers();
    let hint = match (refused, strangers) {
        (0, 0) => "nothing has arrived".to_owned(),
        (0, some) => format!("{some} datagrams came from other addresses than the one given"),
        (some, _) => format!("{some} datagrams were refused: do both sides have the same secret?"),
    };
    let secs = patience.as_secs_f64();
    format!("{other} has not been heard of for {secs} s; {hint}")
}

/// Plays one side for a while; `seen` looks on after every frame.
pub fn play(
    seat: &mut UdpStation,
    seed: u64,
    duration: Duration,
    seen: &mut dyn FnMut(&Station, &[Event]),
) -> io::Result<Report> {
    let side = seat.station().id();
    let mut fighter = Fighter::new(side, seed);
    let (mut hits, mut longest_lock) = (Vec::new(), SimTime::ZERO);
    let end = Instant::now() + duration;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        let events = seat.frame()?;
        for event in &events {
            fighter.hear(event);
            match event {
                Event::Hit(hit) => hits.push(*hit),
                Event::Unlocked { since, at, .. } => {
                    longest_lock = longest_lock.max(at.since(*since))
                }
                _ => {}
            }
        }
        let station = seat.station();
        seen(station, &events);
        // Until the clocks agree the two would not set out together.
        if left <= SETTLING {
            fighter.brake(station);
        } else if station.shared_now().is_some() {
            fighter.play(station);
        }
    }
    let station = seat.station();
    let traffic = station.traffic();
    Ok(Report {
        side,
        count: station.counters(pair()).unwrap_or_default().c,
        hits,
        commands: station.commands(),
        longest_lock,
        delay: station.delay_from(opponent(side)),
        clock_error: station.clock_error(),
        refused: traffic.refused.iter().sum(),
        bytes: traffic.sent.iter().map(|amount| amount.bytes).sum(),
    })
}
