//! Coming and going.

use super::{
    Avatar, ClientRecord, Coordinator, CoordinatorEvent, Group, MAX_AVATARS, MAX_PARTIES,
    NodeRecord, Party,
};
use crate::{
    Address, ClientId, GroupId, LostAvatars, MachineId, Message, NodeId, ObjectClass, ObjectInfo,
    ObjectKey,
};
use domain::SimTime;

impl Coordinator {
    /// A newcomer is a group of its own until everyone has measured it.
    pub(super) fn node_joins(&mut self, now: SimTime, from: Address, machine: MachineId) {
        if let Some(Party::Node(before)) = self.parties.get(&from).copied() {
            // It has started anew and remembers nothing.
            self.remove_node(now, before, false);
        }
        if self.nodes.len() >= MAX_PARTIES || self.parties.contains_key(&from) {
            self.rejections.misdirected += 1;
            return;
        }
        let node = NodeId(self.next_node);
        self.next_node += 1;
        let group = self.new_group(None);
        let record = NodeRecord {
            address: from,
            machine,
            group,
            joined: now,
            since: now,
            heard: now,
            placed: false,
        };
        self.nodes.insert(node, record);
        self.parties.insert(from, Party::Node(node));
        self.group_mut(group).members.insert(node);
        self.events.push_back(CoordinatorEvent::NodeJoined(node));
        let welcome = Message::Welcome {
            node,
            environment: self.environment(),
        };
        self.tell_node(node, welcome);
        self.reallocate(now, group);
        let settled = now + SimTime::from_secs(self.config.settle_secs);
        self.regroup_at.get_or_insert(settled);
        self.populate();
        self.rehome_clients();
    }

    /// A new group that begins with what another one knows; with the largest's if none is given.
    pub(super) fn new_group(&mut self, like: Option<GroupId>) -> GroupId {
        let largest = || {
            self.groups
                .iter()
                .max_by_key(|(id, g)| (g.members.len(), std::cmp::Reverse(**id)))
        };
        let model = like
            .and_then(|id| self.groups.get(&id))
            .or_else(|| largest().map(|(_, g)| g));
        let states = model.map_or_else(|| self.initial.clone(), |group| group.states.clone());
        let id = GroupId(self.next_group);
        self.next_group += 1;
        self.groups.insert(
            id,
            Group {
                states,
                ..Group::default()
            },
        );
        id
    }

    pub(super) fn group_mut(&mut self, group: GroupId) -> &mut Group {
        self.groups.get_mut(&group).expect("a node's group exists")
    }

    pub(super) fn client_joins(
        &mut self,
        now: SimTime,
        from: Address,
        machine: MachineId,
        avatars: &[ObjectInfo],
    ) {
        if let Some(Party::Client(before)) = self.parties.get(&from).copied() {
            self.remove_client(before);
        }
        let full = self.clients.len() >= MAX_PARTIES || avatars.len() > MAX_AVATARS;
        let client = ClientId(self.next_client);
        if full || self.parties.contains_key(&from) || ObjectKey::of_client(client, 0).is_none() {
            self.rejections.misdirected += 1;
            return;
        }
        self.next_client += 1;
        // No home is at this address, so that the first one is told.
        let nowhere = Address(u64::MAX);
        let record = ClientRecord {
            address: from,
            machine,
            heard: now,
            home: nowhere,
        };
        self.clients.insert(client, record);
        self.parties.insert(from, Party::Client(client));
        for info in avatars {
            let key =
                ObjectKey::of_client(client, info.key.id).expect("its name fits, we have looked");
            let info = ObjectInfo {
                key,
                class: ObjectClass::Avatar,
                ..*info
            };
            // Who comes back finds its avatar where it was (ST-53).
            let kept = self.kept.remove(&(machine, key.id));
            let state = kept.map(|state| crate::ObjectState { key, ..state });
            self.avatars.insert(key, Avatar { info, state });
        }
        self.populate();
        self.rehome_clients();
    }

    pub(super) fn heard(&mut self, now: SimTime, party: Option<Party>) {
        match party {
            Some(Party::Node(node)) => {
                if let Some(record) = self.nodes.get_mut(&node) {
                    record.heard = now;
                }
            }
            Some(Party::Client(client)) => {
                if let Some(record) = self.clients.get_mut(&client) {
                    record.heard = now;
                }
            }
            None => {}
        }
    }

    /// Someone who was given up, or never was here: it may join.
    pub(super) fn stranger(&mut self, from: Address, message: &Message) {
        self.rejections.stranger += 1;
        if matches!(message, Message::Alive) {
            self.outbox.send(from, false, Message::Unknown);
        }
    }

    pub(super) fn leaves(&mut self, now: SimTime, party: Party) {
        match party {
            Party::Node(node) => self.remove_node(now, node, true),
            Party::Client(client) => self.remove_client(client),
        }
    }

    pub(super) fn give_up_the_silent(&mut self, now: SimTime) {
        let patience = SimTime::from_secs(self.config.node_timeout_secs);
        let silent = |heard: SimTime| now.since(heard) > patience;
        let nodes: Vec<NodeId> = self
            .nodes
            .iter()
            .filter(|(_, r)| silent(r.heard))
            .map(|(n, _)| *n)
            .collect();
        for node in nodes {
            self.remove_node(now, node, false);
        }
        let clients: Vec<ClientId> = self
            .clients
            .iter()
            .filter(|(_, r)| silent(r.heard))
            .map(|(c, _)| *c)
            .collect();
        for client in clients {
            self.remove_client(client);
        }
    }

    /// A node is gone; its group goes on without it (ST-33, ST-53). Clients on its machine go with it if it died.
    pub(super) fn remove_node(&mut self, now: SimTime, node: NodeId, politely: bool) {
        let Some(record) = self.nodes.remove(&node) else {
            return;
        };
        self.parties.remove(&record.address);
        self.limit.forget(node);
        self.votes_without(now, node);
        if let Some(round) = &mut self.round {
            round.gone(node);
        }
        self.events
            .push_back(CoordinatorEvent::NodeGone { node, politely });
        if !politely {
            let with_it = self
                .clients
                .iter()
                .filter(|(_, c)| c.machine == record.machine);
            for client in with_it.map(|(id, _)| *id).collect::<Vec<_>>() {
                self.remove_client(client);
            }
        }
        self.remove_from_group(now, node, record.group);
        self.populate();
        self.rehome_clients();
    }

    /// Takes a node out of a group; the rest is allocated anew, an empty group disappears.
    pub(super) fn remove_from_group(&mut self, now: SimTime, node: NodeId, group: GroupId) {
        let members = &mut self.group_mut(group).members;
        members.remove(&node);
        if members.is_empty() {
            self.groups.remove(&group);
            self.to_groups.remove(&group);
        } else {
            self.reallocate(now, group);
        }
    }

    fn remove_client(&mut self, client: ClientId) {
        let Some(record) = self.clients.remove(&client) else {
            return;
        };
        self.parties.remove(&record.address);
        self.to_clients.remove(&client);
        self.results_to_clients.remove(&client);
        let mine = |key: &ObjectKey| key.owner() == Some(client);
        let keys: Vec<ObjectKey> = self.avatars.keys().copied().filter(mine).collect();
        for key in keys {
            let avatar = self.avatars.remove(&key).expect("just seen");
            if let (LostAvatars::Keep, Some(state)) = (self.config.lost_avatars, avatar.state) {
                self.kept.insert((record.machine, key.id), state);
            }
        }
        self.populate();
    }

    /// The node on a machine, if there is one; the lowest if there are several.
    pub(super) fn host_of(&self, machine: MachineId) -> Option<NodeId> {
        let on_it = |(_, record): &(&NodeId, &NodeRecord)| record.machine == machine;
        self.nodes.iter().find(on_it).map(|(node, _)| *node)
    }

    /// Whom a client on this machine talks to: the leader of its node's group, or us (ST-40).
    fn home_of(&self, machine: MachineId) -> (Address, MachineId) {
        let host = self.host_of(machine);
        let group = host.and_then(|node| self.group_of(node));
        let leader = group.and_then(|group| self.groups[&group].leader());
        let record = leader.and_then(|leader| self.nodes.get(&leader));
        record.map_or((self.address, self.machine), |record| {
            (record.address, record.machine)
        })
    }

    /// Clients whose leader is another one now are told so.
    pub(super) fn rehome_clients(&mut self) {
        for client in self.clients.keys().copied().collect::<Vec<_>>() {
            let (home, machine) = self.home_of(self.clients[&client].machine);
            let record = self.clients.get_mut(&client).expect("it exists");
            if record.home != home {
                record.home = home;
                self.tell_client(
                    client,
                    Message::ClientHome {
                        client,
                        home,
                        machine,
                    },
                );
            }
        }
    }
}
