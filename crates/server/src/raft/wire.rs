//! What members say to each other: an introduction, then numbered requests and their replies.
//!
//! Each direction has its own stream. Who opens it says [`Hello`] and hears [`Welcome`] or why not; then it sends
//! requests, and replies come back in any order. A frame is a length, a number, and postcard. The one that was called
//! sends a frame of number 0 every second, so that silence means that it is gone.

use bytes::Bytes;
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, VoteRequest, VoteResponse};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio_util::codec::LengthDelimitedCodec;

use super::members::MemberError;
use super::types::{Entry, RandomId, SnapshotMeta, Types, Vote};
use crate::engine::NodeId;

/// The version of everything in this file.
pub(super) const PROTOCOL: u32 = 2;
/// No frame is longer.
const MOST_BYTES: usize = 64 << 20;
/// No introduction is longer: nobody reserves much memory for somebody unknown.
const MOST_INTRODUCTION_BYTES: usize = 4096;
/// The number of frames that only say that the sender is there.
pub(super) const ALIVE: u64 = 0;

/// The codec for an introduction.
pub(super) fn introduction_codec() -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder().max_frame_length(MOST_INTRODUCTION_BYTES).new_codec()
}

/// From now on frames may be long.
pub(super) fn lengthen(codec: &mut LengthDelimitedCodec) {
    codec.set_max_frame_length(MOST_BYTES);
}

/// The first frame: who calls, and whom it believes to call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hello {
    /// Always the first field, in every version.
    pub(super) protocol: u32,
    pub(super) cluster: RandomId,
    pub(super) from: NodeId,
    pub(super) from_data: RandomId,
    pub(super) to: NodeId,
    /// The data that the membership says the other one has, if it says so.
    pub(super) to_data: Option<RandomId>,
}

/// The second frame: who was called, or why it does not want to talk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Welcome {
    /// Come in.
    Come { data: RandomId },
    /// Stay out.
    Refused(Refused),
}

/// Why one member does not talk to another.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum Refused {
    /// They would not understand each other.
    #[error(
        "the other node uses version {theirs} of the protocol and this node version {PROTOCOL}: run the same release \
         on all nodes"
    )]
    Protocol {
        /// What the other one speaks.
        theirs: u32,
    },
    /// They belong to different clusters.
    #[error(
        "node {node} belongs to another cluster ({theirs}). If this node was a member of that cluster and lost its \
         disk: remove it there (`quorate member remove`), start it with an empty data directory, a new --node id and \
         --join, and add it (`quorate member add`). If these are two clusters: give each its own addresses"
    )]
    OtherCluster {
        /// Who refused.
        node: NodeId,
        /// Its cluster.
        theirs: RandomId,
    },
    /// At this address there is somebody else.
    #[error("node {found} answers at the address of node {expected}: correct the addresses of the members")]
    OtherNode {
        /// Who is there.
        found: NodeId,
        /// Who should be.
        expected: NodeId,
    },
    /// A member's disk was emptied.
    #[error(
        "node {node} has another data directory than the cluster knows, so its votes and log may be lost: run `quorate \
         member remove {node}`, then add it under a new id (an empty data directory, a new --node id, --join, and \
         `quorate member add`)"
    )]
    Forgetful {
        /// Which member.
        node: NodeId,
    },
    /// Its disk does not work.
    #[error("node {node} cannot write to its data directory: free disk space on it, or repair the disk")]
    Disk {
        /// Which.
        node: NodeId,
    },
}

/// What one member asks of another.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// A leader sends entries, or shows that it is there.
    Append(AppendEntriesRequest<Types>),
    /// A candidate asks for a vote.
    Vote(VoteRequest<NodeId>),
    /// A leader sends a part of a snapshot, the parts in order.
    Snapshot(SnapshotPart),
    /// A leader that steps aside names its successor. Who is it begins an election; the others forget the old leader's
    /// lease, so that they can vote at once.
    Succeed { term: u64, successor: NodeId },
    /// Something for the service above.
    Ask(Bytes),
    /// The leader is to change the members.
    Change(Change),
}

/// A change of the members.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Change {
    Add { node: NodeId, address: String },
    Remove { node: NodeId },
}

/// A part of a snapshot.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SnapshotPart {
    pub(super) vote: Vote,
    pub(super) meta: SnapshotMeta,
    pub(super) offset: u64,
    pub(super) bytes: Bytes,
    pub(super) is_last: bool,
}

/// What the other member answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    Append(Appended),
    Vote(VoteResponse<NodeId>),
    /// The vote that it knows now.
    Snapshot(Vote),
    Succeed,
    Ask(Bytes),
    /// It could not.
    Failed(String),
    /// What became of the members.
    Changed(Result<(), MemberError>),
}

/// openraft's answer to entries, which cannot be cloned.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Appended {
    Success,
    Partial(Option<super::types::LogId>),
    Conflict,
    HigherVote(Vote),
}

impl From<AppendEntriesResponse<NodeId>> for Appended {
    fn from(response: AppendEntriesResponse<NodeId>) -> Appended {
        match response {
            AppendEntriesResponse::Success => Appended::Success,
            AppendEntriesResponse::PartialSuccess(upto) => Appended::Partial(upto),
            AppendEntriesResponse::Conflict => Appended::Conflict,
            AppendEntriesResponse::HigherVote(vote) => Appended::HigherVote(vote),
        }
    }
}

impl From<Appended> for AppendEntriesResponse<NodeId> {
    fn from(appended: Appended) -> AppendEntriesResponse<NodeId> {
        match appended {
            Appended::Success => AppendEntriesResponse::Success,
            Appended::Partial(upto) => AppendEntriesResponse::PartialSuccess(upto),
            Appended::Conflict => AppendEntriesResponse::Conflict,
            Appended::HigherVote(vote) => AppendEntriesResponse::HigherVote(vote),
        }
    }
}

/// No cluster lives so long. Numbers below it can be counted up without care.
pub(super) const LARGEST: u64 = 1 << 62;

/// Whether a vote could be somebody's.
pub(super) fn is_sound_vote(vote: &Vote) -> bool {
    vote.leader_id().term < LARGEST
}

/// Whether there could be such an entry.
pub(super) fn is_sound_id(id: Option<&super::types::LogId>) -> bool {
    id.is_none_or(|id| id.index < LARGEST && id.leader_id.term < LARGEST)
}

/// Whether entries could be a leader's: in order, one after the other, each membership with somebody in it. openraft
/// relies on this, and a peer must not be able to stop a node.
pub(super) fn is_sound(request: &AppendEntriesRequest<Types>) -> bool {
    let consecutive = |before: Option<&super::types::LogId>, next: &super::types::LogId| match before {
        Some(before) => before < next && before.index.checked_add(1) == Some(next.index),
        None => next.index == 0,
    };
    let mut before = request.prev_log_id.as_ref();
    let is_leader = is_sound_vote(&request.vote) && request.vote.is_committed();
    let numbers = is_leader && is_sound_id(before) && is_sound_id(request.leader_commit.as_ref());
    numbers
        && request.entries.iter().all(|entry| {
            let is_sound = consecutive(before, &entry.log_id) && is_sound_id(Some(&entry.log_id)) && has_voters(entry);
            before = Some(&entry.log_id);
            is_sound
        })
}

fn has_voters(entry: &Entry) -> bool {
    let openraft::EntryPayload::Membership(membership) = &entry.payload else { return true };
    let joint = membership.get_joint_config();
    let known = |voter: &NodeId| membership.get_node(voter).is_some();
    (1..=2).contains(&joint.len()) && joint.iter().all(|voters| !voters.is_empty() && voters.iter().all(known))
}

/// A frame's contents.
pub(super) fn encode(number: u64, body: &impl Serialize) -> Bytes {
    let bytes = number.to_be_bytes().to_vec();
    postcard::to_extend(body, bytes).expect("messages can be written down").into()
}

/// The number and the message in a frame, if it makes sense.
pub(super) fn decode<T: DeserializeOwned>(frame: &[u8]) -> Option<(u64, T)> {
    let (number, body) = frame.split_first_chunk()?;
    Some((u64::from_be_bytes(*number), postcard::from_bytes(body).ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Garbage is no message, or one of little use; it never panics.
        #[test]
        fn garbage_is_harmless(frame in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode::<Hello>(&frame);
            let _ = decode::<Welcome>(&frame);
            let _ = decode::<Reply>(&frame);
            if let Some((_, Request::Append(append))) = decode::<Request>(&frame) {
                let _ = is_sound(&append);
            }
        }
    }

    #[test]
    fn a_message_is_found_in_its_frame() {
        let (number, reply) = decode::<Reply>(&encode(7, &Reply::Failed("no".into()))).unwrap();
        assert!(number == 7 && matches!(reply, Reply::Failed(why) if why == "no"));
    }
}
