//! `auramesh demo --groups N`: servers at several places; who shares a world is decided by measured pings.
//!
//! Every group has the whole world, on region servers and behind a gateway of its own. One user per place walks about; other groups
//! see it through the relay: in their worlds a body follows where the user's own group says it is. What happens to that body there is not
//! told back (the thesis suppresses it: the user's own group knows better). When users of two groups meet, both groups agree on it before it happens, by
//! motion-lock; bodies of the scene that two worlds have too far apart are brought together (θ_inter).
//!
//! Groups change while it runs: `--group-move` takes a machine to another place, the pings change, votes put it out and in, and worlds follow: its
//! region server leaves one cluster, giving its regions away, and another one joins the other. A group that is new begins with what the group it comes from
//! last said of the scene's bodies; a group that is no more takes its world with it.

use crate::Status;
use crate::args::DemoArgs;
use crate::cluster_process::{block_on, ended, start_logging, stop_signal};
use crate::coordinator::world_of;
use crate::group_agents::{Agents, Board, GroupView, lock};
use crate::group_moves::GroupMove;
use crate::group_player::Player;
use crate::group_world::{World, objects, placed};
use crate::output::print;
use cluster::schema::WorldOptions;
use domain::Rect;
use groups::{Division, GroupId, NodeId, allocate};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How long groups must have been the same before worlds are started on them, and how long the first ones may take.
const CALM: f64 = 3.0;
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked after dead servers, changed groups and machines to be moved.
const LOOK: Duration = Duration::from_millis(500);
/// How often everyone hears how it goes.
const REPORT: Duration = Duration::from_secs(5);

/// Shows it until Ctrl-C, or for as long as was said.
pub fn run(args: &DemoArgs) -> Status {
    start_logging("warn");
    ended(block_on(demo(args)).and_then(|result| result))
}

async fn demo(args: &DemoArgs) -> Result<(), String> {
    let places = args.groups as usize;
    let machines = args.servers;
    check(args)?;
    let mut stop = stop_signal();
    let probe = world_of(&args.scene, &WorldOptions::default())?;
    let extent = probe.map.extent();
    let division = Division::of_ground(extent).map_err(|error| error.to_string())?;
    let scene = probe.load_scene().map_err(|error| error.to_string())?;
    let objects = objects(&scene.bodies);
    let agents = Agents::start(division, &objects, machines, places, args.group_delay_ms)?;
    print(&format!(
        "{machines} machines at {places} places, {} ms apart (emulated); measuring ...\n",
        args.group_delay_ms
    ));
    let formed = settled(&agents.board, machines, &mut stop).await?;
    let mut stage = Stage {
        args,
        extent,
        board: Arc::clone(&agents.board),
        worlds: BTreeMap::new(),
        players: BTreeMap::new(),
        ports: 0,
    };
    print(&described(&formed, &lock(&agents.board), &division));
    stage.follow(&formed).await?;
    print("Ctrl-C ends everything.\n");
    let start = Instant::now();
    let end = args
        .seconds
        .map(|secs| start + Duration::from_secs_f64(secs));
    let mut moves = args.group_move.clone();
    let mut now_formed = formed;
    let mut report = tokio::time::interval(REPORT);
    report.tick().await;
    while end.is_none_or(|end| Instant::now() < end) {
        tokio::select! {
            () = cluster::node::stopped(&mut stop) => break,
            _ = report.tick() => print(&how_it_goes(&agents.board)),
            () = tokio::time::sleep(LOOK) => {
                let due = |it: &mut GroupMove| start.elapsed().as_secs_f64() >= it.secs;
                for it in moves.extract_if(.., due) {
                    print(&format!("machine {} moves to place {}\n", it.machine, it.place));
                    lock(&agents.board).moves.push((it.machine, it.place));
                }
                let formed = calm(&lock(&agents.board), machines);
                if let Some(formed) = formed.filter(|formed| *formed != now_formed) {
                    print(&described(&formed, &lock(&agents.board), &division));
                    stage.follow(&formed).await?;
                    now_formed = formed;
                }
                for world in stage.worlds.values_mut() {
                    world.look_after().await?;
                }
            }
        }
    }
    print(&how_it_goes(&agents.board));
    stage.clear().await;
    Ok(())
}

/// What the command line cannot know alone.
fn check(args: &DemoArgs) -> Result<(), String> {
    let places = args.groups as usize;
    if args.servers < places {
        return Err(format!(
            "--servers {}: every place needs a machine, so at least {places} (--groups)",
            args.servers
        ));
    }
    for it in &args.group_move {
        if it.machine >= args.servers || it.place >= places {
            return Err(format!(
                "--group-move: there is no machine {} or no place {}; machines are 0 to {}, places 0 to {}",
                it.machine,
                it.place,
                args.servers - 1,
                places - 1
            ));
        }
    }
    Ok(())
}

/// The groups, if every machine is in one that works together and nothing has changed for a while.
fn calm(board: &Board, machines: usize) -> Option<Vec<GroupView>> {
    let known: usize = board.groups.iter().map(|group| group.machines.len()).sum();
    let calm = board.now.since(board.stable_since).as_secs() >= CALM;
    let started = board.groups.iter().all(|group| group.started);
    (known == machines && calm && started).then(|| board.groups.clone())
}

async fn settled(
    board: &Mutex<Board>,
    machines: usize,
    stop: &mut watch::Receiver<bool>,
) -> Result<Vec<GroupView>, String> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        tokio::select! {
            () = cluster::node::stopped(stop) => return Err("stopped before there were groups".to_owned()),
            () = tokio::time::sleep(Duration::from_millis(100)) => {}
        }
        if let Some(groups) = calm(&lock(board), machines) {
            return Ok(groups);
        }
    }
    Err("the machines did not agree on groups in time".to_owned())
}

/// The worlds of all groups, and who plays in them.
struct Stage<'a> {
    args: &'a DemoArgs,
    extent: Rect,
    board: Arc<Mutex<Board>>,
    worlds: BTreeMap<GroupId, World>,
    /// By place: the group whose world the user is in, how to make it leave, and its task.
    players: BTreeMap<usize, (GroupId, watch::Sender<bool>, JoinHandle<()>)>,
    /// Ports given out so far.
    ports: u16,
}

impl Stage<'_> {
    /// Makes worlds and users what the groups are now: first whoever comes, then whoever goes, so that nobody is nowhere.
    async fn follow(&mut self, formed: &[GroupView]) -> Result<(), String> {
        for group in formed {
            match self.worlds.get_mut(&group.group) {
                Some(world) => world.take_members(&group.machines).await?,
                None => self.start_world(group).await?,
            }
            let world = &self.worlds[&group.group];
            print(&format!(
                "{}: machines {:?}, {} region servers (processes {}), {}\n",
                group.group,
                world.machines(),
                group.machines.len(),
                world.process_ids(),
                world.url
            ));
        }
        for place in 0..self.args.groups as usize {
            let home = formed.iter().find(|group| group.machines.contains(&place));
            if let Some(home) = home {
                self.seat(place, home.group).await?;
            }
        }
        let gone: Vec<GroupId> = self
            .worlds
            .keys()
            .copied()
            .filter(|id| formed.iter().all(|group| group.group != *id))
            .collect();
        for id in gone {
            print(&format!("{id} is no more; its world ends\n"));
            if let Some(world) = self.worlds.remove(&id) {
                world.stop().await;
            }
        }
        Ok(())
    }

    async fn start_world(&mut self, group: &GroupView) -> Result<(), String> {
        let port = match self.args.port {
            0 => 0,
            first => first.saturating_add(self.ports),
        };
        self.ports += 1;
        let regions = self.args.servers;
        // At first that is what the scene says; a group that is new has it from the one it comes from.
        let told = lock(&self.board).told.get(&group.group).cloned();
        let placed = told.iter().flatten().map(placed).collect();
        let world = World::start(self.args, group, regions, port, placed, &self.board).await?;
        self.worlds.insert(group.group, world);
        Ok(())
    }

    /// The user of a place plays in the world of its group.
    async fn seat(&mut self, place: usize, group: GroupId) -> Result<(), String> {
        let here = self
            .players
            .get(&place)
            .is_some_and(|(now, ..)| *now == group);
        if here {
            return Ok(());
        }
        if let Some((_, leave, task)) = self.players.remove(&place) {
            leave.send_replace(true);
            let _ = task.await;
        }
        let url = &self.worlds[&group].url;
        let player = Player::enter(url, place, self.extent, Arc::clone(&self.board)).await?;
        let (leave, left) = watch::channel(false);
        let task = tokio::spawn(player.play(left));
        self.players.insert(place, (group, leave, task));
        Ok(())
    }

    async fn clear(self) {
        for (_, _, task) in self.players.into_values() {
            task.abort();
        }
        for world in self.worlds.into_values() {
            world.stop().await;
        }
    }
}

/// Who shares a world with whom, why, and who has which part by the group's tree.
fn described(formed: &[GroupView], board: &Board, division: &Division) -> String {
    let mut text = String::from("measured round trips, ms:\n");
    let mut machines: Vec<usize> = formed
        .iter()
        .flat_map(|group| group.machines.clone())
        .collect();
    machines.sort_unstable();
    for a in &machines {
        let row: Vec<String> = machines
            .iter()
            .map(|b| {
                board
                    .delays_ms
                    .get(&(*a, *b))
                    .map_or("    -".into(), |ms| format!("{ms:5.0}"))
            })
            .collect();
        let _ = writeln!(text, "  machine {a}: {}", row.join(" "));
    }
    for group in formed {
        // The cluster of a group has regions of its own, and deals them out by load.
        let _ = writeln!(text, "{}, with the parts that its tree gives:", group.group);
        // Machines are listed by the ids of their nodes, the leader first; parts are given out in that order.
        let order: Vec<NodeId> = (0..group.machines.len() as u32).map(NodeId).collect();
        let allocation = allocate(&order);
        for (node, vertex) in allocation.places() {
            let Rect { min, max } = division.sub_space(*vertex).finite.ground();
            let _ = writeln!(
                text,
                "  machine {}{}: {vertex}, x {:.0} to {:.0}, z {:.0} to {:.0}",
                group.machines[node.0 as usize],
                if node.0 == 0 { " (leader)" } else { "" },
                min[0],
                max[0],
                min[1],
                max[1],
            );
        }
    }
    text
}

fn how_it_goes(board: &Mutex<Board>) -> String {
    let mut board = lock(board);
    let mut text = String::new();
    for news in std::mem::take(&mut board.news) {
        let _ = writeln!(text, "{news}");
    }
    for (group, seen) in &board.avatars {
        let avatars = seen.iter().map(|avatar| {
            let truth = board
                .users
                .get(&avatar.place)
                .map(|state| state.position.distance(avatar.position));
            let off = truth.map_or(String::new(), |metres| {
                format!(", {metres:.2} m from where its own group has it")
            });
            format!(
                "user {} ({:.0} ms old{off})",
                avatar.place,
                avatar.age.as_millis()
            )
        });
        let _ = writeln!(
            text,
            "{group} knows {}",
            avatars.collect::<Vec<_>>().join("; ")
        );
    }
    if let [one, other, ..] = board.worlds.values().collect::<Vec<_>>()[..] {
        let apart = one
            .iter()
            .filter_map(|(id, state)| Some(state.position.distance(other.get(id)?.position)));
        let _ = writeln!(
            text,
            "the scene's bodies are at most {:.2} m apart in two worlds; {} corrections so far",
            apart.fold(0.0, f64::max),
            board.corrected
        );
    }
    text
}
