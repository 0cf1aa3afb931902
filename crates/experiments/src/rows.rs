//! Counts as the thesis prints them: rows of Tables 5.1 and 5.2, and the raw grid points.

use crate::campaign::{Cell, Outcome};
use crate::head_on::Geometry;
use crate::published::{self, PublishedRow};
use crate::settings::Setting;
use crate::table::Table;
use crate::tally::{Tally, percent};
use crate::variants::Variant;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// One row: a setting on one side of its tolerance, under one set of rules.
pub(crate) struct Row {
    pub setting: Setting,
    pub below: bool,
    pub variant: Variant,
    pub geometry: Geometry,
    pub tally: Tally,
}

impl Row {
    /// The sum of a setting's cells on one side of the tolerance.
    pub fn of<'a>(
        cells: impl IntoIterator<Item = &'a Outcome>,
        setting: &Setting,
        below: bool,
        variant: Variant,
        geometry: Geometry,
    ) -> Self {
        let wanted = |cell: &Cell| {
            cell.setting == *setting
                && cell.variant == variant
                && cell.geometry == geometry
                && cell.is_below() == below
        };
        let tallies = cells
            .into_iter()
            .filter(|outcome| wanted(&outcome.cell))
            .map(|outcome| &outcome.tally);
        Self {
            setting: *setting,
            below,
            variant,
            geometry,
            tally: Tally::sum(tallies),
        }
    }

    fn published(&self) -> Option<&'static PublishedRow> {
        published::row_of(&self.setting, self.below)
    }

    fn table_number(&self) -> &'static str {
        if self.below { "5.1" } else { "5.2" }
    }

    pub fn json(&self) -> Value {
        let tally = &self.tally;
        json!({
            "table": self.table_number(),
            "factor": self.setting.factor,
            "tolerance": self.setting.tolerance,
            "unit": self.setting.factor.unit(),
            "hop_steps": self.setting.hop_steps(),
            "variant": self.variant,
            "radius_m": self.geometry.radius_m,
            "contact_offset_m": self.geometry.contact_offset_m,
            "runs": tally.runs,
            "n": tally.n(),
            "late": tally.late,
            "late_pct": percent(tally.late, tally.n()),
            "late_of_correct_pct": percent(tally.late, tally.correct),
            "missed": tally.missed,
            "miss_pct": percent(tally.missed, tally.n()),
            "thrashing": tally.thrashed,
            "just_migrated": tally.just_migrated,
            "just_migrated_late": tally.just_migrated_late,
            "worst_penetration_steps": tally.penetration.most,
            "published": self.published(),
        })
    }
}

/// A table in the form of 5.1 or 5.2 with the published columns beside ours.
pub(crate) fn table(caption: String, rows: &[Row]) -> Table {
    let mut table = Table::new(
        caption,
        &[
            "Factor",
            "Tolerance",
            "n",
            "N",
            "Late %",
            "Late/correct %",
            "Miss %",
            "Thrashing",
            "Just migrated: late",
            "Worst, steps",
            "Published N",
            "Late %",
            "Miss %",
            "Thrashing",
        ],
    );
    for row in rows {
        let tally = &row.tally;
        let published =
            |text: &dyn Fn(&PublishedRow) -> String| row.published().map_or("-".into(), text);
        table.push(vec![
            row.setting.factor.name().into(),
            row.setting.label(),
            row.setting.hop_steps().to_string(),
            tally.n().to_string(),
            share(tally.late, tally.n()),
            share(tally.late, tally.correct),
            share(tally.missed, tally.n()),
            tally.thrashed.to_string(),
            format!("{} of {}", tally.just_migrated_late, tally.just_migrated),
            format!("{:.2}", tally.penetration.most),
            published(&|row| row.n.to_string()),
            published(&|row| row.late_pct.to_string()),
            published(&|row| row.miss_pct.to_string()),
            published(&|row| row.thrashing.to_string()),
        ]);
    }
    table
}

/// "0" or "1.25 [20]": per cent and count.
pub(crate) fn share(part: u32, whole: u32) -> String {
    match (part, whole) {
        (0, 0) => "-".into(),
        (0, _) => "0".into(),
        _ => format!("{:.2} [{part}]", percent(part, whole)),
    }
}

/// Every grid point, for whoever wants to draw another figure.
pub(crate) fn csv(outcomes: &[Outcome]) -> String {
    let mut text = String::from(
        "part,factor,tolerance,variant,radius_m,contact_offset_m,value,runs,n,correct,late,missed,thrashed,\
         thrashed_and_late_or_missed,just_migrated,just_migrated_late,penetration_mean_steps,penetration_sd_steps,\
         penetration_least_steps,penetration_most_steps\n",
    );
    for Outcome { cell, tally } in outcomes {
        let p = &tally.penetration;
        let _ = writeln!(
            text,
            "{},{},{},{},{:.4},{:.4},{},{},{},{},{},{},{},{},{},{},{:.4},{:.4},{:.4},{:.4}",
            cell.part.name(),
            cell.setting.factor.name(),
            cell.setting.tolerance,
            cell.variant.name(),
            cell.geometry.radius_m,
            cell.geometry.contact_offset_m,
            round(cell.value),
            tally.runs,
            tally.n(),
            tally.correct,
            tally.late,
            tally.missed,
            tally.thrashed,
            tally.thrashed_wrong,
            tally.just_migrated,
            tally.just_migrated_late,
            p.mean(),
            p.deviation(),
            p.least,
            p.most
        );
    }
    text
}

/// Without the last bits that steps of 0.05 leave behind.
pub(crate) fn round(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::Part;
    use crate::settings::LATENCIES;

    fn outcome(value: f64, correct: u32, late: u32) -> Outcome {
        Outcome {
            cell: Cell {
                part: Part::Grid,
                setting: LATENCIES[0],
                value,
                variant: Variant::Ours,
                geometry: Geometry::LARGE,
                speed_spread: 1.0,
                runs: correct + late,
            },
            tally: Tally {
                runs: correct + late,
                correct,
                late,
                ..Tally::default()
            },
        }
    }

    /// AP-54: the table's form: each side of the tolerance summed, late of N and of correct, the published row beside it.
    #[test]
    fn rows_sum_one_side_of_the_tolerance() {
        let cells = [
            outcome(0.0, 50, 0),
            outcome(2.0, 40, 10),
            outcome(2.05, 25, 25),
        ];
        let row =
            |below| Row::of(&cells, &LATENCIES[0], below, Variant::Ours, Geometry::LARGE).json();
        let (below, above) = (row(true), row(false));
        assert_eq!((&below["n"], &below["late"]), (&json!(100), &json!(10)));
        assert_eq!(below["late_of_correct_pct"], json!(100.0 / 9.0));
        assert_eq!(below["published"]["late_pct"], json!(10.7));
        assert_eq!(
            (&above["late_pct"], &above["published"]["thrashing"]),
            (&json!(50.0), &json!(0))
        );
    }

    #[test]
    fn every_grid_point_is_a_line() {
        let csv = csv(&[outcome(0.05 * 3.0, 50, 0)]);
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].split(',').count(), lines[1].split(',').count());
        assert!(lines[1].contains(",0.15,"), "{}", lines[1]);
    }
}
