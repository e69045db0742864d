//! What is generated from `proto/`: the messages and the services.
#![expect(unreachable_pub, reason = "what is generated is public, wherever it is put")]
#![expect(clippy::allow_attributes, clippy::allow_attributes_without_reason, reason = "what is generated allows this")]

/// A key and its value.
pub(super) mod mvccpb {
    tonic::include_proto!("mvccpb");
}

/// Leases.
pub(super) mod etcdserverpb {
    tonic::include_proto!("etcdserverpb");
}

/// Locks.
pub(super) mod v3lockpb {
    tonic::include_proto!("v3lockpb");
}

/// Elections.
pub(super) mod v3electionpb {
    tonic::include_proto!("v3electionpb");
}
