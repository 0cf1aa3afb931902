//! A receiver joins late (beyond the thesis, whose error is a sum from the beginning of time): is it starved, and how soon is it
//! treated like one that was always there? With the thesis's sum and with an error that fades.
//!
//! ```text
//!   0 s                      half-time                      end
//!   800, 500, 200 ms ───────────────────────────────────────►
//!                            50 ms joins, seeded with the mean ►   this half is measured
//! ```

use super::motion::Motion;
use super::plans::{DET_PA, Plan, THIRD};
use super::relation::in_nearly_all;
use super::summary::Summary;
use super::trial::{Setup, luck};
use super::{Scale, gaps, parallel};
use crate::result::{Claim, ExperimentError, ExperimentResult};
use crate::table::Table;
use domain::SimTime;
use reckoning::fairness::{
    LedgerSettings, Link, Measure, PolicyTag, ReceiverId, Rehearsal, SenderError, export_error,
    population_sd,
};
use serde_json::json;

const PLANS: [Plan; 2] = [THIRD, DET_PA];
const NEWCOMER: ReceiverId = ReceiverId(3);
const NEWCOMER_MS: f64 = 50.0;
/// K_max with four receivers and a third of them per trigger.
const CAP: u32 = 9;

/// Half-lives of the error in seconds; `None` is the thesis's sum.
const HALF_LIVES: [Option<f64>; 3] = [None, Some(10.0), Some(30.0)];

fn name(half_life: Option<f64>) -> String {
    half_life.map_or("sum of all time".into(), |secs| {
        format!("half-life {secs} s")
    })
}

/// What the second half of one run was like.
struct Joined {
    /// SD of the four receivers' errors in the second half.
    sd: f64,
    mean: f64,
    worst: f64,
    newcomer: f64,
    /// Received by all four in the second half.
    vectors: f64,
    /// Vectors to the newcomer, as a multiple of an equal share.
    share: f64,
    longest_gap: u32,
    triggers_per_sec: f64,
}

/// All seeds of one regime with one half-life: a run has one [`Joined`] per policy.
struct Case<'a> {
    motion: Motion,
    half_life: Option<f64>,
    runs: &'a [Vec<Joined>],
}

fn rehearse(setup: &Setup, master: u64, run: u32) -> Result<(f64, Rehearsal), SenderError> {
    let trace = setup.trace(master, run);
    let half = SimTime::from_secs(0.5 * setup.secs);
    let mut rehearsal = setup.rehearsal(master, run)?;
    let mut rng = luck(master, run);
    let (before, after) = trace
        .vectors
        .split_at(trace.vectors.partition_point(|vector| vector.time < half));
    for vector in before {
        rehearsal.trigger(vector.time, *vector, &mut rng)?;
    }
    rehearsal.advance(half)?;
    rehearsal.join(half, NEWCOMER, Link::fixed(NEWCOMER_MS))?;
    for vector in after {
        rehearsal.trigger(vector.time, *vector, &mut rng)?;
    }
    rehearsal.advance(setup.end())?;
    Ok((trace.rate(), rehearsal))
}

fn joined(setup: &Setup, master: u64, run: u32) -> Result<Vec<Joined>, SenderError> {
    let (rate, rehearsal) = rehearse(setup, master, run)?;
    let half = SimTime::from_secs(0.5 * setup.secs);
    let lane = |tag: PolicyTag| {
        let ids = (0..4).map(ReceiverId);
        // Errors count the same for all: from a second after the join, when the newcomer has something to show.
        let from = half + SimTime::from_secs(1.5);
        let errors: Vec<f64> = ids
            .clone()
            .map(|id| {
                let followed = rehearsal.followed(tag, id);
                export_error(
                    rehearsal.history(),
                    followed,
                    from,
                    setup.end(),
                    &Measure::default(),
                )
            })
            .collect();
        let late = ids.map(|id| {
            let followed = rehearsal.followed(tag, id).iter();
            followed.filter(|reception| reception.at > from).count() as f64
        });
        let vectors: Vec<f64> = late.collect();
        Joined {
            sd: population_sd(&errors),
            mean: errors.iter().sum::<f64>() / 4.0,
            worst: errors.iter().copied().fold(0.0, f64::max),
            newcomer: errors[3],
            vectors: vectors.iter().sum(),
            share: 4.0 * vectors[3] / vectors.iter().sum::<f64>(),
            longest_gap: gaps::longest(&rehearsal, tag, setup.end()),
            triggers_per_sec: rate,
        }
    };
    Ok((0..PLANS.len() as u8).map(PolicyTag).map(lane).collect())
}

/// Adds the table and its claims.
pub(super) fn add(
    result: &mut ExperimentResult,
    scale: &Scale,
    progress: &mut dyn FnMut(f64),
) -> Result<(), ExperimentError> {
    let mut jobs = Vec::new();
    for motion in Motion::REGIMES {
        for half_life in HALF_LIVES {
            jobs.extend((0..scale.seeds).map(|run| (motion, half_life, run)));
        }
    }
    let work = |(motion, half_life, run): &(Motion, Option<f64>, u32)| {
        let mut setup = Setup::thesis(*motion, 0.0, &PLANS, scale.secs);
        setup.settings = LedgerSettings {
            measure: Measure {
                half_life_secs: *half_life,
                ..Measure::default()
            },
            ..LedgerSettings::default()
        };
        joined(&setup, scale.seed, *run)
    };
    let runs = parallel::map(&jobs, work, progress);
    let runs: Vec<Vec<Joined>> = runs.into_iter().collect::<Result<_, _>>()?;
    let cases: Vec<Case<'_>> = jobs
        .chunks(scale.seeds as usize)
        .zip(runs.chunks(scale.seeds as usize))
        .map(|(jobs, runs)| Case {
            motion: jobs[0].0,
            half_life: jobs[0].1,
            runs,
        })
        .collect();
    let mut table = Table::new(
        "Beyond the thesis: a receiver at 50 ms joins three at 800, 500 and 200 ms at half-time; error in the second half, unit·s",
        &[
            "Regime",
            "Triggers/s",
            "Policy",
            "Error kept as",
            "Mean",
            "SD",
            "Worst",
            "Vectors",
            "Newcomer",
            "Its vectors, × equal share",
            "Longest gap, triggers",
        ],
    );
    for Case {
        motion,
        half_life,
        runs,
    } in &cases
    {
        for (index, plan) in PLANS.iter().enumerate() {
            let over = |of: fn(&Joined) -> f64| Summary::of(runs.iter().map(|run| of(&run[index])));
            let (mean, sd) = (over(|run| run.mean), over(|run| run.sd));
            let (worst, vectors) = (over(|run| run.worst), over(|run| run.vectors));
            let (newcomer, share) = (over(|run| run.newcomer), over(|run| run.share));
            let rate = over(|run| run.triggers_per_sec);
            let gap = over(|run| f64::from(run.longest_gap)).most;
            result.rows.push(json!({
                "table": "late-join",
                "regime": motion,
                "policy": plan.name,
                "error": name(*half_life),
                "seeds": scale.seeds,
                "triggers_per_sec": rate.json(),
                "mean_error": mean.json(),
                "sd_error": sd.json(),
                "worst_error": worst.json(),
                "vectors_sent": vectors.json(),
                "newcomer_error": newcomer.json(),
                "newcomer_share": share.json(),
                "longest_gap_triggers": gap,
                "published": null,
            }));
            table.push(vec![
                motion.name().into(),
                format!("{:.1}", rate.mean),
                plan.name.into(),
                name(*half_life),
                mean.text(),
                sd.text(),
                worst.text(),
                format!("{:.0}", vectors.mean),
                newcomer.text(),
                share.text(),
                format!("{gap:.0}"),
            ]);
        }
    }
    result.tables.push(table);
    let all: Vec<&Joined> = runs.iter().map(|run| &run[1]).collect();
    let (_, held) = in_nearly_all(&all, |run| run.longest_gap <= CAP);
    let most = all.iter().map(|run| run.longest_gap).max().unwrap_or(0);
    result.claims.push(Claim::new(
        "DR-34",
        "no receiver starves after a late join, in either regime, with a sum or a fading error: it waits for at most 9 triggers (in every run)",
        held == all.len(),
        format!("at most {most}; in {held} of {} runs", all.len()),
    ));
    for motion in Motion::REGIMES {
        result.claims.push(adapts(motion, &cases));
    }
    Ok(())
}

/// With a sum the newcomer counts as an average receiver for long, though it is the nearest; a fading error finds out.
fn adapts(motion: Motion, cases: &[Case<'_>]) -> Claim {
    let det = |half_life: Option<f64>| {
        let case = cases
            .iter()
            .find(|case| case.motion == motion && case.half_life == half_life);
        case.expect("every half-life is run").runs
    };
    let (sum, fading) = (det(None), det(Some(10.0)));
    let pairs: Vec<(f64, f64)> = sum
        .iter()
        .zip(fading)
        .map(|(sum, fading)| (sum[1].sd, fading[1].sd))
        .collect();
    let (holds, held) = in_nearly_all(&pairs, |(sum, fading)| fading < sum);
    let over = |runs: &[Vec<Joined>], of: fn(&Joined) -> f64| {
        Summary::of(runs.iter().map(|run| of(&run[1]))).mean
    };
    Claim::new(
        "beyond",
        format!(
            "{}: after a late join an error with a half-life of 10 s makes det PA fairer than the sum of all time (SD in the second half lower)",
            motion.name()
        ),
        holds,
        format!(
            "SD {:.1} against {:.1} unit·s, mean {:.1} against {:.1}, newcomer's vectors × {:.2} against × {:.2} of an equal share; in {held} of {} seeds",
            over(fading, |run| run.sd),
            over(sum, |run| run.sd),
            over(fading, |run| run.mean),
            over(sum, |run| run.mean),
            over(fading, |run| run.share),
            over(sum, |run| run.share),
            pairs.len()
        ),
    )
}
