//! A process through which a user acts: it tells its group's leader, or the coordinator, what its avatars do (thesis §4.3.1.6).

use crate::outbox::Outbox;
use crate::{
    Address, Batch, ClientId, GroupConfig, MachineId, Message, ObjectInfo, ObjectKey, ObjectState,
    Rejections, Transmit,
};
use domain::SimTime;
use std::collections::BTreeMap;

/// A client as a value.
#[derive(Debug)]
pub struct Client {
    config: GroupConfig,
    machine: MachineId,
    coordinator: (Address, MachineId),
    id: Option<ClientId>,
    home: Option<(Address, MachineId)>,
    brings: Vec<ObjectInfo>,
    mine: BTreeMap<ObjectKey, ObjectState>,
    others: BTreeMap<ObjectKey, ObjectState>,
    waiting: Batch,
    next_flush: SimTime,
    next_alive: SimTime,
    outbox: Outbox,
    left: bool,
    rejections: Rejections,
}

impl Client {
    /// A client on this machine that brings these avatars (their keys' clients do not matter). It asks to join at once.
    pub fn new(
        config: GroupConfig,
        machine: MachineId,
        coordinator: Address,
        coordinator_machine: MachineId,
        avatars: Vec<ObjectInfo>,
    ) -> Self {
        let mut client = Self {
            config,
            machine,
            coordinator: (coordinator, coordinator_machine),
            id: None,
            home: None,
            brings: avatars,
            mine: BTreeMap::new(),
            others: BTreeMap::new(),
            waiting: Batch::default(),
            next_flush: SimTime::ZERO,
            next_alive: SimTime::ZERO,
            outbox: Outbox::of(config.mode),
            left: false,
            rejections: Rejections::default(),
        };
        client.join();
        client
    }

    fn join(&mut self) {
        let (machine, avatars) = (self.machine, self.brings.clone());
        self.tell_coordinator(Message::ClientJoin { machine, avatars });
    }

    /// Something arrived.
    pub fn handle_message(&mut self, now: SimTime, from: Address, message: Message) {
        if self.left {
            return;
        }
        let official = from == self.coordinator.0;
        let home = self.home.is_some_and(|(home, _)| home == from);
        match message {
            Message::ClientHome {
                client,
                home,
                machine,
            } if official => {
                self.id = Some(client);
                self.home = Some((home, machine));
            }
            Message::Unknown if official && self.id.take().is_some() => {
                self.home = None;
                self.mine.clear();
                // What still waits bears our old name.
                self.waiting = Batch::default();
                self.join();
            }
            Message::AvatarUpdate { states } if official || home => self.hear(&states),
            Message::AvatarResult { states } if official || home => self.suffer(now, &states),
            _ => self.rejections.misdirected += 1,
        }
    }

    /// Where others' avatars are.
    fn hear(&mut self, states: &[ObjectState]) {
        for state in states {
            let known = self.others.get(&state.key);
            let mine = state.key.owner().is_none() || state.key.owner() == self.id;
            if mine || !state.is_sane() {
                self.rejections.impossible_state += 1;
            } else if known.is_some_and(|known| state.stamp <= known.stamp) {
                self.rejections.stale_state += 1;
            } else {
                self.others.insert(state.key, *state);
            }
        }
    }

    /// What has become of ours.
    fn suffer(&mut self, _now: SimTime, states: &[ObjectState]) {
        for state in states {
            match self.mine.get_mut(&state.key) {
                Some(mine) if state.is_sane() && state.stamp >= mine.stamp => *mine = *state,
                Some(_) => self.rejections.stale_state += 1,
                None => self.rejections.unknown_object += 1,
            }
        }
    }

    /// The user acts: avatar `id` is here now, and moves like that. Told with the next flush, the latest state only.
    pub fn act(&mut self, now: SimTime, id: u64, state: ObjectState) {
        let brought = self.brings.iter().any(|info| info.key.id == id);
        let key = self
            .id
            .and_then(|client| ObjectKey::of_client(client, id))
            .filter(|_| brought);
        let Some(key) = key else { return };
        let state = ObjectState {
            key,
            stamp: now,
            ..state
        };
        if state.is_sane() {
            self.mine.insert(key, state);
            self.waiting.put(state);
        }
    }

    /// Time moved.
    pub fn handle_tick(&mut self, now: SimTime) {
        if self.left {
            return;
        }
        if now >= self.next_alive {
            self.next_alive = now + SimTime::from_secs(self.config.alive_secs);
            self.tell_coordinator(Message::Alive);
        }
        if now >= self.next_flush && !self.waiting.is_empty() {
            self.next_flush = now + SimTime::from_secs(self.config.flush_secs);
            let Some((home, machine)) = self.home else {
                return;
            };
            let states = std::mem::take(&mut self.waiting).finish();
            self.outbox.send(
                home,
                machine == self.machine,
                Message::AvatarUpdate { states },
            );
        }
    }

    /// Says goodbye, and nothing afterwards.
    pub fn leave(&mut self) {
        self.tell_coordinator(Message::Leave);
        self.left = true;
    }

    /// The next thing to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.outbox.poll()
    }

    /// When [`Self::handle_tick`] is needed at the latest.
    pub fn next_wakeup(&self) -> SimTime {
        self.next_alive.min(self.next_flush.max(SimTime(1)))
    }

    /// Our name, once we have one.
    pub fn id(&self) -> Option<ClientId> {
        self.id
    }

    /// Whom we tell what we do.
    pub fn home(&self) -> Option<Address> {
        self.home.map(|(home, _)| home)
    }

    /// Our own avatar.
    pub fn own(&self, id: u64) -> Option<&ObjectState> {
        self.mine.get(&ObjectKey::of_client(self.id?, id)?)
    }

    /// Someone else's avatar, as last heard.
    pub fn other(&self, key: ObjectKey) -> Option<&ObjectState> {
        self.others.get(&key)
    }

    /// What was refused.
    pub fn rejections(&self) -> Rejections {
        self.rejections
    }

    fn tell_coordinator(&mut self, message: Message) {
        let (to, machine) = self.coordinator;
        self.outbox.send(to, machine == self.machine, message);
    }
}
