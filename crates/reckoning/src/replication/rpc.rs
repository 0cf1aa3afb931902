//! Remote procedure calls: events with a type (DR-48).
//!
//! A call is a struct that knows its number, how hard to try, and its bits. A [`Methods`] table turns arriving events back into
//! such structs and hands them to functions.
//!
//! ```
//! use reckoning::codec::{BitReader, BitWriter, Guarantee, Malformed};
//! use reckoning::replication::{EventChannel, Methods, Rpc, call};
//!
//! struct Score { points: u64 }
//! impl Rpc for Score {
//!     const METHOD: u16 = 1;
//!     const GUARANTEE: Guarantee = Guarantee::Ordered;
//!     fn write(&self, out: &mut BitWriter) { out.elastic(self.points); }
//!     fn read(reader: &mut BitReader<'_>) -> Result<Self, Malformed> { Ok(Score { points: reader.elastic("points")? }) }
//! }
//!
//! let mut channel = EventChannel::new();
//! call(&mut channel, &Score { points: 3 }).unwrap();          // one side; the event travels in the next packet
//!
//! let mut methods = Methods::<u64>::new();                    // the other side
//! methods.on(|total: &mut u64, score: Score| *total += score.points);
//! # let event = reckoning::codec::Event { guarantee: Score::GUARANTEE, number: 0, method: 1, arguments: reckoning::replication::arguments(&Score { points: 3 }) };
//! let mut total = 0;
//! methods.dispatch(&mut total, &event).unwrap();
//! assert_eq!(total, 3);
//! ```

use super::events::{EventChannel, EventError};
use crate::codec::{BitReader, BitWriter, Event, Guarantee, Malformed};
use std::collections::BTreeMap;
use std::fmt;
use thiserror::Error;

/// A method that can be called on the other side.
pub trait Rpc: Sized {
    /// Its number, the same at both ends, different from all others.
    const METHOD: u16;
    /// How hard to try.
    const GUARANTEE: Guarantee;
    /// Writes the arguments.
    fn write(&self, out: &mut BitWriter);
    /// Reads the arguments; they come from outside.
    fn read(reader: &mut BitReader<'_>) -> Result<Self, Malformed>;
}

/// Why an arriving call came to nothing.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum CallError {
    /// No such method here.
    #[error("method {0} is not known here")]
    Unknown(u16),
    /// It came with another promise than the method has.
    #[error("method {0} called with the wrong guarantee")]
    WrongGuarantee(u16),
    /// The arguments do not read.
    #[error("arguments of method {method}: {malformed}")]
    BadArguments {
        /// Which method.
        method: u16,
        /// What is wrong.
        malformed: Malformed,
    },
}

/// Puts a call on its way.
pub fn call<R: Rpc>(channel: &mut EventChannel, rpc: &R) -> Result<(), EventError> {
    channel.send(R::GUARANTEE, R::METHOD, arguments(rpc))
}

/// The arguments as bytes.
pub fn arguments<R: Rpc>(rpc: &R) -> Vec<u8> {
    let mut out = BitWriter::new();
    rpc.write(&mut out);
    out.into_bytes()
}

/// The call that an event is.
pub fn read_call<R: Rpc>(event: &Event) -> Result<R, CallError> {
    if event.method != R::METHOD {
        return Err(CallError::Unknown(event.method));
    }
    if event.guarantee != R::GUARANTEE {
        return Err(CallError::WrongGuarantee(event.method));
    }
    let mut reader = BitReader::new(&event.arguments);
    let read = R::read(&mut reader).and_then(|rpc| reader.finish("arguments").map(|()| rpc));
    read.map_err(|malformed| CallError::BadArguments {
        method: event.method,
        malformed,
    })
}

type Handler<C> = Box<dyn Fn(&mut C, &Event) -> Result<(), CallError> + Send + Sync>;

/// Which function answers which call.
pub struct Methods<C> {
    handlers: BTreeMap<u16, Handler<C>>,
}

impl<C> Default for Methods<C> {
    fn default() -> Self {
        Self {
            handlers: BTreeMap::new(),
        }
    }
}

impl<C> fmt::Debug for Methods<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.handlers.keys()).finish()
    }
}

impl<C> Methods<C> {
    /// Knows none yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls of type `R` go to this function; a later one replaces it.
    pub fn on<R: Rpc>(&mut self, handler: impl Fn(&mut C, R) + Send + Sync + 'static) {
        let checked: Handler<C> = Box::new(move |context, event| {
            handler(context, read_call::<R>(event)?);
            Ok(())
        });
        self.handlers.insert(R::METHOD, checked);
    }

    /// Calls the function an event is meant for.
    pub fn dispatch(&self, context: &mut C, event: &Event) -> Result<(), CallError> {
        match self.handlers.get(&event.method) {
            Some(handler) => handler(context, event),
            None => Err(CallError::Unknown(event.method)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Why;

    #[derive(Debug, PartialEq)]
    struct Say(u64);

    impl Rpc for Say {
        const METHOD: u16 = 7;
        const GUARANTEE: Guarantee = Guarantee::Guaranteed;
        fn write(&self, out: &mut BitWriter) {
            out.elastic(self.0);
        }
        fn read(reader: &mut BitReader<'_>) -> Result<Self, Malformed> {
            Ok(Self(reader.elastic_max(1000, "what to say")?))
        }
    }

    fn event(said: u64) -> Event {
        Event {
            guarantee: Guarantee::Guaranteed,
            number: 0,
            method: 7,
            arguments: arguments(&Say(said)),
        }
    }

    #[test]
    fn dr_48_a_call_arrives_with_its_type() {
        assert_eq!(read_call::<Say>(&event(5)), Ok(Say(5)));
        let mut methods = Methods::<Vec<u64>>::new();
        methods.on(|heard: &mut Vec<u64>, Say(what)| heard.push(what));
        let mut heard = Vec::new();
        methods.dispatch(&mut heard, &event(5)).unwrap();
        assert_eq!(heard, [5]);
    }

    #[test]
    fn bad_calls_are_refused_with_a_reason_and_never_reach_the_function() {
        let mut methods = Methods::<u32>::new();
        methods.on(|calls: &mut u32, _: Say| *calls += 1);
        let mut calls = 0;
        let too_much = methods.dispatch(&mut calls, &event(1001)).unwrap_err();
        assert!(matches!(
            too_much,
            CallError::BadArguments {
                method: 7,
                malformed: Malformed {
                    why: Why::TooLarge(1001),
                    ..
                }
            }
        ));
        let mut trailing = event(1);
        trailing.arguments.push(0);
        assert!(methods.dispatch(&mut calls, &trailing).is_err());
        let mut weaker = event(1);
        weaker.guarantee = Guarantee::Unguaranteed;
        let wrong = methods.dispatch(&mut calls, &weaker);
        assert_eq!(wrong, Err(CallError::WrongGuarantee(7)));
        let mut unknown = event(1);
        unknown.method = 8;
        let wrong = methods.dispatch(&mut calls, &unknown);
        assert_eq!(wrong, Err(CallError::Unknown(8)));
        assert_eq!(calls, 0);
    }
}
