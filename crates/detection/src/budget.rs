//! How hard the narrow phase tries, from the time it has taken (thesis 4.3.2.3, ST-13).
//!
//! The thesis gives the aim and no law: "lower or raise both variables so that the time tends to the budget". Ours: over budget,
//! one level less deep and half the contacts; below four fifths of it, one level deeper and twice the contacts; one change per
//! iteration. A machine's clock decides, so two members may try differently hard: a run that must be repeated uses
//! [`Effort::Fixed`].

use crate::narrow::Level;
use std::time::Duration;

/// Below this share of the budget there is room for more.
const ROOM: f64 = 0.8;

/// What decides the level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effort {
    /// Always this one (default: everything). The same bits again.
    Fixed(Level),
    /// As time allows.
    Within(Budget),
}

impl Default for Effort {
    fn default() -> Self {
        Self::Fixed(Level::FULL)
    }
}

impl Effort {
    /// The level of the next iteration.
    pub fn level(&self) -> Level {
        match self {
            Self::Fixed(level) => *level,
            Self::Within(budget) => budget.level(),
        }
    }

    /// An iteration took that long.
    pub fn note(&mut self, spent: Duration) {
        if let Self::Within(budget) = self {
            budget.note(spent);
        }
    }
}

/// A time per iteration, and what it allows at present.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// For detection, per iteration (the thesis's example: 10 ms).
    pub time: Duration,
    /// Never less deep than this.
    pub min_depth: u32,
    /// At this depth there is no limit any more.
    pub max_depth: u32,
    /// From this number of contacts on all are kept.
    pub max_contacts: u32,
    depth: u32,
    contacts: u32,
}

impl Budget {
    /// Starts with everything allowed. Depths 0 to 12 and 1 to 64 contacts.
    pub fn new(time: Duration) -> Self {
        Self {
            time,
            min_depth: 0,
            max_depth: 12,
            max_contacts: 64,
            depth: 12,
            contacts: 64,
        }
    }

    /// What is allowed now.
    pub fn level(&self) -> Level {
        Level {
            max_contacts: (self.contacts < self.max_contacts).then_some(self.contacts),
            max_depth: (self.depth < self.max_depth).then_some(self.depth),
        }
    }

    /// The last iteration took that long.
    pub fn note(&mut self, spent: Duration) {
        if spent > self.time {
            self.depth = self.depth.saturating_sub(1).max(self.min_depth);
            self.contacts = (self.contacts / 2).max(1);
        } else if spent.as_secs_f64() < ROOM * self.time.as_secs_f64() {
            self.depth = (self.depth + 1).min(self.max_depth);
            self.contacts = (self.contacts * 2).min(self.max_contacts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// ST-13: overload pins both at their least, idleness at their most.
    #[test]
    fn st_13_the_level_tends_to_the_budget() {
        let mut budget = Budget::new(10 * MS);
        assert_eq!(budget.level(), Level::FULL);
        budget.note(11 * MS);
        let once = Level {
            max_contacts: Some(32),
            max_depth: Some(11),
        };
        assert_eq!(budget.level(), once, "one change per iteration");
        (0..100).for_each(|_| budget.note(50 * MS));
        assert_eq!(budget.level(), Level::LEAST);
        budget.note(9 * MS);
        assert_eq!(budget.level(), Level::LEAST, "near the budget it stays");
        (0..100).for_each(|_| budget.note(MS));
        assert_eq!(budget.level(), Level::FULL);
    }

    /// ST-13: a fixed level hears no clock.
    #[test]
    fn st_13_a_fixed_level_is_fixed() {
        let mut effort = Effort::Fixed(Level::LEAST);
        effort.note(Duration::from_secs(9));
        effort.note(Duration::ZERO);
        assert_eq!(effort.level(), Level::LEAST);
    }
}
