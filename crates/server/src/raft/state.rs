//! The machine under openraft: entries of the log become commands, and snapshots become files.
//!
//! The number of a command counts commands, not entries: an entry has many, and some have none. So the count is part of
//! the state, and of every snapshot.

use std::collections::BTreeMap;
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Instant;

use openraft::storage::{RaftStateMachine, Snapshot};
use openraft::{AnyError, EntryPayload, OptionalSend, RaftSnapshotBuilder};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::ahead::Ahead;
use super::sealed::{self, Damage, Kind};
use super::types::{Batch, Entry, LogId, Membership, RandomId, SnapshotMeta, StorageError};
use super::types::{MalformedBatch, StorageIOError, Types};
use super::{SNAPSHOT, StartError};
use crate::engine::{Applied, Listener, NodeId};
use crate::machine::{Machine, Moment};

const KIND: Kind = *b"quorateS";
/// The version of snapshots and backups.
pub(super) const VERSION: u32 = 1;

/// Everything that follows from the log up to an entry.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) applied: Option<LogId>,
    pub(super) membership: Membership,
    /// How many commands were applied.
    pub(super) commands: u64,
    /// Every member there ever was, and its data: a number is never used again with other data.
    pub(super) known: BTreeMap<NodeId, RandomId>,
    pub(super) machine: Machine,
}

impl State {
    /// As a snapshot or a backup.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let body = postcard::to_allocvec(self).expect("a state can be written down");
        sealed::seal(KIND, VERSION, &body)
    }

    /// From a snapshot or a backup.
    pub(super) fn from_bytes(bytes: &[u8]) -> Result<State, Damage> {
        let body = sealed::open(KIND, VERSION, bytes)?;
        let state: State = postcard::from_bytes(body).map_err(|_| Damage::Contents)?;
        // A member that sends nonsense must not be able to stop a node by it.
        if state.machine.is_sound(state.commands) { Ok(state) } else { Err(Damage::Contents) }
    }

    /// From the snapshot of a data directory, if there is one; otherwise the state in which everything begins.
    pub(super) fn load(path: &Path) -> Result<State, StartError> {
        match std::fs::read(path) {
            Ok(bytes) => {
                State::from_bytes(&bytes).map_err(|damage| StartError::DamagedFile { path: path.into(), damage })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(State::default()),
            Err(error) => Err(error.into()),
        }
    }

    fn meta(&self) -> SnapshotMeta {
        let snapshot_id = self.applied.map_or_else(String::new, |id| format!("{}-{}", id.leader_id, id.index));
        SnapshotMeta { last_log_id: self.applied, last_membership: self.membership.clone(), snapshot_id }
    }

    fn note_members(&mut self) {
        let members = self.membership.nodes().map(|(id, member)| (*id, member.data));
        self.known.extend(members.collect::<Vec<_>>());
    }

    pub(super) fn apply(&mut self, entry: Entry, listener: &dyn Listener) -> Result<Vec<Applied>, MalformedBatch> {
        self.applied = Some(entry.log_id);
        match entry.payload {
            EntryPayload::Blank => Ok(Vec::new()),
            EntryPayload::Membership(membership) => {
                self.membership = Membership::new(Some(entry.log_id), membership);
                self.note_members();
                Ok(Vec::new())
            }
            EntryPayload::Normal(batch) => self.apply_batch(&batch, listener),
        }
    }

    fn apply_batch(&mut self, batch: &Batch, listener: &dyn Listener) -> Result<Vec<Applied>, MalformedBatch> {
        let (at_ms, commands) = batch.read()?;
        let mut applied = Vec::with_capacity(commands.len());
        for command in commands {
            self.commands += 1;
            let moment = Moment { index: self.commands, at_ms };
            let (response, events) = self.machine.apply(moment, command);
            listener.applied(moment, &events);
            applied.push(Applied { moment, response });
        }
        Ok(applied)
    }
}

/// What all parts of a node share of the state.
pub(super) struct Shared {
    state: RwLock<State>,
    listener: Arc<dyn Listener>,
    /// The leader whose entries are being applied: its term, and which node it is.
    applied_leader: watch::Sender<(u64, NodeId)>,
    path: PathBuf,
    /// The last entry that the snapshot on disk covers. Held while one is written.
    saved: Mutex<Option<LogId>>,
}

impl Shared {
    /// Reads the snapshot, if there is one.
    pub(super) fn open(directory: &Path, listener: Arc<dyn Listener>) -> Result<Shared, StartError> {
        let path = directory.join(SNAPSHOT);
        let state = State::load(&path)?;
        listener.replaced(&state.machine, state.commands);
        let (applied_leader, _) = watch::channel(leader_of(state.applied));
        let saved = Mutex::new(state.applied);
        Ok(Shared { state: RwLock::new(state), listener, applied_leader, path, saved })
    }

    pub(super) fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.state.read().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        let result = change(&mut state);
        let leader = leader_of(state.applied);
        drop(state);
        self.applied_leader.send_if_modified(|before| std::mem::replace(before, leader) != leader);
        result
    }

    /// Tells when the first entry of another leader has been applied.
    pub(super) fn applied_leader(&self) -> watch::Receiver<(u64, NodeId)> {
        self.applied_leader.subscribe()
    }

    /// Puts a snapshot on disk, unless there is a newer one.
    fn save(&self, applied: Option<LogId>, bytes: &[u8]) -> io::Result<()> {
        let mut saved = super::lock(&self.saved);
        if applied >= *saved {
            sealed::replace(&self.path, bytes)?;
            *saved = applied;
        }
        Ok(())
    }
}

fn leader_of(applied: Option<LogId>) -> (u64, NodeId) {
    applied.map_or((0, 0), |id| (id.leader_id.term, id.leader_id.node_id))
}

/// The machine, as openraft sees it.
#[derive(Clone)]
pub(super) struct Store {
    pub(super) shared: Arc<Shared>,
    pub(super) ahead: Arc<Ahead>,
}

fn failed(error: &(impl std::error::Error + 'static)) -> StorageError {
    StorageIOError::write_snapshot(None, AnyError::new(error)).into()
}

/// Runs what waits for the disk where it may.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> Result<T, StorageError> {
    let done = tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)));
    done.map_err(|error| failed(&error))
}

/// Builds a snapshot of the state as it was when this was made.
pub(super) struct Builder {
    shared: Arc<Shared>,
    state: State,
}

impl RaftSnapshotBuilder<Types> for Builder {
    async fn build_snapshot(&mut self) -> Result<Snapshot<Types>, StorageError> {
        let (shared, state) = (self.shared.clone(), std::mem::take(&mut self.state));
        blocking(move || {
            let began = Instant::now();
            let bytes = state.to_bytes();
            shared.save(state.applied, &bytes)?;
            let (entry, took_ms) = (state.applied.map(|id| id.index), began.elapsed().as_millis() as u64);
            tracing::info!(entry, bytes = bytes.len(), took_ms, "snapshot written");
            Ok(Snapshot { meta: state.meta(), snapshot: Box::new(Cursor::new(bytes)) })
        })
        .await
    }
}

impl RaftStateMachine<Types> for Store {
    type SnapshotBuilder = Builder;

    async fn applied_state(&mut self) -> Result<(Option<LogId>, Membership), StorageError> {
        Ok(self.shared.look(|state| (state.applied, state.membership.clone())))
    }

    async fn apply<I>(&mut self, entries: I) -> Result<Vec<Vec<Applied>>, StorageError>
    where
        I: IntoIterator<Item = Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let entries: Vec<Entry> = entries.into_iter().collect();
        if let Some(last) = entries.last() {
            let on_disk = self.ahead.wait_for(last.log_id.index).await;
            on_disk.map_err(|error| StorageIOError::write_logs(AnyError::new(&error)))?;
        }
        let listener = &*self.shared.listener;
        let applied: Result<_, MalformedBatch> =
            self.shared.change(|state| entries.into_iter().map(|entry| state.apply(entry, listener)).collect());
        applied.map_err(|unreadable| {
            tracing::error!(error = %unreadable, "applying entries failed");
            StorageIOError::write_state_machine(AnyError::new(&unreadable)).into()
        })
    }

    async fn get_snapshot_builder(&mut self) -> Builder {
        Builder { shared: self.shared.clone(), state: self.shared.look(State::clone) }
    }

    async fn begin_receiving_snapshot(&mut self) -> Result<Box<Cursor<Vec<u8>>>, StorageError> {
        Ok(Box::default())
    }

    async fn install_snapshot(
        &mut self,
        meta: &SnapshotMeta,
        snapshot: Box<Cursor<Vec<u8>>>,
    ) -> Result<(), StorageError> {
        let (shared, bytes) = (self.shared.clone(), snapshot.into_inner());
        let mut state = State::from_bytes(&bytes).map_err(|damage| failed(&damage))?;
        // What openraft believes the snapshot to be is what counts.
        state.applied = meta.last_log_id;
        state.membership = meta.last_membership.clone();
        state.note_members();
        blocking(move || {
            shared.save(state.applied, &state.to_bytes())?;
            let (entry, commands) = (state.applied.map(|id| id.index), state.commands);
            tracing::info!(entry, commands, "snapshot installed");
            shared.change(|before| {
                *before = state;
                shared.listener.replaced(&before.machine, before.commands);
            });
            Ok(())
        })
        .await
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<Snapshot<Types>>, StorageError> {
        let shared = self.shared.clone();
        blocking(move || {
            let _held = super::lock(&shared.saved);
            let bytes = match std::fs::read(&shared.path) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            };
            let state = State::from_bytes(&bytes).map_err(io::Error::other)?;
            Ok(Some(Snapshot { meta: state.meta(), snapshot: Box::new(Cursor::new(bytes)) }))
        })
        .await
    }
}
