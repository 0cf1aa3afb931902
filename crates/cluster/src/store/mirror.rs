//! A copy of everything under a prefix that follows the store, through broken connections too.

use super::{Entry, Listing, Store};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// After a failure, this long until the next try.
const RETRY: Duration = Duration::from_millis(200);

/// All entries under a prefix, by key.
pub type View = Arc<BTreeMap<String, Entry>>;

/// The copy. It may be a little behind, never wrong: every change is made against revisions.
#[derive(Clone)]
pub struct Mirror {
    view: watch::Receiver<View>,
}

impl Mirror {
    /// Copies everything under the prefix, and follows it until the last clone is dropped. Waits for the first copy.
    pub async fn follow(store: Arc<dyn Store>, prefix: &str) -> Self {
        let (sender, mut view) = watch::channel(View::default());
        tokio::spawn(follow(store, prefix.to_owned(), sender));
        // Fails only if the task is gone, at the end of the process.
        let _ = view.changed().await;
        Self { view }
    }

    /// What is there now.
    pub fn view(&self) -> View {
        self.view.borrow().clone()
    }

    /// Waits until something has changed since the last call of this.
    pub async fn changed(&mut self) {
        if self.view.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

async fn follow(store: Arc<dyn Store>, prefix: String, view: watch::Sender<View>) {
    while !view.is_closed() {
        if let Err(error) = copy(&*store, &prefix, &view).await {
            tracing::debug!(%error, prefix, "following the control plane again soon");
        }
        tokio::time::sleep(RETRY).await;
    }
}

async fn copy(
    store: &dyn Store,
    prefix: &str,
    view: &watch::Sender<View>,
) -> Result<(), super::StoreError> {
    let listing = store.list(prefix).await?;
    let after = listing.revision;
    publish(view, listing);
    let mut changes = store.watch(prefix, after).await?;
    loop {
        let change = tokio::select! {
            change = changes.recv() => change,
            () = view.closed() => return Ok(()),
        };
        let Some(change) = change else {
            return Ok(());
        };
        view.send_modify(|view| {
            let view = Arc::make_mut(view);
            match change.value {
                Some(value) => {
                    let (key, revision) = (change.key, change.revision);
                    let entry = Entry {
                        key: key.clone(),
                        value,
                        revision,
                    };
                    view.insert(key, entry);
                }
                None => drop(view.remove(&change.key)),
            }
        });
    }
}

fn publish(view: &watch::Sender<View>, listing: Listing) {
    let entries = listing.entries.into_iter();
    let copy: BTreeMap<String, Entry> = entries.map(|entry| (entry.key.clone(), entry)).collect();
    view.send_replace(Arc::new(copy));
}
