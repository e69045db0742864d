//! A failure detector beside a process: what the one finds out, the other is told.
//!
//! Whoever the detector takes for dead is [suspected](Notice::Suspect); whoever it takes back is
//! [trusted](Notice::Trust), and may have forgotten everything. Who was restarted before anybody missed it is not the
//! detector's business: [`Reliable`](super::Reliable) channels find that out from the first message of its new life.
//! So that this one is not suspected because of what the former life has missed, whatever is heard of somebody counts
//! as a beat. The dead are found as soon as before: their last words take no longer than their last beat.
//!
//! The process may be told by others, too, whom to suspect, but not whom to trust while the detector does not: nobody
//! would suspect that one again, and who waits for the dead waits for ever.
//!
//! The detector never believes that it is right: with pauses and partitions no bound on delays is a fact, and who
//! beats again is taken back.

use serde::{Deserialize, Serialize};

use crate::catalog::Entry;
use crate::clock::Number;
use crate::detector::{self, Detector, Heartbeat};
use crate::id::Id;
use crate::mutex::Mutex;
use crate::process::{self, Effects, Event, Notice, Process, Room, perform};
use crate::setting::Setting;
use crate::trace::Opinion;

/// A process `P` that a detector tells of crashes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Detected<P: Process> {
    detector: Heartbeat,
    process: P,
    room: Room<P>,
    room_of_detector: Room<Heartbeat>,
}

/// What is said by one of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message<D, M> {
    /// The detector.
    Detector(D),
    /// The process.
    Process(M),
}

/// What one of them waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer<D, T> {
    /// The detector.
    Detector(D),
    /// The process.
    Process(T),
}

impl<D: process::Message, M: process::Message> process::Message for Message<D, M> {
    fn kind(&self) -> &'static str {
        match self {
            Message::Detector(message) => message.kind(),
            Message::Process(message) => message.kind(),
        }
    }

    fn number(&self) -> Option<u64> {
        match self {
            Message::Detector(message) => message.number(),
            Message::Process(message) => message.number(),
        }
    }
}

impl<P: Process> Detected<P> {
    /// A process before its first event.
    pub fn around(setting: &Setting, process: P) -> Self {
        let detector = Heartbeat::new(&setting.of_detector());
        Detected { detector, process, room: Room::new(), room_of_detector: Room::new() }
    }

    /// The process itself.
    pub fn process(&self) -> &P {
        &self.process
    }

    /// Whether somebody is taken for dead.
    pub fn suspects(&self, id: Id) -> bool {
        self.detector.suspects(id)
    }

    fn of_detector(&mut self, event: Event<Heartbeat>, effects: &mut Effects<Self>) {
        let mut wanted = self.room_of_detector.list(effects.me());
        perform(&mut self.detector, event, &mut wanted);
        self.adopt_detector(wanted, effects);
    }

    fn adopt_detector(&mut self, mut wanted: Effects<Heartbeat>, effects: &mut Effects<Self>) {
        effects.adopt(
            &mut wanted,
            Message::Detector,
            Timer::Detector,
            |_, ()| {},
            |effects, detector::Output { of, opinion }| {
                let notice = match opinion {
                    Opinion::Suspected | Opinion::Failed => Notice::Suspect(of),
                    Opinion::Unsuspected => Notice::Trust(of),
                };
                self.of_process(Event::Notice(notice), effects);
            },
        );
        self.room_of_detector.keep(wanted);
    }

    fn of_process(&mut self, event: Event<P>, effects: &mut Effects<Self>) {
        let mut wanted = self.room.list(effects.me());
        perform(&mut self.process, event, &mut wanted);
        effects.adopt(
            &mut wanted,
            Message::Process,
            Timer::Process,
            |effects, stable| effects.save(stable),
            |effects, output| effects.output(output),
        );
        self.room.keep(wanted);
    }
}

impl<M: Mutex> Mutex for Detected<M> {
    const ENTRY: Entry = M::ENTRY;

    fn new(setting: &Setting) -> Self {
        Detected::around(setting, M::new(setting))
    }

    fn stamp(&self) -> Number {
        self.process.stamp()
    }
}

impl<P: Process> Process for Detected<P> {
    type Message = Message<<Heartbeat as Process>::Message, P::Message>;
    type Input = P::Input;
    type Output = P::Output;
    type Timer = Timer<<Heartbeat as Process>::Timer, P::Timer>;
    type Stable = P::Stable;

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { incarnation, saved } => {
                self.of_process(Event::Start { incarnation, saved }, effects);
                self.of_detector(Event::Start { incarnation, saved: None }, effects);
            }
            Event::Input(input) => self.of_process(Event::Input(input), effects),
            Event::Notice(Notice::Trust(id)) if self.suspects(id) => {}
            Event::Notice(notice) => self.of_process(Event::Notice(notice), effects),
            Event::Receive { from, message: Message::Detector(message) } => {
                self.of_detector(Event::Receive { from, message }, effects);
            }
            Event::Receive { from, message: Message::Process(message) } => {
                let mut wanted = self.room_of_detector.list(effects.me());
                self.detector.hear(from, &mut wanted);
                self.adopt_detector(wanted, effects);
                self.of_process(Event::Receive { from, message }, effects);
            }
            Event::Timeout(Timer::Detector(timer)) => self.of_detector(Event::Timeout(timer), effects),
            Event::Timeout(Timer::Process(timer)) => self.of_process(Event::Timeout(timer), effects),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutex::RicartAgrawala;
    use crate::process::{Effect, EffectOf, effects_of};
    use crate::setting::test_setting;
    use alloc::vec::Vec;

    type Told = Detected<RicartAgrawala>;

    /// How much the application is told.
    fn outputs(process: &mut Told, event: Event<Told>) -> usize {
        effects_of(1, process, event).iter().filter(|effect| matches!(effect, Effect::Output(_))).count()
    }

    /// Silence is told as a suspicion, which lets the algorithm go on without the silent one.
    #[test]
    fn who_falls_silent_is_suspected_and_who_beats_again_is_trusted() {
        let mut first = Told::new(&test_setting(&RicartAgrawala::ENTRY, 1, 2, &[]));
        effects_of(1, &mut first, Event::Start { incarnation: 1, saved: None });
        assert_eq!(outputs(&mut first, Event::Input(crate::mutex::Input::Enter)), 0);
        let silence = |id| Event::Timeout(Timer::Detector(crate::detector::heartbeat::Timer::Silence(Id::new(id))));
        assert_eq!(outputs(&mut first, silence(2)), 1, "it enters without the dead");
        effects_of(1, &mut first, Event::Input(crate::mutex::Input::Exit));
        let beat = crate::detector::heartbeat::Message::Beat { incarnation: 1 };
        effects_of(1, &mut first, Event::Receive { from: Id::new(2), message: Message::Detector(beat) });
        assert_eq!(outputs(&mut first, Event::Input(crate::mutex::Input::Enter)), 0, "it is asked again");
    }

    /// Whoever says so: only a beat shows that the dead live.
    #[test]
    fn who_is_taken_for_dead_is_not_trusted_because_others_say_so() {
        let mut first = Told::new(&test_setting(&RicartAgrawala::ENTRY, 1, 3, &[]));
        effects_of(1, &mut first, Event::Start { incarnation: 1, saved: None });
        let silence = |id| Event::Timeout(Timer::Detector(crate::detector::heartbeat::Timer::Silence(Id::new(id))));
        effects_of(1, &mut first, silence(3));
        for id in [2, 3] {
            effects_of(1, &mut first, Event::Notice(Notice::Suspect(Id::new(id))));
        }
        for id in [2, 3] {
            effects_of(1, &mut first, Event::Notice(Notice::Trust(Id::new(id))));
        }
        let asked = effects_of(1, &mut first, Event::Input(crate::mutex::Input::Enter));
        let is_asked = |id| asked.iter().any(|effect| matches!(effect, Effect::Send { to, .. } if *to == Id::new(id)));
        assert!(is_asked(2) && !is_asked(3), "it lives, and waits for nobody else: {asked:?}");
    }

    /// Also what is no beat shows that somebody lives; but who is suspected has to beat.
    #[test]
    fn whatever_is_heard_counts_as_a_beat() {
        let mut first = Told::new(&test_setting(&RicartAgrawala::ENTRY, 1, 2, &[]));
        let mut second = Told::new(&test_setting(&RicartAgrawala::ENTRY, 2, 2, &[]));
        for (me, process) in [(1, &mut first), (2, &mut second)] {
            effects_of(me, process, Event::Start { incarnation: 1, saved: None });
        }
        let asked = effects_of(2, &mut second, Event::Input(crate::mutex::Input::Enter));
        let Some(Effect::Send { message, .. }) = asked.into_iter().find(|effect| matches!(effect, Effect::Send { .. }))
        else {
            panic!("it asks the first");
        };
        let silence = Timer::Detector(crate::detector::heartbeat::Timer::Silence(Id::new(2)));
        let hear = Event::Receive { from: Id::new(2), message };
        let is_armed = |effects: Vec<EffectOf<Told>>| {
            effects.iter().any(|effect| matches!(effect, Effect::SetTimer { timer, .. } if *timer == silence))
        };
        assert!(is_armed(effects_of(1, &mut first, hear.clone())));
        effects_of(1, &mut first, Event::Timeout(silence));
        assert!(!is_armed(effects_of(1, &mut first, hear)));
    }
}
