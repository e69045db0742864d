//! The trace of a node: what happens to its process, as lines of JSON ([`journal`](quorate_core::journal)).
//!
//! A thread of its own writes them, so that the node never waits for a disk. What that thread has no time for is
//! dropped and counted, and so is what does not fit on the disk: a line says how much is missing, where it is missing.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use quorate_core::id::Id;
use quorate_core::journal::{Entry, Happening, Header, Mark};
use quorate_core::process::Ticks;
use quorate_core::trace::What;
use serde::Serialize;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::warn;

use crate::config::ticks;

/// So many records wait for the disk at most.
const MOST_WAITING: usize = 1 << 16;
/// So many bytes are written at once, and kept if they cannot be.
const CHUNK: usize = 1 << 16;
/// When the node stops, it waits no longer for the disk.
const FAREWELL: Duration = Duration::from_secs(1);
/// A disk that was full is tried again after so long.
const AGAIN: Duration = Duration::from_millis(500);

/// Who tells the thread what to write.
pub(crate) struct Tracer {
    me: Id,
    since: Instant,
    /// When it recorded something last.
    last: Ticks,
    lines: SyncSender<Line>,
    /// What could not be told since the last that could.
    untold: u64,
    lost: Arc<AtomicU64>,
}

enum Line {
    Entry(Box<Entry>),
    Gap(u64),
    End(Ticks, oneshot::Sender<()>),
}

impl Tracer {
    /// Begins a trace, or adds to one.
    pub(crate) fn begin(path: &Path, header: &Header) -> io::Result<Tracer> {
        // As soon as the header was made, which has the same time by the machine's clock.
        let since = Instant::now();
        let writer = Writer::open(path, header)?;
        let (lines, told) = sync_channel(MOST_WAITING);
        let lost = Arc::clone(&writer.lost);
        std::thread::Builder::new().name("quorate-trace".into()).spawn(move || writer.run(&told))?;
        Ok(Tracer { me: header.process, since, last: 0, lines, untold: 0, lost })
    }

    /// What time it is, in the trace.
    pub(crate) fn now(&self) -> Ticks {
        ticks(self.since.elapsed())
    }

    /// Something happened at that time; or now, if it is an entry, of which the application hears only now.
    pub(crate) fn record(&mut self, at: Ticks, happening: Happening) {
        let at = if matches!(happening.what, What::Entered { .. }) { self.now() } else { at };
        // What comes after an entry in the same step does not come before it.
        let at = at.max(self.last);
        self.last = at;
        if self.tell_gap() && self.lines.try_send(Line::Entry(Box::new(Entry::new(at, self.me, happening)))).is_ok() {
            return;
        }
        self.untold += 1;
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    /// Tells of what could not be told, if there is any. Has it been told?
    fn tell_gap(&mut self) -> bool {
        if self.untold > 0 && self.lines.try_send(Line::Gap(self.untold)).is_ok() {
            self.untold = 0;
        }
        self.untold == 0
    }

    /// How many records are missing.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Writes the end, if that does not take long.
    pub(crate) async fn end(mut self) {
        let (done, is_done) = oneshot::channel();
        self.tell_gap();
        if self.lines.try_send(Line::End(self.now(), done)).is_ok() {
            // A trace without an end is one of a node that was killed.
            _ = timeout(FAREWELL, is_done).await;
        }
    }
}

/// The thread's own.
struct Writer {
    file: File,
    /// How long the file is, up to the last whole line, if it is one that can be cut.
    length: Option<u64>,
    /// How the trace begins, until that is written.
    beginning: Vec<u8>,
    /// Lines that are to be written, and how many records they are or stand for: gaps are not to be lost, either.
    buffer: Vec<u8>,
    records: u64,
    untold: u64,
    /// What could not be written since the last that could.
    unwritten: u64,
    lost: Arc<AtomicU64>,
}

impl Writer {
    fn open(path: &Path, header: &Header) -> io::Result<Writer> {
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        let is_file = file.metadata()?.is_file();
        // What two of them write would be torn; a pipe or a terminal belongs to whoever reads it.
        if is_file && matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            let why = "another node is writing its trace to this file: give every node a trace file of its own";
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, why));
        }
        // Nobody else adds to it any more.
        let length = if is_file { Some(file.metadata()?.len()) } else { None };
        let mut beginning = Vec::new();
        if length.is_some_and(|length| length > 0) {
            // A former life was killed while it wrote.
            let mut last = [0];
            let mut before = File::open(path)?;
            before.seek(SeekFrom::End(-1))?;
            before.read_exact(&mut last)?;
            if last != *b"\n" {
                beginning.push(b'\n');
            }
        }
        append(&mut beginning, &Mark::Header(header.clone()));
        let lost = Arc::new(AtomicU64::new(0));
        Ok(Writer { file, length, beginning, buffer: Vec::new(), records: 0, untold: 0, unwritten: 0, lost })
    }

    fn run(mut self, told: &Receiver<Line>) {
        self.flush();
        while let Ok(line) = told.recv() {
            let mut next = Ok(line);
            let mut ended = None;
            while let Ok(line) = next {
                ended = self.take(line);
                if ended.is_some() || self.buffer.len() >= CHUNK {
                    self.flush();
                }
                next = told.try_recv();
            }
            self.flush();
            if let Some(done) = ended {
                // The next life may write into it at once. Whoever waits for it may have gone.
                _ = self.file.unlock();
                _ = done.send(());
            }
            if next.is_err_and(|error| error == TryRecvError::Disconnected) {
                break;
            }
        }
    }

    /// Returns whom to tell when all is written, if this is the end.
    fn take(&mut self, line: Line) -> Option<oneshot::Sender<()>> {
        match line {
            Line::Entry(entry) => {
                append(&mut self.buffer, &*entry);
                self.records += 1;
                None
            }
            Line::Gap(lost) => {
                append(&mut self.buffer, &Mark::Gap { lost });
                self.untold += lost;
                None
            }
            Line::End(at, done) => {
                append(&mut self.buffer, &Mark::End { at });
                Some(done)
            }
        }
    }

    /// Writes what there is. If that is not possible, drops and counts it.
    fn flush(&mut self) {
        let mut bytes = self.beginning.clone();
        if self.unwritten > 0 {
            append(&mut bytes, &Mark::Gap { lost: self.unwritten });
        }
        bytes.append(&mut self.buffer);
        if bytes.is_empty() {
            return;
        }
        match self.file.write_all(&bytes) {
            Ok(()) => {
                self.length = self.length.map(|length| length + bytes.len() as u64);
                self.unwritten = 0;
                self.beginning.clear();
            }
            Err(error) => {
                if self.unwritten == 0 {
                    warn!(%error, "trace write failed");
                }
                if let Some(length) = self.length {
                    // Half a line is worse than none. If this fails too, the reader finds out.
                    _ = self.file.set_len(length);
                }
                self.unwritten += self.records + self.untold;
                self.lost.fetch_add(self.records, Ordering::Relaxed);
                std::thread::sleep(AGAIN);
            }
        }
        (self.records, self.untold) = (0, 0);
    }
}

/// Adds a line.
fn append(buffer: &mut Vec<u8>, line: &impl Serialize) {
    // What is in a record always has an encoding.
    if serde_json::to_writer(&mut *buffer, line).is_ok() {
        buffer.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_core::journal::{Moment, Past, VERSION};
    use std::fs;
    use std::path::PathBuf;

    fn header() -> Header {
        Header {
            version: VERSION,
            cluster: "test".into(),
            process: Id::new(1),
            incarnation: 1,
            forgotten: false,
            n: 3,
            algorithm: "lamport".into(),
            options: [].into(),
            election: "ring".into(),
            guard: true,
            delay: 1,
            beat: 2,
            tolerance: 3,
            started: 0,
        }
    }

    fn wanted(count: u64) -> Happening {
        let mut past = Past::new(3);
        past.set(Id::new(1), Moment(1, count));
        Happening { what: What::Wanted, resource: None, past, sender_life: None }
    }

    fn scratch(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("quorate-tracer-{name}-{}", std::process::id()))
    }

    #[tokio::test]
    async fn lives_are_added_to_a_file_also_after_a_torn_line() {
        let path = scratch("lives");
        _ = fs::remove_file(&path);
        let mut tracer = Tracer::begin(&path, &header()).unwrap();
        tracer.record(7, wanted(1));
        tracer.end().await;
        let first = fs::read_to_string(&path).unwrap();
        let lines: Vec<_> = first.lines().collect();
        assert_eq!(lines.len(), 3, "{first}");
        assert_eq!(lines[1], r#"{"at":7,"process":1,"event":"wanted","past":[[1,1],[0,0],[0,0]]}"#);
        assert_eq!(serde_json::from_str::<Mark>(lines[0]).unwrap(), Mark::Header(header()));
        fs::write(&path, &first[..first.len() - 4]).unwrap();
        Tracer::begin(&path, &header()).unwrap().end().await;
        let both = fs::read_to_string(&path).unwrap();
        assert!(both.starts_with(&first[..first.len() - 4]), "{both}");
        assert_eq!(both.lines().count(), 5, "{both}");
        fs::remove_file(&path).unwrap();
    }

    #[tokio::test]
    async fn a_full_disk_is_counted() {
        let mut tracer = Tracer::begin(Path::new("/dev/full"), &header()).unwrap();
        for count in 1..=10 {
            tracer.record(count, wanted(count));
        }
        let lost = Arc::clone(&tracer.lost);
        tracer.end().await;
        for _ in 0..100 {
            if lost.load(Ordering::Relaxed) < 10 {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        assert_eq!(lost.load(Ordering::Relaxed), 10);
    }

    #[test]
    fn a_gap_that_cannot_be_written_is_not_lost() {
        let mut writer = Writer::open(Path::new("/dev/full"), &header()).unwrap();
        writer.take(Line::Gap(5));
        writer.flush();
        writer.take(Line::Entry(Box::new(Entry::new(7, Id::new(1), wanted(1)))));
        writer.flush();
        assert_eq!((writer.unwritten, writer.lost.load(Ordering::Relaxed)), (6, 1), "five were counted before");
    }

    #[tokio::test]
    async fn time_does_not_run_backwards() {
        let path = scratch("time");
        _ = fs::remove_file(&path);
        let mut tracer = Tracer::begin(&path, &header()).unwrap();
        tracer.record(9, wanted(1));
        tracer.record(7, wanted(2));
        tracer.end().await;
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.matches("{\"at\":9,").count(), 2, "{text}");
        fs::remove_file(&path).unwrap();
    }

    /// The disk takes nothing for a while: what there is no room for is missing, and it is said how much.
    #[tokio::test]
    async fn a_slow_disk_leaves_a_gap_and_stalls_nobody() {
        let path = scratch("slow");
        _ = fs::remove_file(&path);
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let reading = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let mut tracer = Tracer::begin(&path, &header()).unwrap();
        let many = 3 * MOST_WAITING as u64;
        for count in 1..=many {
            tracer.record(count, wanted(count));
        }
        let lost = tracer.lost();
        assert!(lost > 0, "there is room for {MOST_WAITING} and a pipe");
        let reader = std::thread::spawn(move || {
            let lines = io::BufRead::lines(io::BufReader::new(reading)).map(Result::unwrap);
            let (mut records, mut gaps) = (0, 0);
            for line in lines {
                match serde_json::from_str::<Mark>(&line) {
                    Ok(Mark::Gap { lost }) => gaps += lost,
                    Ok(Mark::End { .. }) => break,
                    Ok(Mark::Header(_)) => {}
                    Err(_) => records += 1,
                }
            }
            (records, gaps)
        });
        while tracer.untold > 0 && !tracer.tell_gap() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        while tracer.lines.try_send(Line::Gap(0)).is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        tracer.end().await;
        assert_eq!(reader.join().unwrap(), (many - lost, lost));
        fs::remove_file(&path).unwrap();
    }
}
