//! Datagrams over Zenoh: links are found, made again and encrypted by it, directly between peers or through its routers.
//!
//! ```text
//! auramesh/CLUSTER/TO, 16 hex digits        a sealed letter            every end subscribes to its own key
//! auramesh/CLUSTER/alive/NODE, 16 digits    (a liveliness token)       gone at once when the process is
//! ```
//! Only who has the end spoken to gets the datagram. They are sent as they come, gathered only while a link is busy, and dropped where
//! it is congested: the channel above says again what matters. Each is sealed with the cluster's key, as on UDP, so whoever can reach a listening address is
//! still not heard. Liveliness tokens cannot be sealed (a token that was seen can be declared again, and taken away): without certificates on both
//! sides of every link nobody believes in a death that they tell of, and only heartbeats count.

use super::letters::ClusterKey;
use super::{Carrier, Counts, EndObserver, Switchboard, Traffic};
use crate::names::NodeId;
use channel::EndpointId;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use std::time::Duration;
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::CongestionControl;
use zenoh::sample::{Sample, SampleKind};
use zenoh::{Config, Session, Wait};

/// A lost link is tried again after this, and after ever more, up to the second.
const RETRY_MS: [u64; 2] = [100, 1000];
/// For so long an address that is in use is tried again.
const LISTEN_MS: u64 = 3000;
/// How long a datagram waits at most for room on a congested link, in microseconds; those that follow are dropped at once.
const WAIT_BEFORE_DROP_US: i64 = 200;

/// How a process takes part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ZenohMode {
    /// Linked directly with every other peer.
    #[default]
    Peer,
    /// Linked with routers only, which pass everything on.
    Client,
}

/// Files for QUIC's TLS, all PEM. Both sides show their certificate, whoever began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZenohTls {
    /// Who signs the certificates of this cluster. Whoever has one of these is heard, so it should sign nothing else.
    pub ca: PathBuf,
    /// Our certificate. It must hold the name or address others use to reach us.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// How to find the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZenohSettings {
    /// The cluster's name: letters, digits, `-` and `_`. Others on the same network are not heard.
    pub cluster: String,
    /// Where others may connect: `tcp/10.0.0.1:7447`, with certificates `quic/…`. None: nowhere.
    pub listen: Vec<String>,
    /// Peers or routers to connect to, and to again whenever the link is lost. Peers learn of each other's peers.
    pub connect: Vec<String>,
    /// How to take part (default: as a peer).
    pub mode: ZenohMode,
    /// Certificates; without them links are not secret, and only the cluster's key tells friends from strangers.
    pub tls: Option<ZenohTls>,
    /// Whether peers on the same network find each other by multicast (default: no).
    pub multicast: bool,
    /// A link that is silent for so long is lost (default 2 s). Less: hung machines are noticed earlier, busy ones taken for hung.
    pub lease: Duration,
}

impl ZenohSettings {
    /// For a cluster of this name: a peer that knows nobody yet.
    pub fn new(cluster: &str) -> Self {
        Self {
            cluster: cluster.to_owned(),
            listen: Vec::new(),
            connect: Vec::new(),
            mode: ZenohMode::Peer,
            tls: None,
            multicast: false,
            lease: Duration::from_secs(2),
        }
    }

    fn check(&self) -> io::Result<()> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if self.cluster.is_empty() || !self.cluster.chars().all(is_plain) {
            return Err(bad(format!(
                "'{}' cannot be a cluster's name",
                self.cluster
            )));
        }
        if !(100..=60_000).contains(&self.lease.as_millis()) {
            return Err(bad("zenoh.lease_ms must be 100 to 60000".to_owned()));
        }
        let encrypts = |place: &String| place.starts_with("quic/");
        let mut places = self.listen.iter().chain(&self.connect);
        // Zenoh's links over TLS break under load (docs/decisions/0015), and with them the world stands still.
        if let Some(place) = places.clone().find(|place| place.starts_with("tls/")) {
            let why = "links over TLS break under load; use quic/…, with the same certificates";
            return Err(bad(format!("'{place}': {why}")));
        }
        // A certificate that is configured and not used would be a door that only looks locked.
        match places.find(|place| encrypts(place) != self.tls.is_some()) {
            Some(place) if self.tls.is_some() => {
                Err(bad(format!("with certificates, '{place}' must be quic/…")))
            }
            Some(place) => Err(bad(format!("'{place}' needs certificates"))),
            None => Ok(()),
        }
    }

    fn config(&self) -> io::Result<Config> {
        self.check()?;
        let mode = match self.mode {
            ZenohMode::Peer => "peer",
            ZenohMode::Client => "client",
        };
        let [first, longest] = RETRY_MS;
        let retry = json!({ "period_init_ms": first, "period_max_ms": longest, "period_increase_factor": 2 });
        let config = json!({
            "mode": mode,
            // The predecessor's port may be busy for a moment.
            "listen": { "endpoints": self.listen, "timeout_ms": LISTEN_MS, "exit_on_failure": true, "retry": retry },
            // Who is not there yet is tried until it is; nobody waits for that.
            "connect": { "endpoints": self.connect, "timeout_ms": -1, "exit_on_failure": false, "retry": retry },
            "open": { "return_conditions": { "connect_scouted": false, "declares": false } },
            "scouting": { "multicast": { "enabled": self.multicast } },
            "transport": { "link": self.link()? },
        });
        Config::from_json5(&config.to_string()).map_err(failed)
    }

    fn link(&self) -> io::Result<Value> {
        let protocols = match &self.tls {
            Some(_) => ["quic"].as_slice(),
            None => &["tcp"],
        };
        let queue = json!({
            "congestion_control": { "drop": { "wait_before_drop": WAIT_BEFORE_DROP_US } },
        });
        let lease = self.lease.as_millis() as u64;
        let mut link = json!({ "protocols": protocols, "tx": { "lease": lease, "queue": queue } });
        if let Some(tls) = &self.tls {
            link["tls"] = tls.config()?;
        }
        Ok(link)
    }
}

impl ZenohTls {
    fn config(&self) -> io::Result<Value> {
        let (ca, certificate, key) = (file(&self.ca)?, file(&self.certificate)?, file(&self.key)?);
        Ok(json!({
            "root_ca_certificate": ca,
            "listen_certificate": certificate,
            "listen_private_key": key,
            "connect_certificate": certificate,
            "connect_private_key": key,
            "enable_mtls": true,
            "verify_name_on_connect": true,
        }))
    }
}

/// The file's name, if it can be read: here the error still says which.
fn file(path: &Path) -> io::Result<&str> {
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    std::fs::File::open(path).map_err(named)?;
    path.to_str()
        .ok_or_else(|| bad(format!("{} is no text", path.display())))
}

fn bad(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

fn failed(error: zenoh::Error) -> io::Error {
    io::Error::other(error.to_string())
}

/// One Zenoh session for all ends of a process.
///
/// Opening, closing and [`Switchboard::connect`] wait for Zenoh: within tokio they need its multi-threaded runtime. Sending does not.
pub struct ZenohCarrier {
    session: Session,
    prefix: String,
    key: ClusterKey,
    /// Are tokens as trustworthy as datagrams?
    trusts_tokens: bool,
    switchboard: Switchboard,
    routes: RwLock<FxHashMap<EndpointId, Arc<Publisher<'static>>>>,
    listening: Mutex<Listening>,
    counts: Arc<Counts>,
}

/// What lives as long as the session.
#[derive(Default)]
struct Listening {
    ends: FxHashMap<EndpointId, Subscriber<()>>,
    tokens: Vec<LivelinessToken>,
    watches: Vec<Subscriber<()>>,
}

impl ZenohCarrier {
    /// Opens a session; what arrives for the switchboard's ends, now and later, goes to it, on Zenoh's threads.
    pub fn open(
        settings: &ZenohSettings,
        key: ClusterKey,
        switchboard: Switchboard,
    ) -> io::Result<Arc<Self>> {
        let session = zenoh::open(settings.config()?).wait().map_err(failed)?;
        let carrier = Arc::new(Self {
            session,
            prefix: format!("auramesh/{}", settings.cluster),
            key,
            trusts_tokens: settings.tls.is_some(),
            switchboard: switchboard.clone(),
            routes: RwLock::default(),
            listening: Mutex::default(),
            counts: Arc::default(),
        });
        let weak = Arc::downgrade(&carrier);
        let observer: EndObserver = Arc::new(move |end, is_here| {
            let Some(carrier) = weak.upgrade() else {
                return;
            };
            if let Err(error) = carrier.listen(end, is_here) {
                tracing::error!(%error, end = end.0, "an end cannot be reached");
            }
        });
        switchboard.observe(observer);
        Ok(carrier)
    }

    /// Ends the session: others see our nodes go, and nothing is heard or sent any more.
    pub fn close(&self) -> io::Result<()> {
        let listening = std::mem::take(&mut *self.listening());
        let closed = self.session.close().wait().map_err(failed);
        drop(listening);
        closed
    }

    /// Says that this node is here, until the session or the process ends.
    pub fn declare_alive(&self, node: NodeId) -> io::Result<()> {
        let key = format!("{}/alive/{:016x}", self.prefix, node.0);
        let token = self
            .session
            .liveliness()
            .declare_token(key)
            .wait()
            .map_err(failed)?;
        self.listening().tokens.push(token);
        Ok(())
    }

    /// Calls back with every node that is here, that comes (`true`), and that goes (`false`). The callback must not wait.
    pub fn watch_alive(
        &self,
        callback: impl Fn(NodeId, bool) + Send + Sync + 'static,
    ) -> io::Result<()> {
        let tell = move |sample: Sample| {
            let (_, name) = sample
                .key_expr()
                .as_str()
                .rsplit_once('/')
                .unwrap_or_default();
            if let Ok(node) = u64::from_str_radix(name, 16) {
                callback(NodeId(node), sample.kind() == SampleKind::Put);
            }
        };
        let liveliness = self.session.liveliness();
        let watch = liveliness.declare_subscriber(format!("{}/alive/*", self.prefix));
        let watch = watch.history(true).callback(tell).wait().map_err(failed)?;
        self.listening().watches.push(watch);
        Ok(())
    }

    fn listen(&self, end: EndpointId, is_here: bool) -> io::Result<()> {
        if !is_here {
            let gone = self.listening().ends.remove(&end);
            return gone.map_or(Ok(()), |subscriber| {
                subscriber.undeclare().wait().map_err(failed)
            });
        }
        let (switchboard, counts) = (self.switchboard.clone(), Arc::clone(&self.counts));
        let key = self.key.clone();
        let receive = move |sample: Sample| {
            let bytes = sample.payload().to_bytes();
            let letter = key.open(&bytes).filter(|(to, _)| *to == end);
            let delivered = letter.is_some_and(|(to, datagram)| switchboard.deliver(to, datagram));
            counts.count_received(bytes.len(), delivered);
        };
        let subscriber = self
            .session
            .declare_subscriber(self.place(end))
            .callback(receive);
        let subscriber = subscriber.wait().map_err(failed)?;
        self.listening().ends.insert(end, subscriber);
        Ok(())
    }

    fn place(&self, end: EndpointId) -> String {
        format!("{}/{:016x}", self.prefix, end.0)
    }

    fn route(&self, to: EndpointId) -> Option<Arc<Publisher<'static>>> {
        let known = {
            let routes = self
                .routes
                .read()
                .unwrap_or_else(|poison| poison.into_inner());
            routes.get(&to).cloned()
        };
        if known.is_some() {
            return known;
        }
        let publisher = self.session.declare_publisher(self.place(to));
        // Not express: each datagram would take a whole place in the link's short queue, and a payload of many would not find room.
        let publisher = publisher.congestion_control(CongestionControl::Drop);
        let publisher = Arc::new(publisher.wait().ok()?);
        let mut routes = self
            .routes
            .write()
            .unwrap_or_else(|poison| poison.into_inner());
        routes.insert(to, Arc::clone(&publisher));
        Some(publisher)
    }

    fn listening(&self) -> MutexGuard<'_, Listening> {
        self.listening
            .lock()
            .unwrap_or_else(|poison| poison.into_inner())
    }
}

impl Carrier for ZenohCarrier {
    fn send(&self, from: EndpointId, to: EndpointId, bytes: &[u8]) {
        let Some(letter) = self.key.seal(from, to, bytes) else {
            return;
        };
        // None after the session has been closed.
        let Some(publisher) = self.route(to) else {
            return;
        };
        let length = letter.len();
        if publisher.put(letter).wait().is_ok() {
            self.counts.count_sent(length);
        }
    }

    fn announce(&self, node: NodeId) {
        if let Err(error) = self.declare_alive(node) {
            tracing::warn!(%error, "cannot declare this process alive; only heartbeats tell");
        }
    }

    fn watch_deaths(&self, died: Box<dyn Fn(NodeId) + Send + Sync>) {
        if !self.trusts_tokens {
            return;
        }
        let watching = self.watch_alive(move |node, alive| {
            if !alive {
                died(node);
            }
        });
        if let Err(error) = watching {
            tracing::warn!(%error, "cannot watch who is alive; only heartbeats tell");
        }
    }

    /// Zenoh finds the way itself; this only says which ends are worth remembering.
    fn set_routes(&self, routes: FxHashMap<EndpointId, SocketAddr>) {
        let mut known = self
            .routes
            .write()
            .unwrap_or_else(|poison| poison.into_inner());
        let gone: Vec<_> = known
            .extract_if(|end, _| !routes.contains_key(end))
            .collect();
        // Zenoh is told without the lock: senders must not wait for it.
        drop(known);
        drop(gone);
    }

    fn traffic(&self) -> Traffic {
        self.counts.traffic()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tls() -> ZenohTls {
        // Any file that is there.
        let file = PathBuf::from("Cargo.toml");
        ZenohTls {
            ca: file.clone(),
            certificate: file.clone(),
            key: file,
        }
    }

    fn refused(change: impl FnOnce(&mut ZenohSettings)) -> String {
        let mut settings = ZenohSettings::new("test");
        change(&mut settings);
        settings.config().expect_err("refused").to_string()
    }

    #[test]
    fn settings_that_would_not_do_what_they_say_are_refused() {
        for name in ["", "a/b", "*", "a b", "ä"] {
            assert!(refused(|it| it.cluster = name.to_owned()).contains("name"));
        }
        let plain = vec!["tcp/127.0.0.1:0".to_owned()];
        let secret = vec!["quic/127.0.0.1:0".to_owned()];
        assert!(refused(|it| it.connect = secret.clone()).contains("certificates"));
        let breaks = vec!["tls/127.0.0.1:0".to_owned()];
        assert!(refused(|it| it.connect = breaks).contains("use quic/"));
        assert!(
            refused(|it| {
                it.tls = Some(tls());
                it.listen = plain.clone();
            })
            .contains("must be quic/")
        );
        let gone = ZenohTls {
            ca: "no-such-file".into(),
            ..tls()
        };
        assert!(
            refused(|it| {
                it.tls = Some(gone);
                it.listen = secret;
            })
            .contains("no-such-file")
        );
        assert!(refused(|it| it.listen = vec!["nonsense".to_owned()]).contains("nonsense"));
        assert!(refused(|it| it.lease = Duration::from_millis(5)).contains("100 to 60000"));
    }
}
