//! What a gateway counts.

use crate::metrics::Metric;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A number that only grows, or, for gauges, is set.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// One more.
    pub fn add_one(&self) {
        self.add(1);
    }

    /// So many more.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Relaxed);
    }

    /// As it is now.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    pub(super) fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }
}

/// How a count is told to Prometheus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// As it is now.
    Gauge,
    /// It only grows.
    Total,
    /// It only grows; counted in microseconds, told in seconds.
    Seconds,
    /// As it is now; counted in microseconds, told in seconds.
    GaugeSeconds,
}

macro_rules! counters {
    ($($name:ident, $kind:ident, $metric:literal, $about:literal;)*) => {
        /// Everything that a gateway counts.
        #[derive(Debug, Default)]
        pub struct Counters {
            $(#[doc = $about] pub $name: Count,)*
        }

        impl Counters {
            /// All of them: name, meaning, value.
            pub fn all(&self) -> Vec<(&'static str, &'static str, u64)> {
                vec![$((stringify!($name), $about, self.$name.get()),)*]
            }

            /// All of them as metrics.
            pub const METRICS: &[(Metric, Kind)] = &[
                $((($metric, Kind::$kind.prometheus(), $about), Kind::$kind),)*
            ];
        }
    };
}

impl Kind {
    const fn prometheus(self) -> &'static str {
        match self {
            Self::Gauge | Self::GaugeSeconds => "gauge",
            Self::Total | Self::Seconds => "counter",
        }
    }
}

counters! {
    sessions, Gauge, "auramesh_gateway_clients", "Clients that are connected";
    bodies, Gauge, "auramesh_gateway_bodies", "Bodies in the replica of the world";
    connections, Total, "auramesh_gateway_connections_total", "Connections accepted";
    refused_connections, Total, "auramesh_gateway_refused_connections_total", "Connections refused: too many, in all or from one address";
    refused_tls, Total, "auramesh_gateway_refused_tls_total", "Connections whose TLS handshake failed";
    refused_origins, Total, "auramesh_gateway_refused_origins_total", "Connections of pages from elsewhere refused";
    refused_versions, Total, "auramesh_gateway_refused_versions_total", "Hellos with another version of the protocol refused";
    refused_tokens, Total, "auramesh_gateway_refused_tokens_total", "Hellos with a wrong token refused";
    refused_malformed, Total, "auramesh_gateway_refused_malformed_total", "Messages that were none refused";
    refused_floods, Total, "auramesh_gateway_refused_floods_total", "Clients sent away for too many messages";
    refused_replays, Total, "auramesh_gateway_refused_replays_total", "Commands with a number that was used before refused";
    refused_forbidden, Total, "auramesh_gateway_refused_forbidden_total", "Commands refused because of the client's role";
    refused_commands, Total, "auramesh_gateway_refused_commands_total", "Commands refused because they make no sense or exceed a limit";
    refused_queries, Total, "auramesh_gateway_refused_queries_total", "Rays and overlaps refused because the client, or all clients together, ask too often";
    silent, Total, "auramesh_gateway_silent_clients_total", "Clients sent away because they said nothing";
    too_slow, Total, "auramesh_gateway_slow_clients_total", "Clients sent away because they did not read";
    skipped, Total, "auramesh_gateway_late_clients_total", "Times a client was so far behind that it had to begin anew";
    strained, Gauge, "auramesh_gateway_strained_clients", "Clients that cannot take everything and are told less often of what is far from them";
    messages, Total, "auramesh_gateway_messages_received_total", "Messages of clients";
    bytes_from_clients, Total, "auramesh_gateway_bytes_received_total", "Bytes of messages of clients";
    commands, Total, "auramesh_gateway_commands_total", "Commands of clients";
    unanswered, Total, "auramesh_gateway_unanswered_commands_total", "Commands that no server answered in time";
    repeated, Total, "auramesh_gateway_repeated_commands_total", "Spawns and removals done again after a region was restored";
    frames, Total, "auramesh_gateway_updates_total", "Updates of the replica of the world";
    late_frames, Total, "auramesh_gateway_late_updates_total", "Updates that did not wait for a region any longer";
    messages_to_clients, Total, "auramesh_gateway_messages_sent_total", "Messages to clients";
    bytes_to_clients, Total, "auramesh_gateway_bytes_sent_total", "Bytes of messages to clients";
    datagrams_to_clients, Total, "auramesh_gateway_datagrams_sent_total", "Of the messages to clients, those that went as single datagrams (WebTransport)";
    datagrams_repeated, Total, "auramesh_gateway_datagrams_repeated_total", "Datagrams that a client missed and got again over its stream (WebTransport)";
    feeds, Total, "auramesh_gateway_feeds_total", "Feeds of regions";
    feeds_renewed, Total, "auramesh_gateway_feeds_renewed_total", "Times a region had fallen silent and was asked again for everything";
    cpu_micros, Seconds, "auramesh_gateway_cpu_seconds_total", "CPU time of the replica of the world";
    export_micros, Seconds, "auramesh_gateway_export_cpu_seconds_total", "Of this for choosing curves";
    encode_micros, Seconds, "auramesh_gateway_encode_cpu_seconds_total", "Of this for encoding cells";
    send_micros, Seconds, "auramesh_gateway_send_cpu_seconds_total", "Of this for handing updates to clients' queues";
    clock_bound_micros, GaugeSeconds, "auramesh_gateway_clock_bound_seconds", "How far the gateway's clock may be off";
}
