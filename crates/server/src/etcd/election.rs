//! Elections.

use std::pin::Pin;

use futures_util::Stream;
use tonic::{Request, Response, Status, async_trait};

use super::observe::{Leader, observe};
use super::obtain::Wish;
use super::wire::v3electionpb::election_server::Election;
use super::wire::v3electionpb::{
    CampaignRequest, CampaignResponse, LeaderKey, LeaderRequest, LeaderResponse, ProclaimRequest, ProclaimResponse,
    ResignRequest, ResignResponse,
};
use super::{Etcd, delivery, key, metadata, soon, status};
use crate::engine::Engine;
use crate::machine::{Fence, Name, SessionId};
use crate::service::ServiceError;

#[async_trait]
impl<E: Engine> Election for Etcd<E> {
    async fn campaign(&self, request: Request<CampaignRequest>) -> Result<Response<CampaignResponse>, Status> {
        let (metadata, _, CampaignRequest { name, lease, value }) = request.into_parts();
        let this = self.of(&metadata)?;
        let wish = Wish { name: Name::election(key::name(&name)?), lease, value: key::value(value)? };
        let granted = this.obtain(&metadata, wish, status::of_campaign).await?;
        let (session, rev) = (granted.claim.session(), granted.fence.number());
        let key = key::of(granted.claim.name(), session);
        let leader = LeaderKey { name, key, rev: key::signed(rev), lease: key::signed(session.number()) };
        let answer = CampaignResponse { header: self.header(rev), leader: Some(leader) };
        Ok(delivery::tell(answer, granted))
    }

    async fn proclaim(&self, request: Request<ProclaimRequest>) -> Result<Response<ProclaimResponse>, Status> {
        let this = self.of(request.metadata())?;
        this.check_leader(request.metadata())?;
        let ProclaimRequest { leader, value } = request.into_inner();
        let value = key::value(value)?;
        let Leadership { session, name, fence } = leadership(leader)?.ok_or_else(status::not_elected)?;
        let applied = this.service.proclaim(session, name, fence, value, soon()).await;
        let applied = applied.map_err(|error| status::of_leader(&error))?;
        Ok(Response::new(ProclaimResponse { header: self.header(applied.moment.index) }))
    }

    async fn leader(&self, request: Request<LeaderRequest>) -> Result<Response<LeaderResponse>, Status> {
        let this = self.of(request.metadata())?;
        this.check_leader(request.metadata())?;
        let name = Name::election(key::name(&request.get_ref().name)?);
        let service = this.service.reader().map_err(|error| status::common(&error))?;
        let index = service.catch_up(soon()).await.map_err(|error| status::of_leader(&error))?;
        let leader = service.look(|machine| Leader::of(machine, &name)).ok_or_else(|| match service.knows_all() {
            true => status::nobody_elected(),
            false => status::common(&ServiceError::LedElsewhere),
        })?;
        let (header, kv) = (self.header(index), Some(leader.shown(&name)));
        Ok(Response::new(LeaderResponse { header, kv }))
    }

    type ObserveStream = Pin<Box<dyn Stream<Item = Result<LeaderResponse, Status>> + Send>>;

    async fn observe(&self, request: Request<LeaderRequest>) -> Result<Response<Self::ObserveStream>, Status> {
        let this = self.of(request.metadata())?;
        this.check_leader(request.metadata())?;
        let name = Name::election(key::name(&request.get_ref().name)?);
        let requires_leader = metadata::requires_leader(request.metadata());
        Ok(Response::new(Box::pin(observe(this, name, requires_leader).await?)))
    }

    async fn resign(&self, request: Request<ResignRequest>) -> Result<Response<ResignResponse>, Status> {
        let this = self.of(request.metadata())?;
        this.check_leader(request.metadata())?;
        let revision = match leadership(request.into_inner().leader)? {
            Some(leadership) => this.step_down(leadership).await.map_err(|error| status::of_leader(&error))?,
            None => this.index(),
        };
        Ok(Response::new(ResignResponse { header: self.header(revision) }))
    }
}

/// A leadership that a client believes to have.
struct Leadership {
    session: SessionId,
    name: Name,
    fence: Fence,
}

/// What a client says of its leadership, if anybody can have it.
fn leadership(leader: Option<LeaderKey>) -> Result<Option<Leadership>, Status> {
    let leader = leader.ok_or_else(status::no_leader_field)?;
    if leader.key.is_empty() {
        return Err(status::no_key());
    }
    let Some((name, session)) = key::parse(&leader.key) else { return Ok(None) };
    let fence = u64::try_from(leader.rev).ok().map(Fence::from_number);
    Ok(fence.map(|fence| Leadership { session, name: Name::election(name), fence }))
}

impl<E: Engine> Etcd<E> {
    /// Gives up a leadership, if it still is one, and says when.
    async fn step_down(&self, leadership: Leadership) -> Result<u64, ServiceError> {
        let Leadership { session, name, fence } = leadership;
        match self.service.release(session, 0, name, Some(fence), soon()).await {
            Ok(applied) => Ok(applied.moment.index),
            Err(ServiceError::Refused(_)) => Ok(self.index()),
            Err(error) => Err(error),
        }
    }
}
