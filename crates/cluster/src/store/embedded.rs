//! The store in this process, kept in a file.

use super::{Change, LeaseId, Listing, Revision, Store, StoreCore, StoreError, Transaction};
use async_trait::async_trait;
use domain::SimTime;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Changes that a watcher may be behind; then its stream ends and it must list again.
const WATCH_BUFFER: usize = 1024;
/// How often leases are looked at.
const LOOK: Duration = Duration::from_millis(50);

/// A store in this process. Clones share it.
#[derive(Clone)]
pub struct Embedded {
    shared: Arc<Shared>,
}

struct Shared {
    start: Instant,
    file: Option<PathBuf>,
    state: Mutex<State>,
}

struct State {
    core: StoreCore,
    watchers: Vec<Watcher>,
    /// Up to here watchers have been told.
    told: Revision,
}

struct Watcher {
    prefix: String,
    changes: mpsc::Sender<Change>,
}

impl Embedded {
    /// A store that forgets everything at the end. Must be called within a tokio runtime.
    pub fn in_memory() -> Self {
        Self::start(StoreCore::default(), None)
    }

    /// A store kept in this file, which is created if it does not exist. Must be called within a tokio runtime.
    pub fn open(file: &Path) -> io::Result<Self> {
        let core = match std::fs::read(file) {
            Ok(bytes) => StoreCore::from_bytes(SimTime::ZERO, &bytes).map_err(|why| {
                let file = file.display();
                io::Error::other(format!("{file} is not a control plane's file: {why}"))
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => StoreCore::default(),
            Err(error) => return Err(error),
        };
        let store = Self::start(core, Some(file.to_owned()));
        // Now, and not at the first change, is the time to find out that it cannot be written.
        store.shared.save(&store.shared.lock().core)?;
        Ok(store)
    }

    fn start(core: StoreCore, file: Option<PathBuf>) -> Self {
        let told = core.revision();
        let shared = Arc::new(Shared {
            start: Instant::now(),
            file,
            state: Mutex::new(State {
                core,
                watchers: Vec::new(),
                told,
            }),
        });
        tokio::spawn(expire_leases(Arc::downgrade(&shared)));
        Self { shared }
    }

    fn change<T>(
        &self,
        change: impl FnOnce(SimTime, &mut StoreCore) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let now = self.shared.now();
        let mut state = self.shared.lock();
        let before = state.core.clone();
        let result = change(now, &mut state.core);
        if let Err(error) = self.shared.finish(&mut state) {
            // What cannot be kept did not happen.
            state.core = before;
            return Err(StoreError::Unreachable(error.to_string()));
        }
        result
    }
}

impl Shared {
    fn now(&self) -> SimTime {
        SimTime::from_secs(self.start.elapsed().as_secs_f64())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(|poison| poison.into_inner())
    }

    /// Keeps what has changed, then tells the watchers: nobody hears of a change that a crash could undo.
    fn finish(&self, state: &mut State) -> io::Result<()> {
        if state.core.revision() == state.told {
            return Ok(());
        }
        self.save(&state.core)?;
        let (core, told) = (&state.core, state.told);
        state.watchers.retain(|watcher| {
            let changes = core.changes(&watcher.prefix, told);
            changes.is_some_and(|changes| {
                changes
                    .into_iter()
                    .all(|change| watcher.changes.try_send(change).is_ok())
            })
        });
        state.told = state.core.revision();
        Ok(())
    }

    fn save(&self, core: &StoreCore) -> io::Result<()> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let fresh = file.with_extension("new");
        let mut out = std::fs::File::create(&fresh)?;
        out.write_all(&core.to_bytes())?;
        out.sync_data()?;
        std::fs::rename(&fresh, file)
    }
}

async fn expire_leases(shared: Weak<Shared>) {
    loop {
        tokio::time::sleep(LOOK).await;
        let Some(shared) = shared.upgrade() else {
            return;
        };
        let now = shared.now();
        let mut state = shared.lock();
        if state.core.next_expiry().is_some_and(|at| at <= now) {
            state.core.expire(now);
            if let Err(error) = shared.finish(&mut state) {
                tracing::error!(%error, "the control plane's file cannot be written");
            }
        }
    }
}

#[async_trait]
impl Store for Embedded {
    async fn grant(&self, ttl: Duration) -> Result<LeaseId, StoreError> {
        self.change(|now, core| core.grant(now, ttl))
    }

    async fn keep_alive(&self, lease: LeaseId) -> Result<(), StoreError> {
        self.change(|now, core| core.keep_alive(now, lease))
    }

    async fn revoke(&self, lease: LeaseId) -> Result<(), StoreError> {
        self.change(|_, core| {
            core.revoke(lease);
            Ok(())
        })
    }

    async fn list(&self, prefix: &str) -> Result<Listing, StoreError> {
        Ok(self.shared.lock().core.list(prefix))
    }

    async fn commit(&self, transaction: Transaction) -> Result<Revision, StoreError> {
        self.change(|now, core| core.commit(now, transaction))
    }

    async fn watch(
        &self,
        prefix: &str,
        after: Revision,
    ) -> Result<mpsc::Receiver<Change>, StoreError> {
        let mut state = self.shared.lock();
        let (sender, receiver) = mpsc::channel(WATCH_BUFFER);
        let missed = state.core.changes(prefix, after);
        let missed = missed.filter(|missed| missed.len() < WATCH_BUFFER);
        // No longer remembered: an ended stream says "list again".
        let Some(missed) = missed else {
            return Ok(receiver);
        };
        for change in missed {
            let _ = sender.try_send(change);
        }
        state.watchers.push(Watcher {
            prefix: prefix.to_owned(),
            changes: sender,
        });
        Ok(receiver)
    }
}
