//! Everything two programs say to each other, one datagram each.
//!
//! ```text
//! client                                  server
//!   │── Discover (broadcast) ──────────────▶ │
//!   │ ◀──────────────────────────── Found ── │
//!   │── ConnectRequest(nonce), padded ─────▶ │  keeps nothing
//!   │ ◀── Challenge(epoch, cookie, puzzle) ─ │  keeps nothing
//!   │── ConnectResponse(…, solution) ──────▶ │  cookie and solution right: a connection
//!   │ ◀────────── Accepted(token) / Refused ─│
//!   │ ◀─ Packet, ClockRequest, ClockReply ─▶ │
//!   │── Disconnect ────────────────────────▶ │
//! ```

use super::{BitReader, BitWriter, ClockReply, ClockRequest, Limits, Malformed, Message};
use super::{PacketHeader, Unsendable, Why};

/// The version this build speaks. A higher one may change everything behind the first four bits.
pub const PROTOCOL_VERSION: u8 = 1;
/// The most bytes of a datagram: fits the smallest MTU in common use with room for tunnels.
pub const MAX_DATAGRAM: usize = 1400;
/// The kind of a packet.
pub(super) const PACKET_KIND: u64 = 8;
/// A request is padded to this size, so that the answer to a forged one is smaller than what the forger spent.
const MIN_REQUEST_BYTES: usize = 64;

/// The secret of one connection, in each of its packets: who cannot read our packets cannot forge them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u32);

/// Why a server does not want a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusalReason {
    /// No place left.
    #[error("the server is full")]
    Full,
    /// The challenge was answered too late; ask again.
    #[error("the challenge has expired")]
    Expired,
    /// The puzzle is not solved.
    #[error("the puzzle's solution is wrong")]
    WrongSolution,
}

/// One datagram.
#[derive(Clone, Debug, PartialEq)]
pub enum Datagram {
    /// Is there a server?
    Discover {
        /// Comes back in the answer.
        nonce: u64,
    },
    /// Here is one.
    Found {
        /// From the question.
        nonce: u64,
        /// How many clients it has.
        clients: u16,
    },
    /// May I come in?
    ConnectRequest {
        /// The client's name for this attempt.
        nonce: u64,
    },
    /// Show that you are where you say you are, and that you mean it.
    Challenge {
        /// From the request.
        nonce: u64,
        /// When the cookie was made, in periods of the server.
        epoch: u32,
        /// Keyed hash of address, nonce, epoch and difficulty.
        cookie: [u8; 16],
        /// How many leading zero bits the solution's hash needs.
        difficulty: u8,
    },
    /// Here you are.
    ConnectResponse {
        /// As in the request.
        nonce: u64,
        /// From the challenge.
        epoch: u32,
        /// From the challenge.
        cookie: [u8; 16],
        /// From the challenge.
        difficulty: u8,
        /// The puzzle's solution.
        solution: u64,
    },
    /// Welcome.
    Accepted {
        /// From the response.
        nonce: u64,
        /// For all packets to come.
        token: Token,
        /// The client's number at this server.
        client: u32,
    },
    /// No.
    Refused {
        /// From the response.
        nonce: u64,
        /// Why.
        reason: RefusalReason,
    },
    /// A connection's packet.
    Packet {
        /// Its header.
        header: PacketHeader,
        /// What it carries.
        messages: Vec<Message>,
    },
    /// What time is it?
    ClockRequest {
        /// Of the connection.
        token: Token,
        /// The question.
        request: ClockRequest,
    },
    /// It is this late.
    ClockReply {
        /// Of the connection.
        token: Token,
        /// The answer.
        reply: ClockReply,
    },
    /// The sender is gone.
    Disconnect {
        /// Of the connection.
        token: Token,
    },
}

impl Datagram {
    /// As bytes. Fails only if something in a packet may not be sent.
    pub fn encode(&self) -> Result<Vec<u8>, Unsendable> {
        let mut out = BitWriter::new();
        out.bits(PROTOCOL_VERSION.into(), 4);
        out.bits(self.kind(), 4);
        self.put(&mut out)?;
        if matches!(self, Self::Discover { .. } | Self::ConnectRequest { .. }) {
            out.bytes(&[0; MIN_REQUEST_BYTES][out.len_bytes()..]);
        }
        let count = out.len_bytes();
        if count > MAX_DATAGRAM {
            return Err(Unsendable::TooMany {
                what: "bytes of a datagram",
                count,
                max: MAX_DATAGRAM,
            });
        }
        Ok(out.into_bytes())
    }

    /// From bytes of unknown origin: all of it is right, or none of it is used.
    pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Self, Malformed> {
        let mut reader = BitReader::new(bytes);
        if bytes.len() > MAX_DATAGRAM {
            return Err(reader.error("datagram", Why::TooLong(bytes.len())));
        }
        let version = reader.bits(4, "version")? as u8;
        if version != PROTOCOL_VERSION {
            return Err(reader.error("version", Why::UnknownVersion(version)));
        }
        let datagram = Self::get(&mut reader, limits)?;
        if matches!(
            datagram,
            Self::Discover { .. } | Self::ConnectRequest { .. }
        ) {
            padding(&mut reader, bytes.len())?;
        }
        reader.finish("end of datagram")?;
        Ok(datagram)
    }

    fn kind(&self) -> u64 {
        match self {
            Self::Discover { .. } => 1,
            Self::Found { .. } => 2,
            Self::ConnectRequest { .. } => 3,
            Self::Challenge { .. } => 4,
            Self::ConnectResponse { .. } => 5,
            Self::Accepted { .. } => 6,
            Self::Refused { .. } => 7,
            Self::Packet { .. } => PACKET_KIND,
            Self::ClockRequest { .. } => 9,
            Self::ClockReply { .. } => 10,
            Self::Disconnect { .. } => 11,
        }
    }

    fn put(&self, out: &mut BitWriter) -> Result<(), Unsendable> {
        match self {
            Self::Discover { nonce } | Self::ConnectRequest { nonce } => out.bits(*nonce, 64),
            Self::Found { nonce, clients } => {
                out.bits(*nonce, 64);
                out.bits((*clients).into(), 16);
            }
            Self::Challenge {
                nonce,
                epoch,
                cookie,
                difficulty,
            } => {
                put_cookie(out, *nonce, *epoch, cookie);
                out.bits((*difficulty).into(), 8);
            }
            Self::ConnectResponse {
                nonce,
                epoch,
                cookie,
                difficulty,
                solution,
            } => {
                put_cookie(out, *nonce, *epoch, cookie);
                out.bits((*difficulty).into(), 8);
                out.bits(*solution, 64);
            }
            Self::Accepted {
                nonce,
                token,
                client,
            } => {
                out.bits(*nonce, 64);
                out.bits(token.0.into(), 32);
                out.bits((*client).into(), 32);
            }
            Self::Refused { nonce, reason } => {
                out.bits(*nonce, 64);
                out.bits(*reason as u64, 8);
            }
            Self::Packet { header, messages } => {
                header.put(out);
                for message in messages {
                    message.write(out, header.base())?;
                }
                out.bits(0, 4);
            }
            Self::ClockRequest { token, request } => {
                out.bits(token.0.into(), 32);
                request.put(out);
            }
            Self::ClockReply { token, reply } => {
                out.bits(token.0.into(), 32);
                reply.put(out);
            }
            Self::Disconnect { token } => out.bits(token.0.into(), 32),
        }
        Ok(())
    }

    fn get(reader: &mut BitReader<'_>, limits: &Limits) -> Result<Self, Malformed> {
        let start = reader.clone();
        Ok(match reader.bits(4, "kind of datagram")? {
            1 => Self::Discover {
                nonce: reader.bits(64, "nonce")?,
            },
            2 => Self::Found {
                nonce: reader.bits(64, "nonce")?,
                clients: reader.bits(16, "clients")? as u16,
            },
            3 => Self::ConnectRequest {
                nonce: reader.bits(64, "nonce")?,
            },
            4 => Self::Challenge {
                nonce: reader.bits(64, "nonce")?,
                epoch: reader.bits(32, "epoch")? as u32,
                cookie: get_cookie(reader)?,
                difficulty: reader.bits(8, "difficulty")? as u8,
            },
            5 => Self::ConnectResponse {
                nonce: reader.bits(64, "nonce")?,
                epoch: reader.bits(32, "epoch")? as u32,
                cookie: get_cookie(reader)?,
                difficulty: reader.bits(8, "difficulty")? as u8,
                solution: reader.bits(64, "solution")?,
            },
            6 => Self::Accepted {
                nonce: reader.bits(64, "nonce")?,
                token: get_token(reader)?,
                client: reader.bits(32, "client")? as u32,
            },
            7 => Self::Refused {
                nonce: reader.bits(64, "nonce")?,
                reason: get_reason(reader)?,
            },
            PACKET_KIND => get_packet(reader, limits)?,
            9 => Self::ClockRequest {
                token: get_token(reader)?,
                request: ClockRequest::get(reader)?,
            },
            10 => Self::ClockReply {
                token: get_token(reader)?,
                reply: ClockReply::get(reader)?,
            },
            11 => Self::Disconnect {
                token: get_token(reader)?,
            },
            kind => return Err(start.error("kind of datagram", Why::UnknownKind(kind))),
        })
    }
}

fn get_packet(reader: &mut BitReader<'_>, limits: &Limits) -> Result<Datagram, Malformed> {
    let header = PacketHeader::get(reader, limits)?;
    let mut messages = Vec::new();
    while let Some(message) = Message::read(reader, header.base(), limits)? {
        messages.push(message);
    }
    Ok(Datagram::Packet { header, messages })
}

fn put_cookie(out: &mut BitWriter, nonce: u64, epoch: u32, cookie: &[u8; 16]) {
    out.bits(nonce, 64);
    out.bits(epoch.into(), 32);
    out.bytes(cookie);
}

fn get_cookie(reader: &mut BitReader<'_>) -> Result<[u8; 16], Malformed> {
    let low = reader.bits(64, "cookie")?.to_le_bytes();
    let high = reader.bits(64, "cookie")?.to_le_bytes();
    let mut cookie = [0; 16];
    cookie[..8].copy_from_slice(&low);
    cookie[8..].copy_from_slice(&high);
    Ok(cookie)
}

fn get_token(reader: &mut BitReader<'_>) -> Result<Token, Malformed> {
    Ok(Token(reader.bits(32, "token")? as u32))
}

fn get_reason(reader: &mut BitReader<'_>) -> Result<RefusalReason, Malformed> {
    let start = reader.clone();
    match reader.bits(8, "reason")? {
        0 => Ok(RefusalReason::Full),
        1 => Ok(RefusalReason::Expired),
        2 => Ok(RefusalReason::WrongSolution),
        code => Err(start.error("reason", Why::UnknownKind(code))),
    }
}

/// A request must be as long as the answer it asks for; what fills it must be zero.
fn padding(reader: &mut BitReader<'_>, bytes: usize) -> Result<(), Malformed> {
    if bytes < MIN_REQUEST_BYTES {
        return Err(reader.error("padding of a request", Why::Ended));
    }
    while reader.remaining() >= 8 {
        let start = reader.clone();
        if reader.bits(8, "padding of a request")? != 0 {
            return Err(start.error("padding of a request", Why::Trailing(start.remaining())));
        }
    }
    Ok(())
}
