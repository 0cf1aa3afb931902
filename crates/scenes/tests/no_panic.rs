//! Whatever the bytes, reading a scene ends in a scene or in errors, never in a panic.

use proptest::prelude::*;
use scenes::{Scene, builtin};

/// Small scenes that together use every key, and pieces that are likely to hurt.
const SEEDS: &[&str] = &[
    "head-on",
    "group-no",
    "corner-building",
    "wall-breaker",
    "islands",
];
const PIECES: &[&str] = &[
    "nan",
    "-inf",
    "1e308",
    "-1",
    "0",
    "9223372036854775807",
    "99999999999999999999999999",
    "[]",
    "{}",
    "[[body]]",
    "[[grid]]",
    "[[joint]]\ntype = \"revolute\"\na = \"A\"\nb = \"A\"",
    "\"\"",
    "\"A\"",
    "count = [99999, 99999, 99999]",
    "true",
    "1979-05-27",
    "shape = { type = \"mesh\", file = \"/dev/zero\" }",
    "shape = { type = \"convex\", points = [] }",
    "[regions]",
    ".",
    "=",
    "\n",
    "\0",
    "é",
];

fn read(text: &str) {
    match Scene::parse(text, None) {
        Ok(scene) => {
            let _ = (scene.summary(), scene.warnings());
            for body in &scene.bodies {
                assert!(body.motion.is_finite() && body.form.shape.check_for_body().is_ok());
            }
        }
        Err(errors) => {
            assert!(!errors.errors.is_empty());
            assert!(
                errors
                    .errors
                    .iter()
                    .all(|e| e.line >= 1 && e.column >= 1 && !e.message.is_empty())
            );
        }
    }
}

/// The nearest character boundary at or before this share of the text.
fn cut(text: &str, share: f64) -> usize {
    let mut at = (text.len() as f64 * share) as usize;
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn random_toml_like_text(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..12), glue in "[ =\n]") {
        read(&pieces.join(&glue));
    }

    #[test]
    fn random_changes_of_good_files(
        name in prop::sample::select(SEEDS),
        changes in prop::collection::vec((0.0..1.0_f64, 0.0..0.02_f64, prop::sample::select(PIECES)), 1..6),
    ) {
        let mut text = builtin::text(name).unwrap().to_owned();
        for (from, length, piece) in changes {
            let (start, end) = (cut(&text, from), cut(&text, (from + length).min(1.0)));
            text.replace_range(start..end, piece);
        }
        read(&text);
    }

    /// Numbers are where most checks are: each change hits exactly one.
    #[test]
    fn random_numbers_in_good_files(name in prop::sample::select(SEEDS), which in any::<prop::sample::Index>(), value in any::<f64>()) {
        let text = builtin::text(name).unwrap();
        let numbers: Vec<(usize, &str)> = text.match_indices(|c: char| c.is_ascii_digit()).collect();
        let (at, digit) = numbers[which.index(numbers.len())];
        let mut changed = text.to_owned();
        changed.replace_range(at..at + digit.len(), &format!("{value:e}"));
        read(&changed);
    }
}
