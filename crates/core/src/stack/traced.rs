//! Vector clocks around a process, for who wants to know afterwards what happened before what.
//!
//! While it records, each message of the process carries the [past](Past) of its sender, and whatever happens to the
//! process becomes a [`Happening`]: a request, an entry, an exit, a message that is said or heard, a crash that it is
//! told of. They leave as outputs; the driver knows what time it is.
//!
//! It is put [within](super::Surviving) the reliable channels: so it sees each message of the algorithm once, however
//! often it is sent, and neither acknowledgements nor heartbeats. Elections and what newcomers are told are seen, and
//! are about no resource.
//!
//! Who does not record itself keeps a clock from the first message on that carries one, and hands it on: so what
//! happened before what is known also where it went through a process of which there is no trace. Where nobody records
//! there is no clock, and a message is one byte longer than without all this.

use alloc::boxed::Box;

use serde::{Deserialize, Serialize};

use super::{Resigned, Resigning, elected, rejoining, resources};
use crate::id::Id;
use crate::journal::{Happening, Moment, Past};
use crate::process::{self, Effect, Effects, Event, Notice, Process, Room, perform};
use crate::setting::Setting;
use crate::stack::Name;
use crate::trace::{Label, Recorded, What};

/// A process whose messages carry vector clocks, if somebody records.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Traced<P: Process> {
    process: P,
    me: Id,
    n: u32,
    is_recording: bool,
    life: u64,
    /// All that has happened before, if anybody wants to know.
    past: Option<Box<Past>>,
    room: Room<P>,
}

/// What processes say.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Message<M> {
    /// All that had happened before, this sending included, where somebody records.
    past: Option<Box<Past>>,
    message: M,
}

/// What comes of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Output<O> {
    /// The application is told something.
    Told(O),
    /// Something has happened that is worth a record.
    Happened(Box<Happening>),
}

/// Something that is about a resource, or about none.
pub trait About {
    /// Which.
    fn resource(&self) -> Option<&Name>;
}

impl<M> About for resources::Message<M> {
    fn resource(&self) -> Option<&Name> {
        Some(&self.resource)
    }
}

impl<E, M: About> About for elected::Message<E, M> {
    fn resource(&self) -> Option<&Name> {
        match self {
            elected::Message::Election(_) => None,
            elected::Message::Algorithm(message) => message.resource(),
        }
    }
}

impl<M: About> About for rejoining::Message<M> {
    fn resource(&self) -> Option<&Name> {
        match self {
            rejoining::Message::Algorithm(message) => message.resource(),
            rejoining::Message::Welcome { .. } => None,
        }
    }
}

impl About for resources::Input {
    fn resource(&self) -> Option<&Name> {
        match self {
            resources::Input::Of(name, _) | resources::Input::Begin(name) => Some(name),
            resources::Input::Observe(_) | resources::Input::Lead => None,
        }
    }
}

impl Recorded for resources::Input {
    fn what(&self) -> Option<What> {
        match self {
            resources::Input::Of(_, request) => request.what(),
            resources::Input::Observe(_) | resources::Input::Lead | resources::Input::Begin(_) => None,
        }
    }
}

impl About for resources::Output {
    fn resource(&self) -> Option<&Name> {
        match self {
            resources::Output::Of(name, _) => Some(name),
            resources::Output::Leader(_) => None,
        }
    }
}

impl Recorded for resources::Output {
    fn what(&self) -> Option<What> {
        match self {
            resources::Output::Of(_, output) => output.what(),
            resources::Output::Leader(leader) => Some(What::Leader { leader: *leader }),
        }
    }
}

impl<M: process::Message> process::Message for Message<M> {
    fn kind(&self) -> &'static str {
        self.message.kind()
    }

    fn number(&self) -> Option<u64> {
        self.message.number()
    }
}

impl<P: Process> Traced<P> {
    /// A process before its first event.
    pub fn around(setting: &Setting, process: P) -> Self {
        Traced { process, me: setting.me, n: setting.n(), is_recording: false, life: 0, past: None, room: Room::new() }
    }

    /// The same, and what happens is recorded.
    #[must_use]
    pub fn recording(mut self, is_recording: bool) -> Self {
        self.is_recording = is_recording;
        self
    }

    /// The process itself.
    pub fn process(&self) -> &P {
        &self.process
    }

    /// All that has happened before, if it is known.
    pub fn past(&self) -> Option<&Past> {
        self.past.as_deref()
    }

    fn begin(&mut self) -> &mut Past {
        self.past.get_or_insert_with(|| {
            let mut past = Past::new(self.n);
            past.set(self.me, Moment(self.life, 0));
            Box::new(past)
        })
    }

    /// One more thing has happened here, after all of this.
    fn tick(&mut self, heard: Option<&Past>) {
        if heard.is_some() {
            self.begin();
        }
        let Some(past) = &mut self.past else { return };
        let Moment(life, count) = past.of(self.me);
        if let Some(heard) = heard {
            past.merge(heard);
        }
        // Nobody knows better than we do what has happened here.
        past.set(self.me, Moment(life, count + 1));
    }

    /// What has just happened, if it is recorded.
    fn happening(&self, what: What, resource: Option<&Name>, sender_life: Option<u64>) -> Option<Box<Happening>> {
        let past = self.past.as_deref().filter(|_| self.is_recording)?.clone();
        Some(Box::new(Happening { what, resource: resource.cloned(), past, sender_life }))
    }
}

impl<P: Process> Traced<P>
where
    P::Message: About,
    P::Input: About + Recorded,
    P::Output: About + Recorded,
{
    fn note(&mut self, what: What, resource: Option<&Name>, effects: &mut Effects<Self>) {
        if self.past.is_some() {
            self.tick(None);
            if let Some(happening) = self.happening(what, resource, None) {
                effects.output(Output::Happened(happening));
            }
        }
    }

    fn hear(&mut self, from: Id, message: &Message<P::Message>, effects: &mut Effects<Self>) {
        self.tick(message.past.as_deref());
        if self.is_recording {
            // Who keeps no clock has not heard of any: it is as if it had sent its first message of all.
            let Moment(life, sequence) = message.past.as_ref().map(|past| past.of(from)).unwrap_or_default();
            let what = What::Received { from, sequence, label: Label::of(&message.message) };
            if let Some(happening) = self.happening(what, message.message.resource(), Some(life)) {
                effects.output(Output::Happened(happening));
            }
        }
    }

    fn happen(&mut self, event: Event<P>, effects: &mut Effects<Self>) {
        let mut wanted = self.room.list(self.me);
        perform(&mut self.process, event, &mut wanted);
        for effect in wanted.drain() {
            match effect {
                Effect::Send { to, message } => self.send(to, message, effects),
                Effect::SetTimer { timer, after } => effects.set_timer(timer, after),
                Effect::CancelTimer(timer) => effects.cancel_timer(timer),
                Effect::Save(stable) => effects.save(stable),
                Effect::Output(output) => {
                    if self.is_recording
                        && let Some(what) = output.what()
                    {
                        self.note(what, output.resource(), effects);
                    }
                    effects.output(Output::Told(output));
                }
                Effect::Unexpected { from: Some(from), why } => effects.unexpected(from, why),
                Effect::Unexpected { from: None, why } => effects.misused(why),
            }
        }
        self.room.keep(wanted);
    }

    fn send(&mut self, to: Id, message: P::Message, effects: &mut Effects<Self>) {
        self.tick(None);
        if self.is_recording
            && let Some(past) = &self.past
        {
            let Moment(_, sequence) = past.of(self.me);
            let what = What::Sent { to, sequence, label: Label::of(&message) };
            if let Some(happening) = self.happening(what, message.resource(), None) {
                effects.output(Output::Happened(happening));
            }
        }
        effects.send(to, Message { past: self.past.clone(), message });
    }
}

impl<P: Process> Process for Traced<P>
where
    P::Message: About,
    P::Input: About + Recorded,
    P::Output: About + Recorded,
{
    type Message = Message<P::Message>;
    type Input = P::Input;
    type Output = Output<P::Output>;
    type Timer = P::Timer;
    type Stable = P::Stable;

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { incarnation, saved } => {
                self.life = incarnation;
                if self.is_recording {
                    self.begin();
                    if incarnation > 1 {
                        self.note(What::Restarted { incarnation }, None, effects);
                    }
                }
                self.happen(Event::Start { incarnation, saved }, effects);
            }
            Event::Input(input) => {
                if self.is_recording
                    && let Some(what) = input.what()
                {
                    self.note(what, input.resource(), effects);
                }
                self.happen(Event::Input(input), effects);
            }
            Event::Notice(notice) => {
                match notice {
                    Notice::Suspect(of) => self.note(What::Told { of, alive: false }, None, effects),
                    Notice::Trust(of) => self.note(What::Told { of, alive: true }, None, effects),
                    Notice::Leader(_) => {}
                }
                self.happen(Event::Notice(notice), effects);
            }
            Event::Receive { from, message } => {
                self.hear(from, &message, effects);
                self.happen(Event::Receive { from, message: message.message }, effects);
            }
            Event::Timeout(timer) => self.happen(Event::Timeout(timer), effects),
        }
    }
}

impl<P: Resigning> Resigning for Traced<P>
where
    P::Message: About,
    P::Input: About + Recorded,
    P::Output: About + Recorded,
{
    /// What the application is told ends what it had; what it still asks for, it asks for anew.
    fn resign(&self) -> Resigned<Self> {
        let Resigned { told, asked } = self.process.resign();
        let mut last = self.clone();
        let mut outputs = Effects::<Self>::new(self.me);
        for input in &asked {
            if input.what() == Some(What::Wanted) {
                last.note(What::Withdrew, input.resource(), &mut outputs);
            }
        }
        for output in told {
            if let Some(what) = output.what() {
                last.note(what, output.resource(), &mut outputs);
            }
            outputs.output(Output::Told(output));
        }
        let told = outputs.drain().filter_map(|effect| match effect {
            Effect::Output(output) => Some(output),
            Effect::Send { .. }
            | Effect::SetTimer { .. }
            | Effect::CancelTimer(_)
            | Effect::Save(_)
            | Effect::Unexpected { .. } => None,
        });
        Resigned { told: told.collect(), asked }
    }

    fn is_overfull(&self) -> bool {
        self.process.is_overfull()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutex::{Mutex, RicartAgrawala};
    use crate::process::{EffectOf, effects_of};
    use crate::setting::test_setting;
    use crate::stack::{Request, Resources, resources::Input};
    use alloc::vec;
    use alloc::vec::Vec;

    type Subject = Traced<Resources<RicartAgrawala>>;
    type Said = <Subject as Process>::Message;

    fn process(me: u32, is_recording: bool) -> (Subject, Vec<Happening>) {
        let setting = test_setting(&RicartAgrawala::ENTRY, me, 3, &[]);
        let mut process = Traced::around(&setting, Resources::new(&setting)).recording(is_recording);
        let effects = effects_of(me, &mut process, Event::Start { incarnation: 1, saved: None });
        (process, records(&effects))
    }

    fn records(effects: &[EffectOf<Subject>]) -> Vec<Happening> {
        let happened = effects.iter().filter_map(|effect| match effect {
            Effect::Output(Output::Happened(happening)) => Some(Happening::clone(happening)),
            _ => None,
        });
        happened.collect()
    }

    fn said(effects: &[EffectOf<Subject>], whom: u32) -> Said {
        let mut sent = effects.iter().filter_map(|effect| match effect {
            Effect::Send { to, message } if to.number() == whom => Some(message.clone()),
            _ => None,
        });
        sent.next().unwrap()
    }

    fn ask(request: Request) -> Event<Subject> {
        Event::Input(Input::Of(Name::new("printer"), request))
    }

    fn hear(from: u32, message: Said) -> Event<Subject> {
        Event::Receive { from: Id::new(from), message }
    }

    #[test]
    fn without_a_record_there_is_no_clock_and_one_byte_more() {
        let (mut first, records_of_start) = process(1, false);
        let effects = effects_of(1, &mut first, ask(Request::Enter));
        assert_eq!((records_of_start, records(&effects)), (vec![], vec![]));
        let message = said(&effects, 2);
        assert_eq!(message.past, None);
        assert_eq!(size_of::<Said>(), size_of::<<Resources<RicartAgrawala> as Process>::Message>() + 8);
    }

    #[test]
    fn what_is_heard_comes_after_all_that_its_sender_knew() {
        let (mut first, started) = process(1, true);
        assert_eq!(started, vec![]);
        let effects = effects_of(1, &mut first, ask(Request::Enter));
        let happened = records(&effects);
        assert_eq!(
            happened.iter().map(|one| one.past.of(Id::new(1))).collect::<Vec<_>>(),
            [Moment(1, 1), Moment(1, 2), Moment(1, 3)]
        );
        assert_eq!(happened[0].what, What::Wanted);
        assert!(happened.iter().all(|one| one.resource == Some(Name::new("printer"))));
        // The second records nothing, and hands on what it has heard.
        let (mut second, _) = process(2, false);
        let answer = effects_of(2, &mut second, hear(1, said(&effects, 2)));
        assert_eq!(records(&answer), vec![]);
        let reply = said(&answer, 1);
        assert_eq!(reply.past.as_ref().map(|past| past.of(Id::new(1))), Some(Moment(1, 2)));
        assert_eq!(reply.past.as_ref().map(|past| past.of(Id::new(2))), Some(Moment(1, 2)));
        let heard = records(&effects_of(1, &mut first, hear(2, reply)));
        let label = Label { kind: "reply".into(), number: Some(1) };
        assert_eq!(heard[0].what, What::Received { from: Id::new(2), sequence: 2, label });
        assert_eq!(heard[0].sender_life, Some(1));
    }

    #[test]
    fn who_claims_to_know_what_has_not_happened_here_changes_nothing() {
        let (mut first, _) = process(1, true);
        let effects = effects_of(1, &mut first, ask(Request::Enter));
        let (mut second, _) = process(2, true);
        let mut lie = said(&effects, 2);
        let mut past = Past::new(900);
        past.set(Id::new(2), Moment(u64::MAX, u64::MAX));
        past.set(Id::new(900), Moment(1, 1));
        lie.past = Some(Box::new(past));
        let heard = records(&effects_of(2, &mut second, hear(1, lie)));
        assert_eq!((heard[0].past.of(Id::new(2)), heard[0].past.len()), (Moment(1, 1), 3));
    }

    #[test]
    fn who_resigns_has_left_and_asks_anew() {
        let (mut first, _) = process(1, true);
        let effects = effects_of(1, &mut first, ask(Request::Enter));
        let resigned = first.resign();
        assert_eq!(resigned.asked.len(), 1);
        assert!(matches!(&resigned.told[..], [Output::Happened(one)] if one.what == What::Withdrew));
        for other in [2, 3] {
            let (mut other_process, _) = process(other, true);
            let answer = effects_of(other, &mut other_process, hear(1, said(&effects, other)));
            effects_of(1, &mut first, hear(other, said(&answer, 1)));
        }
        let told = first.resign().told;
        let happened = told.iter().filter_map(|output| match output {
            Output::Happened(one) => Some(one.what.clone()),
            Output::Told(_) => None,
        });
        assert_eq!(happened.collect::<Vec<_>>(), [What::Leaving, What::Exited]);
    }
}
