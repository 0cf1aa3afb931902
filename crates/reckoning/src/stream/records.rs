//! What a packet says about one body, and its bits.
//!
//! ```text
//! packet  = { 1 record } 0
//! record  = gap ┬ 1 ┬ 1                                                leaves
//!               │   └ 0 body, flight from scratch, turn from scratch    enters
//!               └ 0 ┬ 1 ┬ 1 flight, turn                                moves
//!                   │   └ 0 flight
//!                   └ 0 turn
//! flight, turn: see `steps`
//! ```
//!
//! A record holds *differences* to what the receiver expects from the newest curve the server knows it to have, so that
//! nothing here depends on what the receiver has: a packet can be read to its end before anything is believed.

use super::range::BitCoder;
use super::steps::{FlightStep, TurnStep};
use super::symbols::*;

/// The most records of a packet: however cheap bits are, a few bytes must not stand for a whole world.
pub(crate) const MAX_RECORDS: usize = 4096;
/// A curve begins at most this many ticks before its packet.
pub(crate) const MAX_AGE: u64 = 1 << 32;

/// A record as it stands in a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) slot: u32,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum What {
    Leaves,
    Enters {
        body: u64,
        flight: FlightStep,
        turn: TurnStep,
    },
    Moves {
        flight: Option<FlightStep>,
        turn: Option<TurnStep>,
    },
}

/// Where reading or writing a packet's records has got to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cursor {
    next_slot: u64,
    next_body: u64,
}

impl Cursor {
    /// The slot and body of a record follow from those before; `None` if they run over.
    pub(crate) fn code<C: BitCoder>(
        &mut self,
        symbols: &mut Symbols<C>,
        record: &Record,
    ) -> Option<Record> {
        let gap = u64::from(record.slot).saturating_sub(self.next_slot);
        let gap = symbols.number(GAP, gap);
        let slot = u32::try_from(self.next_slot.checked_add(gap)?).ok()?;
        self.next_slot = u64::from(slot) + 1;
        symbols.charge(Part::Ids);
        let scope = matches!(record.what, What::Leaves | What::Enters { .. });
        let what = if !symbols.bit(SCOPE, scope) {
            self.code_moves(symbols, record)
        } else if symbols.bit(LEAVES, record.what == What::Leaves) {
            What::Leaves
        } else {
            self.code_enters(symbols, record)?
        };
        Some(Record { slot, what })
    }

    fn code_enters<C: BitCoder>(
        &mut self,
        symbols: &mut Symbols<C>,
        record: &Record,
    ) -> Option<What> {
        let (body, flight, turn) = match &record.what {
            What::Enters { body, flight, turn } => (*body, *flight, *turn),
            _ => Default::default(),
        };
        let skipped = symbols.number(BODY, body.wrapping_sub(self.next_body));
        let body = skipped.wrapping_add(self.next_body);
        self.next_body = body.wrapping_add(1);
        let flight = flight.code(symbols, true);
        let turn = turn.code(symbols, true, Some(&flight));
        Some(What::Enters { body, flight, turn })
    }

    fn code_moves<C: BitCoder>(&mut self, symbols: &mut Symbols<C>, record: &Record) -> What {
        let (flight, turn) = match &record.what {
            What::Moves { flight, turn } => (*flight, *turn),
            _ => (None, None),
        };
        let has_flight = symbols.bit(PARTS, flight.is_some());
        let has_turn = !has_flight || symbols.bit(PARTS.plus(1), turn.is_some());
        symbols.charge(Part::Ids);
        let flight = has_flight.then(|| flight.unwrap_or_default().code(symbols, false));
        let turn = has_turn.then(|| {
            let turn = turn.unwrap_or_default();
            turn.code(symbols, false, flight.as_ref())
        });
        What::Moves { flight, turn }
    }
}
