//! Inspection, part by part, and what it means in the words of the TypeScript client.

use super::messages::{PLAYERS, big};
use client_protocol::*;
use domain::{BodyId, Epoch, Motion, RegionId, Tick};
use glam::{DVec3, Quat, Vec3};
use serde_json::{Value, json};

const BODY: BodyId = BodyId(PLAYERS);
const PLACE: DVec3 = DVec3::new(1.5, 2.0, -3.0);

fn place() -> Value {
    json!([1.5, 2.0, -3.0])
}

fn lists() -> Vec<(Content, Value)> {
    let aura = AuraMark {
        body: BODY,
        centre: PLACE,
        radius: 0.5,
        reach: 1.25,
        growth: 0.125,
        audience: vec![RegionId(1), RegionId(2)],
    };
    let flags = BodyFlags {
        asleep: true,
        homeless: false,
    };
    vec![
        (
            Content::Auras(vec![aura]),
            json!({ "type": "auras", "auras": [{
                "body": big(PLAYERS), "centre": place(), "radius": 0.5, "reach": 1.25, "growth": 0.125, "audience": [1, 2],
            }] }),
        ),
        (
            Content::Clusters(vec![ClusterMark {
                body: BODY,
                cluster: BodyId(3),
                since: Tick(40),
                state: NearBorder::Outside,
            }]),
            json!({ "type": "clusters", "members": [{ "body": big(PLAYERS), "cluster": big(3), "since": 40, "place": "outside" }] }),
        ),
        (
            Content::Bodies {
                whole: true,
                bodies: vec![BodyMark {
                    body: BODY,
                    epoch: Epoch(4),
                    flags,
                }],
            },
            json!({ "type": "bodies", "whole": true, "bodies": [
                { "body": big(PLAYERS), "epoch": 4, "asleep": true, "underway": false },
            ] }),
        ),
        (
            Content::Flight(vec![FlightMark {
                body: BODY,
                to: RegionId(2),
                epoch: Epoch(5),
                left: Tick(41),
                place: PLACE,
            }]),
            json!({ "type": "flight", "bodies": [{ "body": big(PLAYERS), "to": 2, "epoch": 5, "left": 41, "place": place() }] }),
        ),
        (
            Content::Migrations(vec![MigrationMark {
                body: BODY,
                epoch: Epoch(5),
                to: RegionId(2),
                tick: Tick(42),
                cause: Cause::Traversal,
                place: PLACE,
            }]),
            json!({ "type": "migrations", "migrations": [{
                "body": big(PLAYERS), "epoch": 5, "to": 2, "tick": 42, "cause": "left the region", "place": place(),
            }] }),
        ),
        (
            Content::Crossings(vec![CrossingMark {
                bodies: [BODY, BodyId(3)],
                from: [RegionId(0), RegionId(1)],
                tick: Tick(43),
                speed: 4.5,
                place: PLACE,
            }]),
            json!({ "type": "crossings", "crossings": [{
                "a": big(PLAYERS), "b": big(3), "regionOfA": 0, "regionOfB": 1, "tick": 43, "speed": 4.5, "place": place(),
            }] }),
        ),
        (
            Content::Truth(vec![TruthMark {
                body: BODY,
                owner: RegionId(1),
                epoch: Epoch(6),
                tick: Tick(44),
                motion: Motion {
                    position: PLACE,
                    rotation: Quat::from_xyzw(0.5, 0.5, 0.5, 0.5),
                    linear_velocity: Vec3::X,
                    angular_velocity: Vec3::Y,
                },
                flags: BodyFlags {
                    asleep: false,
                    homeless: true,
                },
            }]),
            json!({ "type": "truth", "bodies": [{
                "body": big(PLAYERS), "owner": 1, "epoch": 6, "tick": 44, "position": place(), "rotation": [0.5, 0.5, 0.5, 0.5],
                "velocity": [1, 0, 0], "spin": [0, 1, 0], "asleep": false, "underway": true,
            }] }),
        ),
    ]
}

fn states() -> Vec<(Content, Value)> {
    let states = [
        (HealthState::Vacant, "abandoned"),
        (HealthState::Ready, "waiting"),
        (HealthState::Running, "running"),
        (HealthState::Recovering, "recovering"),
        (HealthState::Silent, "silent"),
        (HealthState::Moving, "moving"),
    ];
    let health = states.into_iter().map(|(state, name)| {
        let health = Health {
            state,
            term: 2,
            server: "s1".to_owned(),
            standby: "s2".to_owned(),
            silent_ms: 30,
            in_term_ms: 4000,
            exceeded: [1, 2, 3],
        };
        let means = json!({
            "type": "health", "state": name, "term": 2, "server": "s1", "standby": "s2", "silentMs": 30, "inTermMs": 4000,
            "exceeded": { "speed": 1, "latency": 2, "frame": 3 },
        });
        (Content::Health(Box::new(health)), means)
    });
    health.collect()
}

fn figures() -> (Content, Value) {
    let figures = Figures {
        term: 1,
        ticks: 2,
        late_ticks: 3,
        cpu_ns: 4,
        longest_ns: 5,
        budget_ns: 6,
        bodies: 7,
        awake: 8,
        projecting: 9,
        auras: 10,
        in_flight: 11,
        arrived: 12,
        departed: 13,
        bytes_to_regions: 14,
        bytes_to_others: 15,
    };
    let means = json!({
        "type": "figures", "term": 1, "ticks": 2, "lateTicks": 3, "cpuNs": 4, "longestNs": 5, "budgetNs": 6, "bodies": 7, "awake": 8,
        "projecting": 9, "aurasHeld": 10, "inFlight": 11, "arrived": 12, "departed": 13, "bytesToRegions": 14, "bytesToOthers": 15,
    });
    (Content::Figures(Box::new(figures)), means)
}

/// One message with all parts.
pub fn message() -> (ToClient, Value) {
    let (mut parts, mut meanings) = (Vec::new(), Vec::new());
    let all = lists().into_iter().chain(states()).chain([figures()]);
    for (number, (content, means)) in (0..).zip(all) {
        let (region, named) = match number % 3 {
            0 => (None, 65535),
            _ => (Some(RegionId(number)), number),
        };
        let mut means = means;
        means["region"] = json!(named);
        means["tick"] = json!(100 + number);
        meanings.push(means);
        parts.push(Part {
            region,
            tick: Tick(u64::from(100 + number)),
            content,
        });
    }
    (
        ToClient::Inspection { frame: 50, parts },
        json!({ "type": "inspection", "frame": 50, "parts": meanings }),
    )
}
