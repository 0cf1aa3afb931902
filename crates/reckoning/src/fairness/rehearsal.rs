//! A sender and its receivers on an emulated network, in virtual time: what experiments and tests drive.
//!
//! Give it a trigger whenever the owner generates a vector, and the time at every loop. In between, vectors and acknowledgements
//! arrive at their own times, and policies wake when they want to.

use super::emulation::{Direction, Link, Network};
use super::exported::{Measure, Reception, export_error};
use super::policies::ReceiverId;
use super::sender::{Outgoing, PolicyTag, Sender, SenderError};
use super::statistics::LaneSample;
use super::{Ack, ExportedPath, Receptions};
use crate::vector::{DrVector, Seq};
use domain::SimTime;
use rand::Rng;
use std::collections::BTreeMap;

/// What a receiver does to the acknowledgements it sends; tests put a liar here.
pub type Forge = fn(&mut Ack);

/// One receiver of one policy: its own placed path.
#[derive(Debug, Default)]
struct Station {
    receptions: Receptions,
    /// Every vector that was followed, from when.
    followed: Vec<Reception>,
}

#[derive(Debug)]
enum Message {
    Vector(Outgoing),
    Ack(PolicyTag, ReceiverId, Ack),
}

/// A run of one sender, several policies and several receivers.
#[derive(Debug)]
pub struct Rehearsal {
    sender: Sender,
    network: Network,
    links: BTreeMap<ReceiverId, Link>,
    forges: BTreeMap<ReceiverId, Forge>,
    stations: BTreeMap<(PolicyTag, ReceiverId), Station>,
    /// By time of arrival; the counter keeps equal times in the order of sending.
    in_flight: BTreeMap<(SimTime, u64), Message>,
    messages: u64,
    /// The whole exported path, never pruned, to know the truth by.
    history: ExportedPath,
}

impl Rehearsal {
    /// With a sender that has its policies.
    pub fn new(sender: Sender, seed: u64) -> Self {
        Self {
            sender,
            network: Network::new(seed),
            links: BTreeMap::new(),
            forges: BTreeMap::new(),
            stations: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            messages: 0,
            history: ExportedPath::default(),
        }
    }

    /// A receiver joins over a link.
    pub fn join(&mut self, now: SimTime, id: ReceiverId, link: Link) -> Result<(), SenderError> {
        self.sender.join(now, id)?;
        self.sender
            .tell_delay(id, SimTime::from_millis(link.delay_ms));
        self.links.insert(id, link);
        Ok(())
    }

    /// A receiver leaves; what is on its way to it is lost.
    pub fn leave(&mut self, id: ReceiverId) -> Result<(), SenderError> {
        self.links.remove(&id);
        self.sender.leave(id)
    }

    /// From now on this receiver's acknowledgements pass through `forge`.
    pub fn corrupt(&mut self, id: ReceiverId, forge: Forge) {
        self.forges.insert(id, forge);
    }

    /// Everything up to `now` happens, then the owner generates a vector.
    pub fn trigger(
        &mut self,
        now: SimTime,
        vector: DrVector,
        rng: &mut impl Rng,
    ) -> Result<(), SenderError> {
        self.advance(now)?;
        self.sender.handle_trigger(now, vector, rng)?;
        self.history.push(vector)?;
        self.transmit(now);
        Ok(())
    }

    /// Everything up to and including `now` happens, in order of time.
    pub fn advance(&mut self, now: SimTime) -> Result<(), SenderError> {
        loop {
            let arrival = self.in_flight.keys().next().map(|&(at, _)| at);
            let wakeup = self.sender.next_wakeup();
            match [arrival, wakeup].into_iter().flatten().min() {
                Some(next) if next <= now => self.step(next)?,
                _ => return Ok(()),
            }
        }
    }

    fn step(&mut self, now: SimTime) -> Result<(), SenderError> {
        while let Some(entry) = self.in_flight.first_entry() {
            if entry.key().0 > now {
                break;
            }
            match entry.remove() {
                Message::Vector(outgoing) => self.arrive(now, outgoing),
                Message::Ack(tag, from, ack) => {
                    match self.sender.handle_ack(now, tag, from, &ack) {
                        // It left while its acknowledgement was on the way.
                        Err(SenderError::UnknownReceiver(_)) => {}
                        other => other?,
                    }
                }
            }
        }
        self.sender.handle_time(now);
        self.transmit(now);
        Ok(())
    }

    fn arrive(&mut self, now: SimTime, Outgoing { tag, to, vector }: Outgoing) {
        let station = self.stations.entry((tag, to)).or_default();
        if station.receptions.receive(now, vector.seq) {
            station.followed.push(Reception { at: now, vector });
        }
        let mut ack = station.receptions.ack();
        if let Some(forge) = self.forges.get(&to) {
            forge(&mut ack);
        }
        self.post(now, to, vector.seq, Direction::Ack, || {
            Message::Ack(tag, to, ack.clone())
        });
    }

    fn transmit(&mut self, now: SimTime) {
        while let Some(outgoing) = self.sender.poll_transmit() {
            let message = || Message::Vector(outgoing);
            self.post(
                now,
                outgoing.to,
                outgoing.vector.seq,
                Direction::Vector,
                message,
            );
        }
    }

    fn post(
        &mut self,
        now: SimTime,
        receiver: ReceiverId,
        seq: Seq,
        direction: Direction,
        message: impl Fn() -> Message,
    ) {
        let Some(link) = self.links.get(&receiver) else {
            return;
        };
        for delay in self.network.fate(link, receiver, seq, direction) {
            self.messages += 1;
            self.in_flight
                .insert((now + delay, self.messages), message());
        }
    }

    /// The sender.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// What the sender believes: one line of the log per policy (DR-36).
    pub fn sample(&self, now: SimTime) -> Vec<LaneSample> {
        self.sender.sample(now)
    }

    /// The path generated since the start.
    pub fn history(&self) -> &ExportedPath {
        &self.history
    }

    /// What a receiver followed, from when.
    pub fn followed(&self, tag: PolicyTag, id: ReceiverId) -> &[Reception] {
        let station = self.stations.get(&(tag, id));
        station.map_or(&[], |station| &station.followed)
    }

    /// The true error of a receiver up to a time.
    pub fn true_error(
        &self,
        tag: PolicyTag,
        id: ReceiverId,
        to: SimTime,
        measure: &Measure,
    ) -> f64 {
        export_error(
            &self.history,
            self.followed(tag, id),
            SimTime::ZERO,
            to,
            measure,
        )
    }
}
