//! `ml-online`: one body against seven, round after round (Chen 2010, 5.4), under virtual time and over real sockets.

use super::arms::Arm;
use super::online_play::{OnlineSetup, Outcome, play};
use super::rounds::Field;
use super::{online_claims, online_udp, published};
use crate::reckoning::bars::Bars;
use crate::reckoning::{parallel, part};
use crate::result::{ExperimentError, ExperimentInfo, ExperimentResult, RunOptions};
use crate::table::Table;
use serde_json::{Value, json};
use simulator::stations::Measure;

/// Runs it.
pub(super) fn run(
    info: &ExperimentInfo,
    options: &RunOptions,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    let setup = OnlineSetup {
        secs: if options.quick { 60.0 } else { 1200.0 },
        ..OnlineSetup::default()
    };
    let mut result = ExperimentResult::new(info, options.seed);
    let outcomes = parallel::map(
        &Arm::ONLINE,
        |arm| play(*arm, &setup, options.seed),
        &mut part(progress, 0.0, 0.4),
    );
    add_tables(&mut result, &outcomes);
    result
        .claims
        .extend(online_claims::all(&outcomes, setup.lock_ms));
    add_figures(&mut result, &outcomes);
    let others = add_sensitivity(&mut result, options, &setup, &mut part(progress, 0.4, 0.7));
    result.tables.push(others);
    online_udp::add(&mut result, options, &setup, &mut part(progress, 0.7, 1.0))?;
    result.notes.extend([
        format!("Free parameters (the texts omit them), chosen once: {}. Deviations are in the world's units.", setup.json()),
        "Published: two machines over the Internet between Montreal and Longueuil, residential lines, latency not reported, NetZ's sample game. Absolute numbers cannot be compared; relations can.".into(),
        "Every frame of a master is one steering command: towards the centre at the beginning of each round of 3 s, homewards after it has hit something or passed the centre.".into(),
        "Bytes: payload of the datagrams at A, kB/s, in windows of 1 s; messages of a frame share a datagram in all protocols. The thesis prints kByte, the paper kBPS.".into(),
        "Overlaps: shown overlaps of a master and a replica deeper than half a radius. Jumps: shown replicas that moved by more than a radius in a way their velocity does not explain.".into(),
    ]);
    Ok(result)
}

fn three(measure: &Measure) -> String {
    format!(
        "{:.2} / {:.2} / {:.2}",
        measure.avg(),
        measure.std(),
        measure.max()
    )
}

fn add_tables(result: &mut ExperimentResult, outcomes: &[Outcome]) {
    let minutes = outcomes.first().map_or(0.0, |one| one.secs / 60.0);
    let mut deviation = Table::new(
        format!(
            "Table 5.4: deviation of M1's replica, {minutes} minutes; in brackets as published (20 minutes)"
        ),
        &["Protocol", "Sum", "Avg", "Std", "Max"],
    );
    let mut interval = Table::new(
        "Table 5.5: Δt_col over M1 and its seven pairs, ms; published averages, deviations and maxima in brackets",
        &[
            "Protocol",
            "Avg",
            "Std",
            "Max",
            "Hits A/B",
            "Alone",
            "Pairs that differ at the end",
        ],
    );
    let mut bytes = Table::new(
        "Tables 5.6 and 5.7: kB/s at A, avg / std / max; published in brackets",
        &["Protocol", "Sent", "Received"],
    );
    let mut commands = Table::new(
        "Section 5.4.4: commands to M1 lost to locks",
        &[
            "Protocol",
            "Given",
            "Lost",
            "%",
            "Published",
            "Locks",
            "Longest, ms",
            "Body held at most, ms",
        ],
    );
    let mut seen = Table::new(
        "ML-54: what the thesis judges by eye (5.4.3)",
        &[
            "Protocol",
            "Deepest overlap",
            "Overlaps",
            "Jumps",
            "Largest jump",
            "Gap at a bounce (B) avg/max",
            "Angle avg/max, °",
        ],
    );
    for one in outcomes {
        let published = published::online(one.arm);
        let bracket = |of: &dyn Fn(&published::Online) -> String| {
            published
                .as_ref()
                .map_or(String::new(), |row| format!(" [{}]", of(row)))
        };
        let name = one.arm.name().to_string();
        deviation.push(vec![
            name.clone(),
            format!(
                "{:.0}{}",
                one.deviation.sum(),
                bracket(&|row| row.deviation_sum.to_string())
            ),
            format!(
                "{:.3}{}",
                one.deviation.avg(),
                bracket(&|row| row.deviation_avg.to_string())
            ),
            format!(
                "{:.2}{}",
                one.deviation.std(),
                bracket(&|row| row.deviation_std.to_string())
            ),
            format!(
                "{:.1}{}",
                one.deviation.max(),
                bracket(&|row| row.deviation_max.to_string())
            ),
        ]);
        let at = |index: usize| {
            bracket(&|row| {
                row.interval_ms
                    .map_or("unbounded".into(), |ms| ms[index].to_string())
            })
        };
        interval.push(vec![
            name.clone(),
            format!("{:.2}{}", one.interval.avg(), at(0)),
            format!("{:.2}{}", one.interval.std(), at(1)),
            format!("{:.0}{}", one.interval.max(), at(2)),
            format!("{}/{}", one.hits[0], one.hits[1]),
            one.alone.to_string(),
            one.inconsistent.to_string(),
        ]);
        let triple = |values: [f64; 3]| values.map(|value| value.to_string()).join(" / ");
        bytes.push(vec![
            name.clone(),
            format!("{}{}", three(&one.sent), bracket(&|row| triple(row.sent))),
            format!(
                "{}{}",
                three(&one.received),
                bracket(&|row| triple(row.received))
            ),
        ]);
        let lost = published.as_ref().and_then(|row| row.commands);
        commands.push(vec![
            name.clone(),
            one.commands[0].to_string(),
            one.commands[1].to_string(),
            format!("{:.2}", one.discarded_pct()),
            lost.map_or("-".into(), |(all, lost)| {
                format!(
                    "{lost} of {all} ({:.2} %)",
                    100.0 * f64::from(lost) / f64::from(all)
                )
            }),
            one.locks.to_string(),
            format!("{:.0}", one.longest_lock_ms),
            format!("{:.0}", one.longest_held_ms),
        ]);
        seen.push(vec![
            name,
            format!("{:.1}", one.penetration),
            one.overlaps.to_string(),
            one.jumps.count().to_string(),
            format!("{:.0}", one.jumps.max()),
            format!("{:.1} / {:.0}", one.gap.avg(), one.gap.max()),
            format!("{:.0} / {:.0}", one.angle.avg(), one.angle.max()),
        ]);
        result.rows.push(row_json(one, "virtual"));
    }
    result
        .tables
        .extend([deviation, interval, bytes, commands, seen]);
}

pub(super) fn row_json(one: &Outcome, network: &str) -> Value {
    json!({
        "table": "5.4-5.7",
        "network": network,
        "protocol": one.arm,
        "secs": one.secs,
        "deviation": one.deviation.json(),
        "interval_ms": one.interval.json(),
        "hits": one.hits,
        "hits_alone": one.alone,
        "pairs_inconsistent": one.inconsistent,
        "sent_kb_s": one.sent.json(),
        "received_kb_s": one.received.json(),
        "commands": one.commands[0],
        "commands_discarded": one.commands[1],
        "commands_discarded_pct": one.discarded_pct(),
        "penetration": one.penetration,
        "overlaps": one.overlaps,
        "jumps": one.jumps.json(),
        "angle_deg": one.angle.json(),
        "gap": one.gap.json(),
        "locks": one.locks,
        "locks_too_long": one.overlong,
        "longest_lock_ms": one.longest_lock_ms,
        "longest_held_ms": one.longest_held_ms,
        "published": published::online(one.arm),
    })
}

fn add_figures(result: &mut ExperimentResult, outcomes: &[Outcome]) {
    let bars = |title: &str, label: &str, of: &dyn Fn(&Outcome) -> Measure| {
        let measures: Vec<Measure> = outcomes.iter().map(of).collect();
        Bars {
            title: title.into(),
            y_label: label.into(),
            series: vec!["ours".into()],
            groups: outcomes
                .iter()
                .zip(&measures)
                .map(|(one, measure)| (one.arm.name().to_string(), vec![measure.avg()]))
                .collect(),
            spreads: measures.iter().map(|measure| vec![measure.std()]).collect(),
        }
        .svg()
    };
    let deviation = bars("Deviation of M1's replica", "units", &|one| one.deviation);
    result.add_figure(
        "deviation.svg",
        "Average and standard deviation of M1's replica's deviation (Table 5.4).",
        deviation,
    );
    let interval = bars("Collision inconsistency interval", "ms", &|one| {
        one.interval
    });
    result.add_figure(
        "interval.svg",
        "Average and standard deviation of Δt_col over M1's seven pairs (Table 5.5).",
        interval,
    );
}

/// The relations on other networks, frames and rounds.
fn add_sensitivity(
    result: &mut ExperimentResult,
    options: &RunOptions,
    setup: &OnlineSetup,
    progress: &mut dyn FnMut(f64),
) -> Table {
    let base = OnlineSetup {
        secs: if options.quick { 30.0 } else { 300.0 },
        ..*setup
    };
    let mut all = vec![("as chosen", base)];
    if !options.quick {
        let field = base.field;
        all.extend([
            (
                "10 ms",
                OnlineSetup {
                    latency_ms: 10.0,
                    ..base
                },
            ),
            (
                "50 ms, 5 % lost",
                OnlineSetup {
                    latency_ms: 50.0,
                    loss: 0.05,
                    ..base
                },
            ),
            (
                "100 ms, 10 % lost",
                OnlineSetup {
                    latency_ms: 100.0,
                    loss: 0.1,
                    ..base
                },
            ),
            (
                "speed 75",
                OnlineSetup {
                    field: Field {
                        speed: 75.0,
                        ..field
                    },
                    ..base
                },
            ),
            (
                "speed 250",
                OnlineSetup {
                    field: Field {
                        speed: 250.0,
                        ..field
                    },
                    ..base
                },
            ),
            (
                "rounds of 4.5 s",
                OnlineSetup {
                    field: Field {
                        round_secs: 4.5,
                        ..field
                    },
                    ..base
                },
            ),
            (
                "frames in step, 20 ms",
                OnlineSetup {
                    frame_ms: [20.0, 20.0],
                    ..base
                },
            ),
            (
                "threshold 0.3",
                OnlineSetup {
                    threshold: 0.3,
                    ..base
                },
            ),
        ]);
    }
    let mut table = Table::new(
        format!(
            "Sensitivity to the free parameters, {} s each: deviation avg · Δt_col avg/max ms · commands lost % · overlaps",
            base.secs
        ),
        &[
            "Choice",
            "Control",
            "Post-collision",
            "Motion-lock",
            "+ buckets",
            "Ours",
            "Ours + buckets",
        ],
    );
    let jobs: Vec<(usize, Arm)> = (0..all.len())
        .flat_map(|index| Arm::ONLINE.into_iter().map(move |arm| (index, arm)))
        .collect();
    let work = |job: &(usize, Arm)| play(job.1, &all[job.0].1, options.seed);
    let outcomes = parallel::map(&jobs, work, progress);
    for (index, (name, setup)) in all.iter().enumerate() {
        let mut row = vec![(*name).to_string()];
        let own = &outcomes[index * Arm::ONLINE.len()..][..Arm::ONLINE.len()];
        for one in own {
            row.push(format!(
                "{:.2} · {:.0}/{:.0} · {:.1} · {}",
                one.deviation.avg(),
                one.interval.avg(),
                one.interval.max(),
                one.discarded_pct(),
                one.overlaps
            ));
            let mut json = row_json(one, name);
            json["table"] = "sensitivity".into();
            json["setup"] = setup.json();
            result.rows.push(json);
        }
        table.push(row);
    }
    table
}
