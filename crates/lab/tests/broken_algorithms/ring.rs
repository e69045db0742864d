//! A ring: who has the token may enter.

use std::convert::Infallible;

use quorate_core::catalog::{Entry, Family, Property};
use quorate_core::clock::{Epoch, Fence, Number};
use quorate_core::id::Id;
use quorate_core::mutex::{Input, Mutex, Output};
use quorate_core::process::{self, Effects, Event, Process};
use quorate_core::setting::Setting;
use quorate_lab::application::Workload;
use quorate_lab::observer::Ending;
use serde::{Deserialize, Serialize};

use crate::{CONSTANT, EVERYTHING, RANDOM, RIGHT, assert_found, run};

/// Processes 1 and 3 begin with a token.
const TWO_TOKENS: u8 = 1;
/// The token never comes to the last process.
const LEAVES_OUT_THE_LAST: u8 = 2;
/// The token is kept by who has used it five times.
const KEEPS_THE_TOKEN: u8 = 3;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Ring<const FLAW: u8> {
    me: Id,
    n: u32,
    wants: bool,
    inside: Option<Number>,
    used: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Token(Number);

impl process::Message for Token {
    fn kind(&self) -> &'static str {
        "token"
    }
}

impl<const FLAW: u8> Mutex for Ring<FLAW> {
    const ENTRY: Entry = Entry { promises: EVERYTHING, restless: true, ..Entry::new("ring", Family::Mutex) };

    fn new(setting: &Setting) -> Self {
        Ring { me: setting.me, n: setting.n(), wants: false, inside: None, used: 0 }
    }
}

impl<const FLAW: u8> Process for Ring<FLAW> {
    type Message = Token;
    type Input = Input;
    type Output = Output;
    type Timer = Infallible;
    type Stable = ();

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { .. } => {
                if self.me == Id::new(1) || (FLAW == TWO_TOKENS && self.me == Id::new(3)) {
                    self.pass(Number::ZERO, effects);
                }
            }
            Event::Input(Input::Enter) => self.wants = true,
            Event::Input(Input::Exit) => {
                effects.output(Output::Exited);
                self.used += 1;
                if let Some(entries) = self.inside.take()
                    && !(FLAW == KEEPS_THE_TOKEN && self.used == 5)
                {
                    self.pass(entries, effects);
                }
            }
            Event::Receive { message: Token(entries), .. } if self.wants => {
                self.wants = false;
                self.inside = Some(entries.next());
                effects.output(Output::Entered { fence: Fence::counted(Epoch::FIRST, entries.next()) });
            }
            Event::Receive { message: Token(entries), .. } => self.pass(entries, effects),
            Event::Notice(_) | Event::Input(Input::Observe(_)) => {}
            Event::Timeout(never) => match never {},
        }
    }
}

impl<const FLAW: u8> Ring<FLAW> {
    fn pass(&self, entries: Number, effects: &mut Effects<Self>) {
        let length = if FLAW == LEAVES_OUT_THE_LAST { self.n - 1 } else { self.n };
        effects.send(self.me.successor(length), Token(entries));
    }
}

#[test]
fn a_right_ring_is_found_right() {
    for delay in [CONSTANT, RANDOM] {
        assert_found::<Ring<RIGHT>>(&Workload::Contended, delay, &[]);
        assert_eq!(run::<Ring<RIGHT>>(1, &Workload::Contended, delay).outcome.ending, Ending::Finished);
    }
    // The ring decides who is next, not who asked first.
    let why = "whose request had happened before";
    assert_found::<Ring<RIGHT>>(&Workload::Causal, CONSTANT, &[(Property::RequestOrder, why)]);
}

#[test]
fn two_tokens_break_mutual_exclusion_and_count_the_same_fences() {
    let expected = [(Property::MutualExclusion, "entered while"), (Property::Fencing, "after an entry with")];
    assert_found::<Ring<TWO_TOKENS>>(&Workload::Contended, RANDOM, &expected);
}

/// The token goes round for ever, so that the run is never quiet; the one who waits in vain is found all the same.
#[test]
fn being_left_out_breaks_progress() {
    let why = "p4 still waited at the end";
    assert_found::<Ring<LEAVES_OUT_THE_LAST>>(&Workload::Contended, RANDOM, &[(Property::Progress, why)]);
    let report = run::<Ring<LEAVES_OUT_THE_LAST>>(1, &Workload::Contended, RANDOM);
    assert_eq!(report.outcome.ending, Ending::Stalled);
}

#[test]
fn keeping_the_token_breaks_progress() {
    let why = "still waited at the end";
    assert_found::<Ring<KEEPS_THE_TOKEN>>(&Workload::Contended, RANDOM, &[(Property::Progress, why)]);
}
