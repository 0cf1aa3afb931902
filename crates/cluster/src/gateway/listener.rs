//! Connections at the door: counted before anything is read from them.

use super::counters::Counters;
use super::settings::ClientLimits;
#[cfg(feature = "tls")]
pub use super::tls::Doorkeeper;
use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use rustc_hash::FxHashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, Sleep};

/// Nobody can be one in a program without TLS.
#[cfg(not(feature = "tls"))]
pub enum Doorkeeper {}

/// As many places as are allowed, for connections of every kind.
#[derive(Clone)]
pub struct Seats {
    limits: ClientLimits,
    guests: Arc<Mutex<FxHashMap<IpAddr, usize>>>,
    counters: Arc<Counters>,
}

impl Seats {
    pub fn new(limits: ClientLimits, counters: Arc<Counters>) -> Self {
        Self {
            limits,
            guests: Arc::default(),
            counters,
        }
    }

    /// A place for someone from there, given back when it is dropped; `None` if there is no room. Counts either.
    pub fn take(&self, address: SocketAddr) -> Option<Place> {
        let mut guests = lock(&self.guests);
        let all: usize = guests.values().sum();
        let from_there = guests.entry(address.ip()).or_default();
        if all >= self.limits.connections || *from_there >= self.limits.connections_per_address {
            if *from_there == 0 {
                guests.remove(&address.ip());
            }
            self.counters.refused_connections.add_one();
            return None;
        }
        *from_there += 1;
        self.counters.connections.add_one();
        let guests = Arc::clone(&self.guests);
        Some(Place { address, guests })
    }

    /// Is every second place taken?
    #[cfg(feature = "tls")]
    pub fn are_crowded(&self) -> bool {
        lock(&self.guests).values().sum::<usize>() * 2 >= self.limits.connections
    }
}

/// Accepts connections, as many as are allowed.
pub struct Door {
    listener: TcpListener,
    seats: Seats,
    keeper: Option<Doorkeeper>,
}

impl Door {
    pub fn new(listener: TcpListener, seats: Seats, keeper: Option<Doorkeeper>) -> Self {
        Self {
            listener,
            seats,
            keeper,
        }
    }

    fn let_in(&self, stream: TcpStream, address: SocketAddr) -> Option<Guarded> {
        let place = self.seats.take(address)?;
        // Small messages must not wait for more to come.
        let _ = stream.set_nodelay(true);
        let stream = match &self.keeper {
            None => Wire::Plain(stream),
            #[cfg(feature = "tls")]
            Some(keeper) => Wire::Secured(keeper.greet(stream, Arc::clone(&self.seats.counters))),
            #[cfg(not(feature = "tls"))]
            Some(keeper) => match *keeper {},
        };
        let hello = self.seats.limits.hello;
        Some(Guarded {
            stream,
            place,
            established: Arc::default(),
            deadline: Box::pin(tokio::time::sleep_until(Instant::now() + hello)),
            patience: hello,
        })
    }
}

impl Listener for Door {
    type Io = Guarded;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Guarded, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    // Dropping it closes it.
                    if let Some(guarded) = self.let_in(stream, address) {
                        return (guarded, address);
                    }
                }
                Err(error) => {
                    // Out of file descriptors, most likely: others must end first.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A place at the table, given back when the connection ends.
pub struct Place {
    address: SocketAddr,
    guests: Arc<Mutex<FxHashMap<IpAddr, usize>>>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut guests = lock(&self.guests);
        if let Some(count) = guests.get_mut(&self.address.ip()) {
            *count -= 1;
            if *count == 0 {
                guests.remove(&self.address.ip());
            }
        }
    }
}

fn lock(guests: &Mutex<FxHashMap<IpAddr, usize>>) -> MutexGuard<'_, FxHashMap<IpAddr, usize>> {
    guests.lock().unwrap_or_else(|poison| poison.into_inner())
}

/// Bytes of a connection.
enum Wire {
    Plain(TcpStream),
    #[cfg(feature = "tls")]
    Secured(super::tls::Secured),
}

/// The same call for either.
macro_rules! either {
    ($wire:expr, $stream:ident => $call:expr) => {
        match $wire {
            Wire::Plain($stream) => $call,
            #[cfg(feature = "tls")]
            Wire::Secured($stream) => $call,
        }
    };
}

/// A connection that ends by itself unless it becomes a session in time.
pub struct Guarded {
    stream: Wire,
    place: Place,
    established: Arc<AtomicBool>,
    deadline: Pin<Box<Sleep>>,
    patience: Duration,
}

impl Guarded {
    /// Who takes what it asked for, a large page over a slow line, may take longer.
    fn put_off(&mut self) {
        if !self.established.load(Relaxed) {
            let later = Instant::now() + self.patience;
            self.deadline.as_mut().reset(later);
        }
    }
}

/// Who is at the other end.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Where.
    pub address: SocketAddr,
    established: Arc<AtomicBool>,
}

impl Peer {
    /// Someone whose connection does not come through the door.
    #[cfg(feature = "tls")]
    pub fn at(address: SocketAddr) -> Self {
        Self {
            address,
            established: Arc::default(),
        }
    }

    /// It is a session now: it may stay.
    pub fn establish(&self) {
        self.established.store(true, Relaxed);
    }
}

impl Connected<IncomingStream<'_, Door>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Door>) -> Self {
        let guarded = stream.io();
        Self {
            address: guarded.place.address,
            established: Arc::clone(&guarded.established),
        }
    }
}

impl AsyncRead for Guarded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.established.load(Relaxed) && self.deadline.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        either!(&mut self.stream, stream => Pin::new(stream).poll_read(context, buffer))
    }
}

impl AsyncWrite for Guarded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(
            either!(&mut self.stream, stream => Pin::new(stream).poll_write(context, bytes))
        );
        self.put_off();
        Poll::Ready(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(&mut self.stream, stream => Pin::new(stream).poll_flush(context))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(&mut self.stream, stream => Pin::new(stream).poll_shutdown(context))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(
            either!(&mut self.stream, stream => Pin::new(stream).poll_write_vectored(context, bytes))
        );
        self.put_off();
        Poll::Ready(written)
    }

    fn is_write_vectored(&self) -> bool {
        either!(&self.stream, stream => stream.is_write_vectored())
    }
}
