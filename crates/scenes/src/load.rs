//! From a file or a built-in name to a [`Scene`].

use crate::nearest::nearest;
use crate::{NoSuchSize, Scene, SceneErrors, builtin, generated, text_of};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use thiserror::Error;

/// The largest scene or mesh file: 16 MiB.
pub const MAX_FILE_BYTES: usize = 16 << 20;

/// Why there is no scene.
#[derive(Debug, Error)]
pub enum LoadError {
    /// Neither a file nor a built-in scene.
    #[error("there is no file and no built-in scene `{name}`{} (built-in: {})", hint(*nearest), known())]
    Unknown {
        /// What was asked for.
        name: String,
        /// A built-in scene with a similar name.
        nearest: Option<&'static str>,
    },
    /// A generated scene that does not come in this size.
    #[error(transparent)]
    NoSuchSize(#[from] NoSuchSize),
    /// The file is there but cannot be read, or is not text.
    #[error("cannot read {file}: {source}")]
    Read {
        /// Which one.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// Larger than [`MAX_FILE_BYTES`].
    #[error("{file} is too large: a scene has at most {MAX_FILE_BYTES} bytes")]
    TooLarge {
        /// Which one.
        file: String,
    },
    /// The file was read but is not a scene.
    #[error(transparent)]
    Invalid(#[from] SceneErrors),
}

/// All names that are no files.
fn known() -> String {
    let patterns = generated::patterns().map(|(pattern, _)| pattern);
    builtin::names()
        .chain(patterns)
        .collect::<Vec<_>>()
        .join(", ")
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or(String::new(), |near| format!("; did you mean `{near}`?"))
}

impl Scene {
    /// A built-in scene by its name, otherwise a scene file by its path.
    pub fn load(name_or_path: &str) -> Result<Self, LoadError> {
        let path = Path::new(name_or_path);
        // A file that is called like a generated scene of a size that there is not is a file.
        if let Some(text) = text_of(name_or_path)
            && (text.is_ok() || !path.exists())
        {
            return Ok(Self::parse(&text?, None).map_err(|e| e.of_file(name_or_path))?);
        }
        if !path.exists() {
            return Err(LoadError::Unknown {
                name: name_or_path.to_owned(),
                nearest: nearest(name_or_path, builtin::names()),
            });
        }
        let text = read_text(path)?;
        Ok(Self::parse(&text, path.parent()).map_err(|e| e.of_file(name_or_path))?)
    }
}

fn read_text(path: &Path) -> Result<String, LoadError> {
    let file = path.display().to_string();
    let mut text = String::new();
    let limit = MAX_FILE_BYTES as u64 + 1;
    let read = File::open(path).and_then(|f| f.take(limit).read_to_string(&mut text));
    match read {
        Ok(bytes) if bytes > MAX_FILE_BYTES => Err(LoadError::TooLarge { file }),
        Ok(_) => Ok(text),
        Err(source) => Err(LoadError::Read { file, source }),
    }
}
