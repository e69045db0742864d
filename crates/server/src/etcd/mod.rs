//! What clients of etcd speak: its leases, locks and elections over gRPC, on the same wire.
//!
//! A lease is a session, a lock is a lock, an election is an election; a key is a place in line. `header.revision` and
//! `LeaderKey.rev` of a grant are its fence, so a client that passes the revision on to what it protects is fenced.
//! Of other answers, the revision is the number of the command that was done or taken into account.
//!
//! Where etcd is at fault, the words on the wire are its own, and what happens is not:
//!
//! - *Nobody is told that it holds a lock or leads after its lease has died.* After a wait, the cluster is asked once
//!   more before the client is told. etcd does so for locks only; a dead candidate is told that it was elected.
//! - *A call that is cancelled leaves nothing behind*, and neither does one whose answer could not be delivered: its
//!   place in line is given up, and so is what it was granted meanwhile.
//! - *A call without a lease waits as long as it likes.* Its session lasts 60 s, as etcd's does, but is kept alive for
//!   as long as the call waits, has its full time when the lock is granted, and ends with the lock.
//! - *Who observes an election is told that nobody leads any more*, by an answer without `kv`; etcd says nothing. A
//!   client that takes no notice of it has lost nothing.
//! - *A lease of one second lasts one second*; etcd's last two at least. Shorter ones are raised to one second.
//! - *Locks and elections of the same name have nothing to do with each other.* In etcd they are the same keys.
//!
//! What stays as it is in etcd: unlocking asks for the key and not for the holder, and unlocking what is not locked is
//! no error; nor is resigning what one does not lead. A waiter's key can be unlocked, too, which ends its wait.

mod auth;
mod calls;
mod claim;
mod delivery;
mod election;
#[cfg(feature = "hostile")]
pub(crate) mod hostile;
mod key;
mod lease;
mod lock;
mod metadata;
mod observe;
mod obtain;
mod status;
mod wire;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tonic::Status;
use tonic::metadata::MetadataMap;

pub use calls::{Called, Calls};

use crate::access::Authorised;
use crate::engine::{Engine, Leadership};
use claim::Numbers;
use wire::etcdserverpb::ResponseHeader;

/// How long a request that does not wait for anybody may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// What is larger is not read: more than the longest name and the longest value together.
const LARGEST_MESSAGE: usize = 256 * 1024;

/// Who answers, as the header of every answer says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The cluster's number.
    pub cluster_id: u64,
    /// This node's number.
    pub member_id: u64,
}

/// What the services share. Each call is made [on behalf](Etcd::of) of somebody.
struct Etcd<E> {
    service: Authorised<E>,
    identity: Arc<dyn Fn() -> Identity + Send + Sync>,
    numbers: Arc<Numbers>,
}

impl<E> Clone for Etcd<E> {
    fn clone(&self) -> Etcd<E> {
        let Etcd { service, identity, numbers } = self;
        Etcd { service: service.clone(), identity: Arc::clone(identity), numbers: Arc::clone(numbers) }
    }
}

impl<E: Engine> Etcd<E> {
    /// The same for whoever makes this call, if it is anybody.
    fn of(&self, metadata: &MetadataMap) -> Result<Etcd<E>, Status> {
        let service = self.service.of(metadata.as_ref()).map_err(|error| status::common(&error))?;
        Ok(Etcd { service, identity: Arc::clone(&self.identity), numbers: Arc::clone(&self.numbers) })
    }

    fn header(&self, revision: u64) -> Option<ResponseHeader> {
        let Identity { cluster_id, member_id } = (self.identity)();
        let raft_term = self.service.unasked().engine().leadership().borrow().term;
        Some(ResponseHeader { cluster_id, member_id, revision: key::signed(revision), raft_term })
    }

    /// The number of the last command that this node has applied.
    fn index(&self) -> u64 {
        self.service.unasked().index()
    }

    /// Refuses what is to be done only if somebody leads the cluster.
    fn check_leader(&self, metadata: &MetadataMap) -> Result<(), Status> {
        if metadata::requires_leader(metadata) && !has_leader(&self.service.unasked().engine().leadership().borrow()) {
            return Err(status::no_leader());
        }
        Ok(())
    }
}

fn has_leader(leadership: &Leadership) -> bool {
    leadership.is_here || leadership.leader.is_some()
}

fn soon() -> Instant {
    Instant::now() + PATIENCE
}
