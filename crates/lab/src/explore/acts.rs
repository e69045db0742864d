//! What may happen in a state.

use super::action::Act;
use super::budget::Cost;
use super::tables::{Need, Tables};

impl Tables {
    /// Everything that may happen in a state, in a fixed order; or what is missing to tell.
    pub(super) fn actions(&self, state: &[u32], actions: &mut Vec<Act>) -> Result<(), Need> {
        actions.clear();
        let budget = self.budget(state);
        for (host, &number) in state[..self.n].iter().enumerate() {
            let moves = &self.host_facts[number as usize].moves;
            let allowed = moves.iter().enumerate().filter(|(_, step)| budget.allows(step.cost));
            actions.extend(allowed.map(|(place, _)| Act::Move(host, place)));
        }
        let faults = budget.has_letter_faults();
        let (mut last, mut is_told) = (None, false);
        for (place, &letter) in state[self.letters_at()..].iter().enumerate() {
            let facts = &self.letter_facts[letter as usize];
            // An equal letter, or one that has to wait for those before it. The end of a session waits only for what
            // else is told.
            if last.is_some_and(|last| self.are_in_one_queue(last, letter)) {
                if facts.is_end_of_session && !is_told {
                    actions.push(Act::Deliver(place));
                }
                is_told |= facts.is_notice;
                continue;
            }
            (last, is_told) = (Some(letter), facts.is_notice);
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
        if budget.allows(Cost::Suspicion) {
            let pairs = (0..self.n).flat_map(|host| (0..self.n).map(move |of| (host, of)));
            let may = pairs.filter(|&(host, of)| host != of && self.may_suspect(state, host, of));
            actions.extend(may.map(|(host, of)| Act::Suspect(host, of)));
        }
        if budget.allows(Cost::Crash) {
            self.cut_short_of(state, actions)?;
        }
        if self.rules.causal && budget.allows(Cost::Poke) {
            self.pokes_of(state, actions);
        }
        if self.rules.delay_bound.is_some() && self.may_tick(state) {
            actions.push(Act::Tick);
        }
        Ok(())
    }

    /// The actions so far, cut short by a crash between any two of their effects.
    pub(super) fn cut_short_of(&self, state: &[u32], actions: &mut Vec<Act>) -> Result<(), Need> {
        for at in 0..actions.len() {
            match actions[at] {
                Act::Move(host, place) => {
                    let step = self.host_facts[state[host] as usize].moves[place];
                    if step.cost != Cost::Crash {
                        let effects = self.effects(state[host], step.event)?;
                        actions.extend((1..effects).map(|some| Act::MoveCutShort(host, place, some)));
                    }
                }
                Act::Deliver(place) => {
                    let effects = self.effects_of_arrival(state, place)?;
                    actions.extend((1..effects).map(|some| Act::DeliverCutShort(place, some)));
                }
                Act::DeliverAndKeep(place) => {
                    let effects = self.effects_of_arrival(state, place)?;
                    actions.extend((1..effects).map(|some| Act::DeliverAndKeepCutShort(place, some)));
                }
                Act::Suspect(host, of) => {
                    let effects = self.effects(state[host], self.suspicion(host, of))?;
                    actions.extend((1..effects).map(|some| Act::SuspectCutShort(host, of, some)));
                }
                Act::Lose(_)
                | Act::Poke(..)
                | Act::MoveCutShort(..)
                | Act::DeliverCutShort(..)
                | Act::DeliverAndKeepCutShort(..)
                | Act::SuspectCutShort(..)
                | Act::Tick => {}
            }
        }
        Ok(())
    }

    /// How many effects it has that the letter at this place arrives. At the dead nothing comes of it.
    fn effects_of_arrival(&self, state: &[u32], place: usize) -> Result<usize, Need> {
        let facts = &self.letter_facts[state[self.letters_at() + place] as usize];
        let host = facts.to as usize;
        if self.is_alive(state, host) { self.effects(state[host], facts.event) } else { Ok(0) }
    }

    /// How many effects an event has at a host.
    fn effects(&self, host: u32, event: u32) -> Result<usize, Need> {
        Ok(self.step_table[self.step(host, event)? as usize].effects)
    }

    /// Whether one may suspect another: both live, and nothing is to be told it of the other.
    pub(super) fn may_suspect(&self, state: &[u32], host: usize, of: usize) -> bool {
        self.is_alive(state, host) && self.is_alive(state, of) && !self.is_to_be_told(state, host, of, None)
    }

    /// Whether news of another are on their way to a host, in a letter other than this one.
    pub(super) fn is_to_be_told(&self, state: &[u32], host: usize, of: usize, other_than: Option<usize>) -> bool {
        let mut letters = state[self.letters_at()..].iter().enumerate();
        letters.any(|(place, &letter)| {
            let facts = &self.letter_facts[letter as usize];
            let is_news = facts.is_notice && facts.from as usize == of && facts.to as usize == host;
            is_news && other_than != Some(place)
        })
    }

    pub(super) fn pokes_of(&self, state: &[u32], actions: &mut Vec<Act>) {
        let pasts = &self.watch_facts[state[self.n] as usize].pasts;
        for from in (0..self.n).filter(|&from| pasts[from] != 0 && self.is_alive(state, from)) {
            actions.extend((0..self.n).filter(|&to| to != from).map(|to| Act::Poke(from, to)));
        }
    }

    pub(super) fn may_tick(&self, state: &[u32]) -> bool {
        let hosts = state[..self.n].iter().map(|&host| &self.host_facts[host as usize]);
        let letters = &state[self.letters_at()..];
        let waits = !letters.is_empty() || hosts.clone().any(|host| host.armed);
        let due = letters.iter().any(|&letter| self.letter_facts[letter as usize].overdue)
            || hosts.clone().any(|host| host.overdue);
        waits && !due
    }
}
