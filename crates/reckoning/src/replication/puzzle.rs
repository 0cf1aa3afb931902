//! A puzzle that costs the asker much and the checker little: before a server spends memory on a client, the client has spent
//! time on the server.
//!
//! Find a number whose hash, together with the cookie, starts with so many zero bits. One more bit doubles the work:
//! 12 bits are about a millisecond, 20 bits about half a second; checking is always one hash. (Open TNL's client puzzle, digest §3.3.)

/// The most difficult puzzle a client agrees to solve: about 16 million hashes. A server that asks for more is not worth it, or
/// is no server.
pub const MAX_DIFFICULTY: u8 = 24;

/// Is this a solution?
pub fn is_solution(cookie: &[u8; 16], nonce: u64, difficulty: u8, solution: u64) -> bool {
    let mut input = [0; 32];
    input[..16].copy_from_slice(cookie);
    input[16..24].copy_from_slice(&nonce.to_le_bytes());
    input[24..].copy_from_slice(&solution.to_le_bytes());
    let hash = blake3::hash(&input);
    let first = hash.as_bytes().first_chunk().copied().unwrap_or([0xff; 8]);
    u64::from_be_bytes(first).leading_zeros() >= difficulty.into()
}

/// A search that can be spread over several loops, so that a client does not freeze.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    cookie: [u8; 16],
    nonce: u64,
    difficulty: u8,
    next: u64,
}

impl Search {
    /// Starts a search; `None` if the puzzle is too difficult.
    pub fn new(cookie: [u8; 16], nonce: u64, difficulty: u8) -> Option<Self> {
        (difficulty <= MAX_DIFFICULTY).then_some(Self {
            cookie,
            nonce,
            difficulty,
            next: 0,
        })
    }

    /// Tries up to `tries` more numbers.
    pub fn advance(&mut self, tries: u64) -> Option<u64> {
        let end = self.next.saturating_add(tries);
        let mut candidates = self.next..end;
        let found = candidates
            .find(|solution| is_solution(&self.cookie, self.nonce, self.difficulty, *solution));
        self.next = end;
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // DR-49: the client puzzle.
    #[test]
    fn dr_49_a_search_in_small_steps_finds_what_the_check_accepts() {
        let (cookie, nonce) = ([3; 16], 99);
        let mut search = Search::new(cookie, nonce, 10).expect("not too difficult");
        let solution = (0..10_000).find_map(|_| search.advance(16)).expect("found");
        assert!(is_solution(&cookie, nonce, 10, solution));
        assert!(!is_solution(&[4; 16], nonce, 10, solution), "other cookie");
        assert!(
            !is_solution(&cookie, nonce + 1, 10, solution),
            "other client"
        );
    }

    #[test]
    fn each_bit_doubles_the_work() {
        let tries = |difficulty| {
            let one = |nonce| {
                let mut search = Search::new([9; 16], nonce, difficulty).unwrap();
                (1..).find(|_| search.advance(1).is_some()).unwrap()
            };
            (0..200).map(one).sum::<u64>() as f64 / 200.0
        };
        let ratio = tries(8) / tries(5);
        assert!((5.0..12.0).contains(&ratio), "{ratio} for three bits");
    }

    #[test]
    fn an_absurd_puzzle_is_not_begun() {
        assert_eq!(Search::new([0; 16], 1, MAX_DIFFICULTY + 1), None);
    }
}
