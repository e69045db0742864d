//! `acknowledged=yes`: who gets the token says so, and a successor that does not is skipped from then on.
//!
//! Who passes the token on waits as long as a message and its answer can take. If no acknowledgement has come then, the
//! successor has crashed before it got the token: it is dropped from the ring, the token is back in the hands of its
//! last holder, and goes to the next one, or lets this one in if it wants to enter by now.
//!
//! *Source*: "Lecture 5: Mutual Exclusion and Election".
//!
//! **Assumes** that messages take no longer than a known time, and that what somebody has sent arrives even if it
//! crashes afterwards. If an acknowledgement may take longer, there are two tokens, and two can be inside.
//!
//! **One token**: the acknowledgement is the first thing that who gets the token does. Who crashes before it has done
//! nothing else, so that nobody has seen the token; who crashes after it is not taken to have got nothing. It has the
//! token then, and **takes it along**: only a successor that dies without the token is skipped. Acknowledgements bear
//! no number, so nobody passes on another token while it waits for one; should the token be quicker round the ring
//! than its acknowledgement, it stays until that has come.
//!
//! **Costs** one more message for each that passes the token on.

use super::{Message, Phase, Timer, Token, TokenRing};
use crate::id::Id;
use crate::mutex::lost_token::TokenKeeper;
use crate::process::{Effects, Ticks};
use crate::setting::Setting;

/// A token that was passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pass {
    to: Id,
    token: Token,
}

/// A round trip and a tick, if tokens are acknowledged.
pub(super) fn patience(setting: &Setting) -> Option<Ticks> {
    let round_trip = setting.group.delay_bound.saturating_mul(2).saturating_add(1);
    (setting.group.options.choice("acknowledged") == "yes").then_some(round_trip)
}

impl TokenRing {
    /// Before anything else is done with it.
    pub(super) fn acknowledge(&self, from: Id, effects: &mut Effects<Self>) {
        if self.patience.is_some() {
            effects.send(from, Message::Acknowledge);
        }
    }

    pub(super) fn await_acknowledgement(&mut self, to: Id, token: Token, effects: &mut Effects<Self>) {
        if let Some(patience) = self.patience {
            self.unacknowledged = Some(Pass { to, token });
            effects.set_timer(Timer::Acknowledgement, patience..=patience);
        }
    }

    pub(super) fn on_acknowledge(&mut self, from: Id, effects: &mut Effects<Self>) {
        if self.unacknowledged.take_if(|pass| pass.to == from).is_some() {
            effects.cancel_timer(Timer::Acknowledgement);
            self.go_on(effects);
        } else {
            // Only where messages take longer than was thought: it lives, and there are two tokens now.
            if self.patience.is_some() {
                self.succession.suspected.remove(from);
            }
            effects.unexpected(from, "an acknowledgement of a token that was not sent");
        }
    }

    pub(super) fn on_acknowledgement_late(&mut self, effects: &mut Effects<Self>) {
        let Some(Pass { to, token }) = self.unacknowledged.take() else { return };
        match self.phase {
            Phase::Released | Phase::Wanted => {
                self.succession.suspected.insert(to);
                self.take_token(to, token, effects);
            }
            // It has come round, so it had arrived.
            Phase::ReleasedWithToken(_) | Phase::WantedWithToken(_) | Phase::Held(_) => self.go_on(effects),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Input, Mutex, Output};
    use super::*;
    use crate::clock::{Epoch, Fence};
    use crate::process::{Effect, EffectOf, Event, effects_of};
    use crate::setting::{Group, Options, Timing, test_setting};
    use alloc::string::ToString;
    use alloc::vec;
    use alloc::vec::Vec;

    const ENTER: Event<TokenRing> = Event::Input(Input::Enter);
    const LATE: Event<TokenRing> = Event::Timeout(Timer::Acknowledgement);
    const CANCEL: EffectOf<TokenRing> = Effect::CancelTimer(Timer::Acknowledgement);

    fn process(me: u32, n: u32) -> TokenRing {
        TokenRing::new(&test_setting(&TokenRing::ENTRY, me, n, &[("acknowledged", "yes")]))
    }

    fn token(entries: u64) -> Message {
        Message::Token { epoch: Epoch::FIRST, entries: entries.try_into().unwrap() }
    }

    fn from(id: u32, message: Message) -> Event<TokenRing> {
        Event::Receive { from: Id::new(id), message }
    }

    fn acknowledges(to: u32) -> EffectOf<TokenRing> {
        Effect::Send { to: Id::new(to), message: Message::Acknowledge }
    }

    /// Passes the token on, and waits for a round trip and a tick.
    fn passes(to: u32, entries: u64) -> [EffectOf<TokenRing>; 2] {
        let timer = Effect::SetTimer { timer: Timer::Acknowledgement, after: 21..=21 };
        [Effect::Send { to: Id::new(to), message: token(entries) }, timer]
    }

    fn entered(entries: u64) -> EffectOf<TokenRing> {
        Effect::Output(Output::Entered { fence: Fence::counted(Epoch::FIRST, entries.try_into().unwrap()) })
    }

    fn after(first: EffectOf<TokenRing>, others: [EffectOf<TokenRing>; 2]) -> Vec<EffectOf<TokenRing>> {
        [first].into_iter().chain(others).collect()
    }

    #[test]
    fn who_gets_the_token_says_so_before_anything_else() {
        let mut second = process(2, 3);
        assert_eq!(effects_of(2, &mut second, from(1, token(4))), after(acknowledges(1), passes(3, 4)));
        assert_eq!(effects_of(2, &mut second, from(3, Message::Acknowledge)), vec![CANCEL]);
        effects_of(2, &mut second, ENTER);
        assert_eq!(effects_of(2, &mut second, from(1, token(4))), vec![acknowledges(1), entered(5)]);
    }

    #[test]
    fn a_successor_that_is_silent_is_skipped_from_then_on() {
        let mut first = process(1, 4);
        assert_eq!(effects_of(1, &mut first, Event::Start { incarnation: 1, saved: None }), passes(2, 0));
        assert_eq!(effects_of(1, &mut first, LATE), passes(3, 0));
        assert_eq!(effects_of(1, &mut first, from(3, Message::Acknowledge)), vec![CANCEL]);
        // A timer that was too late to be cancelled is harmless.
        assert_eq!(effects_of(1, &mut first, LATE), vec![]);
        assert_eq!(effects_of(1, &mut first, from(4, token(2))), after(acknowledges(4), passes(3, 2)));
    }

    #[test]
    fn who_has_the_token_back_and_wants_to_enter_by_now_enters() {
        let mut first = process(1, 3);
        effects_of(1, &mut first, Event::Start { incarnation: 1, saved: None });
        assert_eq!(effects_of(1, &mut first, ENTER), vec![]);
        assert_eq!(effects_of(1, &mut first, LATE), vec![entered(1)]);
        let left = after(Effect::Output(Output::Exited), passes(3, 1));
        assert_eq!(effects_of(1, &mut first, Event::Input(Input::Exit)), left);
        // If nobody else is left, it keeps the token.
        assert_eq!(effects_of(1, &mut first, LATE), vec![]);
        assert_eq!(effects_of(1, &mut first, ENTER), vec![entered(2)]);
    }

    /// An acknowledgement bears no number: the next token waits until the last one's has come.
    #[test]
    fn a_token_that_is_quicker_than_its_acknowledgement_waits_for_it() {
        let mut first = process(1, 2);
        effects_of(1, &mut first, Event::Start { incarnation: 1, saved: None });
        let mut impatient = first.clone();
        assert_eq!(effects_of(1, &mut first, from(2, token(7))), vec![acknowledges(2)]);
        assert_eq!(effects_of(1, &mut first, from(2, Message::Acknowledge)), after(CANCEL, passes(2, 7)));
        // It has come round, so nobody is dead, however long the acknowledgement takes.
        effects_of(1, &mut impatient, from(2, token(7)));
        assert_eq!(effects_of(1, &mut impatient, LATE), passes(2, 7));
    }

    #[test]
    fn who_acknowledges_too_late_is_on_the_ring_again() {
        let mut first = process(1, 3);
        effects_of(1, &mut first, Event::Start { incarnation: 1, saved: None });
        assert_eq!(effects_of(1, &mut first, LATE), passes(3, 0));
        let late = effects_of(1, &mut first, from(2, Message::Acknowledge));
        assert!(matches!(late[..], [Effect::Unexpected { from: Some(_), .. }]), "{late:?}");
        effects_of(1, &mut first, from(3, Message::Acknowledge));
        assert_eq!(effects_of(1, &mut first, from(3, token(0))), after(acknowledges(3), passes(2, 0)));
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let group = |given: &[(&str, &str)]| {
            let options = Options::new(&TokenRing::ENTRY, given.iter().copied()).unwrap();
            Group::new(&TokenRing::ENTRY, 3, 10, Timing::Synchronous, options)
        };
        let acknowledged = group(&[("acknowledged", "yes")]).unwrap();
        let why = acknowledged
            .recovering(&TokenRing::ENTRY, Some(crate::setting::Recovering::default()))
            .unwrap_err()
            .to_string();
        assert!(why.starts_with("option acknowledged = yes cannot be combined with recovery: "), "{why}");
        let why = group(&[("acknowledged", "yes"), ("rest", "yes")]).unwrap_err().to_string();
        assert!(why.starts_with("option acknowledged = yes cannot be combined with rest = yes: "), "{why}");
        assert!(
            group(&[("rest", "yes")])
                .unwrap()
                .recovering(&TokenRing::ENTRY, Some(crate::setting::Recovering::default()))
                .is_ok()
        );
    }
}
