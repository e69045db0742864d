//! The embedded node of the README: one process of a group, which takes a lock once.
//!
//! Run it in three terminals, with the ids 1, 2 and 3:
//! `cargo run -p quorate-net --example embed 1 127.0.0.1:7101 127.0.0.1:7102 127.0.0.1:7103`

use quorate_net::{Config, Node};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let id = arguments.next().ok_or("usage: embed ID ADDRESS ADDRESS…")?.parse()?;
    let node = Node::join(Config::new(id, arguments).algorithm("ricart-agrawala")).await?;
    let guard = node.lock("printer").await?; // waits until this node holds the lock
    println!("node {id} holds the lock, with fence {}", guard.fence());
    guard.release().await?;
    tokio::signal::ctrl_c().await?; // keep running: the other nodes need a majority
    node.stop().await;
    Ok(())
}
