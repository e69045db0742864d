//! One line of a script: something that happens, in words.
//!
//! The words are those of [`Stage::in_words`](crate::stage::Stage::in_words), so that what the explorer writes can be
//! read, and two more for people who do not care about an order.

use std::fmt;

use quorate_core::id::Id;

use crate::stage::wish::Wish;

/// Something that happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// `p1 requests`, `p1 exits`, `p1 withdraws`, `p1 starts an election`, `p1 reads`, `p1 writes`.
    Wish(Id, Wish),
    /// `p2 receives request(1) from p1`, perhaps `, and will again`.
    Get {
        /// Who gets it.
        to: Id,
        /// Which message.
        name: Name,
        /// From whom.
        from: Id,
        /// Whether it will arrive once more.
        again: bool,
    },
    /// `request(1) from p1 to p2 is lost`.
    Lose {
        /// Which message.
        name: Name,
        /// From whom.
        from: Id,
        /// To whom.
        to: Id,
    },
    /// `p1 sends an application message to p2`.
    Tell(Id, Id),
    /// `p2 receives an application message from p1`.
    Hear(Id, Id),
    /// `p2 is notified that p1 crashed`, or `that p1 restarted`.
    Told {
        /// Who is told.
        to: Id,
        /// Of whom.
        of: Id,
        /// Whether it lives.
        alive: bool,
    },
    /// `p1 times out: answers`.
    TimeOut(Id, String),
    /// `p1 crashes`.
    Crash(Id),
    /// `p1 restarts`.
    ComeBack(Id),
    /// `p1 suspects p2`, which lives.
    Suspect(Id, Id),
    /// `p1 requests, and crashes after 2`: of the effects of a step, only so many are carried out.
    CutShort(Box<Step>, usize),
    /// `time passes`: one tick.
    Tick,
    /// `deliver all`: everything on its way, the oldest first, and what is sent meanwhile.
    DeliverAll,
    /// `p2 receives everything`: everything on its way to it, the oldest first.
    GetEverything(Id),
}

/// Which message, among those on the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Its label, `request(1)`, or only its kind, `request`.
    pub label: String,
    /// The how-manieth of those with this label, the oldest first.
    pub nth: Option<usize>,
}

/// The steps that a script can have, for error messages.
pub const KNOWN: &str = "p1 requests, p1 exits, p1 withdraws, p1 starts an election, p1 reads, p1 writes, \
     p2 receives MESSAGE from p1, p2 receives everything, MESSAGE from p1 to p2 is lost, \
     p1 sends an application message to p2, p2 receives an application message from p1, \
     p2 is notified that p1 crashed (or restarted), p1 times out: TIMER, p1 crashes, p1 restarts, p1 suspects p2, \
     p1 requests, and crashes after 2, time passes, deliver all";

impl Step {
    /// What these words mean; or why they mean nothing.
    pub fn parse(text: &str) -> Result<Step, String> {
        let unknown = || format!("`{text}` is not a step; steps are: {KNOWN}");
        if let Some((step, effects)) = text.rsplit_once(", and crashes after ") {
            let effects = effects.trim().parse().ok().filter(|&effects| effects > 0);
            let why = || format!("`{text}`: write the number of effects before the crash, as in `and crashes after 2`");
            let effects = effects.ok_or_else(why)?;
            return match Step::parse(step)? {
                step @ (Step::Wish(..)
                | Step::Get { .. }
                | Step::Hear(..)
                | Step::Told { .. }
                | Step::TimeOut(..)
                | Step::ComeBack(_)
                | Step::Suspect(..)) => Ok(Step::CutShort(Box::new(step), effects)),
                _ => Err(format!("`{text}`: only a step of one process can be cut short by its crash")),
            };
        }
        if let Some((who, timer)) = text.split_once(" times out:") {
            return match timer.trim() {
                "" => Err(format!("`{text}`: name the timer, as in `p1 times out: answers`")),
                timer => Ok(Step::TimeOut(process(who)?, timer.to_string())),
            };
        }
        let (text, again) = match text.strip_suffix(", and will again") {
            Some(text) => (text, true),
            None => (text, false),
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let step = match words[..] {
            [who, "requests" | "asks"] => Step::Wish(process(who)?, Wish::Enter),
            [who, "exits" | "leaves"] => Step::Wish(process(who)?, Wish::Exit),
            [who, "withdraws"] => Step::Wish(process(who)?, Wish::Withdraw),
            [who, "calls"] | [who, "starts", "an", "election"] => Step::Wish(process(who)?, Wish::Call),
            [who, "reads"] => Step::Wish(process(who)?, Wish::Read),
            [who, "writes"] => Step::Wish(process(who)?, Wish::Write),
            [to, "receives" | "gets", "everything"] => Step::GetEverything(process(to)?),
            [to, "receives" | "gets", label, "from", from] => {
                Step::Get { to: process(to)?, name: Name::parse(label, None)?, from: process(from)?, again }
            }
            [to, "receives" | "gets", label, nth, "from", from] => {
                Step::Get { to: process(to)?, name: Name::parse(label, Some(nth))?, from: process(from)?, again }
            }
            [label, "from", from, "to", to, "is", "lost"] => {
                Step::Lose { name: Name::parse(label, None)?, from: process(from)?, to: process(to)? }
            }
            [label, nth, "from", from, "to", to, "is", "lost"] => {
                Step::Lose { name: Name::parse(label, Some(nth))?, from: process(from)?, to: process(to)? }
            }
            [from, "tells", to] | [from, "sends", "an", "application", "message", "to", to] => {
                Step::Tell(process(from)?, process(to)?)
            }
            [to, "hears", "from", from] | [to, "receives", "an", "application", "message", "from", from] => {
                Step::Hear(process(to)?, process(from)?)
            }
            [to, "is", "told", "that", of, "has", "crashed"] | [to, "is", "notified", "that", of, "crashed"] => {
                Step::Told { to: process(to)?, of: process(of)?, alive: false }
            }
            [to, "is", "told", "that", of, "is", "back"] | [to, "is", "notified", "that", of, "restarted"] => {
                Step::Told { to: process(to)?, of: process(of)?, alive: true }
            }
            [who, "crashes"] => Step::Crash(process(who)?),
            [who, "restarts"] | [who, "comes", "back"] => Step::ComeBack(process(who)?),
            [who, "suspects", of] => Step::Suspect(process(who)?, process(of)?),
            ["time", "passes"] => Step::Tick,
            ["deliver", "all"] => Step::DeliverAll,
            _ => return Err(unknown()),
        };
        match step {
            Step::Get { .. } => Ok(step),
            _ if again => {
                Err(format!("`{text}, and will again`: only `p2 receives MESSAGE from p1` can be followed by this"))
            }
            _ => Ok(step),
        }
    }

    /// The step, and what it cuts short, if it does.
    pub fn with_what_is_cut_short(&self) -> impl Iterator<Item = &Step> {
        let cut = match self {
            Step::CutShort(step, _) => Some(&**step),
            _ => None,
        };
        [self].into_iter().chain(cut)
    }

    /// Whom it names.
    pub fn processes(&self) -> Vec<Id> {
        match *self {
            Step::CutShort(ref step, _) => step.processes(),
            Step::Wish(id, _)
            | Step::TimeOut(id, _)
            | Step::Crash(id)
            | Step::ComeBack(id)
            | Step::GetEverything(id) => vec![id],
            Step::Get { to, from, .. } | Step::Lose { to, from, .. } => vec![to, from],
            Step::Tell(first, second) | Step::Hear(first, second) | Step::Suspect(first, second) => {
                vec![first, second]
            }
            Step::Told { to, of, .. } => vec![to, of],
            Step::Tick | Step::DeliverAll => Vec::new(),
        }
    }
}

/// A process: `p3`.
pub(super) fn process(text: &str) -> Result<Id, String> {
    text.strip_prefix('p')
        .and_then(|number| number.parse::<u32>().ok())
        .and_then(|number| Id::try_from(number).ok())
        .ok_or_else(|| format!("`{text}` is not a process: processes are named p1, p2, …"))
}

impl Name {
    fn parse(label: &str, nth: Option<&str>) -> Result<Name, String> {
        let counted = |text: &str| {
            let number = text.strip_prefix('#').and_then(|number| number.parse().ok()).filter(|&number| number > 0);
            number.ok_or_else(|| format!("`{text}`: to choose among equal messages, write #2 for the second"))
        };
        // The first of several needs no number.
        let nth = nth.map(counted).transpose()?.filter(|&nth: &usize| nth > 1);
        Ok(Name { label: label.to_string(), nth })
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label)?;
        self.nth.map_or(Ok(()), |nth| write!(f, " #{nth}"))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Wish(id, wish) => write!(f, "{id} {wish}"),
            Step::Get { to, name, from, again } => {
                write!(f, "{to} receives {name} from {from}{}", if *again { ", and will again" } else { "" })
            }
            Step::Lose { name, from, to } => write!(f, "{name} from {from} to {to} is lost"),
            Step::Tell(from, to) => write!(f, "{from} sends an application message to {to}"),
            Step::Hear(to, from) => write!(f, "{to} receives an application message from {from}"),
            Step::Told { to, of, alive: false } => write!(f, "{to} is notified that {of} crashed"),
            Step::Told { to, of, alive: true } => write!(f, "{to} is notified that {of} restarted"),
            Step::TimeOut(id, timer) => write!(f, "{id} times out: {timer}"),
            Step::Crash(id) => write!(f, "{id} crashes"),
            Step::ComeBack(id) => write!(f, "{id} restarts"),
            Step::Suspect(id, of) => write!(f, "{id} suspects {of}"),
            Step::CutShort(step, effects) => write!(f, "{step}, and crashes after {effects}"),
            Step::Tick => f.write_str("time passes"),
            Step::DeliverAll => f.write_str("deliver all"),
            Step::GetEverything(id) => write!(f, "{id} receives everything"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for words in [
            "p1 requests",
            "p1 exits",
            "p1 withdraws",
            "p12 starts an election",
            "p1 reads",
            "p1 writes",
            "p2 receives request(1) from p1",
            "p2 receives request from p1",
            "p2 receives request(1) #2 from p1",
            "p2 receives request(1) #2 from p1, and will again",
            "p2 receives everything",
            "reply from p1 to p2 is lost",
            "reply(3) #3 from p1 to p2 is lost",
            "p1 sends an application message to p2",
            "p2 receives an application message from p1",
            "p2 is notified that p1 crashed",
            "p2 is notified that p1 restarted",
            "p1 times out: answers",
            "p1 times out: silence(p3)",
            "p1 crashes",
            "p1 restarts",
            "p1 suspects p2",
            "p1 requests, and crashes after 2",
            "p2 receives request(1) #2 from p1, and crashes after 1",
            "p2 receives request(1) #2 from p1, and will again, and crashes after 1",
            "p2 receives an application message from p1, and crashes after 1",
            "p2 is notified that p1 crashed, and crashes after 3",
            "p1 restarts, and crashes after 1",
            "p1 suspects p2, and crashes after 2",
            "time passes",
            "deliver all",
        ] {
            assert_eq!(Step::parse(words).unwrap().to_string(), words);
        }
        assert_eq!(Step::parse("p2 receives request #1 from p1"), Step::parse("p2  receives request from p1"));
    }

    /// The words that earlier versions wrote.
    #[test]
    fn old_words_mean_the_same_as_new_ones() {
        for (old, new) in [
            ("p1 asks", "p1 requests"),
            ("p1 leaves", "p1 exits"),
            ("p12 calls", "p12 starts an election"),
            ("p2 gets request(1) from p1", "p2 receives request(1) from p1"),
            ("p2 gets request from p1", "p2 receives request from p1"),
            ("p2 gets request(1) #2 from p1", "p2 receives request(1) #2 from p1"),
            ("p2 gets request #2 from p1, and will again", "p2 receives request #2 from p1, and will again"),
            ("p2 gets everything", "p2 receives everything"),
            ("p1 tells p2", "p1 sends an application message to p2"),
            ("p2 hears from p1", "p2 receives an application message from p1"),
            ("p2 is told that p1 has crashed", "p2 is notified that p1 crashed"),
            ("p2 is told that p1 is back", "p2 is notified that p1 restarted"),
            ("p1 comes back", "p1 restarts"),
            ("p1 asks, and crashes after 2", "p1 requests, and crashes after 2"),
            ("p2 gets request(1) from p1, and crashes after 1", "p2 receives request(1) from p1, and crashes after 1"),
            ("p1 comes back, and crashes after 1", "p1 restarts, and crashes after 1"),
        ] {
            assert_eq!(Step::parse(old), Step::parse(new), "{old}");
            assert_eq!(Step::parse(old).unwrap().to_string(), new);
        }
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (words, named) in [
            ("", "steps are"),
            ("p1", "steps are"),
            ("p0 asks", "`p0` is not a process"),
            ("1 asks", "`1` is not a process"),
            ("p99999999999 asks", "is not a process"),
            ("p1 shouts", "`p1 shouts` is not a step"),
            ("p2 gets request 2 from p1", "#2 for the second"),
            ("p2 gets request #0 from p1", "#2 for the second"),
            ("p1 asks, and will again", "can be followed by this"),
            ("p1 times out: ", "name the timer"),
            ("p1 asks, and crashes after 0", "number of effects"),
            ("p1 crashes, and crashes after 1", "cut short"),
        ] {
            let why = Step::parse(words).unwrap_err();
            assert!(why.contains(named), "{words}: {why}");
        }
    }
}
