//! How often those who wait are overtaken: the entries by others between a request and its own entry.

use std::collections::BTreeMap;

use quorate_core::id::Id;
use quorate_core::trace::What;

/// How many have entered since each waiting process asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bypass {
    overtaken: BTreeMap<Id, u32>,
}

impl Bypass {
    /// Something happens to a process.
    pub fn observe(&mut self, me: Id, what: &What) {
        match what {
            What::Wanted => {
                self.overtaken.insert(me, 0);
            }
            What::Entered { .. } => {
                self.overtaken.remove(&me);
                for times in self.overtaken.values_mut() {
                    *times += 1;
                }
            }
            What::Withdrew | What::Crashed | What::Stopped => {
                self.overtaken.remove(&me);
            }
            _ => {}
        }
    }

    /// How often who was overtaken most has been.
    pub fn most(&self) -> u32 {
        self.overtaken.values().copied().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::entered;
    use super::*;
    use quorate_core::trace::What::{Crashed, Wanted, Withdrew};

    #[test]
    fn entries_by_others_count_while_one_waits() {
        let mut bypass = Bypass::default();
        let mut most = Vec::new();
        for (who, what) in [
            (1, Wanted),
            (2, entered(1)),
            (2, Wanted),
            (3, entered(2)),
            (1, entered(3)),
            (2, Withdrew),
            (3, Wanted),
            (1, entered(4)),
            (3, Crashed),
        ] {
            bypass.observe(Id::new(who), &what);
            most.push(bypass.most());
        }
        assert_eq!(most, [0, 1, 1, 2, 2, 0, 0, 1, 0]);
    }
}
