//! The token ring.

use quorate_core::setting::Timing;
use quorate_core::trace::{Record, What};

use super::costs::{Meter, agrees, asking};
use super::court::{Run, delta, experiment, explored, number, p, yes_or_no};
use super::order::{keeps_order, with_option, with_pokes, without};
use super::ricart_agrawala::{goes_on, recovers};
use super::{Claim, Court, Verdict};
use crate::application::{ClientPlan, Workload};
use crate::experiment::Experiment;
use crate::explore::Exploration;
use crate::explore::goal::Goal;
use crate::simulate::Fault;
use crate::stage::Bounds;
use crate::stage::wish::Times;
use crate::time::{DELTA, in_delta};

const ME: &str = "token-ring";
const SAFE_AND_LIVE: [Goal; 3] = [Goal::MutualExclusion, Goal::DeadlockFreedom, Goal::StarvationFreedom];

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "T1",
        documents: "A, C, E",
        statement: "The token ring is safe (ME1) and live (ME2).",
        judge: |court| {
            let endless = Exploration { times: Times::Endless, ..explored(4, 1) };
            let once = court.holds(ME, &explored(4, 1), &SAFE_AND_LIVE);
            Verdict::of(court.holds(ME, &endless, &SAFE_AND_LIVE) && once)
        },
    },
    Claim {
        id: "T2",
        documents: "A, C, E",
        statement: "The token ring does not grant requests in happened-before order (ME3).",
        judge: |court| {
            let alone = keeps_order(court, ME, &[explored(3, 1), explored(3, 2)]);
            let told = keeps_order(court, ME, &[with_pokes(explored(3, 1), 1)]);
            Verdict::of(!(alone && told))
        },
    },
    Claim {
        id: "T3.A",
        documents: "A",
        statement: "The client delay to enter is n/2 messages on average and n−1 messages in the worst case.",
        judge: |court| {
            let (mean, worst) = (mean_is_half(court), worst_wait(court));
            Verdict::of(mean && worst.iter().all(|&(n, _, most)| most <= f64::from(n - 1)))
        },
    },
    Claim {
        id: "T3.E",
        documents: "E",
        statement: "The client delay to enter is between 0 and N messages.",
        judge: |court| {
            let waits = worst_wait(court);
            Verdict::of(waits.iter().all(|&(n, least, most)| least < 0.1 && most <= f64::from(n)))
        },
    },
    Claim {
        id: "T3.B",
        documents: "B",
        statement: "The client delay to enter is N/2 messages.",
        judge: |court| {
            let (mean, waits) = (mean_is_half(court), worst_wait(court));
            let always = waits.iter().all(|&(n, least, most)| least == most && most == f64::from(n) / 2.0);
            Verdict::only_if("the claim means the average over requests at random times", mean, always)
        },
    },
    Claim {
        id: "T4",
        documents: "A, E",
        statement: "Exiting takes 1 message.",
        judge: |court| Verdict::of(agrees(court, ME, Meter::ToExit, "1", |_| 1.0)),
    },
    Claim {
        id: "T5.A",
        documents: "A",
        statement: "The synchronization delay is n/2 messages on average and n−1 messages in the worst case.",
        judge: |court| {
            let others = handovers(court, false);
            let all = handovers(court, true);
            let fits = |all: &[(u32, f64, f64, f64)]| {
                all.iter().all(|&(n, _, mean, most)| mean == f64::from(n) / 2.0 && most == f64::from(n - 1))
            };
            Verdict::only_if("the next process to enter is not the one that exited", fits(&others), fits(&all))
        },
    },
    Claim {
        id: "T5.E",
        documents: "E",
        statement: "The synchronization delay is between 1 and N messages.",
        judge: |court| {
            let all = handovers(court, true);
            Verdict::of(all.iter().all(|&(n, least, _, most)| least == 1.0 && most == f64::from(n)))
        },
    },
    Claim {
        id: "T5.B",
        documents: "B",
        statement: "The synchronization delay is (N+1)/2 messages.",
        judge: |court| {
            let (others, all) = (handovers(court, false), handovers(court, true));
            let fits = |all: &[(u32, f64, f64, f64)]| {
                all.iter().all(|&(n, _, mean, _)| (mean - (f64::from(n) + 1.0) / 2.0).abs() < 1e-9)
            };
            Verdict::only_if(
                "the claim means the average, and the process that exited is as likely to enter next as any other",
                fits(&all),
                fits(&others),
            )
        },
    },
    Claim {
        id: "T6",
        documents: "A, C, E",
        statement: "The token circulates even when no process wants to enter, and rests only while a process is \
                    inside. The number of messages per use is unbounded.",
        judge: flows,
    },
    Claim {
        id: "T6b",
        documents: "D, E",
        statement: "There is only one token, so at most one process is inside. Token-based algorithms have neither \
                    deadlock nor starvation.",
        judge: |court| {
            let ring = court.holds(ME, &explored(4, 1), &SAFE_AND_LIVE);
            let search = court.holds("suzuki-kasami", &explored(3, 1), &SAFE_AND_LIVE);
            court.say("counter-check with a duplicated message, which makes a second token:");
            let twice = Exploration { bounds: Bounds { duplicates: 1, ..Bounds::default() }, ..explored(3, 1) };
            let doubled = court.breaks(ME, &twice, Goal::MutualExclusion);
            Verdict::of(ring && search && doubled)
        },
    },
    Claim {
        id: "T7",
        documents: "A, E",
        statement: "A single crash, of any process, blocks the ring.",
        judge: |court| {
            let mut blocked = true;
            for id in 1..=3 {
                blocked &= court.breaks(ME, &without(explored(3, 1), &[id]), Goal::DeadlockFreedom);
            }
            let n = 4;
            for id in 1..=n {
                for half in 0..12 {
                    let faults = vec![Fault::Crash(p(id), delta(f64::from(half) / 2.0))];
                    let clients = ClientPlan { entries: 100, ..ClientPlan::default() };
                    let run = court.run(ME, &Experiment { faults, clients, ..experiment(n) });
                    blocked &= run.report.outcome.costs.entries < 100;
                }
            }
            court.say(format!(
                "n = {n}, {} simulated runs, each process crashing at each of 12 times; the ring stops in all of \
                 them: {}",
                court.runs(),
                yes_or_no(blocked)
            ));
            Verdict::of(blocked && goes_on(court, ME))
        },
    },
    Claim {
        id: "T8",
        documents: "A",
        statement: "The ring recovers from crashes that are detected reliably.",
        judge: |court| recovers(court, ME, 3, 1),
    },
    Claim {
        id: "T9",
        documents: "D",
        statement: "Acknowledging the token reveals a crashed successor, which is then dropped from the ring.",
        judge: skips_the_dead,
    },
    Claim {
        id: "T9b",
        documents: "D",
        statement: "A crashed token holder is hard to distinguish from a slow one.",
        judge: dead_or_slow,
    },
    Claim {
        id: "T10",
        documents: "D",
        statement: "A process enters at most once per visit of the token.",
        judge: |court| {
            let mut all = true;
            for n in 2..=8 {
                for workload in [Workload::Alone, Workload::Contended] {
                    let clients = ClientPlan { workload, entries: 20, ..ClientPlan::default() };
                    let run = court.run(ME, &Experiment { clients, ..experiment(n) });
                    all &= run.report.outcome.costs.entries == 20 && visits_between_entries(&run, n) == Some(1);
                }
            }
            court.say(format!(
                "{} runs of 2 to 8 processes; the token returns to a process before each further entry of that \
                 process: {}",
                court.runs(),
                yes_or_no(all)
            ));
            Verdict::of(all)
        },
    },
];

/// The least number of visits of the token between two entries of the same process.
fn visits_between_entries(run: &Run, n: u32) -> Option<usize> {
    let per_process = |id: u32| {
        let mine = run.records.iter().filter(|record| record.process == p(id));
        let (mut visits, mut least, mut entered) = (0, None, false);
        for Record { what, .. } in mine {
            match what {
                What::Received { .. } => visits += 1,
                What::Entered { .. } => {
                    if entered {
                        least = Some(least.map_or(visits, |least: usize| least.min(visits)));
                    }
                    (visits, entered) = (0, true);
                }
                _ => {}
            }
        }
        least
    };
    (1..=n).filter_map(per_process).min()
}

/// Whether the mean wait is n/2, for two thousand requests at random times while few others ask.
fn mean_is_half(court: &mut Court) -> bool {
    let mut close = true;
    for n in [3, 5, 9, 25] {
        let workload = Workload::Poisson(0.01 / f64::from(n));
        let clients = ClientPlan { workload, entries: 2000, ..ClientPlan::default() };
        let run = court.run(ME, &Experiment { clients, ..experiment(n) });
        let mean = run.report.outcome.costs.client_delay.map_or(f64::NAN, |delay| delay.mean);
        let half = f64::from(n) / 2.0;
        close &= (mean - half).abs() < 0.05 * half;
        court.say(format!(
            "n = {n}: the mean client delay of 2000 entries is {} δ; n/2 is {}",
            number(mean),
            number(half)
        ));
    }
    close
}

/// The shortest and the longest wait of a process that asks just before the token comes, or just after it has gone.
fn worst_wait(court: &mut Court) -> Vec<(u32, f64, f64)> {
    let mut waits = Vec::new();
    for n in [3, 5, 9] {
        let wait = |court: &mut Court, at: f64| {
            let asked = asking(n, &[(1, at)]);
            let run = court.run(ME, &asked);
            let wait = run.entries().first().map_or(f64::NAN, |(_, entered)| in_delta(*entered - delta(at)));
            (asked, run, wait)
        };
        let (_, _, least) = wait(court, f64::from(n) - 0.001);
        let (asked, run, most) = wait(court, 0.001);
        court.say(format!(
            "n = {n}: a request just before the token arrives waits {} δ; a request just after it has left waits {} δ",
            number(least),
            number(most)
        ));
        court.show_run(
            ME,
            &asked,
            &run,
            "p1 requests entry just after it has passed the token on, and waits for a whole round",
        );
        waits.push((n, least, most));
    }
    waits
}

/// For each size, the least, mean and most time from an exit to the next entry, over all who leave and all who are
/// next, the same process included or not.
pub(super) fn handovers(court: &mut Court, same: bool) -> Vec<(u32, f64, f64, f64)> {
    let mut found = Vec::new();
    for n in [3, 5, 9] {
        let mut delays = Vec::new();
        for first in 1..=n {
            for next in 1..=n {
                if first == next && !same {
                    continue;
                }
                // The first has the token after first − 1 steps, and asks again as it leaves if it is the next as well.
                let entered = f64::from(first - 1);
                let (asked, again) =
                    if first == 1 { (f64::from(n) - 0.5, f64::from(n)) } else { (entered - 0.5, entered) };
                let then = if first == next { again + 1.25 } else { again + 0.25 };
                let run = court.run(ME, &asking(n, &[(first, asked), (next, then)]));
                let left = run.moments(|what| *what == What::Leaving);
                let entries = run.entries();
                assert!(entries.len() == 2 && entries[0].0 == first && entries[1].0 == next, "as it was asked for");
                delays.push(in_delta(entries[1].1 - left[0].1));
            }
        }
        let least = delays.iter().copied().fold(f64::INFINITY, f64::min);
        let most = delays.iter().copied().fold(0.0, f64::max);
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        court.say(format!(
            "n = {n}, {}: synchronization delay of {} to {} δ, {} on average",
            if same {
                "the next process to enter can be any process, also the one that exited"
            } else {
                "the next process to enter is not the one that exited"
            },
            number(least),
            number(most),
            number(mean)
        ));
        found.push((n, least, mean, most));
    }
    found
}

/// Messages while nobody wants anything, while somebody is inside, and per use as uses become rare.
fn flows(court: &mut Court) -> Verdict {
    let n = 4;
    let quiet = Experiment {
        clients: ClientPlan { time_inside: 100 * DELTA, ..asking(n, &[(1, 49.5)]).clients },
        ..experiment(n)
    };
    let run = court.run(ME, &quiet);
    let sent = |from, to| {
        let sent = run.moments(|what| matches!(what, What::Sent { .. }));
        sent.iter().filter(|(_, at)| (from..to).contains(at)).count()
    };
    let entered = run.entries().first().map_or(0, |(_, at)| *at);
    let (idle, inside) = (sent(0, entered), sent(entered, entered + 100 * DELTA));
    court.say(format!(
        "n = {n}: {idle} messages in the {} δ before the first entry, {inside} messages in 100 δ while a process is \
         inside",
        number(in_delta(entered))
    ));
    let mut per_use = Vec::new();
    for rate in [0.1, 0.01, 0.001] {
        let clients =
            ClientPlan { workload: Workload::Poisson(rate / f64::from(n)), entries: 200, ..ClientPlan::default() };
        let run = court.run(ME, &Experiment { clients, ..experiment(n) });
        per_use.push(run.report.outcome.costs.messages_per_entry.unwrap_or(0.0));
    }
    let shown: Vec<_> = per_use.iter().map(|messages| number(messages.round())).collect();
    court.say(format!("messages per use at three request rates, each a tenth of the one before: {}", shown.join(", ")));
    Verdict::of(idle > 0 && inside == 0 && per_use.windows(2).all(|pair| pair[1] > 5.0 * pair[0]))
}

/// Whether the ring goes on without who has crashed, where tokens are acknowledged.
fn skips_the_dead(court: &mut Court) -> Verdict {
    let acknowledged = |exploration| with_option(exploration, "acknowledged", "yes");
    let crash = Exploration { bounds: Bounds { crashes: 1, ..Bounds::default() }, ..explored(3, 1) };
    let kept = !court.breaks(ME, &acknowledged(crash.clone()), Goal::DeadlockFreedom);
    let one_token = court.holds(ME, &acknowledged(crash), &[Goal::MutualExclusion, Goal::Fencing]);
    let (mut blocked, mut skipped) = (true, true);
    for dead in [&[2][..], &[3], &[4], &[2, 3], &[2, 4]] {
        let without_them = without(explored(4, 1), dead);
        blocked &= court.breaks(ME, &without_them, Goal::DeadlockFreedom);
        skipped &= court.holds(ME, &acknowledged(without_them), &SAFE_AND_LIVE);
    }
    let late = Exploration { timing: Some(Timing::Asynchronous), ..explored(3, 1) };
    let unbounded = !court.breaks(ME, &acknowledged(late), Goal::MutualExclusion);
    let outside = goes_on_unless_inside(court);
    Verdict::only_if(
        "the successor crashes without the token, and message delays have a known bound",
        blocked && skipped && one_token && outside,
        kept && unbounded,
    )
}

/// Whether the ring comes to a halt exactly if who crashes is inside, where tokens are acknowledged.
fn goes_on_unless_inside(court: &mut Court) -> bool {
    let (n, entries) = (4, 100);
    let (mut halts, mut goes_on, mut as_expected) = (0, 0, true);
    for id in 1..=n {
        for third in 0..24 {
            let at = delta(f64::from(third) / 3.0);
            let crash = Experiment {
                faults: vec![Fault::Crash(p(id), at)],
                clients: ClientPlan { entries, ..ClientPlan::default() },
                options: vec![("acknowledged".into(), "yes".into())],
                ..experiment(n)
            };
            let run = court.run(ME, &crash);
            let mine = run.records.iter().filter(|record| record.process == p(id));
            let mut turns = mine.filter(|record| matches!(record.what, What::Entered { .. } | What::Exited));
            let last = turns.next_back();
            let is_inside = last.is_some_and(|record| matches!(record.what, What::Entered { .. }));
            // What the dead had asked for is not served.
            let is_done = run.report.outcome.costs.entries + 1 >= entries;
            as_expected &= is_done != is_inside;
            *if is_done { &mut goes_on } else { &mut halts } += 1;
        }
    }
    court.say(format!(
        "{} runs with acknowledgements, each of {n} processes crashing at each of 24 times: {goes_on} continue, \
         {halts} stop; exactly those stop in which the process crashes inside: {}",
        goes_on + halts,
        yes_or_no(as_expected)
    ));
    as_expected && goes_on > 0 && halts > 0
}

/// What the others see of a holder that has crashed, and of one that pauses.
fn dead_or_slow(court: &mut Court) -> Verdict {
    let (n, until) = (3, delta(50.0));
    let ring = |fault| Experiment { faults: vec![fault], until: Some(until), ..asking(n, &[(2, 0.5), (3, 2.0)]) };
    let dead = court.run(ME, &ring(Fault::Crash(p(2), delta(1.5))));
    let slow = court.run(ME, &ring(Fault::Pause(p(2), delta(1.5), delta(1000.0))));
    let others =
        |run: &Run| -> Vec<Record> { run.records.iter().filter(|record| record.process != p(2)).cloned().collect() };
    let same = others(&dead) == others(&slow) && dead.entries().len() == 1;
    court.say(format!(
        "p2 crashes inside, or pauses there for 1000 δ; in both cases the other processes do {} for 50 δ",
        if same { "exactly the same" } else { "different things" }
    ));
    let detector = [Goal::Accuracy, Goal::Completeness];
    let crash = |timing| Exploration {
        timing: Some(timing),
        bounds: Bounds { crashes: 1, ..Bounds::default() },
        ..explored(3, 1)
    };
    let bounded = court.holds("heartbeat", &crash(Timing::Synchronous), &detector);
    let unbounded = court.breaks("heartbeat", &crash(Timing::Asynchronous), Goal::Accuracy);
    match (same && unbounded, bounded) {
        (true, true) => Verdict::Conditional(
            "message delays have no known bound; with a known bound, heartbeats distinguish the two".into(),
        ),
        (true, false) => Verdict::Holds,
        (false, _) => Verdict::Refuted,
    }
}
