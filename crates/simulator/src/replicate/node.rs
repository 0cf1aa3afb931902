//! One simulated machine: a member, its channels, its inbox, its CPU time.

use crate::network::{Channel, ChannelConfig};
use crate::stopwatch::Stopwatch;
use boundary::replicate::{Member, MemberEvent, SubSpaces};
use cpu_time::ThreadTime;
use detection::Effort;
use domain::{Body, BodyId, Motion, RegionId, SimTime, Tick};
use scenes::Action;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use wire::replicate::{decode, encode};

/// The first byte of a datagram says what follows.
const LOSSY: u8 = 0;
const CHANNEL: u8 = 1;

/// What the scene, or the relay, asks for at a tick; every member hears it at the same one.
pub(super) enum Wish {
    Spawn(Box<Body>),
    Act(BodyId, Action),
    Correct(BodyId, Motion),
}

pub(super) struct Node {
    pub member: Member,
    pub channels: BTreeMap<RegionId, Channel>,
    /// Payloads that have arrived and are not read yet.
    pub inbox: Vec<Vec<u8>>,
    /// Added to the time at which its ticks are due.
    pub phase: SimTime,
    /// Wishes of the scene that it has heard of.
    pub wishes_heard: usize,
    /// Milliseconds of each tick, with the parcels that were read and written for it.
    pub ticks_ms: Vec<f32>,
    spent: Duration,
    /// Encoded parcels: to whom, whether reliably.
    pub outbox: Vec<(RegionId, bool, Vec<u8>)>,
    /// Bytes of results for the server (the leader only), and the results themselves if a relay wants them.
    pub for_server: u64,
    pub reports: Option<Vec<(Tick, Vec<u8>)>>,
    /// Parcels that could not be read.
    pub unreadable: u64,
    config: ChannelConfig,
    /// How much CPU time it has used, for a budget of detection; tests have their own.
    clock: fn() -> Duration,
    /// What has happened to it, if it is to be replayed.
    pub log: Option<Vec<Happened>>,
}

/// Something that happened to a member.
#[derive(Clone, Debug)]
pub(super) enum Happened {
    /// It heard the wish of this number.
    Wish(usize),
    /// It read these payloads.
    Mail(Vec<Vec<u8>>),
    /// It did an iteration.
    Step,
    /// The world was divided anew.
    Divided(u32, Arc<SubSpaces>),
}

impl Node {
    pub fn new(member: Member, phase: SimTime, config: ChannelConfig) -> Self {
        Self {
            member,
            channels: BTreeMap::new(),
            inbox: Vec::new(),
            phase,
            wishes_heard: 0,
            ticks_ms: Vec::new(),
            spent: Duration::ZERO,
            outbox: Vec::new(),
            for_server: 0,
            reports: None,
            unreadable: 0,
            config,
            clock: || ThreadTime::now().as_duration(),
            log: None,
        }
    }

    pub fn channel(&mut self, peer: RegionId) -> &mut Channel {
        let (me, config) = (self.member.id(), self.config);
        self.channels
            .entry(peer)
            .or_insert_with(|| Channel::new(me, peer, 1, config))
    }

    /// A datagram has come in.
    pub fn handle_datagram(&mut self, now: SimTime, from: RegionId, bytes: &[u8]) {
        match bytes.split_first() {
            Some((&LOSSY, payload)) => self.inbox.push(payload.to_vec()),
            Some((&CHANNEL, datagram)) => {
                let channel = self.channel(from);
                channel
                    .handle_datagram(now, datagram)
                    .expect("the simulated network does not damage datagrams");
                while channel.poll_event().is_some() {}
                while let Some(payload) = self.channel(from).poll_delivered() {
                    self.inbox.push(payload);
                }
            }
            _ => {}
        }
    }

    /// Does CPU work and counts it.
    pub fn work<T>(&mut self, what: impl FnOnce(&mut Self) -> T) -> T {
        let mut watch = Stopwatch::start();
        let result = what(self);
        self.spent += watch.lap();
        result
    }

    /// A tick is over: what was spent since the last one is its cost.
    pub fn end_tick(&mut self) {
        let spent = std::mem::take(&mut self.spent);
        self.ticks_ms.push(spent.as_secs_f32() * 1e3);
    }

    pub fn note(&mut self, happened: impl FnOnce(&Self) -> Happened) {
        if self.log.is_some() {
            let happened = happened(self);
            self.log.get_or_insert_default().push(happened);
        }
    }

    /// Does again, alone, what a node has done; the milliseconds of its ticks.
    pub fn replay(mut self, log: &[Happened], wishes: &[(u64, Wish)]) -> Vec<f32> {
        let mut entries = log.iter().peekable();
        while let Some(entry) = entries.next() {
            match entry {
                Happened::Wish(index) => self.hear(&wishes[*index].1),
                Happened::Mail(payloads) => {
                    self.inbox.clone_from(payloads);
                    let steps = entries
                        .next_if(|next| matches!(next, Happened::Step))
                        .is_some();
                    self.work(|node| node.turn(steps));
                    if steps {
                        self.end_tick();
                    }
                }
                Happened::Step => {
                    self.work(|node| node.turn(true));
                    self.end_tick();
                }
                Happened::Divided(allocation, spaces) => {
                    let spaces = spaces.clone();
                    self.work(|node| node.member.divide(*allocation, spaces));
                }
            }
            self.outbox.clear();
        }
        self.ticks_ms
    }

    fn turn(&mut self, steps: bool) {
        self.read();
        if steps {
            self.step();
        }
        self.write();
    }

    pub fn hear(&mut self, wish: &Wish) {
        match wish {
            Wish::Spawn(body) => self.member.place(body).expect("the scene was checked"),
            Wish::Act(body, Action::Impulse(impulse)) => {
                self.member.apply_impulse(*body, *impulse);
            }
            Wish::Act(body, Action::Velocity(velocity)) => {
                self.member.set_velocity(*body, *velocity);
            }
            Wish::Correct(body, motion) => self.member.correct(*body, *motion),
        }
    }

    pub fn read(&mut self) {
        for payload in std::mem::take(&mut self.inbox) {
            match decode(&payload) {
                Ok(parcel) => self.member.handle_parcel(parcel),
                Err(_) => self.unreadable += 1,
            }
        }
    }

    pub fn step(&mut self) {
        let tick: Tick = self.member.tick().next();
        match self.member.space().settings().effort {
            Effort::Fixed(_) => self.member.handle_tick(tick),
            Effort::Within(_) => self.member.handle_tick_timed(tick, self.clock),
        }
    }

    pub fn write(&mut self) {
        while let Some(transmit) = self.member.poll_transmit() {
            let bytes = encode(&transmit.parcel).expect("a member says only what makes sense");
            self.outbox.push((transmit.to, transmit.reliable, bytes));
        }
        while let Some(MemberEvent::ForServer { tick, states }) = self.member.poll_event() {
            self.for_server += states.len() as u64;
            if let Some(reports) = &mut self.reports {
                reports.push((tick, states));
            }
        }
    }

    /// Hands the outbox to channels and network.
    pub fn post(&mut self, now: SimTime, mut send: impl FnMut(RegionId, Vec<u8>)) {
        for (to, reliable, bytes) in std::mem::take(&mut self.outbox) {
            if reliable {
                // A channel that is full has a peer that is gone: nothing in these runs makes it so.
                let sent = self.channel(to).send(now, bytes);
                sent.expect("members read what is sent to them");
            } else {
                send(to, [&[LOSSY], &*bytes].concat());
            }
        }
        for (to, channel) in &mut self.channels {
            while let Some(datagram) = channel.poll_transmit(now) {
                send(*to, [&[CHANNEL], &*datagram].concat());
            }
        }
    }

    pub fn next_wakeup(&self) -> Option<SimTime> {
        let wakeups = self.channels.values().filter_map(Channel::next_wakeup);
        wakeups.min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boundary::replicate::MemberConfig;
    use detection::{Budget, Level, Settings};
    use domain::Bounds;
    use glam::DVec3;
    use std::cell::Cell;

    const MS: Duration = Duration::from_millis(1);

    thread_local! {
        /// What the next detection takes, and the time so far.
        static TAKES: Cell<Duration> = const { Cell::new(Duration::ZERO) };
        static SPENT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }

    /// Between two looks at this clock a detection has taken as long as it was told to.
    fn told() -> Duration {
        SPENT.set(SPENT.get() + TAKES.get());
        SPENT.get()
    }

    fn node(effort: Effort) -> Node {
        let world = Bounds {
            min: DVec3::splat(-10.0),
            max: DVec3::splat(10.0),
        };
        let settings = Settings {
            effort,
            ..Settings::default()
        };
        let spaces = Arc::new(SubSpaces::published(world, 1));
        let member = Member::new(MemberConfig::new(RegionId(0), spaces, settings)).expect("valid");
        let mut node = Node::new(member, SimTime::ZERO, ChannelConfig::default());
        node.clock = told;
        node
    }

    fn level_after(node: &mut Node, steps: u32, each: Duration) -> Level {
        TAKES.set(each);
        (0..steps).for_each(|_| node.step());
        node.member.space().settings().effort.level()
    }

    /// ST-13: the budget hears what detection takes. Over it, the narrow phase tries less hard, step by step; with time to spare, harder again.
    #[test]
    fn st_13_a_tight_budget_lowers_the_level_and_a_generous_one_restores_it() {
        let mut node = node(Effort::Within(Budget::new(10 * MS)));
        assert_eq!(level_after(&mut node, 5, 5 * MS), Level::FULL);
        let less = Level {
            max_contacts: Some(16),
            max_depth: Some(10),
        };
        assert_eq!(level_after(&mut node, 2, 11 * MS), less, "two too slow");
        assert_eq!(level_after(&mut node, 50, 11 * MS), Level::LEAST);
        assert_eq!(level_after(&mut node, 3, 9 * MS), Level::LEAST, "just fits");
        assert_eq!(level_after(&mut node, 50, 5 * MS), Level::FULL);
    }

    /// A fixed level hears no clock: the same bits whatever the machine does.
    #[test]
    fn st_13_a_fixed_level_does_not_ask_for_the_time() {
        let mut node = node(Effort::Fixed(Level::FULL));
        let before = SPENT.get();
        assert_eq!(level_after(&mut node, 5, 1000 * MS), Level::FULL);
        assert_eq!(SPENT.get(), before);
    }
}
