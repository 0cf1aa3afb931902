//! Everything that can be set, with what more or less of it does.

use thiserror::Error;

/// When a delay is short, long, or in between. Round trips in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// T: below this two nodes may share a group, and vote for each other (default 30). Must be below `rejection_ms`; the
    /// distance between the two is what keeps groups from flapping.
    pub inclusion_ms: f64,
    /// Above this a member votes against another (default 60).
    pub rejection_ms: f64,
    /// A single round trip this much longer than `rejection_ms` is reason enough to ask for a vote (default 100).
    pub deviation_ms: f64,
}

/// How delays are measured (thesis §4.3.2.7).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PingConfig {
    /// The average is that of so many latest round trips (default 16). More: slower to notice, harder to upset.
    pub window: usize,
    /// At this average and below, pings are sent every `shortest_secs` (default 10 ms).
    pub quick_ms: f64,
    /// At this average and above, every `longest_secs` (default 1000 ms). In between in proportion.
    pub slow_ms: f64,
    /// The interval to the nearest nodes, seconds (default 5).
    pub shortest_secs: f64,
    /// The interval to the farthest, seconds (default 500).
    pub longest_secs: f64,
    /// A newcomer is pinged this often, quickly, before anyone says anything about it (default 4).
    pub first_pings: usize,
    /// Between those first pings, seconds (default 0.1).
    pub first_secs: f64,
    /// A ping without an answer for so long is lost, seconds (default 2). It is tried again at once.
    pub lost_secs: f64,
    /// So many lost in a row count as one round trip of `lost_secs`, until there is an answer again (default 3): a lossy line is not a slow one.
    pub lost_in_a_row: u32,
}

/// What keeps votes from going round in circles (thesis §3.3.9; all of it is named there, no value is).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stabilisers {
    /// A node asks for a vote only when its reason has held at so many measurements in a row (default 3).
    pub strikes: u32,
    /// A node is voted neither in nor out within so long after its last change of group, seconds (default 10).
    pub min_stay_secs: f64,
    /// A node may ask for so many votes ... (default 4)
    pub votes_per_period: u32,
    /// ... in so long, seconds (default 60).
    pub period_secs: f64,
}

/// Does everyone wait for everyone?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The next iteration begins when all members have reported the last one and there is something new (thesis §3.3.8).
    Synchronised,
    /// Members run freely and extrapolate what they have not heard of (thesis §3.3.11).
    #[default]
    Unsynchronised,
}

/// What becomes of the avatars of a node that has died.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LostAvatars {
    /// They disappear with it.
    #[default]
    Remove,
    /// Their last state is kept for when their client comes back.
    Keep,
}

/// A group's settings; the same for everyone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupConfig {
    /// When delays are short or long.
    pub thresholds: Thresholds,
    /// How they are measured.
    pub pings: PingConfig,
    /// What keeps votes calm.
    pub stabilisers: Stabilisers,
    /// No group grows beyond this (default 16: the best size for 1000 objects in the thesis). 0: no limit.
    pub max_group: usize,
    /// Do members wait for each other?
    pub mode: Mode,
    /// Do members extrapolate avatars between updates (default yes)?
    pub dead_reckoning: bool,
    /// A leader holds an avatar's update back while it deviates from the extrapolation by no more than this, metres (default 0.01).
    pub suppress_m: f64,
    /// θ_intra: copies of an object within a group may differ by so many of its extents (default 0.05).
    pub theta_intra: f64,
    /// θ_inter: and between groups by so many (default 0.5). Above θ_intra.
    pub theta_inter: f64,
    /// Everything but administration is gathered and sent this often, seconds (default 0.05).
    pub flush_secs: f64,
    /// Every object's state is told at least this often, changed or not, seconds (default 1).
    pub refresh_secs: f64,
    /// Signs of life, seconds (default 0.25).
    pub alive_secs: f64,
    /// A member that hears nothing of another for so long simulates for itself, seconds (default 1).
    pub silence_secs: f64,
    /// The coordinator gives up a node it has not heard of for so long, seconds (default 10).
    pub node_timeout_secs: f64,
    /// Between a node's joining and the question for candidates: time for the first pings, seconds (default 1).
    pub settle_secs: f64,
    /// How long the coordinator waits for candidate lists and ballots, seconds (default 2).
    pub answer_secs: f64,
    /// What becomes of the avatars of a dead node.
    pub lost_avatars: LostAvatars,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            inclusion_ms: 30.0,
            rejection_ms: 60.0,
            deviation_ms: 100.0,
        }
    }
}

impl Default for PingConfig {
    fn default() -> Self {
        Self {
            window: 16,
            quick_ms: 10.0,
            slow_ms: 1000.0,
            shortest_secs: 5.0,
            longest_secs: 500.0,
            first_pings: 4,
            first_secs: 0.1,
            lost_secs: 2.0,
            lost_in_a_row: 3,
        }
    }
}

impl Default for Stabilisers {
    fn default() -> Self {
        Self {
            strikes: 3,
            min_stay_secs: 10.0,
            votes_per_period: 4,
            period_secs: 60.0,
        }
    }
}

impl Default for GroupConfig {
    fn default() -> Self {
        Self {
            thresholds: Thresholds::default(),
            pings: PingConfig::default(),
            stabilisers: Stabilisers::default(),
            max_group: 16,
            mode: Mode::default(),
            dead_reckoning: true,
            suppress_m: 0.01,
            theta_intra: 0.05,
            theta_inter: 0.5,
            flush_secs: 0.05,
            refresh_secs: 1.0,
            alive_secs: 0.25,
            silence_secs: 1.0,
            node_timeout_secs: 10.0,
            settle_secs: 1.0,
            answer_secs: 2.0,
            lost_avatars: LostAvatars::default(),
        }
    }
}

/// Settings that cannot work.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{key}: {why}")]
pub struct ConfigError {
    /// Which one.
    pub key: &'static str,
    /// What is allowed.
    pub why: &'static str,
}

impl GroupConfig {
    /// Is everything such that it can work? Says what is not (ST-29, ST-38).
    pub fn check(&self) -> Result<(), ConfigError> {
        let (t, p) = (&self.thresholds, &self.pings);
        let positive = |v: f64| v.is_finite() && v > 0.0;
        let rules = [
            (
                positive(t.inclusion_ms),
                "thresholds.inclusion_ms",
                "must be above 0",
            ),
            (
                t.rejection_ms.is_finite() && t.inclusion_ms < t.rejection_ms,
                "thresholds.rejection_ms",
                "must be above inclusion_ms, or groups would flap",
            ),
            (
                t.deviation_ms.is_finite() && t.deviation_ms >= 0.0,
                "thresholds.deviation_ms",
                "must not be below 0",
            ),
            (
                (1..=4096).contains(&p.window),
                "pings.window",
                "must be 1 to 4096",
            ),
            (
                p.quick_ms >= 0.0 && p.slow_ms.is_finite() && p.quick_ms < p.slow_ms,
                "pings.slow_ms",
                "must be above quick_ms",
            ),
            (
                positive(p.shortest_secs)
                    && p.longest_secs.is_finite()
                    && p.shortest_secs <= p.longest_secs,
                "pings.longest_secs",
                "must not be below shortest_secs, which must be above 0",
            ),
            (
                positive(p.first_secs),
                "pings.first_secs",
                "must be above 0",
            ),
            (positive(p.lost_secs), "pings.lost_secs", "must be above 0"),
            (
                self.theta_intra >= 0.0,
                "theta_intra",
                "must not be below 0",
            ),
            (
                self.theta_inter.is_finite() && self.theta_intra < self.theta_inter,
                "theta_inter",
                "must be above theta_intra",
            ),
            (self.suppress_m >= 0.0, "suppress_m", "must not be below 0"),
            (positive(self.flush_secs), "flush_secs", "must be above 0"),
            (
                positive(self.refresh_secs),
                "refresh_secs",
                "must be above 0",
            ),
            (positive(self.alive_secs), "alive_secs", "must be above 0"),
            (
                self.silence_secs > 2.0 * self.alive_secs,
                "silence_secs",
                "must be above twice alive_secs, or one lost sign of life is a death",
            ),
            (
                self.node_timeout_secs > self.silence_secs,
                "node_timeout_secs",
                "must be above silence_secs",
            ),
            (positive(self.settle_secs), "settle_secs", "must be above 0"),
            (positive(self.answer_secs), "answer_secs", "must be above 0"),
        ];
        match rules.into_iter().find(|(fine, ..)| !fine) {
            Some((_, key, why)) => Err(ConfigError { key, why }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn st_29_inclusion_must_be_below_rejection() {
        assert_eq!(GroupConfig::default().check(), Ok(()));
        let mut config = GroupConfig::default();
        config.thresholds.inclusion_ms = config.thresholds.rejection_ms;
        assert_eq!(
            config.check().map_err(|e| e.key),
            Err("thresholds.rejection_ms")
        );
    }

    #[test]
    fn st_38_theta_intra_must_be_below_theta_inter() {
        let config = GroupConfig {
            theta_intra: 0.5,
            ..GroupConfig::default()
        };
        assert_eq!(config.check().map_err(|e| e.key), Err("theta_inter"));
        let config = GroupConfig {
            theta_inter: f64::NAN,
            ..GroupConfig::default()
        };
        assert!(config.check().is_err());
    }
}
