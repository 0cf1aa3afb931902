//! One cell of a table: a group runs, its members' CPU times are taken.
//!
//! Members of a group run in turn in one thread, and each would find its memory pushed out of the caches by the others, which on a machine
//! of its own does not happen. So the run is recorded, and each member then does its part again alone, from the same parcels, to the same bits.

use super::Scale;
use super::gas::{COVERAGE, Gas};
use crate::result::ExperimentError;
use crate::seeds;
use boundary::Policy;
use boundary::replicate::MemberMode;
use domain::RegionId;
use scenes::Scene;
use serde::Serialize;
use simulator::SimOptions;
use simulator::network::NetworkConditions;
use simulator::replicate::{Cuts, GroupRun, ReplicateOptions};

/// Blocks of iterations whose mean is taken before the median over blocks.
const BLOCK: usize = 30;
/// So often each member is replayed.
const REPLAYS: u32 = 9;
/// Balanced cuts are made anew every two seconds.
pub(super) const BALANCE_TICKS: u64 = 120;

/// What is run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cell {
    pub objects: u64,
    pub members: u32,
    pub cuts: Cuts,
    pub mode: MemberMode,
    pub triangles: bool,
    pub responds: bool,
}

impl Cell {
    pub fn new(objects: u64, members: u32) -> Self {
        Self {
            objects,
            members,
            cuts: Cuts::Published,
            mode: MemberMode::Synchronised,
            triangles: false,
            responds: true,
        }
    }

    pub fn balanced(self) -> Self {
        let again_ticks = BALANCE_TICKS;
        Self {
            cuts: Cuts::Balanced { again_ticks },
            ..self
        }
    }
}

/// What came out, averaged over seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Loop {
    pub objects: u64,
    pub members: u32,
    /// How many seeds.
    pub runs: u32,
    /// Milliseconds of CPU time per iteration: mean over members.
    pub mean_ms: f64,
    /// Of member 0.
    pub leader_ms: f64,
    /// Of the member with the highest mean over the run.
    pub slowest_ms: f64,
    /// Mean over iterations of whoever was slowest in that iteration.
    pub slowest_of_tick_ms: f64,
    /// 99th percentile over iterations of the slowest member.
    pub p99_ms: f64,
    /// Pairs in contact per iteration.
    pub collisions: f64,
    /// Pairs of overlapping boxes per iteration.
    pub pairs: f64,
    /// Copies per body.
    pub copies: f64,
    /// Bytes between members per iteration, all together.
    pub bytes: f64,
}

/// Runs a cell for every seed and averages.
pub(super) fn measure(cell: &Cell, scale: &Scale) -> Result<Loop, ExperimentError> {
    let mut sum = Loop {
        objects: cell.objects,
        members: cell.members,
        runs: scale.runs,
        ..Loop::default()
    };
    for run in 0..scale.runs {
        // The same world for every number of members and every variant.
        let seed = seeds::derive(scale.seed, &[cell.objects, u64::from(run)]);
        let one = measure_once(cell, scale, seed)?;
        let share = 1.0 / f64::from(scale.runs);
        sum.mean_ms += one.mean_ms * share;
        sum.leader_ms += one.leader_ms * share;
        sum.slowest_ms += one.slowest_ms * share;
        sum.slowest_of_tick_ms += one.slowest_of_tick_ms * share;
        sum.p99_ms += one.p99_ms * share;
        sum.collisions += one.collisions * share;
        sum.pairs += one.pairs * share;
        sum.copies += one.copies * share;
        sum.bytes += one.bytes * share;
    }
    Ok(sum)
}

/// A cell with the published cuts and with balanced ones. One member does the same work either way: both get the faster of its two measurements, so that no
/// ratio gains by a disturbed one.
pub(super) fn measure_both(cell: &Cell, scale: &Scale) -> Result<[Loop; 2], ExperimentError> {
    let published = measure(cell, scale)?;
    let balanced = measure(&cell.balanced(), scale)?;
    if cell.members > 1 {
        return Ok([published, balanced]);
    }
    let one = if published.mean_ms <= balanced.mean_ms {
        published
    } else {
        balanced
    };
    Ok([one; 2])
}

fn measure_once(cell: &Cell, scale: &Scale, seed: u64) -> Result<Loop, ExperimentError> {
    let last = scale.warm_up + scale.ticks;
    let gas = Gas {
        objects: cell.objects,
        avatars: u64::from(cell.members),
        coverage: COVERAGE,
        seed,
        seconds: (last + 2) as f64 / 60.0,
    };
    let options = SimOptions {
        policy: Policy::Replicate,
        servers: Some(cell.members as usize),
        seed: Some(seed),
        network: NetworkConditions::perfect(),
        checkers: false,
        replicate: ReplicateOptions {
            mode: cell.mode,
            cuts: cell.cuts,
            triangles: cell.triangles,
            responds: cell.responds,
            report_settled: true,
            ..ReplicateOptions::default()
        },
        ..SimOptions::default()
    };
    let scene = gas.scene();
    let mut run = GroupRun::new(&scene, &options)?;
    run.record();
    run.run_until(scale.warm_up);
    let bytes_before = run.bytes();
    let (mut collisions, mut pairs, mut copies) = (0, 0, 0);
    for tick in scale.warm_up + 1..=last {
        run.run_until(tick);
        for member in run.members() {
            let stats = member.space().stats();
            collisions += stats.collisions;
            pairs += stats.moving_pairs;
            copies += member.space().len() as u64;
        }
    }
    let skip = scale.warm_up as usize;
    let mut all = Vec::new();
    for id in 0..cell.members {
        all.push(replayed(&run, &scene, &options, RegionId(id))?);
    }
    let ticks: Vec<&[f32]> = all
        .iter()
        .map(|ticks| &ticks[skip.min(ticks.len())..])
        .collect();
    let loops: Vec<f64> = ticks.iter().map(|ticks| loop_ms(ticks)).collect();
    let count = scale.ticks as f64;
    let slowest: Vec<f32> = (0..scale.ticks as usize)
        .map(|tick| {
            let of = |ticks: &&[f32]| ticks.get(tick).copied().unwrap_or(0.0);
            ticks.iter().map(of).fold(0.0, f32::max)
        })
        .collect();
    Ok(Loop {
        objects: cell.objects,
        members: cell.members,
        runs: 1,
        mean_ms: loops.iter().sum::<f64>() / loops.len() as f64,
        leader_ms: loops[0],
        slowest_ms: loops.iter().copied().fold(0.0, f64::max),
        slowest_of_tick_ms: loop_ms(&slowest),
        p99_ms: percentile(&slowest, 0.99),
        collisions: collisions as f64 / count,
        pairs: pairs as f64 / count,
        copies: copies as f64 / count / (cell.objects + u64::from(cell.members)) as f64,
        bytes: (run.bytes() - bytes_before) as f64 / count,
    })
}

/// The same work is done several times, bit by bit the same; of each tick the fastest counts, which other programs have disturbed least.
fn replayed(
    run: &GroupRun,
    scene: &Scene,
    options: &SimOptions,
    member: RegionId,
) -> Result<Vec<f32>, ExperimentError> {
    let mut best = run.replay(scene, options, member)?;
    for _ in 1..REPLAYS {
        let again = run.replay(scene, options, member)?;
        for (best, again) in best.iter_mut().zip(again) {
            *best = best.min(again);
        }
    }
    Ok(best)
}

/// The median over blocks of the block's mean.
fn loop_ms(ticks: &[f32]) -> f64 {
    let mut means: Vec<f64> = ticks
        .chunks(BLOCK)
        .map(|block| block.iter().map(|ms| f64::from(*ms)).sum::<f64>() / block.len() as f64)
        .collect();
    means.sort_by(f64::total_cmp);
    means.get(means.len() / 2).copied().unwrap_or(0.0)
}

fn percentile(ticks: &[f32], share: f64) -> f64 {
    let mut sorted: Vec<f64> = ticks.iter().map(|ms| f64::from(*ms)).collect();
    sorted.sort_by(f64::total_cmp);
    let index = ((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1));
    sorted.get(index).copied().unwrap_or(0.0)
}

/// The slope of a straight line through the logarithms.
pub(super) fn log_slope(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let count = logs.len() as f64;
    let (mean_x, mean_y) = (
        logs.iter().map(|p| p.0).sum::<f64>() / count,
        logs.iter().map(|p| p.1).sum::<f64>() / count,
    );
    let above: f64 = logs.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let below: f64 = logs.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    above / below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slow_block_does_not_count_and_a_slope_is_a_slope() {
        let mut ticks = vec![1.0_f32; 300];
        ticks[31] = 500.0;
        assert_eq!(loop_ms(&ticks), 1.0);
        let cubes: Vec<(f64, f64)> = (1..9)
            .map(|i| (f64::from(i), f64::from(i).powi(3)))
            .collect();
        assert!((log_slope(&cubes) - 3.0).abs() < 1e-9);
    }
}
