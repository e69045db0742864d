//! The central server: one process keeps a queue and lets in one after the other.
//!
//! Process 1 is the coordinator. To enter, a process sends it a request and waits for the grant; to leave, it sends a
//! release. The coordinator grants the first request at once, queues the others, and grants the next in the queue at
//! each release.
//!
//! *Source*: folklore; all five documents begin with it.
//!
//! **Assumes** that every message arrives once, in any order, and that nobody crashes.
//!
//! **Costs** 3 messages a use: request, grant, release. An entry waits for a round trip, an exit for nothing; from an
//! exit to the next entry it takes two messages.
//!
//! **Safe**: the coordinator grants only while nobody holds, and a holder has left when it says so. **Live**: the queue
//! is served in the order of arrival, and every holder leaves. **Not in order** (ME3): a request can be overtaken on
//! its way to the coordinator by one that happened after it.
//!
//! **Crashes**: told of them, and with an [election](crate::stack::Elected) beside it, it goes on with another
//! coordinator; how is in `recovery.rs`.
//!
//! **Fence**: the coordinator counts its grants, and grants only when the one before has left, so entries happen in the
//! order of their counts. A coordinator that takes over counts anew, in a later epoch.

mod recovery;

use alloc::collections::VecDeque;
use core::convert::Infallible;

use serde::{Deserialize, Serialize};

use super::{ALREADY_ENTERING, Input, Mutex, NOT_INSIDE, Output};
use crate::catalog::{Entry, Family, Measure, Property, Published, Recovery};
use crate::clock::{Counting, Epoch, Fence, Number};
use crate::id::{Id, IdSet};
use crate::process::{self, Effects, Event, Notice, Process};
use crate::setting::Setting;

/// A process of the central server algorithm: a client, and if it leads the coordinator as well.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Central {
    me: Id,
    n: u32,
    phase: Phase,
    /// Who coordinates: process 1, as long as nobody crashes. Nobody, while another one is to be found.
    leader: Option<Id>,
    epoch: Epoch,
    coordinator: Coordinator,
    /// Who is thought to have crashed.
    suspected: IdSet,
    /// Who was elected last, if it lives.
    elected: Option<Id>,
    /// Whether another one takes over.
    recovers: bool,
}

const COORDINATOR: Id = Id::new(1);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Released,
    Wanted,
    Held,
}

/// What the coordinator knows. Everybody else's stays empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Coordinator {
    holder: Option<Id>,
    waiting: VecDeque<Id>,
    grants: Number,
    counting: Counting,
    /// Who has not said yet what it holds and wants: until then nothing is granted.
    awaited: IdSet,
}

/// What clients and the coordinator say to each other. What is of another epoch than the receiver's changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// A client asks the coordinator.
    Request {
        /// The coordinator's epoch.
        epoch: Epoch,
    },
    /// The coordinator lets a client in.
    Grant {
        /// Its epoch.
        epoch: Epoch,
        /// How many grants there have been in it, this one included.
        count: Number,
    },
    /// A client has left.
    Release {
        /// The coordinator's epoch.
        epoch: Epoch,
    },
    /// A new coordinator asks everybody what it holds and wants.
    Inquire {
        /// Its epoch.
        epoch: Epoch,
    },
    /// A client tells it.
    State {
        /// The coordinator's epoch.
        epoch: Epoch,
        /// Whether it is inside.
        holds: bool,
        /// Whether it waits to enter.
        wants: bool,
    },
    /// Somebody else has begun a later epoch.
    Outdated {
        /// That one.
        epoch: Epoch,
    },
    /// The coordinator has given a client's turn to somebody else, as it was thought dead.
    Revoke {
        /// Its epoch.
        epoch: Epoch,
    },
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Request { .. } => "request",
            Message::Grant { .. } => "grant",
            Message::Release { .. } => "release",
            Message::Inquire { .. } => "inquire",
            Message::State { .. } => "state",
            Message::Outdated { .. } => "outdated",
            Message::Revoke { .. } => "revoke",
        }
    }

    fn number(&self) -> Option<u64> {
        match self {
            Message::Grant { count, .. } => Some(count.get()),
            Message::Inquire { epoch } | Message::Outdated { epoch } => Some(epoch.get().into()),
            Message::Request { .. } | Message::Release { .. } | Message::State { .. } | Message::Revoke { .. } => None,
        }
    }
}

impl Mutex for Central {
    const ENTRY: Entry = Entry {
        summary: "process 1 coordinates: it queues the requests and grants one at a time",
        paper: "folklore",
        promises: &[Property::MutualExclusion, Property::Progress, Property::Fencing],
        recovery: Some(Recovery {
            elects: true,
            ..Recovery::new("a new coordinator is elected, and asks every process what it holds and requests")
        }),
        published: &[
            Published::exactly(Measure::Messages, "A, B, E", "3", |_| 3.0),
            Published::exactly(Measure::MessagesToEnter, "A, B, E", "2", |_| 2.0),
            Published::exactly(Measure::MessagesToExit, "A, B, E", "1", |_| 1.0),
            Published::exactly(Measure::ClientDelay, "A, B, E", "2", |_| 2.0),
            Published::exactly(Measure::ExitDelay, "E", "0", |_| 0.0),
            Published::exactly(Measure::ExitDelay, "A", "1", |_| 1.0),
            Published::exactly(Measure::ExitDelay, "B", "0.5", |_| 0.5),
            Published::exactly(Measure::SyncDelay, "A, B, E", "2", |_| 2.0),
        ],
        coordinator: Some(COORDINATOR),
        finite: true,
        ..Entry::new("central", Family::Mutex)
    };

    fn new(setting: &Setting) -> Self {
        Central {
            me: setting.me,
            n: setting.n(),
            phase: Phase::Released,
            leader: Some(COORDINATOR),
            epoch: Epoch::FIRST,
            coordinator: Coordinator { counting: setting.group.counting, ..Coordinator::default() },
            suspected: IdSet::new(),
            elected: None,
            recovers: setting.group.recovering.is_some(),
        }
    }

    fn misses_leader(&self) -> bool {
        self.leader.is_none() && self.elected.is_none()
    }
}

impl Process for Central {
    type Message = Message;
    type Input = Input;
    type Output = Output;
    type Timer = Infallible;
    type Stable = Epoch;

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { incarnation, saved } => self.start(incarnation, saved),
            Event::Input(Input::Observe(_)) => {}
            Event::Input(Input::Enter) => self.enter(effects),
            Event::Input(Input::Exit) => self.exit(effects),
            Event::Receive { from, message: Message::Request { epoch } } => self.on_request(from, epoch, effects),
            Event::Receive { from, message: Message::Grant { epoch, count } } => {
                self.on_grant(from, epoch, count, effects);
            }
            Event::Receive { from, message: Message::Release { epoch } } => self.on_release(from, epoch, effects),
            Event::Receive { from, message: Message::Inquire { epoch } } => self.on_inquire(from, epoch, effects),
            Event::Receive { from, message: Message::State { epoch, holds, wants } } => {
                self.on_state(from, epoch, holds, wants, effects);
            }
            Event::Receive { from, message: Message::Outdated { epoch } } => self.on_outdated(from, epoch, effects),
            Event::Receive { from, message: Message::Revoke { epoch } } => self.on_revoke(from, epoch, effects),
            Event::Notice(Notice::Suspect(id)) => self.suspect(id, effects),
            Event::Notice(Notice::Trust(id)) => self.trust(id, effects),
            Event::Notice(Notice::Leader(id)) => self.elect(id, effects),
            Event::Timeout(never) => match never {},
        }
    }
}

impl Central {
    fn enter(&mut self, effects: &mut Effects<Self>) {
        let Phase::Released = self.phase else { return effects.misused(ALREADY_ENTERING) };
        self.phase = Phase::Wanted;
        if let Some(leader) = self.leader {
            effects.send(leader, Message::Request { epoch: self.epoch });
        }
    }

    fn exit(&mut self, effects: &mut Effects<Self>) {
        let Phase::Held = self.phase else { return effects.misused(NOT_INSIDE) };
        self.phase = Phase::Released;
        effects.output(Output::Exited);
        if let Some(leader) = self.leader {
            effects.send(leader, Message::Release { epoch: self.epoch });
        }
    }

    fn on_request(&mut self, from: Id, epoch: Epoch, effects: &mut Effects<Self>) {
        if epoch != self.epoch {
            return;
        }
        if !self.coordinates() {
            return effects.unexpected(from, "a request to a process that is not the coordinator");
        }
        // A holder's next request may overtake its release, so it may wait while it still holds.
        if self.coordinator.waiting.contains(&from) {
            return effects.unexpected(from, "a second request before the first was granted");
        }
        self.coordinator.waiting.push_back(from);
        self.grant_next(effects);
    }

    fn on_grant(&mut self, from: Id, epoch: Epoch, count: Number, effects: &mut Effects<Self>) {
        if epoch != self.epoch {
            return;
        }
        match self.phase {
            Phase::Wanted if Some(from) == self.leader => {
                self.phase = Phase::Held;
                effects.output(Output::Entered { fence: Fence::counted(epoch, count) });
            }
            Phase::Released | Phase::Wanted | Phase::Held => {
                effects.unexpected(from, "a grant without a request");
            }
        }
    }

    fn on_release(&mut self, from: Id, epoch: Epoch, effects: &mut Effects<Self>) {
        if epoch != self.epoch {
            return;
        }
        if self.coordinator.holder != Some(from) {
            return effects.unexpected(from, "a release from a process that does not hold the lock");
        }
        self.coordinator.holder = None;
        self.grant_next(effects);
    }

    /// Lets in the next, if nobody is inside as far as is known, and that is all there is to know.
    fn grant_next(&mut self, effects: &mut Effects<Self>) {
        let Coordinator { holder, waiting, grants, counting, awaited } = &mut self.coordinator;
        if holder.is_some() || !awaited.is_empty() {
            return;
        }
        if self.recovers && Fence::ends_epoch(*grants) {
            return self.begin_epoch(effects);
        }
        if let Some(next) = waiting.pop_front() {
            *holder = Some(next);
            *grants = counting.after(*grants);
            effects.send(next, Message::Grant { epoch: self.epoch, count: *grants });
        }
    }

    fn coordinates(&self) -> bool {
        self.leader == Some(self.me)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Effect, effects_of};
    use crate::setting::{test_recovering, test_setting};
    use alloc::vec;

    const REQUEST: Message = Message::Request { epoch: Epoch::FIRST };
    const RELEASE: Message = Message::Release { epoch: Epoch::FIRST };

    fn central(me: u32) -> Central {
        Central::new(&test_setting(&Central::ENTRY, me, 4, &[]))
    }

    fn from(id: u32, message: Message) -> Event<Central> {
        Event::Receive { from: Id::new(id), message }
    }

    fn grant(to: u32, count: u64) -> Effect<Message, Output, Infallible, Epoch> {
        Effect::Send {
            to: Id::new(to),
            message: Message::Grant { epoch: Epoch::FIRST, count: count.try_into().unwrap() },
        }
    }

    /// C11: p3 holds, p4 then p2 wait; p3 leaves, p4 enters.
    #[test]
    fn the_queue_is_served_in_the_order_of_arrival() {
        let mut server = central(1);
        assert_eq!(effects_of(1, &mut server, from(3, REQUEST)), vec![grant(3, 1)]);
        assert_eq!(effects_of(1, &mut server, from(4, REQUEST)), vec![]);
        assert_eq!(effects_of(1, &mut server, from(2, REQUEST)), vec![]);
        assert_eq!(effects_of(1, &mut server, from(3, RELEASE)), vec![grant(4, 2)]);
        assert_eq!(effects_of(1, &mut server, from(4, RELEASE)), vec![grant(2, 3)]);
        assert_eq!(effects_of(1, &mut server, from(2, RELEASE)), vec![]);
    }

    #[test]
    fn the_coordinator_may_enter_too_and_sends_nothing() {
        let mut server = central(1);
        let fence = Fence::counted(Epoch::FIRST, Number::ZERO.next());
        assert_eq!(
            effects_of(1, &mut server, Event::Input(Input::Enter)),
            vec![Effect::Output(Output::Entered { fence })]
        );
        assert_eq!(effects_of(1, &mut server, Event::Input(Input::Exit)), vec![Effect::Output(Output::Exited)]);
    }

    #[test]
    fn what_peers_should_not_send_changes_nothing() {
        let mut server = central(1);
        effects_of(1, &mut server, from(3, REQUEST));
        let before = server.clone();
        for event in [
            from(2, RELEASE),
            from(2, Message::Grant { epoch: Epoch::FIRST, count: Number::ZERO }),
            Event::Input(Input::Exit),
        ] {
            let effects = effects_of(1, &mut server, event);
            assert!(matches!(effects[..], [Effect::Unexpected { .. }]), "{effects:?}");
        }
        assert_eq!(server, before);
    }

    /// Where all who live can be asked, the next epoch begins before the numbers of this one run out.
    #[test]
    fn a_coordinator_that_has_counted_to_the_end_of_its_epoch_begins_another() {
        let last = Number::try_from((1 << 27) - 1).unwrap();
        let mut server = Central::new(&test_recovering(&Central::ENTRY, 1, 2, false));
        server.coordinator.grants = last;
        let asked = effects_of(1, &mut server, from(2, REQUEST));
        let epoch = server.epoch;
        let inquire = Effect::Send { to: Id::new(2), message: Message::Inquire { epoch } };
        assert_eq!(asked, vec![Effect::Save(epoch), inquire]);
        let told = Message::State { epoch, holds: false, wants: true };
        let count = Number::ZERO.next();
        let grant = Effect::Send { to: Id::new(2), message: Message::Grant { epoch, count } };
        assert_eq!(effects_of(1, &mut server, from(2, told)), vec![grant]);
        assert!(Fence::counted(epoch, count) > Fence::counted(Epoch::FIRST, last));
    }
}
