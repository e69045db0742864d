//! The transition system that is searched: every distinct part of a state once, every distinct step once.
//!
//! A global state is a short row of words: one number for each host, one for what watches, one for what is left of the
//! bounds, and one for each letter on its way. As a step is a pure function of a host and of what befalls it, its
//! result is computed once and remembered. While a level of the search is expanded, the tables are only read, by all
//! threads; what is missing in them is a [`Need`], and is [provided](Machine::provide) between two levels, in a fixed
//! order. So numbers are the same whatever the number of threads, and fingerprints come from contents, not from
//! numbers.

mod provide;

use quorate_core::id::{Id, IdSet};
use quorate_core::process::{Notice, Process};
use quorate_core::trace::Recorded;
use rustc_hash::FxHashMap;

use crate::explore::budget::{Budget, Cost};
use crate::explore::goal::Goal;
use crate::explore::interner::Interner;
use crate::explore::pairs::Pairs;
use crate::explore::watch::{Seen, Watch};
use crate::network::Order;
use crate::random::mix;
use crate::stage::host::{Company, Happening, Host};
use crate::stage::wish::{Free, Times, Wish};
use crate::stage::{Content, Letter, Rules};

/// What is missing in the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::explore) enum Need {
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
pub(in crate::explore) struct Move {
    pub(in crate::explore) event: u32,
    pub(in crate::explore) cost: Cost,
    /// Whether it has to happen some time, unless something else makes it impossible.
    pub(in crate::explore) due: bool,
}

/// What the search has to know of a host.
#[derive(Clone, Debug)]
pub(in crate::explore) struct HostFacts {
    pub(in crate::explore) moves: Vec<Move>,
    pub(in crate::explore) waits: bool,
    /// Whether it must do something before a run can end: leave, or let a timer run out.
    pub(in crate::explore) due: bool,
    pub(in crate::explore) armed: bool,
    pub(in crate::explore) overdue: bool,
    pub(in crate::explore) alive: bool,
}

/// What the search has to know of a letter.
#[derive(Clone, Copy, Debug)]
pub(in crate::explore) struct LetterFacts {
    pub(in crate::explore) hash: u64,
    /// Where it stands in a state. Those with the same key arrive in order, or are the same.
    pub(in crate::explore) key: u32,
    /// What befalls who gets it.
    pub(in crate::explore) event: u32,
    pub(in crate::explore) from: u32,
    pub(in crate::explore) to: u32,
    pub(in crate::explore) past: u32,
    pub(in crate::explore) is_message: bool,
    pub(in crate::explore) is_notice: bool,
    pub(in crate::explore) overdue: bool,
}

/// What a step makes of a host.
#[derive(Clone, Debug)]
pub(in crate::explore) struct Step {
    pub(in crate::explore) host: u32,
    pub(in crate::explore) letters: Box<[u32]>,
    /// What a watch sees of it, and whether that is anything.
    pub(in crate::explore) batch: u32,
    pub(in crate::explore) is_seen: bool,
}

/// What a watch makes of a step.
#[derive(Clone, Debug)]
pub(in crate::explore) struct WatchStep {
    pub(in crate::explore) watch: u32,
    pub(in crate::explore) violated: u32,
    pub(in crate::explore) pasts: Box<[u32]>,
    pub(in crate::explore) gone: bool,
}

/// What the search has to know of a watch.
#[derive(Clone, Debug)]
pub(in crate::explore) struct WatchFacts {
    /// The past of each host, if that matters.
    pub(in crate::explore) pasts: Box<[u32]>,
    /// The goals that are broken if the run ends here, as a set of bits.
    pub(in crate::explore) at_the_end: u32,
}

/// The tables.
#[derive(Debug)]
pub(in crate::explore) struct Machine<P: Process, A> {
    pub(in crate::explore) rules: Rules,
    pub(in crate::explore) company: Company<P>,
    pub(in crate::explore) n: usize,
    hosts: Interner<(Id, Host<P, A>)>,
    pub(in crate::explore) host_facts: Vec<HostFacts>,
    letters: Interner<Letter<P::Message>>,
    pub(in crate::explore) letter_facts: Vec<LetterFacts>,
    events: Interner<Happening<P>>,
    watches: Interner<Watch>,
    pub(in crate::explore) watch_facts: Vec<WatchFacts>,
    pasts: Interner<IdSet>,
    batches: Interner<(Id, Vec<Seen>)>,
    steps: Pairs,
    /// The steps of each host that the search has followed: what befell it, and which step that is.
    pub(in crate::explore) followed: Vec<Vec<(u32, u32)>>,
    pub(in crate::explore) step_table: Vec<Step>,
    reactions: FxHashMap<(u32, u32, u32), WatchStep>,
    carrying: FxHashMap<(u32, u32), u32>,
    without: FxHashMap<(u32, u32), u32>,
    older: FxHashMap<u32, u32>,
    pokes: FxHashMap<(u32, u32, u32), u32>,
    /// The letters that tell of a crash and of a return, by who it is about and who is told.
    pub(in crate::explore) news: Vec<(u32, u32)>,
    pub(in crate::explore) tick: u32,
    /// The goals that are broken before the first step, as a set of bits.
    pub(in crate::explore) violated_at_first: u32,
    pub(in crate::explore) most_overtaken: u32,
}

impl<P, A> Machine<P, A>
where
    P: Process<Input: Recorded, Output: Recorded>,
    A: Free<P>,
{
    /// The tables of a search, and its first state.
    pub(in crate::explore) fn new(company: Company<P>, rules: Rules, goals: &[Goal]) -> (Machine<P, A>, Vec<u32>) {
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
            violated_at_first: 0,
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
            let reaction = watch.react(id, &seen, &IdSet::new());
            watch = reaction.watch;
            self.violated_at_first |= reaction.violated;
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
    pub(in crate::explore) fn letters_at(&self) -> usize {
        self.n + 2
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

    #[inline]
    pub(in crate::explore) fn host_hash(&self, number: u32) -> u64 {
        self.hosts.hash(number)
    }

    #[inline]
    pub(in crate::explore) fn watch_hash(&self, number: u32) -> u64 {
        self.watches.hash(number)
    }

    #[inline]
    pub(in crate::explore) fn step(&self, host: u32, event: u32) -> Result<u32, Need> {
        self.steps.get(host, event).ok_or(Need::Step { host, event })
    }

    #[inline]
    pub(in crate::explore) fn reaction(&self, watch: u32, batch: u32, past: u32) -> Result<&WatchStep, Need> {
        self.reactions.get(&(watch, batch, past)).ok_or(Need::Reaction { watch, batch, past })
    }

    pub(in crate::explore) fn carrying(&self, letter: u32, past: u32) -> Result<u32, Need> {
        if past == 0 {
            return Ok(letter);
        }
        self.carrying.get(&(letter, past)).copied().ok_or(Need::Carrying { letter, past })
    }

    pub(in crate::explore) fn without(&self, letter: u32, host: u32) -> Result<u32, Need> {
        if self.letter_facts[letter as usize].past == 0 {
            return Ok(letter);
        }
        self.without.get(&(letter, host)).copied().ok_or(Need::Without { letter, host })
    }

    pub(in crate::explore) fn older(&self, letter: u32) -> Result<u32, Need> {
        self.older.get(&letter).copied().ok_or(Need::Older { letter })
    }

    /// The letter that the application of this host would send, and the past it carries.
    pub(in crate::explore) fn poke(&self, host: u32, from: u32, to: u32, past: u32) -> Result<u32, Need> {
        self.pokes.get(&(host, to, past)).copied().ok_or(Need::Poke { host, from, to, past })
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
        let facts = WatchFacts { pasts, at_the_end: watch.violated_at_the_end(self.rules.detector) };
        self.most_overtaken = self.most_overtaken.max(watch.most_overtaken());
        let (number, new) = self.watches.intern(watch);
        if new {
            self.watch_facts.push(facts);
        }
        number
    }

    /// Puts a letter where it stands in a state.
    pub(in crate::explore) fn insert(&self, state: &mut Vec<u32>, letter: u32) {
        let key = self.letter_facts[letter as usize].key;
        let mut place = state.len();
        while place > self.letters_at() && self.letter_facts[state[place - 1] as usize].key > key {
            place -= 1;
        }
        state.insert(place, letter);
    }

    /// Whether letters of one channel arrive in order.
    #[inline]
    pub(in crate::explore) fn is_fifo(&self) -> bool {
        self.rules.order == Order::Fifo
    }

    /// How much the place within a channel changes the hash of a letter.
    #[inline]
    pub(in crate::explore) fn weight(&self, place_in_channel: usize) -> u64 {
        match self.rules.order {
            Order::Any => 1,
            Order::Fifo => PLACE.wrapping_pow(place_in_channel as u32),
        }
    }

    /// The fingerprint of a budget.
    #[inline]
    pub(in crate::explore) fn budget_hash(budget: u32) -> u64 {
        mix(u64::from(budget), 7, 0)
    }
}

/// Letters that wait for no other stand behind those that do.
pub(in crate::explore) const FREE: u32 = 1 << 31;

const PLACE: u64 = 0x9e37_79b9_7f4a_7c15;
