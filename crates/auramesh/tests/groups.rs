//! Consistency groups and the policy `replicate` as a user meets them: `sim --groups`, `sim --group-soak`, `sim --policy replicate`, `demo --groups`.

use client::{Client, Options};
use domain::BodyId;
use glam::Vec3;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_auramesh");

fn auramesh(arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    let output = command.args(arguments).output();
    output.expect("the program was built for this test")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn json(arguments: &[&str]) -> Value {
    let text = stdout(&auramesh(arguments));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Six machines at two places: two groups of three, one place each, measured and not told; every object has a holder in each.
#[test]
fn machines_at_two_places_find_two_groups() {
    let output = auramesh(&["sim", "--groups", "2", "--seconds", "12"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.starts_with("6 machines at 2 places, 60 ms apart (one way)"));
    assert!(text.contains("checkers    all at zero"), "{text}");
    let shown = json(&["sim", "--groups", "2", "--seconds", "12", "--json"]);
    let groups = shown["groups"].as_array().expect("a list");
    assert_eq!(groups.len(), 2, "{shown}");
    for group in groups {
        let members = group["members"].as_array().expect("a list");
        assert_eq!(members.len(), 3, "{group}");
        let of = |key: &str| {
            members
                .iter()
                .map(|member| member[key].as_u64().expect("a number"))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            of("place").iter().collect::<BTreeSet<_>>().len(),
            1,
            "{group}"
        );
        assert_eq!(of("holds").iter().sum::<u64>(), 40, "{group}");
        assert_eq!(of("vertex"), [1, 5, 6], "a half and two quarters (ST-18)");
    }
    let again = json(&["sim", "--groups", "2", "--seconds", "12", "--json"]);
    assert_eq!(shown["state_hash"], again["state_hash"], "I7");
    // Near enough, they are one group.
    let near = json(&[
        "sim",
        "--groups",
        "2",
        "--servers",
        "4",
        "--net",
        "latency_ms=5",
        "--seconds",
        "12",
        "--json",
    ]);
    assert_eq!(near["groups"].as_array().map(Vec::len), Some(1), "{near}");
}

#[test]
fn a_group_soak_is_clean_and_says_what_happened() {
    let shown = json(&["sim", "--group-soak", "3", "--seed", "10", "--json"]);
    assert_eq!(shown["runs"], 3);
    assert_eq!(shown["failures"], Value::Array(Vec::new()));
    assert!(shown["simulated_secs"].as_f64() >= Some(180.0), "{shown}");
    assert!(shown["allocations"].as_u64() > Some(0), "{shown}");
}

/// Members that wait for each other: every pair exactly once, copies equal, the same bits again; and so with balanced cuts.
#[test]
fn replicate_runs_the_same_scenes() {
    for cuts in ["published", "balanced"] {
        let arguments = [
            "sim",
            "playground",
            "--policy",
            "replicate",
            "--cuts",
            cuts,
            "--seconds",
            "3",
            "--json",
        ];
        let shown = json(&arguments);
        let pairs = &shown["replicate"]["pairs"];
        assert!(pairs["could_touch"].as_u64() > Some(0), "{shown}");
        for wrong in ["missed", "doubled", "in_vain"] {
            assert_eq!(pairs[wrong], 0, "{wrong}: {shown}");
        }
        assert_eq!(shown["state_hash"], json(&arguments)["state_hash"]);
    }
}

#[test]
fn wrong_flags_are_answered_with_what_is_allowed() {
    let cases: [(&[&str], &str); 14] = [
        (&["sim", "--groups", "0"], "0 is not in 1..=16"),
        (
            &["sim", "--groups", "3", "--servers", "2"],
            "it must be 3 to 48",
        ),
        (
            &["sim", "--groups", "2", "--servers", "500"],
            "it must be 2 to 48",
        ),
        (&["sim", "orbit", "--groups", "2"], "cannot be used with"),
        (
            &["sim", "--groups", "2", "--policy", "replicate"],
            "cannot be used with",
        ),
        (
            &["sim", "--groups", "2", "--group-soak", "3"],
            "cannot be used with",
        ),
        (&["sim", "--group-soak", "0"], "0 is not in 1.."),
        (
            &["sim", "--group-soak", "1", "--seconds", "5"],
            "cannot be used with",
        ),
        (&["sim", "orbit", "--policy", "storey"], "replicate"),
        (&["demo", "--groups", "9"], "9 is not in 1..=8"),
        (
            &["demo", "--groups", "2", "--group-delay-ms", "-3"],
            "above 0 and at most 1000",
        ),
        (&["demo", "--group-delay-ms", "30"], "--groups"),
        (
            &["demo", "--groups", "2", "--tokens-file", "x"],
            "cannot be used with",
        ),
        (
            &["demo", "--groups", "2", "--group-move", "10:2"],
            "SECONDS:MACHINE:PLACE",
        ),
    ];
    for (arguments, reason) in cases {
        let output = auramesh(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(reason), "{arguments:?}: {said}");
    }
    let few = auramesh(&["demo", "--groups", "3", "--servers", "2", "--port", "0"]);
    let said = String::from_utf8_lossy(&few.stderr).into_owned();
    assert!(
        !few.status.success() && said.contains("at least 3"),
        "{said}"
    );
    let nowhere = auramesh(&[
        "demo",
        "--groups",
        "2",
        "--group-move",
        "1:9:0",
        "--port",
        "0",
    ]);
    let said = String::from_utf8_lossy(&nowhere.stderr).into_owned();
    assert!(
        !nowhere.status.success() && said.contains("machines are 0 to 3, places 0 to 1"),
        "{said}"
    );
}

/// A demonstration that dies with the test, and what it prints.
struct Demo {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Demo {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(PROGRAM)
            .args(["demo", "--port", "0"])
            .args(arguments)
            .env("AURAMESH_LOG", "error")
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let output = child.stdout.take().expect("piped");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            lines,
            seen: Vec::new(),
        }
    }

    /// The address of the world that was last said to be so.
    fn world(&self, part: &str) -> String {
        let line = self.seen.iter().rev().find(|line| line.contains(part));
        url_of(line.unwrap_or_else(|| panic!("no `{part}`:\n{}", self.seen.join("\n"))))
    }

    /// A line with this in it, since so many had come.
    fn since(&mut self, count: usize, secs: u64, part: &str) {
        if !self.seen[count..].iter().any(|line| line.contains(part)) {
            self.next(secs, part);
        }
    }

    /// The next line with this in it.
    fn next(&mut self, secs: u64, part: &str) -> String {
        let end = Instant::now() + Duration::from_secs(secs);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                panic!("no `{part}` within {secs} s:\n{}", self.seen.join("\n"));
            };
            self.seen.push(line.clone());
            if line.contains(part) {
                return line;
            }
        }
    }
}

fn url_of(line: &str) -> String {
    let at = line
        .find("http://")
        .unwrap_or_else(|| panic!("no address: {line}"));
    line[at..].trim().to_owned()
}

/// How many bodies there are: at least so many are waited for, then a while longer, to see whether others come.
async fn bodies(url: &str, least: usize) -> usize {
    let address = url.replace("http://", "ws://") + "ws";
    let client = Client::connect(&address, Options::default()).await;
    let client = client.expect("lets us in");
    let end = Instant::now() + Duration::from_secs(60);
    let (mut most, mut since) = (0, Instant::now());
    while Instant::now() < end && (most < least || since.elapsed() < Duration::from_secs(2)) {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let now = client.look(|scene| scene.bodies().count());
        if now > most {
            (most, since) = (now, Instant::now());
        }
    }
    most
}

/// Two groups find themselves from pings; each has the whole world and sees the other's user. Then a machine moves: votes put it with the other place, its
/// region server leaves one cluster and joins another, users follow their machines, and the worlds have all their bodies.
#[tokio::test(flavor = "multi_thread")]
async fn groups_form_live_and_change_when_a_machine_moves() {
    let mut demo = Demo::start(&[
        "head-on",
        "--groups",
        "2",
        "--servers",
        "3",
        "--group-move",
        "20:2:1",
    ]);
    demo.next(60, "Ctrl-C");
    // Two bodies of the scene, the own user, and the body that stands for the other.
    assert_eq!(
        bodies(&demo.world("machines [0, 2], 2 region servers"), 4).await,
        4
    );
    assert_eq!(
        bodies(&demo.world("machines [1], 1 region servers"), 4).await,
        4
    );
    demo.next(60, "machine 2 moves to place 1");
    let moved = demo.seen.len();
    demo.next(60, "out: it goes");
    demo.next(90, "in: it comes in");
    demo.since(moved, 120, "machines [1, 2], 2 region servers");
    demo.since(moved, 120, "machines [0], 1 region servers");
    // It may have had a world of its own meanwhile, or come in before that was worth the while.
    if demo.seen[moved..]
        .iter()
        .any(|line| line.contains("machines [2],"))
    {
        demo.since(moved, 120, "is no more");
    }
    let joined = bodies(&demo.world("machines [1, 2], 2 region servers"), 4).await;
    let left = bodies(&demo.world("machines [0], 1 region servers"), 4).await;
    // A body that is spawned while its region moves may be there although the answer says it is not (seen): nothing is missing, but one may be too many.
    assert!((4..=5).contains(&joined), "{joined}");
    assert!((4..=5).contains(&left), "{left}");
    demo.end().await;
}

/// What one group says of two users who met: which hit, and when, seconds.
fn meeting(line: &str) -> Option<(String, (u32, f64))> {
    let (group, rest) = line.split_once(": user 0 and user 1 met at ")?;
    let (secs, rest) = rest.split_once(" s, hit ")?;
    let (index, _) = rest.split_once(' ')?;
    Some((group.to_owned(), (index.parse().ok()?, secs.parse().ok()?)))
}

/// Where a body is in the world behind an address.
struct Eye(Client);

impl Eye {
    async fn on(url: &str) -> Self {
        let address = url.replace("http://", "ws://") + "ws";
        let client = Client::connect(&address, Options::default()).await;
        Self(client.expect("lets us in"))
    }

    fn x(&self, body: BodyId) -> Option<f64> {
        let mut bodies = self.0.bodies().into_iter();
        Some(bodies.find(|(id, _)| *id == body)?.1.position.x)
    }

    /// Waits until a body is where it should be.
    async fn until(&self, what: &str, body: BodyId, is_there: impl Fn(f64) -> bool) -> f64 {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let x = self.x(body);
            if let Some(x) = x.filter(|x| is_there(*x)) {
                return x;
            }
            assert!(Instant::now() < end, "{what}: x = {x:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Pushes a body this far along x, and lets it come to rest.
    async fn push(&self, body: BodyId, beyond: f64) {
        let end = Instant::now() + Duration::from_secs(30);
        while self.x(body).is_none_or(|x| x < beyond) {
            assert!(Instant::now() < end, "it cannot be pushed");
            let _ = self.0.set_velocity(body, Vec3::new(3.0, 0.5, 0.0)).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let _ = self.0.set_velocity(body, Vec3::ZERO).await;
    }
}

const BOXES: &str = r#"
name = "boxes at rest"
seconds = 600.0
[world]
min = [-20.0, -20.0]
max = [20.0, 20.0]
[tolerances]
speed = 9.0
[[static]]
shape = { type = "plane" }
[[grid]]
shape = { type = "cuboid", size = [1, 1, 1] }
origin = [-6.0, 0.5, -12.0]
count = [1, 1, 4]
spacing = [1.0, 1.0, 8.0]
"#;

/// Two groups, two live worlds. Users of both meet, and both groups have agreed on it (deliver 5); a box that is moved in one world is moved in the other,
/// too (θ_inter, ST-38). With `AURAMESH_FULL=1` the second machine then comes to the first, and leaves again: the world of its new group begins with the box where
/// it was.
#[tokio::test(flavor = "multi_thread")]
async fn two_live_worlds_agree_on_what_matters() {
    let folder = tempfile::tempdir().expect("a folder");
    let scene = folder.path().join("boxes.toml");
    std::fs::write(&scene, BOXES).expect("written");
    let mut demo = Demo::start(&[
        scene.to_str().expect("UTF-8"),
        "--groups",
        "2",
        "--servers",
        "2",
        "--group-move",
        "40:1:0",
        "--group-move",
        "75:1:1",
    ]);
    demo.next(60, "Ctrl-C");
    let moved_box = BodyId(1);
    let here = Eye::on(&demo.world("machines [0], 1 region servers")).await;
    let there = Eye::on(&demo.world("machines [1], 1 region servers")).await;
    there.until("it is there", moved_box, |x| x < -5.5).await;
    here.push(moved_box, 0.0).await;
    // They meet in the middle: 3 m from where it was, 1.7 m (its size) are tolerated.
    let there_x = there
        .until("the other world follows", moved_box, |x| x > -4.5)
        .await;
    let near = |x: f64| (x - there_x).abs() < 2.5;
    here.until("and they come together", moved_box, near).await;
    // Users walk towards each other and meet every eight seconds.
    let mut met: BTreeMap<String, BTreeMap<u32, f64>> = BTreeMap::new();
    let agreed = |met: &BTreeMap<String, BTreeMap<u32, f64>>| {
        let mut groups = met.values();
        let (Some(one), Some(other)) = (groups.next(), groups.next()) else {
            return false;
        };
        one.keys().filter(|index| other.contains_key(index)).count() >= 2
    };
    while !agreed(&met) {
        demo.next(60, "user 0 and user 1 met at");
        for (group, (index, secs)) in demo.seen.iter().filter_map(|line| meeting(line)) {
            met.entry(group).or_default().insert(index, secs);
        }
    }
    let [one, other] = &met.values().collect::<Vec<_>>()[..] else {
        panic!("two groups: {met:?}");
    };
    for (index, secs) in one.iter() {
        if let Some(theirs) = other.get(index) {
            assert!((secs - theirs).abs() < 0.05, "hit {index}: {met:?}");
        }
    }
    if std::env::var_os("AURAMESH_FULL").is_none() {
        println!("left out: a group that ends and one that begins; AURAMESH_FULL=1 shows them");
        return demo.end().await;
    }
    // One group, one world, both users; then two again.
    let before = demo.seen.len();
    demo.since(before, 90, "machines [0, 1], 2 region servers");
    demo.next(60, "is no more");
    let together = Eye::on(&demo.world("machines [0, 1], 2 region servers")).await;
    let box_x = together.x(moved_box);
    assert_eq!(
        bodies(&demo.world("machines [0, 1], 2 region servers"), 6).await,
        6,
        "four boxes and two users, and nobody stands for anybody"
    );
    let before = demo.seen.len();
    demo.since(before, 90, "machines [1], 1 region servers");
    let anew = Eye::on(&demo.world("machines [1], 1 region servers")).await;
    let x = anew.until("it begins", moved_box, |_| true).await;
    assert!(
        x > -5.0 && box_x.is_none_or(|box_x| (x - box_x).abs() < 1.8),
        "the box is where it was: {box_x:?} and {x}"
    );
    demo.end().await;
}

impl Demo {
    /// Ctrl-C, and a clean end.
    async fn end(mut self) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &id]).status();
        assert!(sent.expect("kill runs").success());
        let end = Instant::now() + Duration::from_secs(20);
        while Instant::now() < end {
            if let Ok(Some(status)) = self.child.try_wait() {
                assert!(status.success(), "a clean end");
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("it does not end");
    }
}
