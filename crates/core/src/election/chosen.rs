//! Any of the elections, chosen when the group is set up: for what stands beside an election and does not care which.

use serde::{Deserialize, Serialize};

use super::{Bully, ChangRoberts, Election, Input, Output, Ring};
use crate::catalog::{Entry, Family};
use crate::process::{self, Effects, Event, Process, perform};
use crate::setting::{Options, Setting};

/// Which election.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A list that goes round.
    #[default]
    Ring,
    /// Chang and Roberts'.
    ChangRoberts,
    /// The bully, which needs time.
    Bully,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 3] = [Kind::Ring, Kind::ChangRoberts, Kind::Bully];

    /// What is known of it.
    pub const fn entry(self) -> Entry {
        match self {
            Kind::Ring => Ring::ENTRY,
            Kind::ChangRoberts => ChangRoberts::ENTRY,
            Kind::Bully => Bully::ENTRY,
        }
    }

    /// Its name, as in the catalogue.
    pub const fn name(self) -> &'static str {
        self.entry().name
    }
}

/// One of these, by what it is made of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum OneOf<R, C, B> {
    /// Of the ring.
    Ring(R),
    /// Of Chang and Roberts'.
    ChangRoberts(C),
    /// Of the bully.
    Bully(B),
}

/// An election that was chosen when the group was set up.
pub type Chosen = OneOf<Ring, ChangRoberts, Bully>;

impl<R, C, B> process::Message for OneOf<R, C, B>
where
    R: process::Message,
    C: process::Message,
    B: process::Message,
{
    fn kind(&self) -> &'static str {
        match self {
            OneOf::Ring(message) => message.kind(),
            OneOf::ChangRoberts(message) => message.kind(),
            OneOf::Bully(message) => message.kind(),
        }
    }

    fn number(&self) -> Option<u64> {
        match self {
            OneOf::Ring(message) => message.number(),
            OneOf::ChangRoberts(message) => message.number(),
            OneOf::Bully(message) => message.number(),
        }
    }
}

impl Election for Chosen {
    const ENTRY: Entry = Entry::new("chosen", Family::Election);

    fn new(setting: &Setting) -> Self {
        let kind = setting.group.recovering.map_or_else(Kind::default, |recovering| recovering.election);
        let of_its_own = setting.with_options(Options::defaults(&kind.entry()));
        match kind {
            Kind::Ring => OneOf::Ring(Ring::new(&of_its_own)),
            Kind::ChangRoberts => OneOf::ChangRoberts(ChangRoberts::new(&of_its_own)),
            Kind::Bully => OneOf::Bully(Bully::new(&of_its_own)),
        }
    }
}

type Of<T> = <T as Process>::Message;
type TimerOf<T> = <T as Process>::Timer;

impl Process for Chosen {
    type Message = OneOf<Of<Ring>, Of<ChangRoberts>, Of<Bully>>;
    type Input = Input;
    type Output = Output;
    /// The others wait for nothing.
    type Timer = TimerOf<Bully>;
    type Stable = ();

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match self {
            OneOf::Ring(ring) => {
                let theirs = translate(
                    event,
                    |message| if let OneOf::Ring(message) = message { Some(message) } else { None },
                    |_| None,
                    effects,
                );
                take_step(ring, theirs, OneOf::Ring, |never| match never {}, effects);
            }
            OneOf::ChangRoberts(chang_roberts) => {
                let theirs = translate(
                    event,
                    |message| if let OneOf::ChangRoberts(message) = message { Some(message) } else { None },
                    |_| None,
                    effects,
                );
                take_step(chang_roberts, theirs, OneOf::ChangRoberts, |never| match never {}, effects);
            }
            OneOf::Bully(bully) => {
                let theirs = translate(
                    event,
                    |message| if let OneOf::Bully(message) = message { Some(message) } else { None },
                    Some,
                    effects,
                );
                take_step(bully, theirs, OneOf::Bully, |timer| timer, effects);
            }
        }
    }
}

/// An event in the words of the election that was chosen. What is in those of another is no event.
fn translate<E: Election<Stable = ()>>(
    event: Event<Chosen>,
    message_of: impl Fn(Of<Chosen>) -> Option<E::Message>,
    timer_of: impl Fn(TimerOf<Chosen>) -> Option<E::Timer>,
    effects: &mut Effects<Chosen>,
) -> Option<Event<E>> {
    match event {
        Event::Start { incarnation, saved } => Some(Event::Start { incarnation, saved }),
        Event::Input(input) => Some(Event::Input(input)),
        Event::Notice(notice) => Some(Event::Notice(notice)),
        Event::Receive { from, message } => {
            let message = message_of(message);
            if message.is_none() {
                effects.unexpected(from, "a message of another election");
            }
            message.map(|message| Event::Receive { from, message })
        }
        Event::Timeout(timer) => timer_of(timer).map(Event::Timeout),
    }
}

fn take_step<E: Election<Stable = ()>>(
    election: &mut E,
    event: Option<Event<E>>,
    message: impl Fn(E::Message) -> Of<Chosen>,
    timer: impl Fn(E::Timer) -> TimerOf<Chosen>,
    effects: &mut Effects<Chosen>,
) {
    let Some(event) = event else { return };
    let mut wanted = Effects::<E>::new(effects.me());
    perform(election, event, &mut wanted);
    effects.adopt(
        &mut wanted,
        message,
        timer,
        |effects, ()| effects.save(()),
        |effects, output| effects.output(output),
    );
}
