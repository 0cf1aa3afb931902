//! An entity moves to another region server, and its clients' errors with it.

use super::FairServer;
use super::types::{EntityHandover, ServerError};
use domain::{BodyId, SimTime};

impl FairServer {
    /// What another region server needs to go on with an entity. O(clients).
    pub fn hand_over(&self, now: SimTime, id: BodyId) -> Option<EntityHandover> {
        let entity = self.entities[*self.entity_index.get(&id)? as usize].as_ref()?;
        let clients = self.client_index.keys();
        Some(EntityHandover {
            vector: **entity.history.newest()?,
            bytes: entity.bytes,
            errors: clients
                .filter_map(|&client| Some((client, self.error(now, client, id)?)))
                .collect(),
        })
    }

    /// Goes on with an entity of another region server. Its clients find their errors again when it enters their scope here.
    pub fn take_over(&mut self, handover: EntityHandover) -> Result<(), ServerError> {
        let EntityHandover {
            vector,
            bytes,
            errors,
        } = handover;
        if let Some((_, error)) = errors
            .iter()
            .find(|(_, error)| !(error.is_finite() && *error >= 0.0))
        {
            return Err(ServerError::NotPositive(*error));
        }
        self.handle_vector(vector, bytes)?;
        let index = self.entity_index.get(&vector.entity);
        let entity = index.and_then(|&index| self.entities[index as usize].as_mut());
        if let Some(entity) = entity {
            entity.handed_over.extend(errors);
        }
        Ok(())
    }
}
