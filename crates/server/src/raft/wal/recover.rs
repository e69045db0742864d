//! Opens a log: reads all there is, cuts off what a crash has torn, and refuses what is damaged.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::disk::{self, Disk};
use super::frame::{self, FORMAT, OtherFormat, Record, Tail};
use super::index::{Index, Place};

/// The number of the first file.
const FIRST_FILE: u64 = 1;

/// What was found, and where to go on.
pub(super) struct Recovered {
    pub(super) index: Index,
    pub(super) disk: Disk,
    /// Where the next frame goes.
    pub(super) file: u64,
    pub(super) offset: u64,
    /// The number of the next record.
    pub(super) number: u64,
    /// What was cut off, and where.
    pub(super) cut: Option<(PathBuf, u64)>,
}

fn damaged(path: &Path, what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("{}: {what}", path.display()))
}

/// Reads a directory, or begins one.
pub(super) fn open(directory: &Path) -> io::Result<Recovered> {
    let lock = disk::lock(directory)?;
    let mut reader = Reader { index: Index::default(), number: None, cut: None };
    let mut last = None;
    let (leftovers, files) = contiguous(directory)?;
    let mut unused = Vec::new();
    for (at, (number, path)) in files.iter().enumerate() {
        let is_last = at + 1 == files.len();
        let bytes = std::fs::read(path)?;
        let end = reader.read(*number, path, &bytes, is_last)?;
        if end == 0 {
            // A crash has come before its first record was there: nobody was told of anything in it.
            if last.is_none() && *number > FIRST_FILE {
                return Err(damaged(path, "it is empty, and all files before it are missing"));
            }
            unused.push(path);
        } else {
            last = Some((*number, end as u64, reader.cut.is_some()));
        }
    }
    let Reader { mut index, number, cut } = reader;
    if !index.is_whole() {
        return Err(damaged(directory, "entries are missing: a file of the log was deleted"));
    }
    // Only now, as nothing is deleted from a log that is refused.
    for path in leftovers.iter().chain(unused) {
        std::fs::remove_file(path)?;
    }
    index.was_read();
    match last.zip(number) {
        Some(((file, offset, is_torn), number)) => {
            let disk = Disk::go_on(directory, file, offset, is_torn, lock)?;
            Ok(Recovered { index, disk, file, offset, number, cut })
        }
        None => begin(directory, index, lock),
    }
}

fn begin(directory: &Path, index: Index, lock: File) -> io::Result<Recovered> {
    let file = FIRST_FILE;
    let number = getrandom::u64().map_err(io::Error::other)? >> 1;
    let mut disk = Disk::begin(directory, file, lock)?;
    let mut bytes = Vec::new();
    let length = frame::push(&mut bytes, number, number, &Record::Begin(index.begin())).expect("it is short");
    disk.write(&[disk::Chunk { file, offset: 0, bytes }])?;
    Ok(Recovered { index, disk, file, offset: length as u64, number: number + 1, cut: None })
}

/// Files, by number.
type Files = Vec<(u64, PathBuf)>;

/// The last files that follow each other, and before them those before a gap: they were to be deleted when the node
/// died, unless one is missing.
fn contiguous(directory: &Path) -> io::Result<(Vec<PathBuf>, Files)> {
    let mut files: Files = disk::files(directory)?.into_iter().collect();
    let gap = files.windows(2).rposition(|pair| pair[0].0 + 1 != pair[1].0);
    let leftovers = files.drain(..gap.map_or(0, |gap| gap + 1)).map(|(_, path)| path).collect();
    Ok((leftovers, files))
}

struct Reader {
    index: Index,
    /// The number of the next record, once there was one.
    number: Option<u64>,
    cut: Option<(PathBuf, u64)>,
}

impl Reader {
    /// Reads a file, and says where it ends.
    fn read(&mut self, file: u64, path: &Path, bytes: &[u8], is_last: bool) -> io::Result<usize> {
        let mut at = 0;
        while let Some(frame) = frame::at(bytes, at) {
            if self.number.is_some_and(|number| number != frame.number) {
                return Err(damaged(path, "a record has an unexpected number"));
            }
            // Before the record is decoded, as another version may have another layout.
            if at == 0
                && let Some(found) = frame.format()
                && found != FORMAT
            {
                return Err(io::Error::new(ErrorKind::Unsupported, OtherFormat { found }));
            }
            let record = frame.record().ok_or_else(|| damaged(path, "a record is malformed"))?;
            if matches!(record, Record::Begin(_)) != (at == 0) {
                return Err(damaged(path, "its first record is malformed"));
            }
            let place = Place { file, offset: at as u64, length: frame.length() as u32 };
            self.index.add(&record, place, None).map_err(|what| damaged(path, &what))?;
            self.number = Some(frame.number.wrapping_add(1));
            at += frame.length();
        }
        match frame::tail(bytes, at, self.number) {
            Tail::Clean => {}
            Tail::Torn if is_last => self.cut = Some((path.into(), at as u64)),
            Tail::Torn | Tail::Damaged => {
                return Err(damaged(path, &format!("a record is damaged at byte {at}")));
            }
        }
        if at == 0 && !is_last {
            return Err(damaged(path, "it is empty"));
        }
        Ok(at)
    }
}
