//! The gateway's copy of the world, put together from what all regions tell: each body once, whoever owns it.
//!
//! ```text
//!  region 1: 7 left to 2 with epoch 5 ──┐
//!                                        ├──► body 7, owner 2, epoch 5: the same replica all the time
//!  region 2: 7 entered with epoch 5 ────┘        (in whichever order they come)
//! ```
//! The thesis's clients saw a body twice or not at all while it migrated; here the epoch tells who is right, and a body that has left one
//! region stays until the next one has it. The same goes for a region that was restored after its server died: what it had
//! stays until it says what it has.

use super::forms::Forms;
use crate::messages::{Entered, Feed};
use domain::{BodyId, Epoch, Motion, RegionId, SimTime, Tick};
use std::collections::{BTreeMap, BTreeSet};

/// A body that has left its region and that no other region has for so long is gone.
pub const LONGEST_JOURNEY: SimTime = SimTime(2_000_000_000);
/// So long is remembered that a body was removed.
const LONGEST_GRIEF: SimTime = SimTime(10_000_000_000);

/// A body as the gateway knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Replica {
    /// The number of its shape.
    pub form: u32,
    /// The radius of its bounding sphere.
    pub radius: f32,
    /// Who has it.
    pub owner: RegionId,
    /// Since which ownership.
    pub epoch: Epoch,
    /// Where it is and how it moves.
    pub motion: Motion,
    /// At this tick.
    pub tick: Tick,
    /// Not stepped until something touches it.
    pub asleep: bool,
    /// It has left its owner, or its owner was restored without it; nobody has said yet that it is there.
    waits_since: Option<SimTime>,
}

impl Replica {
    /// It has left its owner, and nobody has said yet to have it.
    pub fn is_homeless(&self) -> bool {
        self.waits_since.is_some()
    }
}

/// What has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// Bodies that are new.
    pub entered: Vec<BodyId>,
    /// Bodies that are gone.
    pub gone: Vec<BodyId>,
    /// Bodies with another owner.
    pub owners: Vec<BodyId>,
}

/// All bodies.
#[derive(Debug, Default)]
pub struct Replicas {
    bodies: BTreeMap<BodyId, Replica>,
    waiting: BTreeSet<BodyId>,
    removed: BTreeMap<BodyId, (Epoch, RegionId, SimTime)>,
    forms: Forms,
    news: News,
}

impl Replicas {
    /// All bodies, by id.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (BodyId, &Replica)> {
        self.bodies.iter().map(|(id, replica)| (*id, replica))
    }

    /// One of them.
    pub fn get(&self, body: BodyId) -> Option<&Replica> {
        self.bodies.get(&body)
    }

    /// Their shapes.
    pub fn forms(&self) -> &Forms {
        &self.forms
    }

    /// Their shapes, to ask which are new.
    pub fn forms_mut(&mut self) -> &mut Forms {
        &mut self.forms
    }

    /// What has changed since the last call.
    pub fn take_news(&mut self) -> News {
        std::mem::take(&mut self.news)
    }

    /// A region says what has changed there, or all there is.
    pub fn handle_feed(&mut self, now: SimTime, region: RegionId, feed: &Feed) {
        for left in &feed.left {
            match left.to {
                Some(_) => self.has_left(now, region, left.body, left.epoch),
                None => self.was_removed(now, region, left.body, left.epoch),
            }
        }
        for entered in &feed.entered {
            self.has_entered(region, feed.tick, entered);
        }
        for (bodies, asleep) in [(&feed.moved, false), (&feed.slept, true)] {
            for (body, motion) in bodies {
                self.has_moved(region, feed.tick, *body, motion, asleep);
            }
        }
        if feed.whole {
            self.keep_only(now, region, feed);
        }
    }

    fn has_left(&mut self, now: SimTime, region: RegionId, body: BodyId, epoch: Epoch) {
        // Its new owner may have been faster.
        let still_there = |replica: &&mut Replica| replica.owner == region && replica.epoch < epoch;
        if let Some(replica) = self.bodies.get_mut(&body).filter(still_there) {
            replica.waits_since.get_or_insert(now);
            self.waiting.insert(body);
        }
    }

    fn was_removed(&mut self, now: SimTime, region: RegionId, body: BodyId, epoch: Epoch) {
        self.removed.insert(body, (epoch, region, now));
        let outdated = |replica: &Replica| replica.owner == region || replica.epoch <= epoch;
        if self.bodies.get(&body).is_some_and(outdated) {
            self.remove(body);
        }
    }

    fn has_entered(&mut self, region: RegionId, tick: Tick, entered: &Entered) {
        let (body, epoch) = (&entered.body, entered.epoch);
        if !body.motion.is_finite() || self.is_over(region, body.id, epoch) {
            return;
        }
        let Some(replica) = self.bodies.get_mut(&body.id) else {
            let replica = Replica {
                form: self.forms.take(&body.form.shape),
                radius: body.form.shape.bounding_radius(),
                owner: region,
                epoch,
                motion: body.motion,
                tick,
                asleep: body.rest.asleep,
                waits_since: None,
            };
            self.bodies.insert(body.id, replica);
            self.news.entered.push(body.id);
            return;
        };
        // A region is always right about itself: restored from a snapshot it may be behind.
        if epoch <= replica.epoch && replica.owner != region {
            return;
        }
        if replica.owner != region {
            self.news.owners.push(body.id);
        }
        replica.owner = region;
        replica.epoch = epoch;
        replica.motion = body.motion;
        replica.tick = tick;
        replica.asleep = body.rest.asleep;
        replica.waits_since = None;
        self.waiting.remove(&body.id);
    }

    /// Is this old news of a body that was removed since? (The region that removed it may have been restored to a time before that.)
    fn is_over(&self, region: RegionId, body: BodyId, epoch: Epoch) -> bool {
        let removed = self.removed.get(&body);
        removed.is_some_and(|(last, by, _)| epoch < *last || (epoch == *last && region != *by))
    }

    fn has_moved(
        &mut self,
        region: RegionId,
        tick: Tick,
        body: BodyId,
        motion: &Motion,
        asleep: bool,
    ) {
        let owned = |replica: &&mut Replica| replica.owner == region && motion.is_finite();
        if let Some(replica) = self.bodies.get_mut(&body).filter(owned) {
            replica.motion = *motion;
            replica.tick = tick;
            replica.asleep = asleep;
        }
    }

    /// The region has nothing else. What is missing may be on its way to it again: it gets some time.
    fn keep_only(&mut self, now: SimTime, region: RegionId, feed: &Feed) {
        let has: BTreeSet<BodyId> = feed.entered.iter().map(|entered| entered.body.id).collect();
        for (id, replica) in &mut self.bodies {
            if replica.owner == region && !has.contains(id) {
                replica.waits_since.get_or_insert(now);
                self.waiting.insert(*id);
            }
        }
    }

    /// What has been on its way for too long is gone.
    pub fn handle_time(&mut self, now: SimTime) {
        let lost = self.waiting.iter().copied().filter(|body| {
            let since = self.bodies.get(body).and_then(|body| body.waits_since);
            since.is_some_and(|since| now.since(since) > LONGEST_JOURNEY)
        });
        for body in lost.collect::<Vec<_>>() {
            self.remove(body);
        }
        self.removed
            .retain(|_, (_, _, since)| now.since(*since) < LONGEST_GRIEF);
    }

    fn remove(&mut self, body: BodyId) {
        self.waiting.remove(&body);
        if let Some(replica) = self.bodies.remove(&body) {
            self.forms.release(replica.form);
            self.news.gone.push(body);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::Left;
    use domain::{Body, BodyForm, Shape};
    use glam::DVec3;

    const A: RegionId = RegionId(0);
    const B: RegionId = RegionId(1);
    const BODY: BodyId = BodyId(7);
    const NOW: SimTime = SimTime(0);

    fn entered(epoch: u32, x: f64) -> Entered {
        let form = BodyForm::of(Shape::Sphere { radius: 1.0 });
        Entered {
            body: Body::new(BODY, form, Motion::at(DVec3::X * x)),
            epoch: Epoch(epoch),
        }
    }

    fn enters(epoch: u32, x: f64) -> Feed {
        Feed {
            entered: vec![entered(epoch, x)],
            ..Feed::default()
        }
    }

    fn leaves(epoch: u32, to: Option<RegionId>) -> Feed {
        let left = Left {
            body: BODY,
            epoch: Epoch(epoch),
            to,
        };
        Feed {
            left: vec![left],
            ..Feed::default()
        }
    }

    fn whole(bodies: Vec<Entered>) -> Feed {
        Feed {
            whole: true,
            entered: bodies,
            ..Feed::default()
        }
    }

    fn with_body() -> Replicas {
        let mut replicas = Replicas::default();
        replicas.handle_feed(NOW, A, &enters(0, 1.0));
        assert_eq!(replicas.take_news().entered, [BODY]);
        replicas
    }

    fn owner(replicas: &Replicas) -> Option<RegionId> {
        Some(replicas.get(BODY)?.owner)
    }

    // AP-37, AP-40: one replica across a migration, whichever region is heard first.
    #[test]
    fn a_migration_is_a_change_of_owner_in_any_order() {
        let feeds = [(A, leaves(1, Some(B))), (B, enters(1, 2.0))];
        for order in [[0, 1], [1, 0]] {
            let mut replicas = with_body();
            for index in order {
                let (region, feed) = &feeds[index];
                replicas.handle_feed(NOW, *region, feed);
            }
            replicas.handle_time(NOW + LONGEST_JOURNEY + SimTime(1));
            assert_eq!(owner(&replicas), Some(B));
            let news = replicas.take_news();
            assert_eq!((news.owners, news.gone), (vec![BODY], vec![]));
            assert!(news.entered.is_empty());
        }
    }

    #[test]
    fn the_old_owner_is_not_heard_after_the_new_one() {
        let mut replicas = with_body();
        replicas.handle_feed(NOW, B, &enters(1, 2.0));
        let mut late = enters(0, 9.0);
        late.moved.push((BODY, Motion::at(DVec3::X * 9.0)));
        replicas.handle_feed(NOW, A, &late);
        assert_eq!(owner(&replicas), Some(B));
        let position = replicas.get(BODY).expect("there").motion.position;
        assert_eq!(position, DVec3::X * 2.0);
    }

    #[test]
    fn a_body_that_nobody_has_is_gone_after_a_while_and_a_removed_one_at_once() {
        let mut replicas = with_body();
        replicas.handle_feed(NOW, A, &leaves(1, Some(B)));
        replicas.handle_time(LONGEST_JOURNEY);
        assert_eq!(owner(&replicas), Some(A));
        replicas.handle_time(LONGEST_JOURNEY + SimTime(1));
        assert_eq!(owner(&replicas), None);
        assert_eq!(replicas.take_news().gone, [BODY]);

        let mut replicas = with_body();
        replicas.handle_feed(NOW, A, &leaves(0, None));
        assert_eq!(replicas.take_news().gone, [BODY]);
        // Old news of another region does not bring it back.
        replicas.handle_feed(NOW, B, &enters(0, 3.0));
        assert_eq!(owner(&replicas), None);
    }

    /// No flicker: a restored region's bodies stay, as they were or rewound, and so do those that come back to it a little later.
    #[test]
    fn after_a_failover_bodies_stay() {
        let mut replicas = with_body();
        replicas.handle_feed(NOW, A, &whole(vec![entered(0, 0.5)]));
        assert_eq!(replicas.take_news(), News::default());
        let position = replicas.get(BODY).expect("there").motion.position;
        assert_eq!(position, DVec3::X * 0.5, "rewound");

        replicas.handle_feed(NOW, A, &whole(vec![]));
        assert_eq!(
            owner(&replicas),
            Some(A),
            "its neighbour may offer it again"
        );
        replicas.handle_feed(NOW + SimTime(1), A, &enters(0, 0.7));
        replicas.handle_time(NOW + LONGEST_JOURNEY + SimTime(2));
        assert_eq!(replicas.take_news(), News::default());

        replicas.handle_feed(NOW, A, &whole(vec![]));
        replicas.handle_time(NOW + LONGEST_JOURNEY + SimTime(2));
        assert_eq!(replicas.take_news().gone, [BODY]);
    }

    /// A whole feed speaks of its own region only.
    #[test]
    fn a_restored_region_does_not_take_back_what_it_had_given_away() {
        let mut replicas = with_body();
        replicas.handle_feed(NOW, B, &enters(1, 2.0));
        replicas.take_news();
        replicas.handle_feed(NOW, A, &whole(vec![entered(0, 0.5)]));
        assert_eq!(owner(&replicas), Some(B));
        replicas.handle_time(NOW + LONGEST_JOURNEY + SimTime(1));
        assert_eq!(replicas.take_news(), News::default());
    }

    /// A region full of meshes is told in messages that each fit a channel, and in the end nothing is missing or homeless.
    #[test]
    fn a_whole_feed_in_pieces_tells_the_same_as_in_one() {
        let points: Vec<glam::Vec3> = vec![glam::Vec3::ONE; 2048];
        let triangles: Vec<[u32; 3]> = vec![[2047; 3]; 2048];
        let mesh = Shape::Mesh {
            vertices: points.into(),
            triangles: triangles.into(),
        };
        let entered = (1..=500).map(|id| Entered {
            body: Body::new(
                BodyId(id),
                BodyForm::of(mesh.clone()),
                Motion::at(DVec3::ZERO),
            ),
            epoch: Epoch(1),
        });
        let whole = Feed {
            whole: true,
            tick: Tick(8),
            entered: entered.collect(),
            ..Feed::default()
        };
        let in_one = crate::messages::encode(&whole).len();
        assert!(in_one > channel::MAX_PAYLOAD_BYTES, "{in_one}");
        let mut replicas = Replicas::default();
        replicas.handle_feed(NOW, A, &enters(1, 0.0));
        let gone = BodyId(9_999);
        let mut old = entered_as(gone);
        old.epoch = Epoch(1);
        let before = Feed {
            entered: vec![old],
            ..Feed::default()
        };
        replicas.handle_feed(NOW, A, &before);
        let parts = whole.cut();
        assert!(parts.len() > 1);
        for part in parts {
            assert_eq!(part.tick, Tick(8));
            assert!(crate::messages::encode(&part).len() <= channel::MAX_PAYLOAD_BYTES);
            replicas.handle_feed(NOW, A, &part);
        }
        let homeless = replicas.iter().filter(|(_, it)| it.is_homeless());
        let homeless: Vec<BodyId> = homeless.map(|(id, _)| id).collect();
        assert_eq!(homeless, [gone]);
        assert_eq!(replicas.iter().len(), 501);
        replicas.handle_time(SimTime(LONGEST_JOURNEY.0 + 1));
        assert_eq!(replicas.iter().len(), 500);
    }

    fn entered_as(id: BodyId) -> Entered {
        let form = BodyForm::of(Shape::Sphere { radius: 1.0 });
        Entered {
            body: Body::new(id, form, Motion::at(DVec3::ZERO)),
            epoch: Epoch(1),
        }
    }
}
