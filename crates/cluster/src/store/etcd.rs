//! A real etcd.
//!
//! | here | etcd |
//! |---|---|
//! | revision of a key | `mod_revision`; a key that is not there has 0 |
//! | transaction | `Txn`: compares, then writes, all at one revision |
//! | lease | lease; whole seconds, and never shorter than one and a half of etcd's election timeouts (2 s by its defaults) |
//! | watch | watch from the revision after; ends if that has been compacted, or etcd lost its leader |
//!
//! At most 128 writes and as many conditions fit into a transaction, and no key twice (etcd's `--max-txn-ops`); more is refused as bad.

use super::{
    Change, Entry, LeaseId, Listing, MAX_KEY_BYTES, MAX_VALUE_BYTES, Revision, Store, StoreError,
    Transaction, Unchanged, Write,
};
use crate::Boxed;
use async_trait::async_trait;
use etcd_client::{
    Certificate, Client, Compare, CompareOp, ConnectOptions, Error, Event, EventType, GetOptions,
    Identity, KeyValue, PutOptions, ResponseHeader, TlsOptions, Txn, TxnOp, WatchOptions,
    WatchResponse, WatchStream,
};
use std::fmt;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// An etcd that does not answer for so long is unreachable.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often a silent connection is tried. Less than 5 s would be too often for etcd (`--grpc-keepalive-min-time`).
const PING: Duration = Duration::from_secs(6);
/// The longest answer: a listing of a whole control plane.
const MAX_ANSWER_BYTES: usize = 16 << 20;
/// Leases are neither shorter nor longer (as in the embedded store, whose limits are the same).
const TTL: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(100)..=Duration::from_secs(3600);
/// Changes that wait for a watcher; then etcd waits.
const WATCH_BUFFER: usize = 64;

/// Where etcd is and how it knows us.
#[derive(Clone, Default)]
pub struct EtcdSettings {
    /// All members, such as `http://10.0.0.1:2379`; with TLS `https://…`.
    pub endpoints: Vec<String>,
    /// Whom to trust and what to show, for `https`.
    pub tls: Option<EtcdTls>,
    /// User and password, where etcd's authentication is on. It needs to read and write what begins with `auramesh/`.
    pub user: Option<(String, String)>,
}

/// Files for TLS, all PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdTls {
    /// Who signs etcd's certificate.
    pub ca: PathBuf,
    /// Our certificate and its key, where etcd wants one (`--client-cert-auth`).
    pub client: Option<(PathBuf, PathBuf)>,
}

/// The password stays where it is.
impl fmt::Debug for EtcdSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.user.as_ref().map(|(name, _)| name);
        f.debug_struct("EtcdSettings")
            .field("endpoints", &self.endpoints)
            .field("tls", &self.tls)
            .field("user", &user)
            .finish_non_exhaustive()
    }
}

impl EtcdSettings {
    fn options(&self) -> Result<ConnectOptions, StoreError> {
        let mut options = ConnectOptions::new()
            .with_connect_timeout(PATIENCE)
            .with_keep_alive(PING, PATIENCE)
            // etcd hangs up on who pings without having anything to ask.
            .with_keep_alive_while_idle(false)
            // A member that is cut off from the others must not answer, nor watch, as if it knew.
            .with_require_leader(true)
            .with_auto_token_refresh(true);
        if let Some((name, password)) = &self.user {
            options = options.with_user(name, password);
        }
        if let Some(tls) = &self.tls {
            options = options.with_tls(tls.options()?);
        }
        Ok(options)
    }
}

impl EtcdTls {
    fn options(&self) -> Result<TlsOptions, StoreError> {
        let ca = Certificate::from_pem(read(&self.ca)?);
        let options = TlsOptions::new().ca_certificate(ca);
        let Some((certificate, key)) = &self.client else {
            return Ok(options);
        };
        Ok(options.identity(Identity::from_pem(read(certificate)?, read(key)?)))
    }
}

fn read(file: &Path) -> Result<Vec<u8>, StoreError> {
    std::fs::read(file).map_err(|error| StoreError::Bad(format!("{}: {error}", file.display())))
}

/// The control plane in an etcd. Broken connections are made again by themselves.
#[derive(Clone)]
pub struct Etcd {
    client: Client,
}

impl Etcd {
    /// Connects, and asks once, so that wrong settings are found now. [`StoreError::Unreachable`] may be worth another try.
    pub fn connect(settings: &EtcdSettings) -> Boxed<'_, Result<Self, StoreError>> {
        Box::pin(async move {
            let connect = Client::connect(&settings.endpoints, Some(settings.options()?));
            let client = within(connect).await?;
            let etcd = Self { client };
            // With etcd's authentication on and a wrong user this fails; a key of ours that is not there yet is no error.
            let probe = GetOptions::new().with_count_only();
            within(etcd.client.kv_client().get("auramesh/", Some(probe))).await?;
            Ok(etcd)
        })
    }
}

/// Every request ends in time, and its errors become ours.
async fn within<T>(request: impl Future<Output = Result<T, Error>>) -> Result<T, StoreError> {
    match timeout(PATIENCE, request).await {
        Ok(answer) => answer.map_err(understand),
        Err(_) => Err(StoreError::Unreachable("no answer in time".to_owned())),
    }
}

/// The codes of gRPC that are not just "later, perhaps".
mod code {
    pub const INVALID_ARGUMENT: i32 = 3;
    pub const NOT_FOUND: i32 = 5;
    pub const PERMISSION_DENIED: i32 = 7;
}

fn understand(error: Error) -> StoreError {
    match &error {
        Error::GRpcStatus(status) => match i32::from(status.code()) {
            code::INVALID_ARGUMENT | code::PERMISSION_DENIED => {
                StoreError::Bad(status.message().to_owned())
            }
            // The only thing that etcd misses by name in what we ask.
            code::NOT_FOUND => StoreError::NoLease,
            _ => StoreError::Unreachable(status.message().to_owned()),
        },
        // An answer with no time left: the client turns it into this.
        Error::LeaseKeepAliveError(_) => StoreError::NoLease,
        Error::InvalidArgs(_) | Error::InvalidUri(_) => StoreError::Bad(error.to_string()),
        _ => StoreError::Unreachable(error.to_string()),
    }
}

fn revision(header: Option<&ResponseHeader>) -> Result<Revision, StoreError> {
    let header =
        header.ok_or_else(|| StoreError::Unreachable("an answer without a header".to_owned()))?;
    Ok(Revision(header.revision().unsigned_abs()))
}

/// As etcd counts. What is too large for it never was a revision of its.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// `None` for keys of others that are no text.
fn entry(pair: &KeyValue) -> Option<Entry> {
    Some(Entry {
        key: pair.key_str().ok()?.to_owned(),
        value: pair.value().to_owned(),
        revision: Revision(pair.mod_revision().unsigned_abs()),
    })
}

fn compare(condition: Unchanged) -> Compare {
    Compare::mod_revision(condition.key, CompareOp::Equal, signed(condition.since.0))
}

/// A write as etcd takes it, if it is one that every store takes.
fn operation(write: Write) -> Result<TxnOp, StoreError> {
    let (Write::Put { key, .. } | Write::Delete { key }) = &write;
    if key.is_empty() || key.len() > MAX_KEY_BYTES {
        return Err(StoreError::Bad(format!("a key of {} bytes", key.len())));
    }
    match write {
        Write::Put { value, .. } if value.len() > MAX_VALUE_BYTES => {
            Err(StoreError::Bad(format!("a value of {} bytes", value.len())))
        }
        Write::Put { key, value, lease } => {
            let options = lease.map(|lease| PutOptions::new().with_lease(signed(lease.0)));
            Ok(TxnOp::put(key, value, options))
        }
        Write::Delete { key } => Ok(TxnOp::delete(key, None)),
    }
}

#[async_trait]
impl Store for Etcd {
    async fn grant(&self, ttl: Duration) -> Result<LeaseId, StoreError> {
        if !TTL.contains(&ttl) {
            return Err(StoreError::Bad(format!("a lease of {ttl:?}")));
        }
        let seconds = ttl.as_millis().div_ceil(1000) as i64;
        let granted = within(self.client.lease_client().grant(seconds, None)).await?;
        Ok(LeaseId(granted.id().unsigned_abs()))
    }

    async fn keep_alive(&self, lease: LeaseId) -> Result<(), StoreError> {
        // One stream per call: no reader of it is left over when the caller loses interest.
        let mut leases = self.client.lease_client();
        within(leases.keep_alive(signed(lease.0))).await.map(drop)
    }

    async fn revoke(&self, lease: LeaseId) -> Result<(), StoreError> {
        let revoked = within(self.client.lease_client().revoke(signed(lease.0))).await;
        match revoked {
            Ok(_) | Err(StoreError::NoLease) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn list(&self, prefix: &str) -> Result<Listing, StoreError> {
        let mut keys = self
            .client
            .kv_client()
            .max_decoding_message_size(MAX_ANSWER_BYTES);
        // By ascending key, as etcd keeps them.
        let answer = within(keys.get(prefix, Some(GetOptions::new().with_prefix()))).await?;
        Ok(Listing {
            revision: revision(answer.header())?,
            entries: answer.kvs().iter().filter_map(entry).collect(),
        })
    }

    async fn commit(&self, transaction: Transaction) -> Result<Revision, StoreError> {
        let writes: Vec<TxnOp> = transaction
            .writes
            .into_iter()
            .map(operation)
            .collect::<Result<_, _>>()?;
        let conditions: Vec<Compare> = transaction.conditions.into_iter().map(compare).collect();
        let request = Txn::new().when(conditions).and_then(writes);
        let answer = within(self.client.kv_client().txn(request)).await?;
        if !answer.succeeded() {
            return Err(StoreError::Conflict);
        }
        revision(answer.header())
    }

    async fn watch(
        &self,
        prefix: &str,
        after: Revision,
    ) -> Result<mpsc::Receiver<Change>, StoreError> {
        let options = WatchOptions::new()
            .with_prefix()
            .with_start_revision(signed(after.0.saturating_add(1)))
            // A watcher that has missed much gets it in several answers instead of one that is too long.
            .with_fragment();
        let mut watches = self
            .client
            .watch_client()
            .max_decoding_message_size(MAX_ANSWER_BYTES);
        let stream = within(async {
            let mut stream = watches.watch(prefix, Some(options)).await?;
            let begun = stream.message().await?;
            match begun {
                Some(answer) if answer.created() && !answer.canceled() => Ok(stream),
                Some(answer) => Err(Error::WatchError(answer.cancel_reason().to_owned())),
                None => Err(Error::WatchError("etcd ended the watch".to_owned())),
            }
        })
        .await?;
        let (sender, receiver) = mpsc::channel(WATCH_BUFFER);
        tokio::spawn(pass_on(stream, sender));
        Ok(receiver)
    }
}

/// Passes changes on until the stream breaks, etcd cancels the watch (compacted, no leader), or nobody listens any more.
async fn pass_on(mut stream: WatchStream, changes: mpsc::Sender<Change>) {
    loop {
        let answer = tokio::select! {
            answer = stream.message() => answer,
            () = changes.closed() => return,
        };
        match answer {
            Ok(Some(answer)) if !answer.canceled() => {
                for change in changes_in(&answer) {
                    if changes.send(change).await.is_err() {
                        return;
                    }
                }
            }
            Ok(Some(answer)) => {
                let (compacted, reason) = (answer.compact_revision(), answer.cancel_reason());
                return tracing::debug!(compacted, reason, "etcd ended a watch");
            }
            Ok(None) => return,
            Err(error) => return tracing::debug!(%error, "a watch of etcd broke"),
        }
    }
}

fn changes_in(answer: &WatchResponse) -> impl Iterator<Item = Change> {
    answer.events().iter().filter_map(change)
}

fn change(event: &Event) -> Option<Change> {
    let Entry {
        key,
        value,
        revision,
    } = entry(event.kv()?)?;
    let is_set = event.event_type() == EventType::Put;
    Some(Change {
        revision,
        key,
        value: is_set.then_some(value),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_printed() {
        let settings = EtcdSettings {
            user: Some(("ada".to_owned(), "s3cret".to_owned())),
            ..EtcdSettings::default()
        };
        let printed = format!("{settings:?}");
        assert!(
            printed.contains("ada") && !printed.contains("s3cret"),
            "{printed}"
        );
    }

    #[tokio::test]
    async fn settings_that_cannot_be_right_are_bad_and_silence_is_not() {
        let bad = [
            EtcdSettings::default(),
            EtcdSettings {
                endpoints: vec!["http://no host".to_owned()],
                ..EtcdSettings::default()
            },
            EtcdSettings {
                endpoints: vec!["https://127.0.0.1:1".to_owned()],
                tls: Some(EtcdTls {
                    ca: "/no/such/file.pem".into(),
                    client: None,
                }),
                user: None,
            },
        ];
        for settings in bad {
            let error = Etcd::connect(&settings)
                .await
                .map(drop)
                .expect_err("refused");
            assert!(matches!(error, StoreError::Bad(_)), "{error}");
        }
        // Port 1 is nobody's.
        let silent = EtcdSettings {
            endpoints: vec!["http://127.0.0.1:1".to_owned()],
            ..EtcdSettings::default()
        };
        let error = Etcd::connect(&silent)
            .await
            .map(drop)
            .expect_err("nobody there");
        assert!(matches!(error, StoreError::Unreachable(_)), "{error}");
    }
}
