//! Beyond the papers, each against them with the same seeds. The full grid is the experiment `ml-offline`.

use crate::common::*;
use domain::SimTime;
use reckoning::motion::InjectedClock;
use scenes::encounters;
use station::*;
use std::collections::BTreeMap;

const PASSES: [Scenario; 2] = [Scenario::Clp, Scenario::Ccp];
const MEETS: [Scenario; 2] = [Scenario::Clc, Scenario::Ccc];
const NETS: [Net; 3] = [Net::GOOD, Net::MODERATE, Net::CONGESTED];

fn published() -> Settings {
    Settings::published(Protocol::MotionLock)
}

fn runs(scenario: Scenario, settings: Settings, net: Net, seeds: u64) -> Vec<Outcome> {
    (0..seeds)
        .map(|seed| run(scenario, settings, net, seed))
        .collect()
}

fn total(outcomes: &[Outcome]) -> u32 {
    outcomes
        .iter()
        .map(|outcome| outcome.counts[0].max(outcome.counts[1]))
        .sum()
}

fn mean_delta(outcomes: &[Outcome]) -> f64 {
    let deltas: Vec<f64> = outcomes
        .iter()
        .filter_map(|outcome| outcome.delta_ms)
        .collect();
    deltas.iter().sum::<f64>() / deltas.len().max(1) as f64
}

fn mean_deviation(outcomes: &[Outcome]) -> f64 {
    outcomes
        .iter()
        .map(|outcome| outcome.deviation)
        .sum::<f64>()
        / outcomes.len() as f64
}

// ML-58 (G2, G3): near misses. Published motion-lock pulls every one of them together; ours at most 5 of 50 on the good network, 15 on
// the moderate one, and misses no true hit, no later than the published rule.
#[test]
fn near_misses_stay_misses_and_hits_stay_hits() {
    for (net, most) in NETS.into_iter().zip([5, 15, 25]) {
        for scenario in PASSES {
            let before = total(&runs(scenario, published(), net, 50));
            assert!(before >= 48, "R4, the known defect: {before} of 50");
            let after = total(&runs(scenario, Settings::improved(), net, 50));
            assert!(after <= most, "{scenario:?}: {after} of 50");
        }
        for scenario in MEETS {
            let theirs = runs(scenario, published(), net, 50);
            let ours = runs(scenario, Settings::improved(), net, 50);
            assert!(
                ours.iter().all(|outcome| outcome.counts == [1, 1]),
                "{scenario:?}"
            );
            let (ours, theirs) = (mean_delta(&ours), mean_delta(&theirs));
            assert!(
                ours <= theirs + 1e-9,
                "{scenario:?}: {ours} against {theirs} ms"
            );
        }
    }
}

// ML-58: also of bodies whose curvature changes all the time, which no predictor here has a model of. Two of them on a congested network are
// beyond us: their replicas are off by more than a radius (docs/protocols/motion-lock.md).
#[test]
fn near_misses_of_weaving_bodies_stay_misses() {
    let cells = [
        (Scenario::Wlp, Net::GOOD, 5),
        (Scenario::Wlp, Net::MODERATE, 15),
        (Scenario::Wlp, Net::CONGESTED, 15),
        (Scenario::Wwp, Net::GOOD, 5),
        (Scenario::Wwp, Net::MODERATE, 15),
    ];
    for (scenario, net, most) in cells {
        assert!(total(&runs(scenario, published(), net, 50)) >= 48);
        let after = total(&runs(scenario, Settings::improved(), net, 50));
        assert!(after <= most, "{scenario:?}: {after} of 50");
    }
    for scenario in [Scenario::Wlc, Scenario::Wwc] {
        for net in NETS {
            let outcomes = runs(scenario, Settings::improved(), net, 50);
            assert!(
                outcomes
                    .iter()
                    .all(|outcome| outcome.counts.iter().all(|count| *count >= 1))
            );
        }
    }
}

// ML-26: the two readings of the published rule. Playing whatever is due first brings the two sides' times together.
#[test]
fn the_earlier_of_two_commits_brings_the_times_together() {
    let delta = |conflict| {
        let mut settings = published();
        settings.agreement.conflict = conflict;
        mean_delta(&runs(Scenario::Clp, settings, Net::GOOD, 50))
    };
    let (letter, earlier) = (
        delta(Conflict::LocalPriority),
        delta(Conflict::EarlierFirst),
    );
    assert!(earlier < 0.5 * letter, "{earlier} against {letter} ms");
}

// ML-57 (G1): one set of trajectories per hit. With nothing else changed, deviation falls wherever both had foretold the hit.
#[test]
fn one_set_of_trajectories_deviates_less() {
    for (scenario, net) in [
        (Scenario::Ccc, Net::GOOD),
        (Scenario::Ccc, Net::MODERATE),
        (Scenario::Ccp, Net::MODERATE),
    ] {
        let deviation = |conflict| {
            let mut settings = published();
            settings.agreement.conflict = conflict;
            mean_deviation(&runs(scenario, settings, net, 50))
        };
        let local = deviation(Conflict::LocalPriority);
        for conflict in [Conflict::LowerStation, Conflict::Score] {
            let settled = deviation(conflict);
            assert!(
                settled < 0.7 * local,
                "{scenario:?} {conflict:?}: {settled} against {local}"
            );
        }
    }
}

// "Post-collision deviation below control's in every cell with our conflict rule": the C-cells, per run.
#[test]
fn deviation_is_below_controls_in_every_cell() {
    for net in NETS {
        for scenario in MEETS.into_iter().chain(PASSES) {
            let control = mean_deviation(&runs(
                scenario,
                Settings::published(Protocol::Control),
                net,
                30,
            ));
            let ours = mean_deviation(&runs(scenario, Settings::improved(), net, 30));
            assert!(ours <= control, "{scenario:?}: {ours} against {control}");
        }
    }
}

// ML-58 (G3): locks last no longer than the network needs.
#[test]
fn the_window_follows_the_measured_delay() {
    let longest = |latency_ms, window| {
        let mut settings = published();
        settings.lock.window = window;
        let mut world = Scenario::Llc.world(settings, Net::of(latency_ms, 0.0), 1);
        world.run_until(ms(1_800));
        let locks = world.events.iter().filter_map(|(_, event)| match event {
            Event::Locked { at, until, .. } => Some(until.since(*at)),
            _ => None,
        });
        locks.max().expect("a lock")
    };
    let measured = LockWindow::Measured { jitters: 4.0 };
    assert!(longest(20, LockWindow::Fixed) > ms(80));
    assert!(longest(20, measured) <= ms(65), "{}", longest(20, measured));
    assert!(longest(400, measured) <= ms(100), "never beyond T_lock");
}

// D13, G4 with G1: repeating the notice brings the two sides' times together under loss.
#[test]
fn repeated_notices_arrive_in_time() {
    let delta = |repeat| {
        let mut settings = published();
        settings.lock.repeat_notice = repeat;
        mean_delta(&runs(Scenario::Clc, settings, Net::CONGESTED, 50))
    };
    let (once, repeated) = (delta(false), delta(true));
    assert!(repeated < once, "{repeated} against {once} ms");
}

/// Two stations with clocks of their own: B asks A for the time.
fn with_clocks(
    latency: Net,
    seed: u64,
    clock: InjectedClock,
) -> (World, BTreeMap<StationId, InjectedClock>) {
    let given = Settings::improved();
    let asking = Settings {
        clock: ClockSource::AskedFrom(StationId(0)),
        ..given
    };
    let world = World::new(&[given, asking], latency, seed);
    let clocks = BTreeMap::from([
        (StationId(0), InjectedClock::perfect()),
        (StationId(1), clock),
    ]);
    (world, clocks)
}

// ML-43: stations whose clocks differ by seconds and drift agree on the time within the bound they report, and so on hits.
#[test]
fn clocks_are_shared_within_their_bound() {
    let clock = InjectedClock {
        start: SimTime::from_secs(77.0),
        drift: 5e-5,
    };
    let (mut world, clocks) = with_clocks(Net::of(40, 0.1), 3, clock);
    world.clocks = clocks;
    world.meeting = ms(4_500);
    let [one, two] = Scenario::Clc.rails();
    world.railed(0, 1, one);
    world.railed(1, 2, two);
    assert_eq!(world.stations[&StationId(1)].shared_now(), None);
    let mut known = 0;
    while world.now < ms(6_000) {
        world.frame();
        let truth = world.now.since(FRAME);
        let station = &world.stations[&StationId(1)];
        if let (Some(shared), Some(bound)) = (station.shared_now(), station.clock_error()) {
            let error = shared.since(truth).max(truth.since(shared));
            assert!(error <= bound + SimTime(2_000), "{error} beyond {bound}");
            assert!(
                world.now < ms(2_000) || bound < ms(45),
                "half a round trip: {bound}"
            );
            known += 1;
        }
    }
    assert!(known > 200);
    assert_eq!(
        [0, 1].map(|station| world.count(station, pair(1, 2))),
        [1, 1]
    );
    let hit = world.hits(1)[0];
    assert!(
        hit.clock_error > SimTime::ZERO && hit.clock_error < ms(45),
        "reported with the hit"
    );
}

// ML-35: every parameter of the digest's §2.18 can be set, and these are the defaults.
#[test]
fn defaults_are_the_digests() {
    for settings in [published(), Settings::improved()] {
        assert_eq!(settings.lock.max, ms(100));
        assert_eq!(settings.agreement.cut_off, ms(200));
        assert_eq!(settings.agreement.busy_beat, ms(50));
        assert_eq!(settings.agreement.refractory, ms(250));
        assert_eq!(settings.reckoning.threshold, 1.0);
        assert_eq!(settings.reckoning.correction, ms(500));
        assert_eq!(settings.reckoning.keepalive, ms(500));
        assert_eq!(settings.reckoning.min_turn_deg, 2.0);
        assert_eq!(settings.reckoning.max_turn_deg, 60.0);
    }
    assert_eq!(Settings::improved().agreement.idle_beat, ms(500));
}

// ML-26: the policy is a setting. ML-45, "commands discarded": locks take as little as the window.
#[test]
fn shorter_windows_cost_fewer_commands() {
    let lost = |settings: Settings| {
        let mut world = Scenario::Clc.world(settings, Net::GOOD, 1);
        world.run_until(ms(2_000));
        let counts = world.stations[&StationId(0)].commands();
        assert!(counts.discarded <= counts.given);
        counts.discarded
    };
    assert!(lost(Settings::improved()) <= lost(published()) + 3);
    let mut none = published();
    none.lock.max = SimTime::ZERO;
    assert_eq!(lost(none), 0);
}

// ML-21, ML-26: both have committed, the other's commit counts, and it is due after our own lock must end. We let go in time, and still play it at
// its time, as the other does.
#[test]
fn the_hit_that_counts_is_played_at_its_time_even_after_the_lock() {
    let mut settings = Settings::published(Protocol::MotionLock);
    settings.agreement.conflict = Conflict::Score;
    let mut outlasted = 0;
    for seed in 0..10 {
        let mut world = Scenario::Clp.world(settings, Net::of(50, 0.0), seed);
        world.run_until(ms(2_000));
        let [one, other] = [0, 1].map(|station| world.hits(station)[0]);
        assert_eq!((one.author, one.scheduled), (other.author, other.scheduled));
        assert_eq!(one.at, other.at, "seed {seed}");
        assert_eq!(one.velocities, other.velocities);
        for (_, event) in &world.events {
            if let Event::Unlocked { since, at, why, .. } = event {
                assert!(at.since(*since) <= settings.lock.max + FRAME);
                outlasted += u32::from(*why == Unlock::Expired);
            }
        }
    }
    assert!(outlasted > 0, "no lock ended before its hit");
}

// ML-58: on curves that no predictor knows and a network where replicas are off by more than a body, nobody is sure in time. What the samples prove
// afterwards is counted, by both, once; what they do not prove is not.
#[test]
fn what_was_in_doubt_is_proved_afterwards() {
    let curves = [
        encounters::Curve::Weave {
            sway: 80.0,
            speed: 500.0,
        },
        encounters::Curve::Ellipse {
            wide: 60.0,
            long: 110.0,
            rate: 5.0,
        },
        encounters::Curve::Swing {
            deep: 60.0,
            far: 120.0,
            rate: 4.0,
        },
    ];
    let mut proved = 0;
    for curve in curves {
        let field = Field {
            instead: Some(curve),
            ..Field::default()
        };
        for (scenario, seed) in [Scenario::Ccc, Scenario::Ccp]
            .into_iter()
            .flat_map(|scenario| (0..8).map(move |seed| (scenario, seed)))
        {
            let mut world = World::new(&[Settings::improved(); 2], Net::CONGESTED, seed);
            let [one, two] = scenario.paths(&field).map(Rail::flat);
            world.railed(0, 1, one);
            world.railed(1, 2, two);
            world.run_until(ms(2_300));
            let counts = [0, 1].map(|station| world.count(station, pair(1, 2)));
            let wanted = u32::from(scenario.meets());
            assert_eq!(counts, [wanted; 2], "{curve:?} {scenario:?} {seed}");
            let hits = [world.hits(0), world.hits(1)].concat();
            let causes = hits.iter().filter(|hit| hit.cause == Cause::Hindsight);
            proved += causes.count();
        }
    }
    assert!(proved > 20, "{proved} of 48");
}
