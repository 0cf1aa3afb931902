//! "Did you mean ...?": the known word nearest to a mistyped one.

/// The nearest of the known words; `None` only if there are none.
pub(crate) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let distance = |k: &&str| strsim::damerau_levenshtein(word, k);
    known.into_iter().min_by_key(distance)
}

/// The sentence for an unknown word: what it was, the nearest known one, and all that are allowed.
pub(crate) fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    let shown: String = word.chars().take(60).collect();
    let listed = known.join(", ");
    match nearest(&shown, known.iter().copied()) {
        Some(near) => {
            format!("unknown {what} `{shown}`, did you mean `{near}`? (allowed: {listed})")
        }
        None => format!("unknown {what} `{shown}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swapped_letters_are_near() {
        let known = ["position", "rotation", "restitution"];
        assert_eq!(nearest("positoin", known), Some("position"));
        assert_eq!(nearest("restituton", known), Some("restitution"));
        assert_eq!(nearest("x", []), None);
    }
}
