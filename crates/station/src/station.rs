//! One station, as a value.

use crate::body::{Arena, Ball, Command, Obedience, Refused, Role, State};
use crate::events::{CommandCounts, Counters, Event, LockView, Traffic, View};
use crate::ids::{PairId, StationId};
use crate::messages::{Class, LinkKey, Message, Refusal};
use crate::settings::{Predictor, Settings};
use domain::{BodyId, SimTime};

/// A datagram to be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Transmit {
    /// To whom.
    pub to: StationId,
    /// These bytes.
    pub bytes: Vec<u8>,
    /// The class of its only message; `None` if it holds several (bundled).
    pub class: Option<Class>,
}

/// One station: its masters, its replicas of others' masters, and what it agrees on with their owners.
///
/// *Feeds it*: [`Self::handle_datagram`] (any time), [`Self::command`] (any time), [`Self::handle_frame`] (once per frame; this is when
/// everything happens). *Drains it*: [`Self::poll_transmit`] and [`Self::poll_event`], after each frame until both are empty.
/// *Shows it*: [`Self::view`], [`Self::counters`], [`Self::locks`], [`Self::traffic`], [`Self::commands`].
#[derive(Clone, Debug)]
pub struct Station {
    id: StationId,
    settings: Settings,
}

impl Station {
    /// A station without bodies or peers. `incarnation` must be higher than at this station's earlier lives (a start time will do).
    pub fn new(id: StationId, incarnation: u32, settings: Settings) -> Self {
        let _ = incarnation;
        Self { id, settings }
    }

    /// Who this is.
    pub fn id(&self) -> StationId {
        self.id
    }

    /// What was chosen.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Introduces another station, with the secret that the two share.
    pub fn add_peer(&mut self, peer: StationId, key: LinkKey) {
        let _ = (peer, key);
    }

    /// A station is gone for good: its replicas vanish, their locks end.
    pub fn remove_peer(&mut self, peer: StationId) {
        let _ = peer;
    }

    /// A body of ours.
    pub fn add_master(&mut self, body: BodyId, ball: Ball, state: State) -> Result<(), Refused> {
        let _ = (body, ball, state);
        Ok(())
    }

    /// Another station's body. The state is where it starts, until its owner says otherwise.
    pub fn add_replica(
        &mut self,
        body: BodyId,
        owner: StationId,
        ball: Ball,
        state: State,
    ) -> Result<(), Refused> {
        let _ = (body, owner, ball, state);
        Ok(())
    }

    /// A body of the game itself, the same on every station; immovable if its mass is infinite.
    pub fn add_global(&mut self, body: BodyId, ball: Ball, state: State) -> Result<(), Refused> {
        let _ = (body, ball, state);
        Ok(())
    }

    /// Forgets a body, its pairs and locks.
    pub fn remove_body(&mut self, body: BodyId) -> Result<(), Refused> {
        let _ = body;
        Ok(())
    }

    /// The walls (none at first).
    pub fn set_arena(&mut self, arena: Option<Arena>) {
        let _ = arena;
    }

    /// Another predictor from now on (ML-5); replicas go on from the samples they have.
    pub fn set_predictor(&mut self, predictor: Predictor) {
        self.settings.reckoning.predictor = predictor;
    }

    /// A datagram has arrived. What it says takes effect at the next frame. `now` is the driver's clock, as for frames.
    pub fn handle_datagram(
        &mut self,
        now: SimTime,
        from: StationId,
        bytes: &[u8],
    ) -> Result<(), Refusal> {
        let _ = (now, from, bytes);
        Ok(())
    }

    /// A message has arrived by a way that needs no envelope (tests, a process's own stations).
    pub fn handle_message(&mut self, now: SimTime, from: StationId, message: Message) {
        let _ = (now, from, message);
    }

    /// A player, or the game in its place, wants something of a master. At most one command per frame is carried out, the last.
    pub fn command(&mut self, body: BodyId, command: Command) -> Result<Obedience, Refused> {
        let _ = (body, command);
        Ok(Obedience::Accepted)
    }

    /// Time has come this far: one frame. The order inside: messages, clock, commands, masters, replicas, commits, what is due,
    /// heartbeats, updates.
    pub fn handle_frame(&mut self, now: SimTime) {
        let _ = now;
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        None
    }

    /// The next thing that happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        None
    }

    /// When the next frame is due.
    pub fn next_wakeup(&self) -> SimTime {
        SimTime::ZERO
    }

    /// All bodies, in the order of their ids.
    pub fn bodies(&self) -> impl Iterator<Item = (BodyId, Role)> + '_ {
        std::iter::empty()
    }

    /// A body's three bodies: net, physics, scene (ML-39), as of the last frame.
    pub fn view(&self, body: BodyId) -> Option<View> {
        let _ = body;
        None
    }

    /// A pair's counters; `None` if this station keeps none for it.
    pub fn counters(&self, pair: PairId) -> Option<Counters> {
        let _ = pair;
        None
    }

    /// All pairs with counters, in order.
    pub fn pairs(&self) -> impl Iterator<Item = (PairId, Counters)> + '_ {
        std::iter::empty()
    }

    /// The locks held now, by pair.
    pub fn locks(&self) -> impl Iterator<Item = LockView> + '_ {
        std::iter::empty()
    }

    /// Whether a body's motion is fixed now.
    pub fn is_locked(&self, body: BodyId) -> bool {
        let _ = body;
        false
    }

    /// Bytes and messages.
    pub fn traffic(&self) -> &Traffic {
        static NONE: Traffic = Traffic {
            sent: [crate::Amount {
                messages: 0,
                bytes: 0,
            }; 7],
            received: [crate::Amount {
                messages: 0,
                bytes: 0,
            }; 7],
            datagrams_sent: 0,
            datagrams_received: 0,
            refused: [0; 6],
            disbelieved: [0; 6],
        };
        &NONE
    }

    /// Commands.
    pub fn commands(&self) -> CommandCounts {
        CommandCounts::default()
    }

    /// The shared time at the last frame; `None` while the clock is not known yet.
    pub fn shared_now(&self) -> Option<SimTime> {
        None
    }

    /// How wrong the shared time may be at worst; zero if it is given.
    pub fn clock_error(&self) -> Option<SimTime> {
        Some(SimTime::ZERO)
    }

    /// The measured one-way delay from a peer, and its mean deviation; `None` before its first datagram.
    pub fn delay_from(&self, peer: StationId) -> Option<(SimTime, SimTime)> {
        let _ = peer;
        None
    }

    /// A digest of everything that can influence the future: the same run has the same digests.
    pub fn state_hash(&self) -> u64 {
        0
    }
}
