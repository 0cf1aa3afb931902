//! What grows in each section, and what stays.

use scenes::{Crowd, Tolerances};
use simulator::network::NetworkConditions;

/// All of these sections run on so many servers.
pub(super) const SERVERS: usize = 4;
const BODIES: usize = 4000;
const QUICK_BODIES: usize = 400;
/// What a network takes at most, of what it usually takes: jitter is a tenth. The rest is for what is held back.
const MOST_LATENCY: f64 = 1.2;
const HELD_BACK_MS: f64 = 0.5;
/// What the fastest bodies of `speed` need, whatever hits them. It stays while their speed grows.
const TOP_SPEED: f64 = 64.0;

/// One section.
pub(super) struct Plan {
    /// What grows, as a column.
    pub(super) what: &'static str,
    /// The same below an axis.
    pub(super) axis: &'static str,
    /// What stays, for the caption.
    pub(super) stays: String,
    /// Does the figure's axis double from the first value on?
    pub(super) doubles: bool,
    pub(super) points: Vec<Point>,
}

/// One value of what grows.
pub(super) struct Point {
    pub(super) value: f64,
    pub(super) crowd: Crowd,
    pub(super) network: NetworkConditions,
}

/// The plan of a section of this name.
pub(super) fn plan(id: &str, quick: bool) -> Plan {
    let usual = Crowd {
        bodies: if quick { QUICK_BODIES } else { BODIES },
        servers: SERVERS,
        ..Crowd::default()
    };
    let plan = match id {
        "bodies" => bodies(&usual),
        "density" => density(&usual),
        "speed" => speed(&usual),
        "delay" => delay(&usual),
        other => unreachable!("{other} is listed but has no plan"),
    };
    if quick { plan.shortened() } else { plan }
}

impl Plan {
    /// The first and one in the middle.
    fn shortened(mut self) -> Self {
        let middle = self.points.len() / 2;
        self.points.truncate(middle + 1);
        self.points.drain(1..middle);
        self
    }
}

fn points(values: &[f64], of: impl Fn(f64) -> Crowd) -> Vec<Point> {
    let point = |value: &f64| Point {
        value: *value,
        crowd: of(*value),
        network: NetworkConditions::data_centre(),
    };
    values.iter().map(point).collect()
}

fn bodies(usual: &Crowd) -> Plan {
    let values = [500.0, 1000.0, 2000.0, 4000.0, 8000.0, 16_000.0, 32_000.0];
    Plan {
        what: "Bodies",
        axis: "bodies",
        stays: "9 m² for each".into(),
        doubles: true,
        points: points(&values, |bodies| Crowd {
            bodies: bodies as usize,
            ..*usual
        }),
    }
}

fn density(usual: &Crowd) -> Plan {
    let values = [0.025, 0.05, 0.1, 0.2, 0.4, 0.8];
    Plan {
        what: "Bodies per m²",
        axis: "bodies per m²",
        stays: format!(
            "{} of them, so the denser they are the shorter are the borders",
            usual.bodies
        ),
        doubles: true,
        points: points(&values, |bodies_per_m2| Crowd {
            bodies_per_m2,
            ..*usual
        }),
    }
}

fn speed(usual: &Crowd) -> Plan {
    let values = [1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0];
    let tolerances = Tolerances {
        speed: TOP_SPEED,
        ..usual.tolerances
    };
    Plan {
        what: "Speed, m/s",
        axis: "highest speed across the ground at the start, m/s",
        stays: format!(
            "{} bodies, half of them bouncing, speed tolerance {TOP_SPEED} m/s",
            usual.bodies
        ),
        doubles: false,
        points: points(&values, |speed| Crowd {
            speed,
            tolerances,
            ..*usual
        }),
    }
}

fn delay(usual: &Crowd) -> Plan {
    let values = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 50.0];
    let point = |latency_ms: f64| Point {
        value: latency_ms,
        crowd: Crowd {
            tolerances: Tolerances {
                latency_ms: MOST_LATENCY * latency_ms + HELD_BACK_MS,
                ..usual.tolerances
            },
            ..*usual
        },
        network: NetworkConditions {
            latency_ms,
            jitter_ms: 0.1 * latency_ms,
            ..NetworkConditions::data_centre()
        },
    };
    Plan {
        what: "Delay, ms",
        axis: "one-way delay between servers, ms",
        stays: format!(
            "{} bodies; the latency tolerance is {MOST_LATENCY} times the delay and {HELD_BACK_MS} ms",
            usual.bodies
        ),
        doubles: true,
        points: values.map(point).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grown(id: &str) -> Vec<Point> {
        plan(id, false).points
    }

    /// The first as the last, with this changed.
    fn only_differs(id: &str, change: impl Fn(&mut Crowd, &Crowd)) {
        let points = grown(id);
        let (first, last) = (&points[0], &points[points.len() - 1]);
        assert_ne!(first.crowd, last.crowd, "{id}: something grows");
        let mut changed = first.crowd;
        change(&mut changed, &last.crowd);
        assert_eq!(changed, last.crowd, "{id}: nothing else does");
    }

    #[test]
    fn one_thing_grows_and_the_others_stay() {
        only_differs("bodies", |crowd, last| crowd.bodies = last.bodies);
        only_differs("density", |crowd, last| {
            crowd.bodies_per_m2 = last.bodies_per_m2;
        });
        only_differs("speed", |crowd, last| crowd.speed = last.speed);
        only_differs("delay", |crowd, last| {
            crowd.tolerances.latency_ms = last.tolerances.latency_ms;
        });
        for id in ["bodies", "density", "speed"] {
            let usual = NetworkConditions::data_centre();
            assert!(grown(id).iter().all(|point| point.network == usual));
        }
    }

    #[test]
    fn no_delay_exceeds_its_tolerance_unless_something_is_lost() {
        for point in grown("delay") {
            let NetworkConditions {
                latency_ms,
                jitter_ms,
                reorder_ms,
                ..
            } = point.network;
            let longest = latency_ms + jitter_ms + reorder_ms;
            assert!(longest <= point.crowd.tolerances.latency_ms, "{latency_ms}");
        }
    }

    #[test]
    fn a_quick_look_has_two_points_of_a_small_crowd() {
        for id in ["bodies", "density", "speed", "delay"] {
            let points = plan(id, true).points;
            assert_eq!(points.len(), 2, "{id}");
            assert!(points[0].value < points[1].value);
            assert!(points.iter().all(|point| point.crowd.bodies <= 4000));
        }
    }
}
