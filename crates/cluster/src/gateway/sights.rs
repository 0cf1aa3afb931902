//! What clients see who look closely: put together from what regions show and from what the gateway knows itself.
//!
//! ```text
//!  regions ═ insights ═► sights ─► a round every third frame: parts, made once ─► whoever asked for that layer
//! ```
//! While the world stands still because everybody waits for a silent region there are no frames, but rounds go on: that is when people look.
//! A core without I/O; nothing is kept or made while nobody asks.

use super::replicas::{Replica, Replicas};
use crate::messages::{Insight, RegionState};
use crate::names::NodeId;
use crate::schema::ClusterView;
use crate::server::PATIENCE;
use client_protocol::{
    BodyFlags, BodyMark, Content, Health, HealthState, Layers, Part, TruthMark, begin_inspection,
};
use domain::{BodyId, Epoch, RegionId, SimTime, Tick};
use std::collections::BTreeMap;

/// A round every so many frames.
pub const FRAMES_PER_ROUND: u64 = 3;
/// A region of which nothing was heard for so long is called silent.
const SILENCE: SimTime = SimTime(250_000_000);
/// Bytes of events of one region and kind that wait for the next round.
const MOST_EVENT_BYTES: usize = 64 * 1024;
/// Layers that tell what happened; the others tell how things are.
const EVENTS: Layers = Layers(Layers::MIGRATIONS.0 | Layers::CROSSINGS.0);

/// What was shown of one region.
#[derive(Default)]
struct Sight {
    /// Since when it has this owner.
    since: SimTime,
    /// It had another owner while someone was looking, and the new one has not shown itself yet.
    taken_over: bool,
    /// A round has told so. A quick take-over would fall between two rounds.
    told: bool,
    state: Option<RegionState>,
    exceeded: [u64; 3],
    /// The newest part of each layer; of events all since the last round.
    parts: BTreeMap<u16, Vec<u8>>,
}

/// What all regions show.
#[derive(Default)]
pub struct Sights {
    wanted: Layers,
    regions: BTreeMap<RegionId, Sight>,
    /// Bodies as they were told in the last round.
    told: BTreeMap<BodyId, (Epoch, BodyFlags)>,
    /// This round's parts by layer; bodies: those that have changed.
    round: BTreeMap<u16, Vec<u8>>,
    whole: Option<Vec<u8>>,
    tick: Tick,
}

/// The newest tick of each region, and when it was heard.
pub type Heard = BTreeMap<RegionId, (Tick, SimTime)>;

/// What a round is made of.
pub struct Known<'a> {
    /// The time.
    pub now: SimTime,
    /// All bodies.
    pub replicas: &'a Replicas,
    /// Who has which region.
    pub view: &'a ClusterView,
    /// The newest tick of each region, and when it was heard.
    pub heard: &'a Heard,
    /// All regions.
    pub regions: u32,
    /// Since when the world runs; before that nothing can be heard of it.
    pub begun: Option<SimTime>,
}

impl Sights {
    /// From now on these layers are wanted.
    pub fn want(&mut self, layers: Layers) {
        if !self.wanted.contains(Layers::HEALTH) {
            // Nobody has looked until now: what is over is no news.
            for sight in self.regions.values_mut() {
                sight.taken_over = false;
            }
        }
        if !layers.contains(Layers::BODIES) {
            self.told.clear();
        }
        for sight in self.regions.values_mut() {
            sight
                .parts
                .retain(|layer, _| layers.contains(Layers(*layer)));
        }
        self.wanted = layers;
    }

    /// What is wanted.
    pub fn wanted(&self) -> Layers {
        self.wanted
    }

    /// A region has a new owner.
    pub fn handle_new_owner(&mut self, now: SimTime, region: RegionId) {
        let sight = Sight {
            since: now,
            taken_over: self.regions.contains_key(&region),
            ..Sight::default()
        };
        self.regions.insert(region, sight);
    }

    /// A region shows something.
    pub fn handle_insight(&mut self, region: RegionId, insight: Insight) {
        let sight = self.regions.entry(region).or_default();
        sight.state = insight.state;
        sight.exceeded = insight.exceeded;
        for (layer, bytes) in insight.parts {
            if !self.wanted.contains(Layers(layer)) {
                continue;
            }
            let known = sight.parts.entry(layer).or_default();
            if !EVENTS.contains(Layers(layer)) {
                *known = bytes;
            } else if known.len() + bytes.len() <= MOST_EVENT_BYTES {
                known.extend(bytes);
            }
        }
    }

    /// A new round begins.
    pub fn begin_round(&mut self, known: &Known, tick: Tick) {
        self.tick = tick;
        self.round.clear();
        self.whole = None;
        for sight in self.regions.values_mut() {
            for (layer, bytes) in &sight.parts {
                self.round.entry(*layer).or_default().extend(bytes);
            }
            let still = |layer: &u16, _: &mut Vec<u8>| !EVENTS.contains(Layers(*layer));
            sight.parts.retain(still);
        }
        if self.wanted.contains(Layers::HEALTH) {
            let regions = (0..known.regions).map(RegionId);
            let parts = regions.map(|region| self.health_part(region, known).encode());
            let parts: Vec<u8> = parts.flatten().collect();
            self.round.insert(Layers::HEALTH.0, parts);
            for sight in self.regions.values_mut() {
                sight.told = true;
            }
        }
        if self.wanted.contains(Layers::BODIES) {
            let changes = self.changed_bodies(known.replicas);
            if !changes.is_empty() {
                let part = self.bodies_part(false, changes);
                self.round.insert(Layers::BODIES.0, part);
            }
        }
    }

    fn bodies_part(&self, whole: bool, bodies: Vec<BodyMark>) -> Vec<u8> {
        let part = Part {
            region: None,
            tick: self.tick,
            content: Content::Bodies { whole, bodies },
        };
        part.encode()
    }

    fn changed_bodies(&mut self, replicas: &Replicas) -> Vec<BodyMark> {
        let mut changes = Vec::new();
        for (body, replica) in replicas.iter() {
            let (epoch, flags) = (replica.epoch, flags(replica));
            if self.told.insert(body, (epoch, flags)) != Some((epoch, flags)) {
                changes.push(BodyMark { body, epoch, flags });
            }
        }
        if self.told.len() > replicas.iter().len() {
            self.told.retain(|body, _| replicas.get(*body).is_some());
        }
        changes
    }

    /// A message for someone who looks at these layers; `anew`: it does not know the bodies yet. `None`: nothing to tell.
    pub fn message(&mut self, frame: u64, layers: Layers, anew: bool) -> Option<Vec<u8>> {
        let mut message = begin_inspection(frame);
        let empty = message.len();
        if anew && layers.contains(Layers::BODIES) {
            if self.whole.is_none() {
                let told = self.told.iter();
                let all = told.map(|(body, (epoch, flags))| BodyMark {
                    body: *body,
                    epoch: *epoch,
                    flags: *flags,
                });
                self.whole = Some(self.bodies_part(true, all.collect()));
            }
            message.extend(self.whole.iter().flatten());
        }
        for (layer, bytes) in &self.round {
            let told_already = anew && *layer == Layers::BODIES.0;
            if layers.contains(Layers(*layer)) && !told_already {
                message.extend(bytes);
            }
        }
        (message.len() > empty).then_some(message)
    }

    fn health_part(&self, region: RegionId, known: &Known) -> Part {
        let sight = self.regions.get(&region);
        let seat = known.view.assignment.seat(region);
        let name_of = |node: Option<NodeId>| {
            let info = node.and_then(|node| known.view.nodes.get(&node));
            info.map(|info| info.name.clone()).unwrap_or_default()
        };
        let millis = |time: SimTime| u32::try_from(time.0 / 1_000_000).unwrap_or(u32::MAX);
        let heard = known.heard.get(&region);
        // Never heard in this term, or not since the start: silent since that began.
        let since = sight.map_or(SimTime::ZERO, |sight| sight.since);
        let last = heard
            .map_or(since, |(_, at)| *at)
            .max(known.begun.unwrap_or_default());
        let silent = known.now.since(last);
        let shown = sight.and_then(|sight| sight.state);
        let news = sight.is_some_and(|sight| sight.taken_over && (!sight.told || shown.is_none()));
        let state = match seat {
            None => HealthState::Vacant,
            Some(seat) if seat.owner.is_none() => HealthState::Vacant,
            Some(_) if known.begun.is_none() => HealthState::Ready,
            Some(_) if news || shown == Some(RegionState::Recovering) => HealthState::Recovering,
            // A new owner that has not said anything yet is on its way.
            Some(_) if heard.is_none_or(|(_, at)| *at < since) && since > SimTime::ZERO => {
                HealthState::Recovering
            }
            Some(_)
                if silent > SILENCE && !self.waits(region, known.heard, known.view, known.now) =>
            {
                HealthState::Silent
            }
            Some(seat) if seat.moving => HealthState::Moving,
            Some(_) if shown == Some(RegionState::Ready) => HealthState::Ready,
            Some(_) => HealthState::Running,
        };
        let health = Health {
            state,
            term: seat.map_or(0, |seat| seat.term.0),
            server: name_of(seat.and_then(|seat| seat.owner)),
            standby: name_of(seat.and_then(|seat| seat.standby)),
            silent_ms: millis(silent),
            in_term_ms: sight.map_or(0, |sight| millis(known.now.since(sight.since))),
            exceeded: sight.map(|sight| sight.exceeded).unwrap_or_default(),
        };
        Part {
            region: Some(region),
            tick: heard.map(|(tick, _)| *tick).unwrap_or_default(),
            content: Content::Health(Box::new(health)),
        }
    }

    /// Is there a region further behind that its neighbours wait for? Then one that makes no progress is not to be blamed. Not if both have the same owner, unless that
    /// has just come to it: it is silent, whatever it has. (If regions tell gateways less often than every [`hop_ticks`](boundary::AuraGeometry::hop_ticks), who waits looks as far behind as who is waited for.)
    pub fn waits(&self, region: RegionId, heard: &Heard, view: &ClusterView, now: SimTime) -> bool {
        let owner = |region| view.assignment.seat(region).and_then(|seat| seat.owner);
        let Some((own, _)) = heard.get(&region) else {
            return false;
        };
        let has_just_come = |other: &RegionId| {
            let sight = self.regions.get(other);
            sight.is_some_and(|sight| heard.get(other).is_none_or(|(_, at)| *at < sight.since))
        };
        let is_waited_for = |other: &RegionId| {
            let node = owner(*other).filter(|node| view.nodes.contains_key(node));
            node.is_some() && (node != owner(region) || has_just_come(other))
        };
        let mut behind = heard
            .iter()
            .filter(|(_, (tick, at))| tick < own && now.since(*at) < PATIENCE);
        // Of whom we have never heard, having just come, we do not know how far they are.
        let mut unheard = self.regions.iter().filter(|(other, sight)| {
            !heard.contains_key(other) && now.since(sight.since) < PATIENCE
        });
        behind.any(|(other, _)| is_waited_for(other))
            || unheard.any(|(other, _)| is_waited_for(other))
    }
}

/// Picked bodies, exactly as they are simulated.
pub fn truth(picked: &[BodyId], replicas: &Replicas, tick: Tick) -> Vec<u8> {
    let bodies = picked.iter().filter_map(|body| {
        let replica = replicas.get(*body)?;
        Some(TruthMark {
            body: *body,
            owner: replica.owner,
            epoch: replica.epoch,
            tick: replica.tick,
            motion: replica.motion,
            flags: flags(replica),
        })
    });
    let part = Part {
        region: None,
        tick,
        content: Content::Truth(bodies.collect()),
    };
    part.encode()
}

fn flags(replica: &Replica) -> BodyFlags {
    BodyFlags {
        asleep: replica.asleep,
        homeless: replica.is_homeless(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::{Entered, Feed};
    use crate::names::{Generation, Term};
    use crate::schema::{NodeInfo, Role, Seat};
    use client_protocol::ToClient;
    use domain::{Body, BodyForm, Motion, Shape};
    use glam::DVec3;

    const A: RegionId = RegionId(0);

    fn replicas(epochs: &[u32]) -> Replicas {
        let mut replicas = Replicas::default();
        let entered = (1..).zip(epochs).map(|(id, epoch)| {
            let form = BodyForm::of(Shape::Sphere { radius: 1.0 });
            Entered {
                body: Body::new(BodyId(id), form, Motion::at(DVec3::ZERO)),
                epoch: Epoch(*epoch),
            }
        });
        let feed = Feed {
            entered: entered.collect(),
            ..Feed::default()
        };
        replicas.handle_feed(SimTime(0), A, &feed);
        replicas
    }

    struct Round {
        sights: Sights,
        view: ClusterView,
        heard: Heard,
        begun: Option<SimTime>,
    }

    impl Round {
        fn new(wanted: Layers) -> Self {
            let mut sights = Sights::default();
            sights.want(wanted);
            let mut view = ClusterView::default();
            view.assignment.generation = Generation(1);
            view.assignment.seats = vec![Seat {
                owner: Some(NodeId(1)),
                term: Term(1),
                ..Seat::default()
            }];
            Self {
                sights,
                view,
                heard: BTreeMap::new(),
                begun: Some(SimTime::ZERO),
            }
        }

        fn begin(&mut self, now: SimTime, replicas: &Replicas) {
            let known = Known {
                now,
                replicas,
                view: &self.view,
                heard: &self.heard,
                regions: self.view.assignment.seats.len() as u32,
                begun: self.begun,
            };
            self.sights.begin_round(&known, Tick(6));
        }

        fn parts(&mut self, layers: Layers, anew: bool) -> Vec<Content> {
            let Some(message) = self.sights.message(2, layers, anew) else {
                return Vec::new();
            };
            match ToClient::decode(&message) {
                Ok(ToClient::Inspection { parts, .. }) => {
                    parts.into_iter().map(|part| part.content).collect()
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn bodies(content: &Content) -> (bool, Vec<u64>) {
        match content {
            Content::Bodies { whole, bodies } => {
                (*whole, bodies.iter().map(|mark| mark.body.0).collect())
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn bodies_are_told_once_and_then_when_they_change() {
        let mut round = Round::new(Layers::BODIES);
        round.begin(SimTime(0), &replicas(&[1, 1]));
        assert_eq!(
            bodies(&round.parts(Layers::BODIES, true)[0]),
            (true, vec![1, 2])
        );
        round.begin(SimTime(0), &replicas(&[1, 2]));
        assert_eq!(
            bodies(&round.parts(Layers::BODIES, false)[0]),
            (false, vec![2])
        );
        assert_eq!(
            bodies(&round.parts(Layers::BODIES, true)[0]),
            (true, vec![1, 2])
        );
        round.begin(SimTime(0), &replicas(&[1, 2]));
        assert!(round.parts(Layers::BODIES, false).is_empty());
    }

    #[test]
    fn events_are_told_once_and_states_stay() {
        let mut round = Round::new(Layers::AURAS.with(Layers::MIGRATIONS));
        let part = |content| Part {
            region: Some(A),
            tick: Tick(6),
            content,
        };
        let auras = part(Content::Auras(Vec::new()));
        let migrations = part(Content::Migrations(Vec::new()));
        let crossings = part(Content::Crossings(Vec::new()));
        let parts =
            [auras, migrations, crossings].map(|part| (part.content.layer().0, part.encode()));
        let insight = Insight {
            parts: parts.to_vec(),
            ..Insight::default()
        };
        // Twice between two rounds: both events count, of the states the newer one.
        round.sights.handle_insight(A, insight.clone());
        round.sights.handle_insight(A, insight);
        let nobody = Replicas::default();
        round.begin(SimTime(0), &nobody);
        let kinds = |round: &mut Round| -> Vec<u8> {
            let parts = round.parts(Layers::ALL, false);
            parts.iter().map(Content::kind).collect()
        };
        assert_eq!(kinds(&mut round), [1, 5, 5], "nobody wants crossings");
        round.begin(SimTime(0), &nobody);
        assert_eq!(kinds(&mut round), [1]);
        assert!(round.parts(Layers::HEALTH, false).is_empty());
    }

    #[test]
    fn who_waits_for_a_silent_region_is_not_called_silent() {
        let mut round = Round::new(Layers::HEALTH);
        let seat = round.view.assignment.seats[0];
        round.view.assignment.seats = vec![seat; 3];
        for (node, seat) in (1..).map(NodeId).zip(&mut round.view.assignment.seats) {
            seat.owner = Some(node);
            let info = NodeInfo {
                node,
                role: Role::Server,
                name: node.to_string(),
                address: "127.0.0.1:1".parse().expect("an address"),
                url: None,
                leaving: false,
            };
            round.view.nodes.insert(node, info);
        }
        let ms = |ms: u64| SimTime(ms * 1_000_000);
        let states = |round: &mut Round, now: SimTime| -> Vec<HealthState> {
            round.begin(now, &Replicas::default());
            let parts = round.parts(Layers::HEALTH, false);
            let state = |content: &Content| match content {
                Content::Health(health) => health.state,
                other => panic!("{other:?}"),
            };
            parts.iter().map(state).collect()
        };
        let [dead, neighbour, distant] = [RegionId(0), RegionId(1), RegionId(2)];
        round.heard.insert(dead, (Tick(60), ms(1000)));
        round.heard.insert(neighbour, (Tick(62), ms(1033)));
        round.heard.insert(distant, (Tick(64), ms(1066)));
        use HealthState::{Running, Silent};
        assert_eq!(states(&mut round, ms(1100)), [Running; 3]);
        assert_eq!(states(&mut round, ms(1400)), [Silent, Running, Running]);
        // It has both, and is dead: both are silent.
        let alone = round.view.clone();
        round.view.assignment.seats[1].owner = Some(NodeId(1));
        assert_eq!(states(&mut round, ms(1400)), [Silent, Silent, Running]);
        // It has just taken it over.
        round.sights.handle_new_owner(ms(1380), dead);
        assert_eq!(states(&mut round, ms(1400))[1..], [Running, Running]);
        round.sights.regions.clear();
        // Nobody waits for one that is known to be dead.
        round.view = alone.clone();
        round.view.nodes.remove(&NodeId(1));
        assert_eq!(states(&mut round, ms(1400)), [Silent, Silent, Running]);
        round.view = alone;
        // We have just come and have never heard of one.
        let dead_at = round.heard.remove(&dead).expect("inserted");
        round.sights.handle_new_owner(ms(1300), dead);
        assert_eq!(states(&mut round, ms(1400))[1..], [Running, Running]);
        round.sights.regions.clear();
        round.heard.insert(dead, dead_at);
        // Nobody waits for it any longer: who is silent now is so by itself.
        round.heard.insert(neighbour, (Tick(62), ms(4100)));
        round.heard.insert(distant, (Tick(64), ms(4500)));
        assert_eq!(states(&mut round, ms(4600)), [Silent, Silent, Running]);
    }

    #[test]
    fn a_region_runs_is_silent_recovers_and_runs_again() {
        let mut round = Round::new(Layers::HEALTH);
        let nobody = Replicas::default();
        let second = 1_000_000_000;
        let state = |round: &mut Round, now: u64| {
            round.begin(SimTime(now), &nobody);
            match round.parts(Layers::HEALTH, false).remove(0) {
                Content::Health(health) => (health.state, health.term),
                other => panic!("{other:?}"),
            }
        };
        round.sights.handle_new_owner(SimTime(second), A);
        round.heard.insert(A, (Tick(0), SimTime(second / 2)));
        round.begun = None;
        assert_eq!(state(&mut round, second), (HealthState::Ready, 1));
        // However long all were ready: it is silent since the start.
        round.begun = Some(SimTime(second));
        round.heard.insert(A, (Tick(1), SimTime(second)));
        assert_eq!(state(&mut round, second), (HealthState::Running, 1));
        assert_eq!(state(&mut round, 2 * second), (HealthState::Silent, 1));
        round.sights.handle_new_owner(SimTime(2 * second), A);
        round.view.assignment.seats[0].term = Term(2);
        assert_eq!(state(&mut round, 2 * second), (HealthState::Recovering, 2));
        // It has told everything it knows, but does not step before the others have answered it.
        round.heard.insert(A, (Tick(9), SimTime(2 * second)));
        assert_eq!(state(&mut round, 3 * second), (HealthState::Recovering, 2));
        round.heard.insert(A, (Tick(9), SimTime(3 * second)));
        let runs = || Insight {
            state: Some(RegionState::Running),
            ..Insight::default()
        };
        round.sights.handle_insight(A, runs());
        assert_eq!(state(&mut round, 3 * second), (HealthState::Running, 2));
        // Taken over and running again before the next round: told nevertheless, once.
        round.sights.handle_new_owner(SimTime(4 * second), A);
        round.heard.insert(A, (Tick(10), SimTime(4 * second)));
        round.sights.handle_insight(A, runs());
        assert_eq!(state(&mut round, 4 * second), (HealthState::Recovering, 2));
        assert_eq!(state(&mut round, 4 * second), (HealthState::Running, 2));
        // However long that took: rounds may have stood still meanwhile.
        round.sights.handle_new_owner(SimTime(5 * second), A);
        round.heard.insert(A, (Tick(11), SimTime(7 * second)));
        round.sights.handle_insight(A, runs());
        assert_eq!(state(&mut round, 7 * second), (HealthState::Recovering, 2));
        assert_eq!(state(&mut round, 7 * second), (HealthState::Running, 2));
        // Who begins to look afterwards is not told of what is over.
        round.sights.want(Layers::NONE);
        round.sights.handle_new_owner(SimTime(7 * second), A);
        round.heard.insert(A, (Tick(12), SimTime(7 * second)));
        round.sights.want(Layers::HEALTH);
        assert_eq!(state(&mut round, 7 * second), (HealthState::Running, 2));
        round.view.assignment.seats[0].owner = None;
        assert_eq!(state(&mut round, 7 * second), (HealthState::Vacant, 2));
    }
}
