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
//! **Fence**: the coordinator counts its grants, and grants only when the one before has left, so entries happen in the
//! order of their counts. No crash is survived: a coordinator that comes back counts from 1 again.

use alloc::collections::VecDeque;
use core::convert::Infallible;

use serde::{Deserialize, Serialize};

use super::{ALREADY_ENTERING, Input, Mutex, NOT_INSIDE, Output};
use crate::catalog::{Entry, Family, Measure, Property, Published};
use crate::clock::{Counting, Fence, Number};
use crate::id::Id;
use crate::process::{self, Effects, Event, Process};
use crate::setting::Setting;

/// A process of the central server algorithm: a client, and if it is process 1 the coordinator as well.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Central {
    me: Id,
    phase: Phase,
    coordinator: Coordinator,
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
}

/// What clients and the coordinator say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// A client asks the coordinator.
    Request,
    /// The coordinator lets a client in.
    Grant {
        /// How many grants there have been, this one included.
        count: Number,
    },
    /// A client has left.
    Release,
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Request => "request",
            Message::Grant { .. } => "grant",
            Message::Release => "release",
        }
    }

    fn number(&self) -> Option<u64> {
        match self {
            Message::Grant { count } => Some(count.get()),
            Message::Request | Message::Release => None,
        }
    }
}

impl Mutex for Central {
    const ENTRY: Entry = Entry {
        summary: "process 1 keeps a queue and lets in one after the other",
        paper: "folklore",
        promises: &[Property::MutualExclusion, Property::Progress, Property::Fencing],
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
        let coordinator = Coordinator { counting: setting.group.counting, ..Coordinator::default() };
        Central { me: setting.me, phase: Phase::Released, coordinator }
    }
}

impl Process for Central {
    type Message = Message;
    type Input = Input;
    type Output = Output;
    type Timer = Infallible;
    type Stable = ();

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { .. } | Event::Notice(_) | Event::Input(Input::Observe(_)) => {}
            Event::Input(Input::Enter) => self.enter(effects),
            Event::Input(Input::Exit) => self.exit(effects),
            Event::Receive { from, message: Message::Request } => self.on_request(from, effects),
            Event::Receive { from, message: Message::Grant { count } } => self.on_grant(from, count, effects),
            Event::Receive { from, message: Message::Release } => self.on_release(from, effects),
            Event::Timeout(never) => match never {},
        }
    }
}

impl Central {
    fn enter(&mut self, effects: &mut Effects<Self>) {
        let Phase::Released = self.phase else { return effects.misused(ALREADY_ENTERING) };
        self.phase = Phase::Wanted;
        effects.send(COORDINATOR, Message::Request);
    }

    fn exit(&mut self, effects: &mut Effects<Self>) {
        let Phase::Held = self.phase else { return effects.misused(NOT_INSIDE) };
        self.phase = Phase::Released;
        effects.output(Output::Exited);
        effects.send(COORDINATOR, Message::Release);
    }

    fn on_request(&mut self, from: Id, effects: &mut Effects<Self>) {
        if self.me != COORDINATOR {
            return effects.unexpected(from, "a request to somebody who is not the coordinator");
        }
        // A holder's next request may overtake its release, so it may wait while it still holds.
        if self.coordinator.waiting.contains(&from) {
            return effects.unexpected(from, "a second request before the first was granted");
        }
        self.coordinator.waiting.push_back(from);
        if self.coordinator.holder.is_none() {
            self.grant_next(effects);
        }
    }

    fn on_grant(&mut self, from: Id, count: Number, effects: &mut Effects<Self>) {
        match self.phase {
            Phase::Wanted if from == COORDINATOR => {
                self.phase = Phase::Held;
                effects.output(Output::Entered { fence: Fence::counted(0, count) });
            }
            Phase::Released | Phase::Wanted | Phase::Held => {
                effects.unexpected(from, "a grant that nobody waits for");
            }
        }
    }

    fn on_release(&mut self, from: Id, effects: &mut Effects<Self>) {
        if self.coordinator.holder != Some(from) {
            return effects.unexpected(from, "a release by somebody who does not hold");
        }
        self.coordinator.holder = None;
        self.grant_next(effects);
    }

    fn grant_next(&mut self, effects: &mut Effects<Self>) {
        if let Some(next) = self.coordinator.waiting.pop_front() {
            self.coordinator.holder = Some(next);
            self.coordinator.grants = self.coordinator.counting.after(self.coordinator.grants);
            effects.send(next, Message::Grant { count: self.coordinator.grants });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Effect, effects_of};
    use crate::setting::test_setting;
    use alloc::vec;

    fn central(me: u32) -> Central {
        Central::new(&test_setting(&Central::ENTRY, me, 4, &[]))
    }

    fn from(id: u32, message: Message) -> Event<Central> {
        Event::Receive { from: Id::new(id), message }
    }

    fn grant(to: u32, count: u64) -> Effect<Message, Output, Infallible, ()> {
        Effect::Send { to: Id::new(to), message: Message::Grant { count: count.try_into().unwrap() } }
    }

    /// C11: p3 holds, p4 then p2 wait; p3 leaves, p4 enters.
    #[test]
    fn the_queue_is_served_in_the_order_of_arrival() {
        let mut server = central(1);
        assert_eq!(effects_of(1, &mut server, from(3, Message::Request)), vec![grant(3, 1)]);
        assert_eq!(effects_of(1, &mut server, from(4, Message::Request)), vec![]);
        assert_eq!(effects_of(1, &mut server, from(2, Message::Request)), vec![]);
        assert_eq!(effects_of(1, &mut server, from(3, Message::Release)), vec![grant(4, 2)]);
        assert_eq!(effects_of(1, &mut server, from(4, Message::Release)), vec![grant(2, 3)]);
        assert_eq!(effects_of(1, &mut server, from(2, Message::Release)), vec![]);
    }

    #[test]
    fn the_coordinator_may_enter_too_and_sends_nothing() {
        let mut server = central(1);
        let fence = Fence::counted(0, Number::ZERO.next());
        assert_eq!(
            effects_of(1, &mut server, Event::Input(Input::Enter)),
            vec![Effect::Output(Output::Entered { fence })]
        );
        assert_eq!(effects_of(1, &mut server, Event::Input(Input::Exit)), vec![Effect::Output(Output::Exited)]);
    }

    #[test]
    fn what_peers_should_not_send_changes_nothing() {
        let mut server = central(1);
        effects_of(1, &mut server, from(3, Message::Request));
        let before = server.clone();
        for event in
            [from(2, Message::Release), from(2, Message::Grant { count: Number::ZERO }), Event::Input(Input::Exit)]
        {
            let effects = effects_of(1, &mut server, event);
            assert!(matches!(effects[..], [Effect::Unexpected { .. }]), "{effects:?}");
        }
        assert_eq!(server, before);
    }
}
