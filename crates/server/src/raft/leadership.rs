//! Who leads, as this node sees it, for everybody who wants to know.

use openraft::ServerState;
use tokio::sync::watch;

use super::state::Shared;
use super::types::Raft;
use crate::engine::{Leadership, NodeId};

/// Keeps the leadership up to date for as long as openraft runs.
pub(super) async fn follow(raft: Raft, shared: std::sync::Arc<Shared>, node: NodeId, tell: watch::Sender<Leadership>) {
    let mut metrics = raft.server_metrics();
    let mut applied = shared.applied_leader();
    drop((raft, shared));
    loop {
        let (vote, state, leader) = {
            let metrics = metrics.borrow_and_update();
            (metrics.vote, metrics.state, metrics.current_leader)
        };
        let term = vote.leader_id().term;
        // An entry of this term has been applied here, and so has everything before.
        let is_applied = *applied.borrow_and_update() == (term, node);
        let is_here = state == ServerState::Leader && leader == Some(node) && is_applied;
        let now = Leadership { term, leader, is_here };
        tell.send_if_modified(|before| std::mem::replace(before, now) != now);
        let is_over = tokio::select! {
            changed = metrics.changed() => changed.is_err(),
            changed = applied.changed() => changed.is_err(),
        };
        if is_over || state == ServerState::Shutdown {
            break;
        }
    }
    tell.send_modify(|leadership| *leadership = Leadership { leader: None, is_here: false, ..*leadership });
}
