//! How the log's records look on disk: raft-log writes each with its type before and a checksum behind.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use openraft::storage::LogFlushed;
use raft_log::codeq::{Decode, Encode};
use tokio::sync::oneshot;

use super::ahead::Ahead;
use super::status::SyncTimes;
use super::types::{LogId, Types, Vote};

/// What raft-log is told to work with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Records;

impl raft_log::Types for Records {
    type LogId = Position;
    type LogPayload = Payload;
    type Vote = Promise;
    type Callback = Synced;
    type UserData = ();

    fn log_index(position: &Position) -> u64 {
        position.index
    }

    fn payload_size(payload: &Payload) -> u64 {
        payload.0.len() as u64
    }
}

/// Where an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) term: u64,
    node: u64,
    pub(super) index: u64,
}

impl From<LogId> for Position {
    fn from(id: LogId) -> Position {
        Position { term: id.leader_id.term, node: id.leader_id.node_id, index: id.index }
    }
}

impl From<Position> for LogId {
    fn from(position: Position) -> LogId {
        LogId::new(openraft::CommittedLeaderId::new(position.term, position.node), position.index)
    }
}

impl Encode for Position {
    fn encode<W: io::Write>(&self, mut writer: W) -> io::Result<usize> {
        Ok(self.term.encode(&mut writer)? + self.node.encode(&mut writer)? + self.index.encode(&mut writer)?)
    }
}

impl Decode for Position {
    fn decode<R: io::Read>(mut reader: R) -> io::Result<Position> {
        let (term, node) = (u64::decode(&mut reader)?, u64::decode(&mut reader)?);
        Ok(Position { term, node, index: u64::decode(&mut reader)? })
    }
}

/// Whom this node follows, or would.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(super) struct Promise(pub(super) Vote);

impl Encode for Promise {
    fn encode<W: io::Write>(&self, mut writer: W) -> io::Result<usize> {
        let leader = self.0.leader_id();
        let committed = u8::from(self.0.committed);
        Ok(leader.term.encode(&mut writer)? + leader.node_id.encode(&mut writer)? + committed.encode(&mut writer)?)
    }
}

impl Decode for Promise {
    fn decode<R: io::Read>(mut reader: R) -> io::Result<Promise> {
        let (term, node) = (u64::decode(&mut reader)?, u64::decode(&mut reader)?);
        let vote = match u8::decode(&mut reader)? {
            0 => Vote::new(term, node),
            1 => Vote::new_committed(term, node),
            _ => return Err(damaged("a vote is neither committed nor not")),
        };
        Ok(Promise(vote))
    }
}

/// What an entry carries, in postcard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Payload(pub(super) Bytes);

impl Payload {
    /// No entry is larger.
    const MOST: u32 = 64 << 20;
}

/// The length is written twice. raft-log takes a record that ends beyond the file for one that was torn by a crash and
/// cuts it off, with everything behind it; a damaged length must not look like that.
impl Encode for Payload {
    fn encode<W: io::Write>(&self, mut writer: W) -> io::Result<usize> {
        let length = u32::try_from(self.0.len()).ok().filter(|length| *length <= Payload::MOST);
        let length = length.ok_or_else(|| damaged("an entry is too large"))?;
        let header = length.encode(&mut writer)? + (!length).encode(&mut writer)?;
        writer.write_all(&self.0)?;
        Ok(header + self.0.len())
    }
}

impl Decode for Payload {
    fn decode<R: io::Read>(mut reader: R) -> io::Result<Payload> {
        let (length, again) = (u32::decode(&mut reader)?, u32::decode(&mut reader)?);
        if length != !again || length > Payload::MOST {
            return Err(damaged("the length of an entry is damaged"));
        }
        let mut bytes = vec![0; length as usize];
        reader.read_exact(&mut bytes)?;
        Ok(Payload(bytes.into()))
    }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Who is told that everything up to here is on disk, or that it failed.
pub(super) struct Synced {
    pub(super) since: Instant,
    pub(super) times: Arc<SyncTimes>,
    pub(super) whom: Waiting,
}

/// Who waits for a sync.
pub(super) enum Waiting {
    /// openraft, which acknowledges then.
    Append(LogFlushed<Types>),
    /// What follows from entries that openraft has sent to others already.
    Ahead {
        /// Where it waits.
        ahead: Arc<Ahead>,
        /// The entry behind the last of them.
        before: u64,
    },
    /// One of our own functions.
    Here(oneshot::Sender<io::Result<()>>),
}

/// raft-log calls this after fdatasync has returned.
impl raft_log::Callback for Synced {
    fn send(self, result: io::Result<()>) {
        self.times.record(self.since.elapsed());
        match self.whom {
            Waiting::Append(flushed) => flushed.log_io_completed(result),
            Waiting::Ahead { ahead, before } => ahead.synced(before, result),
            // Who does not wait any more needs no answer.
            Waiting::Here(sender) => drop(sender.send(result)),
        }
    }
}
