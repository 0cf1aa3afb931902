//! One suite for all stores: what the coordinator relies on holds for each of them.

mod store_common;

use cluster::carrier::ClusterKey;
use cluster::store::{
    Change, Embedded, LeaseId, MAX_KEY_BYTES, MAX_VALUE_BYTES, Mirror, Remote, Revision, Store,
    StoreError, Write,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store_common::*;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Every case, against every store.
macro_rules! suite {
    ($($case:ident),+ $(,)?) => {
        mod embedded {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::$case(super::Backend::embedded()).await;
            })+
        }

        mod remote {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::$case(super::Backend::remote().await).await;
            })+
        }

        #[cfg(feature = "distributed")]
        mod etcd {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                if let Some(backend) = super::Backend::etcd().await {
                    super::$case(backend).await;
                }
            })+
        }
    };
}

suite!(
    of_many_that_create_a_key_one_wins,
    an_outdated_revision_conflicts,
    a_transaction_happens_whole_or_not_at_all,
    nobody_sees_half_a_transaction,
    a_lease_that_runs_out_takes_its_keys_and_watchers_see_it,
    a_lease_that_is_kept_alive_lives,
    a_revoked_lease_takes_its_keys_at_once,
    a_watch_from_an_old_revision_replays_in_order,
    between_list_and_watch_there_is_no_gap,
    a_mirror_follows_through_a_broken_connection,
    what_is_too_large_or_nonsense_is_bad,
);

async fn of_many_that_create_a_key_one_wins(backend: Backend) {
    let mut tasks = JoinSet::new();
    for n in 0..16 {
        let store = Arc::clone(&backend.store);
        tasks.spawn(async move {
            let create = transaction([absent("leader")], [put("leader", &n.to_string())]);
            (n, store.commit(create).await)
        });
    }
    let results = tasks.join_all().await;
    let winners: Vec<i32> = results
        .iter()
        .filter(|(_, it)| it.is_ok())
        .map(|(n, _)| *n)
        .collect();
    let [winner] = winners[..] else {
        panic!("not one winner: {results:?}");
    };
    let others = results.iter().filter(|(n, _)| *n != winner);
    assert!(
        others
            .into_iter()
            .all(|(_, it)| *it == Err(StoreError::Conflict)),
        "{results:?}"
    );
    assert_eq!(
        values(&*backend.store, "leader").await,
        [("leader".to_owned(), winner.to_string())]
    );
}

async fn an_outdated_revision_conflicts(backend: Backend) {
    let store = &*backend.store;
    let first = write(store, [put("k", "1")]).await;
    let second = store
        .commit(transaction([since("k", first)], [put("k", "2")]))
        .await
        .expect("up to date");
    assert!(second > first);
    for old in [first, Revision(0), Revision(second.0 + 100)] {
        let late = store
            .commit(transaction([since("k", old)], [put("k", "3")]))
            .await;
        assert_eq!(late, Err(StoreError::Conflict), "{old:?}");
    }
    let listing = store.list("k").await.expect("listed");
    assert_eq!(
        (listing.entries[0].revision, &*listing.entries[0].value),
        (second, &b"2"[..])
    );
    // A key that was removed is as absent as one that never was.
    write(store, [delete("k")]).await;
    let late = store
        .commit(transaction([since("k", second)], [put("k", "3")]))
        .await;
    assert_eq!(late, Err(StoreError::Conflict));
    store
        .commit(transaction([absent("k")], [put("k", "4")]))
        .await
        .expect("absent");
}

async fn a_transaction_happens_whole_or_not_at_all(backend: Backend) {
    let store = &*backend.store;
    let (a, b) = (
        write(store, [put("a", "1")]).await,
        write(store, [put("b", "1")]).await,
    );
    let writes = [put("a", "2"), delete("b"), put("c", "2")];
    let half = transaction([since("a", a), since("b", a)], writes.clone());
    assert_eq!(store.commit(half).await, Err(StoreError::Conflict));
    let unchanged = [("a", "1"), ("b", "1")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(values(store, "").await, unchanged);

    let whole = transaction([since("a", a), since("b", b), absent("c")], writes);
    let revision = store.commit(whole).await.expect("all conditions hold");
    let listing = store.list("").await.expect("listed");
    let written: Vec<_> = listing
        .entries
        .iter()
        .map(|it| (&*it.key, it.revision))
        .collect();
    assert_eq!(written, [("a", revision), ("c", revision)]);
}

async fn nobody_sees_half_a_transaction(backend: Backend) {
    write(&*backend.store, [put("left", "50"), put("right", "50")]).await;
    let store = Arc::clone(&backend.store);
    let moving = tokio::spawn(async move {
        for n in 0..50 {
            let (left, right) = (n.to_string(), (100 - n).to_string());
            write(&*store, [put("left", &left), put("right", &right)]).await;
        }
    });
    while !moving.is_finished() {
        let sum: u32 = values(&*backend.store, "")
            .await
            .iter()
            .map(|(_, it)| it.parse::<u32>().expect("ours"))
            .sum();
        assert_eq!(sum, 100);
    }
    moving.await.expect("all written");
}

async fn a_lease_that_runs_out_takes_its_keys_and_watchers_see_it(backend: Backend) {
    let store = &*backend.store;
    let mut changes = store.watch("nodes/", Revision(0)).await.expect("watching");
    let start = Instant::now();
    let lease = store.grant(LEASE).await.expect("granted");
    let bound = write(
        store,
        [
            put_leased("nodes/1", "x", lease),
            put_leased("nodes/2", "y", lease),
        ],
    )
    .await;
    for key in ["nodes/1", "nodes/2"] {
        let change = next(&mut changes).await;
        assert_eq!(
            (&*change.key, change.revision, change.value.is_some()),
            (key, bound, true)
        );
    }
    let mut gone = [next(&mut changes).await, next(&mut changes).await];
    assert!(start.elapsed() >= LEASE, "after {:?}", start.elapsed());
    gone.sort_by(|a, b| a.key.cmp(&b.key));
    assert_eq!(
        gone.each_ref().map(|it| (&*it.key, it.value.is_none())),
        [("nodes/1", true), ("nodes/2", true)]
    );
    assert!(gone.iter().all(|it| it.revision > bound));
    assert_eq!(values(store, "nodes/").await, []);
    // Who held it learns that it did not.
    assert_eq!(store.keep_alive(lease).await, Err(StoreError::NoLease));
    let late = store
        .commit(transaction([], [put_leased("nodes/1", "z", lease)]))
        .await;
    assert_eq!(late, Err(StoreError::NoLease));
    assert_eq!(values(store, "nodes/").await, []);
}

async fn a_lease_that_is_kept_alive_lives(backend: Backend) {
    let store = &*backend.store;
    let mut lease = store.grant(LEASE).await.expect("granted");
    write(store, [put_leased("k", "x", lease)]).await;
    let (mut start, mut kept) = (Instant::now(), Instant::now());
    let mut again = 0;
    while start.elapsed() < LEASE * 3 {
        let alive = store.keep_alive(lease).await;
        if kept.elapsed() > LEASE / 2 && again < 5 {
            // The machine was busy, and nobody has kept it alive: that proves nothing.
            again += 1;
            lease = store.grant(LEASE).await.expect("granted");
            write(store, [put_leased("k", "x", lease)]).await;
            (start, kept) = (Instant::now(), Instant::now());
            continue;
        }
        alive.expect("alive");
        kept = Instant::now();
        tokio::time::sleep(LEASE / 5).await;
    }
    assert_eq!(values(store, "k").await.len(), 1);
    assert_eq!(
        store.keep_alive(LeaseId(lease.0 + 1)).await,
        Err(StoreError::NoLease)
    );
}

async fn a_revoked_lease_takes_its_keys_at_once(backend: Backend) {
    let store = &*backend.store;
    let lease = store
        .grant(Duration::from_secs(600))
        .await
        .expect("granted");
    write(
        store,
        [
            put_leased("bound", "x", lease),
            put_leased("freed", "x", lease),
        ],
    )
    .await;
    write(store, [put("freed", "y")]).await;
    store.revoke(lease).await.expect("revoked");
    assert_eq!(
        values(store, "").await,
        [("freed".to_owned(), "y".to_owned())],
        "a later write without it frees a key"
    );
    store.revoke(lease).await.expect("no error the second time");
    assert_eq!(store.keep_alive(lease).await, Err(StoreError::NoLease));
}

async fn a_watch_from_an_old_revision_replays_in_order(backend: Backend) {
    let store = &*backend.store;
    let first = write(store, [put("w/a", "0"), put("other", "0")]).await;
    let mut expected = Vec::new();
    for n in 1..=20 {
        let (key, value) = (format!("w/{}", n % 3), n.to_string());
        let revision = write(store, [put(&key, &value), put("other", &value)]).await;
        expected.push(Change {
            revision,
            key,
            value: Some(value.into_bytes()),
        });
    }
    let revision = write(store, [delete("w/1")]).await;
    let gone = ("w/1".to_owned(), None);
    expected.push(Change {
        revision,
        key: gone.0,
        value: gone.1,
    });
    let mut changes = store.watch("w/", first).await.expect("watching");
    for change in expected {
        assert_eq!(next(&mut changes).await, change);
    }
    // And then what is new.
    let revision = write(store, [put("w/a", "new")]).await;
    assert_eq!(next(&mut changes).await.revision, revision);
}

async fn between_list_and_watch_there_is_no_gap(backend: Backend) {
    const WRITERS: usize = 4;
    const WRITES: usize = 60;
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let store = Arc::clone(&backend.store);
        writers.spawn(async move {
            for n in 0..WRITES {
                let key = format!("k/{writer}/{}", n % 7);
                let change = if n % 5 == 4 {
                    delete(&key)
                } else {
                    put(&key, &n.to_string())
                };
                write(&*store, [change]).await;
            }
        });
    }
    // Each begins at another moment of the writing.
    let mut followers = JoinSet::new();
    for n in 0..6 {
        let store = Arc::clone(&backend.store);
        followers.spawn(async move {
            tokio::time::sleep(Duration::from_millis(5 * n)).await;
            follow_until(&*store, "k/end").await
        });
    }
    writers.join_all().await;
    write(&*backend.store, [put("k/end", "")]).await;
    let end: BTreeMap<String, Vec<u8>> = entries(&*backend.store).await;
    assert!(end.len() > WRITERS, "there is something to miss");
    for copy in timeout(LONG, followers.join_all())
        .await
        .expect("all see the end")
    {
        assert_eq!(copy, end);
    }
}

async fn entries(store: &dyn Store) -> BTreeMap<String, Vec<u8>> {
    let listing = store.list("k/").await.expect("listed");
    listing
        .entries
        .into_iter()
        .map(|it| (it.key, it.value))
        .collect()
}

/// Lists, watches from there, and applies every change until this key is there.
async fn follow_until(store: &dyn Store, last: &str) -> BTreeMap<String, Vec<u8>> {
    let listing = store.list("k/").await.expect("listed");
    let mut changes = store.watch("k/", listing.revision).await.expect("watching");
    let mut seen = listing.revision;
    let mut copy: BTreeMap<String, Vec<u8>> = listing
        .entries
        .into_iter()
        .map(|it| (it.key, it.value))
        .collect();
    while !copy.contains_key(last) {
        let change = next(&mut changes).await;
        assert!(
            change.revision > seen,
            "each write here is a revision of its own"
        );
        seen = change.revision;
        match change.value {
            Some(value) => drop(copy.insert(change.key, value)),
            None => drop(copy.remove(&change.key)),
        }
    }
    copy
}

async fn a_mirror_follows_through_a_broken_connection(mut backend: Backend) {
    write(
        &*backend.store,
        [put("m/old", "1"), put("m/gone", "1"), put("else", "1")],
    )
    .await;
    let mut mirror = timeout(LONG, Mirror::follow(Arc::clone(&backend.store), "m/"))
        .await
        .expect("the first copy");
    assert_eq!(
        mirror.view().keys().collect::<Vec<_>>(),
        ["m/gone", "m/old"]
    );
    backend.interrupt().await;
    if backend.can_be_interrupted() {
        let lost = timeout(LONG, backend.store.list("m/"))
            .await
            .expect("every request ends in time");
        assert!(matches!(lost, Err(StoreError::Unreachable(_))), "{lost:?}");
        assert_eq!(mirror.view().len(), 2, "what was known stays known");
    }
    backend.mend().await;
    // It may take a moment until the connection is noticed to be back.
    let changed = timeout(LONG, async {
        let change = transaction([], [delete("m/gone"), put("m/new", "2")]);
        while backend.store.commit(change.clone()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    changed.await.expect("reachable again");
    let caught_up = timeout(LONG, async {
        while mirror.view().keys().ne(["m/new", "m/old"]) {
            mirror.changed().await;
        }
    });
    caught_up.await.expect("the mirror follows again");
    // And it goes on following, not only listing.
    let revision = write(&*backend.store, [put("m/new", "3")]).await;
    let caught_up = timeout(LONG, async {
        while mirror.view()["m/new"].revision != revision {
            mirror.changed().await;
        }
    });
    caught_up.await.expect("the mirror goes on");
}

async fn what_is_too_large_or_nonsense_is_bad(backend: Backend) {
    let store = &*backend.store;
    let (longest, too_long) = ("k".repeat(MAX_KEY_BYTES), "k".repeat(MAX_KEY_BYTES + 1));
    let (largest, too_large) = ("v".repeat(MAX_VALUE_BYTES), "v".repeat(MAX_VALUE_BYTES + 1));
    let bad: [Write; 5] = [
        put(&too_long, ""),
        put("", "x"),
        put("k", &too_large),
        delete(""),
        delete(&too_long),
    ];
    for one in bad {
        let result = store
            .commit(transaction([], [put("innocent", "x"), one]))
            .await;
        assert!(matches!(result, Err(StoreError::Bad(_))), "{result:?}");
    }
    for ttl in [
        Duration::ZERO,
        Duration::from_millis(99),
        Duration::from_secs(3601),
    ] {
        let result = store.grant(ttl).await;
        assert!(matches!(result, Err(StoreError::Bad(_))), "{result:?}");
    }
    assert_eq!(values(store, "").await, []);
    write(store, [put(&longest, &largest)]).await;
    assert_eq!(values(store, "k").await, [(longest, largest)]);
}

#[tokio::test]
async fn an_embedded_store_outlives_its_process() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("control-plane.json");
    let store = Embedded::open(&file).expect("created");
    let lease = store.grant(Duration::from_secs(60)).await.expect("granted");
    write(&store, [put("k", "1"), put_leased("bound", "x", lease)]).await;
    let last = write(&store, [put("k", "2")]).await;
    drop(store);

    let store = Embedded::open(&file).expect("opened again");
    let listing = store.list("").await.expect("listed");
    assert_eq!(listing.revision, last);
    assert_eq!(listing.entries.len(), 2);
    store.keep_alive(lease).await.expect("its holder may go on");
    let next = store
        .commit(transaction([since("k", last)], [put("k", "3")]))
        .await
        .expect("the same revisions");
    assert!(next > last);
}

#[tokio::test]
async fn a_broken_file_is_named_and_not_overwritten() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("control-plane.json");
    for broken in [&b""[..], b"{\"revision\": 3", b"\xff\xfe"] {
        std::fs::write(&file, broken).expect("written");
        let error = Embedded::open(&file)
            .map(drop)
            .expect_err("refused")
            .to_string();
        assert!(
            error.contains("control-plane.json") && error.contains("control plane's file"),
            "{error}"
        );
        assert_eq!(std::fs::read(&file).expect("still there"), broken);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_served_store_does_not_answer_to_a_wrong_key() {
    let server = Server::start(b"secret").await;
    let stranger = Remote::new(server.address, ClusterKey::new(b"guess"));
    let refused = [
        stranger.list("").await.map(drop),
        stranger
            .commit(transaction([], [put("k", "1")]))
            .await
            .map(drop),
        stranger.watch("", Revision(0)).await.map(drop),
    ];
    for result in refused {
        assert!(
            matches!(result, Err(StoreError::Unreachable(_))),
            "{result:?}"
        );
    }
    let friend = Remote::new(server.address, ClusterKey::new(b"secret"));
    assert_eq!(values(&friend, "").await, [], "and nothing was written");
}
