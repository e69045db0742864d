//! Maekawa without deadlock: requests carry timestamps, and a vote given to a later one can be asked back.
//!
//! As in [Maekawa's algorithm](super::Maekawa), each process needs the votes of its voting set. When a voter whose vote
//! is given gets a request, it queues it by timestamp. If the newcomer precedes everybody the voter knows of, the voter
//! *inquires* of the one who has the vote, which *yields* the vote if it has failed at some voter since it asked (even
//! if it has got that vote meanwhile: to yield too often costs messages, not progress); otherwise it keeps it until it
//! has left. Everybody who is not next at a voter is told so: *fail*. Who fails somewhere answers the inquiries it has
//! kept.
//!
//! *Source*: M. Maekawa, ACM TOCS 3(2), 1985, as corrected by B. A. Sanders, "The information structure of distributed
//! mutual exclusion algorithms", ACM TOCS 5(3), 1987: also the one who was next, and is not any more because an earlier
//! request came, is told.
//!
//! **Assumes** that every message arrives once, in any order, and that nobody crashes.
//!
//! **Costs** 3(K−1) messages a use when alone; when others want to enter too, failures, inquiries and yields come
//! on top. An entry waits for a round trip; from an exit to the next entry it takes two messages.
//!
//! **Safe**: a voter has one vote, and gives it to another only when it has come back. **Live**: suppose that some wait
//! for ever, each for a vote that another of them has. Follow the votes round: the largest request on the way has a
//! vote that a smaller one wants, so it has been inquired of; and it waits itself for a voter that prefers a smaller
//! one, so it has been told to fail. It yields. Every yield brings a vote to a smaller request, of which there are
//! finitely many; so the smallest gets all its votes. **Not in order** (ME3):
//! who has all the votes enters, even if a smaller request is still on its way to the voters.
//!
//! With `votes=kept`, requests are queued by time, as lectures put it in one sentence, but no vote is asked back: then
//! three that ask at once wait for each other as before.
//!
//! **Fence**: (number, id), where the number is one more than the largest among the votes. Every message carries its
//! sender's clock, and a release that of the entry, so the voter that two sets share has seen the earlier entry's
//! number before it votes again, and numbers grow from entry to entry. The id is for two that are inside at once, as
//! the living were taken for dead: they may count to the same number, and yet their fences differ.
//!
//! **Crashes** are survived, if everybody is told of them; how is in `recovery.rs`.
//!
//! Messages name the request they speak of, as one may arrive when its request is over: such a one is ignored, which is
//! no breach of any assumption.

mod recovery;

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::convert::Infallible;

use serde::{Deserialize, Serialize};

use super::voting_set::VotingSets;
use super::{ALREADY_ENTERING, Input, Mutex, NOT_INSIDE, Output, SETS};
use crate::catalog::{Choice, Entry, Family, Measure, OptionSpec, Property, Published, Recovery, Values};
use crate::clock::{Fence, LamportClock, Number, Timestamp};
use crate::id::{Id, IdSet};
use crate::process::{self, Effects, Event, Notice, Process};
use crate::setting::Setting;

/// A process of the deadlock-free algorithm: a candidate and a voter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MaekawaDeadlockFree {
    me: Id,
    voters: Vec<Id>,
    /// Whether it asks a vote back for an earlier request.
    recalls: bool,
    clock: LamportClock,
    phase: Phase,
    /// Whom our vote was given to.
    vote: Option<Vote>,
    /// Whom it was not given to yet.
    waiting: BTreeSet<Timestamp>,
    crashes: Crashes,
}

/// What a process knows of crashes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Crashes {
    sets: VotingSets,
    /// Whether who comes back asks what it has promised.
    recovers: bool,
    /// Who is thought to have crashed.
    suspected: IdSet,
    /// Who was asked in place of the dead, for the current request.
    substitutes: IdSet,
    /// Who has not said yet whether it counts on our vote: before that, who has come back gives it to nobody.
    unheard: IdSet,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Released,
    Wanted {
        request: Number,
        missing: IdSet,
        /// Whether somebody else is known to be ahead of us at some voter.
        failed: bool,
        /// Voters that want their vote back and have not been answered.
        inquiries: IdSet,
    },
    Held {
        request: Number,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Vote {
    request: Timestamp,
    inquired: bool,
}

/// What candidates and voters say to each other, and the clock of who says it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Message {
    clock: Number,
    /// The number of the candidate's request.
    request: Number,
    subject: Subject,
}

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Subject {
    /// Candidate to voter: I want to enter.
    Request,
    /// Voter to candidate: you have my vote.
    Vote,
    /// Voter to candidate: somebody else is ahead of you.
    Fail,
    /// Voter to candidate: somebody is ahead of you, may I have my vote back?
    Inquire,
    /// Candidate to voter: here is your vote, I wait for it again.
    Yield,
    /// Candidate to voter: I have left.
    Release,
    /// To a voter that has come back: I am inside, and count on your vote.
    Claim,
    /// To a voter that has come back: I do not count on your vote.
    Disclaim,
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        match self.subject {
            Subject::Request => "request",
            Subject::Vote => "vote",
            Subject::Fail => "fail",
            Subject::Inquire => "inquire",
            Subject::Yield => "yield",
            Subject::Release => "release",
            Subject::Claim => "claim",
            Subject::Disclaim => "disclaim",
        }
    }

    fn number(&self) -> Option<u64> {
        Some(self.request.get())
    }
}

impl Mutex for MaekawaDeadlockFree {
    const ENTRY: Entry = Entry {
        summary: "like maekawa, but a voter can recall a vote that it gave to a later request",
        paper: "B. A. Sanders, \"The information structure of distributed mutual exclusion algorithms\", ACM TOCS \
                5(3), 1987",
        promises: &[Property::MutualExclusion, Property::Progress, Property::Fencing],
        recovery: Some(Recovery {
            fenced_crashes: Some(1),
            ..Recovery::new(
                "the live processes whose sets contain a crashed voter vote in its place; votes for crashed processes \
                 are void",
            )
        }),
        published: &[
            Published::exactly(Measure::Messages, "B, without messages to oneself", "3(K−1)", |size| {
                3.0 * (size.k - 1.0)
            }),
            Published::exactly(Measure::Messages, "A, E", "3√N", |size| 3.0 * size.root_n),
            Published::exactly(Measure::MessagesToEnter, "B, without messages to oneself", "2(K−1)", |size| {
                2.0 * (size.k - 1.0)
            }),
            Published::exactly(Measure::MessagesToEnter, "E", "2√N", |size| 2.0 * size.root_n),
            Published::exactly(Measure::ClientDelay, "A, B, E", "2", |_| 2.0),
            Published::exactly(Measure::SyncDelay, "A, B, E", "2", |_| 2.0),
        ],
        options: &[
            SETS,
            OptionSpec {
                key: "votes",
                values: Values::OneOf(&[
                    Choice::plain("recalled"),
                    Choice { forfeits: &[Property::Progress], ..Choice::plain("kept") },
                ]),
                default: "recalled",
                meaning: "whether a voter recalls a vote it gave to a later request, or keeps it and only queues \
                          requests by timestamp",
            },
        ],
        ..Entry::new("maekawa-deadlock-free", Family::Mutex)
    };

    fn new(setting: &Setting) -> Self {
        MaekawaDeadlockFree {
            me: setting.me,
            voters: setting.group.voting_sets.of(setting.me),
            recalls: setting.group.options.choice("votes") == "recalled",
            clock: LamportClock::default(),
            phase: Phase::Released,
            vote: None,
            waiting: BTreeSet::new(),
            crashes: Crashes {
                sets: setting.group.voting_sets.clone(),
                recovers: setting.group.recovering.is_some(),
                suspected: IdSet::new(),
                substitutes: IdSet::new(),
                unheard: IdSet::new(),
            },
        }
    }

    fn stamp(&self) -> Number {
        self.clock.now()
    }

    fn saved_stamp(saved: &Number) -> Number {
        *saved
    }
}

impl Process for MaekawaDeadlockFree {
    type Message = Message;
    type Input = Input;
    type Output = Output;
    type Timer = Infallible;
    type Stable = Number;

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        let (before, since) = (self.clock.now(), effects.len());
        match event {
            Event::Start { incarnation, saved } => return self.start(incarnation, saved, effects),
            Event::Notice(Notice::Suspect(id)) => self.suspect(id, effects),
            Event::Notice(Notice::Trust(id)) => self.trust(id, effects),
            Event::Notice(Notice::Leader(_)) => {}
            Event::Input(Input::Enter) => self.enter(effects),
            Event::Input(Input::Exit) => self.exit(effects),
            Event::Input(Input::Observe(number)) => self.clock.observe(number),
            Event::Receive { from, message: Message { clock, request, subject } } => {
                self.clock.observe(clock);
                let theirs = Timestamp::new(request, from);
                match subject {
                    Subject::Request => self.on_request(theirs, effects),
                    Subject::Vote => self.on_vote(from, request, effects),
                    Subject::Fail => self.on_fail(request, effects),
                    Subject::Inquire => self.on_inquire(from, request, effects),
                    Subject::Yield => self.on_yield(theirs, effects),
                    Subject::Release => self.on_release(theirs, effects),
                    Subject::Claim => self.on_claim(theirs, true, effects),
                    Subject::Disclaim => self.on_claim(theirs, false, effects),
                }
            }
            Event::Timeout(never) => match never {},
        }
        if let Some(number) = self.clock.begun_since(before) {
            effects.save_before(since, number);
        }
    }
}

impl MaekawaDeadlockFree {
    fn enter(&mut self, effects: &mut Effects<Self>) {
        let Phase::Released = self.phase else { return effects.misused(ALREADY_ENTERING) };
        let request = self.clock.tick();
        self.crashes.substitutes = self.substitutes();
        let asked: IdSet = self.asked().collect();
        let message = self.say(request, Subject::Request);
        effects.multicast(asked.iter(), &message);
        self.phase = Phase::Wanted { request, missing: asked, failed: false, inquiries: IdSet::new() };
    }

    fn exit(&mut self, effects: &mut Effects<Self>) {
        let Phase::Held { request } = self.phase else { return effects.misused(NOT_INSIDE) };
        self.phase = Phase::Released;
        effects.output(Output::Exited);
        let message = self.say(request, Subject::Release);
        effects.multicast(self.asked(), &message);
    }

    fn on_request(&mut self, theirs: Timestamp, effects: &mut Effects<Self>) {
        let first = self.waiting.first().copied();
        if self.vote.is_some_and(|vote| vote.request == theirs) || !self.waiting.insert(theirs) {
            return effects.unexpected(theirs.id, "the same request again");
        }
        let Some(vote) = &mut self.vote else { return self.vote_for_first(effects) };
        if theirs > vote.request || first.is_some_and(|first| theirs > first) {
            return self.tell(theirs, Subject::Fail, effects);
        }
        let (voted, inquired) = (vote.request, core::mem::replace(&mut vote.inquired, true));
        if !inquired && self.recalls {
            self.tell(voted, Subject::Inquire, effects);
        }
        // Sanders' correction: who was to be next is not any more. If it came after the vote it has been told already.
        if let Some(first) = first.filter(|&first| first < voted) {
            self.tell(first, Subject::Fail, effects);
        }
    }

    fn on_vote(&mut self, from: Id, of: Number, effects: &mut Effects<Self>) {
        let Phase::Wanted { request, missing, failed, inquiries } = &mut self.phase else {
            return effects.unexpected(from, "a vote without a request");
        };
        if *request != of || !missing.remove(from) {
            return effects.unexpected(from, "a vote for another request, or a second one");
        }
        let asks_back = *failed && inquiries.contains(from);
        if !self.enter_if_elected(effects) && asks_back {
            self.give_back(from, effects);
        }
    }

    fn enter_if_elected(&mut self, effects: &mut Effects<Self>) -> bool {
        match &self.phase {
            Phase::Wanted { request, missing, .. } if missing.is_empty() => {
                self.phase = Phase::Held { request: *request };
                let number = self.clock.tick();
                effects.output(Output::Entered { fence: Fence::stamped(Timestamp::new(number, self.me)) });
                true
            }
            Phase::Released | Phase::Wanted { .. } | Phase::Held { .. } => false,
        }
    }

    fn on_fail(&mut self, of: Number, effects: &mut Effects<Self>) {
        if let Phase::Wanted { request, failed, missing, inquiries } = &mut self.phase
            && *request == of
        {
            *failed = true;
            let answerable: Vec<Id> = inquiries.iter().filter(|&voter| !missing.contains(voter)).collect();
            for voter in answerable {
                self.give_back(voter, effects);
            }
        }
    }

    fn on_inquire(&mut self, from: Id, of: Number, effects: &mut Effects<Self>) {
        if !self.voters.contains(&from) && !self.crashes.substitutes.contains(from) {
            return effects.unexpected(from, "an inquiry from a process that was not asked for its vote");
        }
        if let Phase::Wanted { request, failed, missing, inquiries } = &mut self.phase
            && *request == of
        {
            // The inquiry may overtake the vote it is about.
            inquiries.insert(from);
            if *failed && !missing.contains(from) {
                self.give_back(from, effects);
            }
        }
    }

    fn on_yield(&mut self, theirs: Timestamp, effects: &mut Effects<Self>) {
        if self.take_back(theirs, effects) {
            self.waiting.insert(theirs);
            self.vote_for_first(effects);
        }
    }

    fn on_release(&mut self, theirs: Timestamp, effects: &mut Effects<Self>) {
        if self.take_back(theirs, effects) {
            self.vote_for_first(effects);
        }
    }

    /// The candidate returns a vote, and is behind somebody from then on.
    fn give_back(&mut self, voter: Id, effects: &mut Effects<Self>) {
        if let Phase::Wanted { request, missing, inquiries, failed } = &mut self.phase {
            missing.insert(voter);
            inquiries.remove(voter);
            *failed = true;
            let request = *request;
            effects.send(voter, self.say(request, Subject::Yield));
        }
    }

    /// The voter has its vote again; false if it had not given it to this request.
    fn take_back(&mut self, theirs: Timestamp, effects: &mut Effects<Self>) -> bool {
        let returned = self.vote.take_if(|vote| vote.request == theirs).is_some();
        if !returned {
            effects.unexpected(theirs.id, "a yield from a process that does not have the vote");
        }
        returned
    }

    fn vote_for_first(&mut self, effects: &mut Effects<Self>) {
        if self.vote.is_some() || !self.crashes.unheard.is_empty() {
            return;
        }
        if let Some(request) = self.waiting.pop_first() {
            self.vote = Some(Vote { request, inquired: false });
            self.tell(request, Subject::Vote, effects);
        }
    }

    /// The voter speaks to a candidate about its request.
    fn tell(&self, theirs: Timestamp, subject: Subject, effects: &mut Effects<Self>) {
        effects.send(theirs.id, self.say(theirs.number, subject));
    }

    fn say(&self, request: Number, subject: Subject) -> Message {
        Message { clock: self.clock.now(), request, subject }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Effect, EffectOf, effects_of};
    use crate::setting::test_setting;
    use alloc::vec;

    const ENTER: Event<MaekawaDeadlockFree> = Event::Input(Input::Enter);
    const EXIT: Event<MaekawaDeadlockFree> = Event::Input(Input::Exit);
    const EXITED: EffectOf<MaekawaDeadlockFree> = Effect::Output(Output::Exited);

    /// Of three, p1 asks itself and p2, p2 itself and p3, p3 itself and p1.
    fn process(me: u32, n: u32) -> MaekawaDeadlockFree {
        MaekawaDeadlockFree::new(&test_setting(&MaekawaDeadlockFree::ENTRY, me, n, &[]))
    }

    fn number(number: u64) -> Number {
        number.try_into().unwrap()
    }

    /// A message about this request, by somebody whose clock shows this.
    fn message(subject: Subject, request: u64, clock: u64) -> Message {
        Message { clock: number(clock), request: number(request), subject }
    }

    fn from(id: u32, subject: Subject, request: u64, clock: u64) -> Event<MaekawaDeadlockFree> {
        Event::Receive { from: Id::new(id), message: message(subject, request, clock) }
    }

    fn send(to: u32, subject: Subject, request: u64, clock: u64) -> EffectOf<MaekawaDeadlockFree> {
        Effect::Send { to: Id::new(to), message: message(subject, request, clock) }
    }

    fn entered(id: u32, count: u64) -> EffectOf<MaekawaDeadlockFree> {
        Effect::Output(Output::Entered { fence: Fence::stamped(Timestamp::new(number(count), Id::new(id))) })
    }

    #[test]
    fn alone_it_is_as_maekawas_with_a_fence_above_every_voters_clock() {
        // 1 2
        // 3 4
        let mut first = process(1, 4);
        let requests = vec![send(2, Subject::Request, 1, 1), send(3, Subject::Request, 1, 1)];
        assert_eq!(effects_of(1, &mut first, ENTER), requests);
        let voted = vec![send(1, Subject::Vote, 1, 1)];
        assert_eq!(effects_of(2, &mut process(2, 4), from(1, Subject::Request, 1, 1)), voted);
        assert_eq!(effects_of(1, &mut first, from(3, Subject::Vote, 1, 30)), vec![]);
        assert_eq!(effects_of(1, &mut first, from(2, Subject::Vote, 1, 1)), vec![entered(1, 31)]);
        let released = vec![EXITED, send(2, Subject::Release, 1, 31), send(3, Subject::Release, 1, 31)];
        assert_eq!(effects_of(1, &mut first, EXIT), released);
        // The voter passes the number on.
        let mut voter = process(2, 4);
        effects_of(2, &mut voter, from(1, Subject::Request, 1, 1));
        effects_of(2, &mut voter, from(1, Subject::Release, 1, 31));
        assert_eq!(effects_of(2, &mut voter, from(4, Subject::Request, 5, 5)), vec![send(4, Subject::Vote, 5, 31)]);
    }

    /// The three requests of M2: p3 fails at p1, and yields to p2.
    #[test]
    fn three_who_ask_at_once_enter_one_after_the_other() {
        let (mut first, mut second, mut third) = (process(1, 3), process(2, 3), process(3, 3));
        assert_eq!(effects_of(1, &mut first, ENTER), vec![send(2, Subject::Request, 1, 1)]);
        assert_eq!(effects_of(2, &mut second, ENTER), vec![send(3, Subject::Request, 1, 1)]);
        assert_eq!(effects_of(3, &mut third, ENTER), vec![send(1, Subject::Request, 1, 1)]);
        // p2 and p3 inquire of themselves, which is no traffic.
        assert_eq!(effects_of(2, &mut second, from(1, Subject::Request, 1, 1)), vec![]);
        assert_eq!(effects_of(3, &mut third, from(2, Subject::Request, 1, 1)), vec![]);
        let failed = vec![send(3, Subject::Fail, 1, 1)];
        assert_eq!(effects_of(1, &mut first, from(3, Subject::Request, 1, 1)), failed);
        let voted = vec![send(2, Subject::Vote, 1, 1)];
        assert_eq!(effects_of(3, &mut third, from(1, Subject::Fail, 1, 1)), voted);

        assert_eq!(effects_of(2, &mut second, from(3, Subject::Vote, 1, 1)), vec![entered(2, 2)]);
        let left = vec![EXITED, send(3, Subject::Release, 1, 2), send(1, Subject::Vote, 1, 2)];
        assert_eq!(effects_of(2, &mut second, EXIT), left);
        assert_eq!(effects_of(1, &mut first, from(2, Subject::Vote, 1, 2)), vec![entered(1, 3)]);
        assert_eq!(effects_of(3, &mut third, from(2, Subject::Release, 1, 2)), vec![]);
        let left = vec![EXITED, send(2, Subject::Release, 1, 3), send(3, Subject::Vote, 1, 3)];
        assert_eq!(effects_of(1, &mut first, EXIT), left);
        assert_eq!(effects_of(3, &mut third, from(1, Subject::Vote, 1, 3)), vec![entered(3, 4)]);
    }

    #[test]
    fn who_yields_gets_the_vote_again_after_the_earlier_one_has_left() {
        let mut voter = process(5, 9);
        assert_eq!(effects_of(5, &mut voter, from(6, Subject::Request, 3, 3)), vec![send(6, Subject::Vote, 3, 3)]);
        assert_eq!(effects_of(5, &mut voter, from(2, Subject::Request, 1, 1)), vec![send(6, Subject::Inquire, 3, 3)]);
        assert_eq!(effects_of(5, &mut voter, from(8, Subject::Request, 3, 3)), vec![send(8, Subject::Fail, 3, 3)]);
        assert_eq!(effects_of(5, &mut voter, from(6, Subject::Yield, 3, 3)), vec![send(2, Subject::Vote, 1, 3)]);
        // (3, p6) precedes (3, p8): ties are broken by id.
        assert_eq!(effects_of(5, &mut voter, from(2, Subject::Release, 1, 4)), vec![send(6, Subject::Vote, 3, 4)]);
        assert_eq!(effects_of(5, &mut voter, from(6, Subject::Release, 3, 5)), vec![send(8, Subject::Vote, 3, 5)]);
        assert_eq!(effects_of(5, &mut voter, from(8, Subject::Release, 3, 6)), vec![]);
    }

    /// Sanders' correction of Maekawa's own.
    #[test]
    fn who_was_next_is_told_when_an_earlier_request_comes() {
        let mut voter = process(5, 9);
        effects_of(5, &mut voter, from(2, Subject::Request, 5, 5));
        assert_eq!(effects_of(5, &mut voter, from(8, Subject::Request, 3, 3)), vec![send(2, Subject::Inquire, 5, 5)]);
        // Who precedes the vote but not the next is told at once.
        assert_eq!(effects_of(5, &mut voter, from(6, Subject::Request, 4, 4)), vec![send(6, Subject::Fail, 4, 5)]);
        // One inquiry is enough; it is p8 that has to be told.
        assert_eq!(effects_of(5, &mut voter, from(4, Subject::Request, 2, 2)), vec![send(8, Subject::Fail, 3, 5)]);

        // Who came after the vote was never next, was told at once, and is not told twice.
        let mut voter = process(5, 9);
        effects_of(5, &mut voter, from(2, Subject::Request, 5, 5));
        assert_eq!(effects_of(5, &mut voter, from(8, Subject::Request, 7, 7)), vec![send(8, Subject::Fail, 7, 7)]);
        assert_eq!(effects_of(5, &mut voter, from(4, Subject::Request, 2, 2)), vec![send(2, Subject::Inquire, 5, 7)]);
    }

    /// Process 1 of 3 whose own vote went to p3 first, so that it has failed with its request 2.
    fn failed() -> MaekawaDeadlockFree {
        let mut first = process(1, 3);
        effects_of(1, &mut first, from(3, Subject::Request, 1, 1));
        assert_eq!(effects_of(1, &mut first, ENTER), vec![send(2, Subject::Request, 2, 2)]);
        first
    }

    #[test]
    fn an_inquiry_that_overtakes_its_vote_is_answered_when_the_vote_has_come() {
        let mut first = failed();
        assert_eq!(effects_of(1, &mut first, from(2, Subject::Inquire, 2, 2)), vec![]);
        assert_eq!(effects_of(1, &mut first, from(2, Subject::Vote, 2, 2)), vec![send(2, Subject::Yield, 2, 2)]);
        // It counts on that vote no more, and keeps the next one, about which nobody has inquired.
        assert_eq!(effects_of(1, &mut first, from(3, Subject::Release, 1, 9)), vec![]);
        assert_eq!(effects_of(1, &mut first, from(2, Subject::Vote, 2, 2)), vec![entered(1, 10)]);
    }

    #[test]
    fn who_fails_yields_no_vote_that_it_has_not_got_yet() {
        let mut second = process(2, 4);
        effects_of(2, &mut second, ENTER);
        assert_eq!(effects_of(2, &mut second, from(1, Subject::Inquire, 1, 1)), vec![]);
        assert_eq!(effects_of(2, &mut second, from(4, Subject::Fail, 1, 1)), vec![]);
        assert_eq!(effects_of(2, &mut second, from(1, Subject::Vote, 1, 1)), vec![send(1, Subject::Yield, 1, 1)]);
    }

    #[test]
    fn an_inquiry_is_kept_until_it_is_known_whether_the_vote_is_of_use() {
        // Nobody is known to be ahead: it keeps the vote, and with the last one it enters.
        let mut second = process(2, 4);
        assert_eq!(effects_of(2, &mut second, ENTER).len(), 2);
        effects_of(2, &mut second, from(1, Subject::Vote, 1, 1));
        assert_eq!(effects_of(2, &mut second, from(1, Subject::Inquire, 1, 1)), vec![]);
        let mut lucky = second.clone();
        assert_eq!(effects_of(2, &mut lucky, from(4, Subject::Vote, 1, 1)), vec![entered(2, 2)]);
        assert_eq!(effects_of(2, &mut lucky, from(1, Subject::Inquire, 1, 1)), vec![]);
        // Who fails somewhere answers the inquiries it has kept, and later ones at once.
        let yields = vec![send(1, Subject::Yield, 1, 1)];
        assert_eq!(effects_of(2, &mut second, from(4, Subject::Fail, 1, 1)), yields);
        assert_eq!(effects_of(2, &mut second, from(1, Subject::Vote, 1, 1)), vec![]);
        assert_eq!(effects_of(2, &mut second, from(1, Subject::Inquire, 1, 1)), yields);
    }

    #[test]
    fn messages_about_an_older_request_are_ignored() {
        let mut first = process(1, 3);
        effects_of(1, &mut first, ENTER);
        assert_eq!(effects_of(1, &mut first, from(2, Subject::Vote, 1, 1)), vec![entered(1, 2)]);
        effects_of(1, &mut first, EXIT);
        let late = [Subject::Fail, Subject::Inquire];
        let ignored = |process: &mut MaekawaDeadlockFree| {
            let before = process.clone();
            for subject in late {
                assert_eq!(effects_of(1, process, from(2, subject, 1, 1)), vec![]);
            }
            assert_eq!(process, &before);
        };
        ignored(&mut first);
        assert_eq!(effects_of(1, &mut first, ENTER), vec![send(2, Subject::Request, 3, 3)]);
        ignored(&mut first);
        assert_eq!(effects_of(1, &mut first, from(2, Subject::Vote, 3, 3)), vec![entered(1, 4)]);
        ignored(&mut first);
    }

    #[test]
    fn misuse_and_what_peers_should_not_send_change_nothing() {
        let check = |process: &mut MaekawaDeadlockFree, event| {
            let before = process.clone();
            let effects = effects_of(1, process, event);
            assert!(matches!(effects[..], [Effect::Unexpected { .. }]), "{effects:?}");
            assert_eq!(process, &before);
        };
        let mut first = failed();
        check(&mut first, ENTER);
        check(&mut first, EXIT);
        // The request that has the vote, once more.
        check(&mut first, from(3, Subject::Request, 1, 1));
        effects_of(1, &mut first, from(3, Subject::Request, 2, 2));
        check(&mut first, from(3, Subject::Request, 2, 2));
        // Who was not asked has no vote to give or to inquire about.
        check(&mut first, from(3, Subject::Vote, 2, 2));
        check(&mut first, from(3, Subject::Inquire, 2, 2));
        check(&mut first, from(2, Subject::Vote, 1, 1));
        check(&mut first, from(3, Subject::Release, 2, 2));
        check(&mut first, from(2, Subject::Yield, 1, 1));
        effects_of(1, &mut first, from(2, Subject::Vote, 2, 2));
        check(&mut first, from(2, Subject::Vote, 2, 2));
        effects_of(1, &mut first, from(3, Subject::Release, 1, 1));
        assert!(matches!(first.phase, Phase::Held { .. }));
        check(&mut first, ENTER);
        check(&mut first, from(2, Subject::Vote, 2, 2));
        effects_of(1, &mut first, EXIT);
        check(&mut first, EXIT);
    }

    #[test]
    fn one_process_alone_enters_without_a_message_with_growing_fences() {
        let mut only = process(1, 1);
        for entries in [2, 4, 6] {
            assert_eq!(effects_of(1, &mut only, ENTER), vec![entered(1, entries)]);
            assert_eq!(effects_of(1, &mut only, EXIT), vec![EXITED]);
        }
    }
}
