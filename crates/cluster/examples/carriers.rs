//! How long a payload takes there and back, on every carrier: paced like ticks, one at a time.
//!
//! ```text
//! cargo run --release -p auramesh-cluster --features distributed --example carriers
//! ```
//! Two ends with a thread and a carrier each, on loopback. The table gives microseconds, and the ratio to the first row.

use channel::EndpointId;
use cluster::carrier::{Carrier, ClusterKey, Datagram, Switchboard, UdpCarrier};
use cluster::post_office::{Mail, PostOffice};
use domain::SimTime;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

const ASKER: EndpointId = EndpointId(1);
const ECHO: EndpointId = EndpointId(2);
const TICK: Duration = Duration::from_nanos(1_000_000_000 / 60);
const ROUNDS: usize = 1200;
const WARM_UP: usize = 60;
const SIZES: [usize; 2] = [200, 20_000];
/// An answer that takes longer is none.
const PATIENCE: Duration = Duration::from_secs(5);

type Carriers = [Arc<dyn Carrier>; 2];
type Open = fn(&[Switchboard; 2]) -> Carriers;

const KINDS: &[(&str, Open)] = &[
    ("udp", udp),
    #[cfg(feature = "distributed")]
    ("zenoh, peers, tcp", zenoh),
];

struct End {
    office: PostOffice,
    inbox: mpsc::Receiver<Datagram>,
    start: Instant,
}

impl End {
    fn new(
        me: EndpointId,
        inbox: mpsc::Receiver<Datagram>,
        carrier: Arc<dyn Carrier>,
        start: Instant,
    ) -> Self {
        let office = PostOffice::new(me, 1, carrier);
        Self {
            office,
            inbox,
            start,
        }
    }

    fn now(&self) -> SimTime {
        SimTime::from_secs(self.start.elapsed().as_secs_f64())
    }

    fn send(&mut self, to: EndpointId, payload: Vec<u8>) {
        let now = self.now();
        self.office
            .send(now, to, payload)
            .expect("the other end answers");
        self.office.flush(now);
    }

    /// Waits for datagrams, at most until the channels want to do something; gives the payloads that are complete.
    fn wait(&mut self) -> Vec<Vec<u8>> {
        let now = self.now();
        let wakeup = self
            .office
            .next_wakeup()
            .map_or(10_000_000, |at| at.0.saturating_sub(now.0));
        let first = self
            .inbox
            .recv_timeout(Duration::from_nanos(wakeup.min(10_000_000)));
        let mut mail = Vec::new();
        for datagram in first.into_iter().chain(self.inbox.try_iter()) {
            self.office
                .handle_datagram(self.now(), &datagram, &mut mail);
        }
        self.office.flush(self.now());
        let payload = |item| match item {
            Mail::Payload { bytes, .. } => Some(bytes),
            Mail::PeerRestarted { .. } => None,
        };
        mail.into_iter().filter_map(payload).collect()
    }
}

fn mailbox(board: &Switchboard, end: EndpointId) -> mpsc::Receiver<Datagram> {
    let (sender, inbox) = mpsc::channel();
    // At the end nobody reads it.
    board.connect(end, Arc::new(move |datagram| drop(sender.send(datagram))));
    inbox
}

/// Round trips in microseconds, ascending.
fn measure(
    carriers: &Carriers,
    [asks, echoes]: [mpsc::Receiver<Datagram>; 2],
    bytes: usize,
) -> Vec<f64> {
    let start = Instant::now();
    let done = Arc::new(AtomicBool::new(false));
    let mut echo = End::new(ECHO, echoes, Arc::clone(&carriers[1]), start);
    let echo_done = Arc::clone(&done);
    let thread = std::thread::spawn(move || {
        while !echo_done.load(Relaxed) {
            for payload in echo.wait() {
                echo.send(ASKER, payload);
            }
        }
    });
    let mut asker = End::new(ASKER, asks, Arc::clone(&carriers[0]), start);
    let mut trips: Vec<f64> = (0..WARM_UP + ROUNDS)
        .map(|_| round_trip(&mut asker, bytes))
        .collect();
    done.store(true, Relaxed);
    thread.join().expect("the echo ends");
    trips.drain(..WARM_UP);
    trips.sort_by(f64::total_cmp);
    trips
}

fn round_trip(asker: &mut End, bytes: usize) -> f64 {
    let begin = Instant::now();
    asker.send(ECHO, vec![7; bytes]);
    while asker.wait().is_empty() {
        assert!(begin.elapsed() < PATIENCE, "no answer");
    }
    let trip = begin.elapsed();
    // Until the next tick, acknowledgements flow as they would in a server.
    while begin.elapsed() < TICK {
        asker.wait();
    }
    trip.as_secs_f64() * 1e6
}

fn key() -> ClusterKey {
    ClusterKey::new(b"measure")
}

fn udp(boards: &[Switchboard; 2]) -> Carriers {
    let open = |board: &Switchboard| {
        let any = (Ipv4Addr::LOCALHOST, 0).into();
        UdpCarrier::open(any, key(), board.clone()).expect("loopback works")
    };
    let [a, b] = [open(&boards[0]), open(&boards[1])];
    a.set_routes([(ECHO, b.address().expect("bound"))].into_iter().collect());
    b.set_routes([(ASKER, a.address().expect("bound"))].into_iter().collect());
    [a, b]
}

#[cfg(feature = "distributed")]
fn zenoh(boards: &[Switchboard; 2]) -> Carriers {
    use cluster::carrier::{ZenohCarrier, ZenohSettings};
    let port = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|it| it.local_addr());
    let place = vec![format!("tcp/{}", port.expect("loopback works"))];
    let plain = ZenohSettings::new("measure");
    let listens = ZenohSettings {
        listen: place.clone(),
        ..plain.clone()
    };
    let connects = ZenohSettings {
        connect: place,
        ..plain
    };
    let b = ZenohCarrier::open(&listens, key(), boards[1].clone()).expect("opened");
    let a = ZenohCarrier::open(&connects, key(), boards[0].clone()).expect("opened");
    [a, b]
}

fn main() {
    println!(
        "{:<20} {:>8} {:>9} {:>9} {:>7} {:>7}",
        "carrier", "bytes", "p50 us", "p99 us", "x p50", "x p99"
    );
    for bytes in SIZES {
        let mut first = None;
        for (name, open) in KINDS {
            let boards = [Switchboard::default(), Switchboard::default()];
            let carriers = open(&boards);
            let inboxes = [mailbox(&boards[0], ASKER), mailbox(&boards[1], ECHO)];
            let trips = measure(&carriers, inboxes, bytes);
            let [p50, p99] = [50, 99].map(|percent| trips[trips.len() * percent / 100]);
            let (base50, base99) = *first.get_or_insert((p50, p99));
            let (x50, x99) = (p50 / base50, p99 / base99);
            println!("{name:<20} {bytes:>8} {p50:>9.0} {p99:>9.0} {x50:>7.1} {x99:>7.1}");
        }
    }
}
