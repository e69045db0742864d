//! Who leads in an election, from now on.
//!
//! Everything that happens is heard from before the first look on, so nothing is missed in between. Whoever reads too
//! slowly to hear everything is told the latest: nothing is kept for it.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::{Stream, stream};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::timeout;
use tonic::Status;

use super::wire::mvccpb::KeyValue;
use super::wire::v3electionpb::LeaderResponse;
use super::{Etcd, has_leader, key, soon, status};
use crate::engine::Engine;
use crate::machine::{Event, Fence, Machine, Name, SessionId};
use crate::service::{Occurrence, ServiceError, Told};

/// For so long the cluster may be without a leader before an observer that requires one is sent away.
const LEADERLESS: Duration = Duration::from_secs(3);

/// Who leads in an election, and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leader {
    session: SessionId,
    fence: Fence,
    value: Vec<u8>,
    /// When it last said something else, and how often it did, if this was heard.
    changed: u64,
    version: i64,
}

impl Leader {
    fn new(session: SessionId, fence: Fence, value: Vec<u8>) -> Leader {
        Leader { session, fence, value, changed: fence.number(), version: 1 }
    }

    /// Who leads now.
    pub(super) fn of(machine: &Machine, name: &Name) -> Option<Leader> {
        let holders = machine.lock(name, 0)?.holders.into_iter();
        holders.min_by_key(|holder| holder.fence).map(|holder| Leader::new(holder.session, holder.fence, holder.value))
    }

    /// In etcd's words. What was not heard is not known: a leader that is looked at seems to have spoken once.
    pub(super) fn shown(&self, name: &Name) -> KeyValue {
        KeyValue {
            key: key::of(name, self.session),
            create_revision: key::signed(self.fence.number()),
            mod_revision: key::signed(self.changed),
            version: self.version,
            value: self.value.clone(),
            lease: key::signed(self.session.number()),
        }
    }
}

/// Tells who leads: now, and whenever that changes or the leader says something else.
pub(super) async fn observe<E: Engine>(
    etcd: Etcd<E>,
    name: Name,
    requires_leader: bool,
) -> Result<impl Stream<Item = Result<LeaderResponse, Status>> + Send, Status> {
    let service = etcd.service.reader().map_err(|error| status::common(&error))?;
    if !service.knows_all() {
        return Err(status::common(&ServiceError::LedElsewhere));
    }
    let events = service.watch();
    service.catch_up(soon()).await.map_err(|error| status::of_leader(&error))?;
    let mut observer = Observer { etcd, name, requires_leader, events, heard: 0, leader: None, ready: VecDeque::new() };
    observer.look();
    Ok(stream::unfold(Some(observer), |observer| async move {
        let mut observer = observer?;
        match observer.next().await? {
            Ok(response) => Some((Ok(response), Some(observer))),
            Err(status) => Some((Err(status), None)),
        }
    }))
}

struct Observer<E: Engine> {
    etcd: Etcd<E>,
    name: Name,
    requires_leader: bool,
    events: Receiver<Told>,
    /// What was applied up to here is known.
    heard: u64,
    leader: Option<Leader>,
    /// What is to be told.
    ready: VecDeque<LeaderResponse>,
}

impl<E: Engine> Observer<E> {
    /// What is to be told next; nothing when the node stops.
    async fn next(&mut self) -> Option<Result<LeaderResponse, Status>> {
        loop {
            if let Some(response) = self.ready.pop_front() {
                return Some(Ok(response));
            }
            let told = tokio::select! {
                told = self.events.recv() => told,
                () = leaderless(&self.etcd), if self.requires_leader => return Some(Err(status::no_leader())),
                () = self.etcd.service.turned_away() => return Some(Err(status::unknown_token())),
            };
            match told {
                Ok(Told::Happened(occurrences)) => self.hear(&occurrences),
                Ok(Told::Missed) | Err(RecvError::Lagged(_)) => self.look(),
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// Looks who leads now, and tells it if it is news.
    fn look(&mut self) {
        let service = self.etcd.service.unasked();
        // While the machine is looked at it does not change.
        let (now, index) = service.look(|machine| (Leader::of(machine, &self.name), service.index()));
        self.heard = index;
        let is_news = match (&now, &self.leader) {
            (None, None) => false,
            (Some(now), Some(leader)) => (now.fence, &now.value) != (leader.fence, &leader.value),
            (Some(_), None) | (None, Some(_)) => true,
        };
        if is_news {
            self.leader = now;
            self.tell(index);
        }
    }

    /// Takes note of what came of one command. A successor that comes at once is told of, and the vacancy is not.
    fn hear(&mut self, occurrences: &[Occurrence]) {
        let mut lost_at = None;
        for Occurrence { moment, event } in occurrences {
            if moment.index <= self.heard {
                continue;
            }
            match event {
                Event::Granted { name, session, fence, value, .. } if *name == self.name => {
                    self.leader = Some(Leader::new(*session, *fence, value.clone()));
                    lost_at = None;
                    self.tell(moment.index);
                }
                Event::Proclaimed { name, session, fence, value } if *name == self.name => {
                    let version = self.leader.as_ref().map_or(1, |leader| leader.version + 1);
                    let value = value.clone();
                    let changed = moment.index;
                    self.leader = Some(Leader { session: *session, fence: *fence, value, changed, version });
                    self.tell(moment.index);
                }
                Event::Lost { name, fence, .. } if *name == self.name => {
                    if self.leader.as_ref().is_some_and(|leader| leader.fence == *fence) {
                        self.leader = None;
                        lost_at = Some(moment.index);
                    }
                }
                Event::Granted { .. }
                | Event::Proclaimed { .. }
                | Event::Lost { .. }
                | Event::Opened { .. }
                | Event::Ended { .. }
                | Event::Queued { .. }
                | Event::Left { .. }
                | Event::Delayed { .. }
                | Event::Vacant { .. }
                | Event::Forced { .. }
                | Event::Wanted { .. } => {}
            }
        }
        if let Some(index) = lost_at {
            self.tell(index);
        }
    }

    fn tell(&mut self, index: u64) {
        let kv = self.leader.as_ref().map(|leader| leader.shown(&self.name));
        self.ready.push_back(LeaderResponse { header: self.etcd.header(index), kv });
    }
}

/// Returns when the cluster has been without a leader for a while.
async fn leaderless<E: Engine>(etcd: &Etcd<E>) {
    let mut leadership = etcd.service.unasked().engine().leadership();
    while leadership.wait_for(|now| !has_leader(now)).await.is_ok() {
        match timeout(LEADERLESS, leadership.wait_for(has_leader)).await {
            Ok(Ok(_)) => {}
            Ok(Err(_)) => break,
            Err(_) => return,
        }
    }
    // Whoever tells of leaders ends with the node, and so does the observation.
    std::future::pending::<()>().await;
}
