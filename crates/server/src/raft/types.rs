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
/// The bytes are postcard: when the batch was made, and the commands. Their encoding is part of the log's format and of
/// the protocol between members, so a batch carries no version of its own.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Batch(Bytes);

/// A batch that cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the log contains a malformed batch of commands: remove this member and add it under a new id")]
pub(crate) struct MalformedBatch;

impl Batch {
    /// Puts commands together that were encoded by [`encode`].
    pub(super) fn new(at_ms: u64, commands: &[Vec<u8>]) -> Batch {
        let bytes = Vec::with_capacity(16 + commands.iter().map(Vec::len).sum::<usize>());
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
    pub(super) fn read(&self) -> Result<(u64, Vec<Command>), MalformedBatch> {
        postcard::from_bytes(&self.0).map_err(|_| MalformedBatch)
    }
}

/// A command as it stands in a batch.
pub(super) fn encode(command: &Command) -> Vec<u8> {
    postcard::to_allocvec(command).expect("a command can be written down")
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
        assert_eq!(Batch::new(77, &encoded).read(), Ok((77, commands)));
    }

    #[test]
    fn a_malformed_batch_is_refused() {
        assert_eq!(Batch(Bytes::new()).read(), Err(MalformedBatch));
        assert_eq!(Batch(Bytes::from_static(&[0, 200])).read(), Err(MalformedBatch));
    }

    /// The encoding of commands is part of the log's format: raise [`super::super::wal::frame::FORMAT`] and
    /// [`super::super::wire::PROTOCOL`] if this test has to change.
    #[test]
    fn commands_keep_their_encoding() {
        let name = crate::machine::Name::lock("a");
        let fence = crate::machine::Fence::from_number(3);
        let force = |fence| Command::Force { name: name.clone(), by: "b".into(), fence };
        assert_eq!(encode(&force(None)), [7, 0, 1, b'a', 1, b'b', 0]);
        assert_eq!(encode(&force(Some(fence))), [7, 0, 1, b'a', 1, b'b', 1, 3]);
        assert_eq!(encode(&Command::NoTurn { name }), [13, 0, 1, b'a']);
    }
}
