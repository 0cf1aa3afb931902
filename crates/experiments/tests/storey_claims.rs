//! Distributed collision detection on reduced grids: everything that does not depend on how fast this machine is. The full grids, and
//! the claims about time, are in `results/`.

use experiments::{ExperimentResult, RunOptions, run};
use std::collections::BTreeSet;

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
    assert_eq!(
        result.rows.len(),
        2 * 3 * 3,
        "two numbers of objects, three sizes, three variants"
    );
    assert!(claim(&result, "ST-60", "best size"));
    let members: Vec<u64> = result
        .rows
        .iter()
        .filter_map(|row| row["members"].as_u64())
        .collect();
    assert_eq!(members[..6], [1, 8, 32, 1, 8, 32]);
    assert!(
        result.rows.iter().all(|row| row["runs"] == 1),
        "it is quick"
    );
}

fn published(experiment: &str) -> (serde_json::Value, String) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../results");
    let read = |file: &str| std::fs::read_to_string(format!("{folder}/{experiment}/{file}"));
    let result = read("result.json").expect("it is published");
    let result = serde_json::from_str(&result).expect("valid");
    (result, read("README.md").expect("it is published"))
}

/// The cells of a table, each a list of what tells it from the others.
fn cells(result: &serde_json::Value, table: &str, keys: &[&str]) -> BTreeSet<Vec<String>> {
    let rows = result["rows"].as_array().expect("a list");
    let of_table: Vec<_> = rows.iter().filter(|row| row["table"] == table).collect();
    let cell = |row: &&serde_json::Value| keys.iter().map(|key| row[*key].to_string()).collect();
    let cells: BTreeSet<Vec<String>> = of_table.iter().map(cell).collect();
    assert_eq!(cells.len(), of_table.len(), "{table}: no cell twice");
    cells
}

/// ST-57, ST-58, ST-60: what is published is the thesis's whole grid, every cell of it measured at least three times. Results that were made before rows had
/// `runs` say it by their command: without `--runs` a full experiment makes three.
#[test]
fn the_published_grids_are_complete_and_repeated() {
    let numbers = |list: &[u64]| list.iter().map(u64::to_string).collect::<Vec<_>>();
    let words = |list: &[&str]| list.iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>();
    let halves: Vec<u64> = (1..=10).map(|i| 500 * i).collect();
    let to_eight: Vec<u64> = (1..=8).collect();
    /// An experiment, its table, the columns that name a cell, and the cells.
    type Grid<'a> = (&'a str, &'a str, &'a [&'a str], Vec<Vec<String>>);
    let grids: [Grid<'_>; 3] = [
        (
            "st-performance",
            "5.1",
            &["objects"],
            vec![numbers(&halves)],
        ),
        (
            "st-scalability",
            "5.2-5.6",
            &["cuts", "objects", "members"],
            vec![
                words(&["published", "balanced"]),
                numbers(&halves[..8]),
                numbers(&to_eight),
            ],
        ),
        (
            "st-group-size",
            "5.7",
            &["variant", "objects", "members"],
            vec![
                words(&["published", "balanced", "unsynchronised"]),
                numbers(&[1000, 2000, 3000]),
                numbers(&[1, 2, 4, 8, 16, 32]),
            ],
        ),
    ];
    for (experiment, table, keys, axes) in grids {
        let (result, readme) = published(experiment);
        let mut whole = BTreeSet::from([Vec::new()]);
        for axis in &axes {
            let longer = |cell: &Vec<String>| {
                let cell = cell.clone();
                axis.iter()
                    .map(move |value| [&cell[..], std::slice::from_ref(value)].concat())
            };
            whole = whole.iter().flat_map(longer).collect();
        }
        assert_eq!(cells(&result, table, keys), whole, "{experiment}");
        let command = format!("`auramesh experiment run {experiment} --seed 7`");
        let usual = readme.contains(&command);
        for row in result["rows"].as_array().expect("a list") {
            let enough = row["runs"].as_u64().map_or(usual, |runs| runs >= 3);
            assert!(row["table"] != table || enough, "{experiment}: {row}");
        }
    }
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
        let (result, _) = published(experiment);
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
