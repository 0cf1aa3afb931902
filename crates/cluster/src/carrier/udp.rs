//! Datagrams over UDP, each a sealed letter: who does not know the cluster's key is not heard.
//!
//! Not encrypted: for networks that others can listen to there is the other carrier, with TLS.

use super::letters::{ClusterKey, MAX_LETTER_BYTES};
use super::{Carrier, Counts, Switchboard, Traffic};
use channel::EndpointId;
use rustc_hash::FxHashMap;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, RwLock};
use std::time::Duration;

/// How often the receiving thread looks whether it should end.
const GLANCE: Duration = Duration::from_millis(200);

/// One socket for all ends of a process.
pub struct UdpCarrier {
    socket: UdpSocket,
    key: ClusterKey,
    routes: RwLock<FxHashMap<EndpointId, SocketAddr>>,
    counts: Counts,
    closed: AtomicBool,
}

impl UdpCarrier {
    /// Opens a socket; what arrives goes to the switchboard, on a thread of its own.
    pub fn open(
        address: SocketAddr,
        key: ClusterKey,
        switchboard: Switchboard,
    ) -> io::Result<Arc<Self>> {
        let socket = UdpSocket::bind(address)?;
        socket.set_read_timeout(Some(GLANCE))?;
        let carrier = Arc::new(Self {
            socket,
            key,
            routes: RwLock::default(),
            counts: Counts::default(),
            closed: AtomicBool::new(false),
        });
        let receiver = Arc::clone(&carrier);
        std::thread::Builder::new()
            .name("udp".to_owned())
            .spawn(move || receiver.receive(&switchboard))?;
        Ok(carrier)
    }

    /// The socket's address.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Ends the receiving thread soon.
    pub fn close(&self) {
        self.closed.store(true, Relaxed);
    }

    fn receive(&self, switchboard: &Switchboard) {
        let mut buffer = [0; MAX_LETTER_BYTES + 1];
        while !self.closed.load(Relaxed) {
            // A timeout, or an earlier datagram that met nobody (ICMP): neither is of interest.
            let Ok((length, _)) = self.socket.recv_from(&mut buffer) else {
                continue;
            };
            let delivered = self
                .key
                .open(&buffer[..length])
                .is_some_and(|(to, datagram)| switchboard.deliver(to, datagram));
            self.counts.count_received(length, delivered);
        }
    }
}

impl Carrier for UdpCarrier {
    fn send(&self, from: EndpointId, to: EndpointId, bytes: &[u8]) {
        let route = {
            let routes = self
                .routes
                .read()
                .unwrap_or_else(|poison| poison.into_inner());
            routes.get(&to).copied()
        };
        let Some((address, letter)) = route.zip(self.key.seal(from, to, bytes)) else {
            return;
        };
        // A full buffer or an unreachable network loses it, like any other loss.
        if self.socket.send_to(&letter, address).is_ok() {
            self.counts.count_sent(letter.len());
        }
    }

    fn set_routes(&self, routes: FxHashMap<EndpointId, SocketAddr>) {
        *self
            .routes
            .write()
            .unwrap_or_else(|poison| poison.into_inner()) = routes;
    }

    fn traffic(&self) -> Traffic {
        self.counts.traffic()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    const LOOPBACK: SocketAddr =
        SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);
    const A: EndpointId = EndpointId(1);
    const B: EndpointId = EndpointId(2);

    fn open(key: &str) -> (Arc<UdpCarrier>, Switchboard) {
        let switchboard = Switchboard::default();
        let key = ClusterKey::new(key.as_bytes());
        let carrier = UdpCarrier::open(LOOPBACK, key, switchboard.clone());
        (carrier.expect("loopback works"), switchboard)
    }

    fn route(from: &UdpCarrier, end: EndpointId, to: &UdpCarrier) {
        from.set_routes([(end, to.address().expect("bound"))].into_iter().collect());
    }

    #[test]
    fn datagrams_reach_the_end_they_are_for() {
        let ((a, _), (b, board)) = (open("s"), open("s"));
        let (sender, inbox) = mpsc::channel();
        board.connect(
            B,
            Arc::new(move |datagram| sender.send(datagram).expect("listening")),
        );
        route(&a, B, &b);
        a.send(A, B, b"hello");
        let datagram = inbox
            .recv_timeout(Duration::from_secs(5))
            .expect("it arrives");
        assert_eq!((datagram.from, &*datagram.bytes), (A, &b"hello"[..]));
        a.send(A, EndpointId(3), b"nobody");
        assert_eq!(a.traffic().sent, 1);
    }

    #[test]
    fn strangers_are_not_heard() {
        let ((a, _), (b, board)) = (open("guess"), open("secret"));
        let (sender, inbox) = mpsc::channel();
        board.connect(
            B,
            Arc::new(move |datagram| sender.send(datagram).expect("listening")),
        );
        route(&a, B, &b);
        a.send(A, B, b"let me in");
        for garbage in [&b""[..], b"x", &[0; 36], &[0xff; 1400]] {
            a.socket
                .send_to(garbage, b.address().expect("bound"))
                .expect("sent");
        }
        while b.traffic().refused < 5 {
            std::thread::yield_now();
        }
        assert!(inbox.try_recv().is_err());
        assert_eq!(b.traffic().received, 0);
    }
}
