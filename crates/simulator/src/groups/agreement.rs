//! Hits between avatars of two groups: neither group may decide alone, and both must show the same. They agree by motion-lock.
//!
//! ```text
//!   group g1                                              group g2
//!   station 1: avatar a (master), avatar b (replica)      station 2: avatar b (master), avatar a (replica)
//!        │ "we meet at t"  ── leader ── coordinator ── leader ──►  │
//!        ▼ locked until t                                           ▼ locked until t
//!        hit at t                                                   hit at t
//! ```
//!
//! Every group's leader has a station; an avatar is a master in the group of its client and a replica in all others. What
//! stations say to each other is sealed bytes; whoever drives this carries them the avatars' own way, from leader to coordinator to leader
//! ([`Member::tell_group`](::groups::Member::tell_group)).

use ::groups::{GroupId, ObjectKey};
use domain::{BodyId, SimTime};
use station::{Ball, Command, Event, LinkKey, Settings, State, Station, StationId, View};
use std::collections::BTreeMap;

/// The stations of all groups.
pub struct AvatarAgreement {
    stations: BTreeMap<GroupId, Station>,
    homes: BTreeMap<ObjectKey, GroupId>,
}

/// What one leader has to say to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    /// The group that says it.
    pub from: GroupId,
    /// To this one.
    pub to: GroupId,
    /// Sealed.
    pub bytes: Vec<u8>,
}

fn station_of(group: GroupId) -> StationId {
    StationId(group.0)
}

/// A key as a body: clients are small numbers, and so are their avatars.
fn body_of(key: ObjectKey) -> BodyId {
    BodyId((u64::from(key.client.unsigned_abs()) << 32) | (key.id & 0xffff_ffff))
}

/// A station's lengths are in the world's own unit, and the thesis's was the pixel: an update for every pixel off. Avatars are measured in metres.
const THRESHOLD_M: f64 = 0.02;
const REARM_GAP_M: f64 = 0.05;

/// Settings for avatars of about a metre. With the threshold of one *unit* a station that doubts (its gate adds what replicas may be off) would be sure of a
/// hit only when the avatars are deep inside each other.
pub fn in_metres(settings: Settings) -> Settings {
    let mut settings = settings;
    settings.reckoning.threshold = THRESHOLD_M;
    settings.agreement.rearm_gap = REARM_GAP_M;
    settings
}

impl AvatarAgreement {
    /// A station per group. Lengths in the settings are metres: see [`in_metres`]. `incarnation` is higher than that of any agreement between the same groups
    /// before this one.
    pub fn new(groups: &[GroupId], incarnation: u32, settings: &Settings) -> Self {
        let station = |group: &GroupId| {
            let mut station = Station::new(station_of(*group), incarnation, *settings);
            let others = groups.iter().filter(|other| *other != group);
            others.for_each(|other| station.add_peer(station_of(*other), LinkKey::none()));
            (*group, station)
        };
        Self {
            stations: groups.iter().map(station).collect(),
            homes: BTreeMap::new(),
        }
    }

    /// An avatar appears; its client is in the group `home`. `false` if a station does not want it.
    pub fn add(&mut self, key: ObjectKey, home: GroupId, radius: f64, state: State) -> bool {
        self.homes.insert(key, home);
        let (body, ball) = (body_of(key), Ball::new(radius));
        self.stations
            .iter_mut()
            .all(|(group, station)| match *group == home {
                true => station.add_master(body, ball, state).is_ok(),
                false => station
                    .add_replica(body, station_of(home), ball, state)
                    .is_ok(),
            })
    }

    /// What its client wants of an avatar at the coming frame. While a hit is agreed on, that does not count.
    pub fn command(&mut self, key: ObjectKey, command: Command) {
        let home = self
            .homes
            .get(&key)
            .and_then(|home| self.stations.get_mut(home));
        home.into_iter()
            .for_each(|station| _ = station.command(body_of(key), command));
    }

    /// Something that one leader has said has reached another. What is refused is counted there.
    pub fn hear(&mut self, now: SimTime, word: &Word) {
        if let Some(station) = self.stations.get_mut(&word.to) {
            let _ = station.handle_datagram(now, station_of(word.from), &word.bytes);
        }
    }

    /// One frame everywhere: what happened, by the group that shows it, and what leaders have to say to each other.
    pub fn frame(&mut self, now: SimTime) -> (Vec<(GroupId, Event)>, Vec<Word>) {
        let (mut events, mut words) = (Vec::new(), Vec::new());
        for (group, station) in &mut self.stations {
            station.handle_frame(now);
            while let Some(transmit) = station.poll_transmit() {
                words.push(Word {
                    from: *group,
                    to: GroupId(transmit.to.0),
                    bytes: transmit.bytes,
                });
            }
            while let Some(event) = station.poll_event() {
                events.push((*group, event));
            }
        }
        (events, words)
    }

    /// An avatar as a group shows it.
    pub fn view(&self, group: GroupId, key: ObjectKey) -> Option<View> {
        self.stations.get(&group)?.view(body_of(key))
    }

    /// Whose avatar a station's body is, among these.
    pub fn key_of(&self, body: BodyId) -> Option<ObjectKey> {
        self.homes.keys().copied().find(|key| body_of(*key) == body)
    }
}
