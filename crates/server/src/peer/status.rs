//! How a node of the peer engine is doing.

use quorate_net::NodeStatus;

use super::settings::TurnSettings;

/// What is said of a node that takes turns no more.
const LEFT: &str = "this node has left its group and grants nothing: its log says why; fix the cause and restart the \
     node";

/// How a node is doing, and how its group takes turns.
#[derive(Clone, Debug)]
pub struct Status {
    /// How turns are taken.
    pub turns: TurnSettings,
    /// The node, unless it has stopped.
    pub node: Option<NodeStatus>,
}

impl Status {
    /// Whether the node lets anybody in: it takes part, and trusts a majority, or does not ask for one.
    pub fn lets_in(&self) -> bool {
        self.node.as_ref().is_some_and(|node| node.awaited.is_none() && (!self.turns.is_guarded || has_majority(node)))
    }

    /// Why the node takes no part, in words, if it does not.
    pub fn trouble(&self) -> Option<String> {
        let Some(node) = &self.node else { return Some(LEFT.into()) };
        let names = |numbers: Vec<u32>| numbers.iter().map(|id| format!("node {id}")).collect::<Vec<_>>().join(", ");
        let of_suspected = node.peers.iter().filter(|peer| peer.is_suspected).map(|peer| peer.id.number());
        let suspected = names(of_suspected.collect());
        if self.turns.is_guarded && !has_majority(node) {
            return Some(format!(
                "this node grants nothing because it cannot reach a majority: it receives nothing from {suspected}; \
                 start these nodes, or check the network"
            ));
        }
        let awaited = node.awaited.as_ref()?;
        let awaited_names = || names(awaited.iter().map(|id| id.number()).collect());
        let senders = if awaited.is_empty() { suspected } else { awaited_names() };
        let others = if awaited.is_empty() { ": other members can reach it, so check the network" } else { "" };
        Some(format!(
            "this node has not joined its group yet and grants nothing: it waits for a message from \
             {senders}{others}"
        ))
    }
}

fn has_majority(node: &NodeStatus) -> bool {
    let trusted = 1 + node.peers.iter().filter(|peer| !peer.is_suspected).count();
    2 * trusted > 1 + node.peers.len()
}
