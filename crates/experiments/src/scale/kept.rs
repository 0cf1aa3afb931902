//! `scale-kept`: what it does to the physics that bodies are held to what they have promised.
//!
//! The same scene with and without. Both are chaotic, so they differ body by body; energy and overlaps of all bodies
//! over all ticks do not.

use super::Scale;
use crate::result::{Claim, ExperimentError, ExperimentInfo, ExperimentResult};
use crate::table::Table;
use scenes::{Generated, Scene};
use serde_json::json;
use simulator::{Outcome, SimOptions, Simulation};
use std::cell::RefCell;
use std::rc::Rc;

/// The servers, and how many body ticks in 100,000 may be held.
const SERVERS: [(usize, f64); 2] = [(8, 20.0), (16, 50.0)];
/// How often worlds are looked at, ticks.
const EVERY_TICKS: u64 = 20;
/// Pairs that overlap by more than this are deep.
const DEEP_M: f32 = 0.05;
/// With the default tolerances news takes three ticks at most: what is thrown is held for no longer than it takes
/// until all have heard of it and what follows is done.
const HORIZON_TICKS: u64 = 8;
const MOST_ENERGY: f64 = 0.002;
const MOST_DEEP: f64 = 0.05;

/// What was seen of one run.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// Kinetic energy, joules, and deep pairs, summed over all samples.
    energy: f64,
    deep: u64,
    body_ticks: u64,
    held: u64,
    longest_ticks: u64,
    errors: u64,
}

impl Seen {
    fn add(&mut self, other: &Self) {
        self.energy += other.energy;
        self.deep += other.deep;
        self.body_ticks += other.body_ticks;
        self.held += other.held;
        self.longest_ticks = self.longest_ticks.max(other.longest_ticks);
        self.errors += other.errors;
    }

    fn of(self, outcome: &Outcome) -> Self {
        let bodies = outcome.timelines.iter().flat_map(|line| &line.bodies);
        Self {
            body_ticks: bodies.map(|bodies| u64::from(*bodies)).sum(),
            held: outcome.kept.held,
            longest_ticks: outcome.kept.longest_ticks,
            errors: outcome.errors.total() + u64::from(outcome.aborted.is_some()),
            ..self
        }
    }

    fn held_in_100_000(&self) -> f64 {
        1e5 * self.held as f64 / self.body_ticks.max(1) as f64
    }
}

/// With and without, over all seeds.
struct Row {
    servers: usize,
    most_held: f64,
    kept: Seen,
    unkept: Seen,
}

impl Row {
    /// How much more energy there is, as a share.
    fn more_energy(&self) -> f64 {
        self.kept.energy / self.unkept.energy - 1.0
    }

    /// How many more pairs are deep, as a share.
    fn more_deep(&self) -> f64 {
        self.kept.deep as f64 / self.unkept.deep.max(1) as f64 - 1.0
    }
}

pub(super) fn run(
    info: &ExperimentInfo,
    scale: &Scale,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    let total = (2 * SERVERS.len() * scale.seeds as usize) as f64;
    let mut done = 0.0;
    let mut rows = Vec::new();
    for (servers, most_held) in SERVERS {
        let scene = Generated::E1Columns(servers).scene();
        let mut row = Row {
            servers,
            most_held,
            kept: Seen::default(),
            unkept: Seen::default(),
        };
        for index in 0..scale.seeds {
            for is_kept in [true, false] {
                let seconds = if scale.quick { 3.0 } else { scene.seconds };
                let options = SimOptions {
                    servers: Some(servers),
                    seed: Some(scale.seed_of(index)),
                    seconds: Some(seconds),
                    keep_promises: is_kept,
                    checkers: is_kept,
                    ..SimOptions::default()
                };
                let seen = watch(&scene, &options, &mut |share| {
                    progress((done + share) / total);
                })?;
                let sum = if is_kept {
                    &mut row.kept
                } else {
                    &mut row.unkept
                };
                sum.add(&seen);
                done += 1.0;
            }
        }
        rows.push(row);
    }
    let mut result = ExperimentResult::new(info, scale.seed);
    result.tables.push(table(&mut result.rows, &rows));
    for row in &rows {
        result.claims.extend(claims(row, scale.quick));
    }
    result.notes.push(format!(
        "Energy and overlaps of all servers together, summed over every {EVERY_TICKS}th tick and all seeds. A hold counts \
        from one millimetre on."
    ));
    Ok(result)
}

fn watch(
    scene: &Scene,
    options: &SimOptions,
    progress: &mut dyn FnMut(f64),
) -> Result<Seen, ExperimentError> {
    let seen = Rc::new(RefCell::new(Seen::default()));
    let mut simulation = Simulation::new(scene, options)?;
    let sum = seen.clone();
    simulation.look(Box::new(move |look| {
        if look.region.tick().0.is_multiple_of(EVERY_TICKS) {
            let mut sum = sum.borrow_mut();
            sum.energy += look.region.world().kinetic_energy();
            sum.deep += look.region.world().pairs_deeper_than(DEEP_M) as u64;
        }
    }));
    let outcome = simulation.run(progress);
    Ok(seen.take().of(&outcome))
}

fn claims(row: &Row, quick: bool) -> Vec<Claim> {
    let servers = row.servers;
    let claim = |text: String, holds, value| Claim::new("scale-kept", text, holds, value);
    let mut claims = vec![claim(
        format!("{servers} servers: no error of any kind"),
        row.kept.errors == 0,
        format!("{} errors", row.kept.errors),
    )];
    if quick {
        return claims;
    }
    claims.extend([
        claim(
            format!(
                "{servers} servers: at most {} of 100,000 body ticks are held",
                row.most_held
            ),
            row.kept.held_in_100_000() <= row.most_held,
            format!("{:.1}", row.kept.held_in_100_000()),
        ),
        claim(
            format!("{servers} servers: nobody is held for longer than {HORIZON_TICKS} ticks"),
            row.kept.longest_ticks <= HORIZON_TICKS,
            format!("{} ticks", row.kept.longest_ticks),
        ),
        claim(
            format!(
                "{servers} servers: kinetic energy is within {:.1} % of that without",
                100.0 * MOST_ENERGY
            ),
            row.more_energy().abs() <= MOST_ENERGY,
            format!("{:+.3} %", 100.0 * row.more_energy()),
        ),
        claim(
            format!(
                "{servers} servers: at most {:.0} % more pairs overlap by more than {:.0} mm",
                100.0 * MOST_DEEP,
                1e3 * DEEP_M
            ),
            row.more_deep() <= MOST_DEEP,
            format!("{:+.2} %", 100.0 * row.more_deep()),
        ),
    ]);
    claims
}

fn table(rows_out: &mut Vec<serde_json::Value>, rows: &[Row]) -> Table {
    let header = [
        "Servers",
        "Held of 100,000",
        "Longest, ticks",
        "Energy, % more",
        "Deep pairs, % more",
        "Deep pairs without",
        "Errors",
    ];
    let mut table = Table::new("With promises kept, against without", &header);
    for row in rows {
        let Row {
            servers,
            kept,
            unkept,
            ..
        } = row;
        rows_out.push(json!({
            "servers": servers, "held": kept.held, "body_ticks": kept.body_ticks,
            "held_in_100_000": kept.held_in_100_000(), "longest_ticks": kept.longest_ticks,
            "energy": kept.energy, "energy_without": unkept.energy, "more_energy": row.more_energy(),
            "deep_pairs": kept.deep, "deep_pairs_without": unkept.deep, "more_deep_pairs": row.more_deep(),
            "errors": kept.errors,
        }));
        table.push(vec![
            servers.to_string(),
            format!("{:.1}", kept.held_in_100_000()),
            kept.longest_ticks.to_string(),
            format!("{:+.3}", 100.0 * row.more_energy()),
            format!("{:+.2}", 100.0 * row.more_deep()),
            unkept.deep.to_string(),
            kept.errors.to_string(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_claims() {
        let seen = |energy: f64, deep: u64, held: u64, longest_ticks: u64| Seen {
            energy,
            deep,
            held,
            longest_ticks,
            body_ticks: 1_000_000,
            errors: 0,
        };
        let row = |kept: Seen| Row {
            servers: 8,
            most_held: 20.0,
            kept,
            unkept: seen(1000.0, 100, 0, 0),
        };
        let holds = |row: &Row| {
            let claims = claims(row, false);
            claims.iter().map(|claim| claim.holds).collect::<Vec<_>>()
        };
        assert_eq!(holds(&row(seen(1001.9, 104, 200, 8))), [true; 5]);
        assert_eq!(
            holds(&row(seen(997.0, 106, 201, 9))),
            [true, false, false, false, false]
        );
    }
}
