//! One client's connection: a reader that trusts nothing, and a writer with a bounded queue.

use super::bucket::Bucket;
use super::counters::Counters;
use super::guests::{Out, Outbox};
use super::hub::Request;
use super::link::{Incoming, Outgoing};
use super::listener::Peer;
use super::roles::Tokens;
use super::settings::{ClientLimits, GatewaySettings};
use crate::clock::ClusterClock;
use axum::extract::ws::{CloseFrame, Message, close_code};
use client_protocol::{Goodbye, Hello, ToClient, ToGateway, VERSION};
use domain::SimTime;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// What all connections share.
pub struct Lobby {
    pub settings: Arc<GatewaySettings>,
    pub tokens: Tokens,
    pub counters: Arc<Counters>,
    pub clock: Arc<ClusterClock>,
    pub requests: mpsc::Sender<Request>,
    pub sessions: AtomicU64,
}

/// Why a connection ends, if it is the client's fault.
type Fault = (Goodbye, &'static str);

/// Serves a client until it goes or must go.
pub async fn serve(lobby: Arc<Lobby>, peer: Peer, mut sender: Outgoing, mut receiver: Incoming) {
    let (hello, guest) = match greet(&lobby, &mut receiver).await {
        Ok(welcome) => welcome,
        Err(Some(fault)) => return part(&mut sender, fault.0, fault.1).await,
        Err(None) => return,
    };
    peer.establish();
    let session = lobby.sessions.fetch_add(1, Relaxed) + 1;
    let limits = lobby.settings.limits;
    tracing::debug!(session, address = %peer.address, name = guest.name, role = ?guest.role, "a client has come");
    let (outbox, queue) = Outbox::new(&limits, Arc::clone(&lobby.counters));
    let join = Request::Join {
        session,
        guest,
        outbox: outbox.clone(),
        area: hello.area,
        rate: hello.rate,
    };
    if lobby.requests.send(join).await.is_err() {
        return part(&mut sender, Goodbye::Stopping, "the gateway ends").await;
    }
    let mut writer = tokio::spawn(write(sender, queue, limits));
    let mut reader = Reader {
        lobby: &lobby,
        session,
        outbox: outbox.clone(),
        messages: Bucket::new(limits.messages_per_sec, lobby.clock.local()),
        bytes: Bucket::new(limits.bytes_per_sec, lobby.clock.local()),
        last_command: 0,
    };
    let mut written = false;
    tokio::select! {
        fault = reader.run(&mut receiver) => {
            if let Some((reason, text)) = fault {
                tracing::debug!(session, ?reason, text, "a client must go");
                outbox.say_goodbye(reason, text);
            }
        }
        _ = &mut writer => written = true,
        () = outbox.must_end() => {
            writer.abort();
            written = true;
        }
    }
    let _ = lobby.requests.send(Request::Leave { session }).await;
    drop((reader, outbox));
    // What is in the queue still goes out, if it goes out soon.
    if !written && timeout(limits.hello, &mut writer).await.is_err() {
        writer.abort();
    }
}

/// The first message decides.
async fn greet(
    lobby: &Lobby,
    receiver: &mut Incoming,
) -> Result<(Hello, super::roles::Guest), Option<Fault>> {
    let counters = &lobby.counters;
    let Ok(first) = timeout(lobby.settings.limits.hello, receiver.next()).await else {
        counters.silent.add_one();
        return Err(Some((Goodbye::Silent, "no hello")));
    };
    let bytes = match first {
        Some(Ok(Message::Binary(bytes))) => bytes,
        Some(Ok(Message::Close(_))) | None => return Err(None),
        Some(Err(error)) => {
            count_error(counters, &error);
            return Err(None);
        }
        Some(Ok(_)) => {
            counters.refused_malformed.add_one();
            return Err(Some((Goodbye::Malformed, "binary messages only")));
        }
    };
    let Ok(ToGateway::Hello(hello)) = ToGateway::decode(&bytes) else {
        counters.refused_malformed.add_one();
        return Err(Some((Goodbye::Malformed, "the first message is a hello")));
    };
    if hello.version != VERSION {
        counters.refused_versions.add_one();
        return Err(Some((Goodbye::Version, "this gateway speaks version 2")));
    }
    let Some(guest) = lobby.tokens.guest(&hello.token) else {
        counters.refused_tokens.add_one();
        return Err(Some((Goodbye::Token, "the token is not known")));
    };
    Ok((hello, guest))
}

/// A message that is longer than allowed comes as an error; that a connection ends is none of ours.
fn count_error(counters: &Counters, error: &axum::Error) {
    if error.to_string().contains("Space limit exceeded") {
        counters.refused_malformed.add_one();
    }
}

struct Reader<'a> {
    lobby: &'a Lobby,
    session: u64,
    outbox: Outbox,
    messages: Bucket,
    bytes: Bucket,
    last_command: u32,
}

impl Reader<'_> {
    /// Until the client goes (`None`) or must go.
    async fn run(&mut self, receiver: &mut Incoming) -> Option<Fault> {
        let counters = &self.lobby.counters;
        let limits = &self.lobby.settings.limits;
        loop {
            let Ok(next) = timeout(limits.silence, receiver.next()).await else {
                counters.silent.add_one();
                return Some((Goodbye::Silent, "you have said nothing for too long"));
            };
            let message = match next? {
                Ok(message) => message,
                Err(error) => {
                    count_error(counters, &error);
                    return None;
                }
            };
            counters.messages.add_one();
            let now = self.lobby.clock.local();
            let length = message_len(&message);
            counters.bytes_from_clients.add(length as u64);
            if !self.messages.take(now, 1.0) || !self.bytes.take(now, length as f64) {
                counters.refused_floods.add_one();
                return Some((Goodbye::Flooding, "too many messages"));
            }
            let bytes = match message {
                Message::Binary(bytes) => bytes,
                Message::Close(_) => return None,
                Message::Ping(_) | Message::Pong(_) => continue,
                Message::Text(_) => {
                    counters.refused_malformed.add_one();
                    return Some((Goodbye::Malformed, "binary messages only"));
                }
            };
            if let Err(fault) = self.handle(now, &bytes).await {
                return Some(fault);
            }
        }
    }

    async fn handle(&mut self, now: SimTime, bytes: &[u8]) -> Result<(), Fault> {
        let counters = &self.lobby.counters;
        let message = ToGateway::decode(bytes).map_err(|error| {
            tracing::debug!(session = self.session, %error, "a message was refused");
            counters.refused_malformed.add_one();
            (Goodbye::Malformed, "that is no message")
        })?;
        let session = self.session;
        let request = match message {
            ToGateway::Hello(_) => {
                counters.refused_malformed.add_one();
                return Err((Goodbye::Malformed, "you have said hello before"));
            }
            ToGateway::Ping { sent } => {
                self.answer_ping(now, sent);
                return Ok(());
            }
            ToGateway::Watch(area) => Request::Watch { session, area },
            ToGateway::Inspect(inspect) => Request::Inspect { session, inspect },
            ToGateway::Anew => Request::Anew { session },
            ToGateway::Command { id, command } => {
                if id <= self.last_command {
                    counters.refused_replays.add_one();
                    return Ok(());
                }
                self.last_command = id;
                if !self
                    .outbox
                    .begin_command(self.lobby.settings.limits.outstanding)
                {
                    counters.refused_floods.add_one();
                    return Err((Goodbye::Flooding, "too many commands at once"));
                }
                let command = Box::new(command);
                Request::Order {
                    session,
                    id,
                    command,
                }
            }
        };
        let sent = self.lobby.requests.send(request).await;
        sent.map_err(|_| (Goodbye::Stopping, "the gateway ends"))
    }

    fn answer_ping(&self, now: SimTime, sent: SimTime) {
        let clock = &self.lobby.clock;
        let time = || clock.common().unwrap_or_else(|| clock.machine());
        let replied = time();
        let received = SimTime(replied.0 - clock.local().since(now).0);
        let pong = ToClient::Pong {
            sent,
            received,
            replied,
        };
        // A client that is behind gets none: it would say nothing about the network.
        if self.outbox.waiting() < self.lobby.settings.limits.backlog {
            self.outbox.push(pong.encode().into());
        }
    }
}

fn message_len(message: &Message) -> usize {
    match message {
        Message::Binary(bytes) | Message::Ping(bytes) | Message::Pong(bytes) => bytes.len(),
        Message::Text(text) => text.len(),
        Message::Close(_) => 0,
    }
}

async fn write(mut sender: Outgoing, mut queue: mpsc::Receiver<Out>, limits: ClientLimits) {
    while let Some(out) = queue.recv().await {
        let bytes = match out {
            Out::Message(bytes) => bytes,
            Out::Goodbye(reason, text) => return part(&mut sender, reason, &text).await,
        };
        // Someone who does not read for so long does not read at all.
        let sent = timeout(limits.patience * 2, sender.send(Message::Binary(bytes))).await;
        if !matches!(sent, Ok(Ok(()))) {
            return;
        }
    }
    let _ = timeout(limits.patience, sender.close()).await;
}

async fn part(sender: &mut Outgoing, reason: Goodbye, text: &str) {
    let goodbye = ToClient::Goodbye {
        reason,
        text: text.to_owned(),
    };
    let code = match reason {
        Goodbye::Stopping => close_code::AWAY,
        Goodbye::Version | Goodbye::Malformed => close_code::PROTOCOL,
        _ => close_code::POLICY,
    };
    let frame = CloseFrame {
        code,
        reason: text.to_owned().into(),
    };
    let farewell = async {
        let _ = sender.send(Message::Binary(goodbye.encode().into())).await;
        let _ = sender.send(Message::Close(Some(frame))).await;
        let _ = sender.close().await;
    };
    let _ = timeout(std::time::Duration::from_secs(1), farewell).await;
}
