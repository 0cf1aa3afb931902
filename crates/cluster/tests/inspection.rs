//! Looking closely: auras, clusters, migrations, contacts across borders, how servers are, the truth about a body (issue 5, what nobody else shows).

#[allow(dead_code, reason = "shared with other tests")]
mod gateway_common;
#[allow(dead_code, reason = "shared with other tests")]
mod live_common;

use client::{ClientError, Event, Options};
use client_protocol::{
    Content, CrossingMark, EmulatedNetwork, Figures, Health, HealthState, Inspect, Layers, Part,
    TruthMark,
};
use cluster::gateway::GatewaySettings;
use domain::{BodyId, RegionId};
use gateway_common::{Live, settings, until};
use live_common::world;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Everything that has been shown so far.
#[derive(Default)]
struct Shown {
    parts: u64,
    auras: BTreeMap<RegionId, usize>,
    audiences: BTreeSet<(RegionId, RegionId)>,
    clusters: usize,
    bodies: BTreeSet<BodyId>,
    bodies_shown: bool,
    migrated: BTreeSet<(BodyId, RegionId, RegionId)>,
    crossings: Vec<CrossingMark>,
    health: BTreeMap<RegionId, Health>,
    figures: BTreeMap<RegionId, Figures>,
    truth: Vec<TruthMark>,
}

impl Shown {
    fn see(&mut self, events: Vec<Event>) {
        for event in events {
            if let Event::Inspected(part) = event {
                self.see_part(*part);
            }
        }
    }

    fn see_part(&mut self, part: Part) {
        self.parts += 1;
        let region = part.region;
        let of = || region.expect("of one region");
        match part.content {
            Content::Auras(auras) => {
                assert!(
                    auras
                        .iter()
                        .all(|aura| aura.reach > 0.0 && aura.radius > 0.0)
                );
                let audience = auras.iter().flat_map(|aura| aura.audience.clone());
                self.audiences.extend(audience.map(|other| (of(), other)));
                let most = self.auras.entry(of()).or_default();
                *most = auras.len().max(*most);
            }
            Content::Clusters(bodies) => self.clusters += bodies.len(),
            Content::Bodies { whole, bodies } => {
                let is_first = !std::mem::replace(&mut self.bodies_shown, true);
                assert_eq!(whole, is_first, "all at first, then changes");
                self.bodies.extend(bodies.iter().map(|mark| mark.body));
            }
            Content::Flight(_) => {}
            Content::Migrations(bodies) => {
                let marks = bodies.iter();
                self.migrated
                    .extend(marks.map(|mark| (mark.body, of(), mark.to)));
            }
            Content::Crossings(contacts) => self.crossings.extend(contacts),
            Content::Health(health) => drop(self.health.insert(of(), *health)),
            Content::Figures(figures) => drop(self.figures.insert(of(), *figures)),
            Content::Truth(bodies) => self.truth.extend(bodies),
        }
    }
}

async fn look(client: &mut client::Client, secs: f64, shown: &mut Shown) {
    let end = tokio::time::Instant::now() + Duration::from_secs_f64(secs);
    while tokio::time::Instant::now() < end {
        shown.see(client.take_events());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn everything(picked: Vec<BodyId>) -> Inspect {
    Inspect {
        layers: Layers::ALL,
        picked,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_looks_closely_sees_auras_clusters_migrations_servers_and_the_truth() {
    let live = Live::start(world("head-on", 2), 2, settings()).await;
    let mut client = live.client().await;
    until(20.0, "bodies are there", || {
        client.look(|s| s.bodies().len() > 1)
    })
    .await;
    let bodies: BTreeSet<BodyId> = client.look(|scene| scene.bodies().map(|(id, _)| id).collect());
    let picked = *bodies.first().expect("there are some");
    let mut shown = Shown::default();
    client
        .inspect(everything(vec![picked]))
        .await
        .expect("asked");
    let seen_all = |shown: &Shown| {
        !shown.crossings.is_empty() && !shown.migrated.is_empty() && shown.truth.len() > 30
    };
    for _ in 0..100 {
        look(&mut client, 0.2, &mut shown).await;
        if seen_all(&shown) {
            break;
        }
    }
    assert!(
        shown.auras.values().any(|auras| *auras > 0),
        "auras are shown"
    );
    let (a, b) = (RegionId(0), RegionId(1));
    assert!(
        shown.audiences.contains(&(a, b)) || shown.audiences.contains(&(b, a)),
        "auras are projected to the neighbour: {:?}",
        shown.audiences
    );
    assert!(shown.clusters > 0, "clusters are shown");
    assert_eq!(shown.bodies, bodies, "every body's ownership");
    assert!(!shown.migrated.is_empty(), "a migration is shown");
    // What two regions say of themselves comes in turns: of a body that is just changing hands both may speak, or neither.
    let is_calm = |shown: &Shown| {
        let owned = shown.figures.values().map(|figures| figures.bodies);
        let runs = |(region, health): (&RegionId, &Health)| {
            health.state == HealthState::Running && health.term == shown.figures[region].term
        };
        owned.sum::<u32>() as usize == bodies.len() && shown.health.iter().all(runs)
    };
    for _ in 0..200 {
        if is_calm(&shown) {
            break;
        }
        look(&mut client, 0.1, &mut shown).await;
    }
    let across = shown.crossings.first().expect("they met across the border");
    assert_ne!(across.from[0], across.from[1]);
    assert_eq!(shown.health.len(), 2);
    for (region, health) in &shown.health {
        assert_eq!(health.state, HealthState::Running);
        // Servers that came later may have taken over before the start.
        assert!(health.term >= 1 && health.term == shown.figures[region].term);
        assert!(health.server.starts_with('s') && health.server != health.standby);
    }
    for figures in shown.figures.values() {
        assert!(figures.ticks > 0 && figures.cpu_ns > 0 && figures.bytes_to_regions > 0);
        assert_eq!(figures.budget_ns, 16_666_667);
    }
    let owned: u32 = shown.figures.values().map(|figures| figures.bodies).sum();
    assert_eq!(owned as usize, bodies.len());
    // More often than the other layers, of one body, at rising ticks.
    assert!(shown.truth.iter().all(|truth| truth.body == picked));
    assert!(shown.truth.is_sorted_by_key(|truth| truth.tick));

    // And nothing any more when nobody asks.
    client.inspect(Inspect::default()).await.expect("asked");
    let mut later = Shown::default();
    for _ in 0..20 {
        later = Shown::default();
        look(&mut client, 0.5, &mut later).await;
        if later.parts == 0 {
            break;
        }
    }
    assert_eq!(later.parts, 0);
    live.stop().await;
}

/// A gateway that is no demonstration's has no hands to kill with; a viewer may look at everything and do nothing.
#[tokio::test(flavor = "multi_thread")]
async fn only_a_demonstration_kills_and_a_viewer_only_looks() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tokens");
    std::fs::write(
        &file,
        "look-closely-secret view\nrule-them-all-secret admin\n",
    )
    .expect("written");
    let settings = GatewaySettings {
        tokens: Some(file),
        ..settings()
    };
    let live = Live::start(world("head-on", 2), 2, settings).await;
    let with = |token: &str| Options {
        token: token.to_owned(),
        ..Options::default()
    };
    let admin = live.client_with(with("rule-them-all-secret")).await;
    until(20.0, "bodies are there", || {
        admin.look(|s| s.bodies().len() > 1)
    })
    .await;
    let features = admin.look(|scene| scene.features().cloned()).expect("told");
    assert!(!features.demo && features.scenes.iter().any(|(name, _)| name == "head-on"));
    let network = EmulatedNetwork {
        latency_ms: 5.0,
        ..EmulatedNetwork::default()
    };
    for refused in [
        admin.kill_server("s0").await,
        admin.set_network(network).await,
    ] {
        match refused {
            Err(ClientError::Refused(why)) => assert!(why.contains("demonstration"), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(admin.stop_injections().await.expect("may"), 0);

    let mut viewer = live.client_with(with("look-closely-secret")).await;
    for forbidden in [
        viewer.kill_server("s0").await,
        viewer.set_network(network).await,
        viewer.stop_injections().await.map(drop),
    ] {
        assert!(
            matches!(forbidden, Err(ClientError::Forbidden(_))),
            "{forbidden:?}"
        );
    }
    viewer
        .inspect(everything(Vec::new()))
        .await
        .expect("may look");
    let mut shown = Shown::default();
    for _ in 0..200 {
        look(&mut viewer, 0.1, &mut shown).await;
        if shown.health.len() == 2 {
            break;
        }
    }
    assert_eq!(shown.health.len(), 2);
    live.stop().await;
}

/// Everything anew: the same bodies again, without a gap, and not more often than once a second.
#[tokio::test(flavor = "multi_thread")]
async fn everything_is_told_anew_on_request() {
    let live = Live::scene("orbit", 2).await;
    let client = live.client().await;
    until(20.0, "bodies are there", || {
        client.look(|s| s.bodies().len() > 5)
    })
    .await;
    let bodies = client.look(|scene| scene.bodies().len());
    let restarts = || client.traffic().restarts;
    let began = std::time::Instant::now();
    for _ in 0..20 {
        client.ask_anew().await.expect("asked");
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    until(5.0, "told anew", || restarts() > 0).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let cells = u64::from(settings().cells).pow(2);
    let told = restarts();
    let at_most = cells * (1 + began.elapsed().as_secs());
    assert!(told <= at_most, "once a second: {told} of {cells} cells");
    assert_eq!(client.look(|scene| scene.bodies().len()), bodies);
    live.stop().await;
}
