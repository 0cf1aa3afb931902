//! What the tests of the state stream share: a small world that never rests, and a link that misbehaves on command.

use domain::{BodyId, Motion};
use glam::{DVec3, Quat, Vec3};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use reckoning::stream::{Exporter, Sample, StreamDecoder, StreamEncoder, StreamSettings};
use std::collections::BTreeMap;

const STEP: f32 = 1.0 / 60.0;
const GRAVITY: Vec3 = Vec3::new(0.0, -9.81, 0.0);

/// Balls that bounce in a box, are kicked now and then, and change their spin at each bounce.
#[derive(Clone)]
pub struct Balls {
    pub bodies: BTreeMap<BodyId, Motion>,
    pub asleep: bool,
    rng: Pcg64Mcg,
}

impl Balls {
    pub fn new(count: u64, seed: u64) -> Self {
        let mut balls = Self {
            bodies: BTreeMap::new(),
            asleep: false,
            rng: Pcg64Mcg::seed_from_u64(seed),
        };
        for id in 1..=count {
            balls.add(BodyId(id * 3));
        }
        balls
    }

    pub fn add(&mut self, id: BodyId) {
        let mut motion = Motion::at(self.vector(4.0).as_dvec3());
        motion.linear_velocity = self.vector(3.0);
        motion.angular_velocity = self.vector(6.0);
        self.bodies.insert(id, motion);
    }

    fn vector(&mut self, size: f32) -> Vec3 {
        Vec3::from_array(std::array::from_fn(|_| self.rng.random_range(-size..size)))
    }

    pub fn step(&mut self) {
        if self.asleep {
            return;
        }
        let ids: Vec<BodyId> = self.bodies.keys().copied().collect();
        for id in ids {
            let (kick, spin) = (self.vector(4.0), self.vector(8.0));
            let kicked = self.rng.random_bool(0.02);
            let motion = self.bodies.get_mut(&id).expect("it is there");
            motion.linear_velocity += GRAVITY * STEP;
            let mut bounced = kicked;
            for axis in 0..3 {
                let outwards = motion.position[axis].signum() as f32 * motion.linear_velocity[axis];
                if motion.position[axis].abs() > 5.0 && outwards > 0.0 {
                    motion.linear_velocity[axis] *= -0.8;
                    bounced = true;
                }
            }
            if kicked {
                motion.linear_velocity += kick;
            }
            if bounced {
                motion.angular_velocity = spin;
            }
            motion.position += (motion.linear_velocity * STEP).as_dvec3();
            let turn = Quat::from_scaled_axis(motion.angular_velocity * STEP);
            motion.rotation = (turn * motion.rotation).normalize();
        }
    }

    /// From now on nothing moves.
    pub fn fall_asleep(&mut self) {
        self.asleep = true;
        for motion in self.bodies.values_mut() {
            motion.linear_velocity = Vec3::ZERO;
            motion.angular_velocity = Vec3::ZERO;
        }
    }

    pub fn samples(&self) -> Vec<Sample> {
        let sample = |(id, motion): (&BodyId, &Motion)| Sample {
            id: *id,
            motion: *motion,
            asleep: self.asleep,
        };
        self.bodies.iter().map(sample).collect()
    }
}

/// Datagrams under way, by time of arrival.
#[derive(Default)]
pub struct Link {
    under_way: BTreeMap<(u64, u64), Vec<u8>>,
    sent: u64,
}

impl Link {
    pub fn send(&mut self, arrivals: Vec<u64>, bytes: &[u8]) {
        for at in arrivals {
            self.sent += 1;
            self.under_way.insert((at, self.sent), bytes.to_vec());
        }
    }

    pub fn arrived(&mut self, now: u64) -> Vec<Vec<u8>> {
        let later = self.under_way.split_off(&(now + 1, 0));
        std::mem::replace(&mut self.under_way, later)
            .into_values()
            .collect()
    }
}

/// A server, a client and the link between them, tick by tick.
pub struct Session {
    pub settings: StreamSettings,
    pub balls: Balls,
    pub exporter: Exporter,
    pub encoder: StreamEncoder,
    pub decoder: StreamDecoder,
    pub tick: u64,
    pub packets: u64,
    pub bytes: u64,
    pub rejected: u64,
    /// Packets that never arrive, with the tick at which they were sent.
    pub lost: Vec<(u64, Vec<u8>)>,
    history: Vec<Vec<Sample>>,
    down: Link,
    up: Link,
}

impl Session {
    pub fn new(balls: Balls, settings: StreamSettings) -> Self {
        Self {
            settings,
            balls,
            exporter: Exporter::new(settings),
            encoder: StreamEncoder::new(settings),
            decoder: StreamDecoder::new(settings),
            tick: 0,
            packets: 0,
            bytes: 0,
            rejected: 0,
            lost: Vec::new(),
            history: Vec::new(),
            down: Link::default(),
            up: Link::default(),
        }
    }

    /// One tick; `down` and `up` decide about packets (by number of the packet, from 0) and acknowledgements.
    pub fn step(
        &mut self,
        mut down: impl FnMut(u64, u64) -> Vec<u64>,
        mut up: impl FnMut(u64) -> Vec<u64>,
    ) {
        let samples = self.balls.samples();
        let update = self.exporter.observe(self.tick, samples.iter().copied());
        self.history.push(samples);
        for ack in self.up.arrived(self.tick) {
            self.encoder
                .acknowledge(self.tick, &ack)
                .expect("an honest client");
        }
        if update {
            self.encoder.follow(&self.exporter);
            for packet in self.encoder.update(self.tick, &[&self.exporter]) {
                assert!(packet.len() <= self.settings.max_packet_bytes);
                self.bytes += packet.len() as u64;
                let arrivals = down(self.packets, self.tick);
                if arrivals.is_empty() {
                    self.lost.push((self.tick, packet.clone()));
                }
                self.down.send(arrivals, &packet);
                self.packets += 1;
            }
        }
        for packet in self.down.arrived(self.tick) {
            match self.decoder.receive(&packet) {
                Ok(()) => {
                    let ack = self.decoder.acknowledge();
                    self.up.send(up(self.tick), &ack);
                }
                Err(_) => self.rejected += 1,
            }
        }
        self.tick += 1;
        self.balls.step();
    }

    /// The bodies that the client shows wrongly at the tick just made, over a link of this delay.
    pub fn wrong(&self, link_ticks: u64) -> Vec<BodyId> {
        let now = self.tick - 1;
        let Some(at) = now.checked_sub(self.settings.delay_ticks + link_ticks) else {
            return Vec::new();
        };
        let truth = &self.history[at as usize];
        truth
            .iter()
            .filter(|sample| !self.is_right(sample, at))
            .map(|sample| sample.id)
            .collect()
    }

    fn is_right(&self, sample: &Sample, tick: u64) -> bool {
        let Some(shown) = self.decoder.shown(sample.id, tick as f64) else {
            return false;
        };
        let off = shown.position.distance(sample.motion.position);
        let dot = shown
            .rotation
            .dot(sample.motion.rotation.as_dquat().normalize());
        let turned = 2.0 * dot.abs().min(1.0).acos();
        off <= self.settings.tolerance_m && turned <= self.settings.tolerance_rad
    }

    /// Does the client have exactly the curves the server exports?
    pub fn is_exact(&self) -> bool {
        let same = self
            .exporter
            .bodies()
            .all(|(id, body)| body.curves().is_none() || body.curves() == self.decoder.curves(id));
        same && self
            .decoder
            .bodies()
            .eq(self.exporter.bodies().map(|(id, _)| id))
    }
}

/// Arrives at once.
pub fn at_once(_: u64, now: u64) -> Vec<u64> {
    vec![now]
}

/// A place far from zero, where single precision would not do.
pub const FAR_AWAY: DVec3 = DVec3::new(250_000.0, 0.0, -400_000.0);
