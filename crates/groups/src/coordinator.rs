//! The one everyone knows (the thesis: the server): it admits, groups, allocates, calls votes, relays between groups, and
//! remembers what all groups last said of all objects.
//!
//! What feeds it: [`Coordinator::handle_message`], [`Coordinator::handle_tick`], [`Coordinator::add_object`]. What drains it: [`Coordinator::poll_transmit`],
//! [`Coordinator::poll_event`]. It is assumed not to fail, as in the thesis; in a cluster it lives on a replicated store.

mod grouping;
mod membership;
mod relay;
mod voting;

use crate::outbox::Outbox;
use crate::votes::RateLimit;
use crate::{
    Address, Batch, ClientId, ConfigError, Division, Environment, GroupConfig, GroupEpoch, GroupId,
    MachineId, Message, NodeId, ObjectClass, ObjectInfo, ObjectKey, ObjectState, Population,
    Rejections, Transmit, TransportChoice, VoteId, VoteKind,
};
use domain::SimTime;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The most nodes, and the most clients, that are admitted.
pub const MAX_PARTIES: usize = 1024;
/// The most avatars one client may bring.
pub const MAX_AVATARS: usize = 64;

/// Something the application may want to know.
#[derive(Clone, Debug, PartialEq)]
pub enum CoordinatorEvent {
    /// A node has come.
    NodeJoined(NodeId),
    /// A node has gone, on its own wish or because it was not heard of any more.
    NodeGone {
        /// Who.
        node: NodeId,
        /// It said goodbye.
        politely: bool,
    },
    /// A group has new members and a new allocation.
    Allocated {
        /// Which.
        group: GroupId,
        /// Its new epoch.
        epoch: GroupEpoch,
        /// Its members by id; the first is the leader.
        members: Vec<NodeId>,
    },
    /// A group works together.
    Started {
        /// Which.
        group: GroupId,
        /// Under which allocation.
        epoch: GroupEpoch,
    },
    /// A vote is over.
    Voted {
        /// In or out?
        kind: VoteKind,
        /// About whom.
        about: NodeId,
        /// It comes in, or goes.
        passed: bool,
    },
    /// Groups disagreed about an object by more than θ_inter and were told the truth.
    Corrected(ObjectKey),
}

#[derive(Debug)]
struct NodeRecord {
    address: Address,
    machine: MachineId,
    group: GroupId,
    joined: SimTime,
    /// Since when it has been in this group.
    since: SimTime,
    heard: SimTime,
    /// Everyone was asked about it, and it had been there long enough to be measured.
    placed: bool,
}

#[derive(Debug)]
struct ClientRecord {
    address: Address,
    machine: MachineId,
    heard: SimTime,
    home: Address,
}

#[derive(Debug, Default)]
struct Group {
    members: BTreeSet<NodeId>,
    epoch: GroupEpoch,
    started: bool,
    /// The world's own objects as this group last said.
    states: BTreeMap<ObjectKey, ObjectState>,
}

impl Group {
    fn leader(&self) -> Option<NodeId> {
        self.members.first().copied()
    }
}

#[derive(Debug)]
struct Avatar {
    info: ObjectInfo,
    state: Option<ObjectState>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Party {
    Node(NodeId),
    Client(ClientId),
}

/// The coordinator.
#[derive(Debug)]
pub struct Coordinator {
    config: GroupConfig,
    division: Division,
    world: u64,
    address: Address,
    machine: MachineId,
    nodes: BTreeMap<NodeId, NodeRecord>,
    clients: BTreeMap<ClientId, ClientRecord>,
    parties: BTreeMap<Address, Party>,
    groups: BTreeMap<GroupId, Group>,
    objects: BTreeMap<ObjectKey, ObjectInfo>,
    /// Where the world began; what a first group starts from.
    initial: BTreeMap<ObjectKey, ObjectState>,
    avatars: BTreeMap<ObjectKey, Avatar>,
    /// Avatars of those who were lost, by machine and number, for when they come back.
    kept: BTreeMap<(MachineId, u64), ObjectState>,
    epoch: GroupEpoch,
    next_node: u32,
    next_client: u32,
    next_group: u32,
    next_vote: u64,
    regroup_at: Option<SimTime>,
    round: Option<grouping::Round>,
    votes: BTreeMap<VoteId, voting::Vote>,
    limit: RateLimit,
    /// What goes to each group's leader with the next flush, and to each client.
    to_groups: BTreeMap<GroupId, Batch>,
    to_clients: BTreeMap<ClientId, Batch>,
    results_to_clients: BTreeMap<ClientId, Batch>,
    /// Objects some group has said something new of since the last flush.
    news: BTreeSet<ObjectKey>,
    corrected_at: BTreeMap<ObjectKey, SimTime>,
    next_flush: SimTime,
    outbox: Outbox,
    events: VecDeque<CoordinatorEvent>,
    rejections: Rejections,
}

impl Coordinator {
    /// A coordinator of an empty world, at this address on this machine.
    pub fn new(
        config: GroupConfig,
        division: Division,
        world: u64,
        address: Address,
        machine: MachineId,
    ) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            config,
            division,
            world,
            address,
            machine,
            nodes: BTreeMap::new(),
            clients: BTreeMap::new(),
            parties: BTreeMap::new(),
            groups: BTreeMap::new(),
            objects: BTreeMap::new(),
            initial: BTreeMap::new(),
            avatars: BTreeMap::new(),
            kept: BTreeMap::new(),
            epoch: GroupEpoch(0),
            next_node: 1,
            next_client: 1,
            next_group: 1,
            next_vote: 1,
            regroup_at: None,
            round: None,
            votes: BTreeMap::new(),
            limit: RateLimit::default(),
            to_groups: BTreeMap::new(),
            to_clients: BTreeMap::new(),
            results_to_clients: BTreeMap::new(),
            news: BTreeSet::new(),
            corrected_at: BTreeMap::new(),
            next_flush: SimTime::ZERO,
            outbox: Outbox::of(config.mode),
            events: VecDeque::new(),
            rejections: Rejections::default(),
        })
    }

    /// Chooses how streams travel (ST-48).
    pub fn set_transport(&mut self, choice: TransportChoice) {
        self.outbox.choice = choice;
    }

    /// Puts an object of the system into the world, before or after nodes have come: every group gets a new allocation that
    /// has it. `false` if the state is none, the key is a client's, or it exists.
    pub fn add_object(&mut self, now: SimTime, info: ObjectInfo, state: ObjectState) -> bool {
        let fine =
            info.key == state.key && info.key.is_persistent() && info.class != ObjectClass::Avatar;
        if !fine || !state.is_sane() || self.objects.contains_key(&info.key) {
            return false;
        }
        self.objects.insert(info.key, info);
        self.initial.insert(info.key, state);
        for node in self.nodes.keys().copied().collect::<Vec<_>>() {
            let welcome = Message::Welcome {
                node,
                environment: self.environment(),
            };
            self.tell_node(node, welcome);
        }
        for group in self.groups.keys().copied().collect::<Vec<_>>() {
            self.groups
                .get_mut(&group)
                .expect("it exists")
                .states
                .insert(info.key, state);
            self.reallocate(now, group);
        }
        true
    }

    /// Something arrived.
    pub fn handle_message(&mut self, now: SimTime, from: Address, message: Message) {
        let party = self.parties.get(&from).copied();
        self.heard(now, party);
        match (party, message) {
            (_, Message::Join { machine }) => self.node_joins(now, from, machine),
            (_, Message::ClientJoin { machine, avatars }) => {
                self.client_joins(now, from, machine, &avatars)
            }
            (None, message) => self.stranger(from, &message),
            (Some(party), Message::Leave) => self.leaves(now, party),
            (Some(_), Message::Alive) => {}
            (Some(Party::Node(node)), Message::Candidates { round, delays }) => {
                self.candidates(now, node, round, &delays);
            }
            (Some(Party::Node(node)), Message::VoteRequest { kind, about }) => {
                self.vote_requested(now, node, kind, about);
            }
            (Some(Party::Node(node)), Message::VoteCast { vote, ballot }) => {
                self.vote_cast(now, node, vote, ballot)
            }
            (Some(Party::Node(node)), Message::Started { epoch }) => self.started(node, epoch),
            (Some(Party::Node(node)), Message::Results { epoch, states, .. }) => {
                self.results(node, epoch, &states);
            }
            (Some(party), Message::AvatarUpdate { states }) => self.avatar_update(party, &states),
            (Some(Party::Node(node)), Message::Agreement { group, bytes }) => {
                self.agreement(node, group, bytes);
            }
            _ => self.rejections.misdirected += 1,
        }
    }

    /// Time moved.
    pub fn handle_tick(&mut self, now: SimTime) {
        self.give_up_the_silent(now);
        self.regroup_if_due(now);
        self.close_votes(now);
        if now >= self.next_flush {
            self.next_flush = now + SimTime::from_secs(self.config.flush_secs);
            self.flush(now);
        }
    }

    /// The next thing to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.outbox.poll()
    }

    /// The next thing to know.
    pub fn poll_event(&mut self) -> Option<CoordinatorEvent> {
        self.events.pop_front()
    }

    /// When [`Self::handle_tick`] is needed at the latest.
    pub fn next_wakeup(&self) -> SimTime {
        self.next_flush
    }

    /// What was refused.
    pub fn rejections(&self) -> Rejections {
        self.rejections
    }

    /// The groups: epoch, whether they work together, members by id.
    pub fn groups(&self) -> impl Iterator<Item = (GroupId, GroupEpoch, bool, Vec<NodeId>)> + '_ {
        let all = self.groups.iter();
        all.map(|(id, group)| {
            (
                *id,
                group.epoch,
                group.started,
                group.members.iter().copied().collect(),
            )
        })
    }

    /// The group of a node.
    pub fn group_of(&self, node: NodeId) -> Option<GroupId> {
        self.nodes.get(&node).map(|record| record.group)
    }

    /// Is its group what measurements say? A newcomer is alone until everyone has been asked about it, near or not.
    pub fn is_placed(&self, node: NodeId) -> bool {
        self.nodes.get(&node).is_some_and(|record| record.placed)
    }

    /// Who hears at an address, if a node does.
    pub fn node_at(&self, address: Address) -> Option<NodeId> {
        match self.parties.get(&address) {
            Some(Party::Node(node)) => Some(*node),
            _ => None,
        }
    }

    /// What a group last said of an object (an avatar: what its client last said).
    pub fn state(&self, group: GroupId, key: ObjectKey) -> Option<&ObjectState> {
        match key.is_persistent() {
            true => self.groups.get(&group)?.states.get(&key),
            false => self.avatars.get(&key)?.state.as_ref(),
        }
    }

    /// What a group last said of all objects of the system.
    pub fn states(&self, group: GroupId) -> impl Iterator<Item = ObjectState> + '_ {
        let group = self.groups.get(&group);
        group
            .into_iter()
            .flat_map(|group| group.states.values().copied())
    }

    fn environment(&self) -> Environment {
        Environment {
            world: self.world,
            division: self.division,
            mode: self.config.mode,
            dead_reckoning: self.config.dead_reckoning,
            objects: self.objects.values().copied().collect(),
            population: self.population(),
        }
    }

    fn population(&self) -> Population {
        let nodes = self.nodes.iter().map(|(node, record)| crate::NodeInfo {
            node: *node,
            address: record.address,
            machine: record.machine,
            group: record.group,
        });
        let clients = self
            .clients
            .iter()
            .map(|(client, record)| crate::ClientInfo {
                client: *client,
                address: record.address,
                machine: record.machine,
                host: self.host_of(record.machine),
            });
        Population {
            nodes: nodes.collect(),
            clients: clients.collect(),
            avatars: self.avatars.values().map(|avatar| avatar.info).collect(),
        }
    }

    fn tell(&mut self, to: Address, machine: MachineId, message: Message) {
        self.outbox.send(to, machine == self.machine, message);
    }

    fn tell_node(&mut self, node: NodeId, message: Message) {
        if let Some(record) = self.nodes.get(&node) {
            self.tell(record.address, record.machine, message);
        }
    }

    fn tell_client(&mut self, client: ClientId, message: Message) {
        if let Some(record) = self.clients.get(&client) {
            self.tell(record.address, record.machine, message);
        }
    }

    /// Everyone hears who is there now.
    fn populate(&mut self) {
        let population = self.population();
        for node in self.nodes.keys().copied().collect::<Vec<_>>() {
            self.tell_node(node, Message::Populate(population.clone()));
        }
    }
}
