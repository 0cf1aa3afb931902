//! One server's run, tick by tick: what figures over time are drawn from.

use serde::Serialize;
use std::time::Duration;

/// A server's work, tick by tick. All lists have one entry per tick, unless the server was down in between.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Timeline {
    /// CPU milliseconds of each tick, with the messages that were read and written for it.
    pub ticks_ms: Vec<f32>,
    /// Of those, what the engine's own step took.
    pub steps_ms: Vec<f32>,
    /// Aura updates sent since the tick before, one for each who is told.
    pub auras_sent: Vec<u32>,
    /// Bytes of datagrams sent to others up to then, since the server was started.
    pub bytes_sent: Vec<u64>,
    /// Bodies that it had at the tick.
    pub bodies: Vec<u32>,
    /// Bodies that it gave away after the tick.
    pub departed: Vec<u32>,
    // Reading and writing messages since the last tick.
    #[serde(skip)]
    pub(crate) between_ticks: Duration,
    #[serde(skip)]
    pub(crate) auras_since: u32,
}

impl Timeline {
    /// A tick is over.
    pub(crate) fn close_tick(&mut self, all: Duration, step: Duration) {
        self.ticks_ms.push(all.as_secs_f32() * 1e3);
        self.steps_ms.push(step.as_secs_f32() * 1e3);
        self.auras_sent.push(std::mem::take(&mut self.auras_since));
    }

    /// What was seen of the tick from outside.
    pub(crate) fn note(&mut self, bytes_sent: u64, bodies: usize, departed: usize) {
        self.bytes_sent.push(bytes_sent);
        self.bodies.push(bodies as u32);
        self.departed.push(departed as u32);
    }
}
