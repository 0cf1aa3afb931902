//! A table that prints as Markdown, aligned so that it also reads well in a terminal.

/// Header and rows of text.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    pub fn new(caption: impl Into<String>, header: &[&str]) -> Self {
        Self {
            caption: caption.into(),
            header: header.iter().map(|cell| cell.to_string()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If it has not as many cells as the header.
    pub fn push(&mut self, row: Vec<String>) {
        assert_eq!(
            row.len(),
            self.header.len(),
            "a row has one cell per column"
        );
        self.rows.push(row);
    }

    /// As Markdown, without the caption.
    pub fn markdown(&self) -> String {
        let widths: Vec<usize> = (0..self.header.len())
            .map(|column| {
                let cells = self
                    .rows
                    .iter()
                    .chain([&self.header])
                    .map(|row| row[column].chars().count());
                cells.max().unwrap_or(0).max(3)
            })
            .collect();
        let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
        [&self.header, &rule]
            .into_iter()
            .chain(&self.rows)
            .map(|row| line(row, &widths))
            .collect()
    }
}

fn line(row: &[String], widths: &[usize]) -> String {
    let cells: Vec<String> = row
        .iter()
        .zip(widths)
        .map(|(cell, width)| format!("{cell:<width$}"))
        .collect();
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new("speeds", &["v", "late"]);
        table.push(vec!["16 m/s".into(), "0".into()]);
        let expected = "| v      | late |\n| ------ | ---- |\n| 16 m/s | 0    |\n";
        assert_eq!(table.markdown(), expected);
    }
}
