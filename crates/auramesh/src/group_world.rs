//! A group's own copy of the world in `auramesh demo --groups`: region servers, a control plane and a gateway of its own.

use crate::args::DemoArgs;
use crate::coordinator::world_of;
use crate::group_agents::{Board, GroupView};
use crate::group_warden::Warden;
use crate::local_cluster::{Ground, LocalCluster};
use cluster::gateway::{Gateway, GatewaySettings};
use cluster::node::Node;
use cluster::schema::{Role, WorldOptions};
use cluster::server::HostSettings;
use domain::{Body, BodyId, Layout, Motion};
use groups::{ObjectClass, ObjectInfo, ObjectKey, ObjectState};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;

/// The gateway's people get so long to say goodbye.
const FAREWELL: Duration = Duration::from_secs(3);

/// So many of the scene's bodies are watched in all groups and carried into new worlds: what is said of them fits into one datagram.
const MOST_WATCHED: usize = 256;

/// The scene's bodies that groups talk about: the first ones.
fn watched(bodies: &[Body]) -> impl Iterator<Item = &Body> {
    bodies.iter().take(MOST_WATCHED)
}

/// They, as objects of the groups.
pub fn objects(bodies: &[Body]) -> Vec<(ObjectInfo, ObjectState)> {
    let object = |body: &Body| {
        let key = ObjectKey::persistent(body.id.0);
        let info = ObjectInfo {
            key,
            class: ObjectClass::Physical,
            kind: 0,
            extent_m: body.form.shape.bounding_radius(),
        };
        let Motion {
            position,
            rotation,
            linear_velocity,
            angular_velocity,
        } = body.motion;
        let state = ObjectState {
            rotation,
            velocity: linear_velocity,
            spin: angular_velocity,
            ..ObjectState::at_rest(key, position)
        };
        (info, state)
    };
    watched(bodies).map(object).collect()
}

/// Where a new world has a body that a group says this of.
pub fn placed(state: &ObjectState) -> (BodyId, Motion) {
    let motion = Motion {
        position: state.position,
        rotation: state.rotation,
        linear_velocity: state.velocity,
        angular_velocity: state.spin,
    };
    (BodyId(state.key.id), motion)
}

/// A group's own copy of the world.
pub struct World {
    cluster: LocalCluster,
    /// Where to look at it.
    pub url: String,
    /// Ends the gateway.
    stop: watch::Sender<bool>,
    serving: tokio::task::JoinHandle<()>,
    /// Whose region server is which.
    servers: BTreeMap<usize, String>,
}

impl World {
    /// Starts a world on the machines of a group, with these bodies elsewhere than the scene says. It is cut, by halves of the longest side, into as many
    /// regions as there are machines in all, so that each has something to do whoever shares a group later.
    pub async fn start(
        args: &DemoArgs,
        group: &GroupView,
        regions: usize,
        port: u16,
        placed: Vec<(BodyId, Motion)>,
        board: &Arc<Mutex<Board>>,
    ) -> Result<Self, String> {
        let options = WorldOptions {
            regions: Some(regions),
            layout: Some(Layout::Tree),
            aura: Some(args.aura.into()),
            handover: Some(args.handover.into()),
            ..WorldOptions::default()
        };
        let mut world = world_of(&args.scene, &options)?;
        world.min_servers = group.machines.len();
        world.placed = placed;
        let bodies = world
            .load_scene()
            .map_err(|error| error.to_string())?
            .bodies;
        let bodies = watched(&bodies).map(|body| body.id).collect();
        let bind = SocketAddr::from(([127, 0, 0, 1], port));
        let settings = GatewaySettings {
            feed_ticks: HostSettings::default().feed_ticks,
            ..GatewaySettings::new(bind)
        };
        let gateway = Gateway::bind(settings)
            .await
            .map_err(|error| format!("{error} (--port chooses another one, 0 any that is free)"))?;
        let mut cluster = LocalCluster::start(world, 0, Ground::default()).await?;
        let mut servers = BTreeMap::new();
        for machine in &group.machines {
            servers.insert(*machine, cluster.start_server().await?);
        }
        let url = gateway.url();
        let node = Node::join(
            cluster.connection(),
            Role::Gateway,
            "gateway",
            Some(url.clone()),
        )
        .await;
        let node = node.map_err(|error| format!("cannot start a gateway: {error}"))?;
        let (stop, stopped) = watch::channel(false);
        let warden = Warden::watch(
            url.clone(),
            group.group,
            bodies,
            Arc::clone(board),
            stopped.clone(),
        );
        tokio::spawn(warden);
        let serving = tokio::spawn(async move { _ = gateway.run(node, stopped).await });
        Ok(Self {
            cluster,
            url,
            stop,
            serving,
            servers,
        })
    }

    /// The machines it runs on.
    pub fn machines(&self) -> Vec<usize> {
        self.servers.keys().copied().collect()
    }

    /// The processes of its region servers.
    pub fn process_ids(&self) -> String {
        self.cluster.process_ids()
    }

    /// Region servers that have died are replaced.
    pub async fn look_after(&mut self) -> Result<(), String> {
        self.cluster.replace_dead().await
    }

    /// The group has other members: whoever has come gets a region server, whoever has gone takes its own away, after it has given its regions to the
    /// others.
    pub async fn take_members(&mut self, machines: &[usize]) -> Result<(), String> {
        for machine in machines {
            if !self.servers.contains_key(machine) {
                let name = self.cluster.start_server().await?;
                self.servers.insert(*machine, name);
            }
        }
        let gone: Vec<usize> = self
            .servers
            .keys()
            .copied()
            .filter(|m| !machines.contains(m))
            .collect();
        for machine in gone {
            let name = self.servers.remove(&machine).unwrap_or_default();
            self.cluster.retire(&name).await;
        }
        Ok(())
    }

    /// Ends it.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        let _ = tokio::time::timeout(FAREWELL, self.serving).await;
        self.cluster.stop().await;
    }
}
