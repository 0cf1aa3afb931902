//! The scaling experiments on reduced grids: everything that does not depend on how fast this machine
//! is. The full ones take hours.

use crate::claims_common::{assert_holds, quick};
use experiments::ExperimentResult;

/// Rows of one size, by number of servers.
fn servers(result: &ExperimentResult, aura: &str) -> Vec<u64> {
    let rows = result.rows.iter().filter(|row| row["aura"] == aura);
    rows.map(|row| row["servers"].as_u64().expect("a number"))
        .collect()
}

fn has_table(result: &ExperimentResult, word: &str) -> bool {
    result
        .tables
        .iter()
        .any(|table| table.caption.starts_with(word))
}

/// AP-48, AP-50 to AP-52: the form of E1 and E3 to E6, for every size, with the published numbers beside ours.
#[test]
fn ap_48_columns() {
    let result = quick("ap-columns", 1, 7);
    for aura in ["thesis", "safe"] {
        assert_eq!(servers(&result, aura), [2, 4]);
    }
    for word in ["Times faster", "E1 ", "E3 ", "E4 ", "E6 ", "Bytes sent"] {
        assert!(has_table(&result, word), "{word}");
    }
    for row in &result.rows {
        let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key}: {row}"));
        assert!(number("factor") > 0.0 && number("slowest_ms") >= number("mean_ms"));
        assert!(number("overhead") > 0.0 && number("bodies") >= 450.0);
        assert!(number("migrations") > 0.0 && number("bytes") > 0.0);
        let windows = row["windows"].as_array().expect("a list");
        assert_eq!(windows.len(), 3, "windows of a second");
        let sums: Vec<f64> = windows
            .iter()
            .filter_map(|w| w["migrations"].as_f64())
            .collect();
        assert!(sums.is_sorted(), "cumulative: {sums:?}");
        assert!(windows[2]["auras"].as_f64() > Some(0.0));
    }
    let factors = result
        .tables
        .iter()
        .find(|table| table.caption.starts_with("Times faster"));
    let factors = factors.expect("the headline").markdown();
    assert!(
        factors.contains("1.74") && factors.contains("3.40"),
        "{factors}"
    );
    assert!(
        result
            .tables
            .iter()
            .any(|table| table.caption.contains("thesis: 4.26"))
    );
    assert_holds(&result, "AP-48", &["no error"]);
    let figures = result
        .files
        .iter()
        .filter(|file| file.text.starts_with("<svg"));
    assert_eq!(figures.count(), 5);
    assert!(
        result
            .notes
            .iter()
            .any(|note| note.contains("one after another"))
    );
}

/// AP-49: three regions with a corner, and four.
#[test]
fn ap_49_corners() {
    let result = quick("ap-corners", 1, 7);
    assert_eq!(servers(&result, "thesis"), [3, 4]);
    assert!(has_table(&result, "E2 "));
    assert_holds(&result, "AP-49", &["no error"]);
}

/// The same seed gives the same world: everything but times is equal.
#[test]
fn runs_can_be_repeated() {
    let counts = |seed: u64| -> Vec<_> {
        let rows = quick("scale-worst", 1, seed).rows;
        rows.iter()
            .map(|row| (row["migrations"].clone(), row["bytes"].clone()))
            .collect()
    };
    assert_eq!(counts(5), counts(5));
    assert_ne!(counts(5), counts(6));
}

#[test]
fn crowds_fields_and_rest_are_watched() {
    for id in [
        "scale-weak",
        "scale-field",
        "scale-worst",
        "scale-rest",
        "scale-kept",
    ] {
        let mut last = 0.0;
        let options = experiments::RunOptions {
            runs: None,
            quick: true,
            seed: 7,
        };
        let result = experiments::run(id, &options, &mut |share| last = share)
            .expect("it is listed and sound");
        assert!(
            (last - 1.0_f64).abs() < 1e-9,
            "{id}: progress ends at {last}"
        );
        assert!(result.rows.len() >= 2, "{id}: a row per size");
        assert_holds(&result, result.experiment, &["no error"]);
    }
}

/// What rests is compared with servers that have nothing to say.
#[test]
fn rest_is_compared_with_heartbeats() {
    let result = quick("scale-rest", 1, 7);
    for row in &result.rows {
        let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key}: {row}"));
        assert!(number("heartbeat_bytes_per_second") >= 0.0 && number("share") > 0.0);
        assert!(
            number("rest_bytes_per_second") < number("awake_bytes_per_second"),
            "{row}"
        );
    }
}
