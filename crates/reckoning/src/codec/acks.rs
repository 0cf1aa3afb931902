//! "I received these vectors at these times": what the sender's ledgers live on (DR-17).
//!
//! ```text
//! entity elastic │ tagged flag │ [policy u8] │ pairs − 1 u3 │ (seq − seq before, signed │ base − reception µs, signed) × pairs
//! ```
//!
//! In order of reception, the first difference from 0. Each ack repeats the last eight receptions, so that seven lost acks
//! in a row lose nothing (digest §2.5).

use super::vectors::{MAX_SEQ, MAX_TIME, micros, read_time};
use super::{BitReader, BitWriter, Limits, Malformed, Unsendable, Why};
use crate::Seq;
use crate::fairness::{ACK_PAIRS, Ack, PolicyTag};
use domain::{BodyId, SimTime};

/// A receiver's report on one entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorAck {
    /// Whose vectors.
    pub entity: BodyId,
    /// Of which policy.
    pub policy: PolicyTag,
    /// One to [`ACK_PAIRS`] receptions in order of time, each vector once. As the receiver says: clamp the times before use.
    pub ack: Ack,
}

impl VectorAck {
    /// May this be sent?
    pub fn check(&self) -> Result<(), Unsendable> {
        let pairs = &self.ack.pairs;
        if pairs.is_empty() || pairs.len() > ACK_PAIRS || !in_order(pairs) {
            return Err(Unsendable::TooMany {
                what: "receptions in an ack (at least 1, each vector once, in order of time)",
                count: pairs.len(),
                max: ACK_PAIRS,
            });
        }
        for (seq, received) in pairs {
            if seq.0 == 0 || seq.0 > MAX_SEQ {
                return Err(Unsendable::BadSeq(seq.0));
            }
            if *received > MAX_TIME {
                return Err(Unsendable::TooLate(*received));
            }
        }
        Ok(())
    }

    /// Appends a checked ack.
    pub(super) fn put(&self, out: &mut BitWriter, base: SimTime) {
        out.elastic(self.entity.0);
        put_policy(out, self.policy);
        out.bits(self.ack.pairs.len() as u64 - 1, 3);
        let mut before = 0;
        for (seq, received) in &self.ack.pairs {
            out.signed(i64::from(seq.0) - before);
            before = i64::from(seq.0);
            out.signed(micros(base) as i64 - micros(*received) as i64);
        }
    }

    /// Reads an ack.
    pub(super) fn get(
        reader: &mut BitReader<'_>,
        base: SimTime,
        limits: &Limits,
    ) -> Result<Self, Malformed> {
        let entity = BodyId(reader.elastic("acked entity")?);
        let policy = get_policy(reader)?;
        let count = reader.bits(3, "number of receptions")? as usize + 1;
        let start = reader.clone();
        let mut pairs = Vec::with_capacity(count);
        let mut before = 0;
        for _ in 0..count {
            before = get_seq_after(reader, before)?;
            let received = read_time(reader, base, limits, "reception time")?;
            pairs.push((Seq(before), received));
        }
        if !in_order(&pairs) {
            return Err(start.error("receptions", Why::Unordered));
        }
        Ok(Self {
            entity,
            policy,
            ack: Ack { pairs },
        })
    }
}

/// Times never fall and no vector occurs twice.
fn in_order(pairs: &[(Seq, SimTime)]) -> bool {
    let rising = pairs.windows(2).all(|two| two[0].1 <= two[1].1);
    let mut earlier = pairs.iter().enumerate();
    rising && earlier.all(|(i, (seq, _))| pairs[..i].iter().all(|(other, _)| other != seq))
}

fn get_seq_after(reader: &mut BitReader<'_>, before: u32) -> Result<u32, Malformed> {
    let start = reader.clone();
    let step = reader.signed("acked vector")?;
    let seq = i64::from(before).checked_add(step);
    match seq {
        Some(seq @ 1..) if seq <= i64::from(MAX_SEQ) => Ok(seq as u32),
        _ => Err(start.error("acked vector", Why::TooLarge(step.unsigned_abs()))),
    }
}

/// Appends a policy; the usual one is a single bit.
pub(super) fn put_policy(out: &mut BitWriter, policy: PolicyTag) {
    out.flag(policy.0 != 0);
    if policy.0 != 0 {
        out.bits(policy.0.into(), 8);
    }
}

/// Reads a policy.
pub(super) fn get_policy(reader: &mut BitReader<'_>) -> Result<PolicyTag, Malformed> {
    Ok(PolicyTag(match reader.flag("has policy")? {
        true => reader.bits(8, "policy")? as u8,
        false => 0,
    }))
}
