//! `quorate lab`: the laboratory in a browser.

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Args;
use quorate_lab::command::failure::Failure;
use quorate_lab::command::output::Terminal;
use quorate_lab::page::{self, DEFAULT_ADDRESS, Limits};
use serde_json::json;

/// Open the laboratory in a browser: simulate and explore algorithms, inject faults, read the claims.
///
/// This command serves a web page until Ctrl-C. The address of the page contains all choices, so a link shows the same
/// run to others. The page loads nothing from other servers.
///
/// By default only this machine can open the page. If --listen names an address that other machines can reach, there is
/// no authentication, and the work of each visitor is limited. Visitors are distinguished by their IP addresses:
/// visitors behind one proxy or address-translating router count as one.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  For yourself:
    quorate lab
  For a class:
    quorate lab --listen 0.0.0.0:7430")]
pub(crate) struct Lab {
    /// IP address and port to listen on
    #[arg(long, value_name = "ADDRESS", default_value = DEFAULT_ADDRESS, value_parser = parse_listen)]
    listen: SocketAddr,
}

fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| format!("give an IP address and a port, for example {DEFAULT_ADDRESS} or 0.0.0.0:7430"))
}

pub(crate) fn run(lab: &Lab, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = runtime.block_on(serve(lab.listen, terminal));
    // An exploration that goes on is nobody's any more.
    runtime.shutdown_background();
    done.map(|()| ExitCode::SUCCESS)
}

async fn serve(listen: SocketAddr, terminal: &mut Terminal) -> Result<(), Failure> {
    let refused =
        |error| Failure::Failed(format!("cannot listen on {listen}: {error}; choose another address with --listen"));
    let listener = tokio::net::TcpListener::bind(listen).await.map_err(refused)?;
    let address = listener.local_addr()?;
    let limits = if address.ip().is_loopback() { Limits::ALONE } else { Limits::CLASS };
    if terminal.is_json() {
        terminal.print(&format!("{}\n", json!({ "address": address.to_string() })))?;
    } else {
        let whose = if address.ip().is_unspecified() {
            " (on other machines, replace the address by that of this machine)"
        } else {
            ""
        };
        terminal.print(&format!("laboratory: http://{address}/{whose}; press Ctrl-C to stop\n"))?;
    }
    tokio::select! {
        never = page::serve(listener, limits) => match never {},
        interrupted = tokio::signal::ctrl_c() => Ok(interrupted?),
    }
}
