//! Runs experiments and writes their folders: `cargo run --release --example run -- OUT [--quick] ID...`

use experiments::RunOptions;
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let quick = args.iter().any(|arg| arg == "--quick");
    args.retain(|arg| arg != "--quick");
    let options = RunOptions {
        quick,
        ..RunOptions::default()
    };
    let out = args.first().ok_or("where to?")?;
    for id in &args[1..] {
        let start = Instant::now();
        let result = experiments::run(id, &options, &mut |_| {})?;
        let command = format!("auramesh experiment run {id} --seed {}", options.seed);
        result.write_to(Path::new(out), &command)?;
        println!(
            "{}\n{:.1} s\n",
            result.summary(),
            start.elapsed().as_secs_f64()
        );
    }
    Ok(())
}
