//! The others' objects as a client sees them.

use super::client_settings::{ClientConfig, ClientEvent};
use super::dr_object::DrObject;
use super::relay::apply;
use crate::codec::{GhostUpdate, Introduction, StateBits};
use domain::{BodyId, SimTime};
use std::collections::BTreeMap;

#[derive(Debug)]
struct Ghost {
    object: DrObject,
    life: u8,
}

/// All ghosts of a client.
#[derive(Debug, Default)]
pub(super) struct GhostView {
    ghosts: BTreeMap<BodyId, Ghost>,
}

impl GhostView {
    pub(super) fn get(&self, id: BodyId) -> Option<&DrObject> {
        self.ghosts.get(&id).map(|ghost| &ghost.object)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &DrObject> {
        self.ghosts.values().map(|ghost| &ghost.object)
    }

    /// News of an object; what the application should know of it. `time` is the time vectors are in, if it is known yet: a
    /// vector that comes before that is taken at its word.
    pub(super) fn handle_update(
        &mut self,
        time: Option<SimTime>,
        update: &GhostUpdate,
        delay: SimTime,
        config: &ClientConfig,
    ) -> Vec<ClientEvent> {
        let entity = update.entity;
        let mut events = Vec::new();
        if let Some(introduction) = update.introduction {
            self.introduce(entity, introduction, config, &mut events);
        }
        let Some(ghost) = self.ghosts.get_mut(&entity) else {
            return events;
        };
        let stamped = update.vector.map_or(SimTime::ZERO, |(_, vector)| vector.time);
        match apply(&mut ghost.object, time.unwrap_or(stamped), update, delay) {
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

    fn introduce(
        &mut self,
        entity: BodyId,
        Introduction { class, life }: Introduction,
        config: &ClientConfig,
        events: &mut Vec<ClientEvent>,
    ) {
        match self.ghosts.get(&entity) {
            Some(known) if known.life == life => return,
            // It left and came back, and we never heard of it.
            Some(_) => events.extend(self.handle_kill(entity)),
            None => {}
        }
        if self.ghosts.len() >= config.max_ghosts {
            return;
        }
        let mut object = DrObject::ghost(entity).with_class(class);
        if let Some(model) = config.models.get(&class) {
            object = object.with_model(model.clone());
        }
        self.ghosts.insert(entity, Ghost { object, life });
        events.push(ClientEvent::Appeared { entity, class });
    }
}
