//! Reduction: where one delivery makes no difference to anything else, nothing else is tried before it.
//!
//! A delivery to a process is *inert* in a host if a run that does it first can do whatever a run can do that puts it
//! off, with the same letters sent no later, and the same seen by every watch at the same moments. Whatever else
//! befalls the host is one of two things:
//!
//! - it *commutes* with the delivery: the same host, the same letters and the same for every watch, in either order;
//!   then the run that was first does it as well;
//! - it is its *twin*: each of the two alone changes only the host, silently, and whichever comes second does what is
//!   to be done, the same in either order. (Two replies of which the last lets the process enter.) Then the run that
//!   was first leaves the other one for later, in the place of the delivery.
//!
//! What befalls other processes cannot depend on it, for they share nothing but letters, and a letter more on its way
//! only makes more possible. So the search may follow the inert delivery alone (a persistent set of one action). So
//! that nothing is put off for ever on a cycle, it does so only if the delivery leads to a state that is not yet known.
//!
//! Whether two steps commute is computed, by running both orders. *Whatever else* may befall a host before the delivery
//! is every move of its own, and every letter that, in some run, arrives after the delivery was made first: for the run
//! that does it first gets all that the other gets. Inert deliveries change no application; so it is enough to look at
//! hosts after the delivery whose application is in the same state. (The letters that arrived at the host itself are
//! not enough: a search that always delivers a release at once never sees the next request overtake it, and would
//! conclude that it cannot.) What follows a delivery is known only when the search is over. So decisions are made with
//! what is known so far, and checked then; if any was wrong, it is taken back, and the search begins again, knowing
//! more.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::action::Act;
use super::budget::Budget;
use super::successor::Change;
use super::tables::{EventKind, FREE, Provider, Step, Tables};
use crate::network::Order;

/// Which deliveries are inert.
#[derive(Debug, Default)]
pub(super) struct Reduction {
    /// By host and event.
    decided: FxHashMap<(u32, u32), bool>,
    /// Those that turned out not to be.
    never: FxHashSet<(u32, u32)>,
    /// Whether what befalls a host and something else commute there.
    commuting: FxHashMap<(u32, u32, u32), bool>,
    /// Steps that were computed only to compare them, and that the search may never follow.
    compared: FxHashMap<(u32, u32), Step>,
    /// How often the search had to begin again.
    pub(super) again: u64,
}

/// So many ways to lag are followed before a delivery is taken not to be inert.
const MOST_LAGS: usize = 300;

/// How a run that put a delivery off lags behind one that did not, at the host it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Lag {
    /// By the delivery: it is at this host, and the other is where the delivery leads from here.
    Delivery { host: u32 },
    /// By the delivery, and the other by its twin: both come from this host.
    Twin { host: u32, other: u32 },
}

/// A decision that is still to be made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lacking {
    host: u32,
    event: u32,
}

impl Reduction {
    /// The one action that is enough in this state, if there is one; or what is missing to tell.
    ///
    /// `is_old` says whether a state with this fingerprint was known before.
    pub(super) fn ample(
        &self,
        machine: &Tables,
        state: &[u32],
        fingerprint: u64,
        actions: &[Act],
        change: &mut Change,
        is_old: impl Fn(u64) -> bool,
    ) -> Result<Option<Act>, Lacking> {
        for &act in actions {
            let Act::Deliver(place) = act else { continue };
            let letter = &machine.letter_facts[state[machine.letters_at() + place] as usize];
            let (host, event) = (state[letter.to as usize], letter.event);
            match self.decided.get(&(host, event)) {
                None => return Err(Lacking { host, event }),
                Some(false) => {}
                Some(true) => {
                    // If the tables lack the step, the search finds out when it follows it.
                    let followed = machine.follow(state, act, change);
                    if followed.is_err() || !is_old(machine.changed(state, fingerprint, change)) {
                        return Ok(Some(act));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Makes a decision that was missing.
    pub(super) fn provide(&mut self, machine: &mut dyn Provider, lacking: Lacking) {
        let Lacking { host, event } = lacking;
        let inert = !self.never.contains(&(host, event)) && self.is_inert(machine, host, event);
        self.decided.insert((host, event), inert);
    }

    /// Checks all decisions when the search is over; says if they were right. Those that were not are taken back.
    pub(super) fn was_right(&mut self, machine: &mut dyn Provider) -> bool {
        let mut inert: Vec<_> = self.decided.iter().filter(|(_, inert)| **inert).map(|(pair, _)| *pair).collect();
        inert.sort_unstable();
        let wrong: Vec<_> = inert.into_iter().filter(|&(host, event)| !self.is_inert(machine, host, event)).collect();
        self.never.extend(&wrong);
        self.decided.clear();
        self.again += u64::from(!wrong.is_empty());
        wrong.is_empty()
    }

    /// Whether a delivery is inert, as far as is known what else may befall the host.
    fn is_inert(&mut self, machine: &mut dyn Provider, host: u32, event: u32) -> bool {
        let delivered = self.compared_step(machine, host, event).host;
        let future = Future::of(machine.tables(), [delivered]);
        let first = Lag::Delivery { host };
        let (mut seen, mut open) = (FxHashSet::default(), vec![first]);
        seen.insert(first);
        while let Some(lag) = open.pop() {
            if seen.len() > MOST_LAGS {
                return false;
            }
            let Some(next) = self.after(machine, event, lag, &future) else { return false };
            open.extend(next.into_iter().filter(|lag| seen.insert(*lag)));
        }
        true
    }

    /// What becomes of a lag by anything else that may befall the host; nothing if something tells the two runs apart.
    fn after(&mut self, machine: &mut dyn Provider, event: u32, lag: Lag, future: &Future) -> Option<Vec<Lag>> {
        let mut next = Vec::new();
        match lag {
            Lag::Delivery { host } => {
                // The run that lags may make the delivery now, and the other does nothing.
                if !self.is_silent(machine, host, event) {
                    return None;
                }
                for other in whatever_else(machine.tables(), host, event, future) {
                    if self.commute(machine, host, event, other) {
                        next.push(Lag::Delivery { host: self.compared_step(machine, host, other).host });
                    } else if self.are_twins(machine, host, event, other) {
                        next.push(Lag::Twin { host, other });
                    } else {
                        return None;
                    }
                }
            }
            Lag::Twin { host, other } => {
                let lagging = self.compared_step(machine, host, other).host;
                for third in whatever_else(machine.tables(), lagging, event, future) {
                    if third != other || future.has_twice(machine.tables(), lagging, other) {
                        next.push(self.twins_after(machine, host, event, other, third)?);
                    }
                }
            }
        }
        Some(next)
    }

    /// Whether something is seen by no watch, and changes nothing for the application.
    fn is_silent(&mut self, machine: &mut dyn Provider, host: u32, event: u32) -> bool {
        let step = self.compared_step(machine, host, event);
        let facts = &machine.tables().host_facts;
        !step.is_seen && facts[host as usize].application == facts[step.host as usize].application
    }

    /// What becomes of twins by a third thing, which befalls both runs.
    fn twins_after(
        &mut self,
        machine: &mut dyn Provider,
        host: u32,
        event: u32,
        other: u32,
        third: u32,
    ) -> Option<Lag> {
        let (ahead, lagging) =
            (self.compared_step(machine, host, event).host, self.compared_step(machine, host, other).host);
        let possible =
            Self::is_possible(machine.tables(), host, third) && Self::is_possible(machine.tables(), ahead, third);
        if !possible || waits_behind(machine.tables(), third, other) {
            return None;
        }
        let before = self.compared_step(machine, host, third);
        let (in_ahead, in_lagging) =
            (self.compared_step(machine, ahead, third), self.compared_step(machine, lagging, third));
        let same = in_ahead.letters == in_lagging.letters
            && in_ahead.batch == in_lagging.batch
            && in_ahead.host == self.compared_step(machine, before.host, event).host
            && in_lagging.host == self.compared_step(machine, before.host, other).host;
        (same && self.are_twins(machine, before.host, event, other)).then_some(Lag::Twin { host: before.host, other })
    }

    /// Whether a delivery and another are twins: each alone is silent, and the second does the same whichever it is.
    fn are_twins(&mut self, machine: &mut dyn Provider, host: u32, event: u32, other: u32) -> bool {
        let is_letter = matches!(machine.tables().event_kinds[other as usize], EventKind::Receive { .. });
        let first = self.compared_step(machine, host, event);
        let alone = self.compared_step(machine, host, other);
        let silent = self.is_silent(machine, host, event) && self.is_silent(machine, host, other);
        if !is_letter || !silent || !alone.letters.is_empty() {
            return false;
        }
        let second = self.compared_step(machine, first.host, other);
        let then = self.compared_step(machine, alone.host, event);
        second.host == then.host
            && second.batch == then.batch
            && same_letters(machine.tables(), [&first, &second], [&alone, &then])
    }

    /// Whether a delivery and something else come to the same in either order.
    fn commute(&mut self, machine: &mut dyn Provider, host: u32, event: u32, other: u32) -> bool {
        if let Some(&known) = self.commuting.get(&(host, event, other)) {
            return known;
        }
        let first = self.compared_step(machine, host, event);
        let then_other = self.compared_step(machine, first.host, other);
        let alone = self.compared_step(machine, host, other);
        let then = self.compared_step(machine, alone.host, event);
        let still_possible = Self::is_possible(machine.tables(), first.host, other);
        let commute = still_possible
            && then_other.host == then.host
            && !first.is_seen
            && !then.is_seen
            && then_other.batch == alone.batch
            && same_letters(machine.tables(), [&first, &then_other], [&alone, &then]);
        self.commuting.insert((host, event, other), commute);
        commute
    }

    /// Whether something may befall a host: a letter may always arrive, but a move must be one of its own.
    fn is_possible(machine: &Tables, host: u32, event: u32) -> bool {
        match machine.event_kinds[event as usize] {
            EventKind::Receive { .. } | EventKind::Arrival => true,
            EventKind::Move => machine.host_facts[host as usize].moves.iter().any(|step| step.event == event),
        }
    }

    fn compared_step(&mut self, machine: &mut dyn Provider, host: u32, event: u32) -> Step {
        if let Ok(step) = machine.tables().step(host, event) {
            return machine.tables().step_table[step as usize].clone();
        }
        self.compared.entry((host, event)).or_insert_with(|| machine.compute_step(host, event)).clone()
    }
}

/// Whether two pairs of steps send the same: in any order, or in the same order on each channel.
fn same_letters(machine: &Tables, one: [&Step; 2], other: [&Step; 2]) -> bool {
    let sent = |steps: [&Step; 2]| {
        let mut letters: Vec<u32> = steps.iter().flat_map(|step| step.letters.iter().copied()).collect();
        // A stable sort: letters of one ordered channel have the same key, and keep their order.
        letters.sort_by_key(|&letter| {
            let key = machine.letter_facts[letter as usize].key;
            (key, if key & FREE == 0 { 0 } else { letter })
        });
        letters
    };
    sent(one) == sent(other)
}

/// Whether the first cannot come before the second, because both come from the same process, in order.
fn waits_behind(machine: &Tables, first: u32, second: u32) -> bool {
    let (one, other) = (machine.event_kinds[first as usize], machine.event_kinds[second as usize]);
    machine.rules.order == Order::Fifo && one == other && matches!(one, EventKind::Receive { .. })
}

/// Whatever may befall a host before a delivery to it.
fn whatever_else(machine: &Tables, host: u32, event: u32, future: &Future) -> Vec<u32> {
    let facts = &machine.host_facts[host as usize];
    let bounds = Budget::new(&machine.rules.bounds, false);
    let moves = facts.moves.iter().filter(|step| bounds.allows(step.cost)).map(|step| step.event);
    let others = moves.chain(future.arrivals(machine, facts.application));
    others.filter(|&other| other != event && !waits_behind(machine, other, event)).collect()
}

/// What may befall a host from some time on, as far as the search has followed it.
#[derive(Debug)]
struct Future {
    /// The hosts that come of it.
    hosts: BTreeSet<u32>,
    /// What befalls each while its application is in this state.
    events: BTreeSet<(u32, u32)>,
}

impl Future {
    fn of(machine: &Tables, from: impl IntoIterator<Item = u32>) -> Future {
        let mut open: Vec<u32> = from.into_iter().collect();
        let (mut hosts, mut events) = (open.iter().copied().collect::<BTreeSet<_>>(), BTreeSet::new());
        while let Some(host) = open.pop() {
            for &(event, next) in &machine.followed[host as usize] {
                events.insert((machine.host_facts[host as usize].application, event));
                if hosts.insert(next) {
                    open.push(next);
                }
            }
        }
        Future { hosts, events }
    }

    /// What may arrive while the application is in this state.
    fn arrivals<'f>(&'f self, machine: &'f Tables, application: u32) -> impl Iterator<Item = u32> + 'f {
        let events = self.events.range((application, 0)..=(application, u32::MAX)).map(|(_, event)| *event);
        events.filter(|&event| machine.event_kinds[event as usize] != EventKind::Move)
    }

    /// Whether something may befall the host again after it did, while the application is in the state of this host.
    fn has_twice(&self, machine: &Tables, host: u32, event: u32) -> bool {
        let after = self.hosts.iter().flat_map(|&host| &machine.followed[host as usize]);
        let after: BTreeSet<u32> = after.filter(|(other, _)| *other == event).map(|(_, next)| *next).collect();
        let application = machine.host_facts[host as usize].application;
        Future::of(machine, after).events.contains(&(application, event))
    }
}
