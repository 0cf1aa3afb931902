//! What a stream costs, and on what.

use super::symbols::PARTS_COUNT;
use serde::{Deserialize, Serialize};

/// What was sent to one client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamStats {
    /// All bytes, headers included.
    pub bytes: u64,
    /// Bytes of headers.
    pub header_bytes: u64,
    /// Packets.
    pub packets: u64,
    /// Records in them.
    pub records: u64,
    /// Packets found or taken to be lost.
    pub lost_packets: u64,
    spent: [u64; PARTS_COUNT],
}

impl StreamStats {
    pub(crate) fn add(
        &mut self,
        bytes: usize,
        header: usize,
        records: usize,
        spent: [u64; PARTS_COUNT],
    ) {
        self.bytes += bytes as u64;
        self.header_bytes += header as u64;
        self.packets += 1;
        self.records += records as u64;
        for (sum, part) in self.spent.iter_mut().zip(spent) {
            *sum += part;
        }
    }

    /// Bytes spent on: which bodies; bodies that enter and leave; positions; velocities; rotations; spins.
    pub fn breakdown(&self) -> [(&'static str, f64); PARTS_COUNT] {
        let names = [
            "ids",
            "scope",
            "positions",
            "velocities",
            "rotations",
            "spins",
        ];
        std::array::from_fn(|i| (names[i], self.spent[i] as f64 / 256.0 / 8.0))
    }
}
