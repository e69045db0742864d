//! The storage under openraft's own tests, and a log that is damaged in various ways.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use openraft::storage::RaftLogStorage;
use openraft::testing::{StoreBuilder, Suite};

use super::log::Log;
use super::state::{Shared, Store};
use super::status::SyncTimes;
use super::types::{StorageError, Types};
use super::{Replica, Settings, StartError};
use crate::engine::{Engine, Unavailable};
use crate::machine::{Command, Response, SessionId};

/// A directory that is deleted in the end.
pub(super) struct TemporaryDirectory(pub(super) PathBuf);

impl TemporaryDirectory {
    pub(super) fn new() -> TemporaryDirectory {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name = format!("quorate-unit-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        TemporaryDirectory(path)
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Stores;

impl StoreBuilder<Types, Log, Store, TemporaryDirectory> for Stores {
    async fn build(&self) -> Result<(TemporaryDirectory, Log, Store), StorageError> {
        let directory = TemporaryDirectory::new();
        let log = Log::open(&directory.0.join("log"), 1, Arc::new(SyncTimes::default())).unwrap();
        let settings = Settings::new(1, &directory.0, "nowhere");
        let shared = Shared::open(&directory.0, settings.listener).unwrap();
        let store = Store { shared: Arc::new(shared), ahead: log.ahead() };
        Ok((directory, log, store))
    }
}

type OwnTests = Suite<Types, Log, Store, Stores, TemporaryDirectory>;

/// Runs openraft's own tests of a storage, each on a fresh one.
macro_rules! openrafts_own_tests {
    ($($name:ident)*) => {
        $(
            #[tokio::test]
            async fn $name() {
                let (_directory, log, store) = Stores.build().await.unwrap();
                OwnTests::$name(log, store).await.unwrap();
            }
        )*
    };
}

// All but `get_initial_state_membership_from_log_and_sm`, which appends entry 1 behind entry 2. No log has that, and
// ours refuses it.
openrafts_own_tests! {
    last_membership_in_log_initial
    last_membership_in_log
    last_membership_in_log_multi_step
    get_membership_initial
    get_membership_from_log_and_empty_sm
    get_membership_from_empty_log_and_sm
    get_membership_from_log_le_sm_last_applied
    get_membership_from_log_gt_sm_last_applied_1
    get_membership_from_log_gt_sm_last_applied_2
    get_initial_state_without_init
    get_initial_state_with_state
    get_initial_state_last_log_gt_sm
    get_initial_state_last_log_lt_sm
    get_initial_state_log_ids
    get_initial_state_re_apply_committed
    save_vote
    get_log_entries
    limited_get_log_entries
    try_get_log_entry
    initial_logs
    get_log_state
    get_log_id
    last_id_in_log
    last_applied_state
    purge_logs_upto_0
    purge_logs_upto_5
    purge_logs_upto_20
    delete_logs_since_11
    delete_logs_since_0
    append_to_log
    snapshot_meta
    apply_single
    apply_multiple
}

#[tokio::test]
async fn transfer_snapshot() {
    OwnTests::transfer_snapshot(&Stores).await.unwrap();
}

async fn alone(directory: &Path) -> Result<Replica, StartError> {
    let replica = Replica::start(Settings::new(1, directory, "nowhere").alone()).await?;
    replica.leadership().wait_for(|leadership| leadership.is_here).await.unwrap();
    Ok(replica)
}

fn open(session: u64) -> Command {
    let session = SessionId::new(session).unwrap();
    Command::Open { session, ttl_ms: 1000, label: "label".repeat(20), owner: String::new(), transient: false }
}

/// A node that was alone and has opened sessions 1 to 20.
async fn twenty_sessions() -> (TemporaryDirectory, u64) {
    let directory = TemporaryDirectory::new();
    let replica = alone(&directory.0).await.unwrap();
    for session in 1..=20 {
        let applied = replica.submit(open(session)).await.unwrap();
        assert_eq!((applied.response, applied.moment.index), (Response::Done, session));
    }
    let digest = replica.look(|machine| machine.digest());
    replica.shutdown(std::future::ready(())).await;
    (directory, digest)
}

fn the_log(directory: &TemporaryDirectory) -> PathBuf {
    let mut files: Vec<_> =
        std::fs::read_dir(directory.0.join("log")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "wal"));
    assert_eq!(files.len(), 1);
    files.remove(0)
}

#[tokio::test]
async fn a_restarted_node_has_everything_and_counts_on() {
    let (directory, digest) = twenty_sessions().await;
    let replica = alone(&directory.0).await.unwrap();
    let term = replica.status().term;
    replica.stop().await;
    let replica = alone(&directory.0).await.unwrap();
    assert_eq!(replica.look(|machine| machine.digest()), digest);
    assert_eq!(replica.submit(Command::Generation { at_least: 0 }).await.unwrap().moment.index, 21);
    assert_eq!(replica.status().commands, 21);
    assert!(replica.status().syncs.count > 0);
    assert!(replica.status().term > term, "it was elected again");
    replica.stop().await;
    assert_eq!(replica.submit(Command::Generation { at_least: 0 }).await, Err(Unavailable::Stopping));
}

#[tokio::test]
async fn a_torn_record_is_cut_off_and_everything_before_is_kept() {
    let (directory, digest) = twenty_sessions().await;
    let path = the_log(&directory);
    let mut torn = std::fs::read(&path).unwrap();
    // The end of an entry whose beginning has not arrived, as a crash leaves it.
    let end = torn.iter().rposition(|&byte| byte != 0).unwrap();
    torn[(end + 1).next_multiple_of(512) + 100] = 1;
    std::fs::write(&path, &torn).unwrap();
    let replica = alone(&directory.0).await.unwrap();
    assert_eq!(replica.look(|machine| machine.digest()), digest);
    replica.stop().await;
}

#[tokio::test]
async fn a_flipped_bit_anywhere_in_the_log_is_refused() {
    let (directory, _) = twenty_sessions().await;
    let path = the_log(&directory);
    let whole = std::fs::read(&path).unwrap();
    let end = whole.iter().rposition(|&byte| byte != 0).unwrap();
    // Zeros may be there to fill up a frame only.
    for at in (0..end).step_by(7).filter(|at| whole[*at] != 0) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (at % 8);
        std::fs::write(&path, &damaged).unwrap();
        let opened = Log::open(&directory.0.join("log"), 1, Arc::new(SyncTimes::default()));
        let error = opened.map(drop).unwrap_err();
        assert!(matches!(error, StartError::DamagedLog { .. }), "byte {at}: {error}");
        assert!(error.to_string().contains("under a new id"));
        assert_eq!(std::fs::read(&path).unwrap(), damaged, "nothing is cut off");
    }
}

#[tokio::test]
async fn a_directory_of_another_node_or_without_identity_is_refused() {
    let (directory, _) = twenty_sessions().await;
    let error = Replica::start(Settings::new(2, &directory.0, "nowhere")).await.map(drop).unwrap_err();
    assert!(error.to_string().contains("belongs to node 1, not to node 2"), "{error}");
    std::fs::remove_file(directory.0.join("identity")).unwrap();
    let error = alone(&directory.0).await.map(drop).unwrap_err();
    assert!(matches!(error, StartError::NoIdentity { .. }));
}

#[tokio::test]
async fn a_directory_is_used_by_one_node_at_a_time() {
    let directory = TemporaryDirectory::new();
    let replica = alone(&directory.0).await.unwrap();
    let error = alone(&directory.0).await.map(drop).unwrap_err();
    assert!(matches!(error, StartError::InUse { .. }), "{error}");
    replica.stop().await;
}

#[tokio::test]
async fn a_log_that_cannot_be_written_stops_the_node_and_acknowledges_nothing() {
    let directory = TemporaryDirectory::new();
    let replica = alone(&directory.0).await.unwrap();
    replica.submit(open(1)).await.unwrap();
    // To openraft this is a failed write.
    replica.0.log.close();
    assert_eq!(replica.submit(open(2)).await, Err(Unavailable::Unknown));
    assert_eq!(replica.submit(open(3)).await, Err(Unavailable::Stopping));
    assert_eq!(replica.confirm().await, Err(Unavailable::Stopping));
    let leadership = *replica.leadership().wait_for(|leadership| !leadership.is_here).await.unwrap();
    assert_eq!(leadership.leader, None);
    let mut log = Log::open(&directory.0.join("log"), 1, Arc::new(SyncTimes::default())).unwrap();
    assert!(log.get_log_state().await.unwrap().last_log_id.is_some());
}
