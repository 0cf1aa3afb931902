//! "Did you mean ...?": the known word nearest to a mistyped one.

/// The nearest of the known words, if one is near: at most a third of the letters are wrong.
pub(crate) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let measured = known.into_iter().map(|known| {
        let letters = word.chars().count().max(known.chars().count());
        (strsim::damerau_levenshtein(word, known), letters, known)
    });
    let near = measured.filter(|(wrong, letters, _)| 3 * wrong <= *letters);
    near.min_by_key(|(wrong, ..)| *wrong)
        .map(|(.., known)| known)
}

/// The sentence for an unknown word: what it was, a known one that is near, and all that are allowed.
pub(crate) fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    let shown: String = word.chars().take(60).collect();
    let hint = match nearest(&shown, known.iter().copied()) {
        Some(near) => format!(", did you mean `{near}`?"),
        None => String::new(),
    };
    let allowed = match known {
        [] => String::new(),
        known => format!(" (allowed: {})", known.join(", ")),
    };
    format!("unknown {what} `{shown}`{hint}{allowed}")
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

    /// A guess that is no likelier than the others only misleads.
    #[test]
    fn what_is_not_near_is_not_guessed() {
        let known = ["orbit", "pile", "stacks"];
        assert_eq!(nearest("nosuch", known), None);
        assert_eq!(nearest("stack", known), Some("stacks"));
        assert_eq!(
            unknown("scene", "nosuch", &known),
            "unknown scene `nosuch` (allowed: orbit, pile, stacks)"
        );
    }
}
