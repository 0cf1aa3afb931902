//! What is wrong with a scene file, and where: every mistake of the file, not only the first.

use std::fmt;
use thiserror::Error;

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct SceneError {
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    /// Where in the tables, e.g. `body[2].shape.radius` (lists count from 0); empty for the whole file.
    pub key: String,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl fmt::Display for SceneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.line, self.column)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)
    }
}

/// All mistakes of one file, in the file's order. Printed, each is a line
/// `file:line:column: key: message`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct SceneErrors {
    /// The file's name, if the text came from one.
    pub file: Option<String>,
    /// The mistakes; at most [`SceneErrors::MOST_LISTED`].
    pub errors: Vec<SceneError>,
    /// How many more there were.
    pub unlisted: usize,
}

impl SceneErrors {
    /// So many mistakes are listed, so that a wrong file of a million lines is still answered readably.
    pub const MOST_LISTED: usize = 100;

    /// The same mistakes, said to be of this file.
    #[must_use]
    pub fn of_file(self, file: impl Into<String>) -> Self {
        Self {
            file: Some(file.into()),
            ..self
        }
    }
}

impl fmt::Display for SceneErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.as_deref().unwrap_or("scene");
        for (i, error) in self.errors.iter().enumerate() {
            let new_line = if i == 0 { "" } else { "\n" };
            write!(f, "{new_line}{file}:{error}")?;
        }
        if self.unlisted > 0 {
            write!(f, "\n{file}: and {} more", self.unlisted)?;
        }
        Ok(())
    }
}
