//! Bodies that come and go, clients that join late, servers that hand bodies and clients to each other.

use crate::stream_common::{Balls, Session, at_once};
use domain::BodyId;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use reckoning::stream::{Exporter, Feed, Source, StreamDecoder, StreamEncoder, StreamSettings};

#[test]
fn who_joins_late_sees_what_the_others_see() {
    let mut session = Session::new(Balls::new(30, 21), StreamSettings::default());
    for _ in 0..301 {
        session.step(at_once, |now| vec![now]);
    }
    let mut late = StreamEncoder::new(session.settings);
    let mut client = StreamDecoder::new(session.settings);
    for (id, _) in session.exporter.bodies() {
        late.enter(id);
    }
    for packet in late.update(session.tick - 1, &[&session.exporter]) {
        client.receive(&packet).unwrap();
    }
    for (id, body) in session.exporter.bodies() {
        assert_eq!(client.curves(id), body.curves());
    }
    assert_eq!(client.bodies().len(), 30);
}

#[test]
fn a_removed_body_leaves_and_its_slot_is_used_again() {
    let mut session = Session::new(Balls::new(5, 22), StreamSettings::default());
    for round in 0..50 {
        for _ in 0..8 {
            session.step(at_once, |now| vec![now]);
        }
        assert!(session.is_exact(), "round {round}");
        let first = *session.balls.bodies.keys().next().unwrap();
        session.balls.bodies.remove(&first);
        session.balls.add(BodyId(10_000 + round));
    }
    for _ in 0..8 {
        session.step(at_once, |now| vec![now]);
    }
    assert!(session.is_exact());
    assert_eq!(session.decoder.bodies().len(), 5);
}

#[test]
fn a_body_may_leave_the_scope_and_return_at_once() {
    let mut session = Session::new(Balls::new(5, 23), StreamSettings::default());
    let body = BodyId(6);
    for tick in 0..600_u64 {
        // A link of 5 ticks: it often returns before the client has heard that it left.
        session.step(|_, now| vec![now + 5], |now| vec![now + 5]);
        match tick % 50 {
            10 => session.encoder.leave(body),
            12 | 30 => session.encoder.enter(body),
            25 => session.encoder.leave(body),
            _ => {}
        }
    }
    assert!(session.encoder.scope().any(|id| id == body));
    for _ in 0..60 {
        session.step(|_, now| vec![now + 5], |now| vec![now + 5]);
    }
    assert_eq!(session.wrong(5), []);
    session.encoder.leave(body);
    for _ in 0..60 {
        session.step(|_, now| vec![now + 5], |now| vec![now + 5]);
    }
    assert_eq!(session.decoder.shown(body, session.tick as f64), None);
    assert_eq!(session.wrong(5), [body], "all others are still right");
}

/// Bodies that leave before it is known whether they entered, over a link that loses and reorders: every packet that arrives is
/// understood, or old news, and in the end the client has what is in scope and nothing else.
#[test]
fn bodies_may_leave_before_the_client_has_heard_of_them() {
    for seed in 0..20 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let mut session = Session::new(Balls::new(8, seed), StreamSettings::default());
        let mut next = 1000;
        for _ in 0..600 {
            session.step(
                |_, now| match rng.random_range(0..10) {
                    0..2 => vec![],
                    late => vec![now + late],
                },
                |now| vec![now + 3],
            );
            let first = *session.balls.bodies.keys().next_back().unwrap();
            session.balls.bodies.remove(&first);
            next += 1;
            session.balls.add(BodyId(next));
        }
        assert_eq!(session.rejected, 0, "seed {seed}");
        for _ in 0..100 {
            session.step(at_once, |now| vec![now]);
        }
        assert!(session.is_exact(), "seed {seed}");
    }
}

/// Two region servers, one gateway: bodies change servers, the client sees no jump and gets no second introduction.
#[test]
fn a_body_that_changes_servers_does_not_jump() {
    let settings = StreamSettings::default();
    let mut balls = Balls::new(20, 24);
    let mut servers = [Exporter::new(settings), Exporter::new(settings)];
    let mut encoder = StreamEncoder::new(settings);
    let mut client = StreamDecoder::new(settings);
    balls.bodies.keys().for_each(|id| encoder.enter(*id));
    let owner = |id: BodyId, tick: u64| usize::from((id.0 * 7 + tick) % 40 < 20);
    let mut moved = 0;
    let mut history = Vec::new();
    for tick in 0..600_u64 {
        for id in balls.bodies.keys() {
            let (from, to) = (owner(*id, tick.max(1) - 1), owner(*id, tick));
            if from != to && tick > 0 {
                let body = servers[from].release(*id).expect("the old server had it");
                servers[to].adopt(*id, body);
                moved += 1;
            }
        }
        let mut update = false;
        for (index, server) in servers.iter_mut().enumerate() {
            let mine = balls
                .samples()
                .into_iter()
                .filter(|s| owner(s.id, tick) == index);
            update = server.observe(tick, mine);
        }
        history.push(balls.samples());
        if update {
            for packet in encoder.update(tick, &[&servers[0], &servers[1]]) {
                client.receive(&packet).unwrap();
                encoder.acknowledge(tick, &client.acknowledge()).unwrap();
            }
        }
        if let Some(shown) = tick.checked_sub(settings.delay_ticks) {
            for sample in &history[shown as usize] {
                let place = client
                    .shown(sample.id, shown as f64)
                    .expect("always there")
                    .position;
                let off = place.distance(sample.motion.position);
                assert!(off <= settings.tolerance_m, "{} {off} at {tick}", sample.id);
            }
        }
        balls.step();
    }
    assert!(moved > 500, "{moved}");
}

/// Two region servers in processes of their own, a gateway in a third, one client that sees everything. Bodies change servers; each
/// region tells the gateway what it tells any client.
struct Cluster {
    balls: Balls,
    regions: [(Exporter, StreamEncoder); 2],
    feeds: [Feed; 2],
    to_client: StreamEncoder,
    client: StreamDecoder,
    introductions: usize,
}

impl Cluster {
    fn new(balls: Balls) -> Self {
        let settings = StreamSettings::default();
        let region = || (Exporter::new(settings), StreamEncoder::new(settings));
        Self {
            balls,
            regions: [region(), region()],
            feeds: [Feed::new(settings), Feed::new(settings)],
            to_client: StreamEncoder::new(settings),
            client: StreamDecoder::new(settings),
            introductions: 0,
        }
    }

    fn owner(id: BodyId, tick: u64) -> usize {
        usize::from((id.0 * 7 + tick) % 40 < 20)
    }

    /// One tick; `is_lost` decides about each packet between the processes.
    fn step(&mut self, tick: u64, mut is_lost: impl FnMut() -> bool) {
        for id in self.balls.bodies.keys() {
            let (from, to) = (Self::owner(*id, tick.max(1) - 1), Self::owner(*id, tick));
            if from != to && tick > 0 {
                let body = self.regions[from].0.release(*id).expect("it had it");
                self.regions[to].0.adopt(*id, body);
                self.regions[from].1.leave(*id);
            }
        }
        for (index, (exporter, to_gateway)) in self.regions.iter_mut().enumerate() {
            let mine = |sample: &reckoning::stream::Sample| Self::owner(sample.id, tick) == index;
            if !exporter.observe(tick, self.balls.samples().into_iter().filter(mine)) {
                continue;
            }
            to_gateway.follow(exporter);
            let feed = &mut self.feeds[index];
            for packet in to_gateway.update(tick, &[exporter]) {
                if !is_lost() {
                    feed.receive(&packet).expect("an honest region");
                    to_gateway.acknowledge(tick, &feed.acknowledge()).unwrap();
                }
            }
        }
        if tick.is_multiple_of(2) {
            let sources: [&dyn Source; 2] = [&self.feeds[0], &self.feeds[1]];
            self.to_client.follow_all(&sources);
            let known = self.client.bodies().len();
            for packet in self.to_client.update(tick, &sources) {
                if !is_lost() {
                    self.client.receive(&packet).expect("an honest gateway");
                    let ack = self.client.acknowledge();
                    self.to_client.acknowledge(tick, &ack).unwrap();
                }
            }
            self.introductions += self.client.bodies().len().saturating_sub(known);
            self.feeds.iter_mut().for_each(Feed::passed_on);
        }
        self.balls.step();
    }

    /// The client follows exactly the curves of each body's owner.
    fn is_exact(&self, tick: u64) -> bool {
        self.balls.bodies.keys().all(|id| {
            let owner = &self.regions[Self::owner(*id, tick)].0;
            owner.curves(*id).is_some() && owner.curves(*id) == self.client.curves(*id)
        })
    }
}

#[test]
fn a_gateway_in_another_process_passes_on_what_the_regions_export() {
    let mut cluster = Cluster::new(Balls::new(20, 28));
    for tick in 0..601_u64 {
        cluster.step(tick, || false);
        assert!(tick % 2 == 1 || cluster.is_exact(tick), "tick {tick}");
    }
    assert_eq!(cluster.introductions, 20, "each body was introduced once");
    assert_eq!(cluster.client.bodies().len(), 20);
}

#[test]
fn a_gateway_recovers_from_losses_on_both_sides_of_it() {
    let mut rng = Pcg64Mcg::seed_from_u64(29);
    let mut cluster = Cluster::new(Balls::new(20, 29));
    let mut wrong = 0;
    for tick in 0..600_u64 {
        cluster.step(tick, || rng.random_bool(0.1));
        wrong += usize::from(tick % 2 == 0 && !cluster.is_exact(tick));
    }
    assert!(wrong > 0, "the losses mattered");
    let removed = BodyId(6);
    cluster.balls.bodies.remove(&removed);
    for tick in 600..661 {
        cluster.step(tick, || false);
    }
    assert!(cluster.is_exact(660));
    assert_eq!(cluster.client.bodies().len(), 19);
    assert_eq!(cluster.client.curves(removed), None);
}

/// The gateway itself moves to another process: the stream goes on in the middle of a sentence.
#[test]
fn a_client_that_changes_servers_notices_nothing() {
    let mut session = Session::new(Balls::new(20, 25), StreamSettings::default());
    for tick in 0..600 {
        session.step(|_, now| vec![now + 3], |now| vec![now + 3]);
        if tick % 37 == 36 {
            let bytes = postcard::to_allocvec(&(&session.exporter, &session.encoder)).unwrap();
            (session.exporter, session.encoder) = postcard::from_bytes(&bytes).unwrap();
        }
        assert!(tick < 12 || session.wrong(3).is_empty(), "tick {tick}");
    }
    assert_eq!(session.rejected, 0);
}

#[test]
fn what_is_not_finite_keeps_its_curve() {
    let mut session = Session::new(Balls::new(3, 26), StreamSettings::default());
    for _ in 0..60 {
        session.step(at_once, |now| vec![now]);
    }
    let good = session.balls.bodies.clone();
    let first = *good.keys().next().unwrap();
    session.balls.bodies.get_mut(&first).unwrap().position.x = f64::NAN;
    session.step(at_once, |now| vec![now]);
    session.balls.bodies.get_mut(&first).unwrap().position.x = 1e12;
    session.step(at_once, |now| vec![now]);
    let shown = session
        .decoder
        .shown(first, session.tick as f64)
        .expect("still there");
    assert!(shown.position.is_finite());
    session.balls.bodies = good;
    for _ in 0..20 {
        session.step(at_once, |now| vec![now]);
    }
    assert_eq!(session.wrong(0), []);
}

#[test]
fn senseless_settings_are_put_right() {
    let settings = StreamSettings {
        update_ticks: 0,
        max_packet_bytes: 0,
        ..StreamSettings::default()
    };
    let (mut exporter, mut encoder) = (Exporter::new(settings), StreamEncoder::new(settings));
    let mut client = StreamDecoder::new(settings);
    assert!(
        exporter.observe(0, Balls::new(50, 27).samples()),
        "an update each tick"
    );
    encoder.follow(&exporter);
    for packet in encoder.update(0, &[&exporter]) {
        assert!(packet.len() <= 256);
        client.receive(&packet).unwrap();
    }
    assert_eq!(client.bodies().len(), 50);
}
