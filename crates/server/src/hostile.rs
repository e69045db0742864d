//! Whatever comes from outside, and whoever reads it first: HTTP bodies, frames of streams, messages of gRPC, records
//! of the log, snapshots. Only with the feature `hostile`.
//!
//! Each reader is thrown bytes at by a fuzzer (`fuzz/`), and by a test that is content with less. It must neither panic
//! nor take memory without bound; and what it has understood must mean the same when it is written and read again.

use crate::{api, etcd, raft};

/// Something that reads what comes from outside.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    /// Its name, and that of its fuzz target.
    pub name: &'static str,
    /// Reads, and says whether it has understood anything.
    pub read: fn(&[u8]) -> bool,
    /// What it understands: where to begin.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All of them.
pub const READERS: [Reader; 8] = [
    Reader { name: "http_body", read: api::hostile::body, seeds: api::hostile::bodies },
    Reader { name: "stream_frames", read: api::hostile::frames, seeds: api::hostile::asked },
    Reader { name: "grpc_message", read: etcd::hostile::message, seeds: etcd::hostile::messages },
    Reader { name: "log_records", read: raft::hostile::records, seeds: raft::hostile::written },
    Reader { name: "commands", read: raft::hostile::commands, seeds: raft::hostile::batches },
    Reader { name: "snapshot", read: raft::hostile::snapshot, seeds: raft::hostile::snapshots },
    Reader { name: "identity", read: raft::hostile::identity, seeds: raft::hostile::identities },
    Reader { name: "member_frames", read: raft::hostile::frames, seeds: raft::hostile::said },
];

/// Throws bytes at the reader of this name.
pub fn throw(name: &str, bytes: &[u8]) {
    let reader = READERS.iter().find(|reader| reader.name == name).expect("there is a reader of this name");
    (reader.read)(bytes);
}
