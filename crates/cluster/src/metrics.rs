//! What Prometheus may ask. `docs/operations.md` lists all of it; a test compares.

use crate::carrier::Traffic;
use crate::clock::ClusterClock;
use crate::gateway::{Counters, Kind};
use crate::groups::Gauges;
use crate::names::{Place, Term};
use crate::schema::ClusterView;
use crate::server::{self, ServerGauges};
use std::fmt::Write;

/// A metric: its name, its type, and what it means.
pub type Metric = (&'static str, &'static str, &'static str);

/// All metrics of regions, with labels `generation` and `region`.
pub const REGION_METRICS: &[Metric] = &[
    ("auramesh_region_tick", "gauge", "Last completed tick"),
    ("auramesh_region_ticks_total", "counter", "Ticks stepped"),
    (
        "auramesh_region_late_ticks_total",
        "counter",
        "Ticks stepped more than one step after they were due",
    ),
    (
        "auramesh_region_held_ticks_total",
        "counter",
        "Ticks that had to wait for a neighbour that was behind",
    ),
    (
        "auramesh_region_tick_cpu_seconds_total",
        "counter",
        "CPU time of all ticks, messages included",
    ),
    (
        "auramesh_region_tick_cpu_seconds_max",
        "gauge",
        "CPU time of the longest tick",
    ),
    ("auramesh_region_bodies", "gauge", "Bodies owned"),
    (
        "auramesh_region_auras",
        "gauge",
        "Auras of other regions' bodies",
    ),
    (
        "auramesh_region_arrivals_total",
        "counter",
        "Bodies that came from other regions",
    ),
    (
        "auramesh_region_departures_total",
        "counter",
        "Bodies that went to other regions",
    ),
    (
        "auramesh_region_speed_exceeded_total",
        "counter",
        "Times the speed tolerance was exceeded",
    ),
    (
        "auramesh_region_latency_exceeded_total",
        "counter",
        "Times the latency tolerance was exceeded",
    ),
    (
        "auramesh_region_frame_exceeded_total",
        "counter",
        "Times the frame tolerance was exceeded",
    ),
    (
        "auramesh_region_watched_body_ticks_total",
        "counter",
        "Body ticks in which a promise was outstanding",
    ),
    (
        "auramesh_region_held_body_ticks_total",
        "counter",
        "Body ticks in which a body was held to a promise",
    ),
    (
        "auramesh_region_kept_out_body_ticks_total",
        "counter",
        "Of the held ones, those that would have come where a foreign body may be",
    ),
    (
        "auramesh_region_spared_promises_total",
        "counter",
        "Promises that were broken because nobody could rely on them",
    ),
    (
        "auramesh_region_hold_ticks_max",
        "gauge",
        "The longest time one body was held without a pause, ticks",
    ),
    (
        "auramesh_region_hold_metres_max",
        "gauge",
        "The longest way that was taken back in one tick",
    ),
    (
        "auramesh_region_cluster_bodies_max",
        "gauge",
        "The largest cluster of which it had to be decided whether it migrates",
    ),
    (
        "auramesh_region_refused_offers_total",
        "counter",
        "Handovers that could not be carried out",
    ),
    (
        "auramesh_region_broken_bodies_total",
        "counter",
        "Bodies taken out, or not born, because the engine could not compute them",
    ),
    (
        "auramesh_region_failures_total",
        "counter",
        "Messages that could not be read or sent",
    ),
    (
        "auramesh_region_snapshot_bytes",
        "gauge",
        "Size of the last snapshot",
    ),
    (
        "auramesh_region_snapshot_tick",
        "gauge",
        "Tick of the newest snapshot that is safe with the standby",
    ),
];

/// All metrics of processes.
pub const PROCESS_METRICS: &[Metric] = &[
    (
        "auramesh_datagrams_sent_total",
        "counter",
        "Datagrams sent to other processes",
    ),
    (
        "auramesh_datagrams_received_total",
        "counter",
        "Datagrams received from other processes",
    ),
    (
        "auramesh_datagrams_refused_total",
        "counter",
        "Datagrams dropped: damaged, not authentic, or for nobody here",
    ),
    (
        "auramesh_bytes_sent_total",
        "counter",
        "Bytes sent to other processes",
    ),
    (
        "auramesh_bytes_received_total",
        "counter",
        "Bytes received from other processes",
    ),
    (
        "auramesh_clock_bound_seconds",
        "gauge",
        "How far this process's clock may be off; absent until known",
    ),
    (
        "auramesh_standby_bytes",
        "gauge",
        "Snapshots kept for other servers",
    ),
];

/// All metrics of consistency groups. That of round trips has labels `node` and `name`.
pub const GROUP_METRICS: &[Metric] = &[
    (
        "auramesh_groups",
        "gauge",
        "Consistency groups of servers; 0 where they are off or not measured yet",
    ),
    (
        "auramesh_group_members",
        "gauge",
        "Servers in the group that shares the world",
    ),
    (
        "auramesh_group_votes_total",
        "counter",
        "Votes that have put a server in or out, while this coordinator led",
    ),
    (
        "auramesh_group_refused_total",
        "counter",
        "Messages about groups that could not be read, were not believed, or had no room",
    ),
    (
        "auramesh_group_round_trip_seconds",
        "gauge",
        "Average round trip from this server to another",
    ),
];

fn head(out: &mut String, (name, kind, help): &Metric) {
    let _ = writeln!(out, "# HELP {name} {help}.\n# TYPE {name} {kind}");
}

/// What a process without regions can say.
pub fn of_process(traffic: Traffic, clock: &ClusterClock, standby_bytes: usize) -> String {
    let bound = clock.bound().map(|bound| bound.as_secs());
    let values = [
        Some(traffic.sent as f64),
        Some(traffic.received as f64),
        Some(traffic.refused as f64),
        Some(traffic.sent_bytes as f64),
        Some(traffic.received_bytes as f64),
        bound,
        Some(standby_bytes as f64),
    ];
    let mut out = String::new();
    for (metric, value) in PROCESS_METRICS.iter().zip(values) {
        head(&mut out, metric);
        if let Some(value) = value {
            let _ = writeln!(out, "{} {value}", metric.0);
        }
    }
    out
}

/// What a process knows of consistency groups, by itself and from the control plane.
pub fn of_groups(gauges: &Gauges, view: &ClusterView) -> String {
    let groups = view.groups.as_ref().map_or(&[][..], |it| &it.groups);
    let values = [
        groups.len() as u64,
        groups.first().map_or(0, |world| world.len() as u64),
        gauges.votes(),
        gauges.refused(),
    ];
    let mut out = String::new();
    for (metric, value) in GROUP_METRICS.iter().zip(values) {
        head(&mut out, metric);
        let _ = writeln!(out, "{} {value}", metric.0);
    }
    let round_trips = GROUP_METRICS.last().expect("there are some");
    head(&mut out, round_trips);
    for (node, ms) in gauges.delays_ms() {
        let name = view.nodes.get(&node).map_or("", |info| &info.name);
        let _ = writeln!(
            out,
            "{}{{node=\"{node}\",name=\"{}\"}} {}",
            round_trips.0,
            escaped(name),
            ms / 1e3
        );
    }
    out
}

/// A label's value: people may give processes any name.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

/// What a region server can say of its regions.
pub fn of_regions(gauges: &ServerGauges) -> String {
    of_each(&gauges.regions())
}

fn of_each(regions: &[(Place, Term, server::Gauges)]) -> String {
    let mut out = String::new();
    for (index, metric) in REGION_METRICS.iter().enumerate() {
        head(&mut out, metric);
        for (place, _, gauges) in regions {
            let promises = &gauges.promises;
            let values: [f64; REGION_METRICS.len()] = [
                gauges.tick.0 as f64,
                gauges.ticks as f64,
                gauges.late_ticks as f64,
                gauges.held_ticks as f64,
                gauges.cpu_secs,
                gauges.longest_tick_secs,
                f64::from(gauges.bodies),
                f64::from(gauges.auras),
                gauges.arrived as f64,
                gauges.departed as f64,
                gauges.exceeded[0] as f64,
                gauges.exceeded[1] as f64,
                gauges.exceeded[2] as f64,
                promises.watched as f64,
                promises.held as f64,
                promises.kept_out as f64,
                promises.spared as f64,
                promises.longest_ticks as f64,
                promises.longest_m,
                gauges.largest_cluster as f64,
                gauges.refused as f64,
                gauges.broken as f64,
                gauges.failures as f64,
                gauges.snapshot_bytes as f64,
                gauges.kept.map_or(0.0, |(_, tick)| tick.0 as f64),
            ];
            let (generation, region) = (place.generation.0, place.region.0);
            let _ = writeln!(
                out,
                "{}{{generation=\"{generation}\",region=\"{region}\"}} {}",
                metric.0, values[index]
            );
        }
    }
    out
}

/// What a gateway can say.
pub fn of_gateway(counters: &Counters) -> String {
    let mut out = String::new();
    for ((metric, kind), (_, _, value)) in Counters::METRICS.iter().zip(counters.all()) {
        head(&mut out, metric);
        let value = match kind {
            Kind::Gauge | Kind::Total => value as f64,
            Kind::Seconds | Kind::GaugeSeconds => value as f64 / 1e6,
        };
        let _ = writeln!(out, "{} {value}", metric.0);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Generation;
    use boundary::Kept;
    use domain::RegionId;

    /// Names and values stand in two lists: each value beside its name.
    #[test]
    fn a_region_tells_how_its_promises_are_kept() {
        let place = Place {
            generation: Generation(1),
            region: RegionId(2),
        };
        let gauges = server::Gauges {
            promises: Kept {
                watched: 11,
                held: 12,
                longest_ticks: 15,
                longest_m: 0.25,
                spared: 14,
                kept_out: 13,
            },
            largest_cluster: 17,
            refused: 18,
            ..server::Gauges::default()
        };
        let page = of_each(&[(place, Term(1), gauges)]);
        for (name, kind, value) in [
            ("watched_body_ticks_total", "counter", "11"),
            ("held_body_ticks_total", "counter", "12"),
            ("kept_out_body_ticks_total", "counter", "13"),
            ("spared_promises_total", "counter", "14"),
            ("hold_ticks_max", "gauge", "15"),
            ("hold_metres_max", "gauge", "0.25"),
            ("cluster_bodies_max", "gauge", "17"),
            ("refused_offers_total", "counter", "18"),
        ] {
            let head = format!("# TYPE auramesh_region_{name} {kind}\n");
            assert!(page.contains(&head), "{head} in {page}");
            let line =
                format!("\nauramesh_region_{name}{{generation=\"1\",region=\"2\"}} {value}\n");
            assert!(page.contains(&line), "{line} in {page}");
        }
    }

    #[test]
    fn a_gateway_tells_every_count_once_with_its_type() {
        let counters = Counters::default();
        counters.refused_tokens.add(3);
        counters.cpu_micros.add(1_500_000);
        let page = of_gateway(&counters);
        assert!(page.contains("# TYPE auramesh_gateway_refused_tokens_total counter\n"));
        assert!(page.contains("\nauramesh_gateway_refused_tokens_total 3\n"));
        assert!(page.contains("\nauramesh_gateway_cpu_seconds_total 1.5\n"));
        for ((name, kind, _), _) in Counters::METRICS {
            let lines = page
                .lines()
                .filter(|line| line.split(' ').next() == Some(name));
            assert_eq!(lines.count(), 1, "{name}");
            assert_eq!(name.ends_with("_total"), *kind == "counter", "{name}");
        }
    }
}
