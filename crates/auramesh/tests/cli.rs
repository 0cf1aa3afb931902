//! The built program as a user meets it: output, exit status, messages.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

fn auramesh(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_auramesh"))
        .args(arguments)
        .output()
        .expect("the program was built for this test")
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("the program ended by itself")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

fn json(arguments: &[&str]) -> Value {
    let output = auramesh(arguments);
    let text = stdout(&output);
    assert_eq!(
        text.lines().count(),
        1,
        "one object and nothing else: {text}"
    );
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{}", stderr(&output)))
}

fn scene_file(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("the directory for temporary files can be written");
    path
}

#[test]
fn json_has_all_fixed_keys() {
    let run = json(&["sim", "head-on", "--seconds", "3", "--json"]);
    let fixed: [(&str, &[&str]); 6] = [
        (
            "",
            &[
                "scene",
                "servers",
                "policy",
                "aura",
                "seed",
                "ticks",
                "state_hash",
                "bodies",
                "migrations",
                "thrashed_pairs",
                "collisions",
                "errors",
                "tolerance_exceeded",
                "cpu_ms_per_tick",
                "boundary_bodies",
                "bytes",
            ],
        ),
        (
            "/bodies",
            &["start", "spawned", "removed", "end", "in_flight"],
        ),
        (
            "/errors",
            &[
                "lost",
                "duplicated",
                "cross_owner_overlaps",
                "late_collisions",
                "missed_updates",
                "orphan_auras",
                "split_clusters",
            ],
        ),
        ("/tolerance_exceeded", &["speed", "latency", "frame"]),
        (
            "/cpu_ms_per_tick",
            &[
                "max_server_p50",
                "max_server_p99",
                "mean_server",
                "per_server",
            ],
        ),
        ("/bytes", &["between_servers", "to_clients"]),
    ];
    for (place, keys) in fixed {
        let object = run
            .pointer(place)
            .unwrap_or_else(|| panic!("{place} is missing"));
        for key in keys {
            assert!(
                object.get(key).is_some(),
                "{place}/{key} is missing in {run}"
            );
        }
    }
    assert_eq!(run["servers"], 2);
    assert_eq!(run["policy"], "aura");
    assert_eq!(run["aura"], "adaptive");
    assert_eq!(run["ticks"], 180);
    assert_eq!(run["bodies"]["start"], 2);
    assert_eq!(run["collisions"], 1);
    assert_eq!(
        run["cpu_ms_per_tick"]["per_server"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    let steps = run["cpu_ms_per_tick"]["step_per_server"].as_array();
    assert_eq!(steps.map(Vec::len), Some(2));
    assert!(run["cpu_ms_per_tick"]["overhead"].as_f64() > Some(0.0));
    if std::path::Path::new("/proc/self/status").exists() {
        let number = |key: &str| run["memory"][key].as_f64().expect("a number");
        assert!(number("peak_bytes") > 1e6, "{run}");
        assert_eq!(
            2.0 * number("peak_bytes_per_body"),
            number("peak_bytes"),
            "two bodies at the end"
        );
    }
}

#[test]
fn a_clean_run_ends_with_0_and_a_summary() {
    let output = auramesh(&["sim", "head-on", "--seconds", "3"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("all at zero"), "{text}");
    assert!(text.contains("2 servers"), "{text}");
    assert_eq!(stderr(&output), "", "no progress bar where nobody looks");
}

/// AP-60: the naive policy misses the collision, the checkers say so, and the run can be repeated.
#[test]
fn a_failed_checker_ends_with_1_the_violation_and_the_command() {
    let output = auramesh(&["sim", "head-on", "--policy", "naive", "--seconds", "3"]);
    assert_eq!(code(&output), 1);
    assert!(stdout(&output).contains("FAILED"), "{}", stdout(&output));
    let message = stderr(&output);
    assert!(message.contains("first violation: tick "), "{message}");
    assert!(
        message.contains("I3: bodies of different owners never overlap"),
        "{message}"
    );
    let command = message
        .lines()
        .find_map(|line| line.strip_prefix("to see it again: "));
    let words: Vec<&str> = command.expect("a command").split(' ').skip(1).collect();
    assert!(words.contains(&"--seed"), "{words:?}");
    let again = auramesh(&words);
    assert_eq!(code(&again), 1);
    assert_eq!(
        stderr(&again),
        message,
        "the command shows the same violation"
    );
}

#[test]
fn usage_errors_end_with_2_and_the_reason() {
    let cases: [(&[&str], &str); 16] = [
        (&["sim", "head-on", "--sevrers", "2"], "--servers"),
        (&["sim"], "SCENE"),
        (&["simulate"], "sim"),
        (&["sim", "hed-on"], "`head-on`"),
        (&["check", "hed-on"], "`head-on`"),
        (
            &["sim", "nosuch"],
            "no built-in scene `nosuch` (built-in: head-on, ",
        ),
        (
            &["sim", "head-on", "--net", "latency_ms=1e300"],
            "must be between 0 and 60000, not 1e300",
        ),
        (&["sim", "head-on", "--layout", "circles"], "thesis-7"),
        (
            &["sim", "head-on", "--net", "latncy_ms=2"],
            "did you mean `latency_ms`",
        ),
        (
            &["sim", "head-on", "--faults", "crash=7@1+1"],
            "names server 7",
        ),
        (
            &["sim", "head-on", "--faults", "crash=0@1+2,crash=0@2.5+1"],
            "already down",
        ),
        (
            &["sim", "head-on", "--faults", "cut=0-1@1+1e6"],
            "must be over after at most",
        ),
        (&["sim", "head-on", "--servers", "0"], "0 regions asked for"),
        (&["sim", "head-on", "--servers", "60"], "smaller tolerances"),
        (&["sim", "head-on", "--layout", "boxes"], "no list of boxes"),
        (
            &["sim", "head-on", "--layout", "thesis-3", "--servers", "4"],
            "is for 3 server(s), not 4",
        ),
    ];
    for (arguments, reason) in cases {
        let output = auramesh(arguments);
        assert_eq!(code(&output), 2, "{arguments:?}");
        assert_eq!(stdout(&output), "", "{arguments:?}");
        assert!(
            stderr(&output).contains(reason),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }
}

/// I7: same build, scene and seed, same bits; another seed, other bits.
#[test]
fn the_same_seed_gives_the_same_hashes() {
    let run = |seed: &str| {
        let net = "latency_ms=1,jitter_ms=0.5,loss=0.02,dup=0.02";
        let run = json(&[
            "sim",
            "corner-building",
            "--seconds",
            "3",
            "--seed",
            seed,
            "--net",
            net,
            "--unaligned",
            "--json",
        ]);
        (run["state_hash"].clone(), run["history_hash"].clone())
    };
    let first = run("5");
    assert_eq!(first, run("5"));
    let other = run("6");
    assert!(first.0 != other.0 && first.1 != other.1, "the seed matters");
}

/// The reference run: on one server nothing of the network, the auras or the frames touches the physics.
#[test]
fn one_server_is_a_plain_run() {
    let alone = |more: &[&str]| {
        let base = [
            "sim",
            "wall-breaker",
            "--servers",
            "1",
            "--seconds",
            "2",
            "--json",
        ];
        let run = json(&[&base, more].concat());
        assert_eq!(run["migrations"], 0);
        run["state_hash"].clone()
    };
    let plain = Value::from(plain_run("wall-breaker", 2.0));
    assert_eq!(alone(&[]), plain);
    assert_eq!(
        alone(&[
            "--net",
            "lossy_mobile",
            "--aura",
            "thesis",
            "--handover",
            "freeze"
        ]),
        plain
    );
    assert_eq!(alone(&["--policy", "naive", "--frame-ms", "3"]), plain);
}

/// The scene in one world, stepped in a loop: no region, no boundary, no simulator.
fn plain_run(name: &str, seconds: f64) -> String {
    let scene = scenes::Scene::load(name).expect("built in");
    assert!(
        scene.injectors.is_empty() && scene.commands.is_empty(),
        "this loop does neither"
    );
    let origin = domain::RegionMap::build(domain::Layout::Single, 1, scene.world)
        .expect("one region")
        .origin(domain::RegionId(0));
    let config = world::WorldConfig {
        gravity: scene.gravity,
        step: scene.step,
        origin,
    };
    let mut world = world::World::new(config, &scene.statics).expect("sound");
    for body in &scene.bodies {
        world.spawn(body).expect("sound");
    }
    for joint in &scene.joints {
        world.add_joint(joint).expect("sound");
    }
    for _ in 0..scene.step.ticks_in(seconds) {
        world.step();
    }
    format!("{:016x}", world.state_hash())
}

#[test]
fn a_bad_scene_file_is_answered_with_every_line_and_key() {
    let text = "secnods = 3.0\n\n[[body]]\nshape = { type = \"sphere\", radius = -1 }\nposition = [0, 1, 0]\n";
    let path = scene_file("bad.toml", text);
    let path = path.to_str().expect("UTF-8");
    for command in ["check", "sim"] {
        let output = auramesh(&[command, path]);
        assert_eq!(code(&output), 2);
        let message = stderr(&output);
        assert!(message.contains("bad.toml:1:1: secnods"), "{message}");
        assert!(message.contains("did you mean `seconds`?"), "{message}");
        assert!(message.contains("bad.toml:4:"), "{message}");
        assert!(message.contains("body[0].shape.radius"), "{message}");
    }
}

#[test]
fn check_describes_a_good_scene() {
    let output = auramesh(&["check", "corner-stacks"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("350 (350 cuboid)"), "{text}");
    assert!(text.contains("4 (grid)"), "{text}");
}

#[test]
fn help_has_examples_and_lists_the_scenes() {
    for command in ["sim", "check"] {
        let output = auramesh(&[command, "--help"]);
        assert_eq!(code(&output), 0);
        let text = stdout(&output);
        assert!(text.contains("Examples:"), "{text}");
        for name in scenes::builtin::names() {
            assert!(text.contains(name), "{command} --help does not list {name}");
        }
    }
}

#[test]
fn help_of_experiments_has_examples_and_warnings_stand_where_they_are_needed() {
    for words in [
        &["experiment", "--help"][..],
        &["experiment", "run", "--help"],
    ] {
        let text = stdout(&auramesh(words));
        assert!(text.contains("Examples:\n  auramesh experiment"), "{text}");
    }
    let text = stdout(&auramesh(&["sim", "--help"]));
    for warning in [
        "for comparison and may fail",
        "at most 120 ticks",
        "expected to fail",
    ] {
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.join(" ").contains(warning), "{warning}: {text}");
    }
}

/// Five boxes, four of them around the one in the middle: no layout of ours. From each a ball rolls into the next.
const PINWHEEL: &str = r#"
seconds = 3
[world]
min = [-90, -90]
max = [90, 90]
[regions]
layout = "boxes"
boxes = [
    { min = [-90, -90], max = [30, -30] },
    { min = [30, -90], max = [90, 30] },
    { min = [-30, 30], max = [90, 90] },
    { min = [-90, -30], max = [-30, 90] },
    { min = [-30, -30], max = [30, 30] },
]
[[static]]
shape = { type = "plane" }
friction = 0
[[body]]
shape = { type = "sphere", radius = 0.5 }
position = [20, 0.5, -60]
velocity = [8, 0, 0]
[[body]]
shape = { type = "sphere", radius = 0.5 }
position = [60, 0.5, 20]
velocity = [0, 0, 8]
[[body]]
shape = { type = "sphere", radius = 0.5 }
position = [-20, 0.5, 60]
velocity = [-8, 0, 0]
[[body]]
shape = { type = "sphere", radius = 0.5 }
position = [-60, 0.5, -20]
velocity = [0, 0, -8]
[[body]]
shape = { type = "sphere", radius = 0.5 }
position = [20, 0.5, 0]
velocity = [8, 0, 0]
"#;

/// AP-29: a partition the program has never seen, given when it is started, is what it then runs on.
#[test]
fn any_partition_is_accepted_at_run_time() {
    let path = scene_file("pinwheel.toml", PINWHEEL);
    let path = path.to_str().expect("UTF-8");
    let run = json(&["sim", path, "--json"]);
    assert_eq!(run["servers"], 5);
    assert_eq!(run["migrations"], 5, "each ball crosses one border: {run}");
    assert_eq!(run["bodies"]["end"], 5);
    assert_eq!(code(&auramesh(&["sim", path])), 0, "every checker at zero");

    let middle = "{ min = [-30, -30], max = [30, 30] }";
    let smaller = "{ min = [-30, -30], max = [20, 30] }";
    let path = scene_file("gap.toml", &PINWHEEL.replace(middle, smaller));
    let output = auramesh(&["sim", path.to_str().expect("UTF-8")]);
    assert_eq!(code(&output), 2);
    let message = stderr(&output);
    assert!(message.contains("no box covers x 20 to 30"), "{message}");
}

#[test]
fn a_soak_reports_as_one_object() {
    let soak = json(&["sim", "--soak", "2", "--seed", "1", "--json"]);
    assert_eq!(soak["runs"], 2);
    assert_eq!(soak["first_seed"], 1);
    assert_eq!(soak["failures"], Value::Array(Vec::new()));
    assert!(soak["ticks"].as_u64() > Some(200));
}

#[test]
fn an_experiment_reports_rows_and_claims() {
    let result = json(&[
        "experiment",
        "run",
        "ap-control",
        "--quick",
        "--seed",
        "3",
        "--json",
    ]);
    assert_eq!(result["experiment"], "ap-control");
    assert_eq!(result["seed"], 3);
    assert!(
        result["rows"]
            .as_array()
            .is_some_and(|rows| !rows.is_empty()),
        "{result}"
    );
    let claims = result["claims"].as_array().expect("a list");
    assert!(!claims.is_empty());
    for claim in claims {
        assert!(
            claim["id"].is_string() && claim["text"].is_string() && claim["holds"].is_boolean()
        );
    }
}

#[test]
fn several_experiments_are_an_array_and_leave_a_folder_each() {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("results");
    let out_name = out.to_str().expect("UTF-8");
    let ids = ["ap-control", "ap-naive"];
    let words = [
        &["experiment", "run"],
        &ids[..],
        &["--quick", "--out", out_name, "--json"],
    ]
    .concat();
    let results = json(&words);
    assert_eq!(results.as_array().map(Vec::len), Some(2), "{results}");
    for id in ids {
        let readme = std::fs::read_to_string(out.join(id).join("README.md")).expect("written");
        let command = format!("`auramesh experiment run {id} --seed 7 --quick`");
        assert!(readme.contains(&command), "{readme}");
    }
}

#[test]
fn experiments_are_listed_and_an_unknown_one_is_refused_before_any_runs() {
    let listed = stdout(&auramesh(&["experiment", "list"]));
    for id in [
        "ap-control",
        "ap-speed",
        "ap-latency",
        "ap-frame-time",
        "ap-loss",
        "ap-naive",
    ] {
        assert!(listed.contains(id), "{listed}");
    }
    let output = auramesh(&["experiment", "run", "ap-control", "ap-spede"]);
    assert_eq!(code(&output), 2);
    assert_eq!(stdout(&output), "");
    assert!(stderr(&output).contains("`ap-spede`") && stderr(&output).contains("ap-speed"));
}

/// Sections are listed by `bench` and nowhere else: the list of experiments is that of the theses.
#[test]
fn sections_of_the_benchmark_are_listed() {
    let listed = json(&["bench", "--list", "--json"]);
    let ids: Vec<&str> = listed
        .as_array()
        .expect("a list")
        .iter()
        .map(|info| info["id"].as_str().expect("a name"))
        .collect();
    let expected = ["bare", "servers", "bodies", "density", "speed", "delay"];
    assert_eq!(ids, expected);
    let text = stdout(&auramesh(&["bench", "--list"]));
    let help = stdout(&auramesh(&["bench", "--help"]));
    for id in ids {
        assert!(text.contains(id) && help.contains(id), "{id}: {text}{help}");
    }
    let experiments = json(&["experiment", "list", "--json"]);
    let experiments = experiments.as_array().expect("a list");
    assert!(experiments.iter().all(|info| info["id"] != "bare"));
}

#[test]
fn an_unknown_section_is_refused_before_any_runs() {
    let output = auramesh(&["bench", "bare", "severs", "--quick"]);
    assert_eq!(code(&output), 2);
    assert_eq!(stdout(&output), "");
    let message = stderr(&output);
    assert!(
        message.contains("there is no section `severs`; did you mean `servers`?"),
        "{message}"
    );
    assert!(message.contains("\n  density "), "{message}");
}

/// A crowd beside bare Rapier, for a moment: the same motion, ratios, a crossover or none, and a folder.
#[test]
fn a_section_reports_rows_and_leaves_a_folder() {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bench");
    let out_name = out.to_str().expect("UTF-8");
    let result = json(&[
        "bench", "bare", "--quick", "--seed", "3", "--out", out_name, "--json",
    ]);
    assert_eq!(
        (&result["experiment"], &result["seed"]),
        (&"bare".into(), &3.into())
    );
    let rows = result["rows"].as_array().expect("a list");
    let of = |table: &str| rows.iter().filter(|row| row["table"] == table).count();
    assert_eq!((of("bare"), of("crossover")), (7, 3), "{result}");
    for row in rows.iter().filter(|row| row["table"] == "bare") {
        let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key}: {row}"));
        assert!(number("bare_ms") > 0.0 && number("slowest_ms") > 0.0);
        assert!(number("all_ms") >= number("slowest_ms") && number("ratio") > 0.0);
        assert_eq!(
            number("migrations_per_second") > 0.0,
            number("servers") > 1.0,
            "{row}"
        );
    }
    let claims = result["claims"].as_array().expect("a list");
    assert!(
        claims.iter().all(|claim| claim["holds"] == true),
        "{claims:?}"
    );
    let readme = std::fs::read_to_string(out.join("bare/README.md")).expect("written");
    assert!(
        readme.contains("`auramesh bench bare --seed 3 --quick`"),
        "{readme}"
    );
    assert!(out.join("bare/bare.svg").exists() && out.join("bare/runs.csv").exists());
}
