//! The keys of `quorate dev`: a letter and the number of a node, with or without an end of line.

use std::io::{IsTerminal, Read};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::sync::mpsc;

/// What the user asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// Kill a node, as a crash would.
    Kill(usize),
    /// Pause it.
    Pause(usize),
    /// Continue it.
    Continue(usize),
    /// Restart it with its data.
    Restart(usize),
    /// Print the keys.
    Explain,
    /// Stop the cluster.
    Quit,
}

/// The keys, for the user.
pub(super) const KEYS: &str = "k2 kills node 2, p2 pauses it, c2 continues it, r2 restarts it; q quits";

/// The keys typed so far.
#[derive(Default)]
pub(super) struct Keys {
    letter: Option<u8>,
}

impl Keys {
    /// Takes one key, and returns what the user asks for if that is complete.
    pub(super) fn press(&mut self, key: u8) -> Option<Wish> {
        let letter = self.letter.take();
        match (letter, key) {
            (None, b'k' | b'p' | b'c' | b'r') => {
                self.letter = Some(key);
                None
            }
            (Some(letter), b'1'..=b'9') => {
                let node = usize::from(key - b'0');
                Some(match letter {
                    b'k' => Wish::Kill(node),
                    b'p' => Wish::Pause(node),
                    b'c' => Wish::Continue(node),
                    _ => Wish::Restart(node),
                })
            }
            (None, b'q') => Some(Wish::Quit),
            (None, b' ' | b'\t' | b'\r' | b'\n') => None,
            (Some(_) | None, _) => Some(Wish::Explain),
        }
    }
}

/// Reads the keys in a thread of its own: a read cannot be cancelled, but the process can exit.
pub(super) fn read() -> mpsc::Receiver<Wish> {
    let (wishes, receiver) = mpsc::channel(16);
    std::thread::spawn(move || {
        let (mut keys, mut byte) = (Keys::default(), [0; 1]);
        // The end of input is not the end of the cluster: it may run in the background.
        while std::io::stdin().lock().read(&mut byte).is_ok_and(|read| read == 1) {
            if let Some(wish) = keys.press(byte[0])
                && wishes.blocking_send(wish).is_err()
            {
                return;
            }
        }
    });
    receiver
}

/// Makes the terminal deliver each key at once, until this is dropped.
pub(super) struct EachKey(Option<Termios>);

impl EachKey {
    pub(super) fn begin() -> EachKey {
        let input = std::io::stdin();
        let before = input.is_terminal().then(|| tcgetattr(&input).ok()).flatten();
        if let Some(before) = &before {
            let mut changed = before.clone();
            changed.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
            // Without it, an end of line is needed after each wish, and nothing else is lost.
            let _ = tcsetattr(&input, OptionalActions::Now, &changed);
        }
        EachKey(before)
    }
}

impl Drop for EachKey {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // The terminal may be gone.
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> Vec<Wish> {
        let mut keys = Keys::default();
        text.bytes().filter_map(|key| keys.press(key)).collect()
    }

    #[test]
    fn a_letter_and_a_number_are_a_wish_with_or_without_lines() {
        use Wish::{Continue, Explain, Kill, Pause, Quit, Restart};
        assert_eq!(typed("k2p1c1r2q"), [Kill(2), Pause(1), Continue(1), Restart(2), Quit]);
        assert_eq!(typed("k2\n p1\r\nq\n"), [Kill(2), Pause(1), Quit]);
        assert_eq!(typed("k0x?kk2"), [Explain, Explain, Explain, Explain, Explain]);
    }
}
