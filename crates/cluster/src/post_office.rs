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
    /// How often a channel was begun anew from our side.
    renewals: BTreeMap<EndpointId, u32>,
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
            renewals: BTreeMap::new(),
            bad: 0,
        }
    }

    fn channel(&mut self, peer: EndpointId) -> &mut Channel {
        let renewals = self.renewals.get(&peer).copied().unwrap_or(0);
        let (me, incarnation) = (self.me, self.incarnation + renewals);
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

    /// All peers to whom there is a channel.
    pub fn peers(&self) -> impl Iterator<Item = EndpointId> {
        self.channels.keys().copied()
    }

    /// Forgets all peers but these.
    pub fn retain(&mut self, keep: impl Fn(EndpointId) -> bool) {
        self.channels.retain(|peer, _| keep(*peer));
        self.floors.retain(|peer, _| keep(*peer));
        self.renewals.retain(|peer, _| keep(*peer));
    }

    /// Begins the channel to a peer anew, as if this process had been started again: the peer forgets what was under way to us, and so do we. For those whose peer
    /// has given them up, because they did not answer for long; only ends that are not fenced by their incarnation may do so.
    pub fn renew(&mut self, peer: EndpointId) {
        *self.renewals.entry(peer).or_default() += 1;
        self.channels.remove(&peer);
        self.channel(peer);
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

    /// How many peers are remembered in one way or another.
    #[cfg(test)]
    pub fn remembered(&self) -> usize {
        let floors = self.floors.keys().chain(self.renewals.keys());
        let all: std::collections::BTreeSet<_> = self.channels.keys().chain(floors).collect();
        all.len()
    }

    /// Datagrams that were no channel's.
    pub fn bad_datagrams(&self) -> u64 {
        self.bad
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::carrier::Traffic;
    use rustc_hash::FxHashMap;
    use std::net::SocketAddr;
    use std::sync::Mutex;

    const REGION: EndpointId = EndpointId(1);
    const GATEWAY: EndpointId = EndpointId(2);

    /// Keeps what is sent until someone takes it.
    #[derive(Default)]
    struct Tray(Mutex<Vec<Datagram>>);

    impl Tray {
        fn take(&self) -> Vec<Datagram> {
            std::mem::take(&mut *self.0.lock().expect("no test panics with it"))
        }
    }

    impl Carrier for Tray {
        fn send(&self, from: EndpointId, _: EndpointId, bytes: &[u8]) {
            let bytes = bytes.to_vec();
            self.0.lock().expect("sound").push(Datagram { from, bytes });
        }

        fn set_routes(&self, _: FxHashMap<EndpointId, SocketAddr>) {}

        fn traffic(&self) -> Traffic {
            Traffic::default()
        }
    }

    struct Pair {
        region: PostOffice,
        gateway: PostOffice,
        trays: [Arc<Tray>; 2],
        now: SimTime,
    }

    impl Pair {
        fn new() -> Self {
            let trays = [Arc::new(Tray::default()), Arc::new(Tray::default())];
            let [a, b] = trays.clone();
            Self {
                // A region's incarnation is its term.
                region: PostOffice::new(REGION, 7, a),
                gateway: PostOffice::new(GATEWAY, 0, b),
                trays,
                now: SimTime::ZERO,
            }
        }

        /// Both talk for a while; returns what the gateway and the region have heard.
        fn talk(&mut self) -> [Vec<Mail>; 2] {
            let mut heard = [Vec::new(), Vec::new()];
            for _ in 0..100 {
                self.now += SimTime(5_000_000);
                self.region.flush(self.now);
                self.gateway.flush(self.now);
                for datagram in self.trays[0].take() {
                    self.gateway
                        .handle_datagram(self.now, &datagram, &mut heard[0]);
                }
                for datagram in self.trays[1].take() {
                    self.region
                        .handle_datagram(self.now, &datagram, &mut heard[1]);
                }
            }
            heard
        }
    }

    fn payload(from: EndpointId, bytes: &[u8]) -> Mail {
        let bytes = bytes.to_vec();
        Mail::Payload { from, bytes }
    }

    /// A subscriber that did not answer for so long that its channel was full was given up for good before; now it begins anew.
    #[test]
    fn who_was_given_up_begins_anew() {
        let mut pair = Pair::new();
        pair.gateway
            .send(pair.now, REGION, b"subscribe".to_vec())
            .expect("room");
        assert_eq!(pair.talk()[1], [payload(GATEWAY, b"subscribe")]);
        // The gateway hangs; the region talks on until nothing fits any more, and gives it up.
        let news = vec![0; 1 << 20];
        while pair.region.send(pair.now, GATEWAY, news.clone()).is_ok() {}
        pair.region.flush(pair.now);
        let old_datagrams = pair.trays[0].take();
        assert!(!old_datagrams.is_empty());
        pair.region.forget(GATEWAY);
        // It goes on; what was under way to it means nothing any more, in any order.
        pair.gateway.renew(REGION);
        pair.gateway
            .send(pair.now, REGION, b"again".to_vec())
            .expect("room");
        let mut heard = Vec::new();
        for datagram in &old_datagrams {
            pair.gateway.handle_datagram(pair.now, datagram, &mut heard);
        }
        assert_eq!(heard, []);
        let [_, region] = pair.talk();
        assert!(region.contains(&payload(GATEWAY, b"again")), "{region:?}");
        pair.region
            .send(pair.now, GATEWAY, b"everything".to_vec())
            .expect("room");
        assert!(pair.talk()[0].contains(&payload(REGION, b"everything")));
    }
}
