//! A log that grows over many files, that is read back, and that is torn and damaged in every way.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::time::Instant;

use proptest::prelude::*;
use tokio::sync::oneshot;

use super::super::status::SyncTimes;
use super::super::synced::Waiting;
use super::super::tests::TemporaryDirectory;
use super::frame::Tail;
use super::*;

fn id(index: u64) -> LogId {
    LogId::new(openraft::CommittedLeaderId::new(3, 1), index)
}

fn flush(wal: &Wal, writer: Writer) -> io::Result<()> {
    let (sender, mut receiver) = oneshot::channel();
    let synced = Synced { since: Instant::now(), times: Arc::new(SyncTimes::default()), whom: Waiting::Here(sender) };
    wal.flush(Some(synced), writer)?;
    loop {
        match receiver.try_recv() {
            Ok(result) => return result,
            Err(oneshot::error::TryRecvError::Empty) => std::thread::yield_now(),
            Err(oneshot::error::TryRecvError::Closed) => return Err(io::Error::other("nobody answered")),
        }
    }
}

fn payload(index: u64, length: usize) -> Bytes {
    vec![index as u8 | 1; length].into()
}

fn append(wal: &Wal, numbers: Range<u64>, length: usize) {
    wal.append(numbers.map(|index| (id(index), payload(index, length))).collect()).unwrap();
}

fn indices(wal: &Wal) -> Vec<u64> {
    wal.read(0..u64::MAX, usize::MAX).unwrap().into_iter().map(|(id, _)| id.index).collect()
}

fn open(directory: &TemporaryDirectory) -> (Wal, Option<(PathBuf, u64)>) {
    Wal::open(&directory.0).unwrap()
}

fn file_numbers(directory: &TemporaryDirectory) -> Vec<u64> {
    disk::files(&directory.0).unwrap().into_keys().collect()
}

#[test]
fn what_was_written_is_read_back() {
    let directory = TemporaryDirectory::new();
    let (wal, cut) = open(&directory);
    assert_eq!(cut, None);
    wal.vote(Vote::new(3, 1)).unwrap();
    append(&wal, 0..10, 50);
    wal.commit(id(4)).unwrap();
    wal.truncate(8).unwrap();
    append(&wal, 8..12, 70);
    wal.purge(id(1)).unwrap();
    flush(&wal, Writer::Here).unwrap();
    wal.close();
    assert!(wal.vote(Vote::new(4, 1)).is_err() && wal.read(0..9, 9).is_err());
    drop(wal);
    let (wal, cut) = open(&directory);
    assert_eq!(cut, None);
    let Begin { vote, committed, purged, last, .. } = wal.standing().unwrap();
    assert_eq!((vote, committed, purged, last), (Some(Vote::new(3, 1)), Some(id(4)), Some(id(1)), Some(id(11))));
    assert_eq!(indices(&wal), (2..12).collect::<Vec<_>>());
    let entries = wal.read(7..9, usize::MAX).unwrap();
    assert_eq!(entries, [(id(7), payload(7, 50)), (id(8), payload(8, 70))]);
    assert_eq!(wal.read(3..100, 120).unwrap().len(), 2, "at least one, and not many more bytes than asked for");
}

/// Entries of a megabyte fill files quickly; purged ones are deleted with their files, whoever writes.
#[test]
fn files_follow_each_other_and_are_deleted_from_the_front() {
    for writer in [Writer::Here, Writer::Thread] {
        let directory = TemporaryDirectory::new();
        let (wal, _) = open(&directory);
        wal.vote(Vote::new(3, 1)).unwrap();
        for from in (0..60).step_by(4) {
            append(&wal, from..from + 4, 1 << 20);
            flush(&wal, writer).unwrap();
        }
        assert_eq!(file_numbers(&directory), [1, 2, 3, 4]);
        assert_eq!(wal.read(0..60, usize::MAX).unwrap().len(), 60, "also those that are not in memory any more");
        wal.purge(id(40)).unwrap();
        flush(&wal, writer).unwrap();
        drop(wal);
        assert_eq!(file_numbers(&directory), [3, 4]);
        let (wal, cut) = open(&directory);
        assert_eq!((indices(&wal), cut), ((41..60).collect::<Vec<_>>(), None));
        assert_eq!(wal.standing().unwrap().vote, Some(Vote::new(3, 1)), "it stood in a file that is gone");
        wal.purge(id(59)).unwrap();
        flush(&wal, writer).unwrap();
        assert_eq!(wal.standing().unwrap().last, Some(id(59)));
        drop(wal);
        assert_eq!(file_numbers(&directory), [4]);
        // One that should have been deleted, and is back after a crash.
        std::fs::write(disk::path(&directory.0, 2), b"whatever").unwrap();
        drop(open(&directory));
        assert_eq!(file_numbers(&directory), [4]);
    }
}

#[test]
fn a_file_that_is_missing_is_missed() {
    let directory = TemporaryDirectory::new();
    let (wal, _) = open(&directory);
    append(&wal, 0..40, 1 << 20);
    flush(&wal, Writer::Here).unwrap();
    drop(wal);
    let (second, aside) = (disk::path(&directory.0, 2), directory.0.join("aside"));
    std::fs::rename(&second, &aside).unwrap();
    let error = Wal::open(&directory.0).map(drop).unwrap_err();
    assert!(error.to_string().contains("entries are missing"), "{error}");
    assert_eq!(file_numbers(&directory), [1, 3], "nothing is deleted from a log that is refused");
    std::fs::rename(&aside, &second).unwrap();
    assert_eq!(indices(&open(&directory).0), (0..40).collect::<Vec<_>>());
}

/// Nothing is changed, so that the release that wrote the log can still be started on it.
#[test]
fn a_log_of_another_format_is_refused_with_what_to_do() {
    let directory = TemporaryDirectory::new();
    let path = disk::path(&directory.0, 1);
    let begun = |format| {
        let mut bytes = Vec::new();
        frame::push(&mut bytes, 7, 7, &Record::Begin(Begin { format, ..Begin::default() })).unwrap();
        bytes
    };
    // The variant `Begin`, the version, and fields that only that version could decode.
    let with_other_layout = |format: u32| frame::with_body(7, &[0, format as u8, 0xff, 0xff, 0xff, 0x07]);
    let formats = [frame::FORMAT - 1, frame::FORMAT + 1];
    assert_eq!(frame::at(&with_other_layout(formats[1]), 0).unwrap().record(), None);
    let logs = formats.map(|format| [(format, begun(format)), (format, with_other_layout(format))]);
    for (found, mut bytes) in logs.into_iter().flatten() {
        bytes.resize(4096, 0);
        std::fs::write(&path, &bytes).unwrap();
        let times = Arc::new(SyncTimes::default());
        let error = crate::raft::log::Log::open(&directory.0, 1, times).map(drop).unwrap_err().to_string();
        assert!(error.contains(&format!("has format {found}, and this release reads and writes format")), "{error}");
        assert!(error.contains("Start the release that wrote it"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }
}

/// A file system that lacks an operation reports the same kind of error as a log of another format.
#[test]
fn unsupported_operation_is_not_reported_as_another_format() {
    let start_error = |error| crate::raft::log::start_error(Path::new("data"), error);
    let unsupported = start_error(io::ErrorKind::Unsupported.into());
    assert!(matches!(unsupported, crate::raft::StartError::Disk(_)), "{unsupported}");
    let other = start_error(io::Error::new(io::ErrorKind::Unsupported, frame::OtherFormat { found: 1 }));
    assert!(matches!(other, crate::raft::StartError::OtherFormat { .. }), "{other}");
}

/// A first file without a record is that of a node that died when it began; a later one has lost what it had.
#[test]
fn an_empty_log_is_a_new_one_only_if_it_never_was_longer() {
    let directory = TemporaryDirectory::new();
    std::fs::write(disk::path(&directory.0, 1), [0; 4096]).unwrap();
    let (wal, _) = open(&directory);
    assert_eq!(indices(&wal), [] as [u64; 0]);
    drop(wal);
    std::fs::remove_file(disk::path(&directory.0, 1)).unwrap();
    std::fs::write(disk::path(&directory.0, 7), [0; 4096]).unwrap();
    let error = Wal::open(&directory.0).map(drop).unwrap_err();
    assert!(error.to_string().contains("it is empty"), "{error}");
}

/// Many threads append and wait; each is told once, after its entry is on disk.
#[test]
fn whoever_waits_is_told_by_whoever_writes() {
    let directory = TemporaryDirectory::new();
    let (wal, _) = open(&directory);
    let (next, told) = (Mutex::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (wal, next, told) = (&wal, &next, &told);
            scope.spawn(move || {
                for round in 0..200 {
                    {
                        let mut next = next.lock().unwrap();
                        append(wal, *next..*next + 1, 100);
                        *next += 1;
                    }
                    let writer = if (thread + round) % 3 == 0 { Writer::Thread } else { Writer::Here };
                    flush(wal, writer).unwrap();
                    told.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(told.into_inner(), 800);
    drop(wal);
    assert_eq!(indices(&open(&directory).0), (0..800).collect::<Vec<_>>());
}

/// A directory whose log has three batches, its file, where the last batch begins, and where it ends.
fn three_batches(last_length: usize) -> (TemporaryDirectory, PathBuf, Vec<u8>, Range<usize>) {
    let directory = TemporaryDirectory::new();
    let (wal, _) = open(&directory);
    append(&wal, 0..3, 300);
    flush(&wal, Writer::Here).unwrap();
    append(&wal, 3..5, 300);
    flush(&wal, Writer::Here).unwrap();
    let from = lock(&wal.shared.state).offset as usize;
    append(&wal, 5..8, last_length);
    flush(&wal, Writer::Here).unwrap();
    let to = lock(&wal.shared.state).offset as usize;
    drop(wal);
    let path = disk::path(&directory.0, 1);
    let bytes = std::fs::read(&path).unwrap();
    (directory, path, bytes, from..to)
}

/// Any sectors of the last write may be missing: what is left of it is cut off, and everything before is kept.
#[test]
fn a_torn_write_is_cut_off_and_everything_before_is_kept() {
    let (directory, path, whole, last) = three_batches(700);
    let sectors: Vec<usize> = (last.start / 512..last.end.div_ceil(512)).collect();
    for lost in 1..1_u32 << sectors.len() {
        let mut torn = whole.clone();
        for (bit, sector) in sectors.iter().enumerate() {
            if lost >> bit & 1 == 1 {
                torn[(sector * 512).max(last.start)..((sector + 1) * 512).min(last.end)].fill(0);
            }
        }
        std::fs::write(&path, &torn).unwrap();
        let (wal, cut) = open(&directory);
        let found = indices(&wal);
        assert_eq!(found, (0..found.len() as u64).collect::<Vec<_>>());
        assert!((5..8).contains(&found.len()), "{lost:b}: {found:?}");
        // What is written now is not mixed up with what was left behind.
        append(&wal, found.len() as u64..9, 700);
        flush(&wal, Writer::Here).unwrap();
        drop(wal);
        let (wal, again) = open(&directory);
        assert_eq!((indices(&wal), again), ((0..9).collect::<Vec<_>>(), None), "{lost:b}: {cut:?}");
    }
}

/// A client may write what looks like frames of its own; of a write that is torn, they are not taken for later ones.
#[test]
fn a_torn_write_that_has_frames_in_it_is_cut_off() {
    let mut imitation = Vec::new();
    for number in 0..40 {
        frame::push(&mut imitation, number, number, &Record::Truncate(1)).unwrap();
    }
    for shift in 0..8 {
        let directory = TemporaryDirectory::new();
        let (wal, _) = open(&directory);
        append(&wal, 0..3, 300);
        flush(&wal, Writer::Here).unwrap();
        let from = lock(&wal.shared.state).offset as usize;
        wal.append(vec![(id(3), [vec![1; 500 + shift], imitation.clone()].concat().into())]).unwrap();
        flush(&wal, Writer::Here).unwrap();
        drop(wal);
        let path = disk::path(&directory.0, 1);
        let mut torn = std::fs::read(&path).unwrap();
        torn[from..from.next_multiple_of(512)].fill(0);
        std::fs::write(&path, &torn).unwrap();
        let (wal, cut) = open(&directory);
        assert_eq!((indices(&wal), cut), (vec![0, 1, 2], Some((path, from as u64))));
    }
}

/// What was acknowledged and is not what was written is never cut off, not even if it is the last.
#[test]
fn a_flipped_bit_is_refused_and_nothing_is_changed() {
    let (directory, path, whole, last) = three_batches(300);
    for at in 0..last.end {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (at % 8);
        // Zeros between frames say nothing.
        if frame_at_all(&damaged, last.end) {
            continue;
        }
        std::fs::write(&path, &damaged).unwrap();
        let error = Wal::open(&directory.0).map(drop).expect_err(&format!("byte {at}"));
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "byte {at}: {error}");
        assert_eq!(std::fs::read(&path).unwrap(), damaged, "nothing is cut off");
    }
}

fn frame_at_all(bytes: &[u8], end: usize) -> bool {
    let mut at = 0;
    while let Some(frame) = frame::at(bytes, at) {
        at += frame.length();
    }
    at == end
}

#[test]
fn a_disk_that_fails_is_told_to_whoever_waits_and_ends_the_log() {
    let directory = TemporaryDirectory::new();
    let (wal, _) = open(&directory);
    append(&wal, 0..1, 100);
    // The next file cannot be made, as there is a directory in its place.
    std::fs::create_dir(disk::path(&directory.0, 2)).unwrap();
    append(&wal, 1..20, 1 << 20);
    assert!(flush(&wal, Writer::Here).is_err());
    assert!(wal.append(vec![(id(20), payload(20, 1))]).is_err());
    assert!(flush(&wal, Writer::Thread).is_err());
}

#[test]
fn a_log_is_used_by_one_process_at_a_time_and_foreign_files_are_refused() {
    let directory = TemporaryDirectory::new();
    let (wal, _) = open(&directory);
    assert_eq!(Wal::open(&directory.0).map(drop).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    drop(wal);
    std::fs::rename(disk::path(&directory.0, 1), directory.0.join("r-00_000_000_000_000_000_000.wal")).unwrap();
    let error = Wal::open(&directory.0).map(drop).unwrap_err();
    assert!(error.to_string().contains("another release"), "{error}");
}

proptest! {
    /// Whatever stands behind the last frame, it is not taken for one.
    #[test]
    fn garbage_is_no_frame(bytes in prop::collection::vec(any::<u8>(), 0..600), place in 0usize..600) {
        prop_assert!(frame::at(&bytes, place).is_none());
        let tail = frame::tail(&bytes, place, Some(7));
        prop_assert!(tail != Tail::Clean || bytes.get(place..).is_none_or(frame::is_zero));
    }
}
