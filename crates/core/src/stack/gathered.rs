//! Beginning together: a first life begins when all are there, or it is given up for a second one.
//!
//! That one of them may begin with the token, or leads, is agreed on only if all begin at the same time, in their first
//! life. On a network they do not: who comes late has been given up by the others, and they may have made another
//! token. So who starts for the first time does not begin, but says that it is *here*. Who has heard from all others is
//! *ready*, and asks whether they are, too. Each one that is *agrees*; and who has the agreement of all begins. Who has
//! begun goes on agreeing until it takes somebody for dead.
//!
//! If somebody is taken for dead before that, and all others are here, or if somebody answers that it is too *late*,
//! there is no first life: it counts as one that has crashed before it did anything, and its second life begins, as one
//! that [comes back](super::Rejoining). That is never wrong, but then the others have to be asked about everything.
//!
//! **Assumes**, for who begins together with all others, what the [quorum guard](super::Guarded) assumes: that nobody
//! is given up by others who hears them all and is heard. **Without the guard** who is cut off from the beginning goes
//! on alone as soon as it takes all others for dead.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::id::{Id, IdSet};
use crate::process::{self, Effects, Event, Notice, Process, Room, Ticks, perform};
use crate::setting::Setting;

/// A process that begins its first life together with all others, if the group is set up so.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Gathered<P: Process> {
    me: Id,
    n: u32,
    /// From one time that it says that it is here to the next; none if nobody waits for others.
    interval: Option<Ticks>,
    stage: Stage<P>,
    process: P,
    room: Room<P>,
}

/// How far it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Stage<P: Process> {
    /// It has not begun.
    Gathering(Gathering<P>),
    /// It has begun with all others, and has not taken any of them for dead since.
    Together,
    /// It has begun, and whoever has not comes late.
    Begun,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Gathering<P: Process> {
    saved: Option<P::Stable>,
    here: IdSet,
    dead: IdSet,
    /// How often it has asked whether all are ready, and to which question each of them has agreed last.
    questions: u64,
    agreed: BTreeMap<Id, u64>,
    /// What it was asked by others before it was ready itself.
    unanswered: BTreeMap<Id, u64>,
    /// What the application has asked for.
    asked: Vec<P::Input>,
}

/// What processes say.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message<M> {
    /// What the process says.
    Process(M),
    /// Where the sender is.
    Word(Word),
}

/// Where somebody is who starts for the first time, and what it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Word {
    /// It has not begun.
    Here,
    /// It has not begun, and has heard from all others: are they ready as well? The number of the question.
    Ready(u64),
    /// It is, or has begun because all were. To the question with this number.
    Agreed(u64),
    /// It has begun without the other, or in a later life.
    Late,
}

impl<M: process::Message> process::Message for Message<M> {
    fn kind(&self) -> &'static str {
        match self {
            Message::Process(message) => message.kind(),
            Message::Word(Word::Here) => "here",
            Message::Word(Word::Ready(_)) => "ready",
            Message::Word(Word::Agreed(_)) => "agreed",
            Message::Word(Word::Late) => "late",
        }
    }

    fn number(&self) -> Option<u64> {
        match self {
            Message::Process(message) => message.number(),
            Message::Word(_) => None,
        }
    }
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer<T> {
    /// To say again that one is here.
    Again,
    /// What the process waits for.
    Process(T),
}

impl<P: Process> Gathered<P> {
    /// A process before its first event.
    pub fn around(setting: &Setting, process: P) -> Self {
        let bound = setting.group.delay_bound;
        let recovering = setting.group.recovering.filter(|recovering| recovering.gather && setting.n() > 1);
        let interval = recovering.map(|recovering| recovering.interval.saturating_mul(bound).max(1));
        Gathered { me: setting.me, n: setting.n(), interval, stage: Stage::Begun, process, room: Room::new() }
    }

    /// The process itself.
    pub fn process(&self) -> &P {
        &self.process
    }

    /// Of whom has not been heard what is needed to begin; none if it has begun.
    pub fn awaited(&self) -> Option<IdSet> {
        let Stage::Gathering(gathering) = &self.stage else { return None };
        let has_met = gathering.has_met(self.n);
        let is_known = |other| if has_met { gathering.has_agreed(other) } else { gathering.here.contains(other) };
        Some(self.me.others(self.n).filter(|&other| !is_known(other)).collect())
    }

    fn start(&mut self, incarnation: u64, saved: Option<P::Stable>, effects: &mut Effects<Self>) {
        if self.interval.is_none() {
            return self.happen(Event::Start { incarnation, saved }, effects);
        }
        if incarnation > 1 {
            return self.happen(Event::Start { incarnation: within(incarnation), saved }, effects);
        }
        self.stage = Stage::Gathering(Gathering::new(saved));
        self.ask_again(effects);
    }

    /// Says where it is, until it has begun.
    fn ask_again(&mut self, effects: &mut Effects<Self>) {
        let (Stage::Gathering(gathering), Some(interval)) = (&mut self.stage, self.interval) else { return };
        let word = if gathering.has_met(self.n) { gathering.question() } else { Word::Here };
        self.say_to_all(word, effects);
        effects.set_timer(Timer::Again, interval..=interval);
    }

    fn on_word(&mut self, from: Id, word: Word, effects: &mut Effects<Self>) {
        if from == self.me || from.number() > self.n {
            return effects.unexpected(from, "a message from outside the group");
        }
        match (&self.stage, word) {
            (Stage::Gathering(_), Word::Late) => self.begin(false, effects),
            (Stage::Gathering(_), _) => self.on_word_of_another(from, word, effects),
            // To no question yet, but it is told that we are here. Answers are not answered.
            (Stage::Together, Word::Here) => effects.send(from, Message::Word(Word::Agreed(0))),
            (Stage::Together, Word::Ready(number)) => effects.send(from, Message::Word(Word::Agreed(number))),
            (Stage::Begun, Word::Here | Word::Ready(_)) => effects.send(from, Message::Word(Word::Late)),
            (Stage::Together | Stage::Begun, Word::Agreed(_) | Word::Late) => {}
        }
    }

    /// Another one is here.
    fn on_word_of_another(&mut self, from: Id, word: Word, effects: &mut Effects<Self>) {
        let Stage::Gathering(gathering) = &mut self.stage else { return };
        let is_new = gathering.here.insert(from);
        let has_met = gathering.has_met(self.n);
        match word {
            Word::Ready(number) if has_met && !is_new => effects.send(from, Message::Word(Word::Agreed(number))),
            Word::Ready(number) => _ = gathering.unanswered.insert(from, number),
            Word::Agreed(number) => _ = gathering.agreed.insert(from, number),
            Word::Here | Word::Late => {}
        }
        if is_new && has_met {
            let question = gathering.question();
            for (asker, number) in core::mem::take(&mut gathering.unanswered) {
                effects.send(asker, Message::Word(Word::Agreed(number)));
            }
            self.say_to_all(question, effects);
        } else if is_new {
            // It may have come after we said so.
            effects.send(from, Message::Word(Word::Here));
        }
        self.begin_if_possible(effects);
    }

    fn on_notice(&mut self, notice: Notice, effects: &mut Effects<Self>) {
        match (&mut self.stage, notice) {
            (Stage::Gathering(gathering), Notice::Suspect(id)) => {
                gathering.dead.insert(id);
                gathering.here.remove(id);
                gathering.agreed.remove(&id);
                gathering.unanswered.remove(&id);
                return self.begin_if_possible(effects);
            }
            (Stage::Gathering(gathering), Notice::Trust(id)) => _ = gathering.dead.remove(id),
            (Stage::Gathering(_), Notice::Leader(_)) => {}
            (Stage::Together, Notice::Suspect(_)) => self.stage = Stage::Begun,
            (Stage::Together | Stage::Begun, _) => {}
        }
        if !matches!(self.stage, Stage::Gathering(_)) {
            self.happen(Event::Notice(notice), effects);
        }
    }

    fn begin_if_possible(&mut self, effects: &mut Effects<Self>) {
        let Stage::Gathering(gathering) = &self.stage else { return };
        let Gathering { here, dead, .. } = gathering;
        if self.me.others(self.n).all(|other| gathering.has_agreed(other)) {
            self.begin(true, effects);
        } else if !dead.is_empty() && here.len() + dead.len() == self.n as usize - 1 {
            self.begin(false, effects);
        }
    }

    /// Begins, together with all others or as one that comes late.
    fn begin(&mut self, together: bool, effects: &mut Effects<Self>) {
        let stage = if together { Stage::Together } else { Stage::Begun };
        let Stage::Gathering(gathering) = core::mem::replace(&mut self.stage, stage) else { return };
        let Gathering { saved, dead, asked, .. } = gathering;
        effects.cancel_timer(Timer::Again);
        if !together {
            self.say_to_all(Word::Late, effects);
        }
        self.happen(Event::Start { incarnation: if together { 1 } else { 2 }, saved }, effects);
        for id in dead.iter() {
            self.happen(Event::Notice(Notice::Suspect(id)), effects);
        }
        for input in asked {
            self.happen(Event::Input(input), effects);
        }
    }

    fn say_to_all(&self, word: Word, effects: &mut Effects<Self>) {
        for other in self.me.others(self.n) {
            effects.send(other, Message::Word(word));
        }
    }

    fn happen(&mut self, event: Event<P>, effects: &mut Effects<Self>) {
        let mut wanted = self.room.list(self.me);
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

impl<P: Process> Gathering<P> {
    fn new(saved: Option<P::Stable>) -> Self {
        let [here, dead] = [IdSet::new(), IdSet::new()];
        let [agreed, unanswered] = [BTreeMap::new(), BTreeMap::new()];
        Gathering { saved, here, dead, questions: 0, agreed, unanswered, asked: Vec::new() }
    }

    /// Whether all others are here.
    fn has_met(&self, n: u32) -> bool {
        self.here.len() == n as usize - 1
    }

    /// Asks all whether they are ready.
    fn question(&mut self) -> Word {
        self.questions += 1;
        Word::Ready(self.questions)
    }

    /// Whether another has agreed, to one of the last two questions: what it said before that may not be true any more.
    fn has_agreed(&self, other: Id) -> bool {
        self.agreed.get(&other).is_some_and(|&number| number > 0 && number.saturating_add(1) >= self.questions)
    }
}

impl<P: Process> Process for Gathered<P> {
    type Message = Message<P::Message>;
    type Input = P::Input;
    type Output = P::Output;
    type Timer = Timer<P::Timer>;
    type Stable = P::Stable;

    fn step(&mut self, event: Event<Self>, effects: &mut Effects<Self>) {
        match event {
            Event::Start { incarnation, saved } => self.start(incarnation, saved, effects),
            Event::Input(input) => match &mut self.stage {
                Stage::Gathering(gathering) => gathering.asked.push(input),
                Stage::Together | Stage::Begun => self.happen(Event::Input(input), effects),
            },
            Event::Notice(notice) => self.on_notice(notice, effects),
            Event::Receive { from, message: Message::Word(word) } => self.on_word(from, word, effects),
            Event::Receive { from, message: Message::Process(message) } => match &self.stage {
                // It is said again when it can be heard.
                Stage::Gathering(_) => {}
                Stage::Together | Stage::Begun => self.happen(Event::Receive { from, message }, effects),
            },
            Event::Timeout(Timer::Again) => self.ask_again(effects),
            Event::Timeout(Timer::Process(timer)) => self.happen(Event::Timeout(timer), effects),
        }
    }
}

/// The life that one begins with. Odd numbers are for these, the even one for the second within the first.
fn within(incarnation: u64) -> u64 {
    incarnation.saturating_mul(2).saturating_sub(1)
}

/// Within which one a life is.
pub(super) fn around_life(life: u64) -> u64 {
    life / 2 + life % 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutex::{Central, Input, Lamport, Mutex};
    use crate::process::{Effect, EffectOf, effects_of};
    use crate::setting::test_gathering;
    use crate::stack::{Limits, Surviving, incarnation_of};
    use alloc::collections::VecDeque;
    use alloc::vec;

    type Node = Gathered<Central>;

    /// Some processes, of which each may be started at any time; what is said arrives at those who have started.
    struct Group {
        nodes: Vec<Node>,
        started: Vec<bool>,
        on_its_way: VecDeque<(Id, Id, <Node as Process>::Message)>,
    }

    impl Group {
        fn of(n: u32) -> Group {
            let node = |me| {
                Node::around(
                    &test_gathering(&Central::ENTRY, me, n),
                    Central::new(&test_gathering(&Central::ENTRY, me, n)),
                )
            };
            let started = vec![false; n as usize];
            Group { nodes: (1..=n).map(node).collect(), started, on_its_way: VecDeque::new() }
        }

        fn happen(&mut self, me: u32, event: Event<Node>) {
            let me = Id::new(me);
            self.started[me.index()] |= matches!(event, Event::Start { .. });
            let effects = effects_of(me.number(), &mut self.nodes[me.index()], event);
            self.on_its_way.extend(effects.into_iter().filter_map(|effect: EffectOf<Node>| match effect {
                Effect::Send { to, message } => Some((me, to, message)),
                _ => None,
            }));
        }

        fn start(&mut self, me: u32, incarnation: u64) {
            self.happen(me, Event::Start { incarnation, saved: None });
        }

        /// All arrives, but nothing of what the processes inside say.
        fn deliver(&mut self) {
            while let Some((from, to, message)) = self.on_its_way.pop_front() {
                if self.started[to.index()] && matches!(message, Message::Word(_)) {
                    self.happen(to.number(), Event::Receive { from, message });
                }
            }
        }

        fn suspect(&mut self, me: u32, other: u32) {
            self.happen(me, Event::Notice(Notice::Suspect(Id::new(other))));
        }

        /// Who waits for how many others; nothing of who has begun.
        fn awaited(&self) -> Vec<Option<usize>> {
            self.nodes.iter().map(|node| node.awaited().map(|awaited| awaited.len())).collect()
        }

        fn stages(&self) -> Vec<&'static str> {
            let name = |node: &Node| match node.stage {
                Stage::Gathering(_) => "gathering",
                Stage::Together => "together",
                Stage::Begun => "begun",
            };
            self.nodes.iter().map(name).collect()
        }
    }

    #[test]
    fn all_begin_together_in_whatever_order_they_start() {
        for order in [[1, 2, 3], [3, 2, 1], [2, 3, 1]] {
            let mut group = Group::of(3);
            for (count, me) in order.into_iter().enumerate() {
                assert!(!group.stages().contains(&"together"), "after {count}");
                group.start(me, 1);
                group.deliver();
            }
            assert_eq!(group.stages(), ["together"; 3], "{order:?}");
        }
    }

    #[test]
    fn nobody_begins_before_all_are_there_and_what_it_is_asked_waits() {
        let mut group = Group::of(3);
        group.start(1, 1);
        group.happen(1, Event::Input(Input::Enter));
        group.start(2, 1);
        group.deliver();
        assert_eq!(group.awaited()[..2], [Some(1), Some(1)]);
        group.start(3, 1);
        group.deliver();
        assert_eq!(group.awaited(), [None, None, None]);
        assert!(group.nodes[0].process != Central::new(&test_gathering(&Central::ENTRY, 1, 3)), "it was asked");
    }

    /// What was lost is said again.
    #[test]
    fn words_that_are_lost_are_said_again() {
        let mut group = Group::of(2);
        group.start(1, 1);
        group.start(2, 1);
        group.on_its_way.clear();
        group.happen(2, Event::Timeout(Timer::Again));
        group.deliver();
        assert_eq!(group.stages(), ["together"; 2]);
        // Of two, one has begun, and the other has not heard that it agrees.
        let mut group = Group::of(2);
        group.start(1, 1);
        group.start(2, 1);
        group.happen(1, Event::Receive { from: Id::new(2), message: Message::Word(Word::Here) });
        group.happen(1, Event::Receive { from: Id::new(2), message: Message::Word(Word::Agreed(1)) });
        group.on_its_way.clear();
        assert_eq!(group.stages(), ["together", "gathering"]);
        group.happen(2, Event::Timeout(Timer::Again));
        group.deliver();
        group.happen(2, Event::Timeout(Timer::Again));
        group.deliver();
        assert_eq!(group.stages(), ["together"; 2]);
    }

    /// What was said before a pause says nothing of what is now.
    #[test]
    fn an_answer_to_an_earlier_question_does_not_count() {
        let mut group = Group::of(2);
        group.start(1, 1);
        group.happen(1, Event::Receive { from: Id::new(2), message: Message::Word(Word::Ready(1)) });
        group.happen(1, Event::Timeout(Timer::Again));
        group.happen(1, Event::Timeout(Timer::Again));
        group.happen(1, Event::Receive { from: Id::new(2), message: Message::Word(Word::Agreed(1)) });
        assert_eq!(group.stages()[0], "gathering");
        group.happen(1, Event::Receive { from: Id::new(2), message: Message::Word(Word::Agreed(2)) });
        assert_eq!(group.stages()[0], "together");
    }

    #[test]
    fn who_comes_late_begins_another_life() {
        let mut group = Group::of(3);
        group.start(1, 1);
        group.start(2, 1);
        group.deliver();
        for me in [1, 2] {
            group.suspect(me, 3);
            assert_eq!(group.stages()[me as usize - 1], "begun", "those who are there begin, as all others are dead");
        }
        group.deliver();
        group.start(3, 1);
        assert_eq!(group.stages()[2], "gathering");
        group.deliver();
        assert_eq!(group.stages()[2], "begun");
        // Also where the others have begun together with it, and have given it up since.
        let mut group = Group::of(3);
        (1..=3).for_each(|me| group.start(me, 1));
        group.deliver();
        (1..=2).for_each(|me| group.suspect(me, 3));
        group.nodes[2] = Group::of(3).nodes.remove(2);
        group.start(3, 1);
        group.deliver();
        assert_eq!(group.stages(), ["begun"; 3]);
    }

    #[test]
    fn who_is_alone_begins_when_it_takes_all_others_for_dead() {
        let mut group = Group::of(3);
        group.start(1, 1);
        group.suspect(1, 2);
        assert_eq!(group.stages()[0], "gathering", "the third may still come");
        group.suspect(1, 3);
        assert_eq!(group.stages()[0], "begun");
    }

    #[test]
    fn one_that_has_lived_before_tells_the_others_that_this_is_no_beginning() {
        let mut group = Group::of(2);
        group.start(2, 4);
        group.start(1, 1);
        group.deliver();
        assert_eq!(group.stages(), ["begun"; 2]);
    }

    #[test]
    fn lives_within_one_are_known_to_be() {
        for incarnation in [1, 2, 3, 1_794_000_000] {
            let setting = test_gathering(&Lamport::ENTRY, 2, 3);
            let mut node = Surviving::<Lamport>::within(Limits::default(), &setting, true);
            effects_of(2, &mut node, Event::Start { incarnation, saved: None });
            let life = node.past().map_or(1, |past| past.of(Id::new(2)).0);
            assert_eq!(incarnation_of(life), incarnation, "{life}");
            assert_eq!(incarnation_of(life + 100), incarnation, "it has begun again");
        }
        assert_eq!(incarnation_of(1 << 28 | 1), 1, "the second of the first");
    }
}
