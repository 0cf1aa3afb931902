//! How messages travel: reliable ones through channels, one per stream and way, so that nothing waits behind another stream's (ST-42); the others as
//! they are.

use crate::network::{Channel, ChannelConfig, Network, NetworkConditions};
use ::groups::{Address, Delivery, Message, Stream, Transmit, decode, encode};
use channel::EndpointId;
use domain::{RegionId, SimTime};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// From (its owner), to, and what for.
type Way = (Address, Address, Stream);

/// The first byte of a datagram: the place of its stream in this list if it is a channel's, else this.
const STREAMS: [Stream; 4] = [Stream::Admin, Stream::Object, Stream::Peer, Stream::Ping];
const BARE: u8 = 255;

/// What a stream has carried, all parties together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Messages given to the network.
    pub sent: u64,
    /// Of these: as ones that must arrive.
    pub reliable: u64,
    /// Messages that have arrived.
    pub arrived: u64,
}

/// The post of the whole run.
pub(super) struct Post {
    network: Network,
    channels: BTreeMap<Way, Channel>,
    incarnations: BTreeMap<Address, u32>,
    dead: BTreeSet<Address>,
    arrived: VecDeque<(Address, Address, Message)>,
    /// Channels that may have something to send.
    busy: BTreeSet<Way>,
    pub(super) carried: BTreeMap<Stream, Carried>,
}

fn number(stream: Stream) -> u8 {
    let at = STREAMS.iter().position(|one| *one == stream);
    at.expect("all streams are listed") as u8
}

fn end(address: Address) -> RegionId {
    RegionId(address.0 as u32)
}

impl Post {
    pub(super) fn new(network: Network) -> Self {
        Self {
            network,
            channels: BTreeMap::new(),
            incarnations: BTreeMap::new(),
            dead: BTreeSet::new(),
            arrived: VecDeque::new(),
            busy: BTreeSet::new(),
            carried: BTreeMap::new(),
        }
    }

    /// Someone begins to hear, as this incarnation.
    pub(super) fn born(&mut self, who: Address, incarnation: u32) {
        self.forget(who);
        self.dead.remove(&who);
        self.incarnations.insert(who, incarnation);
        // A process that starts again has another address in a live cluster: what is said to it from now on is not meant for the one
        // before, even if that way has not heard of the change yet.
        for ((_, to, _), channel) in &mut self.channels {
            if *to == who {
                channel.expect_peer(incarnation);
            }
        }
    }

    /// Someone neither hears nor speaks any more.
    pub(super) fn died(&mut self, who: Address) {
        self.forget(who);
        self.dead.insert(who);
    }

    /// Someone has said its last word: nothing is delivered to it any more, but what it said goes on until it is acknowledged.
    pub(super) fn farewell(&mut self, who: Address) {
        self.arrived.retain(|(_, to, _)| *to != who);
    }

    fn forget(&mut self, who: Address) {
        self.channels.retain(|(from, ..), _| *from != who);
        self.busy.retain(|(from, ..)| *from != who);
    }

    /// How a way is from now on.
    pub(super) fn line(
        &mut self,
        from: Address,
        to: Address,
        conditions: NetworkConditions,
        open: bool,
    ) {
        self.network.set_link(end(from), end(to), Some(conditions));
        match open {
            true => self.network.heal(end(from), end(to)),
            false => self.network.cut(end(from), end(to)),
        }
    }

    pub(super) fn send(&mut self, now: SimTime, from: Address, transmit: &Transmit) {
        let stream = transmit.message.stream();
        let reliable = transmit.delivery == Delivery::Reliable;
        let carried = self.carried.entry(stream).or_default();
        carried.sent += 1;
        carried.reliable += u64::from(reliable);
        let bytes = encode(&transmit.message);
        if !reliable {
            let bare = [&[BARE], &bytes[..]].concat();
            return self.network.send(now, end(from), end(transmit.to), bare);
        }
        let way = (from, transmit.to, stream);
        // What does not fit waits for a peer that has not answered for very long, and would be stale by then.
        let _ = self.channel(way).send(now, bytes);
        self.busy.insert(way);
    }

    fn channel(&mut self, way: Way) -> &mut Channel {
        let (from, to, _) = way;
        let expected = self.incarnations.get(&to).copied();
        let incarnation = self.incarnations.get(&from).copied().unwrap_or(1);
        self.channels.entry(way).or_insert_with(|| {
            let config = ChannelConfig::default();
            let mut channel =
                Channel::new(EndpointId(from.0), EndpointId(to.0), incarnation, config);
            expected
                .into_iter()
                .for_each(|peer| channel.expect_peer(peer));
            channel
        })
    }

    /// Channels say what they have to say.
    pub(super) fn pump(&mut self, now: SimTime) {
        let due: Vec<Way> = self.busy.iter().copied().collect();
        for way in due {
            let Some(channel) = self.channels.get_mut(&way) else {
                self.busy.remove(&way);
                continue;
            };
            let (from, to, stream) = way;
            while let Some(bytes) = channel.poll_transmit(now) {
                let bytes = [&[number(stream)], &bytes[..]].concat();
                self.network.send(now, end(from), end(to), bytes);
            }
            if channel.next_wakeup().is_none() {
                self.busy.remove(&way);
            }
        }
    }

    /// The next message that has arrived by now.
    pub(super) fn receive(&mut self, now: SimTime) -> Option<(Address, Address, Message)> {
        loop {
            if let Some(message) = self.arrived.pop_front() {
                return Some(message);
            }
            let datagram = self.network.pop_arrival(now)?;
            let (from, to) = (
                Address(datagram.from.0.into()),
                Address(datagram.to.0.into()),
            );
            if self.dead.contains(&to) {
                continue;
            }
            match datagram.bytes.split_first() {
                Some((&BARE, bytes)) => self.open(from, to, bytes),
                Some((stream, bytes)) => {
                    let stream = STREAMS[usize::from(*stream)];
                    self.through_channel(now, (to, from, stream), bytes);
                }
                None => {}
            }
        }
    }

    /// A datagram for the owner of this way, from its other end.
    fn through_channel(&mut self, now: SimTime, way: Way, bytes: &[u8]) {
        let (to, from, _) = way;
        let channel = self.channel(way);
        let _ = channel.handle_datagram(now, bytes);
        while channel.poll_event().is_some() {}
        let mut delivered = Vec::new();
        while let Some(payload) = channel.poll_delivered() {
            delivered.push(payload);
        }
        self.busy.insert(way);
        for payload in delivered {
            self.open(from, to, &payload);
        }
    }

    fn open(&mut self, from: Address, to: Address, bytes: &[u8]) {
        let message = decode(bytes).expect("nobody damages messages here");
        self.carried.entry(message.stream()).or_default().arrived += 1;
        self.arrived.push_back((from, to, message));
    }

    /// When something arrives or must be sent again.
    pub(super) fn next_event(&self) -> Option<SimTime> {
        let channels = self
            .busy
            .iter()
            .filter_map(|way| self.channels.get(way)?.next_wakeup());
        channels.chain(self.network.next_arrival()).min()
    }

    /// Messages given to the network, reliable or not.
    pub(super) fn messages(&self) -> u64 {
        self.carried.values().map(|carried| carried.sent).sum()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.network.stats().bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::groups::{Ballot, GroupEpoch, ObjectKey, ObjectState, VoteId};
    use glam::DVec3;

    const FROM: Address = Address(1);
    const TO: Address = Address(2);
    const LATENCY_MS: f64 = 20.0;

    fn post(loss: f64) -> Post {
        let conditions = NetworkConditions {
            latency_ms: LATENCY_MS,
            loss,
            ..NetworkConditions::perfect()
        };
        let mut post = Post::new(Network::new(1, conditions));
        post.born(FROM, 1);
        post.born(TO, 1);
        post
    }

    fn must_arrive(message: Message) -> Transmit {
        Transmit {
            to: TO,
            local: false,
            delivery: Delivery::Reliable,
            message,
        }
    }

    fn transfer() -> Message {
        let state = |id| ObjectState::at_rest(ObjectKey::persistent(id), DVec3::ZERO);
        Message::Transfer {
            epoch: GroupEpoch(1),
            hand_off: false,
            states: (0..1024).map(state).collect(),
        }
    }

    fn ballot() -> Message {
        Message::VoteCast {
            vote: VoteId(1),
            ballot: Ballot::For,
        }
    }

    /// What arrives when, milliseconds, until everything has.
    fn arrivals(post: &mut Post) -> Vec<(f64, &'static str)> {
        let mut now = SimTime::ZERO;
        let mut arrivals = Vec::new();
        loop {
            post.pump(now);
            while let Some((_, _, message)) = post.receive(now) {
                arrivals.push((now.as_millis(), message.name()));
            }
            post.pump(now);
            match post.next_event() {
                Some(next) => now = next.max(now + SimTime(1000)),
                None => return arrivals,
            }
        }
    }

    /// ST-42: a ballot does not wait behind transfers that take many ways to and fro.
    #[test]
    fn st_42_a_ballot_passes_a_huge_transfer() {
        let mut post = post(0.0);
        for _ in 0..60 {
            post.send(SimTime::ZERO, FROM, &must_arrive(transfer()));
        }
        post.send(SimTime::ZERO, FROM, &must_arrive(ballot()));
        let arrivals = arrivals(&mut post);
        assert_eq!(arrivals.len(), 61);
        let at = |name| arrivals.iter().find(|(_, what)| *what == name);
        let (ballot, _) = at("VoteCast").expect("it has arrived");
        let last = arrivals.last().expect("there are some");
        // There and back to find each other, and there.
        assert!(*ballot <= 3.0 * LATENCY_MS + 1.0, "at {ballot} ms");
        assert_eq!(last.1, "Transfer");
        assert!(
            last.0 > ballot + 2.0 * LATENCY_MS,
            "{last:?} after {ballot}"
        );
    }

    /// ST-42: nor behind one that was lost and has to be sent again: each stream has its own order. Within a stream it is kept.
    #[test]
    fn st_42_a_lost_transfer_delays_its_own_stream_only() {
        let mut post = post(0.3);
        for _ in 0..20 {
            post.send(SimTime::ZERO, FROM, &must_arrive(transfer()));
            post.send(SimTime::ZERO, FROM, &must_arrive(ballot()));
        }
        let arrivals = arrivals(&mut post);
        let of = |name| arrivals.iter().filter(move |(_, what)| *what == name);
        assert_eq!((of("VoteCast").count(), of("Transfer").count()), (20, 20));
        let end = |name| of(name).next_back().expect("they have arrived").0;
        assert!(end("VoteCast") < end("Transfer"), "{arrivals:?}");
    }
}
