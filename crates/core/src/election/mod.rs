//! Leader election: processes agree on one of them, the live one with the largest id.
//!
//! What is the same for all algorithms: an application [calls](Input::Call) an election when it misses a leader, and
//! every process tells its application [whom it follows](Output::Leader), as often as that changes. And who has sent a
//! message of the kind [`ELECTION`] takes part in an election until then, so that others can see it.

mod bully;
mod chang_roberts;
mod chosen;
mod ring;

use serde::{Deserialize, Serialize};

use crate::catalog::Entry;
use crate::id::Id;
use crate::process::Process;
use crate::setting::Setting;
use crate::trace::{Recorded, What};

pub use bully::Bully;
pub use chang_roberts::ChangRoberts;
pub use chosen::{Chosen, Kind};
pub use ring::Ring;

/// What an application asks of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Input {
    /// There is no leader, or it is gone: elect one.
    Call,
}

/// What an election tells its application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Output {
    /// Follow this one from now on.
    Leader(Id),
}

/// The kind of the messages with which an election is begun and passed on, whatever the algorithm: whoever has sent one
/// takes part, until it names a leader, crashes or begins another life.
///
/// Records show it by this alone: an output that says so would be one more effect, and one more point at which a crash
/// can cut a step short.
pub const ELECTION: &str = "election";

/// A leader election algorithm. What it says before anybody leads is of the kind [`ELECTION`], but for the answers to
/// that.
pub trait Election: Process<Input = Input, Output = Output> {
    /// What is known of it.
    const ENTRY: Entry;

    /// A process before its first event.
    fn new(setting: &Setting) -> Self;
}

impl Recorded for Input {
    fn what(&self) -> Option<What> {
        match self {
            Input::Call => Some(What::Called),
        }
    }
}

impl Recorded for Output {
    fn what(&self) -> Option<What> {
        match *self {
            Output::Leader(leader) => Some(What::Leader { leader }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{self, ENTRIES, Family, Visitor};
    use crate::detector::Detector;
    use crate::mutex::Mutex;
    use crate::process::{Effect, Event, Message, effects_of};
    use crate::setting::test_setting;

    /// What a process of this number says first when it is called, and whether it names itself at once.
    struct FirstWord {
        me: u32,
        n: u32,
    }

    impl Visitor for FirstWord {
        type Output = (Option<&'static str>, bool);

        fn mutex<M: Mutex>(self) -> Self::Output {
            unreachable!("only elections are asked");
        }

        fn election<E: Election>(self) -> Self::Output {
            let mut process = E::new(&test_setting(&E::ENTRY, self.me, self.n, &[]));
            let effects = effects_of(self.me, &mut process, Event::Input(Input::Call));
            let names_itself = effects.contains(&Effect::Output(Output::Leader(Id::new(self.me))));
            let first = effects.iter().find_map(|effect| match effect {
                Effect::Send { message, .. } => Some(message.kind()),
                _ => None,
            });
            (first, names_itself)
        }

        fn detector<D: Detector>(self) -> Self::Output {
            unreachable!("only elections are asked");
        }
    }

    #[test]
    fn who_is_called_says_first_that_there_is_an_election_unless_it_leads_at_once() {
        let n = 4;
        let elections = ENTRIES.iter().filter(|entry| entry.family == Family::Election);
        let mut asked = 0;
        for entry in elections {
            for me in 1..=n {
                let (first, names_itself) = catalog::visit(entry.name, FirstWord { me, n }).unwrap();
                // Nobody is above the largest bully, so that it has nobody to ask.
                assert_eq!(names_itself, entry.name == Bully::ENTRY.name && me == n, "{} {me}", entry.name);
                assert!(names_itself || first == Some(ELECTION), "{} {me}: {first:?}", entry.name);
            }
            asked += 1;
        }
        assert_eq!(asked, Kind::ALL.len());
    }
}
