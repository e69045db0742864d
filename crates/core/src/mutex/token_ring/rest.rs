//! `rest=yes`: a token that nobody asks for stays where it is.
//!
//! Who wants to enter and does not have the token sends a *want* to its successor. Each passes it on, until it comes to
//! who has the token, or to somebody who has asked as well. The token is on its way *towards* somebody: everybody
//! passes it on until it is there, and who wants to enter meanwhile enters. It rests where it arrives, unless somebody
//! farther on has asked.
//!
//! **Live**, because a want leaves its trace with everybody that it comes to: of all who have asked since the token was
//! here last, the last one on the token's way. So if the token is at a process that a want has come to, or comes to one
//! later, it goes on until it is where that want came from. Could it rest somewhere else for ever? Then the want ended
//! at somebody who waits for ever too, whose own want came farther, and so on, until a want has come to everybody.
//!
//! **In any order**, that is; but where a later message may overtake an earlier one, any number of wants can be under
//! way at once, so that there are infinitely many states. So FIFO channels are assumed.
//!
//! **Costs** nothing while nobody wants to enter, or only who has the token does. Where requests are rare, an entry
//! waits until the want is with the token and the token is here, which are n messages together, or none for who was the
//! last to enter: n−1 on average, where it is n/2 with a token that goes round. Traces of wants that were fulfilled
//! elsewhere send the token on in vain, so that a use takes a few messages more than that (simulated: 2.4 of 3
//! processes, 5.3 of 5, 11.3 of 9). If everybody wants to enter all the time, it is a want and a token a use, and still
//! one message from an exit to the next entry.
//!
//! **Crashes** may take wants with them, and a token that was on its way towards somebody. So when the inquiry that
//! follows every crash is over (`lost_token.rs`), everybody who wants to enter is told to ask again. And who inquires
//! itself, with the token at rest, does not enter before the inquiry is over: it would be in an epoch that nobody else
//! knows of yet, and should it crash, the next entry would have a smaller fence.

use super::{Message, Phase, TokenRing};
use crate::id::Id;
use crate::process::Effects;

impl TokenRing {
    pub(super) fn lets_rest(&self) -> bool {
        self.rests && self.asked.is_none()
    }

    pub(super) fn ask_if_wanted(&mut self, effects: &mut Effects<Self>) {
        let successor = self.successor();
        if self.rests && self.phase == Phase::Wanted && successor != self.me {
            effects.send(successor, Message::Want { by: self.me });
        }
    }

    pub(super) fn on_want(&mut self, from: Id, by: Id, effects: &mut Effects<Self>) {
        if !self.rests || by.number() > self.n {
            return effects.unexpected(from, "a request for the token that does not belong here");
        }
        // It has been all round the ring, and everybody knows of it; or nobody wants it any more.
        if by == self.me || self.succession.suspected.contains(by) {
            return;
        }
        self.note(Some(by));
        match self.phase {
            Phase::Released => effects.send(self.successor(), Message::Want { by }),
            Phase::ReleasedWithToken(_) => self.go_on(effects),
            Phase::Wanted | Phase::WantedWithToken(_) | Phase::Held(_) => {}
        }
    }

    /// Somebody has asked for the token.
    pub(super) fn note(&mut self, by: Option<Id>) {
        let is_other = |id: &Id| *id != self.me && id.number() <= self.n && !self.succession.suspected.contains(*id);
        let distance = |id: &Id| (id.number() + self.n - self.me.number()) % self.n;
        self.asked = self.asked.into_iter().chain(by.filter(is_other)).max_by_key(distance);
    }

    /// Who has the token enters, unless its epoch is one that it has begun itself and has not been answered in.
    pub(super) fn enter_if_known(&mut self, effects: &mut Effects<Self>) {
        if let Phase::WantedWithToken(token) = self.phase
            && !self.succession.is_inquiring()
        {
            self.hold(token, effects);
        }
    }

    /// What was asked may have been lost, and the ring is whole again.
    pub(super) fn let_all_ask_again(&mut self, effects: &mut Effects<Self>) {
        if self.rests {
            let living = self.me.others(self.n).filter(|&id| !self.succession.suspected.contains(id));
            effects.multicast(living, &Message::AskAgain);
            self.ask_if_wanted(effects);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Input, Mutex, Output, Said};
    use super::*;
    use crate::clock::{Epoch, Fence, Number};
    use crate::process::{Effect, EffectOf, Event, Notice, effects_of};
    use crate::setting::test_setting;
    use alloc::vec;

    const START: Event<TokenRing> = Event::Start { incarnation: 1, saved: None };
    const ENTER: Event<TokenRing> = Event::Input(Input::Enter);
    const EXIT: Event<TokenRing> = Event::Input(Input::Exit);
    const EXITED: EffectOf<TokenRing> = Effect::Output(Output::Exited);

    fn process(me: u32, n: u32) -> TokenRing {
        let mut process = TokenRing::new(&test_setting(&TokenRing::ENTRY, me, n, &[("rest", "yes")]));
        assert_eq!(effects_of(me, &mut process, START), vec![]);
        process
    }

    fn want(by: u32) -> Message {
        Message::Want { by: Id::new(by) }
    }

    fn token(entries: u64, towards: u32) -> Message {
        let (epoch, towards) = (Epoch::FIRST, Some(Id::new(towards)));
        Message::MarkedToken { epoch, made: epoch, entries: entries.try_into().unwrap(), towards }
    }

    fn from(id: u32, message: Message) -> Event<TokenRing> {
        Event::Receive { from: Id::new(id), message }
    }

    fn send(to: u32, message: Message) -> EffectOf<TokenRing> {
        Effect::Send { to: Id::new(to), message }
    }

    fn entered(entries: u64) -> EffectOf<TokenRing> {
        let entries: Number = entries.try_into().unwrap();
        Effect::Output(Output::Entered { fence: Fence::counted(Epoch::FIRST, entries) })
    }

    #[test]
    fn who_has_the_token_enters_as_often_as_it_likes_until_somebody_asks() {
        let mut first = process(1, 3);
        for entries in 1..4 {
            assert_eq!(effects_of(1, &mut first, ENTER), vec![entered(entries)]);
            assert_eq!(effects_of(1, &mut first, EXIT), vec![EXITED]);
        }
        effects_of(1, &mut first, ENTER);
        assert_eq!(effects_of(1, &mut first, from(3, want(3))), vec![]);
        assert_eq!(effects_of(1, &mut first, EXIT), vec![EXITED, send(2, token(4, 3))]);
        assert_eq!(effects_of(1, &mut first, ENTER), vec![send(2, want(1))]);
    }

    #[test]
    fn a_token_at_rest_goes_to_who_asks_and_rests_there() {
        let (mut first, mut second, mut third) = (process(1, 3), process(2, 3), process(3, 3));
        assert_eq!(effects_of(3, &mut third, ENTER), vec![send(1, want(3))]);
        assert_eq!(effects_of(1, &mut first, from(3, want(3))), vec![send(2, token(0, 3))]);
        assert_eq!(effects_of(2, &mut second, from(1, token(0, 3))), vec![send(3, token(0, 3))]);
        assert_eq!(effects_of(3, &mut third, from(2, token(0, 3))), vec![entered(1)]);
        assert_eq!(effects_of(3, &mut third, EXIT), vec![EXITED]);
        assert_eq!(effects_of(3, &mut third, from(2, want(2))), vec![send(1, token(1, 2))]);
    }

    #[test]
    fn who_wants_to_enter_enters_on_the_way_and_stops_the_wants_of_others() {
        let mut second = process(2, 4);
        assert_eq!(effects_of(2, &mut second, ENTER), vec![send(3, want(2))]);
        // Its own want brings the token here, and whoever asked after that has its turn next.
        assert_eq!(effects_of(2, &mut second, from(1, want(1))), vec![]);
        assert_eq!(effects_of(2, &mut second, from(1, token(5, 4))), vec![entered(6)]);
        assert_eq!(effects_of(2, &mut second, EXIT), vec![EXITED, send(3, token(6, 1))]);
    }

    /// A want may overtake the token, and miss it: then the token finds its trace.
    #[test]
    fn a_token_goes_on_from_where_a_want_has_been_since_it_was_here() {
        let mut second = process(2, 4);
        assert_eq!(effects_of(2, &mut second, from(1, want(1))), vec![send(3, want(1))]);
        assert_eq!(effects_of(2, &mut second, from(1, want(4))), vec![send(3, want(4))]);
        // It was on its way to here. Process 1 comes after process 4.
        assert_eq!(effects_of(2, &mut second, from(1, token(3, 2))), vec![send(3, token(3, 1))]);
        // Now that is settled.
        assert_eq!(effects_of(2, &mut second, from(1, token(3, 2))), vec![]);
    }

    #[test]
    fn own_wants_that_come_back_and_those_of_nobody_end() {
        let mut second = process(2, 3);
        assert_eq!(effects_of(2, &mut second, ENTER), vec![send(3, want(2))]);
        assert_eq!(effects_of(2, &mut second, from(1, want(2))), vec![]);
        let before = second.clone();
        let effects = effects_of(2, &mut second, from(1, want(4)));
        assert!(matches!(effects[..], [Effect::Unexpected { from: Some(_), .. }]), "{effects:?}");
        assert_eq!(second, before);
        // A token that is on its way to nobody does no harm either.
        assert_eq!(effects_of(2, &mut second, from(1, token(0, 9))), vec![entered(1)]);
        assert_eq!(effects_of(2, &mut second, EXIT), vec![EXITED]);
    }

    #[test]
    fn who_is_told_to_ask_again_does_if_it_still_waits() {
        let mut second = process(2, 3);
        assert_eq!(effects_of(2, &mut second, from(1, Message::AskAgain)), vec![]);
        effects_of(2, &mut second, ENTER);
        assert_eq!(effects_of(2, &mut second, from(1, Message::AskAgain)), vec![send(3, want(2))]);
        let mut without = TokenRing::new(&test_setting(&TokenRing::ENTRY, 2, 3, &[]));
        effects_of(2, &mut without, ENTER);
        assert_eq!(effects_of(2, &mut without, from(1, Message::AskAgain)), vec![]);
    }

    #[test]
    fn who_inquires_with_the_token_at_rest_enters_when_all_know_its_epoch() {
        let mut first = process(1, 3);
        effects_of(1, &mut first, Event::Notice(Notice::Suspect(Id::new(3))));
        let epoch = Epoch::FIRST.next_of(Id::new(1), 3).unwrap();
        let inquires = Message::Lost(Said::Inquire { epoch, dead: vec![Id::new(3)], keep: None });
        let begins = vec![Effect::Save(epoch), send(2, inquires)];
        assert_eq!(effects_of(1, &mut first, Event::Notice(Notice::Leader(Id::new(1)))), begins);
        assert_eq!(effects_of(1, &mut first, ENTER), vec![]);
        let answer = Message::Lost(Said::Answer { epoch, token: None, told: (), doubts: false });
        let entered = Effect::Output(Output::Entered { fence: Fence::counted(Epoch::FIRST, Number::ZERO.next()) });
        assert_eq!(effects_of(1, &mut first, from(2, answer)), vec![send(2, Message::AskAgain), entered]);
    }
}
