//! Channels by hand, message by message: what comes early, twice, never, or from who means no good.

use alloc::vec;
use core::convert::Infallible;

use super::*;
use crate::mutex::RicartAgrawala;
use crate::process::effects_of;
use crate::setting::test_setting;

/// A process that says as many numbers to the other as it is asked to, and remembers what it was told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Talker {
    other: Id,
    said: u64,
    heard: Vec<u64>,
    notices: Vec<Notice>,
    /// Whether it answers whatever it hears.
    answers: bool,
    /// How much it says when it is told that the other is back.
    greets_with: u64,
}

impl process::Message for u64 {
    fn kind(&self) -> &'static str {
        "number"
    }
}

impl Process for Talker {
    type Message = u64;
    type Input = u64;
    type Output = ();
    type Timer = Infallible;
    type Stable = ();

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Input(more) => {
                for _ in 0..more {
                    self.said += 1;
                    effects.send(self.other, self.said);
                }
            }
            Event::Receive { message, .. } => {
                self.heard.push(message);
                if self.answers {
                    effects.send(self.other, message);
                }
            }
            Event::Notice(notice) => {
                self.notices.push(notice);
                if notice == Notice::Trust(self.other) {
                    self.step(Event::Input(self.greets_with), effects);
                }
            }
            Event::Start { .. } | Event::Timeout(_) => {}
        }
    }
}

type Channel = Reliable<Talker>;
type Said = Message<u64>;

const LIMITS: Limits = Limits { in_flight: 4, unacknowledged: 6, resources: 1 };

fn talker(me: u32) -> Channel {
    let (setting, other) = (test_setting(&RicartAgrawala::ENTRY, me, 2, &[]), Id::new(3 - me));
    let talker = Talker { other, said: 0, heard: Vec::new(), notices: Vec::new(), answers: false, greets_with: 0 };
    Reliable::within(LIMITS, &setting, talker)
}

/// What the effects say, and whether they leave the timer armed, if they say anything of it.
fn effects(channel: &mut Channel, event: Event<Channel>) -> (Vec<Said>, Option<bool>) {
    let (mut said, mut is_armed) = (Vec::new(), None);
    for effect in effects_of(channel.me.number(), channel, event) {
        match effect {
            Effect::Send { message, .. } => said.push(message),
            Effect::SetTimer { .. } => is_armed = Some(true),
            Effect::CancelTimer(_) => is_armed = Some(false),
            Effect::Unexpected { why, .. } => panic!("{why}"),
            Effect::Save(()) | Effect::Output(()) => {}
        }
    }
    (said, is_armed)
}

fn say(channel: &mut Channel, more: u64) -> Vec<Said> {
    effects(channel, Event::Input(more)).0
}

fn received(channel: &Channel, message: &Said) -> Event<Channel> {
    Event::Receive { from: channel.process.other, message: message.clone() }
}

fn hear(channel: &mut Channel, message: &Said) -> Vec<Said> {
    effects(channel, received(channel, message)).0
}

/// Everything arrives, in order, and so does all that is said because of it, until nobody says more.
fn settle(one: &mut Channel, other: &mut Channel, mut said: Vec<Said>) {
    let (mut speaker, mut hearer) = (one, other);
    while !said.is_empty() {
        said = said.iter().flat_map(|message| hear(hearer, message)).collect();
        (speaker, hearer) = (hearer, speaker);
    }
}

/// Nobody has had anything to say: what has arrived is acknowledged alone.
fn acknowledge(channel: &mut Channel) -> Vec<Said> {
    let other = channel.process.other;
    effects(channel, Event::Timeout(Timer::Answer(other))).0
}

fn timeout(channel: &mut Channel) -> (Vec<Said>, Option<bool>) {
    let other = channel.process.other;
    effects(channel, Event::Timeout(Timer::Acknowledgement(other)))
}

fn numbers(said: &[Said]) -> Vec<u64> {
    said.iter().filter_map(|message| message.content.map(|(_, number)| number)).collect()
}

fn link(channel: &Channel) -> &Link<u64> {
    channel.links.get(channel.process.other).expect("the other belongs to the group")
}

/// What the peer should not have sent, if it is that.
fn unexpected(channel: &mut Channel, message: &Said) -> Option<&'static str> {
    let event = received(channel, message);
    effects_of(channel.me.number(), channel, event).into_iter().find_map(|effect| match effect {
        Effect::Unexpected { why, .. } => Some(why),
        Effect::Send { .. }
        | Effect::SetTimer { .. }
        | Effect::CancelTimer(_)
        | Effect::Save(())
        | Effect::Output(()) => None,
    })
}

#[test]
fn what_comes_early_is_kept_and_delivered_in_order_with_one_acknowledgement() {
    let (mut one, mut other) = (talker(1), talker(2));
    let said = say(&mut one, 3);
    assert_eq!(hear(&mut other, &said[2]), []);
    assert_eq!(hear(&mut other, &said[1]), []);
    assert_eq!(other.process.heard, [0; 0]);
    let answer = hear(&mut other, &said[0]);
    assert_eq!(other.process.heard, [1, 2, 3]);
    assert_eq!((answer.len(), answer[0].acknowledged), (1, 3));
    assert!(link(&other).early.is_empty());
}

#[test]
fn what_comes_twice_is_delivered_once_and_acknowledged_again() {
    let (mut one, mut other) = (talker(1), talker(2));
    let said = say(&mut one, 2);
    for message in [&said[1], &said[1], &said[0]] {
        hear(&mut other, message);
    }
    assert_eq!(other.process.heard, [1, 2]);
    let again: Vec<u64> = said.iter().flat_map(|message| hear(&mut other, message)).map(|m| m.acknowledged).collect();
    assert_eq!((other.process.heard.as_slice(), again.as_slice()), ([1, 2].as_slice(), [2, 2].as_slice()));
}

/// The answer to the first of several acknowledges all: no acknowledgement of its own.
#[test]
fn an_answer_acknowledges_all_that_is_delivered_with_it() {
    let (mut one, mut other) = (talker(1), talker(2));
    other.process.answers = true;
    let said = say(&mut one, 2);
    hear(&mut other, &said[1]);
    let answers = hear(&mut other, &said[0]);
    assert_eq!(numbers(&answers), [1, 2]);
    assert!(answers.iter().all(|message| message.acknowledged == 2), "{answers:?}");
}

#[test]
fn no_more_is_kept_than_may_be_on_its_way() {
    let (mut one, mut other) = (talker(1), talker(2));
    let said = say(&mut one, 1).remove(0);
    for number in [3, 2, 1, 4, 5, 1_000, u64::MAX] {
        let why = unexpected(&mut other, &Message { content: Some((number, number)), ..said.clone() });
        assert_eq!(why.is_some(), number >= 4, "{number}");
    }
    assert_eq!(link(&other).early.keys().copied().collect::<Vec<_>>(), [1, 2, 3]);
    hear(&mut other, &said);
    assert_eq!(other.process.heard, [1, 1, 2, 3]);
}

#[test]
fn no_more_is_on_its_way_than_may_be_and_what_waits_follows() {
    let (mut one, mut other) = (talker(1), talker(2));
    let said = say(&mut one, 6);
    assert_eq!(numbers(&said), [1, 2, 3, 4]);
    assert!(timeout(&mut one).0.len() <= LIMITS.in_flight);
    hear(&mut other, &said[1]);
    assert_eq!(hear(&mut other, &said[0]), []);
    let answer = acknowledge(&mut other).remove(0);
    assert_eq!(numbers(&hear(&mut one, &answer)), [5, 6]);
    assert_eq!(hear(&mut one, &answer), [], "once");
}

#[test]
fn a_new_session_throws_away_what_came_early_in_the_old_one() {
    let (mut one, mut other) = (talker(1), talker(2));
    let said = say(&mut one, 2);
    hear(&mut other, &said[1]);
    for notice in [Notice::Suspect(Id::new(2)), Notice::Trust(Id::new(2))] {
        let introduction = effects(&mut one, Event::Notice(notice)).0;
        settle(&mut one, &mut other, introduction);
    }
    assert!(link(&other).is_established && link(&other).early.is_empty());
    assert_eq!(other.process.notices, [Notice::Suspect(Id::new(1)), Notice::Trust(Id::new(1))]);
    for message in &said {
        hear(&mut other, message);
    }
    assert_eq!((other.process.heard.as_slice(), link(&other).early.len()), ([].as_slice(), 0));
    let said = say(&mut one, 1);
    settle(&mut one, &mut other, said);
    assert_eq!(other.process.heard, [3]);
}

/// Whoever lives, beats, and acknowledges nothing costs no more memory than this; and both sides know that not
/// everything has arrived.
#[test]
fn who_acknowledges_nothing_ends_the_session_and_both_are_told() {
    let (mut one, mut other) = (talker(1), talker(2));
    let lost = say(&mut one, 6);
    assert_eq!((lost.len(), one.process.notices.len()), (4, 0));
    // The first of these is one too many. None of them is said in the new session, which begins a while later.
    assert_eq!(effects(&mut one, Event::Input(3)), (vec![], Some(true)));
    assert_eq!(one.process.notices, [Notice::Suspect(Id::new(2))]);
    assert_eq!(say(&mut one, 1), []);
    let introduction = effects(&mut one, Event::Timeout(Timer::Acknowledgement(Id::new(2)))).0;
    assert_eq!(one.process.notices, [Notice::Suspect(Id::new(2)), Notice::Trust(Id::new(2))]);
    assert_eq!((numbers(&introduction).len(), link(&one).unacknowledged.len()), (0, 0));
    settle(&mut one, &mut other, introduction);
    assert_eq!(other.process.notices, [Notice::Suspect(Id::new(1)), Notice::Trust(Id::new(1))]);
    assert!(link(&one).is_established && link(&other).is_established);
    let said = say(&mut one, 1);
    settle(&mut one, &mut other, said);
    assert_eq!(other.process.heard, [11]);
}

/// Whom the detector suspects while it is taken for dead anyway is not told of twice, and comes back once.
#[test]
fn who_is_suspected_while_there_is_no_room_for_it_is_told_of_once() {
    let mut one = talker(1);
    say(&mut one, 7);
    effects(&mut one, Event::Notice(Notice::Suspect(Id::new(2))));
    assert_eq!(effects(&mut one, Event::Timeout(Timer::Acknowledgement(Id::new(2)))), (vec![], None));
    assert_eq!(one.process.notices, [Notice::Suspect(Id::new(2))]);
    effects(&mut one, Event::Notice(Notice::Trust(Id::new(2))));
    assert_eq!(one.process.notices, [Notice::Suspect(Id::new(2)), Notice::Trust(Id::new(2))]);
}

/// What says more than there is room for, whenever it is told that the other is back, never gets through; but it costs
/// a message a while, and neither memory nor an endless step.
#[test]
fn who_says_too_much_at_every_return_does_so_once_a_while() {
    let mut one = talker(1);
    one.process.greets_with = 7;
    effects(&mut one, Event::Notice(Notice::Suspect(Id::new(2))));
    for tries in 1..=3 {
        let event = if tries == 1 {
            Event::Notice(Notice::Trust(Id::new(2)))
        } else {
            Event::Timeout(Timer::Acknowledgement(Id::new(2)))
        };
        assert_eq!(effects(&mut one, event), (vec![], Some(true)));
        assert_eq!((one.process.notices.len(), link(&one).unacknowledged.len()), (1 + 2 * tries, 0));
    }
}

/// The same while the session is not even known: what waits for that is no less memory.
#[test]
fn who_never_answers_an_introduction_costs_no_more() {
    let mut one = talker(1);
    effects(&mut one, Event::Start { incarnation: 2, saved: None });
    for _ in 0..100 {
        say(&mut one, 1);
        assert!(link(&one).unacknowledged.len() <= LIMITS.unacknowledged);
        if link(&one).is_overfull {
            effects(&mut one, Event::Timeout(Timer::Acknowledgement(Id::new(2))));
        }
    }
    assert!(one.process.notices.len() >= 2 * (100 / (LIMITS.unacknowledged + 1)));
}

#[test]
fn an_idle_pair_arms_no_timer_and_says_nothing() {
    let (mut one, mut other) = (talker(1), talker(2));
    let (said, is_armed) = effects(&mut one, Event::Input(2));
    assert_eq!(is_armed, Some(true));
    let mut answers = Vec::new();
    for message in &said {
        let event = received(&other, message);
        assert_eq!(effects(&mut other, event), (Vec::new(), Some(true)), "an answer could carry it");
        answers.extend(acknowledge(&mut other));
        assert_eq!(acknowledge(&mut other), [], "nothing is owed any more");
    }
    let event = received(&one, &answers[0]);
    assert_eq!(effects(&mut one, event).1, Some(true), "another one is on its way");
    let event = received(&one, &answers[1]);
    assert_eq!(effects(&mut one, event), (Vec::new(), Some(false)));
    let event = received(&one, &answers[1]);
    assert_eq!(effects(&mut one, event), (Vec::new(), None), "what says nothing new has no effect");
    assert_ne!(timeout(&mut one).1, Some(true));
    assert_eq!((timeout(&mut one).0, timeout(&mut other).0), (Vec::new(), Vec::new()));
}

/// What is said in time carries the acknowledgement, and who has heard much is not waited for.
#[test]
fn an_answer_acknowledges_and_so_does_who_has_heard_half_of_what_may_be_on_its_way() {
    let (mut one, mut other) = (talker(1), talker(2));
    let said = say(&mut one, 4);
    assert_eq!(hear(&mut other, &said[0]), []);
    let answer = effects(&mut other, Event::Input(1));
    assert_eq!((answer.0[0].acknowledged, numbers(&answer.0)), (1, vec![1]));
    assert_eq!(acknowledge(&mut other), []);
    assert_eq!(hear(&mut other, &said[1]), []);
    let event = received(&other, &said[2]);
    assert_eq!(effects(&mut other, event), (Vec::new(), None), "the timer is armed, and is not armed anew");
    let alone = hear(&mut other, &said[3]);
    assert_eq!((alone[0].acknowledged, alone[0].content), (4, None), "three of four");
    assert_eq!(acknowledge(&mut other), []);
}

#[test]
fn who_comes_back_and_has_nothing_to_say_arms_no_timer_once_it_is_known() {
    let (mut one, mut other) = (talker(1), talker(2));
    let (introduction, is_armed) = effects(&mut one, Event::Start { incarnation: 2, saved: None });
    assert_eq!(is_armed, Some(true));
    let answer = hear(&mut other, &introduction[0]).remove(0);
    let event = received(&one, &answer);
    let (said, is_armed) = effects(&mut one, event);
    assert_eq!((said.len(), is_armed), (1, Some(false)));
    let event = received(&other, &said[0]);
    assert_eq!(effects(&mut other, event), (Vec::new(), Some(false)));
}

#[test]
fn what_was_not_sent_cannot_be_acknowledged() {
    let (mut one, mut other) = (talker(1), talker(2));
    let said = say(&mut one, 5);
    hear(&mut other, &said[0]);
    let answer = acknowledge(&mut other).remove(0);
    for acknowledged in [5, 6, u64::MAX] {
        let lie = Message { acknowledged, ..answer.clone() };
        assert!(unexpected(&mut one, &lie).is_some(), "{acknowledged}");
        assert_eq!((link(&one).first, link(&one).unacknowledged.len()), (0, 5));
    }
    hear(&mut one, &answer);
    assert_eq!(link(&one).first, 1);
}

/// Numbers of sessions are only compared. Who claims the last of all can begin no other, and harms itself only.
#[test]
fn a_session_counts_only_if_none_later_was_heard_of() {
    let (mut one, mut other) = (talker(1), talker(2));
    let said = say(&mut one, 1).remove(0);
    let last = Session { life: u64::MAX, count: u64::MAX };
    assert!(!hear(&mut other, &Message { from: last, ..said.clone() }).is_empty());
    assert_eq!(other.process.notices, [Notice::Suspect(Id::new(1)), Notice::Trust(Id::new(1))]);
    assert_eq!(hear(&mut other, &said), []);
    assert_eq!(other.process.heard, [0; 0], "neither the lie nor the past is heard");
}
