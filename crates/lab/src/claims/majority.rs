//! Majority voting.

use std::num::NonZeroU64;

use super::costs::asking;
use super::court::{explored, number};
use super::order::with_option;
use super::{Claim, Court, Verdict};
use crate::explore::Exploration;
use crate::explore::goal::Goal;
use crate::recovery::Beside;
use crate::stage::Bounds;
use crate::violation::Voting;

const ME: &str = "majority";

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "D1",
        documents: "D",
        statement: "The resource has N coordinators, and a process that has m > N/2 of their votes may enter.",
        judge: |court| {
            court.cite("quorate violation --coordinators 16 --votes 9 --uptime 1h --reset 30s");
            let refused = (1..=16).filter(|&votes| Voting::new(16, votes, 1, 0).is_err()).count();
            court.say(format!("with 16 coordinators, the values 1 to {refused} of m are rejected as too small"));
            Verdict::Definition("quorate_core::mutex::Majority; quorate_lab::violation::Voting::new".into())
        },
    },
    Claim {
        id: "D2",
        documents: "D",
        statement: "A coordinator that has already voted sends a refusal to every other requester.",
        judge: |court| {
            let run = court.run(ME, &asking(3, &[(1, 0.0), (2, 0.25), (3, 0.5)]));
            court.say(format!(
                "three processes request entry at about the same time: {} refusals are sent",
                run.sent("refuse").len()
            ));
            Verdict::Definition("quorate_core::mutex::Majority: the message `refuse`".into())
        },
    },
    Claim {
        id: "D3",
        documents: "D",
        statement: "A coordinator that crashes is reset: it restarts at once, has lost its vote, and may vote again.",
        judge: |court| {
            let crash = |restarts| {
                let bounds = Bounds { crashes: 1, restarts, timeouts: Some(0), ..Bounds::default() };
                Exploration { bounds, ..explored(3, 1) }
            };
            let lasting = court.holds(ME, &crash(0), &[Goal::MutualExclusion]);
            let forgetful = court.breaks(ME, &crash(1), Goal::MutualExclusion);
            court.say(
                "mutual exclusion holds if the restarted coordinator asks all others about its vote, or has saved the \
                 vote before sending it:",
            );
            let told = Exploration { recovery: Some(Beside::Ring), ..crash(1) };
            let [asked, saved] = ["lost", "kept"]
                .map(|memory| court.holds(ME, &with_option(told.clone(), "memory", memory), &[Goal::MutualExclusion]));
            Verdict::of(lasting && forgetful && asked && saved)
        },
    },
    Claim {
        id: "D4",
        documents: "D",
        statement: "The algorithm is correct while fewer than m − N/2 of the m voters have been reset.",
        judge: |court| {
            court.cite("quorate violation --coordinators 16 --votes 9 --uptime 1h --reset 30s");
            let (mut cases, mut safe, mut tight) = (0, true, 0);
            for coordinators in 1..=64 {
                for votes in coordinators / 2 + 1..=coordinators {
                    let voting = voting(coordinators, votes, 120, 1);
                    // The second needs this many of those that have not voted for the first, or have forgotten.
                    let least = votes - (coordinators - votes);
                    cases += 1;
                    safe &= voting.forgotten_needed_by_formula() <= least && least == voting.forgotten_needed();
                    tight += u32::from(voting.forgotten_needed_by_formula() == least);
                }
            }
            court.say(format!(
                "N = 1 to 64, all majorities m, {cases} cases: a second process enters only if 2m − N voters have been \
                 reset, which is never fewer than m − N/2, and is the same number in {tight} cases"
            ));
            let none = Exploration { bounds: Bounds { timeouts: Some(0), ..Bounds::default() }, ..explored(3, 1) };
            Verdict::of(court.holds(ME, &none, &[Goal::MutualExclusion]) && safe)
        },
    },
    Claim {
        id: "D5",
        documents: "D",
        statement: "With p = Δt/T, exactly k of m voters are reset with probability C(m,k) pᵏ (1−p)ᵐ⁻ᵏ, and mutual \
                    exclusion is violated when k ≥ m − N/2.",
        judge: threshold,
    },
    Claim {
        id: "D6",
        documents: "D",
        statement: "For N = 16, m = 9, T = 1 hour and Δt = 30 s, the probability of a violation is below 10⁻¹⁸.",
        judge: |court| {
            court.cite("quorate violation --coordinators 16 --votes 9 --uptime 1h --reset 30s");
            let voting = voting(16, 9, 120, 1);
            let simulated = voting.simulate(TRIALS, 1, &mut |_| {});
            court.say(format!(
                "the lecture's formula gives {}; the exact probability is {}; {} simulated trials give {}",
                number(voting.formula()),
                number(voting.exact()),
                simulated.trials,
                number(simulated.probability)
            ));
            Verdict::of(voting.formula() < 1e-18 && voting.exact() < 1e-18)
        },
    },
];

const TRIALS: NonZeroU64 = NonZeroU64::new(100_000).expect("it is not zero");

fn voting(coordinators: u32, votes: u32, uptime: u64, reset: u64) -> Voting {
    Voting::new(coordinators, votes, uptime, reset).expect("claims ask for majorities")
}

/// Where the document's threshold is the one that the algorithm has.
fn threshold(court: &mut Court) -> Verdict {
    court.cite("quorate violation --coordinators 5 --votes 3 --uptime 10s --reset 3s");
    court.cite("quorate violation --coordinators 16 --votes 9 --uptime 10s --reset 3s");
    let (mut smallest_odd, mut always) = (true, true);
    for coordinators in 1..=64u32 {
        for votes in coordinators / 2 + 1..=coordinators {
            let voting = voting(coordinators, votes, 10, 3);
            let same = voting.forgotten_needed_by_formula() == voting.forgotten_needed();
            always &= same;
            smallest_odd &= same == (coordinators % 2 == 1 && 2 * votes == coordinators + 1);
        }
    }
    let measured = |court: &mut Court, coordinators, votes| {
        let voting = voting(coordinators, votes, 10, 3);
        let simulated = voting.simulate(TRIALS, 1, &mut |_| {});
        let (low, high) = simulated.interval;
        let within = |value: f64| low <= value && value <= high;
        court.say(format!(
            "N = {coordinators}, m = {votes}, p = 0.3: simulated {} (95 % confidence interval {} to {}), lecture's \
             formula {}, formula with the threshold 2m − N {}",
            number(simulated.probability),
            number(low),
            number(high),
            number(voting.formula()),
            number(voting.exact())
        ));
        (within(voting.formula()), within(voting.exact()))
    };
    let (odd, even) = (measured(court, 5, 3), measured(court, 16, 9));
    let with = smallest_odd && odd.0 && odd.1 && even.1;
    Verdict::only_if(
        "N is odd and m is the smallest majority; otherwise the threshold is k ≥ 2m − N",
        with,
        always && even.0,
    )
}
