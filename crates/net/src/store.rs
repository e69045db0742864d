//! What a process has to remember through crashes: a directory with one file, to which is added what changes.
//!
//! The file begins with whose it is, and in which life; then comes what was saved, a record for each time that it was
//! synced. A record carries its length and two checksums, one of them of the length. What is not whole at the end of
//! the file was never relied on: what counts is synced before anybody hears of it. What is not whole before that is
//! damage. At every start, and when the file has grown too much, it is written anew, beside the old one, and takes its
//! place.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use quorate_core::process::{Stable, keep};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::frame::Directory;

/// A file is written anew when it is so long, and four times as long as it was when it was new.
const LONG: u64 = 1 << 20;
/// A record begins with its length and the checksums of that and of its content.
const HEAD: usize = 12;
const FILE: &str = "state";
const LOCK: &str = "lock";

/// Returns whether this is the data directory of a node that was started before.
pub fn has_data(directory: &Path) -> bool {
    directory.join(FILE).exists()
}

/// A data directory cannot be used.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A file cannot be read or written.
    #[error("cannot read or write {}: {error}", path.display())]
    System {
        /// The state file in the directory.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// Another process uses the directory.
    #[error("{} is in use by another process: every node needs a data directory of its own", .0.display())]
    InUse(PathBuf),
    /// The directory belongs to another node, or to a node with another cluster name, algorithm or option.
    #[error(
        "{} belongs to {theirs}, but this is {ours}: give every node a data directory of its own; to start the group \
         anew with other settings, delete the data directories of all its nodes",
        path.display()
    )]
    NotOurs {
        /// The state file in the directory.
        path: PathBuf,
        /// The node that the directory belongs to.
        theirs: String,
        /// The node that was started.
        ours: String,
    },
    /// The node stopped by itself before, because it does not have its latest state.
    #[error("{}: {why}", path.display())]
    Disowned {
        /// The state file in the directory.
        path: PathBuf,
        /// Why the node stopped, and what to do.
        why: String,
    },
    /// The state file is damaged, and not only in its last record.
    #[error(
        "{} is damaged at byte {at}: move the file away, and start the node once with `Config::forgotten`",
        path.display()
    )]
    Damaged {
        /// The state file in the directory.
        path: PathBuf,
        /// The position of the damage, in bytes.
        at: usize,
    },
}

#[derive(Serialize, Deserialize)]
enum Record<S> {
    Owner(String),
    Life(u64),
    Saved(S),
    Directory(Directory),
    /// Nobody may begin another life with what is here, unless he knows that it is not all.
    Disowned(String),
}

/// What a process keeps.
pub(crate) struct Store<S> {
    directory: PathBuf,
    owner: String,
    identity: Directory,
    life: u64,
    file: File,
    kept: Option<S>,
    /// What is not in the file yet.
    unsynced: Option<S>,
    length: u64,
    length_when_new: u64,
    _lock: File,
}

impl<S: Stable> Store<S> {
    /// Begins another life in this directory, which is made if there is none. It is a later one than `after`, if the
    /// directory takes the place of another.
    pub(crate) fn open(directory: &Path, owner: &str, after: u64) -> Result<Store<S>, StoreError> {
        let path = directory.join(FILE);
        let system = |error| StoreError::System { path: path.clone(), error };
        fs::create_dir_all(directory).map_err(system)?;
        // The directory itself has to be there after a crash, too.
        if let Some(parent) = directory.canonicalize().map_err(system)?.parent() {
            File::open(parent).and_then(|parent| parent.sync_all()).map_err(system)?;
        }
        let lock = OpenOptions::new().create(true).append(true).open(directory.join(LOCK)).map_err(system)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StoreError::InUse(directory.into())),
            Err(TryLockError::Error(error)) => return Err(system(error)),
        }
        let before = match fs::read(&path) {
            Ok(bytes) => read::<S>(&bytes).map_err(|at| StoreError::Damaged { path: path.clone(), at })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Before::default(),
            Err(error) => return Err(system(error)),
        };
        if let Some(theirs) = before.owner
            && theirs != owner
        {
            return Err(StoreError::NotOurs { path, theirs, ours: owner.into() });
        }
        if let Some(why) = before.disowned.filter(|_| after == 0) {
            return Err(StoreError::Disowned { path, why });
        }
        let life = before.life.max(after) + 1;
        let identity = match before.directory {
            Some(identity) if after == 0 => identity,
            _ => {
                let mut number = [0; 16];
                getrandom::fill(&mut number).map_err(|error| system(io::Error::other(error)))?;
                Directory { number: u128::from_ne_bytes(number), is_in_place_of_another: after > 0 }
            }
        };
        let (file, length) = write(directory, owner, identity, life, before.kept.as_ref()).map_err(system)?;
        Ok(Store {
            directory: directory.into(),
            owner: owner.into(),
            identity,
            life,
            file,
            kept: before.kept,
            unsynced: None,
            length,
            length_when_new: length,
            _lock: lock,
        })
    }

    /// Which life this is: 1 at first.
    pub(crate) fn life(&self) -> u64 {
        self.life
    }

    /// Which directory it is.
    pub(crate) fn identity(&self) -> Directory {
        self.identity
    }

    /// What former lives have saved.
    pub(crate) fn kept(&self) -> Option<S> {
        self.kept.clone()
    }

    /// Adds something, which is safe after the next [sync](Store::sync).
    pub(crate) fn save(&mut self, saved: S) {
        keep(&mut self.unsynced, saved.clone());
        keep(&mut self.kept, saved);
    }

    /// From now on nothing can be written, as on a disk that is full.
    #[cfg(test)]
    pub(crate) fn fill_disk(&mut self) {
        self.file = File::open(self.directory.join(FILE)).expect("it is there");
    }

    /// Whether something is not safe yet.
    pub(crate) fn is_dirty(&self) -> bool {
        self.unsynced.is_some()
    }

    /// Makes everything safe. Takes as long as the disk does.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        let Some(unsynced) = self.unsynced.take() else { return Ok(()) };
        self.add(&Record::Saved(unsynced))?;
        if self.length > LONG && self.length > 4 * self.length_when_new {
            let (file, length) = write(&self.directory, &self.owner, self.identity, self.life, self.kept.as_ref())?;
            (self.file, self.length, self.length_when_new) = (file, length, length);
        }
        Ok(())
    }

    /// What is here is not all that the node has promised, as others say: this is its last life, unless whoever starts
    /// it knows that. Takes as long as the disk does.
    pub(crate) fn disown(&mut self, why: String) -> io::Result<()> {
        self.add(&Record::Disowned(why))
    }

    fn add(&mut self, record: &Record<S>) -> io::Result<()> {
        let mut bytes = Vec::new();
        append(&mut bytes, record)?;
        self.file.write_all(&bytes)?;
        self.file.sync_data()?;
        self.length += bytes.len() as u64;
        Ok(())
    }
}

struct Before<S> {
    owner: Option<String>,
    directory: Option<Directory>,
    disowned: Option<String>,
    life: u64,
    kept: Option<S>,
}

impl<S> Default for Before<S> {
    fn default() -> Before<S> {
        Before { owner: None, directory: None, disowned: None, life: 0, kept: None }
    }
}

/// What is in a file; or where it is damaged. What is not whole at its end has never counted.
fn read<S: Stable>(bytes: &[u8]) -> Result<Before<S>, usize> {
    let mut before = Before::default();
    let mut at = 0;
    // A file that grew before its content was written ends with zeros.
    while !bytes[at..].iter().all(|&byte| byte == 0) {
        let Some((head, rest)) = bytes[at..].split_first_chunk::<HEAD>() else { break };
        let [length, of_length, of_content] =
            [0, 4, 8].map(|at| u32::from_be_bytes([0, 1, 2, 3].map(|i| head[at + i])));
        if crc32fast::hash(&length.to_be_bytes()) != of_length {
            // It may end in a block that was not written, too.
            if rest.iter().all(|&byte| byte == 0) {
                break;
            }
            return Err(at);
        }
        let Some((content, after)) = rest.split_at_checked(length as usize) else { break };
        if crc32fast::hash(content) != of_content {
            if after.iter().all(|&byte| byte == 0) {
                break;
            }
            return Err(at);
        }
        match postcard::from_bytes::<Record<S>>(content).map_err(|_| at)? {
            Record::Owner(owner) => before.owner = Some(owner),
            Record::Life(life) => before.life = life,
            Record::Saved(saved) => keep(&mut before.kept, saved),
            Record::Directory(directory) => before.directory = Some(directory),
            Record::Disowned(why) => before.disowned = Some(why),
        }
        at += HEAD + content.len();
    }
    // It was written whole before it took its place: without an owner it is not one of ours.
    if before.owner.is_none() || before.life == 0 { Err(at) } else { Ok(before) }
}

fn append<S: Serialize>(buffer: &mut Vec<u8>, record: &Record<S>) -> io::Result<()> {
    let content = postcard::to_allocvec(record).map_err(io::Error::other)?;
    let length = u32::try_from(content.len()).map_err(io::Error::other)?.to_be_bytes();
    buffer.extend(length);
    buffer.extend(crc32fast::hash(&length).to_be_bytes());
    buffer.extend(crc32fast::hash(&content).to_be_bytes());
    buffer.extend(content);
    Ok(())
}

/// Writes the file anew, beside the one that is there, and lets it take its place.
fn write<S: Stable>(
    directory: &Path,
    owner: &str,
    identity: Directory,
    life: u64,
    kept: Option<&S>,
) -> io::Result<(File, u64)> {
    let mut bytes = Vec::new();
    append::<S>(&mut bytes, &Record::Owner(owner.into()))?;
    append::<S>(&mut bytes, &Record::Directory(identity))?;
    append::<S>(&mut bytes, &Record::Life(life))?;
    if let Some(kept) = kept {
        append(&mut bytes, &Record::Saved(kept))?;
    }
    let beside = directory.join("state.new");
    let mut file = File::create(&beside)?;
    file.write_all(&bytes)?;
    file.sync_all()?;
    fs::rename(&beside, directory.join(FILE))?;
    File::open(directory)?.sync_all()?;
    Ok((file, bytes.len() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_core::clock::Number;

    type Numbers = Store<Number>;

    fn number(number: u64) -> Number {
        number.try_into().unwrap()
    }

    /// A directory that is removed when the test is over.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let path = std::env::temp_dir().join(format!("quorate-store-{name}-{}", std::process::id()));
            _ = fs::remove_dir_all(&path);
            Scratch(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_was_synced_is_there_in_the_next_life() {
        let scratch = Scratch::new("lives");
        let mut first = Numbers::open(&scratch.0, "node 1", 0).unwrap();
        assert_eq!((first.life(), first.kept()), (1, None));
        first.save(number(7));
        first.save(number(8));
        assert!(first.is_dirty());
        first.sync().unwrap();
        first.save(number(9));
        drop(first);
        let second = Numbers::open(&scratch.0, "node 1", 0).unwrap();
        assert_eq!((second.life(), second.kept()), (2, Some(number(8))));
    }

    #[test]
    fn a_directory_is_the_same_in_every_life_unless_it_takes_the_place_of_another() {
        let scratch = Scratch::new("identity");
        let open = |after| Numbers::open(&scratch.0, "node 1", after).unwrap().identity();
        let first = open(0);
        assert!(!first.is_in_place_of_another);
        assert_eq!(open(0), first);
        let second = open(7);
        assert!(second.is_in_place_of_another && second.number != first.number);
        assert_eq!(open(0), second);
        fs::remove_dir_all(&scratch.0).unwrap();
        assert_ne!(open(0).number, second.number);
    }

    #[test]
    fn what_is_not_all_begins_no_other_life_unless_somebody_knows_that() {
        let scratch = Scratch::new("disowned");
        let open = |after| Numbers::open(&scratch.0, "node 1", after);
        let mut store = open(0).unwrap();
        store.save(number(7));
        store.sync().unwrap();
        store.disown("others know better".into()).unwrap();
        drop(store);
        for _ in 0..2 {
            let refused = open(0).err().expect("it was disowned").to_string();
            assert!(refused.ends_with("state: others know better"), "{refused}");
        }
        let store = open(100).unwrap();
        assert_eq!((store.life(), store.kept()), (101, Some(number(7))), "what is there still counts");
        drop(store);
        assert_eq!(open(0).unwrap().life(), 102);
    }

    #[test]
    fn a_torn_end_is_forgotten_and_damage_before_it_is_not() {
        let scratch = Scratch::new("torn");
        let mut first = Numbers::open(&scratch.0, "node 1", 0).unwrap();
        first.save(number(7));
        first.sync().unwrap();
        let whole = fs::read(scratch.0.join(FILE)).unwrap();
        first.save(number(300));
        first.sync().unwrap();
        drop(first);
        let longer = fs::read(scratch.0.join(FILE)).unwrap();
        for length in whole.len()..longer.len() {
            fs::write(scratch.0.join(FILE), &longer[..length]).unwrap();
            assert_eq!(Numbers::open(&scratch.0, "node 1", 0).unwrap().kept(), Some(number(7)), "{length}");
            // The file had grown before, and its next block was not written.
            let mut grown = longer[..length].to_vec();
            grown.resize(longer.len() + 100, 0);
            fs::write(scratch.0.join(FILE), &grown).unwrap();
            assert_eq!(Numbers::open(&scratch.0, "node 1", 0).unwrap().kept(), Some(number(7)), "{length}, zeros");
        }
        for at in 0..whole.len() {
            let mut damaged = longer.clone();
            damaged[at] ^= 1;
            fs::write(scratch.0.join(FILE), &damaged).unwrap();
            let opened = Numbers::open(&scratch.0, "node 1", 0);
            assert!(matches!(opened, Err(StoreError::Damaged { .. })), "{at}");
        }
    }

    #[test]
    fn a_directory_that_was_lost_begins_with_a_later_life() {
        let scratch = Scratch::new("lost");
        assert_eq!(Numbers::open(&scratch.0, "node 1", 41).unwrap().life(), 42);
        assert_eq!(Numbers::open(&scratch.0, "node 1", 41).unwrap().life(), 43);
    }

    #[test]
    fn a_directory_has_one_owner_and_one_user() {
        let scratch = Scratch::new("owner");
        let first = Numbers::open(&scratch.0, "node 1", 0).unwrap();
        let Err(error) = Numbers::open(&scratch.0, "node 1", 0) else { panic!("it is in use") };
        assert!(error.to_string().contains("is in use by another process"), "{error}");
        drop(first);
        let Err(error) = Numbers::open(&scratch.0, "node 2", 0) else { panic!("it is not ours") };
        assert!(error.to_string().contains("belongs to node 1, but this is node 2"), "{error}");
    }

    #[test]
    fn a_file_does_not_grow_for_ever() {
        let scratch = Scratch::new("long");
        let mut store = Numbers::open(&scratch.0, "node 1", 0).unwrap();
        for count in 0..200_000 {
            store.save(number(count));
            if count % 1000 == 0 {
                store.sync().unwrap();
            }
        }
        store.sync().unwrap();
        let length = fs::metadata(scratch.0.join(FILE)).unwrap().len();
        assert!(length < 2 * LONG, "{length}");
        drop(store);
        assert_eq!(Numbers::open(&scratch.0, "node 1", 0).unwrap().kept(), Some(number(199_999)));
    }
}
