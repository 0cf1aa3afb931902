//! The same rounds over real UDP sockets on this machine, with delay and loss made on purpose (ML-42): the very driver the client
//! library gives to players, real clocks that have to be synchronised (ML-43), real time. Nothing here repeats bit by bit.

use super::arms::Arm;
use super::online_play::OnlineSetup;
use super::rounds::{A, B, BODIES, M1, RoundPlayer};
use crate::reckoning::part;
use crate::result::{Claim, ExperimentError, ExperimentResult, RunOptions};
use crate::seeds;
use crate::table::Table;
use client::stations::UdpStation;
use domain::{BodyId, SimTime};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::json;
use simulator::stations::{Delay, LockChecker, Measure, Player, Watcher};
use station::{ClockSource, Event, Hit, PairId, StationId};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Before the end nobody is steered any more for so long.
const SETTLING: Duration = Duration::from_millis(1000);

const ARMS: [Arm; 3] = [Arm::PostCollision, Arm::MotionLock, Arm::Improved];

/// What one side has seen.
struct Side {
    hits: Vec<Hit>,
    counts: Vec<u32>,
    commands: [u64; 2],
    longest_lock: SimTime,
    longest_frame: SimTime,
    locks: u64,
    clock_error: Measure,
    delay: Option<SimTime>,
    refused: u64,
    sent: u64,
    received: u64,
}

/// Both sides of one protocol.
struct Played {
    arm: Arm,
    secs: f64,
    sides: [Side; 2],
}

impl Played {
    fn interval(&self) -> (Measure, usize) {
        let [a, b] = [&self.sides[0].hits, &self.sides[1].hits];
        let mut measure = Measure::default();
        for hit in a {
            let same = |there: &&Hit| (there.pair, there.index) == (hit.pair, hit.index);
            if let Some(there) = b.iter().find(same) {
                let apart = hit.at.since(there.at).max(there.at.since(hit.at));
                measure.add(apart.as_millis());
            }
        }
        let alone = a.len() + b.len() - 2 * measure.count() as usize;
        (measure, alone)
    }
}

/// Plays, and adds a table, rows and claims.
pub(super) fn add(
    result: &mut ExperimentResult,
    options: &RunOptions,
    setup: &OnlineSetup,
    progress: &mut dyn FnMut(f64),
) -> Result<(), ExperimentError> {
    let secs = if options.quick { 5.0 } else { 30.0 };
    let mut played = Vec::new();
    for (index, arm) in ARMS.into_iter().enumerate() {
        let from = index as f64 / ARMS.len() as f64;
        let mut heard = part(progress, from, from + 1.0 / ARMS.len() as f64);
        played.push(
            play(arm, setup, secs, options.seed, &mut heard).map_err(ExperimentError::Sockets)?,
        );
    }
    add_table(result, &played, setup);
    result.claims.extend(claims(&played, setup));
    Ok(())
}

fn play(
    arm: Arm,
    setup: &OnlineSetup,
    secs: f64,
    seed: u64,
    progress: &mut dyn FnMut(f64),
) -> std::io::Result<Played> {
    let start = Instant::now();
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let mut seats = Vec::new();
    for (id, late) in [(A, 0), (B, 1)] {
        let mut settings = setup.settings(arm, id);
        if id == B {
            settings.clock = ClockSource::AskedFrom(A);
        }
        // B's clock starts a second late: without synchronisation nothing would fit.
        let zero = start
            .checked_sub(Duration::from_secs(late))
            .unwrap_or(start);
        let station = setup.field.station(id, 1, settings);
        let station = station.expect("eight bodies with numbers that are finite");
        let mut seat = UdpStation::bind(any, station, zero)?;
        let delay = Delay::around(setup.latency_ms, setup.jitter);
        let loss = setup.loss;
        let mut rng = Pcg64Mcg::seed_from_u64(seeds::derive(seed, &[42, u64::from(id.0)]));
        seat.set_bad_air(Box::new(move || {
            let lost = rng.random::<f64>() < loss;
            let later = delay.draw(&mut rng);
            (!lost).then_some(later)
        }));
        seats.push(seat);
    }
    let addresses = [seats[0].local_addr()?, seats[1].local_addr()?];
    seats[0].introduce(B, addresses[1]);
    seats[1].introduce(A, addresses[0]);
    let end = start + Duration::from_secs_f64(secs);
    let done = AtomicU64::new(0);
    let sides: std::io::Result<Vec<Side>> = thread::scope(|scope| {
        let running: Vec<_> = seats
            .into_iter()
            .zip([A, B])
            .map(|(seat, id)| {
                let (setup, done) = (*setup, &done);
                scope.spawn(move || {
                    let side = side(seat, id, &setup, seed, end);
                    done.fetch_add(1, Ordering::Relaxed);
                    side
                })
            })
            .collect();
        while done.load(Ordering::Relaxed) < 2 {
            thread::sleep(Duration::from_millis(100));
            progress((start.elapsed().as_secs_f64() / secs).min(1.0));
        }
        let sides = running
            .into_iter()
            .map(|one| one.join().expect("a side does not panic"));
        sides.collect()
    });
    let sides: [Side; 2] = sides?
        .try_into()
        .unwrap_or_else(|_| unreachable!("there are two sides"));
    Ok(Played { arm, secs, sides })
}

/// One side, in its own thread. A second before the end nobody is steered any more, so that counts can settle.
fn side(
    mut seat: UdpStation,
    id: StationId,
    setup: &OnlineSetup,
    seed: u64,
    end: Instant,
) -> std::io::Result<Side> {
    let mut player = RoundPlayer::new(setup.field, seed, id);
    let lock = SimTime::from_millis(setup.lock_ms);
    let mut checker = LockChecker::new(lock, SimTime(u64::MAX / 4));
    let mut hits = Vec::new();
    let mut clock_error = Measure::default();
    let mut last: Option<SimTime> = None;
    let mut longest_frame = SimTime::ZERO;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        let events = seat.frame()?;
        let now = seat.now();
        if let Some(last) = last.replace(now) {
            longest_frame = longest_frame.max(now.since(last));
        }
        for event in &events {
            player.hear(event);
            checker.event(now, id, event);
            if let Event::Hit(hit) = event {
                hits.push(*hit);
            }
        }
        let station = seat.station();
        checker.frame(now, station);
        if let Some(error) = station.clock_error() {
            clock_error.add(error.as_millis());
        }
        if station.shared_now().is_some() && left > SETTLING {
            player.play(now, now, station);
        }
    }
    let other = if id == A { B } else { A };
    let station = seat.station();
    let pairs = (2..=BODIES).filter_map(|body| PairId::new(M1, BodyId(body)));
    let counts = pairs.map(|pair| station.counters(pair).unwrap_or_default().c);
    let counts = counts.collect();
    let traffic = station.traffic();
    let bytes = |amounts: &[station::Amount]| amounts.iter().map(|one| one.bytes).sum();
    Ok(Side {
        hits,
        counts,
        commands: [station.commands().given, station.commands().discarded],
        longest_lock: checker.longest,
        longest_frame,
        locks: checker.locks,
        clock_error,
        delay: station.delay_from(other).map(|delay| delay.0),
        refused: traffic.refused.iter().sum(),
        sent: bytes(&traffic.sent),
        received: bytes(&traffic.received),
    })
}

fn add_table(result: &mut ExperimentResult, played: &[Played], setup: &OnlineSetup) {
    let mut table = Table::new(
        format!(
            "ML-42: the same rounds over UDP on this machine, {} ms ± {:.0} % and {:.0} % loss made on purpose, real time",
            setup.latency_ms,
            100.0 * setup.jitter,
            100.0 * setup.loss
        ),
        &[
            "Protocol",
            "Seconds",
            "Hits A/B",
            "Alone",
            "Pairs that differ at the end",
            "Δt_col avg/max, ms",
            "Clock error bound avg/max, ms",
            "Measured delay A/B, ms",
            "Commands lost at A, %",
            "Longest lock, ms",
            "Longest frame, ms",
            "Refused datagrams",
            "kB/s sent/received at A",
        ],
    );
    for one in played {
        let [a, b] = &one.sides;
        let (interval, alone) = one.interval();
        let differ = a
            .counts
            .iter()
            .zip(&b.counts)
            .filter(|(a, b)| a != b)
            .count();
        let lost = 100.0 * a.commands[1] as f64 / a.commands[0].max(1) as f64;
        let longest = a.longest_lock.max(b.longest_lock).as_millis();
        let frame = a.longest_frame.max(b.longest_frame).as_millis();
        let delay = |side: &Side| side.delay.map_or(f64::NAN, SimTime::as_millis);
        table.push(vec![
            one.arm.name().into(),
            format!("{:.0}", one.secs),
            format!("{}/{}", a.hits.len(), b.hits.len()),
            alone.to_string(),
            differ.to_string(),
            format!("{:.1} / {:.0}", interval.avg(), interval.max()),
            format!("{:.2} / {:.1}", b.clock_error.avg(), b.clock_error.max()),
            format!("{:.0} / {:.0}", delay(a), delay(b)),
            format!("{lost:.2}"),
            format!("{longest:.0}"),
            format!("{frame:.0}"),
            (a.refused + b.refused).to_string(),
            format!(
                "{:.2} / {:.2}",
                a.sent as f64 / 1000.0 / one.secs,
                a.received as f64 / 1000.0 / one.secs
            ),
        ]);
        result.rows.push(json!({
            "table": "udp",
            "protocol": one.arm,
            "secs": one.secs,
            "hits": [a.hits.len(), b.hits.len()],
            "hits_alone": alone,
            "pairs_inconsistent": differ,
            "interval_ms": interval.json(),
            "clock_error_bound_ms": b.clock_error.json(),
            "commands_discarded_pct": lost,
            "longest_lock_ms": longest,
            "longest_frame_ms": frame,
            "refused": a.refused + b.refused,
        }));
    }
    result.tables.push(table);
}

fn claims(played: &[Played], setup: &OnlineSetup) -> Vec<Claim> {
    let differ = |one: &Played| {
        let [a, b] = &one.sides;
        a.counts
            .iter()
            .zip(&b.counts)
            .filter(|(a, b)| a != b)
            .count()
    };
    let hits: usize = played.iter().map(|one| one.sides[0].hits.len()).sum();
    let texts: Vec<String> = played
        .iter()
        .map(|one| {
            format!(
                "{} {}/{} hits, {} pairs differ",
                one.arm.name(),
                one.sides[0].hits.len(),
                one.sides[1].hits.len(),
                differ(one)
            )
        })
        .collect();
    let sides = || played.iter().flat_map(|one| &one.sides);
    let overlong = sides().filter(|side| {
        side.longest_lock.as_millis()
            > setup.lock_ms + side.longest_frame.as_millis() + setup.frame_ms[1]
    });
    let overlong = overlong.count();
    let locks: u64 = sides().map(|side| side.locks).sum();
    let bound = played
        .iter()
        .map(|one| one.sides[1].clock_error.avg())
        .fold(0.0, f64::max);
    let refused: u64 = sides().map(|side| side.refused).sum();
    vec![
        Claim::new(
            "ML-42",
            "over real sockets both stations hit, and their counters are equal at the end, all pairs and protocols",
            hits > 0 && played.iter().all(|one| differ(one) == 0) && refused == 0,
            format!("{}; {refused} datagrams refused", texts.join("; ")),
        ),
        Claim::new(
            "ML-43",
            format!(
                "the clocks of the two stations, which start a second apart, agree within a reported bound that is on average below the one-way delay and its jitter ({} ms)",
                setup.latency_ms * (1.0 + setup.jitter)
            ),
            bound > 0.0 && bound < setup.latency_ms * (1.0 + setup.jitter),
            format!("bound on average at most {bound:.2} ms"),
        ),
        Claim::new(
            "ML-23",
            "over real sockets no lock lasts longer than T_lock and one frame; a frame is as long as the machine made the longest one",
            overlong == 0 && locks > 0,
            format!(
                "{locks} locks, {overlong} sides with an overlong one; the longest {:.0} ms",
                sides()
                    .map(|side| side.longest_lock.as_millis())
                    .fold(0.0, f64::max)
            ),
        ),
    ]
}
