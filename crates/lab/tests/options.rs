//! Options that change what an algorithm does: every run of a few processes, with the numbers that were seen.

use quorate_core::id::Id;
use quorate_core::setting::{Recovering, Timing};
use quorate_core::trace::{Record, What};
use quorate_lab::application::{ClientPlan, Workload};
use quorate_lab::cost::CostReport;
use quorate_lab::experiment::{Experiment, Spectators};
use quorate_lab::explore::goal::Goal;
use quorate_lab::explore::{Exploration, Findings};
use quorate_lab::network::Order;
use quorate_lab::recovery::Beside;
use quorate_lab::stage::Bounds;
use quorate_lab::stage::wish::Times;
use quorate_lab::time::DELTA;

fn explore(algorithm: &str, option: (&str, &str), exploration: Exploration) -> Findings {
    let options = vec![(option.0.into(), option.1.into())];
    Exploration { options, ..exploration }.run(algorithm, &mut |_| {}).expect("it can be explored")
}

fn of(n: u32) -> Exploration {
    Exploration { n, ..Exploration::default() }
}

fn crashes(crashes: u32) -> Bounds {
    Bounds { crashes, ..Bounds::default() }
}

const SAFE_AND_LIVE: [Goal; 3] = [Goal::MutualExclusion, Goal::DeadlockFreedom, Goal::StarvationFreedom];

/// All that is asked holds, in so many states.
fn assert_holds(what: &str, findings: &Findings, states: u64) {
    assert!(findings.complete, "{what}");
    for (goal, _) in &findings.verdicts {
        assert!(findings.holds(*goal), "{what}: {goal}");
    }
    assert_eq!(findings.states, states, "{what}");
}

/// The shortest run that breaks something, in words.
fn steps(findings: &Findings, goal: Goal) -> Vec<String> {
    findings.counterexample(goal).unwrap_or_else(|| panic!("{goal} should be broken")).steps.clone()
}

/// The shortest run that breaks something, searched for no further.
fn shortest(algorithm: &str, option: (&str, &str), goal: Goal, exploration: Exploration) -> Vec<String> {
    let exploration = Exploration { goals: Some(vec![goal]), stop: true, ..exploration };
    steps(&explore(algorithm, option, exploration), goal)
}

mod acknowledged {
    use super::*;

    const YES: (&str, &str) = ("acknowledged", "yes");

    #[test]
    fn tokens_that_are_acknowledged_let_everybody_in() {
        let once = explore("token-ring", YES, of(3));
        assert_holds("once", &once, 11823);
        assert!(once.broken_assumptions.is_empty(), "{:?}", once.broken_assumptions);
        assert_holds("endless", &explore("token-ring", YES, Exploration { times: Times::Endless, ..of(3) }), 1548);
    }

    /// T9: who is dead from the beginning is skipped, and without acknowledgements blocks the ring.
    #[test]
    fn a_dead_successor_is_skipped() {
        for (dead, n, states) in [(&[2][..], 3, 630), (&[3], 3, 699), (&[2, 3], 4, 661)] {
            let absent: Vec<_> = dead.iter().copied().map(Id::new).collect();
            let without = Exploration { absent, ..of(n) };
            assert_holds(&format!("without {dead:?}"), &explore("token-ring", YES, without.clone()), states);
            let blocked = shortest("token-ring", ("acknowledged", "no"), Goal::DeadlockFreedom, without);
            assert!(blocked.len() <= 2, "{blocked:#?}");
        }
    }

    /// T9b: who has acknowledged the token and crashes takes it along. There are never two, whoever crashes.
    #[test]
    fn a_token_that_dies_with_its_holder_is_lost_and_none_is_doubled() {
        let findings = explore("token-ring", YES, Exploration { bounds: crashes(1), ..of(3) });
        assert_eq!(findings.states, 30777);
        assert!(findings.holds(Goal::MutualExclusion) && findings.holds(Goal::Fencing));
        let found = steps(&findings, Goal::DeadlockFreedom);
        assert_eq!(found.len(), 3, "{found:#?}");
        let fatal = "p2 receives token(0) from p1, and crashes after 1";
        assert!(found.iter().any(|step| step.contains(fatal)), "{found:#?}");
        assert_eq!(findings.broken_assumptions, ["processes crash"]);
    }

    #[test]
    fn an_acknowledgement_that_comes_too_late_makes_two_tokens() {
        let late = Exploration { timing: Some(Timing::Asynchronous), ..of(3) };
        let found = shortest("token-ring", YES, Goal::MutualExclusion, late);
        assert_eq!(found.len(), 4, "{found:#?}");
        assert!(found.contains(&"p1 times out: acknowledgement".to_string()), "{found:#?}");
    }

    #[test]
    fn with_recovery_it_is_refused() {
        let recovery = Some(Beside::Ring);
        let options = vec![(YES.0.into(), YES.1.into())];
        let error = Exploration { recovery, options, ..of(3) }.run("token-ring", &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains("a crash could lose the acknowledgement but not the token"), "{error}");
    }
}

mod rest {
    use super::*;

    const YES: (&str, &str) = ("rest", "yes");

    #[test]
    fn a_token_that_rests_comes_to_everybody_who_asks() {
        for (n, states, endless_states) in [(3, 506, 3477), (4, 10726, 68712)] {
            let once = explore("token-ring", YES, of(n));
            assert_holds("once", &once, states);
            assert!(once.broken_assumptions.is_empty(), "{:?}", once.broken_assumptions);
            let endless = Exploration { times: Times::Endless, ..of(n) };
            assert_holds("endless", &explore("token-ring", YES, endless), endless_states);
        }
    }

    /// Where messages may overtake each other, there are only more states.
    #[test]
    fn the_order_of_messages_means_nothing() {
        let goals = Some([&SAFE_AND_LIVE[..], &[Goal::Fencing]].concat());
        for (n, entries, states) in [(3, 2, 411_569), (4, 1, 243_030)] {
            let any =
                Exploration { order: Some(Order::Any), times: Times::AtMost(entries), goals: goals.clone(), ..of(n) };
            assert_holds("in any order", &explore("token-ring", YES, any), states);
        }
    }

    #[test]
    fn whoever_crashes_and_whenever_the_others_go_on() {
        let recovery = Some(Beside::Ring);
        for (crash, states) in [(1, 63954), (2, 105_623)] {
            let exploration = Exploration { recovery, bounds: crashes(crash), ..of(3) };
            assert_holds(&format!("{crash} crashes"), &explore("token-ring", YES, exploration), states);
        }
        let bounds = Bounds { restarts: 1, ..crashes(1) };
        let back = Exploration { recovery, bounds, times: Times::AtMost(2), ..of(2) };
        assert_holds("a return", &explore("token-ring", YES, back), 28107);
    }

    fn costs(n: u32, workload: Workload, rest: &str) -> CostReport {
        let clients = ClientPlan { workload, entries: 2000, ..ClientPlan::default() };
        let options = vec![("rest".into(), rest.into())];
        let experiment = Experiment { n, clients, options, ..Experiment::default() };
        experiment.run("token-ring", Spectators::default()).unwrap().outcome.costs
    }

    /// What its file says of its costs.
    #[test]
    fn it_costs_nothing_to_rest_and_more_to_ask() {
        for (n, messages) in [(3, 2.4), (5, 5.3), (9, 11.3)] {
            let rare = |rest| costs(n, Workload::Poisson(0.01 / f64::from(n)), rest);
            let (circulating, resting) = (rare("no"), rare("yes"));
            assert_eq!((resting.messages_per_entry.unwrap() * 10.0).round() / 10.0, messages);
            assert!(circulating.messages_per_entry.unwrap() > 90.0);
            let delay = |costs: &CostReport| costs.client_delay.unwrap().mean;
            let near = |delay: f64, expected: f64| (delay - expected).abs() < 0.05 * expected;
            assert!(near(delay(&circulating), f64::from(n) / 2.0), "{}", delay(&circulating));
            assert!(near(delay(&resting), f64::from(n - 1)), "{}", delay(&resting));

            let contended = |rest| costs(n, Workload::Contended, rest);
            let (circulating, resting) = (contended("no"), contended("yes"));
            assert_eq!(circulating.messages_per_entry.unwrap().round(), 1.0);
            assert_eq!(resting.messages_per_entry.unwrap().round(), 2.0);
            for costs in [circulating, resting] {
                assert_eq!(costs.sync_delay.unwrap().mean, 1.0);
            }
            // Who asks alone fetches it once.
            assert_eq!(costs(n, Workload::Alone, "yes").messages, u64::from(n));
        }
    }

    /// Also where it survives crashes, and resources are made when they are asked for: one that never rests is there
    /// before anybody asks.
    #[test]
    fn with_recovery_a_token_moves_from_the_beginning_unless_it_rests() {
        let passed_before_asked = |rest: &str| {
            let workload = Workload::List(vec![(Id::new(3), 100 * DELTA)]);
            let clients = ClientPlan { workload, ..ClientPlan::default() };
            let options = vec![("rest".into(), rest.into())];
            let recovery = Some(Recovering::default());
            let experiment = Experiment { n: 4, clients, options, recovery, ..Experiment::default() };
            let mut passed = 0;
            let mut watch = |record: &Record| match &record.what {
                What::Sent { label, .. } if label.kind == "token" && record.at < 100 * DELTA => passed += 1,
                _ => {}
            };
            let spectators = Spectators { records: Some(&mut watch), ..Spectators::default() };
            let report = experiment.run("token-ring", spectators).unwrap();
            assert_eq!(report.outcome.costs.entries, 1, "{rest}");
            passed
        };
        assert_eq!((passed_before_asked("no"), passed_before_asked("yes")), (100, 0));
    }
}

mod answer {
    use super::*;

    const ALWAYS: (&str, &str) = ("answer", "always");
    const ONCE: (&str, &str) = ("answer", "once");

    /// R8: whoever crashes, and whenever, the others go on; without answers they do not.
    #[test]
    fn who_is_silent_is_dead_and_who_denies_is_not() {
        let crash = |n, entries| Exploration { bounds: crashes(1), times: Times::AtMost(entries), ..of(n) };
        for (n, entries, states) in [(2, 3, 278_707), (3, 1, 1_359_732)] {
            let findings = explore("ricart-agrawala", ALWAYS, crash(n, entries));
            assert_holds(&format!("{n} processes"), &findings, states);
            assert!(findings.broken_assumptions.is_empty(), "{:?}", findings.broken_assumptions);
        }
        let blocked = shortest("ricart-agrawala", ("answer", "grant"), Goal::DeadlockFreedom, crash(3, 1));
        assert!(blocked.len() <= 4, "{blocked:#?}");
    }

    #[test]
    fn who_asks_only_until_there_is_an_answer_waits_for_who_denies_and_dies() {
        let crash = Exploration { bounds: crashes(1), ..of(3) };
        let found = shortest("ricart-agrawala", ONCE, Goal::DeadlockFreedom, crash);
        assert_eq!(found.len(), 13, "{found:#?}");
        let dead = Exploration { absent: vec![Id::new(3)], ..of(3) };
        assert_holds("dead from the beginning", &explore("ricart-agrawala", ONCE, dead), 563);
    }

    /// That is what a repetition is for: one message may be lost, but not two.
    #[test]
    fn a_lost_message_is_made_good_by_asking_again() {
        let lost = |losses| Exploration { bounds: Bounds { losses, ..Bounds::default() }, ..of(2) };
        let twice = Exploration { times: Times::AtMost(2), ..lost(1) };
        assert_holds("one loss", &explore("ricart-agrawala", ALWAYS, twice), 51746);
        let found = shortest("ricart-agrawala", ALWAYS, Goal::MutualExclusion, lost(2));
        assert_eq!(found.len(), 14, "{found:#?}");
    }

    #[test]
    fn where_delays_have_no_bound_who_is_slow_is_taken_for_dead() {
        let bounds = Bounds { timeouts: Some(2), ..Bounds::default() };
        let late = Exploration { timing: Some(Timing::Asynchronous), bounds, ..of(2) };
        let found = shortest("ricart-agrawala", ALWAYS, Goal::MutualExclusion, late);
        assert_eq!(found.len(), 6, "{found:#?}");
    }

    #[test]
    fn who_is_told_of_crashes_needs_no_time() {
        let told = Exploration { recovery: Some(Beside::Ring), bounds: crashes(1), ..of(3) };
        assert_holds("told", &explore("ricart-agrawala", ALWAYS, told), 45383);
    }
}
