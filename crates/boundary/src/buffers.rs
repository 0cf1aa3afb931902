//! BNU, the boundary network update (thesis Algorithm 6): what has gathered since the last one goes out.
//!
//! Per boundary three buffers, migration, aura upsert and aura delete, as in the thesis (4.1.2), and one for the words
//! that make handovers safe.

use domain::RegionId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wire::{AuraDelete, AuraUpsert, Message, Offer};

/// What is to be said to one other region.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Buffer {
    control: Vec<Message>,
    migrations: Vec<Offer>,
    // As they came: a frame may hold several steps, and only the newest per body goes out.
    upserts: Vec<AuraUpsert>,
    deletes: Vec<AuraDelete>,
}

impl Buffer {
    fn is_empty(&self) -> bool {
        self.control.is_empty()
            && self.migrations.is_empty()
            && self.upserts.is_empty()
            && self.deletes.is_empty()
    }

    /// Migrations first (they are what must not wait), then auras, then deletes; the rest in the order said.
    fn drain(&mut self) -> Vec<Message> {
        let mut messages = std::mem::take(&mut self.control);
        messages.extend(
            self.migrations
                .drain(..)
                .map(|offer| Message::Offer(Box::new(offer))),
        );
        keep_newest(&mut self.upserts);
        messages.extend(self.upserts.drain(..).map(Message::AuraUpsert));
        messages.extend(self.deletes.drain(..).map(Message::AuraDelete));
        messages
    }
}

/// The last upsert of each body, by ascending body. After a frame with one step there is nothing to do.
fn keep_newest(upserts: &mut Vec<AuraUpsert>) {
    if upserts.is_sorted_by(|a, b| a.body < b.body) {
        return;
    }
    upserts.sort_by_key(|upsert| upsert.body);
    upserts.dedup_by(|later, earlier| {
        let same = later.body == earlier.body;
        if same {
            *earlier = *later;
        }
        same
    });
}

/// The buffers towards every region we have something to say to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Buffers {
    by_region: BTreeMap<RegionId, Buffer>,
}

impl Buffers {
    fn to(&mut self, region: RegionId) -> &mut Buffer {
        self.by_region.entry(region).or_default()
    }

    /// Into the migration buffer.
    pub fn migrate(&mut self, to: RegionId, offer: Offer) {
        self.to(to).migrations.push(offer);
    }

    /// Into the aura buffer; replaces an older one of the same body.
    pub fn upsert(&mut self, to: RegionId, upsert: AuraUpsert) {
        self.to(to).upserts.push(upsert);
    }

    /// Into the delete buffer. An unsent upsert of the same ownership is withdrawn by it.
    pub fn delete(&mut self, to: RegionId, delete: AuraDelete) {
        self.to(to).deletes.push(delete);
    }

    /// Anything else.
    pub fn say(&mut self, to: RegionId, message: Message) {
        self.to(to).control.push(message);
    }

    /// Is there nothing to be said?
    pub fn is_empty(&self) -> bool {
        self.by_region.values().all(Buffer::is_empty)
    }

    /// The network update: everything gathered, by region. Regions with nothing to hear get nothing.
    pub fn flush(&mut self) -> Vec<(RegionId, Vec<Message>)> {
        self.by_region
            .iter_mut()
            .map(|(region, buffer)| (*region, buffer.drain()))
            .filter(|(_, messages)| !messages.is_empty())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{BodyId, Epoch, Tick};
    use glam::DVec3;
    use wire::ClusterKey;

    fn upsert(body: u64, tick: u64) -> AuraUpsert {
        AuraUpsert {
            body: BodyId(body),
            epoch: Epoch(0),
            tick: Tick(tick),
            centre: DVec3::ZERO,
            radius: 1.0,
            spine: glam::Vec3::ZERO,
            reach: 1.0,
            growth: 0.0,
            key: ClusterKey {
                class: 0,
                since: Tick(0),
                body: BodyId(body),
            },
        }
    }

    /// AP-30, AP-33 (BNU): three buffers per boundary, flushed once, then empty.
    #[test]
    fn a_network_update_empties_the_buffers() {
        let mut buffers = Buffers::default();
        buffers.upsert(RegionId(2), upsert(5, 1));
        buffers.upsert(RegionId(2), upsert(5, 2));
        buffers.upsert(RegionId(1), upsert(5, 2));
        buffers.delete(
            RegionId(2),
            AuraDelete {
                body: BodyId(4),
                epoch: Epoch(0),
                tick: Tick(2),
                moved_to: None,
            },
        );
        let sent = buffers.flush();
        assert_eq!(sent.len(), 2);
        assert_eq!(sent[0].0, RegionId(1));
        let (_, to_two) = &sent[1];
        assert!(matches!(to_two[0], Message::AuraUpsert(u) if u.tick == Tick(2)));
        assert!(matches!(to_two[1], Message::AuraDelete(d) if d.body == BodyId(4)));
        assert_eq!(to_two.len(), 2);
        assert!(buffers.flush().is_empty());
    }
}
