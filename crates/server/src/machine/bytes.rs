//! How much memory all of it takes, counted in bytes, and how much it may take.

use super::lock::Lock;
use super::{Machine, Name, Refusal, Session};

/// Names, labels and values may come to so many bytes in all, with 256 for each session and each place.
pub const MOST_BYTES: u64 = 1 << 30;
/// What a session or a place in a lock takes, besides what it is called and says.
const OVERHEAD: usize = 256;

impl Machine {
    /// Takes so much more, if there is room for it.
    pub(super) fn grow(&mut self, more: usize) -> Result<(), Refusal> {
        self.bytes = grown(self.bytes, more)?;
        Ok(())
    }

    /// What all of it comes to, counted anew.
    pub(super) fn count_bytes(&self) -> u64 {
        let of_lock = |(name, lock): (&Name, &Lock)| {
            let held = lock.holders.values().map(|holding| &holding.value);
            let awaited = lock.line.values().map(|waiting| &waiting.value);
            held.chain(awaited).map(|value| bytes_of_place(name, value) as u64).sum::<u64>()
        };
        let sessions: u64 = self.sessions.values().map(|session| session.bytes() as u64).sum();
        sessions + self.locks.iter().map(of_lock).sum::<u64>()
    }
}

impl Session {
    /// What it takes, but for its places.
    pub(super) fn bytes(&self) -> usize {
        OVERHEAD + self.label.len() + self.owner.len()
    }
}

/// What it takes to hold or await something, and to say something as its holder.
pub(super) fn bytes_of_place(name: &Name, value: &[u8]) -> usize {
    OVERHEAD + name.text.len() + value.len()
}

/// Puts one value in the place of another one, if there is room for it.
pub(super) fn replace(bytes: &mut u64, old: &mut Vec<u8>, new: &[u8]) -> Result<(), Refusal> {
    let without = *bytes - old.len() as u64;
    *bytes = if new.len() > old.len() { grown(without, new.len())? } else { without + new.len() as u64 };
    *old = new.to_vec();
    Ok(())
}

fn grown(bytes: u64, more: usize) -> Result<u64, Refusal> {
    let grown = bytes + more as u64;
    let what = "bytes of names, labels and values";
    if grown > MOST_BYTES { Err(Refusal::TooMany { what: what.into(), most: MOST_BYTES }) } else { Ok(grown) }
}
