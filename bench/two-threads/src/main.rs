//! Bare Rapier on one thread and on two, with the crowds of `auramesh bench bare`: what somebody would take instead of
//! two servers.
//!
//! ```text
//! cargo run --release -- [BODIES...] [--json]
//! ```
//!
//! Exit status: 0 fine, 1 the two have not done the same work, 2 bad usage. Whole runs alternate, round after round: two
//! worlds at once would push each other out of the machine's caches. Times are taken inside the pools: the way there is
//! not counted.

use domain::{Layout, RegionId, RegionMap};
use rapier3d::rayon::{ThreadPool, ThreadPoolBuilder};
use scenes::{Crowd, Scene};
use std::process::ExitCode;
use std::time::Instant;
use world::{Bare, WorldConfig};

/// As `auramesh bench bare`.
const SIZES: [usize; 9] = [64, 125, 250, 500, 1000, 2000, 4000, 8000, 16_000];
const SECONDS: f64 = 8.0;
const SETTLED_AFTER_S: f64 = 2.0;
const SEED: u64 = 7;
const THREADS: [usize; 2] = [1, 2];
const ROUNDS: usize = 3;

fn main() -> ExitCode {
    let (sizes, json) = match arguments(std::env::args().skip(1)) {
        Ok(asked) => asked,
        Err(why) => {
            eprintln!("{why}\nusage: two-threads [BODIES...] [--json]");
            return ExitCode::from(2);
        }
    };
    let pools = THREADS.map(pool);
    let mut rows = Vec::new();
    if !json {
        println!(
            "| Bodies | 1 thread, ms (mean) | 2 threads, ms (mean) | Times faster |\n| --- | --- | --- | --- |"
        );
    }
    for bodies in sizes {
        let Some(row) = measure(bodies, &pools) else {
            eprintln!("{bodies} bodies: one thread and two have moved them differently");
            return ExitCode::from(1);
        };
        if !json {
            println!("{}", row.line());
        }
        rows.push(row.json());
    }
    if json {
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        println!(
            "{{\"seed\":{SEED},\"cores\":{cores},\"rows\":[{}]}}",
            rows.join(",")
        );
    }
    ExitCode::SUCCESS
}

fn arguments(words: impl Iterator<Item = String>) -> Result<(Vec<usize>, bool), String> {
    let (mut sizes, mut json) = (Vec::new(), false);
    for word in words {
        match word.parse() {
            Ok(bodies) if (50..=100_000).contains(&bodies) => sizes.push(bodies),
            Ok(_) => return Err(format!("{word}: must be 50 to 100000 bodies")),
            Err(_) if word == "--json" => json = true,
            Err(_) => return Err(format!("{word}: neither a number of bodies nor --json")),
        }
    }
    if sizes.is_empty() {
        sizes = SIZES.into();
    }
    Ok((sizes, json))
}

fn pool(threads: usize) -> ThreadPool {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.expect("a machine that cannot start two threads can measure nothing")
}

/// Milliseconds per step, of one thread and of two, in each round.
struct Row {
    bodies: usize,
    rounds_ms: Vec<[f64; 2]>,
}

impl Row {
    fn median_ms(&self, index: usize) -> f64 {
        median(self.rounds_ms.iter().map(|round| round[index]).collect())
    }

    fn times_faster(&self) -> Vec<f64> {
        self.rounds_ms.iter().map(|[one, two]| one / two).collect()
    }

    fn line(&self) -> String {
        let mut factors = self.times_faster();
        factors.sort_by(f64::total_cmp);
        format!(
            "| {} | {:.3} | {:.3} | {:.2} ({:.2} to {:.2}) |",
            self.bodies,
            self.median_ms(0),
            self.median_ms(1),
            factors[factors.len() / 2],
            factors[0],
            factors[factors.len() - 1]
        )
    }

    fn json(&self) -> String {
        format!(
            "{{\"bodies\":{},\"rounds\":{},\"one_ms\":{:.5},\"two_ms\":{:.5},\"times_faster\":{:.4}}}",
            self.bodies,
            self.rounds_ms.len(),
            self.median_ms(0),
            self.median_ms(1),
            median(self.times_faster())
        )
    }
}

/// `None` if the two have not done the same work.
fn measure(bodies: usize, pools: &[ThreadPool; 2]) -> Option<Row> {
    let crowd = Crowd {
        bodies,
        ..Crowd::default()
    };
    let scene = crowd.scene();
    let mut rounds_ms = Vec::new();
    for _ in 0..ROUNDS {
        let [(one_ms, one), (two_ms, two)] = [0, 1].map(|index| run(&scene, &pools[index]));
        if !one.motions().eq(two.motions()) {
            return None;
        }
        rounds_ms.push([one_ms, two_ms]);
    }
    Some(Row { bodies, rounds_ms })
}

/// Mean wall time of a step once the crowd is complete, milliseconds, and the world after the last.
fn run(scene: &Scene, pool: &ThreadPool) -> (f64, Bare) {
    let mut world = furnished(scene);
    let mut spawns = scene.spawns(SEED).into_iter().peekable();
    let settled = scene.step.ticks_in(SETTLED_AFTER_S);
    let mut spent_ms = Vec::new();
    for tick in 1..=scene.step.ticks_in(SECONDS) {
        let now = tick as f64 * scene.step.as_secs();
        while let Some(spawn) = spawns.next_if(|spawn| spawn.at <= now) {
            world
                .spawn(&spawn.body)
                .expect("a crowd's bodies are sound");
        }
        let ms = timed_step(pool, &mut world);
        if tick > settled {
            spent_ms.push(ms);
        }
    }
    (spent_ms.iter().sum::<f64>() / spent_ms.len() as f64, world)
}

fn furnished(scene: &Scene) -> Bare {
    let map = RegionMap::build(Layout::Single, 1, scene.world).expect("one region always fits");
    let config = WorldConfig {
        gravity: scene.gravity,
        step: scene.step,
        origin: map.origin(RegionId(0)),
    };
    let mut world = Bare::new(&config, &scene.statics).expect("a crowd's walls are sound");
    for body in &scene.bodies {
        world.spawn(body).expect("a crowd's bodies are sound");
    }
    world
}

/// Wall time: two threads are to take less of it, not less work.
fn timed_step(pool: &ThreadPool, world: &mut Bare) -> f64 {
    pool.install(|| {
        let start = Instant::now();
        world.step();
        start.elapsed().as_secs_f64() * 1e3
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Result<(Vec<usize>, bool), String> {
        arguments(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn sizes_and_form_can_be_asked_for() {
        assert_eq!(asked(""), Ok((SIZES.to_vec(), false)));
        assert_eq!(asked("500 --json 1000"), Ok((vec![500, 1000], true)));
        assert!(asked("5").is_err() && asked("many").is_err() && asked("--jsn").is_err());
    }

    /// The contract of the engine that makes the comparison one.
    #[test]
    fn two_threads_do_the_work_of_one() {
        let row = measure(300, &THREADS.map(pool)).expect("the same motion, to the last bit");
        assert_eq!((row.bodies, row.rounds_ms.len()), (300, ROUNDS));
        assert!(row.rounds_ms.as_flattened().iter().all(|ms| *ms > 0.0));
    }

    #[test]
    fn factors_are_those_of_a_round() {
        let row = Row {
            bodies: 500,
            rounds_ms: vec![[1.0, 0.5], [3.0, 2.0], [1.1, 0.5]],
        };
        assert_eq!(row.line(), "| 500 | 1.100 | 0.500 | 2.00 (1.50 to 2.20) |");
        assert!(
            row.json().ends_with("\"times_faster\":2.0000}"),
            "{}",
            row.json()
        );
    }
}
