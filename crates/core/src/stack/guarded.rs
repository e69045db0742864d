//! The quorum guard: who does not trust a majority, itself included, is as good as dead until it does.
//!
//! In a partition, both sides take each other for dead. With the guard, at most one of them goes on. Who is left with a
//! minority ends its part in the algorithm: its application is told that it has [lost](mutex::Output::Lost) its turn,
//! if it was inside, and waits, if it was waiting. It begins another life, as one that [comes back](super::Rejoining),
//! and takes part again when it trusts a majority.
//!
//! Who trusts a majority does not give up another at once when it falls silent, but a *grace* later, as long as from
//! one heartbeat to the next and there and back: whoever is cut off has found that out by then, and has left.
//!
//! **Prevents** that two parts of a cut network go on, also when processes start at different times, and some wait for
//! others in vain; and, where messages take no longer than they are thought to and no beat is lost just before the cut,
//! that the larger part lets somebody in while one is still inside that it was cut off from. **Does not prevent** that
//! a majority takes one that lives and is inside for dead while that one trusts a majority itself: where messages are
//! slow or lost one way only, or only between some of them. Only a resource that looks at fences tells these apart.
//!
//! **Costs** progress where no majority is left: of three, when two have crashed; of two, when one has; and after each
//! crash the grace.

use alloc::vec::Vec;

use super::{Elected, Member, Rejoining, Reliable, Resources};
use crate::election::Election;
use crate::id::{Id, IdSet};
use crate::mutex::Mutex;
use crate::process::{Effects, Event, Notice, Process, Room, Ticks, keep, perform};
use crate::setting::Setting;

/// A process that takes part only while it trusts a majority, if the group is set up so.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Guarded<P: Process> {
    process: P,
    /// In which of its lives.
    life: u64,
    guard: Option<Guard<P>>,
    room: Room<P>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Guard<P: Process> {
    /// How each life begins.
    unborn: P,
    saved: Option<P::Stable>,
    n: u32,
    suspected: IdSet,
    /// Who of them is not given up yet.
    pardoned: IdSet,
    grace: Ticks,
    is_outnumbered: bool,
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer<T> {
    /// Whether this one, which has fallen silent, is heard of after all: if not, it is given up.
    Grace(Id),
    /// What the process waits for, in one of its lives.
    Process {
        /// In which.
        life: u64,
        /// What for.
        timer: T,
    },
}

/// A process has at most this many lives within one of its own: lives are counted over both. There are enough for
/// lives that are counted in seconds of the calendar.
const LIVES: u64 = 1 << 28;

/// The first of the lives within one.
fn first_within(incarnation: u64) -> u64 {
    incarnation.saturating_sub(1).saturating_mul(LIVES).saturating_add(1)
}

/// Within which one a life is.
pub(super) fn around_life(life: u64) -> u64 {
    life.saturating_sub(1) / LIVES + 1
}

/// A process whose part can be ended and begun again without its application asking.
pub trait Resigning: Process {
    /// What the application is to be told if it ends now, and what it still asks for.
    fn resign(&self) -> Resigned<Self>;

    /// Whether it waits for too long to take part: it has heard more in the meantime than it can keep.
    fn is_overfull(&self) -> bool {
        false
    }
}

/// What is left of a process that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resigned<P: Process> {
    /// What the application is told.
    pub told: Vec<P::Output>,
    /// What it asks for, again.
    pub asked: Vec<P::Input>,
}

impl<E: Election<Stable = ()>, M: Mutex> Resigning for Elected<E, Resources<M>> {
    fn resign(&self) -> Resigned<Self> {
        let Resigned { told, asked } = self.algorithm().resign();
        Resigned { told, asked }
    }
}

impl<P: Member + Resigning> Resigning for Rejoining<P> {
    fn resign(&self) -> Resigned<Self> {
        let Resigned { told, mut asked } = self.algorithm().resign();
        asked.extend(self.held_back_inputs());
        Resigned { told, asked }
    }

    fn is_overfull(&self) -> bool {
        Rejoining::is_overfull(self)
    }
}

impl<P: Resigning> Resigning for Reliable<P> {
    fn resign(&self) -> Resigned<Self> {
        let Resigned { told, asked } = self.process().resign();
        Resigned { told, asked }
    }

    fn is_overfull(&self) -> bool {
        self.process().is_overfull()
    }
}

impl<P: Resigning> Guarded<P> {
    /// A process before its first event.
    pub fn around(setting: &Setting, process: P) -> Self {
        let bound = setting.group.delay_bound;
        let recovering = setting.group.recovering.filter(|recovering| recovering.guard);
        let guard = recovering.map(|recovering| Guard {
            unborn: process.clone(),
            saved: None,
            n: setting.n(),
            suspected: IdSet::new(),
            pardoned: IdSet::new(),
            grace: recovering.interval.saturating_add(2).saturating_mul(bound).saturating_add(1),
            is_outnumbered: false,
        });
        Guarded { process, life: 0, guard, room: Room::new() }
    }

    /// The process itself.
    pub fn process(&self) -> &P {
        &self.process
    }

    fn suspect(&mut self, id: Id, effects: &mut Effects<Self>) {
        let Some(guard) = &mut self.guard else {
            return self.happen(Event::Notice(Notice::Suspect(id)), effects);
        };
        guard.suspected.insert(id);
        if guard.is_outnumbered {
            self.happen(Event::Notice(Notice::Suspect(id)), effects);
        } else if guard.has_majority() {
            guard.pardoned.insert(id);
            effects.set_timer(Timer::Grace(id), guard.grace..=guard.grace);
        } else {
            guard.is_outnumbered = true;
            self.begin_again(effects);
        }
    }

    fn trust(&mut self, id: Id, effects: &mut Effects<Self>) {
        if let Some(guard) = &mut self.guard {
            guard.suspected.remove(id);
            guard.is_outnumbered &= !guard.has_majority();
            if guard.pardoned.remove(id) {
                return effects.cancel_timer(Timer::Grace(id));
            }
        }
        self.happen(Event::Notice(Notice::Trust(id)), effects);
    }

    fn give_up(&mut self, id: Id, effects: &mut Effects<Self>) {
        if self.guard.as_mut().is_some_and(|guard| guard.pardoned.remove(id)) {
            self.happen(Event::Notice(Notice::Suspect(id)), effects);
        }
    }

    /// Ends a life, and begins another that knows who is suspected. It does not take part before a majority is trusted.
    fn begin_again(&mut self, effects: &mut Effects<Self>) {
        let Some(guard) = &mut self.guard else { return };
        for id in guard.pardoned.take().iter() {
            effects.cancel_timer(Timer::Grace(id));
        }
        let (saved, suspected) = (guard.saved.clone(), guard.suspected.clone());
        let Resigned { told, asked } = self.process.resign();
        for output in told {
            effects.output(output);
        }
        self.process = guard.unborn.clone();
        self.life += 1;
        self.happen(Event::Start { incarnation: self.life, saved }, effects);
        for id in suspected.iter() {
            self.happen(Event::Notice(Notice::Suspect(id)), effects);
        }
        for input in asked {
            self.happen(Event::Input(input), effects);
        }
    }

    fn happen(&mut self, event: Event<P>, effects: &mut Effects<Self>) {
        let life = self.life;
        let mut wanted = self.room.list(effects.me());
        perform(&mut self.process, event, &mut wanted);
        effects.adopt(
            &mut wanted,
            |message| message,
            |timer| Timer::Process { life, timer },
            |effects, stable| {
                if let Some(guard) = &mut self.guard {
                    keep(&mut guard.saved, stable.clone());
                }
                effects.save(stable);
            },
            |effects, output| effects.output(output),
        );
        self.room.keep(wanted);
    }
}

impl<P: Process> Guard<P> {
    fn has_majority(&self) -> bool {
        is_majority(self.n, &self.suspected)
    }
}

/// Whether those who are not among these are more than half.
pub(super) fn is_majority(n: u32, suspected: &IdSet) -> bool {
    2 * (n - suspected.len() as u32) > n
}

impl<P: Resigning> Process for Guarded<P> {
    type Message = P::Message;
    type Input = P::Input;
    type Output = P::Output;
    type Timer = Timer<P::Timer>;
    type Stable = P::Stable;

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { incarnation, saved } => {
                self.life = first_within(incarnation);
                if let Some(guard) = &mut self.guard {
                    guard.saved.clone_from(&saved);
                }
                self.happen(Event::Start { incarnation: self.life, saved }, effects);
            }
            Event::Input(input) => self.happen(Event::Input(input), effects),
            Event::Notice(Notice::Suspect(id)) => self.suspect(id, effects),
            Event::Notice(Notice::Trust(id)) => self.trust(id, effects),
            Event::Notice(Notice::Leader(id)) => self.happen(Event::Notice(Notice::Leader(id)), effects),
            Event::Receive { from, message } => {
                self.happen(Event::Receive { from, message }, effects);
                if self.guard.is_some() && self.process.is_overfull() {
                    self.begin_again(effects);
                }
            }
            Event::Timeout(Timer::Grace(id)) => self.give_up(id, effects),
            Event::Timeout(Timer::Process { life, timer }) => {
                // If not, it is of a life that is over.
                if life == self.life {
                    self.happen(Event::Timeout(timer), effects);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutex::{self, Majority};
    use crate::process::{Effect, EffectOf, effects_of};
    use crate::setting::test_recovering;
    use crate::stack::resources::{Input, Output};
    use crate::stack::traced::Output::Told;
    use crate::stack::{Limits, Name, Request, Surviving, detected};
    use alloc::collections::VecDeque;

    type Node = Surviving<Majority>;

    /// Three of which the first is back, and cannot talk with the third.
    struct Group {
        nodes: Vec<Node>,
        wanted: VecDeque<(Id, EffectOf<Node>)>,
        entries: usize,
    }

    impl Group {
        fn happen(&mut self, me: u32, event: Event<Node>) {
            let me = Id::new(me);
            let effects = effects_of(me.number(), &mut self.nodes[me.index()], event);
            self.wanted.extend(effects.into_iter().map(|effect| (me, effect)));
            while let Some((from, effect)) = self.wanted.pop_front() {
                match effect {
                    Effect::Send { to, message } if from.number() + to.number() != 4 => {
                        let effects =
                            effects_of(to.number(), &mut self.nodes[to.index()], Event::Receive { from, message });
                        self.wanted.extend(effects.into_iter().map(|effect| (to, effect)));
                    }
                    Effect::Output(Told(Output::Of(_, mutex::Output::Entered { .. }))) => self.entries += 1,
                    _ => {}
                }
            }
        }

        fn life_of_the_first(&self) -> u64 {
            self.nodes[0].process().process().life
        }
    }

    /// The others go on without it, and tell it all they do.
    #[test]
    fn a_newcomer_that_hears_too_much_begins_again() {
        let limits = Limits { unacknowledged: 40, ..Limits::default() };
        let node = |me| Node::within(limits, &test_recovering(&Majority::ENTRY, me, 3, true), false);
        let mut group = Group { nodes: [1, 2, 3].map(node).into(), wanted: VecDeque::new(), entries: 0 };
        for (me, incarnation) in [(2, 1), (3, 1), (1, 2)] {
            group.happen(me, Event::Start { incarnation, saved: None });
        }
        let silence = crate::detector::heartbeat::Timer::Silence(Id::new(3));
        group.happen(1, Event::Timeout(detected::Timer::Detector(silence)));
        let first_life = group.life_of_the_first();
        let mut begun = Vec::new();
        for asked in 0..150 {
            for request in [Request::Enter, Request::Exit] {
                group.happen(2, Event::Input(Input::Of(Name::new("printer"), request)));
            }
            if group.life_of_the_first() != first_life + begun.len() as u64 {
                begun.push(asked);
            }
        }
        assert_eq!(group.entries, 150, "the others do not wait for it");
        assert_eq!(begun, [119], "120 messages, one for each entry");
    }
}
