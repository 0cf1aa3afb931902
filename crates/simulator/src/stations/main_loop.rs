//! The cycle of one station: update, render, send one packet after the other, sleep (Chen 2010, 5.1.1).
//!
//! ```text
//!   START ──0──► UPDATE ──► SENDING ◄──► SENDONE        at each SENDONE one packet leaves
//!                  ▲           │ nothing left
//!                  └── SLEEP ◄─┘                         until the next frame is due
//! ```
//!
//! The thesis announces five states and names four; the fifth is the sleep its cycle needs. Packets that arrive at any moment
//! go into a buffer and are read at the next UPDATE.

use domain::SimTime;
use station::StationId;

/// Where in its cycle a station is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopState {
    /// Nothing has happened yet.
    Start,
    /// The buffer is read and the game moves by one frame.
    Update,
    /// Is there a packet to send?
    Sending,
    /// One packet leaves.
    SendOne,
    /// Until the next frame.
    Sleep,
}

/// The cycle and its buffer.
#[derive(Debug)]
pub struct MainLoop {
    state: LoopState,
    /// When the state ends.
    next: SimTime,
    start: SimTime,
    frame: SimTime,
    frames: u64,
    buffer: Vec<(StationId, Vec<u8>)>,
}

impl MainLoop {
    /// Frames of this length, the first one at `start`.
    pub fn new(start: SimTime, frame: SimTime) -> Self {
        Self {
            state: LoopState::Start,
            next: start,
            start,
            frame,
            frames: 0,
            buffer: Vec::new(),
        }
    }

    /// Where it is.
    pub fn state(&self) -> LoopState {
        self.state
    }

    /// When it goes on.
    pub fn next(&self) -> SimTime {
        self.next
    }

    /// When the frame after the current one is due.
    pub fn next_frame(&self) -> SimTime {
        self.start + SimTime(self.frame.0 * self.frames)
    }

    /// From outside, at any moment: a packet.
    pub fn receive(&mut self, from: StationId, bytes: Vec<u8>) {
        self.buffer.push((from, bytes));
    }

    /// What has come since the last update, in the order of arrival.
    pub fn take_buffer(&mut self) -> Vec<(StationId, Vec<u8>)> {
        std::mem::take(&mut self.buffer)
    }

    /// From inside: goes on to the next state. `has_packet`: is there something to send?
    pub fn advance(&mut self, has_packet: bool) -> LoopState {
        self.state = match self.state {
            LoopState::Start | LoopState::Sleep => {
                self.frames += 1;
                LoopState::Update
            }
            LoopState::Update | LoopState::SendOne => LoopState::Sending,
            LoopState::Sending if has_packet => LoopState::SendOne,
            LoopState::Sending => {
                self.next = self.next_frame();
                LoopState::Sleep
            }
        };
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ML-38: the cycle with a buffered receive, one packet per send event, frames without drift.
    #[test]
    fn one_packet_per_send_event() {
        let mut cycle = MainLoop::new(SimTime(5), SimTime(20));
        let mut queue = vec!["one", "two"];
        let mut seen = vec![cycle.state()];
        let mut sent = Vec::new();
        cycle.receive(StationId(1), vec![1]);
        while *seen.last().expect("it starts") != LoopState::Sleep {
            let state = cycle.advance(!queue.is_empty());
            match state {
                LoopState::Update => assert_eq!(cycle.take_buffer().len(), 1),
                LoopState::SendOne => sent.push(queue.remove(0)),
                _ => {}
            }
            // What comes after the update waits for the next one.
            cycle.receive(StationId(1), vec![2]);
            seen.push(state);
        }
        use LoopState::{SendOne, Sending, Sleep, Start, Update};
        let wanted = [
            Start, Update, Sending, SendOne, Sending, SendOne, Sending, Sleep,
        ];
        assert_eq!(seen, wanted);
        assert_eq!(sent, ["one", "two"]);
        assert_eq!(cycle.next(), SimTime(25));
        assert_eq!(cycle.take_buffer().len(), wanted.len() - 1);
        assert_eq!(cycle.advance(false), Update);
        assert_eq!(cycle.next_frame(), SimTime(45));
    }
}
