//! What a core wants sent, and building a message piece by piece.

use crate::{Address, Delivery, Message, ObjectState, TransportChoice};
use std::collections::VecDeque;

/// Something to send.
#[derive(Clone, Debug, PartialEq)]
pub struct Transmit {
    /// To whom.
    pub to: Address,
    /// On the same machine: no network is needed (ST-55).
    pub local: bool,
    /// How, if a network is needed.
    pub delivery: Delivery,
    /// What.
    pub message: Message,
}

/// What waits to be fetched by the driver.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: VecDeque<Transmit>,
    pub(crate) choice: TransportChoice,
}

impl Outbox {
    pub(crate) fn of(mode: crate::Mode) -> Self {
        Self {
            choice: TransportChoice::of(mode),
            ..Self::default()
        }
    }

    pub(crate) fn send(&mut self, to: Address, local: bool, message: Message) {
        let delivery = message.delivery(self.choice);
        self.waiting.push_back(Transmit {
            to,
            local,
            delivery,
            message,
        });
    }

    pub(crate) fn poll(&mut self) -> Option<Transmit> {
        self.waiting.pop_front()
    }
}

/// The largest number of states in one message; more are sent in several.
pub const MAX_STATES: usize = 1024;

/// Sends states in as few messages as they need; `make` wraps one message's worth. Sends one even if there are none.
pub(crate) fn in_parts(states: Vec<ObjectState>, mut make: impl FnMut(Vec<ObjectState>)) {
    if states.len() <= MAX_STATES {
        return make(states);
    }
    states
        .chunks(MAX_STATES)
        .for_each(|part| make(part.to_vec()));
}

/// A batch of states that is being put together: at most one state per object, the latest (ST-23, ST-47). Finishing it takes it
/// away, so that a batch that was sent cannot be added to; that is the thesis's message handle (§4.3.1.1, ST-49), checked by
/// the compiler. Batches are values: several threads build one each.
///
/// ```compile_fail
/// let mut batch = groups::Batch::default();
/// let states = batch.finish();
/// batch.put(states[0]); // borrow of moved value
/// ```
#[derive(Clone, Debug, Default)]
pub struct Batch {
    states: std::collections::BTreeMap<crate::ObjectKey, ObjectState>,
}

impl Batch {
    /// Adds a state; an older one of the same object is replaced.
    pub fn put(&mut self, state: ObjectState) {
        self.states.insert(state.key, state);
    }

    /// Is there nothing in it?
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// The states, by key.
    pub fn finish(self) -> Vec<ObjectState> {
        self.states.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObjectKey;
    use glam::DVec3;

    /// ST-47, ST-49: one state per object and batch; threads build their own at the same time.
    #[test]
    fn st_49_batches_are_built_in_several_threads() {
        let build = |thread: u64| {
            let mut batch = Batch::default();
            for step in 0..10 {
                for id in 0..20 {
                    let position = DVec3::new(step as f64, thread as f64, 0.0);
                    batch.put(ObjectState::at_rest(ObjectKey::persistent(id), position));
                }
            }
            batch.finish()
        };
        let built: Vec<Vec<ObjectState>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|t| scope.spawn(move || build(t))).collect();
            threads
                .into_iter()
                .map(|t| t.join().expect("it does not panic"))
                .collect()
        });
        for (thread, states) in built.iter().enumerate() {
            assert_eq!(states.len(), 20);
            assert!(
                states
                    .iter()
                    .all(|s| s.position == DVec3::new(9.0, thread as f64, 0.0))
            );
        }
    }
}
