//! E2: who hits what he aims at. Two people played against each other in the thesis; here a bot aims at what it sees, and what
//! counts is where the tank really is (DR-39).

use super::motion::Motion;
use super::relation::in_nearly_all;
use super::shooting::{Game, Weapon, play};
use super::summary::{Summary, round};
use super::{Scale, parallel};
use crate::plot::{Chart, Line, LineStyle, OURS, THESIS};
use crate::result::{Claim, ExperimentInfo, ExperimentResult};
use crate::table::Table;
use serde_json::json;
use std::fmt::Write as _;

const DELAYS_MS: [f64; 5] = [50.0, 100.0, 300.0, 500.0, 800.0];
const MOTIONS: [Motion; 4] = super::accuracy::MOTIONS;
struct Case {
    motion: Motion,
    delay_ms: f64,
    games: Vec<Game>,
}

/// Runs E2.
pub(super) fn run(
    info: &ExperimentInfo,
    scale: &Scale,
    progress: &mut dyn FnMut(f64),
) -> ExperimentResult {
    let mut jobs = Vec::new();
    for motion in MOTIONS {
        for delay_ms in DELAYS_MS {
            jobs.extend((0..scale.seeds).map(|run| (motion, delay_ms, run)));
        }
    }
    let work = |(motion, delay_ms, run): &(Motion, f64, u32)| {
        play(
            *motion,
            *delay_ms,
            motion.seed(scale.seed, *run),
            scale.secs,
        )
    };
    let games = parallel::map(&jobs, work, progress);
    let per_case = scale.seeds as usize;
    let cases: Vec<Case> = jobs
        .chunks(per_case)
        .zip(games.chunks(per_case))
        .map(|(jobs, games)| Case {
            motion: jobs[0].0,
            delay_ms: jobs[0].1,
            games: games.to_vec(),
        })
        .collect();
    let mut result = ExperimentResult::new(info, scale.seed);
    add_table(&mut result, &cases);
    for motion in MOTIONS {
        for weapon in 0..Weapon::ALL.len() {
            result.claims.extend(claims(motion, weapon, &cases));
        }
        add_figure(&mut result, motion, &cases);
    }
    result.add_data("points.csv", csv(&cases));
    result.notes.extend([
        "The thesis had two people play several games and gives no numbers: \"hit rate better with the global clock, most with high delay\". The bot shoots every 0.5 s from 60 units away in a random direction; a tank is 6 by 2.8 units, a shell makes 100 units/s.".into(),
        "Even a perfect picture does not hit always: a tank that changes course while the shell flies is missed. A laser aimed at the right place cannot miss.".into(),
        "At 50 and 100 ms a local clock is 1.25 and 2.5 units behind, less than half a tank's length: both clocks hit. At 800 ms the global clock, too, misses what has turned meanwhile, so the gap does not grow for ever.".into(),
    ]);
    result
}

fn case(cases: &[Case], motion: Motion, delay_ms: f64) -> &Case {
    let found = cases
        .iter()
        .find(|case| case.motion == motion && case.delay_ms == delay_ms);
    found.expect("every motion is played at every delay")
}

fn add_table(result: &mut ExperimentResult, cases: &[Case]) {
    let mut table = Table::new(
        "E2: shots that hit, %; the thesis gives no numbers",
        &[
            "Motion",
            "Weapon",
            "Delay",
            "Triggers/s",
            "Shots",
            "Local",
            "Global",
            "Gap, points",
        ],
    );
    for case in cases {
        let rate = Summary::of(case.games.iter().map(|game| game.triggers_per_sec));
        for (weapon, name) in Weapon::ALL.map(Weapon::name).into_iter().enumerate() {
            let over = |of: &dyn Fn(&Game) -> f64| Summary::of(case.games.iter().map(of));
            let [local, global] = [0, 1].map(|clock| over(&|game| game.rates(weapon)[clock]));
            let gap = over(&|game| game.gap(weapon));
            result.rows.push(json!({
                "table": "E2",
                "motion": case.motion,
                "weapon": name,
                "delay_ms": case.delay_ms,
                "seeds": case.games.len(),
                "shots": case.games.iter().map(|game| game.shots).sum::<u32>(),
                "triggers_per_sec": rate.json(),
                "local_hit_pct": local.json(),
                "global_hit_pct": global.json(),
                "gap_points": gap.json(),
                "published": "no numbers",
            }));
            table.push(vec![
                case.motion.name().into(),
                name.into(),
                format!("{} ms", case.delay_ms),
                format!("{:.1}", rate.mean),
                case.games
                    .iter()
                    .map(|game| game.shots)
                    .sum::<u32>()
                    .to_string(),
                local.text(),
                global.text(),
                gap.text(),
            ]);
        }
    }
    result.tables.push(table);
}

fn numbers(motion: Motion, weapon: usize, cases: &[Case]) -> String {
    let texts = DELAYS_MS.map(|delay_ms| {
        let games = &case(cases, motion, delay_ms).games;
        let [local, global] = [0, 1]
            .map(|clock| Summary::of(games.iter().map(|game| game.rates(weapon)[clock])).mean);
        format!("{delay_ms} ms {local:.0} → {global:.0} %")
    });
    texts.join(", ")
}

/// A relation between the gaps of one seed, in the order of [`DELAYS_MS`].
fn claim(
    motion: Motion,
    weapon: usize,
    cases: &[Case],
    text: &str,
    holds: impl Fn(&[f64; 5]) -> bool,
) -> Claim {
    let seeds = case(cases, motion, DELAYS_MS[0]).games.len();
    let gaps: Vec<[f64; 5]> = (0..seeds)
        .map(|seed| DELAYS_MS.map(|delay| case(cases, motion, delay).games[seed].gap(weapon)))
        .collect();
    let (holds, held) = in_nearly_all(&gaps, holds);
    let rate = case(cases, motion, DELAYS_MS[0]).games.iter();
    let rate = Summary::of(rate.map(|game| game.triggers_per_sec)).mean;
    Claim::new(
        "DR-39",
        format!(
            "{} ({rate:.1} triggers/s), {}: {text}",
            motion.name(),
            Weapon::ALL[weapon].name()
        ),
        holds,
        format!(
            "local → global: {}; in {held} of {seeds} seeds",
            numbers(motion, weapon, cases)
        ),
    )
}

/// "Better with the global clock, most with high delay": the thesis's relation, in parts, since not all of it holds.
fn claims(motion: Motion, weapon: usize, cases: &[Case]) -> [Claim; 3] {
    let claim = |text, holds: fn(&[f64; 5]) -> bool| claim(motion, weapon, cases, text, holds);
    [
        claim(
            "the global clock hits more often than the local one at every delay from 300 ms on",
            |gaps| gaps[2..].iter().all(|gap| *gap > 0.0),
        ),
        claim(
            "the gap is larger at 300, 500 and 800 ms than at 50 and 100 ms",
            |gaps| gaps[2..].iter().all(|gap| *gap > gaps[0].max(gaps[1])),
        ),
        claim("the gap grows on from 300 to 500 to 800 ms", |gaps| {
            gaps[2] < gaps[3] && gaps[3] < gaps[4]
        }),
    ]
}

fn add_figure(result: &mut ExperimentResult, motion: Motion, cases: &[Case]) {
    let mut lines = Vec::new();
    for (clock, name, colour) in [(0, "local", THESIS), (1, "global", OURS)] {
        for (weapon, style) in [(0, LineStyle::Dotted), (1, LineStyle::Plain)] {
            let points = DELAYS_MS.map(|delay_ms| {
                let games = case(cases, motion, delay_ms).games.iter();
                let rate = Summary::of(games.map(|game| game.rates(weapon)[clock]));
                (delay_ms, rate.mean)
            });
            let dots = if weapon == 0 { " (dots)" } else { "" };
            lines.push(Line {
                name: format!("{name}, {}{dots}", Weapon::ALL[weapon].name()),
                colour,
                points: points.to_vec(),
                style,
            });
        }
    }
    let chart = Chart {
        title: format!("Shots that hit, {} motion", motion.name()),
        x_label: "delay, ms".into(),
        y_label: "hits, %".into(),
        marks: Vec::new(),
        limit: None,
        y_least_top: 100.0,
        lines,
    };
    result.add_figure(
        &format!("hits-{}.svg", motion.name()),
        format!(
            "Hit rate by delay and clock, {} motion, means over seeds. The thesis has no figure of it.",
            motion.name()
        ),
        chart.svg(),
    );
}

fn csv(cases: &[Case]) -> String {
    let mut text = String::from(
        "motion,delay_ms,run,triggers_per_sec,shots,shell_local,shell_global,laser_local,laser_global\n",
    );
    for case in cases {
        for (run, game) in case.games.iter().enumerate() {
            let [[a, b], [c, d]] = game.hits;
            let _ = writeln!(
                text,
                "{},{},{run},{},{},{a},{b},{c},{d}",
                case.motion.name(),
                case.delay_ms,
                round(game.triggers_per_sec),
                game.shots
            );
        }
    }
    text
}
