//! The embedded store of another process, over TCP.

use super::{Change, Embedded, LeaseId, Listing, Revision, Store, StoreError, Transaction, frames};
use crate::Boxed;
use crate::carrier::ClusterKey;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, Semaphore, mpsc};
use tokio::time::timeout;

/// A store that does not answer for so long is unreachable.
const PATIENCE: Duration = Duration::from_secs(2);
/// Connections served at once.
const MAX_CONNECTIONS: usize = 4096;

#[derive(Debug, Serialize, Deserialize)]
enum Request {
    Grant(Duration),
    KeepAlive(LeaseId),
    Revoke(LeaseId),
    List(String),
    Commit(Transaction),
    /// From here on the connection carries changes only.
    Watch(String, Revision),
}

#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    Lease(LeaseId),
    Done,
    Listing(Listing),
    Committed(Revision),
    Watching,
}

type Reply = Result<Answer, StoreError>;

/// Serves a store until the task is dropped.
pub fn serve(listener: TcpListener, store: Embedded, key: ClusterKey) -> Boxed<'static, ()> {
    Box::pin(async move {
        let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        loop {
            let Ok((stream, peer)) = listener.accept().await else {
                // Out of file handles, most likely: others may close some.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let Ok(seat) = Arc::clone(&room).try_acquire_owned() else {
                continue;
            };
            let (store, key) = (store.clone(), key.clone());
            tokio::spawn(async move {
                let _seat = seat;
                if let Err(error) = attend(stream, &store, &key).await {
                    tracing::debug!(%peer, %error, "a control-plane connection ended");
                }
            });
        }
    })
}

async fn attend(mut stream: TcpStream, store: &Embedded, key: &ClusterKey) -> io::Result<()> {
    stream.set_nodelay(true)?;
    timeout(PATIENCE, frames::greet(&mut stream, key, false)).await??;
    loop {
        let request: Request = frames::read(&mut stream).await?;
        let reply: Reply = match request {
            Request::Grant(ttl) => store.grant(ttl).await.map(Answer::Lease),
            Request::KeepAlive(lease) => store.keep_alive(lease).await.map(|()| Answer::Done),
            Request::Revoke(lease) => store.revoke(lease).await.map(|()| Answer::Done),
            Request::List(prefix) => store.list(&prefix).await.map(Answer::Listing),
            Request::Commit(transaction) => store.commit(transaction).await.map(Answer::Committed),
            Request::Watch(prefix, after) => {
                let mut changes = match store.watch(&prefix, after).await {
                    Ok(changes) => changes,
                    Err(error) => return frames::write(&mut stream, &Reply::Err(error)).await,
                };
                frames::write(&mut stream, &Reply::Ok(Answer::Watching)).await?;
                while let Some(change) = changes.recv().await {
                    frames::write(&mut stream, &change).await?;
                }
                return Ok(());
            }
        };
        frames::write(&mut stream, &reply).await?;
    }
}

/// A store in another process. One connection for requests, one per watch; broken ones are made again.
pub struct Remote {
    address: SocketAddr,
    key: ClusterKey,
    connection: Mutex<Option<TcpStream>>,
}

impl Remote {
    /// The store at this address. Nothing is sent yet.
    pub fn new(address: SocketAddr, key: ClusterKey) -> Self {
        Self {
            address,
            key,
            connection: Mutex::new(None),
        }
    }

    async fn connect(&self) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        frames::greet(&mut stream, &self.key, true).await?;
        Ok(stream)
    }

    async fn ask(&self, request: &Request) -> Reply {
        let mut connection = self.connection.lock().await;
        let answer = timeout(PATIENCE, async {
            let mut stream = match connection.take() {
                Some(stream) => stream,
                None => self.connect().await?,
            };
            frames::write(&mut stream, request).await?;
            let reply: Reply = frames::read(&mut stream).await?;
            *connection = Some(stream);
            io::Result::Ok(reply)
        });
        match answer.await {
            Ok(Ok(reply)) => reply,
            Ok(Err(error)) => Err(StoreError::Unreachable(error.to_string())),
            Err(_) => Err(StoreError::Unreachable("no answer in time".to_owned())),
        }
    }
}

fn strange(_: Answer) -> StoreError {
    StoreError::Unreachable("an answer to another question".to_owned())
}

#[async_trait]
impl Store for Remote {
    async fn grant(&self, ttl: Duration) -> Result<LeaseId, StoreError> {
        match self.ask(&Request::Grant(ttl)).await? {
            Answer::Lease(lease) => Ok(lease),
            other => Err(strange(other)),
        }
    }

    async fn keep_alive(&self, lease: LeaseId) -> Result<(), StoreError> {
        self.ask(&Request::KeepAlive(lease)).await.map(drop)
    }

    async fn revoke(&self, lease: LeaseId) -> Result<(), StoreError> {
        self.ask(&Request::Revoke(lease)).await.map(drop)
    }

    async fn list(&self, prefix: &str) -> Result<Listing, StoreError> {
        match self.ask(&Request::List(prefix.to_owned())).await? {
            Answer::Listing(listing) => Ok(listing),
            other => Err(strange(other)),
        }
    }

    async fn commit(&self, transaction: Transaction) -> Result<Revision, StoreError> {
        match self.ask(&Request::Commit(transaction)).await? {
            Answer::Committed(revision) => Ok(revision),
            other => Err(strange(other)),
        }
    }

    async fn watch(
        &self,
        prefix: &str,
        after: Revision,
    ) -> Result<mpsc::Receiver<Change>, StoreError> {
        let request = Request::Watch(prefix.to_owned(), after);
        let begin = timeout(PATIENCE, async {
            let mut stream = self.connect().await?;
            frames::write(&mut stream, &request).await?;
            let reply: Reply = frames::read(&mut stream).await?;
            io::Result::Ok((stream, reply))
        });
        let unreachable = |why: String| StoreError::Unreachable(why);
        let (mut stream, reply) = begin
            .await
            .map_err(|_| unreachable("no answer in time".to_owned()))?
            .map_err(|error| unreachable(error.to_string()))?;
        reply?;
        let (sender, receiver) = mpsc::channel(64);
        tokio::spawn(async move {
            while let Ok(change) = frames::read::<_, Change>(&mut stream).await {
                if sender.send(change).await.is_err() {
                    return;
                }
            }
        });
        Ok(receiver)
    }
}
