//! A carrier that loses, delays and doubles datagrams on purpose: the simulator's network between real processes.
//!
//! For machines whose kernel has no `netem`, and for everyone who wants to see what a bad network does to a live cluster.

use channel::EndpointId;
use cluster::carrier::{Carrier, Traffic};
use cluster::names::{NodeId, Place};
use domain::{RegionId, SimTime};
use simulator::network::{Network, NetworkConditions};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

struct State {
    network: Network,
    /// The simulator's network knows its ends by small numbers.
    numbers: HashMap<EndpointId, RegionId>,
    ends: Vec<EndpointId>,
}

/// A carrier behind a bad network.
pub struct BadNetwork {
    inner: Arc<dyn Carrier>,
    start: Instant,
    state: Mutex<State>,
    news: Condvar,
    /// Everything passes as it is.
    good: AtomicBool,
    /// Only what regions say to regions, and what measures the way between their servers, is treated badly.
    between_regions: bool,
}

impl BadNetwork {
    /// Puts the conditions in front of a carrier. Every process draws differently.
    pub fn before(inner: Arc<dyn Carrier>, conditions: NetworkConditions) -> Arc<Self> {
        Self::start(inner, Some(conditions), false)
    }

    /// A good network that can become bad between regions, and good again.
    pub fn adjustable(inner: Arc<dyn Carrier>) -> Arc<Self> {
        Self::start(inner, None, true)
    }

    fn start(
        inner: Arc<dyn Carrier>,
        conditions: Option<NetworkConditions>,
        between_regions: bool,
    ) -> Arc<Self> {
        let seed = NodeId::draw().0;
        let carrier = Arc::new(Self {
            inner,
            start: Instant::now(),
            state: Mutex::new(State {
                network: Network::new(seed, conditions.unwrap_or_default()),
                numbers: HashMap::new(),
                ends: Vec::new(),
            }),
            news: Condvar::new(),
            good: AtomicBool::new(conditions.is_none()),
            between_regions,
        });
        let deliverer = Arc::clone(&carrier);
        std::thread::Builder::new()
            .name("bad network".to_owned())
            .spawn(move || deliverer.deliver())
            .expect("threads can be started");
        carrier
    }

    /// From now on it behaves like this. What is under way arrives as it would have.
    pub fn set(&self, conditions: NetworkConditions) {
        self.lock().network.set_conditions(conditions);
        self.good
            .store(conditions == NetworkConditions::perfect(), Relaxed);
    }

    fn passes(&self, to: EndpointId) -> bool {
        let of_regions = Place::of_endpoint(to).is_some() || NodeId::is_group_endpoint(to);
        self.good.load(Relaxed) || (self.between_regions && !of_regions)
    }

    fn now(&self) -> SimTime {
        SimTime::from_secs(self.start.elapsed().as_secs_f64())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(|poison| poison.into_inner())
    }

    fn deliver(&self) {
        let mut state = self.lock();
        loop {
            let now = self.now();
            while let Some(datagram) = state.network.pop_arrival(now) {
                let from = state.ends[datagram.from.0 as usize];
                let to = state.ends[datagram.to.0 as usize];
                self.inner.send(from, to, &datagram.bytes);
            }
            let next = state.network.next_arrival();
            let wait = next.map_or(Duration::from_millis(100), |at| {
                Duration::from_nanos(at.since(now).0)
            });
            let waited = self.news.wait_timeout(state, wait);
            (state, _) = waited.unwrap_or_else(|poison| poison.into_inner());
        }
    }
}

impl State {
    fn number(&mut self, end: EndpointId) -> RegionId {
        let next = RegionId(self.ends.len() as u32);
        let number = *self.numbers.entry(end).or_insert(next);
        if number == next {
            self.ends.push(end);
        }
        number
    }
}

impl Carrier for BadNetwork {
    fn send(&self, from: EndpointId, to: EndpointId, bytes: &[u8]) {
        if self.passes(to) {
            return self.inner.send(from, to, bytes);
        }
        let now = self.now();
        let mut state = self.lock();
        let (from, to) = (state.number(from), state.number(to));
        state.network.send(now, from, to, bytes.to_vec());
        drop(state);
        self.news.notify_one();
    }

    fn set_routes(&self, routes: rustc_hash::FxHashMap<EndpointId, SocketAddr>) {
        self.inner.set_routes(routes);
    }

    fn announce(&self, node: NodeId) {
        self.inner.announce(node);
    }

    fn watch_deaths(&self, died: Box<dyn Fn(NodeId) + Send + Sync>) {
        self.inner.watch_deaths(died);
    }

    fn traffic(&self) -> Traffic {
        self.inner.traffic()
    }
}
