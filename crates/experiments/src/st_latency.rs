//! X3: how long what a user does takes to reach another user (Storey §3.3.12, Fig. 3.8).
//!
//! ```text
//!   client/server        B ──x2──► server ──x3──► C                           x2 + x3
//!   same group           B ──x_ba─► leader A ──x_ca─► C                       x_ba + x_ca
//!   another group        B ──x_ba─► A ──x1──► server ──x4──► D ──x_ed─► E     x_ba + x1 + x4 + x_ed
//! ```
//!
//! The cores themselves carry an avatar's update from every client to every other one through a network with known delays, and
//! the time it takes is compared with the formula. The thesis gives formulas and no numbers; its claims are about their relation.

use crate::plot::{Chart, Line, LineStyle, OURS, THESIS, THIRD};
use crate::result::{Claim, ExperimentError, ExperimentInfo, ExperimentResult, RunOptions};
use crate::seeds;
use crate::table::Table;
use domain::{Bounds, SimTime};
use glam::DVec3;
use groups::room::Room;
use groups::{
    Address, Axes, Division, GroupConfig, MachineId, ObjectClass, ObjectInfo, ObjectKey,
    ObjectState, Thresholds,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::json;
use std::fmt::Write as _;

pub(crate) const INFO: ExperimentInfo = ExperimentInfo {
    id: "st-latency",
    title: "Consistency groups: from one user to another (X3)",
    what: "What six users do, told through groups, singletons and a server: delays against the formulas of Fig. 3.8.",
};

/// Clients A to F; A, B, C and D, E, F are near each other, as in Fig. 3.8.
const CLIENTS: usize = 6;
/// Networks drawn if nothing else is said, and in a quick run.
const NETWORKS: u32 = 50;
const QUICK_NETWORKS: u32 = 8;
/// The longest rounding of a delay to nanoseconds, on every leg.
const EXACT_MS: f64 = 1e-4;

/// How users are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Model {
    /// No nodes: everyone talks to the coordinator.
    ClientServer,
    /// Nodes, all in groups of their own.
    Singletons,
    /// Nodes in groups of three.
    Groups,
    /// The same with states gathered for 50 ms at every stop, as a WAN would.
    GroupsGathered,
}

impl Model {
    const ALL: [Self; 4] = [
        Self::ClientServer,
        Self::Singletons,
        Self::Groups,
        Self::GroupsGathered,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::ClientServer => "client/server",
            Self::Singletons => "all singletons",
            Self::Groups => "groups",
            Self::GroupsGathered => "groups, states gathered for 50 ms",
        }
    }

    fn config(self) -> GroupConfig {
        let thresholds = match self {
            // Nobody is near anybody.
            Self::Singletons => Thresholds {
                inclusion_ms: 1e-3,
                rejection_ms: 2e-3,
                deviation_ms: 1e6,
            },
            _ => Thresholds::default(),
        };
        let flush_secs = if self == Self::GroupsGathered {
            0.05
        } else {
            1e-9
        };
        GroupConfig {
            thresholds,
            flush_secs,
            // Every update is passed on, also those everyone could guess.
            suppress_m: 0.0,
            ..GroupConfig::default()
        }
    }
}

/// One-way delays, milliseconds.
struct Delays {
    between: [[f64; CLIENTS]; CLIENTS],
    to_server: [f64; CLIENTS],
}

impl Delays {
    fn draw(rng: &mut Pcg64Mcg) -> Self {
        let mut between = [[0.0; CLIENTS]; CLIENTS];
        #[expect(
            clippy::needless_range_loop,
            reason = "both halves of a symmetric table are filled"
        )]
        for a in 0..CLIENTS {
            for b in 0..a {
                let near = a / 3 == b / 3;
                let ms = if near {
                    rng.random_range(1.0..12.0)
                } else {
                    rng.random_range(40.0..120.0)
                };
                (between[a][b], between[b][a]) = (ms, ms);
            }
        }
        let to_server = std::array::from_fn(|_| rng.random_range(15.0..80.0));
        Self { between, to_server }
    }

    fn client_server(&self, from: usize, to: usize) -> f64 {
        self.to_server[from] + self.to_server[to]
    }

    /// The formulas of §3.3.12; leaders are A and D.
    fn grouped(&self, from: usize, to: usize) -> f64 {
        let (here, there) = (from / 3 * 3, to / 3 * 3);
        let legs = self.between[from][here] + self.between[there][to];
        if here == there {
            legs
        } else {
            legs + self.to_server[here] + self.to_server[there]
        }
    }

    fn formula(&self, model: Model, from: usize, to: usize) -> f64 {
        match model {
            Model::ClientServer | Model::Singletons => self.client_server(from, to),
            Model::Groups | Model::GroupsGathered => self.grouped(from, to),
        }
    }
}

/// What one user's deed took to reach one other.
struct Sample {
    network: u32,
    model: Model,
    from: usize,
    to: usize,
    formula_ms: f64,
    client_server_ms: f64,
    measured_ms: f64,
}

impl Sample {
    fn same_group(&self) -> bool {
        self.from / 3 == self.to / 3
    }

    fn error(&self) -> f64 {
        (self.measured_ms - self.formula_ms).abs()
    }
}

fn node_at(i: usize) -> Address {
    Address(1 + i as u64)
}

fn client_at(i: usize) -> Address {
    Address(101 + i as u64)
}

fn machine_of(address: Address) -> Option<usize> {
    (address.0 > 0).then(|| ((address.0 - 1) % 100) as usize)
}

/// Everyone has come and has been grouped.
fn room(model: Model, delays: &Delays) -> Room {
    let world = Bounds {
        min: DVec3::ZERO,
        max: DVec3::splat(100.0),
    };
    let division = Division::new(world, Axes::Ground).expect("a good world");
    let (between, to_server) = (delays.between, delays.to_server);
    let delay = move |a: Address, b: Address| {
        let ms = match (machine_of(a), machine_of(b)) {
            (Some(a), Some(b)) => between[a][b],
            (Some(one), None) | (None, Some(one)) => to_server[one],
            (None, None) => 0.0,
        };
        SimTime::from_millis(ms)
    };
    let mut room = Room::new(model.config(), division, SimTime::from_millis(5.0), delay);
    if model != Model::ClientServer {
        // One after the other, so that A and D have the lowest ids of their groups.
        for i in 0..CLIENTS {
            room.enter(node_at(i), MachineId(1 + i as u64));
            room.run(0.3, |_, _| {});
        }
    }
    let info = ObjectInfo {
        key: ObjectKey::persistent(1),
        class: ObjectClass::Avatar,
        kind: 0,
        extent_m: 0.5,
    };
    for i in 0..CLIENTS {
        room.enter_client(client_at(i), MachineId(1 + i as u64), vec![info]);
    }
    // Long enough for first measurements and the question for them; no vote is held so early.
    room.run(3.0, |_, _| {});
    room
}

fn group_sizes(room: &Room) -> Vec<usize> {
    room.coordinator
        .groups()
        .map(|(.., members)| members.len())
        .collect()
}

/// Each user acts once; everyone else's clock is read when it is heard.
fn measure(network: u32, model: Model, delays: &Delays, samples: &mut Vec<Sample>) -> Vec<usize> {
    let mut room = room(model, delays);
    for from in 0..CLIENTS {
        // Between two ticks: whoever has just flushed would hold the message back until the next.
        room.run(0.0013, |_, _| {});
        let start = room.now;
        let position = DVec3::new(10.0 + from as f64, 1.0, 1.0);
        room.act(
            client_at(from),
            1,
            ObjectState::at_rest(ObjectKey::persistent(1), position),
        );
        let key = room.clients[&client_at(from)]
            .id()
            .and_then(|id| ObjectKey::of_client(id, 1))
            .expect("it has joined");
        let mut heard: [Option<SimTime>; CLIENTS] = [None; CLIENTS];
        room.run_watching(0.8, |room| {
            for (to, at) in heard
                .iter_mut()
                .enumerate()
                .filter(|(to, at)| *to != from && at.is_none())
            {
                let state = room.clients[&client_at(to)].other(key);
                *at = state.filter(|state| state.stamp == start).map(|_| room.now);
            }
        });
        for (to, at) in heard.into_iter().enumerate().filter(|(to, _)| *to != from) {
            samples.push(Sample {
                network,
                model,
                from,
                to,
                formula_ms: delays.formula(model, from, to),
                client_server_ms: delays.client_server(from, to),
                measured_ms: at.map_or(f64::NAN, |at| at.since(start).as_millis()),
            });
        }
    }
    group_sizes(&room)
}

pub(crate) fn run(
    info: &ExperimentInfo,
    options: &RunOptions,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    let networks = options.runs.unwrap_or(if options.quick {
        QUICK_NETWORKS
    } else {
        NETWORKS
    });
    let mut samples = Vec::new();
    let mut sizes: Vec<(Model, Vec<usize>)> = Vec::new();
    for network in 0..networks {
        let mut rng =
            Pcg64Mcg::seed_from_u64(seeds::derive(options.seed, &[0x7374, network.into()]));
        let delays = Delays::draw(&mut rng);
        for model in Model::ALL {
            sizes.push((model, measure(network, model, &delays, &mut samples)));
        }
        progress(f64::from(network + 1) / f64::from(networks));
    }
    let mut result = ExperimentResult::new(info, options.seed);
    add_named_pairs(&mut result, &samples);
    add_summary(&mut result, &samples);
    result.claims = claims(&samples, &sizes);
    result.add_figure(
        "delays.svg",
        "From one user to another: measured against the client/server formula of the same pair. Below the diagonal: the group is faster.",
        figure(&samples),
    );
    result.add_data("points.csv", csv(&samples));
    result.notes.extend([
        "The thesis gives these delays as formulas (Fig. 3.8, called X.1 in its text) and no numbers; delays here are drawn: 1 to 12 ms within a group, 40 to 120 ms between, 15 to 80 ms to the server, one way.".into(),
        "The thesis says a path through two leaders may be longer than through the server alone; how often that is so depends on where leaders are, and is counted above.".into(),
        "\"States gathered\" is not in the thesis's formulas: every stop (client, leader, server, leader) holds a state back until its next flush.".into(),
    ]);
    Ok(result)
}

/// The pairs the thesis names.
fn add_named_pairs(result: &mut ExperimentResult, samples: &[Sample]) {
    let mut table = Table::new(
        "The pairs of Fig. 3.8 in the first network drawn, milliseconds",
        &[
            "From → to",
            "Model",
            "Thesis's formula",
            "Its value",
            "Measured",
        ],
    );
    let named = [
        (1, 2, Model::ClientServer, "x2 + x3"),
        (1, 2, Model::Singletons, "x2 + x3"),
        (1, 2, Model::Groups, "x_ba + x_ca"),
        (1, 4, Model::ClientServer, "x2 + x5"),
        (1, 4, Model::Singletons, "x2 + x5"),
        (1, 4, Model::Groups, "x_ba + x1 + x4 + x_ed"),
    ];
    for (from, to, model, formula) in named {
        let wanted =
            |s: &&Sample| s.network == 0 && s.model == model && (s.from, s.to) == (from, to);
        let Some(sample) = samples.iter().find(wanted) else {
            continue;
        };
        let letter = |i: usize| char::from(b'A' + i as u8);
        let pair = format!("{} → {}", letter(from), letter(to));
        result.rows.push(json!({
            "table": "fig-3.8", "pair": pair, "model": model.name(), "published": formula,
            "formula_ms": sample.formula_ms, "measured_ms": sample.measured_ms,
        }));
        table.push(vec![
            pair,
            model.name().into(),
            formula.into(),
            format!("{:.3}", sample.formula_ms),
            format!("{:.3}", sample.measured_ms),
        ]);
    }
    result.tables.push(table);
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), v| (sum + v, count + 1));
    sum / f64::from(count.max(1))
}

fn add_summary(result: &mut ExperimentResult, samples: &[Sample]) {
    let mut table = Table::new(
        "All pairs of all networks, milliseconds",
        &[
            "Model",
            "Pairs",
            "N",
            "Formula, mean",
            "Measured, mean",
            "Largest difference",
            "Client/server, mean",
            "Faster than it %",
        ],
    );
    for model in Model::ALL {
        for same in [true, false] {
            let chosen: Vec<&Sample> = samples
                .iter()
                .filter(|s| s.model == model && s.same_group() == same)
                .collect();
            let pairs = if same { "same group" } else { "two groups" };
            let faster = chosen
                .iter()
                .filter(|s| s.measured_ms < s.client_server_ms - EXACT_MS)
                .count();
            let share = 100.0 * faster as f64 / chosen.len().max(1) as f64;
            let formula = mean(chosen.iter().map(|s| s.formula_ms));
            let measured = mean(chosen.iter().map(|s| s.measured_ms));
            let server = mean(chosen.iter().map(|s| s.client_server_ms));
            let worst = chosen.iter().map(|s| s.error()).fold(0.0, f64::max);
            result.rows.push(json!({
                "table": "summary", "model": model.name(), "pairs": pairs, "n": chosen.len(), "formula_ms": formula,
                "measured_ms": measured, "largest_difference_ms": worst, "client_server_ms": server, "faster_pct": share,
            }));
            table.push(vec![
                model.name().into(),
                pairs.into(),
                chosen.len().to_string(),
                format!("{formula:.2}"),
                format!("{measured:.2}"),
                format!("{worst:.6}"),
                format!("{server:.2}"),
                format!("{share:.1}"),
            ]);
        }
    }
    result.tables.push(table);
}

fn claims(samples: &[Sample], sizes: &[(Model, Vec<usize>)]) -> Vec<Claim> {
    let exact = |models: &[Model]| {
        let chosen = samples.iter().filter(|s| models.contains(&s.model));
        // A state that never came is NaN, which is no difference at all unless it is looked for.
        chosen
            .map(|s| {
                if s.measured_ms.is_nan() {
                    f64::INFINITY
                } else {
                    s.error()
                }
            })
            .fold(0.0, f64::max)
    };
    let worst = exact(&[Model::ClientServer, Model::Groups]);
    let single = exact(&[Model::Singletons]);
    let of = |model: Model| samples.iter().filter(move |s| s.model == model);
    let differ = of(Model::Singletons)
        .zip(of(Model::ClientServer))
        .map(|(a, b)| (a.measured_ms - b.measured_ms).abs())
        .fold(0.0, f64::max);
    let formed = sizes.iter().all(|(model, sizes)| match model {
        Model::ClientServer => sizes.is_empty(),
        Model::Singletons => sizes == &[1; CLIENTS],
        _ => sizes == &[3, 3],
    });
    let near: Vec<&Sample> = of(Model::Groups).filter(|s| s.same_group()).collect();
    let near_faster = near
        .iter()
        .filter(|s| s.measured_ms < s.client_server_ms)
        .count();
    let far: Vec<&Sample> = of(Model::Groups).filter(|s| !s.same_group()).collect();
    let far_slower = far
        .iter()
        .filter(|s| s.measured_ms > s.client_server_ms)
        .count();
    let gathered = of(Model::GroupsGathered).map(|s| s.measured_ms - s.formula_ms);
    let (least, most) = gathered.fold((f64::MAX, f64::MIN), |(l, m), v| (l.min(v), m.max(v)));
    vec![
        Claim::new(
            "ST-61",
            "Measured pings alone formed the groups: {A,B,C} and {D,E,F}, or six singletons, or none without nodes",
            formed,
            format!("{} rooms", sizes.len()),
        ),
        Claim::new(
            "ST-61",
            "Every delay is the formula's: x2+x3 through the server, x_ba+x_ca within a group, x_ba+x1+x4+x_ed between groups",
            worst <= EXACT_MS,
            format!("largest difference {worst:.7} ms"),
        ),
        Claim::new(
            "ST-61",
            "All-singleton groups are client/server: the same delay for every pair",
            single <= EXACT_MS && differ <= EXACT_MS,
            format!("largest difference {differ:.7} ms"),
        ),
        Claim::new(
            "ST-61",
            "Users of one group hear each other sooner than through the server (the thesis: better for co-located users)",
            near_faster == near.len(),
            format!("{near_faster} of {} pairs", near.len()),
        ),
        Claim::new(
            "ST-61",
            "Users of two groups may hear each other later than through the server alone, as the thesis admits",
            far_slower > 0,
            format!("{far_slower} of {} pairs are slower", far.len()),
        ),
        Claim::new(
            "ST-47",
            "Gathering states for 50 ms at every stop adds at least nothing and at most one flush per stop",
            least >= -EXACT_MS && most <= 4.0 * 50.0 + 5.0,
            format!("adds {least:.1} to {most:.1} ms"),
        ),
    ]
}

fn figure(samples: &[Sample]) -> String {
    let points = |same: bool| {
        let chosen = samples
            .iter()
            .filter(|s| s.model == Model::Groups && s.same_group() == same);
        let mut points: Vec<(f64, f64)> = chosen
            .map(|s| (s.client_server_ms, s.measured_ms))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    };
    let longest = samples
        .iter()
        .map(|s| s.client_server_ms)
        .fold(0.0, f64::max);
    let line = |name: &str, colour, points, style| Line {
        name: name.into(),
        colour,
        points,
        style,
    };
    Chart {
        title: "Groups against client/server".into(),
        x_label: "through the server, ms".into(),
        y_label: "through leaders, ms".into(),
        marks: Vec::new(),
        limit: None,
        y_least_top: longest,
        lines: vec![
            line(
                "client/server",
                THESIS,
                vec![(0.0, 0.0), (longest, longest)],
                LineStyle::Plain,
            ),
            line("same group", OURS, points(true), LineStyle::Points),
            line("two groups", THIRD, points(false), LineStyle::Points),
        ],
    }
    .svg()
}

fn csv(samples: &[Sample]) -> String {
    let mut text = String::from("network,model,from,to,formula_ms,client_server_ms,measured_ms\n");
    for s in samples {
        let _ = writeln!(
            text,
            "{},{},{},{},{:.6},{:.6},{:.6}",
            s.network,
            s.model.name().replace(',', ""),
            s.from,
            s.to,
            s.formula_ms,
            s.client_server_ms,
            s.measured_ms
        );
    }
    text
}
