//! When servers are near enough to share a world.

use ::groups::{GroupConfig, PingConfig, Stabilisers, Thresholds};
use serde::{Deserialize, Serialize};

/// The table `[groups]` of the coordinator's config file; servers read it in the control plane. Delays are averages of round trips.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GroupSettings {
    /// Two servers that are nearer than this may share a group (default 2).
    pub inclusion_ms: f64,
    /// One that is farther than this from a member is voted about (default 5). The distance from `inclusion_ms` keeps groups calm.
    pub rejection_ms: f64,
    /// And one whose single answers take so much longer than `rejection_ms`, three times in a row (default 10).
    pub deviation_ms: f64,
    /// Near servers are asked so often (default 500). Less: slowness is noticed sooner.
    pub ping_ms: f64,
    /// And the farthest so often (default 5000).
    pub longest_ping_ms: f64,
    /// An average is that of so many answers (default 16). More: slower to notice, harder to upset.
    pub window: usize,
    /// A server that has changed groups stays there for at least so long (default 10000).
    pub stay_ms: f64,
}

impl Default for GroupSettings {
    fn default() -> Self {
        Self {
            inclusion_ms: 2.0,
            rejection_ms: 5.0,
            deviation_ms: 10.0,
            ping_ms: 500.0,
            longest_ping_ms: 5000.0,
            window: 16,
            stay_ms: 10_000.0,
        }
    }
}

/// A newcomer is pinged so often, quickly, before anyone says anything about it.
const FIRST_PINGS: usize = 4;

impl GroupSettings {
    /// Can it work? Says which key cannot, and what is allowed.
    pub fn check(&self) -> Result<(), String> {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let rules = [
            (positive(self.inclusion_ms), "inclusion_ms must be above 0"),
            (
                self.rejection_ms.is_finite() && self.rejection_ms > self.inclusion_ms,
                "rejection_ms must be above inclusion_ms, or groups would flap",
            ),
            (
                self.deviation_ms.is_finite() && self.deviation_ms >= 0.0,
                "deviation_ms must not be below 0",
            ),
            (positive(self.ping_ms), "ping_ms must be above 0"),
            (
                self.longest_ping_ms.is_finite() && self.longest_ping_ms >= self.ping_ms,
                "longest_ping_ms must not be below ping_ms",
            ),
            (
                (1..=4096).contains(&self.window),
                "window must be 1 to 4096",
            ),
            (
                self.stay_ms.is_finite() && self.stay_ms >= 0.0,
                "stay_ms must not be below 0",
            ),
        ];
        match rules.into_iter().find(|(fine, _)| !fine) {
            Some((_, why)) => Err(format!("groups: {why}")),
            None => Ok(()),
        }
    }

    /// As the cores have it.
    pub(super) fn core(&self) -> GroupConfig {
        GroupConfig {
            thresholds: Thresholds {
                inclusion_ms: self.inclusion_ms,
                rejection_ms: self.rejection_ms,
                deviation_ms: self.deviation_ms,
            },
            pings: PingConfig {
                window: self.window,
                shortest_secs: self.ping_ms / 1e3,
                longest_secs: self.longest_ping_ms / 1e3,
                first_pings: FIRST_PINGS.min(self.window),
                ..PingConfig::default()
            },
            stabilisers: Stabilisers {
                min_stay_secs: self.stay_ms / 1e3,
                ..Stabilisers::default()
            },
            // The work that makes large groups slow in the thesis is not done here.
            max_group: 0,
            // Nobody waits for these: bodies are the regions' business, and deaths the heartbeats'.
            flush_secs: 0.25,
            alive_secs: 0.5,
            silence_secs: 2.0,
            // Processes that start together compete for their machine: the first answers are not the usual ones.
            settle_secs: 2.0,
            ..GroupConfig::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever we let pass, the cores take; whatever they cannot work with is told with the name it has in the file.
    #[test]
    fn what_cannot_work_is_refused_by_its_name_in_the_file() {
        let defaults = GroupSettings::default();
        assert_eq!(defaults.check(), Ok(()));
        assert_eq!(defaults.core().check(), Ok(()));
        let extreme = GroupSettings {
            inclusion_ms: 0.001,
            deviation_ms: 0.0,
            longest_ping_ms: defaults.ping_ms,
            window: 1,
            stay_ms: 0.0,
            ..defaults
        };
        assert_eq!(extreme.check(), Ok(()));
        assert_eq!(extreme.core().check(), Ok(()));
        type Spoil = fn(&mut GroupSettings);
        let wrong: [(&str, Spoil); 7] = [
            ("inclusion_ms", |it| it.inclusion_ms = 0.0),
            ("rejection_ms", |it| it.rejection_ms = it.inclusion_ms),
            ("deviation_ms", |it| it.deviation_ms = f64::NAN),
            ("ping_ms", |it| it.ping_ms = -1.0),
            ("longest_ping_ms", |it| it.longest_ping_ms = 1.0),
            ("window", |it| it.window = 0),
            ("stay_ms", |it| it.stay_ms = f64::INFINITY),
        ];
        for (key, spoil) in wrong {
            let mut settings = defaults;
            spoil(&mut settings);
            let why = settings.check().expect_err(key);
            assert!(why.starts_with(&format!("groups: {key} ")), "{why}");
        }
    }
}
