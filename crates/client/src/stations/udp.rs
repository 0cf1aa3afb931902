//! A station on a UDP socket.

use domain::SimTime;
use station::messages::MAX_DATAGRAM_BYTES;
use station::{Event, Station, StationId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// Datagrams read per frame at most: a flood delays no frame.
const MOST_PER_FRAME: u32 = 4096;
/// A frame that comes later than this many frames starts a new count: a paused program does not catch up.
const MOST_BEHIND: u64 = 5;

/// A bad network made on purpose: what happens to the next incoming datagram. `None`: it is lost; otherwise it arrives so much later.
pub type BadAir = Box<dyn FnMut() -> Option<SimTime> + Send>;

/// When it may be read, its number, from whom, and what.
type Held = (SimTime, u64, StationId, Vec<u8>);

/// A station, its socket and its pace.
pub struct UdpStation {
    station: Station,
    socket: UdpSocket,
    start: Instant,
    frame: SimTime,
    next_frame: SimTime,
    peers: BTreeMap<StationId, SocketAddr>,
    bad_air: Option<BadAir>,
    held: BinaryHeap<Reverse<Held>>,
    arrived: u64,
    strangers: u64,
    unsent: u64,
    buffer: Vec<u8>,
}

impl UdpStation {
    /// Takes a socket at this address (port 0: any). `start` is zero of this station's clock: two stations of one process may share it,
    /// others let the station ask for the time ([`station::ClockSource::AskedFrom`]).
    pub fn bind(address: SocketAddr, station: Station, start: Instant) -> io::Result<Self> {
        let frame = station.settings().frame;
        Ok(Self {
            socket: UdpSocket::bind(address)?,
            station,
            start,
            frame,
            next_frame: SimTime(u64::try_from(start.elapsed().as_nanos()).unwrap_or(0)),
            peers: BTreeMap::new(),
            bad_air: None,
            held: BinaryHeap::new(),
            arrived: 0,
            strangers: 0,
            unsent: 0,
            // One byte more than allowed, so that what is too long is seen to be.
            buffer: vec![0; MAX_DATAGRAM_BYTES + 1],
        })
    }

    /// Where others reach it.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Where a peer is. Datagrams from other addresses are counted and ignored.
    pub fn introduce(&mut self, peer: StationId, address: SocketAddr) {
        self.peers.insert(peer, address);
    }

    /// Incoming datagrams are late or lost from now on.
    pub fn set_bad_air(&mut self, bad_air: BadAir) {
        self.bad_air = Some(bad_air);
    }

    /// The station itself: to command its masters and to look at its bodies.
    pub fn station(&mut self) -> &mut Station {
        &mut self.station
    }

    /// Its own clock.
    pub fn now(&self) -> SimTime {
        SimTime(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Datagrams from addresses nobody introduced.
    pub fn strangers(&self) -> u64 {
        self.strangers
    }

    /// Datagrams the machine refused to send (the other side is not there yet, or no longer). A lost datagram is no error here.
    pub fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Waits for the next frame, receiving meanwhile; plays it, sends what there is to send and tells what has happened.
    pub fn frame(&mut self) -> io::Result<Vec<Event>> {
        self.receive_until(self.next_frame)?;
        let now = self.now();
        self.station.handle_frame(now);
        self.next_frame += self.frame;
        if now.since(self.next_frame).0 > MOST_BEHIND * self.frame.0 {
            self.next_frame = now + self.frame;
        }
        while let Some(packet) = self.station.poll_transmit() {
            let Some(address) = self.peers.get(&packet.to) else {
                continue;
            };
            if self.socket.send_to(&packet.bytes, address).is_err() {
                self.unsent += 1;
            }
        }
        Ok(std::iter::from_fn(|| self.station.poll_event()).collect())
    }

    fn receive_until(&mut self, due: SimTime) -> io::Result<()> {
        for _ in 0..MOST_PER_FRAME {
            self.release();
            let held = self.held.peek().map(|Reverse(first)| first.0);
            let wake = held.map_or(due, |at| at.min(due));
            let now = self.now();
            if now >= due {
                return Ok(());
            }
            // Zero would mean forever.
            let wait = Duration::from_nanos(wake.since(now).0).max(Duration::from_micros(50));
            self.socket.set_read_timeout(Some(wait))?;
            match self.socket.recv_from(&mut self.buffer) {
                Ok((length, from)) => self.take(length, from),
                Err(error) if is_temporary(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn take(&mut self, length: usize, from: SocketAddr) {
        let known = self.peers.iter().find(|(_, address)| **address == from);
        let Some((&peer, _)) = known else {
            self.strangers += 1;
            return;
        };
        let now = self.now();
        match &mut self.bad_air {
            None => {
                // What the station refuses it counts itself.
                let _ = self
                    .station
                    .handle_datagram(now, peer, &self.buffer[..length]);
            }
            Some(bad_air) => {
                if let Some(later) = bad_air() {
                    self.arrived += 1;
                    let bytes = self.buffer[..length].to_vec();
                    let held = (now + later, self.arrived, peer, bytes);
                    self.held.push(Reverse(held));
                }
            }
        }
    }

    /// Hands over what has been held back long enough.
    fn release(&mut self) {
        let now = self.now();
        while let Some(Reverse((at, ..))) = self.held.peek() {
            if *at > now {
                return;
            }
            if let Some(Reverse((_, _, peer, bytes))) = self.held.pop() {
                let _ = self.station.handle_datagram(now, peer, &bytes);
            }
        }
    }
}

/// Nothing came in time, or an earlier datagram found nobody.
fn is_temporary(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock
            | io::ErrorKind::TimedOut
            | io::ErrorKind::Interrupted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
    )
}
