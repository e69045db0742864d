//! Taking a request back: a timeout, a cancellation.
//!
//! Works for every mutual exclusion algorithm, because it is the one way that is safe for all of them: the request
//! stays, and when it is granted the process leaves at once, without its application having been inside. So nothing is
//! left behind that could block others, and no reply to a dead request is ever counted for a living one. (Naive
//! withdrawal, which forgets the request, breaks Ricart–Agrawala: a stale reply is counted.)
//!
//! An application that wants to enter again waits until it hears that the old request is [through](Output::Withdrawn).
//! It could not have the old one's place, for another request may have happened before the new one and after the old;
//! and if the new one were kept here and made later, it would be overtaken by requests that happened after it. Both
//! break ME3; a simulated run showed the second.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::clock::Number;
use crate::id::Id;
use crate::mutex::{self, Mutex, Output};
use crate::process::{Effects, Event, Process};
use crate::setting::Setting;
use crate::trace::{Recorded, What};

/// A mutual exclusion algorithm whose requests can be taken back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Withdrawable<M> {
    algorithm: M,
    wish: Wish,
}

/// What the application wants, as against what the algorithm is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Wish {
    /// It wants nothing, and nothing is asked for.
    Nothing,
    /// It waits to be let in.
    Enter,
    /// It has been let in.
    Stay,
    /// It has withdrawn; the algorithm still asks for it.
    Withdrawn,
}

/// What an application asks, withdrawal included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Request {
    /// I want to enter.
    Enter,
    /// I am done and have left.
    Exit,
    /// I do not want to enter any more; if I have been let in meanwhile, I have left.
    Withdraw,
    /// I have received a message of the application that carries this stamp.
    Observe(Number),
}

impl Recorded for Request {
    fn what(&self) -> Option<What> {
        match self {
            Request::Enter => mutex::Input::Enter.what(),
            Request::Exit => mutex::Input::Exit.what(),
            Request::Withdraw => Some(What::Withdrew),
            Request::Observe(number) => mutex::Input::Observe(*number).what(),
        }
    }
}

impl<M: Mutex> Withdrawable<M> {
    /// A process before its first event.
    pub fn new(setting: &Setting) -> Self {
        Withdrawable { algorithm: M::new(setting), wish: Wish::Nothing }
    }

    /// What the application attaches to a message of its own.
    pub fn stamp(&self) -> Number {
        self.algorithm.stamp()
    }

    /// The algorithm itself.
    pub fn algorithm(&self) -> &M {
        &self.algorithm
    }

    /// Whether the algorithm is asked to let it in.
    pub(super) fn is_asking(&self) -> bool {
        matches!(self.wish, Wish::Enter | Wish::Withdrawn)
    }

    /// If it ends now: what its application is to be told, and what it still asks for.
    pub(super) fn resign(&self) -> (&'static [Output], Option<Request>) {
        match self.wish {
            Wish::Nothing => (&[], None),
            Wish::Enter => (&[], Some(Request::Enter)),
            Wish::Stay => (&[Output::Lost, Output::Exited], None),
            Wish::Withdrawn => (&[Output::Withdrawn], None),
        }
    }

    /// Lets the algorithm take a step, and sees to it that what nobody wants any more is left at once.
    fn forward(&mut self, event: Event<M>, effects: &mut Effects<Self>) {
        let since = effects.len();
        self.algorithm.step(event, effects);
        match self.wish {
            Wish::Nothing => {}
            Wish::Stay => {
                if effects.output_since(since) == Some(&Output::Lost) {
                    self.wish = Wish::Nothing;
                }
            }
            Wish::Enter | Wish::Withdrawn => match effects.output_since(since) {
                Some(Output::Entered { .. }) => self.granted(since, effects),
                Some(Output::Exited | Output::Lost | Output::Withdrawn) | None => {}
            },
        }
    }

    fn granted(&mut self, since: usize, effects: &mut Effects<Self>) {
        if self.wish == Wish::Withdrawn {
            self.wish = Wish::Nothing;
            self.leave_unseen(since, effects);
            effects.output(Output::Withdrawn);
        } else {
            self.wish = Wish::Stay;
        }
    }

    /// Leaves again, without a word to the application.
    fn leave_unseen(&mut self, since: usize, effects: &mut Effects<Self>) {
        effects.retract_output(since);
        let since = effects.len();
        self.algorithm.step(Event::Input(mutex::Input::Exit), effects);
        effects.retract_output(since);
    }

    fn enter(&mut self, effects: &mut Effects<Self>) {
        match self.wish {
            Wish::Nothing => {
                self.wish = Wish::Enter;
                self.forward(Event::Input(mutex::Input::Enter), effects);
            }
            Wish::Enter | Wish::Stay => effects.misused(mutex::ALREADY_ENTERING),
            Wish::Withdrawn => effects.misused("asked to enter before what it withdrew was through"),
        }
    }

    fn exit(&mut self, effects: &mut Effects<Self>) {
        match self.wish {
            Wish::Stay => {
                self.wish = Wish::Nothing;
                self.forward(Event::Input(mutex::Input::Exit), effects);
            }
            Wish::Nothing | Wish::Enter | Wish::Withdrawn => effects.misused(mutex::NOT_INSIDE),
        }
    }

    fn withdraw(&mut self, effects: &mut Effects<Self>) {
        match self.wish {
            Wish::Enter => self.wish = Wish::Withdrawn,
            // The grant and the withdrawal crossed: the application has been let in, and leaves.
            Wish::Stay => self.exit(effects),
            Wish::Nothing | Wish::Withdrawn => effects.misused("withdrew without waiting to enter"),
        }
    }
}

impl<M: Mutex> Process for Withdrawable<M> {
    type Message = M::Message;
    type Input = Request;
    type Output = Output;
    type Timer = M::Timer;
    type Stable = M::Stable;

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Input(Request::Enter) => self.enter(effects),
            Event::Input(Request::Withdraw) => self.withdraw(effects),
            Event::Input(Request::Exit) => self.exit(effects),
            Event::Input(Request::Observe(number)) => {
                self.forward(Event::Input(mutex::Input::Observe(number)), effects);
            }
            Event::Start { incarnation, saved } => self.forward(Event::Start { incarnation, saved }, effects),
            Event::Notice(notice) => self.forward(Event::Notice(notice), effects),
            Event::Receive { from, message } => self.forward(Event::Receive { from, message }, effects),
            Event::Timeout(timer) => self.forward(Event::Timeout(timer), effects),
        }
    }

    fn tries(&mut self) -> Option<Vec<(Id, &mut Number)>> {
        self.algorithm.tries()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Epoch, Fence, Timestamp};
    use crate::mutex::{
        Central, Lamport, Maekawa, MaekawaDeadlockFree, Majority, RicartAgrawala, RoucairolCarvalho, SuzukiKasami,
        TokenRing,
    };
    use crate::process::{Effect, EffectOf, effects_of};
    use crate::setting::test_setting;
    use alloc::vec;

    type Subject = Withdrawable<RicartAgrawala>;
    type Message = <RicartAgrawala as Process>::Message;

    const ENTER: Event<Subject> = Event::Input(Request::Enter);
    const EXIT: Event<Subject> = Event::Input(Request::Exit);
    const WITHDRAW: Event<Subject> = Event::Input(Request::Withdraw);
    const EXITED: EffectOf<Subject> = Effect::Output(Output::Exited);
    const THROUGH: EffectOf<Subject> = Effect::Output(Output::Withdrawn);

    fn process<M: Mutex>(me: u32, n: u32) -> Withdrawable<M> {
        let mut process = Withdrawable::<M>::new(&test_setting(&M::ENTRY, me, n, &[]));
        effects_of(me, &mut process, Event::Start { incarnation: 1, saved: None });
        process
    }

    fn number(number: u64) -> Number {
        number.try_into().unwrap()
    }

    fn request(at: u64) -> Message {
        Message::Request { number: number(at) }
    }

    fn reply(highest: u64) -> Message {
        Message::Reply { highest: Some(number(highest)) }
    }

    /// A message of process 2 arrives.
    fn hear<M: Mutex>(message: M::Message) -> Event<Withdrawable<M>> {
        Event::Receive { from: Id::new(2), message }
    }

    fn tell(message: Message) -> EffectOf<Subject> {
        Effect::Send { to: Id::new(2), message }
    }

    fn entered(at: u64) -> EffectOf<Subject> {
        Effect::Output(Output::Entered { fence: Fence::stamped(Timestamp::new(number(at), Id::new(1))) })
    }

    /// Process 1 of 2, whose request 1 was withdrawn before the other answered.
    fn withdrawn() -> Subject {
        let mut first = process(1, 2);
        assert_eq!(effects_of(1, &mut first, ENTER), vec![tell(request(1))]);
        assert_eq!(effects_of(1, &mut first, WITHDRAW), vec![]);
        first
    }

    #[test]
    fn who_withdraws_nothing_notices_no_difference() {
        let mut first: Subject = process(1, 2);
        effects_of(1, &mut first, Event::Input(Request::Observe(number(4))));
        assert_eq!(first.stamp(), number(4));
        assert_eq!(effects_of(1, &mut first, ENTER), vec![tell(request(5))]);
        assert_eq!(effects_of(1, &mut first, hear(reply(5))), vec![entered(5)]);
        assert_eq!(effects_of(1, &mut first, hear(request(6))), vec![]);
        assert_eq!(effects_of(1, &mut first, EXIT), vec![EXITED, tell(reply(6))]);
        assert_eq!(effects_of(1, &mut first, ENTER), vec![tell(request(7))]);
    }

    #[test]
    fn a_withdrawn_request_stays_and_is_left_at_once_and_unseen_when_granted() {
        let mut first = withdrawn();
        // It is still ahead of later requests.
        assert_eq!(effects_of(1, &mut first, hear(request(2))), vec![]);
        assert_eq!(effects_of(1, &mut first, hear(reply(2))), vec![tell(reply(2)), THROUGH]);
        // Nothing is left of it.
        assert_eq!(effects_of(1, &mut first, hear(request(9))), vec![tell(reply(9))]);
    }

    #[test]
    fn who_wants_to_enter_again_waits_until_the_old_request_is_through() {
        let mut first = withdrawn();
        let before = first.clone();
        let too_early = "asked to enter before what it withdrew was through";
        let misused = vec![Effect::Unexpected { from: None, why: too_early }];
        assert_eq!(effects_of(1, &mut first, ENTER), misused);
        assert_eq!(first, before);
        assert_eq!(effects_of(1, &mut first, hear(reply(1))), vec![THROUGH]);
        // The new request is one of its own, and can be withdrawn like any other.
        assert_eq!(effects_of(1, &mut first, ENTER), vec![tell(request(2))]);
        let mut again = first.clone();
        assert_eq!(effects_of(1, &mut first, hear(reply(2))), vec![entered(2)]);
        assert_eq!(effects_of(1, &mut again, WITHDRAW), vec![]);
        assert_eq!(effects_of(1, &mut again, hear(reply(2))), vec![THROUGH]);
    }

    #[test]
    fn a_withdrawal_that_crosses_the_grant_leaves() {
        let mut first: Subject = process(1, 2);
        effects_of(1, &mut first, ENTER);
        assert_eq!(effects_of(1, &mut first, hear(reply(1))), vec![entered(1)]);
        effects_of(1, &mut first, hear(request(2)));
        assert_eq!(effects_of(1, &mut first, WITHDRAW), vec![EXITED, tell(reply(2))]);
        assert_eq!(effects_of(1, &mut first, ENTER), vec![tell(request(3))]);
    }

    #[test]
    fn misuse_changes_nothing() {
        const NOT_WAITING: &str = "withdrew without waiting to enter";
        let check = |process: &mut Subject, event, why| {
            let before = process.clone();
            assert_eq!(effects_of(1, process, event), vec![Effect::Unexpected { from: None, why }]);
            assert_eq!(process, &before);
        };
        let mut first: Subject = process(1, 2);
        check(&mut first, EXIT, mutex::NOT_INSIDE);
        check(&mut first, WITHDRAW, NOT_WAITING);
        effects_of(1, &mut first, ENTER);
        check(&mut first, ENTER, mutex::ALREADY_ENTERING);
        check(&mut first, EXIT, mutex::NOT_INSIDE);
        effects_of(1, &mut first, WITHDRAW);
        check(&mut first, WITHDRAW, NOT_WAITING);
        check(&mut first, EXIT, mutex::NOT_INSIDE);
        effects_of(1, &mut first, hear(reply(1)));
        check(&mut first, WITHDRAW, NOT_WAITING);
        effects_of(1, &mut first, ENTER);
        effects_of(1, &mut first, hear(reply(2)));
        assert_eq!(first.wish, Wish::Stay);
        check(&mut first, ENTER, mutex::ALREADY_ENTERING);
    }

    #[test]
    fn an_entry_that_nobody_saw_has_a_fence_of_its_own() {
        type Said = <SuzukiKasami as Process>::Message;
        let mut second = process::<SuzukiKasami>(2, 2);
        effects_of(2, &mut second, Event::Input(Request::Enter));
        effects_of(2, &mut second, Event::Input(Request::Withdraw));
        let token = Event::Receive { from: Id::new(1), message: Said::Token(alloc::boxed::Box::default()) };
        assert_eq!(effects_of(2, &mut second, token), vec![Effect::Output(Output::Withdrawn)]);
        let fence = Fence::counted(Epoch::FIRST, number(2));
        let entered = vec![Effect::Output(Output::Entered { fence })];
        assert_eq!(effects_of(2, &mut second, Event::Input(Request::Enter)), entered);
    }

    #[test]
    fn what_the_algorithm_says_to_itself_is_heard_before_the_application_asks_again() {
        type Said = <Maekawa as Process>::Message;
        let tell = |message| Effect::Send { to: Id::new(2), message };
        let mut first = process::<Maekawa>(1, 3);
        assert_eq!(effects_of(1, &mut first, Event::Input(Request::Enter)), vec![tell(Said::Request)]);
        effects_of(1, &mut first, Event::Input(Request::Withdraw));
        let left = vec![tell(Said::Release { entries: number(1) }), Effect::Output(Output::Withdrawn)];
        assert_eq!(effects_of(1, &mut first, hear(Said::Vote { entries: Number::ZERO })), left);
        // Its own vote is back, and tells of the entry that nobody saw.
        assert_eq!(effects_of(1, &mut first, Event::Input(Request::Enter)), vec![tell(Said::Request)]);
        let fence = Fence::counted(Epoch::FIRST, number(2));
        let entered = vec![Effect::Output(Output::Entered { fence })];
        assert_eq!(effects_of(1, &mut first, hear(Said::Vote { entries: Number::ZERO })), entered);
    }

    /// One process alone enters, leaves and withdraws without a message, whatever the algorithm.
    #[test]
    fn alone_every_algorithm_serves_at_once() {
        fn alone<M: Mutex>() {
            let mut only = process::<M>(1, 1);
            let mut latest = None;
            for leave in [Request::Exit, Request::Withdraw, Request::Exit] {
                let effects = effects_of(1, &mut only, Event::Input(Request::Enter));
                assert!(!effects.iter().any(|effect| matches!(effect, Effect::Send { .. })), "{effects:?}");
                let Some(&Effect::Output(Output::Entered { fence })) = effects.last() else { panic!("{effects:?}") };
                assert!(latest < Some(fence), "{latest:?}, then {fence}");
                latest = Some(fence);
                assert_eq!(effects_of(1, &mut only, Event::Input(leave)), vec![Effect::Output(Output::Exited)]);
            }
        }
        alone::<Central>();
        alone::<TokenRing>();
        alone::<SuzukiKasami>();
        alone::<Lamport>();
        alone::<RicartAgrawala>();
        alone::<RoucairolCarvalho>();
        alone::<Maekawa>();
        alone::<MaekawaDeadlockFree>();
        alone::<Majority>();
    }
}
