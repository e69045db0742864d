//! The machine in the laboratory: one process keeps it, all others are its clients, and the network between them loses,
//! repeats and overtakes what it likes.
//!
//! What is simulated and explored here is the [`Machine`](super::Machine) that the service runs, behind the least of a
//! protocol that gets by with lost and repeated messages. To enter, a client opens a session and asks in it for the one
//! lock there is; it asks again until it is answered. To leave, it gives the lock back, and says so until it hears that
//! it was heard. Sessions are never used again, not even by a client's next life.
//!
//! **Time.** The server ends a session that was not renewed for a while. Its client counts the same time from before
//! the server could begin to count, and goes by its own clock: when the time is up it takes what it held for lost, and
//! its application is [told](Output::Lost) that it is not inside any more. So where clocks go alike nobody is inside
//! whom the server has forgotten, however long messages take. Where they do not, or a client stops for a while, two can
//! believe to be inside: that is what fences are for.
//!
//! **Crashes.** What a replicated log keeps, [`Log`], survives a crash of the server. Who waits for an answer and which
//! session is due when does not: clients ask again, and sessions get all their time anew. A crash of a client is found
//! by its session's end.
//!
//! **The resource.** A write carries its holder's fence. With the option `resource`, entries are the writes that a
//! resource accepts, so that it shows whose came after whose.
//!
//! **Fence**: the number of the command that grants the lock. Grants have growing fences in every world; that entries
//! have them too takes time that is kept, as a grant can be late.

mod client;
mod server;

use quorate_core::catalog::{Assumptions, Choice, Entry, Family, OptionSpec, Property, Values};
use quorate_core::clock::{self, Epoch, Number};
use quorate_core::id::Id;
use quorate_core::mutex::{Input, Mutex, Output};
use quorate_core::process::{self, Effects, Event, Process, Ticks};
use quorate_core::setting::Setting;
use serde::{Deserialize, Serialize};

use super::{Fence, SessionId};
use client::Client;
pub use server::Log;
use server::Server;

const SERVER: Id = Id::new(1);

/// The server, or one of its clients.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LockService {
    terms: Terms,
    role: Role,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Role {
    Server(Server),
    Client(Client),
}

/// What everybody has agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Terms {
    delay_bound: Ticks,
    /// How long a session lasts for its client.
    lease: Ticks,
    /// How often a session is renewed.
    renewals: u64,
    /// How many sessions a client opens for one entry before it gives up.
    attempts: u64,
    /// Whether clients count from when they ask, not from when they are answered.
    counts_from_asking: bool,
    /// What the lock is for, if that is watched.
    resource: Resource,
}

/// What holders of the lock write to, as soon as they have it. Where there is one, an entry is a write that it accepts:
/// it is recorded there, and clients give the lock back when they have heard of it, without a word to anybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Resource {
    /// There is none.
    Absent,
    /// It accepts what it gets.
    Trusting,
    /// It accepts no smaller fence than it has seen.
    Checking,
}

/// A fence as the laboratory knows it.
fn fence_in_laboratory(fence: Fence) -> clock::Fence {
    let count = Number::try_from(fence.number()).expect("few commands are given in a laboratory");
    clock::Fence::counted(Epoch::FIRST, count)
}

impl Terms {
    /// How long a session lasts at the server: longer than for its client, whose clock may be a little slow.
    fn session(self) -> Ticks {
        self.lease + self.delay_bound
    }

    /// When something was lost if no answer has come.
    fn round_trip(self) -> Ticks {
        2 * self.delay_bound + 1
    }
}

/// What clients and the server say to each other. A client says everything but `Renew` again until it is answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// A client asks for a session.
    Open(SessionId),
    /// It has it.
    Opened(SessionId),
    /// A client asks for the lock, with the number of the request.
    Acquire(SessionId, u64),
    /// It has it: what it asked for by this number.
    Granted(SessionId, u64, Fence),
    /// A client gives the lock back, with the number of the request.
    Release(SessionId, u64),
    /// That was heard.
    Released(SessionId, u64),
    /// A client renews its session, for this time.
    Renew(SessionId, u64),
    /// That was heard.
    Renewed(SessionId, u64),
    /// A client writes to the resource, with its fence.
    Write(SessionId, Fence),
    /// That was accepted.
    Written(SessionId),
    /// There is no such session any more, or the resource has seen a later one.
    Gone(SessionId),
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Open(_) => "open",
            Message::Opened(_) => "opened",
            Message::Acquire(..) => "acquire",
            Message::Granted(..) => "granted",
            Message::Release(..) => "release",
            Message::Released(..) => "released",
            Message::Renew(..) => "renew",
            Message::Renewed(..) => "renewed",
            Message::Write(..) => "write",
            Message::Written(_) => "written",
            Message::Gone(_) => "gone",
        }
    }

    fn number(&self) -> Option<u64> {
        match *self {
            Message::Granted(_, _, fence) | Message::Write(_, fence) => Some(fence.number()),
            Message::Acquire(_, number)
            | Message::Release(_, number)
            | Message::Released(_, number)
            | Message::Renew(_, number)
            | Message::Renewed(_, number) => Some(number),
            Message::Open(_) | Message::Opened(_) | Message::Written(_) | Message::Gone(_) => None,
        }
    }
}

/// What time is kept for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// A client has not been answered.
    Retry,
    /// A client has to renew its session.
    Renew,
    /// A client's session ends, unless a later renewal than this has been heard.
    Lease(u64),
    /// The server ends a session.
    Expire(SessionId),
}

const ATTEMPTS: OptionSpec = OptionSpec {
    key: "attempts",
    values: Values::Integer { from: 1, to: 1_000_000 },
    default: "1000000",
    meaning: "how many sessions a client opens for one entry before it gives up",
};
const LEASE: OptionSpec = OptionSpec {
    key: "lease",
    values: Values::Integer { from: 1, to: 1_000_000 },
    default: "8",
    meaning: "how long a session lasts without renewal, in message delays",
};
const RENEWALS: OptionSpec = OptionSpec {
    key: "renewals",
    values: Values::Integer { from: 0, to: 1_000_000 },
    default: "2",
    meaning: "how often a client renews a session",
};
const COUNT_FROM: OptionSpec = OptionSpec {
    key: "count-from",
    values: Values::OneOf(&[
        Choice::plain("asking"),
        Choice { forfeits: &[Property::MutualExclusion, Property::Fencing], ..Choice::plain("answer") },
    ]),
    default: "asking",
    meaning: "from when a client counts the time of its session",
};
const RESOURCE: OptionSpec = OptionSpec {
    key: "resource",
    values: Values::OneOf(&[
        Choice::plain("absent"),
        Choice {
            forfeits: &[Property::MutualExclusion, Property::Progress, Property::Fencing],
            ..Choice::plain("trusting")
        },
        Choice { forfeits: &[Property::MutualExclusion, Property::Progress], ..Choice::plain("checking") },
    ]),
    default: "absent",
    meaning: "whether entries are writes that a resource accepts, and whether it checks their fences",
};

impl Mutex for LockService {
    const ENTRY: Entry = Entry {
        summary: "process 1 is a lock service with sessions, and all others are its clients",
        assumptions: Assumptions {
            fifo: false,
            reliable: false,
            crash_free: false,
            restart_free: false,
            synchronous: true,
            detector: false,
        },
        promises: &[Property::MutualExclusion, Property::Progress, Property::Fencing],
        options: &[ATTEMPTS, COUNT_FROM, LEASE, RENEWALS, RESOURCE],
        coordinator: Some(SERVER),
        ..Entry::new("lock-service", Family::Mutex)
    };

    fn new(setting: &Setting) -> Self {
        let (group, options) = (&setting.group, &setting.group.options);
        let terms = Terms {
            delay_bound: group.delay_bound,
            lease: options.integer(LEASE.key) * group.delay_bound,
            renewals: options.integer(RENEWALS.key),
            attempts: options.integer(ATTEMPTS.key),
            counts_from_asking: options.choice(COUNT_FROM.key) == "asking",
            resource: match options.choice(RESOURCE.key) {
                "trusting" => Resource::Trusting,
                "checking" => Resource::Checking,
                _ => Resource::Absent,
            },
        };
        let role =
            if setting.me == SERVER { Role::Server(Server::default()) } else { Role::Client(Client::new(setting.me)) };
        LockService { terms, role }
    }
}

impl Process for LockService {
    type Message = Message;
    type Input = Input;
    type Output = Output;
    type Timer = Timer;
    type Stable = Log;

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match &mut self.role {
            Role::Server(server) => server.step(self.terms, event, effects),
            Role::Client(client) => client.step(self.terms, event, effects),
        }
    }
}
