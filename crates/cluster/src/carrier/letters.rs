//! Datagrams in sealed envelopes, the same on every carrier: who does not know the cluster's key is not heard.
//!
//! ```text
//! 'A' 'M' │ version │ 0 │ from, 8 │ to, 8 │ bytes … │ digest, 16 (BLAKE3 keyed over all before it)
//! ```
//! Sealed, not encrypted. A recorded letter that is played again is a duplicate to its channel and changes nothing; one that is given to another end does not
//! open there, for its receiver's name is under the seal. Heartbeats and the answers to them have no channel: whoever reads them goes by the times in them (a heartbeat that is not newer
//! than the last one is not heard, and an answer counts for the heartbeat it names).

use super::Datagram;
use channel::EndpointId;

const MAGIC: [u8; 4] = [b'A', b'M', 1, 0];
const HEADER_BYTES: usize = MAGIC.len() + 16;
const DIGEST_BYTES: usize = 16;
/// The largest datagram of a carrier's user.
pub const MAX_DATAGRAM_BYTES: usize = channel::MAX_DATAGRAM_BYTES;
/// The largest letter.
pub(super) const MAX_LETTER_BYTES: usize = HEADER_BYTES + MAX_DATAGRAM_BYTES + DIGEST_BYTES;

/// The secret that all processes of a cluster share.
#[derive(Clone)]
pub struct ClusterKey([u8; 32]);

impl ClusterKey {
    /// From a secret of any length.
    pub fn new(secret: &[u8]) -> Self {
        Self(blake3::derive_key("auramesh cluster datagrams v1", secret))
    }

    /// What is used where no secret is given: it keeps out accidents, not people.
    pub fn none() -> Self {
        Self::new(b"")
    }

    /// The first bytes of the keyed digest of these bytes.
    pub fn digest(&self, bytes: &[u8]) -> [u8; DIGEST_BYTES] {
        let whole = blake3::keyed_hash(&self.0, bytes);
        *whole.as_bytes().first_chunk().expect("32 is more than 16")
    }

    fn is_right(&self, bytes: &[u8], digest: &[u8; DIGEST_BYTES]) -> bool {
        // In constant time: a stranger must not learn how much of a guess was right.
        let mut difference = 0;
        for (a, b) in self.digest(bytes).iter().zip(digest) {
            difference |= a ^ b;
        }
        difference == 0
    }
}

/// Who may not know a secret must not print it either.
impl std::fmt::Debug for ClusterKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ClusterKey(..)")
    }
}

impl ClusterKey {
    /// Seals a datagram; `None` if it is too large.
    pub(super) fn seal(&self, from: EndpointId, to: EndpointId, bytes: &[u8]) -> Option<Vec<u8>> {
        if bytes.len() > MAX_DATAGRAM_BYTES {
            return None;
        }
        let mut letter = Vec::with_capacity(HEADER_BYTES + bytes.len() + DIGEST_BYTES);
        letter.extend_from_slice(&MAGIC);
        letter.extend_from_slice(&from.0.to_le_bytes());
        letter.extend_from_slice(&to.0.to_le_bytes());
        letter.extend_from_slice(bytes);
        let digest = self.digest(&letter);
        letter.extend_from_slice(&digest);
        Some(letter)
    }

    /// Opens a letter: for whom, and what. `None`: damaged, or sealed with another key.
    pub(super) fn open(&self, letter: &[u8]) -> Option<(EndpointId, Datagram)> {
        if letter.len() > MAX_LETTER_BYTES {
            return None;
        }
        let (rest, digest) = letter.split_last_chunk::<DIGEST_BYTES>()?;
        let (magic, body) = rest.split_first_chunk::<4>()?;
        let (from, body) = body.split_first_chunk::<8>()?;
        let (to, body) = body.split_first_chunk::<8>()?;
        if *magic != MAGIC || !self.is_right(rest, digest) {
            return None;
        }
        let datagram = Datagram {
            from: EndpointId(u64::from_le_bytes(*from)),
            bytes: body.to_vec(),
        };
        Some((EndpointId(u64::from_le_bytes(*to)), datagram))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: EndpointId = EndpointId(1);
    const B: EndpointId = EndpointId(2);

    #[test]
    fn only_whole_letters_of_those_who_know_the_key_are_opened() {
        let (ours, theirs) = (ClusterKey::new(b"secret"), ClusterKey::new(b"guess"));
        let letter = ours.seal(A, B, b"hello").expect("small");
        let (to, datagram) = ours.open(&letter).expect("ours");
        assert_eq!((to, datagram.from, &*datagram.bytes), (B, A, &b"hello"[..]));
        assert!(theirs.open(&letter).is_none());
        for end in 0..letter.len() {
            assert!(ours.open(&letter[..end]).is_none());
        }
        for place in 0..letter.len() {
            let mut damaged = letter.clone();
            damaged[place] ^= 1;
            assert!(ours.open(&damaged).is_none(), "byte {place}");
        }
        assert!(ours.seal(A, B, &[0; MAX_DATAGRAM_BYTES]).is_some());
        assert!(ours.seal(A, B, &[0; MAX_DATAGRAM_BYTES + 1]).is_none());
        assert!(ours.open(&[0; MAX_LETTER_BYTES + 1]).is_none());
    }
}
