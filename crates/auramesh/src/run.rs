//! `auramesh run`: a scene in real time, on server processes of this machine, watched by the same checkers as a simulated run.

use crate::args::RunArgs;
use crate::cluster_process::{block_on, start_logging};
use crate::coordinator::world_of;
use crate::local_cluster::{Ground, Links, LocalCluster};
use crate::output::{print, print_json};
use crate::progress::Progress;
use crate::{Status, summary};
use cluster::coordinator::PlannerSettings;
use cluster::messages::Account;
use cluster::node::Node;
use cluster::observer::{Observer, Sight};
use cluster::schema::{Role, WorldOptions, WorldSpec};
use domain::{RegionId, RegionMap, SimTime, Tick};
use region::staging::Staging;
use scenes::Scene;
use serde::Serialize;
use simulator::facts::{AuraHeld, Projecting};
use simulator::{CpuPerTick, Judge, Judgement, Outcome, SimOptions, combined_hash};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Servers must have joined and furnished their regions within this time.
const LONGEST_START: Duration = Duration::from_secs(30);
/// A world that does not get ahead for so long has stopped.
const LONGEST_SILENCE: Duration = Duration::from_secs(10);
/// After the last tick regions are asked again and again, so far apart, until nothing is under way and nothing changes any more.
const ASKING: Duration = Duration::from_millis(150);
/// But not for longer than this.
const LONGEST_DRAIN: Duration = Duration::from_secs(10);

/// Regions are told every so many ticks how far the judge is.
const SEEN_TICKS: u64 = 30;
/// A world that ends so much later than it should did not run in real time.
const BEHIND_SECS: f64 = 1.0;

/// What a live run adds to a simulated one's object.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    outcome: &'a Outcome,
    /// Ticks stepped more than one step after they were due.
    late_ticks: u64,
    /// How far the servers' clocks may have been off, the worst of them, milliseconds.
    clock_bound_ms: f64,
    /// How much later than it should the last tick was judged, seconds. More than one: this machine is too slow for the scene, or the judge is; what was judged is judged all the same.
    behind_secs: f64,
}

struct Live {
    outcome: Outcome,
    late_ticks: u64,
    clock_bound_ms: f64,
    behind_secs: f64,
    step_ms: f64,
}

/// Runs the scene and reports.
pub fn run(args: &RunArgs) -> Status {
    start_logging("warn");
    let result = block_on(live(args)).and_then(|result| result);
    let live = match result {
        Ok(live) => live,
        Err(reason) => {
            eprintln!("{reason}");
            return Status::BadInput;
        }
    };
    let outcome = &live.outcome;
    let (late_ticks, clock_bound_ms) = (live.late_ticks, live.clock_bound_ms);
    let behind_secs = live.behind_secs;
    if args.json {
        print_json(&Report {
            outcome,
            late_ticks,
            clock_bound_ms,
            behind_secs,
        });
    } else {
        print(&summary::of(outcome, None));
        print(&format!(
            "real time   {late_ticks} of {} ticks late by more than a step; clocks within {clock_bound_ms:.3} ms\n",
            outcome.ticks * outcome.servers as u64
        ));
        if behind_secs > BEHIND_SECS {
            print(&format!(
                "            not in real time: {behind_secs:.1} s behind at the end; this machine is too slow for this scene (see cpu: a step is {:.1} ms)\n",
                live.step_ms
            ));
        }
    }
    if let Some(violation) = &outcome.first_violation {
        eprintln!("first violation: {violation}");
    }
    if outcome.is_clean() {
        Status::Fine
    } else {
        Status::Failed
    }
}

async fn live(args: &RunArgs) -> Result<Live, String> {
    let scene = Scene::load(&args.scene).map_err(|error| error.to_string())?;
    let options = WorldOptions {
        layout: args.layout,
        regions: args.servers,
        seed: args.seed,
        seconds: Some(args.seconds.unwrap_or(scene.seconds)),
        snapshot_ticks: None,
        aura: Some(args.aura.into()),
        handover: Some(args.handover.into()),
    };
    let mut world = world_of(&args.scene, &options)?;
    let servers = world.map.len();
    world.min_servers = servers;
    let staging = Staging::new(&scene, world.map.clone(), world.boundary);
    let ground = Ground {
        links: Links::of(args.net.as_deref()),
        namespaces: args.namespaces.clone(),
        // What is judged here is physics, on machines that may be too slow for it: nobody is replaced for that.
        planner: PlannerSettings {
            silence: SimTime::from_millis(5000.0),
            lag: SimTime::from_secs(86_400.0),
            balance: false,
            ..PlannerSettings::default()
        },
    };
    let cluster = LocalCluster::start(world.clone(), servers, ground).await?;
    let node = Node::join(cluster.connection(), Role::Observer, "run", None)
        .await
        .map_err(|error| format!("cannot watch: {error}"))?;
    let mut observer = Observer::new(&node);
    let mut watch = Watch::new(&scene, &staging, &world);
    let aborted = watch.run(&mut observer, &scene).await.err();
    let accounts = collect_accounts(&mut observer, &mut watch).await;
    cluster.stop().await;
    let mut live = watch.finish(&scene, &world, &accounts);
    live.outcome.aborted = live.outcome.aborted.or(aborted);
    Ok(live)
}

/// Everything that is seen of a live run.
struct Watch {
    judge: Judge,
    /// When the first tick was heard of.
    began: Option<Instant>,
    /// How much later than it should the last one was judged.
    behind_secs: f64,
    step_secs: f64,
    cpu_ms: BTreeMap<RegionId, Vec<f32>>,
    last_tick: u64,
}

impl Watch {
    fn new(scene: &Scene, staging: &Staging, world: &WorldSpec) -> Self {
        Self {
            judge: Judge::new(scene, staging),
            began: None,
            behind_secs: 0.0,
            step_secs: world.boundary.step.as_secs(),
            cpu_ms: BTreeMap::new(),
            last_tick: world.last_tick.unwrap_or(u64::MAX),
        }
    }

    async fn run(&mut self, observer: &mut Observer, scene: &Scene) -> Result<(), String> {
        let progress = Progress::new(&scene.name);
        let mut patience = LONGEST_START;
        while self.judge.judged().0 < self.last_tick {
            let before = self.judge.judged();
            let sight = tokio::time::timeout(patience, observer.next()).await;
            match sight {
                Ok(Sight::Tick(seen)) => {
                    let region = seen.place.region;
                    if self.began.is_none() {
                        self.began = Some(Instant::now());
                        observer.tell_seen(Tick(0));
                    }
                    self.cpu_ms.entry(region).or_default().push(seen.cpu_ms);
                    self.judge.hear(region, seen.record);
                    patience = LONGEST_SILENCE;
                }
                Ok(Sight::Account(..)) => {}
                Err(_) => return Err(format!("nothing has happened for {patience:?}")),
            }
            let judged = self.judge.judged();
            if judged != before {
                if judged.0 / SEEN_TICKS != before.0 / SEEN_TICKS {
                    observer.tell_seen(judged);
                }
                progress.set(self.judge.judged().0 as f64 / self.last_tick.max(1) as f64);
            }
        }
        let took = self
            .began
            .map_or(0.0, |began| began.elapsed().as_secs_f64());
        self.behind_secs = (took - self.last_tick as f64 * self.step_secs).max(0.0);
        Ok(())
    }

    fn finish(mut self, scene: &Scene, world: &WorldSpec, accounts: &Accounts) -> Live {
        let under_way: BTreeSet<_> = accounts
            .values()
            .flat_map(|account| &account.under_way)
            .collect();
        let mut auras = Vec::new();
        let mut projecting = Vec::new();
        for (holder, account) in accounts {
            let held = account.auras.iter();
            let held = held.filter(|(body, ..)| !under_way.contains(body));
            auras.extend(held.map(|(body, owner, epoch)| AuraHeld {
                holder: *holder,
                owner: *owner,
                body: *body,
                epoch: *epoch,
            }));
            let due = account.due_to_project.iter();
            projecting.extend(due.map(|due| Projecting {
                owner: *holder,
                body: due.body,
                epoch: due.epoch,
                audience: due.audience.clone(),
            }));
        }
        self.judge.hear_quiescence(&auras, &projecting);
        let judgement = self.judge.finish();
        let ticks_ms: Vec<&[f32]> = self.cpu_ms.values().map(|ticks| &**ticks).collect();
        let mut outcome = outcome_of(scene, world, judgement);
        outcome.cpu_ms_per_tick = CpuPerTick::of(&ticks_ms);
        for account in accounts.values() {
            outcome.bytes.between_servers += account.bytes_to_regions;
            outcome.tolerance_exceeded.speed += account.exceeded[0];
            outcome.tolerance_exceeded.latency += account.exceeded[1];
            outcome.tolerance_exceeded.frame += account.exceeded[2];
            outcome.unborn += account.unborn;
            outcome.kept.add(&account.kept);
            outcome.largest_cluster = outcome.largest_cluster.max(account.largest_cluster);
        }
        if accounts.len() < world.map.len() {
            let silent = world.map.len() - accounts.len();
            outcome
                .aborted
                .get_or_insert(format!("{silent} servers did not answer at the end"));
        }
        let bounds = accounts.values().filter_map(|account| account.clock_bound);
        Live {
            outcome,
            late_ticks: accounts.values().map(|account| account.late_ticks).sum(),
            clock_bound_ms: bounds.max().unwrap_or_default().as_millis(),
            behind_secs: self.behind_secs,
            step_ms: self.step_secs * 1e3,
        }
    }
}

type Accounts = BTreeMap<RegionId, Account>;

/// What regions say of themselves when everything has come to rest: nothing is under way, and twice in a row they say the same. If that takes too long, what they said last.
async fn collect_accounts(observer: &mut Observer, watch: &mut Watch) -> Accounts {
    let mut last = Accounts::new();
    let settle = async {
        loop {
            let accounts = ask_all(observer, watch).await;
            let whole = accounts.len() == observer.view().assignment.seats.len();
            let at_rest = accounts
                .values()
                .all(|account| account.under_way.is_empty());
            let same = rest(&accounts).eq(rest(&last));
            last = accounts;
            if whole && at_rest && same {
                return;
            }
            tokio::time::sleep(ASKING).await;
        }
    };
    let _ = tokio::time::timeout(LONGEST_DRAIN, settle).await;
    last
}

/// What of the accounts does not change when everything is at rest.
fn rest(accounts: &Accounts) -> impl Iterator<Item = impl PartialEq> {
    accounts.iter().map(|(region, account)| {
        let Account {
            owned,
            auras,
            due_to_project,
            ..
        } = account;
        (region, owned, auras, due_to_project)
    })
}

async fn ask_all(observer: &mut Observer, watch: &mut Watch) -> Accounts {
    observer.ask_for_accounts();
    let mut accounts = Accounts::new();
    let regions = observer.view().assignment.seats.len();
    let collect = async {
        while accounts.len() < regions {
            match observer.next().await {
                Sight::Account(place, account) => {
                    accounts.insert(place.region, *account);
                }
                Sight::Tick(seen) => watch.judge.hear(seen.place.region, seen.record),
            }
        }
    };
    let _ = tokio::time::timeout(LONGEST_SILENCE, collect).await;
    accounts
}

fn outcome_of(scene: &Scene, world: &WorldSpec, judgement: Judgement) -> Outcome {
    let options = SimOptions {
        policy: world.boundary.policy,
        aura: world.boundary.aura,
        handover: world.boundary.handover,
        ..SimOptions::default()
    };
    let map: &RegionMap = &world.map;
    let report = judgement.report;
    Outcome {
        ticks: judgement.ticks.0,
        state_hash: format!("{:016x}", combined_hash(&judgement.hashes)),
        bodies: report.bodies,
        migrations: judgement.migrations,
        collisions: judgement.collisions,
        boundary_bodies: judgement.boundary_bodies,
        thrashed_pairs: report.thrashed_pairs,
        errors: report.errors,
        excused: report.excused,
        untested_updates: report.untested_updates,
        frozen_updates: report.frozen_updates,
        first_violation: report.first_violation,
        aborted: judgement.refused,
        ..Outcome::of(scene, &options, map, world.seed)
    }
}
