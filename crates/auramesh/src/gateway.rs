//! `auramesh gateway`: what players and viewers connect to.

use crate::Status;
use crate::args::GatewayArgs;
use crate::cluster_process::{Settings, block_on, ended, start_logging};
use cluster::gateway::Gateway;
use cluster::node::Node;
use cluster::schema::Role;

/// Serves until it is told to stop.
pub fn run(args: GatewayArgs) -> Status {
    start_logging("info");
    ended(block_on(serve(&args)).and_then(|result| result))
}

async fn serve(args: &GatewayArgs) -> Result<(), String> {
    let mut settings = Settings::new(&args.cluster)?;
    let config = &mut settings.config.gateway;
    config.listen = args.listen.or(config.listen);
    if args.tokens_file.is_some() {
        config.tokens_file.clone_from(&args.tokens_file);
    }
    let feed_ticks = settings.config.server.host().feed_ticks;
    let gateway = Gateway::bind(settings.config.gateway.settings(feed_ticks)?)
        .await
        .map_err(|error| error.to_string())?;
    let connection = settings.connection().await?;
    let stop = settings.stop_signal();
    let name = settings.config.name.as_deref().unwrap_or("gateway");
    let node = Node::join(&connection, Role::Gateway, name, Some(gateway.url())).await;
    let node = node.map_err(|error| format!("cannot join: {error}"))?;
    let counters = Some(gateway.counters());
    settings
        .operate(Role::Gateway, &node, None, counters)
        .await?;
    tracing::info!(url = gateway.url(), "serving");
    gateway.run(node, stop).await;
    Ok(())
}
