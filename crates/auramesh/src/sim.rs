//! `auramesh sim`: one scene under virtual time.

use crate::args::{Cuts, Policy, SimArgs};
use crate::memory::Memory;
use crate::output::{print, print_json};
use crate::progress::Progress;
use crate::{Status, reproduce, summary};
use boundary::replicate::MemberMode;
use domain::Layout;
use scenes::Scene;
use serde::Serialize;
use simulator::faults::Fault;
use simulator::frames::FrameModel;
use simulator::replicate::{Cuts as CutsOption, ReplicateOptions};
use simulator::{Outcome, SimOptions};

/// The JSON object: the outcome, and how to get it again.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    outcome: &'a Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Memory>,
    command: String,
}

/// Runs the scene and reports.
pub fn run(args: &SimArgs) -> Status {
    let outcome = match simulate(args) {
        Ok(outcome) => outcome,
        Err(reason) => {
            eprintln!("{reason}");
            return Status::BadInput;
        }
    };
    let command = reproduce::command(outcome.seed);
    let memory = Memory::so_far(outcome.bodies.end + outcome.bodies.in_flight);
    if args.json {
        print_json(&Report {
            outcome: &outcome,
            memory,
            command: command.clone(),
        });
    } else {
        print(&summary::of(&outcome, memory));
    }
    if outcome.is_clean() {
        return Status::Fine;
    }
    if let Some(violation) = &outcome.first_violation {
        eprintln!("first violation: {violation}");
    }
    eprintln!("to see it again: {command}");
    Status::Failed
}

fn simulate(args: &SimArgs) -> Result<Outcome, String> {
    let name = args.scene.as_deref().unwrap_or_default();
    let scene = Scene::load(name).map_err(|error| error.to_string())?;
    let options = options(args, &scene)?;
    let progress = Progress::new(&scene.name);
    let outcome = simulator::simulate(&scene, &options, |share| progress.set(share));
    outcome.map_err(|error| format!("{name}: {error}"))
}

fn options(args: &SimArgs, scene: &Scene) -> Result<SimOptions, String> {
    check_faults(&args.faults)?;
    let defaults = SimOptions::default();
    Ok(SimOptions {
        servers: servers(args, scene)?,
        layout: args.layout,
        seed: args.seed,
        seconds: args.seconds,
        network: args.net.unwrap_or(defaults.network),
        policy: match args.policy {
            Policy::Aura => boundary::Policy::Aura,
            Policy::Naive => boundary::Policy::Naive,
            Policy::Replicate => boundary::Policy::Replicate,
        },
        replicate: replicate(args),
        aura: args.aura.into(),
        handover: args.handover.into(),
        tie_break: !args.no_tie_break,
        promise_share: args.promise_share,
        keep_promises: !args.unkept,
        frames: args.frame_ms.map(|ms| FrameModel::Fixed(ms * 1e-3)),
        aligned_steps: !args.unaligned,
        faults: args.faults.clone(),
        ..defaults
    })
}

fn replicate(args: &SimArgs) -> ReplicateOptions {
    ReplicateOptions {
        mode: match args.unsynchronised {
            true => MemberMode::Unsynchronised,
            false => MemberMode::Synchronised,
        },
        cuts: match args.cuts {
            Cuts::Published => CutsOption::Published,
            Cuts::Balanced => CutsOption::BALANCED,
        },
        ..ReplicateOptions::default()
    }
}

/// Who is down cannot crash, and a run, which outlasts its faults, must come to an end.
fn check_faults(faults: &[Fault]) -> Result<(), String> {
    for (index, fault) in faults.iter().enumerate() {
        let (from, until) = fault.window();
        if until > scenes::MAX_SECONDS {
            let most = scenes::MAX_SECONDS;
            return Err(format!(
                "--faults {fault}: must be over after at most {most} s"
            ));
        }
        let same_server = |other: &&Fault| match (*other, fault) {
            (Fault::Crash { region: a, .. }, Fault::Crash { region: b, .. }) => a == b,
            _ => false,
        };
        let overlaps = |other: &Fault| other.window().0 <= until && from <= other.window().1;
        if faults[..index].iter().filter(same_server).any(overlaps) {
            return Err(format!(
                "--faults {fault}: that server is already down at that time"
            ));
        }
    }
    Ok(())
}

/// A layout made for one number of servers brings that number along.
fn servers(args: &SimArgs, scene: &Scene) -> Result<Option<usize>, String> {
    let boxes = scene.regions.boxes.len();
    match (args.layout, args.servers) {
        (Some(Layout::Boxes), _) if boxes == 0 => {
            Err("--layout boxes: the scene has no list of boxes (key `regions.boxes`)".into())
        }
        (Some(Layout::Boxes), Some(servers)) if servers != boxes => Err(format!(
            "--layout boxes: the scene has {boxes} boxes, so there are {boxes} servers, not {servers}"
        )),
        (_, Some(servers)) if servers > scenes::MAX_SERVERS => Err(format!(
            "--servers {servers}: at most {} are possible",
            scenes::MAX_SERVERS
        )),
        (Some(layout), None) => Ok(layout.fixed_servers()),
        (_, servers) => Ok(servers),
    }
}
