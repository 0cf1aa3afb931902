//! The mistakes of one file, noted while it is read.

use crate::errors::{SceneError, SceneErrors};
use std::cell::{Cell, OnceCell, RefCell};
use std::ops::Range;

/// The mistakes noted so far.
pub(crate) struct Problems<'t> {
    text: &'t str,
    /// Where each line starts; found at the first mistake.
    line_starts: OnceCell<Vec<usize>>,
    noted: RefCell<Vec<SceneError>>,
    count: Cell<usize>,
}

impl<'t> Problems<'t> {
    pub(crate) fn in_text(text: &'t str) -> Self {
        Self {
            text,
            line_starts: OnceCell::new(),
            noted: RefCell::default(),
            count: Cell::new(0),
        }
    }

    pub(crate) fn note(&self, span: Range<usize>, key: &str, message: impl Into<String>) {
        let listed = !self.is_full();
        self.count.set(self.count.get() + 1);
        if listed {
            let (line, column) = self.place(span.start);
            self.noted.borrow_mut().push(SceneError {
                line,
                column,
                key: key.to_owned(),
                message: message.into(),
            });
        }
    }

    /// Are further mistakes only counted? Then nobody will read a costly hint.
    pub(crate) fn is_full(&self) -> bool {
        self.count.get() >= SceneErrors::MOST_LISTED
    }

    /// How many mistakes so far: a reader compares before and after to know whether its own part is whole.
    pub(crate) fn count(&self) -> usize {
        self.count.get()
    }

    pub(crate) fn line_of(&self, span: &Range<usize>) -> usize {
        self.place(span.start).0
    }

    pub(crate) fn into_result(self) -> Result<(), SceneErrors> {
        let mut errors = self.noted.into_inner();
        if errors.is_empty() {
            return Ok(());
        }
        errors.sort_by_key(|e| (e.line, e.column));
        Err(SceneErrors {
            file: None,
            unlisted: self.count.get() - errors.len(),
            errors,
        })
    }

    fn place(&self, offset: usize) -> (usize, usize) {
        let after_break = |(i, _): (usize, &str)| i + 1;
        let starts = || {
            std::iter::once(0)
                .chain(self.text.match_indices('\n').map(after_break))
                .collect()
        };
        let starts: &Vec<usize> = self.line_starts.get_or_init(starts);
        let line = starts.partition_point(|start| *start <= offset);
        let before = self.text.get(starts[line - 1]..offset).unwrap_or_default();
        (line, before.chars().count() + 1)
    }
}
