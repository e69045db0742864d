//! Maekawa's algorithm.

use quorate_core::id::Id;
use quorate_core::mutex::voting_set::{SetsKind, VotingSets};

use super::costs::{Meter, asking};
use super::court::{experiment, explored, number, p, yes_or_no};
use super::order::{keeps_order, with_option, with_pokes};
use super::ricart_agrawala::goes_on;
use super::{Claim, Court, Verdict};
use crate::application::{ClientPlan, Workload};
use crate::experiment::Experiment;
use crate::explore::goal::Goal;
use crate::simulate::Fault;

const ME: &str = "maekawa";
const CURED: &str = "maekawa-deadlock-free";

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "M1",
        documents: "A, B, C, E",
        statement: "Maekawa's algorithm is safe (ME1).",
        judge: |court| {
            let four = court.holds(ME, &explored(4, 1), &[Goal::MutualExclusion]);
            let twice = court.holds(ME, &explored(3, 2), &[Goal::MutualExclusion]);
            Verdict::of(court.holds(CURED, &explored(3, 1), &[Goal::MutualExclusion]) && four && twice)
        },
    },
    Claim {
        id: "M2",
        documents: "A, B, E",
        statement: "With the voting sets {p1, p2}, {p2, p3} and {p3, p1}, three simultaneous requests can deadlock.",
        judge: |court| {
            let sets = VotingSets::new(SetsKind::Grid, 3).expect("a grid exists for every n");
            let numbers = |id| sets.of(p(id)).into_iter().map(Id::number).collect::<Vec<_>>();
            let triangle = [numbers(1), numbers(2), numbers(3)] == [[1, 2], [2, 3], [1, 3]];
            court.say(format!("the voting sets are {:?}, {:?}, {:?}", numbers(1), numbers(2), numbers(3)));
            Verdict::of(triangle && court.breaks(ME, &explored(3, 1), Goal::DeadlockFreedom))
        },
    },
    Claim {
        id: "M3",
        documents: "A, B, E",
        statement: "Handling requests in timestamp order removes the deadlock.",
        judge: |court| {
            let cured = court.holds(CURED, &explored(3, 1), &[Goal::DeadlockFreedom, Goal::StarvationFreedom]);
            let twice = court.holds(CURED, &explored(3, 2), &[Goal::DeadlockFreedom]);
            let queued = with_option(explored(3, 1), "votes", "kept");
            let only_queued = !court.breaks(CURED, &queued, Goal::DeadlockFreedom);
            Verdict::only_if(
                "a voter can also recall a vote it gave to a later request; ordering the queue by timestamp is not \
                 enough",
                cured && twice,
                only_queued,
            )
        },
    },
    Claim {
        id: "M3b",
        documents: "B",
        statement: "The algorithm is unfair: one process can request and enter again and again before another is \
                    granted entry.",
        judge: |court| {
            let overtaken = [1, 2, 3].map(|entries| court.most_overtaken(ME, &explored(3, entries)));
            let ring = [1, 2, 3].map(|entries| court.most_overtaken("token-ring", &explored(3, entries)));
            court.say(format!(
                "with 1, 2 and 3 entries each, a waiting process is overtaken at most {overtaken:?} times in \
                 maekawa and {ring:?} times in token-ring"
            ));
            Verdict::of(overtaken.windows(2).all(|pair| pair[0] < pair[1]) && ring[0] == ring[2])
        },
    },
    Claim {
        id: "M4.A",
        documents: "A",
        statement: "Maekawa's algorithm grants requests in happened-before order (ME3).",
        judge: |court| {
            let basic = !court.breaks(ME, &with_pokes(explored(3, 1), 1), Goal::RequestOrder);
            let cured = !court.breaks(CURED, &with_pokes(explored(3, 1), 1), Goal::RequestOrder);
            Verdict::of(basic || cured)
        },
    },
    Claim {
        id: "M4.BE",
        documents: "B, E",
        statement: "Maekawa's algorithm does not grant requests in happened-before order (ME3), but does with \
                    Lamport clocks.",
        judge: |court| {
            let clocks = [explored(3, 1), with_pokes(explored(3, 1), 1)];
            let with_clocks = keeps_order(court, CURED, &clocks);
            let basic = court.breaks(ME, &with_pokes(explored(3, 1), 1), Goal::RequestOrder);
            Verdict::of(basic && with_clocks)
        },
    },
    Claim {
        id: "M4.C",
        documents: "C",
        statement: "Maekawa's algorithm does not grant requests in happened-before order (ME3).",
        judge: |court| {
            let told = court.breaks(ME, &with_pokes(explored(3, 1), 1), Goal::RequestOrder);
            let alone = keeps_order(court, ME, &[explored(3, 1)]);
            let twice = court.breaks(ME, &explored(3, 2), Goal::RequestOrder);
            court.say(format!(
                "with two entries each, ME3 {} even without application messages",
                if twice { "is violated" } else { "holds" }
            ));
            Verdict::of(told || !alone)
        },
    },
    Claim {
        id: "M5.K",
        documents: "B, E",
        statement: "With voting sets of size K, entering takes 2K messages and exiting takes K.",
        judge: |court| {
            let (network, own) = messages_by_k(court);
            Verdict::only_if("messages that a process sends to itself are counted", own, network)
        },
    },
    Claim {
        id: "M5.root",
        documents: "A, E",
        statement: "A use takes about 3√N messages without hardware multicast.",
        judge: |court| about_three_roots(court),
    },
    Claim {
        id: "M5.C",
        documents: "C",
        statement: "Entering and exiting take fewer messages than in Ricart–Agrawala.",
        judge: cheaper,
    },
    Claim {
        id: "M6.client",
        documents: "A, B, E",
        statement: "The client delay is a round trip.",
        judge: |court| Verdict::of(super::costs::agrees(court, ME, Meter::ClientDelay, "2", |_| 2.0)),
    },
    Claim {
        id: "M6.sync",
        documents: "A, B, E",
        statement: "The synchronization delay is 2 messages.",
        judge: handovers,
    },
    Claim {
        id: "M12.A",
        documents: "A",
        statement: "A crash blocks the processes that need the vote of the crashed process.",
        judge: |court| {
            let blocked = (1..=4).all(|needs| {
                let run = after_crash(court, &[(needs, 0.0)]);
                needs == 4 || !in_set(needs, 4) || run.is_empty()
            });
            court.say(format!(
                "n = 4, p4 crashed; a process with p4 in its voting set never enters, even if it is the only one to \
                 request entry: {}",
                yes_or_no(blocked)
            ));
            Verdict::of(blocked && goes_on(court, "maekawa-deadlock-free"))
        },
    },
    Claim {
        id: "M12.E",
        documents: "A, E",
        statement: "A crash affects only the processes that need the vote of the crashed process.",
        judge: |court| {
            let free = (1..=3).find(|&id| !in_set(id, 4)).expect("a grid of four has one who can do without");
            let alone = after_crash(court, &[(free, 0.0)]) == [free];
            let needs = (1..=3).find(|&id| in_set(id, 4)).expect("and others who cannot");
            let example = crashed(&[(needs, 0.0), (free, 3.0)]);
            let run = court.run(ME, &example);
            let beside = run.entries().iter().any(|(id, _)| *id == free);
            court.say(format!(
                "n = 4, p4 crashed; p{free}, whose voting set does not contain p4, {} if it is the only one to \
                 request entry; but if p{needs}, whose set contains p4, requested before and keeps the votes it \
                 received, p{free} {}",
                if alone { "enters" } else { "does not enter" },
                if beside { "enters, too" } else { "never enters" }
            ));
            if !beside {
                let why = format!("p{needs} waits for the crashed p4 and keeps the vote that p{free} needs");
                court.show_run(ME, &example, &run, &why);
            }
            Verdict::only_if(
                "no process that needs the crashed voter requests entry; such a process keeps its other votes for ever",
                alone,
                beside,
            )
        },
    },
];

fn in_set(id: u32, voter: u32) -> bool {
    let sets = VotingSets::new(SetsKind::Grid, 4).expect("a grid exists for every n");
    sets.of(p(id)).contains(&p(voter))
}

fn crashed(list: &[(u32, f64)]) -> Experiment {
    Experiment { faults: vec![Fault::AbsentFromTheBeginning(p(4))], ..asking(4, list) }
}

/// Who enters, of four without the fourth.
fn after_crash(court: &mut Court, list: &[(u32, f64)]) -> Vec<u32> {
    let list: Vec<_> = list.iter().copied().filter(|(id, _)| *id != 4).collect();
    if list.is_empty() {
        return Vec::new();
    }
    court.run(ME, &crashed(&list)).entries().into_iter().map(|(id, _)| id).collect()
}

/// Messages to enter and to leave, alone, and K of the one who enters.
fn alone(court: &mut Court, algorithm: &'static str, n: u32, kind: &str) -> (f64, f64, f64) {
    let clients = ClientPlan { workload: Workload::Alone, entries: 1, ..ClientPlan::default() };
    let options = if algorithm == ME { vec![("sets".to_string(), kind.to_string())] } else { vec![] };
    let run = court.run(algorithm, &Experiment { clients, options, ..experiment(n) });
    let costs = &run.report.outcome.costs;
    let enter = costs.entry_messages.values().map(|kind| kind.mean).sum();
    let kind = SetsKind::ALL.into_iter().find(|known| known.name() == kind).unwrap_or(SetsKind::Grid);
    let k = VotingSets::new(kind, n).map_or(0, |sets| sets.of(p(n)).len());
    (enter, costs.messages_of_exit.map_or(0.0, |exit| exit.mean), k as f64)
}

/// Whether 2K and K messages are sent over the network; and whether they are, with those to oneself.
pub(super) fn messages_by_k(court: &mut Court) -> (bool, bool) {
    let (mut network, mut own) = (true, true);
    for (n, kind) in [(3, "grid"), (9, "grid"), (25, "grid"), (7, "plane"), (31, "plane")] {
        let (enter, exit, k) = alone(court, ME, n, kind);
        network &= enter == 2.0 * k && exit == k;
        own &= enter + 2.0 == 2.0 * k && exit + 1.0 == k;
        court.say(format!(
            "n = {n}, {kind}, K = {k}: {} messages to enter and {} to exit; {} and {} with the messages that a process \
             sends to itself",
            number(enter),
            number(exit),
            number(enter + 2.0),
            number(exit + 1.0)
        ));
    }
    (network, own)
}

/// Whether 3√N is about right: within a quarter, with the smallest voting sets and with those of a grid.
pub(super) fn about_three_roots(court: &mut Court) -> Verdict {
    let mut near = |sizes: &[u32], kind: &str| {
        let mut all = true;
        for &n in sizes {
            let (enter, exit, _) = alone(court, ME, n, kind);
            let (messages, root) = (enter + exit, 3.0 * f64::from(n).sqrt());
            all &= (messages / root - 1.0).abs() <= 0.25;
            court.say(format!("n = {n}, {kind}: {} messages per use; 3√N = {}", number(messages), number(root)));
        }
        all
    };
    let (planes, grids) = (near(&[7, 13, 31, 57, 133], "plane"), near(&[9, 25, 49, 100], "grid"));
    Verdict::only_if(
        "voting sets have the smallest possible size (finite projective planes); grid sets cost up to twice as much",
        planes,
        grids,
    )
}

fn cheaper(court: &mut Court) -> Verdict {
    let mut dearer = Vec::new();
    let most = 30;
    for n in 2..=most {
        let (enter, exit, _) = alone(court, ME, n, "best");
        let (asked, left, _) = alone(court, "ricart-agrawala", n, "");
        if enter + exit >= asked + left {
            dearer.push(n);
        }
    }
    let last = dearer.last().copied().unwrap_or(0);
    let names = dearer.iter().map(u32::to_string).collect::<Vec<_>>().join(" and ");
    court.say(format!("n = 2 to {most}, uncontended, best voting sets: fewer messages for all n except {names}"));
    Verdict::only_if(
        &format!("there are more than {last} processes (up to {most} were measured)"),
        last < most / 2,
        dearer.is_empty(),
    )
}

/// From an exit to the next entry, for all pairs.
fn handovers(court: &mut Court) -> Verdict {
    let (mut third, mut all) = (true, true);
    for n in [3, 4, 7, 9] {
        let sets = VotingSets::new(SetsKind::Grid, n).expect("a grid exists for every n");
        let (mut counts, mut exceptions) = ([0, 0], 0);
        for first in 1..=n {
            for next in (1..=n).filter(|&next| next != first) {
                let run = court.run(ME, &asking(n, &[(first, 0.0), (next, 2.25)]));
                let delay = run.report.outcome.costs.sync_delay.map_or(f64::NAN, |delay| delay.mean);
                let shared: Vec<_> = sets.of(p(first)).into_iter().filter(|id| sets.of(p(next)).contains(id)).collect();
                let has_third = shared.iter().any(|&id| id != p(first) && id != p(next));
                counts[usize::from(delay == 2.0)] += 1;
                all &= delay == 2.0;
                third &= (delay == 2.0) == has_third;
                exceptions += u32::from(!has_third);
            }
        }
        court.say(format!(
            "n = {n}: a delay of 2 δ for {} of {} ordered pairs of processes, less for {}; {exceptions} pairs share no \
             voter other than the two themselves",
            counts[1],
            counts[0] + counts[1],
            counts[0]
        ));
    }
    Verdict::only_if(
        "the two processes share a voter other than themselves; otherwise the delay is 1 message",
        third,
        all,
    )
}
