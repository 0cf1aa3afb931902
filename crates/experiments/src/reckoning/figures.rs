//! Figures of the fairness experiments: SD and mean over time, and errors by receiver.

use super::Scale;
use super::bars::Bars;
use super::plans::Plan;
use super::summary::Summary;
use super::trial::Group;
use crate::plot::{Chart, Line, LineStyle, OURS, THESIS, THIRD};
use crate::result::{ExperimentError, ExperimentResult};
use domain::SimTime;
use plotters::style::RGBColor;
use reckoning::fairness::{
    Measure, PolicyTag, ReceiverId, Rehearsal, export_error, mean, population_sd,
};

/// Points of a line over time.
const POINTS: u32 = 60;

/// Colours for up to eight lines.
pub(super) const COLOURS: [RGBColor; 8] = [
    RGBColor(90, 90, 90),
    THESIS,
    OURS,
    THIRD,
    RGBColor(150, 60, 150),
    RGBColor(220, 160, 0),
    RGBColor(0, 150, 160),
    RGBColor(180, 40, 70),
];

/// SD and mean of the first run over time, of the named policies.
pub(super) fn add_over_time(
    result: &mut ExperimentResult,
    group: &Group,
    plans: &[Plan],
    scale: &Scale,
    published: &str,
) -> Result<(), ExperimentError> {
    let (_, rehearsal) = group.setup.rehearse(scale.seed, 0)?;
    let tags = plans.iter().map(|plan| tag_of(group, plan));
    let series: Vec<_> = tags.map(|tag| over_time(&rehearsal, group, tag)).collect();
    let file = file_of(group);
    for (what, label, of) in [
        (
            "sd",
            "SD of AEE, unit·s",
            population_sd as fn(&[f64]) -> f64,
        ),
        ("mean", "mean AEE, unit·s", mean),
    ] {
        let lines = plans.iter().zip(&series).zip(COLOURS);
        let lines = lines.map(|((plan, points), colour)| Line {
            name: plan.name.into(),
            colour,
            points: points
                .iter()
                .map(|(secs, errors)| (*secs, of(errors)))
                .collect(),
            style: LineStyle::Plain,
        });
        let chart = Chart {
            title: super::relation::place(group),
            x_label: "time, s".into(),
            y_label: label.into(),
            marks: Vec::new(),
            limit: None,
            y_least_top: 0.0,
            lines: lines.collect(),
        };
        result.add_figure(
            &format!("{what}-over-time-{file}.svg"),
            format!(
                "{label} over time, first seed, {}; {published} (lost).",
                super::relation::place(group)
            ),
            chart.svg(),
        );
    }
    Ok(())
}

/// Time and the errors of all receivers, from the start to the end.
fn over_time(rehearsal: &Rehearsal, group: &Group, tag: PolicyTag) -> Vec<(f64, Vec<f64>)> {
    let receivers = group.setup.links.len();
    let at = |point: u32| SimTime(group.setup.end().0 / u64::from(POINTS) * u64::from(point));
    let mut points = vec![(0.0, vec![0.0; receivers])];
    for point in 1..=POINTS {
        // Only what has come since the last point is added up.
        let (from, to) = (at(point - 1), at(point));
        let mut errors = points[point as usize - 1].1.clone();
        for (id, error) in (0..).map(ReceiverId).zip(&mut errors) {
            let followed = rehearsal.followed(tag, id);
            *error += export_error(rehearsal.history(), followed, from, to, &Measure::default());
        }
        points.push((to.as_secs(), errors));
    }
    points
}

fn tag_of(group: &Group, plan: &Plan) -> PolicyTag {
    let index = group
        .setup
        .plans
        .iter()
        .position(|one| one.name == plan.name);
    PolicyTag(index.expect("figures show policies that were run") as u8)
}

/// The end of a group's file names.
fn file_of(group: &Group) -> String {
    let name = group.setup.motion.name();
    match group.setup.spread_ms() {
        0.0 => name.into(),
        spread => format!("{name}-{spread}"),
    }
}

/// Errors by receiver, means over the seeds.
pub(super) fn add_receivers(
    result: &mut ExperimentResult,
    group: &Group,
    plans: &[Plan],
    published: &str,
) {
    let over_seeds = |plan: &Plan, index: usize| {
        let runs = group.outcomes.iter();
        Summary::of(runs.map(|run| run.lane(plan).aee[index])).mean
    };
    let links = &group.setup.links;
    let bars = Bars {
        title: format!("AEE by receiver, {}", super::relation::place(group)),
        y_label: "AEE at the end, unit·s".into(),
        series: links
            .iter()
            .map(|link| format!("{} ms", link.delay_ms))
            .collect(),
        groups: plans
            .iter()
            .map(|plan| {
                let values = (0..links.len()).map(|index| over_seeds(plan, index));
                (plan.name.to_string(), values.collect())
            })
            .collect(),
        spreads: Vec::new(),
    };
    result.add_figure(
        &format!("receivers-{}.svg", file_of(group)),
        format!(
            "AEE of each receiver at the end, means over seeds, {}; {published} (lost).",
            super::relation::place(group)
        ),
        bars.svg(),
    );
}
