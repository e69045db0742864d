//! Leases, which are sessions.

use std::pin::Pin;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use tonic::{Request, Response, Status, Streaming, async_trait};

use super::wire::etcdserverpb::lease_server::Lease;
use super::wire::etcdserverpb::{
    LeaseGrantRequest, LeaseGrantResponse, LeaseKeepAliveRequest, LeaseKeepAliveResponse, LeaseLeasesRequest,
    LeaseLeasesResponse, LeaseRevokeRequest, LeaseRevokeResponse, LeaseStatus, LeaseTimeToLiveRequest,
    LeaseTimeToLiveResponse,
};
use super::{Etcd, key, soon, status};
use crate::engine::Engine;
use crate::machine::{Machine, Refusal, SessionId};
use crate::service::{NewSession, ServiceError};

/// The shortest lease, in seconds; shorter ones are raised to it.
const SHORTEST_TTL: i64 = 1;
/// Leases have no label of their own; this is what people who look at locks see.
const LABEL: &str = "etcd client";
/// The longest lease, in seconds.
const LONGEST_TTL: i64 = 9_000_000_000;
/// So many renewals of one stream are under way at once. The others wait with the client.
const MOST_RENEWALS: usize = 64;
/// Clients read no more than 4 MiB at once.
const MOST_KEY_BYTES: usize = 4 * 1024 * 1024 - 64 * 1024;

#[async_trait]
impl<E: Engine> Lease for Etcd<E> {
    async fn lease_grant(&self, request: Request<LeaseGrantRequest>) -> Result<Response<LeaseGrantResponse>, Status> {
        let this = self.of(request.metadata())?;
        this.check_leader(request.metadata())?;
        let LeaseGrantRequest { ttl, id } = request.into_inner();
        if ttl > LONGEST_TTL {
            return Err(status::too_large_ttl());
        }
        let number = match id {
            0 => None,
            id => Some(key::session(id).ok_or_else(|| Status::invalid_argument("the id of a lease must be positive"))?),
        };
        let ttl = ttl.max(SHORTEST_TTL);
        let (label, owner) = (LABEL.into(), String::new());
        let new = NewSession { number, ttl: Duration::from_secs(ttl.unsigned_abs()), label, owner, transient: false };
        let opened = this.service.open(&new, soon()).await.map_err(|error| status::of_lease(&error))?;
        let (header, id) = (self.header(opened.index), key::signed(opened.session.number()));
        Ok(Response::new(LeaseGrantResponse { header, id, ttl, error: String::new() }))
    }

    async fn lease_revoke(
        &self,
        request: Request<LeaseRevokeRequest>,
    ) -> Result<Response<LeaseRevokeResponse>, Status> {
        let this = self.of(request.metadata())?;
        this.check_leader(request.metadata())?;
        let session = key::session(request.into_inner().id).ok_or_else(status::lease_not_found)?;
        let applied = this.service.close(session, soon()).await.map_err(|error| status::of_lease(&error))?;
        Ok(Response::new(LeaseRevokeResponse { header: self.header(applied.moment.index) }))
    }

    type LeaseKeepAliveStream = Pin<Box<dyn Stream<Item = Result<LeaseKeepAliveResponse, Status>> + Send>>;

    async fn lease_keep_alive(
        &self,
        request: Request<Streaming<LeaseKeepAliveRequest>>,
    ) -> Result<Response<Self::LeaseKeepAliveStream>, Status> {
        let this = self.of(request.metadata())?;
        this.check_leader(request.metadata())?;
        let renewals = request.into_inner().map(move |request| {
            let etcd = this.clone();
            async move { etcd.keep_alive(request?.id).await }
        });
        Ok(Response::new(Box::pin(renewals.buffered(MOST_RENEWALS))))
    }

    async fn lease_time_to_live(
        &self,
        request: Request<LeaseTimeToLiveRequest>,
    ) -> Result<Response<LeaseTimeToLiveResponse>, Status> {
        let this = self.of(request.metadata())?;
        this.check_leader(request.metadata())?;
        let LeaseTimeToLiveRequest { id, keys } = request.into_inner();
        let failed = |error| status::of_lease(&error);
        let service = this.service.reader().map_err(failed)?;
        let left = match key::session(id) {
            Some(session) => {
                let left = service.time_left(session, soon()).await.map_err(failed)?;
                left.map(|(left, full)| (session, left, full))
            }
            None => None,
        };
        let Some((session, left, full)) = left else {
            let header = self.header(service.index());
            return Ok(Response::new(LeaseTimeToLiveResponse {
                header,
                id,
                ttl: -1,
                granted_ttl: 0,
                keys: Vec::new(),
            }));
        };
        let keys = if keys {
            service.catch_up(soon()).await.map_err(failed)?;
            service.look(|machine| keys_of(machine, session))?
        } else {
            Vec::new()
        };
        let (header, ttl) = (self.header(service.index()), key::signed(left.as_secs()));
        Ok(Response::new(LeaseTimeToLiveResponse { header, id, ttl, granted_ttl: seconds(full), keys }))
    }

    async fn lease_leases(
        &self,
        request: Request<LeaseLeasesRequest>,
    ) -> Result<Response<LeaseLeasesResponse>, Status> {
        let this = self.of(request.metadata())?;
        this.check_leader(request.metadata())?;
        let service = this.service.reader().map_err(|error| status::of_lease(&error))?;
        let index = service.catch_up(soon()).await.map_err(|error| status::of_lease(&error))?;
        let number = |id: SessionId| LeaseStatus { id: key::signed(id.number()) };
        let leases = service.look(|machine| machine.sessions().map(|view| number(view.session)).collect());
        Ok(Response::new(LeaseLeasesResponse { header: self.header(index), leases }))
    }
}

impl<E: Engine> Etcd<E> {
    /// Gives a session its full time. If it is gone it is said to last for no time at all.
    async fn keep_alive(&self, id: i64) -> Result<LeaseKeepAliveResponse, Status> {
        // As it was before the renewal.
        let header = self.header(self.index());
        let renewed = match key::session(id) {
            Some(session) => self.service.renew(session, soon()).await,
            None => return Ok(LeaseKeepAliveResponse { header, id, ttl: 0 }),
        };
        match renewed {
            Ok(full) => Ok(LeaseKeepAliveResponse { header, id, ttl: seconds(full) }),
            Err(ServiceError::Refused(Refusal::NoSession(_))) => Ok(LeaseKeepAliveResponse { header, id, ttl: 0 }),
            Err(error) => Err(status::of_lease(&error)),
        }
    }
}

/// A session's full time in whole seconds. One that was opened in another way may be shorter than a second; 0 would
/// mean that it is gone.
fn seconds(full: Duration) -> i64 {
    key::signed(full.as_secs()).max(1)
}

/// The keys of what a session holds or awaits.
fn keys_of(machine: &Machine, session: SessionId) -> Result<Vec<Vec<u8>>, Status> {
    let (mut keys, mut bytes) = (Vec::new(), 0);
    for name in machine.places(session) {
        let key = key::of(name, session);
        // A few more for how it is written on the wire.
        bytes += key.len() + 4;
        if bytes > MOST_KEY_BYTES {
            let text = "the lease has too many keys for one response: ask again without `keys`";
            return Err(Status::out_of_range(text));
        }
        keys.push(key);
    }
    Ok(keys)
}
