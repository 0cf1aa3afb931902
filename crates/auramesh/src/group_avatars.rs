//! The users' avatars in `auramesh demo --groups`: every group's leader has a station, and what may happen between users of two groups is
//! agreed on before it happens (motion-lock).
//!
//! ```text
//!   wish of user 0 ──► station of g1: avatar 0 is its master      Agreement, leader to coordinator to leader
//!                      avatar 1 is a replica               ◄──────────────────────────────────────────►  station of g2, the other way round
//!                          │ where both are                                                                   │
//!                      bodies in g1's world follow                                               bodies in g2's world follow
//! ```
//!
//! In its own group a user is where the station says; the body in the group's world follows, and if something there is in its way the station is
//! told where the world has it.

use crate::group_agents::{Board, GroupView, SeenAvatar};
use domain::SimTime;
use glam::DVec3;
use groups::{GroupId, ObjectKey};
use simulator::groups::{AvatarAgreement, Word, in_metres};
use station::{Command, Event, PairId, Settings, State};
use std::collections::BTreeMap;

/// The radius of an avatar as stations see it: a little more than its body's, so that a hit is agreed on before bodies in a world touch.
const RADIUS_M: f64 = 0.7;
/// How often stations look.
const FRAME: SimTime = SimTime(20_000_000);
/// So long after a hit a user goes where it was knocked to, and not where it wants.
const RECOIL: SimTime = SimTime(400_000_000);

/// The stations of all groups, and whose avatar is whose.
pub struct Avatars {
    agreement: AvatarAgreement,
    groups: Vec<GroupId>,
    /// By place: the key of its user's avatar, and the group it plays in.
    homes: BTreeMap<usize, (ObjectKey, GroupId)>,
    states: BTreeMap<usize, State>,
    recoil: BTreeMap<usize, SimTime>,
    incarnation: u32,
    next_frame: SimTime,
}

impl Avatars {
    /// Nobody yet.
    pub fn new() -> Self {
        Self {
            agreement: AvatarAgreement::new(&[], 0, &in_metres(Settings::improved())),
            groups: Vec::new(),
            homes: BTreeMap::new(),
            states: BTreeMap::new(),
            recoil: BTreeMap::new(),
            incarnation: 0,
            next_frame: SimTime::ZERO,
        }
    }

    /// Something that another leader has said.
    pub fn hear(&mut self, now: SimTime, word: &Word) {
        self.agreement.hear(now, word);
    }

    /// A frame, if one is due. What leaders have to say to each other goes to `tell`. `keys` are those of the users' avatars, by place.
    pub fn turn(
        &mut self,
        now: SimTime,
        board: &mut Board,
        keys: &[Option<ObjectKey>],
        mut tell: impl FnMut(Word),
    ) {
        if now < self.next_frame {
            return;
        }
        self.next_frame = now + FRAME;
        self.settle(board, keys);
        self.command(now, board);
        let (events, words) = self.agreement.frame(now);
        words.into_iter().for_each(&mut tell);
        for (group, event) in &events {
            self.happened(now, *group, event, board);
        }
        for (place, (key, home)) in &self.homes {
            if let Some(view) = self.agreement.view(*home, *key) {
                self.states.insert(*place, view.physics);
                board.users.insert(*place, view.physics);
            }
        }
    }

    /// What groups know of avatars, where their stations know better: agreements travel more often than what is relayed.
    pub fn refine(&self, avatars: &mut BTreeMap<GroupId, Vec<SeenAvatar>>) {
        for (group, seen) in avatars {
            for avatar in seen {
                let key = self.homes.get(&avatar.place).map(|(key, _)| *key);
                if let Some(view) = key.and_then(|key| self.agreement.view(*group, key)) {
                    avatar.position = view.physics.position;
                    avatar.velocity = view.physics.velocity.as_vec3();
                }
            }
        }
    }

    /// Stations for the groups there are. When those change, or who is where, all begin anew with everyone where it was.
    fn settle(&mut self, board: &Board, keys: &[Option<ObjectKey>]) {
        let groups: Vec<GroupId> = board.groups.iter().map(|group| group.group).collect();
        let home = |place: usize| {
            let is_there = |group: &&GroupView| group.machines.contains(&place);
            Some(board.groups.iter().find(is_there)?.group)
        };
        let homes: BTreeMap<usize, (ObjectKey, GroupId)> = keys
            .iter()
            .enumerate()
            .filter(|(place, _)| board.arrivals.contains_key(place))
            .filter_map(|(place, key)| Some((place, ((*key)?, home(place)?))))
            .collect();
        if groups == self.groups && homes == self.homes {
            return;
        }
        self.incarnation += 1;
        let settings = in_metres(Settings::improved());
        self.agreement = AvatarAgreement::new(&groups, self.incarnation, &settings);
        (self.groups, self.homes) = (groups, homes);
        for (place, (key, home)) in &self.homes {
            let arrival = State::at(board.arrivals[place]);
            let state = *self.states.entry(*place).or_insert(arrival);
            self.agreement.add(*key, *home, RADIUS_M, state);
        }
    }

    fn command(&mut self, now: SimTime, board: &mut Board) {
        for (place, (key, _)) in &self.homes {
            if let Some(position) = board.held_up.remove(place) {
                let command = Command::Follow(State::at(position));
                self.agreement.command(*key, command);
            } else if self.recoil.get(place).is_none_or(|until| *until <= now) {
                let wish: DVec3 = board.wishes.get(place).copied().unwrap_or_default();
                self.agreement.command(*key, Command::Velocity(wish));
            }
        }
    }

    fn happened(&mut self, now: SimTime, group: GroupId, event: &Event, board: &mut Board) {
        let (pair, text) = match event {
            Event::Hit(hit) => (
                hit.pair,
                format!(
                    "met at {:.3} s, hit {} ({:?})",
                    hit.scheduled.as_secs(),
                    hit.index,
                    hit.cause
                ),
            ),
            Event::LocalBounce { pair, at } => {
                (*pair, format!("met at {:.3} s, at home", at.as_secs()))
            }
            _ => return,
        };
        let places = self.places_of(pair);
        let [Some(a), Some(b)] = places else { return };
        let news = format!("{group}: user {} and user {} {text}", a.min(b), a.max(b));
        board.news.push(news);
        for place in [a, b] {
            // A hit counts in the avatar's own group.
            if self
                .homes
                .get(&place)
                .is_some_and(|(_, home)| *home == group)
            {
                self.recoil.insert(place, now + RECOIL);
                *board.hits.entry(place).or_default() += 1;
            }
        }
    }

    fn places_of(&self, pair: PairId) -> [Option<usize>; 2] {
        [pair.low(), pair.high()].map(|body| {
            let key = self.agreement.key_of(body)?;
            let mut homes = self.homes.iter();
            homes
                .find(|(_, (its, _))| *its == key)
                .map(|(place, _)| *place)
        })
    }
}
