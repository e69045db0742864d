//! Who may do what, in one place for all that clients speak.
//!
//! [`Access`] knows the tokens, from a file that is read again when it changes. A caller is who asks, by the token
//! of its request; what it asks for is done by an [`Authorised`] service, which looks at the caller before each deed.
//! Whoever speaks for clients (HTTP, streams, gRPC) has nothing else to do its deeds with.
//!
//! - *read* looks at everything.
//! - *lock* opens sessions and asks for locks and leadership, of names that begin with one of its prefixes. Its
//!   sessions are its own: nobody else renews them, closes them, or gives back what they hold.
//! - *admin* does everything, to everybody.
//!
//! A request is judged by the node that the client speaks to; what members pass on to each other is not judged again.
//! Without a token file nobody is asked, and nothing is looked up.

mod authorised;
mod tokens;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::http::HeaderMap;
use thiserror::Error;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use authorised::Authorised;
pub use tokens::{Role, Token, TokensError, append, draw_token};

use crate::machine::Name;
use tokens::{Digest, Table, digest};

/// How often to look whether the file has changed.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Why somebody may not do something. Nothing was done.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Denial {
    /// The request has no token.
    #[error(
        "this node requires a token: send the header `Authorization: Bearer TOKEN`, or pass --token-file to the command"
    )]
    NoToken,
    /// The token is not in the file.
    #[error("unknown token: it is not in the node's token file, or was removed; `quorate keys token` adds one")]
    UnknownToken,
    /// The token is for less than this.
    #[error("the token of {who:?} does not permit this request, which needs the role {needed}")]
    NotFor {
        /// Whose.
        who: Arc<str>,
        /// What would be needed.
        needed: String,
    },
    /// The session is somebody else's.
    #[error(
        "this session does not belong to {who:?}: use a session that was opened with the same token, or a token with \
         the role admin"
    )]
    OthersSession {
        /// Who wants to use it.
        who: Arc<str>,
    },
}

/// The tokens that are known, as the file has them now.
#[derive(Debug)]
pub struct Access {
    file: PathBuf,
    table: watch::Sender<Arc<Table>>,
}

impl Access {
    /// Reads the file.
    pub fn open(file: PathBuf) -> Result<Arc<Access>, TokensError> {
        let table = Table::read(&file)?;
        Ok(Arc::new(Access { file, table: watch::Sender::new(Arc::new(table)) }))
    }

    /// Reads the file again whenever it has changed, until told to stop. One that is broken changes nothing.
    pub async fn keep_up(self: Arc<Access>, stopping: CancellationToken) {
        let mut seen = None;
        loop {
            tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => {}
                () = stopping.cancelled() => return,
            }
            let found = self.signature();
            // The first look finds what may have changed since the file was opened.
            if found.is_some() && found == seen {
                continue;
            }
            let is_new = found != seen;
            seen = found;
            match Table::read(&self.file) {
                Ok(table) => {
                    let changed = **self.table.borrow() != table;
                    if changed {
                        tracing::info!(file = %self.file.display(), tokens = table.len(), "tokens reloaded");
                        self.table.send_replace(Arc::new(table));
                    }
                }
                Err(error) if is_new => {
                    tracing::error!(%error, "reading tokens failed");
                }
                Err(_) => {}
            }
        }
    }

    /// What changes with the file.
    fn signature(&self) -> Option<(SystemTime, u64)> {
        let metadata = std::fs::metadata(&self.file).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    }
}

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) enum Caller {
    /// Whoever it is: nobody is asked.
    Anyone,
    /// Nobody who has said who it is.
    Stranger(Arc<Access>),
    /// Somebody with a token, which may be known or not.
    Bearer {
        /// Who would know it.
        access: Arc<Access>,
        /// What is known of it.
        digest: Digest,
    },
}

/// What somebody wants to do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deed<'n> {
    /// Be here at all.
    Come,
    /// Look at something.
    Look,
    /// Open a session, or use one.
    UseSession,
    /// Ask for a lock or for leadership.
    Hold(&'n Name),
    /// Interfere with others.
    Rule,
}

impl Caller {
    /// Who asks, by what its request says.
    fn of(&self, headers: &HeaderMap) -> Caller {
        let access = match self {
            Caller::Anyone => return Caller::Anyone,
            Caller::Stranger(access) | Caller::Bearer { access, .. } => access,
        };
        match token_in(headers) {
            Some(token) => Caller::Bearer { access: Arc::clone(access), digest: digest(token) },
            None => Caller::Stranger(Arc::clone(access)),
        }
    }

    /// Whose token it is, if anybody is asked.
    fn token(&self) -> Result<Option<Arc<Token>>, Denial> {
        match self {
            Caller::Anyone => Ok(None),
            Caller::Stranger(_) => Err(Denial::NoToken),
            Caller::Bearer { access, digest } => {
                access.table.borrow().find(digest).map(Some).ok_or(Denial::UnknownToken)
            }
        }
    }

    /// Whether it may do this. Who it is, if anybody is asked.
    fn may(&self, deed: Deed<'_>) -> Result<Option<Arc<Token>>, Denial> {
        let Some(token) = self.token()? else { return Ok(None) };
        let needed = match (deed, &token.role) {
            (Deed::Come | Deed::Look, _) | (_, Role::Admin) | (Deed::UseSession, Role::Lock { .. }) => None,
            (Deed::Hold(name), Role::Lock { prefixes }) => {
                let is_within = prefixes.iter().any(|prefix| name.text.starts_with(prefix.as_str()));
                (!is_within).then(|| format!("lock, with a prefix that {:?} begins with", name.text))
            }
            (Deed::UseSession | Deed::Hold(_), Role::Read) => Some("lock".to_string()),
            (Deed::Rule, Role::Read | Role::Lock { .. }) => Some("admin".to_string()),
        };
        match needed {
            Some(needed) => Err(Denial::NotFor { who: Arc::clone(&token.name), needed }),
            None => Ok(Some(token)),
        }
    }

    /// Returns when it may not even look any more.
    async fn turned_away(&self) {
        let access = match self {
            Caller::Anyone => return std::future::pending().await,
            Caller::Stranger(_) => return,
            Caller::Bearer { access, .. } => access,
        };
        let mut table = access.table.subscribe();
        while self.may(Deed::Look).is_ok() {
            if table.changed().await.is_err() {
                return;
            }
        }
    }
}

/// The token of a request: as HTTP has it, or as clients of etcd do.
fn token_in(headers: &HeaderMap) -> Option<&[u8]> {
    let value = headers.get("authorization").or_else(|| headers.get("token"))?.as_bytes().trim_ascii();
    let token = match value.split_at_checked(7) {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case(b"bearer ") => token.trim_ascii(),
        _ => value,
    };
    (!token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(role: Role) -> Caller {
        let token = Token { name: "web".into(), role, digest: digest(b"secret") };
        let access = Access { file: PathBuf::new(), table: watch::Sender::new(Arc::new(Table::of(vec![token]))) };
        Caller::Bearer { access: Arc::new(access), digest: digest(b"secret") }
    }

    #[test]
    fn roles_are_a_ladder_and_locks_have_prefixes() {
        let (inside, outside) = (Name::lock("web/1"), Name::election("db/1"));
        let deeds = [Deed::Come, Deed::Look, Deed::UseSession, Deed::Hold(&inside), Deed::Hold(&outside), Deed::Rule];
        for (role, allowed) in
            [(Role::Read, 2), (Role::Lock { prefixes: vec!["app/".into(), "web/".into()] }, 4), (Role::Admin, 6)]
        {
            let caller = of(role.clone());
            for (number, deed) in deeds.into_iter().enumerate() {
                assert_eq!(caller.may(deed).is_ok(), number < allowed, "{role:?} {deed:?}");
            }
        }
        let all = of(Role::Lock { prefixes: vec![String::new()] });
        assert!(all.may(Deed::Hold(&outside)).is_ok() && all.may(Deed::Rule).is_err());
    }

    #[test]
    fn who_has_no_token_or_a_wrong_one_is_nobody() {
        let known = of(Role::Admin);
        let mut headers = HeaderMap::new();
        assert_eq!(known.of(&headers).may(Deed::Come).unwrap_err(), Denial::NoToken);
        headers.insert("authorization", "Bearer Secret".parse().unwrap());
        assert_eq!(known.of(&headers).may(Deed::Come).unwrap_err(), Denial::UnknownToken);
        for (name, value) in [("authorization", "bearer  secret "), ("authorization", "secret"), ("token", "secret")] {
            let headers = HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())]);
            assert!(known.of(&headers).may(Deed::Rule).is_ok(), "{name}: {value}");
        }
        assert!(Caller::Anyone.of(&headers).may(Deed::Rule).unwrap().is_none());
    }
}
