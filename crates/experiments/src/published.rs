//! The numbers the thesis gives in its text: Tables 5.1 and 5.2. (Its figures are lost to us: only captions survive. No number
//! is read from a figure.)

use crate::settings::{Factor, Setting};
use serde::Serialize;

/// One row of Table 5.1 or 5.2.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PublishedRow {
    /// "5.1" (within the tolerance) or "5.2" (beyond it).
    pub table: &'static str,
    /// What was varied.
    pub factor: Factor,
    /// As printed, in the factor's unit.
    pub tolerance: f64,
    /// Runs that did not thrash.
    pub n: u32,
    /// Late collisions, % of `n`, as printed.
    pub late_pct: f64,
    /// Missed collisions, % of `n`, as printed.
    pub miss_pct: f64,
    /// Runs that thrashed.
    pub thrashing: u32,
}

const fn row(
    table: &'static str,
    factor: Factor,
    tolerance: f64,
    n: u32,
    late_pct: f64,
    miss_pct: f64,
    thrashing: u32,
) -> PublishedRow {
    PublishedRow {
        table,
        factor,
        tolerance,
        n,
        late_pct,
        miss_pct,
        thrashing,
    }
}

use Factor::{FrameTime, Latency, Speed};

/// Both tables.
pub const ROWS: [PublishedRow; 18] = [
    row("5.1", Speed, 16.0, 800, 1.0, 0.13, 0),
    row("5.1", Speed, 32.0, 1600, 0.688, 0.0422, 0),
    row("5.1", Speed, 48.0, 2372, 0.632, 0.0, 28),
    row("5.1", Latency, 2.0, 1920, 10.7, 0.0, 7),
    row("5.1", Latency, 8.0, 1520, 0.0, 0.0, 30),
    row("5.1", Latency, 16.0, 797, 2.50, 0.0, 53),
    row("5.1", FrameTime, 8.33, 450, 0.0, 0.0, 0),
    row("5.1", FrameTime, 15.0, 800, 1.88, 0.0, 0),
    row("5.1", FrameTime, 33.33, 251, 0.0, 0.0, 523),
    row("5.2", Speed, 16.0, 800, 49.9, 0.0, 0),
    row("5.2", Speed, 32.0, 1589, 48.6, 0.0, 11),
    row("5.2", Speed, 48.0, 2233, 45.10, 1.12, 167),
    row("5.2", Latency, 2.0, 1880, 13.99, 0.0, 0),
    row("5.2", Latency, 8.0, 1377, 0.15, 0.0, 121),
    row("5.2", Latency, 16.0, 574, 12.20, 0.0, 226),
    row("5.2", FrameTime, 8.33, 400, 9.50, 0.0, 0),
    row("5.2", FrameTime, 15.0, 750, 58.13, 0.0, 0),
    row("5.2", FrameTime, 33.33, 106, 1.89, 0.0, 693),
];

/// Collisions of the control run as printed (A-10: the stated grid would give 3200).
pub const CONTROL_COLLISIONS: u32 = 3150;
/// "About 50 % of late collisions are still prevented" at this loss, % (5.2.5).
pub const HALF_LATE_AT_LOSS_PCT: f64 = 15.0;

/// The published row of a setting. The row printed as 33.33 ms stands beside both 32 and 33.33.
pub fn row_of(setting: &Setting, below: bool) -> Option<&'static PublishedRow> {
    let table = if below { "5.1" } else { "5.2" };
    let printed = if setting.factor == FrameTime && setting.tolerance == 32.0 {
        33.33
    } else {
        setting.tolerance
    };
    ROWS.iter()
        .find(|row| row.table == table && row.factor == setting.factor && row.tolerance == printed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{FRAME_TIMES, LATENCIES, SPEEDS};

    /// Digest 4.2: the percentages are whole counts over N. (table, factor, tolerance, late, missed)
    #[test]
    fn percentages_are_whole_counts_of_n() {
        #[rustfmt::skip]
        let late = [8, 11, 15, 205, 0, 20, 0, 15, 0, 399, 772, 1007, 263, 2, 70, 38, 436, 2];
        let missed = [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25, 0, 0, 0, 0, 0, 0];
        for ((row, late), missed) in ROWS.iter().zip(late).zip(missed) {
            let pct = |count: i32| 100.0 * f64::from(count) / f64::from(row.n);
            assert!((pct(late) - row.late_pct).abs() < 0.05, "{row:?}");
            // 0.0422 % is one of 2372, the number of the row below it.
            if row.miss_pct != 0.0422 {
                assert!((pct(missed) - row.miss_pct).abs() < 0.006, "{row:?}");
            }
        }
        assert!((100.0_f64 / 2372.0 - 0.0422).abs() < 5e-5);
    }

    /// AP-54: nine settings, each in both tables.
    #[test]
    fn every_setting_has_its_rows() {
        for setting in SPEEDS.iter().chain(&LATENCIES).chain(&FRAME_TIMES) {
            for below in [true, false] {
                assert!(row_of(setting, below).is_some(), "{setting:?}");
            }
        }
    }

    /// N plus thrashing is 50 runs per point of the stated grid, except where the thesis's own numbers disagree.
    #[test]
    fn sample_counts_match_the_grids_where_the_thesis_does() {
        let settings = SPEEDS.iter().chain(&LATENCIES).chain(&FRAME_TIMES[..2]);
        let mut matching = 0;
        for setting in settings {
            let grid = setting.grid();
            let below = grid
                .iter()
                .filter(|value| setting.is_below(**value))
                .count();
            for (is_below, points) in [(true, below), (false, grid.len() - below)] {
                let row = row_of(setting, is_below).expect("published");
                matching += usize::from((row.n + row.thrashing) as usize == 50 * points);
            }
        }
        assert_eq!(matching, 12);
    }
}
