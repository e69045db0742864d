//! Signals that would end this process, handled instead, so that it can release what it holds.

use std::future::poll_fn;
use std::task::Poll;

use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

/// The handled signals: all that people and supervisors send.
const HEARD: [Signal; 6] = [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::USR1, Signal::USR2];

/// The signals that arrive after this is made.
pub(super) struct Signals(Vec<(Signal, tokio::signal::unix::Signal)>);

impl Signals {
    /// Handles them from now on. A signal that is ignored, as under `nohup`, stays ignored, also by a command.
    pub(super) fn hear() -> std::io::Result<Signals> {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = ignored(&status);
        let heard = HEARD.into_iter().filter(|one| ignored & (1 << (one.as_raw() - 1)) == 0);
        let listen = |one: Signal| Ok((one, signal(SignalKind::from_raw(one.as_raw()))?));
        heard.map(listen).collect::<std::io::Result<_>>().map(Signals)
    }

    /// The next signal. None is lost while this is not awaited.
    pub(super) async fn next(&mut self) -> Signal {
        poll_fn(|context| {
            let mut streams = self.0.iter_mut();
            let arrived = streams.find_map(|(one, stream)| stream.poll_recv(context).is_ready().then_some(*one));
            arrived.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

/// The exit code with which a shell reports a process that was ended by this signal.
pub(super) fn exit_code_of(signal: Signal) -> u8 {
    128 + signal.as_raw() as u8
}

/// The signals that a process ignores, one bit each, from its status file on Linux. Other systems have no such file.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_says_what_is_ignored() {
        assert_eq!(ignored("SigBlk:\t0000000000000002\nSigIgn:\t0000000000001001\nSigCgt:\t0\n"), 0x1001);
        assert_eq!(ignored(""), 0);
        assert_eq!(exit_code_of(Signal::TERM), 143);
    }
}
