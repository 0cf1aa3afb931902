//! A user of `auramesh demo --groups`, and the bodies in its world that follow the users of others.

use crate::group_agents::{Board, SeenAvatar, lock};
use client::{Client, Options};
use client_protocol::Spawn;
use domain::{BodyId, Rect, Shape};
use glam::{DVec3, Vec3};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How long a world may take to start.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often a user acts and followers follow.
const PACE: Duration = Duration::from_millis(50);
/// The radius of an avatar, metres.
const AVATAR_M: f32 = 0.5;
/// How fast a follower closes the distance to where it should be, per second.
const FOLLOW: f64 = 4.0;

/// The user of a place, in the world of its group.
pub struct Player {
    client: Client,
    place: usize,
    middle: DVec3,
    radius: f64,
    board: Arc<Mutex<Board>>,
    avatar: BodyId,
    followers: BTreeMap<usize, BodyId>,
    last: Option<(Instant, DVec3)>,
}

impl Player {
    /// Enters the world behind a gateway.
    pub async fn enter(
        url: &str,
        place: usize,
        extent: Rect,
        board: Arc<Mutex<Board>>,
    ) -> Result<Self, String> {
        let url = format!("{}ws", url.replace("http://", "ws://"));
        let client = connect(&url).await?;
        let middle = DVec3::new(
            f64::midpoint(extent.min[0], extent.max[0]),
            3.0,
            f64::midpoint(extent.min[1], extent.max[1]),
        );
        let radius = extent.size()[0].min(extent.size()[1]) * 0.3;
        let mut player = Self {
            client,
            place,
            middle,
            radius,
            board,
            avatar: BodyId(0),
            followers: BTreeMap::new(),
            last: None,
        };
        // Where it was in the world it comes from, or where its walk begins.
        let was = lock(&player.board).acts.get(&place).map(|(at, _)| *at);
        let at = was.unwrap_or_else(|| player.wanted(0.0));
        player.avatar = player.appear(at).await?;
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

    /// Plays until it is told to leave; then its bodies disappear from this world.
    pub async fn play(mut self, mut leave: watch::Receiver<bool>) {
        let start = Instant::now();
        let mut pace = tokio::time::interval(PACE);
        pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = cluster::node::stopped(&mut leave) => break,
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
            for avatar in self.strangers() {
                self.follow(&places, &avatar).await;
            }
        }
        let bodies = std::mem::take(&mut self.followers).into_values();
        for body in bodies.chain([self.avatar]) {
            let _ = self.client.remove(body).await;
        }
    }

    /// Avatars of other groups that this user's world must show. Of several users of one group the first sees to it.
    fn strangers(&self) -> Vec<SeenAvatar> {
        let board = lock(&self.board);
        let own = board
            .groups
            .iter()
            .find(|g| g.machines.contains(&self.place));
        let Some(own) = own else {
            return Vec::new();
        };
        let seen = board.avatars.get(&own.group).cloned().unwrap_or_default();
        // A user sits on the machine of its place's number.
        let users = seen.iter().map(|avatar| avatar.place);
        let first = users.filter(|place| own.machines.contains(place)).min();
        if first.is_some_and(|first| first != self.place) {
            return Vec::new();
        }
        let stranger = |avatar: &SeenAvatar| !own.machines.contains(&avatar.place);
        seen.into_iter().filter(stranger).collect()
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
