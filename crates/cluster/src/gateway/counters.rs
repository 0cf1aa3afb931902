//! What a gateway counts.

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

macro_rules! counters {
    ($($name:ident: $about:literal),* $(,)?) => {
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
        }
    };
}

counters! {
    sessions: "clients that are connected (gauge)",
    bodies: "bodies in the replica of the world (gauge)",
    connections: "connections accepted",
    refused_connections: "connections refused: too many, in all or from one address",
    refused_origins: "connections of pages from elsewhere refused",
    refused_versions: "hellos with another version of the protocol refused",
    refused_tokens: "hellos with a wrong token refused",
    refused_malformed: "messages that were none refused",
    refused_floods: "clients sent away for too many messages",
    refused_replays: "commands with a number that was used before refused",
    refused_forbidden: "commands refused because of the client's role",
    refused_commands: "commands refused because they make no sense or exceed a limit",
    silent: "clients sent away because they said nothing",
    too_slow: "clients sent away because they did not read",
    skipped: "times a client was so far behind that it had to begin anew",
    messages: "messages of clients",
    commands: "commands of clients",
    unanswered: "commands that no server answered in time",
    repeated: "spawns and removals done again after a region was restored",
    frames: "updates of the replica of the world",
    late_frames: "updates that did not wait for a region any longer",
    bytes_to_clients: "bytes of messages to clients",
    messages_to_clients: "messages to clients",
    feeds: "feeds of regions",
    cpu_micros: "CPU time of the replica of the world, microseconds",
    export_micros: "of these for choosing curves, microseconds",
    encode_micros: "of these for encoding cells, microseconds",
    send_micros: "of these for handing updates to clients' queues, microseconds",
    clock_bound_micros: "how far the clock may be off, microseconds (gauge)",
}
