//! What people and Prometheus see of a running cluster: `/healthz`, `/metrics`, `/status`, `auramesh status`, and what each process says when it starts and ends.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_auramesh");
const PAGE: &str = include_str!("../../../docs/operations.md");
const KEY: &str = "AURAMESH_CLUSTER_KEY";
/// A busy machine takes its time; to be patient costs nothing when all is well.
const PATIENCE: Duration = Duration::from_secs(40);

fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback works");
    listener.local_addr().expect("bound")
}

/// A process of the cluster, its pages, and what it has logged.
struct Role {
    child: Child,
    http: SocketAddr,
    log: PathBuf,
}

impl Drop for Role {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Role {
    fn start(folder: &Path, name: &str, key: Option<&str>, args: &[&str]) -> Self {
        let http = free_address();
        let log = folder.join(format!("{name}.log"));
        let mut command = Command::new(PROGRAM);
        command
            .args(args)
            .args(["--name", name, "--http", &http.to_string()])
            .env("AURAMESH_LOG", "info")
            .env_remove(KEY)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log).expect("a file"));
        if let Some(key) = key {
            command.env(KEY, key);
        }
        let child = command.spawn().expect("the program starts");
        Self { child, http, log }
    }

    fn logged(&self) -> String {
        std::fs::read_to_string(&self.log).expect("text")
    }

    /// A page's status and text; `None`: nobody answers there.
    fn get(&self, path: &str) -> Option<(u16, String)> {
        let mut socket = TcpStream::connect(self.http).ok()?;
        let host = self.http;
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        socket.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some((status, body.to_owned()))
    }

    fn health(&self) -> Option<u16> {
        self.get("/healthz").map(|(status, _)| status)
    }

    /// The metrics that have a value now.
    fn metrics(&self) -> BTreeSet<String> {
        let (status, page) = self.get("/metrics").unwrap_or_default();
        if status != 200 {
            return BTreeSet::new();
        }
        let values = page.lines().filter(|line| !line.starts_with('#'));
        let names = values.filter_map(|line| line.split(['{', ' ']).next());
        names.map(str::to_owned).collect()
    }

    /// SIGTERM, and how it ends.
    fn terminate(&mut self) -> ExitStatus {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status();
        assert!(sent.expect("kill runs").success());
        let mut ended = None;
        until("it ends", || {
            ended = self.child.try_wait().expect("it was started");
            ended.is_some()
        });
        ended.expect("just seen")
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let give_up = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < give_up, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The metrics in the table of the page that a process of this role has: those of its role, and those of no role.
fn documented(role: &str) -> BTreeSet<String> {
    let mut sections = PAGE.split("\n## ");
    let section = sections.find(|part| part.starts_with("What can be watched"));
    let rows = section.expect("the page has it").lines();
    let names = rows.filter_map(|row| row.strip_prefix("| `")?.split('`').next());
    let of_role = |name: &&str| match name.split('_').nth(1) {
        Some("region") => role == "server",
        Some("gateway") => role == "gateway",
        // Its own clock is everyone's.
        Some("clock") => role != "coordinator",
        // Only servers measure.
        _ if *name == "auramesh_group_round_trip_seconds" => role == "server",
        _ => true,
    };
    names.filter(of_role).map(str::to_owned).collect()
}

struct Cluster {
    folder: tempfile::TempDir,
    control: String,
    key: Option<&'static str>,
    coordinator: Role,
    servers: Vec<Role>,
    gateway: Role,
}

impl Cluster {
    fn start(key: Option<&'static str>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let control = free_address().to_string();
        let coordinator = coordinator(folder.path(), &control, key);
        let servers = ["one", "two"].map(|name| {
            let args = ["server", "--control", &control];
            Role::start(folder.path(), name, key, &args)
        });
        let listen = free_address().to_string();
        let args = ["gateway", "--control", &control, "--listen", &listen];
        let gateway = Role::start(folder.path(), "door", key, &args);
        Self {
            folder,
            control,
            key,
            coordinator,
            servers: servers.into(),
            gateway,
        }
    }

    fn roles(&self) -> impl Iterator<Item = (&'static str, &Role)> {
        let servers = self.servers.iter().map(|server| ("server", server));
        let others = [
            ("coordinator", &self.coordinator),
            ("gateway", &self.gateway),
        ];
        others.into_iter().chain(servers)
    }

    /// `auramesh status`.
    fn status(&self, flags: &[&str]) -> std::process::Output {
        let mut command = Command::new(PROGRAM);
        command.args(["status", "--control", &self.control]);
        command.args(flags).env_remove(KEY);
        if let Some(key) = self.key {
            command.env(KEY, key);
        }
        command.output().expect("it runs")
    }

    fn status_json(&self) -> serde_json::Value {
        let output = self.status(&["--json"]);
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    fn runs(&self) -> bool {
        let status = self.status_json();
        let regions = status["regions"].as_array().expect("a list");
        let safe = |region: &serde_json::Value| {
            region["owner"].is_string() && region["standby"].is_string()
        };
        status["started"] == true
            && status["nodes"].as_array().expect("a list").len() == 4
            && regions.len() == 2
            && regions.iter().all(safe)
    }
}

fn coordinator(folder: &Path, control: &str, key: Option<&str>) -> Role {
    let file = folder.join("control.json").display().to_string();
    let config = folder.join("coordinator.toml");
    // Consistency groups, however busy the machine is.
    let text = "[groups]\ninclusion_ms = 500.0\nrejection_ms = 1000.0\n";
    std::fs::write(&config, text).expect("written");
    let args = [
        "coordinator",
        "--config",
        config.to_str().expect("UTF-8"),
        "--serve-control",
        control,
        "--control-file",
        &file,
        "--scene",
        "orbit",
        "--regions",
        "2",
        "--servers",
        "2",
    ];
    Role::start(folder, "first", key, &args)
}

/// Every page of every role says what the documents promise; SIGTERM ends each of them in good order.
#[test]
fn every_role_shows_what_is_documented_and_ends_in_good_order() {
    let mut cluster = Cluster::start(Some("a secret of the test's own"));
    until("everyone answers", || {
        cluster.roles().all(|(_, role)| role.health() == Some(200))
    });
    until("the world runs, each region with a standby", || {
        cluster.runs()
    });

    for (name, role) in cluster.roles() {
        let expected = documented(name);
        let give_up = Instant::now() + PATIENCE;
        while !role.metrics().is_superset(&expected) {
            let shown = role.metrics();
            let missing: Vec<_> = expected.difference(&shown).collect();
            let log = role.logged();
            assert!(Instant::now() < give_up, "{name}: no {missing:?}\n{log}");
            std::thread::sleep(Duration::from_millis(50));
        }
        let scraped = role.metrics();
        let strange: Vec<_> = scraped.difference(&expected).collect();
        assert!(strange.is_empty(), "{name} shows undocumented {strange:?}");
        let (status, text) = role.get("/metrics").expect("answered");
        assert_eq!(status, 200);
        for metric in &scraped {
            assert!(text.contains(&format!("# HELP {metric} ")), "{metric}");
            assert!(text.contains(&format!("# TYPE {metric} ")), "{metric}");
        }
    }
    let (_, text) = cluster.servers[0].get("/metrics").expect("answered");
    assert!(text.contains("auramesh_region_tick{generation=\"1\",region=\""));

    // In this scene bodies cross the border: a region that watches no promises does not tell what it does.
    until("promises are watched", || {
        let (_, page) = cluster.servers[0].get("/metrics").expect("answered");
        let watched = "auramesh_region_watched_body_ticks_total{";
        let mut values = page.lines().filter(|line| line.starts_with(watched));
        values.any(|line| !line.ends_with(" 0"))
    });

    // How promises are kept comes every few seconds, from each region's owner.
    until("everyone knows how promises are kept", || {
        let printed = cluster.status_json();
        let regions = printed["regions"].as_array().expect("a list");
        regions.iter().all(|region| {
            let keys = ["held", "longest_ticks", "largest_cluster"];
            keys.iter().all(|key| region["promises"][key].is_u64())
        })
    });
    // `/status` of every process is what `auramesh status --json` prints, or soon will be if that changes.
    assert_eq!(cluster.status_json()["leader"], "first");
    for (name, role) in cluster.roles() {
        until(&format!("{name} shows what is printed"), || {
            let (status, text) = role.get("/status").expect("answered");
            assert_eq!(status, 200);
            let shown: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            shown == cluster.status_json()
        });
    }
    let table = cluster.status(&[]);
    let table = String::from_utf8(table.stdout).expect("text");
    for word in [
        "orbit",
        "running",
        "first",
        "one",
        "two",
        "door",
        "region 1",
        "body ticks",
        "largest cluster",
    ] {
        assert!(table.contains(word), "{word} in {table}");
    }

    // A gateway that ends is no longer listed; a coordinator that ends leads no longer, and everyone knows.
    assert!(cluster.gateway.terminate().success());
    assert!(cluster.gateway.logged().contains("asked to stop"));
    until("the gateway is gone", || {
        cluster.status_json()["nodes"].as_array().map(Vec::len) == Some(3)
    });
    assert!(cluster.coordinator.terminate().success());
    for server in &cluster.servers {
        until("nobody leads", || server.health() == Some(503));
        let (_, text) = server.get("/healthz").expect("answered");
        assert!(text.contains("no coordinator leads"), "{text}");
    }
    assert!(
        !cluster.status(&["--json"]).status.success(),
        "nobody to ask"
    );
    cluster.coordinator = coordinator(cluster.folder.path(), &cluster.control, cluster.key);
    for server in &cluster.servers {
        until("one leads again", || server.health() == Some(200));
    }
    for server in &mut cluster.servers {
        assert!(server.terminate().success());
    }
}

/// A certificate that would not be used is a mistake that someone wants to know of.
#[cfg(feature = "distributed")]
#[test]
fn an_etcd_certificate_without_its_authority_is_refused() {
    let config = tempfile::NamedTempFile::new().expect("a file");
    let text = "[etcd]\nendpoints = [\"http://127.0.0.1:1\"]\ncertificate = \"ours.pem\"\nkey = \"ours.key\"\n";
    std::fs::write(config.path(), text).expect("written");
    let refused = Command::new(PROGRAM)
        .args(["status", "--config"])
        .arg(config.path())
        .output();
    let refused = refused.expect("it runs");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("a certificate needs a ca"), "{said}");
}

/// Without a key and without tokens a process listens to this machine only, and says so when it starts; with a key it has nothing to say.
#[test]
fn what_is_off_on_loopback_is_said_at_the_start_and_elsewhere_refused() {
    let open = Cluster::start(None);
    until("everyone answers", || {
        open.roles().all(|(_, role)| role.health() == Some(200))
    });
    for (name, role) in open.roles() {
        let log = role.logged();
        assert!(log.contains("WARN"), "{name}: {log}");
        assert!(log.contains("no cluster key: only processes of this machine"));
    }
    let warning = "no tokens: everyone on this machine may do everything";
    assert!(open.gateway.logged().contains(warning));
    drop(open);

    let closed = Cluster::start(Some("a secret of the test's own"));
    until("everyone answers", || {
        closed.roles().all(|(_, role)| role.health() == Some(200))
    });
    for (_, role) in closed.roles() {
        assert!(!role.logged().contains("no cluster key"));
    }
    // Where other machines could reach it there is no start without secrets.
    for (args, missing) in [
        (["server", "--bind", "0.0.0.0:0"], "a cluster key is needed"),
        (
            ["gateway", "--listen", "0.0.0.0:0"],
            "a file with tokens is needed",
        ),
    ] {
        let refused = Command::new(PROGRAM)
            .args(args)
            .args(["--control", &closed.control])
            .env_remove(KEY)
            .output();
        let refused = refused.expect("it runs");
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains(missing), "{said}");
    }
}
