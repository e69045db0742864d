//! A client: knows where the nodes are.

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

/// How long to look for a node that answers, unless told otherwise.
pub const DEFAULT_PATIENCE: Duration = Duration::from_secs(10);

/// How long a new member may take to catch up, and a backup to arrive.
const LONG_PATIENCE: Duration = Duration::from_secs(360);
/// A backup is at most so long: as long as nodes send each other.
const LONGEST_BACKUP: usize = 4 << 30;

/// A client of the service. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    pub(crate) nodes: Arc<[Endpoint]>,
    pub(crate) dialer: Dialer,
    pub(crate) patience: Duration,
}

impl Client {
    /// A client of the nodes at these addresses (`host:port`, or with `https://` or `http://` before it). Any of them
    /// answers; several, so that one may fail.
    pub fn new(nodes: impl IntoIterator<Item = impl Into<String>>) -> Result<Client, Error> {
        let nodes = nodes.into_iter().map(|node| Endpoint::parse(&node.into())).collect::<Result<Vec<_>, _>>()?;
        if nodes.is_empty() {
            return Err(Error::Usage("there is no address to ask: give at least one".into()));
        }
        Ok(Client { nodes: nodes.into(), dialer: Dialer::default(), patience: DEFAULT_PATIENCE })
    }

    /// Encrypts, and speaks to nodes whose certificate is from an authority of which this is the certificate, in PEM.
    /// Only addresses that begin with `http://` are spoken to in the open.
    #[cfg(feature = "tls")]
    pub fn ca(mut self, pem: &[u8]) -> Result<Client, Error> {
        self.dialer.trust(pem)?;
        Ok(self)
    }

    /// Says who it is, by a token of `quorate keys token`.
    pub fn token(mut self, token: &str) -> Result<Client, Error> {
        self.dialer.identify(token)?;
        Ok(self)
    }

    /// Whether all nodes can be reached by what is known.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.nodes.iter().try_for_each(|node| self.dialer.check(node))
    }

    /// Looks for a node that answers for so long, at most.
    pub fn patience(mut self, patience: Duration) -> Client {
        self.patience = patience;
        self
    }

    /// A session to be opened.
    pub fn session(&self) -> NewSession {
        NewSession { client: self.clone(), ttl: DEFAULT_TTL.duration(), label: default_label() }
    }

    /// How a node is.
    pub async fn status(&self) -> Result<Status, Error> {
        self.get("/v1/status").await
    }

    /// All locks that somebody holds or awaits.
    pub async fn locks(&self) -> Result<Locks, Error> {
        self.get("/v1/locks").await
    }

    /// A lock.
    pub async fn lock(&self, name: &str) -> Result<Lock, Error> {
        self.get(&format!("/v1/locks/{}", encoded(name))).await
    }

    /// An election.
    pub async fn election(&self, name: &str) -> Result<Election, Error> {
        self.get(&format!("/v1/elections/{}", encoded(name))).await
    }

    /// All elections in which somebody leads or waits.
    pub async fn elections(&self) -> Result<Elections, Error> {
        self.get("/v1/elections").await
    }

    /// Takes a lock away from whoever holds it; or, if a fence is given, only while that is the newest grant.
    pub async fn force(&self, name: &str, by: &str, fence: Option<u64>) -> Result<(), Error> {
        self.take_away("locks", name, by, fence).await
    }

    /// Takes the lead in an election away from whoever has it; or, if a fence is given, only while that is the grant.
    pub async fn force_resignation(&self, name: &str, by: &str, fence: Option<u64>) -> Result<(), Error> {
        self.take_away("elections", name, by, fence).await
    }

    async fn take_away(&self, kind: &str, name: &str, by: &str, fence: Option<u64>) -> Result<(), Error> {
        let body = ForceRelease { by: Some(by.into()), fence };
        self.post(&format!("/v1/{kind}/{}/force", encoded(name)), &body).await
    }

    /// The members of the cluster.
    pub async fn members(&self) -> Result<Vec<Member>, Error> {
        self.get("/v1/members").await
    }

    /// Adds a member, which must run already. It learns everything first; this returns when it votes.
    pub async fn add_member(&self, node: u64, address: &str) -> Result<(), Error> {
        let body = AddMember { node, address: address.into() };
        self.clone().patience(LONG_PATIENCE).post("/v1/members", &body).await
    }

    /// Removes a member.
    pub async fn remove_member(&self, node: u64) -> Result<(), Error> {
        self.ask(&Method::DELETE, &format!("/v1/members/{node}"), None::<&()>).await
    }

    /// A backup of everything that was decided before the call, with a checksum: for `quorate restore`.
    pub async fn backup(&self) -> Result<Bytes, Error> {
        let client = self.clone().patience(LONG_PATIENCE);
        let (_, backup) = client.exchange(&Method::GET, "/v1/backup", &Bytes::new(), LONGEST_BACKUP).await?;
        Ok(backup)
    }

    /// Everything that happens to sessions, locks and elections, from now on.
    pub fn watch(&self) -> Feed {
        Feed::new(self.clone(), "/v1/events".into())
    }

    /// Who leads: now, and whenever that changes.
    pub fn observe(&self, name: &str) -> Feed {
        Feed::new(self.clone(), format!("/v1/elections/{}/observe", encoded(name)))
    }

    /// Gets something from any node that answers.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.ask(&Method::GET, path, None::<&()>).await
    }

    /// Posts something to any node that answers.
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
        Err(last.unwrap_or_else(|| Error::Usage("there is no address to ask".into())))
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

/// Who waits or holds, in the words of people: the process, if nothing better is said.
fn default_label() -> String {
    let user = std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_else(|_| "somebody".into());
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_else(|_| "somewhere".into());
    format!("{user}@{}:{}", host.trim(), std::process::id())
}

/// A session to be opened.
#[derive(Clone, Debug)]
#[must_use = "open it"]
pub struct NewSession {
    pub(crate) client: Client,
    pub(crate) ttl: Duration,
    pub(crate) label: String,
}

impl NewSession {
    /// How long it lasts when nobody renews it: how long others wait when this process dies. Shorter than the time in
    /// which a cluster elects a new leader (about a second), it does not survive that.
    pub fn ttl(mut self, ttl: Duration) -> NewSession {
        self.ttl = ttl;
        self
    }

    /// What people call it: by default `user@host:pid`.
    pub fn label(mut self, label: impl Into<String>) -> NewSession {
        self.label = label.into();
        self
    }

    /// Opens it.
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
