use experiments::*;
use scenes::Tolerances;
fn go(label: &str, g: Geometry, t: Tolerances, c: Conditions, variant: Variant, runs: u64, all: bool) {
        let (mut n, mut late, mut miss, mut thr, mut jm) = (0,0,0,0,0);
        for k in 0..runs {
            let e = Encounter { geometry: g, tolerances: t, conditions: c, variant, seed: 1000*k+7 };
            let r = e.run().unwrap();
            if r.is_thrashed() && !all { thr += 1; continue; }
            n += 1; jm += r.just_migrated as u32;
            match r.verdict { Verdict::Late => late += 1, Verdict::Missed => miss += 1, _ => {} }
        }
        println!("{label} {} {} N={n} late={late} miss={miss} thr={thr} jm={jm}", g.name(), variant.name());
}
fn main() {
    let d = Conditions { speed: 32.0, latency_ms: 2.0, frame_ms: 15.0, loss: 0.0 };
    let t = Tolerances { speed: 32.0, latency_ms: 2.0, frame_ms: 15.0 };
    for g in [Geometry::LARGE, Geometry::SMALL] {
    for loss in [0.0, 0.01, 0.05, 0.1, 0.15, 0.2] {
        for v in [Variant::Thesis, Variant::OursSlowResend, Variant::Ours] { go(&format!("loss {loss}"), g, t, Conditions { loss, ..d }, v, 200, false); }
    }
    for m in [2.0, 3.0, 4.0, 6.0, 8.0, 12.0] {
        for v in [Variant::Thesis, Variant::Ours] {
            go(&format!("speed x{m}"), g, t, Conditions { speed: 32.0*m, ..d }, v, 100, false);
            go(&format!("latency x{m}"), g, t, Conditions { latency_ms: 2.0*m, ..d }, v, 100, false);
            go(&format!("latency16 x{m}"), g, Tolerances{latency_ms: 16.0, ..t}, Conditions { latency_ms: 16.0*m, ..d }, v, 100, false);
            go(&format!("frame x{m}"), g, t, Conditions { frame_ms: 15.0*m, ..d }, v, 100, false);
            go(&format!("frame32 x{m}"), g, Tolerances{frame_ms: 32.0, ..t}, Conditions { frame_ms: 32.0*m, ..d }, v, 100, false);
        }
    }
    for s in [1., 8., 16., 32., 64., 96.] { go(&format!("naive {s}"), g, t, Conditions { speed: s, ..d }, Variant::Naive, 200, true); }
    }
}
