//! Runs an experiment for a moment and looks its claims up.

use experiments::{Claim, ExperimentResult, RunOptions, run};

pub fn quick(id: &str, runs: u32, seed: u64) -> ExperimentResult {
    let options = RunOptions {
        runs: Some(runs),
        quick: true,
        seed,
    };
    run(id, &options, &mut |_| {}).expect("it is listed and sound")
}

pub fn claims<'a>(result: &'a ExperimentResult, id: &str, words: &[&str]) -> Vec<&'a Claim> {
    let found: Vec<&Claim> = result
        .claims
        .iter()
        .filter(|claim| claim.id == id && words.iter().all(|word| claim.text.contains(word)))
        .collect();
    assert!(!found.is_empty(), "no claim {id} about {words:?}");
    found
}

pub fn assert_holds(result: &ExperimentResult, id: &str, words: &[&str]) {
    for claim in claims(result, id, words) {
        assert!(claim.holds, "{}: {claim:?}", result.experiment);
    }
}
