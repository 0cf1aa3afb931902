//! `auramesh check`: what a scene holds, or everything that is wrong with it.

use crate::Status;
use crate::args::CheckArgs;
use crate::output::print;
use scenes::Scene;
use simulator::{SimOptions, Simulation};

/// Reads the scene and sets it up as a run would, without running it.
pub fn run(args: &CheckArgs) -> Status {
    let scene = match Scene::load(&args.scene) {
        Ok(scene) => scene,
        Err(error) => {
            eprintln!("{error}");
            return Status::BadInput;
        }
    };
    if let Err(error) = Simulation::new(&scene, &SimOptions::default()) {
        eprintln!("{}: {error}", args.scene);
        return Status::BadInput;
    }
    print(&scene.summary());
    for warning in scene.warnings() {
        eprintln!("warning: {warning}");
    }
    Status::Fine
}
