//! Every built-in scene on 1, 2, 4 and 9 servers over a bad network: no checker finds anything.
//!
//! The large scenes run for their first seconds only, so that this takes a minute or two. Whole length:
//! `AURAMESH_FULL=1 cargo test --release -p auramesh-simulator --test all all_scenes`.

use crate::common::{assert_clean, network, run, scene};
use scenes::builtin;
use simulator::SimOptions;

const SERVERS: [usize; 4] = [1, 2, 4, 9];
const NETWORK: &str = "latency_ms=2,jitter_ms=1,loss=0.02,dup=0.01";

/// Runs a scene on all numbers of servers, for so many seconds at most unless the whole is asked for.
fn run_scene(name: &str, at_most: f64) {
    let scene = scene(name);
    let whole = std::env::var_os("AURAMESH_FULL").is_some();
    for servers in SERVERS {
        let options = SimOptions {
            servers: Some(servers),
            seconds: Some(if whole {
                scene.seconds
            } else {
                scene.seconds.min(at_most)
            }),
            network: network(NETWORK),
            ..SimOptions::default()
        };
        let outcome = run(&scene, &options);
        assert_clean(
            &outcome,
            &format!("auramesh sim {name} --servers {servers} --net {NETWORK}"),
        );
        let tally = outcome.bodies;
        assert_eq!(
            tally.start + tally.spawned - tally.removed,
            tally.end + tally.in_flight,
            "{name}"
        );
        assert_eq!(outcome.servers, servers);
    }
}

/// One test per scene, so that they run side by side, and one that knows whether all are there.
macro_rules! scenes {
    ($($test:ident: $name:literal, $at_most:expr;)*) => {
        $(
            #[test]
            fn $test() {
                run_scene($name, $at_most);
            }
        )*

        #[test]
        fn no_scene_is_left_out() {
            let here: Vec<&str> = vec![$($name),*];
            assert_eq!(builtin::names().collect::<Vec<_>>(), here);
        }
    };
}

const WHOLE: f64 = f64::INFINITY;

scenes! {
    head_on: "head-on", WHOLE;
    group_ab: "group-ab", WHOLE;
    group_cd: "group-cd", WHOLE;
    group_efg: "group-efg", WHOLE;
    group_hij: "group-hij", WHOLE;
    group_klm: "group-klm", WHOLE;
    group_no: "group-no", WHOLE;
    islands: "islands", WHOLE;
    stacks: "stacks", WHOLE;
    wall_breaker: "wall-breaker", WHOLE;
    ragdolls: "ragdolls", WHOLE;
    orbit: "orbit", 20.0;
    playground: "playground", 10.0;
    corner_stacks: "corner-stacks", 3.0;
    corner_building: "corner-building", 5.0;
    columns: "columns", 6.0;
    avalanche: "avalanche", 1.5;
    shaker: "shaker", 3.0;
    pile: "pile", 1.0;
}
