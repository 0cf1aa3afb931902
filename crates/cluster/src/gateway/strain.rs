//! A client that cannot take everything gets less of what is far away: how much less, and for how long.
//!
//! ```text
//!  strain 0    1         2         3         4          cells by distance from the middle of its area:
//!         ████ ████      ████      ████      ████       told every frame
//!              ▒▒▒▒           ▒▒▒▒                      every second
//!                             ░░░░ ░░░░░░░░░ ░░░░       every fourth
//!                                                ....   not at all, until there is room
//! ```

use domain::SimTime;

/// Who could not take everything for so long gets less.
const FIRST: SimTime = SimTime(400_000_000);
/// And, if that does not help, still less after so long each time.
const NEXT: SimTime = SimTime(200_000_000);
/// Who could take everything for so long gets more again.
const RELIEF: SimTime = SimTime(2_000_000_000);
/// To get more takes bytes, too: one for whom it was too much again soon waits twice as long, up to this.
const LONGEST_RELIEF: SimTime = SimTime(32_000_000_000);
/// The highest.
const MOST: u8 = 4;

/// How often a cell is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Interval {
    /// With every frame.
    Every,
    /// With every second one.
    Second,
    /// With every fourth one.
    Fourth,
}

impl Interval {
    /// All of them, the shortest first.
    pub const ALL: [Self; 3] = [Self::Every, Self::Second, Self::Fourth];

    /// In frames.
    pub fn frames(self) -> u64 {
        match self {
            Self::Every => 1,
            Self::Second => 2,
            Self::Fourth => 4,
        }
    }
}

/// How much less a client gets than it wants.
#[derive(Clone, Copy, Debug, Default)]
pub struct Strain {
    level: u8,
    pressed_since: Option<SimTime>,
    calm_since: Option<SimTime>,
    relief: SimTime,
    relieved: Option<SimTime>,
}

impl Strain {
    /// 0: it gets everything.
    pub fn level(&self) -> u8 {
        self.level
    }

    /// Is there more than it takes now?
    pub fn observe(&mut self, now: SimTime, is_pressed: bool) {
        if is_pressed {
            self.calm_since = None;
            let since = *self.pressed_since.get_or_insert(now);
            let patience = if self.level == 0 { FIRST } else { NEXT };
            if self.level < MOST && now.since(since) >= patience {
                self.worsen(now);
            }
        } else {
            self.pressed_since = None;
            let since = *self.calm_since.get_or_insert(now);
            if self.level > 0 && now.since(since) >= self.relief.max(RELIEF) {
                self.level -= 1;
                self.calm_since = Some(now);
                self.relieved = Some(now);
            }
        }
    }

    fn worsen(&mut self, now: SimTime) {
        self.level += 1;
        self.pressed_since = Some(now);
        let was = self.relief.max(RELIEF);
        // Relieved too soon? Once per relief.
        self.relief = match self.relieved.take() {
            Some(at) if now.since(at) < was => SimTime(2 * was.0).min(LONGEST_RELIEF),
            Some(_) => RELIEF,
            None => was,
        };
    }

    /// How often the cell is told that is at this place of so many, the nearest first; `None`: not at all. The nearest quarter always comes with every frame.
    pub fn interval(&self, place: usize, count: usize) -> Option<Interval> {
        let quarter = place * 4 / count.max(1);
        let near = place == 0 || quarter == 0;
        match (self.level, quarter) {
            (0, _) => Some(Interval::Every),
            _ if near => Some(Interval::Every),
            (1, 1) => Some(Interval::Every),
            (1, _) | (2, 1) => Some(Interval::Second),
            (2 | 3, _) | (_, 1) => Some(Interval::Fourth),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> SimTime {
        SimTime(ms * 1_000_000)
    }

    fn observe(strain: &mut Strain, from: u64, to: u64, is_pressed: bool) {
        for ms in (from..to).step_by(33) {
            strain.observe(at(ms), is_pressed);
        }
    }

    /// Far cells before near ones, and never the nearest.
    #[test]
    fn with_every_step_something_far_is_told_less_often_and_the_nearest_never() {
        let mut strain = Strain::default();
        let frames = |strain: &Strain| -> Vec<u64> {
            let intervals = (0..25).map(|place| strain.interval(place, 25));
            intervals
                .map(|it| it.map_or(u64::MAX, Interval::frames))
                .collect()
        };
        let mut before = frames(&strain);
        assert_eq!(before, [1; 25]);
        for level in 1..=MOST {
            strain.level = level;
            let now = frames(&strain);
            assert!(now.is_sorted(), "{level}: {now:?}");
            assert!(now.iter().zip(&before).all(|(now, before)| now >= before));
            assert!(now > before, "{level}: {now:?}");
            assert_eq!(now[..6], [1; 6], "the nearest quarter");
            before = now;
        }
        assert_eq!(
            strain.interval(0, 1),
            Some(Interval::Every),
            "only one cell"
        );
        assert_eq!(before.last(), Some(&u64::MAX));
    }

    #[test]
    fn a_short_pause_changes_nothing_a_long_one_more_and_more_and_calm_takes_it_back() {
        let mut strain = Strain::default();
        observe(&mut strain, 0, 350, true);
        strain.observe(at(360), false);
        assert_eq!(strain.level(), 0);
        observe(&mut strain, 400, 1_700, true);
        assert_eq!(strain.level(), MOST);
        observe(&mut strain, 1_700, 3_500, false);
        assert_eq!(strain.level(), MOST, "not yet");
        observe(&mut strain, 3_500, 11_000, false);
        assert_eq!(strain.level(), 0);
    }

    /// Getting more costs bytes as well: who cannot take it is not asked every other second.
    #[test]
    fn who_was_relieved_too_soon_waits_longer_each_time() {
        let mut strain = Strain::default();
        let (mut changes, mut last) = (0, 0);
        for ms in (0..120_000).step_by(33) {
            // It can take strain 2 and no less.
            strain.observe(at(ms), strain.level() < 2);
            changes += u32::from(strain.level() != last);
            last = strain.level();
        }
        assert!(changes < 20, "{changes} changes in two minutes");
    }
}
