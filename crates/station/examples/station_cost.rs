//! What a frame costs: `cargo run --release -p auramesh-station --example station_cost`. CPU time of this thread; the machine may be busy.

use cpu_time::ThreadTime;
use domain::{BodyId, SimTime};
use glam::DVec3;
use station::{Arena, Ball, LinkKey, Settings, State, Station, StationId};

const FRAMES: u64 = 300;

fn main() {
    println!("masters × replicas   pairs   µs per frame and station   bytes per frame");
    for each in [1_u64, 4, 16, 64] {
        let (micros, bytes) = run(each);
        println!(
            "{each:>7} × {each:<8} {:>8} {micros:>18.1} {bytes:>23.1}",
            each * each
        );
    }
}

/// Two stations with `each` masters, all in one box, for six seconds.
fn run(each: u64) -> (f64, f64) {
    let ids = [StationId(0), StationId(1)];
    let mut stations = ids.map(|id| Station::new(id, 1, Settings::improved()));
    for (index, station) in stations.iter_mut().enumerate() {
        station.add_peer(ids[1 - index], LinkKey::none());
        let half = DVec3::splat(20.0 * (each as f64).cbrt());
        station.set_arena(Some(Arena {
            min: -half,
            max: half,
            restitution: 1.0,
        }));
        for body in 0..2 * each {
            let ball = Ball::new(1.0);
            let owner = (body % 2) as usize;
            let state = start(body, half.x);
            let added = match owner == index {
                true => station.add_master(BodyId(body), ball, state),
                false => station.add_replica(BodyId(body), ids[owner], ball, state),
            };
            added.expect("ids are new and numbers finite");
        }
    }
    let began = ThreadTime::now();
    for frame in 0..FRAMES {
        let now = SimTime(frame * 20_000_000);
        for index in 0..2 {
            stations[index].handle_frame(now);
            while let Some(transmit) = stations[index].poll_transmit() {
                let _ = stations[1 - index].handle_datagram(now, ids[index], &transmit.bytes);
            }
            while stations[index].poll_event().is_some() {}
        }
    }
    let micros = began.elapsed().as_secs_f64() * 1e6 / (2 * FRAMES) as f64;
    let sent: u64 = stations[0]
        .traffic()
        .sent
        .iter()
        .map(|amount| amount.bytes)
        .sum();
    (micros, sent as f64 / FRAMES as f64)
}

/// Spread over the box without chance: multiples of three irrational numbers.
fn start(body: u64, half: f64) -> State {
    let spread = |factor: f64| (body as f64 * factor).fract() * 2.0 - 1.0;
    let place = DVec3::new(spread(0.618_034), spread(0.754_878), spread(0.569_840));
    let velocity = DVec3::new(spread(0.324_718), spread(0.414_214), spread(0.732_051));
    State::moving(place * (half - 2.0), velocity * 30.0)
}
