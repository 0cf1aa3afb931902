//! A seed is a whole run: places, delays, jitter, loss, and what goes wrong when.

use super::Upheaval;
use crate::network::NetworkConditions;
use ::groups::{GroupConfig, LostAvatars, Mode, PingConfig, Stabilisers, TransportChoice};
use domain::{Bounds, SimTime};
use glam::DVec3;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::fmt;

/// How long before the end nothing goes wrong any more, seconds: long enough for every timeout and vote to have its say.
pub(super) const CALM_SECS: f64 = 20.0;

/// Where a machine stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Machines of one site are near each other.
    pub site: usize,
    /// Its own line to its site, milliseconds one way.
    pub own_ms: f64,
    /// Its way to the coordinator, milliseconds.
    pub to_coordinator_ms: f64,
    /// Is there a user?
    pub has_client: bool,
}

/// What is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing but jitter.
    Jitter,
    /// Nodes come and go.
    Churn,
    /// Nodes die, and some come back.
    Crashes,
    /// The network falls apart and heals.
    Partitions,
    /// Lines become slow and quick again: votes.
    Drift,
    /// Everything.
    All,
}

/// One run.
#[derive(Clone, Debug)]
pub struct GroupRun {
    /// Where it came from.
    pub seed: u64,
    /// What is tried.
    pub trouble: Trouble,
    /// Everyone's settings.
    pub config: GroupConfig,
    /// How nodes' and the coordinator's states travel.
    pub transport: TransportChoice,
    /// The machines.
    pub places: Vec<Place>,
    /// Between two sites, milliseconds one way.
    pub between_sites_ms: f64,
    /// Jitter of every line, milliseconds.
    pub jitter_ms: f64,
    /// Loss of every line.
    pub loss: f64,
    /// Clients on machines without a node.
    pub outside_clients: usize,
    /// The world.
    pub world: Bounds,
    /// How many objects of the system.
    pub objects: usize,
    /// Simulated seconds.
    pub seconds: f64,
    /// Between two steps of a node.
    pub step_secs: f64,
    /// What happens when.
    pub script: Vec<(SimTime, Upheaval)>,
}

impl GroupRun {
    /// The run of a seed, always the same one: at least 60 simulated seconds.
    pub fn of(seed: u64) -> Self {
        let rng = &mut Pcg64Mcg::seed_from_u64(seed ^ 0x6772_6f75_7073);
        let troubles = [
            Trouble::Jitter,
            Trouble::Churn,
            Trouble::Crashes,
            Trouble::Partitions,
            Trouble::Drift,
            Trouble::All,
        ];
        let trouble = troubles[rng.random_range(0..troubles.len())];
        let sites = rng.random_range(1..=3);
        let machines = rng.random_range(2..=7);
        let places: Vec<Place> = (0..machines).map(|_| place(rng, sites)).collect();
        let mut config = config();
        if rng.random_bool(0.15) {
            config.mode = Mode::Synchronised;
        }
        if rng.random_bool(0.3) {
            config.lost_avatars = LostAvatars::Keep;
        }
        config.max_group = if rng.random_bool(0.3) {
            rng.random_range(2..=4)
        } else {
            16
        };
        let side = rng.random_range(30.0..80.0);
        let mut run = Self {
            seed,
            trouble,
            transport: TransportChoice::of(config.mode),
            config,
            places,
            between_sites_ms: rng.random_range(40.0..90.0),
            jitter_ms: rng.random_range(0.0..2.0),
            loss: if rng.random_bool(0.5) {
                rng.random_range(0.0..0.03)
            } else {
                0.0
            },
            outside_clients: rng.random_range(0..=1),
            world: Bounds {
                min: DVec3::ZERO,
                max: DVec3::new(side, side * 0.5, side),
            },
            objects: rng.random_range(6..=16),
            seconds: rng.random_range(60.0..66.0),
            step_secs: 0.05,
            script: Vec::new(),
        };
        run.script = run.draw_script(rng);
        run
    }

    /// Machines at `sites` places, dealt round, a user on each; nothing goes wrong.
    pub fn at_places(
        seed: u64,
        sites: usize,
        machines: usize,
        between_sites_ms: f64,
        seconds: f64,
    ) -> Self {
        let rng = &mut Pcg64Mcg::seed_from_u64(seed);
        let place = |rng: &mut Pcg64Mcg, i: usize| Place {
            site: i % sites,
            has_client: true,
            ..place(rng, 1)
        };
        let places: Vec<Place> = (0..machines).map(|i| place(rng, i)).collect();
        let side = 60.0;
        Self {
            seed,
            trouble: Trouble::Jitter,
            config: config(),
            transport: TransportChoice::default(),
            script: (0..machines)
                .map(|i| (SimTime::from_millis(10.0 * i as f64), Upheaval::Start(i)))
                .collect(),
            places,
            between_sites_ms,
            jitter_ms: 1.0,
            loss: 0.01,
            outside_clients: 1,
            world: Bounds {
                min: DVec3::ZERO,
                max: DVec3::new(side, side * 0.5, side),
            },
            objects: 40,
            seconds,
            step_secs: 0.05,
        }
    }

    /// How long a message takes from one machine to another, milliseconds, without jitter and trouble.
    pub fn one_way_ms(&self, a: usize, b: usize) -> f64 {
        let (from, to) = (self.places[a], self.places[b]);
        let far = if from.site == to.site {
            0.0
        } else {
            self.between_sites_ms
        };
        from.own_ms + to.own_ms + far
    }

    pub(super) fn line(&self, one_way_ms: f64) -> NetworkConditions {
        NetworkConditions {
            latency_ms: one_way_ms,
            jitter_ms: self.jitter_ms,
            loss: self.loss,
            ..NetworkConditions::perfect()
        }
    }

    /// Everyone starts within the first seconds; then trouble, then calm.
    fn draw_script(&self, rng: &mut Pcg64Mcg) -> Vec<(SimTime, Upheaval)> {
        let mut script: Vec<(SimTime, Upheaval)> = Vec::new();
        for i in 0..self.places.len() {
            let at = rng.random_range(0.0..4.0);
            script.push((SimTime::from_secs(at), Upheaval::Start(i)));
        }
        let mut at = rng.random_range(10.0..14.0);
        while at < self.seconds - CALM_SECS - 8.0 {
            let until = (at + rng.random_range(2.0..9.0)).min(self.seconds - CALM_SECS);
            self.draw_trouble(rng, at, until, &mut script);
            at = until + rng.random_range(0.5..8.0);
        }
        script.sort_by_key(|(at, _)| *at);
        script
    }

    fn draw_trouble(
        &self,
        rng: &mut Pcg64Mcg,
        from: f64,
        until: f64,
        script: &mut Vec<(SimTime, Upheaval)>,
    ) {
        let who = rng.random_range(0..self.places.len());
        let dice = rng.random_range(0..4);
        let trouble = match (self.trouble, dice) {
            (Trouble::All, 0) => Trouble::Churn,
            (Trouble::All, 1) => Trouble::Crashes,
            (Trouble::All, 2) => Trouble::Partitions,
            (Trouble::All, _) => Trouble::Drift,
            (one, _) => one,
        };
        let mut at = |secs: f64, upheaval| script.push((SimTime::from_secs(secs), upheaval));
        match trouble {
            Trouble::Churn => {
                at(from, Upheaval::Leave(who));
                at(until, Upheaval::Start(who));
            }
            Trouble::Crashes => {
                at(from, Upheaval::Crash(who));
                if rng.random_bool(0.8) {
                    at(until, Upheaval::Start(who));
                }
            }
            Trouble::Partitions => {
                let machines = (0..self.places.len())
                    .filter(|_| rng.random_bool(0.4))
                    .collect();
                let from_coordinator = rng.random_bool(0.5);
                at(
                    from,
                    Upheaval::Cut {
                        machines,
                        from_coordinator,
                    },
                );
                at(until, Upheaval::Heal);
            }
            Trouble::Drift => {
                at(from, Upheaval::Slow(who, rng.random_range(20.0..120.0)));
                at(until, Upheaval::Slow(who, 0.0));
            }
            Trouble::Jitter | Trouble::All => {}
        }
    }
}

fn place(rng: &mut Pcg64Mcg, sites: usize) -> Place {
    Place {
        site: rng.random_range(0..sites),
        own_ms: rng.random_range(0.5..3.0),
        to_coordinator_ms: rng.random_range(5.0..40.0),
        has_client: rng.random_bool(0.6),
    }
}

/// The usual settings with time scaled to runs of a minute. Thresholds stay.
fn config() -> GroupConfig {
    GroupConfig {
        pings: PingConfig {
            window: 8,
            shortest_secs: 0.5,
            longest_secs: 5.0,
            lost_secs: 0.5,
            ..PingConfig::default()
        },
        stabilisers: Stabilisers {
            min_stay_secs: 3.0,
            period_secs: 10.0,
            ..Stabilisers::default()
        },
        node_timeout_secs: 4.0,
        flush_secs: 0.1,
        ..GroupConfig::default()
    }
}

/// One line: what this run is about.
impl fmt::Display for GroupRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sites: std::collections::BTreeSet<usize> =
            self.places.iter().map(|place| place.site).collect();
        write!(
            f,
            "seed {}: {:?}, {} machines at {} sites {:.0} ms apart, {} objects, {:?}, cap {}, {:.1} s; +- {:.1} ms, {:.1} % lost; {} upheavals",
            self.seed,
            self.trouble,
            self.places.len(),
            sites.len(),
            self.between_sites_ms,
            self.objects,
            self.config.mode,
            self.config.max_group,
            self.seconds,
            self.jitter_ms,
            self.loss * 100.0,
            self.script.len(),
        )
    }
}
