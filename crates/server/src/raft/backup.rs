//! Restores a backup: a fresh data directory for one node that begins a new cluster with the old state.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use thiserror::Error;

use super::log::Log;
use super::sealed::{self, Damage};
use super::state::State;
use super::status::SyncTimes;
use super::types::{Member, Membership, Vote};
use super::{LOG, SNAPSHOT, StartError, identity};
use crate::engine::NodeId;
use crate::machine::{Command, Moment, Refusal, Response};

/// Why a backup was not restored.
#[derive(Debug, Error)]
pub enum RestoreError {
    /// It is no backup, or a damaged one.
    #[error("the backup cannot be used: {0}; nothing was written")]
    Damaged(Damage),
    /// There is something there already.
    #[error("{} is not empty: restore into a new directory; nothing was written", .0.display())]
    NotEmpty(PathBuf),
    /// It was restored too often.
    #[error("the backup cannot be used: {0}; nothing was written")]
    Refused(Refusal),
    /// The disk does not work.
    #[error("the disk cannot be used: {0}; empty the directory before trying again")]
    Disk(#[from] io::Error),
    /// The new log cannot be made.
    #[error("{0}; empty the directory before trying again")]
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
