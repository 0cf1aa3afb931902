//! How busy a region is, and what follows for the ranks of its clusters (size `adaptive`).
//!
//! Of two clusters that must come together the one that is cheaper to move goes. Of two that cost next to nothing the one
//! that is away from home goes, unless the other one's owner is clearly busier; and of two at home the one whose owner is
//! busier. So bodies stay where they are, and work drifts from busy regions to idle ones wherever bodies meet at a border,
//! without a message of its own: the rank that is told with every aura says how busy its owner is.
//!
//! ```text
//!   class      0 ........... 63 │ 64 ......................................... │ 2¹⁶ − 1
//!   cluster    large:           │ small: that of the idler owner stays, being  │ a guest that is about
//!              the larger stays │ away counts as 6 % of work; then the larger  │ to go home
//! ```
//!
//! Work is counted, never measured: a decision that reads a clock cannot be repeated (I7).

use domain::Tick;

/// How often the count is taken, ticks.
const COUNTED_TICKS: u64 = 16;
/// One level is this much more work.
const LEVEL: f64 = 1.03;
/// More than any region has to do.
const HIGHEST_LEVEL: u16 = 2_000;
/// A cluster is small if it is at most this share of its owner's work: moving it tips no balance.
const SMALL_PARTS: u64 = 64;
/// Classes of small clusters begin here.
const SMALL: u16 = 64;
/// A small cluster that is away from home goes, unless the owner of the other one is busier by so many levels.
const LEVELS_AWAY: u16 = 2;
/// The class of a guest that is about to go home: it calls nobody, and comes when it is called.
pub const LEAVING: u16 = u16::MAX;
/// So many classes of sizes and places has each level.
const PER_LEVEL: u16 = 16;
/// Sizes of large clusters are told apart up to 2³¹.
const LARGEST_SIZE_CLASS: u16 = 31;
const LARGEST_SMALL_SIZE_CLASS: u16 = 7;

/// How busy a region is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Sixteenths of an awake body, smoothed.
    work_16ths: u64,
    is_counted: bool,
    level: u16,
}

impl Load {
    /// Is it time to count?
    pub fn is_due(&self, tick: Tick) -> bool {
        !self.is_counted || tick.0.is_multiple_of(COUNTED_TICKS)
    }

    /// So many bodies are awake now.
    pub fn count(&mut self, awake: u64) {
        let now = 16 * awake;
        self.work_16ths = match self.is_counted {
            true => (3 * self.work_16ths + now) / 4,
            false => now,
        };
        self.is_counted = true;
        self.level = level_of(self.work());
    }

    /// Bodies that are awake, smoothed over a second.
    pub fn work(&self) -> u64 {
        self.work_16ths / 16
    }

    /// A number that grows by one with every 3 % of work.
    pub fn level(&self) -> u16 {
        self.level
    }

    /// The most bodies that a small cluster has.
    fn most_small(&self) -> usize {
        (self.work() / SMALL_PARTS) as usize
    }

    /// The class of a cluster of ours of so many bodies, at home or away: the lower one stays.
    pub fn class(&self, bodies: usize, is_away: bool) -> u16 {
        let size_class = bodies.max(1).ilog2() as u16;
        let by_size = |largest: u16| 2 * (largest - size_class.min(largest)) + u16::from(is_away);
        match bodies <= self.most_small() {
            true => {
                let level = self.level + if is_away { LEVELS_AWAY } else { 0 };
                SMALL + level * PER_LEVEL + by_size(LARGEST_SMALL_SIZE_CLASS)
            }
            false => by_size(LARGEST_SIZE_CLASS),
        }
    }

    /// So many bodies of ours are surely of a lower class than a foreign cluster: no need to count more of them.
    pub fn enough_to_stay(&self, foreign: u16) -> usize {
        let larger_than = |size_class: u16| 1_usize.checked_shl(u32::from(size_class) + 2);
        if foreign == LEAVING {
            return 1;
        }
        let large = self.most_small() + 1;
        let Some(level) = level_in(foreign) else {
            let size_class = LARGEST_SIZE_CLASS - foreign / 2;
            return larger_than(size_class).unwrap_or(usize::MAX).max(large);
        };
        // Ours may be away, which counts as much as being busier.
        let foreign_level = level + if is_away(foreign) { LEVELS_AWAY } else { 0 };
        match (self.level + LEVELS_AWAY).cmp(&foreign_level) {
            std::cmp::Ordering::Less => 1,
            std::cmp::Ordering::Greater => large,
            std::cmp::Ordering::Equal => {
                let size_class = LARGEST_SMALL_SIZE_CLASS - (foreign - SMALL) % PER_LEVEL / 2;
                larger_than(size_class).unwrap_or(large).min(large)
            }
        }
    }
}

/// How busy the owner of a cluster of this class is, as far as the class says.
pub fn level_in(class: u16) -> Option<u16> {
    let of_small = class.checked_sub(SMALL).filter(|_| class != LEAVING)?;
    let away = if is_away(class) { LEVELS_AWAY } else { 0 };
    Some((of_small / PER_LEVEL).saturating_sub(away))
}

/// Is a cluster of this class away from home?
fn is_away(class: u16) -> bool {
    class % 2 == 1
}

/// Multiplied out, because logarithms differ from machine to machine (I7). A million bodies are level 467.
fn level_of(work: u64) -> u16 {
    let (mut level, mut next) = (0, LEVEL);
    while next <= work as f64 && level < HIGHEST_LEVEL {
        level += 1;
        next *= LEVEL;
    }
    level
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(awake: u64) -> Load {
        let mut load = Load::default();
        load.count(awake);
        load
    }

    /// A small cluster stays at home, or goes to an owner that is clearly idler, whatever its size.
    #[test]
    fn of_small_clusters_the_one_at_home_stays_then_that_of_the_idler_owner() {
        let (busy, idle) = (load(1_030), load(1_000));
        assert!(busy.class(1, false) < idle.class(15, true));
        assert!(load(1_100).class(1, false) > idle.class(15, true));
        assert!(idle.class(1, false) < busy.class(16, false));
        assert!(idle.class(1, true) < busy.class(16, true));
        assert!(
            idle.class(15, false) < idle.class(1, false),
            "then the larger"
        );
    }

    /// A guest that leaves calls nobody, and comes when it is called.
    #[test]
    fn what_leaves_comes_last() {
        assert!(load(1 << 40).class(1, true) < LEAVING);
        assert_eq!(load(5).enough_to_stay(LEAVING), 1);
        assert_eq!(level_in(LEAVING), None);
        let (home, away) = (load(900).class(1, false), load(900).class(1, true));
        assert_eq!(level_in(home), level_in(away));
    }

    /// What is much work to move stays, however busy its owner is.
    #[test]
    fn of_large_clusters_the_larger_stays() {
        let (busy, idle) = (load(10_000), load(100));
        assert!(busy.class(5_000, true) < idle.class(60, false));
        assert!(busy.class(5_000, false) < idle.class(1, false));
    }

    /// Where little happens every cluster is large: there the size alone decides.
    #[test]
    fn in_a_quiet_region_size_decides() {
        assert!(load(10).class(2, false) < load(60).class(1, false));
        assert!(load(60).class(2, false) < load(10).class(1, false));
    }

    /// A search that stops early would not have come to another answer.
    #[test]
    fn enough_is_enough() {
        for (mine, theirs) in [
            (0, 0),
            (10, 900),
            (900, 10),
            (900, 900),
            (1_000, 900),
            (900, 1_000),
            (9_000, 20_000),
        ] {
            let (mine, theirs) = (load(mine), load(theirs));
            for size in [1, 2, 3, 9, 100, 1_000, 70_000] {
                for away in [false, true] {
                    let foreign = theirs.class(size, away);
                    let enough = mine.enough_to_stay(foreign);
                    for more in [0, 1, 5, 1_000] {
                        let class = mine.class(enough + more, true);
                        assert!(
                            class < foreign,
                            "{mine:?} {enough} + {more}: {class}; {theirs:?} {size}: {foreign}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn one_count_changes_little() {
        let mut busy = load(1_000);
        busy.count(2_000);
        assert_eq!(busy.work(), 1_250);
        assert_eq!(level_in(busy.class(1, false)), Some(busy.level()));
        assert_eq!(level_in(busy.class(900, false)), None);
    }
}
