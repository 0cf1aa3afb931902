//! What the fairness tests share: the driver of the thesis's experiments, and error measured by brute force.

use domain::{BodyId, SimTime};
use glam::{DQuat, DVec3};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use reckoning::fairness::policies::Policy;
use reckoning::fairness::{
    ExportedPath, LedgerSettings, Link, PolicyTag, ReceiverId, Reception, Rehearsal, Sender,
};
use reckoning::motion::{Driver, Thresholds, Trigger, extrapolate_by, signed_secs};
use reckoning::{DrVector, Kind, Seq};

pub const FRAME_SECS: f64 = 0.02;

pub fn secs(secs: f64) -> SimTime {
    SimTime::from_secs(secs)
}

/// A straight vector.
pub fn linear(seq: u32, time: SimTime, position: DVec3, velocity: DVec3) -> DrVector {
    DrVector {
        entity: BodyId(1),
        seq: Seq(seq),
        time,
        kind: Kind::Linear,
        status: 0,
        position,
        velocity,
        acceleration: DVec3::ZERO,
        rotation: DQuat::IDENTITY,
        spin: DVec3::ZERO,
    }
}

/// The error from `from` to `to` by sampling both paths: at each sample look up what the sender exports and what the receiver
/// shows. Cells end where either changes, so that no sample sits on a jump.
pub fn sampled_error(
    exported: &ExportedPath,
    received: &[Reception],
    from: SimTime,
    to: SimTime,
    samples_per_cell: u32,
) -> f64 {
    let generated = exported.iter().map(|vector| vector.time);
    let mut cuts: Vec<SimTime> = generated
        .chain(received.iter().map(|reception| reception.at))
        .chain([from, to])
        .filter(|&at| from <= at && at <= to)
        .collect();
    cuts.sort();
    cuts.dedup();
    let distance = |secs_in: f64, cell: SimTime| {
        let sent = exported.iter().filter(|v| v.time <= cell).last()?;
        let shown = received
            .iter()
            .filter(|r| r.at <= cell)
            .max_by_key(|r| r.vector.seq)?;
        let at = |vector: &DrVector| {
            extrapolate_by(vector, signed_secs(vector.time, cell) + secs_in).position
        };
        Some(at(sent).distance(at(&shown.vector)))
    };
    let mut error = 0.0;
    for cell in cuts.windows(2) {
        let step = cell[1].since(cell[0]).as_secs() / f64::from(samples_per_cell);
        for sample in 0..samples_per_cell {
            let middle = (f64::from(sample) + 0.5) * step;
            error += distance(middle, cell[0]).unwrap_or(0.0) * step;
        }
    }
    error
}

/// A driver with the trigger of the thesis's game, and how often it triggered.
pub struct Drive {
    driver: Driver,
    trigger: Trigger,
    rng: Pcg64Mcg,
    frame: u64,
}

impl Drive {
    pub fn smooth(seed: u64, duration: SimTime) -> Self {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let driver = Driver::smooth(&mut rng, duration);
        Self::of(driver, rng)
    }

    /// The same with another threshold of distance: a lower one triggers more often.
    pub fn smooth_within(seed: u64, duration: SimTime, distance_m: f64) -> Self {
        let mut drive = Self::smooth(seed, duration);
        let thresholds = Thresholds {
            distance_m,
            ..Thresholds::bzflag()
        };
        drive.trigger = Trigger::new(BodyId(1), thresholds);
        drive
    }

    fn of(driver: Driver, rng: Pcg64Mcg) -> Self {
        Self {
            driver,
            trigger: Trigger::new(BodyId(1), Thresholds::bzflag()),
            rng,
            frame: 0,
        }
    }

    /// Runs frame by frame until `to`; `each` is called after every frame.
    pub fn run(
        &mut self,
        rehearsal: &mut Rehearsal,
        to: SimTime,
        mut each: impl FnMut(&Rehearsal, SimTime),
    ) {
        loop {
            let now = secs(self.frame as f64 * FRAME_SECS);
            if now > to {
                return;
            }
            self.frame += 1;
            let state = self.driver.state_at(now);
            match self.trigger.observe(now, &state) {
                Some(vector) => rehearsal.trigger(now, vector, &mut self.rng).unwrap(),
                None => rehearsal.advance(now).unwrap(),
            }
            each(rehearsal, now);
        }
    }
}

/// Receivers 0, 1, 2 … on these links, all from the start.
pub fn rehearsal(policies: Vec<Box<dyn Policy>>, links: &[Link], seed: u64) -> Rehearsal {
    rehearsal_with(policies, links, seed, LedgerSettings::default())
}

pub fn rehearsal_with(
    policies: Vec<Box<dyn Policy>>,
    links: &[Link],
    seed: u64,
    settings: LedgerSettings,
) -> Rehearsal {
    let mut sender = Sender::new(settings);
    for policy in policies {
        sender.add_policy(policy);
    }
    let mut rehearsal = Rehearsal::new(sender, seed);
    for (id, link) in (0..).map(ReceiverId).zip(links) {
        rehearsal.join(SimTime::ZERO, id, *link).unwrap();
    }
    rehearsal
}

/// The thesis's receivers.
pub fn far_middle_near() -> [Link; 3] {
    [800.0, 500.0, 200.0].map(Link::fixed)
}

/// The true errors of the receivers of one policy.
pub fn true_errors(rehearsal: &Rehearsal, tag: u8, to: SimTime) -> Vec<f64> {
    let receivers = rehearsal.sender().recipients(PolicyTag(tag)).iter();
    receivers
        .map(|one| rehearsal.true_error(PolicyTag(tag), one.id, to, &Default::default()))
        .collect()
}

/// Vectors sent by one policy.
pub fn sent(rehearsal: &Rehearsal, tag: u8) -> u64 {
    let receivers = rehearsal.sender().recipients(PolicyTag(tag)).iter();
    receivers.map(|one| one.ledger.counts().sent).sum()
}
