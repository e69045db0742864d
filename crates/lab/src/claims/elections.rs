//! Elections.

use quorate_core::catalog::Property;
use quorate_core::id::Id;
use quorate_core::setting::Timing;
use quorate_core::trace::What;

use super::court::{delta, experiment, explored, number, p, yes_or_no};
use super::order::{with_option, without};
use super::{Claim, Court, Verdict};
use crate::experiment::Experiment;
use crate::explore::Exploration;
use crate::explore::goal::Goal;
use crate::network::{Delay, Order};
use crate::simulate::Fault;
use crate::stage::Bounds;
use crate::time::{DELTA, in_delta};

const CHANG: &str = "chang-roberts";
const BULLY: &str = "bully";
const RING: &str = "ring";
const GOOD: [Goal; 2] = [Goal::SingleLeader, Goal::Decided];

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "E0",
        documents: "B",
        statement: "Each process initiates at most one election at a time, so up to N elections run at once.",
        judge: one_each,
    },
    Claim {
        id: "E1",
        documents: "A, B",
        statement: "A correct election is safe (no process chooses a leader other than the live process with the \
                    largest id) and live (every process takes part and ends with a choice or crashes). The three \
                    algorithms are correct.",
        judge: |court| {
            let mut good = true;
            for algorithm in [CHANG, RING, BULLY] {
                good &= court.holds(algorithm, &explored(3, 1), &GOOD);
            }
            Verdict::of(good)
        },
    },
    Claim {
        id: "K1",
        documents: "A, B",
        statement: "Chang–Roberts is safe and live.",
        judge: |court| {
            let mut good = court.holds(CHANG, &explored(4, 1), &GOOD);
            for ring in ["ascending", "descending"] {
                good &= court.holds(CHANG, &with_option(explored(3, 2), "ring", ring), &GOOD);
            }
            Verdict::of(good)
        },
    },
    Claim {
        id: "K2.worst",
        documents: "A, B",
        statement: "Chang–Roberts takes 3N−1 messages in the worst case.",
        judge: |court| {
            let (mut one, mut any) = (true, true);
            for n in [3, 4, 8, 16] {
                let most = Id::all(n).map(|id| messages(court, CHANG, n, &[id.number()], &[])).max();
                let down = [("ring", "descending")];
                let all = messages(court, CHANG, n, &Id::all(n).map(Id::number).collect::<Vec<_>>(), &down);
                court.say(format!(
                    "n = {n}: at most {} messages if one process starts, {all} if all start; 3N−1 = {}",
                    most.unwrap_or(0),
                    3 * n - 1
                ));
                one &= most == Some(u64::from(3 * n - 1));
                any &= one && all < u64::from(3 * n);
            }
            Verdict::only_if(
                "a single process starts the election; if all start, up to N(N+1)/2 + N messages are possible",
                one,
                any,
            )
        },
    },
    Claim {
        id: "K2.best",
        documents: "B",
        statement: "Chang–Roberts takes 2N messages in the best case.",
        judge: |court| {
            let mut all = true;
            for n in [3, 4, 8, 16] {
                let least = Id::all(n).map(|id| messages(court, CHANG, n, &[id.number()], &[])).min();
                court.say(format!("n = {n}: {} messages with the best choice of starter", least.unwrap_or(0)));
                all &= least == Some(u64::from(2 * n));
            }
            Verdict::of(all)
        },
    },
    Claim {
        id: "K3",
        documents: "B",
        statement: "In Chang–Roberts, the participant flag ends all concurrent elections but one.",
        judge: extinguished,
    },
    Claim {
        id: "K4",
        documents: "A",
        statement: "Chang–Roberts can overcome crashes that are detected reliably.",
        judge: |court| {
            let crash = |detector| {
                let bounds = Bounds { crashes: 1, ..Bounds::default() };
                Exploration { bounds, detector: Some(detector), ..explored(3, 1) }
            };
            let told = court.holds(CHANG, &crash(true), &GOOD);
            let untold = court.breaks(CHANG, &crash(false), Goal::Decided);
            court.say(format!("without a failure detector, a crash stops the election: {}", yes_or_no(untold)));
            Verdict::of(told)
        },
    },
    Claim {
        id: "B1",
        documents: "A, B",
        statement: "The bully algorithm is safe and live if ids are unique, crashes are detected reliably and the \
                    system is synchronous.",
        judge: bully_is_good,
    },
    Claim {
        id: "B2.best",
        documents: "A",
        statement: "The bully algorithm takes N−2 messages in the best case.",
        judge: |court| {
            let mut all = true;
            for n in [3, 5, 9, 25] {
                let told = Experiment { detector: Some(true), ..dead_above(n, n - 1) };
                let least = court.run(BULLY, &told).report.outcome.costs.messages;
                court.say(format!(
                    "n = {n}: p{} is notified that p{n} crashed; messages of the election: {least}",
                    n - 1
                ));
                all &= least == u64::from(n - 2);
            }
            Verdict::of(all)
        },
    },
    Claim {
        id: "B2.worst",
        documents: "A",
        statement: "The bully algorithm takes O(N²) messages in the worst case.",
        judge: worst,
    },
    Claim {
        id: "B3",
        documents: "A",
        statement: "The bully algorithm takes 2 rounds, with hardware multicast.",
        judge: rounds,
    },
    Claim {
        id: "B4.tight",
        documents: "A",
        statement: "The bully algorithm is unsafe if its timeout is too short.",
        judge: |court| {
            let tight = |bound| Experiment { bound: Some(delta(bound)), starters: vec![(p(1), 0)], ..experiment(3) };
            let (right, wrong) = (court.run(BULLY, &tight(1.0)), court.run(BULLY, &tight(0.4)));
            let two = |run: &super::court::Run| run.report.outcome.violated(Property::SingleLeader);
            court.say(format!(
                "messages take 1 δ; two leaders if the assumed bound is 1 δ: {}; if it is 0.4 δ: {}",
                yes_or_no(two(&right)),
                yes_or_no(two(&wrong))
            ));
            court.show_run(BULLY, &tight(0.4), &wrong, "p1 becomes leader before the answers arrive");
            Verdict::of(two(&wrong) && !two(&right))
        },
    },
    Claim {
        id: "B4.replaced",
        documents: "A, B",
        statement: "The bully algorithm is unsafe if an id reappears: a crashed process is replaced by one with the \
                    highest id.",
        judge: |court| {
            let back =
                Exploration { bounds: Bounds { restarts: 1, ..Bounds::default() }, ..without(explored(3, 1), &[3]) };
            let gone = court.holds(BULLY, &without(explored(3, 1), &[3]), &[Goal::SingleLeader]);
            Verdict::of(court.breaks(BULLY, &back, Goal::SingleLeader) && gone)
        },
    },
    Claim {
        id: "B4.async",
        documents: "A",
        statement: "The bully algorithm is unsafe if the system is not synchronous.",
        judge: |court| {
            let unbounded = Exploration { timing: Some(Timing::Asynchronous), ..explored(3, 1) };
            let bounded = court.holds(BULLY, &explored(3, 1), &[Goal::SingleLeader]);
            Verdict::of(court.breaks(BULLY, &unbounded, Goal::SingleLeader) && bounded)
        },
    },
    Claim {
        id: "B4b",
        documents: "A",
        statement: "The bully algorithm needs FIFO channels.",
        judge: |court| {
            let any = |exploration: Exploration| Exploration { order: Some(Order::Any), ..exploration };
            let mut without_order = court.holds(BULLY, &any(explored(3, 1)), &GOOD);
            for (n, dead) in [(3, 3), (4, 4)] {
                without_order &= court.holds(BULLY, &any(without(explored(n, 1), &[dead])), &GOOD);
            }
            Verdict::of(!without_order)
        },
    },
    Claim {
        id: "B4c",
        documents: "B",
        statement: "A process answers an election message only if it has not initiated an election itself, and this \
                    is safe.",
        judge: |court| {
            let idle = |exploration| with_option(exploration, "answers", "idle");
            let alive = court.holds(BULLY, &idle(explored(3, 1)), &[Goal::SingleLeader]);
            let dead = !court.breaks(BULLY, &idle(without(explored(3, 1), &[3])), Goal::SingleLeader);
            Verdict::of(alive && dead)
        },
    },
    Claim {
        id: "B5",
        documents: "D",
        statement: "Worked example: of the processes 0 to 7, 7 has crashed and 4 notices it. 5 and 6 answer, and 6 \
                    wins.",
        judge: |court| {
            let example = dead_above(8, 5);
            let run = court.run(BULLY, &example);
            let answers: Vec<_> = run.sent("answer").into_iter().filter(|(_, to)| *to == 5).collect();
            let leader = run.report.outcome.election.leader().map(Id::number);
            court.say(format!(
                "numbered from 1, p8 has crashed and p5 starts; p5 receives answers from {:?}, and p{} wins",
                answers.iter().map(|(from, _)| from).collect::<Vec<_>>(),
                leader.unwrap_or(0)
            ));
            court.show_run(BULLY, &example, &run, "p5 starts an election, p6 and p7 answer, p7 wins");
            Verdict::of(answers == [(6, 5), (7, 5)] && leader == Some(7))
        },
    },
    Claim {
        id: "G1",
        documents: "D",
        statement: "Ring election: the message collects the ids of the live processes and skips crashed ones, the \
                    largest id wins, and every process is notified of the winner.",
        judge: |court| {
            let crash = Exploration { bounds: Bounds { crashes: 1, ..Bounds::default() }, ..explored(3, 1) };
            let good = court.holds(RING, &crash, &GOOD);
            let dead = [2, 6].map(|id| Fault::AbsentFromTheBeginning(p(id)));
            let world = Experiment { faults: dead.to_vec(), starters: vec![(p(3), delta(5.0))], ..experiment(6) };
            let run = court.run(RING, &world);
            let told = run.moments(|what| *what == What::Leader { leader: p(5) });
            let as_said = run.report.outcome.costs.messages == 8 && told.len() == 4;
            let skipped = run.sent("election").iter().all(|(_, to)| *to != 2 && *to != 6);
            court.say(format!(
                "p2 and p6 of 6 have crashed: {} election and {} coordinator messages; none to a crashed process: {}; \
                 {} processes have p5 as their leader",
                run.sent("election").len(),
                run.sent("coordinator").len(),
                yes_or_no(skipped),
                told.len()
            ));
            Verdict::of(good && as_said && skipped)
        },
    },
    Claim {
        id: "G2",
        documents: "D",
        statement: "Worked example: 3 and 6 notice at the same time that 7 has crashed. Both elections end with 6 as \
                    the leader.",
        judge: |court| {
            let example = Experiment { starters: vec![(p(4), 0), (p(7), 0)], ..dead_above(8, 4) };
            let run = court.run(RING, &example);
            let named = run.records.iter().filter_map(|record| match record.what {
                What::Leader { leader } => Some(leader.number()),
                _ => None,
            });
            let named: Vec<_> = named.collect();
            let both = run.sent("coordinator").len() == 14;
            court.say(format!(
                "numbered from 1, p8 has crashed, and p4 and p7 start elections; both complete their round: {}; p7 is \
                 the only leader that any process ever has: {}",
                yes_or_no(both),
                yes_or_no(named.iter().all(|&leader| leader == 7))
            ));
            court.show_run(RING, &example, &run, "both elections end with p7 as the leader");
            Verdict::of(both && !named.is_empty() && named.iter().all(|&leader| leader == 7))
        },
    },
];

/// Everybody but the last lives; this one calls.
fn dead_above(n: u32, starter: u32) -> Experiment {
    Experiment { faults: vec![Fault::AbsentFromTheBeginning(p(n))], starters: vec![(p(starter), 0)], ..experiment(n) }
}

fn started(n: u32, starters: &[u32], options: &[(&str, &str)]) -> Experiment {
    let options = options.iter().map(|(key, value)| ((*key).to_string(), (*value).to_string())).collect();
    Experiment { starters: starters.iter().map(|&id| (p(id), 0)).collect(), options, ..experiment(n) }
}

fn messages(court: &mut Court, algorithm: &'static str, n: u32, starters: &[u32], options: &[(&str, &str)]) -> u64 {
    let run = court.run(algorithm, &started(n, starters, options));
    assert_eq!(run.report.outcome.election.leader(), Some(p(n)), "an election without crashes has a result");
    run.report.outcome.costs.messages
}

/// Whether who calls twice is the same as who calls once, and all can call at once.
fn one_each(court: &mut Court) -> Verdict {
    let (n, mut once, mut all) = (5, true, true);
    for algorithm in [CHANG, BULLY, RING] {
        let (one, two) = (messages(court, algorithm, n, &[2], &[]), messages(court, algorithm, n, &[2, 2], &[]));
        once &= one == two;
        let everybody: Vec<_> = (1..=n).collect();
        let run = court.run(algorithm, &started(n, &everybody, &[]));
        all &=
            run.report.outcome.election.leader() == Some(p(n)) && run.moments(|what| *what == What::Called).len() == 5;
        court.say(format!(
            "{algorithm}, n = {n}: {one} messages if p2 starts an election once, {two} if it starts one twice at the \
             same time; if all {n} start one, p{n} becomes leader"
        ));
    }
    Verdict::of(once && all)
}

/// Every set of starters, on both rings: there is one round that tells of the winner, and no more.
fn extinguished(court: &mut Court) -> Verdict {
    let (n, mut one_round) = (5u32, true);
    for set in 1u32..1 << n {
        let starters: Vec<_> = (1..=n).filter(|id| set >> (id - 1) & 1 == 1).collect();
        for ring in ["ascending", "descending"] {
            let run = court.run(CHANG, &started(n, &starters, &[("ring", ring)]));
            let rounds = run.sent("elected").len() == n as usize;
            one_round &= rounds && run.report.outcome.election.leader() == Some(p(n));
        }
    }
    court.say(format!(
        "n = {n}, every set of starters, both directions of the ring, {} runs; exactly one announcement goes round in \
         each: {}",
        court.runs(),
        yes_or_no(one_round)
    ));
    Verdict::of(one_round && court.holds(CHANG, &explored(4, 1), &GOOD))
}

fn bully_is_good(court: &mut Court) -> Verdict {
    let crash = |n| {
        let bounds = Bounds { crashes: 1, ..Bounds::default() };
        Exploration { bounds, detector: Some(true), ..explored(n, 1) }
    };
    let safe = court.holds(BULLY, &crash(3), &[Goal::SingleLeader]);
    let mut live = court.holds(BULLY, &explored(3, 1), &GOOD);
    for (n, dead) in [(3, &[3][..]), (3, &[2]), (4, &[4]), (4, &[3, 4])] {
        live &= court.holds(BULLY, &without(explored(n, 1), dead), &GOOD);
    }
    let (n, mut decided, before) = (5, 0, court.runs());
    for id in 1..=n {
        for half in 0..20 {
            let faults = vec![Fault::Crash(p(id), delta(f64::from(half) / 2.0))];
            let starters = (1..=n).map(|id| (p(id), 0)).collect();
            let world = Experiment { faults, starters, detector: Some(true), ..experiment(n) };
            let run = court.run(BULLY, &world);
            let outcome = &run.report.outcome;
            decided += u64::from(!outcome.violated(Property::Decided) && !outcome.violated(Property::SingleLeader));
        }
    }
    let runs = court.runs() - before;
    court.say(format!(
        "n = {n}, all processes start an election, and one of them crashes, at a time from 0 to 9.5 δ: {decided} of \
         {runs} runs end with a single leader"
    ));
    let unheard = !court.breaks(BULLY, &crash(2), Goal::Decided);
    Verdict::only_if("a process that does not crash starts an election", safe && live && decided == runs, unheard)
}

/// The most messages, in N², where all delays are equal and where they are not.
fn worst(court: &mut Court) -> Verdict {
    let mut ratios = |delay: Delay, seeds: u64| {
        let mut ratios = Vec::new();
        for n in [4u32, 6, 8, 12] {
            let mut most = 0;
            for seed in 1..=seeds {
                for (starters, faults) in [
                    (vec![1], vec![]),
                    (vec![1], vec![Fault::AbsentFromTheBeginning(p(n))]),
                    ((1..n).collect(), vec![]),
                    ((1..n).collect(), vec![Fault::AbsentFromTheBeginning(p(n))]),
                ] {
                    let run = court.run(BULLY, &Experiment { seed, delay, faults, ..started(n, &starters, &[]) });
                    most = most.max(run.report.outcome.costs.messages);
                }
            }
            ratios.push(most as f64 / f64::from(n * n));
        }
        let shown: Vec<_> = ratios.iter().map(|&ratio| number((ratio * 100.0).round() / 100.0)).collect();
        let kind = if seeds == 1 { "all delays equal" } else { "delays between 0.1 δ and 1 δ" };
        court.say(format!("n = 4, 6, 8, 12, {kind}: most messages, divided by N²: {}", shown.join(", ")));
        // If it is of that order, twice the processes do not make the ratio grow for ever.
        ratios[3] / ratios[2] < 1.2
    };
    let equal = ratios(Delay::Constant(DELTA), 1);
    let unequal = ratios(Delay::Uniform(DELTA / 10, DELTA), 4);
    Verdict::only_if(
        "all message delays are equal; otherwise late election messages make processes that know the leader start \
         again",
        equal,
        unequal,
    )
}

/// How long an election takes, with constant delays, if the largest is alive, is known to be dead, or shows it by
/// silence.
fn rounds(court: &mut Court) -> Verdict {
    let (mut alive, mut silent) = (true, true);
    for n in [3, 5, 9] {
        let time = |court: &mut Court, world: &Experiment| {
            court.run(BULLY, world).report.outcome.election.turnaround().map_or(f64::NAN, in_delta)
        };
        let living = time(court, &started(n, &[1], &[]));
        let known = time(court, &Experiment { detector: Some(true), ..dead_above(n, n - 1) });
        let dead = time(court, &dead_above(n, 1));
        court.say(format!(
            "n = {n}: the election takes {} δ if the process with the largest id is live, {} δ if that process \
             crashed and the one with the next smaller id is notified, {} δ if the crash shows only as a timeout",
            number(living),
            number(known),
            number(dead)
        ));
        alive &= living <= 2.0 && known <= 2.0;
        silent &= dead <= 2.0;
    }
    Verdict::only_if("no process has to wait for the answer of a crashed process until a timeout", alive, silent)
}
