use experiments::*;
use scenes::Tolerances;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let runs: u64 = a[1].parse().unwrap();
    for (v, l, f, lim) in [(16.,2.,15.,'s'),(32.,2.,15.,'s'),(48.,2.,15.,'s'),(32.,2.,15.,'l'),(32.,8.,15.,'l'),(32.,16.,15.,'l'),(32.,2.,8.33,'f'),(32.,2.,15.,'f'),(32.,2.,32.,'f'),(32.,2.,33.33,'f')] {
        for g in [Geometry::LARGE, Geometry::SMALL] {
        for variant in [Variant::Thesis, Variant::ThesisExact, Variant::Ours, Variant::Naive] {
            for above in [false, true] {
                let t = std::time::Instant::now();
                let (mut n, mut late, mut miss, mut thr) = (0,0,0,0);
                let mut bad = None;
                let mut worst = 0.0f64;
                for k in 0..runs {
                    let share = (k as f64 + 1.0) / runs as f64 + if above {1.0} else {0.0};
                    let mut c = Conditions { speed: v, latency_ms: l, frame_ms: f, loss: 0.0 };
                    match lim { 's' => c.speed *= share, 'l' => c.latency_ms *= share, _ => c.frame_ms *= share }
                    let e = Encounter { geometry: g, tolerances: Tolerances { speed: v, latency_ms: l, frame_ms: f }, conditions: c, variant, seed: k };
                    let r = e.run().unwrap();
                    if r.is_thrashed() { thr += 1; if variant==Variant::Ours && bad.is_none() {bad=Some((e,r));} continue; }
                    n += 1;
                    match r.verdict { Verdict::Late => late += 1, Verdict::Missed => miss += 1, _ => {} }
                    if r.verdict != Verdict::Missed { worst = worst.max(r.penetration_steps(Default::default())); }
                    if r.verdict != Verdict::Correct && bad.is_none() { bad = Some((e, r)); }
                }
                println!("{v} {l} {f} {lim} {} {:12} {} N={n} late={late} miss={miss} thr={thr} worst={worst:.2} {:.2} ms/run", g.name(), variant.name(), if above {"above"} else {"below"}, t.elapsed().as_secs_f64()*1e3/runs as f64);
                if !above && variant == Variant::Ours { if let Some(b) = bad { println!("   {b:?}"); } }
            }
        }}
    }
}
