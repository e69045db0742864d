//! A write-ahead log: records that are on disk, in order, before anybody is told.
//!
//! Records are written in place, into files that were filled with zeros before, each batch by one write that returns
//! when it is on disk (`O_DSYNC`: what a write and an fdatasync would do). Whoever waits for a fast disk writes itself,
//! which saves two changes of threads; a slow one has a thread of its own.
//!
//! *Why not a library*: [docs/write-ahead-log.md](../../../../../docs/write-ahead-log.md) has the measurements.

mod disk;
pub(super) mod frame;
mod index;
#[cfg(feature = "hostile")]
pub(super) mod measured;
mod recover;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

use bytes::Bytes;

use self::disk::{Chunk, Disk};
use self::frame::{Begin, Record};
use self::index::{Index, Place, Slot};
use super::lock;
use super::synced::Synced;
use super::types::{LogId, Vote};

/// A file of the log is closed when it has grown to this; what a snapshot covers is deleted by whole files.
const FILE_BYTES: u64 = 16 << 20;
/// So much of the log is kept in memory for followers that are a little behind.
const CACHE_BYTES: usize = 32 << 20;
/// What stands around a payload in a file, at most.
const OVERHEAD: u64 = 128;

/// A log.
pub(super) struct Wal {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    directory: PathBuf,
    state: Mutex<State>,
    /// There is something for the thread to do.
    called: Condvar,
    /// Nothing, once the log is closed.
    disk: Mutex<Option<Disk>>,
}

struct State {
    index: Index,
    /// What is to be written next.
    pending: Pending,
    /// Where the next frame goes.
    file: u64,
    offset: u64,
    /// The number of the next record.
    number: u64,
    /// Everything before this place is on disk.
    written: (u64, u64),
    /// The thread has something to do.
    is_called: bool,
    /// Why nothing can be written any more.
    failure: Option<String>,
}

#[derive(Default)]
struct Pending {
    chunks: Vec<Chunk>,
    /// The number of its first record.
    batch: u64,
    waiting: Vec<Synced>,
    /// The files before this one are not needed once this is on disk.
    first_file: Option<u64>,
}

/// Who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writer {
    /// Whoever calls, if the disk is fast.
    Here,
    /// The thread.
    Thread,
}

impl Wal {
    /// Opens a log, or begins one. Says what was cut off, and where.
    pub(super) fn open(directory: &Path) -> io::Result<(Wal, Option<(PathBuf, u64)>)> {
        let recover::Recovered { index, disk, file, offset, number, cut } = recover::open(directory)?;
        let written = (file, offset);
        let pending = Pending::default();
        let state = State { index, pending, file, offset, number, written, is_called: false, failure: None };
        let shared = Arc::new(Shared {
            directory: directory.into(),
            state: Mutex::new(state),
            called: Condvar::new(),
            disk: Mutex::new(Some(disk)),
        });
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("log".into()).spawn(move || for_thread.work())?;
        Ok((Wal { shared, thread: Mutex::new(Some(thread)) }, cut))
    }

    /// Writes what is left, and ends. Whatever comes later fails.
    pub(super) fn close(&self) {
        let Some(thread) = lock(&self.thread).take() else { return };
        let mut disk = lock(&self.shared.disk);
        self.shared.drain(&mut disk);
        lock(&self.shared.state).failure.get_or_insert_with(closed);
        *disk = None;
        drop(disk);
        self.shared.called.notify_one();
        // If it has panicked, it has ended, too.
        let _ = thread.join();
    }

    /// What all records come to, but for the entries themselves.
    pub(super) fn standing(&self) -> io::Result<Begin> {
        Ok(self.shared.usable()?.index.begin())
    }

    /// Adds entries behind the last one.
    pub(super) fn append(&self, entries: Vec<(LogId, Bytes)>) -> io::Result<()> {
        let mut state = self.shared.usable()?;
        for (id, payload) in entries {
            state.write(&Record::Entry(id, &payload), Some(payload.clone()))?;
        }
        let written = state.written;
        state.index.keep(CACHE_BYTES, |place| (place.file, place.offset) < written);
        Ok(())
    }

    /// Says whom this node follows, or would.
    pub(super) fn vote(&self, vote: Vote) -> io::Result<()> {
        self.shared.usable()?.write(&Record::Vote(vote), None)
    }

    /// Says what is committed.
    pub(super) fn commit(&self, upto: LogId) -> io::Result<()> {
        self.shared.usable()?.write(&Record::Committed(upto), None)
    }

    /// Takes away the last entries, from this one on.
    pub(super) fn truncate(&self, from: u64) -> io::Result<()> {
        self.shared.usable()?.write(&Record::Truncate(from), None)
    }

    /// Takes away the first entries, up to this one. Their files are deleted when that is on disk.
    pub(super) fn purge(&self, upto: LogId) -> io::Result<()> {
        let mut state = self.shared.usable()?;
        state.write(&Record::Purge(upto), None)?;
        let first = state.index.first_file().unwrap_or(state.file);
        state.pending.first_file = Some(first);
        Ok(())
    }

    /// Has everything so far written, and tells when it is on disk.
    pub(super) fn flush(&self, synced: Option<Synced>, writer: Writer) -> io::Result<()> {
        let mut state = self.shared.usable()?;
        state.pending.waiting.extend(synced);
        if writer == Writer::Here
            && let Ok(mut disk) = self.shared.disk.try_lock()
            && disk.as_ref().is_some_and(Disk::is_fast)
        {
            drop(state);
            self.shared.drain(&mut disk);
            if !disk.as_ref().is_some_and(Disk::is_nearly_full) {
                return Ok(());
            }
            state = lock(&self.shared.state);
        }
        state.is_called = true;
        self.shared.called.notify_one();
        Ok(())
    }

    /// Some of the entries of these numbers: all there are, or at least one and not many more bytes than these.
    pub(super) fn read(&self, numbers: Range<u64>, most_bytes: usize) -> io::Result<Vec<(LogId, Bytes)>> {
        let state = self.shared.usable()?;
        let (mut entries, mut bytes, mut open) = (Vec::new(), 0, None);
        for slot in state.index.range(numbers) {
            let payload = match &slot.payload {
                Some(payload) => payload.clone(),
                None => self.shared.read(slot, &mut open)?,
            };
            if !entries.is_empty() && bytes + payload.len() > most_bytes {
                break;
            }
            bytes += payload.len();
            entries.push((slot.id, payload));
        }
        Ok(entries)
    }
}

fn closed() -> String {
    "the log is closed".into()
}

impl Drop for Wal {
    fn drop(&mut self) {
        self.close();
    }
}

impl State {
    fn write(&mut self, record: &Record<'_>, payload: Option<Bytes>) -> io::Result<()> {
        let length = payload.as_ref().map_or(0, |payload| payload.len() as u64) + OVERHEAD;
        if self.offset + length > FILE_BYTES && self.offset > OVERHEAD {
            (self.file, self.offset) = (self.file + 1, 0);
            let begin = Record::Begin(self.index.begin());
            self.push(&begin, None)?;
        }
        self.push(record, payload)
    }

    fn push(&mut self, record: &Record<'_>, payload: Option<Bytes>) -> io::Result<()> {
        if self.pending.chunks.is_empty() {
            self.pending.batch = self.number;
        }
        if self.pending.chunks.last().is_none_or(|chunk| chunk.file != self.file) {
            let (file, offset, bytes) = (self.file, self.offset, Vec::new());
            self.pending.chunks.push(Chunk { file, offset, bytes });
        }
        let chunk = self.pending.chunks.last_mut().expect("there is one now");
        let length = frame::push(&mut chunk.bytes, self.number, self.pending.batch, record);
        let length = length.ok_or_else(|| io::Error::other("entry too large"))?;
        let place = Place { file: self.file, offset: self.offset, length: length as u32 };
        self.number += 1;
        self.offset += length as u64;
        self.index.add(record, place, payload).map_err(io::Error::other)
    }
}

impl Shared {
    fn usable(&self) -> io::Result<std::sync::MutexGuard<'_, State>> {
        let state = lock(&self.state);
        match &state.failure {
            Some(failure) => Err(io::Error::other(failure.clone())),
            None => Ok(state),
        }
    }

    /// Writes what is pending, and what becomes pending meanwhile.
    fn drain(&self, disk: &mut Option<Disk>) {
        loop {
            let mut state = lock(&self.state);
            let Pending { chunks, waiting, first_file, .. } = std::mem::take(&mut state.pending);
            let (end, failure) = ((state.file, state.offset), state.failure.clone());
            drop(state);
            if chunks.is_empty() && waiting.is_empty() {
                return;
            }
            let written = match (failure, &mut *disk) {
                (Some(failure), _) => Err(failure),
                (None, None) => Err(closed()),
                (None, Some(disk)) => disk.write(&chunks).map_err(|error| error.to_string()),
            };
            let mut state = lock(&self.state);
            match &written {
                Ok(()) => state.written = end,
                Err(failure) => drop(state.failure.get_or_insert_with(|| failure.clone())),
            }
            drop(state);
            for synced in waiting {
                synced.send(written.clone().map_err(io::Error::other));
            }
            if let (Ok(()), Some(first), Some(disk)) = (written, first_file, &*disk)
                && let Err(error) = disk.delete_before(first)
            {
                tracing::warn!(%error, "deleting log file failed");
            }
        }
    }

    /// What the thread does, until the log is closed or fails.
    fn work(&self) {
        loop {
            let mut state = lock(&self.state);
            while !state.is_called && state.failure.is_none() {
                state = self.called.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
            }
            if !std::mem::take(&mut state.is_called) {
                return;
            }
            drop(state);
            let mut disk = lock(&self.disk);
            self.drain(&mut disk);
            if let Some(disk) = disk.as_mut().filter(|disk| disk.is_nearly_full()) {
                // If there is no room, the next write fails, and that is told.
                let _ = disk.make_room();
            }
        }
    }

    /// An entry that is not in memory any more.
    fn read(&self, slot: &Slot, open: &mut Option<(u64, File)>) -> io::Result<Bytes> {
        let Place { file, offset, length } = slot.place;
        if open.as_ref().is_none_or(|(number, _)| *number != file) {
            *open = Some((file, File::open(disk::path(&self.directory, file))?));
        }
        let mut bytes = vec![0; length as usize];
        if let Some((_, file)) = open {
            file.read_exact_at(&mut bytes, offset)?;
        }
        match frame::at(&bytes, 0).and_then(|frame| frame.record()) {
            Some(Record::Entry(id, payload)) if id == slot.id => Ok(Bytes::copy_from_slice(payload)),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, format!("entry {} is damaged", slot.id.index))),
        }
    }
}
