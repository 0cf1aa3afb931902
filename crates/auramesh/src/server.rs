//! `auramesh server`: a region server.

use crate::Status;
use crate::args::ServerArgs;
use crate::cluster_process::{block_on, connection, start_logging, stop_signal};
use cluster::node::Node;
use cluster::schema::Role;
use cluster::server::{HostSettings, Server};

/// Serves until it is told to stop; then gives its regions away.
pub fn run(args: ServerArgs) -> Status {
    start_logging("info");
    let result = block_on(serve(&args)).and_then(|result| result);
    match result {
        Ok(()) => Status::Fine,
        Err(reason) => {
            eprintln!("{reason}");
            Status::BadInput
        }
    }
}

async fn serve(args: &ServerArgs) -> Result<(), String> {
    let connection = connection(&args.cluster)?;
    let stop = stop_signal(args.cluster.with_parent);
    let name = args.cluster.name.as_deref().unwrap_or("server");
    let node = Node::join(&connection, Role::Server, name, None)
        .await
        .map_err(|error| format!("cannot join: {error}"))?;
    tracing::info!(node = %node.id, name, "joined");
    let settings = HostSettings::default();
    let (carrier, switchboard) = (node.carrier, node.switchboard);
    let server = Server::new(node.id, node.clock, carrier, switchboard, settings)
        .map_err(|error| format!("cannot start: {error}"))?;
    server.run(node.membership, stop).await;
    Ok(())
}
