//! The traces of all nodes as one: in an order in which everything comes after its past, and otherwise by the nodes'
//! clocks.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

use quorate_core::id::Id;
use quorate_core::journal::{Entry, Header, Moment, Past};
use quorate_core::trace::{Record, What};

use super::clocks::{self, Correction};
use super::read::{Life, TraceError};

/// Something that happened, in its place among all that happened.
#[derive(Clone, Debug)]
pub struct Event {
    /// The record; its time is in microseconds since 1970, by the clock of its machine, put right where messages say
    /// that it was not.
    pub record: Record,
    /// Which resource it is about.
    pub resource: Option<String>,
    /// All that happened before it, also what its process knew in former lives.
    pub past: Past,
    /// In which life of the node: the place in [`Merged::lives`].
    pub life: usize,
    /// Its place in that life.
    pub place: usize,
    /// Its place among all that happened.
    pub order: usize,
}

impl Event {
    /// When it happened, as its process counts.
    pub fn moment(&self) -> Moment {
        counted(&self.record.what, self.past.of(self.record.process))
    }

    /// Whether something happened before this.
    pub fn is_after(&self, process: Id, moment: Moment) -> bool {
        self.past.of(process) >= moment
    }
}

/// All that happened, as far as it was written down.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The lives, in order of the nodes and of their lives, without what happened in them.
    pub lives: Vec<Life>,
    /// In an order in which everything comes after its past.
    pub events: Vec<Event>,
    /// What is known at the end of each life.
    pub last: Vec<Past>,
    /// Clocks that were put right: the lives that they are of begin when they began by the others' clocks.
    pub corrections: Vec<Correction>,
}

/// What one node did, and how far it has been put in its place.
struct Source {
    entries: Vec<Queued>,
    next: usize,
}

struct Queued {
    entry: Entry,
    wall: u64,
    line: u32,
    life: usize,
    place: usize,
    /// It was not written down: a life ended.
    is_end: bool,
}

impl Queued {
    /// Who knows of this moment comes later. Nobody knows of an end, but by what comes after it.
    fn moment(&self) -> Moment {
        let Moment(life, count) = counted(&self.entry.record.what, self.entry.moment());
        Moment(life, if self.is_end { u64::MAX } else { count })
    }
}

/// The moment by which others know of something. What an application notes has no moment of its own: others know of it
/// when they know of what comes next.
fn counted(what: &What, moment: Moment) -> Moment {
    match what {
        What::Read { .. } | What::Wrote { .. } => Moment(moment.0, moment.1.saturating_add(1)),
        _ => moment,
    }
}

/// Puts lives together. `patience` is how long after the last word of a node that wrote no end another one's word shows
/// that it is dead, if nobody has said so.
pub fn merge(mut lives: Vec<Life>, patience: u64) -> Result<Merged, TraceError> {
    lives.sort_by_key(|life| (life.header.process, life.header.incarnation, has_done_nothing(life)));
    // Who was started without its directory, and was refused.
    lives.dedup_by(|b, a| is_same_life(a, b) && has_done_nothing(b));
    check_together(&lives)?;
    let corrections = clocks::set_right(&mut lives);
    let mut sources: BTreeMap<Id, Source> = BTreeMap::new();
    let latest = lives.iter().map(end_of).max().unwrap_or(0);
    let processes: Vec<Id> = lives.iter().map(|life| life.header.process).collect();
    let given_up = given_up(&lives);
    for (index, life) in lives.iter_mut().enumerate() {
        let source = sources.entry(life.header.process).or_insert_with(|| Source { entries: Vec::new(), next: 0 });
        let is_followed = processes.get(index + 1) == Some(&life.header.process);
        let is_silent = latest.saturating_sub(end_of(life)) > patience || given_up[index];
        let is_dead = is_followed || is_silent;
        let started = life.header.started;
        for (place, (line, entry)) in std::mem::take(&mut life.entries).into_iter().enumerate() {
            let wall = started.saturating_add(entry.record.at);
            source.entries.push(Queued { entry, wall, line, life: index, place, is_end: false });
        }
        let last = source.entries.last().filter(|last| last.life == index && is_dead);
        if let Some(last) = last {
            let what = if life.ended.is_some() { What::Stopped } else { What::Crashed };
            let record = Record { what, ..last.entry.record.clone() };
            let entry = Entry { record, resource: None, past: last.entry.past.clone(), sender_life: None };
            // Who stopped in an orderly way wrote when that was; of who was killed only its last word is known.
            let wall = life.ended.map_or(last.wall, |at| last.wall.max(started.saturating_add(at)));
            let (line, place) = (last.line, last.place + 1);
            source.entries.push(Queued { entry, wall, line, life: index, place, is_end: true });
        }
    }
    let mut events = in_order(&mut sources, &lives)?;
    number_lives(&mut events, &lives);
    let mut last: Vec<Past> = lives.iter().map(|life| Past::new(life.header.n)).collect();
    for event in &events {
        last[event.life].clone_from(&event.past);
    }
    Ok(Merged { lives, events, last, corrections })
}

/// Numbers lives as people do: what a node's process begins anew within one is the same life, and who has forgotten the
/// former ones takes any number.
fn number_lives(events: &mut [Event], lives: &[Life]) {
    let mut numbers: Vec<u64> = Vec::with_capacity(lives.len());
    for (at, Life { header, .. }) in lives.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| (&lives[before].header, numbers[before]));
        numbers.push(match before.filter(|(before, _)| before.process == header.process) {
            // It has had one at least.
            None if header.forgotten => 2,
            None => header.incarnation,
            Some((_, number)) if header.forgotten => number.saturating_add(1),
            Some((before, number)) => number.saturating_add(header.incarnation - before.incarnation),
        });
    }
    for event in events {
        if let What::Restarted { incarnation } = &mut event.record.what {
            *incarnation = numbers[event.life];
        }
    }
}

/// Of each life, whether another node took it for dead after its last word: who was killed did not see that.
fn given_up(lives: &[Life]) -> Vec<bool> {
    let mut told: BTreeMap<Id, u64> = BTreeMap::new();
    for life in lives {
        for (_, entry) in &life.entries {
            if let What::Told { of, alive: false } = entry.record.what {
                let (last, at) = (told.entry(of).or_default(), life.header.started.saturating_add(entry.record.at));
                *last = at.max(*last);
            }
        }
    }
    lives.iter().map(|life| told.get(&life.header.process).is_some_and(|&at| at > end_of(life))).collect()
}

/// The last that is known of a life, in microseconds since 1970.
fn end_of(life: &Life) -> u64 {
    let last = life.entries.last().map_or(0, |(_, entry)| entry.record.at);
    life.header.started.saturating_add(life.ended.unwrap_or(0).max(last))
}

/// Nothing but that it has begun: it was never met.
fn has_done_nothing(life: &Life) -> bool {
    life.entries.iter().all(|(_, entry)| matches!(entry.record.what, What::Restarted { .. }))
}

fn is_same_life(a: &Life, b: &Life) -> bool {
    (a.header.process, a.header.incarnation) == (b.header.process, b.header.incarnation)
}

/// All lives have to be of one group, each once.
fn check_together(lives: &[Life]) -> Result<(), TraceError> {
    let error = |life: &Life, why| Err(TraceError { file: life.file.clone(), line: life.line, why });
    for pair in lives.windows(2) {
        let (a, b) = (&pair[0], &pair[1]);
        let terms = |header: &Header| {
            let Header { cluster, n, algorithm, options, election, guard, .. } = header;
            format!(
                "{algorithm} {options:?} with {n} nodes in cluster {cluster:?}, {election} elections, guard: {guard}"
            )
        };
        if terms(&a.header) != terms(&b.header) {
            return error(
                b,
                format!("this trace is of {}, but {} is of {}", terms(&b.header), a.file, terms(&a.header)),
            );
        }
        if is_same_life(a, b) {
            let life = format!("incarnation {} of {}", b.header.incarnation, b.header.process);
            let why = if (&a.file, a.line) == (&b.file, b.line) {
                format!("{life} appears twice: this file was given twice; give each file once")
            } else if a.file == b.file {
                format!("{life} appears twice: the directory was emptied in between; judge the parts separately")
            } else {
                format!("{life} is also in {}: give each incarnation once", a.file)
            };
            return error(b, why);
        }
    }
    Ok(())
}

fn in_order(sources: &mut BTreeMap<Id, Source>, lives: &[Life]) -> Result<Vec<Event>, TraceError> {
    let mut ready = BinaryHeap::new();
    let mut waiting: BTreeMap<Id, Vec<Id>> = BTreeMap::new();
    let mut considered: Vec<Id> = sources.keys().copied().collect();
    let mut knowledge = Knowledge::new(sources);
    let mut events = Vec::new();
    loop {
        for id in std::mem::take(&mut considered) {
            let Some(front) = sources[&id].entries.get(sources[&id].next) else { continue };
            match blocker(sources, id, &front.entry.past) {
                None => ready.push(Reverse((front.wall, id))),
                Some(other) => waiting.entry(other).or_default().push(id),
            }
        }
        let Some(Reverse((_, id))) = ready.pop() else { break };
        let Some(source) = sources.get_mut(&id) else { break };
        let queued = &mut source.entries[source.next];
        source.next += 1;
        events.push(knowledge.place(queued, events.len()));
        considered = waiting.remove(&id).unwrap_or_default();
        considered.push(id);
    }
    match sources.values().find_map(|source| source.entries.get(source.next)) {
        None => Ok(events),
        Some(stuck) => Err(TraceError {
            file: lives[stuck.life].file.clone(),
            line: stuck.line as usize,
            why: "the vector clocks of these traces contradict each other: by them, this record is both before and \
                  after another one"
                .into(),
        }),
    }
}

/// Who has not got as far as this past says.
fn blocker(sources: &BTreeMap<Id, Source>, me: Id, past: &Past) -> Option<Id> {
    let blocks = |&(&id, source): &(&Id, &Source)| {
        id != me && source.entries.get(source.next).is_some_and(|front| front.moment() <= past.of(id))
    };
    sources.iter().find(blocks).map(|(&id, _)| id)
}

/// What nodes knew in former lives: a clock begins anew with each, but what has happened has happened.
struct Knowledge {
    /// Whether anybody had a life before.
    is_needed: bool,
    known: BTreeMap<Id, Past>,
    carried: HashMap<(Id, Moment), Past>,
}

impl Knowledge {
    fn new(sources: &BTreeMap<Id, Source>) -> Knowledge {
        let lives = |source: &Source| {
            let first = source.entries.first().map(|queued| queued.entry.moment().0);
            source.entries.iter().any(|queued| Some(queued.entry.moment().0) != first)
        };
        Knowledge { is_needed: sources.values().any(lives), known: BTreeMap::new(), carried: HashMap::new() }
    }

    fn place(&mut self, queued: &mut Queued, order: usize) -> Event {
        let Entry { record, resource, past, sender_life } = &mut queued.entry;
        let (mut past, me) = (std::mem::take(past), record.process);
        if self.is_needed {
            let moment = past.of(me);
            if let Some(known) = self.known.get(&me) {
                past.merge(known);
            }
            match (&record.what, *sender_life) {
                (What::Received { from, sequence, .. }, Some(life)) => {
                    if let Some(carried) = self.carried.remove(&(*from, Moment(life, *sequence))) {
                        past.merge(&carried);
                    }
                }
                (What::Sent { .. }, _) => _ = self.carried.insert((me, moment), past.clone()),
                (_, _) => {}
            }
            self.known.insert(me, past.clone());
        }
        let record = Record { at: queued.wall, process: me, what: unique(&record.what, past.of(me), *sender_life) };
        let resource = resource.as_ref().map(|name| name.as_str().to_string());
        Event { record, resource, past, life: queued.life, place: queued.place, order }
    }
}

/// The same, where the name of a message tells in which life it was sent.
fn unique(what: &What, moment: Moment, sender_life: Option<u64>) -> What {
    let name = |life: u64, count: u64| {
        // Far apart for two lives, so that no two messages of a process have the same name.
        life.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(count)
    };
    match what {
        What::Sent { to, label, .. } => {
            What::Sent { to: *to, sequence: name(moment.0, moment.1), label: label.clone() }
        }
        What::Received { from, sequence, label } => {
            let sequence = name(sender_life.unwrap_or(0), *sequence);
            What::Received { from: *from, sequence, label: label.clone() }
        }
        other => other.clone(),
    }
}
