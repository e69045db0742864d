//! etcd's services on one node that remembers nothing: to try clients on, and nothing else.
//!
//! `cargo run -p quorate-server --example etcd_in_memory -- 127.0.0.1:2379`

#[path = "../tests/support/in_memory.rs"]
mod in_memory;

use std::error::Error;

use in_memory::InMemory;
use quorate_server::etcd::{self, Identity};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_string());
    let routes = etcd::routes(InMemory::serve(), Identity { cluster_id: 1, member_id: 1 });
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    axum::serve(listener, routes).await?;
    Ok(())
}
