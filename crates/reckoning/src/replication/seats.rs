//! Who is connected: clients by number and by address.

use super::link::Link;
use super::scope::ClientId;
use super::server_settings::{DatagramError, ServerConfig};
use crate::codec::Token;
use domain::SimTime;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Bound::{Excluded, Unbounded};

/// One client.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) address: SocketAddr,
    /// The client's name for its attempt to connect.
    pub(super) nonce: u64,
    pub(super) link: Link,
}

/// All clients.
#[derive(Debug, Default)]
pub(super) struct Seats {
    seats: BTreeMap<ClientId, Seat>,
    by_address: BTreeMap<SocketAddr, ClientId>,
    numbered: u32,
    served_last: ClientId,
}

impl Seats {
    pub(super) fn len(&self) -> usize {
        self.seats.len()
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = ClientId> {
        self.seats.keys().copied()
    }

    pub(super) fn get(&self, client: ClientId) -> Option<&Seat> {
        self.seats.get(&client)
    }

    pub(super) fn get_mut(&mut self, client: ClientId) -> Option<&mut Seat> {
        self.seats.get_mut(&client)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (ClientId, &Seat)> {
        self.seats.iter().map(|(client, seat)| (*client, seat))
    }

    pub(super) fn links(&mut self) -> impl Iterator<Item = (ClientId, &mut Link)> {
        let seats = self.seats.iter_mut();
        seats.map(|(client, seat)| (*client, &mut seat.link))
    }

    /// The client at this address.
    pub(super) fn at(&self, address: SocketAddr) -> Option<(ClientId, &Seat)> {
        let client = *self.by_address.get(&address)?;
        Some((client, self.seats.get(&client)?))
    }

    /// The client at this address, if it has the right token.
    pub(super) fn find(&self, from: SocketAddr, token: Token) -> Result<ClientId, DatagramError> {
        match self.at(from) {
            Some((client, seat)) if seat.link.connection.token() == token => Ok(client),
            _ => Err(DatagramError::Stranger(from)),
        }
    }

    /// A new client.
    pub(super) fn add(
        &mut self,
        now: SimTime,
        address: SocketAddr,
        nonce: u64,
        token: Token,
        config: &ServerConfig,
    ) -> ClientId {
        self.numbered += 1;
        let client = ClientId(self.numbered);
        // Twice as many objects as it may own, so that too many are noticed and refused with a reason.
        let link = Link::new(config.connection, token, 2 * config.max_owned, now);
        let seat = Seat {
            address,
            nonce,
            link,
        };
        self.seats.insert(client, seat);
        self.by_address.insert(address, client);
        client
    }

    pub(super) fn remove(&mut self, client: ClientId) -> Option<Seat> {
        let seat = self.seats.remove(&client)?;
        self.by_address.remove(&seat.address);
        Some(seat)
    }

    /// The first packet any client has for us to send, beginning after the one served last: all take turns.
    pub(super) fn take_turn(
        &mut self,
        mut packet: impl FnMut(ClientId, &mut Link) -> Option<Vec<u8>>,
    ) -> Option<(SocketAddr, Vec<u8>)> {
        let last = self.served_last;
        for range in [
            (Excluded(last), Unbounded),
            (Unbounded, Excluded(ClientId(last.0 + 1))),
        ] {
            for (client, seat) in self.seats.range_mut(range) {
                if let Some(bytes) = packet(*client, &mut seat.link) {
                    self.served_last = *client;
                    return Some((seat.address, bytes));
                }
            }
        }
        None
    }
}
