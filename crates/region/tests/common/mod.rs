//! A stage: a few regions side by side, words between them that arrive in order a fixed number of ticks later.
//! No sockets, no simulator; what is said passes through the wire format, as between real servers.

pub mod transcript;

use boundary::{AuraSize, BoundaryConfig, Tolerances};
use domain::{
    Body, BodyForm, BodyId, Layout, Motion, Rect, RegionId, RegionMap, Shape, SimTime, Static,
    StaticId, Tick,
};
use glam::{DVec3, Quat, Vec3};
use region::{Region, RegionConfig, RegionEvent, RegionSnapshot};
use std::collections::VecDeque;
use wire::{AuraDelete, AuraUpsert, Envelope, Message, Offer};

/// The regions' extent; columns of two meet at x = 0.
const EXTENT: Rect = Rect {
    min: [-30.0; 2],
    max: [30.0; 2],
};

/// Tolerances that give round numbers: bodies move at most 0.1 m per tick, a hop takes 3 ticks.
pub fn config() -> BoundaryConfig {
    BoundaryConfig {
        // Stories are told with auras that are the same for all bodies.
        aura: AuraSize::Safe,
        tolerances: Tolerances {
            speed: 6.0,
            ..Tolerances::default()
        },
        ..BoundaryConfig::default()
    }
}

/// What the audience sees of a tick, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// One region says something to another.
    Said {
        from: RegionId,
        to: RegionId,
        message: Message,
    },
    /// A region reports something.
    Happened {
        region: RegionId,
        event: RegionEvent,
    },
}

impl Line {
    pub fn upsert(&self) -> Option<(RegionId, RegionId, &AuraUpsert)> {
        match self {
            Self::Said {
                from,
                to,
                message: Message::AuraUpsert(upsert),
            } => Some((*from, *to, upsert)),
            _ => None,
        }
    }

    pub fn delete(&self) -> Option<(RegionId, RegionId, &AuraDelete)> {
        match self {
            Self::Said {
                from,
                to,
                message: Message::AuraDelete(delete),
            } => Some((*from, *to, delete)),
            _ => None,
        }
    }

    pub fn offer(&self) -> Option<(RegionId, RegionId, &Offer)> {
        match self {
            Self::Said {
                from,
                to,
                message: Message::Offer(offer),
            } => Some((*from, *to, offer)),
            _ => None,
        }
    }
}

/// Scenery, pull and habits of all regions of a stage.
#[derive(Clone)]
pub struct Setting {
    pub map: RegionMap,
    pub boundary: BoundaryConfig,
    pub gravity: Vec3,
    pub statics: Vec<Static>,
    pub snapshot_ticks: Option<u64>,
    /// What is said after tick t is heard before the step to tick t + delay; at least 1.
    pub delay_ticks: u64,
}

impl Setting {
    /// Without gravity and scenery; words need one tick.
    pub fn of(map: RegionMap) -> Self {
        Self {
            map,
            boundary: config(),
            gravity: Vec3::ZERO,
            statics: Vec::new(),
            snapshot_ticks: None,
            delay_ticks: 1,
        }
    }

    pub fn columns(count: usize) -> Self {
        Self::of(RegionMap::build(Layout::Columns, count, EXTENT).expect("a map"))
    }

    pub fn grid(count: usize) -> Self {
        Self::of(RegionMap::build(Layout::Grid, count, EXTENT).expect("a map"))
    }

    pub fn region(&self, id: RegionId) -> RegionConfig {
        RegionConfig {
            id,
            map: self.map.clone(),
            boundary: self.boundary,
            gravity: self.gravity,
            statics: self.statics.clone().into(),
            snapshot_ticks: self.snapshot_ticks,
        }
    }

    pub fn stage(self) -> Stage {
        let regions = self.map.regions();
        let regions = regions.map(|id| {
            let mut region = Region::new(self.region(id)).expect("a region");
            region.trace();
            Some(region)
        });
        Stage {
            regions: regions.collect(),
            snapshots: vec![None; self.map.len()],
            restarts: 0,
            setting: self,
            tick: Tick::ZERO,
            under_way: VecDeque::new(),
        }
    }
}

/// Regions and what is under way between them.
pub struct Stage {
    pub setting: Setting,
    regions: Vec<Option<Region>>,
    snapshots: Vec<Option<Vec<u8>>>,
    restarts: u32,
    tick: Tick,
    under_way: VecDeque<(Tick, Envelope)>,
}

impl Stage {
    pub fn now(&self) -> Tick {
        self.tick
    }

    pub fn region(&self, id: u32) -> &Region {
        self.regions[id as usize].as_ref().expect("it is up")
    }

    pub fn region_mut(&mut self, id: u32) -> &mut Region {
        self.regions[id as usize].as_mut().expect("it is up")
    }

    pub fn regions(&self) -> impl Iterator<Item = &Region> {
        self.regions.iter().flatten()
    }

    pub fn place(&mut self, region: u32, body: &Body) {
        self.region_mut(region).place(body).expect("a sound body");
    }

    /// Who has the body in its world; `None` while it is in flight.
    pub fn owner(&self, body: u64) -> Option<u32> {
        let mut owners = self
            .regions()
            .filter(|region| region.world().contains(BodyId(body)));
        let owner = owners.next().map(|region| region.id().0);
        assert!(owners.next().is_none(), "b{body} has two owners");
        owner
    }

    pub fn motion(&self, body: u64) -> Option<Motion> {
        self.regions()
            .find_map(|region| region.world().motion(BodyId(body)))
    }

    /// One tick of every region, in order of their ids: hear, step, speak.
    pub fn tick(&mut self) -> Vec<Line> {
        self.tick = self.tick.next();
        let now = self.setting.boundary.step.due(self.tick);
        let mut lines = Vec::new();
        for index in 0..self.regions.len() {
            let heard = self.arriving(RegionId(index as u32));
            let Some(mut region) = self.regions[index].take() else {
                continue;
            };
            region.handle_frame(now);
            for envelope in heard {
                region.handle_message(now, envelope);
            }
            region.handle_tick(now, self.tick);
            self.keep_snapshot(&mut region);
            region.handle_network_update(now);
            self.listen(&mut region, &mut lines);
            self.regions[index] = Some(region);
        }
        lines
    }

    pub fn run(&mut self, ticks: u64) -> Vec<Line> {
        (0..ticks).flat_map(|_| self.tick()).collect()
    }

    /// What has come for a region by now, oldest first.
    fn arriving(&mut self, to: RegionId) -> Vec<Envelope> {
        let (due, later) = std::mem::take(&mut self.under_way)
            .into_iter()
            .partition(|(at, envelope)| *at <= self.tick && envelope.to == to);
        self.under_way = later;
        VecDeque::into_iter(due)
            .map(|(_, envelope)| envelope)
            .collect()
    }

    fn keep_snapshot(&mut self, region: &mut Region) {
        let due = region.take_snapshot();
        let wanted = region.wants_snapshot().then(|| region.make_snapshot());
        if let Some(snapshot) = wanted.or(due) {
            region.snapshot_kept(snapshot.tick);
            self.snapshots[region.id().0 as usize] = Some(snapshot.to_bytes());
        }
    }

    fn listen(&mut self, region: &mut Region, lines: &mut Vec<Line>) {
        while let Some(event) = region.poll_event() {
            lines.push(Line::Happened {
                region: region.id(),
                event,
            });
        }
        while let Some(envelope) = region.poll_transmit() {
            let envelope = over_the_wire(&envelope);
            lines.extend(envelope.messages.iter().map(|message| Line::Said {
                from: envelope.from,
                to: envelope.to,
                message: message.clone(),
            }));
            self.under_way
                .push_back((self.tick + self.setting.delay_ticks, envelope));
        }
    }

    /// Whatever is under way is lost.
    pub fn lose_all(&mut self) {
        self.under_way.clear();
    }

    /// The server dies with all it has in memory. What it has said still arrives; what it is told is lost.
    pub fn crash(&mut self, region: u32) {
        self.regions[region as usize] = None;
    }

    /// It is started again from the snapshot at its standby.
    pub fn restart(&mut self, region: u32) {
        let bytes = self.snapshots[region as usize].clone();
        self.start(region, &bytes.expect("a snapshot was taken"));
    }

    /// It is started again from these bytes.
    pub fn start(&mut self, region: u32, bytes: &[u8]) {
        let snapshot = RegionSnapshot::from_bytes(bytes).expect("our own bytes");
        let config = self.setting.region(RegionId(region));
        self.restarts += 1;
        let restored = Region::restore(config, snapshot, self.restarts);
        let mut restored = restored.expect("our own snapshot");
        restored.trace();
        self.regions[region as usize] = Some(restored);
    }
}

/// An envelope as its receiver sees it.
pub fn over_the_wire(envelope: &Envelope) -> Envelope {
    let bytes = wire::encode(envelope).expect("a region says only what makes sense");
    wire::decode(&bytes).expect("just written")
}

/// An envelope with one message in it, said at the start of time.
pub fn envelope(from: u32, to: u32, message: Message) -> Envelope {
    Envelope {
        from: RegionId(from),
        to: RegionId(to),
        tick: Tick::ZERO,
        sent_at: SimTime::ZERO,
        messages: vec![message],
    }
}

fn moving(id: u64, shape: Shape, position: DVec3, velocity: Vec3) -> Body {
    let mut body = Body::new(BodyId(id), BodyForm::of(shape), Motion::at(position));
    body.motion.linear_velocity = velocity;
    body
}

/// A ball of radius 0.5 m at x, z, with a velocity along x and z.
pub fn ball(id: u64, at: [f64; 2], velocity: [f32; 2]) -> Body {
    let shape = Shape::Sphere { radius: 0.5 };
    let velocity = Vec3::new(velocity[0], 0.0, velocity[1]);
    moving(id, shape, DVec3::new(at[0], 0.5, at[1]), velocity)
}

/// A crate of one metre.
pub fn crate_(id: u64, at: [f64; 2], velocity: [f32; 2]) -> Body {
    let shape = Shape::Cuboid { size: Vec3::ONE };
    let velocity = Vec3::new(velocity[0], 0.0, velocity[1]);
    moving(id, shape, DVec3::new(at[0], 0.5, at[1]), velocity)
}

/// The plane y = 0.
pub fn ground() -> Static {
    Static {
        id: StaticId(0),
        shape: Shape::Plane,
        position: DVec3::ZERO,
        rotation: Quat::IDENTITY,
        material: Default::default(),
    }
}
