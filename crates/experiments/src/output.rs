//! A result as a folder and as text: whoever reads a figure finds beside it what it was made from.

use crate::result::{Artefact, ExperimentResult};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A result and where it comes from.
#[derive(Serialize)]
struct Recorded<'a> {
    #[serde(flatten)]
    result: &'a ExperimentResult,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'a str>,
}

impl ExperimentResult {
    /// Writes `dir/<experiment>/`: raw data, JSON, figures, and a README with the command, the commit if it is known, the
    /// seed, the tables and the claims. Returns the folder.
    pub fn write_to(&self, dir: &Path, command: &str, commit: Option<&str>) -> io::Result<PathBuf> {
        let folder = dir.join(self.experiment);
        fs::create_dir_all(&folder)?;
        let recorded = Recorded {
            result: self,
            commit,
        };
        let json = serde_json::to_string_pretty(&recorded).map_err(io::Error::other)?;
        fs::write(folder.join("result.json"), json + "\n")?;
        for file in &self.files {
            fs::write(folder.join(&file.name), &file.text)?;
        }
        fs::write(folder.join("README.md"), self.readme(command, commit))?;
        Ok(folder)
    }

    fn readme(&self, command: &str, commit: Option<&str>) -> String {
        let mut text = format!("# {}: {}\n\n", self.experiment, self.title);
        let commit = commit.map_or(String::new(), |commit| format!(", commit {commit}"));
        let _ = write!(
            text,
            "Made by `{command}` (seed {}, version {}{commit}). Published values stand beside ours; no number is read from a figure.\n\n",
            self.seed,
            env!("CARGO_PKG_VERSION")
        );
        text.push_str("## Claims\n\n");
        for claim in &self.claims {
            let sign = if claim.holds {
                "holds"
            } else {
                "DOES NOT HOLD"
            };
            let _ = writeln!(
                text,
                "- **{}** {sign}: {} *{}*",
                claim.id, claim.text, claim.measured
            );
        }
        if !self.notes.is_empty() {
            text.push_str("\n## Notes\n\n");
            for note in &self.notes {
                let _ = writeln!(text, "- {note}");
            }
        }
        text.push_str("\n## Tables\n");
        for table in &self.tables {
            let _ = write!(text, "\n{}\n\n{}", table.caption, table.markdown());
        }
        let is_figure = |file: &&Artefact| file.caption.is_some();
        if self.files.iter().any(|file| is_figure(&file)) {
            text.push_str("\n## Figures\n");
        }
        for file in self.files.iter().filter(is_figure) {
            let caption = file.caption.as_deref().unwrap_or_default();
            let _ = write!(text, "\n![{caption}]({})\n\n{caption}\n", file.name);
        }
        text.push_str("\n## Files\n\n- `result.json`: rows and claims\n");
        for file in self.files.iter().filter(|file| !is_figure(file)) {
            let _ = writeln!(text, "- `{}`", file.name);
        }
        text
    }

    /// What a person wants to see in a terminal: tables and claims.
    pub fn summary(&self) -> String {
        let mut text = format!("{}: {} (seed {})\n", self.experiment, self.title, self.seed);
        for table in &self.tables {
            let _ = write!(text, "\n{}\n{}", table.caption, table.markdown());
        }
        text.push('\n');
        for claim in &self.claims {
            let sign = if claim.holds { "ok  " } else { "FAIL" };
            let _ = writeln!(
                text,
                "{sign} {} {}\n       {}",
                claim.id, claim.text, claim.measured
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use crate::result::{Claim, ExperimentInfo, ExperimentResult};
    use crate::table::Table;

    fn result() -> ExperimentResult {
        let info = ExperimentInfo {
            id: "ap-test",
            title: "A test",
            what: "Tests.",
        };
        let mut result = ExperimentResult::new(&info, 9);
        result.rows.push(serde_json::json!({"n": 3}));
        result
            .claims
            .push(Claim::new("AP-53", "never late.", true, "0 of 3"));
        result
            .claims
            .push(Claim::new("AP-60", "always late.", false, "0 of 3"));
        result.tables.push(Table::new("Table 1", &["a"]));
        result.add_data("points.csv", "a\n1\n".into());
        result.add_figure("late.svg", "Late", "<svg></svg>".into());
        result
    }

    /// Keys of the command line's JSON (design 6) are fixed.
    #[test]
    fn serialises_with_the_fixed_keys_only() {
        let json = serde_json::to_value(result()).expect("plain data");
        let mut keys: Vec<_> = json.as_object().expect("object").keys().cloned().collect();
        keys.sort();
        assert_eq!(keys, ["claims", "experiment", "rows", "seed"]);
        assert_eq!(json["claims"][0]["id"], "AP-53");
        assert_eq!(json["claims"][0]["holds"], true);
    }

    #[test]
    fn a_folder_has_everything_a_figure_is_made_from() {
        let dir = std::env::temp_dir().join(format!("auramesh-experiments-{}", std::process::id()));
        let folder = result()
            .write_to(&dir, "auramesh experiment run ap-test", Some("c0ffee"))
            .expect("writable");
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect(name);
        assert_eq!(read("points.csv"), "a\n1\n");
        let readme = read("README.md");
        for word in [
            "auramesh experiment run ap-test",
            "seed 9",
            "commit c0ffee",
            "AP-53** holds",
            "AP-60** DOES NOT HOLD",
            "late.svg",
        ] {
            assert!(readme.contains(word), "{word}");
        }
        let json = read("result.json");
        assert!(json.contains("\"seed\": 9") && json.contains("\"commit\": \"c0ffee\""));
        std::fs::remove_dir_all(dir).expect("ours");
    }

    #[test]
    fn a_failed_claim_is_seen_at_once() {
        let result = result();
        assert!(!result.holds());
        assert!(result.summary().contains("FAIL AP-60"));
    }
}
