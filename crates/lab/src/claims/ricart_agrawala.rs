//! Ricart and Agrawala's algorithm, and its refinements.

use quorate_core::clock::Number;
use quorate_core::setting::Timing;
use quorate_core::trace::{Record, What};

use super::costs::{Meter, SIZES, agrees, asks};
use super::court::{experiment, explored, p, yes_or_no};
use super::order::{keeps_order, with_option, with_pokes, without};
use super::{Claim, Court, Verdict};
use crate::application::{ClientPlan, Workload};
use crate::experiment::Experiment;
use crate::explore::Exploration;
use crate::explore::goal::Goal;
use crate::network::Order;
use crate::recovery::Beside;
use crate::stage::Bounds;

const ME: &str = "ricart-agrawala";
const SAFE_AND_LIVE: [Goal; 3] = [Goal::MutualExclusion, Goal::DeadlockFreedom, Goal::StarvationFreedom];

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "R1.safe",
        documents: "A, C, D, E",
        statement: "Ricart–Agrawala is safe (ME1) and live (ME2).",
        judge: |court| {
            let once = court.holds(ME, &explored(3, 1), &SAFE_AND_LIVE);
            Verdict::of(court.holds(ME, &explored(3, 2), &SAFE_AND_LIVE) && once)
        },
    },
    Claim {
        id: "R1.order",
        documents: "A, C, E",
        statement: "Ricart–Agrawala grants requests in happened-before order (ME3).",
        judge: in_order,
    },
    Claim {
        id: "R2",
        documents: "E",
        statement: "Ricart–Agrawala does not need FIFO channels.",
        judge: |court| {
            let any = |entries| Exploration { order: Some(Order::Any), ..explored(3, entries) };
            let goals = [Goal::MutualExclusion, Goal::DeadlockFreedom, Goal::RequestOrder];
            let once = court.holds(ME, &any(1), &goals);
            Verdict::of(court.holds(ME, &any(2), &goals) && once)
        },
    },
    Claim {
        id: "R3.ADE",
        documents: "A, D, E",
        statement: "A use takes 2(N−1) messages without hardware multicast.",
        judge: |court| Verdict::of(agrees(court, ME, Meter::Messages, "2(N−1)", |n| 2.0 * (n - 1.0))),
    },
    Claim {
        id: "R3.B",
        documents: "B",
        statement: "A use takes 2N−1 messages.",
        judge: |court| Verdict::of(agrees(court, ME, Meter::Messages, "2N−1", |n| 2.0 * n - 1.0)),
    },
    Claim {
        id: "R3.C",
        documents: "C",
        statement: "Exiting can take N−1 messages.",
        judge: |court| Verdict::of(agrees(court, ME, Meter::ToExitContended, "N−1", |n| n - 1.0)),
    },
    Claim {
        id: "R4",
        documents: "A, B, E",
        statement: "The client delay is a round trip.",
        judge: |court| Verdict::of(agrees(court, ME, Meter::ClientDelay, "2", |_| 2.0)),
    },
    Claim {
        id: "R5",
        documents: "A, B, E",
        statement: "The synchronization delay is 1 message.",
        judge: |court| Verdict::of(agrees(court, ME, Meter::SyncDelay, "1", |_| 1.0)),
    },
    Claim {
        id: "R6",
        documents: "A, D",
        statement: "A crash of any process blocks the algorithm, because a missing reply looks like a deferred one.",
        judge: |court| {
            let dead: Vec<_> =
                (1..=3).map(|id| court.breaks(ME, &without(explored(3, 1), &[id]), Goal::DeadlockFreedom)).collect();
            Verdict::of(dead.into_iter().all(|blocked| blocked) && goes_on(court, ME))
        },
    },
    Claim {
        id: "R7",
        documents: "E",
        statement: "The algorithm survives the crash of a process that is neither inside nor waiting, if the others \
                    treat the crashed process as having granted every request.",
        judge: |court| recovers(court, ME, 3, 1),
    },
    Claim {
        id: "R8",
        documents: "D",
        statement: "The algorithm survives crashes if every request is answered with a grant or a denial, and the \
                    requester repeats it after a timeout until an answer arrives or the peer is suspected.",
        judge: silence_means_death,
    },
    Claim {
        id: "R9",
        documents: "E",
        statement: "Its authors refined the algorithm so that an entry takes N messages in the worst case and in the \
                    common case.",
        judge: |court| {
            court.say("judged on suzuki-kasami: the authors' token version of 1983 is the same algorithm");
            let alone = agrees(court, "suzuki-kasami", Meter::Messages, "N", |n| n);
            let most = SIZES.map(|n| costliest_entry(court, "suzuki-kasami", n));
            court.say(format!("most messages of any entry in {} runs: {most:?} for n = {SIZES:?}", court.runs()));
            let bounded = SIZES.iter().zip(most).all(|(&n, most)| most == u64::from(n));
            Verdict::of(alone && bounded)
        },
    },
    Claim {
        id: "R9b",
        documents: "Carvalho & Roucairol",
        statement: "The refinement by Carvalho and Roucairol takes 0 to 2(N−1) messages per entry.",
        judge: |court| {
            let alone = agrees(court, "roucairol-carvalho", Meter::Messages, "2(N−1)", |n| 2.0 * (n - 1.0));
            let mut within = true;
            for n in SIZES {
                let again = court.run("roucairol-carvalho", &alone_times(n, 2)).report.outcome.costs.messages;
                let (once, most) = (2 * u64::from(n - 1), costliest_entry(court, "roucairol-carvalho", n));
                within &= again == once && most <= once;
                court.say(format!(
                    "n = {n}: a second entry by the same process takes {} messages; the most expensive entry of all \
                     takes {most}",
                    again - once
                ));
            }
            Verdict::of(alone && within)
        },
    },
    Claim {
        id: "R9c.prose",
        documents: "C",
        statement: "A process replies only to requests that are later than its own.",
        judge: |court| {
            let later = with_option(explored(3, 1), "first", "later");
            let safe = !court.breaks(ME, &later, Goal::MutualExclusion);
            Verdict::of(safe && court.holds(ME, &later, &[Goal::DeadlockFreedom]))
        },
    },
    Claim {
        id: "R9c.code",
        documents: "C",
        statement: "A process that waits to enter defers requests later than its own and replies to earlier ones.",
        judge: |court| {
            let earlier = with_option(explored(3, 1), "first", "earlier");
            Verdict::of(court.holds(ME, &earlier, &[Goal::MutualExclusion, Goal::DeadlockFreedom]))
        },
    },
    Claim {
        id: "R10",
        documents: "E",
        statement: "Worked example: p1 requests entry with timestamp 41 and p2 with timestamp 34; p3 does not \
                    request entry. p2 enters first, then p1.",
        judge: |court| {
            let clock = |id, shown: u64| (p(id), Number::try_from(shown).unwrap_or_default());
            let clients = ClientPlan { clocks: vec![clock(1, 40), clock(2, 33)], ..asks(&[(1, 0.0), (2, 0.0)]) };
            let example = Experiment { clients, ..experiment(3) };
            let run = court.run(ME, &example);
            let order: Vec<_> = run.entries().into_iter().map(|(id, _)| id).collect();
            let asked = |from, at| {
                run.records.iter().any(|record| {
                    let is = |what: &What| matches!(what, What::Sent { label, .. } if label.number == Some(at));
                    record.process == p(from) && is(&record.what)
                })
            };
            let as_told = asked(1, 41) && asked(2, 34) && run.moments(|what| *what == What::Wanted).len() == 2;
            court.say(format!(
                "p1 requests with timestamp 41, p2 with 34, and p3 does not request: {}; the processes enter in the \
                 order {order:?}",
                yes_or_no(as_told)
            ));
            court.show_run(ME, &example, &run, "p2's request has the smaller timestamp");
            Verdict::of(as_told && order == [2, 1])
        },
    },
];

fn in_order(court: &mut Court) -> Verdict {
    let numbered = [explored(3, 1), with_pokes(explored(3, 1), 1), explored(3, 2), with_pokes(explored(3, 2), 1)];
    let with = keeps_order(court, ME, &numbered);
    let bare = |exploration| with_option(exploration, "replies", "bare");
    let once_bare = court.holds(ME, &bare(explored(3, 1)), &[Goal::RequestOrder]);
    let twice_bare = !court.breaks(ME, &bare(explored(3, 2)), Goal::RequestOrder);
    let unstamped = Exploration { unstamped_pokes: true, ..with_pokes(explored(3, 1), 1) };
    let stampless = !court.breaks(ME, &unstamped, Goal::RequestOrder);
    court.say(format!(
        "with replies that carry no clock, as in the paper, and one entry each, ME3 {}; the violation needs two \
         entries",
        if once_bare { "holds" } else { "is violated" }
    ));
    Verdict::only_if(
        "replies and application messages carry the clock, not only requests",
        with,
        twice_bare && stampless,
    )
}

/// Whether it goes on without who has crashed, where every request is answered at once.
fn silence_means_death(court: &mut Court) -> Verdict {
    let crash = Exploration { bounds: Bounds { crashes: 1, ..Bounds::default() }, ..explored(3, 1) };
    let answered = |exploration: &Exploration, how| with_option(exploration.clone(), "answer", how);
    let once = !court.breaks(ME, &answered(&crash, "once"), Goal::DeadlockFreedom);
    court.say(
        "a process that sent a denial may crash before it sends the grant, so a denied requester has to keep asking \
         (`answer=always`):",
    );
    let goals = [Goal::MutualExclusion, Goal::DeadlockFreedom, Goal::StarvationFreedom, Goal::Fencing];
    let always = court.holds(ME, &answered(&crash, "always"), &goals);
    let blocked = court.breaks(ME, &crash, Goal::DeadlockFreedom);
    let bounds = Bounds { timeouts: Some(2), ..Bounds::default() };
    let late = Exploration { timing: Some(Timing::Asynchronous), bounds, ..explored(2, 1) };
    let unbounded = !court.breaks(ME, &answered(&late, "always"), Goal::MutualExclusion);
    Verdict::only_if(
        "a denied requester keeps asking until it receives a grant, and message delays have a known bound",
        blocked && always,
        once && unbounded,
    )
}

/// Whether it goes on, whoever crashes and whenever, where everybody is told so.
pub(super) fn recovers(court: &mut Court, algorithm: &'static str, n: u32, crashes: u32) -> Verdict {
    let bounds = Bounds { crashes, ..Bounds::default() };
    let told = Exploration { recovery: Some(Beside::Ring), bounds, ..explored(n, 1) };
    let goals = [Goal::MutualExclusion, Goal::DeadlockFreedom, Goal::StarvationFreedom, Goal::Fencing];
    Verdict::of(court.holds(algorithm, &told, &goals))
}

/// The other side of a claim that crashes block it: told of them, it goes on.
pub(super) fn goes_on(court: &mut Court, algorithm: &'static str) -> bool {
    court.say("if every process is notified of crashes, the algorithm recovers:");
    recovers(court, algorithm, 3, 1) == Verdict::Holds
}

fn alone_times(n: u32, entries: u64) -> Experiment {
    Experiment { clients: ClientPlan { workload: Workload::Alone, entries, ..ClientPlan::default() }, ..experiment(n) }
}

/// The most messages that any one entry took, requests and what was answered, over runs in which everybody wants to
/// enter, or few do.
fn costliest_entry(court: &mut Court, algorithm: &'static str, n: u32) -> u64 {
    let mut most = 0;
    for workload in [Workload::Contended, Workload::Poisson(0.1), Workload::Poisson(0.001)] {
        let clients = ClientPlan { workload, entries: 8 * u64::from(n), ..ClientPlan::default() };
        let run = court.run(algorithm, &Experiment { clients, ..experiment(n) });
        let mut spent = vec![0; n as usize];
        for Record { process, what, .. } in &run.records {
            let spent = &mut spent[process.index()];
            match what {
                What::Wanted => *spent = 0,
                What::Sent { label, .. } if label.kind == "request" => *spent += 1,
                What::Received { label, .. } if label.kind != "request" => *spent += 1,
                What::Entered { .. } => most = most.max(*spent),
                _ => {}
            }
        }
    }
    most
}
