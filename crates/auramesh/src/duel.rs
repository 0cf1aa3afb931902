//! `auramesh duel`: two stations play against each other over UDP, each with its own avatar, and agree on every hit.

use crate::Status;
use crate::args::{DuelArgs, DuelProtocol, Side};
use crate::duel_recording::{self, Film};
use crate::output::{print, print_json};
use client::stations::duel::{self, Report, SIDES};
use client::stations::{BadAir, UdpStation};
use domain::SimTime;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};
use simulator::network::NetworkConditions;
use station::{Hit, Protocol, Settings, StationId};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Plays both sides in this process, or one of them against another machine.
pub fn run(args: &DuelArgs) -> Status {
    if let Some(reason) = unknown_network(args.net.as_ref()) {
        eprintln!("{reason}");
        return Status::BadInput;
    }
    let played = match (args.side, args.listen, args.peer) {
        (Some(side), Some(listen), Some(peer)) => one_side(args, side, listen, peer),
        _ => both_sides(args),
    };
    let (reports, films): (Vec<Report>, Vec<Film>) = match played {
        Ok(played) => played.into_iter().unzip(),
        Err(error) => {
            eprintln!("cannot play: {error}");
            return Status::BadInput;
        }
    };
    if let Some(path) = &args.record {
        let about = [
            ("scene", "duel".to_owned()),
            ("seed", args.seed.to_string()),
            ("protocol", format!("{:?}", args.protocol)),
            (
                "producer",
                format!("auramesh {}", env!("CARGO_PKG_VERSION")),
            ),
        ];
        let about = about.map(|(key, value)| (key.to_owned(), value)).to_vec();
        if let Err(reason) = duel_recording::write(path, &films, &reports, about) {
            eprintln!("{reason}");
            return Status::BadInput;
        }
    }
    tell(args, &reports)
}

/// What a datagram can meet with here.
fn unknown_network(net: Option<&NetworkConditions>) -> Option<&'static str> {
    let net = net?;
    let other = net.duplicate > 0.0 || net.bandwidth_bytes_per_sec.is_some();
    other
        .then_some("--net of a duel knows latency_ms, jitter_ms, loss, reorder and reorder_ms only")
}

fn bad_air(net: NetworkConditions, seed: u64) -> BadAir {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    Box::new(move || {
        let [lost, jitter, held] = rng.random::<[f64; 3]>();
        let more = if held < net.reorder {
            net.reorder_ms
        } else {
            0.0
        };
        let ms = net.latency_ms + (2.0 * jitter - 1.0) * net.jitter_ms + more;
        (lost >= net.loss).then(|| SimTime::from_millis(ms))
    })
}

fn settings(args: &DuelArgs, side: StationId) -> Settings {
    let ours = duel::settings(side);
    let protocol = match args.protocol {
        DuelProtocol::Ours => return ours,
        DuelProtocol::Buckets => {
            return Settings {
                protocol: Protocol::MotionLockBuckets,
                ..ours
            };
        }
        DuelProtocol::MotionLock => Protocol::MotionLock,
        DuelProtocol::PostCollision => Protocol::PostCollision,
        DuelProtocol::Control => Protocol::Control,
    };
    // As published, at the size of the ring and with clocks that have to be asked for.
    let published = Settings::published(protocol);
    let mut settings = Settings {
        frame: ours.frame,
        guard: ours.guard,
        clock: ours.clock,
        wire: ours.wire,
        ..published
    };
    settings.reckoning.threshold = ours.reckoning.threshold;
    settings.agreement.rearm_gap = ours.agreement.rearm_gap;
    settings
}

fn seat(args: &DuelArgs, side: StationId, listen: SocketAddr) -> io::Result<UdpStation> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    // Seconds: a later life of this side has a higher number.
    let incarnation = since.map_or(1, |since| since.as_secs() as u32);
    let station = duel::station(
        side,
        incarnation,
        args.secret.as_bytes(),
        settings(args, side),
    );
    let station = station.map_err(io::Error::other)?;
    let mut seat = UdpStation::bind(listen, station, Instant::now())?;
    if let Some(net) = args.net {
        seat.set_bad_air(bad_air(net, args.seed ^ (u64::from(side.0) << 32)));
    }
    Ok(seat)
}

fn one_side(
    args: &DuelArgs,
    side: Side,
    listen: SocketAddr,
    peer: SocketAddr,
) -> io::Result<Vec<(Report, Film)>> {
    let side = SIDES[side as usize];
    let mut seat = seat(args, side, listen)?;
    seat.introduce(duel::opponent(side), peer);
    if !args.json {
        let here = seat.local_addr()?;
        print(&format!("{side} listens at {here} and waits for {peer}\n"));
    }
    duel::wait_for_opponent(&mut seat, Duration::from_secs_f64(args.wait))?;
    Ok(vec![play(args, &mut seat)?])
}

fn both_sides(args: &DuelArgs) -> io::Result<Vec<(Report, Film)>> {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let mut seats = [seat(args, SIDES[0], any)?, seat(args, SIDES[1], any)?];
    let addresses = [seats[0].local_addr()?, seats[1].local_addr()?];
    seats[0].introduce(SIDES[1], addresses[1]);
    seats[1].introduce(SIDES[0], addresses[0]);
    thread::scope(|scope| {
        let playing = seats
            .each_mut()
            .map(|seat| scope.spawn(move || play(args, seat)));
        let reports = playing.map(|one| {
            one.join()
                .unwrap_or_else(|_| Err(io::Error::other("a side has panicked")))
        });
        reports.into_iter().collect()
    })
}

fn play(args: &DuelArgs, seat: &mut UdpStation) -> io::Result<(Report, Film)> {
    let quiet = args.json;
    let duration = Duration::from_secs_f64(args.seconds);
    let mut film = Film::default();
    let report = duel::play(seat, args.seed, duration, &mut |station, events| {
        if args.record.is_some() {
            film.take(station);
        }
        for event in events {
            if let (station::Event::Hit(hit), false) = (event, quiet) {
                print(&format!("{}\n", line(station.id(), hit)));
            }
        }
    })?;
    Ok((report, film))
}

fn line(side: StationId, hit: &Hit) -> String {
    format!(
        "{side} {:8.3} s  hit {:3}  {:?}, gap {:+.2} m, decided by {}",
        hit.at.as_secs(),
        hit.index,
        hit.cause,
        hit.gap,
        hit.author
    )
}

fn tell(args: &DuelArgs, reports: &[Report]) -> Status {
    let agree = reports.windows(2).all(|two| two[0].count == two[1].count);
    if args.json {
        let sides: Vec<Value> = reports.iter().map(side_json).collect();
        print_json(&json!({
            "seed": args.seed,
            "seconds": args.seconds,
            "sides": sides,
            "agree": agree,
            "interval_ms": intervals(reports),
        }));
    } else {
        for report in reports {
            let lost =
                100.0 * report.commands.discarded as f64 / report.commands.given.max(1) as f64;
            print(&format!(
                "{}: {} hits, {:.1} % of {} commands lost to locks, longest lock {:.0} ms, delay {}, clock known to {}\n",
                report.side,
                report.count,
                lost,
                report.commands.given,
                report.longest_lock.as_millis(),
                report.delay.map_or("unknown".into(), |(mean, _)| format!(
                    "{:.0} ms",
                    mean.as_millis()
                )),
                report.clock_error.map_or("nothing".into(), |error| format!(
                    "{:.1} ms",
                    error.as_millis()
                )),
            ));
        }
        if reports.len() == 2 {
            let apart = intervals(reports);
            let mean = apart.iter().sum::<f64>() / apart.len().max(1) as f64;
            print(&format!(
                "{}; registered {mean:.1} ms apart on average\n",
                if agree {
                    "both agree"
                } else {
                    "THEY DO NOT AGREE"
                }
            ));
        }
    }
    // Control promises nothing.
    if agree || args.protocol == DuelProtocol::Control {
        Status::Fine
    } else {
        Status::Failed
    }
}

fn intervals(reports: &[Report]) -> Vec<f64> {
    let [one, other] = reports else {
        return Vec::new();
    };
    let same = |hit: &Hit| other.hits.iter().find(|there| there.index == hit.index);
    let pairs = one.hits.iter().filter_map(|hit| Some((hit, same(hit)?)));
    pairs
        .map(|(hit, there)| (hit.at.as_millis() - there.at.as_millis()).abs())
        .collect()
}

fn side_json(report: &Report) -> Value {
    json!({
        "side": report.side.0,
        "hits": report.count,
        "commands": report.commands.given,
        "commands_discarded": report.commands.discarded,
        "longest_lock_ms": report.longest_lock.as_millis(),
        "delay_ms": report.delay.map(|(mean, _)| mean.as_millis()),
        "clock_error_ms": report.clock_error.map(SimTime::as_millis),
        "datagrams_refused": report.refused,
        "bytes_sent": report.bytes,
    })
}
