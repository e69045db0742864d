//! The files of a log: numbered, filled with zeros before anything is written, deleted from the front.
//!
//! What is written in place, where zeros were, changes nothing but the blocks themselves. At the end of a growing file,
//! the file's own record would have to be written, too, and every sync would be two writes.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

/// Files are filled with zeros in steps, from this
const SMALLEST_STEP: u64 = 64 << 10;
/// to this.
const LARGEST_STEP: u64 = 1 << 20;
/// A disk that takes longer
const SLOW: Duration = Duration::from_millis(10);
/// is not waited for during this time: see [`Disk::is_fast`].
const SLOW_FOR: Duration = Duration::from_secs(1);

/// Bytes that are to be written at one place.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) file: u64,
    pub(super) offset: u64,
    pub(super) bytes: Vec<u8>,
}

/// The files, for who writes.
#[derive(Debug)]
pub(super) struct Disk {
    directory: PathBuf,
    /// The number of the last file.
    number: u64,
    file: File,
    /// How far it is filled with zeros.
    filled: u64,
    /// Where the last record ends.
    end: u64,
    slow_until: Option<Instant>,
    _lock: File,
}

pub(super) fn path(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("{number:016}.wal"))
}

/// Keeps everybody else away from a directory.
pub(super) fn lock(directory: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(directory.join("lock"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(ErrorKind::WouldBlock.into()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The files in a directory, by number.
pub(super) fn files(directory: &Path) -> io::Result<BTreeMap<u64, PathBuf>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "wal") {
            let stem = path.file_stem().and_then(|stem| stem.to_str()).filter(|stem| stem.len() == 16);
            let Some(number) = stem.and_then(|stem| stem.parse().ok()) else {
                let text = format!("{} is not a file of this log: was it written by another release?", path.display());
                return Err(io::Error::new(ErrorKind::InvalidData, text));
            };
            files.insert(number, path);
        }
    }
    Ok(files)
}

/// Every write to it returns when it is on disk.
fn open(path: &Path, is_new: bool) -> io::Result<File> {
    let synced = OFlags::DSYNC.bits() as i32;
    OpenOptions::new().read(true).write(true).create_new(is_new).custom_flags(synced).open(path)
}

fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

impl Disk {
    /// Begins a file, with zeros.
    pub(super) fn begin(directory: &Path, number: u64, lock: File) -> io::Result<Disk> {
        let file = open(&path(directory, number), true)?;
        let directory = directory.to_path_buf();
        let mut disk = Disk { directory, number, file, filled: 0, end: 0, slow_until: None, _lock: lock };
        disk.fill(1)?;
        sync_directory(&disk.directory)?;
        Ok(disk)
    }

    /// Goes on in a file, behind what is there. Whatever is behind that becomes zeros.
    pub(super) fn go_on(directory: &Path, number: u64, end: u64, is_torn: bool, lock: File) -> io::Result<Disk> {
        let file = open(&path(directory, number), false)?;
        let filled = file.metadata()?.len();
        if is_torn {
            let zeros = vec![0; filled.saturating_sub(end) as usize];
            file.write_all_at(&zeros, end)?;
        }
        let directory = directory.to_path_buf();
        Ok(Disk { directory, number, file, filled, end, slow_until: None, _lock: lock })
    }

    /// Writes, and returns when it is on disk.
    pub(super) fn write(&mut self, chunks: &[Chunk]) -> io::Result<()> {
        for Chunk { file, offset, bytes } in chunks {
            if *file != self.number {
                (self.file, self.number, self.filled) = (open(&path(&self.directory, *file), true)?, *file, 0);
                self.fill(1)?;
                sync_directory(&self.directory)?;
            }
            self.end = offset + bytes.len() as u64;
            self.fill(self.end)?;
            let began = Instant::now();
            self.file.write_all_at(bytes, *offset)?;
            if began.elapsed() > SLOW {
                self.slow_until = Some(Instant::now() + SLOW_FOR);
            }
        }
        Ok(())
    }

    /// The next step: as much as there is, within limits.
    fn step(&self) -> u64 {
        self.filled.clamp(SMALLEST_STEP, LARGEST_STEP)
    }

    /// Whether it is time to [make room](Self::make_room): the last quarter of a step has begun.
    pub(super) fn is_nearly_full(&self) -> bool {
        self.filled < self.end + self.step() / 4
    }

    /// Fills the next step with zeros, so that nobody who writes has to wait for it.
    pub(super) fn make_room(&mut self) -> io::Result<()> {
        self.fill(self.end + self.step() / 4)
    }

    /// Fills with zeros up to here, and up to the next step.
    fn fill(&mut self, upto: u64) -> io::Result<()> {
        if upto > self.filled {
            let upto = upto.next_multiple_of(self.step());
            self.file.write_all_at(&vec![0; (upto - self.filled) as usize], self.filled)?;
            self.filled = upto;
        }
        Ok(())
    }

    /// Whether to wait for a write takes no longer than to have another thread wait for it.
    pub(super) fn is_fast(&self) -> bool {
        self.slow_until.is_none_or(|until| Instant::now() > until)
    }

    /// Deletes all files before this one. Those that are left by a crash are deleted at the next start.
    pub(super) fn delete_before(&self, first: u64) -> io::Result<()> {
        for (_, path) in files(&self.directory)?.range(..first) {
            std::fs::remove_file(path)?;
        }
        Ok(())
    }
}
