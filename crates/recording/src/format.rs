//! The bytes that readers and writers agree on.

/// The version of the format.
pub const VERSION: u16 = 1;
/// No chunk is longer.
pub const MAX_CHUNK_BYTES: usize = 64 * 1024 * 1024;
/// No header is longer.
pub const MAX_HEADER_BYTES: usize = 1024 * 1024;
/// No recording has more tracks.
pub const MOST_TRACKS: usize = 256;
/// Simulated time has no date; this is when it begins.
pub const SIMULATED_START: u64 = 1_000_000_000_000_000_000;

pub(crate) const MAGIC: [u8; 8] = *b"AURAREC\n";
pub(crate) const END_MAGIC: [u8; 8] = *b"AURAEND\n";
/// Kind, track, time, length, checksum.
pub(crate) const CHUNK_HEAD: usize = 1 + 2 + 8 + 4 + 4;
/// Of these the checksum covers so many.
pub(crate) const CHECKED_HEAD: usize = CHUNK_HEAD - 4;

pub(crate) const TRACK: u8 = 0x01;
pub(crate) const KEY: u8 = 0x02;
pub(crate) const MESSAGES: u8 = 0x03;
pub(crate) const INDEX: u8 = 0x04;
pub(crate) const NOTE: u8 = 0x05;

/// All kinds of chunks with their numbers and names, as the format's page lists them.
pub const CHUNK_KINDS: &[(u8, &str)] = &[
    (TRACK, "Track"),
    (KEY, "Key"),
    (MESSAGES, "Messages"),
    (INDEX, "Index"),
    (NOTE, "Note"),
];

/// What a recording begins with.
///
/// ```text
/// magic 8 · version u16 · length u32 · start u64 · title text · n u32 × (key text, value text) · checksum u32
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The cluster's time at the recording's time 0, nanoseconds.
    pub start: u64,
    /// What it shows.
    pub title: String,
    /// How it was made: scene, seed, servers, …
    pub about: Vec<(String, String)>,
}

pub(crate) fn checksum(parts: [&[u8]; 2]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    parts.iter().for_each(|part| crc.update(part));
    crc.finalize()
}

/// Cut to what two bytes can count, at a character's border.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    let mut end = text.len().min(usize::from(u16::MAX));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    out.extend((end as u16).to_le_bytes());
    out.extend(&text.as_bytes()[..end]);
}

impl Header {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        body.extend(self.start.to_le_bytes());
        put_text(&mut body, &self.title);
        body.extend((self.about.len() as u32).to_le_bytes());
        for (key, value) in &self.about {
            put_text(&mut body, key);
            put_text(&mut body, value);
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((body.len() as u32 + 4).to_le_bytes());
        bytes.extend(body);
        let crc = checksum([&bytes, &[]]);
        bytes.extend(crc.to_le_bytes());
        bytes
    }
}

/// Takes numbers and texts from bytes; `None` where they end.
pub(crate) struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        Some(self.array::<1>()?[0])
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        let length = usize::from(self.u16()?);
        String::from_utf8(self.take(length)?.to_vec()).ok()
    }
}
