//! The model that all documents share.

use quorate_core::catalog::{ENTRIES, Family};
use quorate_core::clock::LamportClock;
use quorate_core::trace::What;

use super::costs::asking;
use super::court::{delta, explored};
use super::order::with_pokes;
use super::{Claim, Court, Verdict};
use crate::application::ClientPlan;
use crate::experiment::Experiment;
use crate::explore::goal::Goal;

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "P1",
        documents: "A",
        statement: "A process consists of a set of states, an initial state, a set of messages, and a transition \
                    function that maps a state and a received message to a new state and the messages to send.",
        judge: |court| {
            court.cite("quorate algorithms --short");
            court.say(format!("all {} algorithms implement this definition", ENTRIES.len()));
            Verdict::Definition("quorate_core::process::Process::step".into())
        },
    },
    Claim {
        id: "P2",
        documents: "A, C, E",
        statement: "Processes share no variables and communicate only by messages. Channels deliver every message \
                    eventually, unchanged and exactly once. A process fails only by crashing, and a crash does not \
                    disconnect other processes.",
        judge: |court| {
            court.cite("quorate algorithms --short");
            let reliable = ENTRIES.iter().filter(|entry| entry.assumptions.reliable).count();
            court.say(format!("{reliable} of {} algorithms assume reliable channels", ENTRIES.len()));
            Verdict::Definition("quorate_core::catalog::Assumptions; quorate_lab::stage::Stage".into())
        },
    },
    Claim {
        id: "P3",
        documents: "A",
        statement: "In an asynchronous system, message delays and processing times are unbounded. In a synchronous \
                    system, both have known bounds, and so does clock drift.",
        judge: |court| {
            court.cite("quorate algorithms --short");
            let synchronous = ENTRIES.iter().filter(|entry| entry.assumptions.synchronous).count();
            court.say(format!("{synchronous} of {} algorithms assume a synchronous system", ENTRIES.len()));
            Verdict::Definition("quorate_core::setting::Timing".into())
        },
    },
    Claim {
        id: "P4",
        documents: "E",
        statement: "An application calls enter(), which blocks until entry is granted. It then uses the resource and \
                    calls exit().",
        judge: |court| {
            let run = court.run("central", &asking(2, &[(2, 0.0)]));
            let steps =
                run.moments(|what| matches!(what, What::Wanted | What::Entered { .. } | What::Leaving | What::Exited));
            court.say(format!(
                "one use has {} steps: request entry, enter, start to exit, complete the exit",
                steps.len()
            ));
            Verdict::Definition("quorate_core::mutex::{Input, Output}".into())
        },
    },
    Claim {
        id: "P5",
        documents: "A, C, E",
        statement: "Mutual exclusion has three separate requirements: safety (ME1), liveness (ME2, which implies \
                    freedom from deadlock and from starvation) and ordering (ME3).",
        judge: three_demands,
    },
    Claim {
        id: "P5b",
        documents: "C, E",
        statement: "Every process leaves the critical section after a finite time. Without this assumption no \
                    algorithm is live.",
        judge: |court| {
            let (mut finite, mut endless) = (0, 0);
            let mutexes: Vec<_> = ENTRIES.iter().filter(|entry| entry.family == Family::Mutex).collect();
            for entry in &mutexes {
                let staying = |time_inside, until| {
                    let clients =
                        ClientPlan { time_inside: delta(time_inside), ..asking(3, &[(2, 0.0), (3, 5.0)]).clients };
                    Experiment { clients, until: Some(delta(until)), ..super::court::experiment(3) }
                };
                let served = |court: &mut Court, world: &Experiment| {
                    court.run(entry.name, world).entries().iter().any(|(id, _)| *id == 3)
                };
                finite += usize::from(served(court, &staying(1.0, 1000.0)));
                endless += usize::from(served(court, &staying(1_000_000.0, 1000.0)));
            }
            court.say(format!(
                "if p2 stays inside for 1 δ, p3 enters in {finite} of {} algorithms; if p2 never exits, in {endless}",
                mutexes.len()
            ));
            Verdict::of(finite == mutexes.len() && endless == 0)
        },
    },
    Claim {
        id: "P6.overtaking",
        documents: "E",
        statement: "If requests are granted in happened-before order, and happened-before orders every two requests, \
                    then no process enters twice while another one waits.",
        judge: |court| {
            court.cite("quorate claims P6");
            let (mut ordered, mut free) = (Histories::new(true), Histories::new(false));
            ordered.extend(&mut Vec::new());
            free.extend(&mut Vec::new());
            court.say(format!(
                "most entries by one process while another waits: {} in all {} histories of 3 processes and up to \
                 {LONGEST} steps with grants in request order; {} in all {} histories with grants in any order",
                ordered.most_by_one, ordered.count, free.most_by_one, free.count
            ));
            Verdict::of(ordered.most_by_one <= 1 && free.most_by_one > 1)
        },
    },
    Claim {
        id: "P6.liveness",
        documents: "E",
        statement: "Granting requests in happened-before order implies liveness.",
        judge: |court| {
            let mut ordered = Histories::new(true);
            ordered.extend(&mut Vec::new());
            court.say(format!(
                "in all {} histories with grants in request order, a waiting process is overtaken at most {} times, so \
                 it enters as long as requests continue to be granted",
                ordered.count, ordered.most_overtaken
            ));
            let in_order = court.holds("maekawa", &explored(3, 1), &[Goal::RequestOrder]);
            let stuck = court.breaks("maekawa", &explored(3, 1), Goal::DeadlockFreedom);
            Verdict::only_if(
                "there is no deadlock; an algorithm that grants no request never violates the order, but is not live",
                ordered.most_overtaken < 3,
                !(in_order && stuck),
            )
        },
    },
    Claim {
        id: "P7",
        documents: "A, E",
        statement: "The cost of an algorithm is its number of messages per entry and per exit, its client delay, its \
                    synchronization delay and its throughput.",
        judge: |court| {
            let run = court.run("central", &super::court::experiment(3));
            let costs = &run.report.outcome.costs;
            let measured = [costs.client_delay, costs.exit_delay, costs.sync_delay].iter().flatten().count();
            court.say(format!("one run yields {measured} kinds of delay and counts {} messages", costs.messages));
            Verdict::Definition("quorate_lab::cost::CostReport".into())
        },
    },
    Claim {
        id: "P8",
        documents: "A, D, E",
        statement: "A Lamport clock ticks before each event, every message carries its value, and on receipt it \
                    becomes max(own, received) + 1. These clocks respect happened-before, and breaking ties by \
                    process id makes the order total.",
        judge: |court| {
            court.cite("quorate claims P8");
            let mut structures = Structures::default();
            structures.extend(&mut Structure::default());
            let Structures { count, backwards, ties, unrelated } = structures;
            court.say(format!(
                "all {count} runs of 3 processes and {EVENTS} events: {backwards} pairs in which the earlier event \
                 does not have the smaller number; {ties} pairs with the same number and id; {unrelated} pairs of \
                 concurrent events that the timestamps order"
            ));
            Verdict::of(backwards == 0 && ties == 0)
        },
    },
];

/// That each of the demands can fail alone, and that who starves nobody blocks nobody.
fn three_demands(court: &mut Court) -> Verdict {
    let told = with_pokes(explored(3, 1), 1);
    let order_alone =
        court.holds("central", &told, &[Goal::MutualExclusion, Goal::DeadlockFreedom, Goal::StarvationFreedom])
            && court.breaks("central", &told, Goal::RequestOrder);
    let liveness_alone = court.holds("maekawa", &explored(3, 1), &[Goal::MutualExclusion, Goal::RequestOrder])
        && court.breaks("maekawa", &explored(3, 1), Goal::DeadlockFreedom);
    let twice = crate::stage::Bounds { duplicates: 1, ..crate::stage::Bounds::default() };
    let doubled = crate::explore::Exploration { bounds: twice, ..explored(2, 1) };
    let safety_alone = court.breaks("token-ring", &doubled, Goal::MutualExclusion)
        && court.holds("token-ring", &doubled, &[Goal::DeadlockFreedom]);
    let mut implied = true;
    for entry in ENTRIES.iter().filter(|entry| entry.family == Family::Mutex && entry.name != "majority") {
        let starves = court.holds(entry.name, &explored(3, 1), &[Goal::StarvationFreedom]);
        implied &= !starves || court.holds(entry.name, &explored(3, 1), &[Goal::DeadlockFreedom]);
    }
    Verdict::of(order_alone && liveness_alone && safety_alone && implied)
}

/// How many steps a history has at most.
const LONGEST: usize = 10;

/// One step of a history.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Ask(usize),
    Enter(usize),
    Leave,
}

/// All histories of three processes that ask, enter and leave. Each request happened before those after it.
struct Histories {
    in_order: bool,
    count: u64,
    most_by_one: u32,
    most_overtaken: u32,
}

impl Histories {
    fn new(in_order: bool) -> Histories {
        Histories { in_order, count: 0, most_by_one: 0, most_overtaken: 0 }
    }

    fn extend(&mut self, history: &mut Vec<Step>) {
        let (mut waiting, mut inside) = (Vec::new(), None);
        for step in history.iter() {
            match *step {
                Step::Ask(who) => waiting.push((who, [0; 3])),
                Step::Enter(who) => {
                    waiting.retain(|(other, _)| *other != who);
                    for (_, entries) in &mut waiting {
                        entries[who] += 1;
                    }
                    inside = Some(who);
                }
                Step::Leave => inside = None,
            }
        }
        self.count += 1;
        for (_, entries) in &waiting {
            self.most_by_one = self.most_by_one.max(entries.iter().copied().max().unwrap_or(0));
            self.most_overtaken = self.most_overtaken.max(entries.iter().sum());
        }
        if history.len() == LONGEST {
            return;
        }
        let mut next = Vec::new();
        next.extend(
            (0..3).filter(|who| inside != Some(*who) && !waiting.iter().any(|(id, _)| id == who)).map(Step::Ask),
        );
        match inside {
            Some(_) => next.push(Step::Leave),
            None => {
                let allowed = if self.in_order { waiting.len().min(1) } else { waiting.len() };
                next.extend(waiting[..allowed].iter().map(|(who, _)| Step::Enter(*who)));
            }
        }
        for step in next {
            history.push(step);
            self.extend(history);
            history.pop();
        }
    }
}

/// How many events a run has.
const EVENTS: usize = 5;

/// Some processes, their events, and messages on their way.
#[derive(Clone, Default)]
struct Structure {
    clocks: [LamportClock; 3],
    /// Of each event: who, its number, and which events happened before it, as bits.
    events: Vec<(usize, u64, u32)>,
    /// What each process has in its past.
    pasts: [u32; 3],
    /// To whom, with which number, and with which past.
    letters: Vec<(usize, quorate_core::clock::Number, u32)>,
}

impl Structure {
    fn event(&mut self, who: usize) -> quorate_core::clock::Number {
        let number = self.clocks[who].tick();
        self.events.push((who, number.get(), self.pasts[who]));
        self.pasts[who] |= 1 << (self.events.len() - 1);
        number
    }
}

/// All of them, and what was found.
#[derive(Default)]
struct Structures {
    count: u64,
    backwards: u64,
    ties: u64,
    unrelated: u64,
}

impl Structures {
    fn extend(&mut self, structure: &mut Structure) {
        if structure.events.len() == EVENTS {
            return self.look_at(structure);
        }
        for who in 0..3 {
            let mut local = structure.clone();
            local.event(who);
            self.extend(&mut local);
            for to in (0..3).filter(|&to| to != who) {
                let mut sending = structure.clone();
                let number = sending.event(who);
                sending.letters.push((to, number, sending.pasts[who]));
                self.extend(&mut sending);
            }
        }
        for place in 0..structure.letters.len() {
            let mut receiving = structure.clone();
            let (to, number, past) = receiving.letters.remove(place);
            receiving.clocks[to].observe(number);
            receiving.pasts[to] |= past;
            receiving.event(to);
            self.extend(&mut receiving);
        }
    }

    fn look_at(&mut self, structure: &Structure) {
        self.count += 1;
        for (place, &(who, number, past)) in structure.events.iter().enumerate() {
            for (other, &(whose, earlier, other_past)) in structure.events.iter().enumerate() {
                let before = past >> other & 1 == 1;
                self.backwards += u64::from(before && earlier >= number);
                self.ties += u64::from(other < place && (whose, earlier) == (who, number));
                let related = before || other == place || other_past >> place & 1 == 1;
                self.unrelated += u64::from(!related && (earlier, whose) < (number, who));
            }
        }
    }
}
