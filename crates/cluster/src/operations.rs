//! A small HTTP server beside every process: `/healthz`, `/metrics`, `/status`.

use crate::Boxed;
use crate::carrier::Carrier;
use crate::clock::ClusterClock;
use crate::gateway::Counters;
use crate::groups::Gauges;
use crate::metrics;
use crate::names::Place;
use crate::schema::{ClusterView, Promises, Role};
use crate::server::ServerGauges;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// What the pages are made of.
#[derive(Clone)]
pub struct Operations {
    /// What the process does.
    pub role: Role,
    /// Its clock.
    pub clock: Arc<ClusterClock>,
    /// Its network.
    pub carrier: Arc<dyn Carrier>,
    /// What the control plane says.
    pub view: watch::Receiver<Arc<ClusterView>>,
    /// Its regions, if it is a server.
    pub server: Option<ServerGauges>,
    /// What it has counted, if it is a gateway.
    pub gateway: Option<Arc<Counters>>,
    /// What it has measured, where consistency groups are on.
    pub groups: Arc<Gauges>,
}

/// The whole cluster in short, as any of its processes sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClusterStatus {
    /// The name of the leading coordinator.
    pub leader: Option<String>,
    /// The scene's name.
    pub scene: Option<String>,
    /// Which world.
    pub generation: u32,
    /// Has it started?
    pub started: bool,
    /// All processes.
    pub nodes: Vec<NodeStatus>,
    /// All regions.
    pub regions: Vec<RegionStatus>,
    /// Which servers are near each other, where that is measured.
    #[serde(default)]
    pub groups: Vec<GroupStatus>,
}

/// One consistency group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupStatus {
    /// What people call its servers.
    pub members: Vec<String>,
    /// Its members have the regions.
    pub shares_world: bool,
}

/// One process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeStatus {
    /// Its name for machines.
    pub node: String,
    /// What people call it.
    pub name: String,
    /// What it does.
    pub role: Role,
    /// Where it is.
    pub address: String,
    /// Where people find it.
    pub url: Option<String>,
    /// It wants to go.
    pub leaving: bool,
}

/// One region.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegionStatus {
    /// Which.
    pub region: u32,
    /// Who has it.
    pub owner: Option<String>,
    /// How many owners it has had.
    pub term: u32,
    /// Who keeps its snapshots.
    pub standby: Option<String>,
    /// It is about to move there.
    pub moving: bool,
    /// How its bodies were held to their promises, as of some seconds ago; `None` until its owner has been heard.
    #[serde(default)]
    pub promises: Option<Promises>,
}

impl ClusterStatus {
    /// From what the control plane says.
    pub fn of(view: &ClusterView) -> Self {
        let name = |node| {
            let info = view.nodes.get(&node);
            info.map_or_else(|| format!("{node} (gone)"), |info| info.name.clone())
        };
        let generation = view.assignment.generation;
        let scene = view
            .world
            .as_ref()
            .and_then(|world| world.load_scene().ok());
        Self {
            leader: view.leader.as_ref().map(|leader| name(leader.node)),
            scene: scene.map(|scene| scene.name),
            generation: generation.0,
            started: view
                .world
                .as_ref()
                .is_some_and(|world| world.start_unix_ns.is_some()),
            nodes: view
                .nodes
                .values()
                .map(|info| NodeStatus {
                    node: info.node.to_string(),
                    name: info.name.clone(),
                    role: info.role,
                    address: info.address.to_string(),
                    url: info.url.clone(),
                    leaving: info.leaving,
                })
                .collect(),
            regions: view
                .assignment
                .regions()
                .map(|(region, seat)| RegionStatus {
                    region: region.0,
                    owner: seat.owner.map(name),
                    term: seat.term.0,
                    standby: seat.standby.map(name),
                    moving: seat.moving,
                    promises: view.keeping.of(Place { generation, region }),
                })
                .collect(),
            groups: view
                .groups
                .iter()
                .flat_map(|it| it.groups.iter().enumerate())
                .map(|(index, members)| GroupStatus {
                    members: members.iter().map(|node| name(*node)).collect(),
                    shares_world: index == 0,
                })
                .collect(),
        }
    }
}

/// The pages, to be served alone or beside others.
pub fn router(operations: Operations) -> Router {
    Router::new()
        .route("/healthz", get(health))
        .route("/metrics", get(metrics_page))
        .route("/status", get(status))
        .with_state(operations)
}

/// Serves the pages until the task is dropped.
pub fn serve(listener: TcpListener, operations: Operations) -> Boxed<'static, std::io::Result<()>> {
    Box::pin(async move { axum::serve(listener, router(operations)).await })
}

/// Fine if a coordinator leads, as far as this process knows. Whether its regions step, their metrics tell: a region that waits for a neighbour is not helped by ending its server.
async fn health(State(operations): State<Operations>) -> impl IntoResponse {
    let led = operations.view.borrow().leader.is_some();
    if led {
        (StatusCode::OK, "ok\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "no coordinator leads\n")
    }
}

async fn metrics_page(State(operations): State<Operations>) -> impl IntoResponse {
    let standby = operations
        .server
        .as_ref()
        .map_or(0, ServerGauges::standby_bytes);
    let mut page = metrics::of_process(operations.carrier.traffic(), &operations.clock, standby);
    page.push_str(&metrics::of_groups(
        &operations.groups,
        &operations.view.borrow(),
    ));
    if let Some(server) = &operations.server {
        page.push_str(&metrics::of_regions(server));
    }
    if let Some(gateway) = &operations.gateway {
        page.push_str(&metrics::of_gateway(gateway));
    }
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], page)
}

async fn status(State(operations): State<Operations>) -> impl IntoResponse {
    let status = ClusterStatus::of(&operations.view.borrow());
    let page = serde_json::to_string_pretty(&status).expect("names and numbers");
    ([(header::CONTENT_TYPE, "application/json")], page)
}
