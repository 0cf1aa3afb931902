//! `auramesh demo --groups N`: servers at several places; who shares a world is decided by measured pings.
//!
//! Every group has the whole world, on region servers and behind a gateway of its own. One user per group walks about; the others
//! see it through the relay: in their worlds a body follows where the user's own world says it is. What happens to that body there is not
//! told back (the thesis suppresses it: the user's own group knows better).

use crate::Status;
use crate::args::DemoArgs;
use crate::cluster_process::{block_on, ended, start_logging, stop_signal};
use crate::coordinator::world_of;
use crate::group_agents::{Agents, Board, GroupView, SeenAvatar, lock};
use crate::local_cluster::{Ground, LocalCluster};
use crate::output::print;
use client::{Client, Options};
use client_protocol::Spawn;
use cluster::gateway::{Gateway, GatewaySettings};
use cluster::node::Node;
use cluster::schema::{Role, WorldOptions};
use cluster::server::HostSettings;
use domain::{BodyId, Layout, Rect, Shape};
use glam::{DVec3, Vec3};
use groups::{Division, NodeId, allocate};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How long groups must have been the same before worlds are started on them, and how long that may take.
const CALM: f64 = 3.0;
const PATIENCE: Duration = Duration::from_secs(60);
/// How often a user acts and followers follow.
const PACE: Duration = Duration::from_millis(50);
/// How often everyone hears how it goes.
const REPORT: Duration = Duration::from_secs(5);
/// The radius of an avatar, metres.
const AVATAR_M: f32 = 0.5;
/// How fast a follower closes the distance to where it should be, per second.
const FOLLOW: f64 = 4.0;

/// Shows it until Ctrl-C, or for as long as was said.
pub fn run(args: &DemoArgs) -> Status {
    start_logging("warn");
    ended(block_on(demo(args)).and_then(|result| result))
}

async fn demo(args: &DemoArgs) -> Result<(), String> {
    let places = args.groups as usize;
    let machines = args.servers.max(places);
    let mut stop = stop_signal();
    let probe = world_of(&args.scene, &WorldOptions::default())?;
    let extent = probe.map.extent();
    let division = Division::of_ground(extent).map_err(|error| error.to_string())?;
    let agents = Agents::start(division, machines, places, args.group_delay_ms)?;
    print(&format!(
        "{machines} machines at {places} places, {} ms apart (emulated); measuring ...\n",
        args.group_delay_ms
    ));
    let formed = settled(&agents.board, machines).await?;
    print(&described(&formed, &lock(&agents.board), &division));
    let mut worlds = Vec::new();
    for (index, group) in formed.iter().enumerate() {
        let port = if args.port == 0 {
            0
        } else {
            args.port.saturating_add(index as u16)
        };
        let world = World::start(args, group, port, stop.clone()).await?;
        print(&format!(
            "{}: {} region servers (processes {}), {}\n",
            group.group,
            group.machines.len(),
            world.cluster.process_ids(),
            world.url
        ));
        worlds.push(world);
    }
    print("Ctrl-C ends everything.\n");
    let mut players = Vec::new();
    for (world, group) in worlds.iter().zip(&formed) {
        let place = group.machines[0] % places;
        let player = Player::enter(
            world,
            group.clone(),
            place,
            extent,
            Arc::clone(&agents.board),
        )
        .await?;
        players.push(tokio::spawn(player.play(stop.clone())));
    }
    let end = args
        .seconds
        .map(|secs| Instant::now() + Duration::from_secs_f64(secs));
    let mut report = tokio::time::interval(REPORT);
    report.tick().await;
    while end.is_none_or(|end| Instant::now() < end) {
        tokio::select! {
            () = cluster::node::stopped(&mut stop) => break,
            _ = report.tick() => print(&how_it_goes(&agents.board, &formed)),
            () = tokio::time::sleep(Duration::from_millis(500)) => {
                for world in &mut worlds {
                    world.cluster.replace_dead().await?;
                }
            }
        }
    }
    print(&how_it_goes(&agents.board, &formed));
    for player in players {
        player.abort();
    }
    for world in worlds {
        world.serving.abort();
        world.cluster.stop().await;
    }
    Ok(())
}

/// Waits until every machine is in a group that works together and nothing has changed for a while.
async fn settled(board: &Mutex<Board>, machines: usize) -> Result<Vec<GroupView>, String> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let board = lock(board);
        let known: usize = board.groups.iter().map(|group| group.machines.len()).sum();
        let calm = board.now.since(board.stable_since).as_secs() >= CALM;
        if known == machines && calm && board.groups.iter().all(|group| group.started) {
            return Ok(board.groups.clone());
        }
    }
    Err("the machines did not agree on groups in time".to_owned())
}

/// Who shares a world with whom, why, and who would get which part.
fn described(formed: &[GroupView], board: &Board, division: &Division) -> String {
    let mut text = String::from("measured round trips, ms:\n");
    let machines: Vec<usize> = formed
        .iter()
        .flat_map(|group| group.machines.clone())
        .collect();
    for a in &machines {
        let row: Vec<String> = machines
            .iter()
            .map(|b| {
                board
                    .delays_ms
                    .get(&(*a, *b))
                    .map_or("    -".into(), |ms| format!("{ms:5.0}"))
            })
            .collect();
        let _ = writeln!(text, "  machine {a}: {}", row.join(" "));
    }
    for group in formed {
        let ids: Vec<NodeId> = group
            .machines
            .iter()
            .map(|machine| NodeId(*machine as u32))
            .collect();
        let allocation = allocate(&ids);
        let _ = writeln!(text, "{}: machines {:?}", group.group, group.machines);
        for (node, vertex) in allocation.places() {
            let Rect { min, max } = division.sub_space(*vertex).finite.ground();
            let _ = writeln!(
                text,
                "  {vertex}: x {:.0} to {:.0}, z {:.0} to {:.0} (machine {})",
                min[0], max[0], min[1], max[1], node.0
            );
        }
    }
    text
}

fn how_it_goes(board: &Mutex<Board>, formed: &[GroupView]) -> String {
    let mut board = lock(board);
    let mut text = String::new();
    for news in std::mem::take(&mut board.news) {
        let _ = writeln!(text, "{news}");
    }
    if board.groups != formed {
        let _ = writeln!(
            text,
            "the groups are others now; the worlds stay as they were started"
        );
    }
    for (group, seen) in &board.avatars {
        let avatars = seen.iter().map(|avatar| {
            let truth = board
                .acts
                .get(&avatar.place)
                .map(|(position, _)| position.distance(avatar.position));
            let off = truth.map_or(String::new(), |metres| {
                format!(", {metres:.2} m from where its own world has it")
            });
            format!(
                "the user of place {} ({:.0} ms old{off})",
                avatar.place,
                avatar.age.as_millis()
            )
        });
        let _ = writeln!(
            text,
            "{group} knows {}",
            avatars.collect::<Vec<_>>().join("; ")
        );
    }
    text
}

/// A group's own copy of the world.
struct World {
    cluster: LocalCluster,
    url: String,
    serving: tokio::task::JoinHandle<()>,
}

impl World {
    async fn start(
        args: &DemoArgs,
        group: &GroupView,
        port: u16,
        stop: watch::Receiver<bool>,
    ) -> Result<Self, String> {
        // As many regions as members, cut as their tree is: halves of the longest side.
        let options = WorldOptions {
            regions: Some(group.machines.len()),
            layout: Some(Layout::Tree),
            ..WorldOptions::default()
        };
        let mut world = world_of(&args.scene, &options)?;
        let servers = world.map.len();
        world.min_servers = servers;
        let bind = SocketAddr::from(([127, 0, 0, 1], port));
        let settings = GatewaySettings {
            feed_ticks: HostSettings::default().feed_ticks,
            ..GatewaySettings::new(bind)
        };
        let gateway = Gateway::bind(settings)
            .await
            .map_err(|error| format!("{error} (--port chooses another one, 0 any that is free)"))?;
        let cluster = LocalCluster::start(world, servers, Ground::default()).await?;
        let url = gateway.url();
        let node = Node::join(
            cluster.connection(),
            Role::Gateway,
            "gateway",
            Some(url.clone()),
        )
        .await;
        let node = node.map_err(|error| format!("cannot start a gateway: {error}"))?;
        let serving = tokio::spawn(async move { _ = gateway.run(node, stop).await });
        Ok(Self {
            cluster,
            url,
            serving,
        })
    }
}

/// The user of a group, and the bodies in its world that follow the users of others.
struct Player {
    client: Client,
    group: GroupView,
    place: usize,
    middle: DVec3,
    radius: f64,
    board: Arc<Mutex<Board>>,
    avatar: BodyId,
    followers: BTreeMap<usize, BodyId>,
    last: Option<(Instant, DVec3)>,
}

impl Player {
    async fn enter(
        world: &World,
        group: GroupView,
        place: usize,
        extent: Rect,
        board: Arc<Mutex<Board>>,
    ) -> Result<Self, String> {
        let url = format!("{}ws", world.url.replace("http://", "ws://"));
        let client = connect(&url).await?;
        let middle = DVec3::new(
            f64::midpoint(extent.min[0], extent.max[0]),
            3.0,
            f64::midpoint(extent.min[1], extent.max[1]),
        );
        let radius = extent.size()[0].min(extent.size()[1]) * 0.3;
        let mut player = Self {
            client,
            group,
            place,
            middle,
            radius,
            board,
            avatar: BodyId(0),
            followers: BTreeMap::new(),
            last: None,
        };
        player.avatar = player.appear(player.wanted(0.0)).await?;
        Ok(player)
    }

    /// The user walks in a circle of its own.
    fn wanted(&self, secs: f64) -> DVec3 {
        let angle = secs * 0.4 + self.place as f64 * 1.5;
        self.middle + DVec3::new(angle.cos(), 0.0, angle.sin()) * self.radius
    }

    async fn appear(&self, position: DVec3) -> Result<BodyId, String> {
        let spawn = Spawn::new(Shape::Sphere { radius: AVATAR_M }, position);
        self.client
            .spawn(spawn)
            .await
            .map_err(|error| format!("an avatar cannot appear: {error}"))
    }

    async fn play(mut self, mut stop: watch::Receiver<bool>) {
        let start = Instant::now();
        let mut pace = tokio::time::interval(PACE);
        pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = cluster::node::stopped(&mut stop) => return,
                _ = pace.tick() => {}
            }
            self.client.take_events();
            let places: BTreeMap<BodyId, DVec3> = self
                .client
                .bodies()
                .into_iter()
                .map(|(id, shown)| (id, shown.position))
                .collect();
            self.walk(&places, start.elapsed().as_secs_f64()).await;
            let seen = lock(&self.board)
                .avatars
                .get(&self.group.group)
                .cloned()
                .unwrap_or_default();
            let own = self.place;
            for avatar in seen.into_iter().filter(|avatar| avatar.place != own) {
                self.follow(&places, &avatar).await;
            }
        }
    }

    /// The own avatar: pushed along its circle; where the world says it is, is what is told.
    async fn walk(&mut self, places: &BTreeMap<BodyId, DVec3>, secs: f64) {
        let Some(position) = places.get(&self.avatar).copied() else {
            return;
        };
        let velocity = (self.wanted(secs + 0.1) - position) * 2.0;
        let _ = self
            .client
            .set_velocity(self.avatar, velocity.as_vec3())
            .await;
        let now = Instant::now();
        let moved = self.last.map_or(Vec3::ZERO, |(then, before)| {
            let secs = now.duration_since(then).as_secs_f64().max(1e-3);
            ((position - before) / secs)
                .clamp_length_max(50.0)
                .as_vec3()
        });
        self.last = Some((now, position));
        lock(&self.board).acts.insert(self.place, (position, moved));
    }

    /// Someone else's avatar: a body of this world that goes where it is told to be.
    async fn follow(&mut self, places: &BTreeMap<BodyId, DVec3>, avatar: &SeenAvatar) {
        let Some(body) = self.followers.get(&avatar.place).copied() else {
            if let Ok(body) = self.appear(avatar.position).await {
                self.followers.insert(avatar.place, body);
            }
            return;
        };
        let Some(position) = places.get(&body) else {
            return;
        };
        let velocity = avatar.velocity.as_dvec3() + (avatar.position - *position) * FOLLOW;
        let _ = self
            .client
            .set_velocity(body, velocity.clamp_length_max(50.0).as_vec3())
            .await;
    }
}

/// The world may still be starting.
async fn connect(url: &str) -> Result<Client, String> {
    let start = Instant::now();
    loop {
        match Client::connect(url, Options::default()).await {
            Ok(client) => {
                while client.look(|scene| scene.world().is_none()) && start.elapsed() < PATIENCE {
                    tokio::time::sleep(PACE).await;
                }
                return Ok(client);
            }
            Err(_) if start.elapsed() < PATIENCE => {
                tokio::time::sleep(Duration::from_millis(300)).await
            }
            Err(error) => return Err(format!("a user cannot connect to {url}: {error}")),
        }
    }
}
