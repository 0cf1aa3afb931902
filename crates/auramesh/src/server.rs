//! `auramesh server`: a region server.

use crate::Status;
use crate::args::ServerArgs;
use crate::cluster_process::{Settings, block_on, ended, start_logging};
use cluster::groups;
use cluster::schema::Role;
use cluster::server::Server;
use std::sync::Arc;

/// Serves until it is told to stop; then gives its regions away.
pub fn run(args: ServerArgs) -> Status {
    start_logging("info");
    ended(block_on(serve(&args)).and_then(|result| result))
}

async fn serve(args: &ServerArgs) -> Result<(), String> {
    let settings = Settings::new(&args.cluster)?;
    let connection = settings.connection().await?;
    let stop = settings.stop_signal();
    let node = settings.join(&connection, Role::Server).await?;
    let server = Server::new(
        node.id,
        Arc::clone(&node.clock),
        Arc::clone(&node.carrier),
        node.switchboard.clone(),
        settings.config.server.host(),
    );
    let server = server.map_err(|error| format!("cannot start: {error}"))?;
    settings
        .operate(Role::Server, &node, Some(server.gauges()), None)
        .await?;
    let _groups = groups::follow(&node, stop.clone());
    server.run(node.membership, stop).await;
    Ok(())
}
