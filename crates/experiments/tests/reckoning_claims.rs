//! The dead-reckoning thesis's relations (DR-38 to DR-45), on a few short runs. The full ones are in `results/`.
//!
//! What is asserted per regime is what we find: in the smooth one (7 triggers/s) the thesis's relations, in stop-and-go
//! (1.6 triggers/s) also that some of them break.

use experiments::{Claim, ExperimentResult, RunOptions, list, run};
use serde_json::Value;

fn quick(id: &str, runs: u32) -> ExperimentResult {
    let options = RunOptions {
        runs: Some(runs),
        quick: true,
        seed: 7,
    };
    let result = run(id, &options, &mut |_| {}).expect("it is listed and sound");
    assert_rates(&result, runs);
    result
}

/// A value with its confidence interval.
fn is_summary(value: &Value) -> bool {
    value["mean"].is_f64() && value["ci95"].is_f64()
}

/// Whatever a row is about, it says at which trigger rate it was measured and on how many seeds.
fn assert_rates(result: &ExperimentResult, runs: u32) {
    assert!(!result.rows.is_empty());
    for row in &result.rows {
        assert_eq!(row["seeds"], runs, "{row}");
        assert!(is_summary(&row["triggers_per_sec"]), "{row}");
    }
}

/// All claims with this id whose text contains all of these words; there is at least one.
fn claims<'a>(result: &'a ExperimentResult, id: &str, words: &[&str]) -> Vec<&'a Claim> {
    let found: Vec<&Claim> = result
        .claims
        .iter()
        .filter(|claim| claim.id == id && words.iter().all(|word| claim.text.contains(word)))
        .collect();
    assert!(!found.is_empty(), "no claim {id} about {words:?}");
    found
}

fn assert_holds(result: &ExperimentResult, id: &str, words: &[&str]) {
    for claim in claims(result, id, words) {
        assert!(claim.holds, "{}: {claim:?}", result.experiment);
    }
}

fn assert_fails(result: &ExperimentResult, id: &str, words: &[&str]) {
    for claim in claims(result, id, words) {
        assert!(!claim.holds, "{}: {claim:?}", result.experiment);
    }
}

fn has_file(result: &ExperimentResult, name: &str) -> bool {
    result
        .files
        .iter()
        .any(|file| file.name == name && !file.text.is_empty())
}

/// What every row about policies must have: both regimes, the trigger rate, mean, SD and worst of AEE, vectors, an interval; and in
/// place of a published value only words.
fn assert_policy_rows(result: &ExperimentResult, runs: u32) {
    let rows: Vec<&Value> = result
        .rows
        .iter()
        .filter(|row| row.get("policy").is_some() && row.get("table").is_none())
        .collect();
    for regime in ["smooth", "stop-and-go"] {
        assert!(rows.iter().any(|row| row["regime"] == regime), "{regime}");
    }
    for row in rows {
        assert_eq!(row["seeds"], runs);
        for key in [
            "triggers_per_sec",
            "mean_aee",
            "sd_aee",
            "worst_aee",
            "vectors_sent",
        ] {
            assert!(
                row[key]["mean"].as_f64().is_some_and(|mean| mean > 0.0),
                "{key}: {row}"
            );
            assert!(row[key]["ci95"].is_f64(), "{key}: {row}");
        }
        let published = &row["published"];
        let words = published
            .as_str()
            .is_some_and(|text| text.contains("lost") || text.contains("not shown"));
        assert!(published.is_null() || words, "{published}");
        let rate = row["triggers_per_sec"]["mean"].as_f64().unwrap_or(0.0);
        let expected = if row["regime"] == "smooth" {
            6.0..8.5
        } else {
            1.2..2.2
        };
        assert!(expected.contains(&rate), "{rate}");
    }
}

/// The ids are fixed: scripts use them.
#[test]
fn all_seven_are_listed() {
    let ids: Vec<&str> = list()
        .iter()
        .map(|info| info.id)
        .filter(|id| id.starts_with("dr-"))
        .collect();
    let expected = [
        "dr-accuracy",
        "dr-hit-rate",
        "dr-schedule-1",
        "dr-schedule-2",
        "dr-probabilistic",
        "dr-deterministic",
        "dr-variable-delay",
    ];
    assert_eq!(ids, expected);
}

/// DR-38, DR-11: E1 with its window, and beyond it the clocks and convergence.
#[test]
fn accuracy_in_short() {
    let result = quick("dr-accuracy", 3);
    assert_holds(&result, "DR-38", &[]);
    assert_holds(&result, "beyond", &["convergence"]);
    assert_holds(&result, "beyond", &["clock that is δ off"]);
    for motion in ["linear", "circular", "stop-and-go", "smooth"] {
        assert!(
            has_file(&result, &format!("window-{motion}.svg")),
            "{motion}"
        );
        for delay_ms in [100.0, 300.0, 800.0] {
            let row = result.rows.iter().find(|row| {
                row["table"] == "E1" && row["motion"] == motion && row["delay_ms"] == delay_ms
            });
            assert!(
                row.is_some_and(|row| row["local_mean"]["ci95"].is_f64()),
                "{motion} {delay_ms}"
            );
        }
    }
    let tables: Vec<&Value> = result.rows.iter().map(|row| &row["table"]).collect();
    for table in ["clocks", "convergence"] {
        assert!(tables.iter().any(|name| **name == table), "{table}");
    }
}

/// DR-39: E2. What one sees with a global clock is where to aim.
#[test]
fn hit_rate_in_short() {
    let result = quick("dr-hit-rate", 3);
    for motion in ["linear", "circular", "stop-and-go"] {
        assert_holds(&result, "DR-39", &[motion, "hits more often"]);
    }
    assert_holds(&result, "DR-39", &["linear", "the gap is larger"]);
    assert_eq!(result.rows.len(), 4 * 5 * 2);
}

/// DR-40: E3 in both regimes and at all three variances.
#[test]
fn schedule_1_in_short() {
    let result = quick("dr-schedule-1", 2);
    assert_policy_rows(&result, 2);
    assert_holds(&result, "DR-40", &["smooth"]);
    assert_holds(&result, "DR-40", &["stop-and-go", "mean AEE a multiple"]);
    assert_holds(&result, "beyond", &["smooth", "fixed delays", "#1 S-D"]);
    assert_eq!(result.rows.len(), 2 * 3 * 5);
    for file in [
        "sd-over-time-smooth.svg",
        "receivers-smooth-180.svg",
        "receivers-stop-and-go.svg",
        "points.csv",
    ] {
        assert!(has_file(&result, file), "{file}");
    }
}

/// DR-41: E4 holds at 7 triggers/s; at 1.6 the mean is far more than "moderately" higher and the farthest receiver suffers.
#[test]
fn schedule_2_in_short() {
    let result = quick("dr-schedule-2", 2);
    assert_policy_rows(&result, 2);
    assert_holds(&result, "DR-41", &["smooth", "fixed delays"]);
    assert_holds(&result, "DR-41", &["as many vectors as base"]);
    assert_fails(&result, "DR-41", &["stop-and-go", "moderately higher"]);
    assert_fails(&result, "DR-41", &["stop-and-go", "farthest receiver"]);
}

/// DR-42, DR-43: E5 and E6.
#[test]
fn probabilistic_in_short() {
    let result = quick("dr-probabilistic", 3);
    assert_policy_rows(&result, 3);
    for plan in ["prob PA:", "prob PI:", "prob case 4:", "prob case 5:"] {
        assert_holds(&result, "DR-42", &["smooth", plan]);
    }
    assert_holds(&result, "DR-43", &["smooth"]);
}

/// DR-44, DR-34, DR-51: E7, a hundred receivers, late joins, liars, and the server for all.
#[test]
fn deterministic_in_short() {
    let result = quick("dr-deterministic", 2);
    assert_policy_rows(&result, 2);
    assert_holds(&result, "DR-44", &["smooth", "det PA"]);
    assert_holds(&result, "DR-44", &["smooth", "100 receivers"]);
    assert_holds(&result, "DR-34", &[]);
    assert_holds(&result, "DR-51", &["at the same bytes"]);
    assert_holds(&result, "beyond", &["lying client"]);
    let crowd = result.rows.iter().filter(|row| row["receivers"] == 100);
    assert_eq!(crowd.count(), 2 * 5);
    for (table, error) in [
        ("late-join", "error"),
        ("cheating-client", "aee"),
        ("server", "error"),
    ] {
        let rows: Vec<&Value> = result
            .rows
            .iter()
            .filter(|row| row["table"] == table)
            .collect();
        assert!(!rows.is_empty(), "{table}");
        for row in rows {
            for key in ["mean", "sd", "worst"] {
                assert!(is_summary(&row[format!("{key}_{error}")]), "{key}: {row}");
            }
            assert!(is_summary(&row["vectors_sent"]), "{row}");
        }
    }
}

/// DR-45: E8.
#[test]
fn variable_delay_in_short() {
    let result = quick("dr-variable-delay", 3);
    assert_policy_rows(&result, 3);
    assert_holds(&result, "DR-45", &["smooth"]);
    assert_eq!(result.rows.len(), 2 * 3 * 5);
}

/// Same seed, same answer; another seed, another.
#[test]
fn a_result_is_its_seed() {
    let json = |seed| {
        let options = RunOptions {
            runs: Some(1),
            quick: true,
            seed,
        };
        let result = run("dr-variable-delay", &options, &mut |_| {}).expect("sound");
        serde_json::to_string(&result).expect("plain data")
    };
    assert_eq!(json(7), json(7));
    assert_ne!(json(7), json(8));
}
