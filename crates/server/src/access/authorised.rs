//! The service on behalf of somebody: every deed is done if the caller may do it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::HeaderMap;

use super::{Access, Caller, Deed, Denial, Role, Token};
use crate::engine::{Applied, Engine};
use crate::machine::{Acquire, Departure, Fence, Name, SessionId};
use crate::service::{NewSession, Opened, Service, ServiceError};

/// The service, as one caller may use it.
#[derive(Debug)]
pub struct Authorised<E> {
    service: Arc<Service<E>>,
    caller: Caller,
}

impl<E> Clone for Authorised<E> {
    fn clone(&self) -> Authorised<E> {
        Authorised { service: Arc::clone(&self.service), caller: self.caller.clone() }
    }
}

/// Nobody is asked who they are.
impl<E> From<Arc<Service<E>>> for Authorised<E> {
    fn from(service: Arc<Service<E>>) -> Authorised<E> {
        Authorised { service, caller: Caller::Anyone }
    }
}

impl<E: Engine> Authorised<E> {
    /// A service for those with tokens; for nobody, as long as no request [says](Authorised::of) who asks.
    pub fn new(service: Arc<Service<E>>, access: Option<Arc<Access>>) -> Authorised<E> {
        Authorised { service, caller: access.map_or(Caller::Anyone, Caller::Stranger) }
    }

    /// The same for whoever makes this request, if it is anybody.
    pub fn of(&self, headers: &HeaderMap) -> Result<Authorised<E>, ServiceError> {
        let caller = self.caller.of(headers);
        caller.may(Deed::Come)?;
        Ok(Authorised { service: Arc::clone(&self.service), caller })
    }

    /// The service itself: for what is nobody's secret, and for what the node does on its own.
    pub fn unasked(&self) -> &Arc<Service<E>> {
        &self.service
    }

    /// The service itself, to look at it.
    pub fn reader(&self) -> Result<&Arc<Service<E>>, ServiceError> {
        self.caller.may(Deed::Look)?;
        Ok(&self.service)
    }

    /// The service itself, to interfere with others.
    pub fn admin(&self) -> Result<&Arc<Service<E>>, ServiceError> {
        self.caller.may(Deed::Rule)?;
        Ok(&self.service)
    }

    /// See [`Service::force`]. Whose token it was is put on record, whatever the caller says.
    pub async fn force(
        &self,
        name: Name,
        by: String,
        fence: Option<Fence>,
        deadline: Instant,
    ) -> Result<(), ServiceError> {
        let by = match self.caller.may(Deed::Rule)? {
            None => by,
            Some(token) => format!("{by} (token of {})", token.name),
        };
        self.service.force(name, by, fence, deadline).await
    }

    /// Whose token the caller has, and what it is for; nothing if nobody is asked.
    pub fn token(&self) -> Result<Option<Arc<Token>>, ServiceError> {
        Ok(self.caller.may(Deed::Come)?)
    }

    /// Whether the caller may ask for this.
    pub fn may_hold(&self, name: &Name) -> Result<(), ServiceError> {
        self.caller.may(Deed::Hold(name))?;
        Ok(())
    }

    /// Returns when the caller may not even look any more.
    pub async fn turned_away(&self) {
        self.caller.turned_away().await;
    }

    /// See [`Service::open`]. The session is the caller's.
    pub async fn open(&self, new: &NewSession, deadline: Instant) -> Result<Opened, ServiceError> {
        match self.caller.may(Deed::UseSession)? {
            None => self.service.open(new, deadline).await,
            Some(token) => {
                let new = NewSession { owner: token.name.to_string(), ..new.clone() };
                self.service.open(&new, deadline).await
            }
        }
    }

    /// See [`Service::renew`].
    pub async fn renew(&self, session: SessionId, deadline: Instant) -> Result<Duration, ServiceError> {
        self.may_use(session, deadline).await?;
        self.service.renew(session, deadline).await
    }

    /// See [`Service::close`].
    pub async fn close(&self, session: SessionId, deadline: Instant) -> Result<Applied, ServiceError> {
        self.may_use(session, deadline).await?;
        self.service.close(session, deadline).await
    }

    /// See [`Service::acquire`].
    pub async fn acquire(
        &self,
        acquire: Acquire,
        wait_until: Option<Instant>,
        deadline: Instant,
    ) -> Result<Fence, ServiceError> {
        self.caller.may(Deed::Hold(&acquire.name))?;
        self.may_use(acquire.session, deadline).await?;
        self.service.acquire(acquire, wait_until, deadline).await
    }

    /// See [`Service::withdraw`]. Who may use the session may give up what it has, whatever its name.
    pub async fn withdraw(
        &self,
        session: SessionId,
        request: u64,
        name: Name,
        deadline: Instant,
    ) -> Result<Option<Fence>, ServiceError> {
        self.may_use(session, deadline).await?;
        self.service.withdraw(session, request, name, deadline).await
    }

    /// See [`Service::release`].
    pub async fn release(
        &self,
        session: SessionId,
        request: u64,
        name: Name,
        fence: Option<Fence>,
        deadline: Instant,
    ) -> Result<Applied, ServiceError> {
        self.may_use(session, deadline).await?;
        self.service.release(session, request, name, fence, deadline).await
    }

    /// See [`Service::until_lost`].
    pub async fn until_lost(
        &self,
        session: SessionId,
        name: &Name,
        fence: Fence,
        deadline: Instant,
    ) -> Result<Option<Departure>, ServiceError> {
        self.may_use(session, deadline).await?;
        Ok(self.service.until_lost(session, name, fence).await)
    }

    /// See [`Service::proclaim`].
    pub async fn proclaim(
        &self,
        session: SessionId,
        name: Name,
        fence: Fence,
        value: Vec<u8>,
        deadline: Instant,
    ) -> Result<Applied, ServiceError> {
        self.caller.may(Deed::Hold(&name))?;
        self.may_use(session, deadline).await?;
        self.service.proclaim(session, name, fence, value, deadline).await
    }

    /// Whether the caller may use this session: one of its own, or one from before anybody was asked.
    pub async fn may_use(&self, session: SessionId, deadline: Instant) -> Result<(), ServiceError> {
        let Some(token) = self.caller.may(Deed::UseSession)? else { return Ok(()) };
        if token.role == Role::Admin {
            return Ok(());
        }
        let is_own = || {
            self.service.look(|machine| {
                let view = machine.session(session)?;
                Some(view.owner.is_empty() || *view.owner == *token.name)
            })
        };
        let is_own_or_gone = match is_own() {
            Some(is_own) => is_own,
            None => {
                // This node may be behind. A session that does not exist is nobody's, and the machine says so.
                self.service.catch_up(deadline).await?;
                is_own().unwrap_or(true)
            }
        };
        if !is_own_or_gone {
            return Err(Denial::OthersSession { who: Arc::clone(&token.name) }.into());
        }
        Ok(())
    }
}
