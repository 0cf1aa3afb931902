//! What the documents promise exists, and what exists is documented.

use cluster::config::{Config, EtcdConfig, ZenohConfig};
use cluster::gateway::Counters;
use cluster::groups::GroupSettings;
use cluster::message_kinds::Kinds;
use cluster::messages::{self, Answer, FromRegion, Question, RegionState, ToRegion};
use cluster::metrics::{GROUP_METRICS, PROCESS_METRICS, REGION_METRICS};
use domain::{BodyId, Tick};
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
        groups: Some(GroupSettings::default()),
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
    let gateways = Counters::METRICS.iter().map(|(metric, _)| metric);
    let processes = PROCESS_METRICS.iter().chain(GROUP_METRICS);
    let metrics = processes.chain(REGION_METRICS).chain(gateways);
    let exist: BTreeSet<String> = metrics.map(|(name, ..)| (*name).to_owned()).collect();
    assert_eq!(documented("What can be watched"), exist);
}

const MESSAGES: &str = include_str!("../../../docs/protocols/cluster.md");

/// The rows of the table below a mark: number and name.
fn kinds_on_page(title: &str) -> Vec<(u8, String)> {
    let mark = format!("<!-- kinds: {title} -->\n");
    let table = MESSAGES
        .split(&mark)
        .nth(1)
        .expect("the page has the table");
    let table = table.split("\n\n").next().unwrap_or_default();
    let rows = table.lines().filter_map(|row| {
        let mut cells = row.strip_prefix("| ")?.split(" | ");
        let number = cells.next()?.parse().ok()?;
        Some((number, cells.next()?.split('`').nth(1)?.to_owned()))
    });
    rows.collect()
}

fn compare<T: Kinds>(title: &str) {
    let exist = T::KINDS.iter();
    let exist: Vec<(u8, String)> = exist
        .map(|(number, name)| (*number, (*name).to_owned()))
        .collect();
    assert_eq!(kinds_on_page(title), exist, "{title}");
}

/// The first byte is the number in the table.
fn check_number<T: Kinds + serde::Serialize>(message: &T) {
    let number = messages::encode(message)[0];
    let name = T::KINDS.iter().find(|(known, _)| *known == number);
    assert_eq!(name.map(|(_, name)| *name), Some(message.kind()));
}

#[test]
fn every_message_between_processes_is_documented_and_every_documented_one_exists() {
    compare::<FromRegion>("FromRegion");
    compare::<ToRegion>("ToRegion");
    compare::<Question>("Question");
    compare::<Answer>("Answer");
    compare::<RegionState>("RegionState");
    for name in ["Heartbeat", "Pulse"] {
        assert!(MESSAGES.contains(&format!("| `{name}` |")), "{name}");
    }
    // The last of each list: whoever adds one before it, or forgets one, shifts it.
    let answer = Answer::Account(Box::default());
    check_number(&answer);
    check_number(&FromRegion::Answer { id: 1, answer });
    check_number(&Question::Account);
    let question = Question::Remove(BodyId(1));
    check_number(&question);
    check_number(&ToRegion::Ask { id: 1, question });
    check_number(&ToRegion::Kept { tick: Tick(1) });
    check_number(&ToRegion::Seen { tick: Tick(1) });
    check_number(&ToRegion::Inspect { layers: 1 });
    check_number(&FromRegion::Insight(Box::default()));
    check_number(&FromRegion::SnapshotPiece {
        tick: Tick(1),
        bytes: Vec::new(),
    });
    check_number(&RegionState::Running);
    check_number(&RegionState::GivenAway);
}
