//! Two stations of the client library play against each other over UDP on this machine, each with its own avatar (issue 6, Deliver 5; ML-42).

use client::stations::duel::{self, Report, SIDES};
use client::stations::{BadAir, UdpStation};
use domain::SimTime;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use station::{Cause, StationId};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

fn bad_air(seed: u64, latency_ms: f64, loss: f64) -> BadAir {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    Box::new(move || {
        let [lost, jitter] = rng.random::<[f64; 2]>();
        let ms = latency_ms * (0.9 + 0.2 * jitter);
        (lost >= loss).then(|| SimTime::from_millis(ms))
    })
}

fn seat(side: StationId, secret: &[u8]) -> UdpStation {
    let station = duel::station(side, 1, secret, duel::settings(side)).expect("two bodies");
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    // Each side has a clock of its own, a while apart.
    let zero = Instant::now()
        .checked_sub(Duration::from_secs(3 * u64::from(side.0)))
        .unwrap_or_else(Instant::now);
    UdpStation::bind(any, station, zero).expect("a free port")
}

fn play(secrets: [&[u8]; 2], secs: f64) -> ([Report; 2], [u64; 2]) {
    let mut seats = [seat(SIDES[0], secrets[0]), seat(SIDES[1], secrets[1])];
    let addresses = [0, 1].map(|index| seats[index].local_addr().expect("bound"));
    seats[0].introduce(SIDES[1], addresses[1]);
    seats[1].introduce(SIDES[0], addresses[0]);
    for (seed, seat) in seats.iter_mut().enumerate() {
        seat.set_bad_air(bad_air(seed as u64, 40.0, 0.1));
    }
    // Somebody nobody introduced talks, too.
    let stranger = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    for _ in 0..5 {
        stranger.send_to(b"let me in", addresses[0]).expect("sent");
    }
    let duration = Duration::from_secs_f64(secs);
    let reports = thread::scope(|scope| {
        let playing = seats.each_mut().map(|seat| {
            scope.spawn(move || duel::play(seat, 7, duration, &mut |_, _| {}).expect("sockets"))
        });
        playing.map(|one| one.join().expect("no panic"))
    });
    (reports, seats.each_ref().map(UdpStation::strangers))
}

/// ML-42, ML-43: they hit each other, agree on every hit, and their clocks, which start 3 s apart, agree within a bound.
#[test]
fn two_players_agree_on_every_hit() {
    let ([first, second], strangers) = play([b"secret", b"secret"], 8.0);
    assert!(first.count >= 2, "{first:?}");
    assert_eq!(first.count, second.count, "{first:?}\n{second:?}");
    assert_eq!(strangers, [5, 0]);
    assert_eq!((first.refused, second.refused), (0, 0));
    let error = second.clock_error.expect("synchronised");
    assert!(error < SimTime::from_millis(100.0), "{error}");
    let (delay, _) = second.delay.expect("heard of");
    let about = 20.0..120.0;
    assert!(about.contains(&delay.as_millis()), "{delay}");
    // Both played them with the same velocities unless one learned too late to play at all.
    for (one, other) in first.hits.iter().zip(&second.hits) {
        assert_eq!(one.index, other.index);
        if one.author == other.author
            && [one.cause, other.cause]
                .iter()
                .all(|cause| *cause != Cause::CountOnly)
        {
            assert_eq!(one.velocities, other.velocities);
        }
    }
    assert!(first.commands.given > 100);
}

/// Whoever does not share the secret is not listened to.
#[test]
fn another_secret_is_refused() {
    let ([first, second], _) = play([b"secret", b"guess"], 1.5);
    assert!(first.refused > 0 && second.refused > 0);
    assert_eq!((first.count, second.count), (0, 0));
}
