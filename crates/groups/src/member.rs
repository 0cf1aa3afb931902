//! A node: it measures the others, votes, holds its share of the objects, and leads its group if it is the first.
//!
//! ```text
//!            Welcome            Allocate e1         Start e1            Allocate e2          Start e2
//!   joining ─────────► whole ─────────────► whole ───────────► its part ─────────────► whole ───────────► its part
//!                                                     e1                (serves e1)            e2
//! ```
//!
//! Between an allocation and its start a member simulates the *whole* world for itself, and goes on telling the others what the old
//! allocation made its business. So whoever listens, under whichever allocation, has exactly one simulator for every
//! object: itself, or the holder. A member that hears nothing of another for too long does the same on its own account.
//!
//! The driver steps what [`Member::simulated`] lists, if [`Member::may_step`], gives the results to [`Member::put`], and calls
//! [`Member::finish_step`].

mod allocating;
mod leading;
mod objects;
mod past;
mod pinging;

use crate::outbox::Outbox;
use crate::pings::Pinger;
use crate::votes::{Strikes, TooFar};
use crate::{
    Address, Allocation, Batch, ClientId, ClientInfo, ConfigError, Environment, GroupConfig,
    GroupEpoch, GroupId, MachineId, Message, Mode, NodeId, NodeInfo, ObjectKey, ObjectState,
    Population, Rejections, SubSpace, Transmit, TransportChoice, VertexId,
};
use domain::SimTime;
use leading::Leader;
use objects::Known;
use past::Past;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Something the driver may want to know.
#[derive(Clone, Debug, PartialEq)]
pub enum MemberEvent {
    /// The coordinator has given us a name.
    Joined(NodeId),
    /// A new allocation is prepared: the whole world is ours to simulate until it starts.
    Preparing(GroupEpoch),
    /// The group works together; this is our part.
    Started {
        /// The allocation.
        epoch: GroupEpoch,
        /// Our group.
        group: GroupId,
        /// Our vertex.
        vertex: VertexId,
    },
    /// Another member is silent: the whole world is ours to simulate until it speaks or is gone.
    Alone,
    /// All members are heard again.
    Together,
    /// We lead the group.
    Promoted,
    /// We do not any more.
    Demoted,
    /// The coordinator does not know us any more; we join again.
    Rejoining,
    /// The world has ended.
    Ended,
    /// An object of ours was elsewhere than others have it; this is the truth now.
    Corrected(ObjectState),
    /// As a leader: another group has something to agree on with ours.
    Agreement {
        /// Who says it.
        from: GroupId,
        /// What.
        bytes: Vec<u8>,
    },
}

/// One allocation as a member knows it.
#[derive(Clone, Debug)]
struct Term {
    epoch: GroupEpoch,
    group: GroupId,
    allocation: Allocation,
    /// Who holds what when it starts, and the version it starts from: the same for everyone, whatever each one's copies say.
    assigned: BTreeMap<ObjectKey, (NodeId, crate::Version)>,
    /// The world of the group we change to.
    seeds: Vec<crate::ObjectState>,
}

/// A node as a value.
#[derive(Debug)]
pub struct Member {
    config: GroupConfig,
    machine: MachineId,
    coordinator: (Address, MachineId),
    id: Option<NodeId>,
    environment: Option<Environment>,
    nodes: BTreeMap<NodeId, NodeInfo>,
    by_address: BTreeMap<Address, NodeId>,
    clients: BTreeMap<ClientId, ClientInfo>,
    pinger: Pinger,
    strikes: Strikes,
    too_far: TooFar,
    objects: BTreeMap<ObjectKey, Known>,
    current: Option<Term>,
    pending: Option<Term>,
    past: Past,
    /// Members that were ready before we knew for what.
    early: BTreeMap<GroupEpoch, BTreeSet<NodeId>>,
    /// Transfers under an allocation that has not started here yet.
    ahead: Vec<(Address, Message)>,
    ready: BTreeSet<NodeId>,
    heard: BTreeMap<NodeId, SimTime>,
    said: BTreeMap<NodeId, SimTime>,
    alone: bool,
    leader: Option<Leader>,
    /// Synchronised operation: the iteration the leader has begun, and the one we have done.
    begun: u64,
    done: u64,
    /// We have said goodbye.
    left: bool,
    results: Batch,
    transfers: BTreeMap<NodeId, Batch>,
    next_flush: SimTime,
    next_alive: SimTime,
    outbox: Outbox,
    events: VecDeque<MemberEvent>,
    rejections: Rejections,
}

impl Member {
    /// A node on this machine. It asks to join at once. `salt` tells its pings from those of others.
    pub fn new(
        config: GroupConfig,
        machine: MachineId,
        coordinator: Address,
        coordinator_machine: MachineId,
        salt: u64,
    ) -> Result<Self, ConfigError> {
        config.check()?;
        let mut member = Self {
            config,
            machine,
            coordinator: (coordinator, coordinator_machine),
            id: None,
            environment: None,
            nodes: BTreeMap::new(),
            by_address: BTreeMap::new(),
            clients: BTreeMap::new(),
            pinger: Pinger::new(config.pings, salt),
            strikes: Strikes::default(),
            too_far: TooFar::default(),
            objects: BTreeMap::new(),
            current: None,
            pending: None,
            past: Past::default(),
            early: BTreeMap::new(),
            ahead: Vec::new(),
            ready: BTreeSet::new(),
            heard: BTreeMap::new(),
            said: BTreeMap::new(),
            alone: false,
            leader: None,
            begun: 0,
            done: 0,
            left: false,
            results: Batch::default(),
            transfers: BTreeMap::new(),
            next_flush: SimTime::ZERO,
            next_alive: SimTime::ZERO,
            outbox: Outbox::of(config.mode),
            events: VecDeque::new(),
            rejections: Rejections::default(),
        };
        member.tell_coordinator(Message::Join { machine });
        Ok(member)
    }

    /// Chooses how streams travel (ST-48).
    pub fn set_transport(&mut self, choice: TransportChoice) {
        self.outbox.choice = choice;
    }

    /// Something arrived.
    pub fn handle_message(&mut self, now: SimTime, from: Address, message: Message) {
        if self.left {
            return;
        }
        if let Message::Ping { nonce } = message {
            return self.answer_ping(from, nonce);
        }
        if let Message::Pong { nonce } = message {
            return self.ping_answered(now, from, nonce);
        }
        if from == self.coordinator.0 {
            return self.heard_coordinator(now, message);
        }
        if let Message::AvatarUpdate { states } = message {
            return self.avatars_from_client(now, from, &states);
        }
        match self.by_address.get(&from).copied() {
            Some(node) => self.heard_node(now, node, from, message),
            None => self.rejections.stranger += 1,
        }
    }

    fn heard_coordinator(&mut self, now: SimTime, message: Message) {
        match message {
            Message::Welcome { node, environment } => self.welcome(now, node, environment),
            Message::Populate(population) => self.populate(now, &population),
            Message::AskCandidates { round } => {
                let delays = self
                    .pinger
                    .averages()
                    .map(|(node, ms)| (node, ms as f32))
                    .collect();
                self.tell_coordinator(Message::Candidates { round, delays });
            }
            Message::Allocate {
                epoch,
                group,
                members,
                objects,
            } => {
                self.allocate(now, epoch, group, &members, &objects);
            }
            Message::VoteCall { vote, kind, about } => {
                let ballot = self.config.thresholds.ballot(self.pinger.average_ms(about));
                let ballot = self.too_far.ballot(kind, about, ballot);
                self.tell_coordinator(Message::VoteCast { vote, ballot });
            }
            Message::Correction { epoch, states } => {
                self.corrected_from_outside(now, epoch, &states)
            }
            Message::AvatarUpdate { states } => self.avatars_from_outside(now, &states),
            Message::Agreement { group, bytes } if self.is_leader() => {
                let event = MemberEvent::Agreement { from: group, bytes };
                self.events.push_back(event);
            }
            Message::Unknown => self.rejoin(),
            Message::Exit => self.events.push_back(MemberEvent::Ended),
            _ => self.rejections.misdirected += 1,
        }
    }

    fn heard_node(&mut self, now: SimTime, node: NodeId, from: Address, message: Message) {
        if self.has_overtaken_its_start(node, &message) {
            return self.keep_for_later(from, message);
        }
        match message {
            Message::Ready { epoch } => self.member_ready(now, node, epoch),
            Message::Start { epoch } => self.told_to_start(now, node, epoch),
            Message::Results {
                epoch,
                iteration,
                states,
            } => self.member_results(now, node, epoch, iteration, &states),
            Message::Dispatch {
                epoch,
                iteration,
                states,
            } => self.dispatched(now, node, epoch, iteration, &states),
            Message::NodeUpdate { epoch, states } => self.node_update(now, node, epoch, &states),
            Message::Correction { epoch, states } => self.corrected(now, node, epoch, &states),
            Message::Replicate { epoch, states } => self.replicated(now, node, epoch, &states),
            Message::Transfer {
                epoch,
                hand_off,
                states,
            } => {
                self.transferred(now, node, from, epoch, hand_off, states);
            }
            _ => self.rejections.misdirected += 1,
        }
    }

    /// Time moved: pings, signs of life, silence, and what has gathered goes out.
    pub fn handle_tick(&mut self, now: SimTime) {
        if self.left {
            return;
        }
        self.send_pings(now);
        if now >= self.next_alive {
            self.next_alive = now + SimTime::from_secs(self.config.alive_secs);
            self.tell_coordinator(Message::Alive);
            self.repeat_ready();
        }
        self.listen_for_silence(now);
        if now >= self.next_flush {
            self.next_flush = now + SimTime::from_secs(self.config.flush_secs);
            self.flush(now);
        }
    }

    /// Says goodbye, and nothing afterwards. What we held was told with the last flush; the group goes on from there.
    pub fn leave(&mut self, now: SimTime) {
        self.tell_all_held(now);
        self.flush(now);
        self.tell_coordinator(Message::Leave);
        self.left = true;
    }

    /// As a leader: something for the leader of another group, by way of the coordinator. It may be lost. `false`: we do not lead, or it is too long.
    pub fn tell_group(&mut self, group: GroupId, bytes: Vec<u8>) -> bool {
        let sent = self.is_leader() && bytes.len() <= crate::MAX_AGREEMENT_BYTES;
        if sent {
            self.tell_coordinator(Message::Agreement { group, bytes });
        }
        sent
    }

    /// The next thing to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.outbox.poll()
    }

    /// The next thing to know.
    pub fn poll_event(&mut self) -> Option<MemberEvent> {
        self.events.pop_front()
    }

    /// When [`Self::handle_tick`] is needed at the latest.
    pub fn next_wakeup(&self) -> SimTime {
        let pings = self.pinger.next_wakeup().unwrap_or(self.next_flush);
        self.next_flush.min(self.next_alive).min(pings)
    }

    /// What was refused.
    pub fn rejections(&self) -> Rejections {
        self.rejections
    }

    /// Our name, once we have one.
    pub fn id(&self) -> Option<NodeId> {
        self.id
    }

    /// The allocation we work under (while the next one is prepared: still the old one).
    pub fn epoch(&self) -> Option<GroupEpoch> {
        self.current.as_ref().map(|term| term.epoch)
    }

    /// Our group, by the same allocation.
    pub fn group(&self) -> Option<GroupId> {
        self.current.as_ref().map(|term| term.group)
    }

    /// The members of our group, by the same allocation.
    pub fn members(&self) -> Vec<NodeId> {
        self.current
            .iter()
            .flat_map(|term| term.allocation.members())
            .collect()
    }

    /// Our part of the world, by the same allocation.
    pub fn sub_space(&self) -> Option<SubSpace> {
        let (term, environment) = (self.current.as_ref()?, self.environment.as_ref()?);
        term.allocation.sub_space(&environment.division, self.id?)
    }

    /// Do we simulate the whole world at present: no allocation yet, a new one in preparation, or a silent member?
    pub fn is_whole(&self) -> bool {
        self.current.is_none() || self.pending.is_some() || self.alone
    }

    /// Is a new allocation being prepared?
    pub fn is_preparing(&self) -> bool {
        self.pending.is_some()
    }

    /// Do we lead our group?
    pub fn is_leader(&self) -> bool {
        self.current
            .as_ref()
            .and_then(|term| term.allocation.leader())
            == self.id
            && self.id.is_some()
    }

    /// The average round trip to a node, milliseconds.
    pub fn delay_ms(&self, node: NodeId) -> Option<f64> {
        self.pinger.average_ms(node)
    }

    /// The average round trips to all who have been measured, milliseconds, by their addresses.
    pub fn delays(&self) -> impl Iterator<Item = (Address, f64)> + '_ {
        let others = self.nodes.values();
        others.filter_map(|info| Some((info.address, self.delay_ms(info.node)?)))
    }

    /// May the driver step? Always, unless operation is synchronised and the leader has not begun the next iteration.
    pub fn may_step(&self) -> bool {
        let waits = self
            .environment
            .as_ref()
            .is_some_and(|e| e.mode == Mode::Synchronised);
        !waits || self.is_whole() || self.begun > self.done
    }

    fn welcome(&mut self, now: SimTime, node: NodeId, environment: Environment) {
        if self.id != Some(node) {
            // Whatever we were under another name is over.
            (self.current, self.pending, self.leader) = (None, None, None);
            self.past.clear();
            self.id = Some(node);
            self.events.push_back(MemberEvent::Joined(node));
        }
        let population = environment.population.clone();
        self.learn_objects(&environment.objects);
        self.environment = Some(environment);
        self.populate(now, &population);
    }

    /// Who is there now. Nodes that came are measured; those that went are forgotten.
    fn populate(&mut self, now: SimTime, population: &Population) {
        let before: BTreeSet<NodeId> = self.nodes.keys().copied().collect();
        self.nodes = population
            .nodes
            .iter()
            .map(|info| (info.node, *info))
            .collect();
        self.by_address = population
            .nodes
            .iter()
            .map(|info| (info.address, info.node))
            .collect();
        self.clients = population
            .clients
            .iter()
            .map(|info| (info.client, *info))
            .collect();
        for node in before.iter().filter(|node| !self.nodes.contains_key(*node)) {
            self.pinger.remove(*node);
            self.strikes.forget(*node);
            self.too_far.forget(*node);
        }
        for info in self
            .nodes
            .values()
            .filter(|info| Some(info.node) != self.id)
        {
            self.pinger.add(now, info.node, info.address);
        }
        self.learn_avatars(&population.avatars);
    }

    /// We were given up, wrongly: everything is kept but the name.
    fn rejoin(&mut self) {
        if self.id.take().is_none() {
            return;
        }
        self.pinger.clear();
        self.strikes = Strikes::default();
        self.too_far = TooFar::default();
        (self.current, self.pending, self.leader) = (None, None, None);
        self.past.clear();
        self.early.clear();
        self.ahead.clear();
        self.objects
            .values_mut()
            .for_each(|known| known.held = false);
        self.nodes.clear();
        self.by_address.clear();
        self.events.push_back(MemberEvent::Rejoining);
        let machine = self.machine;
        self.tell_coordinator(Message::Join { machine });
    }

    fn tell_coordinator(&mut self, message: Message) {
        let (to, machine) = self.coordinator;
        self.outbox.send(to, machine == self.machine, message);
    }

    fn tell_node(&mut self, node: NodeId, message: Message) {
        if let Some(info) = self.nodes.get(&node) {
            self.outbox
                .send(info.address, info.machine == self.machine, message);
        }
    }

    fn tell_client(&mut self, client: ClientId, message: Message) {
        if let Some(info) = self.clients.get(&client) {
            self.outbox
                .send(info.address, info.machine == self.machine, message);
        }
    }

    fn division(&self) -> Option<crate::Division> {
        self.environment
            .as_ref()
            .map(|environment| environment.division)
    }

    /// Everyone in the current allocation but us.
    fn peers(&self) -> Vec<NodeId> {
        let all = self
            .current
            .iter()
            .flat_map(|term| term.allocation.members());
        all.filter(|node| Some(*node) != self.id).collect()
    }

    /// A message under the allocation we work under, from one of its members? Counts what is not.
    fn is_ours(&mut self, node: NodeId, epoch: GroupEpoch) -> bool {
        let Some(term) = self.current.as_ref().filter(|term| term.epoch == epoch) else {
            self.rejections.wrong_epoch += 1;
            return false;
        };
        let member = term.allocation.vertex_of(node).is_some();
        self.rejections.stranger += u64::from(!member);
        member
    }
}
