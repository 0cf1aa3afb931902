//! Numbers to bytes and back. Little-endian, fixed widths; text and lists begin with their length.

use glam::{DVec3, Quat, Vec3};
use thiserror::Error;

/// Bytes that do not say what they should.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("byte {at}: {what}: {why}")]
pub struct Malformed {
    /// Where, counted from the message's first byte.
    pub at: usize,
    /// What was being read.
    pub what: &'static str,
    /// What is wrong with it.
    pub why: Why,
}

/// What is wrong with some bytes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Why {
    /// They are too few.
    #[error("the bytes end here")]
    Ended,
    /// They go on after the message's end.
    #[error("{0} bytes too many")]
    Trailing(usize),
    /// A kind that this version does not know.
    #[error("kind 0x{0:02x} is not known")]
    UnknownKind(u8),
    /// NaN or infinite.
    #[error("not a finite number")]
    NotFinite,
    /// More than are allowed, or than the bytes could hold.
    #[error("{0} are too many")]
    TooMany(usize),
    /// Text that is not UTF-8.
    #[error("not UTF-8")]
    NotText,
    /// A number that makes no sense here.
    #[error("{0}")]
    Senseless(String),
}

/// Reads a message of unknown origin.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

pub(crate) type Read<T> = Result<T, Malformed>;

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn error(&self, what: &'static str, why: Why) -> Malformed {
        let at = self.at;
        Malformed { at, what, why }
    }

    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(crate) fn take(&mut self, count: usize, what: &'static str) -> Read<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let Some(taken) = rest.get(..count) else {
            return Err(self.error(what, Why::Ended));
        };
        self.at += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Read<[u8; N]> {
        let taken = self.take(N, what)?;
        Ok(taken.try_into().expect("as many as were asked for"))
    }

    pub(crate) fn u8(&mut self, what: &'static str) -> Read<u8> {
        Ok(self.array::<1>(what)?[0])
    }

    pub(crate) fn u16(&mut self, what: &'static str) -> Read<u16> {
        Ok(u16::from_le_bytes(self.array(what)?))
    }

    pub(crate) fn u32(&mut self, what: &'static str) -> Read<u32> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    pub(crate) fn u64(&mut self, what: &'static str) -> Read<u64> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    pub(crate) fn flag(&mut self, what: &'static str) -> Read<bool> {
        match self.u8(what)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(self.error(what, Why::UnknownKind(other))),
        }
    }

    pub(crate) fn f32(&mut self, what: &'static str) -> Read<f32> {
        let value = f32::from_le_bytes(self.array(what)?);
        if value.is_finite() {
            Ok(value)
        } else {
            Err(self.error(what, Why::NotFinite))
        }
    }

    pub(crate) fn f64(&mut self, what: &'static str) -> Read<f64> {
        let value = f64::from_le_bytes(self.array(what)?);
        if value.is_finite() {
            Ok(value)
        } else {
            Err(self.error(what, Why::NotFinite))
        }
    }

    pub(crate) fn vec3(&mut self, what: &'static str) -> Read<Vec3> {
        Ok(Vec3::new(self.f32(what)?, self.f32(what)?, self.f32(what)?))
    }

    pub(crate) fn dvec3(&mut self, what: &'static str) -> Read<DVec3> {
        Ok(DVec3::new(
            self.f64(what)?,
            self.f64(what)?,
            self.f64(what)?,
        ))
    }

    /// A unit quaternion. What is nearly one is made one; anything else is refused.
    pub(crate) fn rotation(&mut self, what: &'static str) -> Read<Quat> {
        let parts = [
            self.f32(what)?,
            self.f32(what)?,
            self.f32(what)?,
            self.f32(what)?,
        ];
        let rotation = Quat::from_array(parts);
        if (rotation.length_squared() - 1.0).abs() < 1e-2 {
            Ok(rotation.normalize())
        } else {
            let why = Why::Senseless("not a unit quaternion".to_owned());
            Err(self.error(what, why))
        }
    }

    /// The length of a list whose elements take at least `least` bytes each.
    pub(crate) fn count(&mut self, least: usize, most: usize, what: &'static str) -> Read<usize> {
        let count = self.u32(what)? as usize;
        if count > most || count > self.remaining() / least {
            return Err(self.error(what, Why::TooMany(count)));
        }
        Ok(count)
    }

    /// Text with its length in front, two bytes.
    pub(crate) fn text(&mut self, what: &'static str) -> Read<String> {
        let length = usize::from(self.u16(what)?);
        self.text_of(length, what)
    }

    /// Text with its length in front, four bytes.
    pub(crate) fn long_text(&mut self, what: &'static str) -> Read<String> {
        let length = self.u32(what)? as usize;
        self.text_of(length, what)
    }

    fn text_of(&mut self, length: usize, what: &'static str) -> Read<String> {
        let bytes = self.take(length, what)?;
        let text = std::str::from_utf8(bytes).map_err(|_| self.error(what, Why::NotText))?;
        Ok(text.to_owned())
    }

    /// Nothing may follow.
    pub(crate) fn end(&self) -> Read<()> {
        match self.remaining() {
            0 => Ok(()),
            left => Err(self.error("the end", Why::Trailing(left))),
        }
    }
}

/// Writes a message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn of_kind(kind: u8) -> Self {
        Self { bytes: vec![kind] }
    }

    pub(crate) fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(crate) fn u16(&mut self, value: u16) {
        self.bytes.extend(value.to_le_bytes());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes.extend(value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.bytes.extend(value.to_le_bytes());
    }

    pub(crate) fn f32(&mut self, value: f32) {
        self.bytes.extend(value.to_le_bytes());
    }

    pub(crate) fn f64(&mut self, value: f64) {
        self.bytes.extend(value.to_le_bytes());
    }

    pub(crate) fn vec3(&mut self, value: Vec3) {
        value.to_array().into_iter().for_each(|v| self.f32(v));
    }

    pub(crate) fn dvec3(&mut self, value: DVec3) {
        value.to_array().into_iter().for_each(|v| self.f64(v));
    }

    pub(crate) fn rotation(&mut self, value: Quat) {
        value.to_array().into_iter().for_each(|v| self.f32(v));
    }

    pub(crate) fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).expect("no list of ours is that long"));
    }

    /// Cut to what two bytes can count, at a character's border.
    pub(crate) fn text(&mut self, text: &str) {
        let mut end = text.len().min(usize::from(u16::MAX));
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.u16(end as u16);
        self.bytes.extend(&text.as_bytes()[..end]);
    }

    pub(crate) fn long_text(&mut self, text: &str) {
        self.count(text.len());
        self.bytes.extend(text.as_bytes());
    }
}
