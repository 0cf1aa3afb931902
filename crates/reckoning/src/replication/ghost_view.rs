//! The others' objects as a client sees them.

use super::client_settings::{ClientConfig, ClientEvent};
use super::dr_object::DrObject;
use super::relay::apply;
use crate::codec::{GhostUpdate, Introduction, StateBits};
use domain::{BodyId, SimTime};
use std::collections::BTreeMap;

/// All ghosts of a client.
#[derive(Debug, Default)]
pub(super) struct GhostView {
    ghosts: BTreeMap<BodyId, DrObject>,
}

impl GhostView {
    pub(super) fn get(&self, id: BodyId) -> Option<&DrObject> {
        self.ghosts.get(&id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &DrObject> {
        self.ghosts.values()
    }

    /// News of an object; what the application should know of it. `time` is the time vectors are in, if it is known yet: a
    /// vector that comes before that is taken at its word.
    pub(super) fn handle_update(
        &mut self,
        time: Option<SimTime>,
        update: &GhostUpdate,
        afresh: bool,
        delay: SimTime,
        config: &ClientConfig,
    ) -> Vec<ClientEvent> {
        let entity = update.entity;
        let mut events = Vec::new();
        if let (true, Some(introduction)) = (afresh, update.introduction) {
            // It may have left and come back without our hearing of it.
            events.extend(self.handle_kill(entity));
            self.introduce(entity, introduction, config);
            let class = introduction.class;
            events.push(ClientEvent::Appeared { entity, class });
        }
        let Some(ghost) = self.ghosts.get_mut(&entity) else {
            return events;
        };
        let stamped = update
            .vector
            .map_or(SimTime::ZERO, |(_, vector)| vector.time);
        match apply(ghost, time.unwrap_or(stamped), update, delay) {
            Ok(bits) => {
                let bits = bits.without(StateBits::VECTOR);
                if !bits.is_empty() {
                    events.push(ClientEvent::Changed { entity, bits });
                }
            }
            Err(rejected) => events.push(ClientEvent::Rejected(rejected)),
        }
        events
    }

    /// An object is gone from view.
    pub(super) fn handle_kill(&mut self, entity: BodyId) -> Option<ClientEvent> {
        let gone = self.ghosts.remove(&entity);
        gone.map(|_| ClientEvent::Vanished(entity))
    }

    fn introduce(&mut self, entity: BodyId, new: Introduction, config: &ClientConfig) {
        let mut object = DrObject::ghost(entity).with_class(new.class);
        if let Some(model) = config.models.get(&new.class) {
            object = object.with_model(model.clone());
        }
        self.ghosts.insert(entity, object);
    }
}
