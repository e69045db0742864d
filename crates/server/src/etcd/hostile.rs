//! Messages of etcd's clients, for [`crate::hostile`].

use std::fmt::Debug;

use prost::Message;
use tonic::metadata::{MetadataMap, MetadataValue};

use super::wire::etcdserverpb::{
    LeaseGrantRequest, LeaseKeepAliveRequest, LeaseLeasesRequest, LeaseRevokeRequest, LeaseTimeToLiveRequest,
};
use super::wire::v3electionpb::{CampaignRequest, LeaderKey, LeaderRequest, ProclaimRequest, ResignRequest};
use super::wire::v3lockpb::{LockRequest, UnlockRequest};
use super::{key, metadata};

/// Reads a message as each that there could be, and what else a call has to say.
pub(crate) fn message(bytes: &[u8]) -> bool {
    if let Ok(text) = MetadataValue::try_from(bytes) {
        let mut said = MetadataMap::new();
        said.insert("grpc-timeout", text.clone());
        said.insert("hasleader", text);
        let _ = (metadata::timeout(&said), metadata::requires_leader(&said));
    }
    let leader = |leader: Option<LeaderKey>| {
        let LeaderKey { name, key, rev, lease } = leader.unwrap_or_default();
        let _ = (key::name(&name).is_ok(), key::parse(&key), key::session(lease), u64::try_from(rev));
    };
    let understood = [
        one(bytes, |LeaseGrantRequest { id, .. }| key::session(id)),
        one(bytes, |LeaseRevokeRequest { id }| key::session(id)),
        one(bytes, |LeaseKeepAliveRequest { id }| key::session(id)),
        one(bytes, |LeaseTimeToLiveRequest { id, .. }| key::session(id)),
        one(bytes, |LeaseLeasesRequest {}| ()),
        one(bytes, |LockRequest { name, lease }| (key::name(&name).is_ok(), key::session(lease))),
        one(bytes, |UnlockRequest { key }| key::parse(&key).is_some()),
        one(bytes, |CampaignRequest { name, value, .. }| (key::name(&name).is_ok(), key::value(value).is_ok())),
        one(bytes, |ProclaimRequest { leader: whose, .. }| leader(whose)),
        one(bytes, |ResignRequest { leader: whose }| leader(whose)),
        one(bytes, |LeaderRequest { name }| key::name(&name).is_ok()),
    ];
    understood.contains(&true)
}

fn one<M: Message + Default + PartialEq + Debug, R>(bytes: &[u8], use_it: impl FnOnce(M) -> R) -> bool {
    let Ok(message) = M::decode(bytes) else { return false };
    assert_eq!(M::decode(message.encode_to_vec().as_slice()).as_ref(), Ok(&message), "it means the same again");
    let _ = use_it(message);
    true
}

/// Messages that make sense.
pub(crate) fn messages() -> Vec<Vec<u8>> {
    let (name, key, lease) = (b"jobs/nightly".to_vec(), b"jobs/nightly/75878f2a".to_vec(), 0x7587_8f2a);
    let leader = || Some(LeaderKey { name: name.clone(), key: key.clone(), rev: 42, lease });
    vec![
        LeaseGrantRequest { ttl: 60, id: i64::MIN }.encode_to_vec(),
        LeaseTimeToLiveRequest { id: lease, keys: true }.encode_to_vec(),
        LockRequest { name: name.clone(), lease }.encode_to_vec(),
        UnlockRequest { key: key.clone() }.encode_to_vec(),
        CampaignRequest { name: name.clone(), lease, value: b"10.0.0.1:5432".to_vec() }.encode_to_vec(),
        ProclaimRequest { leader: leader(), value: Vec::new() }.encode_to_vec(),
        ResignRequest { leader: leader() }.encode_to_vec(),
        b"250m".to_vec(),
    ]
}
