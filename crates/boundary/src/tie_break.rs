//! Who moves when two clusters want each other.
//!
//! C on server 0 and D on server 1 approach; each steps into the other's aura and is sent over; they have swapped and
//! are still apart. The thesis measures this *two-object thrash* (up to 87 % of runs) and leaves it unsolved.
//!
//! The cure: both sides compare the same two [`ClusterKey`]s and only the higher one moves. The key is "projecting since, then id", so
//! the cluster whose aura has been known for longer stays and the newcomer moves, exactly as it would if it did not project at all. That
//! keeps the guarantee of [`crate::geometry`]: the aura that must act is never a young one. (A rule by id alone would make a
//! long-known aura yield to one the other side has not heard of yet, and need auras of 5h + 2 steps.) The key travels
//! with a migrating body, so a pair that has decided once does not decide otherwise on the other side.

use wire::ClusterKey;

/// Does my cluster go to the aura's owner?
///
/// `mine` is `None` if the body that touched does not project towards the owner: then the owner cannot
/// know of it, and it always moves.
pub fn moves(mine: Option<ClusterKey>, theirs: ClusterKey) -> bool {
    mine.is_none_or(|mine| theirs < mine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{BodyId, Tick};

    fn key(since: u64, body: u64) -> ClusterKey {
        ClusterKey {
            class: 0,
            since: Tick(since),
            body: BodyId(body),
        }
    }

    /// AP-25: of two that see each other exactly one moves.
    #[test]
    fn exactly_one_of_two_moves() {
        for (a, b) in [
            (key(5, 1), key(5, 2)),
            (key(9, 1), key(3, 2)),
            (key(0, 7), key(0, 3)),
        ] {
            assert_ne!(moves(Some(a), b), moves(Some(b), a));
        }
    }

    #[test]
    fn the_older_aura_stays() {
        assert!(!moves(Some(key(3, 9)), key(4, 1)));
        assert!(moves(Some(key(4, 1)), key(3, 9)));
    }

    #[test]
    fn a_body_that_projects_nothing_always_moves() {
        assert!(moves(None, key(100, 100)));
    }
}
