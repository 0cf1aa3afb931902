//! How large an aura must be: time that news and bodies need, times the speed at which bodies can move.
//!
//! # The thesis (3.5)
//! With `n = ceil((2·T_F + T_L) / T_P)` steps per hop: a remote object moves for `n` steps before it is detected, the
//! projecting one for `2n − 1` until the other has arrived, so the aura reaches `3n − 1` steps of the speed tolerance
//! beyond the bounding sphere, and the trigger boundary is as deep.
//!
//! # Ours (`safe`)
//! The thesis's count is short for n = 1, on the edge for n = 2, and assumes that a body in flight stands still. We count in
//! ticks that both sides agree on. Let `h` be the ticks within which whatever a region says after tick `a` is used
//! by the other before its check at tick `b ≤ a + h`. Steps of two servers are not aligned, hence `h = n + 1`.
//!
//! A receiver at tick `b` knows the aura's body as it was at tick `a = b − age`. If the body it watches does not touch at `b − 1` but
//! does at `b`, it leaves at `b` and is in the owner's world by `b + h`. Until then the owner's body has moved for at most
//! `(b + h) − a'` ticks since it was last heard of and the other, which is caught up, for `h + 1`. Nothing has
//! overlapped if the reach at `b − 1` was at least the sum:
//!
//! `reach(age) = V · T_P · (age + 2h + 2)`, or `age + h + 2` if bodies stand still in flight.
//!
//! The age is known to the receiver, so the aura *grows while no news arrives*: a lost packet or a body in flight makes the
//! trigger larger instead of late. A sleeping body sends nothing; should it wake, the news may be `h` ticks old, so it is sent with that age.
//!
//! The trigger boundary is where projection starts. Before the earlier of two bodies starts, both are deeper than `x` in their own
//! regions, hence more than `2x` apart, and the other is fetched `2h` ticks after: `2x ≥ 2 · V · T_P · (2h + 1)`. The tie-break
//! ([`tie_break`](crate::tie_break)) lets the earlier one stay, so that its long-known aura is the one that acts.

use crate::config::{AuraSize, BoundaryConfig, HandoverMode, Tolerances};
use crate::promise::RENEWED_TICKS;
use domain::TickLength;

/// The thesis's numbers (equations 3.1 to 3.4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThesisAura {
    /// Steps per hop, `n`.
    pub hop_steps: u64,
    /// `T_R`: how long a potential remote object moves, seconds.
    pub remote_secs: f64,
    /// `T_H`: how long the projecting object moves, seconds.
    pub host_secs: f64,
    /// `T_T = T_R + T_H`.
    pub total_secs: f64,
    /// `x = V_t · T_T`: how far the aura reaches beyond the bounding sphere, and the depth of the trigger boundary.
    pub reach_m: f64,
}

impl ThesisAura {
    /// By the formulas of section 3.5.
    pub fn of(tolerances: &Tolerances, step: TickLength) -> Self {
        let hop_steps = hop_steps(tolerances, step);
        let n = hop_steps as f64;
        let step_secs = step.as_secs();
        let remote_secs = n * step_secs;
        let host_secs = remote_secs - step_secs + n * step_secs;
        let total_secs = remote_secs + host_secs;
        Self {
            hop_steps,
            remote_secs,
            host_secs,
            total_secs,
            reach_m: tolerances.speed * total_secs,
        }
    }

    /// `R_a`: radius of the aura of a body with this bounding radius.
    pub fn radius_m(&self, bounding_radius_m: f64) -> f64 {
        bounding_radius_m + self.reach_m
    }
}

/// `n`: steps per hop. A relative epsilon keeps 33.33 ms / 16.67 ms from becoming three steps by rounding.
pub fn hop_steps(tolerances: &Tolerances, step: TickLength) -> u64 {
    let steps = (2.0 * tolerances.frame_secs + tolerances.latency_secs) / step.as_secs();
    ((steps - 1e-9).ceil() as u64).max(1)
}

/// `h`: within so many ticks whatever a region says is used by the other. Steps of two servers are not aligned, hence
/// one more.
pub fn safe_hop_ticks(config: &BoundaryConfig) -> u64 {
    hop_steps(&config.tolerances, config.step) + 1
}

/// The lengths and times that one configuration leads to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AuraGeometry {
    /// Within so many ticks whatever a region says is used by the other.
    pub hop_ticks: u64,
    /// Depth of the trigger boundary: a body this near to a neighbour's region projects.
    pub trigger_depth_m: f64,
    /// How far an aura reaches beyond the bounding sphere at the tick it speaks of.
    pub reach_m: f64,
    /// How much the reach grows per tick without news.
    pub growth_m: f64,
    /// Growth stops at this age, in ticks; older news means that a tolerance is exceeded.
    pub max_age_ticks: u64,
    /// How much an aura grows per tick beyond that age, for as many ticks again.
    pub late_growth_m: f64,
    /// A region narrower than this could have bodies that project over it and beyond.
    pub narrowest_m: f64,
    /// Bodies of one owner whose surfaces (bounding spheres) are nearer than this belong to one cluster.
    pub link_m: f64,
    /// A body this near to a region counts as visiting it (see [`crate::audience`]).
    pub visit_m: f64,
    /// For how many ticks a spawn near a border is announced before it is born.
    pub announce_ticks: u64,
}

impl AuraGeometry {
    /// The geometry of a configuration.
    pub fn of(config: &BoundaryConfig) -> Self {
        let per_tick = config.tolerances.speed * config.step.as_secs();
        match config.aura {
            AuraSize::Thesis => Self::thesis(config, per_tick),
            AuraSize::Safe => Self::safe(config, per_tick),
            AuraSize::Adaptive => Self::adaptive(config, per_tick),
        }
    }

    fn thesis(config: &BoundaryConfig, per_tick: f64) -> Self {
        let aura = ThesisAura::of(&config.tolerances, config.step);
        Self {
            hop_ticks: aura.hop_steps,
            trigger_depth_m: aura.reach_m,
            reach_m: aura.reach_m,
            growth_m: 0.0,
            max_age_ticks: 0,
            late_growth_m: 0.0,
            narrowest_m: 2.0 * aura.reach_m,
            // Aura overlaps aura: the thesis's own cluster relation (4.2), twice the reach.
            link_m: 2.0 * aura.reach_m,
            visit_m: per_tick * (4 * aura.hop_steps + 2) as f64,
            announce_ticks: 2 * aura.hop_steps + 2,
        }
    }

    fn safe(config: &BoundaryConfig, per_tick: f64) -> Self {
        let h = safe_hop_ticks(config);
        let in_flight = match config.handover {
            HandoverMode::CatchUp => h,
            HandoverMode::Freeze => 0,
        };
        let reach_m = per_tick * (h + 2 + in_flight) as f64;
        let max_age_ticks = h + 1;
        Self {
            hop_ticks: h,
            trigger_depth_m: per_tick * (2 * h + 1) as f64,
            reach_m,
            growth_m: per_tick,
            max_age_ticks,
            late_growth_m: 0.0,
            narrowest_m: 2.0 * per_tick * (2 * h + 1) as f64,
            // A body is in another's aura: the smallest safe relation. It is as wide as the widest aura, or a body
            // left behind would be called after its cluster and sent back as an island, for ever.
            link_m: reach_m + per_tick * max_age_ticks as f64,
            visit_m: per_tick * (4 * h + 2) as f64,
            announce_ticks: 2 * h + 2,
        }
    }

    /// What does not depend on the single body; the rest is [`PromiseLaw`](crate::promise::PromiseLaw)'s.
    fn adaptive(config: &BoundaryConfig, per_tick: f64) -> Self {
        let h = safe_hop_ticks(config);
        Self {
            hop_ticks: h,
            // Of the fastest body, and a metre for what it may fall meanwhile.
            trigger_depth_m: per_tick * (3 * h + 2) as f64 + 1.0,
            reach_m: per_tick * (h + 1) as f64,
            growth_m: per_tick,
            max_age_ticks: h + RENEWED_TICKS - 1,
            late_growth_m: per_tick,
            narrowest_m: 2.0 * per_tick * (2 * h + 1) as f64,
            link_m: 2.0 * per_tick * (2 * h + 2) as f64,
            visit_m: per_tick * (4 * h + 2) as f64,
            announce_ticks: 2 * h + 2,
        }
    }

    /// The reach of an aura by the time its news is `age` ticks old.
    pub fn reach_at(&self, reach_m: f64, growth_m: f64, age: u64) -> f64 {
        let on_time = reach_m + growth_m * age.min(self.max_age_ticks) as f64;
        match growth_m > 0.0 {
            true => on_time + self.late_growth_m * self.late_ticks(age) as f64,
            false => on_time,
        }
    }

    /// News of a moving body that is as old as this is later than the tolerances allow.
    pub fn first_overdue_ticks(&self) -> u64 {
        match self.late_growth_m > 0.0 {
            true => self.max_age_ticks + 2,
            false => self.hop_ticks + 2,
        }
    }

    /// A region narrower than this is refused.
    pub fn smallest_region_m(&self) -> f64 {
        self.narrowest_m
    }

    /// How much later than the tolerances allow news of this age is; beyond as many ticks again it does not count.
    pub fn late_ticks(&self, age: u64) -> u64 {
        age.saturating_sub(self.max_age_ticks)
            .min(self.max_age_ticks + 1)
    }

    /// The reach sent for a sleeping body: it may have been awake for a hop before we hear of it.
    pub fn resting_reach_m(&self) -> f64 {
        self.reach_m + self.growth_m * self.hop_ticks as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tolerances(speed: f64, latency_ms: f64, frame_ms: f64) -> Tolerances {
        Tolerances {
            speed,
            latency_secs: latency_ms * 1e-3,
            frame_secs: frame_ms * 1e-3,
        }
    }

    /// AP-3: the table of digest 2.2, both step sizes.
    #[test]
    fn thesis_table_for_both_step_sizes() {
        let sixtieth = TickLength::default();
        let sixteen = TickLength::from_secs(0.016).expect("positive");
        #[rustfmt::skip]
        let rows = [
            // V_t, T_L, T_F,    n, T_T ms, x at 16 ms    n, T_T ms, x at 1/60 s
            (16.0, 2.0, 15.0,   2,  80.0, 1.280,          2,  83.33, 1.333),
            (32.0, 2.0, 15.0,   2,  80.0, 2.560,          2,  83.33, 2.667),
            (48.0, 2.0, 15.0,   2,  80.0, 3.840,          2,  83.33, 4.000),
            (32.0, 8.0, 15.0,   3, 128.0, 4.096,          3, 133.33, 4.267),
            (32.0, 16.0, 15.0,  3, 128.0, 4.096,          3, 133.33, 4.267),
            (32.0, 2.0, 8.33,   2,  80.0, 2.560,          2,  83.33, 2.667),
            (32.0, 2.0, 32.0,   5, 224.0, 7.168,          4, 183.33, 5.867),
            (32.0, 2.0, 33.33,  5, 224.0, 7.168,          5, 233.33, 7.467),
        ];
        for (v, l, f, n16, t16, x16, n60, t60, x60) in rows {
            for (step, n, total_ms, x) in [(sixteen, n16, t16, x16), (sixtieth, n60, t60, x60)] {
                let aura = ThesisAura::of(&tolerances(v, l, f), step);
                assert_eq!(aura.hop_steps, n, "n for {v} {l} {f}");
                assert!((aura.total_secs * 1e3 - total_ms).abs() < 0.01);
                assert!((aura.reach_m - x).abs() < 1e-3, "x for {v} {l} {f}");
                assert!((aura.total_secs - aura.remote_secs - aura.host_secs).abs() < 1e-12);
                assert!((aura.radius_m(2.0) - 2.0 - aura.reach_m).abs() < 1e-12);
            }
        }
    }

    /// AP-4, AP-59: linear in speed, in jumps of whole steps in latency and frame time.
    #[test]
    fn size_grows_linearly_with_speed_and_in_jumps_with_latency() {
        let step = TickLength::default();
        let reach = |v, l, f| ThesisAura::of(&tolerances(v, l, f), step).reach_m;
        assert!((reach(32.0, 2.0, 15.0) - 2.0 * reach(16.0, 2.0, 15.0)).abs() < 1e-9);
        assert_eq!(reach(32.0, 4.0, 15.0), reach(32.0, 19.9, 15.0));
        assert!(reach(32.0, 20.1, 15.0) > reach(32.0, 19.9, 15.0));
    }

    /// 8.1: the thesis's size is too small for catch-up; ours covers the derivation above at every n.
    #[test]
    fn safe_reach_covers_every_hop_count() {
        for frame_ms in [1.0, 5.0, 7.0, 8.33, 15.0, 32.0, 60.0] {
            let config = BoundaryConfig {
                tolerances: tolerances(32.0, 2.0, frame_ms),
                ..crate::testing::safe()
            };
            let geometry = AuraGeometry::of(&config);
            let per_tick = 32.0 / 60.0;
            let h = geometry.hop_ticks as f64;
            let stale = geometry.reach_at(geometry.reach_m, geometry.growth_m, geometry.hop_ticks);
            assert!(stale >= per_tick * (3.0 * h + 2.0) - 1e-9);
            assert!(2.0 * geometry.trigger_depth_m >= 2.0 * per_tick * (2.0 * h + 1.0) - 1e-9);
            assert!(geometry.link_m >= stale);
        }
    }
}
