//! The thesis's claims about late, missed and thrashed collisions, on reduced grids. The full grids are in `results/`.

use experiments::settings::{FRAME_TIMES, LATENCIES, SPEEDS, Setting};
use experiments::{
    Cell, ExperimentResult, Geometry, Part, RunOptions, Tally, Variant, run, run_cells, settings,
};

const QUICK: RunOptions = RunOptions {
    runs: None,
    quick: true,
    seed: 7,
};

fn quick(id: &str) -> ExperimentResult {
    run(id, &QUICK, &mut |_| {}).expect("it is listed and sound")
}

fn assert_holds(result: &ExperimentResult, id: &str) {
    let claims: Vec<_> = result
        .claims
        .iter()
        .filter(|claim| claim.id == id)
        .collect();
    assert!(
        !claims.is_empty(),
        "{} makes no claim {id}",
        result.experiment
    );
    for claim in claims {
        assert!(claim.holds, "{}: {claim:?}", result.experiment);
    }
}

fn cell(setting: Setting, value: f64, variant: Variant, geometry: Geometry, runs: u32) -> Cell {
    Cell {
        part: Part::Grid,
        setting,
        value,
        variant,
        geometry,
        speed_spread: 1.0,
        runs,
    }
}

fn tally(cells: Vec<Cell>) -> Tally {
    let outcomes = run_cells(cells, 7, &mut |_| {}).expect("sound");
    Tally::sum(outcomes.iter().map(|outcome| &outcome.tally))
}

/// AP-53: on one server penetration time is never above one step; AP-55: nor on two with adaptive auras.
#[test]
fn control_is_never_late() {
    let result = quick("ap-control");
    assert_holds(&result, "AP-53");
    assert_holds(&result, "AP-55");
    assert_eq!(result.rows.len(), 4);
}

/// AP-55, ours, sizes `safe` and `adaptive`: no late, missed or thrashed run within the tolerance, in all nine settings
/// and at 33.33 ms, both sizes of sphere.
#[test]
fn ours_is_never_wrong_within_the_tolerance() {
    never_wrong_within_the_tolerance(Variant::Ours);
}

#[test]
fn adaptive_is_never_wrong_within_the_tolerance() {
    never_wrong_within_the_tolerance(Variant::Adaptive);
}

fn never_wrong_within_the_tolerance(variant: Variant) {
    let settings = SPEEDS.iter().chain(&LATENCIES).chain(&FRAME_TIMES);
    let mut cells = Vec::new();
    for setting in settings {
        let grid: Vec<f64> = setting
            .grid()
            .into_iter()
            .filter(|value| setting.is_below(*value))
            .collect();
        let some = (0..6).map(|i| grid[i * (grid.len() - 1) / 5]);
        for value in some {
            for geometry in [Geometry::LARGE, Geometry::SMALL] {
                cells.push(cell(*setting, value, variant, geometry, 10));
            }
        }
    }
    let sum = tally(cells);
    assert_eq!(sum.runs, 1200);
    assert_eq!(
        (sum.late, sum.missed, sum.thrashed),
        (0, 0, 0),
        "{:?}",
        sum.offences
    );
    assert!(
        sum.penetration.most > 0.9,
        "contacts at every sub-step phase were seen"
    );
}

/// AP-55, thesis size: n of three or more, frames exactly within the tolerance; and AP-54: tables with the published rows beside ours.
#[test]
fn latency_experiment_in_short() {
    let result = quick("ap-latency");
    assert_holds(&result, "AP-55");
    assert_holds(&result, "AP-59");
    let first = &result.rows[0];
    assert_eq!(
        (&first["table"], &first["published"]["n"]),
        (&"5.1".into(), &1920.into())
    );
    assert!(result.files.iter().any(|file| file.name == "points.csv"));
    assert_eq!(
        result
            .files
            .iter()
            .filter(|file| file.name.ends_with(".svg"))
            .count(),
        7
    );
}

/// AP-54, AP-55, AP-59 for speed.
#[test]
fn speed_experiment_in_short() {
    let result = quick("ap-speed");
    assert_holds(&result, "AP-55");
    assert_holds(&result, "AP-59");
    assert_eq!(result.rows.len(), 3 * 2 * 7);
}

/// AP-55 at every n, AP-57 the thrash histogram, AP-59 for frame time with its density plot.
#[test]
fn frame_time_experiment_in_short() {
    let result = quick("ap-frame-time");
    for id in ["AP-55", "AP-57", "AP-59"] {
        assert_holds(&result, id);
    }
    for figure in [
        "thrash-histogram.svg",
        "frame-density.svg",
        "late-32.svg",
        "penetration-33.33.svg",
    ] {
        assert!(
            result.files.iter().any(|file| file.name == figure),
            "{figure}"
        );
    }
}

/// AP-56: the aura is not so large that nothing could ever go wrong: far beyond the tolerance collisions are late, by both rules.
#[test]
fn far_beyond_the_tolerance_collisions_are_late() {
    for (variant, setting, times) in [
        (Variant::Thesis, FRAME_TIMES[1], 3.0),
        (Variant::Ours, LATENCIES[2], 8.0),
    ] {
        let value = times * setting.tolerance;
        let sum = tally(vec![cell(setting, value, variant, Geometry::LARGE, 40)]);
        assert!(sum.late > 0, "{variant:?}: {sum:?}");
    }
}

/// AP-25, AP-57: without the tie-break small spheres thrash; with it they do not.
#[test]
fn the_tie_break_cures_thrashing() {
    let of = |variant| tally(vec![cell(SPEEDS[1], 32.0, variant, Geometry::SMALL, 60)]).thrashed;
    assert!(of(Variant::Thesis) > 30);
    assert_eq!((of(Variant::Ours), of(Variant::Adaptive)), (0, 0));
}

/// AP-58: late grows with loss under the thesis's rules; ours stays below a tenth at 15 %.
#[test]
fn loss_experiment_in_short() {
    let result = quick("ap-loss");
    assert_holds(&result, "AP-55");
    assert_holds(&result, "AP-58");
    let slow = |variant| {
        tally(vec![cell(
            settings::LOSS,
            15.0,
            variant,
            Geometry::LARGE,
            60,
        )])
        .late
    };
    assert!(
        slow(Variant::OursSlowResend) > slow(Variant::Ours),
        "the short resend is what helps"
    );
}

/// AP-60: with ownership by centre bodies of two owners overlap (F1), collisions are late (F2) or missed (F3); ours on the same
/// encounters does none of it.
#[test]
fn naive_experiment_in_short() {
    let result = quick("ap-naive");
    assert_holds(&result, "AP-60");
    let overlaps = |variant: &str| -> u64 {
        let rows = result.rows.iter().filter(|row| row["side"] == "within");
        rows.filter(|row| row["variant"] == variant)
            .map(|row| row["overlaps_across_owners"].as_u64().expect("counted"))
            .sum()
    };
    assert!(overlaps("naive") > 0);
    assert_eq!(overlaps("ours"), 0);
}

/// Same seed, same answer; another seed, another.
#[test]
fn a_result_is_its_seed() {
    let json = |seed| {
        let options = RunOptions { seed, ..QUICK };
        let result = run("ap-control", &options, &mut |_| {}).expect("sound");
        serde_json::to_string(&result).expect("plain data")
    };
    assert_eq!(json(7), json(7));
    assert_ne!(json(7), json(8));
}
