//! `bare`: the same crowd in Rapier alone and on 1, 2, 4 and 8 regions.
//!
//! ```text
//!   first:    1, 2, 4, 8 regions under the eyes of the checkers, not timed
//!   a round:  Rapier │ 1 region │ 2 regions │ 4 regions │ 8 regions │ Rapier      each by itself
//!                                                                   │ 1 region and Rapier, tick by tick in turn
//! ```
//!
//! Each by itself, because 8,000 bodies fit into a machine's caches where twice as many do not: an engine that shares
//! them with the run it is compared with was measured at nearly twice its time.

use super::spent::{Spent, middle};
use super::trial::{Alone, Company, Place, Runner, Trial};
use super::{Extent, bare_report, no_errors};
use crate::result::{Claim, ExperimentError, ExperimentInfo, ExperimentResult};
use crate::scale::measure::median;
use scenes::Crowd;
use simulator::network::NetworkConditions;

/// Nobody needs several servers for the smallest: they show where the crossover is.
const SIZES: &[usize] = &[64, 125, 250, 500, 1000, 2000, 4000, 8000, 16_000];
const QUICK_SIZES: &[usize] = &[64, 250];
pub(super) const SERVERS: [usize; 4] = [1, 2, 4, 8];
/// On the square of fewer bodies, more than four regions would be narrower than auras allow.
const LEAST_FOR_MANY: usize = 125;
const SECONDS: f64 = 8.0;
const QUICK_SECONDS: f64 = 2.0;

/// All rounds of one crowd.
pub(super) struct Size {
    pub(super) bodies: usize,
    /// What the bare engine takes in each round, by itself, milliseconds per step: the mean of before and after.
    pub(super) bare_ms: Vec<f64>,
    pub(super) cells: Vec<Cell>,
    /// One region, with the bare engine beside it.
    pub(super) in_turn: Vec<Spent>,
}

/// All rounds of one crowd on so many servers.
pub(super) struct Cell {
    pub(super) servers: usize,
    /// What the checkers found.
    pub(super) errors: u64,
    pub(super) runs: Vec<Spent>,
}

impl Size {
    fn new(bodies: usize) -> Self {
        let cell = |servers| Cell {
            servers,
            errors: 0,
            runs: Vec::new(),
        };
        Self {
            bodies,
            bare_ms: Vec::new(),
            cells: servers_for(bodies).map(cell).collect(),
            in_turn: Vec::new(),
        }
    }

    pub(super) fn cell(&self, servers: usize) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.servers == servers)
    }

    /// The middle of all rounds.
    pub(super) fn bare(&self) -> f64 {
        median(self.bare_ms.iter().copied())
    }

    /// Something of a run as a multiple of what the bare engine takes in the same round, for each round.
    pub(super) fn ratios(&self, cell: &Cell, of: impl Fn(&Spent) -> f64) -> Vec<f64> {
        let rounds = cell.runs.iter().zip(&self.bare_ms);
        rounds.map(|(run, bare)| of(run) / bare).collect()
    }

    /// The slowest server's tick, as a multiple of the bare engine's; the middle of all rounds.
    pub(super) fn ratio(&self, cell: &Cell) -> f64 {
        median(self.ratios(cell, |run| run.slowest_ms))
    }

    /// The same for one region that takes turns with the bare engine, tick by tick.
    pub(super) fn ratio_in_turn(&self) -> f64 {
        middle(&self.in_turn, Spent::of_bare)
    }
}

pub(super) fn run(
    info: &ExperimentInfo,
    extent: &Extent,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    let sizes = measure(extent, progress)?;
    let mut result = ExperimentResult::new(info, extent.seed);
    bare_report::add(&mut result, &sizes);
    add_claims(&mut result, &sizes);
    Ok(result)
}

fn measure(extent: &Extent, progress: &mut dyn FnMut(f64)) -> Result<Vec<Size>, ExperimentError> {
    let (numbers, seconds) = if extent.quick {
        (QUICK_SIZES, QUICK_SECONDS)
    } else {
        (SIZES, SECONDS)
    };
    let places: Vec<Place> = numbers
        .iter()
        .map(|bodies| Place::of(crowd(*bodies)))
        .collect();
    let plan = Plan { extent, seconds };
    let mut sizes: Vec<Size> = numbers.iter().map(|bodies| Size::new(*bodies)).collect();
    let work = places.iter().map(|place| plan.work(place)).sum();
    let mut runner = Runner::new(work, progress);
    for (size, place) in sizes.iter_mut().zip(&places) {
        for cell in &mut size.cells {
            let watched = plan.trial(place, cell.servers).watched();
            cell.errors = runner.run(&watched)?.errors();
        }
    }
    for round in 0..extent.rounds {
        for (size, place) in sizes.iter_mut().zip(&places) {
            plan.run(&mut runner, place, size, round)?;
        }
    }
    Ok(sizes)
}

/// What all runs have in common.
struct Plan<'e> {
    extent: &'e Extent,
    seconds: f64,
}

impl Plan<'_> {
    /// One crowd in one round.
    fn run(
        &self,
        runner: &mut Runner,
        place: &Place,
        size: &mut Size,
        round: u32,
    ) -> Result<(), ExperimentError> {
        let before = runner.run_alone(&self.alone(place));
        for cell in &mut size.cells {
            let trial = self.trial(place, cell.servers);
            cell.runs.push(runner.run(&trial)?);
        }
        let after = runner.run_alone(&self.alone(place));
        size.bare_ms.push(0.5 * (before + after));
        size.in_turn.push(runner.run(&self.in_turn(place, round))?);
        Ok(())
    }

    /// Of all rounds with this crowd, and of watching it before.
    fn work(&self, place: &Place) -> f64 {
        let servers = || servers_for(place.crowd.bodies).map(|n| self.trial(place, n));
        let watched: f64 = servers().map(|trial| trial.watched().work()).sum();
        let timed: f64 = servers().map(|trial| trial.work()).sum();
        let bare = 2.0 * self.alone(place).work() + self.in_turn(place, 0).work();
        watched + f64::from(self.extent.rounds) * (timed + bare)
    }

    fn alone<'p>(&self, place: &'p Place) -> Alone<'p> {
        Alone {
            place,
            seed: self.extent.seed,
            seconds: self.seconds,
        }
    }

    fn trial<'p>(&self, place: &'p Place, servers: usize) -> Trial<'p> {
        Trial {
            place,
            servers,
            network: NetworkConditions::data_centre(),
            seed: self.extent.seed,
            seconds: self.seconds,
            watched: false,
            company: Company::Alone,
        }
    }

    fn in_turn<'p>(&self, place: &'p Place, round: u32) -> Trial<'p> {
        Trial {
            company: match round.is_multiple_of(2) {
                true => Company::BareFirst,
                false => Company::BareLast,
            },
            ..self.trial(place, 1)
        }
    }
}

/// As many servers as this crowd has room for.
fn servers_for(bodies: usize) -> impl Iterator<Item = usize> {
    let fits = move |servers: &usize| *servers <= 4 || bodies >= LEAST_FOR_MANY;
    SERVERS.into_iter().filter(fits)
}

fn crowd(bodies: usize) -> Crowd {
    Crowd {
        bodies,
        ..Crowd::default()
    }
}

fn add_claims(result: &mut ExperimentResult, sizes: &[Size]) {
    let cells = sizes.iter().flat_map(|size| &size.cells);
    let errors = cells.map(|cell| cell.errors).sum();
    result.claims.push(no_errors("bare", errors));
    let verdicts = || {
        let runs = sizes.iter().flat_map(|size| &size.in_turn);
        runs.filter_map(|run| run.same_as_bare)
    };
    let (same, all) = (verdicts().filter(|same| *same).count(), verdicts().count());
    result.claims.push(Claim::new(
        "bare",
        "one region and bare Rapier do the same work: at the end every body is at the same place, to the last bit",
        all > 0 && same == all,
        format!("{same} of {all} runs"),
    ));
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::bench::list;

    /// Three rounds on a machine that is slower for a while, for all alike.
    const DRIFT: [f64; 3] = [1.0, 3.0, 1.1];

    fn run(servers: usize, slowest_ms: f64) -> Spent {
        Spent {
            servers,
            slowest_ms,
            all_ms: slowest_ms * servers as f64,
            step_ms: 0.8 * slowest_ms * servers as f64,
            ..Spent::default()
        }
    }

    /// Two crowds with these ratios to bare Rapier, by number of servers.
    pub(in crate::bench) fn sizes(is_same: bool) -> Vec<Size> {
        let ratios = [(250, [1.05, 1.4, 1.6, 1.8]), (500, [1.04, 0.9, 1.2, 0.2])];
        let size = |(bodies, ratios): (usize, [f64; 4])| Size {
            bodies,
            bare_ms: DRIFT.into(),
            cells: SERVERS
                .into_iter()
                .zip(ratios)
                .map(|(servers, ratio)| Cell {
                    servers,
                    errors: 0,
                    runs: DRIFT.map(|drift| run(servers, drift * ratio)).into(),
                })
                .collect(),
            in_turn: vec![Spent {
                bare_ms: Some(2.0),
                same_as_bare: Some(is_same),
                ..run(1, 2.1)
            }],
        };
        ratios.map(size).into()
    }

    #[test]
    fn a_ratio_is_one_of_the_same_round() {
        let size = &sizes(true)[1];
        let eight = size.cell(8).expect("there is room");
        assert!(
            (size.ratio(eight) - 0.2).abs() < 1e-12,
            "however slow the machine"
        );
        let all = size.ratios(eight, |run| run.all_ms);
        assert!(
            all.iter().all(|ratio| (ratio - 1.6).abs() < 1e-12),
            "{all:?}"
        );
        assert_eq!((size.bare(), size.ratio_in_turn()), (1.1, 1.05));
    }

    #[test]
    fn other_work_is_no_comparison() {
        for (same, holds) in [(true, true), (false, false)] {
            let mut result = ExperimentResult::new(&list()[0], 7);
            add_claims(&mut result, &sizes(same));
            assert_eq!(result.holds(), holds);
        }
        let mut with_an_error = sizes(true);
        with_an_error[1].cells[2].errors = 1;
        let mut result = ExperimentResult::new(&list()[0], 7);
        add_claims(&mut result, &with_an_error);
        assert!(!result.holds(), "neither is wrong work");
        let mut never_beside = sizes(true);
        never_beside
            .iter_mut()
            .for_each(|size| size.in_turn.clear());
        let mut result = ExperimentResult::new(&list()[0], 7);
        add_claims(&mut result, &never_beside);
        assert!(!result.holds(), "nothing was compared");
    }

    #[test]
    fn every_crowd_has_room_for_its_regions() {
        for bodies in SIZES {
            let servers: Vec<usize> = servers_for(*bodies).collect();
            assert!(servers.len() >= 3 && servers[0] == 1, "{bodies}");
            for servers in servers {
                let options = simulator::SimOptions {
                    servers: Some(servers),
                    ..simulator::SimOptions::default()
                };
                let fits = simulator::Simulation::new(&crowd(*bodies).scene(), &options);
                assert!(fits.is_ok(), "{bodies} on {servers}: {:?}", fits.err());
            }
        }
    }
}
