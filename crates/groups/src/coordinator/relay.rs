//! Between groups: avatars pass, answers to remote hits do not, and worlds that drift apart are brought together (thesis §3.3.8.1,
//! §4.3.2.10.7).
//!
//! ```text
//!   a collision result for an avatar comes from the leader of G; its client is
//!      with G               recorded, and passed on to the other leaders
//!      with nobody          recorded, and told to the client
//!      with another group   forgotten: that group knows better
//! ```

use super::{Coordinator, CoordinatorEvent, Party};
use crate::outbox::in_parts;
use crate::{ClientId, GroupEpoch, GroupId, Message, NodeId, ObjectKey, ObjectState, arbitrate};
use domain::SimTime;
use std::collections::BTreeMap;

/// An object is corrected at most this often: a correction needs time to arrive before it is judged.
const BETWEEN_CORRECTIONS: SimTime = SimTime(1_000_000_000);

impl Coordinator {
    /// Avatars as their clients want them: from a client without a node, or from the leader its node has.
    pub(super) fn avatar_update(&mut self, party: Party, states: &[ObjectState]) {
        for state in states {
            let Some(client) = state
                .key
                .owner()
                .filter(|_| self.avatars.contains_key(&state.key))
            else {
                self.rejections.unknown_object += 1;
                continue;
            };
            let home = self.home_group(client);
            let rightful = match party {
                Party::Client(from) => from == client,
                Party::Node(from) => {
                    home.is_some_and(|group| self.groups[&group].leader() == Some(from))
                }
            };
            if !rightful || !state.is_sane() {
                self.rejections.stranger += u64::from(!rightful);
                self.rejections.impossible_state += u64::from(rightful);
                continue;
            }
            // The group it came from has it already; a client that has just lost its node may have told us instead.
            let from = match party {
                Party::Node(_) => home,
                Party::Client(_) => None,
            };
            self.accept_avatar(*state, client, from);
        }
    }

    /// Keeps and passes on what is newer than what is known (ST-51).
    fn accept_avatar(&mut self, state: ObjectState, client: ClientId, from: Option<GroupId>) {
        let avatar = self
            .avatars
            .get_mut(&state.key)
            .expect("the caller has looked");
        if avatar.state.is_some_and(|known| state.stamp <= known.stamp) {
            self.rejections.stale_state += 1;
            return;
        }
        avatar.state = Some(state);
        for group in self.groups.keys().filter(|group| Some(**group) != from) {
            self.to_groups.entry(*group).or_default().put(state);
        }
        for other in self.clients.keys().filter(|other| **other != client) {
            // Clients with a node hear it from their leader.
            if self.home_group(*other).is_none() {
                self.to_clients.entry(*other).or_default().put(state);
            }
        }
    }

    /// The group whose leader speaks for a client.
    fn home_group(&self, client: ClientId) -> Option<GroupId> {
        let record = self.clients.get(&client)?;
        self.group_of(self.host_of(record.machine)?)
    }

    /// What a leader has to agree on with another one is passed on as it is.
    pub(super) fn agreement(&mut self, node: NodeId, to: GroupId, bytes: Vec<u8>) {
        let from = self.group_of(node).expect("a node has a group");
        let leads = self.groups[&from].leader() == Some(node);
        let leader = self.groups.get(&to).and_then(|group| group.leader());
        match leader.filter(|_| leads && to != from) {
            Some(leader) => self.tell_node(leader, Message::Agreement { group: from, bytes }),
            None => self.rejections.misdirected += 1,
        }
    }

    /// What a group's leader says has become of objects.
    pub(super) fn results(&mut self, node: NodeId, epoch: GroupEpoch, states: &[ObjectState]) {
        let group = self.group_of(node).expect("a node has a group");
        if self.groups[&group].leader() != Some(node) {
            self.rejections.misdirected += 1;
            return;
        }
        if epoch != self.groups[&group].epoch {
            self.rejections.wrong_epoch += 1;
            return;
        }
        for state in states {
            if !state.is_sane() {
                self.rejections.impossible_state += 1;
            } else if state.key.is_persistent() {
                self.object_result(group, *state);
            } else {
                self.avatar_result(group, *state);
            }
        }
    }

    fn object_result(&mut self, group: GroupId, state: ObjectState) {
        let Some(known) = self.group_mut(group).states.get_mut(&state.key) else {
            self.rejections.unknown_object += 1;
            return;
        };
        if state.version <= known.version {
            self.rejections.stale_state += 1;
            return;
        }
        *known = state;
        self.news.insert(state.key);
    }

    /// The three cases (ST-36).
    fn avatar_result(&mut self, group: GroupId, state: ObjectState) {
        let known = state
            .key
            .owner()
            .filter(|_| self.avatars.contains_key(&state.key));
        let Some(client) = known else {
            self.rejections.unknown_object += 1;
            return;
        };
        match self.home_group(client) {
            Some(home) if home == group => self.accept_avatar(state, client, Some(group)),
            Some(_) => {}
            None => {
                self.results_to_clients
                    .entry(client)
                    .or_default()
                    .put(state);
                self.accept_avatar(state, client, Some(group));
            }
        }
    }

    /// Everything that has gathered goes out.
    pub(super) fn flush(&mut self, now: SimTime) {
        self.correct_groups(now);
        for (group, batch) in std::mem::take(&mut self.to_groups) {
            let Some(leader) = self.groups.get(&group).and_then(|group| group.leader()) else {
                continue;
            };
            in_parts(batch.finish(), |states| {
                self.tell_node(leader, Message::AvatarUpdate { states })
            });
        }
        for (client, batch) in std::mem::take(&mut self.to_clients) {
            in_parts(batch.finish(), |states| {
                self.tell_client(client, Message::AvatarUpdate { states })
            });
        }
        for (client, batch) in std::mem::take(&mut self.results_to_clients) {
            in_parts(batch.finish(), |states| {
                self.tell_client(client, Message::AvatarResult { states })
            });
        }
    }

    /// Groups that differ by more than θ_inter are told what is true (ST-38); their sizes are the weights.
    fn correct_groups(&mut self, now: SimTime) {
        let mut corrections: BTreeMap<GroupId, Vec<ObjectState>> = BTreeMap::new();
        for key in std::mem::take(&mut self.news) {
            let lately = self
                .corrected_at
                .get(&key)
                .is_some_and(|at| now.since(*at) < BETWEEN_CORRECTIONS);
            if self.groups.len() > 1 && !lately && self.correct(key, &mut corrections) {
                self.corrected_at.insert(key, now);
                self.events.push_back(CoordinatorEvent::Corrected(key));
            }
        }
        for (group, states) in corrections {
            let (epoch, leader) = (self.groups[&group].epoch, self.groups[&group].leader());
            let leader = leader.expect("a group has members");
            in_parts(states, |states| {
                self.tell_node(leader, Message::Correction { epoch, states })
            });
        }
    }

    fn correct(
        &mut self,
        key: ObjectKey,
        corrections: &mut BTreeMap<GroupId, Vec<ObjectState>>,
    ) -> bool {
        let threshold_m = self.config.theta_inter * 2.0 * f64::from(self.objects[&key].extent_m);
        let told = self
            .groups
            .values()
            .filter_map(|g| Some((*g.states.get(&key)?, g.members.len() as f64)));
        let reports: Vec<(ObjectState, f64)> = told.collect();
        let Some(truth) = arbitrate(&reports, threshold_m) else {
            return false;
        };
        for (id, group) in &self.groups {
            let differs = group
                .states
                .get(&key)
                .is_some_and(|state| state.deviation(&truth) > 0.0);
            if differs {
                corrections.entry(*id).or_default().push(truth);
            }
        }
        true
    }
}
