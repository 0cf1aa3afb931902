//! A server as a member of a group: it measures the others and votes, for as long as the control plane says that somebody wants to know.

use super::post::{News, Post};
use super::{Gauges, address, machine};
use crate::carrier::{Carrier, Switchboard};
use crate::clock::ClusterClock;
use crate::names::NodeId;
use crate::node::Node;
use crate::schema::{ClusterView, Grouping};
use ::groups::Member;
use domain::SimTime;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Who has not been welcomed for so long asks again: its question may have gone down with a coordinator's reign.
const PATIENCE: SimTime = SimTime(5_000_000_000);
/// So long the last words have to reach the coordinator. If they do not, silence says the same, later.
const FAREWELL: Duration = Duration::from_millis(200);

/// Takes part, from now until `stop` becomes true. Costs nothing where groups are off.
pub fn follow(node: &Node, stop: watch::Receiver<bool>) -> JoinHandle<()> {
    let follower = Follower {
        me: node.id,
        clock: Arc::clone(&node.clock),
        carrier: Arc::clone(&node.carrier),
        switchboard: node.switchboard.clone(),
        gauges: Arc::clone(&node.groups),
        part: None,
    };
    tokio::spawn(follower.run(node.membership.view(), stop))
}

struct Follower {
    me: NodeId,
    clock: Arc<ClusterClock>,
    carrier: Arc<dyn Carrier>,
    switchboard: Switchboard,
    gauges: Arc<Gauges>,
    part: Option<Part>,
}

/// Taking part in what one coordinator does.
struct Part {
    grouping: Grouping,
    post: Post,
    member: Member,
    asked: SimTime,
    /// What the member had refused when it was last asked.
    refused: u64,
}

impl Follower {
    async fn run(
        mut self,
        mut view: watch::Receiver<Arc<ClusterView>>,
        mut stop: watch::Receiver<bool>,
    ) {
        let current = view.borrow_and_update().clone();
        self.handle_view(&current);
        loop {
            tokio::select! {
                () = crate::node::stopped(&mut stop) => break,
                changed = view.changed() => {
                    if changed.is_err() {
                        break;
                    }
                    let current = view.borrow_and_update().clone();
                    self.handle_view(&current);
                }
                () = Part::wait(&mut self.part) => {}
            }
            if let Some(part) = &mut self.part {
                part.turn(self.me, &self.gauges);
            }
        }
        self.say_goodbye().await;
    }

    /// Takes part where the leading coordinator says so. While nobody leads, everything stays as it is.
    fn handle_view(&mut self, view: &ClusterView) {
        let Some(grouping) = &view.groups else {
            if self.part.take().is_some() {
                tracing::info!("groups are off: nobody is measured any more");
                self.gauges.set_delays(BTreeMap::new());
            }
            return;
        };
        let leads = |leader: &crate::schema::Leader| leader.node == grouping.coordinator;
        let same = |part: &Part| {
            part.grouping.coordinator == grouping.coordinator
                && part.grouping.settings == grouping.settings
        };
        if view.leader.as_ref().is_some_and(leads) && !self.part.as_ref().is_some_and(same) {
            self.part = self.begin(grouping);
        }
        if let Some(part) = &mut self.part {
            part.post.meet(view.nodes.keys().copied().collect());
        }
    }

    fn begin(&mut self, grouping: &Grouping) -> Option<Part> {
        let post = Post::open(
            self.me,
            Arc::clone(&self.clock),
            Arc::clone(&self.carrier),
            &self.switchboard,
        );
        let member = member(self.me, grouping)?;
        tracing::info!(coordinator = %grouping.coordinator, "measures how far the other servers are");
        Some(Part {
            grouping: grouping.clone(),
            post,
            member,
            asked: self.clock.local(),
            refused: 0,
        })
    }

    async fn say_goodbye(&mut self) {
        let Some(part) = &mut self.part else {
            return;
        };
        let now = part.post.now();
        part.member.leave(now);
        part.transmit(now);
        // Until what was said has been acknowledged, or it is too late.
        let end = now + SimTime(FAREWELL.as_nanos() as u64);
        while part.post.now() < end {
            part.post.wait(end).await;
            part.post.receive();
            let now = part.post.now();
            part.post.flush(now);
        }
    }
}

/// A node that asks the coordinator to be let in.
fn member(me: NodeId, grouping: &Grouping) -> Option<Member> {
    let coordinator = grouping.coordinator;
    let settings = grouping.settings.core();
    let made = Member::new(
        settings,
        machine(me),
        address(coordinator),
        machine(coordinator),
        me.0,
    );
    let refused = |error: &_| tracing::warn!(%error, "the settings of groups in the control plane cannot work");
    made.inspect_err(refused).ok()
}

impl Part {
    /// Until there is something to do; for ever where there is no part to take.
    async fn wait(part: &mut Option<Self>) {
        match part {
            Some(part) => part.post.wait(part.member.next_wakeup()).await,
            None => std::future::pending().await,
        }
    }

    fn turn(&mut self, me: NodeId, gauges: &Gauges) {
        let coordinator = self.grouping.coordinator;
        let mut forgotten = false;
        for news in self.post.receive() {
            match news {
                News::Heard(at, from, message) => self.member.handle_message(at, from, message),
                News::Restarted(node) => forgotten |= node == coordinator,
            }
        }
        let now = self.post.now();
        let unheard = self.member.id().is_none() && now.since(self.asked) > PATIENCE;
        if let Some(anew) = (forgotten || unheard)
            .then(|| member(me, &self.grouping))
            .flatten()
        {
            (self.member, self.asked, self.refused) = (anew, now, 0);
        }
        self.member.handle_tick(now);
        while self.member.poll_event().is_some() {}
        self.transmit(now);
        self.tell(gauges);
    }

    fn transmit(&mut self, now: SimTime) {
        while let Some(transmit) = self.member.poll_transmit() {
            self.post.send(now, &transmit);
        }
        self.post.flush(now);
    }

    fn tell(&mut self, gauges: &Gauges) {
        let refused = self.member.rejections().total();
        gauges.count_refused(refused.saturating_sub(self.refused) + self.post.take_refused());
        self.refused = refused;
        gauges.set_delays(
            self.member
                .delays()
                .map(|(address, ms)| (NodeId(address.0), ms))
                .collect(),
        );
    }
}
