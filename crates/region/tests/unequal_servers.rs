//! Servers with frames, phases and links of their own: no lock-step, no shared frame (digest 2.13).
//!
//! The driver here is the ten lines of a real server's frame, with a frame time per server and a latency per link.

use crate::common::{Setting, ball, over_the_wire};
use domain::{BodyId, RegionId, SimTime};
use region::{Region, RegionEvent};
use std::collections::BTreeMap;
use wire::Envelope;

/// How one server behaves.
#[derive(Clone, Copy)]
struct Pace {
    /// Length of its frames, milliseconds.
    frame_ms: f64,
    /// When its first frame begins, milliseconds.
    phase_ms: f64,
    /// How long its words take to anyone, milliseconds.
    latency_ms: f64,
    /// Every so many envelopes the channel has to send again, which takes 10 ms more; the later ones wait behind it. 0: never.
    lost_every: usize,
}

impl Pace {
    const EVEN: Self = Self {
        frame_ms: 5.0,
        phase_ms: 0.0,
        latency_ms: 1.0,
        lost_every: 0,
    };
}

/// What one server did.
#[derive(Default)]
struct Record {
    frames: u64,
    /// Of each frame: how many ticks were stepped and how many envelopes sent to each peer.
    ticks: Vec<u64>,
    envelopes: Vec<BTreeMap<RegionId, u64>>,
    lateness_ms: Vec<f64>,
    events: Vec<RegionEvent>,
}

struct Rig {
    servers: Vec<(Region, Pace, Record)>,
    under_way: Vec<(SimTime, Envelope)>,
    // In order per link: nothing arrives before what was said earlier.
    free_at: BTreeMap<(RegionId, RegionId), SimTime>,
    sent: BTreeMap<(RegionId, RegionId), usize>,
}

impl Rig {
    fn new(setting: &Setting, paces: &[Pace]) -> Self {
        let servers = setting.map.regions().zip(paces).map(|(id, pace)| {
            let region = Region::new(setting.region(id)).expect("a region");
            (region, *pace, Record::default())
        });
        Self {
            servers: servers.collect(),
            under_way: Vec::new(),
            free_at: BTreeMap::new(),
            sent: BTreeMap::new(),
        }
    }

    fn run(&mut self, seconds: f64) {
        loop {
            let begins = |(_, pace, record): &(Region, Pace, Record)| {
                SimTime::from_millis(pace.phase_ms + record.frames as f64 * pace.frame_ms)
            };
            let next = (0..self.servers.len()).min_by_key(|i| begins(&self.servers[*i]));
            let next = next.expect("there are servers");
            let now = begins(&self.servers[next]);
            if now > SimTime::from_secs(seconds) {
                return;
            }
            self.frame(next, now);
        }
    }

    fn frame(&mut self, index: usize, now: SimTime) {
        let id = RegionId(index as u32);
        let mut heard: Vec<_> = self
            .under_way
            .extract_if(.., |(at, envelope)| *at <= now && envelope.to == id)
            .collect();
        heard.sort_by_key(|(at, _)| *at);
        let (region, pace, record) = &mut self.servers[index];
        record.frames += 1;
        region.handle_frame(now);
        for (at, envelope) in heard {
            region.handle_message(at, envelope);
        }
        let before = region.tick();
        while region.next_wakeup() <= now {
            record
                .lateness_ms
                .push((now - region.next_wakeup()).as_millis());
            let tick = region.tick().next();
            region.handle_tick(now, tick);
        }
        record.ticks.push(region.tick().since(before));
        region.handle_network_update(now);
        let mut sent = BTreeMap::new();
        while let Some(envelope) = region.poll_transmit() {
            *sent.entry(envelope.to).or_default() += 1;
            let link = (envelope.from, envelope.to);
            let number = self.sent.entry(link).or_default();
            *number += 1;
            let lost = pace.lost_every > 0 && number.is_multiple_of(pace.lost_every);
            let arrives =
                now + SimTime::from_millis(pace.latency_ms + if lost { 10.0 } else { 0.0 });
            let free = self.free_at.entry(link).or_default();
            *free = arrives.max(*free);
            self.under_way.push((*free, over_the_wire(&envelope)));
        }
        record.envelopes.push(sent);
        while let Some(event) = region.poll_event() {
            record.events.push(event);
        }
    }

    fn owner(&self, body: u64) -> Option<usize> {
        self.servers
            .iter()
            .position(|(region, ..)| region.world().contains(BodyId(body)))
    }
}

/// AP-32: physics runs at its fixed step from an accumulator: a server whose frames last 40 ms steps two or three times in a frame and misses no tick;
/// the network is served once per frame, whatever the number of steps.
#[test]
fn long_frames_are_sub_stepped() {
    let slow = Pace {
        frame_ms: 40.0,
        ..Pace::EVEN
    };
    let setting = Setting::columns(2);
    let mut rig = Rig::new(&setting, &[slow, Pace::EVEN]);
    rig.servers[0]
        .0
        .place(&ball(1, [-0.9, 0.0], [0.0, 0.5]))
        .expect("sound");
    rig.run(2.0);
    let (region, _, record) = &rig.servers[0];
    assert_eq!(region.tick().0, 120, "all ticks of two seconds");
    assert!(
        record.ticks[1..]
            .iter()
            .all(|ticks| (2..=3).contains(ticks)),
        "{:?}",
        record.ticks
    );
    assert!(
        record
            .envelopes
            .iter()
            .all(|to| to.values().all(|count| *count == 1))
    );
    assert!(
        record.envelopes.iter().filter(|to| !to.is_empty()).count() > 40,
        "it spoke in every frame"
    );
    let (fast, _, record) = &rig.servers[1];
    assert_eq!(fast.tick().0, 120);
    assert!(record.ticks.iter().all(|ticks| *ticks <= 1));
}

/// AP-4, AP-34: frame time, latency and loss are each server's own, and each tolerance that is exceeded is counted where it shows: the slow
/// frame at the slow server, the slow words at whoever hears them.
#[test]
fn each_server_has_its_own_frames_and_links() {
    let setting = Setting::columns(3);
    let sluggish = Pace {
        frame_ms: 18.0,
        ..Pace::EVEN
    };
    let remote = Pace {
        latency_ms: 9.0,
        ..Pace::EVEN
    };
    let lossy = Pace {
        lost_every: 5,
        ..Pace::EVEN
    };
    let exceeded = |paces: [Pace; 3]| {
        let mut rig = Rig::new(&setting, &paces);
        for (region, x) in [(0, -10.9), (1, -9.1), (2, 10.9)] {
            rig.servers[region]
                .0
                .place(&ball(1 + region as u64, [x, 0.0], [0.0, 1.0]))
                .expect("sound");
        }
        rig.run(2.0);
        rig.servers
            .iter()
            .map(|(region, ..)| {
                let exceeded = region.boundary().exceeded();
                (exceeded.frame > 0, exceeded.latency > 0)
            })
            .collect::<Vec<_>>()
    };
    let none = (false, false);
    assert_eq!(exceeded([Pace::EVEN; 3]), [none; 3]);
    assert_eq!(
        exceeded([sluggish, Pace::EVEN, Pace::EVEN]),
        [(true, false), none, none]
    );
    // Region 2 speaks to region 1 only: they are neighbours.
    assert_eq!(
        exceeded([Pace::EVEN, Pace::EVEN, remote]),
        [none, (false, true), none]
    );
    assert_eq!(
        exceeded([lossy, Pace::EVEN, Pace::EVEN]),
        [none, (false, true), none]
    );
}

/// AP-23: with any phases and frame times within the tolerances two balls meet on one server, once, and no body is stepped less often than the
/// others: no lock-step is needed.
#[test]
fn phases_and_frame_times_do_not_matter() {
    for (frames, phases) in [
        ([5.0, 5.0], [0.0, 2.5]),
        ([15.0, 4.0], [3.0, 0.0]),
        ([7.3, 14.9], [6.1, 11.0]),
        ([15.0, 15.0], [0.0, 14.0]),
    ] {
        let paces = [0, 1].map(|i| Pace {
            frame_ms: frames[i],
            phase_ms: phases[i],
            latency_ms: 2.0,
            lost_every: 0,
        });
        let setting = Setting::columns(2);
        let mut rig = Rig::new(&setting, &paces);
        rig.servers[0]
            .0
            .place(&ball(1, [-4.0, 0.0], [5.0, 0.0]))
            .expect("sound");
        rig.servers[1]
            .0
            .place(&ball(2, [4.0, 0.0], [-5.0, 0.0]))
            .expect("sound");
        rig.run(1.5);
        assert_eq!(rig.owner(1), rig.owner(2), "{frames:?} {phases:?}");
        let contacts: Vec<_> = rig
            .servers
            .iter()
            .flat_map(|(_, _, record)| &record.events)
            .filter_map(|event| match event {
                RegionEvent::Contact { tick, contact } => Some((tick.0, contact.depth_m)),
                _ => None,
            })
            .collect();
        // 7 m at 10 m/s: after 0.7 s, at tick 42 or 43.
        assert_eq!(contacts.len(), 1, "{frames:?} {phases:?}: {contacts:?}");
        assert!((42..=43).contains(&contacts[0].0), "{contacts:?}");
        assert!(
            contacts[0].1 <= 10.0 / 60.0 + 1e-3,
            "not deeper than one step: {contacts:?}"
        );
    }
}
