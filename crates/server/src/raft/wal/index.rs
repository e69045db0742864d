//! What the records of a log come to: the vote, and where each entry is.

use std::collections::VecDeque;
use std::ops::Range;

use bytes::Bytes;

use super::frame::{Begin, FORMAT, Record};
use crate::raft::types::{LogId, Vote};

/// Where a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The number of the file.
    pub(super) file: u64,
    pub(super) offset: u64,
    pub(super) length: u32,
}

/// An entry, and where it is.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) id: LogId,
    pub(super) place: Place,
    /// What it carries, if that is kept in memory.
    pub(super) payload: Option<Bytes>,
}

/// What the records come to.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub(super) vote: Option<Vote>,
    pub(super) committed: Option<LogId>,
    pub(super) purged: Option<LogId>,
    entries: VecDeque<Slot>,
    /// How much the payloads in memory come to.
    kept_bytes: usize,
    /// How many entries at the front are not in memory.
    not_kept: usize,
}

impl Index {
    /// The last entry, be it gone.
    pub(super) fn last(&self) -> Option<LogId> {
        self.entries.back().map(|slot| slot.id).or(self.purged)
    }

    /// What the next file begins with.
    pub(super) fn begin(&self) -> Begin {
        let Index { vote, committed, purged, .. } = *self;
        Begin { format: FORMAT, vote, committed, purged, last: self.last() }
    }

    /// Adds what a record says, or says why it cannot be.
    pub(super) fn add(&mut self, record: &Record<'_>, place: Place, payload: Option<Bytes>) -> Result<(), String> {
        match *record {
            Record::Begin(begin) => {
                if self.entries.is_empty() {
                    (self.vote, self.committed, self.purged) = (begin.vote, begin.committed, begin.purged);
                } else if self.begin() != begin {
                    return Err("a file does not continue where the one before it ends".into());
                }
            }
            Record::Entry(id, _) => {
                // The first entries may be gone with their files, while the record that says so is still to come.
                if self.entries.back().is_some_and(|last| last.id.index.wrapping_add(1) != id.index) {
                    return Err(format!("unexpected entry {}", id.index));
                }
                self.kept_bytes += payload.as_ref().map_or(0, Bytes::len);
                self.entries.push_back(Slot { id, place, payload });
            }
            Record::Vote(vote) => self.vote = Some(vote),
            Record::Committed(id) => self.committed = Some(id),
            Record::Truncate(from) => {
                while self.entries.back().is_some_and(|slot| slot.id.index >= from) {
                    let slot = self.entries.pop_back();
                    self.forget(slot);
                }
                self.not_kept = self.not_kept.min(self.entries.len());
            }
            Record::Purge(upto) => {
                while self.entries.front().is_some_and(|slot| slot.id.index <= upto.index) {
                    let slot = self.entries.pop_front();
                    self.forget(slot);
                    self.not_kept = self.not_kept.saturating_sub(1);
                }
                self.purged = self.purged.max(Some(upto));
            }
        }
        Ok(())
    }

    fn forget(&mut self, slot: Option<Slot>) {
        self.kept_bytes -= slot.and_then(|slot| slot.payload).map_or(0, |payload| payload.len());
    }

    /// Whether no entry is missing.
    pub(super) fn is_whole(&self) -> bool {
        let next = self.purged.map_or(0, |purged| purged.index.wrapping_add(1));
        self.entries.front().is_none_or(|first| first.id.index == next)
    }

    /// Everything was read: nothing of it is in memory.
    pub(super) fn was_read(&mut self) {
        self.not_kept = self.entries.len();
    }

    /// Keeps no more than so much in memory. Those that are not on disk yet stay.
    pub(super) fn keep(&mut self, most_bytes: usize, is_written: impl Fn(Place) -> bool) {
        while self.kept_bytes > most_bytes
            && let Some(slot) = self.entries.get_mut(self.not_kept).filter(|slot| is_written(slot.place))
        {
            self.kept_bytes -= slot.payload.take().map_or(0, |payload| payload.len());
            self.not_kept += 1;
        }
    }

    /// The entries of these numbers, as far as they are there.
    pub(super) fn range(&self, numbers: Range<u64>) -> impl Iterator<Item = &Slot> {
        let first = self.entries.front().map_or(0, |slot| slot.id.index);
        let at = |number: u64| (number.saturating_sub(first) as usize).min(self.entries.len());
        let (from, to) = (at(numbers.start), at(numbers.end));
        self.entries.range(from..to.max(from))
    }

    /// The first file that has an entry which is needed.
    pub(super) fn first_file(&self) -> Option<u64> {
        self.entries.front().map(|slot| slot.place.file)
    }
}
