//! A command that runs while a lock is held.

use std::io::IsTerminal;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::signals::Signals;

/// How long a command may take to exit after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);

/// How a command ended that ran while a lock was held.
pub(super) enum End {
    /// By itself, or by a signal that was sent to it.
    Exited(ExitStatus),
    /// The lock was lost while it ran.
    Lost,
}

/// The way to stop the command when the lock is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OnLoss {
    /// Send SIGTERM, and SIGKILL after 5 seconds
    Term,
    /// Send SIGKILL
    Kill,
    /// Let COMMAND continue
    Ignore,
}

/// The exit code with which a shell reports the end of such a command.
pub(super) fn exit_code(status: ExitStatus) -> u8 {
    match (status.code(), status.signal()) {
        (Some(code), _) => code as u8,
        (None, Some(signal)) => (128 + signal) as u8,
        (None, None) => 125,
    }
}

/// The exit code with which a shell reports a command that could not be started.
pub(super) fn exit_code_of_start(error: &std::io::Error) -> u8 {
    if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 }
}

/// Runs a command until it ends, and passes on the signals of this process; stops it if `lost` returns first.
pub(super) async fn supervise(
    mut command: Command,
    on_loss: OnLoss,
    lost: impl Future<Output = ()>,
    signals: &mut Signals,
) -> std::io::Result<End> {
    let mut child = command.spawn()?;
    let is_at_terminal = std::io::stdin().is_terminal();
    let mut is_lost = false;
    tokio::pin!(lost);
    loop {
        tokio::select! {
            status = child.wait() => {
                let status = status?;
                return Ok(if is_lost { End::Lost } else { End::Exited(status) });
            }
            () = &mut lost, if !is_lost => {
                if on_loss != OnLoss::Ignore {
                    stop(&mut child, on_loss).await?;
                    return Ok(End::Lost);
                }
                is_lost = true;
            }
            signal = signals.next() => {
                if !(is_at_terminal && comes_from_keys(signal)) {
                    pass_on(&child, signal);
                }
            }
        }
    }
}

/// Whether a terminal sends it when keys are pressed, as Ctrl-C: it then reaches the command, too, and once is enough.
/// Only unsafe code could tell the sender; so at a terminal, `kill -s INT` must name the command, not this process.
fn comes_from_keys(signal: Signal) -> bool {
    matches!(signal, Signal::INT | Signal::QUIT)
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
