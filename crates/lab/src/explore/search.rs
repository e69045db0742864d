//! Breadth first, level by level, so that the first way to a state is a shortest one.
//!
//! A level is worked through in slabs of a fixed size, each in three phases: expand every state of the slab into
//! candidates (a fingerprint, a parent, an action), sorted into shards; look the candidates of each shard up; build the
//! states that are new. Each phase is divided among threads, and none of the phases' results depends on how.
//!
//! New states are numbered by the numbers of their parents and by the action that leads to them. So which of several
//! equally short runs is found depends on what was asked for alone: not on hashes, shards, slabs or threads.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Mutex;
use std::time::Instant;

use super::action::{Act, Action};
use super::frontier::Frontier;
use super::goal::Goal;
use super::parallel::{in_parallel, in_parallel_over};
use super::successor::Change;
use super::tables::{Need, Provider};
use super::visited::{SHARDS, Shard, Visited, shard_of};

/// How far a search goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) threads: usize,
    pub(super) states: u64,
    pub(super) bytes: u64,
    /// The goals whose violation ends the search, as a set of bits.
    pub(super) stop: u32,
    /// Whether to end as soon as a cycle shows.
    pub(super) acyclic: bool,
    /// Whether to keep every state.
    pub(super) keep: bool,
    /// How many states are expanded at once: see [`slab`].
    pub(super) slab: usize,
}

/// How many states are expanded before the limits are looked at, and somebody is told how far it is. Who may find few
/// states must not find many more, nor be heard late. Where a search that reaches a limit ends depends on it, and so it
/// depends on nothing but what was asked for.
pub(super) fn slab(max_states: u64) -> usize {
    usize::try_from(max_states / SLABS).unwrap_or(SLAB).clamp(LEAST_SLAB, SLAB)
}

/// How far a search has come. The callback that receives it may end the search.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// How many states have been found.
    pub states: u64,
    /// How many steps the states that are being expanded are away from the initial one.
    pub depth: u64,
    /// How many of the states are still to be expanded.
    pub frontier: u64,
    /// How many seconds the search has taken.
    pub seconds: f64,
    /// Set it to true to end the search here. What was found so far is returned: violations count, and every other
    /// property is undecided.
    pub enough: &'a Cell<bool>,
}

/// Where a goal is broken: by an action in a state, or by ending in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Breach {
    pub(super) state: u32,
    pub(super) action: Option<Action>,
}

/// What a search has found.
#[derive(Debug)]
pub(super) struct Searched {
    pub(super) visited: Visited,
    pub(super) transitions: u64,
    pub(super) depth: u64,
    /// How many states there are in which a run ends, and the sum of their fingerprints.
    pub(super) ends: (u64, u64),
    /// Whether everything was searched.
    pub(super) complete: bool,
    /// Whether somebody said that it was enough.
    pub(super) is_enough: bool,
    /// Whether a state was reached again that was not farther away.
    pub(super) cyclic: bool,
    /// The goals that runs leave open which end only because no more timers may run out, as a set of bits.
    pub(super) left_open: u32,
    /// Where each goal is broken first.
    pub(super) breaches: Vec<Option<Breach>>,
    /// All states, if they are kept.
    pub(super) kept: Frontier,
    /// How many states there are in the levels that were expanded to their ends.
    pub(super) expanded: usize,
    pub(super) seconds: f64,
}

/// A successor that may be new.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    fingerprint: u64,
    /// The place of its parent in the level.
    parent: u32,
    action: Action,
}

impl Candidate {
    /// Of candidates for one state the least wins, and new states are numbered in this order.
    fn order(&self) -> (u32, Action) {
        (self.parent, self.action)
    }
}

/// The candidates of each shard.
type Buckets = Vec<Vec<Candidate>>;

/// What one thread makes of its part of a slab.
#[derive(Debug, Default)]
struct Expanded {
    candidates: Buckets,
    transitions: u64,
    ends: (u64, u64),
    left_open: u32,
    /// Places of states for which the tables lack something.
    deferred: Vec<usize>,
    breaches: Vec<(u32, Breach)>,
}

/// How many states are expanded before the candidates are looked up, at most.
const SLAB: usize = 1 << 18;
/// How many at least, and how many slabs there are in as many states as a search may find.
const LEAST_SLAB: usize = 1 << 12;
const SLABS: u64 = 64;
/// Fewer states than this are not worth another thread.
const WORTH_A_THREAD: usize = 1 << 10;
/// Marks numbers that hold only within a slab.
const PROVISIONAL: u32 = 1 << 31;
/// The most states that have numbers, with room for what one more slab may find.
pub(super) const MOST_STATES: u64 = PROVISIONAL as u64 - (1 << 28);

/// Searches from the first state.
pub(super) fn search(
    provider: &mut dyn Provider,
    first: &[u32],
    goals: &[Goal],
    limits: &Limits,
    progress: &mut dyn FnMut(Progress),
) -> Searched {
    let mut search = Search::new(provider, first, goals, limits);
    search.run(progress);
    search.searched
}

struct Search<'a> {
    provider: &'a mut dyn Provider,
    limits: &'a Limits,
    /// The goals that are broken if somebody waits at the end, as a set of bits.
    waiting: u32,
    level: Frontier,
    next: Frontier,
    /// The number of the first state of the level, and of the next.
    level_begins: usize,
    next_begins: usize,
    searched: Searched,
    /// Empty buckets whose memory was used before.
    spare: Mutex<Vec<Buckets>>,
    began: Instant,
}

impl<'a> Search<'a> {
    fn new(provider: &'a mut dyn Provider, first: &[u32], goals: &[Goal], limits: &'a Limits) -> Self {
        let mut level = Frontier::default();
        let fingerprint = provider.tables().fingerprint(first).max(1);
        level.push(first, fingerprint);
        let mut visited = Visited::new();
        visited.shards[shard_of(fingerprint)].get_or_insert(fingerprint, 0);
        visited.add(0, Act::Tick.pack());
        let is_about_waiting = |goal: &Goal| matches!(goal, Goal::DeadlockFreedom | Goal::StarvationFreedom);
        let waiting =
            (0..).zip(goals).filter(|(_, goal)| is_about_waiting(goal)).fold(0, |bits, (at, _)| bits | 1 << at);
        let violated = provider.tables().violated_at_first;
        let broken_at_first = |place: usize| (violated & 1 << place != 0).then_some(Breach { state: 0, action: None });
        let kept = if limits.keep { level.clone() } else { Frontier::default() };
        let searched = Searched {
            visited,
            transitions: 0,
            depth: 0,
            ends: (0, 0),
            complete: false,
            is_enough: false,
            cyclic: false,
            left_open: 0,
            breaches: (0..goals.len()).map(broken_at_first).collect(),
            kept,
            expanded: 0,
            seconds: 0.0,
        };
        Search {
            provider,
            limits,
            waiting,
            level,
            next: Frontier::default(),
            level_begins: 0,
            next_begins: 1,
            searched,
            spare: Mutex::default(),
            began: Instant::now(),
        }
    }

    fn run(&mut self, progress: &mut dyn FnMut(Progress)) {
        while self.level.len() > 0 {
            for begin in (0..self.level.len()).step_by(self.limits.slab) {
                let slab = begin..(begin + self.limits.slab).min(self.level.len());
                self.work_through(slab.clone());
                self.searched.seconds = self.began.elapsed().as_secs_f64();
                let enough = Cell::new(false);
                progress(Progress {
                    states: self.searched.visited.len() as u64,
                    depth: self.searched.depth,
                    frontier: (self.level.len() - slab.end + self.next.len()) as u64,
                    seconds: self.searched.seconds,
                    enough: &enough,
                });
                self.searched.is_enough = enough.get();
                if self.searched.is_enough || self.is_over() {
                    return;
                }
            }
            self.searched.depth += u64::from(self.next.len() > 0);
            if self.limits.keep {
                self.searched.kept.append(self.next.clone());
            }
            self.searched.expanded = self.next_begins;
            self.level_begins = self.next_begins;
            self.next_begins = self.searched.visited.len();
            self.level = std::mem::take(&mut self.next);
        }
        self.searched.complete = true;
    }

    /// Whether to go on is useless, or too much.
    fn is_over(&self) -> bool {
        let Searched { breaches, visited, cyclic, .. } = &self.searched;
        let frontiers = self.level.bytes() + self.next.bytes() + self.searched.kept.bytes();
        let bytes = (visited.bytes() + frontiers) as u64;
        (!breaches.is_empty() && breaches.iter().all(Option::is_some))
            || breaches.iter().enumerate().any(|(at, breach)| self.limits.stop & 1 << at != 0 && breach.is_some())
            || (self.limits.acyclic && *cyclic)
            || visited.len() as u64 > self.limits.states.min(MOST_STATES)
            || bytes > self.limits.bytes
    }

    fn work_through(&mut self, slab: Range<usize>) {
        let mut expanded = self.expand_in_parallel(slab);
        let deferred: Vec<usize> = expanded.iter().flat_map(|part| part.deferred.iter().copied()).collect();
        if !deferred.is_empty() {
            expanded.push(self.expand_deferred(&deferred));
        }
        let mut breaches: Vec<_> = expanded.iter().flat_map(|part| part.breaches.iter().copied()).collect();
        breaches.sort_unstable_by_key(|(_, breach)| *breach);
        for (violated, breach) in breaches {
            for (place, known) in self.searched.breaches.iter_mut().enumerate() {
                if violated & 1 << place != 0 {
                    known.get_or_insert(breach);
                }
            }
        }
        for part in &expanded {
            self.searched.left_open |= part.left_open;
            let ends = &mut self.searched.ends;
            self.searched.transitions += part.transitions;
            *ends = (ends.0 + part.ends.0, ends.1.wrapping_add(part.ends.1));
        }
        let winners = self.look_up(&expanded);
        for mut part in expanded {
            part.candidates.iter_mut().for_each(Vec::clear);
            self.spare.get_mut().expect("nobody panics while holding it").push(part.candidates);
        }
        self.build(&winners);
    }

    /// How many threads so many things are worth.
    fn threads_for(&self, things: usize) -> usize {
        self.limits.threads.min(things / WORTH_A_THREAD).max(1)
    }

    fn nothing_expanded(&self) -> Expanded {
        let spare = self.spare.lock().expect("nobody panics while holding it").pop();
        Expanded { candidates: spare.unwrap_or_else(|| vec![Vec::new(); SHARDS]), ..Expanded::default() }
    }

    fn expand_in_parallel(&self, slab: Range<usize>) -> Vec<Expanded> {
        in_parallel(self.threads_for(slab.len()), slab, |part| {
            let (mut expanded, mut scratch) = (self.nothing_expanded(), Scratch::default());
            for place in part {
                if !self.expand(place, &mut expanded, &mut scratch) {
                    expanded.deferred.push(place);
                }
            }
            expanded
        })
    }

    /// Expands states for which the tables lacked something, which is now provided.
    fn expand_deferred(&mut self, deferred: &[usize]) -> Expanded {
        let (mut expanded, mut scratch) = (self.nothing_expanded(), Scratch::default());
        for &place in deferred {
            while !self.expand(place, &mut expanded, &mut scratch) {
                self.provider.provide(scratch.need.take().expect("it says what is missing"));
            }
        }
        expanded
    }

    /// Adds the successors of a state to the candidates; says if nothing was missing in the tables.
    fn expand(&self, place: usize, expanded: &mut Expanded, scratch: &mut Scratch) -> bool {
        let (state, fingerprint) = (self.level.state(place), self.level.fingerprints[place]);
        let number = (self.level_begins + place) as u32;
        let machine = self.provider.tables();
        if let Err(need) = machine.actions(state, &mut scratch.actions) {
            scratch.need = Some(need);
            return false;
        }
        let ends = machine.is_quiet(state);
        if ends {
            let broken = machine.broken_at_the_end(state, self.waiting);
            if broken != 0 {
                expanded.breaches.push((broken, Breach { state: number, action: None }));
            }
        } else if machine.is_out_of_time(state) {
            expanded.left_open |= machine.broken_at_the_end(state, self.waiting);
        }
        for &act in &scratch.actions {
            let (successor, violated) = match machine.outcome(state, fingerprint, act, &mut scratch.change) {
                Ok(outcome) => outcome,
                Err(need) => {
                    scratch.need = Some(need);
                    return false;
                }
            };
            let (fingerprint, action) = (successor.max(1), act.pack());
            expanded.candidates[shard_of(fingerprint)].push(Candidate { fingerprint, parent: place as u32, action });
            if violated != 0 {
                expanded.breaches.push((violated, Breach { state: number, action: Some(action) }));
            }
        }
        expanded.transitions += scratch.actions.len() as u64;
        if ends {
            expanded.ends = (expanded.ends.0 + 1, expanded.ends.1.wrapping_add(fingerprint));
        }
        true
    }

    /// Puts the candidates that are new into the table, and returns them in the order of their numbers: by parent, and
    /// by action.
    fn look_up(&mut self, expanded: &[Expanded]) -> Vec<Candidate> {
        let threads = self.threads_for(expanded.iter().map(|part| part.transitions as usize).sum());
        let next_begins = self.next_begins as u32;
        let visited = &mut self.searched.visited;
        let parts = in_parallel_over(threads, &mut visited.shards, |begin, shards| {
            let mut found = Vec::new();
            for (place, shard) in shards.iter_mut().enumerate() {
                let candidates = expanded.iter().map(|part| &*part.candidates[begin + place]);
                found.push(look_up_in(shard, candidates, next_begins));
            }
            found
        });
        let mut winners: Vec<Candidate> = Vec::new();
        for (new, cyclic) in parts.into_iter().flatten() {
            winners.extend(new);
            self.searched.cyclic |= cyclic;
        }
        // Each shard's are nearly in order, which this sort makes use of.
        winners.sort_by_key(Candidate::order);
        let mut numbered = vec![Vec::new(); SHARDS];
        for (number, winner) in (visited.len() as u32..).zip(&winners) {
            numbered[shard_of(winner.fingerprint)].push((winner.fingerprint, number));
            visited.add(self.level_begins as u32 + winner.parent, winner.action);
        }
        in_parallel_over(threads, &mut visited.shards, |begin, shards| {
            for (shard, numbered) in shards.iter_mut().zip(&numbered[begin..]) {
                for some in numbered.chunks(AT_ONCE) {
                    fetch(shard, some.iter().map(|(fingerprint, _)| *fingerprint));
                    for &(fingerprint, number) in some {
                        shard.renumber(fingerprint, number);
                    }
                }
            }
        });
        winners
    }

    /// Builds the states that are new, in the order of their numbers.
    fn build(&mut self, winners: &[Candidate]) {
        let parts = in_parallel(self.threads_for(winners.len()), 0..winners.len(), |part| {
            let (mut built, mut change, mut state) = (Frontier::default(), Change::default(), Vec::new());
            for winner in &winners[part] {
                let parent = self.level.state(winner.parent as usize);
                let followed = self.provider.tables().follow(parent, winner.action.unpack(), &mut change);
                debug_assert!(followed.is_ok(), "what was followed once can be followed again");
                self.provider.tables().build(parent, &mut change, &mut state);
                debug_assert_eq!(
                    self.provider.tables().fingerprint(&state).max(1),
                    winner.fingerprint,
                    "the changes add up"
                );
                built.push(&state, winner.fingerprint);
            }
            built
        });
        for part in parts {
            self.next.append(part);
        }
    }
}

/// What a thread uses again and again.
#[derive(Debug, Default)]
struct Scratch {
    actions: Vec<Act>,
    change: Change,
    need: Option<Need>,
}

/// Puts the candidates of a shard that are new into it. Says which, and whether any led back.
fn look_up_in<'c>(
    shard: &mut Shard,
    candidates: impl Iterator<Item = &'c [Candidate]>,
    next_begins: u32,
) -> (Vec<Candidate>, bool) {
    let (mut new, mut cyclic): (Vec<Candidate>, bool) = (Vec::new(), false);
    for candidates in candidates {
        for some in candidates.chunks(AT_ONCE) {
            fetch(shard, some.iter().map(|candidate| candidate.fingerprint));
            for candidate in some {
                match shard.get_or_insert(candidate.fingerprint, PROVISIONAL | new.len() as u32) {
                    None => new.push(*candidate),
                    Some(number) if number & PROVISIONAL != 0 => {
                        let known = &mut new[(number & !PROVISIONAL) as usize];
                        if candidate.order() < known.order() {
                            *known = *candidate;
                        }
                    }
                    Some(number) => cyclic |= number < next_begins,
                }
            }
        }
    }
    (new, cyclic)
}

/// How many fingerprints' memory is fetched at once.
const AT_ONCE: usize = 16;

/// Nothing depends on what this computes; but the memory that it reads is there when it is needed.
#[inline]
fn fetch(shard: &Shard, fingerprints: impl Iterator<Item = u64>) {
    let fetched = fingerprints.fold(0, |sum, fingerprint| sum ^ shard.at_home(fingerprint));
    std::hint::black_box(fetched);
}
