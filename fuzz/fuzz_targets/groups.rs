//! Any bytes are a message of the consistency groups, or an error; a message can be encoded and means the same again. And whatever
//! arrives, from whomever, neither coordinator nor node nor client panics.

#![no_main]

use domain::{Bounds, SimTime};
use glam::DVec3;
use groups::{Address, Axes, Client, Coordinator, Division, GroupConfig, MachineId, Member, decode, encode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    if let Ok(message) = decode(body) {
        let again = encode(&message);
        let same = decode(&again).expect("what was read can be written");
        assert_eq!(encode(&same), again);
    }
    let world = Bounds { min: DVec3::ZERO, max: DVec3::splat(10.0) };
    let division = Division::new(world, Axes::Space).expect("a good world");
    let config = GroupConfig::default();
    let mut coordinator = Coordinator::new(config, division, 1, Address(0), MachineId(0)).expect("good settings");
    let mut member = Member::new(config, MachineId(1), Address(0), MachineId(0), 1).expect("good settings");
    let mut client = Client::new(config, MachineId(2), Address(0), MachineId(0), Vec::new());
    // Several messages, each with its length and its sender in front, to everyone.
    let mut rest = body;
    let mut now = SimTime::ZERO;
    while let [length, from, after @ ..] = rest {
        let (message, after) = after.split_at(usize::from(*length).min(after.len()));
        rest = after;
        now += SimTime::from_millis(100.0);
        if let Ok(message) = decode(message) {
            let from = Address(u64::from(from % 4));
            coordinator.handle_message(now, from, message.clone());
            member.handle_message(now, from, message.clone());
            client.handle_message(now, from, message);
        }
        coordinator.handle_tick(now);
        member.handle_tick(now);
        member.finish_step(now);
        client.handle_tick(now);
        while coordinator.poll_transmit().is_some() || member.poll_transmit().is_some() || client.poll_transmit().is_some() {}
    }
});
