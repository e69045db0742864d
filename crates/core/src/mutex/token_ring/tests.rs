//! The ring by hand: its only token, and which one counts where there are two.

use super::*;
use crate::process::{Effect, effects_of};
use crate::setting::{test_recovering, test_setting};
use alloc::vec;

fn ring(me: u32, n: u32) -> TokenRing {
    TokenRing::new(&test_setting(&TokenRing::ENTRY, me, n, &[]))
}

fn token(entries: Number) -> Message {
    Message::Token { epoch: Epoch::FIRST, entries }
}

fn start(incarnation: u64) -> Event<TokenRing> {
    Event::Start { incarnation, saved: None }
}

fn arrives(from: u32, entries: Number) -> Event<TokenRing> {
    Event::Receive { from: Id::new(from), message: token(entries) }
}

const ZERO: Number = Number::ZERO;

#[test]
fn the_first_process_starts_with_the_token_once() {
    let sends = vec![Effect::Send { to: Id::new(2), message: token(ZERO) }];
    assert_eq!(effects_of(1, &mut ring(1, 3), start(1)), sends);
    assert_eq!(effects_of(1, &mut ring(1, 3), start(2)), vec![]);
    assert_eq!(effects_of(2, &mut ring(2, 3), start(1)), vec![]);
}

#[test]
fn who_wants_nothing_passes_the_token_on_and_the_last_to_the_first() {
    let sends = vec![Effect::Send { to: Id::new(1), message: token(ZERO) }];
    assert_eq!(effects_of(3, &mut ring(3, 3), arrives(2, ZERO)), sends);
}

/// T10: nobody enters twice with the same visit of the token.
#[test]
fn who_leaves_passes_the_token_on_before_entering_again() {
    let mut process = ring(2, 3);
    effects_of(2, &mut process, Event::Input(Input::Enter));
    let fence = Fence::counted(Epoch::FIRST, ZERO.next());
    let entered = vec![Effect::Output(Output::Entered { fence })];
    assert_eq!(effects_of(2, &mut process, arrives(1, ZERO)), entered);
    let left = vec![Effect::Output(Output::Exited), Effect::Send { to: Id::new(3), message: token(ZERO.next()) }];
    assert_eq!(effects_of(2, &mut process, Event::Input(Input::Exit)), left);
    assert_eq!(effects_of(2, &mut process, Event::Input(Input::Enter)), vec![]);
}

#[test]
fn a_ring_of_one_keeps_its_token() {
    let mut process = ring(1, 1);
    assert_eq!(effects_of(1, &mut process, start(1)), vec![]);
    for count in 1..4 {
        let fence = Fence::counted(Epoch::FIRST, count.try_into().unwrap());
        let entered = vec![Effect::Output(Output::Entered { fence })];
        assert_eq!(effects_of(1, &mut process, Event::Input(Input::Enter)), entered);
        let left = vec![Effect::Output(Output::Exited)];
        assert_eq!(effects_of(1, &mut process, Event::Input(Input::Exit)), left);
    }
}

fn inquires(by: u32, epoch: Epoch, dead: &[u32]) -> Event<TokenRing> {
    let dead = dead.iter().copied().map(Id::new).collect();
    Event::Receive { from: Id::new(by), message: Message::Lost(Said::Inquire { epoch, dead, keep: None }) }
}

fn says(to: u32, said: Said<()>) -> Effect<Message, Output, Timer, Epoch> {
    Effect::Send { to: Id::new(to), message: Message::Lost(said) }
}

/// Process 4 may die before it has had an answer, and process 3 would wait for its own for ever.
#[test]
fn who_inquires_and_is_overtaken_by_a_later_epoch_is_told() {
    let earlier = Epoch::FIRST.next_of(Id::new(3), 4).unwrap();
    let later = Epoch::FIRST.next_of(Id::new(4), 4).unwrap();
    let mut second = ring(2, 4);
    assert_eq!(effects_of(2, &mut second, inquires(3, earlier, &[1])), vec![]);
    let overtaken = vec![says(3, Said::Outdated { epoch: later })];
    assert_eq!(effects_of(2, &mut second, inquires(4, later, &[1])), overtaken);
    // And so is who comes too late.
    assert_eq!(effects_of(2, &mut second, inquires(3, earlier, &[1])), overtaken);
}

/// Whoever answered that it has the token may pass it on before all have been told of the crash: who has not been
/// told keeps it until it has.
#[test]
fn a_token_of_an_epoch_that_was_not_answered_for_waits() {
    let epoch = Epoch::FIRST.next_of(Id::new(3), 4).unwrap();
    let token = Message::Token { epoch, entries: ZERO };
    let arrives = || Event::Receive { from: Id::new(3), message: token.clone() };
    let passes = |to| Effect::Send { to: Id::new(to), message: token.clone() };
    let suspect = |id| Event::Notice(Notice::Suspect(Id::new(id)));
    let answers = says(3, Said::Answer { epoch, token: Some(epoch), told: (), doubts: false });
    let mut first = ring(1, 4);
    assert_eq!(effects_of(1, &mut first, arrives()), vec![]);
    assert_eq!(effects_of(1, &mut first, inquires(3, epoch, &[2, 4])), vec![]);
    assert_eq!(effects_of(1, &mut first, suspect(4)), vec![]);
    assert_eq!(effects_of(1, &mut first, suspect(2)), vec![Effect::Save(epoch), answers, passes(3)]);
}

/// Where the living are taken for dead, two may have a token. Of those, the one that was made later counts.
#[test]
fn of_two_tokens_one_counts() {
    let made = Epoch::FIRST.next_of(Id::new(1), 3).unwrap();
    let epoch = made.next_of(Id::new(3), 3).unwrap();
    let inside = |keep, token| {
        let mut second = ring(2, 3);
        effects_of(2, &mut second, Event::Input(Input::Enter));
        effects_of(2, &mut second, arrives(1, ZERO));
        let said = Said::Inquire { epoch, dead: vec![], keep: Some(keep) };
        let inquires = Event::Receive { from: Id::new(3), message: Message::Lost(said) };
        let answers = says(3, Said::Answer { epoch, token, told: (), doubts: false });
        assert_eq!(effects_of(2, &mut second, inquires), vec![Effect::Save(epoch), answers]);
        effects_of(2, &mut second, Event::Input(Input::Exit))
    };
    assert_eq!(inside(made, None), vec![Effect::Output(Output::Exited)]);
    let kept = Message::MarkedToken { epoch, made: Epoch::FIRST, entries: ZERO.next(), towards: None };
    let passes = Effect::Send { to: Id::new(3), message: kept };
    assert_eq!(inside(Epoch::FIRST, Some(Epoch::FIRST)), vec![Effect::Output(Output::Exited), passes]);
}

/// The last number of an epoch: the token that has counted to it is given up, and who is elected makes another.
#[test]
fn a_token_that_has_counted_to_the_end_of_its_epoch_is_given_up() {
    let mut second = TokenRing::new(&test_recovering(&TokenRing::ENTRY, 2, 2, false));
    effects_of(2, &mut second, start(1));
    effects_of(2, &mut second, Event::Input(Input::Enter));
    let last = Number::try_from((1 << 27) - 1).unwrap();
    let almost = Number::try_from((1 << 27) - 2).unwrap();
    let entered = effects_of(2, &mut second, arrives(1, almost));
    assert_eq!(entered, vec![Effect::Output(Output::Entered { fence: Fence::counted(Epoch::FIRST, last) })]);
    let left = effects_of(2, &mut second, Event::Input(Input::Exit));
    assert_eq!(left, vec![Effect::Output(Output::Exited)], "it is not passed on");
    assert!(second.misses_leader());
    effects_of(2, &mut second, Event::Input(Input::Enter));
    let asked = effects_of(2, &mut second, Event::Notice(Notice::Leader(Id::new(2))));
    let epoch = second.succession.epoch;
    assert!(epoch > Epoch::FIRST && asked.len() == 2, "it saves the epoch and inquires: {asked:?}");
    let answer = Said::Answer { epoch, token: None, told: (), doubts: false };
    let answered = Event::Receive { from: Id::new(1), message: Message::Lost(answer) };
    let entered = effects_of(2, &mut second, answered);
    let fence = Fence::counted(epoch, Number::ZERO.next());
    assert!(entered.contains(&Effect::Output(Output::Entered { fence })), "{entered:?}");
    assert!(fence > Fence::counted(Epoch::FIRST, last));
}
