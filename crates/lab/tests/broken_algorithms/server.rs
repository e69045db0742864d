//! A server: process 1 lets in one after the other.

use std::collections::VecDeque;
use std::convert::Infallible;

use quorate_core::catalog::{Entry, Family, Property};
use quorate_core::clock::{Epoch, Fence, Number};
use quorate_core::id::Id;
use quorate_core::mutex::{Input, Mutex, Output};
use quorate_core::process::{self, Effects, Event, Process};
use quorate_core::setting::Setting;
use quorate_lab::application::Workload;
use quorate_lab::observer::Ending;
use quorate_lab::report::Severity;
use serde::{Deserialize, Serialize};

use crate::{CONSTANT, EVERYTHING, RANDOM, RIGHT, assert_found, run};

/// It lets in whoever asks, whether or not somebody is inside.
const OPEN_DOOR: u8 = 1;
/// Who leaves does not tell.
const LEAVES_SILENTLY: u8 = 2;
/// Every entry has the same fence.
const SAME_FENCE: u8 = 3;
/// Who asked last is served first.
const LAST_FIRST: u8 = 4;
/// It says all kinds of things beside.
const BABBLES: u8 = 5;
/// Who asks does not wait for an answer.
const BARGES_IN: u8 = 6;
/// It is inside before anybody asked.
const BORN_INSIDE: u8 = 7;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Server<const FLAW: u8> {
    n: u32,
    wants: bool,
    busy: bool,
    waiting: VecDeque<Id>,
    grants: Number,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum ToServer {
    Request,
    Grant(Number),
    Release,
    Nonsense(Vec<u8>),
}

impl process::Message for ToServer {
    fn kind(&self) -> &'static str {
        match self {
            ToServer::Request => "request",
            ToServer::Grant(_) => "grant",
            ToServer::Release => "release",
            ToServer::Nonsense(_) => "nonsense",
        }
    }
}

const SERVER: Id = Id::new(1);

impl<const FLAW: u8> Mutex for Server<FLAW> {
    const ENTRY: Entry =
        Entry { promises: EVERYTHING, coordinator: Some(SERVER), ..Entry::new("server", Family::Mutex) };

    fn new(setting: &Setting) -> Self {
        Server { n: setting.n(), wants: false, busy: false, waiting: VecDeque::new(), grants: Number::ZERO }
    }
}

impl<const FLAW: u8> Process for Server<FLAW> {
    type Message = ToServer;
    type Input = Input;
    type Output = Output;
    type Timer = Infallible;
    type Stable = ();

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { .. } if FLAW == BORN_INSIDE => self.enter(Number::ZERO, effects),
            Event::Input(Input::Enter) if FLAW == BARGES_IN => {
                let grants = self.grants.next();
                self.enter(grants, effects);
            }
            Event::Input(Input::Enter) => {
                self.wants = true;
                effects.send(SERVER, ToServer::Request);
                if FLAW == BABBLES {
                    self.babble(effects);
                }
            }
            Event::Input(Input::Exit) => {
                effects.output(Output::Exited);
                if FLAW != LEAVES_SILENTLY {
                    effects.send(SERVER, ToServer::Release);
                }
            }
            Event::Receive { from, message: ToServer::Request } => {
                self.waiting.push_back(from);
                self.grant_next(effects);
            }
            Event::Receive { message: ToServer::Release, .. } => {
                self.busy = false;
                self.grant_next(effects);
            }
            Event::Receive { from: SERVER, message: ToServer::Grant(number) } if self.wants => {
                self.wants = false;
                self.enter(number, effects);
            }
            Event::Receive { from, message: ToServer::Grant(_) | ToServer::Nonsense(_) } => {
                effects.unexpected(from, "nonsense");
            }
            Event::Start { .. } | Event::Notice(_) | Event::Input(Input::Observe(_)) => {}
            Event::Timeout(never) => match never {},
        }
    }
}

impl<const FLAW: u8> Server<FLAW> {
    fn grant_next(&mut self, effects: &mut Effects<Self>) {
        let next = match (self.busy && FLAW != OPEN_DOOR, FLAW) {
            (true, _) => None,
            (false, LAST_FIRST) => self.waiting.pop_back(),
            (false, _) => self.waiting.pop_front(),
        };
        if let Some(next) = next {
            self.busy = true;
            self.grants = self.grants.next();
            effects.send(next, ToServer::Grant(self.grants));
        }
    }

    fn enter(&mut self, number: Number, effects: &mut Effects<Self>) {
        self.grants = number;
        let number = if FLAW == SAME_FENCE { Number::ZERO } else { number };
        effects.output(Output::Entered { fence: Fence::counted(Epoch::FIRST, number) });
    }

    /// To itself, to others, and to processes that do not exist.
    fn babble(&self, effects: &mut Effects<Self>) {
        for to in [1, 2, 3, self.n + 1, u32::MAX].map(Id::new) {
            effects.send(to, ToServer::Nonsense(vec![7; 3]));
        }
        effects.multicast(Id::all(self.n), &ToServer::Grant(Number::ZERO));
    }
}

#[test]
fn a_right_server_is_found_right() {
    for workload in [Workload::Alone, Workload::Contended, Workload::Poisson(0.2), Workload::Causal] {
        assert_found::<Server<RIGHT>>(&workload, CONSTANT, &[]);
        let report = run::<Server<RIGHT>>(1, &workload, CONSTANT);
        assert_eq!((report.outcome.costs.entries, report.outcome.unexpected), (40, 0));
        assert_eq!((report.outcome.ending, report.severity()), (Ending::Quiet, Severity::Fine));
    }
    // A request can be overtaken on its way. No server can help that; the one of the catalogue does not promise it.
    let why = "whose request had happened before";
    assert_found::<Server<RIGHT>>(&Workload::Causal, RANDOM, &[(Property::RequestOrder, why)]);
}

#[test]
fn an_open_door_breaks_mutual_exclusion() {
    let expected = [(Property::MutualExclusion, "entered while")];
    assert_found::<Server<OPEN_DOOR>>(&Workload::Contended, CONSTANT, &expected);
    assert_found::<Server<OPEN_DOOR>>(&Workload::Poisson(0.2), CONSTANT, &expected);
    // Where only one asks, nobody can notice.
    assert_found::<Server<OPEN_DOOR>>(&Workload::Alone, CONSTANT, &[]);
}

#[test]
fn leaving_silently_breaks_progress() {
    let why = "still waited at the end";
    assert_found::<Server<LEAVES_SILENTLY>>(&Workload::Contended, CONSTANT, &[(Property::Progress, why)]);
    let report = run::<Server<LEAVES_SILENTLY>>(1, &Workload::Contended, CONSTANT);
    assert_eq!((report.outcome.ending, report.severity()), (Ending::Quiet, Severity::Liveness));
    assert_eq!(report.outcome.costs.entries, 1);
}

#[test]
fn fences_that_do_not_grow_are_found() {
    let expected = [(Property::Fencing, "with fence 0 after an entry with fence 0")];
    assert_found::<Server<SAME_FENCE>>(&Workload::Contended, CONSTANT, &expected);
}

#[test]
fn serving_the_last_first_breaks_the_order_of_requests() {
    let expected = [(Property::RequestOrder, "whose request had happened before")];
    assert_found::<Server<LAST_FIRST>>(&Workload::Causal, CONSTANT, &expected);
}

/// What happens before what is known through the application's own messages here, and through nothing else: so it takes
/// a workload that sends some.
#[test]
fn without_causality_between_requests_any_order_will_do() {
    let once: Vec<_> = Id::all(4).map(|id| (id, 0)).collect();
    assert_found::<Server<LAST_FIRST>>(&Workload::List(once), CONSTANT, &[]);
}

#[test]
fn nonsense_is_survived_and_counted() {
    assert_found::<Server<BABBLES>>(&Workload::Contended, CONSTANT, &[]);
    let report = run::<Server<BABBLES>>(1, &Workload::Contended, CONSTANT);
    assert_eq!(report.outcome.costs.entries, 40);
    assert!(report.outcome.unexpected > 40 && report.outcome.first_unexpected.is_some());
    assert!(report.outcome.costs.messages_by_kind["nonsense"] > 40);
}

#[test]
fn barging_in_breaks_mutual_exclusion_and_fencing() {
    let expected = [(Property::MutualExclusion, "entered while"), (Property::Fencing, "after an entry with")];
    assert_found::<Server<BARGES_IN>>(&Workload::Contended, CONSTANT, &expected);
}

#[test]
fn who_is_inside_without_having_asked_is_inside() {
    let expected =
        [(Property::MutualExclusion, "p2 entered while p1 was inside"), (Property::Fencing, "after an entry with")];
    assert_found::<Server<BORN_INSIDE>>(&Workload::Alone, CONSTANT, &expected);
}
