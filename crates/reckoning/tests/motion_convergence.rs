//! What convergence at the receiver costs and gains, measured: distance to the truth against jumps.
//!
//! `cargo test --release -p auramesh-reckoning --test all motion_convergence -- --nocapture` prints the table.

use domain::{BodyId, SimTime};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use reckoning::motion::{
    ClockMode, Convergence, Driver, Receiver, Smoother, Thresholds, Trigger, VisualError,
};
use std::collections::VecDeque;

const SEEDS: u64 = 10;
const FRAMES: u64 = 6_000;
const FRAME: SimTime = SimTime(20_000_000);
const STYLES: [Convergence; 3] = [Convergence::Snap, Convergence::Linear, Convergence::Hermite];

/// Drives two minutes, shows them in one style at this delay, and measures every frame.
fn watch(driver: &Driver, style: Convergence, delay: SimTime, blend: SimTime) -> VisualError {
    let entity = BodyId(1);
    let mut trigger = Trigger::new(entity, Thresholds::bzflag());
    let mut receiver = Receiver::new(entity, ClockMode::Global);
    let mut smoother = Smoother::new(style, blend);
    let mut in_flight = VecDeque::new();
    let mut error = VisualError::default();
    for now in (0..FRAMES).map(|frame| SimTime(frame * FRAME.0)) {
        let state = driver.state_at(now);
        if let Some(vector) = trigger.observe(now, &state) {
            in_flight.push_back((now + delay, vector));
        }
        while let Some((_, vector)) = in_flight.pop_front_if(|(arrival, _)| *arrival <= now) {
            let old = receiver.place(now);
            receiver.receive(now, &vector).expect("in order");
            let new = receiver.place(now).expect("just received");
            if let Some(old) = old {
                smoother.handle_switch(now, &old, &new);
            }
        }
        if let Some(path) = receiver.place(now) {
            error.observe(now, &smoother.show(now, &path), state.position);
        }
    }
    error
}

#[derive(Clone, Copy, Default)]
struct Mean {
    error_m: f64,
    worst_m: f64,
    worst_jump_m: f64,
    jump_mm: f64,
    kink: f64,
}

/// The same drives and delays for every style.
fn measure(name: &str, style: Convergence, delay_ms: f64) -> Mean {
    let duration = SimTime(FRAMES * FRAME.0);
    let mut mean = Mean::default();
    for seed in 0..SEEDS {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let driver = match name {
            "smooth" => Driver::smooth(&mut rng, duration),
            _ => Driver::stop_and_go(&mut rng, duration),
        };
        let error = watch(
            &driver,
            style,
            SimTime::from_millis(delay_ms),
            SimTime::from_millis(150.0),
        );
        let part = 1.0 / SEEDS as f64;
        mean.error_m += part * error.mean_m();
        mean.worst_m += part * error.worst_m();
        mean.worst_jump_m += part * error.worst_jump_m();
        mean.jump_mm += part * 1e3 * error.mean_jump_m();
        mean.kink += part * error.worst_velocity_jump();
    }
    mean
}

#[test]
fn smoothing_trades_a_little_distance_for_no_jumps() {
    println!("{SEEDS} seeds of 120 s at 50 Hz, blend 150 ms; metres, m/s; means over seeds");
    println!(
        "driver       delay  style    mean err  worst err  worst jump  mean jump/frame  worst velocity jump"
    );
    for name in ["smooth", "stop-and-go"] {
        for delay_ms in [100.0, 300.0] {
            let measured = STYLES.map(|style| measure(name, style, delay_ms));
            for (style, m) in STYLES.iter().zip(&measured) {
                println!(
                    "{name:12} {delay_ms:3} ms {:8} {:8.3}  {:9.3}  {:10.3}  {:12.2} mm  {:15.2}",
                    format!("{style:?}"),
                    m.error_m,
                    m.worst_m,
                    m.worst_jump_m,
                    m.jump_mm,
                    m.kink
                );
            }
            let [snap, linear, hermite] = measured;
            assert!(
                snap.error_m < linear.error_m.min(hermite.error_m),
                "snapping never lags"
            );
            assert!(
                hermite.worst_jump_m < 0.5 * snap.worst_jump_m,
                "but it jumps"
            );
            assert!(linear.worst_jump_m < 0.5 * snap.worst_jump_m);
        }
    }
}
