//! How what is drawn gets from the old path to the new one: snap, linear, Hermite (beyond the thesis, which snaps).

use super::accuracy::DELAYS_MS;
use super::motion::Motion;
use super::playback::Playback;
use super::summary::Summary;
use super::trace::{Trace, frames};
use super::{Scale, parallel};
use crate::result::{Claim, ExperimentResult};
use crate::table::Table;
use domain::{BodyId, SimTime};
use reckoning::fairness::Link;
use reckoning::motion::{ClockMode, Convergence, Receiver, Smoother, VisualError};
use serde_json::json;

const STYLES: [(Convergence, &str); 3] = [
    (Convergence::Snap, "snap"),
    (Convergence::Linear, "linear"),
    (Convergence::Hermite, "Hermite"),
];
/// The offset fades over this time.
const BLEND: SimTime = SimTime(150_000_000);

/// What all styles show of the same drive, and how often it triggered.
fn watch(motion: Motion, delay_ms: f64, seed: u64, secs: f64) -> (f64, [VisualError; 3]) {
    let trace = Trace::record(motion, BodyId(1), seed, secs);
    let link = Link::fixed(delay_ms);
    let mut playback = Playback::new(&trace, &link, &link, seed);
    let mut receiver = Receiver::new(BodyId(1), ClockMode::Global);
    let mut smoothers = STYLES.map(|(style, _)| Smoother::new(style, BLEND));
    let mut errors = [VisualError::default(); 3];
    for now in frames(trace.duration) {
        for arrival in playback.due(now) {
            let old = receiver.place(arrival.at);
            receiver
                .receive(arrival.at, &arrival.vector)
                .expect("a fixed delay keeps the order");
            let new = receiver.place(arrival.at);
            if let (Some(old), Some(new)) = (old, new) {
                for smoother in &mut smoothers {
                    smoother.handle_switch(arrival.at, &old, &new);
                }
            }
        }
        let Some(path) = receiver.place(now) else {
            continue;
        };
        let real = trace.course.state_at(now).position;
        for (error, smoother) in errors.iter_mut().zip(&smoothers) {
            error.observe(now, &smoother.show(now, &path), real);
        }
    }
    (trace.rate(), errors)
}

/// Adds the table and its claims.
pub(super) fn add(result: &mut ExperimentResult, scale: &Scale, progress: &mut dyn FnMut(f64)) {
    let mut jobs = Vec::new();
    for motion in Motion::REGIMES {
        for delay_ms in DELAYS_MS {
            jobs.extend((0..scale.seeds).map(|run| (motion, delay_ms, run)));
        }
    }
    let work = |(motion, delay_ms, run): &(Motion, f64, u32)| {
        watch(
            *motion,
            *delay_ms,
            motion.seed(scale.seed, *run),
            scale.secs,
        )
    };
    let watched = parallel::map(&jobs, work, progress);
    let mut table = Table::new(
        "Beyond the thesis: convergence over 150 ms, what is drawn against the truth; units, units/s",
        &[
            "Motion",
            "Triggers/s",
            "Delay",
            "Style",
            "Mean error",
            "Mean jump per frame",
            "Worst jump",
            "Worst change of velocity",
        ],
    );
    let (mut smoother, mut nearer) = (0, 0);
    for case in jobs
        .chunks(scale.seeds as usize)
        .zip(watched.chunks(scale.seeds as usize))
    {
        let (motion, delay_ms, _) = case.0[0];
        let rate = Summary::of(case.1.iter().map(|(rate, _)| *rate));
        for (index, (_, name)) in STYLES.iter().enumerate() {
            let over = |of: fn(&VisualError) -> f64| {
                Summary::of(case.1.iter().map(|(_, errors)| of(&errors[index])))
            };
            let (error, jump) = (over(VisualError::mean_m), over(VisualError::mean_jump_m));
            let worst = over(VisualError::worst_jump_m);
            let kink = over(VisualError::worst_velocity_jump);
            result.rows.push(json!({
                "table": "convergence",
                "motion": motion,
                "delay_ms": delay_ms,
                "style": name,
                "seeds": scale.seeds,
                "triggers_per_sec": rate.json(),
                "mean_error": error.json(),
                "mean_jump": jump.json(),
                "worst_jump": worst.json(),
                "worst_velocity_change": kink.json(),
                "published": null,
            }));
            table.push(vec![
                motion.name().into(),
                format!("{:.1}", rate.mean),
                format!("{delay_ms} ms"),
                (*name).into(),
                error.text(),
                jump.text(),
                worst.text(),
                kink.text(),
            ]);
        }
        for (_, [snap, linear, hermite]) in case.1 {
            let half = 0.5 * snap.worst_jump_m();
            smoother += usize::from(linear.worst_jump_m() < half && hermite.worst_jump_m() < half);
            nearer += usize::from(snap.mean_m() <= linear.mean_m().min(hermite.mean_m()));
        }
    }
    result.tables.push(table);
    let all = jobs.len();
    result.claims.push(Claim::new(
        "beyond",
        "linear and Hermite convergence at least halve the worst jump, at every delay in both regimes",
        smoother >= super::relation::enough(all),
        format!("in {smoother} of {all} runs"),
    ));
    result.claims.push(Claim::new(
        "beyond",
        "snapping is never farther from the truth on average than fading: smoothness is paid for in distance",
        nearer >= super::relation::enough(all),
        format!("in {nearer} of {all} runs"),
    ));
}
