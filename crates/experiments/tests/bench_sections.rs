//! The sections of the benchmark for a moment each: everything that does not depend on how fast this machine is.

use crate::claims_common::assert_holds;
use experiments::{ExperimentResult, RunOptions, bench};

fn quick(id: &str, seed: u64) -> (ExperimentResult, f64) {
    let options = RunOptions {
        runs: None,
        quick: true,
        seed,
    };
    let mut last = 0.0;
    let result = bench::run(id, &options, &mut |share| last = share).expect("listed and sound");
    (result, last)
}

/// `bare` is run by the command line's own tests.
#[test]
fn every_section_is_watched_and_drawn() {
    for info in bench::list().iter().filter(|info| info.id != "bare") {
        let (result, progress) = quick(info.id, 7);
        assert!((progress - 1.0).abs() < 1e-9, "{}: {progress}", info.id);
        assert_eq!(result.rows.len(), 2, "{}", info.id);
        assert_holds(&result, info.id, &["no error"]);
        let figures = result
            .files
            .iter()
            .filter(|file| file.text.starts_with("<svg"));
        assert_eq!(figures.count(), 1, "{}", info.id);
        for row in &result.rows {
            let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key}: {row}"));
            assert!(
                number("overhead") > 0.0 && number("slowest_ms") > 0.0,
                "{row}"
            );
            assert!(
                number("bodies") > 0.0 && number("largest_cluster") >= 1.0,
                "{row}"
            );
        }
    }
}

/// One seed, one world: everything but times is the same again.
#[test]
fn a_section_can_be_repeated() {
    let counts = |seed: u64| -> Vec<_> {
        let rows = quick("density", seed).0.rows;
        rows.iter()
            .map(|row| (row["bytes_per_second"].clone(), row["near_borders"].clone()))
            .collect()
    };
    assert_eq!(counts(5), counts(5));
    assert_ne!(counts(5), counts(6));
}

/// Longer delays need a longer look ahead: what is told of reaches farther, so more is told.
#[test]
fn a_slow_network_makes_more_to_tell() {
    let rows = quick("delay", 7).0.rows;
    let near = |index: usize| rows[index]["near_borders"].as_f64().expect("a number");
    assert!(near(1) > near(0), "{rows:?}");
}
