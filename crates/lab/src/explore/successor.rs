//! What may happen in a state, what state comes of it, and with which fingerprint.
//!
//! A successor is described by what changes, and its fingerprint is the old one with those changes; its words are built
//! only if the fingerprint is new.

use super::action::Act;
use super::budget::{Budget, Cost};
use super::tables::{Move, Need, Step, Tables};

/// What an action changes. One is used for many, so that its memory is.
#[derive(Clone, Debug, Default)]
pub(super) struct Change {
    /// The goals that it breaks, as a set of bits.
    pub(super) violated: u32,
    host: Option<(usize, u32)>,
    watch: u32,
    budget: u32,
    pub(super) removed: Option<usize>,
    pub(super) added: Vec<u32>,
    /// The whole successor, where more changes than this.
    pub(super) whole: Option<Vec<u32>>,
    /// By how much the numbers of each host's tries became smaller, if they are [renumbered](super::tries).
    pub(super) shifts: Vec<u64>,
}

impl Tables {
    pub(super) fn budget(&self, state: &[u32]) -> Budget {
        Budget::from_word(state[self.n + 1])
    }

    pub(super) fn is_alive(&self, state: &[u32], host: usize) -> bool {
        self.host_facts[state[host] as usize].alive
    }

    /// The goals that are broken by a run that ends in this state, as a set of bits. `waiting` are those that are
    /// broken if somebody waits.
    pub(super) fn broken_at_the_end(&self, state: &[u32], waiting: u32) -> u32 {
        let at_the_end = self.watch_facts[state[self.n] as usize].at_the_end;
        if (0..self.n).any(|host| self.waits(state, host)) { at_the_end | waiting } else { at_the_end }
    }

    /// Whether nothing that has to happen is left.
    #[inline]
    pub(super) fn is_quiet(&self, state: &[u32]) -> bool {
        state.len() == self.letters_at()
            && !self.budget(state).is_uncalled()
            && state[..self.n].iter().all(|&host| !self.host_facts[host as usize].due)
    }

    /// Whether nothing that has to happen is left but timers, of which no more may run out.
    pub(super) fn is_out_of_time(&self, state: &[u32]) -> bool {
        let budget = self.budget(state);
        let is_timer_or_need_not = |step: &Move| !step.due || step.cost == Cost::Timeout;
        state.len() == self.letters_at()
            && !budget.is_uncalled()
            && !budget.allows(Cost::Timeout)
            && state[..self.n].iter().all(|&host| self.host_facts[host as usize].moves.iter().all(is_timer_or_need_not))
    }

    /// Whether a host's application waits.
    pub(super) fn waits(&self, state: &[u32], host: usize) -> bool {
        self.host_facts[state[host] as usize].waits
    }

    /// The fingerprint of the successor, given that of the state, and the goals that the action breaks; or what is
    /// missing to tell.
    #[inline]
    pub(super) fn outcome(
        &self,
        state: &[u32],
        fingerprint: u64,
        act: Act,
        change: &mut Change,
    ) -> Result<(u64, u32), Need> {
        if self.is_plain {
            match act {
                Act::Deliver(place) => {
                    let letter = &self.letter_facts[state[self.letters_at() + place] as usize];
                    let fingerprint = fingerprint.wrapping_sub(letter.hash);
                    return self.plain_outcome(state, fingerprint, letter.to as usize, letter.event);
                }
                Act::Move(host, place) => {
                    let step = self.host_facts[state[host] as usize].moves[place];
                    if step.cost == Cost::Nothing {
                        return self.plain_outcome(state, fingerprint, host, step.event);
                    }
                }
                Act::DeliverAndKeep(_)
                | Act::Lose(_)
                | Act::Poke(..)
                | Act::Suspect(..)
                | Act::MoveCutShort(..)
                | Act::DeliverCutShort(..)
                | Act::DeliverAndKeepCutShort(..)
                | Act::SuspectCutShort(..)
                | Act::Tick => {}
            }
        }
        self.follow(state, act, change)?;
        Ok((self.changed(state, fingerprint, change), change.violated))
    }

    #[inline]
    fn plain_outcome(&self, state: &[u32], fingerprint: u64, host: usize, event: u32) -> Result<(u64, u32), Need> {
        let step = &self.step_table[self.step(state[host], event)? as usize];
        let fingerprint = fingerprint.wrapping_add(step.difference);
        if !step.is_seen {
            return Ok((fingerprint, 0));
        }
        let watch = state[self.n];
        let reaction = self.reaction(watch, step.batch, 0)?;
        let difference = self.watch_hash(reaction.watch).wrapping_sub(self.watch_hash(watch));
        Ok((fingerprint.wrapping_add(difference), reaction.violated))
    }

    /// What an action changes, or what is missing to tell.
    pub(super) fn follow(&self, state: &[u32], act: Act, change: &mut Change) -> Result<(), Need> {
        change.violated = 0;
        change.host = None;
        change.watch = state[self.n];
        change.budget = state[self.n + 1];
        change.removed = None;
        change.added.clear();
        change.whole = None;
        match act {
            Act::Move(host, place) => {
                let step = self.host_facts[state[host] as usize].moves[place];
                change.budget = self.budget(state).after(step.cost).word();
                self.befall(state, host, step.event, 0, change)?;
                match step.cost {
                    Cost::Crash => self.crashed(state, host, change),
                    Cost::Restart => self.restarted(state, host, change),
                    Cost::Nothing
                    | Cost::Poke
                    | Cost::Loss
                    | Cost::Duplicate
                    | Cost::Withdrawal
                    | Cost::Suspicion
                    | Cost::Write
                    | Cost::Read
                    | Cost::Timeout
                    | Cost::Call => {}
                }
            }
            Act::MoveCutShort(host, place, effects) => {
                let step = self.host_facts[state[host] as usize].moves[place];
                change.budget = self.budget(state).after(step.cost).after(Cost::Crash).word();
                self.befall(state, host, self.cut_short(step.event, effects)?, 0, change)?;
                if step.cost == Cost::Restart {
                    self.restarted(state, host, change);
                }
                self.crashed(state, host, change);
            }
            Act::Deliver(place) => {
                change.removed = Some(place);
                self.deliver(state, place, change)?;
                self.void_before(state, place, change);
            }
            Act::DeliverCutShort(place, effects) => {
                change.removed = Some(place);
                change.budget = self.budget(state).after(Cost::Crash).word();
                let to = self.deliver_in_part(state, place, effects, change)?;
                self.void_before(state, place, change);
                self.crashed(state, to, change);
            }
            Act::DeliverAndKeepCutShort(place, effects) => {
                change.budget = self.budget(state).after(Cost::Duplicate).after(Cost::Crash).word();
                let to = self.deliver_in_part(state, place, effects, change)?;
                self.crashed(state, to, change);
            }
            Act::Suspect(host, of) => {
                change.budget = self.budget(state).after(Cost::Suspicion).word();
                self.suspect(state, host, of, self.suspicion(host, of), change)?;
            }
            Act::SuspectCutShort(host, of, effects) => {
                change.budget = self.budget(state).after(Cost::Suspicion).after(Cost::Crash).word();
                self.suspect(state, host, of, self.cut_short(self.suspicion(host, of), effects)?, change)?;
                self.crashed(state, host, change);
            }
            Act::DeliverAndKeep(place) => {
                change.budget = self.budget(state).after(Cost::Duplicate).word();
                self.deliver(state, place, change)?;
            }
            Act::Lose(place) => {
                change.removed = Some(place);
                change.budget = self.budget(state).after(Cost::Loss).word();
            }
            Act::Poke(from, to) => {
                change.budget = self.budget(state).after(Cost::Poke).word();
                if !self.is_gone(state, change.budget, to) {
                    let past = self.watch_facts[state[self.n] as usize].pasts[from];
                    change.added.push(self.poke(state[from], from as u32, to as u32, past)?);
                }
            }
            Act::Tick => self.tick(state, change)?,
        }
        if self.renumbers { self.renumber(state, change) } else { Ok(()) }
    }

    #[inline]
    fn deliver(&self, state: &[u32], place: usize, change: &mut Change) -> Result<(), Need> {
        let letter = &self.letter_facts[state[self.letters_at() + place] as usize];
        let to = letter.to as usize;
        if !self.is_alive(state, to) {
            // Nobody is there to get it.
            return Ok(());
        }
        self.befall(state, to, letter.event, letter.past, change)
    }

    /// The letter of this place arrives, and who gets it carries out so many effects; says who.
    fn deliver_in_part(&self, state: &[u32], place: usize, effects: usize, change: &mut Change) -> Result<usize, Need> {
        let letter = &self.letter_facts[state[self.letters_at() + place] as usize];
        let (to, event) = (letter.to as usize, self.cut_short(letter.event, effects)?);
        self.befall(state, to, event, letter.past, change)?;
        Ok(to)
    }

    #[inline]
    pub(super) fn befall(
        &self,
        state: &[u32],
        host: usize,
        event: u32,
        past: u32,
        change: &mut Change,
    ) -> Result<(), Need> {
        let step = &self.step_table[self.step(state[host], event)? as usize];
        change.host = Some((host, step.host));
        if self.rules.causal {
            return self.befall_causally(state, host, step, past, change);
        }
        // There are few, and copying a few one by one is faster than calling somebody to copy them.
        for &letter in &step.letters {
            change.added.push(letter);
        }
        if self.rules.sessions {
            self.drop_what_is_void(state, host, change);
        } else if self.rules.bounds.crashes > 0 || !self.rules.absent.is_empty() {
            self.drop_added_to_the_gone(state, change);
        }
        if step.is_seen {
            let reaction = self.reaction(state[self.n], step.batch, 0)?;
            change.watch = reaction.watch;
            change.violated = reaction.violated;
        }
        Ok(())
    }

    fn befall_causally(
        &self,
        state: &[u32],
        host: usize,
        step: &Step,
        past: u32,
        change: &mut Change,
    ) -> Result<(), Need> {
        if !step.is_seen && past == 0 {
            return Ok(());
        }
        let reaction = self.reaction(state[self.n], step.batch, past)?;
        change.watch = reaction.watch;
        change.violated = reaction.violated;
        for (&letter, &past) in step.letters.iter().zip(&reaction.pasts) {
            change.added.push(self.carrying(letter, past)?);
        }
        if self.rules.sessions {
            self.drop_what_is_void(state, host, change);
        } else {
            self.drop_added_to_the_gone(state, change);
        }
        if reaction.gone {
            for letter in &mut change.added {
                *letter = self.without(*letter, host as u32)?;
            }
            self.rewrite(state, change, |letter| self.without(letter, host as u32).map(Some))?;
        }
        Ok(())
    }

    /// Whether nothing will ever happen to this host again.
    pub(super) fn is_gone(&self, state: &[u32], budget: u32, host: usize) -> bool {
        !self.is_alive(state, host) && !Budget::from_word(budget).allows(Cost::Restart)
    }

    fn drop_added_to_the_gone(&self, state: &[u32], change: &mut Change) {
        let budget = change.budget;
        change.added.retain(|&letter| {
            let to = self.letter_facts[letter as usize].to as usize;
            !self.is_gone(state, budget, to)
        });
    }

    fn tick(&self, state: &[u32], change: &mut Change) -> Result<(), Need> {
        let mut next = state[..self.letters_at()].to_vec();
        for host in &mut next[..self.n] {
            *host = self.step_table[self.step(*host, self.tick)? as usize].host;
        }
        for &letter in &state[self.letters_at()..] {
            let older = self.older(letter)?;
            self.insert(&mut next, older);
        }
        change.whole = Some(next);
        Ok(())
    }

    /// Makes the change a whole successor, in which each letter that stays is what becomes of it.
    fn rewrite(
        &self,
        state: &[u32],
        change: &mut Change,
        becomes: impl Fn(u32) -> Result<Option<u32>, Need>,
    ) -> Result<(), Need> {
        let mut next = state[..self.letters_at()].to_vec();
        self.change_parts(&mut next, change);
        for (place, &letter) in state[self.letters_at()..].iter().enumerate() {
            if change.removed != Some(place)
                && let Some(letter) = becomes(letter)?
            {
                self.insert(&mut next, letter);
            }
        }
        for &letter in &change.added {
            self.insert(&mut next, letter);
        }
        change.whole = Some(next);
        Ok(())
    }

    fn change_parts(&self, next: &mut [u32], change: &Change) {
        if let Some((host, number)) = change.host {
            next[host] = number;
        }
        next[self.n] = change.watch;
        next[self.n + 1] = change.budget;
    }

    /// The successor.
    pub(super) fn built(&self, state: &[u32], change: &mut Change) -> Vec<u32> {
        let mut next = Vec::new();
        self.build(state, change, &mut next);
        next
    }

    /// The successor, in place of what is in `next`.
    pub(super) fn build(&self, state: &[u32], change: &mut Change, next: &mut Vec<u32>) {
        if let Some(whole) = change.whole.take() {
            *next = whole;
            return;
        }
        next.clear();
        next.extend_from_slice(state);
        self.change_parts(next, change);
        if let Some(place) = change.removed {
            next.remove(self.letters_at() + place);
        }
        for &letter in &change.added {
            self.insert(next, letter);
        }
    }

    /// The fingerprint of a state.
    pub(super) fn fingerprint(&self, state: &[u32]) -> u64 {
        let hosts = state[..self.n].iter().fold(0u64, |sum, &host| sum.wrapping_add(self.host_hash(host)));
        let parts =
            hosts.wrapping_add(self.watch_hash(state[self.n])).wrapping_add(Self::budget_hash(state[self.n + 1]));
        let letters = &state[self.letters_at()..];
        let mut run = 0;
        letters.iter().enumerate().fold(parts, |sum, (place, &letter)| {
            let facts = &self.letter_facts[letter as usize];
            let same = place > 0 && self.are_in_one_queue(letters[place - 1], letter);
            run = if same { run + 1 } else { 0 };
            sum.wrapping_add(facts.hash.wrapping_mul(self.weight(run)))
        })
    }

    /// The fingerprint of the successor of a state with this one.
    #[inline]
    pub(super) fn changed(&self, state: &[u32], fingerprint: u64, change: &Change) -> u64 {
        if let Some(whole) = &change.whole {
            return self.fingerprint(whole);
        }
        let mut sum = fingerprint;
        if let Some((host, number)) = change.host {
            sum = sum.wrapping_sub(self.host_hash(state[host])).wrapping_add(self.host_hash(number));
        }
        if change.watch != state[self.n] {
            sum = sum.wrapping_sub(self.watch_hash(state[self.n])).wrapping_add(self.watch_hash(change.watch));
        }
        if change.budget != state[self.n + 1] {
            sum = sum.wrapping_sub(Self::budget_hash(state[self.n + 1]));
            sum = sum.wrapping_add(Self::budget_hash(change.budget));
        }
        if let Some(place) = change.removed {
            sum = self.without_letter(state, sum, place);
        }
        for (place, &letter) in change.added.iter().enumerate() {
            let facts = &self.letter_facts[letter as usize];
            let weight = if self.is_fifo() { self.weight(self.run_of(state, change, place)) } else { 1 };
            sum = sum.wrapping_add(facts.hash.wrapping_mul(weight));
        }
        sum
    }

    /// How many letters of the same queue stand before the added letter of this place.
    fn run_of(&self, state: &[u32], change: &Change, place: usize) -> usize {
        let is_same = |letter: u32| self.are_in_one_queue(letter, change.added[place]);
        let there = state[self.letters_at()..].iter().enumerate();
        let there = there.filter(|&(at, &letter)| is_same(letter) && change.removed != Some(at)).count();
        there + change.added[..place].iter().filter(|&&letter| is_same(letter)).count()
    }

    /// The fingerprint without the letter at this place, which is the first of its queue.
    #[inline]
    fn without_letter(&self, state: &[u32], fingerprint: u64, place: usize) -> u64 {
        let letters = &state[self.letters_at()..];
        let facts = &self.letter_facts[letters[place] as usize];
        if !self.is_fifo() {
            return fingerprint.wrapping_sub(facts.hash);
        }
        let run = letters[place..].iter().take_while(|&&letter| self.are_in_one_queue(letters[place], letter));
        run.enumerate().fold(fingerprint, |sum, (at, &letter)| {
            let hash = self.letter_facts[letter as usize].hash;
            let sum = sum.wrapping_sub(hash.wrapping_mul(self.weight(at)));
            if at == 0 { sum } else { sum.wrapping_add(hash.wrapping_mul(self.weight(at - 1))) }
        })
    }
}
