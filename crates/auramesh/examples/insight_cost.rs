//! What it costs a region that someone looks closely: CPU time per tick of gathering and encoding all layers, next to that of the tick itself.
//!
//! ```text
//! cargo run --release -p auramesh --example insight_cost -- playground 20
//! ```
//! In the simulator, one thread, CPU time: other programs on the machine change little.

use client_protocol::{Figures, Layers};
use cluster::messages::RegionState;
use cluster::server::InsightBuilder;
use cpu_time::ThreadTime;
use scenes::Scene;
use simulator::{SimOptions, Simulation};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

/// As on a live server: every third feed, a feed every second tick.
const TICKS_PER_INSIGHT: u64 = 6;

#[derive(Default)]
struct Cost {
    observing: Duration,
    taking: Duration,
    ticks: u64,
    insights: u64,
    bytes: u64,
    longest: Duration,
}

fn main() {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap_or_else(|| "playground".to_owned());
    let seconds = args.next().and_then(|text| text.parse().ok());
    let scene = Scene::load(&name).unwrap_or_else(|error| panic!("{error}"));
    let options = SimOptions {
        servers: Some(4),
        seconds: Some(seconds.unwrap_or(20.0)),
        checkers: false,
        ..SimOptions::default()
    };
    let mut simulation = Simulation::new(&scene, &options).expect("the scene fits four servers");
    let cost = Rc::new(RefCell::new(Cost::default()));
    let shared = Rc::clone(&cost);
    let mut builders: BTreeMap<u32, InsightBuilder> = BTreeMap::new();
    simulation.look(Box::new(move |look| {
        let builder = builders.entry(look.region.id().0).or_insert_with(|| {
            let mut builder = InsightBuilder::default();
            builder.want(Layers::ALL);
            builder
        });
        let mut cost = shared.borrow_mut();
        let start = ThreadTime::now();
        for events in [
            look.between,
            &look.record.before_step,
            &look.record.after_step,
        ] {
            builder.observe(look.region, events);
        }
        cost.observing += start.elapsed();
        cost.ticks += 1;
        if look.region.tick().0.is_multiple_of(TICKS_PER_INSIGHT) {
            let start = ThreadTime::now();
            let state = Some(RegionState::Running);
            let insight = builder.take(look.region, state, Figures::default());
            let spent = start.elapsed();
            cost.taking += spent;
            cost.longest = cost.longest.max(spent);
            cost.insights += 1;
            cost.bytes += insight
                .parts
                .iter()
                .map(|(_, part)| part.len() as u64)
                .sum::<u64>();
        }
    }));
    let outcome = simulation.run(|_| {});
    let cost = cost.borrow();
    let per_tick = |time: Duration| time.as_secs_f64() * 1e6 / cost.ticks as f64;
    println!(
        "{name}: {} region ticks; mean CPU per region tick {:.1} µs",
        cost.ticks,
        outcome.cpu_ms_per_tick.mean_server * 1e3
    );
    println!(
        "looking closely: {:.2} µs per tick ({:.2} µs for events, {:.2} µs for insights), the longest insight {:.0} µs, {:.0} bytes per insight",
        per_tick(cost.observing + cost.taking),
        per_tick(cost.observing),
        per_tick(cost.taking),
        cost.longest.as_secs_f64() * 1e6,
        cost.bytes as f64 / cost.insights.max(1) as f64
    );
}
