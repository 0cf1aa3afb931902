//! AP-31: servers that are no neighbours exchange not one datagram, unless bodies stray.

use crate::common::{run_clean, scene};
use domain::Layout;
use simulator::SimOptions;

/// AP-31: in a 3×3 grid, with traffic over borders and corners, only neighbours speak.
#[test]
fn strangers_exchange_no_datagram() {
    for (name, seconds) in [("islands", 15.0), ("orbit", 15.0), ("columns", 4.0)] {
        let options = SimOptions {
            servers: Some(9),
            layout: Some(Layout::Grid),
            seconds: Some(seconds),
            ..SimOptions::default()
        };
        let outcome = run_clean(&scene(name), &options);
        assert_eq!(outcome.datagrams_between_strangers, 0, "{name}");
        assert!(
            outcome.bytes.between_servers > 10_000,
            "{name}: neighbours do speak"
        );
    }
}

/// The counter counts: with strays, here a chain across two regions of a row, strangers are introduced and do speak.
#[test]
fn strays_make_strangers_speak() {
    let mut text = String::from(
        r#"
name = "two long chains meet in the middle"
seconds = 4.0
gravity = [0.0, 0.0, 0.0]
[world]
min = [-12.0, -30.0]
max = [12.0, 30.0]
[regions]
layout = "columns"
servers = 3
[tolerances]
speed = 8.0
"#,
    );
    for side in [-1.0, 1.0] {
        for i in 0..5 {
            let x = side * (9.5 - 1.6 * f64::from(i));
            let speed = -side;
            text += &format!(
                "[[body]]\nshape = {{ type = \"sphere\", radius = 0.5 }}\nposition = [{x}, 2, 0]\nvelocity = [{speed}, 0, 0]\n"
            );
        }
    }
    let outcome = run_clean(&crate::common::parse(&text), &SimOptions::default());
    assert!(outcome.datagrams_between_strangers > 0);
    assert!(outcome.collisions > 0, "they met");
}
