//! `quorate lab`: the laboratory in a browser.

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Args;
use quorate_lab::command::failure::Failure;
use quorate_lab::command::output::Terminal;
use quorate_lab::page::{self, DEFAULT_ADDRESS, Limits};
use serde_json::json;

/// The laboratory in a browser: run, look, interfere, explore, and read what the literature claims.
///
/// Everything that one chooses is in the address of the page, so that a link shows the same to others. The page loads
/// nothing from elsewhere. On an address that others can reach it is for a class: what one visitor may ask for is then
/// limited, and nobody has to say who they are. Visitors are told apart by their addresses: a class behind one router
/// that translates addresses, or behind a proxy, counts as one visitor.
#[derive(Args, Debug)]
pub(crate) struct Lab {
    /// Where to show it; with an address that others reach, a class can come
    #[arg(long, value_name = "ADDRESS", default_value = DEFAULT_ADDRESS, value_parser = parse_listen)]
    listen: SocketAddr,
}

fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| format!("write an IP address and a port, as in {DEFAULT_ADDRESS} or 0.0.0.0:7430"))
}

pub(crate) fn run(lab: &Lab, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = runtime.block_on(serve(lab.listen, terminal));
    // An exploration that goes on is nobody's any more.
    runtime.shutdown_background();
    done.map(|()| ExitCode::SUCCESS)
}

async fn serve(listen: SocketAddr, terminal: &mut Terminal) -> Result<(), Failure> {
    let refused = |error| Failure::Failed(format!("{listen}: {error}; --listen chooses another address"));
    let listener = tokio::net::TcpListener::bind(listen).await.map_err(refused)?;
    let address = listener.local_addr()?;
    let limits = if address.ip().is_loopback() { Limits::ALONE } else { Limits::CLASS };
    if terminal.is_json() {
        terminal.print(&format!("{}\n", json!({ "address": address.to_string() })))?;
    } else {
        let whose = if address.ip().is_unspecified() { "; others put this machine's address in its place" } else { "" };
        terminal.print(&format!("the laboratory is at http://{address}/{whose} (Ctrl-C ends it)\n"))?;
    }
    tokio::select! {
        never = page::serve(listener, limits) => match never {},
        interrupted = tokio::signal::ctrl_c() => Ok(interrupted?),
    }
}
