//! scratch
use scenes::Scene;
use simulator::*;
fn main() {
    let quick = std::env::args().nth(1).is_some_and(|a| a == "q");
    let run = |name: &str, f: &dyn Fn(&mut SimOptions)| {
        let scene = Scene::load(name).unwrap();
        let mut o = SimOptions {
            seed: Some(3),
            ..SimOptions::default()
        };
        f(&mut o);
        let r = simulate(&scene, &o, |_| {}).unwrap();
        println!(
            "{name} {} {} {} {} m{} {:?} {} {} e{}",
            r.servers,
            r.ticks,
            r.state_hash,
            r.history_hash,
            r.migrations,
            r.kept,
            r.largest_cluster,
            r.bytes.between_servers,
            r.errors.total()
        );
    };
    run("corner-stacks", &|o| o.servers = Some(4));
    run("worst", &|o| o.seconds = Some(8.0));
    run("shots-corner", &|o| {
        o.aligned_steps = false;
    });
    run("shots-figures", &|o| o.seed = Some(4));
    run("shots-heap", &|o| {
        o.seed = Some(5);
        o.promise_share = 0.0
    });
    run("shots-layer", &|o| o.seed = Some(5));
    run("e1-columns-4", &|o| {
        o.servers = Some(4);
        o.seconds = Some(if quick { 12.0 } else { 25.0 })
    });
    run("playground", &|o| o.servers = Some(9));
    run("orbit", &|o| {
        o.seconds = Some(12.0);
        o.faults = "crash=1@3.5+0.8,cut=0-2@6+1"
            .split(',')
            .map(|f| f.parse().unwrap())
            .collect()
    });
    run("columns", &|o| {
        o.servers = Some(4);
        o.aura = boundary::AuraSize::Safe
    });
    run("corner-stacks", &|o| {
        o.servers = Some(4);
        o.aura = boundary::AuraSize::Thesis
    });
    run("columns", &|o| {
        o.servers = Some(2);
        o.policy = boundary::Policy::Naive
    });
    if quick {
        return;
    }
    run("avalanche", &|o| o.servers = Some(4));
    run("e1-corners-9", &|o| {
        o.seconds = Some(15.0);
        o.network = "latency_ms=2,jitter_ms=1,loss=0.02".parse().unwrap()
    });
}
