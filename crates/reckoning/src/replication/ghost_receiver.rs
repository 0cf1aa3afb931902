//! Which news about the other side's objects is new: packets may arrive in any order, and an object may have left and come back meanwhile.
//!
//! Everything is judged by the number of the packet it came in. Each bit of state remembers the packet it is from; an object
//! remembers the first packet of its present life; one that was killed is remembered until no older packet can come any more.

use super::connection::PacketId;
use crate::codec::{GhostUpdate, Introduction, MAX_ACK_WINDOW, VectorAck};
use domain::BodyId;
use std::collections::BTreeMap;

/// Something the other side says that is not old news.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// State of an object.
    Update {
        /// What is new of it.
        update: GhostUpdate,
        /// The object is new, or another life of one that was known: forget what was known.
        afresh: bool,
    },
    /// An object is gone.
    Killed(BodyId),
    /// Vectors have arrived there.
    Report(VectorAck),
}

#[derive(Clone, Debug)]
struct Life {
    number: u16,
    /// The first packet we know to speak of it.
    born: PacketId,
    /// The newest one.
    newest: PacketId,
    /// Which packet each bit of application state is from.
    from: BTreeMap<u8, PacketId>,
}

/// The other side's objects, as far as their order in time is concerned.
#[derive(Clone, Debug)]
pub struct GhostReceiver {
    lives: BTreeMap<BodyId, Life>,
    killed: BTreeMap<BodyId, PacketId>,
    newest: PacketId,
    max_objects: usize,
}

impl GhostReceiver {
    /// For at most so many objects at a time; further ones are ignored.
    pub fn new(max_objects: usize) -> Self {
        Self {
            lives: BTreeMap::new(),
            killed: BTreeMap::new(),
            newest: PacketId(0),
            max_objects,
        }
    }

    /// An update came in this packet; what of it is news?
    pub fn update(&mut self, packet: PacketId, mut update: GhostUpdate) -> Option<News> {
        let entity = update.entity;
        if self
            .killed
            .get(&entity)
            .is_some_and(|killed| packet < *killed)
        {
            return None;
        }
        let full = self.lives.len() >= self.max_objects;
        let afresh = match (self.lives.get_mut(&entity), update.introduction) {
            (Some(life), None) if packet < life.born => return None,
            (Some(_), None) => false,
            (Some(life), Some(new)) if new.life == life.number => {
                life.born = life.born.min(packet);
                false
            }
            (Some(life), Some(_)) if packet < life.newest => return None,
            (None, None) => return None,
            (None, Some(_)) if full => return None,
            (_, Some(new)) => {
                self.lives.insert(entity, Life::new(new, packet));
                true
            }
        };
        let life = self.lives.get_mut(&entity)?;
        life.newest = life.newest.max(packet);
        update.state.retain(|(bit, _)| {
            let from = life.from.entry(*bit).or_insert(PacketId(0));
            let newer = packet > *from;
            *from = packet.max(*from);
            newer
        });
        Some(News::Update { update, afresh })
    }

    /// An object was killed in this packet; is that news?
    pub fn kill(&mut self, packet: PacketId, entity: BodyId) -> Option<News> {
        self.newest = self.newest.max(packet);
        let oldest = self.newest.0.saturating_sub(MAX_ACK_WINDOW.into());
        self.killed.retain(|_, killed| killed.0 >= oldest);
        let killed = self.killed.entry(entity).or_insert(packet);
        *killed = packet.max(*killed);
        if self.lives.get(&entity)?.born > packet {
            return None;
        }
        self.lives.remove(&entity);
        Some(News::Killed(entity))
    }
}

impl Life {
    fn new(introduction: Introduction, packet: PacketId) -> Self {
        Self {
            number: introduction.life,
            born: packet,
            newest: packet,
            from: BTreeMap::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(life: Option<u16>, value: u8) -> GhostUpdate {
        GhostUpdate {
            entity: BodyId(1),
            introduction: life.map(|life| Introduction { class: 0, life }),
            vector: None,
            timed: true,
            state: vec![(1, vec![value])],
        }
    }

    /// What is new of it: whether afresh, and the value.
    fn told(news: Option<News>) -> Option<(bool, Option<u8>)> {
        match news? {
            News::Update { update, afresh } => {
                Some((afresh, update.state.first().map(|(_, bytes)| bytes[0])))
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn old_state_after_new_is_no_news() {
        let mut receiver = GhostReceiver::new(9);
        let mut tell =
            |packet, life, value| told(receiver.update(PacketId(packet), update(life, value)));
        assert_eq!(tell(5, Some(1), 50), Some((true, Some(50))));
        assert_eq!(tell(7, None, 70), Some((false, Some(70))));
        assert_eq!(
            tell(6, None, 60),
            Some((false, None)),
            "state of 7 is newer"
        );
        assert_eq!(
            tell(4, Some(1), 40),
            Some((false, None)),
            "the same life, introduced earlier"
        );
        assert_eq!(tell(3, None, 30), None, "an earlier life, never heard of");
    }

    #[test]
    fn the_dead_do_not_return_and_the_reborn_are_not_killed_by_old_news() {
        let mut receiver = GhostReceiver::new(9);
        receiver.update(PacketId(1), update(Some(1), 1));
        assert!(receiver.kill(PacketId(3), BodyId(1)).is_some());
        assert!(receiver.update(PacketId(2), update(Some(1), 2)).is_none());
        let reborn = told(receiver.update(PacketId(6), update(Some(2), 6)));
        assert_eq!(reborn, Some((true, Some(6))));
        assert!(
            receiver.kill(PacketId(5), BodyId(1)).is_none(),
            "of the life before"
        );
        assert!(receiver.update(PacketId(4), update(Some(1), 4)).is_none());
        assert!(receiver.kill(PacketId(7), BodyId(1)).is_some());
    }

    #[test]
    fn another_life_without_a_kill_between_starts_afresh() {
        let mut receiver = GhostReceiver::new(9);
        receiver.update(PacketId(1), update(Some(1), 1));
        let reborn = told(receiver.update(PacketId(9), update(Some(2), 9)));
        assert_eq!(reborn, Some((true, Some(9))));
        assert!(receiver.update(PacketId(8), update(Some(1), 8)).is_none());
    }

    #[test]
    fn memory_is_bounded() {
        let mut receiver = GhostReceiver::new(2);
        for id in 0..1000 {
            let stranger = GhostUpdate {
                entity: BodyId(id),
                ..update(Some(1), 0)
            };
            receiver.update(PacketId(id), stranger);
            receiver.kill(PacketId(id), BodyId(5000 + id));
        }
        assert_eq!(receiver.lives.len(), 2);
        assert!(receiver.killed.len() <= MAX_ACK_WINDOW as usize + 1);
    }
}
