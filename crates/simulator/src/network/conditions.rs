//! How badly a network behaves, in numbers.

use domain::SimTime;

/// What happens to datagrams on one way from one server to another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NetworkConditions {
    /// The time a datagram is under way, milliseconds (default 0).
    pub latency_ms: f64,
    /// Each datagram's latency differs from `latency_ms` by up to this much, evenly, in both directions
    /// (default 0). It never falls below zero. More than half the distance between two datagrams reorders them.
    pub jitter_ms: f64,
    /// The share of datagrams that are lost, 0 to 1 (default 0).
    pub loss: f64,
    /// The share of datagrams that arrive twice, each copy with its own jitter, 0 to 1 (default 0).
    pub duplicate: f64,
    /// The share of datagrams that are held back and overtaken by later ones, 0 to 1 (default 0).
    pub reorder: f64,
    /// How much longer a held-back datagram takes, milliseconds (default 0).
    pub reorder_ms: f64,
    /// How many bytes per second fit through; what is too much waits its turn, and is lost when the queue is
    /// longer than [`MAX_QUEUE`]. Unlimited by default.
    pub bandwidth_bytes_per_sec: Option<f64>,
}

/// The longest a datagram waits for bandwidth before the queue is full and it is lost: half a second, as a
/// router with too much memory does it.
pub const MAX_QUEUE: SimTime = SimTime(500_000_000);

/// The largest latency, jitter and hold-back: a minute.
pub(super) const MAX_DELAY_MS: f64 = 60_000.0;

/// The names that [`NetworkConditions::preset`] knows.
pub const PRESETS: [&str; 4] = ["perfect", "data_centre", "home_wifi", "lossy_mobile"];

impl NetworkConditions {
    /// Nothing is lost and everything arrives at once.
    pub fn perfect() -> Self {
        Self::default()
    }

    /// Machines in one hall: 0.25 ms ± 0.05 ms, 1 in 10 000 lost, 1 in 1000 held back by 0.2 ms, 10 Gbit/s.
    pub fn data_centre() -> Self {
        Self {
            latency_ms: 0.25,
            jitter_ms: 0.05,
            loss: 0.0001,
            duplicate: 0.0,
            reorder: 0.001,
            reorder_ms: 0.2,
            bandwidth_bytes_per_sec: Some(1.25e9),
        }
    }

    /// A living room: 8 ms ± 4 ms, 1 % lost, 0.1 % twice, 1 % held back by 10 ms, 50 Mbit/s.
    pub fn home_wifi() -> Self {
        Self {
            latency_ms: 8.0,
            jitter_ms: 4.0,
            loss: 0.01,
            duplicate: 0.001,
            reorder: 0.01,
            reorder_ms: 10.0,
            bandwidth_bytes_per_sec: Some(6.25e6),
        }
    }

    /// A train: 45 ms ± 20 ms, 5 % lost, 0.5 % twice, 3 % held back by 40 ms, 10 Mbit/s.
    pub fn lossy_mobile() -> Self {
        Self {
            latency_ms: 45.0,
            jitter_ms: 20.0,
            loss: 0.05,
            duplicate: 0.005,
            reorder: 0.03,
            reorder_ms: 40.0,
            bandwidth_bytes_per_sec: Some(1.25e6),
        }
    }

    /// The conditions of that name, one of [`PRESETS`].
    pub fn preset(name: &str) -> Option<Self> {
        match name {
            "perfect" => Some(Self::perfect()),
            "data_centre" => Some(Self::data_centre()),
            "home_wifi" => Some(Self::home_wifi()),
            "lossy_mobile" => Some(Self::lossy_mobile()),
            _ => None,
        }
    }
}
