//! A small bad network with a server and clients on it, under virtual time. Each client's own clock shows something else.

use domain::{BodyId, SimTime};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use reckoning::motion::TrueState;
use reckoning::replication::{
    Client, ClientConfig, ClientEvent, DatagramError, Server, ServerConfig, ServerEvent,
};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// What the network does to each datagram.
#[derive(Clone, Copy, Debug)]
pub struct Weather {
    /// Share lost.
    pub loss: f64,
    /// Share delivered twice.
    pub duplicates: f64,
    /// One-way delay to the server, from and to, ms: a spread reorders.
    pub up_ms: (f64, f64),
    /// One-way delay from the server.
    pub down_ms: (f64, f64),
}

pub const CALM: Weather = Weather {
    loss: 0.0,
    duplicates: 0.0,
    up_ms: (30.0, 30.0),
    down_ms: (30.0, 30.0),
};

pub const STORM: Weather = Weather {
    loss: 0.2,
    duplicates: 0.1,
    up_ms: (20.0, 120.0),
    down_ms: (20.0, 120.0),
};

#[derive(Clone, Copy, Debug)]
enum Direction {
    Up(usize),
    Down(usize),
}

pub struct Town {
    pub server: Server,
    pub clients: Vec<Client>,
    pub weather: Weather,
    /// Added to each way of this client, ms.
    pub farther_ms: Vec<f64>,
    pub now: SimTime,
    pub server_events: Vec<ServerEvent>,
    pub client_events: Vec<Vec<ClientEvent>>,
    pub refused: Vec<String>,
    pub bytes_down: Vec<usize>,
    under_way: BTreeMap<(SimTime, u64), (Direction, Vec<u8>)>,
    sent: u64,
    rng: Pcg64Mcg,
}

impl Town {
    pub fn new(
        server: ServerConfig,
        client: &ClientConfig,
        clients: usize,
        weather: Weather,
    ) -> Self {
        Self {
            server: Server::new(server, [7; 32]),
            clients: (0..clients)
                .map(|i| Client::new(client.clone(), 100 + i as u64))
                .collect(),
            weather,
            farther_ms: vec![0.0; clients],
            now: SimTime::from_secs(1000.0),
            server_events: Vec::new(),
            client_events: vec![Vec::new(); clients],
            refused: Vec::new(),
            bytes_down: vec![0; clients],
            under_way: BTreeMap::new(),
            sent: 0,
            rng: Pcg64Mcg::seed_from_u64(5),
        }
    }

    pub fn address(client: usize) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, 1], 5000 + client as u16))
    }

    /// What client `i`'s own clock shows: up to seconds off, and a little fast or slow.
    pub fn local(&self, client: usize) -> SimTime {
        let offset = [0.0, -400.0, 3.5, 77.0][client % 4];
        let rate = [1.0, 1.000_02, 0.999_98, 1.000_05][client % 4];
        SimTime::from_secs(self.now.as_secs() * rate + offset)
    }

    /// Runs for this long in steps of 5 ms; `drive` is called before each step.
    pub fn run(&mut self, secs: f64, mut drive: impl FnMut(&mut Self)) {
        let end = self.now + SimTime::from_secs(secs);
        while self.now < end {
            self.now += SimTime::from_millis(5.0);
            drive(self);
            self.step();
        }
    }

    pub fn idle(&mut self, secs: f64) {
        self.run(secs, |_| {});
    }

    /// Tells an own object of a client where it is.
    pub fn observe(&mut self, client: usize, id: BodyId, state: &TrueState) {
        let now = self.local(client);
        self.clients[client]
            .observe(now, id, state)
            .expect("a sane state");
    }

    /// How far apart a client's picture of an object and the truth are.
    pub fn error(&self, client: usize, id: BodyId, truth: &TrueState) -> Option<f64> {
        let placed = self.clients[client].place(self.local(client), id)?;
        Some(placed.position.distance(truth.position))
    }

    fn step(&mut self) {
        self.deliver();
        self.server.handle_tick(self.now);
        while let Some((to, bytes)) = self.server.poll_transmit(self.now) {
            let client = usize::from(to.port() - 5000);
            self.bytes_down[client] += bytes.len();
            self.post(Direction::Down(client), bytes);
        }
        for client in 0..self.clients.len() {
            let now = self.local(client);
            self.clients[client].handle_tick(now);
            while let Some(bytes) = self.clients[client].poll_transmit(now) {
                self.post(Direction::Up(client), bytes);
            }
            while let Some(event) = self.clients[client].poll_event() {
                self.client_events[client].push(event);
            }
        }
        while let Some(event) = self.server.poll_event() {
            self.server_events.push(event);
        }
    }

    fn post(&mut self, direction: Direction, bytes: Vec<u8>) {
        let copies = 1 + usize::from(self.rng.random_bool(self.weather.duplicates));
        for _ in 0..copies {
            let ((low, high), client) = match direction {
                Direction::Up(client) => (self.weather.up_ms, client),
                Direction::Down(client) => (self.weather.down_ms, client),
            };
            let delay = low + self.rng.random::<f64>() * (high - low) + self.farther_ms[client];
            let lost = self.rng.random_bool(self.weather.loss);
            self.sent += 1;
            if !lost {
                let at = self.now + SimTime::from_millis(delay);
                self.under_way
                    .insert((at, self.sent), (direction, bytes.clone()));
            }
        }
    }

    fn deliver(&mut self) {
        let later = self.under_way.split_off(&(self.now, u64::MAX));
        let arrived = std::mem::replace(&mut self.under_way, later);
        for (direction, bytes) in arrived.into_values() {
            let refused = match direction {
                Direction::Up(i) => {
                    let result = self
                        .server
                        .handle_datagram(self.now, Self::address(i), &bytes);
                    result
                        .err()
                        .filter(|e| !is_stale_at_server(e))
                        .map(|e| e.to_string())
                }
                Direction::Down(i) => {
                    let now = self.local(i);
                    let result = self.clients[i].handle_datagram(now, &bytes);
                    result
                        .err()
                        .map(|e| e.to_string())
                        .filter(|e| !e.contains("far too late") && e != "not expected")
                }
            };
            self.refused.extend(refused);
        }
    }
}

/// Duplicates are normal in bad weather.
fn is_stale_at_server(error: &DatagramError) -> bool {
    error.to_string().contains("far too late")
}
