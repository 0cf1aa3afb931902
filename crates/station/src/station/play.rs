//! What is due: our own commits, the other's notices, the other's counts, and contacts nobody foresaw, in this order (§2.15).

use super::Station;
use super::bodies::Kind;
use super::motion::{gap, is_touching};
use crate::agreement::{Pair, Played};
use crate::body::State;
use crate::events::{Cause, Event, Hit, Unlock};
use crate::geometry::{bounce, touched_ago};
use crate::ids::{PairId, StationId};
use crate::messages::{Message, Record, on_grid};
use crate::settings::Protocol;
use domain::{BodyId, SimTime};
use glam::DVec3;

/// A hit to be played now.
pub(super) struct Due {
    pub pair: PairId,
    pub cause: Cause,
    pub time: SimTime,
    /// The velocities that count; `None`: computed from where the bodies are.
    pub velocities: Option<[DVec3; 2]>,
    pub author: StationId,
    pub score: u8,
}

impl Station {
    pub(super) fn play_due(&mut self, now: SimTime) {
        self.play_commits(now);
        self.play_notices(now);
        self.play_counts(now);
        self.play_hindsight(now);
        self.play_contacts(now);
    }

    /// A commit is binding: it is played at its time whether or not the shapes touch (D5), all members of a bucket in the order in
    /// which they were detected (ML-30, D9).
    fn play_commits(&mut self, now: SimTime) {
        let mut due: Vec<(SimTime, u64, PairId)> = self
            .pairs
            .iter()
            .filter_map(|(id, pair)| pair.commit.map(|commit| (commit.time, commit.order, *id)))
            .filter(|(time, ..)| *time <= now)
            .collect();
        due.sort_unstable();
        for (time, _, id) in due {
            let Some(commit) = self.pairs.get_mut(&id).and_then(|pair| pair.commit.take()) else {
                continue;
            };
            // In a bucket of several, what was computed for the pair alone is no longer what happens to its bodies.
            let alone = !self.was_bounced_in(now, id);
            let theirs = commit.author != self.id;
            self.play(
                now,
                Due {
                    pair: id,
                    cause: Cause::Commit,
                    time,
                    velocities: (alone || theirs).then_some(commit.velocities),
                    author: commit.author,
                    score: commit.score,
                },
            );
            self.tell_done(now, id);
        }
    }

    /// Whether one of the pair's bodies has been bounced in this very frame.
    fn was_bounced_in(&self, now: SimTime, id: PairId) -> bool {
        let bounced = |body: &BodyId| {
            let body = self.bodies.get(body);
            body.and_then(|body| body.bounced_by)
                .is_some_and(|(_, at)| at == now)
        };
        id.bodies().iter().any(bounced)
    }

    /// Few of many: most pairs have nothing to say in a frame.
    pub(super) fn pairs_where(&self, wanted: impl Fn(&Pair) -> bool) -> Vec<PairId> {
        let pairs = self.pairs.iter().filter(|(_, pair)| wanted(pair));
        pairs.map(|(id, _)| *id).collect()
    }

    /// Never before their time (ML-21).
    fn play_notices(&mut self, now: SimTime) {
        let ids = self.pairs_where(|pair| pair.notice.is_some());
        let mut due = Vec::new();
        for id in ids {
            let told = self
                .pairs
                .get_mut(&id)
                .and_then(|pair| pair.take_due_notice(now));
            due.extend(told.map(|told| (told.record.time, id, told)));
        }
        due.sort_by_key(|(time, id, _)| (*time, *id));
        for (_, _, told) in due {
            self.play_told(now, Cause::Notice, told.from, &told.record);
        }
    }

    /// Hits that have happened at the other's, newest last.
    fn play_counts(&mut self, now: SimTime) {
        for id in self.pairs_where(|pair| pair.done.is_some()) {
            let Some((told, news)) = self.pairs.get_mut(&id).and_then(|pair| pair.take_done())
            else {
                continue;
            };
            if news.untimed > 0 {
                self.count_untimed(now, id, news.untimed, told.from);
            }
            for time in news.times {
                let mut record = told.record.clone();
                if time != record.time {
                    record.velocities = None;
                    record.time = time;
                }
                self.play_told(now, Cause::Count, told.from, &record);
            }
        }
    }

    /// Plays what the other has told, or only counts it if that was too long ago (ML-24).
    fn play_told(&mut self, now: SimTime, cause: Cause, from: StationId, record: &Record) {
        let late = now.since(record.time);
        if late >= self.settings.agreement.cut_off {
            self.count_only(now, record, from);
            return;
        }
        let conflict = self.settings.agreement.conflict;
        let own = self
            .pairs
            .get(&record.pair)
            .and_then(|pair| pair.own_commit(self.id, from, record, conflict));
        let (velocities, author, score) = match own {
            Some(commit) => (Some(commit.velocities), self.id, commit.score),
            None => (record.velocities, from, record.score),
        };
        let due = Due {
            pair: record.pair,
            cause,
            time: record.time,
            velocities,
            author,
            score,
        };
        self.play(now, due);
    }

    /// Contacts nobody foresaw, or not soon enough.
    fn play_contacts(&mut self, now: SimTime) {
        for id in self.near.clone() {
            // A touch of bodies that are committed to a hit is that hit, and it has its time.
            let committed = self
                .pairs
                .get(&id)
                .is_some_and(|pair| pair.commit.is_some());
            if committed || !self.may_hit(now, id) || self.is_held_by_others(id) {
                continue;
            }
            let Some(secs_ago) = self.contact(id) else {
                continue;
            };
            match self.settings.protocol {
                Protocol::SuperNode { authority } if authority != self.id => {}
                Protocol::PreCollision | Protocol::LiteralPreCollision => self.decide(now, id),
                _ => self.play_contact(now, id, secs_ago),
            }
        }
    }

    /// How long ago the pair came to touch, if it touches (and approaches) or did so since the last frame.
    pub(super) fn contact(&self, id: PairId) -> Option<f64> {
        let [one, other] = self.both(id)?;
        let reach = one.ball.radius + other.ball.radius;
        let (a, b) = (one.state(), other.state());
        let (offset, velocity) = (a.position - b.position, a.velocity - b.velocity);
        if !self.settings.agreement.within_frame {
            return is_touching(one, other).then_some(0.0);
        }
        let back = touched_ago(offset, velocity, reach);
        let swept = back.filter(|secs| *secs <= self.frame_secs);
        swept.or(is_touching(one, other).then_some(0.0))
    }

    fn play_contact(&mut self, now: SimTime, id: PairId, secs_ago: f64) {
        let gated = self
            .settings
            .foresight
            .gate
            .is_some_and(|gate| gate.contacts);
        if gated && !self.is_sure(now, id, 0.0) {
            return;
        }
        let time = now.since(SimTime::from_secs(secs_ago));
        self.play(
            now,
            Due {
                pair: id,
                cause: Cause::Contact,
                time,
                velocities: None,
                author: self.id,
                score: self.score(now, id, 0.0),
            },
        );
        self.tell_done(now, id);
    }

    /// The hit happens here and now: bodies part, `c` rises, game logic hears of it.
    pub(super) fn play(&mut self, now: SimTime, due: Due) {
        let Some([one, other]) = self.both(due.pair) else {
            return;
        };
        let told = matches!(due.cause, Cause::Notice | Cause::Count);
        let apart = gap(one, other);
        let lag = self.lag(now, due.time);
        // Positions when it happened, if that was within this frame; otherwise nothing is warped (§4.3.1).
        let places = [one, other].map(|body| match body.hold {
            Some(course) if lag > 0.0 => course.at(due.time).position,
            _ => body.state().position - body.state().velocity * lag,
        });
        let mut bouncers = [one.bouncer(), other.bouncer()];
        bouncers
            .iter_mut()
            .zip(places)
            .for_each(|(bouncer, place)| bouncer.position = place);
        let rule = self.settings.bounce;
        let velocities = due.velocities.unwrap_or_else(|| {
            bounce(rule, bouncers, told)
                .map(|velocity| on_grid(velocity, self.settings.wire.steps_per_unit))
        });
        for ((id, place), velocity) in due.pair.bodies().into_iter().zip(places).zip(velocities) {
            self.part(now, id, &due, place + velocity * lag, velocity);
        }
        let Some(pair) = self.pairs.get_mut(&due.pair) else {
            return;
        };
        let index = pair.play(Played {
            index: 0,
            time: due.time,
            at: now,
            velocities,
            has_trajectories: self.settings.protocol != Protocol::PostCollision,
            score: due.score,
            author: due.author,
        });
        let why = if due.cause == Cause::Commit {
            Unlock::Played
        } else {
            Unlock::Overtaken
        };
        if pair.commit.is_none() {
            self.unlock(now, due.pair, why);
        }
        self.events.push_back(Event::Hit(Hit {
            pair: due.pair,
            index,
            at: now,
            scheduled: due.time,
            cause: due.cause,
            gap: apart,
            author: due.author,
            velocities,
            clock_error: self.clock_error().unwrap_or_default(),
        }));
    }

    /// Seconds since a hit that happened within this frame; zero for what is older, and if hits are played at frames.
    fn lag(&self, now: SimTime, time: SimTime) -> f64 {
        let lag = now.since(time).as_secs();
        match self.settings.agreement.within_frame && lag <= self.frame_secs {
            true => lag,
            false => 0.0,
        }
    }

    /// One of the two leaves the hit.
    fn part(&mut self, now: SimTime, id: BodyId, due: &Due, position: DVec3, velocity: DVec3) {
        let settings = self.settings.reckoning;
        let Some(body) = self.bodies.get_mut(&id) else {
            return;
        };
        body.bounced_by = Some((due.pair, now));
        if let Some(hold) = &mut body.hold {
            *hold = crate::geometry::Course::straight(now, position, velocity);
        }
        match &mut body.kind {
            Kind::Master(master) => {
                master.state = State::moving(position, velocity);
                master.bounce(&settings, true);
            }
            Kind::Replica(replica) => {
                replica.bounce(now, due.time, position, velocity, &settings);
            }
            Kind::Global(_) => {}
        }
    }

    /// Too old to be played: it only counts.
    pub(super) fn count_only(&mut self, now: SimTime, record: &Record, author: StationId) {
        let Some(pair) = self.pairs.get_mut(&record.pair) else {
            return;
        };
        let commit = pair.commit.take_if(|commit| {
            pair.ledger
                .is_same((commit.index, commit.time), (record.index, record.time))
        });
        let index = pair.ledger.count_past(record.time, now);
        if commit.is_some() {
            self.unlock(now, record.pair, Unlock::Overtaken);
        }
        self.tell_count_only(now, record.pair, index, record.time, author);
    }

    /// Hits so long ago that not even their times are known.
    fn count_untimed(&mut self, now: SimTime, id: PairId, hits: u32, author: StationId) {
        let Some(pair) = self.pairs.get_mut(&id) else {
            return;
        };
        let last = pair.ledger.count_untimed(hits);
        // One event stands for all of them; its index says how many there were.
        self.tell_count_only(now, id, last, SimTime::ZERO, author);
    }

    fn tell_count_only(
        &mut self,
        now: SimTime,
        id: PairId,
        index: u32,
        time: SimTime,
        author: StationId,
    ) {
        let Some([one, other]) = self.both(id) else {
            return;
        };
        let hit = Hit {
            pair: id,
            index,
            at: now,
            scheduled: time,
            cause: Cause::CountOnly,
            gap: gap(one, other),
            author,
            velocities: [one.state().velocity, other.state().velocity],
            clock_error: self.clock_error().unwrap_or_default(),
        };
        self.events.push_back(Event::Hit(hit));
    }

    /// The other's trajectories count for a hit already played here (ML-57): velocities change, places do not.
    pub(super) fn settle(
        &mut self,
        now: SimTime,
        id: PairId,
        before: [DVec3; 2],
        after: [DVec3; 2],
        author: StationId,
    ) {
        let settings = self.settings.reckoning;
        let mut angle = 0.0_f64;
        for ((body, old), new) in id.bodies().into_iter().zip(before).zip(after) {
            let turn = old.angle_between(new);
            angle = angle.max(if turn.is_finite() { turn } else { 0.0 });
            let Some(body) = self.bodies.get_mut(&body) else {
                continue;
            };
            // What has bounced again since, or is locked for the next hit, is past settling.
            let last = body.bounced_by.is_some_and(|(pair, _)| pair == id);
            if !last || body.is_locked() || old == new {
                continue;
            }
            match &mut body.kind {
                Kind::Master(master) => {
                    master.state.velocity += new - old;
                    master.bounce(&settings, true);
                }
                Kind::Replica(replica) => replica.amend(now, new - old),
                Kind::Global(_) => {}
            }
        }
        self.events.push_back(Event::Settled {
            pair: id,
            at: now,
            author,
            angle,
        });
    }

    /// Tells the other participant that it happened.
    pub(super) fn tell_done(&mut self, now: SimTime, id: PairId) {
        if let Protocol::SuperNode { authority } = self.settings.protocol
            && authority != self.id
        {
            return;
        }
        if !self.settings.protocol.has_records() {
            return;
        }
        let Some(pair) = self.pairs.get_mut(&id) else {
            return;
        };
        let Some(record) = pair.done_record(now, &self.settings.agreement) else {
            return;
        };
        pair.told_at = Some(now);
        for peer in pair.peers.clone() {
            self.say(peer, Message::Record(record.clone()));
        }
    }
}
