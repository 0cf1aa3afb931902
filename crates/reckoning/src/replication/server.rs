//! The server: admits clients, takes their objects' vectors, and passes them on to everyone in whose scope they are (DR-47).
//!
//! What feeds it: [`Server::handle_datagram`], [`Server::handle_tick`], and for objects of its own [`Server::observe`]. What drains it:
//! [`Server::poll_transmit`] and [`Server::poll_event`], until they return `None`. Its time is the global clock.

use super::dr_object::{DrObject, ObjectError, Timing};
use super::events::EventError;
use super::fair::FairDistribution;
use super::ghost_receiver::News;
use super::handshake::{Gatekeeper, Verdict};
use super::link::Link;
use super::relay::{NewsError, Relay};
use super::rpc::{Rpc, call};
use super::scope::ClientId;
use super::seats::Seats;
use super::server_settings::{DatagramError, ServerConfig, ServerEvent};
use crate::codec::{
    ClockReply, Datagram, Limits, Message, PacketHeader, RefusalReason, StateBits, Token,
};
use crate::fairness::Sender;
use crate::motion::{Placed, TrueState};
use domain::{BodyId, SimTime};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// A server for many clients.
#[derive(Debug)]
pub struct Server {
    config: ServerConfig,
    gate: Gatekeeper,
    seats: Seats,
    relay: Relay,
    scope_due: SimTime,
    outbox: VecDeque<(SocketAddr, Vec<u8>)>,
    events: VecDeque<ServerEvent>,
}

impl Server {
    /// A server without clients. The secret protects its door; draw it afresh and tell nobody.
    pub fn new(mut config: ServerConfig, secret: [u8; 32]) -> Self {
        let fair = config
            .policy
            .take()
            .map(|make| FairDistribution::new(make, config.seed));
        Self {
            gate: Gatekeeper::new(secret, config.puzzle_bits),
            relay: Relay::new(config.timing, fair),
            config,
            seats: Seats::default(),
            scope_due: SimTime::ZERO,
            outbox: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// A datagram arrived.
    pub fn handle_datagram(
        &mut self,
        now: SimTime,
        from: SocketAddr,
        bytes: &[u8],
    ) -> Result<(), DatagramError> {
        let limits = Limits {
            now,
            slack: self.config.clock_slack,
        };
        match Datagram::decode(bytes, &limits)? {
            Datagram::Discover { nonce } => {
                let clients = self.seats.len().min(u16::MAX.into()) as u16;
                self.answer(from, &Datagram::Found { nonce, clients });
            }
            Datagram::Packet { header, messages } => {
                self.handle_packet(now, from, &header, messages)?;
            }
            Datagram::ClockRequest { token, request } => {
                self.seats.find(from, token)?;
                let reply = ClockReply {
                    asked: request.asked,
                    received: now,
                    replied: now,
                };
                self.answer(from, &Datagram::ClockReply { token, reply });
            }
            Datagram::Disconnect { token } => {
                let client = self.seats.find(from, token)?;
                self.dismiss(client);
            }
            knock @ (Datagram::ConnectRequest { .. } | Datagram::ConnectResponse { .. }) => {
                match self.gate.handle(now, from, &knock) {
                    Verdict::Answer(answer) => self.answer(from, &answer),
                    Verdict::Admit { nonce, token } => self.admit(now, from, nonce, token),
                    Verdict::Ignore => return Err(DatagramError::Stranger(from)),
                }
            }
            _ => return Err(DatagramError::Misplaced),
        }
        Ok(())
    }

    /// Time moved: silent clients are dismissed, scopes asked, waiting vectors handed out. Call it every loop.
    pub fn handle_tick(&mut self, now: SimTime) {
        let seats = self.seats.iter();
        let silent = seats.filter(|(_, seat)| seat.link.connection.is_timed_out(now));
        let silent: Vec<_> = silent.map(|(client, _)| client).collect();
        silent.into_iter().for_each(|client| self.dismiss(client));
        if now >= self.scope_due {
            self.scope_due = now + self.config.scope_every;
            for (client, link) in self.seats.links() {
                let scope = self.config.scope.as_ref();
                self.relay.query(now, client, link, scope);
            }
        }
        let waited = self.relay.fair_mut().map(|fair| fair.tick(now));
        for (client, entity) in waited.unwrap_or_default() {
            self.mark(now, entity, StateBits::VECTOR, vec![client]);
        }
    }

    /// The next datagram to send, if one may leave now. Clients take turns.
    pub fn poll_transmit(&mut self, now: SimTime) -> Option<(SocketAddr, Vec<u8>)> {
        if let Some(answer) = self.outbox.pop_front() {
            return Some(answer);
        }
        let time = (self.config.timing == Timing::Timestamped).then_some(now);
        let relay = &self.relay;
        self.seats.take_turn(|client, link| {
            let mut state = |id, bits| relay.update_for(now, client, id, bits);
            link.poll_transmit(now, time, &mut state)
        })
    }

    /// What happened.
    pub fn poll_event(&mut self) -> Option<ServerEvent> {
        self.events.pop_front()
    }

    /// When to call [`Self::handle_tick`] and [`Self::poll_transmit`] again at the latest.
    pub fn next_wakeup(&self, now: SimTime) -> SimTime {
        let links = self
            .seats
            .iter()
            .map(|(_, seat)| seat.link.next_wakeup(now));
        links.min().unwrap_or(self.scope_due).min(self.scope_due)
    }

    /// Adds an object the server itself moves.
    pub fn own(&mut self, object: DrObject) -> Result<(), ObjectError> {
        self.relay.add_own(object)?;
        self.scope_due = SimTime::ZERO;
        Ok(())
    }

    /// Tells the true state of an object of the server's own; call it every loop.
    pub fn observe(
        &mut self,
        now: SimTime,
        id: BodyId,
        state: &TrueState,
    ) -> Result<(), ObjectError> {
        if let Some(vector) = self.relay.observe(now, id, state)? {
            let recipients = self.relay.recipients(now, &vector);
            self.mark(now, id, StateBits::VECTOR, recipients);
        }
        Ok(())
    }

    /// Sets application state (bit 1 to 31) of any object.
    pub fn set_state(
        &mut self,
        now: SimTime,
        id: BodyId,
        bit: u8,
        bytes: Vec<u8>,
    ) -> Result<(), ObjectError> {
        let bits = self.relay.set_state(id, bit, bytes)?;
        let watchers = self.relay.watchers(id);
        self.mark(now, id, bits, watchers);
        Ok(())
    }

    /// Removes an object, at all clients.
    pub fn remove(&mut self, id: BodyId) -> Result<(), ObjectError> {
        if !self.relay.remove(id) {
            return Err(ObjectError::Unknown(id));
        }
        self.leave_all(id);
        Ok(())
    }

    /// Calls a method at a client; `None` if there is no such client.
    pub fn call<R: Rpc>(&mut self, client: ClientId, rpc: &R) -> Option<Result<(), EventError>> {
        let seat = self.seats.get_mut(client)?;
        Some(call(&mut seat.link.events, rpc))
    }

    /// An object, wherever it moves.
    pub fn object(&self, id: BodyId) -> Option<&DrObject> {
        self.relay.get(id)
    }

    /// All objects, in order.
    pub fn objects(&self) -> impl Iterator<Item = BodyId> {
        self.relay.ids()
    }

    /// Where an object is now.
    pub fn place(&self, now: SimTime, id: BodyId) -> Option<Placed> {
        self.object(id)?.place(now)
    }

    /// All clients, in order.
    pub fn clients(&self) -> impl Iterator<Item = ClientId> {
        self.seats.ids()
    }

    /// A client's link: round trip, rate, loss.
    pub fn link(&self, client: ClientId) -> Option<&Link> {
        self.seats.get(client).map(|seat| &seat.link)
    }

    /// The fairness ledgers of an object, if a policy is in use.
    pub fn ledgers(&self, id: BodyId) -> Option<&Sender> {
        self.relay.fair()?.sender(id)
    }

    fn handle_packet(
        &mut self,
        now: SimTime,
        from: SocketAddr,
        header: &PacketHeader,
        messages: Vec<Message>,
    ) -> Result<(), DatagramError> {
        let client = self.seats.find(from, header.token)?;
        let seat = self.seats.get_mut(client);
        let seat = seat.ok_or(DatagramError::Stranger(from))?;
        let news = seat.link.handle_packet(now, header, messages)?;
        let delay = seat.link.connection.round_trip().one_way();
        while let Some(event) = seat.link.events.poll_event() {
            self.events.push_back(ServerEvent::Called { client, event });
        }
        for news in news {
            if let Err(error) = self.handle_news(now, client, news, delay) {
                self.events
                    .push_back(ServerEvent::Refused { client, error });
            }
        }
        Ok(())
    }

    fn handle_news(
        &mut self,
        now: SimTime,
        client: ClientId,
        news: News,
        delay: SimTime,
    ) -> Result<(), NewsError> {
        match news {
            News::Update { update, afresh } => {
                let max = self.config.max_owned;
                let relay = &mut self.relay;
                let changed = relay.handle_update(now, client, &update, afresh, delay, max)?;
                self.pass_on(now, update.entity, afresh, changed);
            }
            News::Killed(id) if self.relay.is_owned_by(id, client) => {
                // It exists: its owner has just been asked for.
                let _ = self.remove(id);
            }
            News::Killed(id) => return Err(NewsError::NotYours(id)),
            News::Report(report) => {
                if let Some(fair) = self.relay.fair_mut() {
                    fair.ack(now, client, &report);
                }
                self.events.push_back(ServerEvent::Acked { client, report });
            }
        }
        Ok(())
    }

    fn pass_on(&mut self, now: SimTime, id: BodyId, afresh: bool, changed: StateBits) {
        if afresh {
            self.leave_all(id);
            self.scope_due = SimTime::ZERO;
        }
        let watchers = self.relay.watchers(id);
        self.mark(now, id, changed.without(StateBits::VECTOR), watchers);
        let vector = self
            .relay
            .get(id)
            .and_then(|object| object.vector().copied());
        if let (Some(vector), true) = (vector, changed.contains(StateBits::VECTOR)) {
            let recipients = self.relay.recipients(now, &vector);
            self.mark(now, id, StateBits::VECTOR, recipients);
        }
    }

    fn mark(&mut self, now: SimTime, id: BodyId, bits: StateBits, at: Vec<ClientId>) {
        for client in at {
            if let Some(seat) = self.seats.get_mut(client) {
                seat.link.ghosts.mark(now, id, bits);
            }
        }
    }

    fn leave_all(&mut self, id: BodyId) {
        for (_, link) in self.seats.links() {
            link.ghosts.leave(id);
        }
    }

    fn admit(&mut self, now: SimTime, from: SocketAddr, nonce: u64, token: Token) {
        // The same attempt asked again: same answer. A new attempt from there: the old connection is dead.
        match self.seats.at(from) {
            Some((client, seat)) if seat.nonce == nonce => {
                let token = seat.link.connection.token();
                return self.accept(from, nonce, token, client);
            }
            Some((client, _)) => self.dismiss(client),
            None => {}
        }
        if self.seats.len() >= self.config.max_clients {
            let reason = RefusalReason::Full;
            return self.answer(from, &Datagram::Refused { nonce, reason });
        }
        let client = self.seats.add(now, from, nonce, token, &self.config);
        self.scope_due = SimTime::ZERO;
        self.events.push_back(ServerEvent::Joined { client, from });
        self.accept(from, nonce, token, client);
    }

    fn accept(&mut self, to: SocketAddr, nonce: u64, token: Token, client: ClientId) {
        let accepted = Datagram::Accepted {
            nonce,
            token,
            client: client.0,
        };
        self.answer(to, &accepted);
    }

    fn dismiss(&mut self, client: ClientId) {
        if self.seats.remove(client).is_none() {
            return;
        }
        for id in self.relay.dismiss(client) {
            // Listed a moment ago.
            let _ = self.remove(id);
        }
        self.events.push_back(ServerEvent::Left(client));
    }

    fn answer(&mut self, to: SocketAddr, datagram: &Datagram) {
        let bytes = datagram.encode().expect("only packets can be unsendable");
        self.outbox.push_back((to, bytes));
    }
}
