//! Processes, applications and a network of which somebody else decides what happens next.
//!
//! A [`Stage`] knows what *may* happen ([`Stage::choices`]) and lets one of it happen ([`Stage::happen`]). The
//! [explorer](crate::explore) tries every choice, in a packed form of the same state; a [scenario](crate::scenario)
//! writes them down. Whatever a stage does, it tells as records.

mod choices;
pub mod host;
mod lives;
pub mod resource;
mod rules;
pub mod wish;
mod words;

use std::fmt;

use quorate_core::clock::Number;
use quorate_core::id::{Id, IdSet};
use quorate_core::process::{Message, Notice, Process, Ticks};
use quorate_core::trace::{Label, Record, Recorded, Sequence, What};

use crate::network::Order;
use crate::property::Causality;
use crate::time::DELTA;
pub use rules::{Bounds, Rules};

use host::{Aftermath, Company, Happening, Host};
use resource::Resource;
use wish::{Free, Wish};

/// A message on its way: of a process, of an application, or of who tells of crashes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Letter<M> {
    /// From whom; a notice comes from who it is about.
    pub from: Id,
    /// To whom.
    pub to: Id,
    /// What it says.
    pub content: Content<M>,
    /// Whose requests were in the sender's past, where that matters.
    pub past: IdSet,
    /// How long it has been on its way, where there is time.
    pub age: Ticks,
}

/// What a letter says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Content<M> {
    /// A message of the algorithm.
    Message(M),
    /// A message of the application, with the sender's stamp.
    Poke(Option<Number>),
    /// News of a process.
    Notice(Notice),
}

impl<M: Message> Letter<M> {
    /// The numbers in it that tell [tries](Process::tries) apart.
    pub fn tries(&mut self) -> Vec<(Id, &mut Number)> {
        match &mut self.content {
            Content::Message(message) => message.tries(self.from, self.to),
            Content::Poke(_) | Content::Notice(_) => Vec::new(),
        }
    }
}

impl<M: Clone> Letter<M> {
    /// What befalls the process that gets it.
    pub fn arrival<P: Process<Message = M>>(&self) -> Happening<P> {
        match &self.content {
            Content::Message(message) => Happening::Receive { from: self.from, message: message.clone() },
            Content::Poke(stamp) => Happening::Hear { stamp: *stamp },
            Content::Notice(notice) => Happening::Notice(*notice),
        }
    }

    /// Whether it waits for those that were sent before it.
    pub fn is_ordered(&self, rules: &Rules) -> bool {
        match self.content {
            Content::Message(_) => rules.order == Order::Fifo,
            Content::Notice(_) => rules.sessions,
            Content::Poke(_) => false,
        }
    }

    /// Whether it voids what was sent before it and has not arrived, instead of waiting for it.
    pub fn is_end_of_session(&self, rules: &Rules) -> bool {
        rules.sessions && matches!(self.content, Content::Notice(Notice::Suspect(_)))
    }

    fn is_message(&self) -> bool {
        matches!(self.content, Content::Message(_))
    }

    fn is_notice(&self) -> bool {
        matches!(self.content, Content::Notice(_))
    }
}

/// Something that may happen next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice<P: Process> {
    /// An application wants something.
    Wish(Id, Wish),
    /// The letter at this place arrives, and if it is kept it will arrive again.
    Deliver {
        /// Its place among those on their way.
        place: usize,
        /// Whether it will arrive again.
        keep: bool,
    },
    /// The letter at this place is lost.
    Lose(usize),
    /// The application of the first sends a message to the second.
    Poke(Id, Id),
    /// A timer runs out.
    Timeout(Id, P::Timer),
    /// A process crashes.
    Crash(Id),
    /// A process comes back.
    Restart(Id),
    /// The first suspects the second, which lives.
    Suspect(Id, Id),
    /// This happens to a process, which carries out so many effects of it and crashes.
    CutShort(Box<Choice<P>>, usize),
    /// A tick of time passes.
    Tick,
}

/// Processes, applications and a network, at some moment.
#[derive(Clone, Debug)]
pub struct Stage<P: Process, A> {
    rules: Rules,
    company: Company<P>,
    hosts: Vec<Host<P, A>>,
    letters: Vec<(Sequence, Letter<P::Message>)>,
    left: Bounds,
    causality: Causality,
    resource: Resource,
    /// Whether an election is still to be called, as none was since the beginning or the last crash.
    uncalled: bool,
    /// The last request that was served before one that had happened before it.
    overtaking: Option<(Id, Id)>,
    sequence: Sequence,
    steps: u64,
}

/// What of a stage matters for what may happen next: everything but the names of letters and the number of steps.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Situation<P: Process, A> {
    hosts: Vec<Host<P, A>>,
    /// In any order, equal ones beside each other; with FIFO channels, in order on each channel.
    letters: Vec<Letter<P::Message>>,
    left: Bounds,
    causality: Causality,
    resource: Resource,
    uncalled: bool,
}

impl<P, A> Stage<P, A>
where
    P: Process<Input: Recorded, Output: Recorded>,
    A: Free<P>,
{
    /// A stage on which everybody who is not absent has started, and what was recorded of that.
    pub fn new(company: Company<P>, rules: Rules) -> (Stage<P, A>, Vec<Record>) {
        let n = company.group.n;
        let hosts = Id::all(n).map(|id| Host::new(id, &company, rules.times_of(id, n))).collect();
        let left = rules.bounds;
        let (uncalled, resource) = (rules.elects, Resource::new(rules.sealed));
        let mut stage = Stage {
            rules,
            company,
            hosts,
            letters: Vec::new(),
            left,
            causality: Causality::default(),
            resource,
            uncalled,
            overtaking: None,
            sequence: 0,
            steps: 0,
        };
        let mut records = Vec::new();
        for id in stage.rules.absent.clone() {
            stage.befall(id, Happening::Crash, &mut records);
        }
        for id in Id::all(n) {
            if stage.hosts[id.index()].is_alive() {
                stage.befall(id, Happening::Start, &mut records);
                stage.tell_of_the_dead(id);
            }
        }
        (stage, records)
    }

    /// How many processes there are.
    pub fn n(&self) -> u32 {
        self.company.group.n
    }

    /// What may happen at all.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// A host.
    pub fn host(&self, id: Id) -> &Host<P, A> {
        &self.hosts[id.index()]
    }

    /// Who was served last before somebody whose request had happened before its own, and who that is.
    pub fn overtaking(&self) -> Option<(Id, Id)> {
        self.overtaking
    }

    /// The letters on their way, each with its name, in the order in which they were sent.
    pub fn letters(&self) -> &[(Sequence, Letter<P::Message>)] {
        &self.letters
    }

    /// Whether nothing that has to happen is left: no letter, nobody inside, no armed timer, no election to call.
    pub fn is_quiet(&self) -> bool {
        let idle = |host: &Host<P, A>| !host.wishes().contains(&Wish::Exit) && host.armed().next().is_none();
        self.letters.is_empty() && !self.uncalled && self.hosts.iter().all(idle)
    }

    /// A process that lives observes a stamp, as if its application had heard it from outside.
    pub fn observe(&mut self, id: Id, stamp: Number) -> Vec<Record> {
        let mut records = Vec::new();
        self.befall(id, Happening::Hear { stamp: Some(stamp) }, &mut records);
        records
    }

    /// What of it matters for what may happen next.
    pub fn situation(&self) -> Situation<P, A>
    where
        P::Message: fmt::Debug,
    {
        let mut letters: Vec<_> = self.letters.iter().map(|(_, letter)| letter.clone()).collect();
        // A stable sort by channel keeps each channel's order; where order does not matter, by everything.
        letters.sort_by_cached_key(|letter| {
            let free = !letter.is_ordered(&self.rules);
            (free, letter.from, letter.to, if free { format!("{letter:?}") } else { String::new() })
        });
        Situation {
            hosts: self.hosts.clone(),
            letters,
            left: self.left,
            causality: self.causality.clone(),
            resource: self.resource,
            uncalled: self.uncalled,
        }
    }

    /// Lets something happen, which is one of the [choices](Self::choices), and says what was recorded of it.
    pub fn happen(&mut self, choice: Choice<P>) -> Vec<Record> {
        self.steps += 1;
        let mut records = Vec::new();
        match choice {
            Choice::Wish(id, wish) => {
                self.pay_for_wish(wish);
                self.befall(id, Happening::Wish(wish), &mut records);
            }
            Choice::Deliver { place, keep } => self.deliver(place, keep, &mut records),
            Choice::Lose(place) => {
                self.left.losses -= 1;
                let (sequence, letter) = self.letters.remove(place);
                self.record_loss(sequence, &letter, &mut records);
            }
            Choice::Poke(from, to) => self.poke(from, to, &mut records),
            Choice::Timeout(id, timer) => {
                self.left.timeouts = self.left.timeouts.map(|left| left - 1);
                self.befall(id, Happening::Timeout(timer), &mut records);
            }
            Choice::Crash(id) => {
                self.left.crashes -= 1;
                self.crash(id, &mut records);
            }
            Choice::Restart(id) => {
                self.left.restarts -= 1;
                self.restart(id, Happening::Restart, &mut records);
            }
            Choice::Suspect(id, of) => {
                self.left.suspicions -= 1;
                self.suspect(id, of, Happening::Notice(Notice::Suspect(of)), &mut records);
            }
            Choice::CutShort(choice, effects) => {
                self.left.crashes -= 1;
                self.happen_in_part(*choice, effects, &mut records);
            }
            Choice::Tick => {
                for id in Id::all(self.n()) {
                    self.befall(id, Happening::Tick, &mut records);
                }
                for (_, letter) in &mut self.letters {
                    letter.age += 1;
                }
            }
        }
        records
    }

    /// A process carries out so many effects of something, and crashes.
    fn happen_in_part(&mut self, choice: Choice<P>, effects: usize, records: &mut Vec<Record>) {
        let cut = |happening| Happening::CutShort(Box::new(happening), effects);
        let id = match choice {
            Choice::Wish(id, wish) => {
                self.pay_for_wish(wish);
                self.befall(id, cut(Happening::Wish(wish)), records);
                id
            }
            Choice::Timeout(id, timer) => {
                self.left.timeouts = self.left.timeouts.map(|left| left - 1);
                self.befall(id, cut(Happening::Timeout(timer)), records);
                id
            }
            Choice::Deliver { place, keep } => {
                let Some(letter) = self.take_letter(place, keep, records) else { return };
                self.befall(letter.to, cut(letter.arrival()), records);
                letter.to
            }
            Choice::Restart(id) => {
                self.left.restarts -= 1;
                self.restart(id, cut(Happening::Restart), records);
                id
            }
            Choice::Suspect(id, of) => {
                self.left.suspicions -= 1;
                self.suspect(id, of, cut(Happening::Notice(Notice::Suspect(of))), records);
                id
            }
            Choice::Lose(_) | Choice::Poke(..) | Choice::Crash(_) | Choice::CutShort(..) | Choice::Tick => {
                unreachable!("this is not cut short")
            }
        };
        self.tell_of_crash(id, records);
    }

    fn pay_for_wish(&mut self, wish: Wish) {
        match wish {
            Wish::Withdraw => self.left.withdrawals -= 1,
            Wish::Call => self.uncalled = false,
            Wish::Write => self.left.writes -= 1,
            Wish::Enter | Wish::Exit | Wish::Read => {}
        }
    }

    fn deliver(&mut self, place: usize, keep: bool, records: &mut Vec<Record>) {
        if let Some(letter) = self.take_letter(place, keep, records) {
            self.befall(letter.to, letter.arrival(), records);
        }
    }

    /// A letter that arrives at who lives. It is recorded, and what it voids is gone.
    fn take_letter(&mut self, place: usize, keep: bool, records: &mut Vec<Record>) -> Option<Letter<P::Message>> {
        let (sequence, letter) = if keep {
            self.left.duplicates -= 1;
            self.letters[place].clone()
        } else {
            self.letters.remove(place)
        };
        let (from, to) = (letter.from, letter.to);
        if letter.is_end_of_session(&self.rules) {
            // Nothing is sent in a session after its end, so what is before it is all that is left of it.
            let mut at = 0;
            self.lose_letters(records, |other| {
                at += 1;
                at <= place && other.is_message() && other.from == from && other.to == to
            });
        }
        if !self.hosts[to.index()].is_alive() {
            self.record_loss(sequence, &letter, records);
            return None;
        }
        let what = match &letter.content {
            Content::Message(message) => Some(What::Received { from, sequence, label: Label::of(message) }),
            Content::Poke(_) => Some(What::Heard { from, sequence }),
            Content::Notice(_) => None,
        };
        if let Some(what) = what {
            self.causality.learn(to, &letter.past);
            records.push(self.record(to, what));
        }
        Some(letter)
    }

    /// Those letters are lost, which is recorded.
    fn lose_letters(&mut self, records: &mut Vec<Record>, mut is_lost: impl FnMut(&Letter<P::Message>) -> bool) {
        let (lost, kept): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.letters).into_iter().partition(|(_, letter)| is_lost(letter));
        self.letters = kept;
        for (sequence, letter) in lost {
            self.record_loss(sequence, &letter, records);
        }
    }

    fn poke(&mut self, from: Id, to: Id, records: &mut Vec<Record>) {
        self.left.pokes = self.left.pokes.saturating_sub(1);
        self.sequence += 1;
        let stamp = self.rules.stamped_pokes.then(|| self.hosts[from.index()].stamp());
        let past = self.causality.known_to(from);
        let letter = Letter { from, to, content: Content::Poke(stamp), past, age: 0 };
        records.push(self.record(from, What::Poked { to, sequence: self.sequence }));
        if !self.is_gone(to) {
            self.letters.push((self.sequence, letter));
        }
    }

    fn record_loss(&self, sequence: Sequence, letter: &Letter<P::Message>, records: &mut Vec<Record>) {
        match &letter.content {
            Content::Message(message) => {
                let what = What::Lost { to: letter.to, sequence, label: Label::of(message) };
                records.push(self.record(letter.from, what));
            }
            Content::Poke(_) | Content::Notice(_) => {}
        }
    }

    /// Lets something befall a host, and sends what comes of it.
    fn befall(&mut self, id: Id, happening: Happening<P>, records: &mut Vec<Record>) {
        let Aftermath { sends, records: happened, .. } = self.hosts[id.index()].befall(id, happening, &self.company);
        let mut sends = sends.into_iter();
        for what in happened {
            if self.rules.causal
                && let Some(gone) = self.causality.observe(id, &what)
            {
                self.overtaking = gone.overtook.map(|other| (id, other)).or(self.overtaking);
                for (_, letter) in &mut self.letters {
                    letter.past.remove(id);
                }
            }
            match what {
                What::Sent { to, label, .. } => {
                    let (_, message) = sends.next().expect("there is a record for each message that is sent");
                    self.send(id, to, message, label, records);
                }
                what => {
                    let what = self.resource.judge(what);
                    records.push(self.record(id, what));
                }
            }
        }
    }

    fn send(&mut self, from: Id, to: Id, message: P::Message, label: Label, records: &mut Vec<Record>) {
        self.sequence += 1;
        let sequence = self.sequence;
        records.push(self.record(from, What::Sent { to, sequence, label: label.clone() }));
        if self.is_void(from, to) {
            records.push(self.record(from, What::Lost { to, sequence, label }));
        } else {
            let past = self.causality.known_to(from);
            self.letters.push((sequence, Letter { from, to, content: Content::Message(message), past, age: 0 }));
        }
    }

    fn record(&self, process: Id, what: What) -> Record {
        Record { at: self.steps * DELTA, process, what }
    }
}

impl<M> Letter<M> {
    /// News of a process.
    pub fn notice(about: Id, to: Id, notice: Notice) -> Letter<M> {
        Letter { from: about, to, content: Content::Notice(notice), past: IdSet::new(), age: 0 }
    }
}
