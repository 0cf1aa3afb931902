use super::*;
use crate::codec::{Datagram, Limits, PacketHeader, Token};
use crate::replication::ghost_receiver::{GhostReceiver, News};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A server's objects, each with a counter behind bits 1 and 2.
type Objects = BTreeMap<BodyId, [u8; 2]>;

const BOTH: StateBits = StateBits(0b110);

fn state_of(objects: &Objects, entity: BodyId, bits: StateBits) -> Option<GhostUpdate> {
    let values = objects.get(&entity)?;
    let state = bits.application_bits();
    Some(GhostUpdate {
        entity,
        introduction: None,
        vector: None,
        timed: true,
        state: state
            .map(|bit| (bit, vec![values[usize::from(bit) - 1]; 20]))
            .collect(),
    })
}

fn packet(ghosts: &mut GhostSender, objects: &Objects, number: u64, size: usize) -> Vec<Message> {
    let header = PacketHeader {
        token: Token(1),
        number: number as u16,
        answer: false,
        acks: None,
        time: None,
    };
    let mut writer = PacketWriter::new(&header, size);
    let now = SimTime::from_millis(number as f64 * 10.0);
    let mut state = |entity, bits| state_of(objects, entity, bits);
    ghosts.fill(now, PacketId(number), &mut writer, &mut state);
    match Datagram::decode(&writer.finish(), &Limits::ANY_TIME) {
        Ok(Datagram::Packet { messages, .. }) => messages,
        other => panic!("{other:?}"),
    }
}

fn updates(messages: &[Message]) -> Vec<(u64, u32, bool)> {
    let update = |message: &Message| match message {
        Message::Ghost(update) => {
            let new = update.introduction.is_some();
            (update.entity.0, update.bits().0, new)
        }
        Message::Kill(entity) => (entity.0, 0, false),
        other => panic!("{other:?}"),
    };
    messages.iter().map(update).collect()
}

/// One known object, with values.
fn known() -> (GhostSender, Objects) {
    let mut ghosts = GhostSender::new();
    let objects = Objects::from([(BodyId(1), [0, 0])]);
    ghosts.enter(SimTime::ZERO, BodyId(1), 0, BOTH, 1.0);
    packet(&mut ghosts, &objects, 1, 1200);
    ghosts.settle(PacketId(1), true);
    (ghosts, objects)
}

#[test]
fn dr_48_an_object_is_introduced_until_it_is_known_to_have_arrived() {
    let mut ghosts = GhostSender::new();
    let objects = Objects::from([(BodyId(1), [0, 0])]);
    ghosts.enter(SimTime::ZERO, BodyId(1), 7, BOTH, 1.0);
    assert_eq!(
        updates(&packet(&mut ghosts, &objects, 1, 1200)),
        [(1, 0b110, true)]
    );
    assert!(!ghosts.wants_to_send());
    ghosts.mark(SimTime::ZERO, BodyId(1), StateBits(0b10));
    assert_eq!(
        updates(&packet(&mut ghosts, &objects, 2, 1200)),
        [(1, 0b10, true)]
    );
    ghosts.settle(PacketId(1), false);
    assert_eq!(
        ghosts.dirty(BodyId(1)),
        StateBits(0b100),
        "the rest was sent again"
    );
    ghosts.settle(PacketId(2), true);
    assert_eq!(
        updates(&packet(&mut ghosts, &objects, 3, 1200)),
        [(1, 0b100, false)]
    );
}

// DR-48, C6: most-recent state.
#[test]
fn c6_a_lost_packet_marks_again_only_what_no_later_packet_carried() {
    let (mut ghosts, objects) = known();
    ghosts.mark(SimTime::ZERO, BodyId(1), BOTH);
    packet(&mut ghosts, &objects, 2, 1200);
    ghosts.mark(SimTime::ZERO, BodyId(1), StateBits(0b10));
    packet(&mut ghosts, &objects, 3, 1200);
    ghosts.settle(PacketId(2), false);
    assert_eq!(ghosts.dirty(BodyId(1)), StateBits(0b100));
    ghosts.settle(PacketId(3), false);
    assert_eq!(ghosts.dirty(BodyId(1)), BOTH);
}

#[test]
fn the_state_sent_is_that_of_the_moment_of_sending() {
    let (mut ghosts, mut objects) = known();
    ghosts.mark(SimTime::ZERO, BodyId(1), StateBits(0b10));
    packet(&mut ghosts, &objects, 2, 1200);
    objects.insert(BodyId(1), [9, 9]);
    ghosts.settle(PacketId(2), false);
    let messages = packet(&mut ghosts, &objects, 3, 1200);
    let Message::Ghost(update) = &messages[0] else {
        panic!("an update");
    };
    assert_eq!(update.state, [(1, vec![9; 20])]);
}

#[test]
fn the_more_important_and_the_longer_waiting_go_first() {
    let mut ghosts = GhostSender::new();
    let objects: Objects = (1..=20).map(|id| (BodyId(id), [0, 0])).collect();
    for id in 1..=20 {
        let importance = if id == 13 { 10.0 } else { 1.0 };
        ghosts.enter(SimTime::ZERO, BodyId(id), 0, BOTH, importance);
    }
    let first = updates(&packet(&mut ghosts, &objects, 1, 150));
    assert_eq!(first[0].0, 13);
    let mut seen: BTreeSet<_> = first.iter().map(|(id, ..)| *id).collect();
    // Number 13 changes all the time; the others get their turn all the same.
    for number in 2..30 {
        let now = SimTime::from_millis(number as f64 * 10.0);
        ghosts.mark(now, BodyId(13), BOTH);
        let sent = updates(&packet(&mut ghosts, &objects, number, 150));
        seen.extend(sent.iter().map(|(id, ..)| *id));
    }
    assert_eq!(seen.len(), 20);
}

#[test]
fn too_much_state_for_one_packet_goes_in_parts() {
    let mut ghosts = GhostSender::new();
    let objects = Objects::from([(BodyId(1), [3, 4])]);
    ghosts.enter(SimTime::ZERO, BodyId(1), 0, BOTH, 1.0);
    assert_eq!(
        updates(&packet(&mut ghosts, &objects, 1, 50)),
        [(1, 0b010, true)]
    );
    assert_eq!(
        updates(&packet(&mut ghosts, &objects, 2, 50)),
        [(1, 0b100, true)]
    );
    assert!(!ghosts.wants_to_send());
}

#[test]
fn what_leaves_is_killed_until_that_arrived_and_what_returns_is_new() {
    let (mut ghosts, objects) = known();
    ghosts.leave(BodyId(1));
    assert_eq!(
        updates(&packet(&mut ghosts, &objects, 2, 1200)),
        [(1, 0, false)]
    );
    ghosts.settle(PacketId(2), false);
    assert_eq!(
        updates(&packet(&mut ghosts, &objects, 3, 1200)),
        [(1, 0, false)]
    );
    // Back before the kill is confirmed: the confirmation must not remove it.
    ghosts.enter(SimTime::ZERO, BodyId(1), 0, BOTH, 1.0);
    ghosts.settle(PacketId(3), true);
    assert!(ghosts.has(BodyId(1)));
    let again = packet(&mut ghosts, &objects, 4, 1200);
    assert_eq!(updates(&again), [(1, 0b110, true)]);
    ghosts.settle(PacketId(4), true);
    ghosts.leave(BodyId(1));
    packet(&mut ghosts, &objects, 5, 1200);
    ghosts.settle(PacketId(5), true);
    assert_eq!(ghosts.ghosts.len(), 0, "nothing is kept of what is gone");
}

/// Whatever is lost or late and whatever changes: once all is quiet, the other side has exactly what is in scope, in its last
/// state.
#[test]
fn dr_48_everything_converges_to_the_most_recent_state() {
    for seed in 0..20 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let mut ghosts = GhostSender::new();
        let mut objects: Objects = (0..10).map(|id| (BodyId(id), [0, 0])).collect();
        let mut receiver = GhostReceiver::new(100);
        let mut there: BTreeMap<BodyId, [u8; 2]> = BTreeMap::new();
        let mut under_way = Vec::new();
        for number in 1..=700_u64 {
            let now = SimTime::from_millis(number as f64 * 10.0);
            let id = BodyId(rng.random_range(0..10));
            match rng.random_range(0..4) {
                _ if number > 500 => {}
                0 => ghosts.enter(now, id, 0, BOTH, 1.0),
                1 => ghosts.leave(id),
                _ => {
                    let bit = rng.random_range(0..2);
                    objects.get_mut(&id).expect("ten objects")[bit] += 1;
                    ghosts.mark(now, id, StateBits(2 << bit));
                }
            }
            // Some are lost, some arrive up to ten packets late, and some of those were given up before.
            let messages = packet(&mut ghosts, &objects, number, 120);
            under_way.push((number + rng.random_range(0..10), number, messages));
            let due = under_way.extract_if(.., |(arrival, ..)| *arrival <= number);
            for (_, id, messages) in due.collect::<Vec<_>>() {
                let id = PacketId(id);
                let lost = rng.random_bool(0.4);
                let given_up = rng.random_bool(0.2);
                for message in messages.into_iter().filter(|_| !lost) {
                    receive(&mut receiver, &mut there, id, message);
                }
                ghosts.settle(id, !lost && !given_up);
            }
        }
        let shown: Vec<_> = there.into_iter().collect();
        let expected: Vec<_> = ghosts.in_scope().map(|id| (id, objects[&id])).collect();
        assert_eq!(shown, expected, "seed {seed}");
    }
}

fn receive(
    receiver: &mut GhostReceiver,
    there: &mut BTreeMap<BodyId, [u8; 2]>,
    packet: PacketId,
    message: Message,
) {
    let news = match message {
        Message::Kill(entity) => receiver.kill(packet, entity),
        Message::Ghost(update) => receiver.update(packet, update),
        other => panic!("{other:?}"),
    };
    match news {
        Some(News::Killed(entity)) => {
            there.remove(&entity);
        }
        Some(News::Update { update, afresh }) => {
            if afresh {
                there.insert(update.entity, [255; 2]);
            }
            let known = there.get_mut(&update.entity).expect("was introduced");
            for (bit, bytes) in update.state {
                known[usize::from(bit) - 1] = bytes[0];
            }
        }
        Some(News::Report(_)) => panic!("nobody reports here"),
        None => {}
    }
}
