//! What arrives: datagrams are opened and counted at once, what they say waits for the frame.

use super::Station;
use super::bodies::Kind;
use crate::agreement::Heard;
use crate::body::Role;
use crate::events::{Disbelief, Event};
use crate::ids::StationId;
use crate::messages::{
    ClockAnswer, Datagram, Message, Record, RecordKind, Refusal, Report, Update,
};
use crate::reckon::Sample;
use crate::settings::Protocol;
use domain::SimTime;
use reckoning::codec::ClockReply;

/// Messages that wait for a frame; a driver that never frames must not fill the memory.
const MAX_WAITING: usize = 8192;

impl Station {
    /// A datagram has arrived. What it says takes effect at the next frame. `now` is the driver's clock, as for frames.
    pub fn handle_datagram(
        &mut self,
        now: SimTime,
        from: StationId,
        bytes: &[u8],
    ) -> Result<(), Refusal> {
        let result = self.admit(now, from, bytes);
        match result {
            Ok(messages) => {
                for message in messages {
                    self.handle_message(now, from, message);
                }
                Ok(())
            }
            Err(refusal) => {
                self.traffic.refused[refusal.index()] += 1;
                Err(refusal)
            }
        }
    }

    fn admit(
        &mut self,
        now: SimTime,
        from: StationId,
        bytes: &[u8],
    ) -> Result<Vec<Message>, Refusal> {
        let shared = self.shared_at(now);
        let peer = self.peers.get_mut(&from).ok_or(Refusal::UnknownPeer)?;
        let steps = self.settings.wire.steps_per_unit;
        let (datagram, sizes) = Datagram::open_sized(bytes, &peer.key, from, self.id, steps)?;
        peer.admit(
            now,
            &datagram.header,
            self.settings.guard.max_datagrams_per_sec,
        )?;
        let timed = datagram
            .messages
            .iter()
            .any(|message| matches!(message, Message::Update(_) | Message::Record(_)));
        if timed && let Some(shared) = shared {
            peer.measure(datagram.header.sent, shared);
        }
        self.traffic.datagrams_received += 1;
        let mut framing = bytes.len();
        for (message, size) in datagram.messages.iter().zip(sizes) {
            self.traffic.received[message.class() as usize].add(size);
            framing = framing.saturating_sub(size);
        }
        self.traffic.received[crate::messages::Class::Framing as usize].add(framing);
        Ok(datagram.messages)
    }

    /// A message has arrived by a way that needs no envelope (tests, a process's own stations).
    pub fn handle_message(&mut self, now: SimTime, from: StationId, message: Message) {
        let shared = self.shared_at(now);
        if let Some(peer) = self.peers.get_mut(&from) {
            peer.heard_at = shared.or(peer.heard_at);
        }
        match message {
            Message::Ask(ask) => {
                if let Some(shared) = shared {
                    let answer = ClockAnswer {
                        asked: ask.asked,
                        received: shared,
                        replied: shared,
                    };
                    self.say(from, Message::Answer(answer));
                    self.flush(shared);
                }
            }
            Message::Answer(answer) => self.handle_answer(now, from, &answer),
            message => {
                if self.inbox.len() < MAX_WAITING {
                    self.inbox.push_back((from, message));
                }
            }
        }
    }

    fn handle_answer(&mut self, now: SimTime, from: StationId, answer: &ClockAnswer) {
        let asked = self.settings.clock == crate::settings::ClockSource::AskedFrom(from);
        if let (true, Some(clock)) = (asked, &mut self.clock) {
            let reply = ClockReply {
                asked: answer.asked,
                received: answer.received,
                replied: answer.replied,
            };
            clock.handle_reply(now, &reply);
        }
    }

    /// The shared time at this reading of the driver's clock.
    pub(super) fn shared_at(&self, local: SimTime) -> Option<SimTime> {
        match &self.clock {
            None => Some(local),
            Some(clock) => clock.now(local),
        }
    }

    /// A frame begins: how late is it, and how long did the last one take?
    pub(super) fn tell_time(&mut self, local: SimTime) -> Option<SimTime> {
        self.local = Some(self.local.map_or(local, |before| before.max(local)));
        let now = self.shared_at(self.local?)?;
        let Some(before) = self.shared else {
            self.begin(now);
            return Some(now);
        };
        // Time never runs backwards, whatever the driver says (ML-9).
        let now = now.max(before);
        self.frame_secs = now.since(before).as_secs();
        self.shared = Some(now);
        Some(now)
    }

    fn begin(&mut self, now: SimTime) {
        self.shared = Some(now);
        let settings = self.settings.reckoning;
        for body in self.bodies.values_mut() {
            if let Kind::Replica(replica) = &mut body.kind {
                replica.start_at(now, &settings);
            }
        }
    }

    /// What has arrived since the last frame, in the order of arrival.
    pub(super) fn take_messages(&mut self, now: SimTime) {
        while let Some((from, message)) = self.inbox.pop_front() {
            let judged = match &message {
                Message::Update(update) => self.handle_update(now, from, update),
                Message::Record(record) => self.handle_record(now, from, record),
                Message::Vote(vote) => {
                    self.handle_vote(now, from, vote);
                    Ok(())
                }
                Message::Report(report) => self.handle_report(from, report),
                Message::Ask(_) | Message::Answer(_) => Ok(()),
            };
            if let Err(why) = judged {
                self.disbelieve(now, from, why);
            }
        }
    }

    pub(super) fn disbelieve(&mut self, now: SimTime, peer: StationId, why: Disbelief) {
        self.traffic.disbelieved[why as usize] += 1;
        self.events
            .push_back(Event::Disbelieved { peer, at: now, why });
    }

    fn handle_update(
        &mut self,
        now: SimTime,
        from: StationId,
        update: &Update,
    ) -> Result<(), Disbelief> {
        // Only the owner says where a body is. Of bodies we do not show we need not hear.
        match self.bodies.get(&update.body).map(|body| body.role()) {
            None => return Ok(()),
            Some(role) if role != (Role::Replica { owner: from }) => {
                return Err(Disbelief::NotYours);
            }
            Some(_) => {}
        }
        self.judge_update(now, update)?;
        let settings = self.settings.reckoning;
        if let Some(Kind::Replica(replica)) =
            self.bodies.get_mut(&update.body).map(|body| &mut body.kind)
        {
            replica.handle_update(now, Sample::from(update), &settings);
        }
        Ok(())
    }

    fn handle_report(&mut self, _from: StationId, report: &Report) -> Result<(), Disbelief> {
        let settings = self.settings.reckoning;
        match self.bodies.get_mut(&report.body).map(|body| &mut body.kind) {
            Some(Kind::Master(master)) => {
                master.sender.handle_report(report.deviation, &settings);
                Ok(())
            }
            _ => Err(Disbelief::NotOurs),
        }
    }

    fn handle_record(
        &mut self,
        now: SimTime,
        from: StationId,
        record: &Record,
    ) -> Result<(), Disbelief> {
        if !self.settings.protocol.has_records() {
            return Ok(());
        }
        let known = self.pairs.get(&record.pair);
        if !known.is_some_and(|pair| pair.peers.contains(&from)) {
            // A body we do not show (yet) is no lie; one of ours in others' hands is.
            let ours = record
                .pair
                .bodies()
                .iter()
                .all(|body| self.bodies.contains_key(body));
            return if ours {
                Err(Disbelief::NotOurs)
            } else {
                Ok(())
            };
        }
        if matches!(
            self.settings.protocol,
            Protocol::LiteralMotionLock | Protocol::LiteralBuckets
        ) {
            self.literal_store(record);
            return Ok(());
        }
        self.judge_record(now, record)?;
        let (us, agreement) = (self.id, self.settings.agreement);
        let Some(pair) = self.pairs.get_mut(&record.pair) else {
            return Ok(());
        };
        let before = pair.played.map(|played| played.velocities);
        let heard = pair.hear(us, from, record.clone(), now, &agreement);
        // A commit may have been given another time: its lock goes with it.
        if let (Some(commit), Some(lock)) = (pair.commit, self.locks.get_mut(&record.pair)) {
            lock.until = commit.time.min(commit.deadline);
        }
        match heard {
            Heard::Settle(after) => {
                self.settle(now, record.pair, before.unwrap_or(after), after, from);
            }
            Heard::Noted if record.kind == RecordKind::Notice => {
                self.lock_on_notice(now, record);
            }
            Heard::Noted | Heard::Nothing => {}
        }
        Ok(())
    }

    /// D8: the bodies keep the course on which the other has foretold their hit.
    fn lock_on_notice(&mut self, now: SimTime, record: &Record) {
        let id = record.pair;
        let wanted = self.settings.lock.on_notice && record.time > now;
        if !wanted || self.locks.contains_key(&id) || self.is_held_by_others(id) {
            return;
        }
        if let Some(courses) = self.courses(now, id) {
            self.lock(now, id, record.time, courses, false);
        }
    }
}
