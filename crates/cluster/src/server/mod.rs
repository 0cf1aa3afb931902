//! A region server: a process that simulates the regions it is given and keeps snapshots of others.

mod farewell;
mod feed;
mod gauges;
mod host;
mod insight;
mod keeper;
mod pace;
mod pieces;
mod questions;
mod standby;
#[cfg(test)]
mod tests;
mod timetable;

pub use feed::FeedBuilder;
pub use gauges::Gauges;
pub use host::{FEEDS_PER_INSIGHT, HostSettings};
pub use insight::{InsightBuilder, REGION_LAYERS};
pub use pace::PATIENCE;
pub use standby::{KeptSnapshot, Standby};

use crate::Boxed;
use crate::carrier::{Carrier, Switchboard};
use crate::clock::ClusterClock;
use crate::membership::Membership;
use crate::messages::RegionPulse;
use crate::names::{Generation, NodeId, Place, Term};
use crate::schema::{ClusterView, Seat, WorldSpec};
use domain::RegionId;
use farewell::Farewell;
use host::{HostHandle, Input, Shared};
use keeper::KeeperInput;
use region::staging::Staging;
use region::{Region, RegionConfig, RegionError, RegionSnapshot};
use scenes::Scene;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use timetable::Timetable;
use tokio::sync::{mpsc, watch};

/// A region with which the server could not begin is tried again after so long.
const TRY_AGAIN: Duration = Duration::from_secs(2);

type Hosts = Arc<Mutex<BTreeMap<Place, HostHandle>>>;

/// A running region server.
pub struct Server {
    shared: Shared,
    standby: Arc<Standby>,
    hosts: Hosts,
    keeper: std::sync::mpsc::Sender<KeeperInput>,
    doubts: mpsc::UnboundedReceiver<Place>,
    /// The world that hosts are made of, staged once for all regions.
    stage: Option<Stage>,
    /// The age of the newest assignment that we have seen.
    newest: (Generation, u64),
    /// Some region is ours and could not be begun with.
    owes: bool,
}

struct Stage {
    world: Arc<WorldSpec>,
    scene: Scene,
    staging: Staging,
}

/// Looks at a server's regions from outside.
#[derive(Clone)]
pub struct ServerGauges {
    hosts: Hosts,
    standby: Arc<Standby>,
}

impl ServerGauges {
    /// All regions that the server simulates now.
    pub fn regions(&self) -> Vec<(Place, Term, Gauges)> {
        let hosts = lock(&self.hosts);
        let regions = hosts
            .iter()
            .map(|(place, host)| (*place, host.term, host.gauges.read()));
        regions.collect()
    }

    /// Bytes of snapshots kept for others.
    pub fn standby_bytes(&self) -> usize {
        self.standby.bytes()
    }
}

fn lock(hosts: &Hosts) -> MutexGuard<'_, BTreeMap<Place, HostHandle>> {
    hosts.lock().unwrap_or_else(|poison| poison.into_inner())
}

impl Server {
    /// Connects a server to the network. It does nothing until [`Self::run`].
    pub fn new(
        node: NodeId,
        clock: Arc<ClusterClock>,
        carrier: Arc<dyn Carrier>,
        switchboard: Switchboard,
        settings: HostSettings,
    ) -> std::io::Result<Self> {
        let standby = Arc::new(Standby::default());
        let hosts = Hosts::default();
        let told = Arc::clone(&hosts);
        let pulses = move || pulses(&told);
        let keeper = keeper::start(
            node,
            Arc::clone(&clock),
            Arc::clone(&carrier),
            &switchboard,
            Arc::clone(&standby),
            Arc::new(pulses),
        )?;
        let (doubt, doubts) = mpsc::unbounded_channel();
        let shared = Shared {
            node,
            clock,
            carrier,
            switchboard,
            standby: Arc::clone(&standby),
            settings,
            doubt,
        };
        Ok(Self {
            shared,
            standby,
            hosts,
            keeper,
            doubts,
            stage: None,
            newest: Default::default(),
            owes: false,
        })
    }

    /// To look at it from outside.
    pub fn gauges(&self) -> ServerGauges {
        ServerGauges {
            hosts: Arc::clone(&self.hosts),
            standby: Arc::clone(&self.standby),
        }
    }

    /// Does what the control plane says until `stop` becomes true; then gives everything away and ends.
    pub fn run(
        mut self,
        membership: Membership,
        mut stop: watch::Receiver<bool>,
    ) -> Boxed<'static, ()> {
        Box::pin(async move {
            let mut view = membership.view();
            let mut lapses = membership.lapses();
            let current = view.borrow_and_update().clone();
            self.handle_view(&current);
            loop {
                tokio::select! {
                    changed = view.changed() => {
                        if changed.is_err() {
                            break;
                        }
                        let current = view.borrow_and_update().clone();
                        self.handle_view(&current);
                    }
                    Some(place) = self.doubts.recv() => self.resolve(place, &membership).await,
                    Ok(()) = lapses.changed() => {
                        let _ = self.keeper.send(KeeperInput::Lapsed);
                    }
                    () = tokio::time::sleep(TRY_AGAIN), if self.owes => {
                        let current = view.borrow_and_update().clone();
                        self.handle_view(&current);
                    }
                    () = crate::node::stopped(&mut stop) => break,
                }
            }
            self.say_farewell(&membership, &mut view).await;
            membership.leave().await;
        })
    }

    /// A region's thread was away: is it still in charge?
    async fn resolve(&mut self, place: Place, membership: &Membership) {
        let now = membership.look().await.ok().map(Arc::new);
        if let Some(view) = &now {
            self.handle_view(view);
        }
        if let Some(host) = lock(&self.hosts).get(&place) {
            host.tell(Input::Confirmed(now));
        }
    }

    async fn say_farewell(
        &mut self,
        membership: &Membership,
        view: &mut watch::Receiver<Arc<ClusterView>>,
    ) {
        membership.announce_leaving();
        let hosts = Arc::clone(&self.hosts);
        let regions = || lock(&hosts).len();
        let mut farewell = Farewell::new(Instant::now(), regions());
        while regions() > 0 {
            let patience = farewell.patience(Instant::now(), regions());
            match tokio::time::timeout(patience, view.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => break,
                Err(_) => {
                    tracing::warn!(
                        regions = regions(),
                        "could not give every region away in time"
                    );
                    break;
                }
            }
            let current = view.borrow_and_update().clone();
            let others = current.nodes.values().any(|info| {
                info.role == crate::schema::Role::Server
                    && !info.leaving
                    && info.node != self.shared.node
            });
            if !others {
                break;
            }
            self.handle_view(&current);
        }
        for (_, host) in std::mem::take(&mut *lock(&self.hosts)) {
            host.stop();
        }
        let _ = self.keeper.send(KeeperInput::Stop);
    }

    /// Starts what is ours, stops what is not.
    fn handle_view(&mut self, view: &Arc<ClusterView>) {
        // Someone in doubt has looked for itself, and the news that was on its way is old. To believe it would be to end a region, and to begin it
        // again without the snapshot that it has begun with.
        let age = view.assignment.age();
        if age < self.newest {
            return;
        }
        self.newest = age;
        let node = self.shared.node;
        let generation = view.assignment.generation;
        let ours = |place: &Place, term: Term| {
            let seat = view.assignment.seat(place.region);
            place.generation == generation
                && seat.is_some_and(|seat| seat.owner == Some(node) && seat.term == term)
        };
        let mut stopped = Vec::new();
        {
            let mut hosts = lock(&self.hosts);
            let over: Vec<Place> = hosts
                .iter()
                .filter(|(place, host)| !ours(place, host.term))
                .map(|(place, _)| *place)
                .collect();
            for place in over {
                tracing::info!(%place, "not ours any more");
                stopped.extend(hosts.remove(&place));
            }
        }
        // Without the lock: a thread that ends may be in the middle of a tick.
        stopped.into_iter().for_each(HostHandle::stop);
        let wanted = view
            .assignment
            .regions()
            .filter(|(_, seat)| seat.owner == Some(node));
        let wanted: Vec<(RegionId, Term)> =
            wanted.map(|(region, seat)| (region, seat.term)).collect();
        self.owes = false;
        for (region, term) in wanted {
            let place = Place { generation, region };
            if lock(&self.hosts).contains_key(&place) {
                continue;
            }
            match self.start(view, place, term) {
                Ok(Some(host)) => drop(lock(&self.hosts).insert(place, host)),
                // The world's description has not come yet.
                Ok(None) => {}
                Err(error) => {
                    tracing::error!(%place, %error, "the region cannot be started");
                    self.owes = true;
                }
            }
        }
        for host in lock(&self.hosts).values() {
            host.tell(Input::View(Arc::clone(view)));
        }
        let _ = self.keeper.send(KeeperInput::View(Arc::clone(view)));
    }

    fn start(
        &mut self,
        view: &Arc<ClusterView>,
        place: Place,
        term: Term,
    ) -> Result<Option<HostHandle>, StartError> {
        let world = view
            .world
            .as_ref()
            .filter(|world| world.generation == place.generation);
        let Some(world) = world.cloned() else {
            return Ok(None);
        };
        let kept = self.standby.take_over(place, term);
        let begun = self.begin(view, &world, place, term, kept.as_ref());
        if let Some(kept) = kept.filter(|_| begun.is_err()) {
            // It may be the only one there is.
            self.standby.put_back(place, kept);
        }
        begun.map(Some)
    }

    fn begin(
        &mut self,
        view: &Arc<ClusterView>,
        world: &Arc<WorldSpec>,
        place: Place,
        term: Term,
        kept: Option<&KeptSnapshot>,
    ) -> Result<HostHandle, StartError> {
        let seat = view.assignment.seat(place.region).copied();
        let seat = seat.unwrap_or_default();
        let stage = self.stage(world)?;
        let config = stage
            .staging
            .config(place.region, Some(world.snapshot_ticks));
        let mut timetable = Timetable::new(&stage.scene, world.seed, &world.map, place.region);
        let mut left_out = 0;
        let region = match kept {
            Some(kept) => {
                timetable.begin_at(kept.tick, kept.spawned_before);
                let (region, out) = take_over(&config, kept, place, seat)?;
                left_out = out;
                region
            }
            None => {
                let begun = world.start_unix_ns.is_some();
                if term.0 > 1 && begun && !seat.lost {
                    return Err(StartError::NoSnapshot);
                }
                let mut region = Region::new(config.clone())?;
                stage.staging.furnish(&stage.scene, &mut region)?;
                if term.0 > 1 && begun {
                    // Its owner and all who had a snapshot are gone: as at the start, and the others know the rest.
                    tracing::warn!(%place, term = term.0, "no snapshot: from the beginning");
                    let start = region.make_snapshot();
                    region = Region::restore(config, start, term.0)?;
                } else {
                    tracing::info!(%place, bodies = region.world().len(), "furnished");
                }
                region
            }
        };
        let beginning = host::Beginning {
            term,
            region,
            timetable,
            subscribers: kept.map_or(Vec::new(), |kept| kept.subscribers.clone()),
            left_out,
        };
        let shared = self.shared.clone();
        let host = host::start(shared, Arc::clone(world), beginning, Arc::clone(view))?;
        Ok(host)
    }

    fn stage(&mut self, world: &Arc<WorldSpec>) -> Result<&Stage, StartError> {
        let fits = |stage: &Stage| stage.world.generation == world.generation;
        if !self.stage.as_ref().is_some_and(fits) {
            let scene = world
                .load_scene()
                .map_err(|error| StartError::Scene(error.to_string()))?;
            let staging = Staging::new(&scene, world.map.clone(), world.boundary);
            self.stage = Some(Stage {
                world: Arc::clone(world),
                scene,
                staging,
            });
        }
        Ok(self.stage.as_ref().expect("just made"))
    }
}

/// The region as its last owner left it; and how many bodies of it had to be left out, because no engine could take them.
fn take_over(
    config: &RegionConfig,
    kept: &KeptSnapshot,
    place: Place,
    seat: Seat,
) -> Result<(Region, u64), StartError> {
    let read = || {
        RegionSnapshot::from_bytes(&kept.bytes)
            .map_err(|error| StartError::Snapshot(error.to_string()))
    };
    let snapshot = read()?;
    tracing::info!(%place, term = seat.term.0, tick = %kept.tick, last = kept.last, bodies = snapshot.bodies.bodies.len(), "taking over");
    type Restore = fn(RegionConfig, RegionSnapshot, u32) -> Result<Region, RegionError>;
    let restore: Restore = match kept.last && seat.handed {
        true => Region::resume,
        false => Region::restore,
    };
    let why = match restore(config.clone(), snapshot, seat.term.0) {
        Ok(region) => return Ok((region, 0)),
        Err(why) => why,
    };
    tracing::error!(%place, %why, "the snapshot cannot be restored as it is; trying without what is wrong with it");
    let mut snapshot = read()?;
    let left_out = snapshot.mend();
    for (body, why) in &left_out {
        tracing::error!(%place, %body, %why, "a body is lost: it cannot be restored");
    }
    let region = restore(config.clone(), snapshot, seat.term.0)?;
    Ok((region, left_out.len() as u64))
}

#[derive(Debug, thiserror::Error)]
enum StartError {
    #[error("the scene cannot be read: {0}")]
    Scene(String),
    #[error("the snapshot cannot be read: {0}")]
    Snapshot(String),
    #[error("it had an owner before, and that one's snapshot is not here")]
    NoSnapshot,
    #[error(transparent)]
    Region(#[from] RegionError),
    #[error(transparent)]
    Thread(#[from] std::io::Error),
}

fn pulses(hosts: &Hosts) -> (Generation, Vec<RegionPulse>) {
    let hosts = lock(hosts);
    let generation = hosts
        .keys()
        .map(|place| place.generation)
        .max()
        .unwrap_or_default();
    let of_it = hosts
        .iter()
        .filter(|(place, host)| place.generation == generation && !host.has_ended());
    let pulses = of_it.filter_map(|(place, host)| {
        let gauges = host.gauges.read();
        Some(RegionPulse {
            region: place.region,
            term: host.term,
            tick: gauges.tick,
            overdue: gauges.overdue,
            state: gauges.state?,
            bodies: gauges.bodies,
            kept: gauges.kept,
            promises: gauges.in_short(),
        })
    });
    (generation, pulses.collect())
}
