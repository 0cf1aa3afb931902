//! The listening half: acknowledged packets, and those that never will be.

use super::FairServer;
use super::client::PacketSeq;
use super::types::ServerError;
use crate::fairness::delay::DelayModel;
use crate::fairness::policies::ReceiverId;
use domain::SimTime;

/// Most packets reported in one acknowledgement.
const MAX_ACKS: usize = 64;

impl FairServer {
    /// A client reports packets and when they arrived. A packet reported again changes nothing.
    pub fn handle_ack(
        &mut self,
        now: SimTime,
        from: ReceiverId,
        acks: &[(PacketSeq, SimTime)],
    ) -> Result<(), ServerError> {
        let index = self.client_at(from)?;
        let client = self.clients[index].as_ref();
        let newest = client.map_or(PacketSeq(0), |client| client.newest_packet);
        if acks.len() > MAX_ACKS {
            return Err(ServerError::TooMany(acks.len()));
        }
        if let Some(&(seq, _)) = acks.iter().find(|(seq, _)| *seq > newest) {
            return Err(ServerError::NeverSent(seq));
        }
        for &(seq, reported) in acks {
            self.acknowledge(now, index, seq, reported);
        }
        Ok(())
    }

    fn acknowledge(
        &mut self,
        now: SimTime,
        index: usize,
        seq: PacketSeq,
        reported: SimTime,
    ) -> Option<()> {
        let client = self.clients[index].as_mut()?;
        let found = client
            .in_flight
            .binary_search_by_key(&seq, |packet| packet.seq);
        let packet = client.in_flight.get_mut(found.ok()?)?;
        let entries = std::mem::take(&mut packet.entries);
        if entries.is_empty() {
            return None;
        }
        let sent = packet.sent;
        let granted = self
            .settings
            .admitted_delay
            .map_or(now, |delay| sent + delay);
        let at = reported.min(granted).min(now).max(sent);
        client.delays.record(at.since(sent));
        client.round_trips.record(now.since(sent));
        for entry in entries {
            let Some(pair) = client.pair_mut(entry.pair, entry.serial) else {
                continue;
            };
            if let Some(Some(entity)) = self.entities.get(pair.entity as usize)
                && entity.serial == pair.entity_serial
            {
                pair.account
                    .handle_ack(at, &entry.vector, &entity.history, &self.measure);
            }
        }
        Some(())
    }

    /// Packets that should have been acknowledged by now: what was in them is due again unless something newer is under way.
    pub(super) fn give_up_lost(&mut self, now: SimTime, index: usize) -> Option<()> {
        let client = self.clients[index].as_mut()?;
        let round_trip = client.round_trips.delay(DelayModel::Average).as_secs();
        let patience = match round_trip {
            0.0 => self.settings.lost_after,
            secs => SimTime::from_secs(2.0 * secs + 0.1).min(self.settings.lost_after),
        };
        while let Some(packet) = client.in_flight.front() {
            let acked = packet.entries.is_empty();
            if !acked && now.since(packet.sent) <= patience {
                break;
            }
            let packet = client.in_flight.pop_front()?;
            self.counts.lost_packets += u64::from(!acked);
            for entry in packet.entries {
                if let Some(pair) = client.pair_mut(entry.pair, entry.serial) {
                    pair.account.handle_loss(entry.vector.seq);
                    client.wake(entry.pair, entry.serial);
                }
            }
        }
        Some(())
    }
}
