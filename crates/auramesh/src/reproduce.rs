//! The command line that makes the same run again, ready to be pasted into a shell.

/// What was typed, with the seed spelt out if it was not.
pub fn command(seed: u64) -> String {
    let typed: Vec<String> = std::env::args().collect();
    join(typed, seed)
}

/// The same program with other arguments.
pub fn command_with(arguments: &[&str]) -> String {
    let program = std::env::args().next().unwrap_or_else(|| "auramesh".into());
    line(&program, arguments)
}

/// For a file that others read: the program by its name, not by its place on this machine.
pub fn plain_command(arguments: &[&str]) -> String {
    line("auramesh", arguments)
}

fn line(program: &str, arguments: &[&str]) -> String {
    let words = std::iter::once(program).chain(arguments.iter().copied());
    words.map(quoted).collect::<Vec<String>>().join(" ")
}

fn join(mut words: Vec<String>, seed: u64) -> String {
    let has_seed = words
        .iter()
        .any(|word| word == "--seed" || word.starts_with("--seed="));
    if !has_seed {
        words.extend(["--seed".into(), seed.to_string()]);
    }
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

/// A word as a POSIX shell must read it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,@+:%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn the_seed_is_added_once() {
        let line = "auramesh sim orbit --faults crash=1@3.5+0.8";
        assert_eq!(join(words(line), 7), format!("{line} --seed 7"));
        for line in ["auramesh sim orbit --seed 9", "auramesh sim orbit --seed=9"] {
            assert_eq!(join(words(line), 9), line);
        }
    }

    #[test]
    fn words_with_spaces_and_quotes_survive_the_shell() {
        assert_eq!(quoted("my scene.toml"), "'my scene.toml'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
