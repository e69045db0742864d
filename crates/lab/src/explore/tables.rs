//! What the search reads: facts of everything that was numbered, and the results of everything that was computed. It
//! knows nothing of the algorithm, so that it and all that reads it are compiled once.

use quorate_core::id::{Id, IdSet};
use rustc_hash::FxHashMap;

use super::budget::Cost;
use super::interner::Interner;
use super::pairs::Pairs;
use super::watch::{Seen, Watch};
use crate::network::Order;
use crate::random::mix;
use crate::stage::Rules;

/// Who computes what the tables lack.
pub(super) trait Provider: Sync {
    /// The tables.
    fn tables(&self) -> &Tables;
    /// Computes what was missing.
    fn provide(&mut self, need: Need);
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
    /// The event, cut short after so many effects.
    CutShort {
        event: u32,
        effects: usize,
    },
    /// The part of a state, with smaller numbers of a process's tries.
    Renumbered(Part, Shift),
    /// An application's message.
    Poke {
        host: u32,
        from: u32,
        to: u32,
        past: u32,
    },
}

/// A part of a state that mentions tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    Host(u32),
    Letter(u32),
}

/// By how much the numbers of a host's tries become smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shift {
    pub(super) host: u32,
    pub(super) by: u64,
}

/// The least number of a try of each host that a part mentions.
pub(super) type LeastTries = Box<[(u32, u64)]>;

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
    /// Where it stands in a state: by who sends it to whom, and all that may arrive in any order behind the others.
    /// Those with the same key are in the order of sending, equal ones beside each other.
    pub(super) key: u32,
    /// What befalls who gets it.
    pub(super) event: u32,
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) past: u32,
    pub(super) is_message: bool,
    pub(super) is_notice: bool,
    /// Whether it voids what stands before it with the same key.
    pub(super) is_end_of_session: bool,
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
    /// How many effects it has.
    pub(super) effects: usize,
    /// What it adds to the fingerprint of a state in which letters may arrive in any order.
    pub(super) difference: u64,
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
pub(super) struct Tables {
    pub(super) rules: Rules,
    /// Whether a step changes its host and adds its letters, wherever it is taken, and nothing else.
    pub(super) is_plain: bool,
    pub(super) n: usize,
    pub(super) host_facts: Vec<HostFacts>,
    pub(super) host_hashes: Vec<u64>,
    pub(super) letter_facts: Vec<LetterFacts>,
    pub(super) watches: Interner<Watch>,
    pub(super) watch_facts: Vec<WatchFacts>,
    pub(super) pasts: Interner<IdSet>,
    pub(super) batches: Interner<(Id, Vec<Seen>)>,
    pub(super) steps: Pairs,
    pub(super) step_table: Vec<Step>,
    pub(super) reactions: FxHashMap<(u32, u32, u32), WatchStep>,
    pub(super) carrying: FxHashMap<(u32, u32), u32>,
    pub(super) without: FxHashMap<(u32, u32), u32>,
    pub(super) older: FxHashMap<u32, u32>,
    pub(super) pokes: FxHashMap<(u32, u32, u32), u32>,
    pub(super) cut_short: FxHashMap<(u32, usize), u32>,
    /// Whether states that differ only in the numbers of tries are one; and where those numbers are.
    pub(super) renumbers: bool,
    pub(super) host_tries: Vec<LeastTries>,
    pub(super) letter_tries: Vec<LeastTries>,
    pub(super) renumbered: FxHashMap<(Part, Shift), u32>,
    /// The letters that tell of a crash and of a return, by who it is about and who is told.
    pub(super) news: Vec<(u32, u32)>,
    pub(super) tick: u32,
    /// The goals that are broken before the first step, as a set of bits.
    pub(super) violated_at_first: u32,
    pub(super) most_overtaken: u32,
}

impl Tables {
    pub(super) fn new(rules: Rules, n: usize, salt: u64) -> Tables {
        let nobody_is_gone = rules.bounds.crashes == 0 && rules.absent.is_empty();
        let mut tables = Tables {
            is_plain: rules.order == Order::Any && !rules.causal && nobody_is_gone,
            rules,
            n,
            host_facts: Vec::new(),
            host_hashes: Vec::new(),
            letter_facts: Vec::new(),
            watches: Interner::new(salt + 4),
            watch_facts: Vec::new(),
            pasts: Interner::new(salt + 5),
            batches: Interner::new(salt + 6),
            steps: Pairs::default(),
            step_table: Vec::new(),
            reactions: FxHashMap::default(),
            carrying: FxHashMap::default(),
            without: FxHashMap::default(),
            older: FxHashMap::default(),
            pokes: FxHashMap::default(),
            cut_short: FxHashMap::default(),
            renumbers: false,
            host_tries: Vec::new(),
            letter_tries: Vec::new(),
            renumbered: FxHashMap::default(),
            news: Vec::new(),
            tick: 0,
            violated_at_first: 0,
            most_overtaken: 0,
        };
        tables.pasts.intern(IdSet::new());
        tables
    }

    /// Where the letters of a state begin.
    #[inline]
    pub(super) fn letters_at(&self) -> usize {
        self.n + 2
    }

    #[inline]
    pub(super) fn host_hash(&self, number: u32) -> u64 {
        self.host_hashes[number as usize]
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

    pub(super) fn cut_short(&self, event: u32, effects: usize) -> Result<u32, Need> {
        self.cut_short.get(&(event, effects)).copied().ok_or(Need::CutShort { event, effects })
    }

    /// The letter that the application of this host would send, and the past it carries.
    pub(super) fn poke(&self, host: u32, from: u32, to: u32, past: u32) -> Result<u32, Need> {
        self.pokes.get(&(host, to, past)).copied().ok_or(Need::Poke { host, from, to, past })
    }

    pub(super) fn watch(&mut self, watch: Watch) -> u32 {
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

    #[inline]
    fn key(&self, letter: u32) -> u32 {
        self.letter_facts[letter as usize].key
    }

    /// Whether two letters are equal, or arrive in the order in which they were sent.
    #[inline]
    pub(super) fn are_in_one_queue(&self, one: u32, other: u32) -> bool {
        one == other || (self.key(one) == self.key(other) && self.key(one) & FREE == 0)
    }

    /// Puts a letter where it stands in a state.
    pub(super) fn insert(&self, state: &mut Vec<u32>, letter: u32) {
        let (begin, key) = (self.letters_at(), self.key(letter));
        let behind = state[begin..].iter().rev().take_while(|&&other| self.key(other) > key).count();
        let end = state.len() - behind;
        let same_key = state[begin..end].iter().rev().take_while(|&&other| self.key(other) == key);
        let equal = same_key.enumerate().find(|&(_, &other)| other == letter && key & FREE != 0);
        state.insert(equal.map_or(end, |(behind, _)| end - behind), letter);
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

    /// Puts what a watch makes of a step into the tables.
    pub(super) fn provide_reaction(&mut self, watch: u32, batch: u32, past: u32) {
        let (id, seen) = self.batches.value(batch);
        let reaction = self.watches.value(watch).react(*id, seen, self.pasts.value(past));
        let next = self.watch(reaction.watch);
        let pasts = reaction.pasts.into_iter().map(|past| self.pasts.intern(past).0).collect();
        let step = WatchStep { watch: next, violated: reaction.violated, pasts, gone: reaction.gone };
        self.reactions.insert((watch, batch, past), step);
    }
}

/// Marks the keys of letters that wait for no other: they stand behind those that do.
pub(super) const FREE: u32 = 1 << 31;

const PLACE: u64 = 0x9e37_79b9_7f4a_7c15;
