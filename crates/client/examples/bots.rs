//! Many bots against one gateway: what do they get?
//!
//! ```text
//! cargo run --release -p auramesh-client --example bots -- ws://127.0.0.1:8080/ws 200 20 [sight metres] [seconds between commands]
//! ```

use client::{Bot, BotReport, BotSettings};
use std::time::Duration;

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, count, secs, rest @ ..] = &arguments[..] else {
        eprintln!("usage: bots URL COUNT SECONDS [SIGHT] [SECONDS BETWEEN COMMANDS]");
        std::process::exit(2);
    };
    let number = |text: &String| {
        text.parse::<f64>()
            .ok()
            .filter(|n| n.is_finite() && *n > 0.0)
    };
    let (Some(count), Some(secs)) = (number(count), number(secs)) else {
        eprintln!("COUNT and SECONDS are numbers above 0");
        std::process::exit(2);
    };
    let sight_m = rest.first().and_then(number);
    let mischief = rest.get(1).and_then(number).map(Duration::from_secs_f64);
    let mut bots = Vec::new();
    for seed in 0..count as u64 {
        let settings = BotSettings {
            duration: Duration::from_secs_f64(secs),
            sight_m,
            mischief,
            seed,
            ..BotSettings::default()
        };
        let url = url.clone();
        bots.push(tokio::spawn(async move {
            Bot::connect(&url, settings).await?.run().await
        }));
        // Not all in one moment.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut reports = Vec::new();
    let mut failed = 0;
    for bot in bots {
        match bot.await {
            Ok(Ok(report)) => reports.push(report),
            Ok(Err(error)) => {
                failed += 1;
                eprintln!("a bot failed: {error}");
            }
            Err(error) => eprintln!("a bot failed: {error}"),
        }
    }
    print(&reports, failed);
}

fn print(reports: &[BotReport], failed: usize) {
    let count = reports.len().max(1) as f64;
    let mean = |value: &dyn Fn(&BotReport) -> f64| reports.iter().map(value).sum::<f64>() / count;
    let most = |value: &dyn Fn(&BotReport) -> f64| reports.iter().map(value).fold(0.0, f64::max);
    let least =
        |value: &dyn Fn(&BotReport) -> f64| reports.iter().map(value).fold(f64::INFINITY, f64::min);
    let rate = |report: &BotReport| report.updates as f64 / report.secs;
    println!("bots               {} (failed: {failed})", reports.len());
    println!(
        "updates/s          mean {:.1}, least {:.1}",
        mean(&rate),
        least(&rate)
    );
    println!(
        "kB/s per bot       mean {:.1}",
        mean(&|r| r.bytes as f64 / r.secs / 1e3)
    );
    println!(
        "frames/s           mean {:.1}",
        mean(&|r| r.frames as f64 / r.secs)
    );
    println!(
        "longest gap        {:.0} ms",
        most(&|r| r.longest_gap_secs) * 1e3
    );
    println!("gaps over 100 ms   {:.2} per bot", mean(&|r| r.gaps as f64));
    println!(
        "told anew          {:.2} per bot",
        mean(&|r| r.restarts as f64)
    );
    println!("bodies in sight    mean {:.0}", mean(&|r| r.bodies as f64));
    println!(
        "commands           {} done, {} refused",
        reports.iter().map(|r| r.commands).sum::<u64>(),
        reports.iter().map(|r| r.refused).sum::<u64>()
    );
}
