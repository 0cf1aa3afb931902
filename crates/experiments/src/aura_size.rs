//! AP-59: how large auras are for each tolerance (Figs 5.21, 5.28, 5.35; only their captions survive).

use crate::plot::{Chart, Line, LineStyle, OURS, THESIS, THIRD};
use crate::result::{Claim, ExperimentResult};
use crate::settings::{Factor, Setting, thesis_aura};
use crate::variants::boundary_tolerances;
use boundary::{AuraGeometry, AuraSize, BoundaryConfig};
use std::fmt::Write as _;

/// Sizes for one tolerance, metres beyond the bounding sphere.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Size {
    tolerance: f64,
    thesis_m: f64,
    /// Ours, at the tick it speaks of.
    fresh_m: f64,
    /// Ours, by the time the news is one hop old.
    one_hop_old_m: f64,
}

fn size(factor: Factor, tolerance: f64) -> Size {
    let tolerances = Setting::at(factor, tolerance).tolerances();
    let ours = AuraGeometry::of(&BoundaryConfig {
        tolerances: boundary_tolerances(&tolerances),
        // The one that is the same for all bodies.
        aura: AuraSize::Safe,
        ..BoundaryConfig::default()
    });
    Size {
        tolerance,
        thesis_m: thesis_aura(&tolerances).reach_m,
        fresh_m: ours.reach_m,
        one_hop_old_m: ours.reach_at(ours.reach_m, ours.growth_m, ours.hop_ticks),
    }
}

fn sizes(factor: Factor) -> Vec<Size> {
    let (last, step) = match factor {
        Factor::Speed => (96.0, 1.0),
        Factor::Latency => (32.0, 0.1),
        _ => (66.0, 0.1),
    };
    let count = (last / step) as u32;
    (1..=count)
        .map(|i| size(factor, f64::from(i) * step))
        .collect()
}

/// Adds figure, data and claim for one factor.
pub(crate) fn add(result: &mut ExperimentResult, factor: Factor) {
    let sizes = sizes(factor);
    let mut csv = String::from("tolerance,thesis_m,ours_m,ours_one_hop_old_m\n");
    for size in &sizes {
        let Size {
            tolerance,
            thesis_m,
            fresh_m,
            one_hop_old_m,
        } = size;
        let _ = writeln!(
            csv,
            "{tolerance:.1},{thesis_m:.4},{fresh_m:.4},{one_hop_old_m:.4}"
        );
    }
    let line = |name: &str, colour, metres: &dyn Fn(&Size) -> f64| Line {
        name: name.into(),
        colour,
        points: sizes
            .iter()
            .map(|size| (size.tolerance, metres(size)))
            .collect(),
        style: LineStyle::Plain,
    };
    let chart = Chart {
        title: format!("Aura size by {} tolerance", factor.name().to_lowercase()),
        x_label: format!(
            "{} tolerance, {}",
            factor.name().to_lowercase(),
            factor.unit()
        ),
        y_label: "reach beyond the body, m".into(),
        marks: Vec::new(),
        limit: None,
        y_least_top: 1.0,
        lines: vec![
            line("thesis, (3n - 1) steps", THESIS, &|size| size.thesis_m),
            line("ours, fresh", THIRD, &|size| size.fresh_m),
            line("ours, news one hop old", OURS, &|size| size.one_hop_old_m),
        ],
    };
    let figure = match factor {
        Factor::Speed => "5.21",
        Factor::Latency => "5.28",
        _ => "5.35",
    };
    result.add_data("aura-size.csv", csv);
    result.add_figure(
        "aura-size.svg",
        format!("Aura size against the tolerance, as in Fig. {figure}."),
        chart.svg(),
    );
    result.claims.push(claim(factor, &sizes));
}

fn claim(factor: Factor, sizes: &[Size]) -> Claim {
    let kinds: [fn(&Size) -> f64; 3] = [|s| s.thesis_m, |s| s.fresh_m, |s| s.one_hop_old_m];
    if factor == Factor::Speed {
        let per_metre = kinds.map(|of| of(&sizes[0]) / sizes[0].tolerance);
        let straight = sizes.iter().all(|size| {
            kinds
                .iter()
                .zip(per_metre)
                .all(|(of, slope)| (of(size) - slope * size.tolerance).abs() < 1e-9)
        });
        let [thesis, fresh, old] = per_metre.map(|slope| slope * 1e3);
        return Claim::new(
            "AP-59",
            "aura size is proportional to the speed tolerance",
            straight,
            format!(
                "per m/s: thesis {thesis:.1} mm, ours {fresh:.1} mm fresh and {old:.1} mm one hop old"
            ),
        );
    }
    let (mut jumps, mut sound) = (0, true);
    for pair in sizes.windows(2) {
        let grown = kinds.map(|of| of(&pair[1]) - of(&pair[0]));
        let jumped = grown[0] > 1e-9;
        jumps += u32::from(jumped);
        // All jump together by whole steps or none moves at all.
        let step_m = 32.0 / 60.0;
        sound &= grown.iter().all(|metres| {
            let steps = metres / step_m;
            if jumped {
                steps >= 1.0 && (steps - steps.round()).abs() < 1e-6
            } else {
                metres.abs() < 1e-9
            }
        });
    }
    let last = sizes[sizes.len() - 1].tolerance;
    Claim::new(
        "AP-59",
        format!(
            "aura size grows in jumps of whole steps with the {} tolerance",
            factor.name().to_lowercase()
        ),
        sound && jumps > 0,
        format!("{jumps} jumps up to {last:.0} ms, constant in between, for both sizes"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AP-59, and the text of 5.2.4: latency tolerances of 4 to 20 ms give the same aura.
    #[test]
    fn four_to_twenty_milliseconds_give_the_same_aura() {
        let x = |latency| size(Factor::Latency, latency).thesis_m;
        assert_eq!(x(4.0), x(20.0));
        assert!(x(3.3) < x(4.0) && x(20.1) > x(20.0));
    }

    /// AP-59
    #[test]
    fn linear_in_speed_and_in_jumps_otherwise() {
        for factor in [Factor::Speed, Factor::Latency, Factor::FrameTime] {
            let claim = claim(factor, &sizes(factor));
            assert!(claim.holds, "{claim:?}");
        }
        // Not just anything is straight or jumps.
        assert!(!claim(Factor::Speed, &sizes(Factor::Latency)).holds);
        assert!(!claim(Factor::Latency, &sizes(Factor::Speed)).holds);
    }
}
