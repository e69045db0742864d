//! The summary tables of two documents: one claim a cell.

use super::costs::{Meter, SIZES, agrees};
use super::court::{experiment, explored, number};
use super::maekawa::{about_three_roots, messages_by_k};
use super::token_ring::handovers;
use super::{Claim, Court, Verdict, claims};
use crate::application::ClientPlan;
use crate::experiment::Experiment;
use crate::explore::Exploration;
use crate::explore::goal::Goal;
use crate::stage::Bounds;

const RING: &str = "token-ring";
const RA: &str = "ricart-agrawala";

/// A cell of the table of a document.
const fn cell(
    id: &'static str,
    documents: &'static str,
    statement: &'static str,
    judge: fn(&mut Court) -> Verdict,
) -> Claim {
    Claim { id, documents, statement, judge }
}

pub(super) const CLAIMS: &[Claim] = &[
    cell("F2.A.central.messages", "A", "Central server: 3 messages per use.", |court| {
        Verdict::of(agrees(court, "central", Meter::Messages, "3", |_| 3.0))
    }),
    cell("F2.A.central.sync", "A", "Central server: synchronization delay of 2 messages.", |court| {
        Verdict::of(agrees(court, "central", Meter::SyncDelay, "2", |_| 2.0))
    }),
    cell(
        "F2.A.central.problem",
        "A",
        "Central server: a crash of the coordinator or of the holder is a problem.",
        |court| same_as(court, "C7"),
    ),
    cell("F2.A.ring.messages", "A", "Token ring: 1 to ∞ messages per use.", |court| {
        let least = contended(court).iter().all(|&messages| messages == 1.0);
        Verdict::of(same_as(court, "T6") == Verdict::Holds && least)
    }),
    cell("F2.A.ring.sync", "A", "Token ring: synchronization delay of n/2 messages on average.", |court| {
        let (others, all) = (handovers(court, false), handovers(court, true));
        let fits = |all: &[(u32, f64, f64, f64)]| all.iter().all(|&(n, _, mean, _)| mean == f64::from(n) / 2.0);
        Verdict::only_if("the next process to enter is not the one that exited", fits(&others), fits(&all))
    }),
    cell("F2.A.ring.problem", "A", "Token ring: the loss of the token or a crash is a problem.", |court| {
        let lossy = Exploration { bounds: Bounds { losses: 1, ..Bounds::default() }, ..explored(3, 1) };
        let lost = court.breaks(RING, &lossy, Goal::DeadlockFreedom);
        Verdict::of(same_as(court, "T7") == Verdict::Holds && lost)
    }),
    cell("F2.A.ra.messages", "A", "Ricart–Agrawala: 2(n−1) messages per use.", |court| {
        Verdict::of(agrees(court, RA, Meter::Messages, "2(n−1)", |n| 2.0 * (n - 1.0)))
    }),
    cell("F2.A.ra.sync", "A", "Ricart–Agrawala: synchronization delay of 1 message.", |court| {
        Verdict::of(agrees(court, RA, Meter::SyncDelay, "1", |_| 1.0))
    }),
    cell("F2.A.ra.problem", "A", "Ricart–Agrawala: a crash of any process is a problem.", |court| {
        same_as(court, "R6")
    }),
    cell("F2.A.maekawa.messages", "A", "Maekawa: 3√n messages per use.", about_three_roots),
    cell("F2.A.maekawa.sync", "A", "Maekawa: synchronization delay of 2 messages.", |court| same_as(court, "M6.sync")),
    cell("F2.A.maekawa.problem", "A", "Maekawa: a crash in a voting set is a problem.", |court| {
        same_as(court, "M12.A")
    }),
    cell("F2.B.central.enter", "B", "Central server: 2 messages to enter.", |court| {
        Verdict::of(agrees(court, "central", Meter::ToEnter, "2", |_| 2.0))
    }),
    cell("F2.B.central.leave", "B", "Central server: 1 message to exit.", |court| {
        Verdict::of(agrees(court, "central", Meter::ToExit, "1", |_| 1.0))
    }),
    cell("F2.B.central.entering", "B", "Central server: client delay of 2δ to enter.", |court| {
        Verdict::of(agrees(court, "central", Meter::ClientDelay, "2", |_| 2.0))
    }),
    cell("F2.B.central.leaving", "B", "Central server: client delay of 0.5δ to exit.", |court| {
        Verdict::of(agrees(court, "central", Meter::ExitDelay, "0.5", |_| 0.5))
    }),
    cell("F2.B.central.sync", "B", "Central server: synchronization delay of 2δ.", |court| {
        Verdict::of(agrees(court, "central", Meter::SyncDelay, "2", |_| 2.0))
    }),
    cell("F2.B.ring.enter", "B", "Token ring: a constant number of messages to enter.", |court| {
        let always = contended(court);
        let constant = always.windows(2).all(|pair| pair[0] == pair[1]);
        let unbounded = same_as(court, "T6") == Verdict::Holds;
        Verdict::only_if("every process always wants to enter", constant, constant && !unbounded)
    }),
    cell("F2.B.ring.leave", "B", "Token ring: (N+1)/2 messages to exit.", |court| {
        Verdict::of(agrees(court, RING, Meter::ToExit, "(N+1)/2", |n| (n + 1.0) / 2.0))
    }),
    cell("F2.B.ring.entering", "B", "Token ring: client delay of Nδ/2 to enter.", |court| same_as(court, "T3.B")),
    cell("F2.B.ring.leaving", "B", "Token ring: client delay of 0 to exit.", |court| {
        Verdict::of(agrees(court, RING, Meter::ExitDelay, "0", |_| 0.0))
    }),
    cell("F2.B.ring.sync", "B", "Token ring: synchronization delay of (N+1)δ/2.", |court| same_as(court, "T5.B")),
    cell("F2.B.ra.enter", "B", "Ricart–Agrawala: 2N−1 messages to enter.", |court| {
        Verdict::of(agrees(court, RA, Meter::ToEnter, "2N−1", |n| 2.0 * n - 1.0))
    }),
    cell("F2.B.ra.leave", "B", "Ricart–Agrawala: 0 messages to exit.", |court| {
        let alone = agrees(court, RA, Meter::ToExit, "0", |_| 0.0);
        let contended = agrees(court, RA, Meter::ToExitContended, "0", |_| 0.0);
        Verdict::only_if(
            "no process waits, or deferred replies are counted as part of the other processes' entries",
            alone,
            contended,
        )
    }),
    cell("F2.B.ra.entering", "B", "Ricart–Agrawala: client delay of 2δ to enter.", |court| {
        Verdict::of(agrees(court, RA, Meter::ClientDelay, "2", |_| 2.0))
    }),
    cell("F2.B.ra.leaving", "B", "Ricart–Agrawala: client delay of 0.5δ to exit.", |court| {
        Verdict::of(agrees(court, RA, Meter::ExitDelay, "0.5", |_| 0.5))
    }),
    cell("F2.B.ra.sync", "B", "Ricart–Agrawala: synchronization delay of 1δ.", |court| {
        Verdict::of(agrees(court, RA, Meter::SyncDelay, "1", |_| 1.0))
    }),
    cell("F2.B.maekawa.enter", "B", "Maekawa: 2K messages to enter.", |court| {
        let (network, own) = messages_by_k(court);
        Verdict::only_if("messages that a process sends to itself are counted", own, network)
    }),
    cell("F2.B.maekawa.leave", "B", "Maekawa: K messages to exit.", |court| {
        let (network, own) = messages_by_k(court);
        Verdict::only_if("messages that a process sends to itself are counted", own, network)
    }),
    cell("F2.B.maekawa.entering", "B", "Maekawa: client delay of 2δ to enter.", |court| {
        Verdict::of(agrees(court, "maekawa", Meter::ClientDelay, "2", |_| 2.0))
    }),
    cell("F2.B.maekawa.leaving", "B", "Maekawa: client delay of 0.5δ to exit.", |court| {
        Verdict::of(agrees(court, "maekawa", Meter::ExitDelay, "0.5", |_| 0.5))
    }),
    cell("F2.B.maekawa.sync", "B", "Maekawa: synchronization delay of 2δ.", |court| same_as(court, "M6.sync")),
];

/// What another claim's judge finds, for a cell that repeats it.
fn same_as(court: &mut Court, id: &str) -> Verdict {
    let claim = claims().into_iter().find(|claim| claim.id == id).expect("a cell repeats a claim that there is");
    (claim.judge)(court)
}

/// Messages a use of the token ring while everybody always wants to enter, and how a run begins is left out.
fn contended(court: &mut Court) -> Vec<f64> {
    let mut run = |n: u32, entries| {
        let clients = ClientPlan { entries, ..ClientPlan::default() };
        court.run(RING, &Experiment { clients, ..experiment(n) }).report.outcome.costs.messages as f64
    };
    let values = SIZES.map(|n| {
        let entries = 10 * u64::from(n);
        (run(n, 2 * entries) - run(n, entries)) / entries as f64
    });
    court.say(format!(
        "token-ring: messages per use while every process always wants to enter: {}",
        values.map(number).join(", ")
    ));
    values.to_vec()
}
