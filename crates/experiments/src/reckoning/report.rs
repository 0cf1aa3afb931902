//! Groups as rows, tables and raw data.

use super::plans::Plan;
use super::summary::{Summary, round};
use super::trial::{Group, Lane};
use crate::result::ExperimentResult;
use crate::table::Table;
use serde_json::json;
use std::fmt::Write as _;

/// What to compare with, and what the thesis says of each policy.
pub(super) struct Comparison<'a> {
    /// The base case, or 1/3 base.
    pub reference: Plan,
    /// The relation the thesis states for a policy, with its figures; empty if it has nothing on it.
    pub published: &'a dyn Fn(&str) -> &'static str,
}

/// Adds rows, a table per group and the values of every seed.
pub(super) fn add(result: &mut ExperimentResult, groups: &[Group], comparison: &Comparison<'_>) {
    for group in groups {
        add_group(result, group, comparison);
    }
    result.add_data("points.csv", csv(groups));
}

/// The receivers of a group by name; too many are not listed one by one.
fn receivers(group: &Group) -> Vec<String> {
    let links = &group.setup.links;
    let shown = if links.len() <= 6 { links.len() } else { 0 };
    let names = links[..shown]
        .iter()
        .map(|link| format!("{}", link.delay_ms));
    names.collect()
}

fn add_group(result: &mut ExperimentResult, group: &Group, comparison: &Comparison<'_>) {
    let names = receivers(group);
    let by_receiver: Vec<String> = names.iter().map(|name| format!("{name} ms")).collect();
    let reference = comparison.reference.name;
    let (mean_by, sd_by) = (format!("Mean ÷ {reference}"), format!("SD ÷ {reference}"));
    let mut header = vec!["Policy"];
    header.extend(by_receiver.iter().map(String::as_str));
    header.extend(["Mean", "SD", "Worst", "Vectors", &mean_by, &sd_by, "Thesis"]);
    let caption = format!(
        "{}, {} receivers, {} s, {} seeds. AEE in unit·s; published values are lost.",
        super::relation::place(group),
        group.setup.links.len(),
        group.setup.secs,
        group.outcomes.len()
    );
    let mut table = Table::new(caption, &header);
    for plan in &group.setup.plans {
        let over = |of: &dyn Fn(&Lane) -> f64| {
            Summary::of(group.outcomes.iter().map(|run| of(run.lane(plan))))
        };
        let ratio = |of: &dyn Fn(&Lane) -> f64| {
            super::relation::ratio(group, plan, &comparison.reference, of)
        };
        let errors: Vec<Summary> = (0..names.len())
            .map(|index| over(&|lane| lane.aee[index]))
            .collect();
        let (mean, sd, worst) = (over(&Lane::mean), over(&Lane::sd), over(&Lane::worst));
        let sent = over(&|lane| lane.sent as f64);
        let (mean_ratio, sd_ratio) = (ratio(&Lane::mean), ratio(&Lane::sd));
        let published = (comparison.published)(plan.name);
        let mut cells = vec![plan.name.to_string()];
        cells.extend(errors.iter().map(Summary::text));
        cells.extend([mean.text(), sd.text(), worst.text()]);
        cells.push(format!("{:.0}", sent.mean));
        cells.extend([mean_ratio.range(), sd_ratio.range(), published.to_string()]);
        table.push(cells);
        let rate = Summary::of(group.outcomes.iter().map(|run| run.triggers_per_sec));
        let errors: serde_json::Map<String, serde_json::Value> = names
            .iter()
            .cloned()
            .zip(errors.iter().map(Summary::json))
            .collect();
        result.rows.push(json!({
            "regime": group.setup.motion,
            "spread_ms": group.setup.spread_ms(),
            "loss": group.setup.links.first().map_or(0.0, |link| link.loss),
            "receivers": group.setup.links.len(),
            "policy": plan.name,
            "seeds": group.outcomes.len(),
            "secs": group.setup.secs,
            "triggers_per_sec": rate.json(),
            "aee_by_delay_ms": errors,
            "mean_aee": mean.json(),
            "sd_aee": sd.json(),
            "worst_aee": worst.json(),
            "vectors_sent": sent.json(),
            "reference": reference,
            "mean_ratio": mean_ratio.json(),
            "sd_ratio": sd_ratio.json(),
            "longest_gap_triggers": group.outcomes.iter().map(|run| run.lane(plan).longest_gap).max(),
            "published": if published.is_empty() { serde_json::Value::Null } else { published.into() },
        }));
    }
    result.tables.push(table);
}

fn csv(groups: &[Group]) -> String {
    let mut text = String::from(
        "regime,spread_ms,loss,receivers,policy,run,triggers_per_sec,mean_aee,sd_aee,worst_aee,vectors_sent,longest_gap\n",
    );
    for group in groups {
        let setup = &group.setup;
        let loss = setup.links.first().map_or(0.0, |link| link.loss);
        for run in &group.outcomes {
            for lane in &run.lanes {
                let _ = writeln!(
                    text,
                    "{},{},{loss},{},\"{}\",{},{},{},{},{},{},{}",
                    setup.motion.name(),
                    setup.spread_ms(),
                    setup.links.len(),
                    lane.policy,
                    run.run,
                    round(run.triggers_per_sec),
                    round(lane.mean()),
                    round(lane.sd()),
                    round(lane.worst()),
                    lane.sent,
                    lane.longest_gap
                );
            }
        }
    }
    text
}
