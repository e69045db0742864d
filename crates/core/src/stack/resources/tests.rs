//! Resources by hand, event by event: what they say of each other, and to whom.

use super::*;
use crate::clock::Fence;
use crate::mutex::{Central, Majority, RicartAgrawala, SuzukiKasami};
use crate::process::{Effect, EffectOf, Stable, effects_of};
use crate::setting::test_setting;
use alloc::vec;

fn resources<M: Mutex>(me: u32, n: u32) -> Resources<M> {
    let mut resources = Resources::new(&test_setting(&M::ENTRY, me, n, &[]));
    assert_eq!(effects_of(me, &mut resources, Event::Start { incarnation: 1, saved: None }), vec![]);
    resources
}

fn enter<M: Mutex>(name: &str) -> Event<Resources<M>> {
    Event::Input(Input::Of(Name::new(name), Request::Enter))
}

fn suspect<M: Mutex>(id: u32) -> Event<Resources<M>> {
    Event::Notice(Notice::Suspect(Id::new(id)))
}

fn leader<M: Mutex>(id: u32) -> Event<Resources<M>> {
    Event::Notice(Notice::Leader(Id::new(id)))
}

/// Whom the effects are sent to, with their kinds.
fn sent<M: Mutex>(effects: &[EffectOf<Resources<M>>]) -> Vec<(u32, &'static str)> {
    let sends = effects.iter().filter_map(|effect| match effect {
        Effect::Send { to, message } => Some((to.number(), process::Message::kind(message))),
        Effect::SetTimer { .. }
        | Effect::CancelTimer(_)
        | Effect::Save(_)
        | Effect::Output(_)
        | Effect::Unexpected { .. } => None,
    });
    sends.collect()
}

#[test]
fn what_nobody_asks_for_costs_nothing() {
    let mut second = resources::<Central>(2, 3);
    assert_eq!(effects_of(2, &mut second, suspect(1)), vec![]);
    assert_eq!(effects_of(2, &mut second, Event::Notice(Notice::Trust(Id::new(1)))), vec![]);
    assert_eq!(effects_of(2, &mut second, Event::Input(Input::Observe(Number::ZERO.next()))), vec![]);
    assert!(second.is_empty() && !second.lacks_leader());
    assert_eq!(effects_of(2, &mut second, Event::Input(Input::Lead)), vec![]);
    assert!(second.lacks_leader(), "the application wants to know");
}

#[test]
fn resources_know_nothing_of_each_other() {
    let mut first = resources::<Central>(1, 1);
    for name in ["printer", "scanner"] {
        let entered = effects_of(1, &mut first, enter(name));
        let Some(Effect::Output(Output::Of(of, mutex::Output::Entered { fence }))) = entered.last() else {
            panic!("{entered:?}");
        };
        let count = Number::ZERO.next();
        assert_eq!((of.as_str(), *fence), (name, Fence::counted(crate::clock::Epoch::FIRST, count)));
    }
    assert_eq!(first.len(), 2);
}

#[test]
fn before_anybody_has_crashed_the_algorithm_is_not_told_who_leads() {
    let mut second = resources::<Central>(2, 3);
    assert_eq!(effects_of(2, &mut second, leader(3)), vec![Effect::Output(Output::Leader(Id::new(3)))]);
    assert_eq!(sent::<Central>(&effects_of(2, &mut second, enter("printer"))), [(1, "request")]);
    // Now it has to know.
    effects_of(2, &mut second, suspect(1));
    assert!(!second.lacks_leader());
}

/// Nobody has crashed, as far as this one knows; but another says that the token may be lost.
#[test]
fn who_misses_a_leader_because_of_what_others_say_is_told_who_leads() {
    let mut second = resources::<SuzukiKasami>(2, 3);
    effects_of(2, &mut second, enter("printer"));
    effects_of(2, &mut second, suspect(1));
    effects_of(2, &mut second, Event::Notice(Notice::Trust(Id::new(1))));
    let mut doubts = effects_of(2, &mut second, leader(3)).into_iter().filter_map(|effect| match effect {
        Effect::Send { message, .. } if process::Message::kind(&message) == "doubt" => Some(message),
        _ => None,
    });
    let doubt = doubts.next().expect("it tells who was elected");
    let mut third = resources::<SuzukiKasami>(3, 3);
    assert_eq!(
        sent::<SuzukiKasami>(&effects_of(3, &mut third, Event::Receive { from: Id::new(2), message: doubt })),
        []
    );
    assert!(third.lacks_leader());
    effects_of(3, &mut third, enter("scanner"));
    let told = sent::<SuzukiKasami>(&effects_of(3, &mut third, leader(3)));
    assert_eq!(told, [(1, "inquire"), (2, "inquire")], "of one, not of both");
}

/// Process 3 leads, and has not heard of the printer.
#[test]
fn who_leads_is_told_once_of_a_resource_that_is_asked_for() {
    let mut second = resources::<Central>(2, 4);
    effects_of(2, &mut second, suspect(1));
    effects_of(2, &mut second, leader(3));
    assert_eq!(sent::<Central>(&effects_of(2, &mut second, enter("printer"))), [(3, "resource")]);
    assert_eq!(sent::<Central>(&effects_of(2, &mut second, suspect(4))), []);
    let mut third = resources::<Central>(3, 4);
    effects_of(3, &mut third, suspect(1));
    effects_of(3, &mut third, leader(3));
    let told = Message { resource: Name::new("printer"), message: None };
    let told = Event::Receive { from: Id::new(2), message: told };
    assert_eq!(sent::<Central>(&effects_of(3, &mut third, told)), [(2, "inquire"), (4, "inquire")]);
    // Another one leads, and is told as well.
    effects_of(2, &mut second, suspect(3));
    assert_eq!(sent::<Central>(&effects_of(2, &mut second, leader(4))), [(4, "resource")]);
}

#[test]
fn a_save_is_of_one_resource_and_the_next_life_has_all() {
    let mut first = resources::<RicartAgrawala>(1, 1);
    let mut kept: Option<Saved<Number>> = None;
    for name in ["printer", "scanner"] {
        for effect in effects_of(1, &mut first, enter(name)) {
            if let Effect::Save(saved) = effect {
                assert_eq!(saved.0.keys().map(Name::as_str).collect::<Vec<_>>(), [name]);
                process::keep(&mut kept, saved);
            }
        }
    }
    let mut kept = kept.unwrap();
    assert_eq!(kept.0.len(), 2);
    kept.absorb(Saved(BTreeMap::new()));
    assert_eq!(kept.0.len(), 2);
    let mut second = Resources::<RicartAgrawala>::new(&test_setting(&RicartAgrawala::ENTRY, 1, 1, &[]));
    effects_of(1, &mut second, Event::Start { incarnation: 2, saved: Some(kept.clone()) });
    let saved = kept.0[&Name::new("scanner")];
    assert_eq!(second.highest_seen(), saved, "also of what nobody has asked for in this life");
    effects_of(1, &mut second, enter("scanner"));
    assert!(second.highest_seen() > saved);
}

/// What is asked for after a message has arrived comes after it, also of what nobody has asked for since; and of one
/// that has seen more, the highest number counts.
#[test]
fn what_was_observed_each_resource_knows_when_something_happens_to_it() {
    let number = |number: u64| Number::try_from(number).unwrap();
    let mut first = resources::<RicartAgrawala>(1, 2);
    effects_of(1, &mut first, enter("printer"));
    assert_eq!(first.highest_seen(), number(1));
    assert_eq!(effects_of(1, &mut first, Event::Input(Input::Observe(number(7)))), vec![]);
    assert_eq!(effects_of(1, &mut first, Event::Input(Input::Observe(number(5)))), vec![]);
    assert_eq!(first.highest_seen(), number(7));
    for (name, asked) in [("scanner", 8), ("plotter", 8)] {
        let effects = effects_of(1, &mut first, enter(name));
        let asks = |effect: &EffectOf<Resources<RicartAgrawala>>| match effect {
            Effect::Send { message, .. } => process::Message::number(message) == Some(asked),
            _ => false,
        };
        assert!(effects.iter().any(asks), "{name}: {effects:?}");
    }
    assert_eq!(first.resources[&Name::new("printer")].stamp(), number(1), "nothing has happened to it since");
    let told = Event::Notice(Notice::Trust(Id::new(2)));
    effects_of(1, &mut first, told);
    assert_eq!(first.resources[&Name::new("printer")].stamp(), number(7));
    let all = first.resources.values().map(Withdrawable::stamp).max();
    assert_eq!(Some(first.highest_seen()), all);
}

/// In its second life, of four; nobody else has crashed.
#[test]
fn who_has_come_back_tells_everybody_of_a_resource_and_is_led() {
    let mut second = Resources::<Central>::new(&test_setting(&Central::ENTRY, 2, 4, &[]));
    effects_of(2, &mut second, Event::Start { incarnation: 2, saved: None });
    effects_of(2, &mut second, leader(3));
    let told = sent::<Central>(&effects_of(2, &mut second, enter("printer")));
    assert_eq!(told[..3], [(1, "resource"), (3, "resource"), (4, "resource")]);
    // Who was told of the return knows of the resource now, and has something to say about it.
    let mut third = resources::<Majority>(3, 4);
    effects_of(3, &mut third, suspect(2));
    effects_of(3, &mut third, Event::Notice(Notice::Trust(Id::new(2))));
    let told = Message { resource: Name::new("printer"), message: None };
    let told = Event::Receive { from: Id::new(2), message: told };
    assert_eq!(sent::<Majority>(&effects_of(3, &mut third, told)), [(2, "disclaim")]);
}

#[test]
fn others_cannot_make_more_resources_than_there_may_be() {
    let setting = test_setting(&RicartAgrawala::ENTRY, 1, 2, &[]);
    let mut first = Resources::<RicartAgrawala>::within(2, &setting);
    effects_of(1, &mut first, Event::Start { incarnation: 1, saved: None });
    let hear = |first: &mut Resources<RicartAgrawala>, name: &str| {
        let message = Message { resource: Name::new(name), message: None };
        effects_of(1, first, Event::Receive { from: Id::new(2), message })
    };
    for name in ["printer", "scanner", "printer"] {
        let effects = hear(&mut first, name);
        assert!(!effects.iter().any(|effect| matches!(effect, Effect::Unexpected { .. })), "{effects:?}");
    }
    assert!(matches!(hear(&mut first, "one more")[..], [Effect::Unexpected { .. }]));
    assert_eq!(first.len(), 2);
}
