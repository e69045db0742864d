//! What the tables lack is computed here: steps of hosts, reactions of watches, letters that carry something else.

use quorate_core::clock::Number;
use quorate_core::id::{Id, IdSet};
use quorate_core::process::Process;
use quorate_core::trace::{Recorded, What};

use super::Machine;
use crate::explore::tables::{Need, Part, Provider, Step, Tables};
use crate::explore::tries;
use crate::explore::watch::Seen;
use crate::stage::host::Happening;
use crate::stage::wish::Free;
use crate::stage::{Content, Letter};

impl<P, A> Provider for Machine<P, A>
where
    P: Process<Input: Recorded, Output: Recorded>,
    A: Free<P>,
{
    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn provide(&mut self, need: Need) {
        match need {
            Need::Step { host, event } => self.provide_step(host, event),
            Need::Reaction { watch, batch, past } => self.tables.provide_reaction(watch, batch, past),
            Need::Carrying { letter, past } => {
                let mut carrying = self.letters.value(letter).clone();
                carrying.past = self.tables.pasts.value(past).clone();
                let carrying = self.letter(carrying);
                self.tables.carrying.insert((letter, past), carrying);
            }
            Need::Without { letter, host } => {
                let mut without = self.letters.value(letter).clone();
                without.past.remove(Id::at(host as usize));
                let without = self.letter(without);
                self.tables.without.insert((letter, host), without);
            }
            Need::Older { letter } => {
                let mut older = self.letters.value(letter).clone();
                older.age += 1;
                let older = self.letter(older);
                self.tables.older.insert(letter, older);
            }
            Need::CutShort { event, effects } => {
                let cut = Happening::CutShort(Box::new(self.events.value(event).clone()), effects);
                let cut = self.event(cut);
                self.tables.cut_short.insert((event, effects), cut);
            }
            Need::Renumbered(part, shift) => {
                let smaller =
                    |host: usize, number: u64| if host == shift.host as usize { number - shift.by } else { number };
                let renumbered = match part {
                    Part::Host(number) => {
                        let (id, mut host) = self.hosts.value(number).clone();
                        tries::change(host.tries().unwrap_or_default(), smaller);
                        self.host(id, host)
                    }
                    Part::Letter(number) => {
                        let mut letter = self.letters.value(number).clone();
                        tries::change(letter.tries(), smaller);
                        self.letter(letter)
                    }
                };
                self.tables.renumbered.insert((part, shift), renumbered);
            }
            Need::Poke { host, from, to, past } => {
                let stamp: Option<Number> = self.tables.rules.stamped_pokes.then(|| self.host_value(host).stamp());
                let (from, to_id) = (Id::at(from as usize), Id::at(to as usize));
                let past_set = self.tables.pasts.value(past).clone();
                let letter = Letter { from, to: to_id, content: Content::Poke(stamp), past: past_set, age: 0 };
                let letter = self.letter(letter);
                self.tables.pokes.insert((host, to, past), letter);
            }
        }
    }
}

impl<P, A> Machine<P, A>
where
    P: Process<Input: Recorded, Output: Recorded>,
    A: Free<P>,
{
    fn provide_step(&mut self, number: u32, event: u32) {
        let (id, mut host) = self.hosts.value(number).clone();
        let after = host.befall(id, self.events.value(event).clone(), &self.company);
        let causal = self.tables.rules.causal;
        let seen = after.records.iter().filter_map(|what| match what {
            What::Sent { to, .. } if causal && to.number() <= self.tables.n as u32 => Some(Seen::Sent),
            what if self.tables.watches.value(0).sees(what) => Some(Seen::Happened(what.clone())),
            _ => None,
        });
        let seen: Vec<_> = seen.collect();
        let is_seen = !seen.is_empty();
        let batch = self.tables.batches.intern((id, seen)).0;
        // A broken algorithm may send to somebody who does not exist: that is lost.
        let n = self.tables.n as u32;
        let sends = after.sends.into_iter().filter(|(to, _)| to.number() <= n);
        let letters: Vec<_> = sends
            .map(|(to, message)| {
                let content = Content::Message(message);
                self.letter(Letter { from: id, to, content, past: IdSet::new(), age: 0 })
            })
            .collect();
        let host = self.host(id, host);
        let tables = &self.tables;
        let difference = tables.host_hash(host).wrapping_sub(tables.host_hash(number));
        let hashes = letters.iter().map(|&letter| tables.letter_facts[letter as usize].hash);
        let difference = hashes.fold(difference, u64::wrapping_add);
        let step = Step { host, letters: letters.into(), batch, is_seen, effects: after.effects, difference };
        self.tables.steps.insert(number, event, self.tables.step_table.len() as u32);
        self.tables.step_table.push(step);
    }
}
