//! What can be said of two nodes without a common clock: only what happened before what.
//!
//! Two turns of which neither ended before the other began, by any chain of messages, may have overlapped: nothing that
//! any node has seen excludes it, and nothing in the algorithm did. That is what mutual exclusion has to exclude, so it
//! is broken. The other way round, a turn that ended before another began did not overlap with it, whatever the clocks
//! say.

use std::collections::{BTreeMap, BTreeSet};

use quorate_core::clock::Fence;
use quorate_core::id::Id;
use quorate_core::journal::{Moment, Past};
use quorate_core::trace::What;

use super::Finding;
use super::lives::Death;
use super::merge::{Event, Merged};

/// A turn of a node.
struct Turn<'a> {
    entered: &'a Event,
    /// When it left, if it did.
    left: Option<&'a Event>,
    /// Whether it is known not to have left in its life, rather than that nobody wrote it down.
    is_open: bool,
}

/// Who entered while whom was inside.
pub(super) type Overlaps = BTreeSet<(Id, Id)>;

/// Mutual exclusion, of one resource: `events` are all that concern it, in order. Of several overlaps the first counts.
pub(super) fn exclusion(events: &[&Event], merged: &Merged, deaths: &[Death<'_>]) -> (Finding, Overlaps) {
    let turns = turns(events, merged);
    let (mut overlaps, mut violated) = (Overlaps::new(), None);
    let mut latest: BTreeMap<Id, &Turn<'_>> = BTreeMap::new();
    let mut undecided = None;
    for turn in &turns {
        let (me, at) = (turn.entered.record.process, turn.entered.record.at);
        for (&other, before) in &latest {
            let why = || match before.left {
                Some(left) if left.record.at <= at => {
                    format!("{me} entered, and no message shows that {other} had exited; only the machines' clocks do")
                }
                Some(_) | None => format!("{me} entered while {other} was inside"),
            };
            match overlap(before, turn, merged, deaths) {
                Overlap::No => {}
                Overlap::Yes => {
                    overlaps.insert((me, other));
                    let order = Some(turn.entered.order);
                    violated.get_or_insert_with(|| Finding::Violated { at, by: Some(me), order, why: why() });
                }
                Overlap::Unknown => {
                    let reason = format!("records of {other} are missing; possibly {}", why());
                    undecided.get_or_insert(reason);
                }
            }
        }
        latest.insert(me, turn);
    }
    let finding = violated.or_else(|| undecided.map(|why| Finding::Undecided { why }));
    (finding.unwrap_or(Finding::Held), overlaps)
}

enum Overlap {
    No,
    Yes,
    Unknown,
}

/// Whether a turn may have overlapped with one that is later in the order.
fn overlap(before: &Turn<'_>, turn: &Turn<'_>, merged: &Merged, deaths: &[Death<'_>]) -> Overlap {
    let last: &Past = &merged.last[before.entered.life];
    let knew = last.of(turn.entered.record.process) >= turn.entered.moment();
    let other = before.entered.record.process;
    if other == turn.entered.record.process {
        // Within one process, what comes first is over, unless it did not leave.
        let is_over = before.left.is_some() || before.entered.life != turn.entered.life;
        return match (is_over, before.is_open) {
            (true, _) => Overlap::No,
            (false, true) => Overlap::Yes,
            (false, false) => Overlap::Unknown,
        };
    }
    let is_known_dead = || {
        let header = &merged.lives[before.entered.life].header;
        deaths.iter().any(|death| death.is_behind(turn.entered, header))
    };
    match before.left {
        Some(left) if turn.entered.is_after(other, left.moment()) => Overlap::No,
        // It was dead by then, and was known to be: there was nobody left to say that its turn was over.
        Some(left) if !knew && left.record.at <= turn.entered.record.at && is_known_dead() => Overlap::No,
        Some(_) => Overlap::Yes,
        // It never left: it crashed, or stopped. If it knew of this turn before, it was inside with it.
        None => match (knew, before.is_open) {
            (true, true) => Overlap::Yes,
            (true, false) => Overlap::Unknown,
            (false, _) => Overlap::No,
        },
    }
}

fn turns<'a>(events: &[&'a Event], merged: &Merged) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::new();
    let mut inside: BTreeMap<Id, usize> = BTreeMap::new();
    for event in events {
        let me = event.record.process;
        match event.record.what {
            What::Entered { .. } => {
                let is_open = merged.lives[event.life].is_whole_after(event.place);
                inside.insert(me, turns.len());
                turns.push(Turn { entered: event, left: None, is_open });
            }
            What::Leaving | What::Withdrew => {
                if let Some(turn) = inside.remove(&me) {
                    turns[turn].left = Some(event);
                }
            }
            What::Crashed | What::Stopped => _ = inside.remove(&me),
            _ => {}
        }
    }
    turns
}

/// That numbers grow from one event to every later one. If two are not ordered by messages, their clocks say which was
/// first, and that is not enough to judge by.
pub(super) fn growing(numbered: &[(&Event, Fence)], word: &str) -> Finding {
    let mut largest: BTreeMap<Id, Vec<(Moment, Fence)>> = BTreeMap::new();
    let mut seen: BTreeSet<Fence> = BTreeSet::new();
    let mut latest: Option<(Fence, Id)> = None;
    let mut undecided = None;
    for (event, fence) in numbered {
        let (me, at) = (event.record.process, event.record.at);
        let known = largest.iter().filter_map(|(&other, numbers)| {
            let count = numbers.partition_point(|(moment, _)| event.is_after(other, *moment));
            numbers[..count].last().map(|(_, fence)| *fence)
        });
        if let Some(before) = known.max().filter(|before| before >= fence) {
            let why = format!("{me} {word} with fence {fence} after fence {before}");
            return Finding::Violated { at, by: Some(me), order: Some(event.order), why };
        }
        if !seen.insert(*fence) {
            let why = format!("{me} {word} with fence {fence}, which an earlier record has");
            return Finding::Violated { at, by: Some(me), order: Some(event.order), why };
        }
        if let Some((before, other)) = latest.filter(|(before, _)| before > fence) {
            undecided.get_or_insert(format!(
                "{me} {word} with fence {fence} and {other} with fence {before}: no message orders the two, and by the \
                 clocks {other} was first"
            ));
        }
        latest = latest.max(Some((*fence, me)));
        let numbers = largest.entry(me).or_default();
        let before = numbers.last().map_or(*fence, |(_, before)| *before);
        numbers.push((event.moment(), before.max(*fence)));
    }
    undecided.map_or(Finding::Held, |why| Finding::Undecided { why })
}
