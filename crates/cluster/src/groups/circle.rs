//! The leading coordinator's circle of servers: who is in which group, as they themselves measure and vote.

use super::post::{News, Post};
use super::{Gauges, GroupSettings, address, machine};
use crate::carrier::{Carrier, Switchboard};
use crate::clock::ClusterClock;
use crate::names::NodeId;
use crate::node::Node;
use crate::schema::{ClusterView, Grouping, Role};
use ::groups::{Coordinator, CoordinatorEvent, Division, VoteKind};
use domain::{Rect, SimTime};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A newcomer that has not been measured is waited for so long before anything else is told: a group that is told without those who are about to be in it
/// would lose regions for nothing. Longer than measuring and asking takes, twice.
const PATIENCE: SimTime = SimTime(10_000_000_000);

/// What a coordinator needs to begin a circle whenever it leads.
pub struct Founder {
    me: NodeId,
    settings: GroupSettings,
    clock: Arc<ClusterClock>,
    carrier: Arc<dyn Carrier>,
    switchboard: Switchboard,
    gauges: Arc<Gauges>,
    view: watch::Receiver<Arc<ClusterView>>,
}

impl Founder {
    /// On this process.
    pub fn new(node: &Node, settings: GroupSettings) -> Self {
        Self {
            me: node.id,
            settings,
            clock: Arc::clone(&node.clock),
            carrier: Arc::clone(&node.carrier),
            switchboard: node.switchboard.clone(),
            gauges: Arc::clone(&node.groups),
            view: node.membership.view(),
        }
    }

    /// Begins a circle; it ends when it is dropped. `None` if the settings cannot work.
    pub fn found(&self) -> Option<Circle> {
        let square = Rect {
            min: [0.0; 2],
            max: [1.0; 2],
        };
        let nothing = Division::of_ground(square).expect("a square can be divided");
        let (me, config) = (self.me, self.settings.core());
        let core = Coordinator::new(config, nothing, 1, address(me), machine(me));
        let refused =
            |error: &_| tracing::error!(%error, "there are no groups: the settings cannot work");
        let (told, groups) = watch::channel(Vec::new());
        let run = Run {
            core: core.inspect_err(refused).ok()?,
            post: Post::open(
                me,
                Arc::clone(&self.clock),
                Arc::clone(&self.carrier),
                &self.switchboard,
            ),
            gauges: Arc::clone(&self.gauges),
            patient_until: self.clock.local() + PATIENCE,
            told,
            refused: 0,
        };
        let task = tokio::spawn(run.run(self.view.clone()));
        Some(Circle {
            me,
            settings: self.settings,
            groups,
            task,
        })
    }
}

/// A circle that is at work.
pub struct Circle {
    me: NodeId,
    settings: GroupSettings,
    groups: watch::Receiver<Vec<Vec<NodeId>>>,
    task: JoinHandle<()>,
}

impl Drop for Circle {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Circle {
    /// The groups, if they are others than before.
    pub fn news(&mut self) -> Option<Vec<Vec<NodeId>>> {
        let changed = self.groups.has_changed().unwrap_or(false);
        changed.then(|| self.groups.borrow_and_update().clone())
    }

    /// What the control plane should say, with the groups as the planner has put them in order.
    pub fn grouping(&self, groups: &[Vec<NodeId>]) -> Grouping {
        Grouping {
            coordinator: self.me,
            settings: self.settings,
            groups: groups.to_vec(),
        }
    }
}

struct Run {
    core: Coordinator,
    post: Post,
    gauges: Arc<Gauges>,
    /// Until then newcomers are waited for.
    patient_until: SimTime,
    told: watch::Sender<Vec<Vec<NodeId>>>,
    refused: u64,
}

impl Run {
    async fn run(mut self, mut view: watch::Receiver<Arc<ClusterView>>) {
        loop {
            let current = view.borrow_and_update().clone();
            self.post.meet(current.nodes.keys().copied().collect());
            self.turn(&current);
            let wakeup = self.core.next_wakeup();
            tokio::select! {
                changed = view.changed() => if changed.is_err() { return },
                () = self.post.wait(wakeup) => {}
            }
        }
    }

    fn turn(&mut self, view: &ClusterView) {
        for news in self.post.receive() {
            // Who has begun anew says so itself, and joins again.
            if let News::Heard(at, from, message) = news {
                self.core.handle_message(at, from, message);
            }
        }
        let now = self.post.now();
        self.core.handle_tick(now);
        while let Some(transmit) = self.core.poll_transmit() {
            self.post.send(now, &transmit);
        }
        self.post.flush(now);
        let refused = self.core.rejections().total();
        let more = refused.saturating_sub(self.refused);
        self.gauges.count_refused(more + self.post.take_refused());
        self.refused = refused;
        self.hear_votes(view);
        self.tell(now, view);
    }

    fn hear_votes(&mut self, view: &ClusterView) {
        while let Some(event) = self.core.poll_event() {
            let CoordinatorEvent::Voted {
                kind,
                about,
                passed,
            } = event
            else {
                continue;
            };
            let server = self.servers(view).get(&about).map(|node| name(view, *node));
            let server = server.unwrap_or_else(|| about.to_string());
            let verdict = match (kind, passed) {
                (VoteKind::Inclusion, true) => "near: it comes in",
                (VoteKind::Inclusion, false) => "not near enough for everyone: it stays outside",
                (VoteKind::Rejection, true) => "too far or too slow: it goes",
                (VoteKind::Rejection, false) => "near enough for most: it stays",
            };
            if passed {
                self.gauges.count_vote();
            }
            tracing::info!(server, verdict, "a vote");
        }
    }

    /// The servers that want to stay, by the names that the core has given them.
    fn servers(&self, view: &ClusterView) -> BTreeMap<::groups::NodeId, NodeId> {
        let joined =
            staying(view).filter_map(|node| Some((self.core.node_at(address(node))?, node)));
        joined.collect()
    }

    /// Tells the groups, once everyone who is there has been measured; whoever cannot be is waited for no longer than it takes others.
    fn tell(&mut self, now: SimTime, view: &ClusterView) {
        let mut servers = self.servers(view);
        servers.retain(|id, _| self.core.is_placed(*id));
        let complete = servers.len() == staying(view).count();
        if complete {
            self.patient_until = now + PATIENCE;
        }
        if !complete && now < self.patient_until {
            return;
        }
        let groups = self.core.groups().map(|(.., members)| {
            let members = members.iter().filter_map(|id| servers.get(id).copied());
            members.collect::<Vec<_>>()
        });
        let groups: Vec<Vec<NodeId>> = groups.filter(|group| !group.is_empty()).collect();
        let changed = self.told.send_if_modified(|told| {
            let changed = *told != groups;
            told.clone_from(&groups);
            changed
        });
        if changed {
            tracing::info!(groups = in_words(view, &groups), "who is near whom");
        }
    }
}

fn staying(view: &ClusterView) -> impl Iterator<Item = NodeId> + '_ {
    let servers = view.nodes.values();
    let staying = servers.filter(|info| info.role == Role::Server && !info.leaving);
    staying.map(|info| info.node)
}

fn name(view: &ClusterView, node: NodeId) -> String {
    let info = view.nodes.get(&node);
    info.map_or_else(|| node.to_string(), |info| info.name.clone())
}

fn in_words(view: &ClusterView, groups: &[Vec<NodeId>]) -> String {
    let words = groups.iter().map(|group| {
        let names: Vec<String> = group.iter().map(|node| name(view, *node)).collect();
        names.join(", ")
    });
    words.collect::<Vec<_>>().join("; ")
}
