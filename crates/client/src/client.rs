//! The client, and its requests that need no session.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::contract::{
    AddMember, DEFAULT_TTL, Election, Elections, ForceRelease, Lock, Locks, Member, Problem, ProblemKind, Status,
};
use crate::dial::{Dialer, Endpoint};
use crate::feed::Feed;
use crate::session::Session;
use crate::{Error, http};

/// Default [patience](Client::patience) of a client: how long it looks for a node that answers.
pub const DEFAULT_PATIENCE: Duration = Duration::from_secs(10);

/// Patience for requests that take long: adding a member, which must catch up, and downloading a backup.
const LONG_PATIENCE: Duration = Duration::from_secs(360);
/// Largest backup that is downloaded, in bytes.
const LONGEST_BACKUP: usize = 4 << 30;

/// A client of the service. Cloning it is cheap.
#[derive(Clone, Debug)]
pub struct Client {
    pub(crate) nodes: Arc<[Endpoint]>,
    pub(crate) dialer: Dialer,
    pub(crate) patience: Duration,
}

impl Client {
    /// Creates a client of the nodes at these addresses: `host:port`, optionally with `https://` or `http://` before
    /// it. Every node answers every request. Name several nodes, so that the client can use another one if one fails.
    ///
    /// # Errors
    /// If there is no address, or one is malformed.
    pub fn new(nodes: impl IntoIterator<Item = impl Into<String>>) -> Result<Client, Error> {
        let nodes = nodes.into_iter().map(|node| Endpoint::parse(&node.into())).collect::<Result<Vec<_>, _>>()?;
        if nodes.is_empty() {
            return Err(Error::Usage("no address given: pass the address of at least one node".into()));
        }
        Ok(Client { nodes: nodes.into(), dialer: Dialer::default(), patience: DEFAULT_PATIENCE })
    }

    /// Uses TLS, and trusts nodes whose certificate was issued by this CA (its certificate in PEM). Addresses that
    /// begin with `http://` are still used without TLS.
    ///
    /// # Errors
    /// If `pem` contains no valid certificate.
    #[cfg(feature = "tls")]
    pub fn ca(mut self, pem: &[u8]) -> Result<Client, Error> {
        self.dialer.trust(pem)?;
        Ok(self)
    }

    /// Sends this token with every request. `quorate keys token` creates tokens.
    ///
    /// # Errors
    /// If the token contains characters that are not allowed in an HTTP header.
    pub fn token(mut self, token: &str) -> Result<Client, Error> {
        self.dialer.identify(token)?;
        Ok(self)
    }

    /// Whether all nodes can be reached by what is known.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.nodes.iter().try_for_each(|node| self.dialer.check(node))
    }

    /// Sets how long a request may look for a node that answers. Default: [`DEFAULT_PATIENCE`].
    pub fn patience(mut self, patience: Duration) -> Client {
        self.patience = patience;
        self
    }

    /// Prepares a session; call [`NewSession::open`] to open it.
    pub fn session(&self) -> NewSession {
        NewSession { client: self.clone(), ttl: DEFAULT_TTL.duration(), label: default_label() }
    }

    /// Returns the status of a node.
    pub async fn status(&self) -> Result<Status, Error> {
        self.get("/v1/status").await
    }

    /// Returns the locks that are held or awaited.
    pub async fn locks(&self) -> Result<Locks, Error> {
        self.get("/v1/locks").await
    }

    /// Returns the state of a lock.
    pub async fn lock(&self, name: &str) -> Result<Lock, Error> {
        self.get(&format!("/v1/locks/{}", encoded(name))).await
    }

    /// Returns the state of an election.
    pub async fn election(&self, name: &str) -> Result<Election, Error> {
        self.get(&format!("/v1/elections/{}", encoded(name))).await
    }

    /// Returns the elections that have a leader or candidates.
    pub async fn elections(&self) -> Result<Elections, Error> {
        self.get("/v1/elections").await
    }

    /// Takes a lock away from its holders. If a fence is given, does so only while that is the newest grant. `by` names
    /// the operator, for the log.
    pub async fn force(&self, name: &str, by: &str, fence: Option<u64>) -> Result<(), Error> {
        self.take_away("locks", name, by, fence).await
    }

    /// Deposes the leader of an election. If a fence is given, does so only while that is the leader's grant. `by`
    /// names the operator, for the log.
    pub async fn force_resignation(&self, name: &str, by: &str, fence: Option<u64>) -> Result<(), Error> {
        self.take_away("elections", name, by, fence).await
    }

    async fn take_away(&self, kind: &str, name: &str, by: &str, fence: Option<u64>) -> Result<(), Error> {
        let body = ForceRelease { by: Some(by.into()), fence };
        self.post(&format!("/v1/{kind}/{}/force", encoded(name)), &body).await
    }

    /// Returns the members of the cluster.
    pub async fn members(&self) -> Result<Vec<Member>, Error> {
        self.get("/v1/members").await
    }

    /// Adds a member, which must already run. Returns when it has caught up and votes.
    pub async fn add_member(&self, node: u64, address: &str) -> Result<(), Error> {
        let body = AddMember { node, address: address.into() };
        self.clone().patience(LONG_PATIENCE).post("/v1/members", &body).await
    }

    /// Removes a member.
    pub async fn remove_member(&self, node: u64) -> Result<(), Error> {
        self.ask(&Method::DELETE, &format!("/v1/members/{node}"), None::<&()>).await
    }

    /// Downloads a backup of everything that was committed before the call, for `quorate restore`. It has a checksum.
    pub async fn backup(&self) -> Result<Bytes, Error> {
        let client = self.clone().patience(LONG_PATIENCE);
        let (_, backup) = client.exchange(&Method::GET, "/v1/backup", &Bytes::new(), LONGEST_BACKUP).await?;
        Ok(backup)
    }

    /// Follows all events of sessions, locks and elections, from now on.
    pub fn watch(&self) -> Feed {
        Feed::new(self.clone(), "/v1/events".into())
    }

    /// Follows an election: its leader now, and after every change.
    pub fn observe(&self, name: &str) -> Feed {
        Feed::new(self.clone(), format!("/v1/elections/{}/observe", encoded(name)))
    }

    /// Sends a GET request to any node that answers.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.ask(&Method::GET, path, None::<&()>).await
    }

    /// Sends a POST request to any node that answers.
    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: &(impl Serialize + Sync)) -> Result<T, Error> {
        self.ask(&Method::POST, path, Some(body)).await
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        method: &Method,
        path: &str,
        body: Option<&(impl Serialize + Sync)>,
    ) -> Result<T, Error> {
        let body = match body {
            None => Bytes::new(),
            Some(body) => serde_json::to_vec(body).map_err(|error| Error::Usage(error.to_string()))?.into(),
        };
        let (node, answer) = self.exchange(method, path, &body, http::LONGEST_ANSWER).await?;
        http::decode(node, &answer)
    }

    /// Asks one node after the other until one knows: which, and what it answers.
    async fn exchange(
        &self,
        method: &Method,
        path: &str,
        body: &Bytes,
        longest: usize,
    ) -> Result<(&Endpoint, Bytes), Error> {
        self.check()?;
        let mut last = None;
        // To look does no harm, so that one who stands still need not be waited for so long if there are others.
        let patience = if method == Method::GET { self.patience / self.nodes.len() as u32 } else { self.patience };
        for node in self.nodes.iter() {
            match http::bytes(&self.dialer, node, method.clone(), path, body.clone(), patience, longest).await {
                Err(error @ Error::Unreachable { .. }) => last = Some(error),
                Err(Error::Problem(problem)) if is_of_this_node(&problem) => last = Some(Error::Problem(problem)),
                answered => return answered.map(|answer| (node, answer)),
            }
        }
        Err(last.unwrap_or_else(|| Error::Usage("no address given: pass the address of at least one node".into())))
    }
}

/// Whether another node may know better.
pub(crate) fn is_of_this_node(problem: &Problem) -> bool {
    matches!(problem.kind, ProblemKind::NoLeader | ProblemKind::Stopping)
}

/// A name as part of a path.
pub(crate) fn encoded(name: &str) -> String {
    let mut path = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => path.push(byte as char),
            _ => path.push_str(&format!("%{byte:02X}")),
        }
    }
    path
}

/// The label of a session that is given none: the user, the host and the process.
fn default_label() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_else(|_| "unknown-host".into());
    format!("{}@{}:{}", user_name(), host.trim(), std::process::id())
}

/// Returns the name of the user of this process: `USER` or `LOGNAME` from the environment, and `uid-1000` (with the
/// number of the user) if both are missing or empty, as in containers and services.
pub fn user_name() -> String {
    user_name_from(|variable| std::env::var(variable).ok())
}

fn user_name_from(variable: impl Fn(&str) -> Option<String>) -> String {
    let named = ["USER", "LOGNAME"].into_iter().find_map(|name| variable(name).filter(|user| !user.trim().is_empty()));
    named.unwrap_or_else(|| format!("uid-{}", rustix::process::getuid().as_raw()))
}

/// A session that is about to be opened.
#[derive(Clone, Debug)]
#[must_use = "a session is opened by calling `open`"]
pub struct NewSession {
    pub(crate) client: Client,
    pub(crate) ttl: Duration,
    pub(crate) label: String,
}

impl NewSession {
    /// Sets the time to live: the session expires when it is not renewed for this long, so other sessions wait this
    /// long for its locks when this process dies. A session with a TTL below 3 seconds may expire while the cluster
    /// elects a new leader. Default: 10 seconds.
    pub fn ttl(mut self, ttl: Duration) -> NewSession {
        self.ttl = ttl;
        self
    }

    /// Sets the label, which operators see. Default: `user@host:pid`.
    pub fn label(mut self, label: impl Into<String>) -> NewSession {
        self.label = label.into();
        self
    }

    /// Opens the session, and starts to renew it in the background.
    pub async fn open(self) -> Result<Session, Error> {
        Session::open(self).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_encoded_as_parts_of_a_path() {
        assert_eq!(encoded("db/migrate ü?"), "db%2Fmigrate%20%C3%BC%3F");
    }

    #[test]
    fn user_name_falls_back_to_the_number_of_the_user() {
        let with = |user: Option<&str>, logname: Option<&str>| {
            user_name_from(|name| if name == "USER" { user } else { logname }.map(String::from))
        };
        assert_eq!(with(Some("bob"), Some("alice")), "bob");
        assert_eq!(with(Some(""), Some("alice")), "alice");
        let number = format!("uid-{}", rustix::process::getuid().as_raw());
        assert_eq!([with(None, None), with(Some(""), Some(" "))], [number.clone(), number]);
    }

    #[test]
    fn requests_can_be_made_on_any_thread() {
        fn takes_send(_: impl Send) {}
        let client = Client::new(["127.0.0.1:1"]).unwrap();
        takes_send(client.status());
        takes_send(client.add_member(1, ""));
        takes_send(client.backup());
        takes_send(client.watch().next());
    }

    #[test]
    fn there_is_somebody_to_ask() {
        assert!(Client::new(["127.0.0.1:7420", "example"]).is_err());
        assert!(Client::new(Vec::<String>::new()).is_err());
        assert!(Client::new(["127.0.0.1:7420"]).unwrap().token("two\nlines").is_err());
    }
}
