//! The post of the group cores: pings as single datagrams, what must arrive over channels, both at ends of their own.

use super::address;
use crate::carrier::{Carrier, Datagram, Switchboard};
use crate::clock::ClusterClock;
use crate::names::NodeId;
use crate::post_office::{Mail, PostOffice};
use ::groups::{Address, Delivery, Message, Transmit, decode, encode};
use channel::EndpointId;
use domain::SimTime;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::sync::mpsc;

/// So many datagrams may wait for a process that has no time; more are lost, as on any network.
const MOST_WAITING: usize = 1024;
/// So much may wait for a peer that does not answer.
const LARGEST_BACKLOG: usize = 1 << 20;

/// Something that has come.
#[derive(Debug, PartialEq)]
pub(super) enum News {
    /// A message, and when it arrived.
    Heard(SimTime, Address, Message),
    /// This process has begun anew with us: what was under way to it is gone.
    Restarted(NodeId),
}

struct Arrival {
    at: SimTime,
    to: EndpointId,
    datagram: Datagram,
}

/// One process's post.
pub(super) struct Post {
    me: NodeId,
    clock: Arc<ClusterClock>,
    carrier: Arc<dyn Carrier>,
    letters: PostOffice,
    inbox: mpsc::Receiver<Arrival>,
    waiting: VecDeque<Arrival>,
    /// Whoever the control plane names. Strangers are not heard, and get no channel.
    known: BTreeSet<NodeId>,
    /// The latest time that was told to anybody: time does not run backwards.
    latest: SimTime,
    overflown: Arc<AtomicU64>,
    refused: u64,
}

impl Post {
    /// Opens the two ends. Those of an earlier post of this process are not heard any more.
    pub(super) fn open(
        me: NodeId,
        clock: Arc<ClusterClock>,
        carrier: Arc<dyn Carrier>,
        switchboard: &Switchboard,
    ) -> Self {
        let (sender, inbox) = mpsc::channel(MOST_WAITING);
        let overflown = Arc::new(AtomicU64::new(0));
        for to in [me.group_endpoint(), me.group_pulse_endpoint()] {
            let (sender, clock) = (sender.clone(), Arc::clone(&clock));
            let overflown = Arc::clone(&overflown);
            // The time is taken on the carrier's thread: what is measured is the way, not how long it lay here.
            let hear = move |datagram| {
                let at = clock.local();
                if sender.try_send(Arrival { at, to, datagram }).is_err() {
                    overflown.fetch_add(1, Relaxed);
                }
            };
            switchboard.connect(to, Arc::new(hear));
        }
        // Tenths of a second since the process began: later posts are later incarnations.
        let incarnation = u32::try_from(clock.local().0 / 100_000_000).unwrap_or(u32::MAX);
        Self {
            me,
            clock,
            letters: PostOffice::new(me.group_endpoint(), incarnation, Arc::clone(&carrier)),
            carrier,
            inbox,
            waiting: VecDeque::new(),
            known: BTreeSet::new(),
            latest: SimTime::ZERO,
            overflown,
            refused: 0,
        }
    }

    /// Who is there now. Whoever is gone is forgotten; should it come back, both begin anew.
    pub(super) fn meet(&mut self, known: BTreeSet<NodeId>) {
        for gone in self.known.difference(&known) {
            let end = gone.group_endpoint();
            // It may not know that it was gone: only a later incarnation of ours tells it that our numbers begin again.
            self.letters.renew(end);
            self.letters.forget(end);
        }
        self.known = known;
    }

    /// Waits until something has come, or until this time. May be dropped and called again without losing anything.
    pub(super) async fn wait(&mut self, until: SimTime) {
        let now = self.clock.local();
        let channels = self.letters.next_wakeup().unwrap_or(until);
        let wait = Duration::from_nanos(until.min(channels).since(now).0);
        if let Ok(Some(first)) = tokio::time::timeout(wait, self.inbox.recv()).await {
            self.waiting.push_back(first);
        }
    }

    /// Everything that has come.
    pub(super) fn receive(&mut self) -> Vec<News> {
        while let Ok(arrival) = self.inbox.try_recv() {
            self.waiting.push_back(arrival);
        }
        let mut news = Vec::new();
        while let Some(arrival) = self.waiting.pop_front() {
            self.latest = self.latest.max(arrival.at);
            self.read(arrival, &mut news);
        }
        news
    }

    fn read(&mut self, arrival: Arrival, news: &mut Vec<News>) {
        let Arrival { to, datagram, .. } = arrival;
        let peer = NodeId::of_endpoint(datagram.from).filter(|peer| self.known.contains(peer));
        let Some(peer) = peer else {
            self.refused += 1;
            return;
        };
        if to == self.me.group_pulse_endpoint() {
            return self.read_message(peer, &datagram.bytes, news);
        }
        let mut mail = Vec::new();
        self.letters
            .handle_datagram(self.latest, &datagram, &mut mail);
        for item in mail {
            match item {
                Mail::Payload { bytes, .. } => self.read_message(peer, &bytes, news),
                Mail::PeerRestarted { .. } => news.push(News::Restarted(peer)),
            }
        }
    }

    fn read_message(&mut self, from: NodeId, bytes: &[u8], news: &mut Vec<News>) {
        match decode(bytes) {
            Ok(message) => news.push(News::Heard(self.latest, address(from), message)),
            Err(_) => self.refused += 1,
        }
    }

    /// The time for whatever happens next: not before anything that has happened.
    pub(super) fn now(&mut self) -> SimTime {
        self.latest = self.latest.max(self.clock.local());
        self.latest
    }

    /// Sends a message, if its receiver is still there.
    pub(super) fn send(&mut self, now: SimTime, transmit: &Transmit) {
        let to = NodeId(transmit.to.0);
        if !self.known.contains(&to) {
            return;
        }
        let bytes = encode(&transmit.message);
        match transmit.delivery {
            Delivery::Unreliable => {
                let from = self.me.group_pulse_endpoint();
                self.carrier.send(from, to.group_pulse_endpoint(), &bytes);
            }
            Delivery::Reliable => {
                let end = to.group_endpoint();
                let full = self.letters.backlog(end) + bytes.len() > LARGEST_BACKLOG;
                if full || self.letters.send(now, end, bytes).is_err() {
                    self.refused += 1;
                }
            }
        }
    }

    /// Channels say what they have to say.
    pub(super) fn flush(&mut self, now: SimTime) {
        self.letters.flush(now);
    }

    /// How many messages could not be read, came from strangers or had no room, since this was last asked.
    pub(super) fn take_refused(&mut self) -> u64 {
        std::mem::take(&mut self.refused) + self.overflown.swap(0, Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::carrier::Traffic;
    use ::groups::{GroupId, MachineId};
    use rustc_hash::FxHashMap;
    use std::net::SocketAddr;
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;

    const A: NodeId = NodeId(11);
    const B: NodeId = NodeId(13);

    /// Carries to everyone at once, and loses every other datagram if told to.
    #[derive(Default)]
    struct Wire {
        boards: Mutex<Vec<Switchboard>>,
        lossy: AtomicBool,
        count: AtomicU64,
    }

    impl Carrier for Wire {
        fn send(&self, from: EndpointId, to: EndpointId, bytes: &[u8]) {
            let count = self.count.fetch_add(1, Relaxed);
            if self.lossy.load(Relaxed) && count.is_multiple_of(2) {
                return;
            }
            assert!(bytes.len() <= crate::carrier::MAX_DATAGRAM_BYTES);
            for board in self.boards.lock().expect("sound").iter() {
                let bytes = bytes.to_vec();
                board.deliver(to, Datagram { from, bytes });
            }
        }

        fn set_routes(&self, _: FxHashMap<EndpointId, SocketAddr>) {}

        fn traffic(&self) -> Traffic {
            Traffic::default()
        }
    }

    struct Room {
        wire: Arc<Wire>,
        clock: Arc<ClusterClock>,
        board: Switchboard,
    }

    impl Room {
        fn new() -> Self {
            let (wire, board) = (Arc::new(Wire::default()), Switchboard::default());
            wire.boards.lock().expect("sound").push(board.clone());
            let clock = Arc::new(ClusterClock::new());
            Self { wire, clock, board }
        }

        fn open(&self, me: NodeId) -> Post {
            let carrier = Arc::clone(&self.wire) as Arc<dyn Carrier>;
            let mut post = Post::open(me, Arc::clone(&self.clock), carrier, &self.board);
            post.meet([A, B].into_iter().collect());
            post
        }
    }

    fn transmit(to: NodeId, message: Message) -> Transmit {
        Transmit {
            to: address(to),
            local: false,
            delivery: message.delivery(Default::default()),
            message,
        }
    }

    /// As many as do not fit one datagram.
    fn long_message() -> Message {
        Message::Allocate {
            epoch: ::groups::GroupEpoch(1),
            group: GroupId(1),
            members: (0..1000).map(::groups::NodeId).collect(),
            objects: Vec::new(),
        }
    }

    fn talk(posts: &mut [&mut Post]) -> Vec<News> {
        let mut heard = Vec::new();
        for _ in 0..200 {
            for post in posts.iter_mut() {
                heard.extend(post.receive());
                let now = post.now();
                post.flush(now);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        heard
    }

    #[test]
    fn what_must_arrive_arrives_in_order_on_a_line_that_loses_half() {
        let room = Room::new();
        let (mut a, mut b) = (room.open(A), room.open(B));
        room.wire.lossy.store(true, Relaxed);
        let said = [
            Message::Join {
                machine: MachineId(1),
            },
            long_message(),
            Message::Leave,
        ];
        for message in &said {
            a.send(SimTime::ZERO, &transmit(B, message.clone()));
        }
        let heard: Vec<Message> = talk(&mut [&mut a, &mut b])
            .into_iter()
            .filter_map(|news| match news {
                News::Heard(_, from, message) => (from == address(A)).then_some(message),
                News::Restarted(_) => None,
            })
            .collect();
        assert_eq!(heard, said);
        assert_eq!((a.take_refused(), b.take_refused()), (0, 0));
    }

    /// What is measured must not contain how long a busy process let a datagram lie.
    #[test]
    fn the_time_of_a_message_is_when_it_came_not_when_it_was_read() {
        let room = Room::new();
        let (mut a, mut b) = (room.open(A), room.open(B));
        let before = room.clock.local();
        a.send(before, &transmit(B, Message::Ping { nonce: 7 }));
        let after = room.clock.local();
        std::thread::sleep(Duration::from_millis(30));
        let news = b.receive();
        let [News::Heard(at, _, Message::Ping { nonce: 7 })] = news[..] else {
            panic!("{news:?}");
        };
        assert!(before <= at && at <= after, "{before:?} {at:?} {after:?}");
        assert!(b.now() >= at + SimTime::from_millis(29.0));
    }

    #[test]
    fn strangers_and_nonsense_are_counted_and_change_nothing() {
        let room = Room::new();
        let mut b = room.open(B);
        let stranger = NodeId(17);
        for from in [stranger.group_endpoint(), stranger.group_pulse_endpoint()] {
            for to in [B.group_endpoint(), B.group_pulse_endpoint()] {
                room.wire.send(from, to, &encode(&Message::Leave));
            }
        }
        room.wire.send(
            A.group_pulse_endpoint(),
            B.group_pulse_endpoint(),
            b"\x01\xff",
        );
        assert_eq!(b.receive(), []);
        assert_eq!(b.take_refused(), 5);
        assert_eq!(b.take_refused(), 0, "told once");
        let sent = room.wire.count.load(Relaxed);
        b.send(SimTime::ZERO, &transmit(stranger, Message::Leave));
        b.flush(SimTime::ZERO);
        assert_eq!(room.wire.count.load(Relaxed), sent, "nor spoken to");
    }

    #[test]
    fn a_flood_is_lost_and_not_kept() {
        let room = Room::new();
        let mut b = room.open(B);
        let ping = encode(&Message::Ping { nonce: 1 });
        for _ in 0..MOST_WAITING + 10 {
            room.wire
                .send(A.group_pulse_endpoint(), B.group_pulse_endpoint(), &ping);
        }
        assert_eq!(b.receive().len(), MOST_WAITING);
        assert_eq!(b.take_refused(), 10);
    }

    /// The control plane forgot one side for a moment: the other had not noticed, and must not take what is new for what it has had.
    #[test]
    fn who_was_forgotten_and_comes_back_is_heard_again() {
        let room = Room::new();
        let (mut a, mut b) = (room.open(A), room.open(B));
        a.send(SimTime::ZERO, &transmit(B, Message::Alive));
        talk(&mut [&mut a, &mut b]);
        a.meet(BTreeSet::new());
        a.meet([A, B].into_iter().collect());
        let now = a.now();
        a.send(now, &transmit(B, Message::Leave));
        let heard = talk(&mut [&mut a, &mut b]);
        assert!(heard.contains(&News::Restarted(A)), "{heard:?}");
        let left = |news: &News| matches!(news, News::Heard(_, _, Message::Leave));
        assert!(heard.iter().any(left), "{heard:?}");
    }
}
