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
fn dr_48_each_packet_is_reported_delivered_or_lost_once() {
    let [mut a, mut b] = pair();
    let packets: Vec<_> = (0..9).map(|i| send(&mut a, ms(i))).collect();
    for index in [0, 1, 4] {
        b.process(ms(50), &packets[index].1, false).unwrap();
    }
    let (_, answer) = send(&mut b, ms(60));
    a.process(ms(110), &answer, false).unwrap();
    let delivered = |ids: &[u64]| {
        ids.iter()
            .map(|id| Notice::Delivered(PacketId(*id)))
            .collect()
    };
    let expected: Vec<_> = delivered(&[1, 2, 5]);
    assert_eq!(notices(&mut a), expected, "3 and 4 may yet come");
    // 4 comes late, and again.
    assert_eq!(b.process(ms(70), &packets[3].1, false), Ok(PacketId(4)));
    let again = b.process(ms(71), &packets[3].1, false);
    assert_eq!(again, Err(Unprocessed::Stale(4)));
    b.process(ms(72), &packets[7].1, false).unwrap();
    let (_, answer) = send(&mut b, ms(80));
    a.process(ms(130), &answer, false).unwrap();
    let mut second = notices(&mut a);
    assert!(
        second.contains(&Notice::Lost(PacketId(3))),
        "overdue: {second:?}"
    );
    second.retain(|notice| *notice != Notice::Lost(PacketId(3)));
    let expected: Vec<_> = delivered(&[4, 8]);
    assert_eq!(second, expected, "6, 7 and 9 may yet come");
    // The same answer again says nothing new.
    assert_eq!(
        a.process(ms(131), &answer, false),
        Err(Unprocessed::Stale(2))
    );
    assert_eq!(notices(&mut a), []);
}

// A late packet is reported although the packets that said it was missing have arrived.
#[test]
fn what_comes_late_is_reported_after_all() {
    let [mut a, mut b] = pair();
    let packets: Vec<_> = (0..3).map(|i| send(&mut a, ms(i))).collect();
    b.process(ms(40), &packets[2].1, false).unwrap();
    let (_, missing) = send(&mut b, ms(40));
    a.process(ms(80), &missing, false).unwrap();
    let (_, packet) = send(&mut a, ms(81));
    b.process(ms(120), &packet, false).unwrap();
    b.process(ms(121), &packets[0].1, false).unwrap();
    let (_, answer) = send(&mut b, ms(122));
    a.process(ms(160), &answer, false).unwrap();
    let told = notices(&mut a);
    assert!(told.contains(&Notice::Delivered(PacketId(1))), "{told:?}");
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
    let told = notices(&mut a);
    let (last, lost) = told.split_last().expect("the probe arrived");
    let probe = PacketId(u64::from(MAX_ACK_WINDOW) + 1);
    assert_eq!(*last, Notice::Delivered(probe));
    assert!(lost.len() > 120, "all but the youngest: {}", lost.len());
    assert!(lost.iter().all(|notice| matches!(notice, Notice::Lost(_))));
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

// The last packet before a silence is lost: an empty one asks, and its answer tells.
#[test]
fn a_loss_before_a_silence_is_noticed() {
    let [mut a, mut b] = pair();
    let (_, packet) = send(&mut a, ms(0));
    b.process(ms(50), &packet, false).unwrap();
    let (_, answer) = send(&mut b, ms(50));
    a.process(ms(100), &answer, false).unwrap();
    let (lost, _) = send(&mut a, ms(110));
    notices(&mut a);
    let asks_at = (110..500).find(|now| a.must_speak(ms(*now)));
    assert_eq!(asks_at, Some(210), "a round trip of 100 ms after sending");
    let (_, draft) = a.begin(ms(210), None).unwrap();
    let question = a.finish(ms(210), draft);
    let Ok(Datagram::Packet { header, messages }) = Datagram::decode(&question, &Limits::ANY_TIME)
    else {
        panic!("a packet");
    };
    b.process(ms(260), &header, messages.is_empty()).unwrap();
    assert!(b.must_speak(ms(260)), "asked");
    let (_, answer) = send(&mut b, ms(260));
    a.process(ms(311), &answer, false).unwrap();
    assert!(notices(&mut a).contains(&Notice::Lost(lost)));
}
