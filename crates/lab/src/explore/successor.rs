//! What may happen in a state, what state comes of it, and with which fingerprint.
//!
//! A successor is described by what changes, and its fingerprint is the old one with those changes; its words are built
//! only if the fingerprint is new.

use super::action::Act;
use super::budget::{Budget, Cost};
use super::tables::{LetterFacts, Need, Step, Tables};

/// What an action changes. One is used for many, so that its memory is.
#[derive(Clone, Debug, Default)]
pub(super) struct Change {
    /// The goals that it breaks, as a set of bits.
    pub(super) violated: u32,
    host: Option<(usize, u32)>,
    watch: u32,
    budget: u32,
    removed: Option<usize>,
    added: Vec<u32>,
    /// The whole successor, where more changes than this.
    whole: Option<Vec<u32>>,
}

impl Tables {
    /// Everything that may happen in a state, in a fixed order.
    pub(super) fn actions(&self, state: &[u32], actions: &mut Vec<Act>) {
        actions.clear();
        let budget = self.budget(state);
        for (host, &number) in state[..self.n].iter().enumerate() {
            let moves = &self.host_facts[number as usize].moves;
            let allowed = moves.iter().enumerate().filter(|(_, step)| budget.allows(step.cost));
            actions.extend(allowed.map(|(place, _)| Act::Move(host, place)));
        }
        let faults = budget.has_letter_faults();
        let mut last_key = None;
        for (place, &letter) in state[self.letters_at()..].iter().enumerate() {
            let facts = &self.letter_facts[letter as usize];
            // The same key again: an equal letter, or one that has to wait for those before it.
            if last_key == Some(facts.key) {
                continue;
            }
            last_key = Some(facts.key);
            actions.push(Act::Deliver(place));
            if faults && facts.is_message {
                if budget.allows(Cost::Duplicate) {
                    actions.push(Act::DeliverAndKeep(place));
                }
                if budget.allows(Cost::Loss) {
                    actions.push(Act::Lose(place));
                }
            }
        }
        if self.rules.causal && budget.allows(Cost::Poke) {
            self.pokes_of(state, actions);
        }
        if self.rules.delay_bound.is_some() && self.may_tick(state) {
            actions.push(Act::Tick);
        }
    }

    fn pokes_of(&self, state: &[u32], actions: &mut Vec<Act>) {
        let pasts = &self.watch_facts[state[self.n] as usize].pasts;
        for from in (0..self.n).filter(|&from| pasts[from] != 0 && self.is_alive(state, from)) {
            actions.extend((0..self.n).filter(|&to| to != from).map(|to| Act::Poke(from, to)));
        }
    }

    fn may_tick(&self, state: &[u32]) -> bool {
        let hosts = state[..self.n].iter().map(|&host| &self.host_facts[host as usize]);
        let letters = &state[self.letters_at()..];
        let waits = !letters.is_empty() || hosts.clone().any(|host| host.armed);
        let due = letters.iter().any(|&letter| self.letter_facts[letter as usize].overdue)
            || hosts.clone().any(|host| host.overdue);
        waits && !due
    }

    pub(super) fn budget(&self, state: &[u32]) -> Budget {
        Budget::from_word(state[self.n + 1])
    }

    fn is_alive(&self, state: &[u32], host: usize) -> bool {
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
                Act::DeliverAndKeep(_) | Act::Lose(_) | Act::Poke(..) | Act::Tick => {}
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
                    | Cost::Timeout
                    | Cost::Call => {}
                }
            }
            Act::Deliver(place) => {
                change.removed = Some(place);
                self.deliver(state, place, change)?;
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
        Ok(())
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

    #[inline]
    fn befall(&self, state: &[u32], host: usize, event: u32, past: u32, change: &mut Change) -> Result<(), Need> {
        let step = &self.step_table[self.step(state[host], event)? as usize];
        change.host = Some((host, step.host));
        if self.rules.causal {
            return self.befall_causally(state, host, step, past, change);
        }
        // There are few, and copying a few one by one is faster than calling somebody to copy them.
        for &letter in &step.letters {
            change.added.push(letter);
        }
        if self.rules.bounds.crashes > 0 || !self.rules.absent.is_empty() {
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
        self.drop_added_to_the_gone(state, change);
        if reaction.gone {
            for letter in &mut change.added {
                *letter = self.without(*letter, host as u32)?;
            }
            self.rewrite(state, change, |letter| self.without(letter, host as u32).map(Some))?;
        }
        Ok(())
    }

    /// Whether nothing will ever happen to this host again.
    fn is_gone(&self, state: &[u32], budget: u32, host: usize) -> bool {
        !self.is_alive(state, host) && !Budget::from_word(budget).allows(Cost::Restart)
    }

    fn drop_added_to_the_gone(&self, state: &[u32], change: &mut Change) {
        let budget = change.budget;
        change.added.retain(|&letter| {
            let to = self.letter_facts[letter as usize].to as usize;
            !self.is_gone(state, budget, to)
        });
    }

    /// After a crash: who is to be told is told, and nothing reaches who will never live again.
    fn crashed(&self, state: &[u32], host: usize, change: &mut Change) {
        let mut next = self.built(state, change);
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
    fn restarted(&self, state: &[u32], host: usize, change: &mut Change) {
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

    fn drop_letters_to_the_gone(&self, state: &mut Vec<u32>) {
        let gone: Vec<_> = (0..self.n).map(|host| self.is_gone(state, state[self.n + 1], host)).collect();
        self.drop_letters(state, |facts| gone[facts.to as usize]);
    }

    fn drop_letters(&self, state: &mut Vec<u32>, drop: impl Fn(&LetterFacts) -> bool) {
        let (parts, letters) = state.split_at(self.letters_at());
        let kept: Vec<_> = letters.iter().filter(|&&letter| !drop(&self.letter_facts[letter as usize])).collect();
        *state = parts.iter().chain(kept).copied().collect();
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
            let same = place > 0 && self.letter_facts[letters[place - 1] as usize].key == facts.key;
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

    /// How many letters of the same key stand before the added letter of this place.
    fn run_of(&self, state: &[u32], change: &Change, place: usize) -> usize {
        let key_of = |letter: u32| self.letter_facts[letter as usize].key;
        let key = key_of(change.added[place]);
        let there = state[self.letters_at()..].iter().enumerate();
        let there = there.filter(|&(at, &letter)| key_of(letter) == key && change.removed != Some(at)).count();
        there + change.added[..place].iter().filter(|&&letter| key_of(letter) == key).count()
    }

    /// The fingerprint without the letter at this place, which is the first of its key.
    #[inline]
    fn without_letter(&self, state: &[u32], fingerprint: u64, place: usize) -> u64 {
        let letters = &state[self.letters_at()..];
        let facts = &self.letter_facts[letters[place] as usize];
        if !self.is_fifo() {
            return fingerprint.wrapping_sub(facts.hash);
        }
        let run = letters[place..].iter().take_while(|&&letter| self.letter_facts[letter as usize].key == facts.key);
        run.enumerate().fold(fingerprint, |sum, (at, &letter)| {
            let hash = self.letter_facts[letter as usize].hash;
            let sum = sum.wrapping_sub(hash.wrapping_mul(self.weight(at)));
            if at == 0 { sum } else { sum.wrapping_add(hash.wrapping_mul(self.weight(at - 1))) }
        })
    }
}
