//! `ml-lock-sweep`: how early the other station knows, against false hits and lost commands, for T_lock from 0 to 200 ms (ML-55).

use super::arms::Arm;
use super::cells::{Cell, Grid};
use super::locks_claim;
use super::networks::Net;
use super::online_play::{OnlineSetup, play};
use super::setup::Setup;
use crate::plot::{Chart, Line, LineStyle, OURS, THESIS, THIRD};
use crate::reckoning::{parallel, part};
use crate::result::{Claim, ExperimentInfo, ExperimentResult, RunOptions};
use crate::table::Table;
use plotters::style::RGBColor;
use scenes::encounters::Scenario;
use serde_json::json;
use simulator::stations::Measure;

const ARMS: [Arm; 4] = [Arm::MotionLock, Arm::Repeat, Arm::Turns, Arm::Improved];
const COLOURS: [RGBColor; 4] = [THESIS, RGBColor(220, 160, 0), THIRD, OURS];
const ONLINE: [Arm; 3] = [Arm::MotionLock, Arm::Buckets, Arm::Improved];

/// One T_lock, one arm, one network.
struct Point {
    lock_ms: f64,
    arm: Arm,
    net: Net,
    /// Where there is a hit: CLC and CCC.
    interval: Measure,
    /// Runs of CLP and CCP with a false hit, and all of them.
    false_hits: [usize; 2],
    /// Runs of CLC and CCC with a missed hit.
    missed: usize,
    deviation: f64,
    longest_lock_ms: f64,
}

fn grid_points(quick: bool) -> Vec<f64> {
    let step = if quick { 50 } else { 10 };
    (0..=200).step_by(step).map(f64::from).collect()
}

/// Runs it.
pub(super) fn run(
    info: &ExperimentInfo,
    options: &RunOptions,
    progress: &mut dyn FnMut(f64),
) -> ExperimentResult {
    let runs = options.runs_or(4);
    let locks = grid_points(options.quick);
    let (mut points, mut held) = (Vec::new(), [0, 0]);
    for (index, lock_ms) in locks.iter().enumerate() {
        let setup = Setup {
            lock_ms: *lock_ms,
            ..Setup::default()
        };
        let keys = Grid::keys(&ARMS, &Net::ALL, &Scenario::CURVED);
        let share = |index: usize| 0.6 * index as f64 / locks.len() as f64;
        let mut heard = part(progress, share(index), share(index + 1));
        let grid = Grid::run(&keys, &setup, runs, options.seed, &mut heard);
        held = [0, 1].map(|which| held[which] + grid.locks()[which]);
        for arm in ARMS {
            points.extend(Net::ALL.map(|net| point(&grid, arm, net, *lock_ms)));
        }
    }
    let mut result = ExperimentResult::new(info, options.seed);
    add_offline(&mut result, &points, runs);
    let online = play_online(options, &locks, &mut part(progress, 0.6, 1.0));
    add_online(&mut result, &online);
    result.claims.extend(claims(&points, &online));
    result.claims.push(locks_claim("of any T_lock", held));
    result.notes.extend([
        "Offline: the set-up of ml-offline. Δt_col is that of CLC and CCC, where there is a hit; false hits those of CLP and CCP.".into(),
        "Ours never locks longer than the measured delay needs: beyond that, T_lock only bounds it, and its curves are flat.".into(),
        "T_lock 0 is post-collision agreement with trajectories: nothing is ever committed ahead.".into(),
    ]);
    result
}

fn point(grid: &Grid, arm: Arm, net: Net, lock_ms: f64) -> Point {
    let cells = |scenarios: [Scenario; 2]| -> Vec<&Cell> {
        let cells = scenarios.iter().filter_map(|one| grid.cell(arm, net, *one));
        cells.collect()
    };
    let meets = cells([Scenario::Clc, Scenario::Ccc]);
    let passes = cells([Scenario::Clp, Scenario::Ccp]);
    let all = || meets.iter().chain(&passes);
    let intervals = meets
        .iter()
        .flat_map(|cell| cell.runs.iter().flat_map(|run| run.intervals.clone()));
    Point {
        lock_ms,
        arm,
        net,
        interval: intervals.collect(),
        false_hits: [
            passes.iter().map(|cell| cell.false_hits()).sum(),
            passes.iter().map(|cell| cell.runs.len()).sum(),
        ],
        missed: meets.iter().map(|cell| cell.missed_hits()).sum(),
        deviation: all()
            .map(|cell| cell.deviation(0).avg())
            .collect::<Measure>()
            .avg(),
        longest_lock_ms: all()
            .map(|cell| cell.over(|run| run.longest_lock_ms).max())
            .fold(0.0, f64::max),
    }
}

fn add_offline(result: &mut ExperimentResult, points: &[Point], runs: u32) {
    let mut table = Table::new(
        format!(
            "ML-55: by T_lock, good / moderate / congested network: mean Δt_col of CLC and CCC in ms; runs of CLP and CCP ({} per network) with a false hit; mean post-collision deviation",
            2 * runs
        ),
        &[
            "T_lock, ms",
            "Protocol",
            "Δt_col, ms",
            "False hits",
            "Missed hits",
            "Deviation, px",
            "Longest lock, ms",
        ],
    );
    let mut locks: Vec<f64> = points.iter().map(|point| point.lock_ms).collect();
    locks.dedup();
    for lock_ms in locks {
        for arm in ARMS {
            let own: Vec<&Point> = points
                .iter()
                .filter(|point| point.lock_ms == lock_ms && point.arm == arm)
                .collect();
            let join = |of: &dyn Fn(&Point) -> String| {
                let texts: Vec<String> = own.iter().map(|point| of(point)).collect();
                texts.join(" / ")
            };
            table.push(vec![
                lock_ms.to_string(),
                arm.name().into(),
                join(&|point| format!("{:.0}", point.interval.avg())),
                join(&|point| point.false_hits[0].to_string()),
                join(&|point| point.missed.to_string()),
                join(&|point| format!("{:.0}", point.deviation)),
                join(&|point| format!("{:.0}", point.longest_lock_ms)),
            ]);
        }
    }
    for point in points {
        result.rows.push(json!({
            "table": "offline",
            "t_lock_ms": point.lock_ms,
            "protocol": point.arm,
            "network": point.net,
            "interval_ms": point.interval.json(),
            "runs_with_false_hit": point.false_hits[0],
            "pass_runs": point.false_hits[1],
            "runs_with_missed_hit": point.missed,
            "deviation_500ms_px": point.deviation,
            "longest_lock_ms": point.longest_lock_ms,
        }));
    }
    result.tables.push(table);
    for net in Net::ALL {
        let lines = |of: &dyn Fn(&Point) -> f64| -> Vec<Line> {
            ARMS.iter()
                .zip(COLOURS)
                .map(|(arm, colour)| Line {
                    name: arm.name().into(),
                    colour,
                    points: points
                        .iter()
                        .filter(|point| point.arm == *arm && point.net == net)
                        .map(|point| (point.lock_ms, of(point)))
                        .collect(),
                    style: LineStyle::Dotted,
                })
                .collect()
        };
        let figures = [
            (
                "interval",
                "mean Δt_col, ms",
                "How early the other station knows: mean Δt_col in CLC and CCC",
                lines(&|point| point.interval.avg()),
            ),
            (
                "false",
                "runs with a false hit, %",
                "What it costs: runs of CLP and CCP with a false hit",
                lines(&|point| {
                    100.0 * point.false_hits[0] as f64 / point.false_hits[1].max(1) as f64
                }),
            ),
        ];
        for (what, label, caption, lines) in figures {
            let chart = Chart {
                title: format!("{} network ({} ms)", net.name(), net.latency_ms()),
                x_label: "T_lock, ms".into(),
                y_label: label.into(),
                marks: vec![(net.latency_ms(), "mean latency".into())],
                limit: None,
                y_least_top: 1.0,
                lines,
            };
            result.add_figure(
                &format!("{what}-{}.svg", net.name()),
                format!("{caption}, by T_lock, on the {} network.", net.name()),
                chart.svg(),
            );
        }
    }
}

/// T_lock, protocol, share of commands lost in %, average deviation, longest lock.
struct Played {
    lock_ms: f64,
    arm: Arm,
    lost_pct: f64,
    deviation: f64,
    interval_ms: f64,
}

fn play_online(options: &RunOptions, locks: &[f64], progress: &mut dyn FnMut(f64)) -> Vec<Played> {
    let jobs: Vec<(f64, Arm)> = locks
        .iter()
        .flat_map(|lock_ms| ONLINE.into_iter().map(move |arm| (*lock_ms, arm)))
        .collect();
    let work = |job: &(f64, Arm)| {
        let setup = OnlineSetup {
            lock_ms: job.0,
            secs: if options.quick { 30.0 } else { 240.0 },
            ..OnlineSetup::default()
        };
        let outcome = play(job.1, &setup, options.seed);
        Played {
            lock_ms: job.0,
            arm: job.1,
            lost_pct: outcome.discarded_pct(),
            deviation: outcome.deviation.avg(),
            interval_ms: outcome.interval.avg(),
        }
    };
    parallel::map(&jobs, work, progress)
}

fn add_online(result: &mut ExperimentResult, played: &[Played]) {
    let mut table = Table::new(
        "Commands to M1 lost to locks in ml-online's rounds, by T_lock: % · deviation avg · Δt_col avg ms (published at 100 ms: 4.04 %, with buckets 4.13 %)",
        &["T_lock, ms", "Motion-lock", "Motion-lock + buckets", "Ours"],
    );
    for row in played.chunks(ONLINE.len()) {
        let mut cells = vec![row[0].lock_ms.to_string()];
        cells.extend(row.iter().map(|one| {
            format!(
                "{:.2} · {:.2} · {:.1}",
                one.lost_pct, one.deviation, one.interval_ms
            )
        }));
        table.push(cells);
        result.rows.extend(row.iter().map(|one| {
            json!({
                "table": "online",
                "t_lock_ms": one.lock_ms,
                "protocol": one.arm,
                "commands_discarded_pct": one.lost_pct,
                "deviation_avg": one.deviation,
                "interval_avg_ms": one.interval_ms,
            })
        }));
    }
    result.tables.push(table);
    let lines = ONLINE.iter().zip([THESIS, THIRD, OURS]);
    let lines = lines.map(|(arm, colour)| Line {
        name: arm.name().into(),
        colour,
        points: played
            .iter()
            .filter(|one| one.arm == *arm)
            .map(|one| (one.lock_ms, one.lost_pct))
            .collect(),
        style: LineStyle::Dotted,
    });
    let chart = Chart {
        title: "Commands lost to locks".into(),
        x_label: "T_lock, ms".into(),
        y_label: "% of the commands to M1".into(),
        marks: vec![(100.0, "published T_lock".into())],
        limit: None,
        y_least_top: 4.2,
        lines: lines.collect(),
    };
    result.add_figure(
        "commands-lost.svg",
        "Share of the commands to M1 that are lost to locks in ml-online's rounds, by T_lock.",
        chart.svg(),
    );
}

fn claims(points: &[Point], played: &[Played]) -> Vec<Claim> {
    let series = |arm: Arm, net: Net| -> Vec<&Point> {
        let own = points
            .iter()
            .filter(|point| point.arm == arm && point.net == net);
        own.collect()
    };
    let ends = |arm: Arm, net: Net, of: &dyn Fn(&Point) -> f64| {
        let own = series(arm, net);
        (of(own[0]), of(own[own.len() - 1]))
    };
    let earlier = Net::ALL.map(|net| ends(Arm::Repeat, net, &|point| point.interval.avg()));
    let pulled =
        Net::ALL.map(|net| ends(Arm::MotionLock, net, &|point| point.false_hits[0] as f64));
    let show = |pairs: &[(f64, f64)]| {
        let texts: Vec<String> = pairs
            .iter()
            .map(|(from, to)| format!("{from:.0}→{to:.0}"))
            .collect();
        texts.join(" / ")
    };
    let lost: Vec<&Played> = played
        .iter()
        .filter(|one| one.arm == Arm::MotionLock)
        .collect();
    let at = |lock_ms: f64| {
        let found = lost.iter().find(|one| one.lock_ms == lock_ms);
        found.map_or(0.0, |one| one.lost_pct)
    };
    let ours = |of: &dyn Fn(&Point) -> f64| {
        let own = points.iter().filter(|point| point.arm == Arm::Improved);
        own.map(of).fold(0.0, f64::max)
    };
    vec![
        Claim::new(
            "ML-55",
            "a longer T_lock lets the other station know earlier: mean Δt_col in CLC and CCC at 200 ms is below that at 0 ms on every network (motion-lock with one trajectory set and repeated notices)",
            earlier.iter().all(|(from, to)| to < from),
            format!(
                "0→200 ms on good / moderate / congested: {} ms",
                show(&earlier)
            ),
        ),
        Claim::new(
            "ML-55",
            "a longer T_lock pulls more near misses together: published motion-lock's false hits at 200 ms exceed those at 0 ms on the good network",
            pulled[0].1 > pulled[0].0,
            format!(
                "runs of CLP and CCP, 0→200 ms on good / moderate / congested: {}",
                show(&pulled)
            ),
        ),
        Claim::new(
            "ML-55",
            "a longer T_lock loses more commands: none at 0 ms, more at 200 ms than at 100 ms (published motion-lock, online)",
            at(0.0) == 0.0 && at(200.0) > at(100.0) && at(100.0) > 0.0,
            format!(
                "0 / 100 / 200 ms: {:.2} / {:.2} / {:.2} %",
                at(0.0),
                at(100.0),
                at(200.0)
            ),
        ),
        Claim::new(
            "ML-55",
            "ours does not pay for a long T_lock: at no T_lock more than a tenth of its runs of CLP and CCP have a false hit on the good network",
            series(Arm::Improved, Net::Good)
                .iter()
                .all(|point| 10 * point.false_hits[0] <= point.false_hits[1]),
            format!(
                "at most {:.0} on any network; good: {}",
                ours(&|point| point.false_hits[0] as f64),
                series(Arm::Improved, Net::Good)
                    .iter()
                    .map(|point| point.false_hits[0].to_string())
                    .collect::<Vec<_>>()
                    .join(" ")
            ),
        ),
    ]
}
