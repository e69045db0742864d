//! Heartbeats: everybody says *I live* every so often, and who is silent for too long is thought dead.
//!
//! Every process sends a beat to everybody else every T, from its start on. Who has heard nothing of another for longer
//! than T + D, where D is the longest that a message takes, thinks that it has crashed.
//!
//! *Source*: "Mutual Exclusion (Mutex) and Election"; the theory of detectors that may be wrong is that of T. D.
//! Chandra, S. Toueg, "Unreliable failure detectors for reliable distributed systems", JACM 43(2), 1996.
//!
//! **Assumes**, to be right, that D is known, that no beat is lost, that clocks run at the same speed, and that all
//! start within T. Anybody may crash.
//!
//! **Costs** n−1 messages for every living process every T, for ever. T is `interval` times D: a small one finds the
//! dead soon, a large one is cheap. Where beats may be lost, `missed` of them in a row are forgiven, and the dead are
//! found as many T later.
//!
//! **Accurate**, with a known D: two beats in a row leave T apart and arrive at most T + D apart, and the deadline is
//! one tick later. There is no slack for more: a clock that is fast by more than one part in T + D takes the living for
//! dead. **Complete**: the dead send no beat, and are found T + 2D + 1 after their crash at the latest.
//!
//! **Where D is known** (synchronous) the opinion is *unsuspected* or *failed*. A failure is final for a life: a later
//! beat of the same life breaks the assumptions, and is ignored. A beat of a later life, by the number it carries,
//! shows that the process was restarted. **Where D is guessed** (asynchronous) a crash can only be *suspected*, and the
//! next beat clears the suspicion. With a guess too small, the living are reported dead; too large, and the dead are
//! reported alive for long.

use alloc::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Detector, Input, Output};
use crate::catalog::{Assumptions, Entry, Family, OptionSpec, Property, Values};
use crate::id::Id;
use crate::process::{self, Effects, Event, Process, Ticks};
use crate::setting::{Setting, Timing};
use crate::trace::Opinion;

/// A process that sends heartbeats and listens for those of the others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Heartbeat {
    /// The number of its life.
    incarnation: u64,
    /// From one beat to the next.
    interval: Ticks,
    /// How long another may be silent.
    patience: Ticks,
    /// What it thinks of who is silent for longer.
    verdict: Opinion,
    /// What it knows of each of the others.
    peers: BTreeMap<Id, Peer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Peer {
    /// The latest life that a beat was heard of; 0 before the first.
    incarnation: u64,
    /// While it is unsuspected, its `Silence` is armed.
    opinion: Opinion,
}

/// What a process waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// The time of its next beat.
    Beat,
    /// A beat of this process: without any by then, it is taken for dead.
    Silence(Id),
}

/// What processes say: *I live*.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// To everybody, every so often.
    Beat {
        /// In its how-manieth life the sender is.
        incarnation: u64,
    },
}

impl process::Message for Message {
    fn kind(&self) -> &'static str {
        match self {
            Message::Beat { .. } => "beat",
        }
    }
}

impl Detector for Heartbeat {
    const ENTRY: Entry = Entry {
        summary: "every process sends heartbeats; a process that is silent for too long is suspected",
        paper: "T. D. Chandra and S. Toueg, \"Unreliable failure detectors for reliable distributed systems\", \
                Journal of the ACM 43(2), 1996",
        assumptions: Assumptions { crash_free: false, synchronous: true, ..Assumptions::RELIABLE },
        promises: &[Property::Accuracy, Property::Completeness],
        options: &[
            OptionSpec {
                key: "interval",
                values: Values::Integer { from: 1, to: 1000 },
                default: "5",
                meaning: "the time from one heartbeat to the next, in units of the longest message delay",
            },
            OptionSpec {
                key: "missed",
                values: Values::Integer { from: 0, to: 1000 },
                default: "0",
                meaning: "how many heartbeats in a row may be missed before their sender is suspected",
            },
        ],
        restless: true,
        ..Entry::new("heartbeat", Family::Detector)
    };

    fn new(setting: &Setting) -> Self {
        let group = &setting.group;
        // Without delays there would be a beat at every moment.
        let interval = group.delay_bound.max(1).saturating_mul(group.options.integer("interval"));
        let unheard = Peer { incarnation: 0, opinion: Opinion::Unsuspected };
        Heartbeat {
            incarnation: 1,
            interval,
            patience: interval
                .saturating_mul(group.options.integer("missed") + 1)
                .saturating_add(group.delay_bound)
                .saturating_add(1),
            verdict: match group.timing {
                Timing::Synchronous => Opinion::Failed,
                Timing::Asynchronous => Opinion::Suspected,
            },
            peers: setting.me.others(setting.n()).map(|peer| (peer, unheard)).collect(),
        }
    }
}

impl Process for Heartbeat {
    type Message = Message;
    type Input = Input;
    type Output = Output;
    type Timer = Timer;
    type Stable = ();

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { incarnation, .. } => self.start(incarnation, effects),
            Event::Input(never) => match never {},
            Event::Notice(_) => {}
            Event::Receive { from, message: Message::Beat { incarnation } } => self.on_beat(from, incarnation, effects),
            Event::Timeout(Timer::Beat) => self.beat(effects),
            Event::Timeout(Timer::Silence(peer)) => self.silence(peer, effects),
        }
    }
}

impl Heartbeat {
    /// Whether somebody is taken for dead.
    pub fn suspects(&self, id: Id) -> bool {
        self.peers.get(&id).is_some_and(|peer| peer.opinion != Opinion::Unsuspected)
    }

    /// Somebody says something other than that it lives, which shows it as well. Who is taken for dead has to beat.
    pub fn hear(&mut self, from: Id, effects: &mut Effects<Self>) {
        if self.peers.contains_key(&from) && !self.suspects(from) {
            effects.set_timer(Timer::Silence(from), self.patience..=self.patience);
        }
    }

    fn start(&mut self, incarnation: u64, effects: &mut Effects<Self>) {
        self.incarnation = incarnation;
        for &peer in self.peers.keys() {
            effects.set_timer(Timer::Silence(peer), self.patience..=self.patience);
        }
        self.beat(effects);
    }

    fn on_beat(&mut self, from: Id, incarnation: u64, effects: &mut Effects<Self>) {
        let Some(peer) = self.peers.get_mut(&from) else {
            return effects.unexpected(from, "a heartbeat from outside the group");
        };
        // Sent before the crash, overtaken by a beat sent after the restart: it says nothing about the life of today.
        if incarnation < peer.incarnation {
            return;
        }
        if incarnation == peer.incarnation && peer.opinion == Opinion::Failed {
            return effects.unexpected(from, "a heartbeat from a process that has failed");
        }
        peer.incarnation = incarnation;
        effects.set_timer(Timer::Silence(from), self.patience..=self.patience);
        if peer.opinion != Opinion::Unsuspected {
            peer.opinion = Opinion::Unsuspected;
            effects.output(Output { of: from, opinion: Opinion::Unsuspected });
        }
    }

    fn beat(&mut self, effects: &mut Effects<Self>) {
        effects.multicast(self.peers.keys().copied(), &Message::Beat { incarnation: self.incarnation });
        effects.set_timer(Timer::Beat, self.interval..=self.interval);
    }

    fn silence(&mut self, of: Id, effects: &mut Effects<Self>) {
        if let Some(peer) = self.peers.get_mut(&of)
            && peer.opinion == Opinion::Unsuspected
        {
            peer.opinion = self.verdict;
            effects.output(Output { of, opinion: self.verdict });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Effect, EffectOf, effects_of};
    use crate::setting::{Group, Options, test_setting};
    use alloc::vec;

    /// The first of three, with T = 50 and D = 10, started.
    fn started() -> Heartbeat {
        let mut process = Heartbeat::new(&test_setting(&Heartbeat::ENTRY, 1, 3, &[]));
        effects_of(1, &mut process, Event::Start { incarnation: 1, saved: None });
        process
    }

    fn guessing() -> Heartbeat {
        let entry = &Heartbeat::ENTRY;
        let group = Group::new(entry, 3, 10, Timing::Asynchronous, Options::defaults(entry)).unwrap();
        Heartbeat::new(&Setting::new(Id::new(1), &group))
    }

    fn beat_of(from: u32, incarnation: u64) -> Event<Heartbeat> {
        Event::Receive { from: Id::new(from), message: Message::Beat { incarnation } }
    }

    fn send(to: u32, incarnation: u64) -> EffectOf<Heartbeat> {
        Effect::Send { to: Id::new(to), message: Message::Beat { incarnation } }
    }

    fn silent(id: u32) -> Event<Heartbeat> {
        Event::Timeout(Timer::Silence(Id::new(id)))
    }

    fn listen(id: u32, ticks: Ticks) -> EffectOf<Heartbeat> {
        Effect::SetTimer { timer: Timer::Silence(Id::new(id)), after: ticks..=ticks }
    }

    fn rest(ticks: Ticks) -> EffectOf<Heartbeat> {
        Effect::SetTimer { timer: Timer::Beat, after: ticks..=ticks }
    }

    fn thinks(of: u32, opinion: Opinion) -> EffectOf<Heartbeat> {
        Effect::Output(Output { of: Id::new(of), opinion })
    }

    /// H1: a beat every T, and a deadline after T + D of silence.
    #[test]
    fn it_beats_from_the_start_on() {
        let mut process = Heartbeat::new(&test_setting(&Heartbeat::ENTRY, 2, 3, &[("interval", "3")]));
        let start = Event::Start { incarnation: 4, saved: None };
        let expected = vec![listen(1, 41), listen(3, 41), send(1, 4), send(3, 4), rest(30)];
        assert_eq!(effects_of(2, &mut process, start), expected);
        let beats = vec![send(1, 4), send(3, 4), rest(30)];
        assert_eq!(effects_of(2, &mut process, Event::Timeout(Timer::Beat)), beats);
    }

    /// H2: what is right with a known delay; H4: a reliable detector says *failed*.
    #[test]
    fn silence_is_failure_where_delays_are_known() {
        let mut process = started();
        assert_eq!(effects_of(1, &mut process, beat_of(2, 1)), vec![listen(2, 61)]);
        assert_eq!(effects_of(1, &mut process, silent(3)), vec![thinks(3, Opinion::Failed)]);
        assert_eq!(effects_of(1, &mut process, silent(3)), vec![]);
    }

    #[test]
    fn a_failure_is_final_for_a_life() {
        let mut process = started();
        effects_of(1, &mut process, beat_of(2, 1));
        effects_of(1, &mut process, silent(2));
        let effects = effects_of(1, &mut process, beat_of(2, 1));
        assert!(matches!(effects[..], [Effect::Unexpected { .. }]));
        let returns = vec![listen(2, 61), thinks(2, Opinion::Unsuspected)];
        assert_eq!(effects_of(1, &mut process, beat_of(2, 2)), returns);
        assert_eq!(effects_of(1, &mut process, beat_of(2, 1)), vec![], "a beat of the life before");
    }

    /// H3: with a guessed delay, a crash can only be suspected; H4: an unreliable detector says *suspected*.
    #[test]
    fn silence_is_suspicious_where_delays_are_guessed() {
        let mut process = guessing();
        effects_of(1, &mut process, beat_of(2, 1));
        assert_eq!(effects_of(1, &mut process, silent(2)), vec![thinks(2, Opinion::Suspected)]);
        let returns = vec![listen(2, 61), thinks(2, Opinion::Unsuspected)];
        assert_eq!(effects_of(1, &mut process, beat_of(2, 1)), returns);
    }

    #[test]
    fn beats_from_nowhere_are_reported() {
        for from in [1, 4, u32::MAX] {
            let mut process = started();
            let effects = effects_of(1, &mut process, beat_of(from, 1));
            assert!(matches!(effects[..], [Effect::Unexpected { from: Some(_), .. }]));
            assert_eq!(process, started());
        }
    }
}
