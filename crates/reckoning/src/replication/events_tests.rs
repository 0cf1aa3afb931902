use super::*;
use crate::codec::{Datagram, Limits, PacketHeader, Token};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Sends one packet; returns the events in it.
fn packet(from: &mut EventChannel, number: u64, max_bytes: usize) -> Vec<Event> {
    let header = PacketHeader {
        token: Token(1),
        number: number as u16,
        answer: false,
        acks: None,
        time: None,
    };
    let mut writer = PacketWriter::new(&header, max_bytes);
    from.fill(PacketId(number), &mut writer);
    let Ok(Datagram::Packet { messages, .. }) =
        Datagram::decode(&writer.finish(), &Limits::ANY_TIME)
    else {
        panic!("a packet");
    };
    let event = |message| match message {
        Message::Event(event) => event,
        other => panic!("{other:?}"),
    };
    messages.into_iter().map(event).collect()
}

fn methods(of: &mut EventChannel) -> Vec<u16> {
    std::iter::from_fn(|| of.poll_event())
        .map(|event| event.method)
        .collect()
}

// DR-48: three guarantee classes, over a path that loses, repeats and (for packets held back) reorders.
#[test]
fn dr_48_each_class_keeps_its_promise_on_a_bad_path() {
    let mut rng = Pcg64Mcg::seed_from_u64(48);
    let (mut a, mut b) = (EventChannel::new(), EventChannel::new());
    let classes = [
        Guarantee::Ordered,
        Guarantee::Guaranteed,
        Guarantee::Unguaranteed,
    ];
    let mut got: [Vec<u16>; 3] = Default::default();
    let (mut number, mut fates) = (0, Vec::new());
    for round in 0..3000 {
        if round < 1000 {
            for guarantee in classes {
                a.send(guarantee, round, vec![0; 10]).unwrap();
            }
        }
        number += 1;
        let events = packet(&mut a, number, 150);
        let delivered = rng.random_bool(0.6);
        if delivered {
            // Twice, as after an uncertain loss.
            for event in events.iter().chain(&events) {
                if event.guarantee != Guarantee::Unguaranteed {
                    b.receive(event.clone()).unwrap();
                }
            }
            for event in events {
                b.receive(event).unwrap();
            }
        }
        // The sender learns of it four packets later.
        fates.push(delivered);
        if let Some(known) = fates.len().checked_sub(4) {
            a.settle(PacketId(known as u64), known > 0 && fates[known - 1]);
        }
        while let Some(event) = b.poll_event() {
            let class = classes.iter().position(|c| *c == event.guarantee);
            got[class.expect("one of three")].push(event.method);
        }
    }
    let all: Vec<u16> = (0..1000).collect();
    assert_eq!(got[0], all, "ordered: all, once, in order");
    assert_ne!(got[1], all, "guaranteed ones overtake each other");
    got[1].sort_unstable();
    assert_eq!(got[1], all, "guaranteed: all, once");
    let before = got[2].len();
    got[2].sort_unstable();
    got[2].dedup();
    assert_eq!(got[2].len(), before, "unguaranteed: at most once");
    assert!((200..1000).contains(&before), "{before} of 1000 arrived");
}

#[test]
fn an_early_ordered_event_waits_for_the_ones_before_it() {
    let (mut a, mut b) = (EventChannel::new(), EventChannel::new());
    for method in 0..3 {
        a.send(Guarantee::Ordered, method, vec![method as u8; 80])
            .unwrap();
    }
    let packets: Vec<_> = (1..=3).map(|number| packet(&mut a, number, 100)).collect();
    for event in packets[1].iter().chain(&packets[2]) {
        b.receive(event.clone()).unwrap();
    }
    assert_eq!(methods(&mut b), []);
    b.receive(packets[0][0].clone()).unwrap();
    assert_eq!(methods(&mut b), [0, 1, 2]);
}

#[test]
fn a_sender_without_answers_stops_at_the_window() {
    let mut a = EventChannel::new();
    for method in 0..1000 {
        a.send(Guarantee::Guaranteed, method, Vec::new()).unwrap();
    }
    let sent: usize = (1..100)
        .map(|number| packet(&mut a, number, 200).len())
        .sum();
    assert_eq!(sent, WINDOW as usize);
    assert!(!a.wants_to_send());
    a.settle(PacketId(1), true);
    assert!(a.wants_to_send());
}

#[test]
fn absurd_numbers_and_sizes_are_refused_and_change_nothing() {
    let mut b = EventChannel::new();
    let absurd = Event {
        guarantee: Guarantee::Ordered,
        number: u32::MAX,
        method: 0,
        arguments: Vec::new(),
    };
    let before = format!("{b:?}");
    assert!(b.receive(absurd).is_err());
    assert_eq!(format!("{b:?}"), before);
    let huge = vec![0; MAX_EVENT_BYTES + 1];
    let refused = b.send(Guarantee::Unguaranteed, 0, huge);
    assert_eq!(refused, Err(EventError::TooLarge(MAX_EVENT_BYTES + 1)));
}

#[test]
fn a_backlog_is_reported_and_old_sparks_are_forgotten() {
    let mut a = EventChannel::new();
    for _ in 0..MAX_BACKLOG {
        a.send(Guarantee::Ordered, 0, Vec::new()).unwrap();
    }
    assert_eq!(
        a.send(Guarantee::Ordered, 0, Vec::new()),
        Err(EventError::Backlog)
    );
    for method in 0..300 {
        a.send(Guarantee::Unguaranteed, method, Vec::new()).unwrap();
    }
    assert_eq!(a.unguaranteed.front().map(|event| event.method), Some(44));
}
