//! What is said of all algorithms.

use quorate_core::catalog::{ENTRIES, Family, Property};
use quorate_core::setting::Recovering;

use super::court::{delta, experiment, explored, number};
use super::{Claim, Court, Verdict};
use crate::application::{ClientPlan, Workload};
use crate::experiment::Experiment;
use crate::explore::Exploration;
use crate::explore::goal::Goal;
use crate::stage::Bounds;

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "F1",
        documents: "E",
        statement: "None of the algorithms survives the loss of a message.",
        judge: |court| {
            let lossy = Exploration { bounds: Bounds { losses: 1, ..Bounds::default() }, ..explored(3, 1) };
            let mut none = true;
            for algorithm in ["central", "token-ring", "lamport", "ricart-agrawala", "maekawa"] {
                none &= court.breaks(algorithm, &lossy, Goal::DeadlockFreedom);
            }
            court.say(
                "over a layer that numbers, acknowledges and retransmits messages, every algorithm with crash recovery \
                 survives losses:",
            );
            for entry in ENTRIES.iter().filter(|entry| entry.family == Family::Mutex && entry.recovery.is_some()) {
                let recovery = Some(Recovering { missed: 9, ..Recovering::default() });
                let run = court.run(entry.name, &Experiment { loss: 0.1, duplicate: 0.1, recovery, ..experiment(5) });
                let outcome = &run.report.outcome;
                let safe = !outcome.violated(Property::MutualExclusion);
                court.say(format!(
                    "{}: with a loss rate of 0.1 and a duplicate rate of 0.1, {} of 20 requests are granted; mutual \
                     exclusion {}",
                    entry.name,
                    outcome.costs.entries,
                    if safe { "holds" } else { "is violated" }
                ));
            }
            Verdict::of(none)
        },
    },
    Claim {
        id: "F3",
        documents: "E",
        statement: "Throughput is 1/(E + SD), where E is the time inside and SD the synchronization delay.",
        judge: throughput,
    },
];

fn throughput(court: &mut Court) -> Verdict {
    let mut agree = |workload: &Workload| {
        let (mut all, mut shown) = (true, Vec::new());
        for algorithm in ["central", "token-ring", "suzuki-kasami", "lamport", "ricart-agrawala"] {
            for inside in [0.5, 1.0, 5.0] {
                let time_inside = delta(inside);
                let clients =
                    ClientPlan { workload: workload.clone(), entries: 200, time_inside, ..ClientPlan::default() };
                let run = court.run(algorithm, &Experiment { clients, ..experiment(5) });
                let costs = &run.report.outcome.costs;
                let (real, predicted) = (costs.throughput.unwrap_or(0.0), costs.throughput_predicted.unwrap_or(0.0));
                all &= (real - predicted).abs() < 0.01 * predicted;
                if inside == 1.0 {
                    shown.push(format!("{algorithm} {} and {}", number(real), number(predicted)));
                }
            }
        }
        let when = if *workload == Workload::Contended { "under contention" } else { "with rare requests" };
        court.say(format!("measured entries per δ and 1/(E + SD), n = 5, E = 1 δ, {when}: {}", shown.join(", ")));
        all
    };
    let (contended, idle) = (agree(&Workload::Contended), agree(&Workload::Poisson(0.01)));
    Verdict::only_if("a process is always waiting", contended, idle)
}
