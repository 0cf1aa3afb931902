//! How messages travel: reliable ones through channels, the others as they are.

use crate::network::{Channel, ChannelConfig, Network, NetworkConditions};
use ::groups::{Address, Delivery, Message, Transmit, decode, encode};
use channel::EndpointId;
use domain::{RegionId, SimTime};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The two ends of a way.
pub type Ends = (Address, Address);

/// The first byte of a datagram says which it is.
const CHANNEL: u8 = 0;
const BARE: u8 = 1;

/// The post of the whole run.
pub(super) struct Post {
    network: Network,
    /// From (its owner) to.
    channels: BTreeMap<Ends, Channel>,
    incarnations: BTreeMap<Address, u32>,
    dead: BTreeSet<Address>,
    arrived: VecDeque<(Address, Address, Message)>,
    /// Channels that may have something to send.
    busy: BTreeSet<Ends>,
    pub(super) messages: u64,
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
            messages: 0,
        }
    }

    /// Someone begins to hear, as this incarnation.
    pub(super) fn born(&mut self, who: Address, incarnation: u32) {
        self.forget(who);
        self.dead.remove(&who);
        self.incarnations.insert(who, incarnation);
        // A process that starts again has another address in a live cluster: what is said to it from now on is not meant for the one
        // before, even if that way has not heard of the change yet.
        for ((_, to), channel) in &mut self.channels {
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
        self.channels.retain(|(from, _), _| *from != who);
        self.busy.retain(|(from, _)| *from != who);
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
        self.messages += 1;
        let bytes = encode(&transmit.message);
        match transmit.delivery {
            Delivery::Unreliable => self.network.send(
                now,
                end(from),
                end(transmit.to),
                [&[BARE], &bytes[..]].concat(),
            ),
            Delivery::Reliable => {
                // What does not fit waits for a peer that has not answered for very long, and would be stale by then.
                let _ = self.channel(from, transmit.to).send(now, bytes);
                self.busy.insert((from, transmit.to));
            }
        }
    }

    fn channel(&mut self, from: Address, to: Address) -> &mut Channel {
        let expected = self.incarnations.get(&to).copied();
        let incarnation = self.incarnations.get(&from).copied().unwrap_or(1);
        self.channels.entry((from, to)).or_insert_with(|| {
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
        let due: Vec<Ends> = self.busy.iter().copied().collect();
        for ends in due {
            let Some(channel) = self.channels.get_mut(&ends) else {
                self.busy.remove(&ends);
                continue;
            };
            while let Some(bytes) = channel.poll_transmit(now) {
                self.network.send(
                    now,
                    end(ends.0),
                    end(ends.1),
                    [&[CHANNEL], &bytes[..]].concat(),
                );
            }
            if channel.next_wakeup().is_none() {
                self.busy.remove(&ends);
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
                Some((_, bytes)) => self.through_channel(now, from, to, bytes),
                None => {}
            }
        }
    }

    fn through_channel(&mut self, now: SimTime, from: Address, to: Address, bytes: &[u8]) {
        let channel = self.channel(to, from);
        let _ = channel.handle_datagram(now, bytes);
        while channel.poll_event().is_some() {}
        let mut delivered = Vec::new();
        while let Some(payload) = channel.poll_delivered() {
            delivered.push(payload);
        }
        self.busy.insert((to, from));
        for payload in delivered {
            self.open(from, to, &payload);
        }
    }

    fn open(&mut self, from: Address, to: Address, bytes: &[u8]) {
        let message = decode(bytes).expect("nobody damages messages here");
        self.arrived.push_back((from, to, message));
    }

    /// When something arrives or must be sent again.
    pub(super) fn next_event(&self) -> Option<SimTime> {
        let channels = self
            .busy
            .iter()
            .filter_map(|ends| self.channels.get(ends)?.next_wakeup());
        channels.chain(self.network.next_arrival()).min()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.network.stats().bytes
    }
}
