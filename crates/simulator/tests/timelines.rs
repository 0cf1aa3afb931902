//! Every server's run, tick by tick, adds up to what is told of the whole.

use simulator::{SimOptions, simulate};

#[test]
fn timelines_add_up_to_the_outcome() {
    let scene = scenes::Scene::load("orbit").expect("built in");
    let options = SimOptions {
        seconds: Some(10.0),
        ..SimOptions::default()
    };
    let outcome = simulate(&scene, &options, |_| {}).expect("a sound scene");
    assert_eq!(outcome.timelines.len(), outcome.servers);
    let departed =
        |of: &simulator::Timeline| of.departed.iter().map(|n| u64::from(*n)).sum::<u64>();
    assert!(outcome.migrations > 0);
    assert_eq!(
        outcome.timelines.iter().map(departed).sum::<u64>(),
        outcome.migrations
    );
    for line in &outcome.timelines {
        let ticks = outcome.ticks as usize;
        let counts = [&line.auras_sent, &line.bodies, &line.departed].map(Vec::len);
        assert_eq!(counts, [ticks; 3]);
        assert_eq!(
            [
                line.ticks_ms.len(),
                line.steps_ms.len(),
                line.bytes_sent.len()
            ],
            [ticks; 3]
        );
        assert!(
            line.steps_ms
                .iter()
                .zip(&line.ticks_ms)
                .all(|(step, whole)| step <= whole)
        );
        assert!(
            line.auras_sent.iter().any(|count| *count > 0),
            "balls that circle a corner project"
        );
        assert!(line.bytes_sent.is_sorted());
    }
    let cpu = &outcome.cpu_ms_per_tick;
    assert!(cpu.overhead.is_some_and(|overhead| overhead > 0.0));
    assert!(
        cpu.step_per_server
            .iter()
            .zip(&cpu.per_server)
            .all(|(step, whole)| step <= whole)
    );
}
