//! One thread that drives a coordinator of groups, a node per machine and a user per place, in real time.
//!
//! The scene's bodies are objects of the groups: what a group's world has become of them is what its nodes say, and what the coordinator corrects goes
//! back to the world (`group_warden`). Users' avatars are moved by stations (`group_avatars`).
//!
//! ```text
//!   machines at place 0  ◄── pings, 60 ms each way ──►  machines at place 1          sockets of this machine, delay made on purpose
//!            │                                                  │
//!         Member ...            groups::Coordinator          Member ...
//!            │                          │                       │
//!         Client (the user) ── AvatarUpdate ──► leader ──► coordinator ──► the other leader
//! ```

use crate::group_avatars::Avatars;
use crate::group_post::GroupPost;
use domain::{BodyId, SimTime};
use glam::{DVec3, Vec3};
use groups::{
    Address, Client, Coordinator, CoordinatorEvent, Division, GroupConfig, GroupId, MachineId,
    Member, MemberEvent, NodeId, ObjectClass, ObjectInfo, ObjectKey, ObjectState, PingConfig,
    Stabilisers, VoteKind,
};
use simulator::groups::Word;
use station::State;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often everyone is asked.
const TURN: Duration = Duration::from_millis(1);
/// Between two machines of one place, milliseconds one way.
const WITHIN_PLACE_MS: f64 = 1.0;
/// To the coordinator.
const TO_COORDINATOR_MS: f64 = 20.0;
/// How often nodes hear what their world has become.
const WORLD_PACE: SimTime = SimTime(200_000_000);
/// What moves faster than this is somewhere else before a correction arrives: nothing is said of it, m/s.
const TOO_FAST: f32 = 2.0;

/// A group as everyone outside the thread sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupView {
    /// Its name.
    pub group: GroupId,
    /// Its machines, the leader's first.
    pub machines: Vec<usize>,
    /// It works together.
    pub started: bool,
}

/// An avatar as a group knows it.
#[derive(Clone, Copy, Debug)]
pub struct SeenAvatar {
    /// The place of its user.
    pub place: usize,
    /// Where it should be now, by extrapolation.
    pub position: DVec3,
    /// How it moves.
    pub velocity: Vec3,
    /// How old the last news are.
    pub age: SimTime,
}

/// What passes between the thread and the others.
#[derive(Clone, Debug, Default)]
pub struct Board {
    /// Where each place's user came in.
    pub arrivals: BTreeMap<usize, DVec3>,
    /// How it wants to move.
    pub wishes: BTreeMap<usize, DVec3>,
    /// Where its world has it, if something there is in its way.
    pub held_up: BTreeMap<usize, DVec3>,
    /// Where it is, as its group's station says.
    pub users: BTreeMap<usize, State>,
    /// How often it has been hit by another user.
    pub hits: BTreeMap<usize, u64>,
    /// Where the scene's bodies are in each group's world.
    pub worlds: BTreeMap<GroupId, BTreeMap<BodyId, ObjectState>>,
    /// What each group has last said of them: a world that is new begins with that.
    pub told: BTreeMap<GroupId, Vec<ObjectState>>,
    /// What is elsewhere in other groups: where it should be.
    pub corrections: BTreeMap<GroupId, Vec<ObjectState>>,
    /// How many corrections there have been.
    pub corrected: u64,
    /// The groups now.
    pub groups: Vec<GroupView>,
    /// Since when they have been the same.
    pub stable_since: SimTime,
    /// The thread's time.
    pub now: SimTime,
    /// Average round trips between machines, milliseconds, as measured.
    pub delays_ms: BTreeMap<(usize, usize), f64>,
    /// Avatars by the group that knows them: its own and others'.
    pub avatars: BTreeMap<GroupId, Vec<SeenAvatar>>,
    /// What was decided, in words.
    pub news: Vec<String>,
    /// Machines that shall be at another place: which, where.
    pub moves: Vec<(usize, usize)>,
}

/// The thread.
pub struct Agents {
    /// What is known.
    pub board: Arc<Mutex<Board>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Looks at, or writes on, the board.
pub fn lock(board: &Mutex<Board>) -> MutexGuard<'_, Board> {
    board.lock().unwrap_or_else(|poison| poison.into_inner())
}

/// Usual thresholds; everything that takes time is quicker than in a world that runs for days.
fn config() -> GroupConfig {
    GroupConfig {
        pings: PingConfig {
            window: 8,
            shortest_secs: 0.5,
            longest_secs: 5.0,
            ..PingConfig::default()
        },
        stabilisers: Stabilisers {
            min_stay_secs: 3.0,
            ..Stabilisers::default()
        },
        // The machine is shared by everything else in a demonstration.
        silence_secs: 2.0,
        // Two worlds that were begun one after the other are never quite the same: a body may be off by its own size.
        theta_inter: 1.0,
        ..GroupConfig::default()
    }
}

impl Agents {
    /// Starts `machines` machines dealt round over `places` places that are `delay_ms` apart, in a world with these objects.
    pub fn start(
        division: Division,
        objects: &[(ObjectInfo, ObjectState)],
        machines: usize,
        places: usize,
        delay_ms: f64,
    ) -> Result<Self, String> {
        let mut run = Run::new(division, objects, machines, places, delay_ms)?;
        let board = Arc::new(Mutex::new(Board::default()));
        let stop = Arc::new(AtomicBool::new(false));
        let (theirs, ended) = (Arc::clone(&board), Arc::clone(&stop));
        let thread = std::thread::Builder::new()
            .name("groups".to_owned())
            .spawn(move || {
                while !ended.load(Ordering::Relaxed) {
                    run.turn(&theirs);
                    std::thread::sleep(TURN);
                }
            });
        let thread = thread.map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(Self {
            board,
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Agents {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread
            .take()
            .into_iter()
            .for_each(|thread| _ = thread.join());
    }
}

struct Run {
    start: Instant,
    post: GroupPost,
    /// Where each machine is; a user is where the machine of its number is.
    places: Vec<usize>,
    delay_ms: f64,
    coordinator: (Address, Coordinator),
    members: Vec<(Address, Member)>,
    users: Vec<(Address, Client)>,
    avatars: Avatars,
    next_world: SimTime,
}

impl Run {
    fn new(
        division: Division,
        objects: &[(ObjectInfo, ObjectState)],
        machines: usize,
        places: usize,
        delay_ms: f64,
    ) -> Result<Self, String> {
        let config = config();
        let mut post = GroupPost::new(1);
        let at = post.open()?;
        let nowhere = MachineId(0);
        let mut coordinator = Coordinator::new(config, division, 1, at, nowhere)
            .map_err(|error| error.to_string())?;
        for (info, state) in objects {
            coordinator.add_object(SimTime::ZERO, *info, *state);
        }
        let mut members = Vec::new();
        for machine in 0..machines {
            let member = Member::new(
                config,
                MachineId(1 + machine as u64),
                at,
                nowhere,
                1 + machine as u64,
            );
            members.push((post.open()?, member.map_err(|error| error.to_string())?));
        }
        let key = ObjectKey::persistent(1);
        let avatar = ObjectInfo {
            key,
            class: ObjectClass::Avatar,
            kind: 0,
            extent_m: 0.5,
        };
        let mut users = Vec::new();
        for place in 0..places {
            // On the machine of its place's number.
            let client = Client::new(
                config,
                MachineId(1 + place as u64),
                at,
                nowhere,
                vec![avatar],
            );
            users.push((post.open()?, client));
        }
        let mut run = Self {
            start: Instant::now(),
            post,
            places: (0..machines).map(|machine| machine % places).collect(),
            delay_ms,
            coordinator: (at, coordinator),
            members,
            users,
            avatars: Avatars::new(),
            next_world: SimTime::ZERO,
        };
        run.set_delays();
        Ok(run)
    }

    fn set_delays(&mut self) {
        let delay_ms = self.delay_ms;
        let at = |machine: usize| self.places[machine];
        let nodes = self.members.iter().enumerate();
        let nodes = nodes.map(|(machine, (address, _))| (*address, at(machine)));
        let users = self.users.iter().enumerate();
        let users = users.map(|(machine, (address, _))| (*address, at(machine)));
        let ends: Vec<(Address, usize)> = nodes.chain(users).collect();
        for (a, from) in &ends {
            for (b, to) in &ends {
                self.post.delay(
                    *a,
                    *b,
                    if from == to {
                        WITHIN_PLACE_MS
                    } else {
                        delay_ms
                    },
                );
            }
            self.post.delay(*a, self.coordinator.0, TO_COORDINATOR_MS);
            self.post.delay(self.coordinator.0, *a, TO_COORDINATOR_MS);
        }
    }

    fn now(&self) -> SimTime {
        SimTime(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn turn(&mut self, board: &Mutex<Board>) {
        let now = self.now();
        for (from, to, message) in self.post.receive(now) {
            self.hand_over(now, from, to, message);
        }
        let mut board = lock(board);
        for (machine, place) in std::mem::take(&mut board.moves) {
            self.places[machine] = place;
            self.set_delays();
        }
        self.move_users(now, &mut board);
        if now >= self.next_world {
            self.next_world = now + WORLD_PACE;
            self.tell_worlds(now, &mut board);
        }
        self.members
            .iter_mut()
            .for_each(|(_, member)| member.handle_tick(now));
        self.coordinator.1.handle_tick(now);
        self.listen(now, &mut board);
        self.collect(now);
        self.post.pump(now);
        self.publish(now, &mut board);
    }

    /// Stations move the avatars; clients tell their groups where they are.
    fn move_users(&mut self, now: SimTime, board: &mut Board) {
        let keys = self.users.iter();
        let keys: Vec<Option<ObjectKey>> = keys
            .map(|(_, user)| ObjectKey::of_client(user.id()?, 1))
            .collect();
        let members = &mut self.members;
        self.avatars.turn(now, board, &keys, |word: Word| {
            let leads = |member: &Member| member.is_leader() && member.group() == Some(word.from);
            let leader = members.iter_mut().find(|(_, member)| leads(member));
            // Without one it is lost, as on any network.
            leader
                .into_iter()
                .for_each(|(_, leader)| _ = leader.tell_group(word.to, word.bytes.clone()));
        });
        for (place, (_, user)) in self.users.iter_mut().enumerate() {
            if let Some(state) = board.users.get(&place) {
                let state = ObjectState {
                    velocity: state.velocity.as_vec3(),
                    ..ObjectState::at_rest(ObjectKey::persistent(1), state.position)
                };
                user.act(now, 1, state);
            }
            user.handle_tick(now);
        }
    }

    /// Nodes hear what has become of the scene's bodies in the world of their group, and everyone what groups have said of them.
    fn tell_worlds(&mut self, now: SimTime, board: &mut Board) {
        for (_, member) in &mut self.members {
            let world = member.group().and_then(|group| board.worlds.get(&group));
            let Some(world) = world else { continue };
            let known: Vec<ObjectKey> = member.simulated().map(|(state, _)| state.key).collect();
            for key in known {
                let state = world.get(&BodyId(key.id));
                let slow = state.filter(|state| state.velocity.length() < TOO_FAST);
                slow.into_iter().for_each(|state| {
                    member.put(
                        ObjectState {
                            stamp: now,
                            ..*state
                        },
                        false,
                    )
                });
            }
            member.finish_step(now);
        }
        let coordinator = &self.coordinator.1;
        let told = coordinator
            .groups()
            .map(|(group, ..)| (group, coordinator.states(group).collect()));
        board.told = told.collect();
    }

    /// What happened to nodes.
    fn listen(&mut self, now: SimTime, board: &mut Board) {
        for (_, member) in &mut self.members {
            while let Some(event) = member.poll_event() {
                let Some(group) = member.group() else {
                    continue;
                };
                match event {
                    MemberEvent::Corrected(state) => {
                        board.corrections.entry(group).or_default().push(state);
                        board.corrected += 1;
                    }
                    MemberEvent::Agreement { from, bytes } => {
                        let word = Word {
                            from,
                            to: group,
                            bytes,
                        };
                        self.avatars.hear(now, &word);
                    }
                    _ => {}
                }
            }
        }
    }

    fn hand_over(&mut self, now: SimTime, from: Address, to: Address, message: groups::Message) {
        if to == self.coordinator.0 {
            self.coordinator.1.handle_message(now, from, message);
        } else if let Some((_, member)) =
            self.members.iter_mut().find(|(address, _)| *address == to)
        {
            member.handle_message(now, from, message);
        } else if let Some((_, user)) = self.users.iter_mut().find(|(address, _)| *address == to) {
            user.handle_message(now, from, message);
        }
    }

    fn collect(&mut self, now: SimTime) {
        loop {
            let mut out = Vec::new();
            while let Some(transmit) = self.coordinator.1.poll_transmit() {
                out.push((self.coordinator.0, transmit));
            }
            for (address, member) in &mut self.members {
                while let Some(transmit) = member.poll_transmit() {
                    out.push((*address, transmit));
                }
            }
            for (address, user) in &mut self.users {
                while let Some(transmit) = user.poll_transmit() {
                    out.push((*address, transmit));
                }
            }
            if out.is_empty() {
                return;
            }
            for (from, transmit) in out {
                match transmit.local {
                    true => self.hand_over(now, from, transmit.to, transmit.message),
                    false => self.post.send(now, from, &transmit),
                }
            }
        }
    }

    fn machine_of(&self, node: NodeId) -> Option<usize> {
        self.members
            .iter()
            .position(|(_, member)| member.id() == Some(node))
    }

    fn publish(&mut self, now: SimTime, board: &mut Board) {
        board.now = now;
        while let Some(event) = self.coordinator.1.poll_event() {
            if let Some(text) = self.told(&event) {
                board.news.push(format!("{:.1} s: {text}", now.as_secs()));
            }
        }
        let machines = |members: Vec<NodeId>| {
            members
                .into_iter()
                .filter_map(|node| self.machine_of(node))
                .collect()
        };
        let groups = self
            .coordinator
            .1
            .groups()
            .map(|(group, _, started, members)| GroupView {
                group,
                machines: machines(members),
                started,
            });
        let groups: Vec<GroupView> = groups.collect();
        if groups != board.groups {
            (board.groups, board.stable_since) = (groups, now);
        }
        for (i, (_, member)) in self.members.iter().enumerate() {
            for j in (0..self.members.len()).filter(|j| *j != i) {
                let delay = self.members[j]
                    .1
                    .id()
                    .and_then(|node| member.delay_ms(node));
                delay
                    .into_iter()
                    .for_each(|ms| _ = board.delays_ms.insert((i, j), ms));
            }
        }
        board.avatars = self
            .members
            .iter()
            .filter(|(_, member)| member.is_leader())
            .filter_map(|(_, m)| Some((m.group()?, self.seen(now, m))))
            .collect();
        self.avatars.refine(&mut board.avatars);
    }

    fn seen(&self, now: SimTime, leader: &Member) -> Vec<SeenAvatar> {
        let place_of = |key: ObjectKey| {
            self.users
                .iter()
                .position(|(_, user)| user.id() == key.owner())
        };
        // A leader hears every avatar, but holds only those in its part: the freshest news in the group count.
        let group = leader.members();
        let members = || {
            self.members
                .iter()
                .filter(|(_, m)| m.id().is_some_and(|id| group.contains(&id)))
        };
        let mut seen = BTreeMap::new();
        for (_, member) in members() {
            for (state, _) in member.avatars(now) {
                let (Some(place), Some(heard)) =
                    (place_of(state.key), member.last_heard(state.key))
                else {
                    continue;
                };
                let avatar = SeenAvatar {
                    place,
                    position: state.position,
                    velocity: state.velocity,
                    age: now.since(heard),
                };
                let best = seen.entry(state.key).or_insert(avatar);
                if avatar.age < best.age {
                    *best = avatar;
                }
            }
        }
        seen.into_values().collect()
    }

    /// A decision in words; nodes by the numbers of their machines.
    fn told(&self, event: &CoordinatorEvent) -> Option<String> {
        let named = |node: &NodeId| match self.machine_of(*node) {
            Some(machine) => format!("machine {machine}"),
            None => node.to_string(),
        };
        match event {
            CoordinatorEvent::Allocated {
                group,
                epoch,
                members,
            } => {
                let members: Vec<String> = members.iter().map(named).collect();
                Some(format!(
                    "{group} is {} (allocation {epoch})",
                    members.join(", ")
                ))
            }
            CoordinatorEvent::Voted {
                kind,
                about,
                passed,
            } => {
                let (question, answer) = match (kind, passed) {
                    (VoteKind::Inclusion, true) => ("in", "it comes in"),
                    (VoteKind::Inclusion, false) => ("in", "it stays outside"),
                    (VoteKind::Rejection, true) => ("out", "it goes"),
                    (VoteKind::Rejection, false) => ("out", "it stays"),
                };
                Some(format!("a vote, {} {question}: {answer}", named(about)))
            }
            CoordinatorEvent::NodeGone { node, .. } => Some(format!("{} is gone", named(node))),
            _ => None,
        }
    }
}
