//! The checklist of the thesis, ST-1 to ST-61: every item is cited by a test somewhere in the workspace, in its name (`st_26_...`) or in the comment above
//! it (`ST-26`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const ITEMS: std::ops::RangeInclusive<u32> = 1..=61;

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => sources(&path, found),
            false if path.extension().is_some_and(|end| end == "rs") => found.push(path),
            false => {}
        }
    }
}

/// The numbers after this mark in a line.
fn numbers(line: &str, mark: &str) -> Vec<u32> {
    let after = line.split(mark).skip(1);
    after
        .filter_map(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_digit());
            rest[..end.unwrap_or(rest.len())].parse().ok()
        })
        .collect()
}

/// What the tests of a file cite: the comments right above `#[test]`, and the names right below.
fn cited(text: &str) -> Vec<u32> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_test = |line: &str| line.starts_with("#[test]") || line.starts_with("#[tokio::test");
    let mut found = Vec::new();
    for (at, _) in lines.iter().enumerate().filter(|(_, line)| is_test(line)) {
        let above = lines[..at].iter().rev();
        let comment = above.take_while(|line| line.starts_with("//") || line.starts_with("#["));
        found.extend(comment.flat_map(|line| numbers(line, "ST-")));
        let name = lines[at..].iter().find(|line| line.contains("fn "));
        found.extend(name.into_iter().flat_map(|line| numbers(line, "fn st_")));
        // `fn a_is_so_and_st_30_b_is_too`
        found.extend(name.into_iter().flat_map(|line| numbers(line, "_st_")));
    }
    found
}

#[test]
fn every_item_of_the_checklist_is_cited_by_a_test() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    sources(&crates, &mut files);
    assert!(files.len() > 100, "the workspace's sources");
    let mut by_item: BTreeMap<u32, BTreeSet<PathBuf>> = BTreeMap::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source is text");
        for item in cited(&text) {
            by_item.entry(item).or_default().insert(file.clone());
        }
    }
    let missing: Vec<u32> = ITEMS.filter(|item| !by_item.contains_key(item)).collect();
    assert_eq!(missing, [] as [u32; 0], "no test cites these");
    let unknown: Vec<&u32> = by_item
        .keys()
        .filter(|item| !ITEMS.contains(item))
        .collect();
    assert_eq!(unknown, [] as [&u32; 0], "the checklist has no such items");
}
