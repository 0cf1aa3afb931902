//! The clock exchange: four times, from which a client estimates the global clock.
//!
//! ```text
//! client ── ClockRequest(t0) ──▶ server (arrives at t1)
//! client ◀── ClockReply(t0, t1, t2) ── server (leaves at t2), arrives at t3
//!
//! request = asked ns elastic        reply = asked ns elastic │ received ns elastic │ held ns elastic
//! ```
//!
//! In nanoseconds, not microseconds: the clock's error bound must not owe anything to rounding. Exchanges travel in
//! datagrams of their own; a packet may wait for the rate control, and a client whose clock is wrong must still be able
//! to set it although its packets are refused.

use super::vectors::MAX_TIME;
use super::{BitReader, BitWriter, Malformed};
use domain::SimTime;

/// A client asks for the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockRequest {
    /// When it asked, on its own clock (t0). Only the client reads it again.
    pub asked: SimTime,
}

/// The server's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReply {
    /// Repeated from the request (t0).
    pub asked: SimTime,
    /// When the request arrived, on the server's clock (t1).
    pub received: SimTime,
    /// When the reply left (t2), not before `received`.
    pub replied: SimTime,
}

impl ClockRequest {
    /// Appends the request.
    pub(super) fn put(&self, out: &mut BitWriter) {
        out.elastic(self.asked.0);
    }

    /// Reads a request.
    pub(super) fn get(reader: &mut BitReader<'_>) -> Result<Self, Malformed> {
        let asked = SimTime(reader.elastic_max(MAX_TIME.0, "time of asking")?);
        Ok(Self { asked })
    }
}

impl ClockReply {
    /// Appends the reply.
    pub(super) fn put(&self, out: &mut BitWriter) {
        out.elastic(self.asked.0);
        out.elastic(self.received.0);
        out.elastic(self.replied.since(self.received).0);
    }

    /// Reads a reply.
    pub(super) fn get(reader: &mut BitReader<'_>) -> Result<Self, Malformed> {
        let asked = SimTime(reader.elastic_max(MAX_TIME.0, "time of asking")?);
        let received = SimTime(reader.elastic_max(MAX_TIME.0, "time of reception")?);
        let held = SimTime(reader.elastic_max(MAX_TIME.0 - received.0, "time held")?);
        Ok(Self {
            asked,
            received,
            replied: received + held,
        })
    }
}
