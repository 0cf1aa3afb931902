//! `auramesh coordinator`: assigns regions to servers and notices when one dies.

use crate::Status;
use crate::args::CoordinatorArgs;
use crate::cluster_process::{Settings, block_on, ended, start_logging};
use cluster::coordinator::Coordinator;
use cluster::node::Connection;
use cluster::schema::{Role, WorldOptions, WorldSpec};
use cluster::store::{Embedded, serve};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::TcpListener;

/// Coordinates until it is told to stop.
pub fn run(args: CoordinatorArgs) -> Status {
    start_logging("info");
    ended(block_on(coordinate(&args)).and_then(|result| result))
}

async fn coordinate(args: &CoordinatorArgs) -> Result<(), String> {
    let settings = settings(args)?;
    let config = &settings.config.coordinator;
    let options = WorldOptions {
        regions: config.regions,
        snapshot_ticks: config.snapshot_ticks,
        aura: config.aura,
        handover: config.handover,
        ..WorldOptions::default()
    };
    let world = config
        .scene
        .as_deref()
        .map(|scene| world_of(scene, &options));
    let mut world = world.transpose()?;
    if let Some(world) = &mut world {
        world.min_servers = config.servers.unwrap_or(1);
    }
    let planner = settings.config.planner()?;
    let connection = control_plane(&settings).await?;
    let stop = settings.stop_signal();
    let node = settings.join(&connection, Role::Coordinator).await?;
    settings
        .operate(Role::Coordinator, &node, None, None)
        .await?;
    Coordinator::serve(node, planner, world, stop).await;
    Ok(())
}

fn settings(args: &CoordinatorArgs) -> Result<Settings, String> {
    let mut settings = Settings::new(&args.cluster)?;
    let config = &mut settings.config.coordinator;
    if args.serve_control.is_some() {
        config.serve_control = args.serve_control;
    }
    if args.control_file.is_some() {
        config.control_file.clone_from(&args.control_file);
    }
    if args.scene.is_some() {
        config.scene.clone_from(&args.scene);
    }
    config.regions = args.regions.or(config.regions);
    config.servers = args.servers.or(config.servers);
    Ok(settings)
}

/// Someone else's, or our own, served to everybody.
async fn control_plane(settings: &Settings) -> Result<Connection, String> {
    let config = &settings.config.coordinator;
    let Some(address) = config.serve_control else {
        return settings.connection().await;
    };
    let key = settings.cluster_key()?;
    let store = match &config.control_file {
        Some(file) => Embedded::open(file).map_err(|error| error.to_string())?,
        None => Embedded::in_memory(),
    };
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| format!("serve_control {address}: {error}"))?;
    tokio::spawn(serve(listener, store.clone(), key.clone()));
    settings.with_store(key, Arc::new(store))
}

/// A scene by its name or path, as a world to begin with.
pub fn world_of(name: &str, options: &WorldOptions) -> Result<WorldSpec, String> {
    let (text, files) = match scenes::text_of(name) {
        Some(Ok(text)) => (text.into_owned(), None),
        _ => {
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
