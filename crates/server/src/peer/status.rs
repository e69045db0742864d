//! How a node of the peer engine is doing.

use quorate_net::NodeStatus;

use super::settings::TurnSettings;

/// How a node is doing, and how its group takes turns.
#[derive(Clone, Debug)]
pub struct Status {
    /// How turns are taken.
    pub turns: TurnSettings,
    /// The node, unless it has stopped.
    pub node: Option<NodeStatus>,
}

impl Status {
    /// Whether the node lets anybody in: it trusts a majority, or does not ask for one.
    pub fn lets_in(&self) -> bool {
        self.node.as_ref().is_some_and(|node| {
            let trusted = 1 + node.peers.iter().filter(|peer| !peer.is_suspected).count();
            !self.turns.is_guarded || 2 * trusted > 1 + node.peers.len()
        })
    }
}
