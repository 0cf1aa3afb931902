//! The client: connects, keeps the shared clock, exports its own objects and shows the others'.
//!
//! What feeds it: [`Client::handle_datagram`], [`Client::handle_tick`], [`Client::observe`]. What drains it: [`Client::poll_transmit`]
//! and [`Client::poll_event`], until they return `None`. Its time is the local clock, whatever it shows; the client
//! finds out by itself how it differs from the server's.

use super::client_settings::{ClientConfig, ClientDatagramError, ClientEvent};
use super::clock_sync::ClockSync;
use super::dr_object::{DrObject, ObjectError, Timing};
use super::events::EventError;
use super::ghost_receiver::News;
use super::ghost_view::GhostView;
use super::handshake::{Connector, Progress};
use super::link::Link;
use super::relay::update_of;
use super::rpc::{Rpc, call};
use super::scope::ClientId;
use crate::codec::{Datagram, GhostUpdate, Limits, Message, PacketHeader, StateBits};
use crate::motion::{Placed, SharedClock, TrueState};
use domain::{BodyId, SimTime};
use std::collections::{BTreeMap, VecDeque};

/// A client of one server.
#[derive(Debug)]
pub struct Client {
    config: ClientConfig,
    connector: Connector,
    link: Option<Link>,
    clock: ClockSync,
    owned: BTreeMap<BodyId, DrObject>,
    ghosts: GhostView,
    closed: bool,
    outbox: VecDeque<Datagram>,
    events: VecDeque<ClientEvent>,
}

impl Client {
    /// Starts to connect. Draw the nonce afresh for each attempt.
    pub fn new(config: ClientConfig, nonce: u64) -> Self {
        Self {
            config,
            connector: Connector::new(nonce),
            link: None,
            clock: ClockSync::default(),
            owned: BTreeMap::new(),
            ghosts: GhostView::default(),
            closed: false,
            outbox: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// A datagram arrived from the server.
    pub fn handle_datagram(
        &mut self,
        now: SimTime,
        bytes: &[u8],
    ) -> Result<(), ClientDatagramError> {
        let datagram = Datagram::decode(bytes, &self.limits(now))?;
        let token = self.link.as_ref().map(|link| link.connection.token());
        match datagram {
            Datagram::Packet { header, messages } => self.handle_packet(now, &header, messages),
            Datagram::ClockReply {
                token: theirs,
                reply,
            } if Some(theirs) == token => match self.clock.handle_reply(now, &reply) {
                true => Ok(()),
                false => Err(ClientDatagramError::Unexpected),
            },
            Datagram::Disconnect { token: theirs } if Some(theirs) == token => {
                self.lose_connection();
                Ok(())
            }
            Datagram::Challenge { .. } | Datagram::Accepted { .. } | Datagram::Refused { .. } => {
                self.connector.handle(&datagram);
                self.follow_connector(now);
                Ok(())
            }
            _ => Err(ClientDatagramError::Unexpected),
        }
    }

    /// Time moved. Call it every loop.
    pub fn handle_tick(&mut self, now: SimTime) {
        let Some(link) = &self.link else { return };
        if link.connection.is_timed_out(now) {
            self.lose_connection();
            return;
        }
        if let Some(request) = self.clock.poll_request(now) {
            let token = link.connection.token();
            self.outbox
                .push_back(Datagram::ClockRequest { token, request });
        }
    }

    /// The next datagram to send to the server, if one may leave now.
    pub fn poll_transmit(&mut self, now: SimTime) -> Option<Vec<u8>> {
        if let Some(datagram) = self.outbox.pop_front() {
            return Some(encode(&datagram));
        }
        if self.closed {
            return None;
        }
        let time = self.vector_time(now);
        let packet_time = self.clock.now(now);
        let timing = self.config.timing;
        let Some(link) = &mut self.link else {
            return self.connector.poll_transmit(now).map(|d| encode(&d));
        };
        let owned = &self.owned;
        let mut state =
            |id: BodyId, bits: StateBits| update_of(owned.get(&id)?, time?, bits, timing);
        link.poll_transmit(now, packet_time, &mut state)
    }

    /// What happened.
    pub fn poll_event(&mut self) -> Option<ClientEvent> {
        self.events.pop_front()
    }

    /// When to call [`Self::handle_tick`] and [`Self::poll_transmit`] again at the latest.
    pub fn next_wakeup(&self, now: SimTime) -> SimTime {
        match &self.link {
            Some(link) => link.next_wakeup(now).min(self.clock.next_request()),
            None => now + SimTime(1_000_000),
        }
    }

    /// Adds an object that moves here.
    pub fn own(&mut self, now: SimTime, object: DrObject) -> Result<(), ObjectError> {
        let id = object.id();
        if !object.is_owned() {
            return Err(ObjectError::NotOwned(id));
        }
        if self.owned.contains_key(&id) || self.ghosts.get(id).is_some() {
            return Err(ObjectError::Exists(id));
        }
        self.introduce(now, &object);
        self.owned.insert(id, object);
        Ok(())
    }

    /// Tells the true state of an own object; call it every loop. Everything else is automatic. Before the clock is known
    /// nothing is exported: the time would be wrong.
    pub fn observe(
        &mut self,
        now: SimTime,
        id: BodyId,
        state: &TrueState,
    ) -> Result<(), ObjectError> {
        let time = self.vector_time(now);
        let object = self.owned.get_mut(&id).ok_or(ObjectError::Unknown(id))?;
        let Some(time) = time else { return Ok(()) };
        if object.observe(time, state)?.is_some() {
            self.mark(now, id, StateBits::VECTOR);
        }
        Ok(())
    }

    /// Sets application state (bit 1 to 31) of an own object.
    pub fn set_state(
        &mut self,
        now: SimTime,
        id: BodyId,
        bit: u8,
        bytes: Vec<u8>,
    ) -> Result<(), ObjectError> {
        let object = self.owned.get_mut(&id).ok_or(ObjectError::Unknown(id))?;
        let bits = object.set_state(bit, bytes)?;
        self.mark(now, id, bits);
        Ok(())
    }

    /// Removes an own object, everywhere.
    pub fn remove(&mut self, id: BodyId) -> Result<(), ObjectError> {
        self.owned.remove(&id).ok_or(ObjectError::Unknown(id))?;
        if let Some(link) = &mut self.link {
            link.ghosts.leave(id);
        }
        Ok(())
    }

    /// Calls a method at the server; `None` while not connected.
    pub fn call<R: Rpc>(&mut self, rpc: &R) -> Option<Result<(), EventError>> {
        Some(call(&mut self.link.as_mut()?.events, rpc))
    }

    /// Says goodbye; poll once more for the datagram that says it.
    pub fn disconnect(&mut self) {
        if let Some(link) = self.link.take() {
            let token = link.connection.token();
            self.outbox.push_back(Datagram::Disconnect { token });
        }
        self.closed = true;
    }

    /// An object, own or ghost.
    pub fn object(&self, id: BodyId) -> Option<&DrObject> {
        self.ghosts.get(id).or_else(|| self.owned.get(&id))
    }

    /// The others' objects in view, in order.
    pub fn ghosts(&self) -> impl Iterator<Item = &DrObject> {
        self.ghosts.iter()
    }

    /// Where an object is now, as far as is known here.
    pub fn place(&self, now: SimTime, id: BodyId) -> Option<Placed> {
        self.object(id)?.place(self.vector_time(now)?)
    }

    /// The shared clock; give it the local time.
    pub fn clock(&self) -> &SharedClock {
        self.clock.clock()
    }

    /// The connection's link: round trip, rate, loss; `None` while not connected.
    pub fn link(&self) -> Option<&Link> {
        self.link.as_ref()
    }

    /// The time in which vectors are written and placed: global, or in one-way-delay mode simply ours.
    fn vector_time(&self, now: SimTime) -> Option<SimTime> {
        match self.config.timing {
            Timing::Timestamped => self.clock.now(now),
            Timing::OneWayDelay => Some(now),
        }
    }

    fn limits(&self, now: SimTime) -> Limits {
        let clock = self.clock.clock();
        match (clock.now(now), clock.error_bound(now)) {
            (Some(global), Some(bound)) => Limits {
                now: global,
                slack: bound + self.config.clock_slack,
            },
            _ => Limits::ANY_TIME,
        }
    }

    fn follow_connector(&mut self, now: SimTime) {
        match *self.connector.progress() {
            Progress::Connected { token, client } if self.link.is_none() && !self.closed => {
                let max = self.config.max_ghosts;
                self.link = Some(Link::new(self.config.connection, token, max, now));
                let owned = std::mem::take(&mut self.owned);
                owned
                    .values()
                    .for_each(|object| self.introduce(now, object));
                self.owned = owned;
                let client = ClientId(client);
                self.events.push_back(ClientEvent::Connected(client));
            }
            Progress::Refused(reason) if !self.closed => {
                self.closed = true;
                self.events.push_back(ClientEvent::Refused(reason));
            }
            Progress::TooHard(bits) if !self.closed => {
                self.closed = true;
                self.events.push_back(ClientEvent::TooHard(bits));
            }
            _ => {}
        }
    }

    fn handle_packet(
        &mut self,
        now: SimTime,
        header: &PacketHeader,
        messages: Vec<Message>,
    ) -> Result<(), ClientDatagramError> {
        let link = self.link.as_mut();
        let link = link.ok_or(ClientDatagramError::Unexpected)?;
        let news = link.handle_packet(now, header, messages)?;
        while let Some(event) = link.events.poll_event() {
            self.events.push_back(ClientEvent::Called(event));
        }
        let delay = link.connection.round_trip().one_way();
        for news in news {
            match news {
                News::Update { update, afresh } => self.handle_update(now, &update, afresh, delay),
                News::Killed(entity) => self.handle_kill(entity),
                // Servers do not report; their vectors are their own business.
                News::Report(_) => {}
            }
        }
        Ok(())
    }

    fn handle_update(&mut self, now: SimTime, update: &GhostUpdate, afresh: bool, delay: SimTime) {
        if self.owned.contains_key(&update.entity) {
            return;
        }
        let time = self.vector_time(now);
        let ghosts = &mut self.ghosts;
        let events = ghosts.handle_update(time, update, afresh, delay, &self.config);
        self.events.extend(events);
        // In one-way-delay mode there is no common time to report.
        if let (Some((policy, vector)), true, Some(time), Some(link)) =
            (&update.vector, update.timed, time, &mut self.link)
        {
            let reports = &mut link.reports;
            reports.note(update.entity, *policy, vector.seq, time);
        }
    }

    fn handle_kill(&mut self, entity: BodyId) {
        self.events.extend(self.ghosts.handle_kill(entity));
        if let Some(link) = &mut self.link {
            link.reports.forget(entity);
        }
    }

    fn introduce(&mut self, now: SimTime, object: &DrObject) {
        if let Some(link) = &mut self.link {
            let (id, class, bits) = (object.id(), object.class(), object.bits());
            link.ghosts.enter(now, id, class, bits, 1.0);
        }
    }

    fn mark(&mut self, now: SimTime, id: BodyId, bits: StateBits) {
        if let Some(link) = &mut self.link {
            link.ghosts.mark(now, id, bits);
        }
    }

    fn lose_connection(&mut self) {
        self.link = None;
        self.closed = true;
        self.events.push_back(ClientEvent::Disconnected);
    }
}

fn encode(datagram: &Datagram) -> Vec<u8> {
    datagram.encode().expect("only packets can be unsendable")
}
