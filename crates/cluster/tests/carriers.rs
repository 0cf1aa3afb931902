//! Every carrier takes what channels give it to the other side, through a restart too; strangers are not heard.

#[cfg(feature = "distributed")]
mod certificates;

use channel::EndpointId;
use cluster::carrier::{Carrier, ClusterKey, Datagram, Switchboard, UdpCarrier};
use cluster::post_office::{Mail, PostOffice};
use domain::SimTime;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

const A: EndpointId = EndpointId(0xa);
const B: EndpointId = EndpointId(0xb);
const PAYLOADS: u32 = 2000;
/// More may be on the way, less is no load.
const WINDOW: u32 = 50;
/// Longer than anything takes, even on a busy machine.
const LONG: Duration = Duration::from_secs(60);

fn key() -> ClusterKey {
    ClusterKey::new(b"secret")
}

/// Two processes' carriers, made as needed.
trait Network {
    /// Opens the carrier of one of the two ends, as its process would at its start.
    fn open(&mut self, end: EndpointId, switchboard: Switchboard) -> Arc<dyn Carrier>;
    /// Ends it, as the end of its process would.
    fn close(&mut self, end: EndpointId);
}

/// One end, and a program that sends numbers and expects numbers in order.
struct Peer {
    me: EndpointId,
    other: EndpointId,
    office: PostOffice,
    inbox: mpsc::Receiver<Datagram>,
    carrier: Arc<dyn Carrier>,
    sent: u32,
    received: u32,
    restarts_seen: u32,
}

impl Peer {
    fn start(network: &mut dyn Network, me: EndpointId, incarnation: u32) -> Self {
        let switchboard = Switchboard::default();
        let (sender, inbox) = mpsc::channel();
        // After the end of the peer nobody reads it.
        switchboard.connect(me, Arc::new(move |datagram| drop(sender.send(datagram))));
        let carrier = network.open(me, switchboard);
        Self {
            me,
            other: if me == A { B } else { A },
            office: PostOffice::new(me, incarnation, Arc::clone(&carrier)),
            inbox,
            carrier,
            sent: 0,
            received: 0,
            restarts_seen: 0,
        }
    }

    /// A payload: its number, then so many bytes that every tenth is cut into several datagrams.
    fn payload(&self, number: u32) -> Vec<u8> {
        let mut bytes = number.to_le_bytes().to_vec();
        let length = if number.is_multiple_of(10) { 3000 } else { 200 };
        bytes.resize(length, self.me.0 as u8);
        bytes
    }

    /// One round: receives, sends up to what the other has not taken yet, flushes.
    fn go_on(&mut self, now: SimTime, until: u32, taken_by_other: u32) {
        let mut mail = Vec::new();
        while let Ok(datagram) = self.inbox.try_recv() {
            self.office.handle_datagram(now, &datagram, &mut mail);
        }
        for item in mail {
            match item {
                Mail::Payload { from, bytes } => {
                    assert_eq!(from, self.other);
                    let number = u32::from_le_bytes(*bytes.first_chunk().expect("a number"));
                    assert_eq!(number, self.received, "in order, none missing, none twice");
                    self.received += 1;
                }
                // It remembers nothing: what it had not taken is said again.
                Mail::PeerRestarted { .. } => {
                    self.restarts_seen += 1;
                    self.sent = taken_by_other;
                }
            }
        }
        while self.sent < until.min(taken_by_other + WINDOW) {
            let payload = self.payload(self.sent);
            self.office
                .send(now, self.other, payload)
                .expect("the window is smaller than the channel's");
            self.sent += 1;
        }
        self.office.flush(now);
    }
}

/// Lets both go on until each has received so many.
fn exchange(clock: Instant, a: &mut Peer, b: &mut Peer, until: u32) {
    let deadline = Instant::now() + LONG;
    while a.received < until || b.received < until {
        let now = SimTime::from_secs(clock.elapsed().as_secs_f64());
        a.go_on(now, until, b.received);
        b.go_on(now, until, a.received);
        assert!(
            Instant::now() < deadline,
            "a has {} of {until}, b has {}",
            a.received,
            b.received
        );
        std::thread::sleep(Duration::from_micros(200));
    }
}

fn all_arrive_in_order_through_a_restart(network: &mut dyn Network) {
    let clock = Instant::now();
    let mut a = Peer::start(network, A, 1);
    let mut b = Peer::start(network, B, 1);
    exchange(clock, &mut a, &mut b, PAYLOADS / 2);
    assert_eq!(a.office.bad_datagrams() + b.office.bad_datagrams(), 0);
    // Something is under way when it ends.
    let now = SimTime::from_secs(clock.elapsed().as_secs_f64());
    a.go_on(now, PAYLOADS, b.received);
    b.go_on(now, PAYLOADS, a.received);
    let (received, restarts_seen) = (b.received, a.restarts_seen);
    assert!(b.carrier.traffic().received > 0);
    drop(b);
    network.close(B);

    let mut b = Peer::start(network, B, 2);
    // What it had taken it finds in its snapshot; what of its own was taken it knows once its predecessor is not heard any more.
    b.received = received;
    b.office.greet(A);
    let deadline = Instant::now() + LONG;
    while a.restarts_seen == restarts_seen {
        let now = SimTime::from_secs(clock.elapsed().as_secs_f64());
        a.go_on(now, 0, b.received);
        b.go_on(now, 0, a.received);
        assert!(Instant::now() < deadline, "the restart is not noticed");
        std::thread::sleep(Duration::from_micros(200));
    }
    b.sent = a.received;
    exchange(clock, &mut a, &mut b, PAYLOADS);
    assert_eq!(a.restarts_seen, restarts_seen + 1);
    network.close(A);
    network.close(B);
}

/// Each end has a socket; both learn where the other's is.
#[derive(Default)]
struct Udp {
    open: Vec<(EndpointId, Arc<UdpCarrier>)>,
}

impl Network for Udp {
    fn open(&mut self, end: EndpointId, switchboard: Switchboard) -> Arc<dyn Carrier> {
        let any: SocketAddr = (Ipv4Addr::LOCALHOST, 0).into();
        let carrier = UdpCarrier::open(any, key(), switchboard).expect("loopback works");
        self.open.push((end, Arc::clone(&carrier)));
        let address = |carrier: &UdpCarrier| carrier.address().expect("bound");
        for (_, carrier) in &self.open {
            let routes = self.open.iter().map(|(end, other)| (*end, address(other)));
            carrier.set_routes(routes.collect());
        }
        carrier
    }

    fn close(&mut self, end: EndpointId) {
        for (_, carrier) in self.open.extract_if(.., |(other, _)| *other == end) {
            carrier.close();
        }
    }
}

#[test]
fn udp_takes_everything_through_a_restart() {
    all_arrive_in_order_through_a_restart(&mut Udp::default());
}

#[cfg(feature = "distributed")]
mod zenoh {
    use super::certificates::Authority;
    use super::*;
    use cluster::carrier::{ZenohCarrier, ZenohMode, ZenohSettings, ZenohTls};
    use cluster::names::NodeId;
    use std::net::TcpListener;

    /// B listens, A connects, and does so again when B is back.
    struct Zenoh {
        place: String,
        tls: Option<ZenohTls>,
        open: Vec<(EndpointId, Arc<ZenohCarrier>)>,
    }

    impl Zenoh {
        fn new(protocol: &str, tls: Option<ZenohTls>) -> Self {
            Self {
                place: format!("{protocol}/127.0.0.1:{}", free_port()),
                tls,
                open: Vec::new(),
            }
        }

        fn settings(&self, end: EndpointId) -> ZenohSettings {
            let place = vec![self.place.clone()];
            let (listen, connect) = if end == B {
                (place, Vec::new())
            } else {
                (Vec::new(), place)
            };
            let tls = self.tls.clone();
            ZenohSettings {
                listen,
                connect,
                tls,
                ..ZenohSettings::new("test")
            }
        }

        fn carrier(&mut self, end: EndpointId, switchboard: Switchboard) -> Arc<ZenohCarrier> {
            let carrier = ZenohCarrier::open(&self.settings(end), key(), switchboard);
            let carrier = carrier.expect("opened");
            self.open.push((end, Arc::clone(&carrier)));
            carrier
        }
    }

    impl Network for Zenoh {
        fn open(&mut self, end: EndpointId, switchboard: Switchboard) -> Arc<dyn Carrier> {
            self.carrier(end, switchboard)
        }

        fn close(&mut self, end: EndpointId) {
            for (_, carrier) in self.open.extract_if(.., |(other, _)| *other == end) {
                carrier.close().expect("closed");
            }
        }
    }

    /// Both ends are clients of a router, which passes everything on: for networks in which not everyone can reach everyone.
    struct Routed {
        ends: Zenoh,
        _router: ::zenoh::Session,
    }

    impl Routed {
        fn new() -> Self {
            use ::zenoh::Wait;
            let ends = Zenoh::new("tcp", None);
            let place = &ends.place;
            let config = format!(
                "{{ mode: \"router\", listen: {{ endpoints: [\"{place}\"] }}, scouting: {{ multicast: {{ enabled: false }} }} }}"
            );
            let config = ::zenoh::Config::from_json5(&config).expect("a config");
            let router = ::zenoh::open(config).wait().expect("a router");
            Self {
                ends,
                _router: router,
            }
        }

        fn carrier(&mut self, end: EndpointId, switchboard: Switchboard) -> Arc<ZenohCarrier> {
            let settings = ZenohSettings {
                listen: Vec::new(),
                connect: vec![self.ends.place.clone()],
                mode: ZenohMode::Client,
                ..self.ends.settings(end)
            };
            let carrier = ZenohCarrier::open(&settings, key(), switchboard).expect("opened");
            self.ends.open.push((end, Arc::clone(&carrier)));
            carrier
        }
    }

    impl Network for Routed {
        fn open(&mut self, end: EndpointId, switchboard: Switchboard) -> Arc<dyn Carrier> {
            self.carrier(end, switchboard)
        }

        fn close(&mut self, end: EndpointId) {
            self.ends.close(end);
        }
    }

    #[test]
    fn clients_of_a_router_hear_everything_and_see_who_goes() {
        let mut network = Routed::new();
        all_arrive_in_order_through_a_restart(&mut network);
        let node = NodeId::draw();
        let b = network.carrier(B, Switchboard::default());
        let a = network.carrier(A, Switchboard::default());
        let (sender, seen) = mpsc::channel();
        let tell = move |node, is_here| sender.send((node, is_here)).unwrap_or_default();
        a.watch_alive(tell).expect("watched");
        b.declare_alive(node).expect("declared");
        let next = || seen.recv_timeout(LONG).expect("it is told");
        assert_eq!(next(), (node, true));
        network.close(B);
        assert_eq!(next(), (node, false));
        network.close(A);
    }

    fn free_port() -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback works");
        listener.local_addr().expect("bound").port()
    }

    fn tls(authority: &Authority, name: &str) -> ZenohTls {
        let (certificate, key) = authority.issue(name);
        ZenohTls {
            ca: authority.certificate(),
            certificate,
            key,
        }
    }

    #[test]
    fn takes_everything_through_a_restart() {
        all_arrive_in_order_through_a_restart(&mut Zenoh::new("tcp", None));
    }

    #[test]
    fn takes_everything_encrypted() {
        let authority = Authority::new();
        let certificates = tls(&authority, "everyone");
        all_arrive_in_order_through_a_restart(&mut Zenoh::new("quic", Some(certificates)));
    }

    #[test]
    fn who_dies_is_seen_to_go() {
        let mut network = Zenoh::new("tcp", None);
        let (node, early) = (NodeId::draw(), NodeId::draw());
        let b = network.carrier(B, Switchboard::default());
        b.declare_alive(early).expect("declared");
        let a = network.carrier(A, Switchboard::default());
        let (sender, seen) = mpsc::channel();
        // After the test nobody reads it.
        let tell = move |node, is_here| sender.send((node, is_here)).unwrap_or_default();
        a.watch_alive(tell).expect("watched");
        let next = || seen.recv_timeout(LONG).expect("it is told");
        assert_eq!(next(), (early, true), "who was here before");
        b.declare_alive(node).expect("declared");
        assert_eq!(next(), (node, true));
        let start = Instant::now();
        network.close(B);
        let mut gone = [next(), next()];
        let elapsed = start.elapsed();
        gone.sort_unstable();
        let mut both = [(node, false), (early, false)];
        both.sort_unstable();
        assert_eq!(gone, both);
        assert!(
            elapsed < Duration::from_secs(2),
            "at once and not when a lease runs out: {elapsed:?}"
        );
        network.close(A);
    }

    /// Sends from A to B for a while; says what B has heard.
    fn heard(a: &ZenohSettings, b: &ZenohSettings, whether: bool) -> Vec<Vec<u8>> {
        heard_with(key(), a, b, whether)
    }

    fn heard_with(
        speakers: ClusterKey,
        a: &ZenohSettings,
        b: &ZenohSettings,
        whether: bool,
    ) -> Vec<Vec<u8>> {
        let switchboard = Switchboard::default();
        let (sender, inbox) = mpsc::channel();
        switchboard.connect(
            B,
            Arc::new(move |datagram: Datagram| drop(sender.send(datagram.bytes))),
        );
        let listener = ZenohCarrier::open(b, key(), switchboard).expect("opened");
        let speaker = ZenohCarrier::open(a, speakers, Switchboard::default());
        let speaker = speaker.expect("opened");
        // Who is expected to be heard gets all the time it needs, who is not gets as much as many links take.
        let time = if whether {
            LONG
        } else {
            Duration::from_secs(3)
        };
        let start = Instant::now();
        let mut heard = Vec::new();
        while heard.is_empty() && start.elapsed() < time {
            speaker.send(A, B, b"hello");
            std::thread::sleep(Duration::from_millis(20));
            heard.extend(inbox.try_iter());
        }
        speaker.close().expect("closed");
        listener.close().expect("closed");
        heard
    }

    #[test]
    fn who_has_no_right_certificate_is_not_heard() {
        let (ours, others) = (Authority::new(), Authority::new());
        let network = Zenoh::new("quic", Some(tls(&ours, "server")));
        let b = network.settings(B);
        let friend = ZenohSettings {
            tls: Some(tls(&ours, "friend")),
            ..network.settings(A)
        };
        assert!(!heard(&friend, &b, true).is_empty(), "a friend is heard");
        // Signed by somebody else, and trusting us.
        let (certificate, key) = others.issue("stranger");
        let stranger = ZenohTls {
            ca: ours.certificate(),
            certificate,
            key,
        };
        let stranger = ZenohSettings {
            tls: Some(stranger),
            ..network.settings(A)
        };
        assert_eq!(heard(&stranger, &b, false), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn another_cluster_on_the_same_network_is_not_heard() {
        let network = Zenoh::new("tcp", None);
        let other = ZenohSettings {
            cluster: "other".to_owned(),
            ..network.settings(A)
        };
        assert_eq!(
            heard(&other, &network.settings(B), false),
            Vec::<Vec<u8>>::new()
        );
        assert!(!heard(&network.settings(A), &network.settings(B), true).is_empty());
    }

    /// Plain links are authenticated too: whoever reaches a listening address but does not know the cluster's key is counted and not heard.
    #[test]
    fn who_does_not_know_the_cluster_key_is_not_heard() {
        let network = Zenoh::new("tcp", None);
        let (a, b) = (network.settings(A), network.settings(B));
        let stranger = ClusterKey::new(b"a guess");
        assert_eq!(heard_with(stranger, &a, &b, false), Vec::<Vec<u8>>::new());
        assert!(!heard(&a, &b, true).is_empty());
    }
}
