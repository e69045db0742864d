//! The token and its requests by hand: those that are old, come late or twice, or should not come at all.

use super::*;
use crate::process::{Effect, EffectOf, effects_of};
use crate::setting::{test_recovering, test_setting};
use alloc::vec;
use alloc::vec::Vec;

const ENTER: Event<SuzukiKasami> = Event::Input(Input::Enter);
const EXIT: Event<SuzukiKasami> = Event::Input(Input::Exit);
const EXITED: EffectOf<SuzukiKasami> = Effect::Output(Output::Exited);

/// A process that has begun its first life.
fn process(me: u32, n: u32) -> SuzukiKasami {
    let mut process = SuzukiKasami::new(&test_setting(&SuzukiKasami::ENTRY, me, n, &[]));
    let effects = effects_of(me, &mut process, Event::Start { incarnation: 1, saved: None });
    assert!(matches!(effects[..], [Effect::Save(_)]), "{effects:?}");
    process
}

fn number(number: u64) -> Number {
    number.try_into().unwrap()
}

fn token(served: &[(u32, u64)], waiting: &[u32], entries: u64) -> Message {
    Message::Token(Box::new(Token {
        served: served.iter().map(|&(id, count)| (Id::new(id), number(count))).collect(),
        waiting: waiting.iter().copied().map(Id::new).collect(),
        entries: number(entries),
        epoch: Epoch::FIRST,
        made: Epoch::FIRST,
    }))
}

fn request(count: u64) -> Message {
    Message::Request { number: number(count) }
}

fn from(id: u32, message: Message) -> Event<SuzukiKasami> {
    Event::Receive { from: Id::new(id), message }
}

fn send(to: u32, message: Message) -> EffectOf<SuzukiKasami> {
    Effect::Send { to: Id::new(to), message }
}

fn entered(entries: u64) -> EffectOf<SuzukiKasami> {
    Effect::Output(Output::Entered { fence: Fence::counted(Epoch::FIRST, number(entries)) })
}

#[test]
fn who_has_the_token_enters_as_often_as_it_likes_without_a_message() {
    for n in [1, 3] {
        let mut first = process(1, n);
        for entries in 1..4 {
            assert_eq!(effects_of(1, &mut first, ENTER), vec![entered(entries)]);
            assert_eq!(effects_of(1, &mut first, EXIT), vec![EXITED]);
        }
    }
}

#[test]
fn a_later_life_makes_no_second_token() {
    let mut first = SuzukiKasami::new(&test_setting(&SuzukiKasami::ENTRY, 1, 2, &[]));
    effects_of(1, &mut first, Event::Start { incarnation: 2, saved: None });
    assert_eq!(effects_of(1, &mut first, ENTER), vec![send(2, request(1))]);
}

#[test]
fn who_has_not_got_the_token_asks_everybody_and_who_does_not_use_it_sends_it() {
    let (mut first, mut second, mut third) = (process(1, 3), process(2, 3), process(3, 3));
    assert_eq!(effects_of(2, &mut second, ENTER), vec![send(1, request(1)), send(3, request(1))]);
    assert_eq!(effects_of(3, &mut third, from(2, request(1))), vec![]);
    assert_eq!(effects_of(1, &mut first, from(2, request(1))), vec![send(2, token(&[], &[], 0))]);
    assert_eq!(effects_of(2, &mut second, from(1, token(&[], &[], 0))), vec![entered(1)]);
    assert_eq!(effects_of(2, &mut second, EXIT), vec![EXITED]);
    // Now it is the second that has the token, and the first that has to ask for it.
    assert_eq!(effects_of(1, &mut first, ENTER), vec![send(2, request(1)), send(3, request(1))]);
    assert_eq!(effects_of(2, &mut second, from(1, request(1))), vec![send(1, token(&[(2, 1)], &[], 1))]);
}

#[test]
fn an_old_request_is_told_from_a_new_one() {
    let mut second = process(2, 3);
    effects_of(2, &mut second, ENTER);
    effects_of(2, &mut second, from(1, token(&[(3, 1)], &[], 7)));
    effects_of(2, &mut second, EXIT);
    assert_eq!(effects_of(2, &mut second, from(3, request(1))), vec![]);
    let passed = vec![send(3, token(&[(2, 1), (3, 1)], &[], 8))];
    assert_eq!(effects_of(2, &mut second, from(3, request(2))), passed);
}

#[test]
fn an_old_request_that_comes_late_neither_counts_again_nor_hides_the_new_one() {
    let mut second = process(2, 3);
    effects_of(2, &mut second, ENTER);
    effects_of(2, &mut second, from(1, token(&[(3, 1)], &[], 7)));
    effects_of(2, &mut second, from(3, request(1)));
    assert_eq!(effects_of(2, &mut second.clone(), EXIT), vec![EXITED]);
    effects_of(2, &mut second, from(3, request(2)));
    effects_of(2, &mut second, from(3, request(1)));
    assert_eq!(effects_of(2, &mut second, EXIT), vec![EXITED, send(3, token(&[(2, 1), (3, 1)], &[], 8))]);
}

#[test]
fn who_waits_joins_the_queue_once_the_next_on_the_ring_first() {
    let mut second = process(2, 5);
    effects_of(2, &mut second, ENTER);
    // The fourth is in the queue already, and its request arrives here as well.
    effects_of(2, &mut second, from(1, token(&[], &[4], 0)));
    for id in [1, 5, 4, 3] {
        assert_eq!(effects_of(2, &mut second, from(id, request(1))), vec![]);
    }
    let passed = send(4, token(&[(2, 1)], &[3, 5, 1], 1));
    assert_eq!(effects_of(2, &mut second, EXIT), vec![EXITED, passed]);
}

#[test]
fn a_request_that_comes_before_the_token_is_not_forgotten() {
    let mut second = process(2, 3);
    effects_of(2, &mut second, from(3, request(1)));
    effects_of(2, &mut second, ENTER);
    effects_of(2, &mut second, from(1, token(&[], &[], 0)));
    assert_eq!(effects_of(2, &mut second, EXIT), vec![EXITED, send(3, token(&[(2, 1)], &[], 1))]);
}

#[test]
fn misuse_by_the_application_changes_nothing() {
    let already = vec![Effect::Unexpected { from: None, why: ALREADY_ENTERING }];
    let outside = vec![Effect::Unexpected { from: None, why: NOT_INSIDE }];
    let check = |process: &mut SuzukiKasami, event, why: &Vec<_>| {
        let before = process.clone();
        assert_eq!(&effects_of(2, process, event), why);
        assert_eq!(process, &before);
    };
    let mut second = process(2, 3);
    check(&mut second, EXIT, &outside);
    effects_of(2, &mut second, ENTER);
    check(&mut second, ENTER, &already);
    check(&mut second, EXIT, &outside);
    effects_of(2, &mut second, from(1, token(&[], &[], 0)));
    check(&mut second, ENTER, &already);
    effects_of(2, &mut second, EXIT);
    check(&mut second, EXIT, &outside);
}

#[test]
fn tokens_that_should_not_come_make_no_second_one_and_the_only_one_is_kept() {
    let mut second = process(2, 3);
    let mut unexpected = |event| {
        let before = second.clone();
        let effects = effects_of(2, &mut second, event);
        assert!(matches!(effects[..], [Effect::Unexpected { from: Some(_), .. }]), "{effects:?}");
        (before, second.clone())
    };
    let (before, after) = unexpected(from(1, token(&[], &[4], 0)));
    assert_eq!(before, after, "a queue of processes that do not exist");
    let (_, after) = unexpected(from(1, token(&[], &[], 4)));
    assert!(matches!(after.phase, Phase::ReleasedWithToken(_)), "a token must not get lost");
    let (before, after) = unexpected(from(3, token(&[], &[], 9)));
    assert_eq!(before, after, "a second token");
    assert_eq!(effects_of(2, &mut second, ENTER), vec![entered(5)]);
    let before = second.clone();
    assert_eq!(effects_of(2, &mut second, from(3, token(&[], &[], 9))).len(), 1);
    assert_eq!(second, before, "a second token while inside");
}

#[test]
fn a_token_that_has_counted_to_the_end_of_its_epoch_is_given_up() {
    let mut second = SuzukiKasami::new(&test_recovering(&SuzukiKasami::ENTRY, 2, 2, false));
    effects_of(2, &mut second, Event::Start { incarnation: 1, saved: None });
    effects_of(2, &mut second, ENTER);
    let last = (1 << 27) - 1;
    assert_eq!(effects_of(2, &mut second, from(1, token(&[], &[1], last - 1))), vec![entered(last)]);
    assert_eq!(effects_of(2, &mut second, EXIT), vec![EXITED], "it is not handed on");
    assert!(second.misses_leader());
}
