//! Training the coder's tables.

use crate::recording::Recording;
use crate::streaming::{Link, measure_with};
use reckoning::stream::{StreamEncoder, StreamSettings};

/// Counts symbols over scenes, each started a little differently from the run that is measured (a shake's kicks, which come
/// from the scene file's own seed, stay the same), and prints the tables.
pub fn train() {
    println!("pub(crate) const TRAINED: [&[u8]; 2] = [");
    for link_ticks in [0, 6] {
        let mut sums: Vec<[f64; 2]> = Vec::new();
        for (scene, seconds, delay_ticks) in [
            ("shaker", 8.0, 6),
            ("shaker", 2.0, 2),
            ("shaker", 1.0, 0),
            ("columns", 10.0, 6),
            ("ragdolls", 10.0, 6),
            ("wall-breaker", 10.0, 6),
        ] {
            let recording = Recording::of(scene, Some(seconds), Some(1001));
            let link = Link {
                delay_ticks: link_ticks,
                loss: 0.01,
            };
            add_counts(&mut sums, &recording, recording.settings(delay_ticks), link);
        }
        print_table(&sums);
    }
    println!("];");
}

fn add_counts(
    sums: &mut Vec<[f64; 2]>,
    recording: &Recording,
    settings: StreamSettings,
    link: Link,
) {
    let mut encoder = StreamEncoder::new(settings);
    encoder.count_symbols();
    measure_with(recording, "", settings, link, &mut encoder);
    let counts = encoder.symbol_counts().expect("it counts");
    sums.resize(counts.len(), [0.0; 2]);
    for (sum, count) in sums.iter_mut().zip(counts) {
        sum[0] += count[0] as f64;
        sum[1] += count[1] as f64;
    }
}

fn print_table(sums: &[[f64; 2]]) {
    println!("    &[");
    for line in sums.chunks(20) {
        let chance = |[zeros, ones]: &[f64; 2]| {
            let chance = (ones + 0.5) / (zeros + ones + 1.0);
            ((chance * 256.0) as u8).clamp(1, 254).to_string()
        };
        let line: Vec<_> = line.iter().map(chance).collect();
        println!("        {},", line.join(", "));
    }
    println!("    ],");
}
