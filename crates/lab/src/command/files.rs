//! The files that a run is written to: diagrams and traces, in the form that their names ask for.

use std::path::{Path, PathBuf};

use super::failure::Failure;
use crate::diagram::{Format, Picture};

/// What to write, and where.
#[derive(Debug)]
pub struct Files<'a>(Vec<(&'a Path, Format)>);

impl<'a> Files<'a> {
    /// A file for a diagram and one for a trace, whose names say in which form; nothing is written yet.
    pub fn new(diagram: Option<&'a PathBuf>, trace: Option<&'a PathBuf>) -> Result<Files<'a>, Failure> {
        let mut files = Vec::new();
        for (path, is_diagram) in [(diagram, true), (trace, false)] {
            let Some(path) = path else { continue };
            let format = Format::of(path)?;
            if format.is_diagram() != is_diagram {
                let (option, endings) =
                    if is_diagram { ("--diagram", ".svg or .txt") } else { ("--trace", ".jsonl or .shiviz") };
                return Err(Failure::Usage(format!("{option} {}: it writes {endings}", path.display())));
            }
            files.push((path.as_path(), format));
        }
        Ok(Files(files))
    }

    /// Whether nothing is to be written.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes them.
    pub fn write(&self, picture: &Picture<'_>) -> Result<(), Failure> {
        self.0.iter().try_for_each(|(path, format)| write(path, &picture.render(*format)))
    }
}

/// Writes a file.
pub fn write(path: &Path, content: &str) -> Result<(), Failure> {
    std::fs::write(path, content).map_err(|error| Failure::File { path: path.display().to_string(), error })
}
