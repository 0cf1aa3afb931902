//! When a client asks for the time, and which answers it believes.

use crate::codec::{ClockReply, ClockRequest};
use crate::motion::{Exchange, SharedClock};
use domain::SimTime;
use std::collections::VecDeque;

/// The first exchanges follow quickly, so that the clock is good soon.
const EAGER_EXCHANGES: u32 = 8;
const EAGER_EVERY: SimTime = SimTime(100_000_000);
/// Then as often as drift asks for: at 100 ppm a second costs 0.1 ms.
const STEADY_EVERY: SimTime = SimTime(1_000_000_000);
/// Questions whose answers are still believed.
const MAX_OPEN: usize = 16;

/// The asking half of the clock exchange: when to ask, and which answers to believe.
#[derive(Clone, Debug, Default)]
pub struct ClockSync {
    clock: SharedClock,
    open: VecDeque<SimTime>,
    next: SimTime,
    answered: u32,
}

impl ClockSync {
    /// The clock, and how wrong it may be.
    pub fn clock(&self) -> &SharedClock {
        &self.clock
    }

    /// The global time; `None` before the first answer.
    pub fn now(&self, local: SimTime) -> Option<SimTime> {
        self.clock.now(local)
    }

    /// When the next question is due.
    pub fn next_request(&self) -> SimTime {
        self.next
    }

    /// A question, if one is due. Its answer must be to exactly this one: a forger would have to guess the nanosecond.
    pub fn poll_request(&mut self, now: SimTime) -> Option<ClockRequest> {
        if now < self.next {
            return None;
        }
        let every = match self.answered < EAGER_EXCHANGES {
            true => EAGER_EVERY,
            false => STEADY_EVERY,
        };
        self.next = now + every;
        if self.open.len() == MAX_OPEN {
            self.open.pop_front();
        }
        self.open.push_back(now);
        Some(ClockRequest { asked: now })
    }

    /// An answer. Says whether it was believed; each question is answered once.
    pub fn handle_reply(&mut self, now: SimTime, reply: &ClockReply) -> bool {
        let Some(index) = self.open.iter().position(|asked| *asked == reply.asked) else {
            return false;
        };
        let exchange = Exchange {
            sent: reply.asked,
            received: reply.received,
            replied: reply.replied,
            returned: now,
        };
        if self.clock.handle_exchange(now, &exchange).is_err() {
            return false;
        }
        self.open.remove(index);
        self.answered += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: f64) -> SimTime {
        SimTime::from_millis(millis)
    }

    #[test]
    fn it_asks_eagerly_first_and_believes_each_answer_once() {
        let mut sync = ClockSync::default();
        let mut asked = 0;
        for i in 0..100 {
            let now = ms(f64::from(i) * 50.0);
            let Some(request) = sync.poll_request(now) else {
                continue;
            };
            asked += 1;
            let reply = ClockReply {
                asked: request.asked,
                received: request.asked + ms(5_010.0),
                replied: request.asked + ms(5_010.0),
            };
            assert!(sync.handle_reply(now + ms(20.0), &reply));
            assert!(!sync.handle_reply(now + ms(20.0), &reply), "twice");
        }
        assert_eq!(asked, 9 + 4, "for 0.8 s eagerly, then every second");
        let global = sync.now(ms(6_000.0)).expect("known");
        assert!((global.as_millis() - 11_000.0).abs() < 0.1, "{global}");
    }

    #[test]
    fn answers_to_questions_never_asked_are_not_believed() {
        let mut sync = ClockSync::default();
        sync.poll_request(ms(1.0));
        let forged = ClockReply {
            asked: ms(2.0),
            received: ms(99_999.0),
            replied: ms(99_999.0),
        };
        assert!(!sync.handle_reply(ms(3.0), &forged));
        assert_eq!(sync.now(ms(3.0)), None);
    }
}
