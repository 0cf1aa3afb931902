//! What the documents promise exists, and what exists is documented.

use cluster::config::{Config, EtcdConfig, ZenohConfig};
use cluster::metrics::{PROCESS_METRICS, REGION_METRICS};
use std::collections::BTreeSet;

const PAGE: &str = include_str!("../../../docs/operations.md");

/// The first column of all tables below a heading, without its backticks.
fn documented(heading: &str) -> BTreeSet<String> {
    let section = PAGE.split("\n## ").find(|part| part.starts_with(heading));
    let rows = section.expect("the page has it").lines();
    let names = rows.filter_map(|row| row.strip_prefix("| `")?.split('`').next());
    names.map(str::to_owned).collect()
}

/// All keys, tables dotted. A config file with every key set to something has them all.
fn keys(value: &serde_json::Value, prefix: &str, out: &mut BTreeSet<String>) {
    let serde_json::Value::Object(map) = value else {
        out.insert(prefix.to_owned());
        return;
    };
    for (key, value) in map {
        let name = if prefix.is_empty() {
            key.clone()
        } else {
            format!("{prefix}.{key}")
        };
        keys(value, &name, out);
    }
}

#[test]
fn every_config_key_is_documented_and_every_documented_key_exists() {
    let config = Config {
        etcd: Some(EtcdConfig::default()),
        zenoh: Some(ZenohConfig::default()),
        ..Config::default()
    };
    let mut exist = BTreeSet::new();
    keys(
        &serde_json::to_value(&config).expect("plain"),
        "",
        &mut exist,
    );
    assert_eq!(documented("Config file"), exist);
}

#[test]
fn every_metric_is_documented_and_every_documented_metric_exists() {
    let metrics = PROCESS_METRICS.iter().chain(REGION_METRICS);
    let exist: BTreeSet<String> = metrics.map(|(name, ..)| (*name).to_owned()).collect();
    assert_eq!(documented("What can be watched"), exist);
}
