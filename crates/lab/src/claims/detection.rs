//! Failure detection.

use quorate_core::catalog::Property;
use quorate_core::setting::Timing;
use quorate_core::trace::{Opinion, What};

use super::court::{delta, experiment, explored, number, p, yes_or_no};
use super::{Claim, Court, Verdict};
use crate::experiment::Experiment;
use crate::explore::Exploration;
use crate::explore::goal::Goal;
use crate::network::Delay;
use crate::simulate::Fault;
use crate::stage::Bounds;
use crate::time::{DELTA, in_delta};

const ME: &str = "heartbeat";

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "H1",
        documents: "A",
        statement: "Every process sends a heartbeat every T, and a process is suspected after more than T + D of \
                    silence.",
        judge: rule,
    },
    Claim {
        id: "H2",
        documents: "A",
        statement: "With a known delay bound D the detector is right: no live process is suspected, and every crash \
                    is detected.",
        judge: known_delay,
    },
    Claim {
        id: "H3.small",
        documents: "A",
        statement: "If the guess for D is too small, live processes are reported as crashed.",
        judge: |court| {
            let (small, _) = guess(court, 1.0);
            let (large, _) = guess(court, 50.0);
            Verdict::of(small > 0 && large == 0)
        },
    },
    Claim {
        id: "H3.large",
        documents: "A",
        statement: "If the guess for D is too large, crashed processes are reported as alive for a long time.",
        judge: |court| {
            let found = [5.0, 50.0, 500.0].map(|bound| guess(court, bound).1);
            Verdict::of(found.windows(2).all(|pair| pair[1] > 5.0 * pair[0]))
        },
    },
    Claim {
        id: "H3.suspect",
        documents: "A",
        statement: "In an asynchronous system, a crash can only be suspected.",
        judge: |court| {
            let run = court.run(ME, &guessed(50.0));
            let opinions =
                |kind| run.moments(|what| matches!(what, What::Opinion { opinion, .. } if *opinion == kind)).len();
            let (suspected, failed) = (opinions(Opinion::Suspected), opinions(Opinion::Failed));
            court.say(format!(
                "delays without a known bound: the detector answers Suspected {suspected} times and Failed {failed} \
                 times"
            ));
            let wrong = Exploration { timing: Some(Timing::Asynchronous), ..explored(3, 1) };
            Verdict::of(court.breaks(ME, &wrong, Goal::Accuracy) && suspected > 0 && failed == 0)
        },
    },
    Claim {
        id: "H4",
        documents: "C",
        statement: "Unreliable failure detectors answer Unsuspected or Suspected; reliable ones answer Unsuspected \
                    or Failed.",
        judge: |court| {
            court.cite("quorate algorithms heartbeat");
            // All answers there are; another would not compile.
            let kind = |opinion: Opinion| match opinion {
                Opinion::Unsuspected => "an answer of both kinds of detector",
                Opinion::Suspected => "an answer of unreliable detectors",
                Opinion::Failed => "an answer of reliable detectors",
            };
            for opinion in [Opinion::Unsuspected, Opinion::Suspected, Opinion::Failed] {
                court.say(format!("{opinion:?}: {}", kind(opinion)));
            }
            Verdict::Definition("quorate_core::trace::Opinion".into())
        },
    },
];

/// From the records of a run: how far apart beats are, and after which silence who crashed is taken for dead.
fn rule(court: &mut Court) -> Verdict {
    let example = Experiment { faults: vec![Fault::Crash(p(3), delta(12.5))], ..experiment(3) };
    let run = court.run(ME, &example);
    let beats = run.moments(|what| matches!(what, What::Sent { to, .. } if *to == p(1)));
    let of_2: Vec<_> = beats.iter().filter(|(id, _)| *id == 2).map(|(_, at)| *at).collect();
    let every = of_2.windows(2).all(|pair| pair[1] - pair[0] == 5 * DELTA);
    let mut last = run.records.iter().filter_map(|record| match record.what {
        What::Received { from, .. } if from == p(3) && record.process == p(1) => Some(record.at),
        _ => None,
    });
    let dead = run.moments(|what| matches!(what, What::Opinion { of, opinion: Opinion::Failed } if *of == p(3)));
    let silence = dead.iter().find(|(id, _)| *id == 1).zip(last.next_back()).map(|((_, at), last)| at - last);
    court.say(format!(
        "D = 1 δ and T = 5 δ; heartbeats are 5 δ apart: {}; p3 crashes and p1 suspects it {} δ after receiving its \
         last heartbeat",
        yes_or_no(every),
        silence.map_or("never".into(), |silence| number(in_delta(silence)))
    ));
    // One tick more, so that a beat in time is in time.
    Verdict::of(every && silence == Some(6 * DELTA + 1))
}

fn known_delay(court: &mut Court) -> Verdict {
    let crash = Exploration { bounds: Bounds { crashes: 1, ..Bounds::default() }, ..explored(3, 1) };
    let alone = explored(2, 1);
    let explored = court.holds(ME, &crash, &[Goal::Accuracy, Goal::Completeness]);
    let runs = |court: &mut Court, drift_ppm, missed: &str| {
        let mut right = 0;
        for seed in 1..=20 {
            let faults = vec![Fault::Crash(p(3), delta(50.0))];
            let (delay, options) =
                (Delay::Uniform(DELTA / 100, DELTA), vec![("missed".to_string(), missed.to_string())]);
            let world = Experiment { seed, faults, drift_ppm, delay, options, ..experiment(3) };
            let run = court.run(ME, &world);
            let outcome = &run.report.outcome;
            right += u32::from(!outcome.violated(Property::Accuracy) && !outcome.violated(Property::Completeness));
            if let (true, 1) = (outcome.violated(Property::Accuracy), seed) {
                court.show_run(ME, &world, &run, "clocks that run at different speeds make a heartbeat late");
            }
        }
        court.say(format!(
            "clock drift of up to {drift_ppm} ppm, option missed={missed}: no false suspicion and no missed crash in \
             {right} of 20 simulated runs"
        ));
        right == 20
    };
    // A tick is the longest delay here, and from one beat to the next it is five.
    let drifts = |missed: &str| {
        let bounds = Bounds { crashes: 1, ..Bounds::default() };
        let options = vec![("missed".to_string(), missed.to_string())];
        Exploration { bounds, drift: 1, options, ..alone.clone() }
    };
    let late = court.breaks(ME, &drifts("0"), Goal::Accuracy);
    let in_time = court.holds(ME, &drifts("1"), &[Goal::Accuracy, Goal::Completeness]);
    let (same_speed, drifting, allowed_for) =
        (runs(court, 0, "0"), runs(court, 100_000, "0"), runs(court, 100_000, "1"));
    Verdict::only_if(
        "clocks run at the same speed, or the timeout allows for their drift",
        explored && same_speed && allowed_for && in_time,
        drifting && !late,
    )
}

/// Delays without a bound, of which the processes guess one.
fn guessed(bound: f64) -> Experiment {
    let faults = vec![Fault::Crash(p(3), delta(100.0))];
    Experiment { faults, delay: Delay::Exponential(DELTA), bound: Some(delta(bound)), ..experiment(3) }
}

/// How often a live process is suspected, and how long it takes to find a dead one.
fn guess(court: &mut Court, bound: f64) -> (u64, f64) {
    let run = court.run(ME, &guessed(bound));
    let detection = &run.report.outcome.detection;
    let found = detection.detection_time.summary(DELTA as f64).map_or(f64::INFINITY, |time| time.mean);
    court.say(format!(
        "delays of 1 δ on average, with a guessed bound of {} δ: {} false suspicions; a crash is detected after {} δ",
        number(bound),
        detection.false_suspicions,
        number(found)
    ));
    (detection.false_suspicions, found)
}
