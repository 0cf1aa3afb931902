//! All experiments by name.

use crate::result::{ExperimentError, ExperimentInfo, ExperimentResult, RunOptions};
use crate::settings::{FRAME_TIMES, LATENCIES, SPEEDS};
use crate::{control, factor, loss, motion_lock, naive, reckoning, scale, st_latency, storey};

const ALL: &[ExperimentInfo] = &[
    ExperimentInfo {
        id: "ap-control",
        title: "Aura Projection: control run on one server (E7)",
        what: "Two spheres head-on at 1 to 64 m/s on one server (and on two): how deep are they when they are noticed?",
    },
    ExperimentInfo {
        id: "ap-speed",
        title: "Aura Projection: speed against its tolerance (E8)",
        what: "Two spheres head-on over a border, faster and faster, for tolerances of 16, 32 and 48 m/s.",
    },
    ExperimentInfo {
        id: "ap-latency",
        title: "Aura Projection: latency against its tolerance (E9)",
        what: "Two spheres head-on over a border with more and more latency, for tolerances of 2, 8 and 16 ms.",
    },
    ExperimentInfo {
        id: "ap-frame-time",
        title: "Aura Projection: frame time against its tolerance, and thrashing (E10, E11)",
        what: "Two spheres head-on over a border with longer and longer frames, for tolerances of 8.33, 15, 32 and 33.33 ms.",
    },
    ExperimentInfo {
        id: "ap-loss",
        title: "Aura Projection: packet loss (E12)",
        what: "Two spheres head-on over a border, everything at its tolerance, 0 to 20 % of the packets lost.",
    },
    ExperimentInfo {
        id: "ap-naive",
        title: "The naive baseline on E8's speeds",
        what: "The same encounters with ownership by centre and no auras.",
    },
    scale::ALL[0],
    scale::ALL[1],
    reckoning::ALL[0],
    reckoning::ALL[1],
    reckoning::ALL[2],
    reckoning::ALL[3],
    reckoning::ALL[4],
    reckoning::ALL[5],
    reckoning::ALL[6],
    motion_lock::ALL[0],
    motion_lock::ALL[1],
    motion_lock::ALL[2],
    storey::ALL[0],
    storey::ALL[1],
    storey::ALL[2],
    st_latency::INFO,
    scale::ALL[2],
    scale::ALL[3],
    scale::ALL[4],
    scale::ALL[5],
    scale::ALL[6],
];

/// All experiments, in the order of their theses: Aura Projection, dead reckoning, motion-lock, distributed collision
/// detection; then
/// how it all scales.
pub fn list() -> &'static [ExperimentInfo] {
    ALL
}

/// Runs the experiment of this name; `progress` hears the share that is done, 0 to 1.
pub fn run(
    id: &str,
    options: &RunOptions,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    let info = find("experiment", ALL, id)?;
    if options.runs == Some(0) {
        return Err(ExperimentError::NoRuns);
    }
    match info.id {
        "ap-control" => control::run(info, options, progress),
        "ap-speed" => factor::run(info, &SPEEDS, options, progress),
        "ap-latency" => factor::run(info, &LATENCIES, options, progress),
        "ap-frame-time" => factor::run(info, &FRAME_TIMES, options, progress),
        "ap-loss" => loss::run(info, options, progress),
        "ap-naive" => naive::run(info, options, progress),
        "ap-columns" | "ap-corners" => scale::run(info, options, progress),
        "st-latency" => st_latency::run(info, options, progress),
        id if id.starts_with("dr-") => reckoning::run(info, options, progress),
        id if id.starts_with("scale-") => scale::run(info, options, progress),
        id if id.starts_with("ml-") => motion_lock::run(info, options, progress),
        "st-performance" | "st-scalability" | "st-group-size" => {
            storey::run(info, options, progress)
        }
        other => unreachable!("{other} is listed but has no code"),
    }
}

/// The one of this name in a list, or an error with the nearest.
pub(crate) fn find(
    what: &'static str,
    list: &'static [ExperimentInfo],
    id: &str,
) -> Result<&'static ExperimentInfo, ExperimentError> {
    let found = list.iter().find(|info| info.id == id);
    found.ok_or_else(|| ExperimentError::Unknown {
        what,
        id: id.into(),
        nearest: nearest(list, id),
    })
}

/// The name in a list that is most like this one.
///
/// # Panics
/// If the list is empty.
pub fn nearest(list: &'static [ExperimentInfo], id: &str) -> &'static str {
    let distance = |info: &&ExperimentInfo| strsim::damerau_levenshtein(info.id, id);
    let nearest = list.iter().min_by_key(distance);
    nearest.expect("there are some").id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_name_is_answered_with_the_nearest() {
        let error = run("ap-latncy", &RunOptions::default(), &mut |_| {}).expect_err("unknown");
        assert_eq!(
            error.to_string(),
            "there is no experiment 'ap-latncy'; did you mean 'ap-latency'?"
        );
    }

    #[test]
    fn no_runs_is_an_error() {
        let options = RunOptions {
            runs: Some(0),
            ..RunOptions::default()
        };
        assert!(matches!(
            run("ap-speed", &options, &mut |_| {}),
            Err(ExperimentError::NoRuns)
        ));
    }
}
