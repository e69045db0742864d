//! One process with its application and its timers: everything that a step can read or change, and nothing else.
//!
//! So what happens next to a host is a pure function of the host and of what befalls it, which the explorer remembers.

use std::collections::BTreeMap;
use std::sync::Arc;

use quorate_core::clock::Number;
use quorate_core::id::Id;
use quorate_core::process::{Effect, EffectOf, Effects, Event, Notice, Process, Ticks};
use quorate_core::setting::Group;
use quorate_core::trace::{Label, Recorded, What, timer_name};

use super::wish::{Deed, Free, Times, Wish};
use crate::world::{Create, Node};

/// What all hosts have in common.
#[derive(Clone, Debug)]
pub struct Company<P: Process> {
    /// What every process knows.
    pub group: Arc<Group>,
    /// How a process is made.
    pub create: Create<P>,
    /// Whether timers keep time. If not, an armed timer may run out at any moment.
    pub timed: bool,
    /// By how many ticks a timer may run out earlier or later than it was set for, where they keep time: clocks drift.
    pub drift: Ticks,
    /// Whether applications read and write a [resource](super::resource) while they are inside.
    pub with_resource: bool,
}

/// A process, its application and its armed timers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Host<P: Process, A> {
    node: Node<P>,
    application: A,
    timers: BTreeMap<P::Timer, Left>,
}

/// How long it is until a timer runs out: at least, and at most. Nothing, where there is no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Left {
    least: Ticks,
    most: Ticks,
}

/// What can befall a host.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Happening<P: Process> {
    /// Its process begins its first life.
    Start,
    /// Its application wants something.
    Wish(Wish),
    /// A message arrives.
    Receive {
        /// From whom.
        from: Id,
        /// What it says.
        message: P::Message,
    },
    /// A message of the application arrives.
    Hear {
        /// The stamp that it carries.
        stamp: Option<Number>,
    },
    /// Its process is told of another.
    Notice(Notice),
    /// A timer runs out.
    Timeout(P::Timer),
    /// Its process crashes.
    Crash,
    /// Its process begins another life.
    Restart,
    /// This befalls it, and its process crashes when so many effects have been carried out.
    CutShort(Box<Happening<P>>, usize),
    /// A tick of time passes.
    Tick,
}

/// What comes of something that befell a host.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Aftermath<M> {
    /// What it sends, in order.
    pub sends: Vec<(Id, M)>,
    /// What is to be recorded, in order. The sequence of a `Sent` is its place in `sends`. Whether a read or a write is
    /// accepted is for the resource to say.
    pub records: Vec<What>,
    /// How many effects there were.
    pub effects: usize,
}

impl<P, A> Host<P, A>
where
    P: Process<Input: Recorded, Output: Recorded>,
    A: Free<P>,
{
    /// A host before anything has happened.
    pub fn new(id: Id, company: &Company<P>, times: Times) -> Host<P, A> {
        let node = Node::new(id, &company.group, company.create);
        Host { node, application: A::new(times), timers: BTreeMap::new() }
    }

    /// Whether its process lives.
    pub fn is_alive(&self) -> bool {
        self.node.is_alive()
    }

    /// Its process.
    pub fn process(&self) -> &P {
        self.node.process()
    }

    /// The numbers in its process that tell [tries](Process::tries) apart.
    pub fn tries(&mut self) -> Option<Vec<(Id, &mut Number)>> {
        self.node.tries()
    }

    /// What its application may want now. The dead want nothing.
    pub fn wishes(&self) -> Vec<Wish> {
        if self.is_alive() { self.application.wishes() } else { Vec::new() }
    }

    /// Whether its application waits to be let in.
    pub fn is_waiting(&self) -> bool {
        self.is_alive() && self.application.is_waiting()
    }

    /// What its application attaches to a message of its own.
    pub fn stamp(&self) -> Number {
        A::stamp(self.process())
    }

    /// The timers that are armed.
    pub fn armed(&self) -> impl Iterator<Item = &P::Timer> {
        self.timers.keys()
    }

    /// The timers that may run out now.
    pub fn ripe(&self) -> impl Iterator<Item = &P::Timer> {
        self.timers.iter().filter(|(_, left)| left.least == 0).map(|(timer, _)| timer)
    }

    /// Whether a timer must run out before time passes. Where there is no time, none must.
    pub fn is_overdue(&self) -> bool {
        self.timers.values().any(|left| left.most == 0)
    }

    /// Lets something befall it.
    pub fn befall(&mut self, id: Id, happening: Happening<P>, company: &Company<P>) -> Aftermath<P::Message> {
        match happening {
            Happening::CutShort(happening, effects) => {
                let mut after = self.befall_in_part(id, *happening, effects, company);
                after.records.extend(self.befall_in_part(id, Happening::Crash, 0, company).records);
                after
            }
            whole => self.befall_in_part(id, whole, usize::MAX, company),
        }
    }

    /// Lets something befall it, and carries out no more than so many effects.
    fn befall_in_part(
        &mut self,
        id: Id,
        happening: Happening<P>,
        most: usize,
        company: &Company<P>,
    ) -> Aftermath<P::Message> {
        let mut effects = Effects::<P>::new(id);
        let mut after = Aftermath { sends: Vec::new(), records: Vec::new(), effects: 0 };
        match happening {
            Happening::Start => self.node.start(&mut effects),
            Happening::Wish(wish) => match self.application.wish(wish) {
                Deed::Ask(input) => {
                    after.records.extend(input.what());
                    self.node.happen(Event::Input(input), &mut effects);
                }
                Deed::Touch(what) => after.records.push(what),
            },
            Happening::Receive { from, message } => self.node.happen(Event::Receive { from, message }, &mut effects),
            Happening::Hear { stamp } => {
                if let Some(input) = stamp.and_then(A::observe) {
                    self.node.happen(Event::Input(input), &mut effects);
                }
            }
            Happening::Notice(notice) => {
                after.records.extend(told(notice));
                self.node.happen(Event::Notice(notice), &mut effects);
            }
            Happening::Timeout(timer) => {
                self.timers.remove(&timer);
                after.records.push(What::TimedOut { timer: timer_name(&timer) });
                self.node.happen(Event::Timeout(timer), &mut effects);
            }
            Happening::Crash => {
                after.records.push(What::Crashed);
                self.node.crash(id, &company.group, company.create);
                self.application.crash();
                self.timers.clear();
            }
            Happening::Restart => {
                after.records.push(What::Restarted { incarnation: self.node.incarnation() + 1 });
                self.node.start(&mut effects);
            }
            Happening::Tick => self.pass_time(),
            Happening::CutShort(..) => unreachable!("what is cut short is not cut short again"),
        }
        after.effects = effects.len();
        for effect in effects.drain().take(most) {
            self.carry_out(effect, company, &mut after);
        }
        after
    }

    fn carry_out(&mut self, effect: EffectOf<P>, company: &Company<P>, after: &mut Aftermath<P::Message>) {
        match effect {
            Effect::Send { to, message } => {
                let (sequence, label) = (after.sends.len() as u64, Label::of(&message));
                after.records.push(What::Sent { to, sequence, label });
                after.sends.push((to, message));
            }
            Effect::SetTimer { timer, after } => {
                let (least, most) = (*after.start(), *after.end());
                // What was to take time takes some.
                let least = least.saturating_sub(company.drift).max(least.min(1));
                let left = Left { least, most: most.saturating_add(company.drift) };
                let left = if company.timed { left } else { Left { least: 0, most: Ticks::MAX } };
                self.timers.insert(timer, left);
            }
            Effect::CancelTimer(timer) => {
                self.timers.remove(&timer);
            }
            Effect::Save(stable) => self.node.save(stable),
            Effect::Output(output) => {
                after.records.extend(output.what());
                self.application.hear(&output, company.with_resource);
            }
            Effect::Unexpected { from, why } => after.records.push(What::Unexpected { from, why: why.into() }),
        }
    }

    fn pass_time(&mut self) {
        for left in self.timers.values_mut() {
            debug_assert!(left.most > 0, "time does not pass over a timer that is due");
            *left = Left { least: left.least.saturating_sub(1), most: left.most - 1 };
        }
    }
}

/// How it is recorded that a process is told something.
fn told(notice: Notice) -> Option<What> {
    match notice {
        Notice::Suspect(of) => Some(What::Told { of, alive: false }),
        Notice::Trust(of) => Some(What::Told { of, alive: true }),
        Notice::Leader(_) => None,
    }
}
