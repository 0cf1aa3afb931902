//! Looks after the scene's bodies in one group's world, for `auramesh demo --groups`: tells the group's cores where they are, and brings
//! back what the coordinator says is elsewhere.
//!
//! Groups may differ; only what is further apart than θ_inter is corrected, and loosely: a body is pushed to where it should be, so that it never
//! appears inside another or beyond an aura.

use crate::group_agents::{Board, lock};
use crate::group_player::connect;
use client::{Client, Scene};
use domain::{BodyId, SimTime};
use glam::{DQuat, DVec3, Quat, Vec3};
use groups::{GroupId, ObjectKey, ObjectState};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How often it looks.
const PACE: Duration = Duration::from_millis(200);
/// So many bodies are pushed at a time: a client may send 60 messages a second.
const AT_ONCE: usize = 8;
/// A push is to take a body home in this time, seconds, at this speed at most.
const PUSH_SECS: f64 = 0.5;
const PUSH_SPEED: f64 = 4.0;
/// A correction is given up after so long: the next one knows better.
const PATIENCE: Duration = Duration::from_secs(3);
/// Near enough, metres.
const HOME_M: f64 = 0.1;

/// The warden of one world.
pub struct Warden {
    client: Client,
    group: GroupId,
    bodies: BTreeSet<BodyId>,
    board: Arc<Mutex<Board>>,
    astray: BTreeMap<BodyId, (DVec3, Instant)>,
}

impl Warden {
    /// Watches these bodies behind a gateway until it is told to stop.
    pub async fn watch(
        url: String,
        group: GroupId,
        bodies: BTreeSet<BodyId>,
        board: Arc<Mutex<Board>>,
        mut stop: watch::Receiver<bool>,
    ) {
        let Ok(client) = connect(&url).await else {
            return;
        };
        let mut warden = Self {
            client,
            group,
            bodies,
            board,
            astray: BTreeMap::new(),
        };
        let mut pace = tokio::time::interval(PACE);
        pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = cluster::node::stopped(&mut stop) => break,
                _ = pace.tick() => warden.round().await,
            }
        }
        lock(&warden.board).worlds.remove(&warden.group);
    }

    async fn round(&mut self) {
        self.client.take_events();
        let local = self.client.local();
        let seen = self.client.look(|scene| seen(scene, local, &self.bodies));
        let corrections = {
            let mut board = lock(&self.board);
            board.worlds.insert(self.group, seen.clone());
            board.corrections.remove(&self.group).unwrap_or_default()
        };
        let until = Instant::now() + PATIENCE;
        for state in corrections {
            self.astray
                .insert(BodyId(state.key.id), (state.position, until));
        }
        let now = Instant::now();
        let is_home = |id: &BodyId, home: &DVec3| {
            seen.get(id)
                .is_none_or(|state| state.position.distance(*home) < HOME_M)
        };
        self.astray
            .retain(|id, (home, until)| *until > now && !is_home(id, home));
        for (id, (home, _)) in self.astray.iter().take(AT_ONCE) {
            let way = *home - seen[id].position;
            let velocity = (way / PUSH_SECS).clamp_length_max(PUSH_SPEED);
            // Who cannot be pushed now is pushed in the next round.
            let _ = self.client.set_velocity(*id, velocity.as_vec3()).await;
        }
    }
}

/// Where bodies are shown, and how they move: from where they were a frame earlier.
fn seen(scene: &Scene, local: SimTime, bodies: &BTreeSet<BodyId>) -> BTreeMap<BodyId, ObjectState> {
    let frame = scene.shown_frame(local);
    let secs = scene.frame_secs().unwrap_or(1.0);
    let state = |id: &BodyId| {
        let (now, before) = (scene.pose(*id, frame)?, scene.pose(*id, frame - 1.0)?);
        let turn: DQuat = (now.rotation * before.rotation.inverse()).normalize();
        let shorter = if turn.w < 0.0 { -turn } else { turn };
        let state = ObjectState {
            rotation: Quat::from_array(now.rotation.as_quat().to_array()).normalize(),
            velocity: ((now.position - before.position) / secs).as_vec3(),
            spin: (shorter.to_scaled_axis() / secs).as_vec3(),
            ..ObjectState::at_rest(ObjectKey::persistent(id.0), now.position)
        };
        Some((*id, finite(state)))
    };
    bodies.iter().filter_map(state).collect()
}

/// A body that has just appeared has moved from nowhere.
fn finite(state: ObjectState) -> ObjectState {
    let moved = state.velocity.is_finite() && state.spin.is_finite();
    match moved {
        true => state,
        false => ObjectState {
            velocity: Vec3::ZERO,
            spin: Vec3::ZERO,
            ..state
        },
    }
}
