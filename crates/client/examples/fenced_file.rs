//! A worker that fences its writes to a file: `fenced_file FILE NAME ROUNDS`.
//!
//! The file has a number. In each round the worker gets a lock, reads the number, and writes a larger one. It may be
//! paused at any moment for longer than its lease lasts, without knowing; then its write is refused, and no count is
//! lost:
//!
//! - *On entry* it shows its fence to the file, and gets the number in the same step. From then on every smaller fence
//!   is refused, also before this worker has written anything.
//! - *On writing* it shows the fence again. If somebody with a larger one has come in between, nothing is written.
//!
//! Both steps are made under a lock of the operating system, so that they cannot mix with those of others. That lock is
//! held for a moment and never while the worker works; it could not replace the other one, as it ends at this machine.
//!
//! Start a node with `quorate serve`, or name others in QUORATE_ENDPOINTS, and run several of these at once:
//! `cargo run -p quorate-client --example fenced_file -- /tmp/number A 100`

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use quorate_client::{Client, Error};

/// How long the lease lasts without renewal.
const TTL: Duration = Duration::from_secs(1);

/// A file with a number that refuses smaller fences than it has seen.
struct FencedFile {
    path: PathBuf,
}

/// What the file has: the largest fence that it has seen, and the number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Contents {
    fence: u64,
    number: u64,
}

/// Why a file does not do what it is asked.
#[derive(Debug, thiserror::Error)]
enum FileError {
    /// Somebody with a larger fence has been there.
    #[error("fence {fence} is refused: {largest} has been there")]
    Refused { fence: u64, largest: u64 },
    /// It is not a file of this program.
    #[error("{0} is not a file with a fence and a number")]
    Foreign(String),
    /// The disk does not work.
    #[error(transparent)]
    Disk(#[from] io::Error),
}

impl FencedFile {
    fn new(path: impl Into<PathBuf>) -> FencedFile {
        FencedFile { path: path.into() }
    }

    /// Shows a fence to the file: smaller ones are refused from now on. Returns the number.
    fn enter(&self, fence: u64) -> Result<u64, FileError> {
        self.change(|contents| {
            if fence < contents.fence {
                return Err(FileError::Refused { fence, largest: contents.fence });
            }
            Ok(Contents { fence, ..contents })
        })
    }

    /// Writes a number, unless somebody with a larger fence has entered.
    fn write(&self, fence: u64, number: u64) -> Result<(), FileError> {
        let written = self.change(|contents| {
            if fence != contents.fence {
                return Err(FileError::Refused { fence, largest: contents.fence });
            }
            Ok(Contents { number, ..contents })
        });
        written.map(|_| ())
    }

    /// Looks at the contents and replaces them, with nobody in between; a crash leaves the old ones or the new ones.
    fn change(&self, change: impl FnOnce(Contents) -> Result<Contents, FileError>) -> Result<u64, FileError> {
        let beside = |extension: &str| self.path.with_added_extension(extension);
        // It is released when the file is closed, also by a crash.
        let turn = File::create(beside("turn"))?;
        turn.lock()?;
        let contents = change(self.read()?)?;
        let mut file = File::create(beside("new"))?;
        write!(file, "{} {}", contents.fence, contents.number)?;
        file.sync_all()?;
        std::fs::rename(beside("new"), &self.path)?;
        let directory = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(directory.unwrap_or(Path::new(".")))?.sync_all()?;
        Ok(contents.number)
    }

    fn read(&self) -> Result<Contents, FileError> {
        let text = match std::fs::read_to_string(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Contents::default()),
            text => text?,
        };
        let numbers: Option<Vec<u64>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
        match numbers.as_deref() {
            Some([fence, number]) => Ok(Contents { fence: *fence, number: *number }),
            _ => Err(FileError::Foreign(self.path.display().to_string())),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, name, rounds] = &arguments[..] else { return Err("usage: fenced_file FILE NAME ROUNDS".into()) };
    let (file, rounds) = (FencedFile::new(path), rounds.parse::<u64>()?);
    let endpoints = std::env::var("QUORATE_ENDPOINTS").unwrap_or_else(|_| "127.0.0.1:7420".into());
    let client = Client::new(endpoints.split(','))?;
    let mut session = client.session().ttl(TTL).label(name).open().await?;
    let (mut accepted, mut refused) = (0, 0);
    while accepted < rounds {
        let guard = match session.lock("number").acquire().await {
            Ok(guard) => guard,
            Err(Error::SessionOver(_)) => {
                // It was paused for so long that nobody believes in it any more: it begins anew.
                session = client.session().ttl(TTL).label(name).open().await?;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let written = file.enter(guard.fence()).and_then(|number| file.write(guard.fence(), number + 1));
        match written {
            Ok(()) => accepted += 1,
            Err(FileError::Refused { .. }) => refused += 1,
            Err(error) => return Err(error.into()),
        }
        // Who has lost it cannot give it back, and is told so by the next request.
        let _ = guard.release().await;
    }
    println!("{name}: {accepted} writes accepted, {refused} refused");
    session.close().await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> FencedFile {
        let path = std::env::temp_dir().join(format!("quorate-{name}-{}", std::process::id()));
        for extension in ["", ".turn", ".new"] {
            let _ = std::fs::remove_file(format!("{}{extension}", path.display()));
        }
        FencedFile::new(path)
    }

    #[test]
    fn a_late_write_is_refused_even_before_its_successor_has_written() {
        let file = file("late");
        assert_eq!(file.enter(5).unwrap(), 0);
        file.write(5, 1).unwrap();
        assert_eq!(file.enter(7).unwrap(), 1);
        assert!(matches!(file.write(5, 9), Err(FileError::Refused { fence: 5, largest: 7 })));
        assert!(matches!(file.enter(6), Err(FileError::Refused { .. })));
        file.write(7, 2).unwrap();
        assert_eq!(file.read().unwrap(), Contents { fence: 7, number: 2 });
    }

    #[test]
    fn fences_of_many_threads_grow() {
        let file = file("many");
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let file = &file;
                scope.spawn(move || (0..50).filter(|round| file.enter(round * 4 + thread).is_ok()).count());
            }
        });
        assert_eq!(file.read().unwrap().fence, 199);
        std::fs::write(&file.path, "something else").unwrap();
        assert!(matches!(file.enter(1000), Err(FileError::Foreign(_))));
    }
}
