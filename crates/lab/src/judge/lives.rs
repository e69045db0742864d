//! What traces tell of the lives of nodes: which of them are missing, and who was taken for dead and lived.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use quorate_core::id::Id;
use quorate_core::journal::{Header, Moment};
use quorate_core::stack::incarnation_of;
use quorate_core::trace::What;

use super::merge::{Event, Merged};
use super::read::Life;

/// Somebody took one for dead that lived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Who did.
    pub by: Id,
    /// Whom.
    pub of: Id,
    /// The place of that among all that happened.
    pub order: usize,
}

/// What is not there, in words.
pub(super) fn missing(header: &Header, merged: &Merged) -> Vec<String> {
    let lives = &merged.lives;
    let mut missing = Vec::new();
    let present: BTreeSet<Id> = lives.iter().map(|life| life.header.process).collect();
    let absent: Vec<_> = Id::all(header.n).filter(|id| !present.contains(id)).map(|id| id.to_string()).collect();
    if !absent.is_empty() {
        let what = "messages from these nodes are not counted, and their entries are unknown";
        missing.push(format!("no trace of {}: {what}", absent.join(", ")));
    }
    let mut before: Option<&Header> = None;
    for Life { header, .. } in lives {
        let (me, this) = (header.process, header.incarnation);
        match before.replace(header).filter(|before| before.process == me).map(|before| before.incarnation) {
            // Who does not know how many lives it had leaves out any number of them.
            Some(last) if this - last > 1 && (!header.forgotten || is_known(merged, me, last + 1..this)) => {
                missing.push(format!("no trace of {me} between its incarnations {last} and {this}"));
            }
            // It may have been traced from then on only; but not if others have heard of it before.
            None if is_known(merged, me, 1..this) => {
                missing.push(format!("no trace of {me} before its incarnation {this}"));
            }
            Some(_) | None => {}
        }
    }
    for life in lives.iter().filter(|life| life.lost() > 0) {
        missing.push(format!("{} records of {} were not written", life.lost(), life.header.process));
    }
    missing
}

/// Whether anybody has heard of a node in one of these lives.
fn is_known(merged: &Merged, of: Id, lives: Range<u64>) -> bool {
    merged.events.iter().any(|event| match event.past.of(of) {
        Moment::NEVER => false,
        Moment(life, _) => lives.contains(&incarnation_of(life)),
    })
}

/// Who took somebody for dead that lived, if anybody did: that one knew of it later, in the same life.
pub(super) fn mistaken(merged: &Merged, deaths: &[Death<'_>]) -> Option<Mistake> {
    deaths.iter().find_map(|&Death { told, of }| {
        let me = told.record.process;
        let lived = (0..merged.lives.len())
            .any(|life| is_death_of(told, &merged.lives[life].header) && merged.last[life].of(me) >= told.moment());
        lived.then_some(Mistake { by: me, of, order: told.order })
    })
}

/// Somebody takes another for dead.
pub(super) struct Death<'a> {
    told: &'a Event,
    of: Id,
}

impl Death<'_> {
    /// Whether it is of this life, and known when something happens.
    pub(super) fn is_behind(&self, event: &Event, header: &Header) -> bool {
        self.of == header.process
            && event.is_after(self.told.record.process, self.told.moment())
            && is_death_of(self.told, header)
    }
}

/// Whether who is told that another is dead is told so of this life: of which it has heard last; if of none, one that
/// had begun by then, as the clocks say.
fn is_death_of(told: &Event, header: &Header) -> bool {
    let What::Told { of, .. } = told.record.what else { return false };
    of == header.process
        && match told.past.of(of) {
            Moment::NEVER => header.started <= told.record.at,
            Moment(life, _) => header.incarnation == incarnation_of(life),
        }
}

/// When somebody took another for dead, and went on. Who gives up so many at once that no majority is left takes no
/// part any more, if the group is guarded: it has stood still itself, or was cut off.
pub(super) fn deaths(merged: &Merged) -> Vec<Death<'_>> {
    let is_guarded = merged.lives.iter().all(|life| life.header.guard);
    let n = merged.lives.first().map_or(0, |life| life.header.n as usize);
    let mut suspected: BTreeMap<Id, BTreeSet<Id>> = BTreeMap::new();
    // What each was told since it last did anything.
    let mut told: BTreeMap<Id, Vec<&Event>> = BTreeMap::new();
    let mut dead = Vec::new();
    for event in &merged.events {
        let me = event.record.process;
        let (suspected, told) = (suspected.entry(me).or_default(), told.entry(me).or_default());
        match event.record.what {
            What::Told { of, alive: true } => _ = suspected.remove(&of),
            What::Told { of, alive: false } => {
                suspected.insert(of);
                told.push(event);
                if is_guarded && 2 * (n - suspected.len().min(n)) <= n {
                    told.clear();
                }
            }
            What::Restarted { .. } => {
                suspected.clear();
                dead.append(told);
            }
            _ => dead.append(told),
        }
    }
    dead.extend(told.into_values().flatten());
    dead.sort_by_key(|event| event.order);
    let death = dead.into_iter().filter_map(|told| match told.record.what {
        What::Told { of, alive: false } => Some(Death { told, of }),
        _ => None,
    });
    death.collect()
}
