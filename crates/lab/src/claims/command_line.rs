//! The command that reproduces a run, made from the run, so that the two cannot drift apart.

use std::fmt::Write;

use quorate_core::id::Id;
use quorate_core::setting::{Recovering, Timing};

use crate::application::{ClientPlan, Workload};
use crate::experiment::Experiment;
use crate::explore::Exploration;
use crate::network::{Delay, Order, Partition};
use crate::recovery::Beside;
use crate::simulate::Fault;
use crate::stage::wish::Times;
use crate::time::exact_text;

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
        ("losses", bounds.losses),
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
    put(exploration.drift > 0, "drift-ticks", &exploration.drift.to_string());
    if let Some(timeouts) = bounds.timeouts {
        put(true, "timeouts", &timeouts.to_string());
    }
    put_options(&exploration.options, &mut put);
    if let Some(goals) = &exploration.goals {
        put(true, "property", &list(goals, ToString::to_string));
    }
    put(exploration.stop, "stop", "");
    line
}

/// The command that runs this.
pub fn sim(algorithm: &str, experiment: &Experiment) -> String {
    let usual = Experiment::default();
    // All of it, so that nothing is forgotten.
    let Experiment {
        n,
        seed,
        delay,
        order,
        loss,
        duplicate,
        partitions,
        faults,
        drift_ppm,
        bound,
        detector,
        recovery,
        options,
        clients,
        starters,
        until,
        properties,
        // How much is kept does not change the run.
        keep_records: _,
    } = experiment;
    let mut line = format!("quorate sim {algorithm} -n {n}");
    let mut put = |given: bool, option: &str, value: &str| {
        if given {
            let space = if value.is_empty() { "" } else { " " };
            let _ = write!(line, " --{option}{space}{value}");
        }
    };
    put(*seed != usual.seed, "seed", &seed.to_string());
    put(*delay != usual.delay, "delay", &delay_text(*delay));
    if let Some(order) = order {
        put(true, "order", order_name(*order));
    }
    put_clients(clients, &usual.clients, &mut put);
    put(*loss != 0.0, "loss-rate", &loss.to_string());
    put(*duplicate != 0.0, "duplicate-rate", &duplicate.to_string());
    for Partition { parts, from, to } in partitions {
        let parts = parts.iter().map(|part| list(part, |id| id.number().to_string())).collect::<Vec<_>>().join("/");
        put(true, "partition", &format!("{parts}@{}..{}", exact_text(*from), exact_text(*to)));
    }
    put_faults(faults, &mut put);
    put(*drift_ppm != 0, "drift-ppm", &drift_ppm.to_string());
    if let Some(bound) = bound {
        put(true, "delay-bound", &exact_text(*bound));
    }
    if let Some(perfect) = detector {
        put(true, "detector", detector_name(*perfect));
    }
    if let Some(recovery) = recovery {
        let defaults = Recovering::default();
        put(true, "recovery", "");
        put(recovery.election != defaults.election, "election", recovery.election.name());
        put(recovery.guard, "guard", "");
        put(recovery.gather, "gather", "");
        put(recovery.interval != defaults.interval, "interval", &recovery.interval.to_string());
        put(recovery.missed != defaults.missed, "missed", &recovery.missed.to_string());
    }
    put_options(options, &mut put);
    put(!starters.is_empty(), "starter", &list(starters, |&(id, at)| at_time(id, at)));
    if let Some(until) = until {
        put(true, "until", &exact_text(*until));
    }
    if let Some(properties) = properties {
        put(true, "property", &list(properties, |property| property.name().to_string()));
    }
    line
}

fn put_options(options: &[(String, String)], put: &mut impl FnMut(bool, &str, &str)) {
    for (key, value) in options {
        match key.as_str() {
            "sets" => put(true, "sets", value),
            key => put(true, "option", &format!("{key}={value}")),
        }
    }
}

fn put_clients(clients: &ClientPlan, usual: &ClientPlan, put: &mut impl FnMut(bool, &str, &str)) {
    let mut entries = if clients.entries_each.is_some() { u64::MAX } else { usual.entries };
    let mut asks = String::new();
    match &clients.workload {
        Workload::Contended => {}
        Workload::Alone => put(true, "workload", "alone"),
        Workload::Poisson(rate) => put(true, "workload", &format!("poisson:{rate}")),
        Workload::Causal => put(true, "workload", "causal"),
        Workload::List(requests) => {
            entries = if clients.entries_each.is_some() { u64::MAX } else { requests.len() as u64 };
            asks = list(requests, |&(id, at)| format!("{}@{}", id.number(), exact_text(at)));
        }
    }
    put(!asks.is_empty(), "ask", &asks);
    if let Some(each) = clients.entries_each {
        put(true, "entries-each", &each.to_string());
    }
    put(clients.entries != entries, "entries", &clients.entries.to_string());
    put(clients.time_inside != usual.time_inside, "cs", &exact_text(clients.time_inside));
    put(clients.withdraw != usual.withdraw, "withdraw-rate", &clients.withdraw.to_string());
    let clocks = list(&clients.clocks, |(id, number)| format!("{}={}", id.number(), number.get()));
    put(!clocks.is_empty(), "initial-clock", &clocks);
}

fn put_faults(faults: &[Fault], put: &mut impl FnMut(bool, &str, &str)) {
    let (mut absent, mut crashes, mut restarts, mut pauses) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for fault in faults {
        match *fault {
            Fault::AbsentFromTheBeginning(id) => absent.push(id.number().to_string()),
            Fault::Crash(id, at) => crashes.push(at_time(id, at)),
            Fault::Restart(id, at) => restarts.push(at_time(id, at)),
            Fault::Pause(id, from, to) => {
                pauses.push(format!("{}@{}..{}", id.number(), exact_text(from), exact_text(to)));
            }
        }
    }
    for (option, given) in [("absent", absent), ("crash", crashes), ("restart", restarts), ("pause", pauses)] {
        put(!given.is_empty(), option, &given.join(","));
    }
}

fn at_time(id: Id, at: u64) -> String {
    format!("{}@{}", id.number(), exact_text(at))
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
        Delay::Constant(ticks) => format!("constant:{}", exact_text(ticks)),
        Delay::Uniform(least, most) => format!("uniform:{}..{}", exact_text(least), exact_text(most)),
        Delay::Exponential(mean) => format!("exponential:{}", exact_text(mean)),
        Delay::PerLink(least, most) => format!("per-link:{}..{}", exact_text(least), exact_text(most)),
    }
}

fn list<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    items.iter().map(text).collect::<Vec<_>>().join(",")
}
