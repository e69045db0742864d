//! Backups: what is in one, how to make one of a node that does not run, and how to begin a cluster from one.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use thiserror::Error;

use super::log::Log;
use super::sealed::{self, Damage};
use super::settings::Nobody;
use super::state::State;
use super::status::SyncTimes;
use super::types::{Member, Membership, Vote};
use super::{LOG, SNAPSHOT, StartError, identity};
use crate::engine::NodeId;
use crate::machine::{Command, Moment, Refusal, Response};

/// What is in a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contents {
    /// How many commands made it what it is.
    pub commands: u64,
    /// How many sessions there are.
    pub sessions: u64,
    /// How many locks and elections somebody holds or awaits.
    pub locks: u64,
}

/// What is in a backup, if it is whole.
pub fn examine(backup: &[u8]) -> Result<Contents, Damage> {
    let State { commands, machine, applied, .. } = State::from_bytes(backup)?;
    if applied.is_none() {
        return Err(Damage::Contents);
    }
    Ok(Contents { commands, sessions: machine.sessions().len() as u64, locks: machine.names().len() as u64 })
}

/// Why no backup was made of a data directory.
#[derive(Debug, Error)]
pub enum SalvageError {
    /// Nothing is there.
    #[error(
        "{} is not the data directory of a node: name the directory that was passed to `quorate serve --data`",
        .0.display()
    )]
    NoData(PathBuf),
    /// There is a node that has never belonged to a cluster.
    #[error("the node in {} has never belonged to a cluster, so there is nothing to back up", .0.display())]
    Empty(PathBuf),
    /// It is damaged, or in use.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The disk does not work, or the log is not what was written.
    #[error("cannot read the log: {0}")]
    Disk(#[from] io::Error),
}

/// A backup of all that a node has on its disk which does not run: its snapshot and its whole log. The last entries may
/// be ones that this node does not know to be decided. Where the other members are lost, nobody knows any more; to take
/// them as decided loses the least. Nothing is changed but what a start would, too: a torn last record is cut off.
pub fn salvage(directory: &Path) -> Result<Vec<u8>, SalvageError> {
    let Some(node) = identity::owner(directory)? else { return Err(SalvageError::NoData(directory.into())) };
    let mut state = State::load(&directory.join(SNAPSHOT))?;
    if directory.join(LOG).is_dir() {
        let log = Log::open(&directory.join(LOG), node, Arc::new(SyncTimes::default()))?;
        let read = apply_all(&log, &mut state);
        log.close();
        read?;
    }
    if state.applied.is_none() {
        return Err(SalvageError::Empty(directory.into()));
    }
    Ok(state.to_bytes())
}

fn apply_all(log: &Log, state: &mut State) -> io::Result<()> {
    loop {
        let next = state.applied.map_or(0, |id| id.index + 1);
        let entries = log.read_on(next)?;
        if entries.is_empty() {
            return Ok(());
        }
        for (expected, entry) in (next..).zip(entries) {
            if entry.log_id.index != expected {
                return Err(io::Error::other(format!("entry {expected} is missing")));
            }
            state.apply(entry, &Nobody).map_err(io::Error::other)?;
        }
    }
}

/// Why a backup was not restored.
#[derive(Debug, Error)]
pub enum RestoreError {
    /// It is no backup, or a damaged one.
    #[error("cannot restore the backup: {0}; nothing was written")]
    Damaged(Damage),
    /// There is something there already.
    #[error("{} is not empty; nothing was written: restore into an empty directory", .0.display())]
    NotEmpty(PathBuf),
    /// It was restored too often.
    #[error("cannot restore the backup: {0}; nothing was written")]
    Refused(Refusal),
    /// The disk does not work.
    #[error("cannot write to the directory: {0}; empty it before you try again")]
    Disk(#[from] io::Error),
    /// The new log cannot be made.
    #[error("{0}; empty the directory before you try again")]
    Log(StartError),
}

/// Fills an empty directory from a backup, for a node that is alone at first. It begins a new cluster: nodes of the old
/// one are refused. All fences will be larger than those of the old cluster, even those that it gave after the backup.
///
/// The first fences after it are those of the next generation, or of the one given: who restores the same backup a
/// second time gives a larger one than that which the first time returned.
pub async fn restore(
    directory: &Path,
    node: NodeId,
    address: &str,
    backup: &[u8],
    generation: Option<u16>,
) -> Result<u16, RestoreError> {
    let mut state = State::from_bytes(backup).map_err(RestoreError::Damaged)?;
    let Some(last) = state.applied else { return Err(RestoreError::Damaged(Damage::Contents)) };
    std::fs::create_dir_all(directory)?;
    if std::fs::read_dir(directory)?.next().is_some() {
        return Err(RestoreError::NotEmpty(directory.into()));
    }
    begin_generation(&mut state, generation.unwrap_or(0))?;
    let identity = identity::create(directory, node)?;
    let member = Member { address: address.into(), data: identity.data };
    let alone = openraft::Membership::new(vec![BTreeSet::from([node])], BTreeMap::from([(node, member)]));
    state.membership = Membership::new(state.applied, alone);
    state.known = BTreeMap::from([(node, identity.data)]);
    // Entries are ordered by term: those to come must be later than those that the backup covers.
    let log = Log::open(&directory.join(LOG), node, Arc::new(SyncTimes::default())).map_err(RestoreError::Log)?;
    log.promise(Vote::new(last.leader_id.term, node)).await?;
    log.close();
    sealed::replace(&directory.join(SNAPSHOT), &state.to_bytes())?;
    Ok(state.machine.generation())
}

/// The first command after the backup raises the fences. It is applied here, so that none can come before it.
fn begin_generation(state: &mut State, at_least: u16) -> Result<(), RestoreError> {
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    state.commands += 1;
    let moment = Moment { index: state.commands, at_ms: u64::try_from(at.as_millis()).unwrap_or(u64::MAX) };
    match state.machine.apply(moment, Command::Generation { at_least }).0 {
        Response::Refused(refusal) => Err(RestoreError::Refused(refusal)),
        _ => Ok(()),
    }
}
