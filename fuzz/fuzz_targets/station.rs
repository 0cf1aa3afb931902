//! Any authentic bytes are a datagram or an error, and a datagram can be encoded and means the same again. And a station that is in the middle of
//! a hit does not panic whatever the other end says, stays finite, and keeps no lock beyond its time.

#![no_main]

use domain::{BodyId, SimTime};
use glam::DVec3;
use libfuzzer_sys::fuzz_target;
use station::messages::{Datagram, VERSION, seal_bytes};
use station::{Ball, LinkKey, Protocol, Settings, State, Station, StationId};

const US: StationId = StationId(0);
const THEM: StationId = StationId(1);
const FRAME: SimTime = SimTime(20_000_000);

fuzz_target!(|body: &[u8]| {
    let mut body = body.to_vec();
    let protocol = match body.pop().unwrap_or_default() % 5 {
        0 => Protocol::PostCollision,
        1 => Protocol::PreCollision,
        2 => Protocol::MotionLockBuckets,
        3 => Protocol::SuperNode { authority: THEM },
        _ => Protocol::MotionLock,
    };
    if let Some(first) = body.first_mut() {
        *first = VERSION;
    }
    let bytes = seal_bytes(&body, &LinkKey::none(), THEM, US);
    let steps = Settings::improved().wire.steps_per_unit;
    if let Ok(datagram) = Datagram::open(&bytes, &LinkKey::none(), THEM, US, steps) {
        let (again, _) = datagram.seal(&LinkKey::none(), THEM, US, steps);
        assert_eq!(Datagram::open(&again, &LinkKey::none(), THEM, US, steps), Ok(datagram));
    }
    feed(protocol, &bytes);
});

fn feed(protocol: Protocol, bytes: &[u8]) {
    let mut settings = Settings::improved();
    settings.protocol = protocol;
    let mut station = Station::new(US, 1, settings);
    station.add_peer(THEM, LinkKey::none());
    let ball = Ball::new(10.0);
    let _ = station.add_master(BodyId(1), ball, State::moving(DVec3::ZERO, DVec3::X * 200.0));
    let _ = station.add_replica(BodyId(2), THEM, ball, State::at(DVec3::X * 50.0));
    let mut now = SimTime(1_000_000_000);
    for frame in 0..20 {
        if frame == 3 {
            let _ = station.handle_datagram(now, THEM, bytes);
        }
        station.handle_frame(now);
        for lock in station.locks() {
            assert!(now.since(lock.since) <= settings.lock.max + FRAME);
        }
        while station.poll_transmit().is_some() {}
        while station.poll_event().is_some() {}
        now += FRAME;
    }
    for body in [1, 2] {
        let view = station.view(BodyId(body)).expect("both are there");
        assert!(view.scene.is_finite() && view.net.is_finite());
    }
}
