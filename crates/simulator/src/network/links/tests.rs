//! Verdicts: what arrives, when, and what does not.

use super::*;

const A: RegionId = RegionId(1);
const B: RegionId = RegionId(2);
const C: RegionId = RegionId(3);

fn ms(millis: f64) -> SimTime {
    SimTime::from_millis(millis)
}

/// Everything that arrives, with its time and its first two bytes as a number.
fn arrivals(network: &mut Network) -> Vec<(SimTime, RegionId, u16)> {
    let mut all = Vec::new();
    while let Some(now) = network.next_arrival() {
        let datagram = network.pop_arrival(now).expect("it is due");
        all.push((
            now,
            datagram.from,
            u16::from_le_bytes([datagram.bytes[0], datagram.bytes[1]]),
        ));
    }
    all
}

fn send(network: &mut Network, from: RegionId, to: RegionId, count: u16) {
    for n in 0..count {
        network.send(ms(n.into()), from, to, n.to_le_bytes().to_vec());
    }
}

#[test]
fn a_perfect_network_delivers_at_once_and_in_order() {
    let mut network = Network::new(1, NetworkConditions::perfect());
    for n in 0..9_u16 {
        network.send(ms(5.0), A, B, n.to_le_bytes().to_vec());
    }
    assert_eq!(network.pop_arrival(ms(4.9)), None, "nothing arrives early");
    let numbers: Vec<u16> = arrivals(&mut network)
        .into_iter()
        .map(|(_, _, n)| n)
        .collect();
    assert_eq!(numbers, (0..9).collect::<Vec<_>>());
}

#[test]
fn the_same_seed_gives_the_same_arrivals() {
    let run = |seed| {
        let mut network = Network::new(seed, NetworkConditions::lossy_mobile());
        send(&mut network, A, B, 500);
        arrivals(&mut network)
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn traffic_on_one_link_does_not_change_another() {
    let alone = {
        let mut network = Network::new(7, NetworkConditions::lossy_mobile());
        send(&mut network, A, B, 500);
        arrivals(&mut network)
    };
    let mut network = Network::new(7, NetworkConditions::lossy_mobile());
    send(&mut network, C, B, 300);
    send(&mut network, A, B, 500);
    send(&mut network, B, A, 300);
    let among_others: Vec<_> = arrivals(&mut network)
        .into_iter()
        .filter(|(_, from, _)| *from == A)
        .collect();
    assert_eq!(among_others, alone);
}

#[test]
fn more_loss_loses_a_superset() {
    let survivors = |loss| {
        let conditions = NetworkConditions {
            loss,
            ..NetworkConditions::perfect()
        };
        let mut network = Network::new(7, conditions);
        send(&mut network, A, B, 1000);
        let numbers = arrivals(&mut network).into_iter().map(|(_, _, n)| n);
        numbers.collect::<BTreeSet<u16>>()
    };
    assert!(survivors(0.3).is_subset(&survivors(0.1)));
    assert!(survivors(1.0).is_empty());
    assert_eq!(survivors(0.0).len(), 1000);
}

#[test]
fn shares_and_delays_are_what_was_asked_for() {
    let conditions = NetworkConditions {
        latency_ms: 10.0,
        jitter_ms: 4.0,
        loss: 0.2,
        duplicate: 0.1,
        reorder: 0.05,
        reorder_ms: 50.0,
        ..NetworkConditions::perfect()
    };
    let mut network = Network::new(3, conditions);
    send(&mut network, A, B, 20_000);
    let stats = network.link_stats(A, B);
    let share = |count: u64, of: u64| count as f64 / of as f64;
    assert_eq!((stats.sent, stats.bytes), (20_000, 40_000));
    assert!(
        (share(stats.lost, stats.sent) - 0.2).abs() < 0.01,
        "{stats:?}"
    );
    let arrived = stats.sent - stats.lost;
    assert!(
        (share(stats.duplicated, arrived) - 0.1).abs() < 0.01,
        "{stats:?}"
    );
    let all = arrivals(&mut network);
    assert_eq!(all.len() as u64, arrived + stats.duplicated);
    let delay = |&(at, _, n): &(SimTime, RegionId, u16)| at.as_millis() - f64::from(n);
    let held = all.iter().filter(|one| delay(one) > 15.0).count();
    assert!((share(held as u64, arrived) - 0.05).abs() < 0.01, "{held}");
    let (least, most) = all
        .iter()
        .map(delay)
        .fold((f64::MAX, 0.0_f64), |(l, m), d| (l.min(d), m.max(d)));
    assert!(
        (6.0..6.1).contains(&least) && (63.5..64.01).contains(&most),
        "{least} to {most}"
    );
}

#[test]
fn a_delay_is_never_negative() {
    let conditions = NetworkConditions::parse("latency_ms=1,jitter_ms=20").expect("fine");
    let mut network = Network::new(3, conditions);
    send(&mut network, A, B, 1000);
    assert!(
        arrivals(&mut network)
            .iter()
            .all(|(at, _, n)| *at >= ms((*n).into()))
    );
}

#[test]
fn cuts_heal_and_isolation_ends() {
    let mut network = Network::new(3, NetworkConditions::perfect());
    let passes = |network: &mut Network, from, to| {
        network.send(SimTime::ZERO, from, to, vec![0, 0]);
        network.pop_arrival(SimTime::ZERO).is_some()
    };
    network.cut(A, B);
    assert!(
        !passes(&mut network, A, B) && !passes(&mut network, B, A) && passes(&mut network, A, C)
    );
    network.heal(A, B);
    network.cut_one_way(A, B);
    assert!(!passes(&mut network, A, B) && passes(&mut network, B, A));
    network.heal(B, A);
    network.isolate(C);
    assert!(
        passes(&mut network, A, B) && !passes(&mut network, A, C) && !passes(&mut network, C, B)
    );
    network.rejoin(C);
    assert!(passes(&mut network, A, C));
    assert_eq!(network.stats().lost, 5);
}

#[test]
fn one_way_can_be_worse_than_the_other() {
    let mut network = Network::new(3, NetworkConditions::perfect());
    network.set_link(
        A,
        B,
        Some(NetworkConditions::parse("latency_ms=30").expect("fine")),
    );
    network.send(SimTime::ZERO, A, B, vec![0, 0]);
    network.send(SimTime::ZERO, B, A, vec![0, 0]);
    let times: Vec<_> = arrivals(&mut network)
        .into_iter()
        .map(|(at, from, _)| (at, from))
        .collect();
    assert_eq!(times, [(ms(0.0), B), (ms(30.0), A)]);
}

#[test]
fn bandwidth_makes_datagrams_wait_and_then_drop() {
    let conditions = NetworkConditions::parse("bandwidth_bytes_per_sec=1000").expect("fine");
    let mut network = Network::new(3, conditions);
    for n in 0..10_u16 {
        let mut bytes = n.to_le_bytes().to_vec();
        bytes.resize(100, 0);
        network.send(SimTime::ZERO, A, B, bytes);
    }
    let times: Vec<f64> = arrivals(&mut network)
        .iter()
        .map(|(at, ..)| at.as_millis())
        .collect();
    assert_eq!(
        times,
        [100.0, 200.0, 300.0, 400.0, 500.0, 600.0],
        "the queue holds half a second"
    );
    assert_eq!(network.stats().lost, 4);
}
