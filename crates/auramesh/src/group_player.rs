//! A user of `auramesh demo --groups`, and the bodies in its world that follow the users of others.

use crate::group_agents::{Board, GroupView, SeenAvatar, lock};
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
/// How fast a body closes the distance to where it should be, per second.
const FOLLOW: f64 = 4.0;
/// How fast a user goes round, radians per second, and how fast it may be at most, m/s.
const ROUND: f64 = 0.4;
const FASTEST: f64 = 6.0;
/// A body that is this far from where its user should be is held up by something in its world, metres.
const HELD_UP_M: f64 = 2.5;
/// A body that shall disappear is asked to so often: its region may be moving.
const FAREWELLS: usize = 20;

/// The user of a place, in the world of its group.
pub struct Player {
    client: Client,
    place: usize,
    middle: DVec3,
    radius: f64,
    board: Arc<Mutex<Board>>,
    avatar: BodyId,
    followers: BTreeMap<usize, BodyId>,
    /// Where on its circle it wants to be, and which way round.
    angle: f64,
    direction: f64,
    hits: u64,
}

impl Player {
    /// Enters the world behind a gateway.
    pub async fn enter(
        url: &str,
        place: usize,
        extent: Rect,
        board: Arc<Mutex<Board>>,
    ) -> Result<Self, String> {
        let client = connect(url).await?;
        let middle = DVec3::new(
            f64::midpoint(extent.min[0], extent.max[0]),
            3.0,
            f64::midpoint(extent.min[1], extent.max[1]),
        );
        let (was, hits) = {
            let board = lock(&board);
            let hits = board.hits.get(&place).copied();
            (board.users.get(&place).copied(), hits.unwrap_or_default())
        };
        let mut player = Self {
            client,
            place,
            middle,
            radius: extent.size()[0].min(extent.size()[1]) * 0.3,
            board,
            avatar: BodyId(0),
            followers: BTreeMap::new(),
            angle: place as f64 * 1.5,
            // Neighbours come towards each other.
            direction: if place.is_multiple_of(2) { 1.0 } else { -1.0 },
            hits,
        };
        // Where it was in the world it comes from, or where its walk begins.
        let at = was.map_or_else(|| player.wanted(), |state| state.position);
        player.avatar = player.appear(at).await?;
        lock(&player.board).arrivals.entry(place).or_insert(at);
        Ok(player)
    }

    /// The user walks in a circle.
    fn wanted(&self) -> DVec3 {
        self.middle + DVec3::new(self.angle.cos(), 0.0, self.angle.sin()) * self.radius
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
            self.walk(&places).await;
            self.forget().await;
            for avatar in &self.strangers() {
                self.show(&places, avatar).await;
            }
        }
        let bodies = std::mem::take(&mut self.followers).into_values();
        for body in bodies.chain([self.avatar]) {
            self.remove(body).await;
        }
    }

    /// A body must not stay behind: who is asked while its region moves may not hear it.
    async fn remove(&self, body: BodyId) {
        for _ in 0..FAREWELLS {
            if self.client.remove(body).await.is_ok() {
                return;
            }
            tokio::time::sleep(PACE).await;
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

    /// Bodies of those who have come into our group disappear: they are here themselves. (While groups change nothing may be known of somebody for a moment; its body
    /// waits.)
    async fn forget(&mut self) {
        let gone: Vec<usize> = {
            let board = lock(&self.board);
            let ours = |g: &&GroupView| g.machines.contains(&self.place);
            let ours = board.groups.iter().find(ours);
            let is_here = |place: &usize| ours.is_some_and(|g| g.machines.contains(place));
            self.followers.keys().copied().filter(is_here).collect()
        };
        for place in gone {
            if let Some(body) = self.followers.remove(&place) {
                self.remove(body).await;
            }
        }
    }

    /// The own avatar: its station hears how it wants to move, and its body follows where the station has it. After a hit it turns round.
    async fn walk(&mut self, places: &BTreeMap<BodyId, DVec3>) {
        self.angle += self.direction * ROUND * PACE.as_secs_f64();
        let wanted = self.wanted();
        let state = {
            let mut board = lock(&self.board);
            let hits = board.hits.get(&self.place).copied().unwrap_or_default();
            if hits != self.hits {
                self.direction = -self.direction;
                self.hits = hits;
            }
            let Some(state) = board.users.get(&self.place).copied() else {
                return;
            };
            let wish = ((wanted - state.position) * 2.0).clamp_length_max(FASTEST);
            board.wishes.insert(self.place, wish);
            let shown = places.get(&self.avatar);
            if let Some(shown) = shown.filter(|at| at.distance(state.position) > HELD_UP_M) {
                board.held_up.insert(self.place, *shown);
            }
            state
        };
        let velocity = state.velocity.as_vec3();
        self.follow(places, self.avatar, state.position, velocity)
            .await;
    }

    /// Someone else's avatar: a body of this world that goes where it is told to be.
    async fn show(&mut self, places: &BTreeMap<BodyId, DVec3>, avatar: &SeenAvatar) {
        let Some(body) = self.followers.get(&avatar.place).copied() else {
            if let Ok(body) = self.appear(avatar.position).await {
                self.followers.insert(avatar.place, body);
            }
            return;
        };
        self.follow(places, body, avatar.position, avatar.velocity)
            .await;
    }

    async fn follow(
        &self,
        places: &BTreeMap<BodyId, DVec3>,
        body: BodyId,
        goal: DVec3,
        velocity: Vec3,
    ) {
        let Some(position) = places.get(&body) else {
            return;
        };
        let velocity = velocity.as_dvec3() + (goal - *position) * FOLLOW;
        let _ = self
            .client
            .set_velocity(body, velocity.clamp_length_max(50.0).as_vec3())
            .await;
    }
}

/// Connects to the gateway of this address. The world may still be starting.
pub async fn connect(url: &str) -> Result<Client, String> {
    let url = format!("{}ws", url.replace("http://", "ws://"));
    let start = Instant::now();
    loop {
        match Client::connect(&url, Options::default()).await {
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
