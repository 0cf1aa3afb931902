//! Every item of the work's checklist, ML-1 to ML-60, has a test that cites it: in the comment above it, or in what it asserts.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const ITEMS: u32 = 60;

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// The tests of a file: the comment above each, its name and its body.
fn tests(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let marks = (0..lines.len()).filter(|line| lines[*line].trim() == "#[test]");
    marks
        .map(|mark| {
            let above = lines[..mark].iter().rev();
            let comment = above.take_while(|line| line.trim().starts_with("//"));
            let first = mark - comment.count();
            let indent = lines[mark].len() - lines[mark].trim_start().len();
            let end = format!("{}}}", " ".repeat(indent));
            let body = lines[mark..].iter().take_while(|line| **line != end);
            lines[first..mark + body.count()].join("\n")
        })
        .collect()
}

/// The items a text names: `ML-18`, or `ML-51 to ML-53` for all from the first to the last.
fn cited(text: &str) -> BTreeSet<u32> {
    let number = |text: &str| -> Option<u32> {
        let digits = text.find(|c: char| !c.is_ascii_digit());
        text[..digits.unwrap_or(text.len())].parse().ok()
    };
    let mut items = BTreeSet::new();
    for (at, _) in text.match_indices("ML-") {
        let rest = &text[at + 3..];
        let Some(first) = number(rest) else { continue };
        let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let last = after.strip_prefix(" to ML-").and_then(number);
        items.extend(first..=last.unwrap_or(first));
    }
    items
}

#[test]
fn every_item_has_a_test_that_cites_it() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    sources(&crates, &mut files);
    let own = Path::new(file!()).file_name();
    let mut items = BTreeSet::new();
    for file in files.iter().filter(|file| file.file_name() != own) {
        let text = fs::read_to_string(file).expect("a source file");
        items.extend(tests(&text).iter().flat_map(|test| cited(test)));
    }
    let missing: Vec<u32> = (1..=ITEMS).filter(|item| !items.contains(item)).collect();
    assert!(missing.is_empty(), "no test cites ML-{missing:?}");
}

#[test]
fn citations_are_read_right() {
    let text = "// ML-7, ML-51 to ML-53 (ML-9x)\n#[test]\nfn one() {\n    ml(\"ML-60\");\n}\n// ML-5\nfn no_test() {}\n";
    assert_eq!(tests(text).len(), 1);
    let items: Vec<u32> = cited(&tests(text)[0]).into_iter().collect();
    assert_eq!(items, [7, 9, 51, 52, 53, 60]);
}
