//! Numbers to bytes and back, with every length checked before anything is allocated.
//!
//! ```text
//! varint   7 bits per byte, lowest first, the top bit says "more follows":  300 = AC 02
//! zigzag   signed numbers as varints, small ones stay small:  0 -1 1 -2 2 → 0 1 2 3 4
//! f32/f64  their IEEE bits, little-endian: −0.0, denormals and NaN payloads survive
//! ```

use thiserror::Error;

/// Bytes that do not say what they should.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("byte {at}: {what}: {why}")]
pub struct Malformed {
    /// Where, counted from the first byte given to the reader.
    pub at: usize,
    /// What was being read.
    pub what: &'static str,
    /// What is wrong with it.
    pub why: Why,
}

/// What is wrong with some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Why {
    /// They are too few.
    #[error("the bytes end here")]
    Ended,
    /// A varint with more bytes than its number needs, or than 64 bits need.
    #[error("a number written in too many bytes")]
    Overlong,
    /// A number that does not fit its field.
    #[error("{0} is too large")]
    TooLarge(u64),
    /// A tag or flag this version does not know.
    #[error("unknown tag {0}")]
    UnknownTag(u8),
    /// More elements than the remaining bytes could hold, or than are allowed.
    #[error("{0} are too many")]
    TooMany(u64),
    /// Something that must not stand there.
    #[error("not allowed here")]
    Misplaced,
    /// Bytes after the end.
    #[error("{0} bytes too many")]
    Trailing(usize),
}

/// Reads numbers from bytes of unknown origin; it never panics and never allocates.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// From the first of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many bytes are left.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// An error at the present place.
    pub fn error(&self, what: &'static str, why: Why) -> Malformed {
        let at = self.at;
        Malformed { at, what, why }
    }

    /// The next `count` bytes.
    pub fn take(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], Malformed> {
        let end = self.at.checked_add(count);
        let Some(taken) = end.and_then(|end| self.bytes.get(self.at..end)) else {
            return Err(self.error(what, Why::Ended));
        };
        self.at += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Malformed> {
        match self.bytes[self.at..].first_chunk::<N>() {
            Some(chunk) => {
                self.at += N;
                Ok(*chunk)
            }
            None => Err(self.error(what, Why::Ended)),
        }
    }

    /// One byte.
    pub fn u8(&mut self, what: &'static str) -> Result<u8, Malformed> {
        Ok(self.array::<1>(what)?[0])
    }

    /// A byte that is 0 or 1.
    pub fn bool(&mut self, what: &'static str) -> Result<bool, Malformed> {
        let start = self.at;
        match self.u8(what)? {
            0 => Ok(false),
            1 => Ok(true),
            tag => Err(Malformed {
                at: start,
                what,
                why: Why::UnknownTag(tag),
            }),
        }
    }

    /// Four bytes, little-endian.
    pub fn u32_le(&mut self, what: &'static str) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    /// The bits of an `f32`; it may be NaN.
    pub fn f32(&mut self, what: &'static str) -> Result<f32, Malformed> {
        Ok(f32::from_le_bytes(self.array(what)?))
    }

    /// The bits of an `f64`; it may be NaN.
    pub fn f64(&mut self, what: &'static str) -> Result<f64, Malformed> {
        Ok(f64::from_le_bytes(self.array(what)?))
    }

    /// A number in as few bytes as it needs. One form per number: an overlong one is refused.
    #[inline]
    pub fn varint(&mut self, what: &'static str) -> Result<u64, Malformed> {
        match self.bytes.get(self.at) {
            Some(&byte) if byte < 0x80 => {
                self.at += 1;
                Ok(byte.into())
            }
            _ => self.long_varint(what),
        }
    }

    fn long_varint(&mut self, what: &'static str) -> Result<u64, Malformed> {
        let mut value = 0;
        for (index, &byte) in self.bytes[self.at..].iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                // The tenth byte has room for one bit, and a last byte of zero says nothing.
                if byte == 0 || (index == 9 && byte > 1) {
                    return Err(self.error(what, Why::Overlong));
                }
                self.at += index + 1;
                return Ok(value);
            }
        }
        let why = if self.remaining() < 10 {
            Why::Ended
        } else {
            Why::Overlong
        };
        Err(self.error(what, why))
    }

    /// A varint of at most 32 bits.
    pub fn varint_u32(&mut self, what: &'static str) -> Result<u32, Malformed> {
        let start = self.at;
        let value = self.varint(what)?;
        u32::try_from(value).map_err(|_| Malformed {
            at: start,
            what,
            why: Why::TooLarge(value),
        })
    }

    /// A varint of at most 16 bits.
    pub fn varint_u16(&mut self, what: &'static str) -> Result<u16, Malformed> {
        let start = self.at;
        let value = self.varint(what)?;
        u16::try_from(value).map_err(|_| Malformed {
            at: start,
            what,
            why: Why::TooLarge(value),
        })
    }

    /// A signed number.
    pub fn zigzag(&mut self, what: &'static str) -> Result<i64, Malformed> {
        let value = self.varint(what)?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// How many elements follow. More than the remaining bytes could hold at `min_bytes` each are refused,
    /// so that a caller may allocate for the count it is given.
    pub fn count(&mut self, what: &'static str, min_bytes: usize) -> Result<usize, Malformed> {
        let start = self.at;
        let count = self.varint(what)?;
        if count > (self.remaining() / min_bytes.max(1)) as u64 {
            return Err(Malformed {
                at: start,
                what,
                why: Why::TooMany(count),
            });
        }
        Ok(count as usize)
    }

    /// Were these all the bytes?
    pub fn finish(&self, what: &'static str) -> Result<(), Malformed> {
        match self.remaining() {
            0 => Ok(()),
            more => Err(self.error(what, Why::Trailing(more))),
        }
    }
}

/// Appends what [`Reader::varint`] reads.
#[inline]
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends what [`Reader::zigzag`] reads.
#[inline]
pub fn put_zigzag(out: &mut Vec<u8>, value: i64) {
    put_varint(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Appends the bits of an `f32`.
pub fn put_f32(out: &mut Vec<u8>, value: f32) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends the bits of an `f64`.
pub fn put_f64(out: &mut Vec<u8>, value: f64) {
    out.extend_from_slice(&value.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn varint(value: u64) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, value);
        out
    }

    #[test]
    fn numbers_come_back_in_the_fewest_bytes() {
        for (value, bytes) in [
            (0, 1),
            (127, 1),
            (128, 2),
            (16_383, 2),
            (16_384, 3),
            (u64::MAX, 10),
        ] {
            let out = varint(value);
            assert_eq!(out.len(), bytes, "{value}");
            assert_eq!(Reader::new(&out).varint("n"), Ok(value));
        }
        for value in [0, -1, 1, i64::MIN, i64::MAX, -300] {
            let mut out = Vec::new();
            put_zigzag(&mut out, value);
            assert_eq!(Reader::new(&out).zigzag("n"), Ok(value));
        }
    }

    #[test]
    fn each_number_has_one_form() {
        let overlong: [&[u8]; 3] = [
            &[0x80, 0x00],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02],
            &[
                0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01,
            ],
        ];
        for bytes in overlong {
            assert_eq!(
                Reader::new(bytes).varint("n").map_err(|e| e.why),
                Err(Why::Overlong)
            );
        }
        assert_eq!(
            Reader::new(&[0x80]).varint("n").map_err(|e| e.why),
            Err(Why::Ended)
        );
    }

    #[test]
    fn a_count_never_promises_more_than_the_bytes_can_hold() {
        let mut bytes = varint(3);
        bytes.extend([0; 11]);
        assert!(
            Reader::new(&bytes).count("things", 4).is_err(),
            "3 × 4 > 11"
        );
        assert_eq!(Reader::new(&bytes).count("things", 3), Ok(3));
    }
}
