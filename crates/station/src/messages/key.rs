//! The secret of a link, and the digest that proves it.

use crate::ids::StationId;
use std::fmt;

/// Bytes of digest at a datagram's end.
pub const DIGEST_BYTES: usize = 8;

/// What two stations share and nobody else knows.
#[derive(Clone, PartialEq, Eq)]
pub struct LinkKey([u8; 32]);

impl LinkKey {
    /// From a secret of any length that the two stations share: drawn by whoever introduces them to each other.
    pub fn new(secret: &[u8]) -> Self {
        Self(blake3::derive_key("auramesh station datagrams v1", secret))
    }

    /// For one link of many that share a master secret, as a lobby or gateway hands them out: each pair of stations gets its own,
    /// and a third cannot speak for either.
    pub fn for_link(secret: &[u8], one: StationId, other: StationId) -> Self {
        let mut material = Vec::with_capacity(secret.len() + 8);
        material.extend_from_slice(secret);
        material.extend_from_slice(&one.min(other).0.to_le_bytes());
        material.extend_from_slice(&one.max(other).0.to_le_bytes());
        Self(blake3::derive_key("auramesh station link v1", &material))
    }

    /// Where no secret is given: it keeps out accidents, not people.
    pub fn none() -> Self {
        Self::new(b"")
    }

    pub(crate) fn digest(
        &self,
        from: StationId,
        to: StationId,
        bytes: &[u8],
    ) -> [u8; DIGEST_BYTES] {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&from.0.to_le_bytes());
        hasher.update(&to.0.to_le_bytes());
        hasher.update(bytes);
        *hasher
            .finalize()
            .as_bytes()
            .first_chunk()
            .expect("32 is more than 8")
    }

    pub(crate) fn is_right(
        &self,
        from: StationId,
        to: StationId,
        bytes: &[u8],
        digest: &[u8],
    ) -> bool {
        // In constant time: a stranger must not learn how much of a guess was right.
        let right = self.digest(from, to, bytes);
        let difference = right
            .iter()
            .zip(digest)
            .fold(0, |difference, (a, b)| difference | (a ^ b));
        digest.len() == DIGEST_BYTES && difference == 0
    }
}

/// Who may not know a secret must not print it either.
impl fmt::Debug for LinkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LinkKey(..)")
    }
}
