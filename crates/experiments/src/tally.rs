//! What many runs of one kind add up to.

use crate::head_on::{Record, Verdict};
use domain::TickLength;
use std::collections::BTreeMap;

/// Offending runs that are remembered by name, per grid point.
const REMEMBERED: usize = 3;

/// A run that came out badly, to be looked at again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offence {
    /// The seed of its [`Encounter`](crate::Encounter).
    pub seed: u64,
    /// What it showed.
    pub record: Record,
}

/// Counts over runs. N excludes thrashed runs and includes missed collisions, as in the thesis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// All runs.
    pub runs: u32,
    /// Of N: found within one step.
    pub correct: u32,
    /// Of N: found later.
    pub late: u32,
    /// Of N: never found.
    pub missed: u32,
    /// Runs with more than one migration before the contact.
    pub thrashed: u32,
    /// Thrashed runs that were late or missed as well.
    pub thrashed_wrong: u32,
    /// Of N: a sphere had just been received.
    pub just_migrated: u32,
    /// Late ones among those.
    pub just_migrated_late: u32,
    /// Of all runs: the spheres were in each other while they had different owners (F1).
    pub overlapped_across: u32,
    /// Of all runs: a sphere was held to what it had promised.
    pub held: u32,
    /// Thrashed runs by how often the pair left the server on which it met.
    pub times_thrashed: BTreeMap<u32, u32>,
    /// Penetrations of the contacts found in N, in steps.
    pub penetration: Moments,
    /// The first runs that were late, missed or thrashed.
    pub offences: Vec<Offence>,
}

impl Tally {
    /// Runs that did not thrash.
    pub fn n(&self) -> u32 {
        self.correct + self.late + self.missed
    }

    /// Late, missed or thrashed.
    pub fn wrong(&self) -> u32 {
        self.late + self.missed + self.thrashed
    }

    /// Adds a run. `count_thrashed`: it belongs to N however often its spheres moved (policy `naive`, which knows no thrash).
    pub fn add(&mut self, seed: u64, record: &Record, count_thrashed: bool) {
        self.runs += 1;
        self.overlapped_across += u32::from(record.overlapped_across);
        self.held += u32::from(record.held);
        let thrashed = record.is_thrashed() && !count_thrashed;
        if (thrashed || record.verdict != Verdict::Correct) && self.offences.len() < REMEMBERED {
            self.offences.push(Offence {
                seed,
                record: *record,
            });
        }
        if thrashed {
            self.thrashed += 1;
            self.thrashed_wrong += u32::from(record.verdict != Verdict::Correct);
            *self
                .times_thrashed
                .entry(record.times_thrashed)
                .or_default() += 1;
            return;
        }
        match record.verdict {
            Verdict::Correct => self.correct += 1,
            Verdict::Late => self.late += 1,
            Verdict::Missed => self.missed += 1,
        }
        if record.verdict == Verdict::Missed {
            return;
        }
        self.penetration
            .add(record.penetration_steps(TickLength::default()));
        if record.just_migrated {
            self.just_migrated += 1;
            self.just_migrated_late += u32::from(record.verdict == Verdict::Late);
        }
    }

    /// Adds what other runs of the same kind have shown.
    pub fn merge(&mut self, other: &Self) {
        self.runs += other.runs;
        self.correct += other.correct;
        self.late += other.late;
        self.missed += other.missed;
        self.thrashed += other.thrashed;
        self.thrashed_wrong += other.thrashed_wrong;
        self.just_migrated += other.just_migrated;
        self.just_migrated_late += other.just_migrated_late;
        self.overlapped_across += other.overlapped_across;
        self.held += other.held;
        for (times, runs) in &other.times_thrashed {
            *self.times_thrashed.entry(*times).or_default() += runs;
        }
        self.penetration.merge(&other.penetration);
        self.offences.extend(&other.offences);
        self.offences.truncate(REMEMBERED);
    }

    /// Several together.
    pub fn sum<'a>(tallies: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for tally in tallies {
            sum.merge(tally);
        }
        sum
    }
}

/// A share in per cent; of nothing it is zero.
pub(crate) fn percent(part: u32, whole: u32) -> f64 {
    if whole == 0 {
        0.0
    } else {
        100.0 * f64::from(part) / f64::from(whole)
    }
}

/// Mean, spread and ends of a row of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    count: u32,
    sum: f64,
    sum_of_squares: f64,
    /// The smallest; zero before the first.
    pub least: f64,
    /// The largest; zero before the first.
    pub most: f64,
}

impl Moments {
    fn add(&mut self, value: f64) {
        self.merge(&Self {
            count: 1,
            sum: value,
            sum_of_squares: value * value,
            least: value,
            most: value,
        });
    }

    fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
    }

    /// How many.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Zero if there are none.
    pub fn mean(&self) -> f64 {
        self.sum / f64::from(self.count.max(1))
    }

    /// The sample's standard deviation; zero for fewer than two.
    pub fn deviation(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let n = f64::from(self.count);
        ((self.sum_of_squares - self.sum * self.sum / n) / (n - 1.0))
            .max(0.0)
            .sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(verdict: Verdict, migrations: u32) -> Record {
        Record {
            verdict,
            relative_speed: 60.0,
            penetration_m: 0.5,
            migrations,
            times_thrashed: migrations / 2,
            just_migrated: verdict == Verdict::Late,
            overlapped_across: verdict != Verdict::Correct,
            held: verdict == Verdict::Missed,
        }
    }

    /// Table 5.1's columns: N excludes thrashed runs and includes missed ones; A-22 is kept apart.
    #[test]
    fn n_is_what_did_not_thrash() {
        let mut tally = Tally::default();
        for (verdict, migrations) in [
            (Verdict::Correct, 1),
            (Verdict::Late, 1),
            (Verdict::Missed, 1),
            (Verdict::Late, 3),
            (Verdict::Correct, 5),
        ] {
            tally.add(1, &record(verdict, migrations), false);
        }
        assert_eq!(
            (tally.runs, tally.n(), tally.late, tally.missed),
            (5, 3, 1, 1)
        );
        assert_eq!((tally.thrashed, tally.thrashed_wrong), (2, 1));
        assert_eq!((tally.just_migrated, tally.just_migrated_late), (1, 1));
        assert_eq!(tally.overlapped_across, 3, "thrashed runs too");
        assert_eq!(tally.held, 1);
        assert_eq!(tally.times_thrashed, BTreeMap::from([(1, 1), (2, 1)]));
        assert_eq!(tally.penetration.count(), 2);
    }

    #[test]
    fn moments_of_parts_are_moments_of_the_whole() {
        let of = |values: &[f64]| {
            let mut moments = Moments::default();
            values.iter().for_each(|value| moments.add(*value));
            moments
        };
        let mut merged = of(&[1.0, 2.0]);
        merged.merge(&of(&[]));
        merged.merge(&of(&[3.0, 6.0]));
        assert_eq!(merged, of(&[1.0, 2.0, 3.0, 6.0]));
        assert_eq!(merged.mean(), 3.0);
        assert!((merged.deviation() - (14.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!((merged.least, merged.most), (1.0, 6.0));
    }
}
