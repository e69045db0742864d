//! States that differ only in how often somebody has tried are one.
//!
//! An algorithm that tries again and again counts its tries, to tell late answers from those that it waits for; so no
//! state comes twice, and no run would ever be seen to go round. But what it does depends only on
//! [how those numbers compare](quorate_core::process::Process::tries). Therefore, in a search whose tries nothing
//! bounds, all numbers of one process's tries become smaller by the same amount after each step, such that the smallest
//! of them in the whole state is 1. Whatever can happen in a state can happen in this one, and the other way round.
//!
//! A cycle among such states stands for a run that goes on for ever. It is fair if the cycle is. Where the numbers of
//! somebody's tries grow on the way round, none of its letters stays behind: its number would be the smallest, and then
//! they could not all become smaller. Where they do not grow, the letters of the cycle are the letters of the run.

use quorate_core::clock::Number;
use quorate_core::id::Id;

use super::search::MOST_STATES;
use super::successor::Change;
use super::tables::{LeastTries, Need, Part, Shift, Tables};

impl Tables {
    /// Makes the successor one whose tries begin at 1.
    pub(super) fn renumber(&self, state: &[u32], change: &mut Change) -> Result<(), Need> {
        let mut next = self.built(state, change);
        change.shifts.clear();
        for host in 0..self.n as u32 {
            let by = self.least_try(&next, host).saturating_sub(1);
            change.shifts.push(by);
            if by > 0 {
                next = self.with_smaller_tries(&next, Shift { host, by })?;
            }
        }
        change.whole = Some(next);
        Ok(())
    }

    fn least_try(&self, state: &[u32], host: u32) -> u64 {
        let (parts, letters) = state.split_at(self.letters_at());
        let hosts = parts[..self.n].iter().map(|&number| &self.host_tries[number as usize]);
        let letters = letters.iter().map(|&number| &self.letter_tries[number as usize]);
        let tries = hosts.chain(letters).flat_map(|tries| tries.iter());
        tries.filter(|(whose, _)| *whose == host).map(|(_, least)| *least).min().unwrap_or(0)
    }

    fn with_smaller_tries(&self, state: &[u32], shift: Shift) -> Result<Vec<u32>, Need> {
        let mut next = state[..self.letters_at()].to_vec();
        for number in &mut next[..self.n] {
            *number = self.renumbered(Part::Host(*number), shift)?;
        }
        for &letter in &state[self.letters_at()..] {
            let letter = self.renumbered(Part::Letter(letter), shift)?;
            self.insert(&mut next, letter);
        }
        Ok(next)
    }

    fn renumbered(&self, part: Part, shift: Shift) -> Result<u32, Need> {
        let (number, tries) = match part {
            Part::Host(number) => (number, &self.host_tries[number as usize]),
            Part::Letter(number) => (number, &self.letter_tries[number as usize]),
        };
        if tries.iter().all(|(whose, _)| *whose != shift.host) {
            return Ok(number);
        }
        self.renumbered.get(&(part, shift)).copied().ok_or(Need::Renumbered(part, shift))
    }
}

/// Among how many states to look for cycles, one after the other. Where nothing bounds the tries there may be no end of
/// states, as more and more may be on its way: what lies near is looked for first.
pub(super) fn rounds(most: u64, is_endless: bool) -> Vec<u64> {
    let few = (14..60).step_by(2).map(|power| 1 << power);
    few.take_while(|&states| is_endless && states < most.min(MOST_STATES)).chain([most]).collect()
}

/// The numbers of the tries in a part of a state.
pub(super) type Tries<'a> = Vec<(Id, &'a mut Number)>;

/// The least of each host that is mentioned.
pub(super) fn least(tries: Tries<'_>) -> LeastTries {
    let mut least: Vec<_> = tries.into_iter().map(|(id, number)| (id.index() as u32, number.get())).collect();
    least.sort_unstable();
    least.dedup_by_key(|(host, _)| *host);
    least.into()
}

/// Changes each of them.
pub(super) fn change(tries: Tries<'_>, to: impl Fn(usize, u64) -> u64) {
    for (id, number) in tries {
        let changed = to(id.index(), number.get());
        *number = changed.try_into().expect("tries that were counted one by one are few");
    }
}
