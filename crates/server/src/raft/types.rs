//! The types that openraft works with: what an entry of the log carries, and what the membership says of a member.

use std::fmt;
use std::io::Cursor;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::engine::{Applied, NodeId};
use crate::machine::Command;

openraft::declare_raft_types!(
    /// What openraft is told to work with.
    pub(crate) Types:
        D = Batch,
        R = Vec<Applied>,
        NodeId = NodeId,
        Node = Member,
        Entry = openraft::Entry<Types>,
        SnapshotData = Cursor<Vec<u8>>,
);

pub(super) type Raft = openraft::Raft<Types>;
pub(super) type LogId = openraft::LogId<NodeId>;
pub(super) type Vote = openraft::Vote<NodeId>;
pub(super) type Entry = openraft::Entry<Types>;
pub(super) type Membership = openraft::StoredMembership<NodeId, Member>;
pub(super) type SnapshotMeta = openraft::SnapshotMeta<NodeId, Member>;
pub(super) type StorageError = openraft::StorageError<NodeId>;
pub(super) type StorageIOError = openraft::StorageIOError<NodeId>;

/// A number drawn at random that tells clusters and data directories apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RandomId(u128);

impl RandomId {
    /// Draws one. The keys of a [`std::collections::HashMap`] come from the operating system's randomness.
    pub(super) fn draw() -> RandomId {
        use std::hash::{BuildHasher, RandomState};
        let half = |salt: u8| u128::from(RandomState::new().hash_one((salt, std::time::SystemTime::now())));
        RandomId(half(0) << 64 | half(1))
    }

    /// Half of it, for those who have no room for more.
    pub fn short(self) -> u64 {
        self.0 as u64
    }
}

impl fmt::Display for RandomId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// What the membership says of a member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Member {
    /// Where the others reach it.
    pub(super) address: String,
    /// Its data directory: one that comes back with another has forgotten what it promised.
    pub(super) data: RandomId,
}

/// Commands that are written, synced and replicated together, as bytes: they are encoded once, by who submits them,
/// and decoded once per node, when they are applied.
///
/// One byte says the version, then postcard: when the batch was made, and the commands.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Batch(Bytes);

/// The newest version of batches that this program reads and writes. A batch has the first version that has all of its
/// commands, so that a log can be read by earlier releases until something is asked that they do not know.
pub const NEWEST_VERSION: u8 = 2;

/// A batch that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum Unreadable {
    #[error(
        "the log has commands of version {found}, and this program knows those up to {NEWEST_VERSION}: start a newer \
         release on this node"
    )]
    Newer { found: u8 },
    #[error("the log has a batch of commands that cannot be read: remove this member and add it under a new id")]
    Damaged,
}

impl Batch {
    /// Puts commands together that were encoded by [`encode`].
    pub(super) fn new(version: u8, at_ms: u64, commands: &[Vec<u8>]) -> Batch {
        let mut bytes = Vec::with_capacity(16 + commands.iter().map(Vec::len).sum::<usize>());
        bytes.push(version);
        let mut bytes = postcard::to_extend(&(at_ms, commands.len()), bytes).expect("two numbers can be written down");
        for command in commands {
            bytes.extend_from_slice(command);
        }
        Batch(bytes.into())
    }

    /// Whatever it is.
    #[cfg(feature = "hostile")]
    pub(super) fn from_bytes(bytes: Bytes) -> Batch {
        Batch(bytes)
    }

    /// As it is written down.
    #[cfg(feature = "hostile")]
    pub(super) fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// When it was made, and the commands.
    pub(super) fn read(&self) -> Result<(u64, Vec<Command>), Unreadable> {
        match self.0.split_first() {
            Some((&version, _)) if version > NEWEST_VERSION => Err(Unreadable::Newer { found: version }),
            Some((_, rest)) => postcard::from_bytes(rest).map_err(|_| Unreadable::Damaged),
            None => Err(Unreadable::Damaged),
        }
    }
}

/// A command as it stands in a batch.
pub(super) fn encode(command: &Command) -> Vec<u8> {
    postcard::to_allocvec(command).expect("a command can be written down")
}

/// The newest version that a leader may write: what the oldest of the members knows. Of members that were never heard
/// of, the first is assumed.
pub(super) fn version_to_write(known_by_others: impl Iterator<Item = Option<u8>>) -> u8 {
    known_by_others.map(|knows| knows.unwrap_or(1)).fold(NEWEST_VERSION, u8::min).max(1)
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Batch of {} bytes", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::SessionId;

    fn close(number: u64) -> Command {
        Command::Close { session: SessionId::new(number).unwrap() }
    }

    #[test]
    fn a_batch_has_the_commands_that_were_put_in() {
        let commands = vec![close(1), Command::Generation { at_least: 0 }, close(1 << 40)];
        let encoded: Vec<_> = commands.iter().map(encode).collect();
        assert_eq!(Batch::new(1, 77, &encoded).read(), Ok((77, commands)));
    }

    #[test]
    fn unknown_versions_and_garbage_are_refused_with_a_sentence() {
        let newer = Batch::new(NEWEST_VERSION + 1, 0, &[]).read().unwrap_err();
        assert_eq!(newer, Unreadable::Newer { found: NEWEST_VERSION + 1 });
        assert!(newer.to_string().contains("start a newer release"));
        assert_eq!(Batch(Bytes::new()).read(), Err(Unreadable::Damaged));
        assert_eq!(Batch(Bytes::from_static(&[1, 0, 200])).read(), Err(Unreadable::Damaged));
    }

    /// What the first release has written and sent stands in logs and goes between members: its numbers never change.
    #[test]
    fn commands_of_the_first_version_are_written_as_ever() {
        let name = crate::machine::Name::lock("a");
        assert_eq!(encode(&Command::Force { name: name.clone(), by: "b".into() }), [7, 0, 1, b'a', 1, b'b']);
        assert_eq!(encode(&Command::NoTurn { name: name.clone() }), [13, 0, 1, b'a']);
        let fence = crate::machine::Fence::from_number(3);
        let newest = Command::ForceGrant { name, by: "b".into(), fence };
        assert_eq!((encode(&newest)[0], newest.version()), (14, 2));
    }

    #[test]
    fn a_leader_writes_what_the_oldest_member_knows() {
        assert_eq!(version_to_write([].into_iter()), NEWEST_VERSION);
        assert_eq!(version_to_write([Some(NEWEST_VERSION), Some(1)].into_iter()), 1);
        assert_eq!(version_to_write([Some(NEWEST_VERSION), None].into_iter()), 1);
        assert_eq!(version_to_write([Some(NEWEST_VERSION + 1)].into_iter()), NEWEST_VERSION);
    }
}
