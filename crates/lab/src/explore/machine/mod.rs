//! The transition system that is searched: every distinct part of a state once, every distinct step once.
//!
//! A global state is a short row of words: one number for each host, one for what watches, one for what is left of the
//! bounds, and one for each letter on its way. As a step is a pure function of a host and of what befalls it, its
//! result is computed once and remembered. While a level of the search is expanded, the tables are only read, by all
//! threads; what is missing in them is a need, and is provided between two levels, in a fixed
//! order. No answer depends on the numbers: letters stand in a state by who sends them to whom and in the order of
//! sending, and fingerprints, which come from contents, do not depend on that order.

mod provide;

use quorate_core::id::{Id, IdSet};
use quorate_core::process::{Notice, Process};
use quorate_core::trace::Recorded;

use crate::explore::budget::{Budget, Cost};
use crate::explore::goal::Goal;
use crate::explore::interner::Interner;
use crate::explore::tables::{FREE, HostFacts, LetterFacts, Move, Tables};
use crate::explore::tries::least;
use crate::explore::watch::{Seen, Watch};
use crate::stage::host::{Company, Happening, Host};
use crate::stage::wish::{Free, Wish};
use crate::stage::{Content, Letter, Rules};

/// The tables, and what the numbers in them stand for.
#[derive(Debug)]
pub(in crate::explore) struct Machine<P: Process, A> {
    pub(in crate::explore) tables: Tables,
    pub(in crate::explore) company: Company<P>,
    hosts: Interner<(Id, Host<P, A>)>,
    letters: Interner<Letter<P::Message>>,
    events: Interner<Happening<P>>,
}

impl<P, A> Machine<P, A>
where
    P: Process<Input: Recorded, Output: Recorded>,
    A: Free<P>,
{
    /// The tables of a search, and its first state.
    pub(in crate::explore) fn new(
        company: Company<P>,
        rules: Rules,
        goals: &[Goal],
        salt: u64,
    ) -> (Machine<P, A>, Vec<u32>) {
        let n = company.group.n;
        let mut machine = Machine {
            tables: Tables::new(rules, n as usize, salt),
            company,
            hosts: Interner::new(salt + 1),
            letters: Interner::new(salt + 2),
            events: Interner::new(salt + 3),
        };
        machine.tables.renumbers = machine.has_endless_tries();
        machine.tables.is_plain &= !machine.tables.renumbers;
        machine.tables.tick = machine.event(Happening::Tick);
        for (about, to) in Id::all(n).flat_map(|about| Id::all(n).map(move |to| (about, to))) {
            let crash = machine.letter(Letter::notice(about, to, Notice::Suspect(about)));
            let back = machine.letter(Letter::notice(about, to, Notice::Trust(about)));
            machine.tables.news.push((crash, back));
        }
        let first = machine.first_state(Watch::new(goals, &machine.tables.rules, n));
        (machine, first)
    }

    /// Whether nothing bounds the tries, and all that there is of them are their numbers. (A crash would leave some of
    /// those on a disk.)
    fn has_endless_tries(&self) -> bool {
        let Rules { bounds, .. } = &self.tables.rules;
        let endless = bounds.timeouts.is_none() && bounds.crashes == 0;
        endless && Host::<P, A>::new(Id::at(0), &self.company, self.tables.rules.times).tries().is_some()
    }

    /// Everybody who is not absent has started.
    fn first_state(&mut self, watch: Watch) -> Vec<u32> {
        let n = self.tables.n as u32;
        let (mut hosts, mut letters, mut watch) = (Vec::new(), Vec::new(), watch);
        for id in Id::all(n) {
            let mut host = Host::new(id, &self.company, self.tables.rules.times_of(id, n));
            let absent = self.tables.rules.absent.contains(&id);
            let happening = if absent { Happening::Crash } else { Happening::Start };
            let after = host.befall(id, happening, &self.company);
            let seen: Vec<_> = after.records.into_iter().filter(|what| watch.sees(what)).map(Seen::Happened).collect();
            let reaction = watch.react(id, &seen, &IdSet::new());
            watch = reaction.watch;
            self.tables.violated_at_first |= reaction.violated;
            letters.extend(after.sends.into_iter().map(|(to, message)| Letter {
                from: id,
                to,
                content: Content::Message(message),
                past: IdSet::new(),
                age: 0,
            }));
            hosts.push(host);
        }
        let live = |id: Id| !self.tables.rules.absent.contains(&id);
        let waits = self.tables.rules.bounds.restarts > 0 && !self.tables.rules.sessions;
        letters.retain(|letter| letter.to.number() <= n && (live(letter.to) || waits));
        if self.tables.rules.detector {
            for to in Id::all(n).filter(|&id| live(id)) {
                letters.extend(self.tables.rules.absent.iter().map(|&id| Letter::notice(id, to, Notice::Suspect(id))));
            }
        }
        let mut state: Vec<u32> = Id::all(n).zip(hosts).map(|(id, host)| self.host(id, host)).collect();
        state.push(self.tables.watch(watch));
        state.push(Budget::new(&self.tables.rules.bounds, self.tables.rules.elects).word());
        for letter in letters {
            let letter = self.letter(letter);
            self.tables.insert(&mut state, letter);
        }
        state
    }

    pub(in crate::explore) fn host_value(&self, number: u32) -> &Host<P, A> {
        &self.hosts.value(number).1
    }

    pub(in crate::explore) fn letter_value(&self, number: u32) -> &Letter<P::Message> {
        self.letters.value(number)
    }

    pub(in crate::explore) fn event_value(&self, number: u32) -> &Happening<P> {
        self.events.value(number)
    }

    fn host(&mut self, id: Id, host: Host<P, A>) -> u32 {
        let (number, new) = self.hosts.intern((id, host));
        if new {
            let facts = self.facts_of_host(number);
            self.tables.host_hashes.push(self.hosts.hash(number));
            self.tables.host_facts.push(facts);
            let mut host = self.hosts.value(number).1.clone();
            let tries = if self.tables.renumbers { host.tries() } else { None };
            self.tables.host_tries.push(least(tries.unwrap_or_default()));
        }
        number
    }

    fn facts_of_host(&mut self, number: u32) -> HostFacts {
        let host = self.hosts.value(number).1.clone();
        let mut moves = Vec::new();
        for wish in host.wishes() {
            let (cost, due) = match wish {
                Wish::Enter => (Cost::Nothing, false),
                Wish::Exit => (Cost::Nothing, true),
                Wish::Withdraw => (Cost::Withdrawal, false),
                Wish::Call => (Cost::Call, false),
                Wish::Read => (Cost::Read, false),
                Wish::Write => (Cost::Write, false),
            };
            moves.push(Move { event: self.event(Happening::Wish(wish)), cost, due });
        }
        for timer in host.ripe() {
            let event = self.event(Happening::Timeout(timer.clone()));
            moves.push(Move { event, cost: Cost::Timeout, due: true });
        }
        let (life, cost) =
            if host.is_alive() { (Happening::Crash, Cost::Crash) } else { (Happening::Restart, Cost::Restart) };
        moves.push(Move { event: self.event(life), cost, due: false });
        // What is never allowed is no move: most searches are without faults.
        let allowed = Budget::new(&self.tables.rules.bounds, false);
        moves.retain(|step| step.cost == Cost::Timeout || allowed.allows(step.cost));
        let armed = host.armed().next().is_some();
        HostFacts {
            waits: host.is_waiting(),
            due: armed || moves.iter().any(|step| step.due),
            armed,
            overdue: host.is_overdue(),
            alive: host.is_alive(),
            moves,
        }
    }

    fn event(&mut self, happening: Happening<P>) -> u32 {
        self.events.intern(happening).0
    }

    fn letter(&mut self, letter: Letter<P::Message>) -> u32 {
        let (from, to) = (letter.from.index() as u32, letter.to.index() as u32);
        let event = self.event(letter.arrival());
        let past = self.tables.pasts.intern(letter.past.clone()).0;
        let ordered = letter.is_ordered(&self.tables.rules);
        let is_end_of_session = letter.is_end_of_session(&self.tables.rules);
        let is_message = matches!(letter.content, Content::Message(_));
        let is_notice = matches!(letter.content, Content::Notice(_));
        let overdue = self.tables.rules.delay_bound.is_some_and(|bound| letter.age >= bound);
        let (number, new) = self.letters.intern(letter);
        if new {
            let channel = from * self.tables.n as u32 + to;
            let key = if ordered { channel } else { FREE | channel };
            let hash = self.letters.hash(number);
            let mut letter = self.letters.value(number).clone();
            let tries = if self.tables.renumbers { letter.tries() } else { Vec::new() };
            self.tables.letter_tries.push(least(tries));
            self.tables.letter_facts.push(LetterFacts {
                hash,
                key,
                event,
                from,
                to,
                past,
                is_message,
                is_notice,
                is_end_of_session,
                overdue,
            });
        }
        number
    }
}
