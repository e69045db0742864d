//! The command that reproduces a run, made from the run, so that the two cannot drift apart.

use std::fmt::Write;

use quorate_core::id::Id;
use quorate_core::setting::{Recovering, Timing};

use crate::application::{ClientPlan, Workload};
use crate::experiment::Experiment;
use crate::explore::Exploration;
use crate::network::{Delay, Order};
use crate::recovery::Beside;
use crate::simulate::Fault;
use crate::stage::wish::Times;
use crate::time::delta_text;

/// The command that explores this.
pub fn check(algorithm: &str, exploration: &Exploration) -> String {
    let Exploration { n, times, bounds, .. } = exploration;
    let mut line = format!("quorate check {algorithm} -n {n}");
    // Writing to a string cannot fail.
    let mut put = |given: bool, option: &str, value: &str| {
        if given {
            let _ = write!(line, " --{option}{}{value}", if value.is_empty() { "" } else { " " });
        }
    };
    put(*times != Times::AtMost(1), "entries-each", &times.to_string());
    if let Some(order) = exploration.order {
        put(true, "order", order_name(order));
    }
    for (option, count) in [
        ("pokes", bounds.pokes),
        ("crashes", bounds.crashes),
        ("restarts", bounds.restarts),
        ("loss", bounds.losses),
        ("duplicates", bounds.duplicates),
        ("withdrawals", bounds.withdrawals),
        ("suspicions", bounds.suspicions),
        ("writes", bounds.writes),
    ] {
        put(count > 0, option, &count.to_string());
    }
    if let Some(election) = exploration.recovery {
        put(true, "recovery", "");
        put(election != Beside::default(), "election", election.name());
    }
    put(exploration.sealed, "sealed", "");
    put(exploration.unstamped_pokes, "unstamped-pokes", "");
    put(!exploration.absent.is_empty(), "absent", &list(&exploration.absent, |id| id.number().to_string()));
    if let Some(perfect) = exploration.detector {
        put(true, "detector", detector_name(perfect));
    }
    if let Some(timing) = exploration.timing {
        put(true, "timing", if timing == Timing::Synchronous { "synchronous" } else { "asynchronous" });
    }
    put(exploration.delay_bound != 1, "delay-bound", &exploration.delay_bound.to_string());
    put(exploration.drift > 0, "drift", &exploration.drift.to_string());
    if let Some(timeouts) = bounds.timeouts {
        put(true, "timeouts", &timeouts.to_string());
    }
    for (key, value) in &exploration.options {
        put(true, "option", &format!("{key}={value}"));
    }
    if let Some(goals) = &exploration.goals {
        put(true, "property", &list(goals, ToString::to_string));
    }
    put(exploration.reduce, "reduce", "");
    put(exploration.stop, "stop", "");
    line
}

/// The command that runs this.
pub fn sim(algorithm: &str, experiment: &Experiment) -> String {
    let usual = Experiment::default();
    let mut line = format!("quorate sim {algorithm} -n {}", experiment.n);
    let mut put = |given: bool, option: &str, value: &str| {
        if given {
            let space = if value.is_empty() { "" } else { " " };
            let _ = write!(line, " --{option}{space}{value}");
        }
    };
    put(experiment.seed != usual.seed, "seed", &experiment.seed.to_string());
    put(experiment.delay != usual.delay, "delay", &delay_text(experiment.delay));
    if let Some(order) = experiment.order {
        put(true, "order", order_name(order));
    }
    put_clients(&experiment.clients, &usual.clients, &mut put);
    put(experiment.loss != 0.0, "loss", &experiment.loss.to_string());
    put(experiment.duplicate != 0.0, "duplicate", &experiment.duplicate.to_string());
    put_faults(&experiment.faults, &mut put);
    put(experiment.drift_ppm != 0, "drift", &experiment.drift_ppm.to_string());
    if let Some(bound) = experiment.bound {
        put(true, "bound", &delta_text(bound));
    }
    if let Some(perfect) = experiment.detector {
        put(true, "detector", detector_name(perfect));
    }
    if let Some(recovery) = experiment.recovery {
        let defaults = Recovering::default();
        put(true, "recovery", "");
        put(recovery.election != defaults.election, "election", recovery.election.name());
        put(recovery.guard, "guard", "");
        put(recovery.gather, "gather", "");
        put(recovery.interval != defaults.interval, "interval", &recovery.interval.to_string());
        put(recovery.missed != defaults.missed, "missed", &recovery.missed.to_string());
    }
    for (key, value) in &experiment.options {
        put(true, "option", &format!("{key}={value}"));
    }
    let starters = list(&experiment.starters, |&(id, at)| at_time(id, at));
    put(!experiment.starters.is_empty(), "starter", &starters);
    if let Some(until) = experiment.until {
        put(true, "until", &delta_text(until));
    }
    line
}

fn put_clients(clients: &ClientPlan, usual: &ClientPlan, put: &mut impl FnMut(bool, &str, &str)) {
    let (mut entries, mut asks) = (usual.entries, String::new());
    match &clients.workload {
        Workload::Contended => {}
        Workload::Alone => put(true, "workload", "alone"),
        Workload::Poisson(rate) => put(true, "workload", &format!("poisson:{rate}")),
        Workload::Causal => put(true, "workload", "causal"),
        Workload::List(requests) => {
            entries = requests.len() as u64;
            asks = list(requests, |&(id, at)| format!("{}@{}", id.number(), delta_text(at)));
        }
    }
    put(!asks.is_empty(), "ask", &asks);
    put(clients.entries != entries, "entries", &clients.entries.to_string());
    put(clients.time_inside != usual.time_inside, "cs", &delta_text(clients.time_inside));
    put(clients.withdraw != usual.withdraw, "withdraw", &clients.withdraw.to_string());
    let clocks = list(&clients.clocks, |(id, number)| format!("{}={}", id.number(), number.get()));
    put(!clocks.is_empty(), "clock", &clocks);
}

fn put_faults(faults: &[Fault], put: &mut impl FnMut(bool, &str, &str)) {
    let (mut crashes, mut restarts, mut pauses) = (Vec::new(), Vec::new(), Vec::new());
    for fault in faults {
        match *fault {
            Fault::AbsentFromTheBeginning(id) => crashes.push(id.number().to_string()),
            Fault::Crash(id, at) => crashes.push(at_time(id, at)),
            Fault::Restart(id, at) => restarts.push(at_time(id, at)),
            Fault::Pause(id, from, to) => {
                pauses.push(format!("{}@{}..{}", id.number(), delta_text(from), delta_text(to)));
            }
        }
    }
    for (option, given) in [("crash", crashes), ("restart", restarts), ("pause", pauses)] {
        put(!given.is_empty(), option, &given.join(","));
    }
}

fn at_time(id: Id, at: u64) -> String {
    format!("{}@{}", id.number(), delta_text(at))
}

fn order_name(order: Order) -> &'static str {
    match order {
        Order::Fifo => "fifo",
        Order::Any => "any",
    }
}

fn detector_name(perfect: bool) -> &'static str {
    if perfect { "perfect" } else { "none" }
}

fn delay_text(delay: Delay) -> String {
    match delay {
        Delay::Constant(ticks) => format!("constant:{}", delta_text(ticks)),
        Delay::Uniform(least, most) => format!("uniform:{}..{}", delta_text(least), delta_text(most)),
        Delay::Exponential(mean) => format!("exponential:{}", delta_text(mean)),
        Delay::PerLink(least, most) => format!("per-link:{}..{}", delta_text(least), delta_text(most)),
    }
}

fn list<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    items.iter().map(text).collect::<Vec<_>>().join(",")
}
