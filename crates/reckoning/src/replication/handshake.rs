//! Getting connected: two phases, so that nobody can connect in another's name, and no memory is spent on who only knocks.
//!
//! ```text
//! client                                        server
//!   │ ConnectRequest(nonce) ─────────────────────▶ │  computes a cookie from all this and its secret; forgets
//!   │ ◀───────── Challenge(epoch, cookie, puzzle) ─│  all of it again
//!   │ (solves the puzzle)                          │
//!   │ ConnectResponse(all of it, solution) ───────▶│  the cookie is right: the client really receives at that address;
//!   │ ◀───────────────────────── Accepted(token) ──│  the puzzle is solved: it means it. Only now: a connection
//! ```
//!
//! Each question is repeated until answered; each answer to the same question is the same (the token, too, is a keyed
//! hash), so loss and duplication change nothing. The puzzle becomes harder while many knock (DR-49). Packets
//! are not encrypted: who can read them can forge them; put the connection in a tunnel where that matters.

use super::puzzle::{Search, is_solution};
use crate::codec::{Datagram, RefusalReason, Token};
use domain::SimTime;
use std::net::{IpAddr, SocketAddr};

/// A cookie is good for the period it was made in and the next.
const PERIOD: SimTime = SimTime(10_000_000_000);
/// A client repeats its question this often.
const REPEAT_EVERY: SimTime = SimTime(250_000_000);
/// Tries at the puzzle per call: about a millisecond.
const TRIES_PER_CALL: u64 = 8192;

/// What the gatekeeper makes of a datagram.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Send this back; keep nothing.
    Answer(Datagram),
    /// This client has shown that it is where it says it is. Make a connection with this token, or find the one
    /// that already has it.
    Admit {
        /// The client's name for this attempt.
        nonce: u64,
        /// The connection's secret.
        token: Token,
    },
    /// Nothing to do with connecting, or not worth an answer.
    Ignore,
}

/// The server's door. It remembers nothing about who knocks, only how many.
#[derive(Clone, Debug)]
pub struct Gatekeeper {
    secret: [u8; 32],
    base_difficulty: u8,
    knocks: u32,
    counted_since: SimTime,
    load_bits: u8,
}

impl Gatekeeper {
    /// With a secret nobody can guess (the driver draws it) and the puzzle's difficulty in quiet times.
    pub fn new(secret: [u8; 32], base_difficulty: u8) -> Self {
        Self {
            secret,
            base_difficulty,
            knocks: 0,
            counted_since: SimTime::ZERO,
            load_bits: 0,
        }
    }

    /// The difficulty now: one bit more for each doubling beyond 64 requests in the last second.
    pub fn difficulty(&self) -> u8 {
        (self.base_difficulty + self.load_bits).min(super::puzzle::MAX_DIFFICULTY)
    }

    /// Someone at this address says something.
    pub fn handle(&mut self, now: SimTime, from: SocketAddr, datagram: &Datagram) -> Verdict {
        match datagram {
            Datagram::ConnectRequest { nonce } => {
                self.count_knock(now);
                let (epoch, difficulty) = (epoch_of(now), self.difficulty());
                Verdict::Answer(Datagram::Challenge {
                    nonce: *nonce,
                    epoch,
                    cookie: self.cookie(from, *nonce, epoch, difficulty),
                    difficulty,
                })
            }
            Datagram::ConnectResponse {
                nonce,
                epoch,
                cookie,
                difficulty,
                solution,
            } => {
                // A wrong cookie gets no answer at all: it may have been sent in another's name.
                let right = self.cookie(from, *nonce, *epoch, *difficulty);
                if !is_same(&right, cookie) {
                    return Verdict::Ignore;
                }
                let solved = is_solution(cookie, *nonce, *difficulty, *solution);
                self.judge(now, from, *nonce, *epoch, solved)
            }
            _ => Verdict::Ignore,
        }
    }

    /// A client that really is where it says it is.
    fn judge(
        &self,
        now: SimTime,
        from: SocketAddr,
        nonce: u64,
        epoch: u32,
        solved: bool,
    ) -> Verdict {
        let refuse = |reason| Verdict::Answer(Datagram::Refused { nonce, reason });
        if epoch_of(now).wrapping_sub(epoch) > 1 {
            return refuse(RefusalReason::Expired);
        }
        if !solved {
            return refuse(RefusalReason::WrongSolution);
        }
        let token = self.keyed("token", from, nonce, epoch, 0);
        let first = token.as_bytes().first_chunk().copied().unwrap_or_default();
        Verdict::Admit {
            nonce,
            token: Token(u32::from_le_bytes(first)),
        }
    }

    fn count_knock(&mut self, now: SimTime) {
        if now.since(self.counted_since) >= SimTime::from_secs(1.0) {
            self.counted_since = now;
            self.knocks = 0;
            self.load_bits = 0;
        }
        self.knocks = self.knocks.saturating_add(1);
        let doublings = (self.knocks / 64)
            .checked_ilog2()
            .map_or(0, |bits| bits + 1);
        self.load_bits = self.load_bits.max(doublings as u8);
    }

    /// The difficulty is part of it, so that nobody solves an easier puzzle than was asked.
    fn cookie(&self, from: SocketAddr, nonce: u64, epoch: u32, difficulty: u8) -> [u8; 16] {
        let hash = self.keyed("cookie", from, nonce, epoch, difficulty);
        hash.as_bytes().first_chunk().copied().unwrap_or_default()
    }

    fn keyed(
        &self,
        purpose: &str,
        from: SocketAddr,
        nonce: u64,
        epoch: u32,
        difficulty: u8,
    ) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.secret);
        hasher.update(purpose.as_bytes());
        match from.ip() {
            IpAddr::V4(ip) => hasher.update(&ip.to_ipv6_mapped().octets()),
            IpAddr::V6(ip) => hasher.update(&ip.octets()),
        };
        hasher.update(&from.port().to_le_bytes());
        hasher.update(&nonce.to_le_bytes());
        hasher.update(&epoch.to_le_bytes());
        hasher.update(&[difficulty]);
        hasher.finalize()
    }
}

/// In constant time, as hashes compare: sixteen bytes as half a hash.
fn is_same(one: &[u8; 16], other: &[u8; 16]) -> bool {
    let [one, other] = [one, other].map(|cookie| {
        let mut wide = [0; 32];
        wide[..16].copy_from_slice(cookie);
        blake3::Hash::from_bytes(wide)
    });
    one == other
}

fn epoch_of(now: SimTime) -> u32 {
    (now.0 / PERIOD.0) as u32
}

/// How far a client has got.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// Still knocking or solving.
    Connecting,
    /// Inside.
    Connected {
        /// The connection's secret.
        token: Token,
        /// Our number at the server.
        client: u32,
    },
    /// Turned away.
    Refused(RefusalReason),
    /// The server asks for an absurd amount of work.
    TooHard(u8),
}

#[derive(Clone, Debug)]
enum Step {
    Asking,
    Solving { search: Search, answer: Datagram },
    Answering(Datagram),
}

/// The client's side of the door.
#[derive(Clone, Debug)]
pub struct Connector {
    nonce: u64,
    step: Step,
    progress: Progress,
    spoke_at: Option<SimTime>,
}

impl Connector {
    /// A new attempt under a nonce that the driver draws afresh each time.
    pub fn new(nonce: u64) -> Self {
        Self {
            nonce,
            step: Step::Asking,
            progress: Progress::Connecting,
            spoke_at: None,
        }
    }

    /// How far we are.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The server says something. What is not an answer to us is ignored.
    pub fn handle(&mut self, datagram: &Datagram) {
        if self.progress != Progress::Connecting {
            return;
        }
        match *datagram {
            Datagram::Challenge {
                nonce,
                epoch,
                cookie,
                difficulty,
            } if nonce == self.nonce && matches!(self.step, Step::Asking) => {
                self.begin_search(epoch, cookie, difficulty);
            }
            Datagram::Accepted {
                nonce,
                token,
                client,
            } if nonce == self.nonce && matches!(self.step, Step::Answering(_)) => {
                self.progress = Progress::Connected { token, client };
            }
            Datagram::Refused { nonce, reason } if nonce == self.nonce => match reason {
                RefusalReason::Expired => self.start_again(),
                reason => self.progress = Progress::Refused(reason),
            },
            _ => {}
        }
    }

    /// The next thing to send, if one is due.
    pub fn poll_transmit(&mut self, now: SimTime) -> Option<Datagram> {
        if self.progress != Progress::Connecting {
            return None;
        }
        self.solve_a_little();
        let question = match &self.step {
            Step::Asking => Datagram::ConnectRequest { nonce: self.nonce },
            Step::Solving { .. } => return None,
            Step::Answering(answer) => answer.clone(),
        };
        let due = self.spoke_at.is_none_or(|at| now.since(at) >= REPEAT_EVERY);
        due.then(|| {
            self.spoke_at = Some(now);
            question
        })
    }

    fn begin_search(&mut self, epoch: u32, cookie: [u8; 16], difficulty: u8) {
        let Some(search) = Search::new(cookie, self.nonce, difficulty) else {
            self.progress = Progress::TooHard(difficulty);
            return;
        };
        let answer = Datagram::ConnectResponse {
            nonce: self.nonce,
            epoch,
            cookie,
            difficulty,
            solution: 0,
        };
        self.step = Step::Solving { search, answer };
    }

    fn solve_a_little(&mut self) {
        let Step::Solving { search, answer } = &mut self.step else {
            return;
        };
        if let Some(found) = search.advance(TRIES_PER_CALL) {
            let mut answer = answer.clone();
            if let Datagram::ConnectResponse { solution, .. } = &mut answer {
                *solution = found;
            }
            self.step = Step::Answering(answer);
            self.spoke_at = None;
        }
    }

    fn start_again(&mut self) {
        self.step = Step::Asking;
        self.spoke_at = None;
    }
}

#[cfg(test)]
#[path = "handshake_tests.rs"]
mod tests;
