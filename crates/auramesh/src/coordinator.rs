//! `auramesh coordinator`: assigns regions to servers and notices when one dies.

use crate::Status;
use crate::args::CoordinatorArgs;
use crate::cluster_process::{
    block_on, cluster_key, connection, start_logging, stop_signal, with_store,
};
use cluster::coordinator::{Coordinator, PlannerSettings};
use cluster::node::{Connection, Node};
use cluster::schema::{Role, WorldOptions, WorldSpec};
use cluster::store::{Embedded, serve};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::TcpListener;

/// Coordinates until it is told to stop.
pub fn run(args: CoordinatorArgs) -> Status {
    start_logging("info");
    let result = block_on(coordinate(&args)).and_then(|result| result);
    match result {
        Ok(()) => Status::Fine,
        Err(reason) => {
            eprintln!("{reason}");
            Status::BadInput
        }
    }
}

async fn coordinate(args: &CoordinatorArgs) -> Result<(), String> {
    let connection = control_plane(args).await?;
    let options = WorldOptions {
        regions: args.regions,
        ..WorldOptions::default()
    };
    let world = args.scene.as_deref().map(|scene| world_of(scene, &options));
    let world = world.transpose()?;
    let stop = stop_signal(args.cluster.with_parent);
    let name = args.cluster.name.as_deref().unwrap_or("coordinator");
    let node = Node::join(&connection, Role::Coordinator, name, None)
        .await
        .map_err(|error| format!("cannot join: {error}"))?;
    let coordinator = Coordinator::new(
        node.id,
        node.clock,
        node.carrier,
        &node.switchboard,
        PlannerSettings::default(),
        world,
    );
    coordinator.run(node.membership, stop).await;
    Ok(())
}

/// Someone else's, or our own, served to everybody.
async fn control_plane(args: &CoordinatorArgs) -> Result<Connection, String> {
    let Some(address) = args.serve_control else {
        return connection(&args.cluster);
    };
    let key = cluster_key(&args.cluster)?;
    let store = match &args.control_file {
        Some(file) => Embedded::open(file).map_err(|error| error.to_string())?,
        None => Embedded::in_memory(),
    };
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| format!("--serve-control {address}: {error}"))?;
    tokio::spawn(serve(listener, store.clone(), key.clone()));
    Ok(with_store(&args.cluster, key, Arc::new(store)))
}

/// A scene by its name or path, as a world to begin with.
pub fn world_of(name: &str, options: &WorldOptions) -> Result<WorldSpec, String> {
    let (text, files) = match scenes::builtin::text(name) {
        Some(text) => (text.to_owned(), None),
        None => {
            // For its errors, which name lines and keys.
            scenes::Scene::load(name).map_err(|error| error.to_string())?;
            let path = Path::new(name);
            let text = std::fs::read_to_string(path);
            let text = text.map_err(|error| format!("cannot read {name}: {error}"))?;
            let folder = path.parent().map(PathBuf::from);
            let folder = folder.map(|folder| folder.canonicalize().unwrap_or(folder));
            (text, folder)
        }
    };
    WorldSpec::new(&text, files, options).map_err(|error| format!("{name}: {error}"))
}
