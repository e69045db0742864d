//! How lives end and begin in a state, who is told, and what becomes of the letters.

use super::successor::Change;
use super::tables::{LetterFacts, Need, Tables};

impl Tables {
    /// Drops what a host has sent to the dead, and to those of whom there are news on their way to it.
    pub(super) fn drop_what_is_void(&self, state: &[u32], host: usize, change: &mut Change) {
        let removed = change.removed;
        change.added.retain(|&letter| {
            let to = self.letter_facts[letter as usize].to as usize;
            self.is_alive(state, to) && !self.is_to_be_told(state, host, to, removed)
        });
    }

    /// The end of a session has arrived: what stands before it is void.
    pub(super) fn void_before(&self, state: &[u32], place: usize, change: &mut Change) {
        let at = self.letters_at();
        let facts = &self.letter_facts[state[at + place] as usize];
        let same = |other: usize| self.letter_facts[state[at + other] as usize].key == facts.key;
        if !facts.is_end_of_session || place == 0 || !same(place - 1) {
            return;
        }
        let first = (0..place).rev().take_while(|&other| same(other)).last().unwrap_or(place);
        let mut next = self.built(state, change);
        // What is added stands behind all of the same key, so these places are those of before.
        let shift = next[at..].iter().take_while(|&&letter| self.letter_facts[letter as usize].key < facts.key).count();
        next.drain(at + shift..at + shift + (place - first));
        change.whole = Some(next);
    }

    /// What befalls a host that suspects another.
    pub(super) fn suspicion(&self, host: usize, of: usize) -> u32 {
        let (suspected, _) = self.news[of * self.n + host];
        self.letter_facts[suspected as usize].event
    }

    /// One host suspects another, which lives: the session between them ends, and another one is to begin. `event` is
    /// what befalls the one who suspects.
    pub(super) fn suspect(
        &self,
        state: &[u32],
        host: usize,
        of: usize,
        event: u32,
        change: &mut Change,
    ) -> Result<(), Need> {
        let (_, back) = self.news[of * self.n + host];
        self.befall(state, host, event, 0, change)?;
        change.added.retain(|&letter| self.letter_facts[letter as usize].to as usize != of);
        let mut next = self.built(state, change);
        self.drop_letters(&mut next, |facts| {
            facts.is_message && facts.from as usize == of && facts.to as usize == host
        });
        self.insert(&mut next, back);
        let (suspected, back) = self.news[host * self.n + of];
        self.insert(&mut next, suspected);
        self.insert(&mut next, back);
        change.whole = Some(next);
        Ok(())
    }

    /// After a crash: who is to be told is told, and nothing reaches who will never live again.
    pub(super) fn crashed(&self, state: &[u32], host: usize, change: &mut Change) {
        let mut next = self.built(state, change);
        if self.rules.sessions {
            self.drop_letters(&mut next, |facts| facts.to as usize == host);
            for to in (0..self.n).filter(|&to| self.is_alive(&next, to)).collect::<Vec<_>>() {
                self.insert(&mut next, self.news[host * self.n + to].0);
            }
            if self.rules.elects {
                next[self.n + 1] = self.budget(&next).calling_again().word();
            }
            change.whole = Some(next);
            return;
        }
        if self.rules.detector {
            for to in 0..self.n {
                if self.is_alive(&next, to) {
                    self.insert(&mut next, self.news[host * self.n + to].0);
                }
            }
        } else if self.rules.elects {
            next[self.n + 1] = self.budget(&next).calling_again().word();
        }
        // The dead are told nothing, and who has not heard of its return hears only of its crash.
        let crash_of = self.letter_facts[self.news[host * self.n].0 as usize].event;
        let news_of_it = |facts: &LetterFacts| facts.from as usize == host && facts.event != crash_of;
        self.drop_letters(&mut next, |facts| facts.is_notice && (facts.to as usize == host || news_of_it(facts)));
        self.drop_letters_to_the_gone(&mut next);
        change.whole = Some(next);
    }

    /// After a return: who has not heard of the crash hears only of the return.
    pub(super) fn restarted(&self, state: &[u32], host: usize, change: &mut Change) {
        if self.rules.sessions {
            // It speaks to the others from where they are told that it is back.
            let said = std::mem::take(&mut change.added);
            let mut next = self.built(state, change);
            for to in (0..self.n).filter(|&to| to != host) {
                let (_, back) = self.news[host * self.n + to];
                let news = if self.is_alive(&next, to) { back } else { self.news[to * self.n + host].0 };
                self.insert(&mut next, news);
            }
            for letter in said {
                self.insert(&mut next, letter);
            }
            change.whole = Some(next);
            return;
        }
        let mut next = self.built(state, change);
        if self.rules.detector {
            // However old they are: news age like all letters.
            let crash_of = self.letter_facts[self.news[host * self.n].0 as usize].event;
            self.drop_letters(&mut next, |facts| facts.is_notice && facts.event == crash_of);
            for to in (0..self.n).filter(|&to| to != host) {
                let (_, back) = self.news[host * self.n + to];
                if self.is_alive(&next, to) {
                    self.insert(&mut next, back);
                } else {
                    self.insert(&mut next, self.news[to * self.n + host].0);
                }
            }
        }
        self.drop_letters_to_the_gone(&mut next);
        change.whole = Some(next);
    }

    pub(super) fn drop_letters_to_the_gone(&self, state: &mut Vec<u32>) {
        let gone: Vec<_> = (0..self.n).map(|host| self.is_gone(state, state[self.n + 1], host)).collect();
        self.drop_letters(state, |facts| gone[facts.to as usize]);
    }

    pub(super) fn drop_letters(&self, state: &mut Vec<u32>, drop: impl Fn(&LetterFacts) -> bool) {
        let (parts, letters) = state.split_at(self.letters_at());
        let kept: Vec<_> = letters.iter().filter(|&&letter| !drop(&self.letter_facts[letter as usize])).collect();
        *state = parts.iter().chain(kept).copied().collect();
    }
}
