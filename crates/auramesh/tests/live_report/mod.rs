//! `auramesh run` with its report, which must be clean.

use serde_json::Value;
use std::process::Command;

/// Says something that people must see although the test passes: what `println!` says then is swallowed.
pub fn say(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// One at a time: what is tested is not how many worlds a small machine can bear.
static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// Runs a scene on four servers for so long; every counter that is an error must be zero.
pub fn run(scene: &str, seconds: u32, more: &[&str]) -> Value {
    run_beside(scene, seconds, more, || ())
}

/// The same while something else goes on.
pub fn run_beside<T>(scene: &str, seconds: u32, more: &[&str], begin: impl FnOnce() -> T) -> Value {
    let _turn = TURN.lock().unwrap_or_else(|poison| poison.into_inner());
    let _beside = begin();
    let seconds = seconds.to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_auramesh"))
        .args([
            "run",
            scene,
            "--servers",
            "4",
            "--seconds",
            &seconds,
            "--json",
        ])
        .args(more)
        .output()
        .expect("the program starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    let what = format!("{scene} {more:?}");
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{what}: {error}: {errors}"));
    assert_eq!(output.status.code(), Some(0), "{what}: {errors}");
    for (kind, count) in report["errors"].as_object().expect("an object") {
        assert_eq!(count, 0, "{what}: {kind}");
    }
    println!(
        "{what}: {} migrations, {} late ticks, {:.1} s behind at the end, tolerances exceeded {}, clocks within {} ms",
        report["migrations"],
        report["late_ticks"],
        report["behind_secs"].as_f64().unwrap_or(f64::NAN),
        report["tolerance_exceeded"],
        report["clock_bound_ms"]
    );
    report
}
