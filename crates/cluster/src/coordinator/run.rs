//! The coordinator's driver: elections, heartbeats, commits.

use super::planner::{Planner, PlannerSettings, Why};
use crate::Boxed;
use crate::carrier::{Carrier, Datagram, Switchboard};
use crate::clock::ClusterClock;
use crate::groups::{self, Circle, Founder};
use crate::membership::{LEASE, Membership};
use crate::messages::{self, Heartbeat, Pulse};
use crate::names::NodeId;
use crate::node::{Connection, Node};
use crate::schema::{self, ClusterView, Grouping, Leader, Role, WorldSpec};
use crate::store::{LeaseId, Revision, Store, StoreError, Transaction, Unchanged, Write};
use domain::SimTime;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// How often the planner thinks, if nothing happens.
const THINK: Duration = Duration::from_millis(25);
/// A coordinator that has not thought for so long was away itself, and blames nobody for silence.
const AWAY: SimTime = SimTime(100_000_000);
const RENEWAL: Duration = Duration::from_secs(1);
/// What only people want to know is written down so often at most.
const TELLING: SimTime = SimTime(5_000_000_000);
/// All regions are ready: the world starts so much later, so that everyone has heard of it.
pub const COUNTDOWN: SimTime = SimTime(300_000_000);

/// A coordinator, leading or not.
pub struct Coordinator {
    node: NodeId,
    clock: Arc<ClusterClock>,
    settings: PlannerSettings,
    heartbeats: mpsc::UnboundedReceiver<Heartbeat>,
    deaths: mpsc::UnboundedReceiver<NodeId>,
    /// What it sets up if there is no world yet.
    world: Option<WorldSpec>,
    /// Where consistency groups are on.
    founder: Option<Founder>,
}

/// Leading since this revision, while this lease lasts.
struct Reign {
    lease: LeaseId,
    revision: Revision,
    planner: Planner,
    /// Who is near whom, where consistency groups are on.
    circle: Option<Circle>,
    /// What the control plane says of that.
    grouping: Option<Grouping>,
    /// When it may tell again how promises are kept.
    tell_at: SimTime,
}

impl Coordinator {
    /// Joins the cluster as a coordinator of this name and runs until `stop` becomes true.
    pub fn start<'a>(
        connection: &'a Connection,
        name: &'a str,
        settings: PlannerSettings,
        world: Option<WorldSpec>,
        stop: watch::Receiver<bool>,
    ) -> Boxed<'a, io::Result<JoinHandle<()>>> {
        Box::pin(async move {
            let node = Node::join(connection, Role::Coordinator, name, None).await?;
            Ok(tokio::spawn(Self::serve(node, settings, world, stop)))
        })
    }

    /// Runs in a process that has joined until `stop` becomes true.
    pub fn serve(
        node: Node,
        settings: PlannerSettings,
        world: Option<WorldSpec>,
        stop: watch::Receiver<bool>,
    ) -> Boxed<'static, ()> {
        Box::pin(async move {
            let founder = settings.groups.map(|groups| Founder::new(&node, groups));
            let (clock, carrier) = (node.clock, node.carrier);
            let coordinator = Self {
                founder,
                ..Self::new(node.id, clock, carrier, &node.switchboard, settings, world)
            };
            coordinator.run(node.membership, stop).await;
        })
    }

    /// Listens to heartbeats, and answers them, leading or not: everyone's clock follows whom it asks.
    fn new(
        node: NodeId,
        clock: Arc<ClusterClock>,
        carrier: Arc<dyn Carrier>,
        switchboard: &Switchboard,
        settings: PlannerSettings,
        world: Option<WorldSpec>,
    ) -> Self {
        let (sender, heartbeats) = mpsc::unbounded_channel();
        let (died, deaths) = mpsc::unbounded_channel();
        carrier.watch_deaths(Box::new(move |node| {
            let _ = died.send(node);
        }));
        let reference = Arc::clone(&clock);
        // On the carrier's thread: an answer that waits makes the asker's bound worse.
        let hear = move |datagram: Datagram| {
            let received = reference.machine();
            match messages::decode::<Heartbeat>(&datagram.bytes) {
                Ok(heartbeat) => {
                    let pulse = Pulse {
                        sent: heartbeat.sent,
                        received,
                        replied: reference.machine(),
                    };
                    carrier.send(
                        node.pulse_endpoint(),
                        datagram.from,
                        &messages::encode(&pulse),
                    );
                    let _ = sender.send(heartbeat);
                }
                Err(error) => tracing::warn!(%error, "a heartbeat was refused"),
            }
        };
        switchboard.connect(node.pulse_endpoint(), Arc::new(hear));
        Self {
            node,
            clock,
            settings,
            heartbeats,
            deaths,
            world,
            founder: None,
        }
    }

    /// Leads whenever it can, until `stop` becomes true.
    async fn run(mut self, membership: Membership, mut stop: watch::Receiver<bool>) {
        let mut reign: Option<Reign> = None;
        let mut view = membership.view();
        let mut renewal = tokio::time::interval(RENEWAL);
        renewal.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut think = tokio::time::interval(THINK);
        think.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        view.mark_changed();
        let mut thought = self.clock.local();
        loop {
            tokio::select! {
                () = crate::node::stopped(&mut stop) => break,
                _ = renewal.tick() => self.renew(&membership, &mut reign).await,
                changed = view.changed() => {
                    if changed.is_err() {
                        break;
                    }
                    let current = view.borrow_and_update().clone();
                    if let Some(reign) = &mut reign {
                        reign.planner.handle_view(self.clock.local(), &current);
                    }
                }
                Some(heartbeat) = self.heartbeats.recv() => {
                    let now = self.clock.local();
                    if let Some(reign) = &mut reign {
                        reign.planner.handle_heartbeat(now, &heartbeat);
                    }
                    // As long as there is time: thinking has its own turns.
                    if now.since(thought) < AWAY {
                        continue;
                    }
                }
                Some(node) = self.deaths.recv() => {
                    if let Some(reign) = &mut reign {
                        reign.planner.handle_death(self.clock.local(), node);
                    }
                }
                _ = think.tick() => {}
            }
            let now = self.clock.local();
            let away = now.since(thought);
            thought = now;
            if let Some(reign) = &mut reign {
                if away > AWAY {
                    tracing::debug!(secs = away.as_secs(), "the coordinator was away");
                    reign.planner.was_away(away);
                }
                // Who has spoken is not judged by what it had not said before.
                while let Ok(heartbeat) = self.heartbeats.try_recv() {
                    reign.planner.handle_heartbeat(now, &heartbeat);
                }
            }
            let current = view.borrow().clone();
            if let Some(mut leading) = reign.take() {
                let governed = self.govern(&membership, &current, &mut leading).await;
                let governed = governed.and(self.gather(&membership, &current, &mut leading).await);
                let governed = governed.and(self.tell(&membership, &current, &mut leading).await);
                reign = match governed {
                    Ok(()) => Some(leading),
                    // What we knew is outdated; the news is on its way. Or we no longer lead: renewing tells.
                    Err(StoreError::Conflict) => Some(leading),
                    Err(error) => {
                        tracing::warn!(%error, "a decision could not be written down");
                        Some(leading)
                    }
                };
            }
        }
        if let Some(reign) = reign {
            let _ = membership.store().revoke(reign.lease).await;
        }
        membership.leave().await;
    }

    /// Stays leader, or tries to become it.
    async fn renew(&self, membership: &Membership, reign: &mut Option<Reign>) {
        let store = membership.store();
        if let Some(leading) = reign {
            match store.keep_alive(leading.lease).await {
                Ok(()) => return,
                Err(StoreError::NoLease) => {
                    tracing::warn!("no longer the leading coordinator");
                    *reign = None;
                }
                // Nobody else can lead either as long as the store does not answer; if it answers only others, it will not
                // take our writes.
                Err(error) => {
                    tracing::warn!(%error, "cannot renew the leadership");
                    return;
                }
            }
        }
        match self.stand(&**store, membership).await {
            Ok(Some(leading)) => {
                tracing::info!(node = %self.node, "leading");
                *reign = Some(leading);
            }
            Ok(None) => {}
            Err(error) => tracing::debug!(%error, "cannot stand for coordinator"),
        }
    }

    async fn stand(
        &self,
        store: &dyn Store,
        membership: &Membership,
    ) -> Result<Option<Reign>, StoreError> {
        let key = membership.keys().leader();
        let current = membership.view().borrow().clone();
        if current.leader.is_some() {
            return Ok(None);
        }
        let lease = store.grant(LEASE).await?;
        let transaction = Transaction {
            conditions: vec![Unchanged {
                key: key.clone(),
                since: Revision(0),
            }],
            writes: vec![Write::Put {
                key,
                value: schema::to_bytes(&Leader { node: self.node }),
                lease: Some(lease),
            }],
        };
        match store.commit(transaction).await {
            Ok(revision) => {
                let mut planner = Planner::new(self.settings);
                planner.handle_view(self.clock.local(), &current);
                let circle = self.founder.as_ref().and_then(Founder::found);
                let grouping = current.groups.clone();
                if let Some(before) = grouping.as_ref().filter(|_| circle.is_some()) {
                    // Until our own circle has measured, those near each other are those who were.
                    planner.handle_groups(&before.groups);
                }
                Ok(Some(Reign {
                    lease,
                    revision,
                    planner,
                    circle,
                    grouping,
                    // Until then all servers have been heard.
                    tell_at: self.clock.local() + TELLING,
                }))
            }
            Err(StoreError::Conflict) => {
                store.revoke(lease).await?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    async fn govern(
        &mut self,
        membership: &Membership,
        view: &ClusterView,
        reign: &mut Reign,
    ) -> Result<(), StoreError> {
        let keys = membership.keys();
        let Some(world) = &view.world else {
            let Some(world) = self.world.take() else {
                return Ok(());
            };
            let written = self
                .write(
                    membership,
                    view,
                    reign,
                    keys.world(),
                    schema::to_bytes(&world),
                )
                .await;
            // Someone else may have been faster; otherwise it is tried again.
            self.world = written.is_err().then_some(world);
            return written;
        };
        let now = self.clock.local();
        if let Some(plan) = reign.planner.plan(now, world) {
            for verdict in &plan.verdicts {
                let (region, to) = (verdict.region, verdict.to);
                match verdict.why {
                    Why::First => tracing::info!(%region, %to, "assigned"),
                    Why::Moved => tracing::info!(%region, %to, "moved"),
                    why => {
                        tracing::warn!(%region, %to, ?why, from = verdict.from.map(tracing::field::display), "replaced")
                    }
                }
            }
            let value = schema::to_bytes(&plan.assignment);
            self.write(membership, view, reign, keys.assignment(), value)
                .await?;
            // Our own view will say the same soon; until then nothing is planned twice.
            reign.planner.committed(plan.assignment);
            return Ok(());
        }
        if world.start_unix_ns.is_none() && reign.planner.all_ready(world.generation) {
            let start = self.clock.machine() + COUNTDOWN;
            let started = WorldSpec {
                start_unix_ns: Some(start.0),
                ..WorldSpec::clone(world)
            };
            self.write(
                membership,
                view,
                reign,
                keys.world(),
                schema::to_bytes(&started),
            )
            .await?;
            tracing::info!(
                regions = world.map.len(),
                "all regions are ready; the world starts"
            );
        }
        Ok(())
    }

    /// Who is near whom goes to the planner, and what that makes of it to everyone.
    async fn gather(
        &self,
        membership: &Membership,
        view: &ClusterView,
        reign: &mut Reign,
    ) -> Result<(), StoreError> {
        if let Some(groups) = reign.circle.as_mut().and_then(Circle::news) {
            reign.planner.handle_groups(&groups);
        }
        let circle = reign.circle.as_ref();
        let grouping = circle.map(|circle| circle.grouping(reign.planner.groups()));
        if grouping == reign.grouping {
            return Ok(());
        }
        let key = membership.keys().groups();
        let write = match &grouping {
            Some(grouping) => Write::Put {
                key: key.clone(),
                value: schema::to_bytes(grouping),
                lease: None,
            },
            // Whoever led before us wanted to know; we do not.
            None => Write::Delete { key: key.clone() },
        };
        self.commit(membership, view, reign, key, write).await?;
        if let Some(Grouping { groups, .. }) = &grouping {
            let groups = groups::in_words(view, groups);
            tracing::info!(groups, "who is near whom; the first share the world");
        }
        reign.grouping = grouping;
        Ok(())
    }

    /// How promises are kept goes to everyone, in case someone asks.
    async fn tell(
        &self,
        membership: &Membership,
        view: &ClusterView,
        reign: &mut Reign,
    ) -> Result<(), StoreError> {
        let now = self.clock.local();
        if now < reign.tell_at {
            return Ok(());
        }
        reign.tell_at = now + TELLING;
        let keeping = reign.planner.keeping();
        if keeping == view.keeping {
            return Ok(());
        }
        let (key, value) = (membership.keys().keeping(), schema::to_bytes(&keeping));
        self.write(membership, view, reign, key, value).await
    }

    /// Writes a key, if it is as we know it and we still lead.
    async fn write(
        &self,
        membership: &Membership,
        view: &ClusterView,
        reign: &Reign,
        key: String,
        value: Vec<u8>,
    ) -> Result<(), StoreError> {
        let put = Write::Put {
            key: key.clone(),
            value,
            lease: None,
        };
        self.commit(membership, view, reign, key, put).await
    }

    async fn commit(
        &self,
        membership: &Membership,
        view: &ClusterView,
        reign: &Reign,
        key: String,
        write: Write,
    ) -> Result<(), StoreError> {
        let transaction = Transaction {
            conditions: vec![
                Unchanged {
                    key: membership.keys().leader(),
                    since: reign.revision,
                },
                Unchanged {
                    since: view.revision(&key),
                    key,
                },
            ],
            writes: vec![write],
        };
        membership.store().commit(transaction).await.map(drop)
    }
}
