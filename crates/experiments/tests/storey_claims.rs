//! Distributed collision detection on reduced grids: everything that does not depend on how fast this machine is. The full grids, and
//! the claims about time, are in `results/`.

use experiments::{ExperimentResult, RunOptions, run};

fn quick(id: &str) -> ExperimentResult {
    let options = RunOptions {
        quick: true,
        ..RunOptions::default()
    };
    run(id, &options, &mut |_| {}).expect("it is listed and sound")
}

fn claim(result: &ExperimentResult, id: &str, word: &str) -> bool {
    let found: Vec<_> = result
        .claims
        .iter()
        .filter(|claim| claim.id == id && claim.text.contains(word))
        .collect();
    assert_eq!(found.len(), 1, "{id} {word}: {:?}", result.claims);
    found[0].holds
}

/// ST-57: the form of table 5.1; overlaps grow linearly. Not as published: about 0.06 overlapping boxes per object, where the thesis counts
/// 0.0175 collisions; the claims say so with their numbers.
#[test]
fn st_57_one_node() {
    let result = quick("st-performance");
    assert_eq!(result.rows.len(), 4);
    assert!(claim(&result, "ST-57", "collisions grow linearly"));
    for row in &result.rows {
        let objects = row["objects"].as_f64().expect("a number");
        let overlaps = row["overlaps_without_response"].as_f64().expect("a number");
        let per_object = overlaps / objects;
        assert!((0.04..0.08).contains(&per_object), "{row}");
        assert!(row["ms"].as_f64() > Some(0.0) && row["published_ms"].as_f64() > Some(100.0));
    }
}

/// ST-58, ST-59: tables 5.2 to 5.6 and the slowest member; pairs exactly once. On a small grid: what needs the full one is held by `the_published_results_meet_the_bars`.
#[test]
fn st_58_groups_of_up_to_eight() {
    let result = quick("st-scalability");
    assert!(claim(&result, "ST-4", "exactly once"));
    assert!(claim(&result, "I9", "neither aura nor synchronised"));
    let titles: Vec<&str> = result.tables.iter().map(|table| &*table.caption).collect();
    for number in ["5.2", "5.3", "5.4", "5.5", "5.6"] {
        let caption = format!("Table {number}");
        assert!(
            titles.iter().any(|title| title.starts_with(&caption)),
            "{number}"
        );
    }
    for row in result.rows.iter().filter(|row| row["table"] == "5.2-5.6") {
        let number = |key: &str| row[key].as_f64().expect("a number");
        assert!(number("slowest_ms") >= number("mean_ms"), "{row}");
        assert!(
            number("copies_per_body") >= 1.0 && number("copies_per_body") < 1.5,
            "{row}"
        );
    }
}

/// ST-60: the form of table 5.7, and a best size per number of objects.
#[test]
fn st_60_the_size_of_a_group() {
    let result = quick("st-group-size");
    assert_eq!(result.rows.len(), 9);
    assert!(claim(&result, "ST-60", "best size"));
    let members: Vec<u64> = result
        .rows
        .iter()
        .filter_map(|row| row["members"].as_u64())
        .collect();
    assert_eq!(members[..3], [1, 8, 32]);
}

/// ST-61 (and ST-47 for what gathering adds): groups formed by measured pings; every delay is the formula's; all singletons are client/server.
#[test]
fn st_61_from_one_user_to_another() {
    let result = quick("st-latency");
    for claim in &result.claims {
        assert!(claim.holds, "{claim:?}");
    }
    for word in ["alone formed", "the formula's", "client/server"] {
        assert!(claim(&result, "ST-61", word));
    }
    let largest = |model: &str| {
        let of = result
            .rows
            .iter()
            .filter(|row| row["table"] == "summary" && row["model"] == model);
        of.map(|row| row["largest_difference_ms"].as_f64().expect("measured"))
            .fold(0.0, f64::max)
    };
    for model in ["client/server", "all singletons", "groups"] {
        assert!(largest(model) < 1e-4, "{model}: {}", largest(model));
    }
    assert!(
        largest("groups, states gathered for 50 ms") > 10.0,
        "what is measured can differ"
    );
}

/// ST-57 to ST-60 at full size: what `results/` says, and it was made by the real commands, meets the bars.
#[test]
fn the_published_results_meet_the_bars() {
    for (experiment, id, words) in [
        ("st-performance", "ST-57", "5000 bodies at 60 Hz"),
        ("st-scalability", "ST-59", "balanced cuts: 8 members"),
        ("st-scalability", "ST-59", "at most 10 % more than the mean"),
        ("st-group-size", "ST-60", "balanced cuts: 32 members"),
    ] {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../results");
        let text = std::fs::read_to_string(format!("{folder}/{experiment}/result.json"));
        let text = text.expect("it is published");
        let result: serde_json::Value = serde_json::from_str(&text).expect("valid");
        let claims = result["claims"].as_array().expect("a list");
        let meant = |claim: &&serde_json::Value| {
            claim["id"] == id
                && claim["text"]
                    .as_str()
                    .is_some_and(|text| text.contains(words))
        };
        let found: Vec<_> = claims.iter().filter(meant).collect();
        assert_eq!(found.len(), 1, "{experiment}: {words}");
        assert_eq!(found[0]["holds"], true, "{}", found[0]);
    }
}
