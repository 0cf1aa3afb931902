//! What the published monitor records (Chen 2010, 5.1.3), and what its prose judges by eye, measured.

use super::link::Exit;
use super::measure::Measure;
use super::stage::Watcher;
use domain::{BodyId, SimTime};
use glam::DVec3;
use station::{Cause, Event, Hit, PairId, Role, Station, StationId};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Where a body was shown at one frame of one station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The frame's time.
    pub at: SimTime,
    /// What was shown.
    pub position: DVec3,
    /// Its motion.
    pub velocity: DVec3,
    /// Was its motion fixed?
    pub locked: bool,
}

/// Sees everything, remembers what it was asked to.
#[derive(Clone, Debug, Default)]
pub struct Monitor {
    followed: BTreeSet<BodyId>,
    samples: BTreeMap<(StationId, BodyId), Vec<Sample>>,
    last: BTreeMap<(StationId, BodyId), Sample>,
    hits: BTreeMap<StationId, Vec<Hit>>,
    deepest: BTreeMap<(StationId, PairId), f64>,
    overlapping: BTreeSet<(StationId, PairId)>,
    counting: bool,
    /// Shown overlaps of a master and a replica deeper than half the smaller radius: how many began.
    pub overlaps: u64,
    /// Of a master and a replica as shown, at the worst; in the world's unit.
    pub penetration: f64,
    /// Shown replicas that moved by more than a radius in a way their velocity does not explain.
    pub jumps: Measure,
    /// Time on the way of packets that arrived, milliseconds.
    pub latency_ms: Measure,
    /// Packets at the end of a link, and how many of them were lost.
    pub packets: (u64, u64),
    /// Bytes given to the network by each station.
    pub sent: BTreeMap<StationId, u64>,
    /// Trajectories that were replaced by another station's, radians.
    pub settled: Measure,
    /// Two-phase agreements that failed.
    pub aborted: u64,
}

impl Monitor {
    /// Remembers every sample of these bodies.
    pub fn following(bodies: impl IntoIterator<Item = BodyId>) -> Self {
        Self {
            followed: bodies.into_iter().collect(),
            counting: true,
            ..Self::default()
        }
    }

    /// A body's samples at a station.
    pub fn samples(&self, station: StationId, body: BodyId) -> &[Sample] {
        let found = self.samples.get(&(station, body));
        found.map_or(&[], Vec::as_slice)
    }

    /// All hits a station has registered, in order.
    pub fn hits(&self, station: StationId) -> &[Hit] {
        self.hits.get(&station).map_or(&[], Vec::as_slice)
    }

    /// When a station registered the first hit.
    pub fn first_hit(&self, station: StationId) -> Option<SimTime> {
        self.hits(station).first().map(|hit| hit.at)
    }

    /// The distance between what `at` shows of a body and where its owner has it at the same time; the owner's samples are
    /// interpolated. From `from` on, before `to`.
    pub fn deviation(
        &self,
        body: BodyId,
        owner: StationId,
        at: StationId,
        from: SimTime,
        to: SimTime,
    ) -> Measure {
        let truth = self.samples(owner, body);
        let shown = self.samples(at, body).iter();
        shown
            .filter(|sample| sample.at >= from && sample.at < to)
            .filter_map(|sample| Some(interpolated(truth, sample.at)?.distance(sample.position)))
            .collect()
    }

    /// The difference between the times at which two stations registered the same hits of a pair, milliseconds; with the hits of one
    /// side that the other never learned of (how many).
    pub fn intervals(&self, one: StationId, other: StationId) -> (Measure, u64) {
        let key = |hit: &Hit| (hit.pair, hit.index);
        let there: BTreeMap<_, SimTime> = self
            .hits(other)
            .iter()
            .map(|hit| (key(hit), hit.at))
            .collect();
        let mut measure = Measure::default();
        let mut matched = 0;
        for hit in self.hits(one) {
            if let Some(at) = there.get(&key(hit)) {
                matched += 1;
                let apart = hit.at.since(*at).max(at.since(hit.at));
                measure.add(apart.as_millis());
            }
        }
        let alone = self.hits(one).len() + there.len() - 2 * matched as usize;
        (measure, alone as u64)
    }

    /// Distances between the surfaces when hits were played, at this station.
    pub fn gaps(&self, station: StationId) -> Measure {
        let played = self.hits(station).iter();
        let played = played.filter(|hit| hit.cause != Cause::CountOnly);
        played.map(|hit| hit.gap).collect()
    }

    /// By how many degrees the directions differ in which the two stations sent the same body off after the same hit; as first
    /// played.
    pub fn angles(&self, one: StationId, other: StationId) -> Measure {
        let mut measure = Measure::default();
        for hit in self.hits(one) {
            let same = |there: &&Hit| (there.pair, there.index) == (hit.pair, hit.index);
            let Some(there) = self.hits(other).iter().find(same) else {
                continue;
            };
            if hit.cause == Cause::CountOnly || there.cause == Cause::CountOnly {
                continue;
            }
            for (here, there) in hit.velocities.iter().zip(there.velocities) {
                if here.length() > 1e-9 && there.length() > 1e-9 {
                    measure.add(here.angle_between(there).to_degrees());
                }
            }
        }
        measure
    }

    /// Every remembered sample and every hit, as text: the same run gives the same bytes.
    pub fn log(&self) -> String {
        let mut text = String::from("kind,station,time_ns,body,x,y,z,vx,vy,vz,locked\n");
        for ((station, body), samples) in &self.samples {
            for sample in samples {
                let (p, v) = (sample.position, sample.velocity);
                let _ = writeln!(
                    text,
                    "frame,{station},{},{body},{},{},{},{},{},{},{}",
                    sample.at.0, p.x, p.y, p.z, v.x, v.y, v.z, sample.locked
                );
            }
        }
        text.push_str("kind,station,time_ns,pair,index,cause,scheduled_ns,gap,author,v1,v2\n");
        for (station, hits) in &self.hits {
            for hit in hits {
                let _ = writeln!(
                    text,
                    "hit,{station},{},{},{},{:?},{},{},{},{},{}",
                    hit.at.0,
                    hit.pair,
                    hit.index,
                    hit.cause,
                    hit.scheduled.0,
                    hit.gap,
                    hit.author,
                    hit.velocities[0],
                    hit.velocities[1]
                );
            }
        }
        text
    }

    fn look(&mut self, now: SimTime, station: &Station, body: BodyId, role: Role) {
        let Some(view) = station.view(body) else {
            return;
        };
        let sample = Sample {
            at: now,
            position: view.scene.position,
            velocity: view.scene.velocity,
            locked: view.locked,
        };
        let key = (station.id(), body);
        let before = self.last.insert(key, sample);
        if let (Some(before), Role::Replica { .. }) = (before, role) {
            let secs = now.since(before.at).as_secs();
            let moved = sample.position - before.position;
            // A bounce changes the velocity within the frame: either of the two explains the way.
            let unexplained = |velocity: DVec3| (moved - velocity * secs).length();
            let jump = unexplained(before.velocity).min(unexplained(sample.velocity));
            let radius = station.ball(body).map_or(f64::INFINITY, |ball| ball.radius);
            if jump > radius {
                self.jumps.add(jump);
            }
        }
        if self.followed.contains(&body) {
            self.samples.entry(key).or_default().push(sample);
        }
    }

    fn look_at_pairs(&mut self, station: &Station) {
        let id = station.id();
        let bodies: Vec<(BodyId, Role)> = station.bodies().collect();
        for (master, _) in bodies.iter().filter(|one| one.1 == Role::Master) {
            for (replica, _) in bodies
                .iter()
                .filter(|one| matches!(one.1, Role::Replica { .. }))
            {
                let Some(pair) = PairId::new(*master, *replica) else {
                    continue;
                };
                let place = |body: &BodyId| self.last.get(&(id, *body)).map(|one| one.position);
                let (Some(here), Some(there)) = (place(master), place(replica)) else {
                    continue;
                };
                let radii =
                    [master, replica].map(|one| station.ball(*one).map_or(0.0, |b| b.radius));
                let depth = radii[0] + radii[1] - here.distance(there);
                self.penetration = self.penetration.max(depth);
                let deepest = self.deepest.entry((id, pair)).or_insert(0.0);
                *deepest = deepest.max(depth);
                if depth > 0.5 * radii[0].min(radii[1]) {
                    if self.overlapping.insert((id, pair)) {
                        self.overlaps += 1;
                    }
                } else if depth <= 0.0 {
                    self.overlapping.remove(&(id, pair));
                }
            }
        }
    }
}

/// Where something was at a time, from its samples before and after; `None` outside them.
fn interpolated(samples: &[Sample], at: SimTime) -> Option<DVec3> {
    let after = samples.partition_point(|sample| sample.at < at);
    let next = samples.get(after)?;
    if next.at == at {
        return Some(next.position);
    }
    let before = samples.get(after.checked_sub(1)?)?;
    let share = at.since(before.at).as_secs() / next.at.since(before.at).as_secs();
    Some(before.position.lerp(next.position, share))
}

impl Watcher for Monitor {
    fn frame(&mut self, now: SimTime, station: &Station) {
        for (body, role) in station.bodies().collect::<Vec<_>>() {
            self.look(now, station, body, role);
        }
        if self.counting {
            self.look_at_pairs(station);
        }
    }

    fn event(&mut self, _now: SimTime, station: StationId, event: &Event) {
        match event {
            Event::Hit(hit) => self.hits.entry(station).or_default().push(*hit),
            Event::Settled { angle, .. } => self.settled.add(*angle),
            Event::Aborted { .. } => self.aborted += 1,
            _ => {}
        }
    }

    fn sent(&mut self, _now: SimTime, from: StationId, _to: StationId, bytes: usize) {
        *self.sent.entry(from).or_default() += bytes as u64;
    }

    fn exit(&mut self, _from: StationId, _to: StationId, exit: &Exit) {
        self.packets.0 += 1;
        if exit.lost {
            self.packets.1 += 1;
        } else {
            self.latency_ms.add(exit.at.since(exit.sent_at).as_millis());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(ms: f64, x: f64) -> Sample {
        Sample {
            at: SimTime::from_millis(ms),
            position: DVec3::new(x, 0.0, 0.0),
            velocity: DVec3::ZERO,
            locked: false,
        }
    }

    /// ML-40, ML-51: deviation compares equal times; the master is interpolated to the replica's time.
    #[test]
    fn masters_are_interpolated_to_the_replicas_time() {
        let (a, b, body) = (StationId(0), StationId(1), BodyId(1));
        let mut monitor = Monitor::following([body]);
        let truth = vec![sample(0.0, 0.0), sample(20.0, 2.0), sample(40.0, 4.0)];
        let shown = vec![sample(5.0, 1.5), sample(25.0, 2.5), sample(45.0, 9.0)];
        monitor.samples.insert((a, body), truth);
        monitor.samples.insert((b, body), shown);
        let all = monitor.deviation(body, a, b, SimTime::ZERO, SimTime(u64::MAX));
        // 45 ms lies after the last thing known of the master.
        assert_eq!(all.count(), 2);
        assert!((all.sum() - 1.0).abs() < 1e-12, "{all:?}");
        let late = monitor.deviation(body, a, b, SimTime::from_millis(20.0), SimTime(u64::MAX));
        assert_eq!(late.count(), 1);
    }
}
