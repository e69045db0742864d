//! Who belongs to the cluster, and how that changes: one change at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use openraft::error::{ClientWriteError, RaftError};
use openraft::{ChangeMembers, ServerState};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::time::{sleep, timeout};

use super::Inner;
use super::link::Unreached;
use super::types::Member;
use super::wire::{Change, Reply, Request};
use crate::engine::NodeId;

/// A new member gets so long to catch up.
const CATCHING_UP: Duration = Duration::from_secs(300);
/// How often to look how far it is.
const GLANCE: Duration = Duration::from_millis(20);
/// A successor gets so long to begin its term.
const SUCCESSION: Duration = Duration::from_secs(3);
/// A leader that is asked to change the members gets so long: more than a new one may take to catch up.
const CHANGING: Duration = Duration::from_secs(330);
/// How long to look for a leader that can change the members, and how often.
const LOOKING: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A member of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemberView {
    /// Its number.
    pub node: NodeId,
    /// Where the others reach it.
    pub address: String,
    /// Whether it counts for majorities. One that does not is still catching up.
    pub is_voter: bool,
}

/// Why the members stay as they are.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum MemberError {
    /// Only the leader changes members.
    #[error("the cluster has no leader; nothing was changed: check that a majority of the members runs")]
    Elsewhere {
        /// Which, if that is known.
        leader: Option<NodeId>,
    },
    /// The new member cannot be reached.
    #[error(
        "cannot add node {node} at {address}: {reason}; nothing was changed. The node must already run, with an empty \
         data directory: `quorate serve --node {node} --listen {address} --join`"
    )]
    Unreachable {
        /// The new member.
        node: NodeId,
        /// Where it should be.
        address: String,
        /// What is the matter.
        reason: String,
    },
    /// There was another member of this number.
    #[error(
        "node {node} was a member with another data directory before; nothing was changed: add this node under a new \
         id"
    )]
    NumberUsed {
        /// The number.
        node: NodeId,
    },
    /// There is a member of this number elsewhere.
    #[error("node {node} is already a member, at {address}; nothing was changed: if it has moved, remove it first")]
    OtherAddress {
        /// The member.
        node: NodeId,
        /// Where it is.
        address: String,
    },
    /// It is too slow.
    #[error("node {node} has not caught up in time and stays a learner: add it again to continue, or remove it")]
    Slow {
        /// The new member.
        node: NodeId,
    },
    /// There is no such member.
    #[error("node {node} is not a member; nothing was changed")]
    NoMember {
        /// The number.
        node: NodeId,
    },
    /// Nobody would be left.
    #[error("node {node} is the last voting member and cannot be removed; nothing was changed")]
    Last {
        /// The member.
        node: NodeId,
    },
    /// The new member could not reach this one.
    #[error(
        "node {node} could not reach node {leader} at {address}; nothing was changed: restart node {leader} with \
         `--advertise ADDRESS`, an address that the other nodes can reach"
    )]
    NotAdvertised {
        /// The new member.
        node: NodeId,
        /// Who leads, alone.
        leader: NodeId,
        /// Where it is, for itself.
        address: String,
    },
    /// It is not known what came of it.
    #[error("the outcome is unknown ({reason}): list the members, and repeat the change if it was not made")]
    Unknown {
        /// What happened.
        reason: String,
    },
}

impl Inner {
    pub(super) fn member(&self, node: NodeId) -> Option<Member> {
        let metrics = self.raft.server_metrics();
        metrics.borrow().membership_config.membership().get_node(&node).cloned()
    }

    pub(super) fn members(&self) -> Vec<MemberView> {
        let membership = self.raft.server_metrics().borrow().membership_config.clone();
        let voters: BTreeSet<_> = membership.voter_ids().collect();
        let view = |(node, member): (&NodeId, &Member)| MemberView {
            node: *node,
            address: member.address.clone(),
            is_voter: voters.contains(node),
        };
        membership.nodes().map(view).collect()
    }

    fn voters(&self) -> BTreeSet<NodeId> {
        self.members().into_iter().filter(|member| member.is_voter).map(|member| member.node).collect()
    }

    fn check_leads(&self) -> Result<(), MemberError> {
        let metrics = self.raft.server_metrics();
        let metrics = metrics.borrow();
        if metrics.state == ServerState::Leader {
            return Ok(());
        }
        Err(MemberError::Elsewhere { leader: metrics.current_leader })
    }

    /// Changes the members, here if this node leads, and otherwise by asking who does.
    pub(super) async fn change_members(&self, change: Change) -> Result<(), MemberError> {
        let until = Instant::now() + LOOKING;
        loop {
            let outcome = match self.change_as_leader(change.clone()).await {
                Err(MemberError::Elsewhere { leader: Some(leader) }) => self.ask_to_change(leader, &change).await,
                outcome => outcome,
            };
            match outcome {
                Err(MemberError::Elsewhere { .. }) if Instant::now() < until => sleep(LOOK_AGAIN).await,
                outcome => return outcome,
            }
        }
    }

    async fn ask_to_change(&self, leader: NodeId, change: &Change) -> Result<(), MemberError> {
        let Some(member) = self.member(leader) else { return Err(MemberError::Elsewhere { leader: None }) };
        match self.links.to(leader, &member).call(Request::Change(change.clone()), CHANGING).await {
            Ok(Reply::Changed(outcome)) => outcome,
            Ok(_) => Err(MemberError::Unknown { reason: "the leader sent an unexpected reply".into() }),
            // Nothing was sent, or the leader said so: it was not done.
            Err(Unreached::Refused(_)) => Err(MemberError::Elsewhere { leader: None }),
            Err(why) => Err(MemberError::Unknown { reason: format!("asking the leader, node {leader}: {why}") }),
        }
    }

    /// Changes the members, if this node leads.
    pub(super) async fn change_as_leader(&self, change: Change) -> Result<(), MemberError> {
        match change {
            Change::Add { node, address } => self.add_member(node, address).await,
            Change::Remove { node } => self.remove_member(node).await,
        }
    }

    /// Adds a member: it learns everything first, and votes when it has caught up.
    async fn add_member(&self, node: NodeId, address: String) -> Result<(), MemberError> {
        let _one_at_a_time = self.changing.lock().await;
        self.check_leads()?;
        let data = match self.member(node) {
            Some(member) if member.address != address => {
                return Err(MemberError::OtherAddress { node, address: member.address });
            }
            Some(member) => member.data,
            None => {
                let opened = self.links.caller.open(node, &address, None).await;
                let (_, data) = opened.map_err(|why: Unreached| MemberError::Unreachable {
                    node,
                    address: address.clone(),
                    reason: why.to_string(),
                })?;
                data
            }
        };
        if self.shared.look(|state| state.known.get(&node).is_some_and(|known| *known != data)) {
            return Err(MemberError::NumberUsed { node });
        }
        self.settle_own_address(node, &address).await?;
        tracing::info!(node, address, "learner added");
        let member = Member { address, data };
        self.change(ChangeMembers::AddNodes(BTreeMap::from([(node, member)]))).await?;
        timeout(CATCHING_UP, self.caught_up(node)).await.map_err(|_| MemberError::Slow { node })??;
        self.change(ChangeMembers::AddVoterIds(BTreeSet::from([node]))).await?;
        tracing::info!(node, "member added");
        Ok(())
    }

    /// A node that is alone may have been started at another address since it began. Whoever is added must reach it
    /// there.
    async fn settle_own_address(&self, node: NodeId, of_new: &str) -> Result<(), MemberError> {
        let [MemberView { node: leader, address, .. }] = &*self.members() else { return Ok(()) };
        if !can_be_reached(&self.address, of_new) {
            return Err(MemberError::NotAdvertised { node, leader: *leader, address: self.address.clone() });
        }
        if *address == self.address {
            return Ok(());
        }
        let member = Member { address: self.address.clone(), data: self.identity.get().data };
        self.change(ChangeMembers::SetNodes(BTreeMap::from([(*leader, member)]))).await
    }

    /// Waits until a node has all that the log had a moment ago.
    async fn caught_up(&self, node: NodeId) -> Result<(), MemberError> {
        let goal = self.raft.metrics().borrow().last_log_index;
        loop {
            self.check_leads()?;
            let matched = self.matched(node);
            if matched >= goal {
                return Ok(());
            }
            sleep(GLANCE).await;
        }
    }

    /// The last entry that a follower is known to have.
    fn matched(&self, node: NodeId) -> Option<u64> {
        let metrics = self.raft.metrics();
        let metrics = metrics.borrow();
        metrics.replication.as_ref()?.get(&node).copied().flatten().map(|id| id.index)
    }

    /// Removes a member. If it is this node, it stops to lead.
    async fn remove_member(&self, node: NodeId) -> Result<(), MemberError> {
        let _one_at_a_time = self.changing.lock().await;
        self.check_leads()?;
        let voters = self.voters();
        if self.member(node).is_none() {
            return Err(MemberError::NoMember { node });
        }
        if voters.len() == 1 && voters.contains(&node) {
            return Err(MemberError::Last { node });
        }
        let nodes = BTreeSet::from([node]);
        let change =
            if voters.contains(&node) { ChangeMembers::RemoveVoters(nodes) } else { ChangeMembers::RemoveNodes(nodes) };
        self.change(change).await?;
        tracing::info!(node, "member removed");
        let left = self.members();
        self.links.retain(|id| left.iter().any(|member| member.node == id));
        Ok(())
    }

    async fn change(&self, change: ChangeMembers<NodeId, Member>) -> Result<(), MemberError> {
        match self.raft.change_membership(change, false).await {
            Ok(_) => Ok(()),
            Err(RaftError::APIError(ClientWriteError::ForwardToLeader(forward))) => {
                Err(MemberError::Elsewhere { leader: forward.leader_id })
            }
            Err(error) => Err(MemberError::Unknown { reason: error.to_string() }),
        }
    }

    /// Lets the follower that has most of the log lead. Returns whether another node leads then.
    pub(super) async fn hand_over(&self, bequest: impl Future<Output = ()>) -> bool {
        // A new member may take minutes to catch up; then nobody is handed anything.
        let Ok(_one_at_a_time) = timeout(SUCCESSION, self.changing.lock()).await else { return false };
        let this = self.identity.get().node;
        if self.check_leads().is_err() {
            return true;
        }
        let term = self.raft.server_metrics().borrow().vote.leader_id().term + 1;
        let others: Vec<_> = self.voters().into_iter().filter(|voter| *voter != this).collect();
        let Some(successor) = others.iter().copied().max_by_key(|voter| self.matched(*voter)) else { return false };
        if timeout(SUCCESSION, self.caught_up(successor)).await.is_err() {
            return false;
        }
        let call = |node: NodeId| {
            let link = self.member(node).map(|member| self.links.to(node, &member));
            async move {
                let request = Request::Succeed { term, successor };
                // One that does not hear of it votes when the lease is over.
                if let Some(link) = link
                    && let Err(why) = link.call(request, Duration::from_millis(300)).await
                {
                    tracing::warn!(node, error = %why, "announcing successor failed");
                }
            }
        };
        bequest.await;
        let bystanders = others.iter().copied().filter(|voter| *voter != successor).map(call);
        futures_util::future::join_all(bystanders).await;
        let prepared = self.succeed(term, successor).await;
        call(successor).await;
        prepared.is_ok() && timeout(SUCCESSION, self.another_leads(this)).await.is_ok()
    }

    async fn another_leads(&self, this: NodeId) {
        let mut metrics = self.raft.server_metrics();
        let is_another = |leader: Option<NodeId>| leader.is_some_and(|leader| leader != this);
        // It fails when openraft stops, and then there is nothing to wait for.
        let _ = metrics.wait_for(|metrics| is_another(metrics.current_leader)).await;
    }
}

/// Whether one node can reach another one there, as far as their addresses tell: not by one that means any, and on
/// another machine not by one that means the own.
fn can_be_reached(address: &str, from: &str) -> bool {
    let ip = |address: &str| address.parse().map(|address: SocketAddr| address.ip());
    let Ok(there) = ip(address) else { return true };
    !there.is_unspecified() && (!there.is_loopback() || ip(from).is_ok_and(|from| from.is_loopback()))
}

#[cfg(test)]
mod tests {
    use super::can_be_reached;

    #[test]
    fn addresses_that_mean_something_else_elsewhere_are_known() {
        assert!(can_be_reached("10.0.0.1:7420", "10.0.0.2:7420"));
        assert!(can_be_reached("db1.example:7420", "10.0.0.2:7420"));
        assert!(can_be_reached("127.0.0.1:7420", "127.0.0.1:7421"));
        assert!(!can_be_reached("127.0.0.1:7420", "10.0.0.2:7420"));
        assert!(!can_be_reached("127.0.0.1:7420", "db2.example:7420"));
        assert!(!can_be_reached("0.0.0.0:7420", "127.0.0.1:7420"));
        assert!(!can_be_reached("[::]:7420", "10.0.0.2:7420"));
    }
}
