//! All channels of one end: payloads go in and come out in order, whatever the carrier does to the datagrams.

use crate::carrier::{Carrier, Datagram};
use channel::{Channel, ChannelConfig, ChannelEvent, ChannelFull, EndpointId};
use domain::SimTime;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Something came out.
#[derive(Debug, PartialEq, Eq)]
pub enum Mail {
    /// A payload, in the order in which its sender sent it.
    Payload {
        /// Who.
        from: EndpointId,
        /// What.
        bytes: Vec<u8>,
    },
    /// The peer is another one than before, behind the same name: it remembers nothing, and what was under way to its predecessor is gone.
    PeerRestarted {
        /// Who.
        peer: EndpointId,
        /// Its incarnation.
        incarnation: u32,
    },
}

/// The channels of one end, and their carrier. Time is any clock that does not run backwards.
pub struct PostOffice {
    me: EndpointId,
    incarnation: u32,
    carrier: Arc<dyn Carrier>,
    channels: BTreeMap<EndpointId, Channel>,
    /// The lowest incarnation of a peer that is listened to.
    floors: BTreeMap<EndpointId, u32>,
    bad: u64,
}

impl PostOffice {
    /// Opens for the end `me`; a later incarnation replaces an earlier one.
    pub fn new(me: EndpointId, incarnation: u32, carrier: Arc<dyn Carrier>) -> Self {
        Self {
            me,
            incarnation,
            carrier,
            channels: BTreeMap::new(),
            floors: BTreeMap::new(),
            bad: 0,
        }
    }

    fn channel(&mut self, peer: EndpointId) -> &mut Channel {
        let (me, incarnation) = (self.me, self.incarnation);
        let floor = self.floors.get(&peer).copied();
        self.channels.entry(peer).or_insert_with(|| {
            let mut channel = Channel::new(me, peer, incarnation, ChannelConfig::default());
            if let Some(floor) = floor {
                channel.expect_peer(floor);
            }
            channel
        })
    }

    /// Fences the peer: earlier incarnations of it are not heard from now on, even before this one has spoken.
    pub fn expect(&mut self, peer: EndpointId, incarnation: u32) {
        self.floors.insert(peer, incarnation);
        if let Some(channel) = self.channels.get_mut(&peer) {
            channel.expect_peer(incarnation);
        }
    }

    /// Forgets a peer that will not be spoken to again.
    pub fn forget(&mut self, peer: EndpointId) {
        self.channels.remove(&peer);
        self.floors.remove(&peer);
    }

    /// Opens a channel before there is anything to say, so that the first payload does not wait for a greeting.
    pub fn greet(&mut self, peer: EndpointId) {
        self.channel(peer);
    }

    /// Sends a payload. Refused if the peer has not answered for so long that too much waits for it.
    pub fn send(
        &mut self,
        now: SimTime,
        to: EndpointId,
        payload: Vec<u8>,
    ) -> Result<(), ChannelFull> {
        self.channel(to).send(now, payload)
    }

    /// Takes a datagram; what it completes is appended to `mail`. What is not a channel's is counted and dropped.
    pub fn handle_datagram(&mut self, now: SimTime, datagram: &Datagram, mail: &mut Vec<Mail>) {
        let peer = datagram.from;
        let channel = self.channel(peer);
        let understood = channel.handle_datagram(now, &datagram.bytes).is_ok();
        while let Some(ChannelEvent::PeerRestarted { incarnation }) = channel.poll_event() {
            mail.push(Mail::PeerRestarted { peer, incarnation });
        }
        while let Some(bytes) = channel.poll_delivered() {
            mail.push(Mail::Payload { from: peer, bytes });
        }
        self.bad += u64::from(!understood);
    }

    /// Hands everything that is due to the carrier.
    pub fn flush(&mut self, now: SimTime) {
        for (peer, channel) in &mut self.channels {
            while let Some(datagram) = channel.poll_transmit(now) {
                self.carrier.send(self.me, *peer, &datagram);
            }
        }
    }

    /// When [`Self::flush`] should be called again, if nothing happens before.
    pub fn next_wakeup(&self) -> Option<SimTime> {
        self.channels
            .values()
            .filter_map(Channel::next_wakeup)
            .min()
    }

    /// Which incarnation of a peer we listen to, once known.
    pub fn incarnation_of(&self, peer: EndpointId) -> Option<u32> {
        self.channels.get(&peer)?.peer_incarnation()
    }

    /// Bytes that wait for this peer or are not acknowledged yet.
    pub fn backlog(&self, peer: EndpointId) -> usize {
        self.channels
            .get(&peer)
            .map_or(0, Channel::unacknowledged_bytes)
    }

    /// Bytes of all datagrams sent to these peers.
    pub fn bytes_sent(&self, to: impl Fn(EndpointId) -> bool) -> u64 {
        let channels = self.channels.iter().filter(|(peer, _)| to(**peer));
        channels.map(|(_, channel)| channel.stats().bytes).sum()
    }

    /// Datagrams that were no channel's.
    pub fn bad_datagrams(&self) -> u64 {
        self.bad
    }
}
