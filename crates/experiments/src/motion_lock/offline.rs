//! `ml-offline`: six scenarios, three networks, all protocols, 50 seeds (Chen 2010, 5.3).

use super::arms::Arm;
use super::cells::{Cell, Grid};
use super::networks::Net;
use super::setup::Setup;
use super::{bits, held_out, offline_claims, offline_figures, published, sensitivity};
use crate::reckoning::part;
use crate::result::{ExperimentInfo, ExperimentResult, RunOptions};
use crate::table::Table;
use scenes::encounters::Scenario;
use serde_json::json;
use simulator::stations::Measure;
use std::fmt::Write as _;

/// The tables of the thesis call the moderate network normal.
fn table_number(net: Net) -> &'static str {
    match net {
        Net::Good => "5.1 (good: 50 ms, 10 % lost)",
        Net::Moderate => "5.2 (moderate, \"normal\" there: 100 ms, 20 % lost)",
        Net::Congested => "5.3 (congested: 150 ms, 40 % lost)",
    }
}

/// Runs it.
pub(super) fn run(
    info: &ExperimentInfo,
    options: &RunOptions,
    progress: &mut dyn FnMut(f64),
) -> ExperimentResult {
    let setup = Setup::default();
    let runs = options.runs_or(6);
    let scenarios: Vec<Scenario> = Scenario::PUBLISHED
        .into_iter()
        .chain(Scenario::WEAVES)
        .collect();
    let keys = Grid::keys(&Arm::OFFLINE, &Net::ALL, &scenarios);
    let grid = Grid::run(
        &keys,
        &setup,
        runs,
        options.seed,
        &mut part(progress, 0.0, 0.4),
    );
    let mut result = ExperimentResult::new(info, options.seed);
    add_rows(&mut result, &grid, &setup);
    for net in Net::ALL {
        result.tables.push(counts_table(&grid, net, runs));
    }
    result.tables.extend([
        interval_table(&grid),
        deviation_table(&grid, 0),
        deviation_table(&grid, 1),
        truth_table(&grid, &Scenario::CURVED, "ML-58"),
        truth_table(
            &grid,
            &Scenario::WEAVES,
            "Ours, beyond the thesis: curves that no predictor knows",
        ),
        visual_table(&grid),
        cost_table(&grid),
    ]);
    result
        .claims
        .extend(offline_claims::all(&grid, runs, options.seed, &setup));
    offline_figures::add(&mut result, &grid);
    result.add_data("cells.csv", cells_csv(&grid));
    result.add_data("runs.csv", runs_csv(&grid));
    result.add_data("frames.csv", bits::example_log(options.seed, &setup));
    sensitivity::add(&mut result, options, &setup, &mut part(progress, 0.4, 0.6));
    held_out::add(&mut result, options, &setup, &mut part(progress, 0.6, 1.0));
    result.notes.extend(notes(&setup));
    result
}

fn notes(setup: &Setup) -> Vec<String> {
    vec![
        format!(
            "Free parameters (the texts omit them), chosen once by fitting control's published counts only: {}.",
            setup.json()
        ),
        "Published counts are those of 50 runs. Every run ends 500 ms after its first hit, or after 3 s. All protocols run under the same seeds: the n-th position update of a run has the same fate in all of them.".into(),
        "Motion-lock is the published algorithm with the repairs without which it does not count (commits are edge-triggered, locks belong to pairs, records are ordered, commits bind, a refractory time: D1 to D6). When both stations have committed to a hit, each plays its own at its own time, which is the rule to the letter; in the second reading the earlier of the two commits counts (the published counters rise while one waits, so who waited longer triggers the other). \"+\" arms add one improvement each to the arm above; ours is the last.".into(),
        "Deviation: distance between master and replica, both replicas, summed over the frames (every 20 ms) of 500 ms from the first hit on. Runs without a hit count from the planned meeting on, so every protocol is measured over all 50 runs; the texts do not say what they did.".into(),
        "Δt_col: difference between the frames at which A and B registered the same hit, detected or learned of. Control's is unbounded where a hit stays one-sided; those are counted as alone.".into(),
        "The virtual perfect station plays the same paths with both bodies in one place. False: a station counts more hits than it; missed: fewer.".into(),
        "Weave scenarios (WLC, WLP, WWC, WWP) replace the circles by a sway of the same curvature at the meeting that changes all the time: no predictor here has the right model for it.".into(),
        "Figures 5.10 to 5.19 of the thesis are lost to us; their prose gives relations, which are the claims R1, R5 and R6.".into(),
    ]
}

fn add_rows(result: &mut ExperimentResult, grid: &Grid, setup: &Setup) {
    for cell in grid.all() {
        let (a, b) = cell.counts();
        let published = published::counts(cell.key.net, cell.key.arm, cell.key.scenario);
        result.rows.push(json!({
            "table": match cell.key.net { Net::Good => "5.1", Net::Moderate => "5.2", Net::Congested => "5.3" },
            "network": cell.key.net,
            "scenario": cell.key.scenario.name(),
            "protocol": cell.key.arm,
            "runs": cell.runs.len(),
            "count_a": a,
            "count_b": b,
            "published_50_runs": published.map(|(a, b)| json!({"count_a": a, "count_b": b})),
            "perfect_station": cell.truth as usize * cell.runs.len(),
            "runs_consistent": cell.consistent(),
            "runs_consistent_a_second_later": cell.settled(),
            "runs_correct": cell.correct(),
            "runs_with_false_hit": cell.false_hits(),
            "runs_with_missed_hit": cell.missed_hits(),
            "interval_ms": cell.interval().json(),
            "hits_alone": cell.alone(),
            "deviation_500ms_px": cell.deviation(0).json(),
            "deviation_400ms_px": cell.deviation(1).json(),
            "deviation_500ms_px_runs_with_hit": cell.deviation_of_hits(0).json(),
            "gap_px": cell.over_hits(|run| run.gap).json(),
            "penetration_px": cell.over(|run| run.penetration).json(),
            "jumps": cell.over(|run| run.jumps as f64).json(),
            "jump_most_px": cell.over(|run| run.jump_most).max(),
            "angle_deg": cell.over_hits(|run| run.angle).json(),
            "locks": cell.runs.iter().map(|run| run.locks).sum::<u64>(),
            "longest_lock_ms": cell.over(|run| run.longest_lock_ms).max(),
            "locks_too_long": cell.runs.iter().map(|run| run.overlong).sum::<u64>(),
            "aborted": cell.runs.iter().map(|run| run.aborted).sum::<u64>(),
            "commands_discarded_pct": discarded(cell),
            "bytes_per_sec": bytes_per_sec(cell),
            "latency_ms": cell.over(|run| run.latency_ms).avg(),
            "loss": cell.over(|run| run.lost).avg(),
            "t_lock_ms": setup.lock_ms,
        }));
    }
}

fn discarded(cell: &Cell) -> f64 {
    let [given, lost] = [0, 1].map(|index| {
        let all = cell.runs.iter().map(|run| run.commands[index]);
        all.sum::<u64>() as f64
    });
    100.0 * lost / given.max(1.0)
}

fn bytes_per_sec(cell: &Cell) -> f64 {
    let bytes: u64 = cell.runs.iter().map(|run| run.bytes).sum();
    let secs: f64 = cell.runs.iter().map(|run| run.secs).sum();
    bytes as f64 / secs.max(1e-9)
}

/// Layout of Tables 5.1 to 5.3: protocol by scenario, A/B, the published pair in brackets.
fn counts_table(grid: &Grid, net: Net, runs: u32) -> Table {
    let mut header = vec!["Protocol"];
    header.extend(Scenario::PUBLISHED.iter().map(|one| one.name()));
    let caption = format!(
        "Table {}: hits counted by A/B in {runs} runs; in brackets the published counts of 50 runs. The virtual perfect station counts {runs} in LLC, CLC, CCC and 0 in LLP, CLP, CCP",
        table_number(net)
    );
    let mut table = Table::new(caption, &header);
    for arm in Arm::OFFLINE {
        let mut row = vec![arm.name().to_string()];
        for scenario in Scenario::PUBLISHED {
            let Some(cell) = grid.cell(arm, net, scenario) else {
                row.push("-".into());
                continue;
            };
            let (a, b) = cell.counts();
            let published = published::counts(net, arm, scenario);
            let published = published.map_or(String::new(), |(a, b)| format!(" [{a}/{b}]"));
            row.push(format!("{a}/{b}{published}"));
        }
        table.push(row);
    }
    table
}

fn by_arm(
    caption: &str,
    grid: &Grid,
    arms: &[Arm],
    scenarios: &[Scenario],
    text: &dyn Fn(&Cell) -> String,
) -> Table {
    let columns: Vec<(Net, Scenario)> = Net::ALL
        .into_iter()
        .flat_map(|net| scenarios.iter().map(move |one| (net, *one)))
        .collect();
    let names: Vec<String> = columns
        .iter()
        .map(|(net, scenario)| format!("{} {}", net.name(), scenario.name()))
        .collect();
    let mut header = vec!["Protocol"];
    header.extend(names.iter().map(String::as_str));
    let mut table = Table::new(caption, &header);
    for arm in arms {
        let mut row = vec![arm.name().to_string()];
        row.extend(columns.iter().map(|(net, scenario)| {
            let cell = grid.cell(*arm, *net, *scenario);
            cell.map_or("-".into(), text)
        }));
        table.push(row);
    }
    table
}

fn pm(measure: &Measure) -> String {
    format!("{:.0} ± {:.0}", measure.avg(), measure.std())
}

fn interval_table(grid: &Grid) -> Table {
    let scenarios = [
        Scenario::Llc,
        Scenario::Clc,
        Scenario::Clp,
        Scenario::Ccc,
        Scenario::Ccp,
    ];
    by_arm(
        "Δt_col in ms, average ± standard deviation (Figs 5.10 to 5.14, lost); (n): hits only one station ever learned of; –: no hits",
        grid,
        &Arm::OFFLINE,
        &scenarios,
        &|cell| {
            let measure = cell.interval();
            let alone = match cell.alone() {
                0 => String::new(),
                alone => format!(" ({alone})"),
            };
            match measure.count() {
                0 => format!("–{alone}"),
                _ => format!("{}{alone}", pm(&measure)),
            }
        },
    )
}

fn deviation_table(grid: &Grid, window: usize) -> Table {
    let ms = [500, 400][window];
    let mut scenarios = vec![Scenario::Llc];
    scenarios.extend(Scenario::CURVED);
    by_arm(
        &format!(
            "Post-collision deviation over {ms} ms in px, both replicas, average ± standard deviation over all runs (Figs 5.15 to 5.19, lost)"
        ),
        grid,
        &Arm::OFFLINE,
        &scenarios,
        &|cell| pm(&cell.deviation(window)),
    )
}

fn truth_table(grid: &Grid, scenarios: &[Scenario], what: &str) -> Table {
    by_arm(
        &format!(
            "{what}: runs with a hit that did not happen + runs in which a hit was missed by a station, against the virtual perfect station"
        ),
        grid,
        &Arm::OFFLINE,
        scenarios,
        &|cell| format!("{} + {}", cell.false_hits(), cell.missed_hits()),
    )
}

/// What the thesis judges by eye (5.3.3), as numbers over the C-cells of a network.
fn visual_table(grid: &Grid) -> Table {
    let mut table = Table::new(
        "ML-54: what the thesis judges by eye, over CLC, CLP, CCC and CCP: gap between the surfaces when a hit is played (largest per run), deepest shown overlap, jumps of more than a radius per run and the largest, difference of directions after the same hit, runs where it exceeds 90°",
        &[
            "Network",
            "Protocol",
            "Gap avg/max, px",
            "Gap > 2r, runs",
            "Overlap avg/max, px",
            "Jumps per run",
            "Largest jump, px",
            "Angle avg/max, °",
            "Angle > 90°, runs",
        ],
    );
    for net in Net::ALL {
        for arm in Arm::OFFLINE {
            let cells: Vec<&Cell> = grid
                .of(arm, &Scenario::CURVED)
                .filter(|cell| cell.key.net == net)
                .collect();
            let runs = || cells.iter().flat_map(|cell| &cell.runs);
            let hits = || runs().filter(|run| run.hit());
            let gap: Measure = hits().map(|run| run.gap).collect();
            let overlap: Measure = runs().map(|run| run.penetration).collect();
            let jumps: Measure = runs().map(|run| run.jumps as f64).collect();
            let most = runs().map(|run| run.jump_most).fold(0.0, f64::max);
            let angle: Measure = hits().map(|run| run.angle).collect();
            table.push(vec![
                net.name().into(),
                arm.name().into(),
                format!("{:.1} / {:.0}", gap.avg(), gap.max()),
                hits().filter(|run| run.gap > 20.0).count().to_string(),
                format!("{:.1} / {:.0}", overlap.avg(), overlap.max()),
                format!("{:.2}", jumps.avg()),
                format!("{most:.0}"),
                format!("{:.0} / {:.0}", angle.avg(), angle.max()),
                hits().filter(|run| run.angle > 90.0).count().to_string(),
            ]);
        }
    }
    table
}

fn cost_table(grid: &Grid) -> Table {
    let mut table = Table::new(
        "Cost over CLC, CLP, CCC and CCP, all networks: locks, the longest one, commands lost to locks, failed two-phase agreements, bytes per second of both stations",
        &[
            "Protocol",
            "Locks",
            "Longest, ms",
            "Too long",
            "Commands lost, %",
            "Aborted",
            "Bytes/s",
        ],
    );
    for arm in Arm::OFFLINE {
        let cells: Vec<&Cell> = grid.of(arm, &Scenario::CURVED).collect();
        let runs = || cells.iter().flat_map(|cell| &cell.runs);
        let total = |of: &dyn Fn(&super::encounter::Record) -> u64| runs().map(of).sum::<u64>();
        let given = total(&|run| run.commands[0]).max(1) as f64;
        let secs: f64 = runs().map(|run| run.secs).sum();
        let longest = runs().map(|run| run.longest_lock_ms).fold(0.0, f64::max);
        table.push(vec![
            arm.name().into(),
            total(&|run| run.locks).to_string(),
            format!("{longest:.0}"),
            total(&|run| run.overlong).to_string(),
            format!(
                "{:.2}",
                100.0 * total(&|run| run.commands[1]) as f64 / given
            ),
            total(&|run| run.aborted).to_string(),
            format!("{:.0}", total(&|run| run.bytes) as f64 / secs.max(1e-9)),
        ]);
    }
    table
}

fn cells_csv(grid: &Grid) -> String {
    let mut text = String::from(
        "network,scenario,protocol,runs,count_a,count_b,published_a,published_b,perfect,false_runs,missed_runs,interval_avg_ms,interval_std_ms,interval_min_ms,interval_max_ms,alone,deviation500_avg,deviation500_std,deviation400_avg,deviation400_std,gap_avg,penetration_avg,jumps_avg,angle_avg,longest_lock_ms,too_long\n",
    );
    for cell in grid.all() {
        let (a, b) = cell.counts();
        let published = published::counts(cell.key.net, cell.key.arm, cell.key.scenario);
        let (pa, pb) = published.map_or((String::new(), String::new()), |(a, b)| {
            (a.to_string(), b.to_string())
        });
        let interval = cell.interval();
        let (long, short) = (cell.deviation(0), cell.deviation(1));
        let _ = writeln!(
            text,
            "{},{},{},{},{a},{b},{pa},{pb},{},{},{},{:.3},{:.3},{:.3},{:.3},{},{:.2},{:.2},{:.2},{:.2},{:.3},{:.3},{:.3},{:.2},{:.1},{}",
            cell.key.net.name(),
            cell.key.scenario.name(),
            cell.key.arm.name(),
            cell.runs.len(),
            cell.truth as usize * cell.runs.len(),
            cell.false_hits(),
            cell.missed_hits(),
            interval.avg(),
            interval.std(),
            interval.min(),
            interval.max(),
            cell.alone(),
            long.avg(),
            long.std(),
            short.avg(),
            short.std(),
            cell.over_hits(|run| run.gap).avg(),
            cell.over(|run| run.penetration).avg(),
            cell.over(|run| run.jumps as f64).avg(),
            cell.over_hits(|run| run.angle).avg(),
            cell.over(|run| run.longest_lock_ms).max(),
            cell.runs.iter().map(|run| run.overlong).sum::<u64>(),
        );
    }
    text
}

fn runs_csv(grid: &Grid) -> String {
    let mut text = String::from(
        "network,scenario,protocol,run,count_a,count_b,interval_ms,deviation500,deviation400,gap,penetration,jumps,angle\n",
    );
    // The thesis's own grid; the rest is summed up in cells.csv.
    let curved = grid
        .all()
        .filter(|cell| Scenario::CURVED.contains(&cell.key.scenario));
    let shown = |arm: Arm| Arm::PUBLISHED.contains(&arm) || arm == Arm::Improved;
    for cell in curved.filter(|cell| shown(cell.key.arm)) {
        for (index, run) in cell.runs.iter().enumerate() {
            let interval = run.intervals.first();
            let interval = interval.map_or(String::new(), |ms| format!("{ms:.3}"));
            let _ = writeln!(
                text,
                "{},{},{},{index},{},{},{interval},{:.2},{:.2},{:.2},{:.2},{},{:.1}",
                cell.key.net.name(),
                cell.key.scenario.name(),
                cell.key.arm.name(),
                run.counts[0],
                run.counts[1],
                run.deviation[0],
                run.deviation[1],
                run.gap,
                run.penetration,
                run.jumps,
                run.angle
            );
        }
    }
    text
}
