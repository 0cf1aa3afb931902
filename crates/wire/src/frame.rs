//! What every kind of message begins with, and how it is told from damage.
//!
//! ```text
//! two letters │ version │ checksum of the body, 4 bytes │ body
//! ```

use xxhash_rust::xxh3::xxh3_64;

pub(crate) const HEADER_BYTES: usize = 7;

/// What a kind of message begins with, and how long it may be.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    pub letters: [u8; 2],
    pub version: u8,
    pub max_bytes: usize,
}

/// Why bytes are none of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    TooLong(usize),
    OtherKind,
    OtherVersion(u8),
    Damaged,
}

impl Frame {
    /// Begins a message in an empty buffer; the body follows, then [`finish`](Self::finish).
    pub fn begin(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.letters);
        out.push(self.version);
        out.extend_from_slice(&[0; 4]);
    }

    /// The body is written. If it has become too long nothing is left of it, and its length is the error.
    pub fn finish(&self, out: &mut Vec<u8>) -> Result<(), usize> {
        let bytes = out.len();
        if bytes > self.max_bytes {
            out.clear();
            return Err(bytes);
        }
        seal(out);
        Ok(())
    }

    /// The body in these bytes.
    pub fn open<'a>(&self, bytes: &'a [u8]) -> Result<&'a [u8], Broken> {
        if bytes.len() > self.max_bytes {
            return Err(Broken::TooLong(bytes.len()));
        }
        let (header, body) = bytes
            .split_first_chunk::<HEADER_BYTES>()
            .ok_or(Broken::OtherKind)?;
        let [l0, l1, version, sum @ ..] = header;
        if [*l0, *l1] != self.letters {
            return Err(Broken::OtherKind);
        }
        if *version != self.version {
            return Err(Broken::OtherVersion(*version));
        }
        if *sum != checksum(body) {
            return Err(Broken::Damaged);
        }
        Ok(body)
    }
}

/// Writes the checksum that the body asks for. For tests and fuzzers that change a body and want to reach what
/// lies behind the checksum; fewer bytes than a header are left as they are.
pub fn seal(bytes: &mut [u8]) {
    if let Some((header, body)) = bytes.split_at_mut_checked(HEADER_BYTES) {
        header[3..].copy_from_slice(&checksum(body));
    }
}

fn checksum(body: &[u8]) -> [u8; 4] {
    (xxh3_64(body) as u32).to_le_bytes()
}
