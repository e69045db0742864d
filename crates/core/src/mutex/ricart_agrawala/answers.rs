//! `answer=always`: every request is answered at once, so that silence means death.
//!
//! Who does not grant a request yet denies it, and grants it when it has left, as ever. Who asks waits as long as a
//! message and its answer can take, and asks again; who stays silent to so many requests is taken for dead, and to have
//! granted everything.
//!
//! *Source*: "Lecture 5: Mutual Exclusion and Election", where one asks again *until there is an answer*:
//! `answer=once`. That is not enough: who has denied may crash before it grants. So with `answer=always` one asks as
//! long as a grant is missing.
//!
//! **Assumes** that messages take no longer than a known time. If they may, somebody slow is taken for dead, and two
//! can be inside.
//!
//! **The same answer however often it is asked**: a request keeps its number, and every answer names it, so that a
//! grant of an earlier request, which comes late, does not count for a later one; and a request that comes later than a
//! later one of the same process is nobody's any more.
//!
//! **Costs** a denial for each answer that is put off; and two messages each time that it is asked again.
//!
//! Where everybody is told of crashes, requests are answered but nobody draws conclusions from silence: to be told is
//! better.

use alloc::collections::BTreeMap;

use super::{Message, Phase, RicartAgrawala, Timer};
use crate::clock::Number;
use crate::id::{Id, IdSet};
use crate::process::{Effects, Ticks};
use crate::setting::Setting;

/// How often a request is repeated to somebody who does not answer. Where no message is lost it need not be at all.
const REPETITIONS: u32 = 1;

/// What is known of requests and answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Answers {
    /// How long one waits for answers, if silence means anything.
    patience: Option<Ticks>,
    /// Whether who has answered is asked again until it grants.
    insists: bool,
    /// Who was asked, and how often, since it answered last.
    unanswered: BTreeMap<Id, u32>,
    /// The number of the last request of each.
    requests: BTreeMap<Id, Number>,
}

impl Answers {
    pub(super) fn new(setting: &Setting) -> Option<Answers> {
        let answer = setting.group.options.choice("answer");
        let round_trip = setting.group.delay_bound.saturating_mul(2).saturating_add(1);
        (answer != "grant").then(|| Answers {
            patience: setting.group.recovering.is_none().then_some(round_trip),
            insists: answer == "always",
            unanswered: BTreeMap::new(),
            requests: BTreeMap::new(),
        })
    }
}

impl RicartAgrawala {
    /// These have been asked.
    pub(super) fn await_answers(&mut self, asked: &IdSet, effects: &mut Effects<Self>) {
        if let Some(answers) = &mut self.answers
            && let Some(patience) = answers.patience
            && !asked.is_empty()
        {
            for id in asked.iter() {
                *answers.unanswered.entry(id).or_default() += 1;
            }
            effects.set_timer(Timer::Answers, patience..=patience);
        }
    }

    pub(super) fn await_no_more(&mut self, effects: &mut Effects<Self>) {
        if let Some(answers) = &mut self.answers
            && answers.patience.is_some()
        {
            answers.unanswered.clear();
            effects.cancel_timer(Timer::Answers);
        }
    }

    /// Whether who asks has asked for something later already. Otherwise this is what it asks for.
    pub(super) fn is_outdated(&mut self, from: Id, number: Number) -> bool {
        let Some(answers) = &mut self.answers else { return false };
        let last = answers.requests.entry(from).or_default();
        let is_outdated = number < *last;
        *last = number.max(*last);
        self.heard(from, None);
        is_outdated
    }

    pub(super) fn last_request_of(&self, id: Id) -> Option<Number> {
        self.answers.as_ref().and_then(|answers| answers.requests.get(&id)).copied()
    }

    pub(super) fn deny(&self, to: Id, answers: Number, effects: &mut Effects<Self>) {
        if self.answers.is_some() {
            effects.send(to, Message::Denied { highest: self.highest(), answers });
        }
    }

    pub(super) fn on_denied(
        &mut self,
        from: Id,
        highest: Option<Number>,
        answers: Number,
        effects: &mut Effects<Self>,
    ) {
        self.clock.observe(highest.unwrap_or_default());
        self.heard(from, Some(answers));
        if self.answers.is_none() {
            effects.unexpected(from, "a denial, although this group sends only grants");
        }
    }

    /// It lives. It may have answered a request.
    pub(super) fn heard(&mut self, from: Id, answered: Option<Number>) {
        if let Some(answers) = &mut self.answers
            && answers.patience.is_some()
        {
            self.suspected.remove(from);
            if let Phase::Wanted { request, .. } = self.phase
                && answered == Some(request.number)
            {
                answers.unanswered.remove(&from);
            }
        }
    }

    /// Who has not answered although it was asked often enough has crashed. The others are asked again.
    pub(super) fn on_answers_late(&mut self, effects: &mut Effects<Self>) {
        let (Phase::Wanted { request, missing }, Some(answers)) = (&mut self.phase, &mut self.answers) else { return };
        let is_dead = |_: &Id, asked: &mut u32| *asked > REPETITIONS;
        for (id, _) in answers.unanswered.extract_if(.., is_dead) {
            missing.remove(id);
            self.deferred.remove(id);
            self.suspected.insert(id);
        }
        let again: IdSet = missing.iter().filter(|id| answers.insists || answers.unanswered.contains_key(id)).collect();
        effects.multicast(again.iter(), &Message::Request { number: request.number });
        self.await_answers(&again, effects);
        self.enter_if_granted(effects);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Input, Mutex, Output};
    use super::*;
    use crate::clock::{Fence, Timestamp};
    use crate::process::{Effect, EffectOf, Event, effects_of};
    use crate::setting::{Setting, test_setting};
    use alloc::vec;
    use alloc::vec::Vec;

    const ENTER: Event<RicartAgrawala> = Event::Input(Input::Enter);
    const EXIT: Event<RicartAgrawala> = Event::Input(Input::Exit);
    const LATE: Event<RicartAgrawala> = Event::Timeout(Timer::Answers);
    const EXITED: EffectOf<RicartAgrawala> = Effect::Output(Output::Exited);
    const CANCEL: EffectOf<RicartAgrawala> = Effect::CancelTimer(Timer::Answers);

    fn setting(me: u32, n: u32, answer: &str) -> Setting {
        test_setting(&RicartAgrawala::ENTRY, me, n, &[("answer", answer)])
    }

    fn process(me: u32, n: u32) -> RicartAgrawala {
        RicartAgrawala::new(&setting(me, n, "always"))
    }

    fn number(number: u64) -> Number {
        number.try_into().unwrap()
    }

    fn request(at: u64) -> Message {
        Message::Request { number: number(at) }
    }

    fn reply(highest: u64, answers: u64) -> Message {
        Message::Granted { highest: Some(number(highest)), answers: number(answers) }
    }

    fn denied(highest: u64, answers: u64) -> Message {
        Message::Denied { highest: Some(number(highest)), answers: number(answers) }
    }

    fn from(id: u32, message: Message) -> Event<RicartAgrawala> {
        Event::Receive { from: Id::new(id), message }
    }

    fn send(to: u32, message: Message) -> EffectOf<RicartAgrawala> {
        Effect::Send { to: Id::new(to), message }
    }

    fn entered(at: u64, id: u32) -> EffectOf<RicartAgrawala> {
        Effect::Output(Output::Entered { fence: Fence::stamped(Timestamp::new(number(at), Id::new(id))) })
    }

    /// Asks these, and waits for a round trip and a tick.
    fn asks(at: u64, others: &[u32]) -> Vec<EffectOf<RicartAgrawala>> {
        let timer = Effect::SetTimer { timer: Timer::Answers, after: 21..=21 };
        others.iter().map(|&id| send(id, request(at))).chain([timer]).collect()
    }

    #[test]
    fn who_does_not_grant_yet_says_so_and_grants_once_when_it_has_left() {
        let (mut first, mut second) = (process(1, 2), process(2, 2));
        assert_eq!(effects_of(1, &mut first, ENTER), asks(1, &[2]));
        assert_eq!(effects_of(1, &mut first, from(2, reply(1, 1))), vec![CANCEL, entered(1, 1)]);
        effects_of(2, &mut second, from(1, request(1)));
        assert_eq!(effects_of(2, &mut second, ENTER), asks(2, &[1]));
        for _ in 0..3 {
            assert_eq!(effects_of(1, &mut first, from(2, request(2))), vec![send(2, denied(2, 2))]);
            assert_eq!(effects_of(2, &mut second, from(1, denied(2, 2))), vec![]);
            assert_eq!(effects_of(2, &mut second, LATE), asks(2, &[1]));
        }
        assert_eq!(effects_of(1, &mut first, EXIT), vec![EXITED, send(2, reply(2, 2))]);
        assert_eq!(effects_of(2, &mut second, from(1, reply(2, 2))), vec![CANCEL, entered(2, 2)]);
        // Asked again, it grants again; the second grant is one too many, and changes nothing.
        assert_eq!(effects_of(1, &mut first, from(2, request(2))), vec![send(2, reply(2, 2))]);
        assert_eq!(effects_of(2, &mut second, from(1, reply(2, 2))), vec![]);
        assert_eq!(effects_of(2, &mut second, EXIT), vec![EXITED]);
    }

    #[test]
    fn who_stays_silent_twice_is_taken_for_dead_until_it_is_heard_of() {
        let mut first = process(1, 3);
        assert_eq!(effects_of(1, &mut first, ENTER), asks(1, &[2, 3]));
        assert_eq!(effects_of(1, &mut first, from(2, denied(1, 1))), vec![]);
        assert_eq!(effects_of(1, &mut first, LATE), asks(1, &[2, 3]));
        assert_eq!(effects_of(1, &mut first, from(2, denied(1, 1))), vec![]);
        // The third has not answered two requests; the second is alive, and is asked again.
        assert_eq!(effects_of(1, &mut first, LATE), asks(1, &[2]));
        assert_eq!(effects_of(1, &mut first, from(2, reply(1, 1))), vec![CANCEL, entered(1, 1)]);
        effects_of(1, &mut first, EXIT);
        assert_eq!(effects_of(1, &mut first, ENTER), asks(2, &[2]));
        effects_of(1, &mut first, from(2, reply(2, 2)));
        effects_of(1, &mut first, EXIT);
        assert_eq!(effects_of(1, &mut first, from(3, request(9))), vec![send(3, reply(9, 9))]);
        assert_eq!(effects_of(1, &mut first, ENTER), asks(10, &[2, 3]));
    }

    #[test]
    fn silence_that_lets_one_in_needs_no_other_answer() {
        let mut first = process(1, 2);
        effects_of(1, &mut first, ENTER);
        assert_eq!(effects_of(1, &mut first, LATE), asks(1, &[2]));
        assert_eq!(effects_of(1, &mut first, LATE), vec![CANCEL, entered(1, 1)]);
        assert_eq!(effects_of(1, &mut first, LATE), vec![]);
        effects_of(1, &mut first, EXIT);
        assert_eq!(effects_of(1, &mut first, ENTER), vec![CANCEL, entered(2, 1)]);
    }

    /// Whoever is asked more than once may answer more than once, and late.
    #[test]
    fn grants_of_an_earlier_request_and_requests_before_a_later_one_count_for_nothing() {
        let mut first = process(1, 2);
        effects_of(1, &mut first, ENTER);
        effects_of(1, &mut first, LATE);
        effects_of(1, &mut first, from(2, reply(1, 1)));
        effects_of(1, &mut first, EXIT);
        assert_eq!(effects_of(1, &mut first, ENTER), asks(2, &[2]));
        let before = first.clone();
        assert_eq!(effects_of(1, &mut first, from(2, reply(1, 1))), vec![]);
        assert_eq!(effects_of(1, &mut first, from(2, denied(1, 1))), vec![]);
        assert_eq!(first, before);

        assert_eq!(effects_of(1, &mut first, from(2, request(5))), vec![send(2, denied(5, 5))]);
        assert_eq!(effects_of(1, &mut first, from(2, request(3))), vec![]);
        effects_of(1, &mut first, from(2, reply(5, 2)));
        assert_eq!(effects_of(1, &mut first, EXIT), vec![EXITED, send(2, reply(5, 5))]);
    }

    #[test]
    fn one_answer_is_enough_for_who_asks_once() {
        let mut first = RicartAgrawala::new(&setting(1, 3, "once"));
        assert_eq!(effects_of(1, &mut first, ENTER), asks(1, &[2, 3]));
        effects_of(1, &mut first, from(2, denied(1, 1)));
        assert_eq!(effects_of(1, &mut first, LATE), asks(1, &[3]));
        effects_of(1, &mut first, from(3, denied(1, 1)));
        assert_eq!(effects_of(1, &mut first, LATE), vec![]);
    }

    #[test]
    fn who_is_told_of_crashes_answers_and_sets_no_timer() {
        let group = setting(1, 2, "always")
            .group
            .recovering(&RicartAgrawala::ENTRY, Some(crate::setting::Recovering::default()))
            .unwrap();
        let mut first = RicartAgrawala::new(&Setting::new(Id::new(1), &group));
        assert_eq!(effects_of(1, &mut first, ENTER), vec![send(2, request(1))]);
        assert_eq!(effects_of(1, &mut first, from(2, request(2))), vec![send(2, denied(2, 2))]);
        assert_eq!(effects_of(1, &mut first, from(2, reply(2, 1))), vec![entered(1, 1)]);
    }

    #[test]
    fn a_denial_is_unexpected_where_there_are_none() {
        let mut first = RicartAgrawala::new(&setting(1, 2, "grant"));
        effects_of(1, &mut first, ENTER);
        let effects = effects_of(1, &mut first, from(2, denied(1, 1)));
        assert!(matches!(effects[..], [Effect::Unexpected { from: Some(_), .. }]), "{effects:?}");
    }
}
