//! Signals that would end this process, heard instead, so that nothing is left behind.

use std::future::poll_fn;
use std::task::Poll;

use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

/// Those that are heard: all by which people and supervisors tell a process something.
const HEARD: [Signal; 6] = [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::USR1, Signal::USR2];

/// The signals that come from when this is made.
pub(super) struct Signals(Vec<(Signal, tokio::signal::unix::Signal)>);

impl Signals {
    /// Hears them from now on. What is ignored, as `nohup` has it, stays ignored, here and by a command.
    pub(super) fn hear() -> std::io::Result<Signals> {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = ignored(&status);
        let heard = HEARD.into_iter().filter(|one| ignored & (1 << (one.as_raw() - 1)) == 0);
        let listen = |one: Signal| Ok((one, signal(SignalKind::from_raw(one.as_raw()))?));
        heard.map(listen).collect::<std::io::Result<_>>().map(Signals)
    }

    /// The next one. Nothing is lost by not waiting for it.
    pub(super) async fn next(&mut self) -> Signal {
        poll_fn(|context| {
            let mut streams = self.0.iter_mut();
            let arrived = streams.find_map(|(one, stream)| stream.poll_recv(context).is_ready().then_some(*one));
            arrived.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

/// The exit code of a shell for who was ended by this.
pub(super) fn exit_code_of(signal: Signal) -> u8 {
    128 + signal.as_raw() as u8
}

/// Which signals a process ignores, a bit for each, by what Linux says of its status. Elsewhere nobody says it.
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
