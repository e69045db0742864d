//! Three ways to keep a log: our own, raft-log, and redb. Each makes records of 200 bytes durable, for one writer and
//! for 64 who share syncs: what arrives while one sync lasts goes into the next.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use quorate_server::raft::OwnLog;
use raft_log::api::raft_log_writer::RaftLogWriter;

const LASTS: Duration = Duration::from_secs(3);
const RECORD: usize = 200;

/// Something that makes records durable.
trait Store {
    /// Returns when these records are on disk.
    fn write(&mut self, first: u64, count: u64);
}

/// What raft-log works with here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Plain;

impl raft_log::Types for Plain {
    type LogId = (u64, u64);
    type LogPayload = Vec<u8>;
    type Vote = (u64, u64);
    type Callback = SyncSender<Result<(), std::io::Error>>;
    type UserData = ();

    fn log_index(id: &(u64, u64)) -> u64 {
        id.1
    }

    fn payload_size(payload: &Vec<u8>) -> u64 {
        payload.len() as u64
    }
}

struct RaftLog(raft_log::RaftLog<Plain>);

impl RaftLog {
    fn open(directory: &Path) -> RaftLog {
        std::fs::create_dir_all(directory).expect("a directory can be made");
        let mut config = raft_log::Config::new(directory.display());
        config.wal.flush_batch_wait = Some(Duration::ZERO);
        config.log_cache_capacity = Some(32 << 20);
        config.wal.chunk_max_size = Some(16 << 20);
        RaftLog(raft_log::RaftLog::open(config.into()).expect("an empty directory"))
    }
}

impl Store for RaftLog {
    fn write(&mut self, first: u64, count: u64) {
        let (sender, synced) = sync_channel(1);
        self.0.append((first..first + count).map(|index| ((1, index), vec![7; RECORD]))).expect("records in order");
        self.0.flush(true, Some(sender)).expect("the log is open");
        synced.recv().expect("it answers").expect("the disk works");
    }
}

impl Store for OwnLog {
    fn write(&mut self, first: u64, count: u64) {
        OwnLog::write(self, first, (0..count).map(|_| vec![7; RECORD])).expect("the disk works");
    }
}

const TABLE: redb::TableDefinition<'_, u64, &[u8]> = redb::TableDefinition::new("log");

struct Redb(redb::Database);

impl Store for Redb {
    fn write(&mut self, first: u64, count: u64) {
        let transaction = self.0.begin_write().expect("nobody else writes");
        {
            let mut table = transaction.open_table(TABLE).expect("a table");
            for index in first..first + count {
                table.insert(index, &[7; RECORD][..]).expect("a record");
            }
        }
        transaction.commit().expect("the disk works");
    }
}

/// Writes what arrives, all that waits at once.
fn keep(mut store: impl Store, requests: &Receiver<Sender<()>>) {
    let mut next = 1;
    while let Ok(first) = requests.recv() {
        let mut waiting = vec![first];
        waiting.extend(requests.try_iter());
        store.write(next, waiting.len() as u64);
        next += waiting.len() as u64;
        for writer in waiting {
            // Who has stopped needs no answer.
            let _ = writer.send(());
        }
    }
}

fn measure(name: &str, store: impl Store + Send, writers: usize) {
    let (requests, incoming) = channel::<Sender<()>>();
    let begun = Instant::now();
    let mut took: Vec<Duration> = std::thread::scope(|scope| {
        scope.spawn(move || keep(store, &incoming));
        let write = |requests: Sender<Sender<()>>| {
            let (done, is_done) = channel();
            let mut took = Vec::new();
            while begun.elapsed() < LASTS {
                let at = Instant::now();
                requests.send(done.clone()).expect("the keeper runs");
                is_done.recv().expect("the keeper answers");
                took.push(at.elapsed());
            }
            took
        };
        let writers: Vec<_> = (0..writers).map(|_| requests.clone()).map(|r| scope.spawn(move || write(r))).collect();
        drop(requests);
        writers.into_iter().flat_map(|writer| writer.join().expect("no writer panics")).collect()
    });
    took.sort();
    println!(
        "{name:8} {writers:2} writers: {:7.0} records/s, median {:5} us, 99% {:5} us",
        took.len() as f64 / begun.elapsed().as_secs_f64(),
        took[took.len() / 2].as_micros(),
        took[took.len() * 99 / 100].as_micros(),
    );
}

fn main() {
    let directory = std::env::temp_dir().join(format!("quorate-log-bench-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory can be made");
    for writers in [1, 64] {
        let own = directory.join(format!("own-{writers}"));
        std::fs::create_dir_all(&own).expect("a directory can be made");
        measure("own", OwnLog::open(&own).expect("an empty directory"), writers);
        measure("raft-log", RaftLog::open(&directory.join(format!("raft-log-{writers}"))), writers);
        let database = redb::Database::create(directory.join(format!("redb-{writers}"))).expect("a new file");
        measure("redb", Redb(database), writers);
    }
    std::fs::remove_dir_all(&directory).expect("the directory is ours");
}
