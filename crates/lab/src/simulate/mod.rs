//! One run in virtual time: what happens next is determined by a seed.
//!
//! Discrete events in integer ticks. The same plan gives the same run to the byte, on every machine: nothing here reads
//! a clock, and chance comes from [`Chance`] alone.

mod faults;
mod plan;

use std::collections::BTreeMap;
use std::sync::Arc;

use quorate_core::clock::Number;
use quorate_core::id::Id;
use quorate_core::process::{Effect, EffectOf, Effects, Event, Notice, Process, Ticks};
use quorate_core::setting::Group;
use quorate_core::trace::{Label, Record, Recorded, Sequence, What, timer_name};

use crate::agenda::Agenda;
use crate::application::{Application, Wishes};
use crate::network::{Fate, Network};
use crate::observer::{Ending, Observer, Outcome};
use crate::random::{Chance, mix};
use crate::time::DELTA;
use crate::world::{Create, World};

pub use plan::{Fault, Plan, last_change};

/// After so many message delays, times the number of processes, in which somebody waits and nobody is inside, the
/// network is healed; after as many again the run is given up.
const PATIENCE: Ticks = 1_000;

/// No run lasts longer: what is added to a time before this does not overflow.
const END_OF_TIME: Ticks = Ticks::MAX / 2;

/// How often the simulator looks whether anything still comes of the run, in events.
const STALL_INTERVAL: u64 = 1 << 8;

/// How often progress is reported, in events.
const PROGRESS_INTERVAL: u64 = 1 << 16;

/// Runs processes and applications to the end.
///
/// `progress` is told now and then how many events there were and how many requests were served.
pub fn run<P, A>(
    plan: &Plan,
    group: &Arc<Group>,
    create: Create<P>,
    application: A,
    observer: Observer<'_>,
    progress: &mut dyn FnMut(u64, u64),
) -> Outcome
where
    P: Process<Input: Recorded, Output: Recorded>,
    A: Application<P>,
{
    Simulation::new(plan, group, create, application, observer).run(progress)
}

struct Simulation<'a, 'o, P: Process, A: Application<P>> {
    plan: &'a Plan,
    group: &'a Arc<Group>,
    world: World<P>,
    application: A,
    network: Network,
    agenda: Agenda<Due<P, A::Alarm>>,
    observer: Observer<'o>,
    chance: Chance,
    hosts: Vec<Host<P, A::Alarm>>,
    effects: Effects<P>,
    wishes: Wishes<A::Alarm>,
    sequence: Sequence,
    generation: u64,
    events: u64,
    /// How much is due that is not the algorithm's doing: alarms, applications' messages, faults and their ends.
    planned: usize,
    /// For how long nobody may be served.
    patience: Ticks,
    /// While faults come and go, waiting proves nothing.
    patience_from: Ticks,
}

/// What the simulator keeps of a process, beside the process.
struct Host<P: Process, A> {
    paused_until: Option<Ticks>,
    /// What came while it was paused.
    held_back: Vec<Due<P, A>>,
    /// The armed timers, each with the number of the setting that counts.
    timers: BTreeMap<P::Timer, u64>,
    /// How far its clock is off, in parts per million.
    drift_ppm: i64,
    /// When everybody else is told of its last crash, if there is a detector.
    crash_told_at: Ticks,
}

/// Something that is due.
enum Due<P: Process, A> {
    Deliver {
        from: Id,
        to: Id,
        sequence: Sequence,
        message: P::Message,
    },
    Timeout {
        id: Id,
        timer: P::Timer,
        generation: u64,
    },
    Alarm {
        id: Id,
        alarm: A,
    },
    Poke(Box<Poke>),
    Notice {
        id: Id,
        notice: Notice,
    },
    /// The fault of this number in the plan.
    Fault(usize),
    Resume(Id),
    Cut(usize),
    Mend,
}

/// An application's message on its way. There are few, so they stay out of what all messages are moved in.
struct Poke {
    from: Id,
    to: Id,
    sequence: Sequence,
    stamp: Number,
}

impl<'a, 'o, P, A> Simulation<'a, 'o, P, A>
where
    P: Process<Input: Recorded, Output: Recorded>,
    A: Application<P>,
{
    fn new(
        plan: &'a Plan,
        group: &'a Arc<Group>,
        create: Create<P>,
        application: A,
        observer: Observer<'o>,
    ) -> Simulation<'a, 'o, P, A> {
        let mut chance = Chance::new(mix(plan.seed, 3, 0));
        let drift = i64::from(plan.drift_ppm);
        let hosts = Id::all(group.n)
            .map(|_| Host {
                paused_until: None,
                held_back: Vec::new(),
                timers: BTreeMap::new(),
                drift_ppm: chance.within(&(0..=2 * drift as u64)) as i64 - drift,
                crash_told_at: 0,
            })
            .collect();
        let longest_delay = DELTA.max(plan.conditions.delay.bound()).max(group.delay_bound);
        Simulation {
            plan,
            group,
            world: World::new(group, create),
            application,
            network: Network::new(plan.conditions.clone(), plan.seed),
            agenda: Agenda::new(),
            observer,
            chance,
            hosts,
            effects: Effects::<P>::new(Id::new(1)),
            wishes: Wishes::default(),
            sequence: 0,
            generation: 0,
            events: 0,
            planned: 0,
            patience: longest_delay.saturating_mul(PATIENCE * Ticks::from(group.n)),
            patience_from: last_change(&plan.faults, &plan.conditions.partitions),
        }
    }

    fn run(mut self, progress: &mut dyn FnMut(u64, u64)) -> Outcome {
        self.begin();
        let until = self.plan.until.map_or(END_OF_TIME, |until| until.min(END_OF_TIME));
        let ending = loop {
            if self.plan.restless && self.application.is_finished(self.planned == 0) {
                break Ending::Finished;
            }
            let Some((now, due)) = self.agenda.take() else { break Ending::Quiet };
            if now > until || self.observer.has_seen_enough(self.events) {
                break Ending::CutOff;
            }
            self.planned -= usize::from(due.is_planned());
            self.happen(due);
            self.events += 1;
            if self.events.is_multiple_of(STALL_INTERVAL) && self.is_stalled(now) {
                break Ending::Stalled;
            }
            if self.events.is_multiple_of(PROGRESS_INTERVAL) {
                progress(self.events, self.observer.entries());
            }
        };
        let end = self.agenda.now().min(until);
        self.observer.finish(ending, end, self.events)
    }

    fn begin(&mut self) {
        for (index, cut) in self.plan.conditions.partitions.iter().enumerate() {
            self.planned += 2;
            self.agenda.add(cut.from, Due::Cut(index));
            self.agenda.add(cut.to, Due::Mend);
        }
        for (index, &fault) in self.plan.faults.iter().enumerate() {
            match fault {
                Fault::AbsentFromTheBeginning(id) => {
                    self.world.crash(id);
                    self.record(id, What::Crashed);
                }
                Fault::Crash(_, at) | Fault::Restart(_, at) | Fault::Pause(_, at, _) => {
                    self.planned += 1;
                    self.agenda.add(at, Due::Fault(index));
                }
            }
        }
        for id in Id::all(self.group.n) {
            if self.world.is_alive(id) {
                self.act(id, None, false, |world, effects| world.start(id, effects));
            } else if self.plan.detector {
                self.announce(Notice::Suspect(id), id, 0);
            }
        }
        self.application.begin(&mut self.wishes);
        self.grant_wishes();
    }

    /// Whether nobody has been served for so long that nobody will be. The network gets a chance to heal first.
    fn is_stalled(&mut self, now: Ticks) -> bool {
        let Some(since) = self.observer.unserved_since() else { return false };
        // Where nobody waits, the algorithm may still be after a request that was taken back. If nobody will ask again,
        // and nothing else ends the run, that is for ever.
        if self.observer.waiting() == 0 && (self.planned > 0 || self.plan.until.is_some()) {
            return false;
        }
        if now.saturating_sub(since.max(self.patience_from)) < self.patience {
            return false;
        }
        self.patience_from = now;
        let curable = self.network.is_faulty();
        self.network.heal();
        !curable
    }

    fn happen(&mut self, due: Due<P, A::Alarm>) {
        if let Some(id) = due.process() {
            if !self.world.is_alive(id) {
                return self.miss(due);
            }
            let host = &mut self.hosts[id.index()];
            if host.paused_until.is_some() {
                return host.held_back.push(due);
            }
        }
        match due {
            Due::Deliver { from, to, sequence, message } => {
                if self.observer.sees_messages() {
                    self.record(to, What::Received { from, sequence, label: Label::of(&message) });
                }
                self.step(to, Event::Receive { from, message }, false);
            }
            Due::Timeout { id, timer, generation } => self.time_out(id, timer, generation),
            Due::Alarm { id, alarm } => {
                if let Some(input) = self.application.wake(id, alarm, &mut self.wishes) {
                    self.input(id, input);
                }
                self.grant_wishes();
            }
            Due::Poke(poke) => {
                let Poke { from, to, sequence, stamp } = *poke;
                self.record(to, What::Heard { from, sequence });
                if let Some(input) = A::observe(stamp) {
                    self.input(to, input);
                }
                self.application.poked(to, &mut self.wishes);
                self.grant_wishes();
            }
            Due::Notice { id, notice } => {
                match notice {
                    Notice::Suspect(of) => self.record(id, What::Told { of, alive: false }),
                    Notice::Trust(of) => self.record(id, What::Told { of, alive: true }),
                    Notice::Leader(_) => {}
                }
                self.step(id, Event::Notice(notice), false);
            }
            Due::Fault(index) => self.befall(self.plan.faults[index]),
            Due::Resume(id) => self.resume(id),
            Due::Cut(index) => {
                let cut = &self.plan.conditions.partitions[index];
                self.each_hears(|id| What::Partitioned { part: cut.part(id) as u32 });
            }
            Due::Mend => {
                let now = self.agenda.now();
                if !self.plan.conditions.partitions.iter().any(|cut| cut.from <= now && now < cut.to) {
                    self.each_hears(|_| What::Healed);
                }
            }
        }
    }

    /// Something was due at a process that is dead.
    fn miss(&mut self, due: Due<P, A::Alarm>) {
        match due {
            Due::Deliver { from, to, sequence, message } => {
                if self.observer.sees_messages() {
                    self.record(from, What::Lost { to, sequence, label: Label::of(&message) });
                }
            }
            Due::Timeout { .. }
            | Due::Alarm { .. }
            | Due::Poke(_)
            | Due::Notice { .. }
            | Due::Fault(_)
            | Due::Resume(_)
            | Due::Cut(_)
            | Due::Mend => {}
        }
    }

    fn time_out(&mut self, id: Id, timer: P::Timer, generation: u64) {
        let timers = &mut self.hosts[id.index()].timers;
        if timers.get(&timer) == Some(&generation) {
            timers.remove(&timer);
            if self.observer.sees_messages() {
                self.record(id, What::TimedOut { timer: timer_name(&timer) });
            }
            self.step(id, Event::Timeout(timer), false);
        }
    }

    fn input(&mut self, id: Id, input: P::Input) {
        let what = input.what();
        let leaving = what == Some(What::Leaving);
        if let Some(what) = what {
            self.record(id, what);
        }
        self.step(id, Event::Input(input), leaving);
    }

    fn step(&mut self, id: Id, event: Event<P>, leaving: bool) {
        // A message makes a process think again of its sender, and of nobody else: most steps are beats that arrive.
        let about = if let Event::Receive { from, .. } = &event { Some(*from) } else { None };
        self.act(id, about, leaving, |world, effects| world.happen(id, event, effects));
    }

    /// Lets a process do something, which may be about one other, and carries out what it wants done.
    fn act(&mut self, id: Id, about: Option<Id>, leaving: bool, action: impl FnOnce(&mut World<P>, &mut Effects<P>)) {
        self.effects.reset(id);
        let before = self.world.is_alive(id);
        let suspected = if before { self.suspected(id, about) } else { Vec::new() };
        self.observer.look(id, self.world.process(id));
        action(&mut self.world, &mut self.effects);
        self.observer.look(id, self.world.process(id));
        if !before {
            self.record(id, What::Restarted { incarnation: self.world.incarnation(id) });
        }
        self.record_verdicts(id, about, &suspected);
        if !self.effects.is_empty() {
            let mut effects = self.effects.take();
            for effect in effects.drain(..) {
                self.carry_out(id, effect, leaving);
            }
            self.effects.give_back(effects);
        }
        if leaving {
            self.observer.exited();
        }
        self.grant_wishes();
    }

    /// Whom a process that finds out about crashes itself takes for dead, where somebody sees the records: of all, or
    /// of the one that something is about.
    fn suspected(&self, id: Id, about: Option<Id>) -> Vec<Id> {
        if !self.plan.detects || !self.observer.sees_messages() {
            return Vec::new();
        }
        let is_suspected = |of: &Id| A::suspects(self.world.process(id), *of);
        match about {
            Some(of) => Vec::from_iter(Some(of).filter(is_suspected)),
            None => Id::all(self.group.n).filter(is_suspected).collect(),
        }
    }

    /// Records what a process has found out in a step: before what it does about that.
    fn record_verdicts(&mut self, id: Id, about: Option<Id>, before: &[Id]) {
        let after = self.suspected(id, about);
        for &of in before.iter().filter(|of| !after.contains(of)) {
            self.record(id, What::Told { of, alive: true });
        }
        for &of in after.iter().filter(|of| !before.contains(of)) {
            self.record(id, What::Told { of, alive: false });
        }
    }

    fn carry_out(&mut self, id: Id, effect: EffectOf<P>, leaving: bool) {
        match effect {
            Effect::Send { to, message } => self.send(id, to, message, leaving),
            Effect::SetTimer { timer, after } => {
                let wait = self.chance.within(&after);
                self.set_timer(id, timer, wait);
            }
            Effect::CancelTimer(timer) => {
                self.hosts[id.index()].timers.remove(&timer);
            }
            Effect::Save(stable) => self.world.save(id, stable),
            Effect::Output(output) => {
                if let Some(what) = output.what() {
                    self.record(id, what);
                }
                self.application.hear(id, &output, &mut self.wishes);
            }
            Effect::Unexpected { from, why } => self.record(id, What::Unexpected { from, why: why.into() }),
        }
    }

    fn set_timer(&mut self, id: Id, timer: P::Timer, wait: Ticks) {
        self.generation += 1;
        let host = &mut self.hosts[id.index()];
        host.timers.insert(timer.clone(), self.generation);
        let drifted = i128::from(wait) * (1_000_000 + i128::from(host.drift_ppm)) / 1_000_000;
        let drifted = Ticks::try_from(drifted.max(0)).unwrap_or(Ticks::MAX);
        let at = self.agenda.now().saturating_add(drifted);
        self.agenda.add(at, Due::Timeout { id, timer, generation: self.generation });
    }

    fn send(&mut self, from: Id, to: Id, message: P::Message, leaving: bool) {
        self.sequence += 1;
        let sequence = self.sequence;
        self.observer.sent(&message, leaving);
        if self.observer.sees_messages() {
            self.record(from, What::Sent { to, sequence, label: Label::of(&message) });
        }
        // A broken algorithm may send to somebody who does not exist.
        let nobody = to.number() > self.group.n;
        let fate = if nobody { Fate::Lost } else { self.network.send(from, to, self.agenda.now()) };
        match fate {
            Fate::Lost => {
                if self.observer.sees_messages() {
                    self.record(from, What::Lost { to, sequence, label: Label::of(&message) });
                }
            }
            Fate::Arrives(at) => self.agenda.add(at, Due::Deliver { from, to, sequence, message }),
            Fate::ArrivesTwice(first, second) => {
                self.agenda.add(first, Due::Deliver { from, to, sequence, message: message.clone() });
                self.agenda.add(second, Due::Deliver { from, to, sequence, message });
            }
        }
    }

    fn grant_wishes(&mut self) {
        if self.wishes.is_empty() {
            return;
        }
        let now = self.agenda.now();
        for (id, after, alarm) in self.wishes.alarms.drain(..) {
            self.planned += 1;
            self.agenda.add(now.saturating_add(after), Due::Alarm { id, alarm });
        }
        for (from, to) in std::mem::take(&mut self.wishes.pokes) {
            self.sequence += 1;
            let sequence = self.sequence;
            let stamp = A::stamp(self.world.process(from));
            self.record(from, What::Poked { to, sequence });
            let at = self.network.poke(from, to, now);
            self.planned += 1;
            self.agenda.add(at, Due::Poke(Box::new(Poke { from, to, sequence, stamp })));
        }
    }

    fn record(&mut self, process: Id, what: What) {
        self.observer.observe(&Record { at: self.agenda.now(), process, what });
    }
}

impl<P: Process, A> Due<P, A> {
    /// At whom it is due, if at one process that must be alive and awake for it.
    fn process(&self) -> Option<Id> {
        match self {
            Due::Deliver { to: id, .. } | Due::Timeout { id, .. } | Due::Alarm { id, .. } | Due::Notice { id, .. } => {
                Some(*id)
            }
            Due::Poke(poke) => Some(poke.to),
            Due::Fault(_) | Due::Resume(_) | Due::Cut(_) | Due::Mend => None,
        }
    }

    /// Whether it is not the algorithm's doing.
    fn is_planned(&self) -> bool {
        match self {
            Due::Deliver { .. } | Due::Timeout { .. } | Due::Notice { .. } => false,
            Due::Alarm { .. } | Due::Poke(_) | Due::Fault(_) | Due::Resume(_) | Due::Cut(_) | Due::Mend => true,
        }
    }
}
