//! A command that runs for as long as a lock is held.

use std::io::IsTerminal;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::signals::Signals;

/// How long a command that is told to stop may take to do so.
const GRACE: Duration = Duration::from_secs(5);

/// How a command ended that ran under a lock.
pub(super) enum End {
    /// By itself, or by a signal that was sent to it.
    Exited(ExitStatus),
    /// The lock was lost, for this reason, while it ran.
    Lost(String),
}

/// What to do to the command when the lock is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OnLoss {
    /// Tell it to stop, and kill it after 5 seconds
    Term,
    /// Kill it at once
    Kill,
    /// Let it run on
    Ignore,
}

/// The exit code of a shell for a command that ended like this.
pub(super) fn exit_code(status: ExitStatus) -> u8 {
    match (status.code(), status.signal()) {
        (Some(code), _) => code as u8,
        (None, Some(signal)) => (128 + signal) as u8,
        (None, None) => 125,
    }
}

/// The exit code of a shell for a command that could not be started.
pub(super) fn exit_code_of_start(error: &std::io::Error) -> u8 {
    if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 }
}

/// Runs a command until it ends, passing on the signals that we get; ends it if `lost` returns first.
pub(super) async fn supervise(
    mut command: Command,
    on_loss: OnLoss,
    lost: impl Future<Output = String>,
    signals: &mut Signals,
) -> std::io::Result<End> {
    let mut child = command.spawn()?;
    // Who sits at a terminal and presses Ctrl-C reaches the command, too: once is enough.
    let passes_interrupts = !std::io::stdin().is_terminal();
    tokio::pin!(lost);
    loop {
        tokio::select! {
            status = child.wait() => return status.map(End::Exited),
            why = &mut lost => {
                if on_loss == OnLoss::Ignore {
                    child.wait().await?;
                } else {
                    stop(&mut child, on_loss).await?;
                }
                return Ok(End::Lost(why));
            }
            signal = signals.next() => {
                if signal != Signal::INT || passes_interrupts {
                    pass_on(&child, signal);
                }
            }
        }
    }
}

async fn stop(child: &mut Child, on_loss: OnLoss) -> std::io::Result<()> {
    if on_loss == OnLoss::Term {
        pass_on(child, Signal::TERM);
        if let Ok(ended) = timeout(GRACE, child.wait()).await {
            return ended.map(|_| ());
        }
    }
    child.kill().await
}

fn pass_on(child: &Child, signal: Signal) {
    if let Some(pid) = child.id().and_then(|id| Pid::from_raw(id as i32)) {
        // It may have ended a moment ago.
        let _ = kill_process(pid, signal);
    }
}
