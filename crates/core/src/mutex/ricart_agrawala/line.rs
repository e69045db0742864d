//! Who is owed a reply, in the order of their requests: who enters next hears it first.

use alloc::vec::Vec;

use crate::clock::Timestamp;
use crate::id::{Id, IdSet};

/// Requests whose replies were put off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Line {
    /// Of whom there is one, so that a second is found at once.
    members: IdSet,
    /// The requests, the earliest first.
    requests: Vec<Timestamp>,
}

impl Line {
    /// Adds a request, in place of an earlier one of its process. Whether there was none.
    pub(super) fn insert(&mut self, request: Timestamp) -> bool {
        let is_first = self.members.insert(request.id);
        if !is_first {
            self.requests.retain(|other| other.id != request.id);
        }
        let place = self.requests.partition_point(|other| *other < request);
        self.requests.insert(place, request);
        is_first
    }

    /// Takes the request of a process out, if there is one.
    pub(super) fn remove(&mut self, id: Id) {
        if self.members.remove(id) {
            self.requests.retain(|request| request.id != id);
        }
    }

    /// All of them; they are owed no more.
    pub(super) fn take(&mut self) -> Vec<Timestamp> {
        self.members.take();
        core::mem::take(&mut self.requests)
    }

    /// The memory of what was taken, for others to come.
    pub(super) fn reuse(&mut self, mut taken: Vec<Timestamp>) {
        debug_assert!(self.requests.is_empty(), "nobody came meanwhile");
        taken.clear();
        self.requests = taken;
    }
}
