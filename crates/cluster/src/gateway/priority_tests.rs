//! What is near comes first and always; what is far comes when there is room; in the end nothing is missing or wrong.

use super::counters::Counters;
use super::guests::{Client, Out, Outbox};
use super::live_world::LiveWorld;
use super::roles::{ClientRole, Guest};
use super::settings::ClientLimits;
use super::viewpoint::Viewpoint;
use crate::messages::{Entered, Feed};
use crate::names::Term;
use crate::schema::{ClusterView, WorldOptions, WorldSpec};
use axum::body::Bytes;
use client::{Event, Scene};
use client_protocol::{Area, Section, ToClient, VERSION, Welcome};
use domain::{Body, BodyForm, BodyId, Epoch, Motion, RegionId, Shape, SimTime, Tick};
use glam::DVec3;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Cells along a side.
const SIDE: u16 = 5;
/// Bodies in each cell, besides the traveller.
const PER_CELL: u64 = 12;
const TRAVELLER: BodyId = BodyId(9_999);
/// Shown at most so far from where it was: the stream's tolerance, and a little for its grid.
const EXACT_M: f64 = 0.02;

/// Something different for every body and frame.
fn noise(id: BodyId, frame: u64) -> u64 {
    let mut noise =
        id.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ frame.wrapping_mul(0xd6e8_feb8_6659_fd93);
    for _ in 0..2 {
        noise = (noise ^ noise >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    noise ^ noise >> 29
}

/// A world whose bodies tremble in such a way that every frame has news of every cell; the traveller crosses all of it.
struct Stage {
    world: LiveWorld,
    view: ClusterView,
    frame: u64,
    truth: BTreeMap<u64, BTreeMap<BodyId, DVec3>>,
}

impl Stage {
    fn new() -> Self {
        let options = WorldOptions {
            regions: Some(1),
            ..WorldOptions::default()
        };
        let text = scenes::builtin::text("orbit").expect("built in");
        let spec = Arc::new(WorldSpec::new(text, None, &options).expect("fits"));
        let mut world = LiveWorld::new(spec, 2, SIDE, 0).expect("valid");
        world.handle_term(SimTime::ZERO, RegionId(0), Term(1));
        Self {
            world,
            view: ClusterView::default(),
            frame: 0,
            truth: BTreeMap::new(),
        }
    }

    fn now(&self) -> SimTime {
        SimTime(self.frame * 33_333_333)
    }

    fn cell_of(id: BodyId) -> u16 {
        (id.0 / 100) as u16
    }

    fn place(&self, id: BodyId) -> DVec3 {
        let extent = self.world.spec.map.extent();
        let [width, depth] = extent.size();
        let along = |share_x: f64, share_z: f64| {
            let (x, z) = (
                extent.min[0] + share_x * width,
                extent.min[1] + share_z * depth,
            );
            DVec3::new(x, 5.0, z)
        };
        if id == TRAVELLER {
            let way = (self.frame as f64 / 400.0).fract();
            return along(0.02 + 0.96 * way, 0.5);
        }
        let cell = Self::cell_of(id);
        let [column, row] = [cell % SIDE, cell / SIDE].map(f64::from);
        let shift = (id.0 % 100) as f64 / PER_CELL as f64 * 0.5 + 0.25;
        // With every second frame on average it is somewhere else.
        let jumps = |frame: &u64| *frame == 0 || noise(id, *frame) & 1 == 0;
        let jumped = (0..=self.frame).rev().find(jumps).expect("at the start");
        let tremble = ((noise(id, jumped) >> 40) as f64 / f64::from(1 << 24) - 0.5) * 0.8;
        let side = f64::from(SIDE);
        along((column + 0.5) / side, (row + shift) / side) + DVec3::splat(tremble)
    }

    fn ids() -> impl Iterator<Item = BodyId> {
        let cells = 0..u64::from(SIDE * SIDE);
        let ids = cells.flat_map(|cell| (0..PER_CELL).map(move |n| BodyId(cell * 100 + n)));
        ids.chain([TRAVELLER])
    }

    fn advance(&mut self) {
        self.frame += 1;
        let places: BTreeMap<BodyId, DVec3> = Self::ids().map(|id| (id, self.place(id))).collect();
        let whole = self.frame == 1;
        let entered = |(id, place): (&BodyId, &DVec3)| Entered {
            body: Body::new(
                *id,
                BodyForm::of(Shape::Sphere { radius: 0.3 }),
                Motion::at(*place),
            ),
            epoch: Epoch(1),
        };
        let feed = Feed {
            tick: Tick(self.frame * 2),
            whole,
            entered: places.iter().filter(|_| whole).map(entered).collect(),
            moved: places
                .iter()
                .map(|(id, place)| (*id, Motion::at(*place)))
                .collect(),
            ..Feed::default()
        };
        self.truth.insert(self.frame, places);
        let now = self.now();
        self.world.handle_feed(now, RegionId(0), &feed);
        let (number, late) = self.world.due(now).expect("all have told");
        assert_eq!((number, late), (self.frame, false));
        let frame = self.world.export(number);
        self.world.encode(&frame);
    }

    /// What a viewpoint gets in this frame.
    fn serve(&mut self, view: &mut Viewpoint, join_bytes: usize) -> Vec<Bytes> {
        let world = Bytes::from(self.world.message(&self.view).encode());
        let now = self.now();
        let fan_out = self
            .world
            .fan_out(now, true, &self.view, Some(&world), join_bytes);
        let mut fan_out = fan_out.expect("there are frames");
        let mut messages = view.greet(&fan_out);
        messages.extend(view.next_message(&mut fan_out));
        messages
    }

    fn nearest_first(&self) -> Vec<u16> {
        self.world.cells.touched(&domain::Rect::EVERYWHERE)
    }
}

/// A client's end.
struct Watcher {
    scene: Scene,
    /// Frames in which a packet of each cell came, and cells in the order in which they began.
    packets: BTreeMap<u16, u64>,
    begun: Vec<u16>,
    bytes: usize,
    left: Vec<BodyId>,
}

impl Watcher {
    fn new(stage: &Stage) -> Self {
        let stream = stage.world.stream();
        let mut scene = Scene::new(true);
        let welcome = Welcome {
            version: VERSION,
            session: 1,
            role: 0,
            clock: SimTime::ZERO,
            tick: stage.world.step(),
            frame_ticks: 2,
            delay_frames: stream.delay_ticks as u8,
            tolerance_m: stream.tolerance_m as f32,
            tolerance_rad: stream.tolerance_rad as f32,
        };
        let message = ToClient::Welcome(welcome);
        scene
            .handle_message(SimTime::ZERO, 0, &message)
            .expect("sound");
        Self {
            scene,
            packets: BTreeMap::new(),
            begun: Vec::new(),
            bytes: 0,
            left: Vec::new(),
        }
    }

    fn take(&mut self, bytes: &Bytes) {
        let message = ToClient::decode(bytes).expect("a message");
        if let ToClient::Update { sections, .. } = &message {
            self.bytes += bytes.len();
            let mut told = BTreeSet::new();
            for (cell, section) in sections.iter() {
                match section {
                    Section::Packet(_) => drop(told.insert(cell)),
                    Section::Begin { .. } => self.begun.push(cell),
                    _ => {}
                }
            }
            for cell in told {
                *self.packets.entry(cell).or_default() += 1;
            }
        }
        self.scene
            .handle_message(SimTime::ZERO, bytes.len(), &message)
            .expect("it can be decoded");
        for event in self.scene.take_events() {
            if let Event::Left { body, .. } = event {
                self.left.push(body);
            }
        }
    }

    /// How far from the truth each body of these cells is shown; `None`: one is not there at all.
    fn error(&self, stage: &Stage, cells: &[u16]) -> Option<f64> {
        let shown = stage.frame - 1;
        let ids = Stage::ids().filter(|id| cells.contains(&Stage::cell_of(*id)));
        let mut most = 0.0_f64;
        for id in ids {
            let pose = self.scene.pose(id, shown as f64)?;
            most = most.max(pose.position.distance(stage.truth[&shown][&id]));
        }
        Some(most)
    }
}

/// A frame for one viewpoint and its client.
fn step(stage: &mut Stage, view: &mut Viewpoint, watcher: &mut Watcher) {
    stage.advance();
    for message in stage.serve(view, usize::MAX) {
        watcher.take(&message);
    }
}

fn press_to(stage: &mut Stage, view: &mut Viewpoint, watcher: &mut Watcher, level: u8) {
    while view.strain().level() < level {
        step(stage, view, watcher);
        view.observe_strain(stage.now(), true);
    }
    // Until streams that are told less often have been joined.
    for _ in 0..8 {
        step(stage, view, watcher);
    }
}

#[test]
fn under_strain_near_cells_come_with_every_frame_far_ones_less_often_and_later_all_is_right() {
    let mut stage = Stage::new();
    let mut view = Viewpoint::new(Area::Everything, 1);
    let mut watcher = Watcher::new(&stage);
    for _ in 0..20 {
        step(&mut stage, &mut view, &mut watcher);
    }
    let order = stage.nearest_first();
    let (near, far) = (&order[..6], &order[13..]);
    let run = |stage: &mut Stage, view: &mut Viewpoint, watcher: &mut Watcher| {
        watcher.packets.clear();
        watcher.bytes = 0;
        let mut errors = (0.0_f64, 0.0_f64);
        for _ in 0..40 {
            step(stage, view, watcher);
            let of = |cells| watcher.error(stage, cells).expect("all are there");
            errors = (errors.0.max(of(near)), errors.1.max(of(far)));
        }
        (errors, watcher.bytes)
    };
    let (errors, everything) = run(&mut stage, &mut view, &mut watcher);
    assert!(errors.0 < EXACT_M && errors.1 < EXACT_M, "{errors:?}");
    assert!(order.iter().all(|cell| watcher.packets[cell] >= 39));

    let mut before = everything;
    for (level, frames) in [(1, 20), (2, 10), (3, 10)] {
        press_to(&mut stage, &mut view, &mut watcher, level);
        let (errors, bytes) = run(&mut stage, &mut view, &mut watcher);
        assert!(errors.0 < EXACT_M, "near is exact: {errors:?}");
        assert!(errors.1 > 0.1, "far lags behind: {errors:?}");
        assert!(near.iter().all(|cell| watcher.packets[cell] >= 39));
        for cell in far {
            assert_eq!(watcher.packets[cell], frames, "cell {cell}, strain {level}");
        }
        assert!(bytes < before, "{bytes} instead of {before}");
        before = bytes;
    }
    println!("40 frames: {everything} bytes, under strain {before}");
    assert_eq!(
        watcher.left,
        [],
        "nobody was lost sight of, the traveller neither"
    );

    while view.strain().level() > 0 {
        step(&mut stage, &mut view, &mut watcher);
        view.observe_strain(stage.now(), false);
    }
    for _ in 0..8 {
        step(&mut stage, &mut view, &mut watcher);
    }
    let (errors, _) = run(&mut stage, &mut view, &mut watcher);
    assert!(errors.0 < EXACT_M && errors.1 < EXACT_M, "{errors:?}");
    assert!(order.iter().all(|cell| watcher.packets[cell] >= 39));
    assert_eq!(watcher.left, []);
}

#[test]
fn under_the_greatest_strain_only_what_is_near_is_told_and_the_rest_comes_back() {
    let mut stage = Stage::new();
    let mut view = Viewpoint::new(Area::Everything, 1);
    let mut watcher = Watcher::new(&stage);
    press_to(&mut stage, &mut view, &mut watcher, 4);
    let order = stage.nearest_first();
    let seen = |watcher: &Watcher, cells: &[u16]| {
        let ids = Stage::ids().filter(|id| cells.contains(&Stage::cell_of(*id)));
        ids.filter(|id| watcher.scene.body(*id).is_some()).count()
    };
    assert!(watcher.error(&stage, &order[..6]).expect("there") < EXACT_M);
    assert_eq!(seen(&watcher, &order[..13]), 13 * PER_CELL as usize);
    assert_eq!(seen(&watcher, &order[13..]), 0, "there is no room for them");
    while view.strain().level() > 0 {
        step(&mut stage, &mut view, &mut watcher);
        view.observe_strain(stage.now(), false);
    }
    for _ in 0..8 {
        step(&mut stage, &mut view, &mut watcher);
    }
    assert!(watcher.error(&stage, &order).expect("all are there") < EXACT_M);
}

/// Late joiners get everything, the nearest first, no more per message than there is room for.
#[test]
fn cells_are_joined_from_the_middle_of_the_area_outwards_as_many_at_once_as_fit() {
    let mut stage = Stage::new();
    for _ in 0..5 {
        stage.advance();
    }
    let extent = stage.world.spec.map.extent();
    let [width, depth] = extent.size();
    let corner = domain::Rect {
        min: extent.min,
        max: [extent.min[0] + 0.5 * width, extent.min[1] + 0.3 * depth],
    };
    for area in [Area::Everything, Area::Rect(corner)] {
        let mut view = Viewpoint::new(area, 1);
        let mut watcher = Watcher::new(&stage);
        let expected = match area {
            Area::Rect(rect) => stage.world.cells.touched(&rect),
            _ => stage.nearest_first(),
        };
        let (most, mut frames) = (600, 0);
        while watcher.begun.len() < expected.len() {
            stage.advance();
            let before = watcher.begun.len();
            for message in stage.serve(&mut view, most) {
                watcher.take(&message);
            }
            assert!(watcher.begun.len() > before, "one at least with each frame");
            frames += 1;
        }
        assert_eq!(watcher.begun, expected);
        assert!(frames > 2, "not all at once: {frames}");
        stage.advance();
        for message in stage.serve(&mut view, most) {
            watcher.take(&message);
        }
        let error = watcher.error(&stage, &expected).expect("all are there");
        assert!(error < EXACT_M, "{error}");
    }
    // From the middle of the area: the first cell holds it, and no later one is nearer.
    let first = stage.world.cells.touched(&corner)[0];
    assert_eq!(first, 1, "the middle is a quarter along x and 0.15 along z");
}

/// A client that reads two thirds of what there is keeps its connection and sees what is near as it is; when it reads faster it sees everything.
#[test]
fn a_slow_reader_is_not_cut_off_but_thinned_out_until_it_keeps_up() {
    let mut stage = Stage::new();
    let mut watcher = Watcher::new(&stage);
    let limits = ClientLimits::default();
    let counters = Arc::new(Counters::default());
    let (outbox, mut queue) = Outbox::new(&limits, Arc::clone(&counters));
    let view = Viewpoint::new(Area::Everything, 1);
    let mut client = Client::new(SimTime::ZERO, guest(), outbox, view, &limits);
    let mut run = |stage: &mut Stage, watcher: &mut Watcher, frames: u64, per_frame: i64| {
        let mut most_strain = 0;
        let mut credit = 0_i64;
        for _ in 0..frames {
            stage.advance();
            assert!(serve(stage, &mut client, &limits, &counters));
            most_strain = most_strain.max(client.view.strain().level());
            credit = (credit + per_frame).min(4 * per_frame);
            // What it has read of the next one counts.
            while credit > 0 {
                let Ok(Out::Message(message)) = queue.try_recv() else {
                    break;
                };
                credit -= message.len() as i64;
                watcher.take(&message);
            }
        }
        (
            most_strain,
            client.view.strain().level(),
            client.outbox.waiting(),
        )
    };
    let (strain, ..) = run(&mut stage, &mut watcher, 60, i64::MAX / 8);
    assert_eq!(strain, 0);
    watcher.bytes = 0;
    run(&mut stage, &mut watcher, 60, i64::MAX / 8);
    let full = watcher.bytes as i64 / 60;
    watcher.packets.clear();
    let frames = 900;
    let (strain, _, waiting) = run(&mut stage, &mut watcher, frames, full * 2 / 3);
    println!("{full} bytes per frame; strain up to {strain}, {waiting} messages waiting");
    assert!(strain > 0 && counters.skipped.get() == 0);
    let order = stage.nearest_first();
    let near = order[..6].iter().map(|cell| watcher.packets[cell]);
    // All but those that wait, and frames without news.
    assert!(near.min() >= Some(frames - limits.backlog as u64 - 5));
    let far = order[20..].iter().map(|cell| watcher.packets[cell]);
    assert!(far.max() < Some(frames * 3 / 4), "far ones are thinned out");
    let (_, strain, _) = run(&mut stage, &mut watcher, 30 * 60, i64::MAX / 8);
    assert_eq!(strain, 0);
    assert!(watcher.error(&stage, &order).expect("all are there") < EXACT_M);
}

/// The same with a budget instead of a slow line: near bodies do not pay for far ones.
#[test]
fn a_client_over_its_budget_of_bytes_is_thinned_out_to_it() {
    let mut stage = Stage::new();
    let mut watcher = Watcher::new(&stage);
    let mut view = Viewpoint::new(Area::Everything, 1);
    for frame in 0..120 {
        if frame == 30 {
            watcher.bytes = 0;
        }
        step(&mut stage, &mut view, &mut watcher);
    }
    let full = watcher.bytes as f64 / 3.0;
    let limits = ClientLimits {
        update_bytes_per_sec: 0.7 * full,
        ..ClientLimits::default()
    };
    let mut watcher = Watcher::new(&stage);
    let counters = Arc::new(Counters::default());
    let (outbox, mut queue) = Outbox::new(&limits, Arc::clone(&counters));
    let view = Viewpoint::new(Area::Everything, 1);
    let mut client = Client::new(stage.now(), guest(), outbox, view, &limits);
    let mut last = 0;
    for frame in 0..2400 {
        stage.advance();
        assert!(serve(&mut stage, &mut client, &limits, &counters));
        watcher.bytes = 0;
        while let Ok(Out::Message(message)) = queue.try_recv() {
            watcher.take(&message);
        }
        last += if frame < 600 { 0 } else { watcher.bytes };
        let near = &stage.nearest_first()[..6];
        let error = watcher.error(&stage, near).expect("there");
        assert!(frame == 0 || error < EXACT_M, "{error}");
    }
    let last = last as f64 / 60.0;
    println!("{full:.0} bytes per second for everything, {last:.0} within the budget");
    assert!(last <= 0.7 * full, "{last} of {full}");
    assert!(last >= 0.4 * full, "what fits is told: {last} of {full}");
}

fn guest() -> Guest {
    Guest {
        role: ClientRole::View,
        player: 0,
        name: "someone".to_owned(),
    }
}

/// A frame for a client with a queue. Says whether it may stay.
fn serve(
    stage: &mut Stage,
    client: &mut Client,
    limits: &ClientLimits,
    counters: &Counters,
) -> bool {
    let world = Bytes::from(stage.world.message(&stage.view).encode());
    let now = stage.now();
    let fan_out = stage
        .world
        .fan_out(now, true, &stage.view, Some(&world), 512 * 1024);
    client.serve(
        now,
        &mut fan_out.expect("there are frames"),
        limits,
        counters,
    )
}
