//! How messages travel over WebTransport: numbered, some in datagrams, all in order.
//!
//! ```text
//!  gateway                                     client
//!   stream    length 4 │ number 4 │ message ──►  ┐
//!   datagram             number 4 │ message ──►  ┴─► by number: none twice, none left out
//!             ◄── numbers, 4 each (a datagram)       what is missing; it comes again over the stream
//!             ◄── length 4 │ message (the stream)
//! ```
//! A message that fits goes in a datagram, which does not wait for what was lost before it; what is lost is asked for and said again. The state
//! streams inside rely on the order, so the receiver keeps it.

use std::collections::BTreeMap;
use thiserror::Error;

/// Where a gateway takes WebTransport sessions.
pub const WEBTRANSPORT_PATH: &str = "/wt";
/// Most numbers in a datagram that asks for what is missing.
pub const MAX_MISSING: usize = 64;
/// Most messages that may be there early.
const MAX_EARLY: usize = 4096;
/// And most bytes of them.
const MAX_EARLY_BYTES: usize = 1 << 26;

/// What arrives is not a sequence of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// A message is longer than allowed.
    #[error("a message of {0} bytes")]
    TooLong(usize),
    /// Too much has come ahead of what is missing.
    #[error("too much is missing")]
    TooFarAhead,
}

/// A message on a stream.
pub fn frame(message: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4 + message.len());
    bytes.extend_from_slice(&(message.len() as u32).to_le_bytes());
    bytes.extend_from_slice(message);
    bytes
}

/// A message with its number, as it stands in a datagram or, framed, on a stream.
pub fn numbered(number: u32, message: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4 + message.len());
    bytes.extend_from_slice(&number.to_le_bytes());
    bytes.extend_from_slice(message);
    bytes
}

/// The number of a message and the message; `None` if there is none.
pub fn split_number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, message) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_le_bytes(*number), message))
}

/// A datagram that says what is missing.
pub fn encode_missing(numbers: &[u32]) -> Vec<u8> {
    let numbers = numbers.iter().take(MAX_MISSING);
    numbers.flat_map(|number| number.to_le_bytes()).collect()
}

/// What a client says is missing; `None` if it says nothing of the kind.
pub fn decode_missing(bytes: &[u8]) -> Option<Vec<u32>> {
    let (numbers, rest) = bytes.as_chunks::<4>();
    let sound = rest.is_empty() && !numbers.is_empty() && numbers.len() <= MAX_MISSING;
    sound.then(|| numbers.iter().map(|it| u32::from_le_bytes(*it)).collect())
}

/// Cuts a stream of bytes into messages.
#[derive(Debug)]
pub struct Frames {
    buffer: Vec<u8>,
    longest: usize,
}

impl Frames {
    /// Messages may be so long.
    pub fn new(longest: usize) -> Self {
        Self {
            buffer: Vec::new(),
            longest,
        }
    }

    /// Bytes have come.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next message that is complete.
    pub fn next_message(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        let Some((length, rest)) = self.buffer.split_first_chunk::<4>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*length) as usize;
        if length > self.longest {
            return Err(FrameError::TooLong(length));
        }
        let Some(message) = rest.get(..length) else {
            return Ok(None);
        };
        let message = message.to_vec();
        self.buffer.drain(..4 + length);
        Ok(Some(message))
    }
}

/// Puts numbered messages in order. Numbers begin with 1.
#[derive(Debug)]
pub struct InOrder {
    next: u32,
    early: BTreeMap<u32, Vec<u8>>,
    early_bytes: usize,
}

impl Default for InOrder {
    fn default() -> Self {
        Self {
            next: 1,
            early: BTreeMap::new(),
            early_bytes: 0,
        }
    }
}

impl InOrder {
    /// A message has come. What has come before is dropped.
    pub fn push(&mut self, number: u32, message: Vec<u8>) -> Result<(), FrameError> {
        if number < self.next || self.early.contains_key(&number) {
            return Ok(());
        }
        self.early_bytes += message.len();
        self.early.insert(number, message);
        if self.early.len() > MAX_EARLY || self.early_bytes > MAX_EARLY_BYTES {
            return Err(FrameError::TooFarAhead);
        }
        Ok(())
    }

    /// The next message, if it is there.
    pub fn pop(&mut self) -> Option<Vec<u8>> {
        let message = self.early.remove(&self.next)?;
        self.early_bytes -= message.len();
        self.next = self.next.checked_add(1)?;
        Some(message)
    }

    /// What is missing before the newest that has come, the oldest first.
    pub fn missing(&self) -> Vec<u32> {
        let Some((newest, _)) = self.early.last_key_value() else {
            return Vec::new();
        };
        (self.next..*newest)
            .filter(|number| !self.early.contains_key(number))
            .take(MAX_MISSING)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_cut_where_messages_end_however_it_comes() {
        let messages: [&[u8]; 4] = [b"one", b"", b"three", &[7; 300]];
        let bytes: Vec<u8> = messages.iter().flat_map(|message| frame(message)).collect();
        for step in [1, 2, 3, 5, 64, bytes.len()] {
            let mut frames = Frames::new(300);
            let mut out = Vec::new();
            for part in bytes.chunks(step) {
                frames.push(part);
                while let Some(message) = frames.next_message().expect("sound") {
                    out.push(message);
                }
            }
            assert_eq!(out, messages);
        }
        let mut frames = Frames::new(299);
        frames.push(&frame(&[7; 300]));
        assert_eq!(frames.next_message(), Err(FrameError::TooLong(300)));
    }

    #[test]
    fn numbers_decide_the_order_and_what_is_missing_is_known() {
        let mut order = InOrder::default();
        assert!(order.missing().is_empty() && order.pop().is_none());
        for number in [3, 1, 5, 3] {
            order.push(number, vec![number as u8]).expect("near");
        }
        assert_eq!(order.pop(), Some(vec![1]));
        assert_eq!(order.pop(), None);
        assert_eq!(order.missing(), [2, 4]);
        order.push(2, vec![2]).expect("near");
        order.push(1, vec![9]).expect("known");
        assert_eq!((order.pop(), order.pop()), (Some(vec![2]), Some(vec![3])));
        assert_eq!(order.missing(), [4]);
        order.push(4, vec![4]).expect("near");
        assert_eq!((order.pop(), order.pop()), (Some(vec![4]), Some(vec![5])));
        assert!(order.missing().is_empty() && order.pop().is_none());
    }

    #[test]
    fn a_gateway_cannot_fill_a_clients_memory() {
        let mut order = InOrder::default();
        let ahead = (2..).map(|number| order.push(number, Vec::new()));
        assert_eq!(ahead.take_while(Result::is_ok).count(), MAX_EARLY);
        let mut order = InOrder::default();
        order.push(u32::MAX, vec![0; 10]).expect("one");
        assert_eq!(order.missing().len(), MAX_MISSING);
        assert!(order.push(9, vec![0; MAX_EARLY_BYTES]).is_err());
    }

    #[test]
    fn what_is_missing_survives_its_datagram() {
        let numbers = [2, 4, u32::MAX];
        assert_eq!(
            decode_missing(&encode_missing(&numbers)),
            Some(numbers.to_vec())
        );
        assert_eq!(
            decode_missing(&encode_missing(&[1; 100])).map(|it| it.len()),
            Some(64)
        );
        for bad in [&[][..], &[1], &[0; 7], &[0; 4 * 65]] {
            assert_eq!(decode_missing(bad), None);
        }
        assert_eq!(split_number(&numbered(7, b"x")), Some((7, &b"x"[..])));
        assert_eq!(split_number(&[1, 2, 3]), None);
    }
}
