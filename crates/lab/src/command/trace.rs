//! A trace: every record of a run as a line of JSON in a file.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use quorate_core::trace::Record;

use super::failure::Failure;

/// The file that records go to. The first error is kept, and told when the run is over.
pub struct Trace {
    path: String,
    file: BufWriter<File>,
    error: Option<std::io::Error>,
}

impl Trace {
    /// Creates the file.
    pub fn create(path: &Path) -> Result<Trace, Failure> {
        let name = path.display().to_string();
        match File::create(path) {
            Ok(file) => Ok(Trace { path: name, file: BufWriter::new(file), error: None }),
            Err(error) => Err(Failure::File { path: name, error }),
        }
    }

    /// Writes a record, as a line of JSON.
    pub fn write(&mut self, record: &Record) {
        if self.error.is_none() {
            let written = serde_json::to_writer(&mut self.file, record)
                .map_err(std::io::Error::from)
                .and_then(|()| self.file.write_all(b"\n"));
            self.error = written.err();
        }
    }

    /// Says whether everything was written.
    pub fn finish(mut self) -> Result<(), Failure> {
        let result = match self.error.take() {
            Some(error) => Err(error),
            None => self.file.flush(),
        };
        result.map_err(|error| Failure::File { path: self.path, error })
    }
}
