//! What the applications enter for: a resource that they read and write, and that checks their fences.
//!
//! It is not part of any algorithm, and no process waits for it. An application that believes to be inside reads once
//! and then writes, each at one moment, and does not heed whether it was let; one that has crashed writes no more. The
//! resource remembers one number, the largest fence that it was shown. Who shows it makes the difference:
//!
//! - **Unsealed**, only a write shows it. What an old holder writes after its successor's first write is refused.
//! - **Sealed**, a read shows it, too: it is the seal of all that was written before. From then on nothing older is
//!   accepted, so what the successor has read is still there when it writes.

use quorate_core::clock::Fence;
use quorate_core::trace::What;

/// A resource that checks fences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Resource {
    sealed: bool,
    /// The largest fence that it was shown.
    largest: Option<Fence>,
}

impl Resource {
    /// One that nobody has touched yet; a read is a seal, or is not.
    pub fn new(sealed: bool) -> Resource {
        Resource { sealed, largest: None }
    }

    /// What is recorded of something that happens: of a read and of a write, it says whether it accepts them.
    pub fn judge(&mut self, what: What) -> What {
        match what {
            What::Read { fence, .. } if self.sealed => What::Read { fence, accepted: self.admit(fence) },
            What::Read { fence, .. } => What::Read { fence, accepted: true },
            What::Wrote { fence, .. } => What::Wrote { fence, accepted: self.admit(fence) },
            what => what,
        }
    }

    fn admit(&mut self, fence: Fence) -> bool {
        let is_newest = self.largest <= Some(fence);
        self.largest = self.largest.max(Some(fence));
        is_newest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_core::clock::{Epoch, Number};

    fn fence(number: u64) -> Fence {
        Fence::counted(Epoch::FIRST, Number::try_from(number).unwrap())
    }

    fn reads(resource: &mut Resource, number: u64) -> bool {
        let judged = resource.judge(What::Read { fence: fence(number), accepted: false });
        matches!(judged, What::Read { accepted: true, .. })
    }

    fn writes(resource: &mut Resource, number: u64) -> bool {
        let judged = resource.judge(What::Wrote { fence: fence(number), accepted: false });
        matches!(judged, What::Wrote { accepted: true, .. })
    }

    #[test]
    fn after_a_write_nothing_older_is_written() {
        for sealed in [false, true] {
            let mut resource = Resource::new(sealed);
            assert!(writes(&mut resource, 2) && writes(&mut resource, 2));
            assert!(!writes(&mut resource, 1));
            assert!(writes(&mut resource, 5) && !writes(&mut resource, 4));
        }
    }

    #[test]
    fn after_a_read_nothing_older_is_written_where_it_is_a_seal() {
        let (mut unsealed, mut sealed) = (Resource::new(false), Resource::new(true));
        assert!(reads(&mut unsealed, 2) && writes(&mut unsealed, 1), "the gap");
        assert!(reads(&mut sealed, 2) && !writes(&mut sealed, 1));
        assert!(writes(&mut sealed, 2) && !reads(&mut sealed, 1));
    }

    #[test]
    fn it_has_nothing_to_say_of_anything_else() {
        let mut resource = Resource::new(true);
        assert_eq!(resource.judge(What::Entered { fence: fence(3) }), What::Entered { fence: fence(3) });
        assert_eq!(resource, Resource::new(true));
    }
}
