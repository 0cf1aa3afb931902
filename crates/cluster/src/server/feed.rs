//! What a region tells gateways: everything once, then what changes.

use crate::messages::{Entered, Feed, Left};
use domain::{BodyId, Epoch, Tick};
use region::{Region, RegionEvent};
use rustc_hash::FxHashSet;

/// Gathers what changes between two feeds.
#[derive(Default)]
pub struct FeedBuilder {
    entered: Vec<BodyId>,
    left: Vec<Left>,
    contacts: Vec<(BodyId, f32)>,
    /// Awake at the last feed.
    awake: FxHashSet<BodyId>,
    /// The next feed tells everything.
    anew: bool,
    /// How much scenery has been told.
    scenery: usize,
}

/// Contacts slower than this are not worth showing, m/s.
const SLOWEST_CONTACT: f32 = 0.5;
/// And never more than this many in a feed.
const MOST_CONTACTS: usize = 64;

impl FeedBuilder {
    /// Something happened in the region.
    pub fn observe(&mut self, event: &RegionEvent) {
        match event {
            RegionEvent::Born { body, .. } => self.entered.push(body.id),
            RegionEvent::Arrived { members, .. } => {
                self.entered
                    .extend(members.iter().map(|member| member.body));
            }
            RegionEvent::Departed { to, members, .. } => {
                self.left.extend(members.iter().map(|member| Left {
                    body: member.body,
                    epoch: member.epoch,
                    to: Some(*to),
                }));
            }
            RegionEvent::Contact { contact, .. } => {
                let fast = contact.relative_speed >= SLOWEST_CONTACT && !contact.restored;
                if fast && self.contacts.len() < MOST_CONTACTS {
                    self.contacts.push((contact.a, contact.relative_speed));
                }
            }
            RegionEvent::Broken { body, epoch, .. } => self.removed(*body, *epoch),
            // Whoever ordered it was told that it would be.
            RegionEvent::NotBorn { body, .. } => self.removed(*body, Epoch(0)),
            // What has a newer owner was dropped without a word.
            RegionEvent::Recovered { .. } => self.anew = true,
            _ => {}
        }
    }

    /// A body was removed for good.
    pub fn removed(&mut self, body: BodyId, epoch: Epoch) {
        self.left.push(Left {
            body,
            epoch,
            to: None,
        });
    }

    /// Everything there is.
    pub fn whole(region: &Region, kept: Tick) -> Feed {
        let ids: Vec<BodyId> = region.world().ids().collect();
        Feed {
            tick: region.tick(),
            whole: true,
            kept,
            entered: entered(region, &ids),
            scenery: region.scenery().to_vec(),
            ..Feed::default()
        }
    }

    /// What has changed since the last call.
    pub fn take(&mut self, region: &Region, kept: Tick) -> Feed {
        let mut ids = std::mem::take(&mut self.entered);
        ids.sort_unstable();
        ids.dedup();
        let whole = std::mem::take(&mut self.anew);
        if whole {
            ids = region.world().ids().collect();
            self.awake.clear();
            self.scenery = 0;
        }
        let scenery = region.scenery().get(self.scenery..).unwrap_or_default();
        self.scenery = region.scenery().len();
        let mut feed = Feed {
            tick: region.tick(),
            whole,
            kept,
            left: std::mem::take(&mut self.left),
            entered: entered(region, &ids),
            scenery: scenery.to_vec(),
            ..Feed::default()
        };
        for (id, body) in region.world().bodies() {
            if !body.asleep {
                self.awake.insert(id);
                feed.moved.push((id, body.motion));
            } else if self.awake.remove(&id) {
                feed.slept.push((id, body.motion));
            }
        }
        for left in &feed.left {
            self.awake.remove(&left.body);
        }
        let place = |id: BodyId| region.world().motion(id).map(|motion| motion.position);
        let contacts = std::mem::take(&mut self.contacts).into_iter();
        feed.contacts = contacts
            .filter_map(|(id, speed)| Some((place(id)?, speed)))
            .collect();
        feed
    }
}

/// Those of the bodies that are still here, as they are now.
fn entered(region: &Region, ids: &[BodyId]) -> Vec<Entered> {
    let bodies = region.world().copy(ids).bodies.into_iter();
    let known = bodies.filter_map(|body| {
        let epoch = region.boundary().track(body.id)?.epoch;
        Some(Entered { body, epoch })
    });
    known.collect()
}
