//! A process's own end for those who live among tasks, not threads: gateways and observers.

use crate::carrier::{Carrier, Datagram, Switchboard};
use crate::clock::ClusterClock;
use crate::post_office::{Mail, PostOffice};
use channel::{ChannelFull, EndpointId};
use domain::SimTime;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// Channels to regions, driven by whoever waits for [`Self::next`].
pub struct Correspondent {
    post: PostOffice,
    clock: Arc<ClusterClock>,
    datagrams: mpsc::UnboundedReceiver<Datagram>,
    mail: VecDeque<Mail>,
}

/// At least so often the channels are looked at.
const GLANCE: SimTime = SimTime(100_000_000);

impl Correspondent {
    /// Connects the end.
    pub fn new(
        me: EndpointId,
        clock: Arc<ClusterClock>,
        carrier: Arc<dyn Carrier>,
        switchboard: &Switchboard,
    ) -> Self {
        let (sender, datagrams) = mpsc::unbounded_channel();
        switchboard.connect(me, Arc::new(move |datagram| drop(sender.send(datagram))));
        Self {
            post: PostOffice::new(me, 0, carrier),
            clock,
            datagrams,
            mail: VecDeque::new(),
        }
    }

    /// See [`PostOffice::send`]. It leaves at once.
    pub fn send(&mut self, to: EndpointId, payload: Vec<u8>) -> Result<(), ChannelFull> {
        let now = self.clock.local();
        self.post.send(now, to, payload)?;
        self.post.flush(now);
        Ok(())
    }

    /// See [`PostOffice::expect`].
    pub fn expect(&mut self, peer: EndpointId, incarnation: u32) {
        self.post.expect(peer, incarnation);
    }

    /// See [`PostOffice::forget`].
    pub fn forget(&mut self, peer: EndpointId) {
        self.post.forget(peer);
    }

    /// See [`PostOffice::renew`].
    pub fn renew(&mut self, peer: EndpointId) {
        self.post.renew(peer);
    }

    /// See [`PostOffice::incarnation_of`].
    pub fn incarnation_of(&self, peer: EndpointId) -> Option<u32> {
        self.post.incarnation_of(peer)
    }

    /// The next thing that comes. May be dropped and called again without losing anything.
    pub async fn next(&mut self) -> Mail {
        loop {
            if let Some(mail) = self.mail.pop_front() {
                return mail;
            }
            let now = self.clock.local();
            self.post.flush(now);
            let wakeup = self.post.next_wakeup().unwrap_or(now + GLANCE);
            let wait = Duration::from_nanos(wakeup.since(now).0.min(GLANCE.0));
            let first = tokio::select! {
                datagram = self.datagrams.recv() => datagram,
                () = tokio::time::sleep(wait) => None,
            };
            let now = self.clock.local();
            let mut mail = Vec::new();
            if let Some(first) = first {
                self.post.handle_datagram(now, &first, &mut mail);
                while let Ok(datagram) = self.datagrams.try_recv() {
                    self.post.handle_datagram(now, &datagram, &mut mail);
                }
            }
            self.mail.extend(mail);
        }
    }
}
