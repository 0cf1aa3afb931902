//! Messages of the group cores over real sockets on this machine, with a delay between places made on purpose.

use channel::{Channel, ChannelConfig, EndpointId};
use domain::{RegionId, SimTime};
use groups::{Address, Delivery, Message, Stream, Transmit, decode, encode};
use simulator::network::{Network, NetworkConditions};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

/// The first byte of a datagram says which it is: a piece of a reliable stream, by its number in [`STREAMS`], or a message as it is. Streams do not wait for each other (ST-42).
const STREAMS: [Stream; 4] = [Stream::Admin, Stream::Object, Stream::Peer, Stream::Ping];
const BARE: u8 = 255;

fn number_of(stream: Stream) -> u8 {
    let number = STREAMS.iter().position(|it| *it == stream);
    number.expect("all streams are listed") as u8
}

/// One party's socket. Its address is its port: everyone is on this machine.
struct End {
    socket: UdpSocket,
    address: Address,
}

/// Everyone's post.
pub struct GroupPost {
    ends: Vec<End>,
    /// The delays that are made on purpose; it knows ends by their number.
    network: Network,
    channels: BTreeMap<(Address, Address, u8), Channel>,
    /// Datagrams that could not be read.
    pub unreadable: u64,
}

impl GroupPost {
    /// Without anyone yet.
    pub fn new(seed: u64) -> Self {
        Self {
            ends: Vec::new(),
            network: Network::new(seed, NetworkConditions::perfect()),
            channels: BTreeMap::new(),
            unreadable: 0,
        }
    }

    /// Opens a socket for one more party.
    pub fn open(&mut self) -> Result<Address, String> {
        let failed = |error: std::io::Error| format!("cannot open a port: {error}");
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let address = Address(socket.local_addr().map_err(failed)?.port().into());
        self.ends.push(End { socket, address });
        Ok(address)
    }

    /// Makes one way slower by this much.
    pub fn delay(&mut self, from: Address, to: Address, latency_ms: f64) {
        let (Some(from), Some(to)) = (self.number(from), self.number(to)) else {
            return;
        };
        let conditions = NetworkConditions {
            latency_ms,
            jitter_ms: latency_ms * 0.02,
            ..NetworkConditions::perfect()
        };
        self.network.set_link(from, to, Some(conditions));
    }

    fn number(&self, address: Address) -> Option<RegionId> {
        let at = self.ends.iter().position(|end| end.address == address)?;
        u32::try_from(at).ok().map(RegionId)
    }

    /// Gives a message to the network.
    pub fn send(&mut self, now: SimTime, from: Address, transmit: &Transmit) {
        let bytes = encode(&transmit.message);
        match transmit.delivery {
            Delivery::Unreliable => self.put(now, from, transmit.to, BARE, &bytes),
            // What does not fit waits for someone who has not answered for very long.
            Delivery::Reliable => {
                let stream = number_of(transmit.message.stream());
                _ = self.channel(from, transmit.to, stream).send(now, bytes);
            }
        }
    }

    fn put(&mut self, now: SimTime, from: Address, to: Address, kind: u8, bytes: &[u8]) {
        if let (Some(from), Some(to)) = (self.number(from), self.number(to)) {
            self.network.send(now, from, to, [&[kind], bytes].concat());
        }
    }

    fn channel(&mut self, from: Address, to: Address, stream: u8) -> &mut Channel {
        let new = || {
            Channel::new(
                EndpointId(from.0),
                EndpointId(to.0),
                1,
                ChannelConfig::default(),
            )
        };
        self.channels.entry((from, to, stream)).or_insert_with(new)
    }

    /// Channels say what they have to say, and what has been under way for long enough goes into the sockets.
    pub fn pump(&mut self, now: SimTime) {
        let mut out = Vec::new();
        for ((from, to, stream), channel) in &mut self.channels {
            while let Some(bytes) = channel.poll_transmit(now) {
                out.push((*from, *to, *stream, bytes));
            }
        }
        for (from, to, stream, bytes) in out {
            self.put(now, from, to, stream, &bytes);
        }
        while let Some(datagram) = self.network.pop_arrival(now) {
            let from = &self.ends[datagram.from.0 as usize];
            let to = self.ends[datagram.to.0 as usize].address;
            let port = u16::try_from(to.0).expect("our own ports fit");
            // A full buffer is a lost datagram, which is what the channels are for.
            let _ = from.socket.send_to(
                &datagram.bytes,
                SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            );
        }
    }

    /// Everything that has arrived: from, to, what.
    pub fn receive(&mut self, now: SimTime) -> Vec<(Address, Address, Message)> {
        let mut raw = Vec::new();
        let mut buffer = [0_u8; 65_536];
        for end in &self.ends {
            while let Ok((length, sender)) = end.socket.recv_from(&mut buffer) {
                raw.push((
                    Address(sender.port().into()),
                    end.address,
                    buffer[..length].to_vec(),
                ));
            }
        }
        let mut arrived = Vec::new();
        for (from, to, bytes) in raw {
            match bytes.split_first() {
                Some((&BARE, bytes)) => self.read(from, to, bytes, &mut arrived),
                // Strangers get no channel.
                Some((&stream, bytes))
                    if self.number(from).is_some() && usize::from(stream) < STREAMS.len() =>
                {
                    let channel = self.channel(to, from, stream);
                    let sound = channel.handle_datagram(now, bytes).is_ok();
                    while channel.poll_event().is_some() {}
                    let mut payloads = Vec::new();
                    while let Some(payload) = channel.poll_delivered() {
                        payloads.push(payload);
                    }
                    self.unreadable += u64::from(!sound);
                    payloads
                        .iter()
                        .for_each(|payload| self.read(from, to, payload, &mut arrived));
                }
                _ => self.unreadable += 1,
            }
        }
        arrived
    }

    fn read(
        &mut self,
        from: Address,
        to: Address,
        bytes: &[u8],
        arrived: &mut Vec<(Address, Address, Message)>,
    ) {
        match decode(bytes) {
            Ok(message) => arrived.push((from, to, message)),
            Err(_) => self.unreadable += 1,
        }
    }
}
