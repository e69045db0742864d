//! Three nodes of a group, which would be on three machines, take turns and follow a leader; one of them goes.
//!
//! `cargo run -p quorate-net --example turns [ALGORITHM [DIRECTORY]]`; into the directory they write their traces, for
//! `quorate judge DIRECTORY/*.trace`.

use std::time::{Duration, Instant};

use quorate_net::{Config, Node};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let algorithm = std::env::args().nth(1).unwrap_or_else(|| "ricart-agrawala".into());
    let directory = std::env::temp_dir().join(format!("quorate-turns-{}", std::process::id()));
    let members = ["127.0.0.1:7431", "127.0.0.1:7432", "127.0.0.1:7433"];
    let traces = std::env::args_os().nth(2).map(std::path::PathBuf::from);
    if let Some(traces) = &traces {
        std::fs::create_dir_all(traces)?;
    }
    let config = |id| {
        let config = Config::new(id, members).algorithm(&algorithm).data(directory.join(format!("{id}")));
        match &traces {
            Some(traces) => config.trace(traces.join(format!("{id}.trace"))),
            None => config,
        }
    };
    let nodes = [Node::join(config(1)).await?, Node::join(config(2)).await?, Node::join(config(3)).await?];
    println!("three nodes run {}", nodes[0].status().await?.terms);

    for node in nodes.iter().cycle().take(6) {
        let guard = node.lock("printer").await?;
        println!("node {} prints, with fence {}", node.id(), guard.fence());
        guard.release().await?;
    }
    println!("node {} leads", nodes[0].leader().await?);

    let guard = nodes[2].lock("printer").await?;
    println!("node 3 prints, with fence {}, and its machine dies", guard.fence());
    let since = Instant::now();
    nodes[2].stop().await;
    let guard = nodes[0].lock("printer").await?;
    let waited = Duration::from_millis(since.elapsed().as_millis() as u64);
    println!("node 1 prints, with fence {}, after {waited:?}", guard.fence());
    println!("node {} leads", nodes[0].leader().await?);
    drop(guard);
    for node in &nodes {
        node.stop().await;
    }
    std::fs::remove_dir_all(directory)?;
    Ok(())
}
