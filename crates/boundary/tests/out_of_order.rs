//! AP-22: whatever the order in which words about an aura arrive, the later ownership and the later tick are right. A dead aura is never
//! revived and a live one never deleted, although words of different senders overtake each other (digest 2.12).

use boundary::remote_auras::RemoteAuras;
use domain::{BodyId, Epoch, RegionId, Tick};
use glam::DVec3;
use proptest::prelude::*;
use wire::{AuraDelete, AuraUpsert, ClusterKey, NewOwner};

const BODY: BodyId = BodyId(7);
const LISTENER: RegionId = RegionId(9);
/// How long an aura waits for a new owner's word.
const PATIENCE_TICKS: u64 = 8;

#[derive(Clone, Debug)]
enum Word {
    Upsert(RegionId, AuraUpsert),
    Delete(AuraDelete),
}

fn upsert(epoch: u32, tick: u64) -> AuraUpsert {
    AuraUpsert {
        body: BODY,
        epoch: Epoch(epoch),
        tick: Tick(tick),
        centre: DVec3::new(tick as f64, 0.0, 0.0),
        radius: 0.5,
        spine: glam::Vec3::ZERO,
        reach: 0.8,
        growth: 0.1,
        key: ClusterKey {
            class: 0,
            since: Tick(0),
            body: BODY,
        },
    }
}

/// The words of one body's life near borders: owner after owner, each tells the aura for some ticks and then hands the body on. The last one
/// goes on projecting if `alive`, or leaves inwards. Also gives what must be known at the end.
fn life(updates_per_owner: &[u64], alive: bool) -> (Vec<Word>, Option<(RegionId, Tick)>) {
    let mut words = Vec::new();
    let mut tick = 0;
    let mut known = None;
    for (epoch, updates) in updates_per_owner.iter().enumerate() {
        let owner = RegionId(epoch as u32 % 4);
        let is_last = epoch + 1 == updates_per_owner.len();
        for _ in 0..*updates {
            tick += 1;
            words.push(Word::Upsert(owner, upsert(epoch as u32, tick)));
            known = Some((owner, Tick(tick)));
        }
        if !is_last || !alive {
            tick += 1;
            words.push(Word::Delete(AuraDelete {
                body: BODY,
                epoch: Epoch(epoch as u32),
                tick: Tick(tick),
                moved_to: (!is_last).then_some(NewOwner {
                    region: RegionId((epoch as u32 + 1) % 4),
                    key: ClusterKey {
                        class: 0,
                        since: Tick(0),
                        body: BODY,
                    },
                }),
            }));
            known = None;
        }
    }
    (words, known)
}

fn hear(remote: &mut RemoteAuras, word: &Word) {
    match word {
        Word::Upsert(owner, upsert) => {
            remote.upsert(*owner, upsert);
        }
        Word::Delete(delete) => remote.delete(delete, LISTENER, PATIENCE_TICKS, false),
    }
}

fn known_at_the_end(words: &[Word]) -> Option<(RegionId, Tick)> {
    let mut remote = RemoteAuras::default();
    words.iter().for_each(|word| hear(&mut remote, word));
    // Long after: whoever is still only waited for is given up.
    remote.expire(Tick(100_000));
    remote.get(BODY).map(|aura| (aura.owner, aura.tick))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    /// AP-22, F12: any order, any repetition: the end is that of the right order.
    #[test]
    fn no_order_of_words_revives_or_kills_an_aura(
        updates in prop::collection::vec(1u64..5, 1..5),
        alive: bool,
        order in prop::collection::vec(any::<prop::sample::Index>(), 40..80),
        shuffle in any::<u64>(),
    ) {
        let (words, expected) = life(&updates, alive);
        prop_assert_eq!(known_at_the_end(&words), expected, "in the right order");
        // Every word at least once, in a random order, and some of them again in between.
        let mut heard: Vec<(u64, Word)> = words
            .iter()
            .cloned()
            .chain(order.iter().map(|index| index.get(&words).clone()))
            .enumerate()
            .map(|(i, word)| ((i as u64 + 1).wrapping_mul(shuffle | 1).rotate_left(29), word))
            .collect();
        heard.sort_by_key(|(place, _)| *place);
        let heard: Vec<Word> = heard.into_iter().map(|(_, word)| word).collect();
        prop_assert_eq!(known_at_the_end(&heard), expected, "{:?}", heard);
    }
}

/// AP-22, in the thesis's own words: an update that arrives after its delete does not create an aura that nobody will ever delete.
#[test]
fn a_late_update_does_not_revive_a_deleted_aura() {
    let (words, _) = life(&[3], false);
    let [first, second, third, end] = &words[..] else {
        panic!("three updates and the end");
    };
    let late = [first, second, end, third].map(Clone::clone);
    assert_eq!(known_at_the_end(&late), None);
}

/// Digest 2.12: the old owner's delete arrives after the new owner's aura and must not delete it.
#[test]
fn a_late_delete_does_not_kill_the_new_owners_aura() {
    let (words, expected) = life(&[2, 1], true);
    let [first, second, end, news] = &words[..] else {
        panic!("two updates, the end, one update of the new owner");
    };
    let late = [first, second, news, end].map(Clone::clone);
    assert_eq!(expected, Some((RegionId(1), Tick(4))));
    assert_eq!(known_at_the_end(&late), expected);
}

/// Digest 2.12: while the body is in flight its aura points to the new owner, so nobody is sent to the wrong server; if the new owner stays
/// silent, the aura goes.
#[test]
fn an_aura_in_flight_points_to_the_new_owner_for_a_while() {
    let (words, _) = life(&[2, 1], true);
    let mut remote = RemoteAuras::default();
    words[..3].iter().for_each(|word| hear(&mut remote, word));
    assert_eq!(remote.get(BODY).map(|aura| aura.owner), Some(RegionId(1)));
    remote.expire(Tick(3 + PATIENCE_TICKS));
    assert!(remote.get(BODY).is_some());
    remote.expire(Tick(4 + PATIENCE_TICKS));
    assert!(remote.get(BODY).is_none());
}
