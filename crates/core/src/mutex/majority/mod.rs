//! Majority voting: every process is a coordinator with one vote, and more than half of the votes let you in.
//!
//! To enter, a process asks all n coordinators. A coordinator that has not voted gives its vote; one that has refuses.
//! With m > n/2 votes the process enters. When so many have refused that m cannot be reached any more, or when the
//! answers take too long, it gives its votes back, waits for a random time, and tries again.
//!
//! *Source*: "Lecture 5: Mutual Exclusion and Election", the decentralized algorithm; after S.-D. Lin, Q. Lian, M.
//! Chen, Z. Zhang, IPTPS 2004.
//!
//! **Assumes** that every message arrives once, in any order. A coordinator may crash and come back at once, but then
//! it has
//! **forgotten its vote**: if 2m − n of the m voters of somebody inside forget (m of them, if all n had voted for it),
//! a second one may get in. So the promise is that of runs in which nobody crashes, and `quorate violation` says what
//! the chance of a violation is otherwise.
//!
//! **Costs** 3(n−1) messages a use when alone: questions, votes, releases; more for each try that fails. An entry waits
//! for a round trip at best.
//!
//! **Safe**: two majorities share a coordinator, and it has one vote. **Live** only with luck: two who keep asking at
//! the same time can split the votes each time; random waiting, longer after each failure, makes that improbable. **Not
//! in order**.
//!
//! **Fence**: (number, id), where the number is one more than the largest that the candidate and its voters know of.
//! Every release tells what the candidate knows, its own last entry included: its next try may overtake the release of
//! that entry, and take over the vote. So the coordinator that two majorities share has heard of the earlier entry
//! before it votes for another candidate, and numbers grow from entry to entry. The id is for two that are inside at
//! once, as the living were taken for dead: they may count to the same number, and yet their fences differ.
//!
//! **Crashes** are survived, if everybody is told of them; how is in `recovery.rs`.

mod recovery;

use alloc::vec::Vec;
use core::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::{ALREADY_ENTERING, Input, Mutex, NOT_INSIDE, Output};
use crate::catalog::{Choice, Entry, Family, OptionSpec, Property, Recovery, Values};
use crate::clock::{Fence, LamportClock, Number, Timestamp};
use crate::id::{Id, IdSet};
use crate::process::{self, Effects, Event, Notice, Process, Ticks};
use crate::setting::Setting;

/// A process of majority voting: a candidate and a coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Majority {
    me: Id,
    n: u32,
    /// How many votes let one in.
    needed: usize,
    delay_bound: Ticks,
    /// After this many failures in a row, waiting does not get longer.
    longest_back_off: u32,
    /// Our latest ballot. One of a former life is smaller.
    ballot: Ballot,
    phase: Phase,
    /// Whom our vote was given to, and in which of its tries.
    vote: Option<(Id, Ballot)>,
    /// The number of the last entry that we know of, ours or another's.
    entries: Number,
    /// Whether a coordinator remembers its vote through a crash.
    remembers: bool,
    /// Whether one that does not asks everybody.
    recovers: bool,
    /// Who is thought to have crashed.
    suspected: IdSet,
    /// Who has not said yet whether it counts on our vote: before that, who has come back and forgotten refuses all.
    unheard: IdSet,
}

/// What survives a crash: the numbers, and the vote if it is to be remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Saved {
    /// No entry that was known of has a larger number.
    entries: Number,
    vote: Option<(Id, Ballot)>,
}

impl process::Stable for Saved {}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Released,
    Asking {
        /// How often we have asked for this entry, as far as waiting gets longer by it.
        tries: u32,
        votes: IdSet,
        refusals: IdSet,
    },
    BackingOff {
        tries: u32,
    },
    Held {
        votes: IdSet,
    },
}

/// One try of one process, in one of its lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ballot {
    incarnation: u64,
    number: Number,
}

/// Why a candidate wakes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// Answers have taken too long: some coordinators may have crashed.
    Answers,
    /// It has waited long enough to try again.
    BackOff,
}

/// What candidates and coordinators say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// A candidate asks for a vote.
    Ask {
        /// Its try.
        ballot: Ballot,
    },
    /// The coordinator's vote.
    Vote {
        /// The candidate's try.
        ballot: Ballot,
        /// The number of the last entry that the coordinator knows of.
        entries: Number,
    },
    /// The coordinator has voted for somebody else.
    Refuse {
        /// The candidate's try.
        ballot: Ballot,
    },
    /// To a coordinator that has come back: whether the sender counts on its vote.
    Claim {
        /// The try in which it was given, if so.
        ballot: Option<Ballot>,
        /// The number of the last entry that the sender knows of.
        entries: Number,
    },
    /// The candidate gives a vote back.
    Release {
        /// Its try.
        ballot: Ballot,
        /// The number of the last entry that it knows of.
        entries: Number,
    },
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Ask { .. } => "ask",
            Message::Vote { .. } => "vote",
            Message::Refuse { .. } => "refuse",
            Message::Release { .. } => "release",
            Message::Claim { ballot: Some(_), .. } => "claim",
            Message::Claim { ballot: None, .. } => "disclaim",
        }
    }

    fn tries(&mut self, from: Id, to: Id) -> Vec<(Id, &mut Number)> {
        let (candidate, ballot) = match self {
            Message::Ask { ballot } | Message::Release { ballot, .. } => (from, Some(ballot)),
            Message::Vote { ballot, .. } | Message::Refuse { ballot } => (to, Some(ballot)),
            Message::Claim { ballot, .. } => (from, ballot.as_mut()),
        };
        ballot.map(|ballot| (candidate, &mut ballot.number)).into_iter().collect()
    }

    fn number(&self) -> Option<u64> {
        match self {
            Message::Ask { ballot }
            | Message::Vote { ballot, .. }
            | Message::Refuse { ballot }
            | Message::Release { ballot, .. } => Some(ballot.number.get()),
            Message::Claim { ballot, .. } => ballot.map(|ballot| ballot.number.get()),
        }
    }
}

impl Mutex for Majority {
    const ENTRY: Entry = Entry {
        summary: "every process has one vote; a process that has more than half of the votes enters",
        paper: "S.-D. Lin, Q. Lian, M. Chen and Z. Zhang, IPTPS 2004",
        promises: &[Property::MutualExclusion, Property::Progress, Property::Fencing],
        recovery: Some(Recovery {
            fenced_crashes: Some(1),
            needs_majority: true,
            ..Recovery::new("a crashed process counts as a refusal, and the votes that it had are free again")
        }),
        options: &[
            OptionSpec {
                key: "votes",
                values: Values::Integer { from: 0, to: Fence::MOST_PROCESSES as u64 },
                default: "0",
                meaning: "m, the number of votes needed to enter: more than half of n, at most n; 0 means the \
                          smallest majority",
            },
            OptionSpec {
                key: "memory",
                values: Values::OneOf(&[Choice::plain("lost"), Choice::plain("kept")]),
                default: "lost",
                meaning: "whether a crash loses the vote of a coordinator, or the coordinator saves its vote before \
                          it sends it",
            },
            OptionSpec {
                key: "doublings",
                values: Values::Integer { from: 0, to: 7 },
                default: "7",
                meaning: "the upper limit of the random back-off starts at 2 δ and doubles up to this many \
                          times while attempts fail",
            },
        ],
        check: |group| {
            let (votes, n) = (group.options.integer("votes"), u64::from(group.n));
            if votes == 0 || (2 * votes > n && votes <= n) {
                Ok(())
            } else {
                Err(alloc::format!(
                    "option votes = {votes}: with {n} coordinators, give {} to {n} votes, or 0 for the smallest \
                     majority",
                    n / 2 + 1
                ))
            }
        },
        ..Entry::new("majority", Family::Mutex)
    };

    fn new(setting: &Setting) -> Self {
        let votes = setting.group.options.integer("votes") as usize;
        Majority {
            me: setting.me,
            n: setting.n(),
            needed: if votes == 0 { setting.n() as usize / 2 + 1 } else { votes },
            delay_bound: setting.group.delay_bound,
            longest_back_off: setting.group.options.integer("doublings") as u32 + 1,
            ballot: Ballot::default(),
            phase: Phase::Released,
            vote: None,
            entries: Number::ZERO,
            remembers: setting.group.options.choice("memory") == "kept",
            recovers: setting.group.recovering.is_some(),
            suspected: IdSet::new(),
            unheard: IdSet::new(),
        }
    }
}

impl Process for Majority {
    type Message = Message;
    type Input = Input;
    type Output = Output;
    type Timer = Timer;
    type Stable = Saved;

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        let (before, since) = ((self.entries, self.vote), effects.len());
        match event {
            Event::Start { incarnation, saved } => return self.start(incarnation, saved, effects),
            Event::Input(Input::Observe(_)) => {}
            Event::Notice(Notice::Suspect(id)) => self.suspect(id, effects),
            Event::Notice(Notice::Trust(id)) => self.trust(id, effects),
            Event::Notice(Notice::Leader(_)) => {}
            Event::Input(Input::Enter) => self.enter(effects),
            Event::Input(Input::Exit) => self.exit(effects),
            Event::Receive { from, message: Message::Ask { ballot } } => self.on_ask(from, ballot, effects),
            Event::Receive { from, message: Message::Vote { ballot, entries } } => {
                self.on_vote(from, ballot, entries, effects);
            }
            Event::Receive { from, message: Message::Refuse { ballot } } => self.on_refuse(from, ballot, effects),
            Event::Receive { from, message: Message::Release { ballot, entries } } => {
                self.on_release(from, ballot, entries);
            }
            Event::Receive { from, message: Message::Claim { ballot, entries } } => {
                self.on_claim(from, ballot, entries);
            }
            Event::Timeout(Timer::Answers) => self.on_answers_late(effects),
            Event::Timeout(Timer::BackOff) => self.on_back_off_over(effects),
        }
        let is_new_block = LamportClock::reborn(Some(self.entries)).begun_since(before.0).is_some();
        if is_new_block || (self.remembers && self.vote != before.1) {
            effects.save_before(since, self.to_save());
        }
    }

    fn tries(&mut self) -> Option<Vec<(Id, &mut Number)>> {
        if self.remembers {
            // They are on its disk as well.
            return None;
        }
        let vote = self.vote.as_mut().map(|(candidate, ballot)| (*candidate, &mut ballot.number));
        Some([(self.me, &mut self.ballot.number)].into_iter().chain(vote).collect())
    }
}

impl Majority {
    fn enter(&mut self, effects: &mut Effects<Self>) {
        let Phase::Released = self.phase else { return effects.misused(ALREADY_ENTERING) };
        self.ask(1, effects);
    }

    fn exit(&mut self, effects: &mut Effects<Self>) {
        let Phase::Held { votes } = &self.phase else { return effects.misused(NOT_INSIDE) };
        effects.output(Output::Exited);
        effects.multicast(votes.iter(), &self.release(self.ballot));
        self.phase = Phase::Released;
    }

    fn ask(&mut self, tries: u32, effects: &mut Effects<Self>) {
        self.ballot.number = self.ballot.number.next();
        self.phase = Phase::Asking { tries, votes: IdSet::new(), refusals: self.suspected.clone() };
        let deadline = self.delay_bound.saturating_mul(2).saturating_add(1);
        effects.set_timer(Timer::Answers, deadline..=deadline);
        let living = Id::all(self.n).filter(|&id| !self.suspected.contains(id));
        effects.multicast(living, &Message::Ask { ballot: self.ballot });
    }

    fn on_ask(&mut self, from: Id, ballot: Ballot, effects: &mut Effects<Self>) {
        let free = match self.vote {
            None => self.unheard.is_empty(),
            // The candidate has begun another try, so it does not count on this vote any more.
            Some((candidate, earlier)) => candidate == from && earlier < ballot,
        };
        if free {
            self.vote = Some((from, ballot));
            effects.send(from, Message::Vote { ballot, entries: self.entries });
        } else {
            effects.send(from, Message::Refuse { ballot });
        }
    }

    fn on_vote(&mut self, from: Id, ballot: Ballot, told: Number, effects: &mut Effects<Self>) {
        self.entries = self.entries.max(told);
        let current = ballot == self.ballot;
        match &mut self.phase {
            Phase::Asking { votes, .. } if current => {
                votes.insert(from);
                if votes.len() >= self.needed {
                    self.phase = Phase::Held { votes: votes.take() };
                    self.entries = self.entries.next();
                    effects.cancel_timer(Timer::Answers);
                    let fence = Fence::stamped(Timestamp::new(self.entries, self.me));
                    effects.output(Output::Entered { fence });
                }
            }
            // One more than needed: it goes back with the others.
            Phase::Held { votes, .. } if current => {
                votes.insert(from);
            }
            // Too late for its try: nobody needs it.
            Phase::Released | Phase::Asking { .. } | Phase::BackingOff { .. } | Phase::Held { .. } => {
                effects.send(from, self.release(ballot));
            }
        }
    }

    fn on_refuse(&mut self, from: Id, ballot: Ballot, effects: &mut Effects<Self>) {
        if let Phase::Asking { tries, refusals, .. } = &mut self.phase
            && ballot == self.ballot
        {
            refusals.insert(from);
            let tries = *tries;
            self.back_off_if_hopeless(tries, effects);
        }
    }

    fn back_off_if_hopeless(&mut self, tries: u32, effects: &mut Effects<Self>) {
        if let Phase::Asking { refusals, .. } = &self.phase
            && refusals.len() > self.n as usize - self.needed
        {
            effects.cancel_timer(Timer::Answers);
            self.back_off(tries, effects);
        }
    }

    /// Takes back the vote, if it is this candidate's and of this try. Another try may have got it meanwhile, and a
    /// coordinator that crashed has forgotten it.
    fn on_release(&mut self, from: Id, ballot: Ballot, entries: Number) {
        self.entries = self.entries.max(entries);
        self.vote.take_if(|vote| *vote == (from, ballot));
    }

    fn on_answers_late(&mut self, effects: &mut Effects<Self>) {
        if let Phase::Asking { tries, .. } = self.phase {
            self.back_off(tries, effects);
        }
    }

    fn on_back_off_over(&mut self, effects: &mut Effects<Self>) {
        if let Phase::BackingOff { tries } = self.phase {
            self.ask(self.longest_back_off.min(tries + 1), effects);
        }
    }

    fn back_off(&mut self, tries: u32, effects: &mut Effects<Self>) {
        if let Phase::Asking { votes, .. } = &self.phase {
            effects.multicast(votes.iter(), &self.release(self.ballot));
        }
        self.phase = Phase::BackingOff { tries };
        effects.set_timer(Timer::BackOff, self.waiting_time(tries));
    }

    fn release(&self, ballot: Ballot) -> Message {
        Message::Release { ballot, entries: self.entries }
    }

    /// Twice as long after each failure, so that however many compete, at last one is alone for long enough.
    fn waiting_time(&self, tries: u32) -> RangeInclusive<Ticks> {
        0..=self.delay_bound.saturating_mul(1 << tries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Effect, EffectOf, Message as _, effects_of};
    use crate::setting::{Group, Options, SettingError, Timing, test_setting};
    use alloc::string::ToString;
    use alloc::vec;
    use alloc::vec::Vec;

    const ENTER: Event<Majority> = Event::Input(Input::Enter);
    const EXIT: Event<Majority> = Event::Input(Input::Exit);
    const EXITED: EffectOf<Majority> = Effect::Output(Output::Exited);
    const CANCEL: EffectOf<Majority> = Effect::CancelTimer(Timer::Answers);

    /// A process that has begun its first life.
    fn process(me: u32, n: u32) -> Majority {
        let mut process = Majority::new(&test_setting(&Majority::ENTRY, me, n, &[]));
        let effects = effects_of(me, &mut process, Event::Start { incarnation: 1, saved: None });
        assert!(matches!(effects[..], [Effect::Save(_)]), "{effects:?}");
        process
    }

    fn ballot(count: u64) -> Ballot {
        Ballot { incarnation: 1, number: count.try_into().unwrap() }
    }

    fn ask(count: u64) -> Message {
        Message::Ask { ballot: ballot(count) }
    }

    fn vote(count: u64, entries: u64) -> Message {
        Message::Vote { ballot: ballot(count), entries: entries.try_into().unwrap() }
    }

    fn refuse(count: u64) -> Message {
        Message::Refuse { ballot: ballot(count) }
    }

    fn release(count: u64, entries: u64) -> Message {
        Message::Release { ballot: ballot(count), entries: entries.try_into().unwrap() }
    }

    fn from(id: u32, message: Message) -> Event<Majority> {
        Event::Receive { from: Id::new(id), message }
    }

    fn send(to: u32, message: Message) -> EffectOf<Majority> {
        Effect::Send { to: Id::new(to), message }
    }

    /// Asks everybody but the process itself, for the deadline of a round trip and a tick.
    fn asks(count: u64, others: &[u32]) -> Vec<EffectOf<Majority>> {
        let timer = Effect::SetTimer { timer: Timer::Answers, after: 21..=21 };
        [timer].into_iter().chain(others.iter().map(|&id| send(id, ask(count)))).collect()
    }

    fn back_off(longest: Ticks) -> EffectOf<Majority> {
        Effect::SetTimer { timer: Timer::BackOff, after: 0..=longest }
    }

    /// The first process enters.
    fn entered(entries: u64) -> EffectOf<Majority> {
        let stamp = Timestamp::new(entries.try_into().unwrap(), Id::new(1));
        Effect::Output(Output::Entered { fence: Fence::stamped(stamp) })
    }

    #[test]
    fn more_than_half_of_the_votes_let_one_in_and_all_of_them_go_back() {
        let (mut first, mut second) = (process(1, 4), process(2, 4));
        assert_eq!(effects_of(1, &mut first, ENTER), asks(1, &[2, 3, 4]));
        assert_eq!(effects_of(2, &mut second, from(1, ask(1))), vec![send(1, vote(1, 0))]);
        assert_eq!(effects_of(1, &mut first, from(2, vote(1, 0))), vec![]);
        // Its own vote is the third, and what it knows of earlier entries counts as well.
        assert_eq!(effects_of(1, &mut first, from(4, vote(1, 6))), vec![CANCEL, entered(7)]);
        // One more than needed.
        assert_eq!(effects_of(1, &mut first, from(3, vote(1, 2))), vec![]);
        let released = vec![EXITED, send(2, release(1, 7)), send(3, release(1, 7)), send(4, release(1, 7))];
        assert_eq!(effects_of(1, &mut first, EXIT), released);
        assert_eq!(effects_of(2, &mut second, from(1, release(1, 7))), vec![]);
        assert_eq!(effects_of(2, &mut second, from(3, ask(9))), vec![send(3, vote(9, 7))]);
        // Its own vote is free again, too.
        assert_eq!(effects_of(1, &mut first, from(3, ask(9))), vec![send(3, vote(9, 7))]);
    }

    #[test]
    fn a_coordinator_that_has_voted_refuses_until_the_vote_is_back() {
        let mut second = process(2, 3);
        assert_eq!(effects_of(2, &mut second, from(1, ask(5))), vec![send(1, vote(5, 0))]);
        assert_eq!(effects_of(2, &mut second, from(3, ask(8))), vec![send(3, refuse(8))]);
        // Not this one's to give back.
        assert_eq!(effects_of(2, &mut second, from(3, release(5, 0))), vec![]);
        assert_eq!(effects_of(2, &mut second, from(3, ask(9))), vec![send(3, refuse(9))]);
        assert_eq!(effects_of(2, &mut second, from(1, release(5, 1))), vec![]);
        assert_eq!(effects_of(2, &mut second, from(3, ask(10))), vec![send(3, vote(10, 1))]);
    }

    #[test]
    fn refusals_give_the_votes_back_and_each_failure_doubles_the_longest_wait() {
        let mut first = process(1, 4);
        effects_of(1, &mut first, ENTER);
        effects_of(1, &mut first, from(2, vote(1, 0)));
        assert_eq!(effects_of(1, &mut first, from(3, refuse(1))), vec![]);
        // Two have refused, and three votes of four cannot be reached any more.
        let gives_up = vec![CANCEL, send(2, release(1, 0)), back_off(20)];
        assert_eq!(effects_of(1, &mut first, from(4, refuse(1))), gives_up);
        let mut longest = 20;
        for count in 2..12 {
            longest = (2 * longest).min(10 * 256);
            assert_eq!(effects_of(1, &mut first, Event::Timeout(Timer::BackOff)), asks(count, &[2, 3, 4]));
            // A refusal of an earlier try, or a second one of the same, means nothing.
            assert_eq!(effects_of(1, &mut first, from(3, refuse(count - 1))), vec![]);
            assert_eq!(effects_of(1, &mut first, from(2, refuse(count))), vec![]);
            assert_eq!(effects_of(1, &mut first, from(2, refuse(count))), vec![]);
            assert_eq!(effects_of(1, &mut first, from(3, refuse(count))), vec![CANCEL, back_off(longest)]);
        }
    }

    #[test]
    fn without_doublings_the_longest_wait_stays_the_same() {
        let mut first = Majority::new(&test_setting(&Majority::ENTRY, 1, 2, &[("doublings", "0")]));
        effects_of(1, &mut first, Event::Start { incarnation: 1, saved: None });
        effects_of(1, &mut first, ENTER);
        for count in 1..4 {
            assert_eq!(effects_of(1, &mut first, from(2, refuse(count))), vec![CANCEL, back_off(20)]);
            assert_eq!(effects_of(1, &mut first, Event::Timeout(Timer::BackOff)), asks(count + 1, &[2]));
        }
    }

    /// Where all numbers of a process's tries are larger by the same amount, all goes on in the same way.
    #[test]
    fn the_numbers_of_tries_are_told_with_whose_they_are() {
        let numbers = |tries: Vec<(Id, &mut Number)>| -> Vec<_> {
            tries.into_iter().map(|(id, number)| (id.number(), number.get())).collect()
        };
        let mut second = process(2, 3);
        effects_of(2, &mut second, from(1, ask(5)));
        effects_of(2, &mut second, ENTER);
        assert_eq!(numbers(second.tries().unwrap()), [(2, 1), (1, 5)]);
        let (one, other) = (Id::new(1), Id::new(2));
        for mut message in [ask(5), release(5, 0), Message::Claim { ballot: Some(ballot(5)), entries: Number::ZERO }] {
            assert_eq!(numbers(message.tries(one, other)), [(1, 5)], "{message:?}");
        }
        for mut message in [vote(5, 0), refuse(5)] {
            assert_eq!(numbers(message.tries(other, one)), [(1, 5)], "{message:?}");
        }
        let mut later = second.clone();
        for (id, number) in later.tries().unwrap() {
            let larger = if id == one { number.get() + 3 } else { number.get() };
            *number = larger.try_into().unwrap();
        }
        assert_eq!(effects_of(2, &mut second, from(1, ask(6))), vec![send(1, vote(6, 0))]);
        assert_eq!(effects_of(2, &mut later, from(1, ask(9))), vec![send(1, vote(9, 0))]);
        // What is on a disk cannot be reached.
        let mut kept = Majority::new(&test_setting(&Majority::ENTRY, 1, 3, &[("memory", "kept")]));
        assert!(kept.tries().is_none());
    }

    #[test]
    fn answers_that_take_too_long_are_a_failure_and_late_votes_are_given_back() {
        let mut first = process(1, 3);
        effects_of(1, &mut first, ENTER);
        assert_eq!(effects_of(1, &mut first, Event::Timeout(Timer::Answers)), vec![back_off(20)]);
        assert_eq!(effects_of(1, &mut first, from(2, vote(1, 3))), vec![send(2, release(1, 3))]);
        assert_eq!(effects_of(1, &mut first, Event::Timeout(Timer::BackOff)), asks(2, &[2, 3]));
        assert_eq!(effects_of(1, &mut first, from(3, vote(1, 0))), vec![send(3, release(1, 3))]);
        assert_eq!(effects_of(1, &mut first, from(3, vote(2, 0))), vec![CANCEL, entered(4)]);
        assert_eq!(effects_of(1, &mut first, EXIT), vec![EXITED, send(3, release(2, 4))]);
        assert_eq!(effects_of(1, &mut first, from(2, vote(2, 0))), vec![send(2, release(2, 4))]);
        // Timers that were too late to be cancelled are harmless.
        for timer in [Timer::Answers, Timer::BackOff] {
            let before = first.clone();
            assert_eq!(effects_of(1, &mut first, Event::Timeout(timer)), vec![]);
            assert_eq!(first, before);
        }
    }

    #[test]
    fn a_new_try_takes_over_the_vote_of_an_older_one() {
        let mut second = process(2, 3);
        effects_of(2, &mut second, from(1, ask(1)));
        assert_eq!(effects_of(2, &mut second, from(1, ask(2))), vec![send(1, vote(2, 0))]);
        // The release of the older try comes late, and does not free the vote; neither does an older question get it.
        assert_eq!(effects_of(2, &mut second, from(1, release(1, 0))), vec![]);
        assert_eq!(effects_of(2, &mut second, from(1, ask(1))), vec![send(1, refuse(1))]);
        assert_eq!(effects_of(2, &mut second, from(3, ask(1))), vec![send(3, refuse(1))]);
        // A try of a later life is newer than all of the former one.
        let reborn = Ballot { incarnation: 2, number: Number::ZERO.next() };
        let votes = vec![send(1, Message::Vote { ballot: reborn, entries: Number::ZERO })];
        assert_eq!(effects_of(2, &mut second, from(1, Message::Ask { ballot: reborn })), votes);
    }

    /// The next try of who has left may overtake the release of its entry, and find voters that do not know of it.
    #[test]
    fn fences_grow_even_if_the_next_try_overtakes_the_release() {
        let mut first = process(1, 3);
        effects_of(1, &mut first, from(2, ask(1)));
        effects_of(1, &mut first, ENTER);
        effects_of(1, &mut first, from(2, vote(1, 0)));
        assert_eq!(effects_of(1, &mut first, from(3, vote(1, 0))), vec![CANCEL, entered(1)]);
        effects_of(1, &mut first, EXIT);
        effects_of(1, &mut first, ENTER);
        let mut unlucky = first.clone();
        effects_of(1, &mut first, from(2, vote(2, 0)));
        assert_eq!(effects_of(1, &mut first, from(3, vote(2, 0))), vec![CANCEL, entered(2)]);
        // A try that fails must not let go of the vote without telling of the entry either.
        effects_of(1, &mut unlucky, from(3, vote(2, 0)));
        let gives_up = vec![CANCEL, send(3, release(2, 1)), back_off(20)];
        assert_eq!(effects_of(1, &mut unlucky, from(2, refuse(2))), gives_up);
    }

    #[test]
    fn no_fewer_votes_than_a_majority_can_be_demanded() {
        let group = |n, votes| {
            let options = Options::new(&Majority::ENTRY, [("votes", votes)]).unwrap();
            Group::new(&Majority::ENTRY, n, 10, Timing::Synchronous, options)
        };
        for (n, votes) in [(4, "3"), (4, "4"), (5, "3"), (1, "1"), (4, "0")] {
            assert!(group(n, votes).is_ok(), "{votes} of {n}");
        }
        for (n, votes) in [(4, "2"), (4, "5"), (5, "2"), (1, "2")] {
            assert!(matches!(group(n, votes), Err(SettingError::Refused(_))), "{votes} of {n}");
        }
        let why = group(4, "2").unwrap_err().to_string();
        assert_eq!(why, "option votes = 2: with 4 coordinators, give 3 to 4 votes, or 0 for the smallest majority");
        // All of three are needed if all are demanded.
        let mut first = Majority::new(&test_setting(&Majority::ENTRY, 1, 3, &[("votes", "3")]));
        effects_of(1, &mut first, Event::Start { incarnation: 1, saved: None });
        effects_of(1, &mut first, ENTER);
        assert_eq!(effects_of(1, &mut first, from(2, vote(1, 0))), vec![]);
        assert_eq!(effects_of(1, &mut first, from(3, vote(1, 0))), vec![CANCEL, entered(1)]);
    }

    #[test]
    fn misuse_by_the_application_changes_nothing_and_a_second_vote_counts_once() {
        let check = |process: &mut Majority, event| {
            let before = process.clone();
            let effects = effects_of(1, process, event);
            assert!(matches!(effects[..], [Effect::Unexpected { from: None, .. }]), "{effects:?}");
            assert_eq!(process, &before);
        };
        let mut first = process(1, 5);
        check(&mut first, EXIT);
        effects_of(1, &mut first, ENTER);
        check(&mut first, ENTER);
        check(&mut first, EXIT);
        assert_eq!(effects_of(1, &mut first, from(2, vote(1, 0))), vec![]);
        assert_eq!(effects_of(1, &mut first, from(2, vote(1, 0))), vec![]);
        let mut refused = first.clone();
        effects_of(1, &mut first, from(3, vote(1, 0)));
        assert!(matches!(first.phase, Phase::Held { .. }));
        check(&mut first, ENTER);
        effects_of(1, &mut refused, Event::Timeout(Timer::Answers));
        check(&mut refused, ENTER);
        check(&mut refused, EXIT);
    }

    #[test]
    fn one_process_alone_enters_without_a_message_with_growing_fences() {
        let mut only = process(1, 1);
        for entries in 1..4 {
            let effects: Vec<_> = asks(entries, &[]).into_iter().chain([CANCEL, entered(entries)]).collect();
            assert_eq!(effects_of(1, &mut only, ENTER), effects);
            assert_eq!(effects_of(1, &mut only, EXIT), vec![EXITED]);
        }
    }
}
