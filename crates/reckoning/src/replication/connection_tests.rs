use super::*;
use crate::codec::{Datagram, Limits, Message};
use domain::BodyId;

fn ms(millis: u64) -> SimTime {
    SimTime(millis * 1_000_000)
}

fn pair() -> [Connection; 2] {
    let config = ConnectionConfig {
        min_spacing: SimTime::ZERO,
        ..ConnectionConfig::default()
    };
    [(); 2].map(|()| Connection::new(config, Token(7), SimTime::ZERO))
}

/// One packet with something in it.
fn send(from: &mut Connection, now: SimTime) -> (PacketId, PacketHeader) {
    let (id, mut packet) = from.begin(now, None).expect("the budget allows it");
    packet.push(&Message::Kill(BodyId(1))).unwrap();
    let bytes = from.finish(now, packet);
    match Datagram::decode(&bytes, &Limits::ANY_TIME) {
        Ok(Datagram::Packet { header, .. }) => (id, header),
        other => panic!("{other:?}"),
    }
}

fn notices(of: &mut Connection) -> Vec<Notice> {
    std::iter::from_fn(|| of.poll_event()).collect()
}

// DR-48: delivery notification.
#[test]
fn dr_48_each_packet_is_reported_delivered_or_lost_once_and_in_order() {
    let [mut a, mut b] = pair();
    let packets: Vec<_> = (0..6).map(|i| send(&mut a, ms(i))).collect();
    for index in [0, 1, 4] {
        b.process(ms(50), &packets[index].1, false).unwrap();
    }
    // 3 comes late: dropped, and reported as lost, which is what became of it.
    let late = b.process(ms(51), &packets[3].1, false);
    assert_eq!(late, Err(Unprocessed::Stale(4)));
    let (_, answer) = send(&mut b, ms(60));
    a.process(ms(110), &answer, false).unwrap();
    let expected = [
        Notice::Delivered(PacketId(1)),
        Notice::Delivered(PacketId(2)),
        Notice::Lost(PacketId(3)),
        Notice::Lost(PacketId(4)),
        Notice::Delivered(PacketId(5)),
    ];
    assert_eq!(notices(&mut a), expected);
    // The same answer again says nothing new.
    assert_eq!(
        a.process(ms(111), &answer, false),
        Err(Unprocessed::Stale(1))
    );
    assert_eq!(notices(&mut a), []);
}

#[test]
fn dr_48_the_round_trip_leaves_out_how_long_the_packet_was_held() {
    let [mut a, mut b] = pair();
    let (_, packet) = send(&mut a, ms(0));
    b.process(ms(40), &packet, false).unwrap();
    let (_, answer) = send(&mut b, ms(540));
    a.process(ms(600), &answer, false).unwrap();
    assert_eq!(a.round_trip().smoothed(), ms(100));
    assert_eq!(a.round_trip().one_way(), ms(50));
}

#[test]
fn acks_survive_lost_answers_and_do_not_grow() {
    let [mut a, mut b] = pair();
    let mut delivered = 0;
    for round in 0..400_u64 {
        let (_, packet) = send(&mut a, ms(round * 50));
        b.process(ms(round * 50 + 10), &packet, false).unwrap();
        let (_, answer) = send(&mut b, ms(round * 50 + 10));
        let depth = answer.acks.expect("something was heard").depth;
        assert!(
            depth <= 10,
            "{depth} bits although every fifth answer arrives"
        );
        if round % 5 == 0 {
            a.process(ms(round * 50 + 20), &answer, false).unwrap();
        }
        for notice in notices(&mut a) {
            assert!(matches!(notice, Notice::Delivered(_)), "{notice:?}");
            delivered += 1;
        }
    }
    assert!(delivered >= 395, "{delivered}");
}

#[test]
fn a_silent_peer_stops_the_sender_and_a_returning_one_frees_it() {
    let [mut a, mut b] = pair();
    let mut now = 0;
    for _ in 0..MAX_ACK_WINDOW {
        send(&mut a, ms(now));
        now += 100;
    }
    assert!(a.begin(ms(now), None).is_none(), "the window is full");
    assert!(a.is_timed_out(ms(now)));
    now += 200;
    let (_, probe) = send(&mut a, ms(now));
    b.process(ms(now), &probe, false).unwrap();
    let (_, answer) = send(&mut b, ms(now));
    a.process(ms(now + 1), &answer, false).unwrap();
    let lost = notices(&mut a);
    assert_eq!(lost.len(), MAX_ACK_WINDOW as usize + 1);
    assert!(
        lost[..lost.len() - 1]
            .iter()
            .all(|n| matches!(n, Notice::Lost(_)))
    );
    assert!(!a.is_timed_out(ms(now + 1)));
}

#[test]
fn forged_and_absurd_headers_change_nothing() {
    let [mut a, mut b] = pair();
    let (_, packet) = send(&mut a, ms(0));
    let before = format!("{b:?}");
    let forged = PacketHeader {
        token: Token(8),
        ..packet
    };
    assert_eq!(
        b.process(ms(1), &forged, false),
        Err(Unprocessed::WrongToken)
    );
    let acks = PacketAcks {
        newest: 5,
        depth: 0,
        mask: 0,
        held: SimTime::ZERO,
    };
    let absurd = PacketHeader {
        acks: Some(acks),
        ..packet
    };
    assert_eq!(
        b.process(ms(1), &absurd, false),
        Err(Unprocessed::AcksUnsent)
    );
    assert_eq!(format!("{b:?}"), before);
}

#[test]
fn numbers_go_on_beyond_sixteen_bits() {
    let [mut a, mut b] = pair();
    for number in 1..=70_000_u64 {
        let now = ms(number * 50);
        let (id, packet) = send(&mut a, now);
        assert_eq!(id, PacketId(number));
        b.process(now, &packet, false).unwrap();
        let (_, answer) = send(&mut b, now);
        a.process(now, &answer, false).unwrap();
        assert_eq!(notices(&mut a), [Notice::Delivered(id)]);
        notices(&mut b);
    }
}

#[test]
fn nobody_answers_an_answer_that_says_nothing() {
    let [mut a, mut b] = pair();
    let (_, packet) = send(&mut a, ms(0));
    b.process(ms(10), &packet, false).unwrap();
    assert!(b.must_speak(ms(10)), "an ack is owed");
    let (_, draft) = b.begin(ms(10), None).unwrap();
    let bytes = b.finish(ms(10), draft);
    assert!(!b.must_speak(ms(11)));
    let Ok(Datagram::Packet { header, messages }) = Datagram::decode(&bytes, &Limits::ANY_TIME)
    else {
        panic!("a packet");
    };
    a.process(ms(20), &header, messages.is_empty()).unwrap();
    assert!(!a.must_speak(ms(21)));
    assert!(a.must_speak(ms(500)), "a sign of life");
}
