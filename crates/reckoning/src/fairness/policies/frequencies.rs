//! From shares to frequencies: how often each receiver is sent a vector, in vectors per trigger (digest §2.9).

/// `share · per_trigger` for each receiver, but no more than 1: what one cannot use goes to the others in equal parts, until
/// all of it is used or all have 1. The shares sum to 1; the result sums to `per_trigger` or the number of receivers.
pub fn frequencies(shares: &[f64], per_trigger: f64) -> Vec<f64> {
    let mut frequencies: Vec<f64> = shares.iter().map(|share| share * per_trigger).collect();
    // Each round fills at least one receiver up, so there are no more rounds than receivers.
    for _ in 0..frequencies.len() {
        let surplus: f64 = frequencies.iter().map(|f| (f - 1.0).max(0.0)).sum();
        let open = frequencies.iter().filter(|&&f| f < 1.0).count();
        if surplus <= 0.0 {
            break;
        }
        for frequency in &mut frequencies {
            *frequency = if *frequency >= 1.0 {
                1.0
            } else {
                *frequency + surplus / open as f64
            };
        }
    }
    frequencies.iter().map(|f| f.min(1.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dr_30_the_surplus_goes_to_the_others() {
        let result = frequencies(&[0.6, 0.3, 0.1], 2.0);
        for (f, expected) in result.iter().zip([1.0, 0.7, 0.3]) {
            assert!((f - expected).abs() < 1e-12, "{result:?}");
        }
        assert!(frequencies(&[], 1.0).is_empty());
    }

    proptest! {
        // DR-30
        #[test]
        fn dr_30_none_above_one_and_the_sum_is_kept(
            raw in prop::collection::vec(0.0..1.0_f64, 1..40),
            part in 0.0..1.0_f64,
        ) {
            let sum: f64 = raw.iter().sum::<f64>().max(1e-9);
            let shares: Vec<f64> = raw.iter().map(|r| r / sum).collect();
            let per_trigger = part * raw.len() as f64;
            prop_assume!(raw.iter().sum::<f64>() > 1e-6);
            let result = frequencies(&shares, per_trigger);
            prop_assert!(result.iter().all(|f| (0.0..=1.0).contains(f)));
            prop_assert!((result.iter().sum::<f64>() - per_trigger).abs() < 1e-9);
        }
    }
}
