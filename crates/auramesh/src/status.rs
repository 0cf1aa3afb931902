//! `auramesh status`: who is in a cluster, and who has which region.

use crate::Status;
use crate::args::StatusArgs;
use crate::cluster_process::{Settings, block_on, ended, start_logging};
use crate::output::{print, print_json};
use cluster::operations::ClusterStatus;
use cluster::schema::{ClusterView, Keys};
use std::fmt::Write;

/// Asks the control plane and prints.
pub fn run(args: StatusArgs) -> Status {
    start_logging("error");
    ended(block_on(show(&args)).and_then(|result| result))
}

async fn show(args: &StatusArgs) -> Result<(), String> {
    let settings = Settings::new(&args.cluster)?;
    let connection = settings.connection().await?;
    let keys = Keys::new(&connection.cluster);
    let listing = connection.store.list(keys.all()).await;
    let listing = listing.map_err(|error| error.to_string())?;
    let entries = listing.entries.into_iter();
    let entries = entries.map(|entry| (entry.key.clone(), entry)).collect();
    let status = ClusterStatus::of(&ClusterView::read(&keys, &entries));
    if args.json {
        print_json(&status);
    } else {
        print(&table(&status));
    }
    Ok(())
}

fn table(status: &ClusterStatus) -> String {
    let mut text = String::new();
    let none = "-".to_owned();
    let scene = status.scene.as_ref().unwrap_or(&none);
    let started = if status.started {
        "running"
    } else {
        "not started"
    };
    let leader = status.leader.as_ref().unwrap_or(&none);
    let _ = writeln!(
        text,
        "world       {scene}, generation {}, {started}",
        status.generation
    );
    let _ = writeln!(text, "leader      {leader}");
    for node in &status.nodes {
        let role = format!("{:?}", node.role).to_lowercase();
        let url = node.url.as_deref().unwrap_or("");
        let leaving = if node.leaving { "leaving" } else { "" };
        let _ = writeln!(
            text,
            "{role:<11} {:<16} {:<22} {url}{leaving}",
            node.name, node.address
        );
    }
    for group in &status.groups {
        let shares = if group.shares_world {
            "  shares the world"
        } else {
            ""
        };
        let _ = writeln!(text, "group       {}{shares}", group.members.join(", "));
    }
    for region in &status.regions {
        let owner = region.owner.as_ref().unwrap_or(&none);
        let standby = region.standby.as_ref().unwrap_or(&none);
        let moving = if region.moving { ", moving there" } else { "" };
        let _ = writeln!(
            text,
            "region {:<4} {owner:<16} term {}, standby {standby}{moving}",
            region.region, region.term
        );
        if let Some(promises) = &region.promises {
            let _ = writeln!(
                text,
                "            held {} body ticks, at most {} in a row; largest cluster {}",
                promises.held, promises.longest_ticks, promises.largest_cluster
            );
        }
    }
    text
}
