//! What may happen on a stage, in the words of a [scenario](crate::scenario), which reads them back.

use quorate_core::catalog::{Entry, Family};
use quorate_core::process::{Notice, Process};
use quorate_core::trace::{Label, Recorded, timer_name};

use super::wish::Free;
use super::{Choice, Content, Letter, Rules, Stage};
use crate::network::Order;

impl<P, A> Stage<P, A>
where
    P: Process<Input: Recorded, Output: Recorded>,
    A: Free<P>,
{
    /// A choice, in the words of a scenario.
    pub fn in_words(&self, choice: &Choice<P>) -> String {
        match choice {
            Choice::Wish(id, wish) => format!("{id} {wish}"),
            Choice::Deliver { place, keep } => {
                let arrival = self.arrival_in_words(*place);
                if *keep { format!("{arrival}, and will again") } else { arrival }
            }
            Choice::Lose(place) => {
                let letter = &self.letters()[*place].1;
                format!("{} from {} to {} is lost", self.name_of(*place), letter.from, letter.to)
            }
            Choice::Poke(from, to) => format!("{from} sends an application message to {to}"),
            Choice::Timeout(id, timer) => format!("{id} times out: {}", timer_name(timer)),
            Choice::Crash(id) => format!("{id} crashes"),
            Choice::Restart(id) => format!("{id} restarts"),
            Choice::Suspect(id, of) => format!("{id} suspects {of}"),
            Choice::CutShort(choice, effects) => {
                format!("{}, and crashes after {effects}", self.in_words(choice))
            }
            Choice::Tick => "time passes".into(),
        }
    }

    fn arrival_in_words(&self, place: usize) -> String {
        let letter = &self.letters()[place].1;
        let (from, to) = (letter.from, letter.to);
        match &letter.content {
            Content::Message(_) => format!("{to} receives {} from {from}", self.name_of(place)),
            Content::Poke(_) => format!("{to} receives an application message from {from}"),
            Content::Notice(Notice::Trust(_)) => format!("{to} is notified that {from} restarted"),
            Content::Notice(_) => format!("{to} is notified that {from} crashed"),
        }
    }

    /// The label of a letter; if others on the same way have the same, with its number among them.
    pub fn name_of(&self, place: usize) -> String {
        let letters = self.letters();
        let letter = &letters[place].1;
        let Content::Message(message) = &letter.content else { return String::new() };
        let label = Label::of(message);
        let same = |other: &Letter<P::Message>| {
            let same_label = matches!(&other.content, Content::Message(other) if Label::of(other) == label);
            other.from == letter.from && other.to == letter.to && same_label
        };
        match letters[..place].iter().filter(|(_, other)| same(other)).count() {
            0 => label.to_string(),
            before => format!("{label} #{}", before + 1),
        }
    }
}

impl Rules {
    /// What of these breaks an assumption of an algorithm, in words.
    pub fn broken_assumptions(&self, entry: &Entry) -> Vec<String> {
        let (assumed, bounds) = (&entry.assumptions, &self.bounds);
        let recovers = self.sessions && entry.recovery.is_some();
        let broken = [
            (assumed.reliable && bounds.losses > 0, "messages may be lost"),
            (assumed.reliable && bounds.duplicates > 0, "messages may arrive twice"),
            (assumed.fifo && self.order == Order::Any, "messages may overtake each other"),
            (assumed.crash_free && !recovers && (bounds.crashes > 0 || !self.absent.is_empty()), "processes crash"),
            (
                assumed.restart_free && bounds.restarts > 0 && !(recovers && entry.family == Family::Mutex),
                "processes restart",
            ),
            (bounds.suspicions > 0, "live processes are suspected"),
            (assumed.synchronous && self.delay_bound.is_none(), "message delays have no bound"),
            (assumed.detector && !self.detector, "processes are not notified of crashes"),
        ];
        broken.into_iter().filter(|(is, _)| *is).map(|(_, words)| words.to_string()).collect()
    }
}
