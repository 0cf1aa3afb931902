//! A server, an owner and three more clients on a network that loses, repeats and reorders: everything converges, nothing is
//! corrupted (DR-46, DR-47, DR-48).

use crate::replication_common::{CALM, STORM, Town};
use domain::{BodyId, SimTime};
use glam::DVec3;
use reckoning::codec::{BitReader, BitWriter, Guarantee, Malformed};
use reckoning::motion::{Thresholds, TrueState};
use reckoning::replication::{
    ClientConfig, ClientEvent, ClientId, DrObject, Rpc, ServerConfig, ServerEvent, Within,
    read_call,
};

const TANK: BodyId = BodyId(7);

fn thresholds() -> Thresholds {
    Thresholds {
        distance_m: 0.05,
        ..Thresholds::default()
    }
}

/// A circle of 20 m at 10 m/s, with a change of direction every 2 s; it stops at `stop`.
fn truth(now: SimTime, stop: f64) -> TrueState {
    let t = now.as_secs() - 1000.0;
    let moving = t < stop;
    let t = t.min(stop);
    let leg = (t / 2.0).floor();
    let angle = if leg % 2.0 == 0.0 {
        (t % 2.0) * 0.5
    } else {
        1.0 - (t % 2.0) * 0.5
    };
    let rate = match (moving, leg % 2.0 == 0.0) {
        (false, _) => 0.0,
        (true, true) => 0.5,
        (true, false) => -0.5,
    };
    TrueState {
        position: DVec3::new(20.0 * angle.cos(), 0.0, 20.0 * angle.sin()),
        velocity: DVec3::new(-20.0 * angle.sin(), 0.0, 20.0 * angle.cos()) * rate,
        status: leg as u16,
        resting: !moving,
        ..TrueState::default()
    }
}

fn town(weather: crate::replication_common::Weather) -> Town {
    let mut town = Town::new(
        ServerConfig::default(),
        &ClientConfig::default(),
        4,
        weather,
    );
    let now = town.local(0);
    let tank = DrObject::owned(TANK, thresholds()).with_class(3);
    town.clients[0].own(now, tank).unwrap();
    town
}

// DR-46, DR-47: owner → server → in-scope clients, all automatic.
#[test]
fn dr_47_the_owners_tank_is_seen_by_the_server_and_all_other_clients() {
    let mut town = town(CALM);
    let mut worst: f64 = 0.0;
    town.run(8.0, |town| {
        let state = truth(town.now, 8.0);
        town.observe(0, TANK, &state);
        if town.now < SimTime::from_secs(1001.0) {
            return;
        }
        for client in 1..4 {
            let error = town.error(client, TANK, &state).expect("in view after 1 s");
            worst = worst.max(error);
        }
    });
    // Until a turn is heard of (30 + 30 ms, two spacings of 17 ms, steps of 5 ms) both keep going apart at up to 20 m/s.
    assert!(worst < 20.0 * 0.125, "worst error {worst} m");
    assert!(town.refused.is_empty(), "{:?}", town.refused);
    assert!(town.clients[0].ghosts().next().is_none(), "not its own");
    let appeared = ClientEvent::Appeared {
        entity: TANK,
        class: 3,
    };
    assert!(town.client_events[1].contains(&appeared));
}

// DR-48: loss, duplication and reordering never corrupt, and at rest all agree to the grid of the wire.
#[test]
fn dr_48_in_a_storm_everything_converges() {
    let mut town = town(STORM);
    let mut errors = Vec::new();
    town.run(12.0, |town| {
        let state = truth(town.now, 10.0);
        town.observe(0, TANK, &state);
        if town.now > SimTime::from_secs(1003.0) {
            errors.extend((1..4).filter_map(|client| town.error(client, TANK, &state)));
        }
    });
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    assert!(mean < 1.0, "mean error {mean} m at 10 m/s");
    let state = truth(town.now, 10.0);
    for client in 1..4 {
        let error = town.error(client, TANK, &state).expect("in view");
        // The tank sleeps where it stopped; only the rounding of the wire is left.
        assert!(error < 0.001, "client {client}: {error} m");
    }
    assert!(town.refused.is_empty(), "{:?}", town.refused);
    let rejected = town.client_events.iter().flatten();
    assert!(
        !rejected
            .into_iter()
            .any(|e| matches!(e, ClientEvent::Rejected(_)))
    );
}

// DR-47: 31 bits of application state, most recent only.
#[test]
fn dr_47_application_state_follows_in_a_storm() {
    let mut town = town(STORM);
    let mut value = 0_u8;
    town.run(6.0, |town| {
        let state = truth(town.now, 20.0);
        town.observe(0, TANK, &state);
        if town.now < SimTime::from_secs(1004.0) {
            value = value.wrapping_add(1);
            let now = town.local(0);
            for bit in [1, 17, 31] {
                let bytes = vec![value ^ bit; 40];
                town.clients[0].set_state(now, TANK, bit, bytes).unwrap();
            }
        }
    });
    for client in 1..4 {
        let ghost = town.clients[client].object(TANK).expect("in view");
        for bit in [1, 17, 31] {
            assert_eq!(
                ghost.state(bit),
                Some(&vec![value ^ bit; 40][..]),
                "bit {bit}"
            );
        }
    }
}

/// "Line n of a conversation."
struct Say(u64);

impl Rpc for Say {
    const METHOD: u16 = 1;
    const GUARANTEE: Guarantee = Guarantee::Ordered;
    fn write(&self, out: &mut BitWriter) {
        out.elastic(self.0);
    }
    fn read(reader: &mut BitReader<'_>) -> Result<Self, Malformed> {
        Ok(Self(reader.elastic("line")?))
    }
}

// DR-48: RPC in both directions.
#[test]
fn dr_48_calls_arrive_once_and_in_order_in_a_storm() {
    let mut town = town(STORM);
    town.idle(3.0);
    let mut line = 0;
    town.run(2.0, |town| {
        town.clients[1]
            .call(&Say(line))
            .expect("connected")
            .unwrap();
        let second = town.server.clients().nth(1).expect("connected");
        town.server
            .call(second, &Say(line))
            .expect("known")
            .unwrap();
        line += 1;
    });
    town.idle(5.0);
    let lines: Vec<u64> = (0..line).collect();
    let mut up: Vec<(ClientId, u64)> = Vec::new();
    for event in &town.server_events {
        if let ServerEvent::Called { client, event } = event {
            up.push((*client, read_call::<Say>(event).expect("reads").0));
        }
    }
    assert!(up.windows(2).all(|two| two[0].0 == two[1].0), "one caller");
    assert_eq!(
        up.into_iter().map(|(_, line)| line).collect::<Vec<_>>(),
        lines
    );
    let down = town
        .client_events
        .iter()
        .flatten()
        .filter_map(|event| match event {
            ClientEvent::Called(event) => Some(read_call::<Say>(event).expect("reads").0),
            _ => None,
        });
    assert_eq!(down.collect::<Vec<_>>(), lines);
}

// DR-47: only who is in scope is told.
#[test]
fn dr_47_what_is_out_of_scope_vanishes_and_comes_back() {
    let config = ServerConfig {
        scope: Box::new(Within { metres: 50.0 }),
        ..ServerConfig::default()
    };
    let mut town = Town::new(config, &ClientConfig::default(), 2, STORM);
    for (client, id) in [(0, BodyId(1)), (1, BodyId(2))] {
        let now = town.local(client);
        town.clients[client]
            .own(now, DrObject::owned(id, thresholds()))
            .unwrap();
    }
    let at = |x: f64| TrueState {
        position: DVec3::new(x, 0.0, 0.0),
        resting: true,
        ..TrueState::default()
    };
    let see = |town: &Town| [0, 1].map(|i| town.clients[i].ghosts().count());
    for (x, seen) in [
        (10.0, 1),
        (200.0, 0),
        (30.0, 1),
        (52.0, 1),
        (300.0, 0),
        (1.0, 1),
    ] {
        town.run(3.0, |town| {
            town.observe(0, BodyId(1), &at(0.0));
            town.observe(1, BodyId(2), &at(x));
        });
        assert_eq!(see(&town), [seen, seen], "at {x} m");
    }
    assert!(town.error(0, BodyId(2), &at(1.0)).expect("in view") < 0.001);
}

// A client that leaves takes its objects along; one that falls silent, too.
#[test]
fn who_leaves_or_falls_silent_is_gone_for_all() {
    let mut town = town(CALM);
    let drive = |town: &mut Town| town.observe(0, TANK, &truth(town.now, 99.0));
    town.run(2.0, drive);
    assert!(town.clients[1].object(TANK).is_some());
    town.clients[0].disconnect();
    town.idle(1.0);
    assert!(town.server_events.contains(&ServerEvent::Left(ClientId(1))));
    assert!(town.clients[1].object(TANK).is_none());
    let left = |town: &Town| {
        let events = town.server_events.iter();
        events.filter(|e| matches!(e, ServerEvent::Left(_))).count()
    };
    assert_eq!(left(&town), 1);
    town.weather.loss = 1.0;
    town.idle(11.0);
    assert_eq!(left(&town), 4, "silence");
    assert!(town.client_events[2].contains(&ClientEvent::Disconnected));
}

// The same id under a new life: numbers start again and must not look stale.
#[test]
fn an_object_made_again_under_its_old_id_is_believed() {
    let mut town = town(STORM);
    town.run(4.0, |town| town.observe(0, TANK, &truth(town.now, 99.0)));
    town.clients[0].remove(TANK).unwrap();
    let now = town.local(0);
    let again = DrObject::owned(TANK, thresholds()).with_class(4);
    town.clients[0].own(now, again).unwrap();
    let there = TrueState {
        position: DVec3::new(-100.0, 0.0, 0.0),
        ..TrueState::default()
    };
    town.run(2.0, |town| town.observe(0, TANK, &there));
    for client in 1..4 {
        assert!(town.error(client, TANK, &there).expect("in view") < 0.001);
        assert_eq!(
            town.clients[client].object(TANK).map(DrObject::class),
            Some(4)
        );
    }
}

// Nobody moves another's object.
#[test]
fn a_thief_is_refused() {
    let mut town = town(CALM);
    town.run(2.0, |town| town.observe(0, TANK, &truth(town.now, 99.0)));
    // Client 1 sees the tank, so its own library refuses; client 4, just come, does not know yet.
    let now = town.local(1);
    assert!(
        town.clients[1]
            .own(now, DrObject::owned(TANK, thresholds()))
            .is_err()
    );
    let mut town = self::town(CALM);
    for client in [0, 1] {
        let now = town.local(client);
        let _ = town.clients[client].own(now, DrObject::owned(TANK, thresholds()));
    }
    let fake = TrueState {
        position: DVec3::new(1e4, 0.0, 0.0),
        ..TrueState::default()
    };
    town.run(2.0, |town| {
        let state = truth(town.now, 99.0);
        town.observe(0, TANK, &state);
        town.observe(1, TANK, &fake);
    });
    let owner_first = town.server.place(town.now, TANK).expect("known").position.x < 100.0;
    let refused = town.server_events.iter();
    let refused = refused
        .filter(|e| matches!(e, ServerEvent::Refused { .. }))
        .count();
    assert!(refused > 0);
    let x = town.clients[2]
        .place(town.local(2), TANK)
        .expect("in view")
        .position
        .x;
    assert_eq!(
        x < 100.0,
        owner_first,
        "whoever was first is believed by all"
    );
}
