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
