//! Every run's seed follows from what the run is, never from when or on which thread it happens.

/// Mixes a master seed with the numbers that name a run (the finaliser of SplitMix64 after each).
pub(crate) fn derive(master: u64, name: &[u64]) -> u64 {
    name.iter()
        .fold(mix(master), |state, part| mix(state ^ mix(*part)))
}

fn mix(value: u64) -> u64 {
    let z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_has_its_own_seed() {
        let seeds: BTreeSet<u64> = (0..50)
            .flat_map(|a| (0..50).map(move |b| derive(7, &[a, b])))
            .collect();
        assert_eq!(seeds.len(), 2500);
        assert_ne!(derive(7, &[1, 2]), derive(8, &[1, 2]));
        assert_eq!(derive(7, &[1, 2]), derive(7, &[1, 2]));
    }
}
