//! Everyone in one room: a driver for tests and for experiments about delays. Messages take exactly as long as they are told to, nothing
//! is lost unless a way is shut, and everyone is asked as soon as something reaches it.

use crate::{
    Address, Client, Coordinator, CoordinatorEvent, Division, GroupConfig, MachineId, Member,
    MemberEvent, Message, ObjectInfo,
};
use domain::SimTime;
use std::collections::{BTreeMap, BTreeSet};

/// Where the coordinator hears in a room.
pub const COORDINATOR: Address = Address(0);
/// What it runs on.
pub const COORDINATOR_MACHINE: MachineId = MachineId(0);

type Delay = Box<dyn Fn(Address, Address) -> SimTime + Send>;

/// A message on its way, or one that was.
#[derive(Clone, Debug, PartialEq)]
pub struct Spoken {
    /// When it was said.
    pub at: SimTime,
    /// By whom.
    pub from: Address,
    /// To whom.
    pub to: Address,
    /// It needed no network.
    pub local: bool,
    /// What.
    pub message: Message,
}

/// The room.
pub struct Room {
    /// The present.
    pub now: SimTime,
    /// The coordinator.
    pub coordinator: Coordinator,
    /// Nodes by address.
    pub members: BTreeMap<Address, Member>,
    /// Clients by address.
    pub clients: BTreeMap<Address, Client>,
    /// Everything that was said.
    pub spoken: Vec<Spoken>,
    /// What the coordinator decided.
    pub decided: Vec<(SimTime, CoordinatorEvent)>,
    /// What happened to nodes.
    pub happened: Vec<(SimTime, Address, MemberEvent)>,
    config: GroupConfig,
    delay: Delay,
    shut: BTreeSet<(Address, Address)>,
    under_way: BTreeMap<(SimTime, u64), Spoken>,
    number: u64,
    tick: SimTime,
}

impl Room {
    /// An empty room. `delay` is how long a message takes from one address to another; everyone is asked every `tick` at least.
    ///
    /// # Panics
    /// If the settings cannot work.
    pub fn new(
        config: GroupConfig,
        division: Division,
        tick: SimTime,
        delay: impl Fn(Address, Address) -> SimTime + Send + 'static,
    ) -> Self {
        let coordinator = Coordinator::new(config, division, 1, COORDINATOR, COORDINATOR_MACHINE);
        Self {
            now: SimTime::ZERO,
            coordinator: coordinator.expect("settings that work"),
            members: BTreeMap::new(),
            clients: BTreeMap::new(),
            spoken: Vec::new(),
            decided: Vec::new(),
            happened: Vec::new(),
            config,
            delay: Box::new(delay),
            shut: BTreeSet::new(),
            under_way: BTreeMap::new(),
            number: 0,
            tick,
        }
    }

    /// A node comes in.
    ///
    /// # Panics
    /// If the settings cannot work.
    pub fn enter(&mut self, address: Address, machine: MachineId) {
        let member = Member::new(
            self.config,
            machine,
            COORDINATOR,
            COORDINATOR_MACHINE,
            address.0,
        );
        self.members
            .insert(address, member.expect("settings that work"));
        self.settle();
    }

    /// A client comes in with these avatars.
    pub fn enter_client(&mut self, address: Address, machine: MachineId, avatars: Vec<ObjectInfo>) {
        let client = Client::new(
            self.config,
            machine,
            COORDINATOR,
            COORDINATOR_MACHINE,
            avatars,
        );
        self.clients.insert(address, client);
        self.settle();
    }

    /// Someone is gone without a word.
    pub fn kill(&mut self, address: Address) {
        self.members.remove(&address);
        self.clients.remove(&address);
    }

    /// From now on nothing passes this way (or it does again).
    pub fn shut(&mut self, from: Address, to: Address, shut: bool) {
        match shut {
            true => self.shut.insert((from, to)),
            false => self.shut.remove(&(from, to)),
        };
    }

    /// Says something in someone's name.
    pub fn say(&mut self, from: Address, to: Address, message: Message) {
        self.hand_over(&Spoken {
            at: self.now,
            from,
            to,
            local: false,
            message,
        });
        self.settle();
    }

    /// A user acts, now: the message leaves as soon as its client may send one.
    pub fn act(&mut self, client: Address, id: u64, state: crate::ObjectState) {
        if let Some(client) = self.clients.get_mut(&client) {
            client.act(self.now, id, state);
            client.handle_tick(self.now);
        }
        self.settle();
    }

    /// Lets time pass; `step` is called for every node every tick.
    pub fn run(&mut self, secs: f64, step: impl FnMut(&mut Member, SimTime)) {
        self.pass(secs, step, |_| {});
    }

    /// Lets time pass without steps; `watch` looks whenever something has happened.
    pub fn run_watching(&mut self, secs: f64, watch: impl FnMut(&Self)) {
        self.pass(secs, |_, _| {}, watch);
    }

    fn pass(
        &mut self,
        secs: f64,
        mut step: impl FnMut(&mut Member, SimTime),
        mut watch: impl FnMut(&Self),
    ) {
        let end = self.now + SimTime::from_secs(secs);
        let mut next_tick = self.now + self.tick;
        while self.now < end {
            let arrival = self.under_way.first_key_value().map(|((at, _), _)| *at);
            self.now = arrival.map_or(next_tick, |at| at.min(next_tick)).min(end);
            while let Some(entry) = self
                .under_way
                .first_entry()
                .filter(|entry| entry.key().0 <= self.now)
            {
                let spoken = entry.remove();
                self.hand_over(&spoken);
            }
            if self.now >= next_tick {
                next_tick = self.now + self.tick;
                let now = self.now;
                self.members
                    .values_mut()
                    .for_each(|member| step(member, now));
                self.members
                    .values_mut()
                    .for_each(|member| member.handle_tick(now));
                self.clients
                    .values_mut()
                    .for_each(|client| client.handle_tick(now));
                self.coordinator.handle_tick(now);
            }
            self.settle();
            watch(self);
        }
    }

    fn hand_over(&mut self, spoken: &Spoken) {
        let (now, from, to, message) = (self.now, spoken.from, spoken.to, spoken.message.clone());
        if to == COORDINATOR {
            self.coordinator.handle_message(now, from, message);
            self.coordinator.handle_tick(now);
        } else if let Some(member) = self.members.get_mut(&to) {
            member.handle_message(now, from, message);
            member.handle_tick(now);
        } else if let Some(client) = self.clients.get_mut(&to) {
            client.handle_message(now, from, message);
            client.handle_tick(now);
        }
    }

    /// What everyone wants sent is on its way afterwards; what stays on a machine has arrived.
    fn settle(&mut self) {
        loop {
            let mut out = Vec::new();
            while let Some(transmit) = self.coordinator.poll_transmit() {
                out.push((COORDINATOR, transmit));
            }
            for (address, member) in &mut self.members {
                while let Some(transmit) = member.poll_transmit() {
                    out.push((*address, transmit));
                }
                while let Some(event) = member.poll_event() {
                    self.happened.push((self.now, *address, event));
                }
            }
            for (address, client) in &mut self.clients {
                while let Some(transmit) = client.poll_transmit() {
                    out.push((*address, transmit));
                }
            }
            while let Some(event) = self.coordinator.poll_event() {
                self.decided.push((self.now, event));
            }
            if out.is_empty() {
                return;
            }
            for (from, transmit) in out {
                let crate::Transmit {
                    to, local, message, ..
                } = transmit;
                let spoken = Spoken {
                    at: self.now,
                    from,
                    to,
                    local,
                    message,
                };
                self.spoken.push(spoken.clone());
                if local {
                    self.hand_over(&spoken);
                } else if !self.shut.contains(&(from, to)) {
                    self.number += 1;
                    let arrives = self.now + (self.delay)(from, to);
                    self.under_way.insert((arrives, self.number), spoken);
                }
            }
        }
    }
}
