//! What a region says: to its neighbours, to those who subscribed, to those who look closely, and about itself.

use super::Host;
use crate::messages::{self, FromRegion, RegionState, Subscription};
use crate::names::Place;
use crate::server::pace::SAID_AGAIN;
use channel::EndpointId;
use client_protocol::{Figures, Layers};
use domain::SimTime;
use wire::Envelope;

impl Host {
    pub(super) fn want_insight(&mut self) {
        let layers = self.inspectors.values().copied();
        self.insight.want(layers.fold(Layers::NONE, Layers::with));
    }

    /// Tells those who look closely.
    pub(super) fn show(&mut self) {
        let figures = self.figures();
        let state = self.gauges.read().state;
        let insight = self.insight.take(&self.region, state, figures);
        let bytes = messages::encode(&FromRegion::Insight(Box::new(insight)));
        let local = self.shared.clock.local();
        for end in self.inspectors.keys().copied().collect::<Vec<_>>() {
            if let Err(full) = self.post.send(local, end, bytes.clone()) {
                self.fail(&full.to_string());
                self.forget(end);
            }
        }
    }

    pub(super) fn figures(&mut self) -> Figures {
        let gauges = self.gauges.read();
        let is_region = |peer| Place::of_endpoint(peer).is_some();
        Figures {
            term: self.term.0,
            ticks: gauges.ticks,
            late_ticks: gauges.late_ticks,
            cpu_ns: (gauges.cpu_secs * 1e9) as u64,
            longest_ns: std::mem::take(&mut self.longest_tick).as_nanos() as u64,
            arrived: gauges.arrived,
            departed: gauges.departed,
            bytes_to_regions: self.post.bytes_sent(is_region),
            bytes_to_others: self.post.bytes_sent(|peer| !is_region(peer)),
            ..Figures::default()
        }
    }

    /// What the region has gathered for its neighbours.
    pub(super) fn say(&mut self) {
        // Before the world's time is known nothing has happened that could be said.
        let Some(now) = self.world_time() else {
            return;
        };
        if self.given_away {
            return;
        }
        self.region.handle_network_update(now);
        while let Some(envelope) = self.region.poll_transmit() {
            self.send_envelope(&envelope);
        }
        self.say_how_far(now);
    }

    /// A neighbour to whom there was nothing to say hears of every tick, too: it may be waiting for us.
    pub(super) fn say_how_far(&mut self, now: SimTime) {
        let (from, tick) = (self.place.region, self.region.tick());
        let neighbours = self.region.config().map.neighbours(from).to_vec();
        for to in neighbours {
            let known = self.told.get(&to).is_some_and(|(told, at)| {
                *told == tick && self.shared.clock.local().since(*at) < SAID_AGAIN
            });
            if !known {
                self.send_envelope(&Envelope {
                    from,
                    to,
                    tick,
                    sent_at: now,
                    messages: Vec::new(),
                });
            }
        }
    }

    pub(super) fn send_envelope(&mut self, envelope: &Envelope) {
        let to = self.end_of(envelope.to);
        let local = self.shared.clock.local();
        self.told.insert(envelope.to, (envelope.tick, local));
        let bytes = match wire::encode(envelope) {
            Ok(bytes) => Some(bytes),
            Err(error) => {
                self.fail(&error.to_string());
                wire::encode(&without_nonsense(envelope)).ok()
            }
        };
        if let Some(bytes) = bytes
            && let Err(full) = self.post.send(local, to, bytes)
        {
            self.fail(&full.to_string());
        }
    }

    /// Says whether it will arrive.
    pub(super) fn send(&mut self, to: EndpointId, message: &FromRegion) -> bool {
        let local = self.shared.clock.local();
        let sent = self.post.send(local, to, messages::encode(message));
        if let Err(full) = &sent {
            self.fail(&full.to_string());
        }
        sent.is_ok()
    }

    pub(super) fn publish(&mut self, message: &FromRegion, wants: impl Fn(&Subscription) -> bool) {
        let bytes = messages::encode(message);
        let local = self.shared.clock.local();
        let to: Vec<EndpointId> = self
            .subscribers
            .iter()
            .filter(|(_, wanted)| wants(wanted))
            .map(|(end, _)| *end)
            .collect();
        for end in to {
            if let Err(full) = self.post.send(local, end, bytes.clone()) {
                // It cannot follow. When it listens again it finds us silent, and begins anew.
                self.fail(&full.to_string());
                self.forget(end);
            }
        }
    }

    pub(super) fn report(&mut self) {
        let state = if self.given_away && self.unkept.is_none() {
            RegionState::GivenAway
        } else if self.region.is_recovering() {
            RegionState::Recovering
        } else if self.world.start_unix_ns.is_none() {
            RegionState::Ready
        } else {
            RegionState::Running
        };
        let boundary = self.region.boundary();
        let exceeded = boundary.exceeded();
        let mut gauges = self.gauges.lock();
        gauges.state = Some(state);
        gauges.tick = self.region.tick();
        gauges.bodies = self.region.world().len() as u32;
        gauges.auras = boundary.remote_aura_count() as u32;
        gauges.exceeded = [exceeded.speed, exceeded.latency, exceeded.frame];
        gauges.promises = boundary.kept();
        gauges.largest_cluster = boundary.largest_cluster();
    }
}

/// Whatever one of its messages is worth: a neighbour must hear the others, and of the tick.
fn without_nonsense(envelope: &Envelope) -> Envelope {
    let mut sound = envelope.clone();
    sound.messages.retain(|message| message.check().is_ok());
    sound
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{BodyId, Epoch, RegionId, Tick};
    use wire::{AuraDelete, HandoverNumber, Message};

    /// One message that makes no sense, and the neighbour heard nothing at all, tick after tick.
    #[test]
    fn a_neighbour_hears_all_that_makes_sense() {
        let delete = |epoch| {
            Message::AuraDelete(AuraDelete {
                body: BodyId(1),
                epoch: Epoch(epoch),
                tick: Tick(1),
                moved_to: None,
            })
        };
        let handover = HandoverNumber(1);
        let envelope = Envelope {
            from: RegionId(0),
            to: RegionId(1),
            tick: Tick(1),
            sent_at: SimTime::ZERO,
            messages: vec![delete(1), delete(u32::MAX), Message::Accept { handover }],
        };
        assert!(wire::encode(&envelope).is_err());
        let sound = without_nonsense(&envelope);
        assert_eq!(sound.messages, [delete(1), Message::Accept { handover }]);
        assert!(wire::encode(&sound).is_ok());
    }
}
