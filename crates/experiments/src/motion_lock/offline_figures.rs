//! Bars in the form of Figs 5.10 to 5.19.

use super::arms::Arm;
use super::cells::{Cell, Grid};
use super::networks::Net;
use crate::reckoning::bars::Bars;
use crate::result::ExperimentResult;
use scenes::encounters::Scenario;
use simulator::stations::Measure;

const SHOWN: [Arm; 5] = [
    Arm::Control,
    Arm::SuperNode,
    Arm::PostCollision,
    Arm::MotionLock,
    Arm::Improved,
];

const SCENARIOS: [Scenario; 5] = [
    Scenario::Llc,
    Scenario::Clc,
    Scenario::Clp,
    Scenario::Ccc,
    Scenario::Ccp,
];

/// Adds a figure per scenario and quantity.
pub(super) fn add(result: &mut ExperimentResult, grid: &Grid) {
    for (index, scenario) in SCENARIOS.into_iter().enumerate() {
        let name = scenario.name();
        let low = name.to_lowercase();
        let figure = bars(grid, scenario, &SHOWN[1..], "Δt_col, ms", &|cell| {
            cell.interval()
        });
        result.add_figure(
            &format!("interval-{low}.svg"),
            format!(
                "Δt_col in {name}, average and standard deviation of all hits both stations know of; as Fig. 5.{} (lost). Control has no agreement and is left out, as there.",
                10 + index
            ),
            figure,
        );
        for (window, ms) in [(0, 500), (1, 400)] {
            let label = format!("deviation over {ms} ms, px");
            let figure = bars(grid, scenario, &SHOWN, &label, &|cell| {
                cell.deviation(window)
            });
            result.add_figure(
                &format!("deviation-{low}-{ms}.svg"),
                format!(
                    "Post-collision deviation over {ms} ms in {name}, average and standard deviation over all runs; as Fig. 5.{} (lost){}.",
                    15 + index,
                    if ms == 400 { ", with the paper's window" } else { "" }
                ),
                figure,
            );
        }
    }
}

fn bars(
    grid: &Grid,
    scenario: Scenario,
    arms: &[Arm],
    label: &str,
    of: &dyn Fn(&Cell) -> Measure,
) -> String {
    let measures: Vec<Vec<Measure>> = Net::ALL
        .iter()
        .map(|net| {
            let cells = arms.iter().map(|arm| grid.cell(*arm, *net, scenario));
            cells.map(|cell| cell.map(of).unwrap_or_default()).collect()
        })
        .collect();
    let groups = Net::ALL.iter().zip(&measures).map(|(net, row)| {
        let name = format!("{} ({} ms)", net.name(), net.latency_ms());
        (name, row.iter().map(Measure::avg).collect())
    });
    let spreads = measures
        .iter()
        .map(|row| row.iter().map(Measure::std).collect());
    Bars {
        title: scenario.name().into(),
        y_label: label.into(),
        series: arms.iter().map(|arm| arm.name().to_string()).collect(),
        groups: groups.collect(),
        spreads: spreads.collect(),
    }
    .svg()
}
