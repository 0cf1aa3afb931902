//! What is sent: heartbeats, repeated notices, updates, reports, clock questions; and into which datagrams it goes.

use super::bodies::Kind;
use super::{Station, Transmit};
use crate::events::Event;
use crate::ids::{PairId, StationId};
use crate::messages::{Class, ClockAsk, Datagram, Header, Message, Report, whole_micros};
use crate::reckon::{Subject, Surroundings};
use crate::settings::{ClockSource, Protocol};
use domain::{BodyId, SimTime};

/// A pair is busy while its last hit is younger than this, or the next one is committed.
const BUSY: SimTime = SimTime(1_000_000_000);

impl Station {
    /// To be sent at the end of the frame.
    pub(super) fn say(&mut self, to: StationId, message: Message) {
        if self.peers.contains_key(&to) {
            self.outbox.entry(to).or_default().push(message);
        }
    }

    /// Repeats what the other may have missed (ML-15, D13).
    pub(super) fn beat(&mut self, now: SimTime) {
        let literal = self.settings.protocol.is_literal();
        let ids = self.pairs_where(|pair| {
            literal || pair.commit.is_some() || pair.voting.will || pair.ledger.counters().c > 0
        });
        for id in ids {
            match self.settings.protocol {
                Protocol::Control => {}
                Protocol::LiteralMotionLock | Protocol::LiteralBuckets => {
                    self.literal_beat(now, id)
                }
                Protocol::PreCollision | Protocol::LiteralPreCollision => self.repeat_request(id),
                _ => self.beat_pair(now, id),
            }
        }
    }

    fn beat_pair(&mut self, now: SimTime, id: PairId) {
        let Some(pair) = self.pairs.get(&id) else {
            return;
        };
        let waited = pair.told_at.map_or(SimTime(u64::MAX), |at| now.since(at));
        if pair.commit.is_some() {
            if self.settings.lock.repeat_notice && waited > SimTime::ZERO {
                self.tell_notice(now, id);
            }
            return;
        }
        let busy = pair
            .ledger
            .recent()
            .next()
            .is_some_and(|last| now.since(last) < BUSY);
        let every = match busy {
            true => self.settings.agreement.busy_beat,
            false => self.settings.agreement.idle_beat,
        };
        if pair.ledger.counters().c > 0 && waited >= every {
            self.tell_done(now, id);
        }
    }

    /// Masters whose replicas would be too wrong.
    pub(super) fn send_updates(&mut self, now: SimTime) {
        let ids: Vec<BodyId> = self
            .bodies
            .iter()
            .filter(|(_, body)| matches!(body.kind, Kind::Master(_)))
            .map(|(id, _)| *id)
            .collect();
        let (settings, steps) = (self.settings.reckoning, self.settings.wire.steps_per_unit);
        for id in ids {
            let around = self.surroundings(id);
            let Some(Kind::Master(master)) = self.bodies.get_mut(&id).map(|body| &mut body.kind)
            else {
                continue;
            };
            let subject = Subject {
                body: id,
                segment: master.segment,
                state: master.state,
            };
            let update = master.sender.poll(now, &subject, &around, &settings, steps);
            if let Some(update) = update {
                let peers: Vec<StationId> = self.peers.keys().copied().collect();
                for peer in peers {
                    self.say(peer, Message::Update(update));
                }
            }
        }
    }

    /// What is around a master, as far as its sender's policies ask.
    fn surroundings(&self, id: BodyId) -> Surroundings {
        let policies = &self.settings.reckoning.sender;
        let mut around = Surroundings {
            gap: f64::INFINITY,
            contact_secs: f64::INFINITY,
            delay: SimTime::ZERO,
        };
        if policies.kalman_lead.is_some() {
            let delays = self.peers.values().filter_map(|peer| peer.delay());
            around.delay = delays.map(|(mean, _)| mean).max().unwrap_or_default();
        }
        let Some(body) = self.bodies.get(&id) else {
            return around;
        };
        if policies.distance.is_none() && policies.proximity_rate.is_none() {
            return around;
        }
        for other in self
            .bodies
            .values()
            .filter(|other| matches!(other.kind, Kind::Replica(_)))
        {
            let gap = super::motion::gap(body, other).max(0.0);
            let speed = body.state().velocity.length() + other.state().velocity.length();
            around.gap = around.gap.min(gap);
            around.contact_secs = around.contact_secs.min(gap / speed);
        }
        around
    }

    /// Tells owners how wrong we were (closed loop).
    pub(super) fn report_deviations(&mut self, now: SimTime) {
        let Some(closed) = self.settings.reckoning.sender.closed_loop else {
            return;
        };
        let mut reports = Vec::new();
        for (id, body) in &mut self.bodies {
            if let Kind::Replica(replica) = &mut body.kind
                && now.since(replica.reported_at) >= closed.every
                && let Some(deviation) = replica.last_deviation.take()
            {
                replica.reported_at = now;
                let report = Report {
                    body: *id,
                    deviation,
                };
                reports.push((replica.owner, report));
            }
        }
        for (owner, report) in reports {
            self.say(owner, Message::Report(report));
        }
    }

    /// Who has not been heard of for too long takes part in no new hit (G10).
    pub(super) fn watch_peers(&mut self, now: SimTime) {
        for (id, peer) in &mut self.peers {
            let heard = *peer.heard_at.get_or_insert(now);
            let silent = now.since(heard) > self.settings.quarantine;
            if silent != peer.silent {
                peer.silent = silent;
                self.events.push_back(match silent {
                    true => Event::Silent { peer: *id, at: now },
                    false => Event::Back { peer: *id, at: now },
                });
            }
        }
    }

    /// Asks for the shared time, if it is another's and a question is due (ML-43).
    pub(super) fn ask_for_time(&mut self, local: SimTime) {
        let ClockSource::AskedFrom(master) = self.settings.clock else {
            return;
        };
        if let Some(request) = self
            .clock
            .as_mut()
            .and_then(|clock| clock.poll_request(local))
        {
            self.say(
                master,
                Message::Ask(ClockAsk {
                    asked: request.asked,
                }),
            );
        }
    }

    /// Seals what has gathered.
    pub(super) fn flush(&mut self, now: SimTime) {
        for (to, messages) in std::mem::take(&mut self.outbox) {
            let mut rest = &messages[..];
            while !rest.is_empty() {
                let some = if self.settings.wire.bundle {
                    rest.len()
                } else {
                    1
                };
                let sealed = self.seal(now, to, &rest[..some]);
                // A message that fits into no datagram of its own does not exist; the bound keeps this loop finite all the same.
                rest = &rest[sealed.max(1)..];
            }
        }
    }

    /// Seals as many of these messages as fit; how many.
    fn seal(&mut self, now: SimTime, to: StationId, messages: &[Message]) -> usize {
        let Some(peer) = self.peers.get_mut(&to) else {
            return messages.len();
        };
        let datagram = Datagram {
            header: Header {
                incarnation: self.incarnation,
                sequence: peer.next_sequence,
                sent: whole_micros(now),
            },
            messages: messages.to_vec(),
        };
        peer.next_sequence += 1;
        let steps = self.settings.wire.steps_per_unit;
        let (bytes, sizes) = datagram.seal_sized(&peer.key, self.id, to, steps);
        let mut framing = bytes.len();
        for (message, size) in messages.iter().zip(&sizes) {
            self.traffic.sent[message.class() as usize].add(*size);
            framing -= size;
        }
        self.traffic.sent[Class::Framing as usize].add(framing);
        self.traffic.datagrams_sent += 1;
        let class = match sizes.len() {
            1 => messages.first().map(Message::class),
            _ => None,
        };
        self.transmits.push_back(Transmit { to, bytes, class });
        sizes.len()
    }
}
