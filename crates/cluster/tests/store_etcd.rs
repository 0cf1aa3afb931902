//! What only etcd has: compaction, certificates, users.
#![cfg(feature = "distributed")]

mod certificates;
mod etcd_process;

use certificates::Authority;
use cluster::store::{
    Etcd, EtcdSettings, EtcdTls, Revision, Store, StoreError, Transaction, Write,
};
use etcd_client::{Client, Permission};
use etcd_process::EtcdProcess;
use std::time::Duration;
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(20);

async fn put(store: &Etcd, key: &str, value: &str) -> Result<Revision, StoreError> {
    let write = Write::Put {
        key: key.to_owned(),
        value: value.into(),
        lease: None,
    };
    let writes = vec![write];
    store
        .commit(Transaction {
            conditions: Vec::new(),
            writes,
        })
        .await
}

async fn plain_client(etcd: &EtcdProcess) -> Client {
    Client::connect(etcd.settings().endpoints, None)
        .await
        .expect("connected")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_from_what_etcd_has_forgotten_ends() {
    let Some(etcd) = EtcdProcess::start().await else {
        return;
    };
    let store = etcd.connect().await;
    let first = put(&store, "k", "0").await.expect("put");
    let mut last = first;
    for n in 1..10 {
        last = put(&store, "k", &n.to_string()).await.expect("put");
    }
    let mut client = plain_client(&etcd).await.kv_client();
    client
        .compact(last.0 as i64, None)
        .await
        .expect("compacted");
    let mut changes = store.watch("k", first).await.expect("watching");
    assert_eq!(
        timeout(LONG, changes.recv()).await.expect("it ends"),
        None,
        "nothing is passed over in silence"
    );
    let mut changes = store.watch("k", last).await.expect("watching");
    let revision = put(&store, "k", "new").await.expect("put");
    let change = timeout(LONG, changes.recv())
        .await
        .expect("it comes")
        .expect("it goes on");
    assert_eq!(change.revision, revision);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_are_shown_and_asked_for() {
    let (ours, others) = (Authority::new(), Authority::new());
    let files = |authority: &Authority, name| EtcdTls {
        ca: ours.certificate(),
        client: Some(authority.issue(name)),
    };
    let Some(etcd) = EtcdProcess::start_with(Some(files(&ours, "etcd"))).await else {
        return;
    };
    let with = |tls| EtcdSettings {
        tls: Some(tls),
        ..etcd.settings()
    };
    let friend = Etcd::connect(&with(files(&ours, "friend")))
        .await
        .expect("a friend is let in");
    put(&friend, "k", "1").await.expect("put");
    let strangers = [
        files(&others, "stranger"),
        EtcdTls {
            ca: ours.certificate(),
            client: None,
        },
        // It does not trust us.
        EtcdTls {
            ca: others.certificate(),
            client: Some(ours.issue("sceptic")),
        },
    ];
    for stranger in strangers {
        let refused = Etcd::connect(&with(stranger.clone())).await.map(drop);
        assert!(
            matches!(refused, Err(StoreError::Unreachable(_))),
            "{stranger:?}: {refused:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_are_known_by_their_password_after_a_restart_too() {
    let Some(mut etcd) = EtcdProcess::start().await else {
        return;
    };
    let mut auth = plain_client(&etcd).await.auth_client();
    auth.user_add("root", "toor", None).await.expect("root");
    auth.user_grant_role("root", "root")
        .await
        .expect("root may all");
    auth.user_add("ada", "s3cret", None).await.expect("a user");
    auth.role_add("world").await.expect("a role");
    let ours = Permission::read_write("auramesh/").with_prefix();
    auth.role_grant_permission("world", ours)
        .await
        .expect("may write its own");
    auth.user_grant_role("ada", "world")
        .await
        .expect("has the role");
    auth.auth_enable().await.expect("on");

    let with = |user: Option<(&str, &str)>| EtcdSettings {
        user: user.map(|(name, password)| (name.to_owned(), password.to_owned())),
        ..etcd.settings()
    };
    for stranger in [None, Some(("ada", "guess")), Some(("eve", "s3cret"))] {
        let refused = Etcd::connect(&with(stranger)).await.map(drop);
        assert!(
            matches!(refused, Err(StoreError::Bad(_))),
            "{stranger:?}: {refused:?}"
        );
    }
    let ada = Etcd::connect(&with(Some(("ada", "s3cret"))))
        .await
        .expect("let in");
    put(&ada, "auramesh/test/k", "1").await.expect("hers");
    let refused = put(&ada, "elsewhere", "1").await;
    assert!(matches!(refused, Err(StoreError::Bad(_))), "{refused:?}");

    // etcd forgets who has logged in.
    etcd.kill();
    etcd.restart().await;
    let again = timeout(LONG, async {
        while let Err(error) = put(&ada, "auramesh/test/k", "2").await {
            assert!(matches!(error, StoreError::Unreachable(_)), "{error}");
        }
    });
    again.await.expect("she is let in again");
    assert_eq!(
        ada.list("auramesh/").await.expect("listed").entries.len(),
        1
    );
}
