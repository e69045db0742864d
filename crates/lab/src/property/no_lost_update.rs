//! Whoever writes to the resource writes over nothing that it has not read: between what an entry reads first and a
//! write of it that is accepted, no write of another entry is.
//!
//! It follows from mutual exclusion. Where that is broken, a resource that checks fences refuses an old holder's write
//! *after* the first one of its successor; but between what the successor reads and its first write, the old holder's
//! write is still the newest, is accepted, and is then written over unseen. A *seal* closes this gap: the successor
//! shows its fence when it reads, and from then on nothing older is accepted. See
//! [`Resource`](crate::stage::resource::Resource).

use std::collections::BTreeMap;

use quorate_core::clock::Fence;
use quorate_core::id::Id;
use quorate_core::trace::{Record, What};

/// The entries that have read and have not left, each with who has written since, if another entry has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NoLostUpdate {
    read: BTreeMap<Id, (Fence, Option<Id>)>,
}

impl NoLostUpdate {
    pub(super) fn observe(&mut self, record: &Record) -> Option<String> {
        let me = record.process;
        match record.what {
            What::Read { fence, accepted: true } => {
                self.read.entry(me).or_insert((fence, None));
                None
            }
            What::Wrote { accepted: true, .. } => {
                for (&reader, (_, written)) in &mut self.read {
                    if reader != me {
                        written.get_or_insert(me);
                    }
                }
                let (fence, other) = self.read.get(&me)?;
                other.map(|other| {
                    format!("{me}, with fence {fence}, overwrote a write of {other} that {me} had not read")
                })
            }
            What::Leaving | What::Withdrew | What::Crashed | What::Stopped => {
                self.read.remove(&me);
                None
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{broken, entered, read, wrote};
    use quorate_core::catalog::Property::NoLostUpdate;
    use quorate_core::trace::What::{Crashed, Leaving};

    #[test]
    fn taking_turns_holds() {
        let history = [
            (1, entered(1)),
            (1, read(1, true)),
            (1, wrote(1, true)),
            (1, wrote(1, true)),
            (1, Leaving),
            (2, entered(2)),
            (2, read(2, true)),
            (2, wrote(2, true)),
            (2, Leaving),
            (1, entered(3)),
            (1, read(3, true)),
            (1, wrote(3, true)),
        ];
        assert_eq!(broken(NoLostUpdate, &history), None);
    }

    #[test]
    fn an_old_write_between_what_the_successor_reads_and_writes_is_lost() {
        let history = [(1, read(1, true)), (2, read(2, true)), (1, wrote(1, true)), (2, wrote(2, true))];
        let why = "p2, with fence 2, overwrote a write of p1 that p2 had not read";
        assert_eq!(broken(NoLostUpdate, &history), Some((3, why.into())));
    }

    #[test]
    fn one_before_the_successor_reads_is_seen() {
        let history = [(1, read(1, true)), (1, wrote(1, true)), (2, read(2, true)), (2, wrote(2, true))];
        assert_eq!(broken(NoLostUpdate, &history), None);
    }

    #[test]
    fn what_is_refused_is_not_written() {
        let history = [(1, read(1, true)), (2, read(2, true)), (1, wrote(1, false)), (2, wrote(2, true))];
        assert_eq!(broken(NoLostUpdate, &history), None);
        let history = [(1, read(1, true)), (2, read(2, true)), (2, wrote(2, true)), (1, wrote(1, false))];
        assert_eq!(broken(NoLostUpdate, &history), None);
    }

    #[test]
    fn who_has_left_or_crashed_reads_anew() {
        for gone in [Leaving, Crashed] {
            let history = [(2, read(1, true)), (1, wrote(2, true)), (2, gone), (2, read(3, true)), (2, wrote(3, true))];
            assert_eq!(broken(NoLostUpdate, &history), None);
        }
    }
}
