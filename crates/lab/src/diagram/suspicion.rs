//! Who is taken for dead, rightly or not: from the first that says so until the last takes it back.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use quorate_core::id::Id;
use quorate_core::trace::{Opinion, Record, What};

/// Somebody is suspected from one event to another; from the beginning or to the end if none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Suspected {
    pub(super) line: usize,
    pub(super) from: Option<usize>,
    pub(super) to: Option<usize>,
}

/// When each of the processes that have lines was suspected, within a window of the records.
pub(super) fn suspected(lines: &[Id], records: &[Record], window: &Range<usize>) -> Vec<Suspected> {
    let mut by: BTreeMap<Id, BTreeSet<Id>> = BTreeMap::new();
    let mut since: BTreeMap<Id, Option<usize>> = BTreeMap::new();
    let mut ended = Vec::new();
    for (index, record) in records[..window.end].iter().enumerate() {
        let event = index.checked_sub(window.start);
        for of in see(&mut by, record) {
            if by.contains_key(&of) {
                since.entry(of).or_insert(event);
            } else if let Some(from) = since.remove(&of)
                && event.is_some()
            {
                ended.push((of, from, event));
            }
        }
    }
    ended.extend(since.into_iter().map(|(of, from)| (of, from, None)));
    let on_a_line = |(of, from, to)| lines.binary_search(&of).ok().map(|line| Suspected { line, from, to });
    ended.into_iter().filter_map(on_a_line).collect()
}

/// Takes note of a record, and says about whom somebody may think otherwise now.
fn see(by: &mut BTreeMap<Id, BTreeSet<Id>>, record: &Record) -> Vec<Id> {
    let me = record.process;
    match record.what {
        What::Opinion { of, opinion: Opinion::Suspected | Opinion::Failed } | What::Told { of, alive: false } => {
            by.entry(of).or_default().insert(me);
            vec![of]
        }
        What::Opinion { of, opinion: Opinion::Unsuspected } | What::Told { of, alive: true } => {
            forget(by, me, of);
            vec![of]
        }
        // The dead suspect nobody.
        What::Crashed | What::Stopped => {
            let suspected: Vec<Id> = by.iter().filter(|(_, who)| who.contains(&me)).map(|(&of, _)| of).collect();
            suspected.iter().for_each(|&of| forget(by, me, of));
            suspected
        }
        _ => Vec::new(),
    }
}

fn forget(by: &mut BTreeMap<Id, BTreeSet<Id>>, me: Id, of: Id) {
    if let Some(who) = by.get_mut(&of) {
        who.remove(&me);
        if who.is_empty() {
            by.remove(&of);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(at: u64, process: u32, of: u32, alive: bool) -> Record {
        Record { at, process: Id::new(process), what: What::Told { of: Id::new(of), alive } }
    }

    fn of(records: &[Record], window: Range<usize>) -> Vec<(usize, Option<usize>, Option<usize>)> {
        let lines: Vec<Id> = Id::all(3).collect();
        suspected(&lines, records, &window).iter().map(|one| (one.line, one.from, one.to)).collect()
    }

    #[test]
    fn from_the_first_who_says_so_to_the_last_who_takes_it_back() {
        let records = [told(0, 1, 3, false), told(1, 2, 3, false), told(2, 1, 3, true), told(3, 2, 3, true)];
        assert_eq!(of(&records, 0..4), [(2, Some(0), Some(3))]);
        assert_eq!(of(&records, 1..3), [(2, None, None)], "it began before, and ends after what is shown");
        assert_eq!(of(&records, 3..4), [(2, None, Some(0))]);
        assert_eq!(of(&records, 0..3), [(2, Some(0), None)]);
    }

    #[test]
    fn what_is_over_before_is_not_shown_and_the_dead_suspect_nobody() {
        let crashed = Record { at: 4, process: Id::new(1), what: What::Crashed };
        let records = [told(0, 1, 3, false), told(1, 1, 3, true), told(2, 1, 2, false), crashed, told(5, 2, 9, false)];
        assert_eq!(of(&records, 2..5), [(1, Some(0), Some(1))]);
    }
}
