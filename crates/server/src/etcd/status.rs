//! Errors in etcd's words. Clients compare the texts, so they are exact.
//!
//! Leases have codes that say what is the matter. What etcd's locks and elections return has no code of its own and
//! goes over the wire as `Unknown`; so it does here. That a node or the cluster cannot answer is `Unavailable`
//! everywhere, as clients ask again then.

use tonic::Status;

use crate::access::Denial;
use crate::engine::Unavailable;
use crate::machine::Refusal;
use crate::service::{Gone, ServiceError};

const NO_LEASE: &str = "etcdserver: requested lease not found";

/// Nobody leads the cluster.
pub(super) fn no_leader() -> Status {
    Status::unavailable("etcdserver: no leader")
}

/// The client has waited as long as it wanted to.
pub(super) fn deadline_exceeded() -> Status {
    Status::deadline_exceeded("context deadline exceeded")
}

/// A lease is too long.
pub(super) fn too_large_ttl() -> Status {
    Status::out_of_range("etcdserver: too large lease TTL")
}

/// There is no such lease, to who asks for the lease.
pub(super) fn lease_not_found() -> Status {
    Status::not_found(NO_LEASE)
}

/// There is no such lease, to who asks for a lock or for leadership.
pub(super) fn lease_unknown() -> Status {
    Status::unknown(NO_LEASE)
}

/// There is no key where there must be one.
pub(super) fn no_key() -> Status {
    Status::unknown("etcdserver: key is not provided")
}

/// There is no `leader` where there must be one.
pub(super) fn no_leader_field() -> Status {
    Status::unknown("\"leader\" field must be provided")
}

/// Nobody leads in an election.
pub(super) fn nobody_elected() -> Status {
    Status::unknown("election: no leader")
}

/// Somebody else leads in an election, or nobody does.
pub(super) fn not_elected() -> Status {
    Status::unknown("election: not leader")
}

/// Nobody knows the token, or there is none.
pub(super) fn unknown_token() -> Status {
    Status::unauthenticated("etcdserver: invalid auth token")
}

/// What went wrong with a lease.
pub(super) fn of_lease(error: &ServiceError) -> Status {
    match error {
        ServiceError::Refused(Refusal::NoSession(_)) => lease_not_found(),
        ServiceError::Refused(Refusal::SessionExists(_)) => {
            Status::failed_precondition("etcdserver: lease already exists")
        }
        other => common(other),
    }
}

/// What went wrong with a lock.
pub(super) fn of_lock(error: &ServiceError) -> Status {
    match error {
        ServiceError::Refused(Refusal::NoSession(_)) => lease_unknown(),
        ServiceError::Gone(Gone::NoTurn(_)) => common(error),
        ServiceError::Gone(_) => Status::unknown("mutex: session is expired"),
        other => common(other),
    }
}

/// What went wrong with a candidacy. etcd would have called the dead one elected.
pub(super) fn of_campaign(error: &ServiceError) -> Status {
    match error {
        ServiceError::Refused(Refusal::NoSession(_)) | ServiceError::Gone(Gone::Expired | Gone::Closed) => {
            lease_unknown()
        }
        ServiceError::Gone(Gone::Withdrawn | Gone::Forced | Gone::TurnLost) => not_elected(),
        other => common(other),
    }
}

/// What went wrong with a leader's wish.
pub(super) fn of_leader(error: &ServiceError) -> Status {
    match error {
        ServiceError::Refused(Refusal::NoSession(_) | Refusal::NotHeld { .. }) => not_elected(),
        other => common(other),
    }
}

/// What can go wrong with everything.
pub(super) fn common(error: &ServiceError) -> Status {
    match error {
        ServiceError::NoLeader => no_leader(),
        ServiceError::Unavailable(unavailable) => match unavailable {
            Unavailable::Elsewhere { .. } => Status::unavailable("etcdserver: leader changed"),
            Unavailable::NoMajority => no_leader(),
            Unavailable::Unknown => Status::unavailable("etcdserver: request timed out"),
            Unavailable::Overloaded => Status::resource_exhausted("etcdserver: too many requests"),
            Unavailable::Stopping => Status::unavailable("etcdserver: server stopped"),
        },
        ServiceError::Denied(Denial::NoToken | Denial::UnknownToken) => unknown_token(),
        ServiceError::Denied(Denial::NotFor { .. } | Denial::OthersSession { .. }) => {
            Status::permission_denied("etcdserver: permission denied")
        }
        ServiceError::Refused(Refusal::TooMany { .. }) | ServiceError::Gone(Gone::NoTurn(_)) => {
            Status::resource_exhausted(error.to_string())
        }
        ServiceError::Refused(Refusal::NotByTurns(_)) | ServiceError::LedElsewhere => {
            Status::unimplemented(error.to_string())
        }
        // Those who speak to the service in other ways, too, can bring this about with the same session.
        ServiceError::Refused(_)
        | ServiceError::Busy
        | ServiceError::WaitedInVain
        | ServiceError::Gone(_)
        | ServiceError::Over => Status::failed_precondition(error.to_string()),
    }
}
