//! The sender of one entity: one exported path, and for each policy that runs on it a lane with its own ledgers.
//!
//! ```text
//!                       ┌─ lane 0: base      ─ ledgers ─┐
//!   trigger ─► path ────┼─ lane 1: det PA    ─ ledgers ─┼─► Outgoing { tag, to, vector }
//!                       └─ lane 2: #1 S-D    ─ ledgers ─┘◄── Ack by (tag, receiver)
//! ```
//!
//! A game runs one lane. An experiment runs many, all on the same triggers, so that they differ by their policy only (DR-35).
//!
//! Feeds: [`Sender::handle_trigger`], [`Sender::handle_time`], [`Sender::handle_ack`]. Drains: [`Sender::poll_transmit`]. Call
//! `handle_time` at [`Sender::next_wakeup`].

use super::acks::Ack;
use super::exported::{ExportedPath, PathError};
use super::ledger::{AckError, Damaged, Ledger, LedgerSettings};
use super::policies::{Context, Policy, ReceiverId, Recipient, Sending};
use super::statistics::{LaneSample, ReceiverSample};
use crate::vector::DrVector;
use domain::SimTime;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use thiserror::Error;

/// Which policy sent a vector. Receivers keep one placed path per tag; acknowledgements carry it back.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct PolicyTag(pub u8);

/// A vector to be sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outgoing {
    /// By which policy.
    pub tag: PolicyTag,
    /// To whom.
    pub to: ReceiverId,
    /// What.
    pub vector: DrVector,
}

/// Why the sender refused something. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SenderError {
    /// The vector does not continue the path.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The acknowledgement cannot be.
    #[error(transparent)]
    Ack(#[from] AckError),
    /// The handed-over state cannot be.
    #[error(transparent)]
    Damaged(#[from] Damaged),
    /// No policy has this tag.
    #[error("no policy with tag {}", .0.0)]
    UnknownTag(PolicyTag),
    /// No receiver has this id; it may have left.
    #[error("no receiver {}", .0.0)]
    UnknownReceiver(ReceiverId),
    /// A receiver with this id is there already.
    #[error("receiver {} is there already", .0.0)]
    AlreadyJoined(ReceiverId),
}

/// One policy at work.
#[derive(Debug)]
struct Lane {
    policy: Box<dyn Policy>,
    /// Ascending by id.
    recipients: Vec<Recipient>,
}

/// What moves with an entity to another region server: its path and the account of every receiver (of one lane).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Handover {
    /// The exported path as far as it is needed; sequence numbers continue from its newest vector.
    pub exported: ExportedPath,
    /// The receivers' accounts.
    pub recipients: Vec<Recipient>,
}

/// The sender of one entity.
#[derive(Debug, Default)]
pub struct Sender {
    settings: LedgerSettings,
    exported: ExportedPath,
    lanes: Vec<Lane>,
    outbox: VecDeque<Outgoing>,
    triggers: u64,
}

impl Sender {
    /// Without policies and receivers yet.
    pub fn new(settings: LedgerSettings) -> Self {
        Self {
            settings,
            ..Self::default()
        }
    }

    /// Adds a lane, before receivers join. At most 256.
    pub fn add_policy(&mut self, policy: Box<dyn Policy>) -> PolicyTag {
        let tag = u8::try_from(self.lanes.len()).expect("a run compares at most 256 policies");
        self.lanes.push(Lane {
            policy,
            recipients: Vec::new(),
        });
        PolicyTag(tag)
    }

    /// A receiver joins all lanes. In each its account starts at the mean of the others'.
    pub fn join(&mut self, now: SimTime, id: ReceiverId) -> Result<(), SenderError> {
        for lane in &self.lanes {
            if lane.find(id).is_ok() {
                return Err(SenderError::AlreadyJoined(id));
            }
        }
        for lane in &mut self.lanes {
            let seed = lane.sample(&self.exported, now).mean_aee();
            if let Err(place) = lane.find(id) {
                let ledger = Ledger::new(now, seed, self.settings);
                lane.recipients.insert(place, Recipient { id, ledger });
            }
        }
        Ok(())
    }

    /// A receiver leaves all lanes.
    pub fn leave(&mut self, id: ReceiverId) -> Result<(), SenderError> {
        let mut found = false;
        for lane in &mut self.lanes {
            if let Ok(index) = lane.find(id) {
                lane.recipients.remove(index);
                found = true;
            }
        }
        found.then_some(()).ok_or(SenderError::UnknownReceiver(id))
    }

    /// A new vector was generated. Every policy decides upon it; one draw from `rng` serves them all.
    pub fn handle_trigger(
        &mut self,
        now: SimTime,
        vector: DrVector,
        rng: &mut impl Rng,
    ) -> Result<(), SenderError> {
        self.exported.push(vector)?;
        self.triggers += 1;
        let luck = rng.random();
        self.decide(now, luck, |policy, context| policy.on_trigger(context));
        self.prune(now);
        Ok(())
    }

    /// Time moved on: what waited for now is sent.
    pub fn handle_time(&mut self, now: SimTime) {
        if self.next_wakeup().is_some_and(|at| at <= now) {
            self.decide(now, 0, |policy, context| policy.on_time(context));
        }
    }

    fn decide(
        &mut self,
        now: SimTime,
        luck: u64,
        step: impl Fn(&mut dyn Policy, &mut Context<'_>),
    ) {
        for (tag, lane) in (0..).map(PolicyTag).zip(&mut self.lanes) {
            let mut sendings = Vec::new();
            let recipients = &mut lane.recipients;
            let mut context = Context::new(now, &self.exported, recipients, &mut sendings, luck);
            step(lane.policy.as_mut(), &mut context);
            let tagged = |Sending { to, vector }| Outgoing { tag, to, vector };
            self.outbox.extend(sendings.into_iter().map(tagged));
        }
    }

    /// Forgets the part of the path that no ledger needs (DR-21).
    fn prune(&mut self, now: SimTime) {
        let mut needed = now;
        for one in self.lanes.iter_mut().flat_map(|lane| &mut lane.recipients) {
            one.ledger.settle(now, &self.exported);
            needed = one
                .ledger
                .needs_from()
                .map_or(needed, |from| needed.min(from));
        }
        self.exported.prune(needed);
    }

    /// An acknowledgement arrived.
    pub fn handle_ack(
        &mut self,
        now: SimTime,
        tag: PolicyTag,
        from: ReceiverId,
        ack: &Ack,
    ) -> Result<(), SenderError> {
        let lane = self.lanes.get_mut(usize::from(tag.0));
        let lane = lane.ok_or(SenderError::UnknownTag(tag))?;
        let index = lane
            .find(from)
            .map_err(|_| SenderError::UnknownReceiver(from))?;
        let ledger = &mut lane.recipients[index].ledger;
        Ok(ledger.handle_ack(now, ack, &self.exported)?)
    }

    /// The next vector to send.
    pub fn poll_transmit(&mut self) -> Option<Outgoing> {
        self.outbox.pop_front()
    }

    /// When [`Self::handle_time`] has something to do.
    pub fn next_wakeup(&self) -> Option<SimTime> {
        let lanes = self.lanes.iter();
        lanes.filter_map(|lane| lane.policy.next_wakeup()).min()
    }

    /// Tells the ledgers the true delay to a receiver, for policies that are to know it.
    pub fn tell_delay(&mut self, id: ReceiverId, delay: SimTime) {
        for lane in &mut self.lanes {
            if let Ok(index) = lane.find(id) {
                lane.recipients[index].ledger.delays_mut().tell(delay);
            }
        }
    }

    /// Every policy's errors and counts now: one line of the log per lane (DR-36).
    pub fn sample(&self, now: SimTime) -> Vec<LaneSample> {
        let lanes = self.lanes.iter();
        lanes.map(|lane| lane.sample(&self.exported, now)).collect()
    }

    /// The name of each lane's policy.
    pub fn names(&self) -> Vec<String> {
        self.lanes.iter().map(|lane| lane.policy.name()).collect()
    }

    /// The path all lanes share.
    pub fn exported(&self) -> &ExportedPath {
        &self.exported
    }

    /// Triggers so far.
    pub fn triggers(&self) -> u64 {
        self.triggers
    }

    /// A lane's receivers and their accounts.
    pub fn recipients(&self, tag: PolicyTag) -> &[Recipient] {
        let lane = self.lanes.get(usize::from(tag.0));
        lane.map_or(&[], |lane| &lane.recipients)
    }

    /// What another region server needs in order to go on with one lane as if nothing had happened.
    pub fn hand_over(&self, tag: PolicyTag) -> Option<Handover> {
        let lane = self.lanes.get(usize::from(tag.0))?;
        Some(Handover {
            exported: self.exported.clone(),
            recipients: lane.recipients.clone(),
        })
    }

    /// Goes on where another region server stopped.
    pub fn take_over(
        handover: Handover,
        policy: Box<dyn Policy>,
        settings: LedgerSettings,
    ) -> Result<Self, SenderError> {
        let mut sender = Self::new(settings);
        for vector in handover.exported.iter() {
            sender.exported.push(*vector)?;
        }
        sender.add_policy(policy);
        for Recipient { id, ledger } in handover.recipients {
            let ledger = ledger.validated()?;
            let lane = &mut sender.lanes[0];
            match lane.find(id) {
                Ok(_) => return Err(SenderError::AlreadyJoined(id)),
                Err(place) => lane.recipients.insert(place, Recipient { id, ledger }),
            }
        }
        Ok(sender)
    }
}

impl Lane {
    fn find(&self, id: ReceiverId) -> Result<usize, usize> {
        self.recipients.binary_search_by_key(&id, |one| one.id)
    }

    fn sample(&self, exported: &ExportedPath, now: SimTime) -> LaneSample {
        let model = self.policy.delay_model();
        let measure = |one: &Recipient| ReceiverSample {
            id: one.id,
            error: one.ledger.estimate(exported, now, model),
            sent: one.ledger.counts().sent,
        };
        LaneSample {
            receivers: self.recipients.iter().map(measure).collect(),
        }
    }
}
