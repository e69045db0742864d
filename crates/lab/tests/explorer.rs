//! The explorer: what it must find, how many states there are, and that the number of threads changes no answer.

use std::fmt::Write;

use quorate_core::catalog::{ENTRIES, Family};
use quorate_core::setting::Timing;
use quorate_lab::explore::goal::Goal;
use quorate_lab::explore::{Exploration, ExplorationError, Findings, Progress, Verdict};
use quorate_lab::network::Order;
use quorate_lab::stage::Bounds;
use quorate_lab::stage::wish::Times;

fn explore(algorithm: &str, exploration: &Exploration) -> Findings {
    exploration.run(algorithm, &mut |_| {}).expect("it can be explored")
}

fn steps_to(findings: &Findings, goal: Goal) -> Option<usize> {
    findings.counterexample(goal).map(|found| found.steps.len())
}

fn bare(n: u32, times: u32) -> Exploration {
    Exploration {
        n,
        times: Times::AtMost(times),
        options: vec![("replies".into(), "bare".into())],
        goals: Some(vec![Goal::MutualExclusion, Goal::DeadlockFreedom]),
        ..Exploration::default()
    }
}

/// Independent checkers agree on these numbers, for steps that are a request, a delivery or an exit, where a process
/// inside remembers its request's number.
#[test]
fn the_states_of_ricart_and_agrawala_are_those_that_others_count() {
    for (n, times, states) in [(3, 1, 2_822), (3, 2, 37_229), (4, 1, 2_070_348)] {
        let findings = explore("ricart-agrawala", &bare(n, times));
        assert_eq!((findings.states, findings.complete), (states, true), "n = {n}, {times} entries each");
        assert!(findings.holds(Goal::MutualExclusion) && findings.holds(Goal::DeadlockFreedom));
        assert!(n < 4 || findings.bytes < 40 * findings.states, "{} bytes", findings.bytes);
    }
}

/// What each algorithm's assumptions allow, small enough for a test: with every option's every value.
fn worlds() -> Vec<(&'static str, Exploration)> {
    let mut worlds = Vec::new();
    for entry in ENTRIES {
        let n = if entry.name == "majority" { 2 } else { 3 };
        let base = Exploration { n, ..Exploration::default() };
        worlds.push((entry.name, base.clone()));
        worlds.push((entry.name, Exploration { order: Some(Order::Fifo), ..base.clone() }));
        worlds.push((entry.name, Exploration { times: Times::AtMost(2), n: 2, ..base.clone() }));
        if entry.family == Family::Mutex {
            let bounds = Bounds { withdrawals: 1, ..Bounds::default() };
            worlds.push((entry.name, Exploration { bounds, ..base.clone() }));
        }
        if !entry.assumptions.crash_free {
            let bounds = Bounds { crashes: 1, ..Bounds::default() };
            worlds.push((entry.name, Exploration { bounds, ..base }));
        }
    }
    for (algorithm, key, value) in
        [("ricart-agrawala", "replies", "bare"), ("bully", "answers", "idle"), ("maekawa", "sets", "best")]
    {
        let options = vec![(key.into(), value.into())];
        worlds.push((algorithm, Exploration { options, ..Exploration::default() }));
    }
    worlds
}

fn words(findings: &Findings) -> Vec<(Goal, &'static str)> {
    let word = |verdict: &Verdict| match verdict {
        Verdict::Holds => "holds",
        Verdict::Violated(_) => "violated",
        Verdict::Undecided(_) => "undecided",
    };
    findings.verdicts.iter().map(|(goal, verdict)| (*goal, word(verdict))).collect()
}

#[test]
fn every_promise_holds_in_every_world_that_the_assumptions_allow() {
    for (algorithm, exploration) in worlds() {
        let findings = explore(algorithm, &exploration);
        assert!(findings.complete || words(&findings).iter().all(|(_, word)| *word == "violated"), "{algorithm}");
        assert_eq!(findings.broken_assumptions, Vec::<String>::new(), "{algorithm}: {:?}", findings.bounds);
        for (goal, verdict) in &findings.verdicts {
            let promised = findings.promised.contains(goal);
            // Tries that clash go on beyond any bound on timeouts, so that nobody can say whether they end.
            let may_go_on = algorithm == "majority" && matches!(goal, Goal::DeadlockFreedom | Goal::StarvationFreedom);
            let is_open = may_go_on && matches!(verdict, Verdict::Undecided(why) if why.contains("timers"));
            assert!(!promised || is_open || *verdict == Verdict::Holds, "{algorithm}: {goal}: {verdict:?}");
        }
    }
}

#[test]
fn threads_change_nothing() {
    for (algorithm, exploration) in worlds() {
        let one = explore(algorithm, &Exploration { threads: Some(1), ..exploration.clone() });
        for threads in [2, 3] {
            let more = explore(algorithm, &Exploration { threads: Some(threads), ..exploration.clone() });
            assert_eq!((one.states, one.transitions, one.depth), (more.states, more.transitions, more.depth));
            assert_eq!((one.ends_digest, one.most_overtaken), (more.ends_digest, more.most_overtaken));
            assert_eq!(one.verdicts, more.verdicts, "{algorithm}: the same runs are found");
        }
    }
}

/// How many states each world has is in `state_counts.txt`: `UPDATE=1` rewrites it.
#[test]
fn the_number_of_states_of_each_world_is_known() {
    let mut table = String::new();
    for (algorithm, exploration) in worlds() {
        let entry = ENTRIES.iter().find(|entry| entry.name == algorithm).expect("it is in the catalogue");
        if exploration.bounds.crashes > 0 || entry.assumptions.synchronous {
            continue;
        }
        let is_asked = |goal: &Goal| *goal != Goal::RequestOrder && !goal.is_about_resource();
        let goals = Goal::of_family(entry.family).iter().copied().filter(is_asked);
        let findings = explore(algorithm, &Exploration { goals: Some(goals.collect()), ..exploration });
        writeln!(table, "{:>7}  {algorithm}, {}", findings.states, findings.bounds.join(", ")).unwrap();
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/state_counts.txt");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &table).unwrap();
    }
    assert_eq!(table, std::fs::read_to_string(path).unwrap(), "UPDATE=1 rewrites {path}");
}

/// Who looks on may end it, and what was not decided by then is not called decided.
#[test]
fn a_search_ends_when_somebody_says_that_it_is_enough() {
    let exploration = Exploration { times: Times::AtMost(2), ..Exploration::default() };
    let mut told = 0;
    let mut watch = |progress: Progress| {
        told += 1;
        progress.enough.set(progress.depth >= 5);
    };
    let findings = exploration.run("lamport", &mut watch).expect("it can be explored");
    assert_eq!((findings.complete, told), (false, 6));
    let verdict = findings.verdict(Goal::MutualExclusion);
    assert!(matches!(verdict, Some(Verdict::Undecided(why)) if why == "the search was interrupted"), "{verdict:?}");
}

/// A search that has seen a cycle begins again. Interrupted then, it still reports what it had found.
#[test]
fn interrupted_search_keeps_earlier_counterexamples() {
    // A voter crashes, and a request waits for it: two steps, fewer than a cycle has.
    let bounds = Bounds { crashes: 1, ..Bounds::default() };
    let exploration = Exploration { times: Times::Endless, bounds, ..Exploration::default() };
    let mut last = 0;
    let mut watch = |progress: Progress| {
        progress.enough.set(progress.states < last);
        last = progress.states;
    };
    let findings = exploration.run("maekawa", &mut watch).expect("it can be explored");
    assert_eq!((findings.complete, steps_to(&findings, Goal::DeadlockFreedom)), (false, Some(2)));
    let verdict = findings.verdict(Goal::MutualExclusion);
    assert!(matches!(verdict, Some(Verdict::Undecided(why)) if why == "the search was interrupted"), "{verdict:?}");
}

#[test]
fn three_of_maekawas_deadlock_in_six_steps() {
    let findings = explore("maekawa", &Exploration::default());
    assert_eq!(steps_to(&findings, Goal::DeadlockFreedom), Some(6));
    let mended = explore("maekawa-deadlock-free", &Exploration { times: Times::AtMost(2), ..Exploration::default() });
    assert!(mended.complete && mended.holds(Goal::DeadlockFreedom) && mended.holds(Goal::StarvationFreedom));
}

#[test]
fn lamport_needs_fifo_channels() {
    let ordered = explore("lamport", &Exploration::default());
    assert!(ordered.complete && ordered.holds(Goal::MutualExclusion));
    let findings = explore("lamport", &Exploration { order: Some(Order::Any), ..Exploration::default() });
    assert!(steps_to(&findings, Goal::MutualExclusion).is_some());
    assert_eq!(findings.broken_assumptions, ["messages may overtake each other"]);
}

#[test]
fn bully_has_two_leaders_where_delays_have_no_bound() {
    let asynchronous = Exploration { timing: Some(Timing::Asynchronous), ..Exploration::default() };
    assert_eq!(steps_to(&explore("bully", &asynchronous), Goal::SingleLeader), Some(3));
    let bounds = Bounds { crashes: 1, ..Bounds::default() };
    let synchronous = explore("bully", &Exploration { bounds, ..Exploration::default() });
    assert!(synchronous.complete && synchronous.holds(Goal::SingleLeader) && synchronous.holds(Goal::Decided));
}

/// R1: with one entry each bare replies keep the order of requests, with two they do not; numbered ones always do.
#[test]
fn bare_replies_break_the_order_of_requests_with_two_entries_each() {
    let order = |times, replies: &str| Exploration {
        times: Times::AtMost(times),
        options: vec![("replies".into(), replies.into())],
        goals: Some(vec![Goal::RequestOrder]),
        ..Exploration::default()
    };
    assert!(explore("ricart-agrawala", &order(1, "bare")).holds(Goal::RequestOrder));
    assert!(steps_to(&explore("ricart-agrawala", &order(2, "bare")), Goal::RequestOrder).is_some());
    assert!(explore("ricart-agrawala", &order(2, "numbered")).holds(Goal::RequestOrder));
}

/// The application's own messages count for what happened before, and only a stamp tells of them.
#[test]
fn stamps_keep_the_order_of_requests_where_applications_talk() {
    let talk = |unstamped_pokes| Exploration {
        bounds: Bounds { pokes: 1, ..Bounds::default() },
        goals: Some(vec![Goal::RequestOrder]),
        unstamped_pokes,
        ..Exploration::default()
    };
    for algorithm in ["lamport", "ricart-agrawala"] {
        let findings = explore(algorithm, &talk(false));
        assert!(findings.holds(Goal::RequestOrder) && findings.promised == [Goal::RequestOrder], "{algorithm}");
    }
    assert!(!explore("ricart-agrawala", &talk(true)).holds(Goal::RequestOrder));
    for algorithm in ["central", "token-ring", "maekawa", "maekawa-deadlock-free"] {
        assert!(!explore(algorithm, &talk(false)).holds(Goal::RequestOrder), "{algorithm}");
    }
}

/// Entries without end: who waits is served in central and on the ring, and in Maekawa's not even two can be sure.
#[test]
fn endless_entries_starve_nobody_where_there_is_a_queue() {
    let endless = Exploration { times: Times::Endless, ..Exploration::default() };
    for algorithm in ["central", "token-ring"] {
        let findings = explore(algorithm, &endless);
        assert!(findings.complete && findings.holds(Goal::StarvationFreedom), "{algorithm}");
    }
    assert!(explore("maekawa", &endless).counterexample(Goal::DeadlockFreedom).is_some());
    let refused = endless.run("lamport", &mut |_| {}).expect_err("its clock never ends");
    assert_eq!(refused, ExplorationError::Endless { algorithm: "lamport" });
    let fences = Exploration { goals: Some(vec![Goal::Fencing]), ..endless };
    assert_eq!(fences.run("central", &mut |_| {}).expect_err("no fences"), ExplorationError::EndlessFences);
}

#[test]
fn a_limit_is_never_a_proof() {
    let few = Exploration { max_states: 100, ..Exploration::default() };
    let findings = explore("ricart-agrawala", &few);
    assert!(!findings.complete);
    for (goal, verdict) in &findings.verdicts {
        assert!(matches!(verdict, Verdict::Undecided(why) if why.contains("limit of 100 states")), "{goal}");
    }
    let little = Exploration { max_bytes: 1, ..Exploration::default() };
    assert!(!explore("ricart-agrawala", &little).complete);
    // Which limit it was is said, also where another could have been.
    let findings = explore("ricart-agrawala", &Exploration { stop: true, ..little });
    let verdict = findings.verdict(Goal::MutualExclusion);
    assert!(matches!(verdict, Some(Verdict::Undecided(why)) if why.contains(" GB of memory")), "{verdict:?}");
    // Just enough is enough.
    let all = explore("central", &Exploration::default());
    let enough = Exploration { max_states: all.states, ..Exploration::default() };
    let one_less = Exploration { max_states: all.states - 1, ..Exploration::default() };
    assert!(explore("central", &enough).complete && !explore("central", &one_less).complete);
    // Beyond the bound on timeouts nothing is said: who still waits for one is neither stuck nor on its way.
    let bounds = Bounds { timeouts: Some(0), ..Bounds::default() };
    let findings = explore("majority", &Exploration { n: 2, bounds, ..Exploration::default() });
    for goal in [Goal::DeadlockFreedom, Goal::StarvationFreedom] {
        let verdict = findings.verdict(goal);
        assert!(matches!(verdict, Some(Verdict::Undecided(why)) if why.contains("timers")), "{goal}: {verdict:?}");
    }
    assert!(findings.complete && findings.holds(Goal::MutualExclusion));
    assert!(findings.bounds.contains(&"at most 0 timeouts".to_string()));
}

/// Whoever may find few states finds few more, is told how far it is, and is heard when it is enough: however many
/// threads there are, after the same states.
#[test]
fn a_small_limit_is_looked_at_often() {
    let most = 600_000;
    let told = |threads: usize, max_states: u64| {
        let (mut told, mut last, mut gap) = (Vec::new(), 0, 0);
        let exploration = Exploration { threads: Some(threads), max_states, ..bare(4, 1) };
        let findings = exploration.run("ricart-agrawala", &mut |progress: Progress| {
            gap = gap.max(progress.states - last);
            last = progress.states;
            told.push(progress.states);
            progress.enough.set(progress.states > most);
        });
        (findings.unwrap().states, gap, told)
    };
    let (states, gap, progress) = told(1, most);
    let (far, unlimited, _) = told(1, u64::MAX);
    assert!(2 * gap < unlimited, "up to {gap} states without a word, and without a limit {unlimited}");
    assert!(states - most < gap && states <= far, "{states} states, and without a limit {far}");
    assert_eq!((states, gap, progress), told(2, most));
}

/// A verdict is for what is printed with it, so everything that was chosen is.
#[test]
fn every_condition_is_named() {
    let default = Exploration::default;
    let order = Some(vec![Goal::RequestOrder]);
    let talk = Bounds { pokes: 1, ..Bounds::default() };
    let crash = Bounds { crashes: 1, ..Bounds::default() };
    for (algorithm, exploration, named) in [
        ("central", default(), "p1 coordinates and never requests entry"),
        ("ricart-agrawala", bare(2, 1), "replies=bare"),
        (
            "lamport",
            Exploration { n: 2, bounds: talk, unstamped_pokes: true, goals: order, ..default() },
            "application messages without timestamps",
        ),
        ("ring", Exploration { n: 2, bounds: crash, ..default() }, "all processes are notified of crashes"),
        (
            "ring",
            Exploration { n: 2, bounds: crash, detector: Some(false), ..default() },
            "no process is notified of crashes",
        ),
    ] {
        let bounds = explore(algorithm, &exploration).bounds;
        assert!(bounds.iter().any(|words| words == named), "{algorithm}: {bounds:?} do not say {named}");
    }
}

#[test]
fn what_cannot_be_explored_is_refused_with_a_sentence() {
    let refuse = |algorithm: &str, exploration: Exploration| {
        exploration.run(algorithm, &mut |_| {}).expect_err("it is refused").to_string()
    };
    let default = Exploration::default;
    let bounds = |bounds| Exploration { bounds, ..default() };
    let cases = [
        (refuse("lamport", Exploration { n: 17, ..default() }), "n = 17: the number of processes must be from 1 to 16"),
        (refuse("none", default()), "unknown algorithm `none`"),
        (refuse("bully", bounds(Bounds { pokes: 1, ..Bounds::default() })), "pokes apply only to mutual exclusion"),
        (refuse("bully", bounds(Bounds { withdrawals: 1, ..Bounds::default() })), "withdrawals apply only to"),
        (
            refuse("lamport", bounds(Bounds { losses: 16, ..Bounds::default() })),
            "losses = 16: the largest accepted number is 7",
        ),
        (
            refuse("bully", Exploration { goals: Some(vec![Goal::Fencing]), ..default() }),
            "fencing does not apply to election",
        ),
        (refuse("bully", Exploration { goals: Some(Vec::new()), ..default() }), "no property to check"),
        (refuse("bully", Exploration { delay_bound: 0, ..default() }), "delay bound = 0 ticks"),
    ];
    for (refusal, words) in cases {
        assert!(refusal.contains(words), "`{refusal}` does not say `{words}`");
    }
}
