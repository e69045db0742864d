//! The central server.

use quorate_core::setting::Timing;
use quorate_core::trace::What;

use super::costs::{Meter, SIZES, agrees, asking};
use super::court::{delta, experiment, explored, number, p, yes_or_no};
use super::order::{keeps_order, with_pokes, without};
use super::ricart_agrawala::goes_on;
use super::{Claim, Court, Verdict};
use crate::application::ClientPlan;
use crate::experiment::Experiment;
use crate::explore::Exploration;
use crate::explore::goal::Goal;
use crate::recovery::Beside;
use crate::simulate::Fault;
use crate::stage::Bounds;
use crate::stage::wish::Times;

const ME: &str = "central";

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "C1",
        documents: "A, C, D, E",
        statement: "The central server is safe (ME1) and live (ME2).",
        judge: |court| {
            let goals = [Goal::MutualExclusion, Goal::DeadlockFreedom, Goal::StarvationFreedom];
            let once = court.holds(ME, &explored(4, 1), &goals);
            let endless = Exploration { times: Times::Endless, ..explored(4, 1) };
            Verdict::of(court.holds(ME, &endless, &goals) && once)
        },
    },
    Claim {
        id: "C2",
        documents: "A, C, E",
        statement: "The central server does not grant requests in happened-before order (ME3).",
        judge: |court| {
            let told = with_pokes(explored(3, 1), 1);
            let alone = keeps_order(court, ME, &[explored(3, 1), explored(3, 2)]);
            let in_order = keeps_order(court, ME, &[told]);
            court.say(format!(
                "only an application message can put two requests in happened-before order here: without one, ME3 {}",
                if alone { "holds" } else { "is violated, too" }
            ));
            Verdict::of(!in_order)
        },
    },
    Claim {
        id: "C3",
        documents: "A, B, E",
        statement: "Entering takes 2 messages and exiting takes 1, so a use (an entry and its exit) takes 3.",
        judge: |court| {
            let enter = agrees(court, ME, Meter::ToEnter, "2", |_| 2.0);
            let exit = agrees(court, ME, Meter::ToExit, "1", |_| 1.0);
            let both = agrees(court, ME, Meter::Messages, "3", |_| 3.0);
            Verdict::of(enter && exit && both)
        },
    },
    Claim {
        id: "C4.E",
        documents: "E",
        statement: "The client delay is a round trip to enter and zero to exit.",
        judge: |court| delays(court, "0", |_| 0.0),
    },
    Claim {
        id: "C4.A",
        documents: "A",
        statement: "The client delay is 2 messages to enter and 1 message to exit.",
        judge: |court| delays(court, "1", |_| 1.0),
    },
    Claim {
        id: "C4.B",
        documents: "B",
        statement: "The client delay is 2δ to enter and δ/2 to exit.",
        judge: |court| delays(court, "0.5", |_| 0.5),
    },
    Claim {
        id: "C5",
        documents: "A, B, E",
        statement: "The synchronization delay is 2 messages, a round trip.",
        judge: |court| Verdict::of(agrees(court, ME, Meter::SyncDelay, "2", |_| 2.0)),
    },
    Claim {
        id: "C6",
        documents: "D",
        statement: "No process starves, because the coordinator grants requests first come, first served.",
        judge: |court| {
            let endless = Exploration { times: Times::Endless, ..explored(4, 1) };
            Verdict::of(court.holds(ME, &endless, &[Goal::StarvationFreedom]))
        },
    },
    Claim {
        id: "C7",
        documents: "A",
        statement: "A crash of the coordinator blocks every process, and so does a crash of the holder.",
        judge: crashes_block,
    },
    Claim {
        id: "C8",
        documents: "E",
        statement: "The crash of a client that neither holds the lock nor waits for it is harmless.",
        judge: |court| {
            let goals = [Goal::MutualExclusion, Goal::DeadlockFreedom];
            let before = court.holds(ME, &without(explored(4, 2), &[4]), &goals);
            let mut after = true;
            for entries in 1..=3 {
                // Process 2 has left for good when it crashes.
                let faults = vec![Fault::Crash(p(2), delta(4.0))];
                let list: Vec<_> = [(2, 0.0), (3, 0.5), (4, 1.0)][..entries].to_vec();
                let run = court.run(ME, &Experiment { faults, ..asking(4, &list) });
                after &= run.entries().len() == entries;
            }
            court.say(format!(
                "{} runs in which a client crashes after its exit; all other clients enter in all of them: {}",
                court.runs(),
                yes_or_no(after)
            ));
            Verdict::of(before && after)
        },
    },
    Claim { id: "C9", documents: "C, E", statement: "The coordinator is a bottleneck.", judge: bottleneck },
    Claim {
        id: "C10",
        documents: "C, D",
        statement: "The coordinator is chosen by an election.",
        judge: |court| {
            let bounds = Bounds { crashes: 1, ..Bounds::default() };
            let goals = [Goal::MutualExclusion, Goal::DeadlockFreedom, Goal::StarvationFreedom, Goal::Fencing];
            let chosen = Beside::ALL.into_iter().all(|election| {
                let timing = election.entry().assumptions.synchronous.then_some(Timing::Synchronous);
                let told = Exploration { recovery: Some(election), timing, bounds, ..explored(3, 1) };
                court.holds(ME, &told, &goals)
            });
            if !chosen {
                return Verdict::Refuted;
            }
            Verdict::Conditional(
                "the claim means later coordinators; the first one is always process 1, without an election".into(),
            )
        },
    },
    Claim {
        id: "C11",
        documents: "E",
        statement: "Worked example: p3 holds the lock, then p4 and p2 wait, in this order. When p3 exits, p4 enters.",
        judge: |court| {
            let experiment = asking(4, &[(3, 0.0), (4, 0.25), (2, 0.5)]);
            let run = court.run(ME, &experiment);
            let order: Vec<_> = run.entries().into_iter().map(|(id, _)| id).collect();
            court.say(format!("the processes enter in the order {order:?}"));
            court.show_run(ME, &experiment, &run, "p4 enters after p3 exits, then p2");
            Verdict::of(order == [3, 4, 2])
        },
    },
];

fn delays(court: &mut Court, formula: &str, exit: fn(f64) -> f64) -> Verdict {
    let entry = agrees(court, ME, Meter::ClientDelay, "2", |_| 2.0);
    let left = agrees(court, ME, Meter::ExitDelay, formula, exit);
    Verdict::of(entry && left)
}

/// The coordinator is dead from the beginning, or crashes at some moment; or who is inside does.
fn crashes_block(court: &mut Court) -> Verdict {
    let dead = court.breaks(ME, &without(explored(3, 1), &[1]), Goal::DeadlockFreedom);
    let mut blocked = true;
    for half in 0..8 {
        let (at, clients) = (delta(f64::from(half) / 2.0), ClientPlan { entries: 40, ..ClientPlan::default() });
        let faults = vec![Fault::Crash(p(1), at)];
        let run = court.run(ME, &Experiment { faults, clients, ..experiment(4) });
        // Whoever was let in before may still enter.
        blocked &=
            run.report.outcome.costs.entries < 40 && run.entries().iter().all(|(_, when)| *when <= at + delta(1.0));
    }
    let inside =
        Experiment { faults: vec![Fault::Crash(p(2), delta(2.5))], ..asking(4, &[(2, 0.0), (3, 1.0), (4, 1.0)]) };
    let run = court.run(ME, &inside);
    let entered: Vec<_> = run.entries().into_iter().map(|(id, _)| id).collect();
    let crashed_inside = run.moments(|what| *what == What::Leaving).is_empty() && entered == [2];
    court.say(format!(
        "the coordinator crashes, at 8 different times; no process enters more than 1 δ later: {}",
        yes_or_no(blocked)
    ));
    court.say(format!("the holder p2 crashes inside; p3 and p4 never enter: {}", yes_or_no(crashed_inside)));
    Verdict::of(dead && blocked && crashed_inside && goes_on(court, ME))
}

/// Every message is one of the coordinator's, however many clients there are; where nobody is special, the share of
/// each falls with their number.
fn bottleneck(court: &mut Court) -> Verdict {
    let share = |court: &mut Court, algorithm: &'static str, n: u32| {
        let clients = ClientPlan { entries: 3 * u64::from(n), ..ClientPlan::default() };
        let run = court.run(algorithm, &Experiment { clients, ..experiment(n) });
        let handled = run.records.iter().filter_map(|record| match record.what {
            What::Sent { to, .. } => Some((record.process, to)),
            _ => None,
        });
        let ends: Vec<_> = handled.collect();
        let busiest = (1..=n).map(|id| ends.iter().filter(|(from, to)| *from == p(id) || *to == p(id)).count()).max();
        busiest.unwrap_or(0) as f64 / ends.len().max(1) as f64
    };
    let mut all = true;
    for n in SIZES {
        let (central, spread) = (share(court, ME, n), share(court, "ricart-agrawala", n));
        all &= central == 1.0 && spread < central;
        let percent = |share: f64| number((share * 1000.0).round() / 10.0);
        court.say(format!(
            "n = {n}: the busiest process sends or receives {} % of all messages; in ricart-agrawala {} %",
            percent(central),
            percent(spread)
        ));
    }
    Verdict::of(all)
}
