//! Many nodes, clients and a coordinator in one thread under virtual time: the group cores over a network that misbehaves on
//! command, watched by checkers.
//!
//! ```text
//!   script ─► joins, leaves, crashes, partitions, slow lines
//!                │
//!   Coordinator ─┼─ Member ─ Member ─ ...  Client ─ Client        the very cores a live cluster drives
//!                │     │        │            │
//!             Network: seeded delays, jitter, loss; reliable streams over Channel, the rest as bare datagrams
//!                │
//!             Watch: one holder, nothing unsimulated, no endless preparation, no flapping, avatars everywhere
//! ```

mod agreement;
mod draw;
mod physics;
mod post;
mod watch;

pub use agreement::{AvatarAgreement, Word, in_metres};
pub use draw::{GroupRun, Place, Trouble};
pub use post::Carried;
pub use watch::{Findings, Limits, Watch};

use crate::network::{Network, NetworkConditions};
use ::groups::{
    Address, Client, Coordinator, CoordinatorEvent, Division, GroupConfig, MachineId, Member,
    ObjectClass, ObjectInfo, ObjectKey, ObjectState,
};
use domain::SimTime;
use glam::{DVec3, Vec3};
use post::Post;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;

/// Where the coordinator hears.
pub const COORDINATOR: Address = Address(0);
/// What it runs on.
pub const COORDINATOR_MACHINE: MachineId = MachineId(0);

/// Something that happens to the parties.
#[derive(Clone, Debug, PartialEq)]
pub enum Upheaval {
    /// A node starts (or starts again) on machine i, and a client beside it if there is one to be.
    Start(usize),
    /// It says goodbye.
    Leave(usize),
    /// It dies without a word.
    Crash(usize),
    /// Nothing passes between these machines and all others (the coordinator is machine 0's other side if `from_coordinator`).
    Cut {
        /// The machines on the far side.
        machines: Vec<usize>,
        /// Do they lose the coordinator, too?
        from_coordinator: bool,
    },
    /// All cuts are undone.
    Heal,
    /// A machine's lines become slower by so many milliseconds each way (0: as they were).
    Slow(usize, f64),
}

struct Node {
    member: Option<Member>,
    client: Option<Client>,
    incarnation: u32,
    slower_ms: f64,
    next_step: SimTime,
}

/// The whole run.
pub struct GroupSim {
    run: GroupRun,
    config: GroupConfig,
    now: SimTime,
    post: Post,
    coordinator: Coordinator,
    nodes: Vec<Node>,
    outside: Vec<Client>,
    upheavals: BTreeMap<SimTime, Vec<Upheaval>>,
    cut: Vec<(usize, bool)>,
    objects: Vec<ObjectInfo>,
    watch: Watch,
    history: u64,
}

/// What a run came to.
#[derive(Clone, Debug)]
pub struct GroupOutcome {
    /// What the checkers found.
    pub findings: Findings,
    /// A digest of everything that was decided and of where everything is at the end (I7).
    pub hash: u64,
    /// Messages given to the network, reliable or not.
    pub messages: u64,
    /// The same by stream, and what has become of them.
    pub streams: BTreeMap<::groups::Stream, Carried>,
    /// Datagrams and bytes on the network.
    pub bytes: u64,
    /// The groups at the end.
    pub groups: Vec<GroupAtEnd>,
}

/// A group at the end of a run.
#[derive(Clone, Debug)]
pub struct GroupAtEnd {
    /// Its name and allocation.
    pub group: ::groups::GroupId,
    /// Its allocation.
    pub epoch: ::groups::GroupEpoch,
    /// Its members, the leader first.
    pub members: Vec<MemberAtEnd>,
}

/// A member of it.
#[derive(Clone, Debug)]
pub struct MemberAtEnd {
    /// Its name.
    pub node: ::groups::NodeId,
    /// What it runs on.
    pub machine: usize,
    /// Its place in the tree.
    pub vertex: ::groups::VertexId,
    /// Its part of the world.
    pub part: domain::Bounds,
    /// How many objects it holds.
    pub holds: usize,
    /// Average round trips to the others, milliseconds, as measured.
    pub delays_ms: Vec<(::groups::NodeId, f64)>,
    /// Avatars it knows of, its own group's and others', and how old the news are, seconds.
    pub avatars: Vec<(ObjectKey, f64)>,
}

/// Machine i's node hears here.
pub fn node_address(machine: usize) -> Address {
    Address(1 + 2 * machine as u64)
}

/// And its client here.
pub fn client_address(machine: usize) -> Address {
    Address(2 + 2 * machine as u64)
}

/// A client without a node: number k of those.
pub fn outside_address(k: usize) -> Address {
    Address(10_001 + k as u64)
}

fn machine_id(machine: usize) -> MachineId {
    MachineId(1 + machine as u64)
}

impl GroupSim {
    /// A run, ready to go.
    pub fn new(run: GroupRun) -> Self {
        let config = run.config;
        let division =
            Division::new(run.world, ::groups::Axes::Space).expect("drawn worlds can be divided");
        let coordinator =
            Coordinator::new(config, division, run.seed, COORDINATOR, COORDINATOR_MACHINE);
        let mut coordinator = coordinator.expect("drawn settings work");
        coordinator.set_transport(run.transport);
        let mut rng = Pcg64Mcg::seed_from_u64(run.seed ^ 0x6f62_6a65_6374);
        let objects = physics::cast(&mut rng, &run);
        for (info, state) in &objects {
            assert!(
                coordinator.add_object(SimTime::ZERO, *info, *state),
                "drawn objects are sane"
            );
        }
        let objects: Vec<ObjectInfo> = objects.into_iter().map(|(info, _)| info).collect();
        let blank = |i: usize| Node {
            member: None,
            client: None,
            incarnation: 0,
            slower_ms: 0.0,
            next_step: SimTime::from_millis(3.0 * i as f64),
        };
        let outside =
            (0..run.outside_clients).map(|k| new_client(&config, MachineId(10_001 + k as u64)));
        let mut upheavals: BTreeMap<SimTime, Vec<Upheaval>> = BTreeMap::new();
        for (at, upheaval) in &run.script {
            upheavals.entry(*at).or_default().push(upheaval.clone());
        }
        Self {
            config,
            now: SimTime::ZERO,
            post: Post::new(Network::new(run.seed, NetworkConditions::perfect())),
            coordinator,
            nodes: (0..run.places.len()).map(blank).collect(),
            outside: outside.collect(),
            upheavals,
            cut: Vec::new(),
            watch: Watch::new(Limits::of(&config, &run)),
            objects,
            history: 0,
            run,
        }
    }

    /// Runs it to the end.
    pub fn run(mut self) -> GroupOutcome {
        self.set_lines();
        let end = SimTime::from_secs(self.run.seconds);
        while self.now < end {
            self.now = self.next_moment().min(end);
            self.moment();
        }
        self.at_the_end();
        self.outcome()
    }

    fn next_moment(&self) -> SimTime {
        let mut next = self.now + SimTime::from_millis(100.0);
        let mut at = |time: SimTime| next = next.min(time);
        self.post.next_event().into_iter().for_each(&mut at);
        at(self.coordinator.next_wakeup());
        for node in &self.nodes {
            if let Some(member) = &node.member {
                at(member.next_wakeup().min(node.next_step));
            }
            node.client
                .iter()
                .for_each(|client| at(client.next_wakeup()));
        }
        self.outside
            .iter()
            .for_each(|client| at(client.next_wakeup()));
        self.upheavals
            .keys()
            .next()
            .into_iter()
            .for_each(|time| at(*time));
        // Whatever was due before is due now; time does not stand still.
        next.max(self.now + SimTime(1000))
    }

    fn moment(&mut self) {
        let now = self.now;
        while let Some(entry) = self
            .upheavals
            .first_entry()
            .filter(|entry| *entry.key() <= now)
        {
            for upheaval in entry.remove() {
                self.upheave(&upheaval);
            }
        }
        self.deliver();
        self.coordinator.handle_tick(now);
        for i in 0..self.nodes.len() {
            self.turn(i);
        }
        for k in 0..self.outside.len() {
            let state = physics::walk(&self.run, 1000 + k, now);
            self.outside[k].act(now, 1, state);
            self.outside[k].handle_tick(now);
        }
        self.collect();
        self.listen();
    }

    /// A node's tick, and a step if it is due.
    fn turn(&mut self, i: usize) {
        let now = self.now;
        let walk = physics::walk(&self.run, i, now);
        let node = &mut self.nodes[i];
        if let Some(client) = &mut node.client {
            client.act(now, 1, walk);
            client.handle_tick(now);
        }
        let Some(member) = &mut node.member else {
            return;
        };
        member.handle_tick(now);
        if now < node.next_step {
            return;
        }
        let step = SimTime::from_secs(self.run.step_secs);
        node.next_step = now + step;
        if member.may_step() {
            physics::step(member, now, self.run.world, step.as_secs());
        }
    }

    fn deliver(&mut self) {
        while let Some((from, to, message)) = self.post.receive(self.now) {
            self.hand_over(from, to, message);
        }
    }

    fn hand_over(&mut self, from: Address, to: Address, message: ::groups::Message) {
        let now = self.now;
        if to == COORDINATOR {
            return self.coordinator.handle_message(now, from, message);
        }
        if to.0 > 10_000 {
            return self.outside[(to.0 - 10_001) as usize].handle_message(now, from, message);
        }
        let node = &mut self.nodes[((to.0 - 1) / 2) as usize];
        if to.0 % 2 == 1 {
            node.member
                .iter_mut()
                .for_each(|member| member.handle_message(now, from, message.clone()));
        } else {
            node.client
                .iter_mut()
                .for_each(|client| client.handle_message(now, from, message.clone()));
        }
    }

    /// What everyone wants sent goes out; what stays on a machine arrives at once, and may make someone say more.
    fn collect(&mut self) {
        loop {
            let mut local = Vec::new();
            let mut out =
                |from: Address, transmit: ::groups::Transmit, post: &mut Post, now: SimTime| {
                    if transmit.local {
                        local.push((from, transmit.to, transmit.message));
                    } else {
                        post.send(now, from, &transmit);
                    }
                };
            let (now, post) = (self.now, &mut self.post);
            while let Some(transmit) = self.coordinator.poll_transmit() {
                out(COORDINATOR, transmit, post, now);
            }
            for (i, node) in self.nodes.iter_mut().enumerate() {
                while let Some(transmit) = node.member.as_mut().and_then(Member::poll_transmit) {
                    out(node_address(i), transmit, post, now);
                }
                while let Some(transmit) = node.client.as_mut().and_then(Client::poll_transmit) {
                    out(client_address(i), transmit, post, now);
                }
            }
            for (k, client) in self.outside.iter_mut().enumerate() {
                while let Some(transmit) = client.poll_transmit() {
                    out(outside_address(k), transmit, post, now);
                }
            }
            if local.is_empty() {
                break;
            }
            self.watch.bypassed(local.len());
            for (from, to, message) in local {
                self.hand_over(from, to, message);
            }
        }
        self.post.pump(self.now);
    }

    /// The checkers hear what was decided and look at what is.
    fn listen(&mut self) {
        while let Some(event) = self.coordinator.poll_event() {
            self.remember(&event);
            self.watch.event(self.now, &event);
        }
        for node in &mut self.nodes {
            while let Some(event) = node.member.as_mut().and_then(Member::poll_event) {
                self.watch.member_event(&event);
            }
        }
        if self.watch.due(self.now) {
            let members: Vec<&Member> = self
                .nodes
                .iter()
                .filter_map(|node| node.member.as_ref())
                .collect();
            self.watch.look(self.now, &members, &self.objects);
        }
    }

    fn remember(&mut self, event: &CoordinatorEvent) {
        let text = format!("{} {event:?}", self.now);
        self.history = xxhash_rust::xxh3::xxh3_64_with_seed(text.as_bytes(), self.history);
    }

    fn upheave(&mut self, upheaval: &Upheaval) {
        self.watch.upheaval(self.now, upheaval);
        match upheaval {
            Upheaval::Start(i) => self.start(*i),
            Upheaval::Leave(i) => {
                let now = self.now;
                if let Some(member) = &mut self.nodes[*i].member {
                    member.leave(now);
                    if let Some(client) = &mut self.nodes[*i].client {
                        client.leave();
                    }
                    self.collect();
                    // Its goodbye is on its way; the process ends when it has been acknowledged, as a polite one would wait for.
                    self.post.farewell(node_address(*i));
                    self.post.farewell(client_address(*i));
                }
                self.nodes[*i].member = None;
                self.nodes[*i].client = None;
            }
            Upheaval::Crash(i) => {
                self.nodes[*i].member = None;
                self.nodes[*i].client = None;
                self.post.died(node_address(*i));
                self.post.died(client_address(*i));
            }
            Upheaval::Cut {
                machines,
                from_coordinator,
            } => {
                self.cut = machines.iter().map(|m| (*m, *from_coordinator)).collect();
                self.set_lines();
            }
            Upheaval::Heal => {
                self.cut.clear();
                self.set_lines();
            }
            Upheaval::Slow(i, ms) => {
                self.nodes[*i].slower_ms = *ms;
                self.set_lines();
            }
        }
    }

    fn start(&mut self, i: usize) {
        let node = &mut self.nodes[i];
        node.incarnation += 1;
        node.next_step = self.now;
        let salt = self.run.seed ^ ((i as u64) << 8) ^ u64::from(node.incarnation);
        let member = Member::new(
            self.config,
            machine_id(i),
            COORDINATOR,
            COORDINATOR_MACHINE,
            salt,
        );
        let mut member = member.expect("drawn settings work");
        member.set_transport(self.run.transport);
        node.member = Some(member);
        let has_client = self.run.places[i].has_client;
        node.client = has_client.then(|| new_client(&self.config, machine_id(i)));
        self.post.born(node_address(i), node.incarnation);
        self.post.born(client_address(i), node.incarnation);
    }

    /// Every line between two machines as the places and the present troubles make it.
    fn set_lines(&mut self) {
        let n = self.nodes.len();
        for a in 0..n {
            for b in (0..n).filter(|b| *b != a) {
                let same_side = self.side(a) == self.side(b);
                let ms =
                    self.run.one_way_ms(a, b) + self.nodes[a].slower_ms + self.nodes[b].slower_ms;
                self.post.line(
                    node_address(a),
                    node_address(b),
                    self.run.line(ms),
                    same_side,
                );
                self.post.line(
                    client_address(a),
                    node_address(b),
                    self.run.line(ms),
                    same_side,
                );
                self.post.line(
                    node_address(a),
                    client_address(b),
                    self.run.line(ms),
                    same_side,
                );
            }
            let reaches = !self.cut.contains(&(a, true));
            let ms = self.run.places[a].to_coordinator_ms + self.nodes[a].slower_ms;
            for end in [node_address(a), client_address(a)] {
                self.post.line(end, COORDINATOR, self.run.line(ms), reaches);
                self.post.line(COORDINATOR, end, self.run.line(ms), reaches);
            }
        }
        for k in 0..self.outside.len() {
            self.post
                .line(outside_address(k), COORDINATOR, self.run.line(20.0), true);
            self.post
                .line(COORDINATOR, outside_address(k), self.run.line(20.0), true);
        }
    }

    fn side(&self, machine: usize) -> bool {
        self.cut.iter().any(|(m, _)| *m == machine)
    }

    fn at_the_end(&mut self) {
        let members: Vec<(usize, &Member)> = live(&self.nodes).collect();
        self.watch.end(
            self.now,
            &self.run,
            &self.coordinator,
            &members,
            &self.objects,
        );
        let inside = self.nodes.iter().filter_map(|node| node.client.as_ref());
        let clients: Vec<&Client> = inside.chain(&self.outside).collect();
        self.watch.avatars_at_the_end(self.now, &members, &clients);
    }

    fn outcome(self) -> GroupOutcome {
        let mut hash = self.history;
        for (_, member) in live(&self.nodes) {
            for info in &self.objects {
                let text = format!("{:?} {:?}", member.id(), member.state(self.now, info.key));
                hash = xxhash_rust::xxh3::xxh3_64_with_seed(text.as_bytes(), hash);
            }
        }
        let groups = self.groups_at_the_end();
        let mut findings = self.watch.findings;
        for (_, member) in live(&self.nodes) {
            findings.impossible += member.rejections().impossible_state;
        }
        GroupOutcome {
            findings,
            hash,
            messages: self.post.messages(),
            streams: self.post.carried.clone(),
            bytes: self.post.bytes(),
            groups,
        }
    }

    fn groups_at_the_end(&self) -> Vec<GroupAtEnd> {
        let division =
            Division::new(self.run.world, ::groups::Axes::Space).expect("it was divided before");
        let describe = |node: ::groups::NodeId, allocation: &::groups::Allocation| {
            let (machine, member) =
                live(&self.nodes).find(|(_, member)| member.id() == Some(node))?;
            let vertex = allocation.vertex_of(node)?;
            let others = live(&self.nodes).filter_map(|(_, other)| other.id());
            let leader = live(&self.nodes)
                .find(|(_, m)| m.id() == allocation.leader())?
                .1;
            let avatars = leader.avatars(self.now).into_iter();
            Some(MemberAtEnd {
                node,
                machine,
                vertex,
                part: division.sub_space(vertex).finite,
                holds: self
                    .objects
                    .iter()
                    .filter(|info| member.holds(info.key))
                    .count(),
                delays_ms: others
                    .filter_map(|other| Some((other, member.delay_ms(other)?)))
                    .collect(),
                avatars: avatars
                    .filter_map(|(state, _)| {
                        Some((
                            state.key,
                            self.now.since(leader.last_heard(state.key)?).as_secs(),
                        ))
                    })
                    .collect(),
            })
        };
        let groups = self.coordinator.groups().map(|(group, epoch, _, members)| {
            let allocation = ::groups::allocate(&members);
            let members = members
                .iter()
                .filter_map(|node| describe(*node, &allocation))
                .collect();
            GroupAtEnd {
                group,
                epoch,
                members,
            }
        });
        groups.collect()
    }
}

fn live(nodes: &[Node]) -> impl Iterator<Item = (usize, &Member)> {
    nodes
        .iter()
        .enumerate()
        .filter_map(|(i, node)| Some((i, node.member.as_ref()?)))
}

fn new_client(config: &GroupConfig, machine: MachineId) -> Client {
    let key = ObjectKey::persistent(1);
    let avatar = ObjectInfo {
        key,
        class: ObjectClass::Avatar,
        kind: 0,
        extent_m: 0.5,
    };
    Client::new(
        *config,
        machine,
        COORDINATOR,
        COORDINATOR_MACHINE,
        vec![avatar],
    )
}

/// An avatar's state; whose it is its client knows.
fn avatar_state(position: DVec3, velocity: Vec3) -> ObjectState {
    ObjectState {
        velocity,
        ..ObjectState::at_rest(ObjectKey::persistent(1), position)
    }
}
