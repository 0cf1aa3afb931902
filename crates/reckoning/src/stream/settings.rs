//! What both ends of a stream must agree on before the first packet.

use domain::TickLength;
use glam::DVec3;
use serde::{Deserialize, Serialize};

/// Settings of a stream; a server tells them to a client when it joins.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamSettings {
    /// The length of the server's physics step (default 1/60 s).
    pub tick: TickLength,
    /// m/s² (default 9.81 downwards): the pull on a body on a falling curve.
    pub gravity: DVec3,
    /// Ticks between two updates (default 2: 30 updates a second).
    pub update_ticks: u64,
    /// How many ticks behind the server clients show the world, the network's delay not counted (default 6: 100 ms).
    ///
    /// With at least `update_ticks` − 1 the server has seen everything that clients will show before the next update, and
    /// what they show at a tick is *guaranteed* to be within the tolerances. More lets it see farther ahead and choose
    /// curves that last longer, so that fewer bytes are sent. With less, 0 say, a collision just after an update shows
    /// wrong until the next one.
    pub delay_ticks: u64,
    /// How far from the truth a body may be shown, metres (default 0.01; below 0.005 the grid is too coarse to keep it).
    pub tolerance_m: f64,
    /// How far from the truth a body's orientation may be shown, radians (default 1 degree; below half a degree the grid
    /// is too coarse to keep it).
    pub tolerance_rad: f64,
    /// The most bytes of a packet (default 1200: fits every path on the internet); at least 256.
    pub max_packet_bytes: usize,
}

impl Default for StreamSettings {
    fn default() -> Self {
        Self {
            tick: TickLength::default(),
            gravity: DVec3::new(0.0, -9.81, 0.0),
            update_ticks: 2,
            delay_ticks: 6,
            tolerance_m: 0.01,
            tolerance_rad: 1.0_f64.to_radians(),
            max_packet_bytes: 1200,
        }
    }
}

impl StreamSettings {
    /// With values that would make no sense (no ticks per update, packets without room for a record) put right.
    pub(crate) fn put_right(self) -> Self {
        Self {
            update_ticks: self.update_ticks.max(1),
            max_packet_bytes: self.max_packet_bytes.clamp(256, super::MAX_PACKET_BYTES),
            ..self
        }
    }

    /// Gravity in metres per tick².
    pub(crate) fn pull(&self) -> DVec3 {
        let secs = self.tick.as_secs();
        self.gravity * (secs * secs)
    }
}
