//! A world with a few objects, and nodes that move them.

use domain::{Bounds, SimTime};
use glam::{DVec3, Vec3};
use groups::room::Room;
use groups::*;

/// Nodes hear at 1, 2, 3, ..
pub fn at(i: u64) -> Address {
    Address(i)
}

/// Clients hear at 101, 102, ..
pub fn client_at(i: u64) -> Address {
    Address(100 + i)
}

pub fn world() -> Division {
    let bounds = Bounds {
        min: DVec3::ZERO,
        max: DVec3::new(80.0, 20.0, 40.0),
    };
    Division::new(bounds, Axes::Ground).expect("good")
}

/// The usual settings, with time scaled to tests.
pub fn config() -> GroupConfig {
    GroupConfig {
        pings: PingConfig {
            window: 8,
            shortest_secs: 0.5,
            longest_secs: 5.0,
            lost_secs: 0.5,
            ..PingConfig::default()
        },
        stabilisers: Stabilisers {
            min_stay_secs: 2.0,
            ..Stabilisers::default()
        },
        node_timeout_secs: 4.0,
        ..GroupConfig::default()
    }
}

pub fn ball(id: u64) -> ObjectInfo {
    ObjectInfo {
        key: ObjectKey::persistent(id),
        class: ObjectClass::Physical,
        kind: 1,
        extent_m: 0.5,
    }
}

pub fn avatar() -> ObjectInfo {
    ObjectInfo {
        key: ObjectKey::persistent(1),
        class: ObjectClass::Avatar,
        kind: 2,
        extent_m: 0.5,
    }
}

pub fn moving(key: ObjectKey, x: f64, z: f64, vx: f32) -> ObjectState {
    ObjectState {
        velocity: Vec3::new(vx, 0.0, 0.0),
        ..ObjectState::at_rest(key, DVec3::new(x, 1.0, z))
    }
}

/// A room with `objects` balls on a line from x = 5, 10 m apart, and everyone `ms` apart (one way).
pub fn room(
    config: GroupConfig,
    objects: u64,
    delay: impl Fn(Address, Address) -> f64 + Send + 'static,
) -> Room {
    let tick = SimTime::from_millis(10.0);
    let mut room = Room::new(config, world(), tick, move |a, b| {
        SimTime::from_millis(delay(a, b))
    });
    for id in 0..objects {
        let state = moving(ObjectKey::persistent(id), 5.0 + 10.0 * id as f64, 20.0, 0.0);
        assert!(room.coordinator.add_object(SimTime::ZERO, ball(id), state));
    }
    room
}

/// Straight on, and back at the walls.
pub fn step(member: &mut Member, now: SimTime) {
    if !member.may_step() {
        return;
    }
    let work: Vec<ObjectState> = member.simulated().map(|(state, _)| *state).collect();
    for mut state in work {
        let secs = now.since(state.stamp).as_secs().min(0.1);
        state.position += state.velocity.as_dvec3() * secs;
        state.stamp = now;
        let out = (state.position.x < 0.0 && state.velocity.x < 0.0)
            || (state.position.x > 80.0 && state.velocity.x > 0.0);
        if out {
            state.velocity.x = -state.velocity.x;
        }
        member.put(state, out);
    }
    member.finish_step(now);
}

/// The groups as lists of the addresses of their members.
pub fn groups_of(room: &Room) -> Vec<Vec<u64>> {
    let address = |node: &NodeId| {
        (1..100)
            .find(|a| room.coordinator.node_at(at(*a)) == Some(*node))
            .expect("it lives")
    };
    let sorted = |members: Vec<NodeId>| {
        let mut list: Vec<u64> = members.iter().map(address).collect();
        list.sort_unstable();
        list
    };
    let mut groups: Vec<Vec<u64>> = room.coordinator.groups().map(|(.., m)| sorted(m)).collect();
    groups.sort();
    groups
}

/// The node that holds an object, if exactly one does.
pub fn holder(room: &Room, id: u64) -> Option<NodeId> {
    let key = ObjectKey::persistent(id);
    let holders: Vec<NodeId> = room
        .members
        .values()
        .filter(|m| m.holds(key))
        .filter_map(Member::id)
        .collect();
    (holders.len() == 1).then(|| holders[0])
}

/// Every object has exactly one holder, and the holder's part has it.
pub fn all_held_once(room: &Room, objects: u64) -> bool {
    (0..objects).all(|id| {
        let key = ObjectKey::persistent(id);
        let Some(node) = holder(room, id) else {
            return false;
        };
        let member = room
            .members
            .values()
            .find(|m| m.id() == Some(node))
            .expect("it holds something");
        let state = member.state(room.now, key).expect("it holds it");
        member
            .sub_space()
            .is_some_and(|space| space.holds(state.position))
    })
}
