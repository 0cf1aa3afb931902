//! probe
mod common;
use common::*;
use simulator::SimOptions;
#[test]
fn probe() {
    let mut bad = 0; let mut n = 0;
    for (name, servers, seconds) in [("ragdolls", 4, 2.5), ("islands", 4, 3.0), ("islands", 9, 3.0), ("corner-building", 4, 2.0), ("columns", 3, 2.5), ("wall-breaker", 2, 2.5), ("group-no", 3, 8.0), ("group-klm", 3, 5.0), ("stacks", 4, 2.5)] {
        let scene = scene(name);
        for step in 0..16u64 {
            for server in 0..servers.min(4) {
                let base = match name { "group-no" => 6.0, "group-klm" => 2.3, _ => 0.3 };
                let at = base + 0.07 * step as f64;
                for kind in 0..3 {
                let faults = match kind { 0 => vec![format!("crash={server}@{at:.2}+0.2").parse().unwrap()],
                   1 => vec![format!("cut={server}-{}@{at:.2}+0.3", (server+1)%servers).parse().unwrap()],
                   _ => vec![format!("crash={server}@{at:.2}+0.25").parse().unwrap(), format!("cut={server}-{}@{:.2}+0.4", (server+1)%servers, at).parse().unwrap()] };
                let o = run(&scene, &SimOptions { servers: Some(servers), seconds: Some(seconds), seed: Some(step), faults, network: network("latency_ms=1,jitter_ms=0.5,loss=0.02,dup=0.02"), ..SimOptions::default()});
                n += 1;
                if !o.is_clean() || o.excused.lost + o.excused.duplicated + o.excused.epoch_errors + o.excused.split_clusters > 0 {
                    bad += 1;
                    if bad < 15 { println!("{name} servers {servers} seed {step} kind {kind} server {server} at {at:.2}: {:?} excused {:?}\n{}", o.errors, o.excused, o.first_violation.map(|v| v.to_string()).unwrap_or_default()); }
                }
                }
            }
        }
        println!("{name} {servers}: {bad} bad of {n}");
    }
}
