//! What the server knows of a body when it chooses a curve: its recent past, and where it would go on its own.

use super::{AHEAD, FIT_AHEAD, HAZARD, START_EARLIER};
use crate::stream::curves::{spin_of, step_of, ticks_between, times};
use crate::stream::exporter::Truth;
use glam::{DQuat, DVec3};

/// What is known of a body when a curve is chosen.
pub(crate) struct Known<'a> {
    /// Its states, one per tick, the last of them the present; never empty.
    pub(crate) truths: &'a [Truth],
    /// The tick of the last one.
    pub(crate) now: u64,
    /// The first and the last tick that clients show before the next update: there curves must hold.
    pub(crate) earliest: u64,
    pub(crate) until: u64,
    /// Gravity, metres per tick².
    pub(crate) pull: DVec3,
    /// Metres.
    pub(crate) tolerance_m: f64,
    /// Radians.
    pub(crate) tolerance_rad: f64,
}

impl Known<'_> {
    /// The true state at a tick; `None` if it is not known (any more).
    pub(crate) fn truth(&self, tick: u64) -> Option<&Truth> {
        let back = self.now.checked_sub(tick)? as usize;
        self.truths.get(self.truths.len().checked_sub(back + 1)?)
    }

    pub(super) fn present(&self) -> &Truth {
        self.truths.last().expect("never empty")
    }

    pub(super) fn before(&self) -> Option<&Truth> {
        self.truths.len().checked_sub(2).map(|i| &self.truths[i])
    }

    /// Metres per tick, now. From positions if possible: the velocity is that of the centre of mass, which need not be
    /// the body's origin.
    pub(super) fn velocity(&self) -> DVec3 {
        let present = self.present();
        if present.asleep {
            return DVec3::ZERO;
        }
        match self.before() {
            Some(before) if !before.asleep => present.position - before.position,
            _ => present.velocity,
        }
    }

    /// Did the last step change the velocity by gravity alone?
    pub(super) fn is_falling(&self) -> bool {
        let present = self.present();
        self.before().is_some_and(|before| {
            let change = present.velocity - before.velocity;
            change.distance(self.pull) < 0.25 * self.pull.length()
        })
    }

    /// All positions from the oldest known tick to as far ahead as curves are judged.
    pub(super) fn path(&self) -> Path {
        let oldest = self.oldest();
        Path {
            oldest,
            positions: (oldest..=self.now + AHEAD)
                .map(|t| self.position(t))
                .collect(),
        }
    }

    /// Where the body is or, after the present, would be if nothing happened to it.
    pub(super) fn position(&self, tick: u64) -> DVec3 {
        if let Some(truth) = self.truth(tick) {
            return truth.position;
        }
        let ticks = ticks_between(self.now, tick);
        let fallen = if self.is_falling() {
            self.pull * (0.5 * ticks * (ticks + 1.0))
        } else {
            DVec3::ZERO
        };
        self.present().position + self.velocity() * ticks + fallen
    }

    pub(super) fn rotations(&self, from: u64, to: u64) -> Vec<DQuat> {
        let present = self.present();
        let step = if present.asleep {
            DQuat::IDENTITY
        } else {
            step_of(spin_of(present.spin))
        };
        let mut rotations = Vec::with_capacity((to - from + 1) as usize);
        for tick in from..=to {
            let rotation = match (self.truth(tick), rotations.last()) {
                (Some(truth), _) => truth.rotation,
                (None, Some(last)) => times(step, *last),
                (None, None) => present.rotation,
            };
            rotations.push(rotation);
        }
        rotations
    }

    pub(super) fn oldest(&self) -> u64 {
        self.now + 1 - self.truths.len() as u64
    }

    /// Has it slept for as long as anything is known of it?
    pub(super) fn is_settled(&self) -> bool {
        self.truths.iter().all(|truth| truth.asleep)
    }

    /// Ticks at which a curve may begin: not after the old one fails.
    pub(super) fn starts(&self, old_start: u64, fails: u64) -> impl Iterator<Item = u64> + use<> {
        // After a gap the old curve may have failed before anything is known.
        let last = fails.max(self.oldest()).min(self.now);
        let first = (self.earliest.saturating_sub(START_EARLIER))
            .max(old_start)
            .max(self.oldest())
            .min(last);
        first..=last
    }

    /// The last ticks of the spans that velocities are fitted to.
    pub(super) fn ends(&self, start: u64) -> impl Iterator<Item = u64> + use<> {
        let first = self.until.max(start + 1);
        let known = first..=self.now;
        let beyond = FIT_AHEAD.map(|ahead| (self.now + ahead).max(first));
        known.chain(beyond)
    }

    /// How many ticks a curve is expected to last from the next update on, if it holds up to `last` (included).
    pub(super) fn expected_life(&self, last: u64) -> f64 {
        let certain = last.min(self.now) as f64 + 1.0 - self.until.min(self.now) as f64;
        let ahead = last.saturating_sub(self.now) as i32;
        (certain + (1.0 - (1.0 - HAZARD).powi(ahead)) / HAZARD).max(0.1)
    }
}

/// Positions by tick.
pub(super) struct Path {
    pub(super) oldest: u64,
    positions: Vec<DVec3>,
}

impl Path {
    pub(super) fn at(&self, tick: u64) -> DVec3 {
        self.positions[(tick - self.oldest) as usize]
    }
}
