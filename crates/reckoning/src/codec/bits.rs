//! Numbers to bits and back.
//!
//! Bits fill each byte from its lowest bit upwards; a number's lowest bit comes first.
//!
//! ```text
//! bits(n)    a number below 2ⁿ in n bits
//! flag       one bit
//! elastic    6 bits: how many significant bits the number has, then those below the leading one (which is known to be 1)
//!            0 → 000000 · 1 → 000001 · 5 → 000011,01 · prefix 63 means: all 64 bits follow, for numbers from 2⁶² on
//! signed     zigzag, then elastic: 0 −1 1 −2 2 → 0 1 2 3 4
//! steps      a real number as the nearest whole multiple of a step, signed; the step is a power of two, so the
//!            multiple is exact in an f64 and rounding it again changes nothing
//! ```
//!
//! Elastic numbers cost 6 bits more than their size; a coordinate of 100 m on a grid of 1/1024 m takes 23 bits where an
//! f32 takes 32 and is coarser far away.

use super::{Malformed, Why};

/// Values from here on are written in full behind the prefix 63.
const FULL_FROM: u64 = 1 << 62;

/// Collects bits into bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitWriter {
    bytes: Vec<u8>,
    bits: usize,
}

impl BitWriter {
    /// Without any bits yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many bits were written.
    pub fn len_bits(&self) -> usize {
        self.bits
    }

    /// How many bytes they take.
    pub fn len_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Forgets what was written after the first `bits` bits: how a writer takes back what does not fit.
    pub fn truncate(&mut self, bits: usize) {
        if bits >= self.bits {
            return;
        }
        self.bits = bits;
        self.bytes.truncate(bits.div_ceil(8));
        if let (Some(last), rest @ 1..) = (self.bytes.last_mut(), bits % 8) {
            *last &= (1 << rest) - 1;
        }
    }

    /// The lowest `count` bits of a value (`count` up to 64).
    pub fn bits(&mut self, value: u64, count: u32) {
        let mut left = count.min(64);
        let mut rest = value;
        while left > 0 {
            let used = (self.bits % 8) as u32;
            if used == 0 {
                self.bytes.push(0);
            }
            let take = left.min(8 - used);
            let part = (rest & ((1_u64 << take) - 1)) as u8;
            *self.bytes.last_mut().expect("a byte was pushed") |= part << used;
            self.bits += take as usize;
            rest >>= take;
            left -= take;
        }
    }

    /// One bit.
    pub fn flag(&mut self, value: bool) {
        self.bits(value.into(), 1);
    }

    /// A number in as few bits as it needs, plus 6.
    pub fn elastic(&mut self, value: u64) {
        if value >= FULL_FROM {
            self.bits(63, 6);
            self.bits(value, 64);
            return;
        }
        let significant = 64 - value.leading_zeros();
        self.bits(significant.into(), 6);
        self.bits(value, significant.saturating_sub(1));
    }

    /// A signed number, small ones in few bits.
    pub fn signed(&mut self, value: i64) {
        self.elastic(((value << 1) ^ (value >> 63)) as u64);
    }

    /// A real number as the nearest multiple of a step. The caller has checked that it is finite and in range.
    pub fn steps(&mut self, value: f64, steps_per_unit: f64) {
        self.signed((value * steps_per_unit).round() as i64);
    }

    /// Whole bytes, at any bit position.
    pub fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.bits((*byte).into(), 8);
        }
    }

    /// What was written; unused bits of the last byte are zero.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What was written, as its own buffer.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Reads bits of unknown origin; it never panics and never allocates more than it was given.
#[derive(Clone, Debug)]
pub struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> BitReader<'a> {
    /// From the first bit of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many bits are left.
    pub fn remaining(&self) -> usize {
        self.bytes.len() * 8 - self.at
    }

    /// An error at the present place.
    pub fn error(&self, what: &'static str, why: Why) -> Malformed {
        let at_bit = self.at;
        Malformed { at_bit, what, why }
    }

    /// The next `count` bits (up to 64).
    pub fn bits(&mut self, count: u32, what: &'static str) -> Result<u64, Malformed> {
        let count = count.min(64);
        if self.remaining() < count as usize {
            return Err(self.error(what, Why::Ended));
        }
        let mut value = 0;
        let mut done = 0;
        while done < count {
            let used = (self.at % 8) as u32;
            let take = (count - done).min(8 - used);
            let part = u64::from(self.bytes[self.at / 8] >> used) & ((1 << take) - 1);
            value |= part << done;
            self.at += take as usize;
            done += take;
        }
        Ok(value)
    }

    /// One bit.
    pub fn flag(&mut self, what: &'static str) -> Result<bool, Malformed> {
        Ok(self.bits(1, what)? == 1)
    }

    /// An elastic number. Each number has one form: a small one in the full form is refused.
    pub fn elastic(&mut self, what: &'static str) -> Result<u64, Malformed> {
        let start = self.clone();
        match self.bits(6, what)? as u32 {
            0 => Ok(0),
            63 => match self.bits(64, what)? {
                small if small < FULL_FROM => Err(start.error(what, Why::Overlong)),
                value => Ok(value),
            },
            significant => Ok(self.bits(significant - 1, what)? | 1 << (significant - 1)),
        }
    }

    /// An elastic number of at most `max`.
    pub fn elastic_max(&mut self, max: u64, what: &'static str) -> Result<u64, Malformed> {
        let start = self.clone();
        match self.elastic(what)? {
            value if value > max => Err(start.error(what, Why::TooLarge(value))),
            value => Ok(value),
        }
    }

    /// A signed number.
    pub fn signed(&mut self, what: &'static str) -> Result<i64, Malformed> {
        let value = self.elastic(what)?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A real number on a grid, at most `max` away from zero.
    pub fn steps(
        &mut self,
        steps_per_unit: f64,
        max: f64,
        what: &'static str,
    ) -> Result<f64, Malformed> {
        let start = self.clone();
        let steps = self.signed(what)?;
        let value = steps as f64 / steps_per_unit;
        if value.abs() > max {
            return Err(start.error(what, Why::TooLarge(steps.unsigned_abs())));
        }
        Ok(value)
    }

    /// Whole bytes, at any bit position.
    pub fn bytes(&mut self, count: usize, what: &'static str) -> Result<Vec<u8>, Malformed> {
        if self.remaining() / 8 < count {
            return Err(self.error(what, Why::Ended));
        }
        (0..count).map(|_| Ok(self.bits(8, what)? as u8)).collect()
    }

    /// Only the zero bits that fill the last byte may be left.
    pub fn finish(&mut self, what: &'static str) -> Result<(), Malformed> {
        let left = self.remaining();
        if left >= 8 || self.bits(left as u32, what)? != 0 {
            return Err(self.error(what, Why::Trailing(left)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_take_the_bits_the_header_promises() {
        for (value, bits) in [
            (0, 6),
            (1, 6),
            (5, 8),
            (1023, 15),
            (FULL_FROM - 1, 67),
            (u64::MAX, 70),
        ] {
            let mut out = BitWriter::new();
            out.elastic(value);
            assert_eq!(out.len_bits(), bits, "{value}");
        }
    }

    #[test]
    fn a_number_has_one_form() {
        let mut out = BitWriter::new();
        out.bits(63, 6);
        out.bits(7, 64);
        let why = BitReader::new(out.as_bytes())
            .elastic("n")
            .map_err(|e| e.why);
        assert_eq!(why, Err(Why::Overlong));
    }

    #[test]
    fn what_was_taken_back_leaves_no_trace() {
        let mut kept = BitWriter::new();
        kept.bits(0b101, 3);
        let mut tried = kept.clone();
        tried.elastic(u64::MAX);
        tried.truncate(3);
        assert_eq!(tried, kept);
        tried.flag(true);
        kept.flag(true);
        assert_eq!(tried.into_bytes(), kept.into_bytes());
    }

    #[test]
    fn only_padding_may_follow_the_end() {
        assert!(BitReader::new(&[0]).finish("end").is_err(), "a whole byte");
        let mut reader = BitReader::new(&[0b1000_0001]);
        reader.flag("first").unwrap();
        assert!(reader.finish("end").is_err(), "a bit that is set");
    }

    proptest! {
        #[test]
        fn everything_comes_back(values in prop::collection::vec((any::<u64>(), any::<i64>(), 0_u32..=64), 0..40)) {
            let mut out = BitWriter::new();
            for (unsigned, signed, shift) in &values {
                out.elastic(unsigned.checked_shr(*shift).unwrap_or(0));
                out.signed(signed.checked_shr(*shift).unwrap_or(0));
                out.bits(*unsigned, *shift);
                out.flag(unsigned % 2 == 0);
            }
            let bytes = out.into_bytes();
            let mut reader = BitReader::new(&bytes);
            for (unsigned, signed, shift) in &values {
                prop_assert_eq!(reader.elastic("u"), Ok(unsigned.checked_shr(*shift).unwrap_or(0)));
                prop_assert_eq!(reader.signed("s"), Ok(signed.checked_shr(*shift).unwrap_or(0)));
                let mask = if *shift == 64 { u64::MAX } else { (1 << shift) - 1 };
                prop_assert_eq!(reader.bits(*shift, "b"), Ok(unsigned & mask));
                prop_assert_eq!(reader.flag("f"), Ok(unsigned % 2 == 0));
            }
            prop_assert_eq!(reader.finish("end"), Ok(()));
        }
    }
}
