//! The transition system that is searched: every distinct part of a state once, every distinct step once.
//!
//! A global state is a short row of words: one number for each host, one for what watches, one for what is left of the
//! bounds, and one for each letter on its way. As a step is a pure function of a host and of what befalls it, its result
//! is computed once and remembered. While a level of the search is expanded, the tables are only read, by all threads;
//! what is missing in them is a [`Need`], and is [provided](Machine::provide) between two levels, in a fixed order. So
//! numbers are the same whatever the number of threads, and fingerprints come from contents, not from numbers.

use quorate_core::clock::Number;
use quorate_core::id::{Id, IdSet};
use quorate_core::process::{Notice, Process};
use quorate_core::trace::{Recorded, What};
use rustc_hash::FxHashMap;

use super::budget::{Budget, Cost};
use super::goal::Goal;
use super::interner::Interner;
use super::pairs::Pairs;
use super::watch::{Seen, Watch};
use crate::network::Order;
use crate::random::mix;
use crate::stage::host::{Company, Happening, Host};
use crate::stage::wish::{Free, Times, Wish};
use crate::stage::{Content, Letter, Rules};

/// Something that may happen in a state: what kind it is, and at which places of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Action(u32);

/// What an action says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// A host makes one of its moves: which host, which of its moves.
    Move(usize, usize),
    /// The letter at this place arrives.
    Deliver(usize),
    /// The letter at this place arrives, and stays.
    DeliverAndKeep(usize),
    /// The letter at this place is lost.
    Lose(usize),
    /// The application of the first host sends a message to the second.
    Poke(usize, usize),
    /// Time passes.
    Tick,
}

impl Act {
    pub(super) fn pack(self) -> Action {
        let pack = |kind: u32, a: usize, b: usize| Action(kind << 28 | (a as u32) << 14 | b as u32);
        match self {
            Act::Move(host, place) => pack(0, host, place),
            Act::Deliver(place) => pack(1, 0, place),
            Act::DeliverAndKeep(place) => pack(2, 0, place),
            Act::Lose(place) => pack(3, 0, place),
            Act::Poke(from, to) => pack(4, from, to),
            Act::Tick => pack(5, 0, 0),
        }
    }
}

impl Action {
    pub(super) fn unpack(self) -> Act {
        let (a, b) = ((self.0 >> 14 & 0x3fff) as usize, (self.0 & 0x3fff) as usize);
        match self.0 >> 28 {
            0 => Act::Move(a, b),
            1 => Act::Deliver(b),
            2 => Act::DeliverAndKeep(b),
            3 => Act::Lose(b),
            4 => Act::Poke(a, b),
            _ => Act::Tick,
        }
    }
}

/// What is missing in the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Step {
        host: u32,
        event: u32,
    },
    Reaction {
        watch: u32,
        batch: u32,
        past: u32,
    },
    /// The letter, carrying this past.
    Carrying {
        letter: u32,
        past: u32,
    },
    /// The letter, without this process's request in its past.
    Without {
        letter: u32,
        host: u32,
    },
    /// The letter, a tick older.
    Older {
        letter: u32,
    },
    /// An application's message.
    Poke {
        host: u32,
        from: u32,
        to: u32,
        past: u32,
    },
}

/// What a host may do by itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    pub(super) event: u32,
    pub(super) cost: Cost,
    /// Whether it has to happen some time, unless something else makes it impossible.
    pub(super) due: bool,
}

/// What the search has to know of a host.
#[derive(Clone, Debug)]
pub(super) struct HostFacts {
    pub(super) moves: Vec<Move>,
    pub(super) waits: bool,
    /// Whether it must do something before a run can end: leave, or let a timer run out.
    pub(super) due: bool,
    pub(super) armed: bool,
    pub(super) overdue: bool,
    pub(super) alive: bool,
}

/// What the search has to know of a letter.
#[derive(Clone, Copy, Debug)]
pub(super) struct LetterFacts {
    pub(super) hash: u64,
    /// Where it stands in a state. Those with the same key arrive in order, or are the same.
    pub(super) key: u32,
    /// What befalls who gets it.
    pub(super) event: u32,
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) past: u32,
    pub(super) is_message: bool,
    pub(super) is_notice: bool,
    pub(super) overdue: bool,
}

/// What a step makes of a host.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) host: u32,
    pub(super) letters: Box<[u32]>,
    /// What a watch sees of it, and whether that is anything.
    pub(super) batch: u32,
    pub(super) is_seen: bool,
}

/// What a watch makes of a step.
#[derive(Clone, Debug)]
pub(super) struct WatchStep {
    pub(super) watch: u32,
    pub(super) violated: u32,
    pub(super) pasts: Box<[u32]>,
    pub(super) gone: bool,
}

/// What the search has to know of a watch.
#[derive(Clone, Debug)]
pub(super) struct WatchFacts {
    /// The past of each host, if that matters.
    pub(super) pasts: Box<[u32]>,
    /// The goals that are broken if the run ends here, as a set of bits.
    pub(super) at_the_end: u32,
}

/// The tables.
#[derive(Debug)]
pub(super) struct Machine<P: Process, A> {
    pub(super) rules: Rules,
    pub(super) company: Company<P>,
    pub(super) n: usize,
    hosts: Interner<(Id, Host<P, A>)>,
    pub(super) host_facts: Vec<HostFacts>,
    letters: Interner<Letter<P::Message>>,
    pub(super) letter_facts: Vec<LetterFacts>,
    events: Interner<Happening<P>>,
    watches: Interner<Watch>,
    pub(super) watch_facts: Vec<WatchFacts>,
    pasts: Interner<IdSet>,
    batches: Interner<(Id, Vec<Seen>)>,
    steps: Pairs,
    /// The steps of each host that the search has followed: what befell it, and which step that is.
    pub(super) followed: Vec<Vec<(u32, u32)>>,
    pub(super) step_table: Vec<Step>,
    reactions: FxHashMap<(u32, u32, u32), WatchStep>,
    carrying: FxHashMap<(u32, u32), u32>,
    without: FxHashMap<(u32, u32), u32>,
    older: FxHashMap<u32, u32>,
    pokes: FxHashMap<(u32, u32, u32), u32>,
    /// The letters that tell of a crash and of a return, by who it is about and who is told.
    pub(super) news: Vec<(u32, u32)>,
    pub(super) tick: u32,
    pub(super) most_overtaken: u32,
}

impl<P, A> Machine<P, A>
where
    P: Process<Input: Recorded, Output: Recorded>,
    A: Free<P>,
{
    /// The tables of a search, and its first state.
    pub(super) fn new(company: Company<P>, rules: Rules, goals: &[Goal]) -> (Machine<P, A>, Vec<u32>) {
        let n = company.group.n;
        let mut machine = Machine {
            rules,
            company,
            n: n as usize,
            hosts: Interner::new(1),
            host_facts: Vec::new(),
            letters: Interner::new(2),
            letter_facts: Vec::new(),
            events: Interner::new(3),
            watches: Interner::new(4),
            watch_facts: Vec::new(),
            pasts: Interner::new(5),
            batches: Interner::new(6),
            steps: Pairs::default(),
            followed: Vec::new(),
            step_table: Vec::new(),
            reactions: FxHashMap::default(),
            carrying: FxHashMap::default(),
            without: FxHashMap::default(),
            older: FxHashMap::default(),
            pokes: FxHashMap::default(),
            news: Vec::new(),
            tick: 0,
            most_overtaken: 0,
        };
        machine.pasts.intern(IdSet::new());
        machine.tick = machine.events.intern(Happening::Tick).0;
        for (about, to) in Id::all(n).flat_map(|about| Id::all(n).map(move |to| (about, to))) {
            let crash = machine.letter(Letter::notice(about, to, Notice::Suspect(about)));
            let back = machine.letter(Letter::notice(about, to, Notice::Trust(about)));
            machine.news.push((crash, back));
        }
        let counts_bypass = goals.contains(&Goal::StarvationFreedom) && matches!(machine.rules.times, Times::AtMost(_));
        let first = machine.first_state(Watch::new(goals, n, counts_bypass));
        (machine, first)
    }

    /// Everybody who is not absent has started.
    fn first_state(&mut self, watch: Watch) -> Vec<u32> {
        let n = self.n as u32;
        let (mut hosts, mut letters, mut watch) = (Vec::new(), Vec::new(), watch);
        for id in Id::all(n) {
            let mut host = Host::new(id, &self.company, self.rules.times_of(id, n));
            let absent = self.rules.absent.contains(&id);
            let happening = if absent { Happening::Crash } else { Happening::Start };
            let after = host.befall(id, happening, &self.company);
            let seen: Vec<_> = after.records.into_iter().filter(|what| watch.sees(what)).map(Seen::Happened).collect();
            watch = watch.react(id, &seen, &IdSet::new()).watch;
            letters.extend(after.sends.into_iter().map(|(to, message)| Letter {
                from: id,
                to,
                content: Content::Message(message),
                past: IdSet::new(),
                age: 0,
            }));
            hosts.push(host);
        }
        let live = |id: Id| !self.rules.absent.contains(&id);
        letters.retain(|letter| letter.to.number() <= n && (live(letter.to) || self.rules.bounds.restarts > 0));
        if self.rules.detector {
            for to in Id::all(n).filter(|&id| live(id)) {
                letters.extend(self.rules.absent.iter().map(|&id| Letter::notice(id, to, Notice::Suspect(id))));
            }
        }
        let mut state: Vec<u32> = Id::all(n).zip(hosts).map(|(id, host)| self.host(id, host)).collect();
        state.push(self.watch(watch));
        state.push(Budget::new(&self.rules.bounds, self.rules.elects).word());
        for letter in letters {
            let letter = self.letter(letter);
            self.insert(&mut state, letter);
        }
        state
    }

    /// Where the letters of a state begin.
    #[inline]
    pub(super) fn letters_at(&self) -> usize {
        self.n + 2
    }

    pub(super) fn host_value(&self, number: u32) -> &Host<P, A> {
        &self.hosts.value(number).1
    }

    pub(super) fn letter_value(&self, number: u32) -> &Letter<P::Message> {
        self.letters.value(number)
    }

    pub(super) fn event_value(&self, number: u32) -> &Happening<P> {
        self.events.value(number)
    }

    #[inline]
    pub(super) fn host_hash(&self, number: u32) -> u64 {
        self.hosts.hash(number)
    }

    #[inline]
    pub(super) fn watch_hash(&self, number: u32) -> u64 {
        self.watches.hash(number)
    }

    #[inline]
    pub(super) fn step(&self, host: u32, event: u32) -> Result<u32, Need> {
        self.steps.get(host, event).ok_or(Need::Step { host, event })
    }

    #[inline]
    pub(super) fn reaction(&self, watch: u32, batch: u32, past: u32) -> Result<&WatchStep, Need> {
        self.reactions.get(&(watch, batch, past)).ok_or(Need::Reaction { watch, batch, past })
    }

    pub(super) fn carrying(&self, letter: u32, past: u32) -> Result<u32, Need> {
        if past == 0 {
            return Ok(letter);
        }
        self.carrying.get(&(letter, past)).copied().ok_or(Need::Carrying { letter, past })
    }

    pub(super) fn without(&self, letter: u32, host: u32) -> Result<u32, Need> {
        if self.letter_facts[letter as usize].past == 0 {
            return Ok(letter);
        }
        self.without.get(&(letter, host)).copied().ok_or(Need::Without { letter, host })
    }

    pub(super) fn older(&self, letter: u32) -> Result<u32, Need> {
        self.older.get(&letter).copied().ok_or(Need::Older { letter })
    }

    /// The letter that the application of this host would send, and the past it carries.
    pub(super) fn poke(&self, host: u32, from: u32, to: u32, past: u32) -> Result<u32, Need> {
        self.pokes.get(&(host, to, past)).copied().ok_or(Need::Poke { host, from, to, past })
    }

    /// Computes what was missing.
    pub(super) fn provide(&mut self, need: Need) {
        match need {
            Need::Step { host, event } => self.provide_step(host, event),
            Need::Reaction { watch, batch, past } => self.provide_reaction(watch, batch, past),
            Need::Carrying { letter, past } => {
                let mut carrying = self.letters.value(letter).clone();
                carrying.past = self.pasts.value(past).clone();
                let carrying = self.letter(carrying);
                self.carrying.insert((letter, past), carrying);
            }
            Need::Without { letter, host } => {
                let mut without = self.letters.value(letter).clone();
                without.past.remove(Id::at(host as usize));
                let without = self.letter(without);
                self.without.insert((letter, host), without);
            }
            Need::Older { letter } => {
                let mut older = self.letters.value(letter).clone();
                older.age += 1;
                let older = self.letter(older);
                self.older.insert(letter, older);
            }
            Need::Poke { host, from, to, past } => {
                let stamp: Option<Number> = self.rules.stamped_pokes.then(|| self.host_value(host).stamp());
                let (from, to_id) = (Id::at(from as usize), Id::at(to as usize));
                let past_set = self.pasts.value(past).clone();
                let letter = Letter { from, to: to_id, content: Content::Poke(stamp), past: past_set, age: 0 };
                let letter = self.letter(letter);
                self.pokes.insert((host, to, past), letter);
            }
        }
    }

    fn provide_step(&mut self, host: u32, event: u32) {
        let step = self.compute_step(host, event);
        let place = self.step_table.len() as u32;
        self.steps.insert(host, event, place);
        self.followed[host as usize].push((event, place));
        self.step_table.push(step);
    }

    /// What a step makes of a host.
    pub(super) fn compute_step(&mut self, number: u32, event: u32) -> Step {
        let (id, mut host) = self.hosts.value(number).clone();
        let after = host.befall(id, self.events.value(event).clone(), &self.company);
        let causal = self.rules.causal;
        let seen = after.records.iter().filter_map(|what| match what {
            What::Sent { to, .. } if causal && to.number() <= self.n as u32 => Some(Seen::Sent),
            what if self.watches.value(0).sees(what) => Some(Seen::Happened(what.clone())),
            _ => None,
        });
        let seen: Vec<_> = seen.collect();
        let is_seen = !seen.is_empty();
        let batch = self.batches.intern((id, seen)).0;
        // A broken algorithm may send to somebody who does not exist: that is lost.
        let n = self.n as u32;
        let sends = after.sends.into_iter().filter(|(to, _)| to.number() <= n);
        let letters: Vec<_> = sends
            .map(|(to, message)| {
                let content = Content::Message(message);
                self.letter(Letter { from: id, to, content, past: IdSet::new(), age: 0 })
            })
            .collect();
        let host = self.host(id, host);
        Step { host, letters: letters.into(), batch, is_seen }
    }

    fn provide_reaction(&mut self, watch: u32, batch: u32, past: u32) {
        let (id, seen) = self.batches.value(batch);
        let reaction = self.watches.value(watch).react(*id, seen, self.pasts.value(past));
        let next = self.watch(reaction.watch);
        let pasts = reaction.pasts.into_iter().map(|past| self.pasts.intern(past).0).collect();
        let step = WatchStep { watch: next, violated: reaction.violated, pasts, gone: reaction.gone };
        self.reactions.insert((watch, batch, past), step);
    }

    fn host(&mut self, id: Id, host: Host<P, A>) -> u32 {
        let (number, new) = self.hosts.intern((id, host));
        if new {
            self.followed.push(Vec::new());
            let facts = self.facts_of_host(number);
            self.host_facts.push(facts);
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
            };
            moves.push(Move { event: self.events.intern(Happening::Wish(wish)).0, cost, due });
        }
        for timer in host.ripe() {
            let event = self.events.intern(Happening::Timeout(timer.clone())).0;
            moves.push(Move { event, cost: Cost::Timeout, due: true });
        }
        let (life, cost) =
            if host.is_alive() { (Happening::Crash, Cost::Crash) } else { (Happening::Restart, Cost::Restart) };
        moves.push(Move { event: self.events.intern(life).0, cost, due: false });
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

    fn letter(&mut self, letter: Letter<P::Message>) -> u32 {
        let (from, to) = (letter.from.index() as u32, letter.to.index() as u32);
        let event = self.events.intern(letter.arrival()).0;
        let past = self.pasts.intern(letter.past.clone()).0;
        let ordered = letter.is_ordered(self.rules.order);
        let is_message = matches!(letter.content, Content::Message(_));
        let is_notice = matches!(letter.content, Content::Notice(_));
        let overdue = self.rules.delay_bound.is_some_and(|bound| letter.age >= bound);
        let (number, new) = self.letters.intern(letter);
        if new {
            // With FIFO channels the letters of one stand together, before all that are free.
            let key = if ordered { from * self.n as u32 + to } else { FREE | number };
            let hash = self.letters.hash(number);
            self.letter_facts.push(LetterFacts { hash, key, event, from, to, past, is_message, is_notice, overdue });
        }
        number
    }

    fn watch(&mut self, watch: Watch) -> u32 {
        let causality = watch.causality();
        let pasts = if self.rules.causal {
            Id::all(self.n as u32).map(|id| self.pasts.intern(causality.known_to(id)).0).collect()
        } else {
            Box::default()
        };
        let facts = WatchFacts { pasts, at_the_end: watch.violated_at_the_end() };
        self.most_overtaken = self.most_overtaken.max(watch.most_overtaken());
        let (number, new) = self.watches.intern(watch);
        if new {
            self.watch_facts.push(facts);
        }
        number
    }

    /// Puts a letter where it stands in a state.
    pub(super) fn insert(&self, state: &mut Vec<u32>, letter: u32) {
        let key = self.letter_facts[letter as usize].key;
        let mut place = state.len();
        while place > self.letters_at() && self.letter_facts[state[place - 1] as usize].key > key {
            place -= 1;
        }
        state.insert(place, letter);
    }

    /// Whether letters of one channel arrive in order.
    #[inline]
    pub(super) fn is_fifo(&self) -> bool {
        self.rules.order == Order::Fifo
    }

    /// How much the place within a channel changes the hash of a letter.
    #[inline]
    pub(super) fn weight(&self, place_in_channel: usize) -> u64 {
        match self.rules.order {
            Order::Any => 1,
            Order::Fifo => PLACE.wrapping_pow(place_in_channel as u32),
        }
    }

    /// The fingerprint of a budget.
    #[inline]
    pub(super) fn budget_hash(budget: u32) -> u64 {
        mix(u64::from(budget), 7, 0)
    }
}

/// Letters that wait for no other stand behind those that do.
pub(super) const FREE: u32 = 1 << 31;

const PLACE: u64 = 0x9e37_79b9_7f4a_7c15;
