//! What a region is told: by the control plane, by its neighbours, by everyone else.

use super::Host;
use crate::messages::{self, Account, Answer, FromRegion, Question, Subscription, ToRegion};
use crate::names::{NodeId, Place};
use crate::post_office::Mail;
use crate::schema::{ClusterView, WorldSpec};
use crate::server::feed::FeedBuilder;
use crate::server::questions;
use channel::EndpointId;
use client_protocol::Layers;
use cpu_time::ThreadTime;
use std::sync::Arc;

impl Host {
    pub(super) fn handle_view(&mut self, view: &ClusterView) {
        let fitting = |world: &&Arc<WorldSpec>| world.generation == self.place.generation;
        if let Some(world) = view.world.as_ref().filter(fitting) {
            self.world = Arc::clone(world);
        }
        if view.assignment.generation != self.place.generation {
            return;
        }
        for (region, seat) in view.assignment.regions() {
            if region == self.place.region {
                continue;
            }
            let end = self.end_of(region);
            self.post.expect(end, seat.term.0);
            let alive = seat
                .owner
                .is_some_and(|owner| view.nodes.contains_key(&owner));
            let now = self.shared.clock.local();
            self.pace.seat(region, seat.term, alive, now);
        }
        let Some(seat) = view.assignment.seat(self.place.region) else {
            return;
        };
        if seat.term != self.term {
            return;
        }
        if seat.standby != self.standby {
            let before = std::mem::replace(&mut self.standby, seat.standby);
            if let Some(dead) = before.filter(|node| !view.nodes.contains_key(node)) {
                self.forget(dead.endpoint());
            }
            self.send_snapshot_again();
        }
        if self.moving && !seat.moving {
            // Nobody has taken it: it goes on here.
            self.given_away = false;
        }
        if seat.moving && !self.moving {
            self.snapshot_wanted = true;
        }
        self.moving = seat.moving;
        // Only whom we have seen there: someone may have subscribed before we heard of its registration.
        let gone = |end: &EndpointId| {
            let node = NodeId::of_endpoint(*end).filter(|node| self.met.contains(node));
            node.is_some_and(|node| !view.nodes.contains_key(&node))
        };
        // A standby that died has half a snapshot, which would be sent to it for ever.
        let forgotten: Vec<EndpointId> = self.post.peers().filter(gone).collect();
        for end in forgotten {
            self.forget(end);
            self.forgot_snapshot(end);
        }
        self.met = view.nodes.keys().copied().collect();
    }

    pub(super) fn forget(&mut self, end: EndpointId) {
        self.subscribers.remove(&end);
        self.judges.remove(&end);
        self.post.forget(end);
        if self.inspectors.remove(&end).is_some() {
            self.want_insight();
        }
    }

    pub(super) fn read_mail(&mut self) {
        for mail in std::mem::take(&mut self.mail) {
            let (from, bytes) = match mail {
                Mail::Payload { from, bytes } => (from, bytes),
                // A region that has restarted says so itself; a gateway that has asks again.
                Mail::PeerRestarted { peer, .. } => {
                    self.forgot_snapshot(peer);
                    continue;
                }
            };
            if Place::of_endpoint(from).is_some() {
                self.hear_region(from, &bytes);
            } else {
                self.hear_process(from, &bytes);
            }
        }
    }

    pub(super) fn hear_region(&mut self, from: EndpointId, bytes: &[u8]) {
        let sender = Place::of_endpoint(from).map(|place| place.region);
        match wire::decode(bytes) {
            Ok(envelope) if Some(envelope.from) == sender && envelope.to == self.place.region => {
                // What arrives before the start says nothing of delays.
                let now = self.world_time().unwrap_or(envelope.sent_at);
                let local = self.shared.clock.local();
                let delay = now.since(envelope.sent_at);
                self.pace.hear(envelope.from, envelope.tick, delay, local);
                self.region.handle_message(now, envelope);
            }
            Ok(_) => self.fail("an envelope with wrong names"),
            Err(error) => self.fail(&error.to_string()),
        }
    }

    pub(super) fn hear_process(&mut self, from: EndpointId, bytes: &[u8]) {
        match messages::decode::<ToRegion>(bytes) {
            Ok(ToRegion::Kept { tick }) => self.handle_kept(from, tick),
            Ok(ToRegion::Subscribe(wanted)) => self.subscribe(from, wanted),
            Ok(ToRegion::Seen { tick }) => {
                let now = self.shared.clock.local();
                self.judges.insert(from, (tick, now));
            }
            Ok(ToRegion::Ask { id, question }) => {
                let answer = self.answer(question);
                self.send(from, &FromRegion::Answer { id, answer });
            }
            Ok(ToRegion::Inspect { layers }) => {
                let layers = Layers(layers).and(Layers::ALL);
                match layers.is_empty() {
                    true => self.inspectors.remove(&from),
                    false => self.inspectors.insert(from, layers),
                };
                self.want_insight();
            }
            Err(error) => self.fail(&error.to_string()),
        }
    }

    fn answer(&mut self, question: Question) -> Answer {
        let is_query = matches!(question, Question::Ray { .. } | Question::Overlap { .. });
        if is_query && !self.queries.allows(self.shared.clock.local()) {
            return Answer::Refused("too many rays and overlaps at once: ask again".to_owned());
        }
        let start = ThreadTime::now();
        let mut answer = questions::answer(&mut self.region, &mut self.feed, question);
        if is_query {
            self.queries.spend(start.elapsed());
        }
        if let Answer::Account(account) = &mut answer {
            self.complete(account);
        }
        answer
    }

    pub(super) fn subscribe(&mut self, who: EndpointId, wanted: Subscription) {
        self.subscribers.insert(who, wanted);
        if wanted.feed {
            // In one piece a region full of meshes could be more than a message may have.
            for part in FeedBuilder::whole(&self.region, self.kept).cut() {
                self.send(who, &FromRegion::Feed(Box::new(part)));
            }
        }
    }

    /// What the region itself does not know.
    pub(super) fn complete(&self, account: &mut Account) {
        let gauges = self.gauges.read();
        account.ticks = gauges.ticks;
        account.late_ticks = gauges.late_ticks;
        account.clock_bound = self.shared.clock.bound();
        account.bytes_to_regions = self
            .post
            .bytes_sent(|peer| Place::of_endpoint(peer).is_some());
    }
}
