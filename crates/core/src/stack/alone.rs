//! One resource: all that a member of a group runs, as a mutual exclusion algorithm.
//!
//! For the laboratory, whose applications ask for one thing only. So what is simulated is what runs on a network.

use super::{
    Detected, Elected, Gathered, Guarded, Limits, Member, Name, Rejoining, Reliable, Request, Resources, Traced,
    gathered, guarded, resources, traced,
};
use crate::catalog::Entry;
use crate::clock::Number;
use crate::election::Chosen;
use crate::id::{Id, IdSet};
use crate::journal::Past;
use crate::mutex::{Input, Mutex, Output};
use crate::process::{Effects, Event, Process, perform};
use crate::setting::Setting;

/// Everything that an algorithm `M` needs to serve any number of resources, to survive crashes, and to tell who leads,
/// on a network that loses, repeats and reorders messages.
pub type Surviving<M> = Detected<Gathered<Guarded<Reliable<Traced<Rejoining<Elected<Chosen, Resources<M>>>>>>>>;

/// In which of its lives a member was, as whoever starts it counts them: within one of these it may begin again, and
/// what it [records](Traced) counts those.
pub fn incarnation_of(life: u64) -> u64 {
    gathered::around_life(guarded::around_life(life))
}

impl<M: Mutex> Surviving<M> {
    /// A process before its first event.
    pub fn new(setting: &Setting) -> Self {
        Surviving::within(Limits::default(), setting, false)
    }

    /// The same, with these limits to what is on its way to another; and whether what happens is [recorded](Traced).
    pub fn within(limits: Limits, setting: &Setting, is_recording: bool) -> Self {
        let election = Elected::beside(setting, Resources::within(limits.resources, setting));
        let rejoining = Rejoining::within(limits, setting, election);
        let traced = Traced::around(setting, rejoining).recording(is_recording);
        let reliable = Reliable::within(limits, setting, traced);
        Detected::around(setting, Gathered::around(setting, Guarded::around(setting, reliable)))
    }

    /// All that has happened before, if it is known.
    pub fn past(&self) -> Option<&Past> {
        self.process().process().process().process().past()
    }

    /// Whether it does not take part yet: then, of whom it has not heard that it may. That is nobody if only those are
    /// missing whom others trust and it does not hear of.
    pub fn awaited(&self) -> Option<IdSet> {
        let rejoining = self.process().process().process().process().process();
        self.process().awaited().or_else(|| rejoining.awaited().cloned())
    }

    /// All resources.
    pub fn resources(&self) -> &Resources<M> {
        self.process().process().process().process().process().algorithm().algorithm()
    }
}

/// The same with one resource, which has no name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Alone<M: Mutex> {
    process: Surviving<M>,
    /// Whether the algorithm is never silent, so that the resource is there from the beginning.
    is_restless: bool,
}

impl<M: Mutex> Mutex for Alone<M> {
    const ENTRY: Entry = M::ENTRY;

    fn new(setting: &Setting) -> Self {
        let is_restless = M::ENTRY.restless && setting.group.options.choice_if_any("rest") != Some("yes");
        Alone { process: Surviving::new(setting), is_restless }
    }

    fn stamp(&self) -> Number {
        self.process.resources().highest_seen()
    }

    fn suspects(&self, id: Id) -> bool {
        self.process.suspects(id)
    }
}

impl<M: Mutex> Process for Alone<M> {
    type Message = <Surviving<M> as Process>::Message;
    type Input = Input;
    type Output = Output;
    type Timer = <Surviving<M> as Process>::Timer;
    type Stable = <Surviving<M> as Process>::Stable;

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        let of = |request| Event::Input(resources::Input::Of(Name::new(""), request));
        let event = match event {
            Event::Start { incarnation, saved } => Event::Start { incarnation, saved },
            Event::Input(Input::Enter) => of(Request::Enter),
            Event::Input(Input::Exit) => of(Request::Exit),
            Event::Input(Input::Observe(stamp)) => Event::Input(resources::Input::Observe(stamp)),
            Event::Notice(notice) => Event::Notice(notice),
            Event::Receive { from, message } => Event::Receive { from, message },
            Event::Timeout(timer) => Event::Timeout(timer),
        };
        let mut wanted = Effects::<Surviving<M>>::new(effects.me());
        let is_begun = self.is_restless && matches!(event, Event::Start { .. });
        perform(&mut self.process, event, &mut wanted);
        if is_begun {
            perform(&mut self.process, Event::Input(resources::Input::Begin(Name::new(""))), &mut wanted);
        }
        effects.adopt(
            &mut wanted,
            |message| message,
            |timer| timer,
            |effects, stable| effects.save(stable),
            |effects, output| match output {
                traced::Output::Told(resources::Output::Of(_, output)) => effects.output(output),
                traced::Output::Told(resources::Output::Leader(_)) | traced::Output::Happened(_) => {}
            },
        );
    }
}
