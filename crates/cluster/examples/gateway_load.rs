//! A live cluster with a gateway in one process, for load tests with the client's bots. With bots it ends with a verdict: may no server miss more than 1 % of its ticks?
//!
//! ```text
//! cargo build --release -p auramesh-client --example bots
//! cargo run --release -p auramesh-cluster --example gateway_load -- crates/cluster/examples/hail.toml 4 40 8090 200
//! ```

use cluster::carrier::ClusterKey;
use cluster::coordinator::{Coordinator, PlannerSettings};
use cluster::gateway::{Gateway, GatewaySettings};
use cluster::node::{Connection, Network, Node};
use cluster::schema::{Role, WorldOptions, WorldSpec};
use cluster::server::{HostSettings, Server, ServerGauges};
use cluster::store::{Embedded, Store};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("threads");
    runtime.block_on(run());
}

async fn run() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scene, servers, secs, rest @ ..] = &arguments[..] else {
        eprintln!("usage: gateway_load SCENE SERVERS SECONDS [PORT [BOTS]]");
        std::process::exit(2);
    };
    let text = match scenes::builtin::text(scene) {
        Some(text) => text.to_owned(),
        None => std::fs::read_to_string(scene).expect("a scene's name or file"),
    };
    let servers: usize = servers.parse().expect("a number of servers");
    let secs: u64 = secs.parse().expect("a number of seconds");
    let port = rest.first().map_or("8090", String::as_str);
    let options = WorldOptions {
        regions: Some(servers),
        ..WorldOptions::default()
    };
    let world = WorldSpec::new(&text, None, &options).expect("a sound scene");
    let connection = Connection {
        cluster: "load".to_owned(),
        store: Arc::new(Embedded::in_memory()) as Arc<dyn Store>,
        key: ClusterKey::none(),
        network: Network::loopback(),
        before: None,
    };
    let (stop, stopped) = watch::channel(false);
    let planner = PlannerSettings::default();
    Coordinator::start(&connection, "c", planner, Some(world), stopped.clone())
        .await
        .expect("joins");
    let mut gauges = Vec::new();
    for n in 0..servers {
        gauges.push(serve(&connection, &format!("s{n}"), stopped.clone()).await);
    }
    let bind = format!("127.0.0.1:{port}").parse().expect("a port");
    let mut settings = GatewaySettings::new(bind);
    settings.limits.connections_per_address = 1024;
    let gateway = Gateway::bind(settings).await.expect("a free port");
    println!("ws://{}/ws", gateway.address());
    let counters = gateway.counters();
    let url = Some(gateway.url());
    let node = Node::join(&connection, Role::Gateway, "g", url).await;
    let gateway = tokio::spawn(gateway.run(node.expect("joins"), stopped));
    let bots: u64 = rest
        .get(1)
        .map_or(0, |text| text.parse().expect("a number of bots"));
    let mut crowd = None;
    let mut full_load: Option<(Shares, Shares)> = None;
    let mut before = Report::default();
    for second in 1..=secs {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let now = Report::of(&counters, &gauges);
        now.print(second, &before);
        if bots > 0 && second == WARM_UP_SECS {
            crowd = Some(start_bots(
                &format!("ws://127.0.0.1:{port}/ws"),
                bots,
                secs - second,
            ));
        }
        // The seconds from all bots being there to the first one leaving.
        if bots > 0 && before.get("sessions") == bots && now.get("sessions") == bots {
            let first = full_load.take().map(|(first, _)| first);
            let shares = shares(&gauges);
            full_load = Some((first.unwrap_or_else(|| shares.clone()), shares));
        }
        before = now;
    }
    let verdict = full_load.map(|(first, last)| verdict(bots, &first, &last));
    stop.send_replace(true);
    let _ = gateway.await;
    if let Some(mut crowd) = crowd {
        let _ = crowd.wait();
        let kept = verdict.expect("all bots were connected for some seconds");
        std::process::exit(i32::from(!kept));
    }
}

/// Bots come after so many seconds: bodies are spawned and moving by then.
const WARM_UP_SECS: u64 = 6;
/// The share of its ticks that a server may miss.
const MISSED: f64 = 0.01;

/// Ticks, and late ones, of each region.
type Shares = Vec<(cluster::names::Place, u64, u64)>;

fn shares(servers: &[ServerGauges]) -> Shares {
    let regions = servers.iter().flat_map(ServerGauges::regions);
    regions
        .map(|(place, _, gauges)| (place, gauges.ticks, gauges.late_ticks))
        .collect()
}

/// Prints what share of its ticks each server has missed in between; says whether all are within the bar.
fn verdict(bots: u64, then: &Shares, now: &Shares) -> bool {
    let mut kept = true;
    for ((place, before, late_before), (_, ticks, late)) in then.iter().zip(now) {
        let (ticks, late) = (ticks - before, late - late_before);
        let share = late as f64 / ticks.max(1) as f64;
        kept &= ticks > 0 && share <= MISSED;
        println!(
            "{place}: {late} of {ticks} ticks late with {bots} clients ({:.2} %)",
            share * 100.0
        );
    }
    kept
}

/// The other example, which must have been built: bots are clients elsewhere, not threads of ours.
fn start_bots(url: &str, count: u64, secs: u64) -> std::process::Child {
    let example = std::env::current_exe()
        .expect("we run")
        .with_file_name("bots");
    // They come one after another and must be gone before the gateway is.
    let secs = secs.saturating_sub(4).max(1);
    let arguments = [url.to_owned(), count.to_string(), secs.to_string()];
    std::process::Command::new(example)
        .args(arguments)
        .spawn()
        .expect("the example bots of auramesh-client was built")
}

async fn serve(connection: &Connection, name: &str, stop: watch::Receiver<bool>) -> ServerGauges {
    let node = Node::join(connection, Role::Server, name, None).await;
    let node = node.expect("joins");
    let server = Server::new(
        node.id,
        node.clock,
        node.carrier,
        node.switchboard,
        HostSettings::default(),
    );
    let server = server.expect("starts");
    let gauges = server.gauges();
    tokio::spawn(server.run(node.membership, stop));
    gauges
}

#[derive(Default)]
struct Report {
    counters: Vec<(&'static str, u64)>,
    ticks: u64,
    late_ticks: u64,
    server_cpu_secs: f64,
    awake: u64,
}

impl Report {
    fn of(counters: &cluster::gateway::Counters, servers: &[ServerGauges]) -> Self {
        let counters = counters.all().into_iter();
        let mut report = Self {
            counters: counters.map(|(name, _, value)| (name, value)).collect(),
            ..Self::default()
        };
        for (_, _, gauges) in servers.iter().flat_map(ServerGauges::regions) {
            report.ticks += gauges.ticks;
            report.late_ticks += gauges.late_ticks;
            report.server_cpu_secs += gauges.cpu_secs;
            report.awake += u64::from(gauges.awake);
        }
        report
    }

    fn get(&self, name: &str) -> u64 {
        let found = self.counters.iter().find(|(other, _)| *other == name);
        found.map_or(0, |(_, value)| *value)
    }

    fn print(&self, second: u64, before: &Self) {
        let more = |name: &str| self.get(name) - before.get(name);
        let ms = |name: &str| more(name) / 1000;
        println!(
            "{second:>3} s: clients {}, bodies {}, frames {} ({} late), gateway cpu {} ms (curves {}, cells {}, queues {}), \
             {} messages, {} kB; servers: {} ticks, {} late, cpu {:.0} ms; skipped {}, sent away {}, clock ±{} µs",
            self.get("sessions"),
            self.get("bodies"),
            more("frames"),
            more("late_frames"),
            ms("cpu_micros"),
            ms("export_micros"),
            ms("encode_micros"),
            ms("send_micros"),
            more("messages_to_clients"),
            more("bytes_to_clients") / 1000,
            self.ticks - before.ticks,
            self.late_ticks - before.late_ticks,
            (self.server_cpu_secs - before.server_cpu_secs) * 1e3,
            self.get("skipped"),
            self.get("too_slow"),
            self.get("clock_bound_micros"),
        );
    }
}
