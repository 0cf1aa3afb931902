//! The config file of the production roles: TOML, every key optional. `docs/operations.md` lists the keys; a test compares.
//!
//! A mistake names the line, the key and what is allowed. Secrets are not written here but in files of their own, or in the environment.

use crate::coordinator::PlannerSettings;
use crate::gateway::{ClientLimits, GatewaySettings, TlsFiles};
use crate::groups::GroupSettings;
use crate::server::HostSettings;
use boundary::{AuraSize, HandoverMode};
use domain::SimTime;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// Where clients connect unless told otherwise.
pub const DEFAULT_LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8080);
/// The largest config file.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Why there is no configuration.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {file}: {source}")]
    Read {
        /// Which.
        file: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// It is not a configuration.
    #[error("{file}: {why}")]
    Invalid {
        /// Which.
        file: String,
        /// Where and why.
        why: String,
    },
}

/// Everything a process can be told by a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The cluster's name in the control plane (default `auramesh`).
    pub cluster: Option<String>,
    /// What people call this process (default: its role).
    pub name: Option<String>,
    /// Where datagrams of other processes arrive (default `127.0.0.1:0`; port 0: any that is free).
    pub bind: Option<SocketAddr>,
    /// Where others reach this process, if that is not where it listens.
    pub advertise: Option<SocketAddr>,
    /// A file with the secret that all processes of the cluster share (default: the environment variable `AURAMESH_CLUSTER_KEY`).
    pub cluster_key_file: Option<PathBuf>,
    /// The control plane of a coordinator that keeps it itself.
    pub control: Option<SocketAddr>,
    /// Where `/metrics`, `/healthz` and `/status` are served (default: nowhere; never where clients connect).
    pub http: Option<SocketAddr>,
    /// The control plane in etcd instead.
    pub etcd: Option<EtcdConfig>,
    /// Datagrams over Zenoh instead of UDP.
    pub zenoh: Option<ZenohConfig>,
    /// For coordinators: only servers that are near each other share the world (default: wherever they are). Servers learn it from the control plane.
    pub groups: Option<GroupSettings>,
    /// For coordinators.
    pub coordinator: CoordinatorConfig,
    /// For region servers.
    pub server: ServerConfig,
    /// For gateways.
    pub gateway: GatewayConfig,
}

/// How etcd is reached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EtcdConfig {
    /// All members, such as `http://10.0.0.1:2379`; with TLS `https://…`.
    pub endpoints: Vec<String>,
    /// Who signs etcd's certificate, PEM.
    pub ca: Option<PathBuf>,
    /// Our certificate, PEM, where etcd wants one.
    pub certificate: Option<PathBuf>,
    /// Its key.
    pub key: Option<PathBuf>,
    /// The user, where etcd's authentication is on.
    pub user: Option<String>,
    /// A file with the user's password.
    pub password_file: Option<PathBuf>,
}

/// How Zenoh finds the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ZenohConfig {
    /// `peer` (default: linked directly with every other peer) or `client` (through routers).
    pub mode: Option<String>,
    /// Where to listen, such as `tcp/0.0.0.0:7447`, with certificates `quic/…`.
    pub listen: Vec<String>,
    /// Whom to connect to: some others, or routers.
    pub connect: Vec<String>,
    /// Who signs the certificates of this cluster, PEM; needed for `quic`.
    pub ca: Option<PathBuf>,
    /// Our certificate, PEM.
    pub certificate: Option<PathBuf>,
    /// Its key.
    pub key: Option<PathBuf>,
    /// A link that is silent for so long is lost (default 2000).
    pub lease_ms: Option<u64>,
}

/// What only coordinators need.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CoordinatorConfig {
    /// Keep the control plane in this process and serve it here.
    pub serve_control: Option<SocketAddr>,
    /// Keep it in this file (default: in memory only).
    pub control_file: Option<PathBuf>,
    /// The scene to begin with, if the cluster has no world yet.
    pub scene: Option<String>,
    /// How many regions (default: as the scene says).
    pub regions: Option<usize>,
    /// The world starts when so many servers are there (default 1).
    pub servers: Option<usize>,
    /// A server that has not been heard for so long is replaced (default 400). Less: faster recovery; more: fewer false alarms.
    pub silence_ms: Option<u64>,
    /// A server that has just appeared, or a coordinator that has just taken over, gets so much longer (default 2000).
    pub grace_ms: Option<u64>,
    /// A region that is so late, or so far behind the others, is given to its standby (default 5000).
    pub lag_ms: Option<u64>,
    /// A server that was too slow gets no regions for so long, if there is another choice (default 60000).
    pub shun_ms: Option<u64>,
    /// Regions of servers that have more than others are moved (default true).
    pub balance: Option<bool>,
    /// A snapshot goes to the standby every so many ticks (default 30). More often: a crash takes back less, and more is copied.
    pub snapshot_ticks: Option<u64>,
    /// How large auras are: `thesis`, `safe` or `adaptive` (default). The others are for comparison.
    pub aura: Option<AuraSize>,
    /// What a body does on its way to another server: `catch-up` (default) or `freeze`.
    pub handover: Option<HandoverMode>,
}

/// What only region servers need.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerConfig {
    /// Gateways are told every so many ticks (default 2). Above 3, they cannot tell a silent server from one that waits for it.
    pub feed_ticks: Option<u64>,
    /// A region's thread that was away for so long asks whether it has been replaced before it does anything (default 300).
    pub away_ms: Option<u64>,
}

/// What only gateways need.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GatewayConfig {
    /// Where clients connect (default `127.0.0.1:8080`).
    pub listen: Option<SocketAddr>,
    /// The viewer's files.
    pub files: Option<PathBuf>,
    /// Who may do what: a line `token role [name]` each, roles `view`, `play` and `admin` (default: everyone everything, and only on loopback).
    pub tokens_file: Option<PathBuf>,
    /// May players push and remove what they have not spawned (default false)?
    pub open_play: Option<bool>,
    /// Pages from here may connect, besides those the gateway itself serves: `https://example.org`.
    pub origins: Vec<String>,
    /// The gateway's certificate, PEM, with those of whoever signed it: clients connect with `https://` and `wss://` (default: without TLS).
    pub certificate: Option<PathBuf>,
    /// Its key, PEM.
    pub key: Option<PathBuf>,
    /// Where there is a certificate: offer WebTransport too, at the same port number over UDP (default true).
    pub webtransport: Option<bool>,
    /// The world is cut into so many cells along each side, of which clients get those they see (default 5).
    pub cells: Option<u16>,
    /// Most connections (default 1024).
    pub connections: Option<usize>,
    /// Most connections from one address (default 256).
    pub connections_per_address: Option<usize>,
    /// Most messages of a client per second (default 60).
    pub messages_per_sec: Option<f64>,
    /// Most bytes of a client per second (default 524288).
    pub bytes_per_sec: Option<f64>,
    /// Most bodies that one player may have in the world (default 500).
    pub bodies_per_player: Option<usize>,
    /// Most points and triangles of all bodies that one player may have in the world (default 65536).
    pub elements_per_player: Option<usize>,
    /// Most rays and overlaps of a client per second (default 30).
    pub queries_per_sec: Option<f64>,
    /// Most rays and overlaps of all its clients together per second (default 200).
    pub queries_per_sec_in_all: Option<f64>,
    /// Most bytes of updates to a client per second (default 4194304); beyond, what is far away comes less often.
    pub update_bytes_per_sec: Option<f64>,
}

impl Config {
    /// Reads a file.
    pub fn load(file: &Path) -> Result<Self, ConfigError> {
        let name = file.display().to_string();
        let text = read_bounded(file).map_err(|source| ConfigError::Read {
            file: name.clone(),
            source,
        })?;
        toml::from_str(&text).map_err(|error| ConfigError::Invalid {
            file: name,
            why: error.to_string().trim_end().to_owned(),
        })
    }
}

fn read_bounded(file: &Path) -> std::io::Result<String> {
    use std::io::Read;
    let mut text = String::new();
    let limit = MAX_FILE_BYTES + 1;
    let bytes = std::fs::File::open(file)?
        .take(limit)
        .read_to_string(&mut text)?;
    if bytes as u64 == limit {
        return Err(std::io::Error::other("it is too large for a config file"));
    }
    Ok(text)
}

impl Config {
    /// What the planner goes by, consistency groups included; says what of those cannot work.
    pub fn planner(&self) -> Result<PlannerSettings, String> {
        self.groups.as_ref().map_or(Ok(()), GroupSettings::check)?;
        Ok(PlannerSettings {
            groups: self.groups,
            ..self.coordinator.planner()
        })
    }
}

impl CoordinatorConfig {
    /// When a server counts as dead or too slow.
    pub fn planner(&self) -> PlannerSettings {
        let defaults = PlannerSettings::default();
        let ms = |given: Option<u64>, default: SimTime| {
            given.map_or(default, |ms| SimTime(ms.saturating_mul(1_000_000)))
        };
        PlannerSettings {
            silence: ms(self.silence_ms, defaults.silence),
            grace: ms(self.grace_ms, defaults.grace),
            lag: ms(self.lag_ms, defaults.lag),
            shun: ms(self.shun_ms, defaults.shun),
            balance: self.balance.unwrap_or(defaults.balance),
            ..defaults
        }
    }
}

impl GatewayConfig {
    /// How the gateway is set up. `feed_ticks`: as the servers have it.
    pub fn settings(&self, feed_ticks: u64) -> Result<GatewaySettings, String> {
        let listen = self.listen.unwrap_or(DEFAULT_LISTEN);
        let tls = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => Some(TlsFiles {
                certificate: certificate.clone(),
                key: key.clone(),
            }),
            (None, None) => None,
            _ => return Err("gateway: certificate and key belong together".to_owned()),
        };
        let defaults = GatewaySettings::new(listen);
        let limits = defaults.limits;
        Ok(GatewaySettings {
            files: self.files.clone(),
            tls,
            webtransport: self.webtransport.unwrap_or(defaults.webtransport),
            tokens: self.tokens_file.clone(),
            open_play: self.open_play.unwrap_or(defaults.open_play),
            origins: self.origins.clone(),
            feed_ticks,
            cells: self.cells.unwrap_or(defaults.cells),
            limits: ClientLimits {
                connections: self.connections.unwrap_or(limits.connections),
                connections_per_address: self
                    .connections_per_address
                    .unwrap_or(limits.connections_per_address),
                messages_per_sec: self.messages_per_sec.unwrap_or(limits.messages_per_sec),
                bytes_per_sec: self.bytes_per_sec.unwrap_or(limits.bytes_per_sec),
                bodies_per_player: self.bodies_per_player.unwrap_or(limits.bodies_per_player),
                elements_per_player: self
                    .elements_per_player
                    .unwrap_or(limits.elements_per_player),
                queries_per_sec: self.queries_per_sec.unwrap_or(limits.queries_per_sec),
                queries_per_sec_in_all: self
                    .queries_per_sec_in_all
                    .unwrap_or(limits.queries_per_sec_in_all),
                update_bytes_per_sec: self
                    .update_bytes_per_sec
                    .unwrap_or(limits.update_bytes_per_sec),
                ..limits
            },
            ..defaults
        })
    }
}

impl ServerConfig {
    /// How regions are run.
    pub fn host(&self) -> HostSettings {
        let defaults = HostSettings::default();
        HostSettings {
            feed_ticks: self.feed_ticks.unwrap_or(defaults.feed_ticks).max(1),
            away: self.away_ms.map_or(defaults.away, Duration::from_millis),
            ..defaults
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<Config, String> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), text).expect("written");
        Config::load(file.path()).map_err(|error| error.to_string())
    }

    #[test]
    fn mistakes_name_the_line_the_key_and_what_is_allowed() {
        let error = load("cluster = \"x\"\n[server]\nfeed_tiks = 3\n").expect_err("no such key");
        assert!(error.contains("line 3"), "{error}");
        assert!(
            error.contains("feed_tiks") && error.contains("feed_ticks"),
            "{error}"
        );
        let error = load("[groups]\ninclusion = 3\n").expect_err("no such key");
        assert!(
            error.contains("line 2") && error.contains("inclusion_ms"),
            "{error}"
        );
        let error = load("bind = \"here\"").expect_err("not an address");
        assert!(
            error.contains("line 1") && error.contains("bind"),
            "{error}"
        );
        let error = Config::load(Path::new("/no/such/file")).expect_err("not there");
        assert!(error.to_string().contains("/no/such/file"));
    }

    #[test]
    fn an_empty_file_means_the_defaults() {
        let config = load("").expect("valid");
        assert_eq!(config.coordinator.planner(), PlannerSettings::default());
        assert_eq!(config.server.host(), HostSettings::default());
        assert_eq!(config.planner(), Ok(PlannerSettings::default()));
    }

    #[test]
    fn groups_are_on_where_the_file_has_their_table() {
        let config = load("[groups]\n").expect("valid");
        let settings = config.planner().expect("they work").groups;
        assert_eq!(settings, Some(GroupSettings::default()));
        let config = load("[groups]\ninclusion_ms = 8\n").expect("readable");
        let why = config.planner().expect_err("above rejection_ms");
        assert!(why.contains("rejection_ms"), "{why}");
    }
}
