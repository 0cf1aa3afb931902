//! Counting hits so that both participants count the same: identity, notices, settlement.

mod ledger;
mod pair;

pub(crate) use ledger::Ledger;
pub(crate) use pair::{Commit, Heard, Pair, Played, Voting};
