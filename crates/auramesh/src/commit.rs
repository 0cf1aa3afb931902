//! Which commit a result is made from.

use std::path::Path;
use std::process::{Command, Stdio};

/// Only a repository with this folder is ours: anybody may run the program inside a repository of their own.
const OURS: &str = "HEAD:crates/auramesh";

/// Results are what is being written, one experiment after another, and no part of what they are made from.
const CHANGES: [&str; 6] = [
    "status",
    "--porcelain",
    "--untracked-files=no",
    "--",
    ":/",
    ":(top,exclude)results",
];

/// The commit of the current directory's working tree, marked if tracked files differ from it; `None` where there is no
/// git or no repository of this project.
pub fn current() -> Option<String> {
    of(Path::new("."))
}

fn of(dir: &Path) -> Option<String> {
    let lines = git(dir, &["rev-parse", "HEAD", OURS])?;
    let commit = lines.lines().next()?;
    let changes = git(dir, &CHANGES)?;
    Some(match changes.is_empty() {
        true => commit.to_owned(),
        false => format!("{commit} + local changes"),
    })
}

fn git(dir: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    // Without optional locks, looking disturbs nobody who is just committing.
    command
        .args(["--no-optional-locks", "-C"])
        .arg(dir)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    let output = command.output().ok().filter(|o| o.status.success())?;
    String::from_utf8(output.stdout).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_there_is_no_repository_there_is_no_commit() {
        assert_eq!(of(Path::new("/")), None);
        assert_eq!(of(Path::new("/no/such/place")), None);
    }

    /// Run from a clone, and not from an unpacked archive, the tests see the clone's commit.
    #[test]
    fn in_a_clone_it_is_the_commit_of_the_clone() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let head = git(here, &["log", "-1", "--format=%H", "--", "."]);
        let commit = of(here);
        if head.is_some_and(|hash| !hash.is_empty()) {
            let commit = commit.expect("there is a commit");
            let hash = commit.strip_suffix(" + local changes").unwrap_or(&commit);
            assert!(hash.len() >= 40 && hash.chars().all(|c| c.is_ascii_hexdigit()));
        }
    }
}
