//! The algorithms of the exercises: the explorer finds exactly what is wrong with each, by the shortest run; with the
//! right ones nothing; and the simulator does not find all of them.

mod plain;

use quorate_core::catalog::{Property, Visitor};
use quorate_core::detector::Detector;
use quorate_core::election::Election;
use quorate_core::mutex::Mutex;
use quorate_core::stack::Withdrawable;
use quorate_lab::exercise::{Exercise, Variant, all};
use quorate_lab::experiment::Experiment;
use quorate_lab::explore::goal::Goal;
use quorate_lab::explore::{Exploration, Findings};
use quorate_lab::observer::Verdict;
use quorate_lab::stage::wish::{Caller, Client, Times};

use plain::{Plain, Searched};

/// What each exercise breaks, and in how many steps at least.
const SHORTEST: &[&str] = &[
    "Come in, it's open: mutual-exclusion 6",
    "After you: mutual-exclusion 6, fencing 6",
    "No, after me: deadlock-freedom 4",
    "A number of its own: mutual-exclusion 6, request-order 5, fencing 6",
    "Thank you, again: mutual-exclusion 17, request-order 16, fencing 17",
    "A word among friends: request-order 6",
    "I have your message: mutual-exclusion 10, request-order 9, fencing 10",
    "Next, please: deadlock-freedom 8",
    "No request is ahead of mine: mutual-exclusion 11",
    "One vote each: mutual-exclusion 11, deadlock-freedom 11, fencing 11",
    "A tidy voter: deadlock-freedom 7",
    "I can count: fencing 7",
    "You have my vote: mutual-exclusion 11, fencing 11",
    "Please take a seat: deadlock-freedom 12",
    "Your number, please: fencing 8",
    "Back so soon?: mutual-exclusion 11, fencing 11",
    "A souvenir: mutual-exclusion 4, fencing 4",
    "From the first to the last: deadlock-freedom 5",
    "It is my turn first: deadlock-freedom 8",
    "Number one: fencing 5",
    "Pass it on: single-leader 8, decided 7",
    "That is not for me to say: decided 2",
    "Larger than you: single-leader 5, decided 12",
];

fn search(exercise: &Exercise, variant: Variant, exploration: &Exploration) -> Findings {
    exercise.explore(variant, exploration, &mut |_| {}).unwrap_or_else(|error| panic!("{}: {error}", exercise.title))
}

fn violated(findings: &Findings) -> Vec<Goal> {
    findings.verdicts.iter().map(|(goal, _)| *goal).filter(|&goal| findings.counterexample(goal).is_some()).collect()
}

#[test]
fn the_explorer_finds_what_is_wrong_with_each_and_nothing_else_by_the_shortest_run() {
    let mut found = Vec::new();
    for exercise in all() {
        let findings = search(exercise, Variant::Flawed, &exercise.exploration());
        let lengths = findings.verdicts.iter().filter_map(|(goal, _)| {
            findings.counterexample(*goal).map(|counterexample| format!("{goal} {}", counterexample.steps.len()))
        });
        found.push(format!("{}: {}", exercise.title, lengths.collect::<Vec<_>>().join(", ")));
        let mut listed = exercise.breaks.to_vec();
        listed.sort_unstable();
        if violated(&findings) != listed {
            found.push(format!("{} is said to break {listed:?}", exercise.title));
        }
    }
    assert_eq!(found, SHORTEST, "{found:#?}");
}

#[test]
fn the_right_ones_keep_every_promise_in_the_same_search() {
    for exercise in all() {
        let findings = search(exercise, Variant::Right, &exercise.exploration());
        assert!(findings.complete && findings.broken_assumptions.is_empty(), "{}", exercise.title);
        for &goal in exercise.lesson.promises {
            assert!(findings.holds(goal), "{}: {:?}", exercise.title, findings.verdict(goal));
        }
        assert_eq!(findings.promised, exercise.lesson.promises, "{}", exercise.title);
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for exercise in all() {
        for variant in [Variant::Right, Variant::Flawed] {
            let [one, two] = [1, 2].map(|threads| {
                let exploration = Exploration { threads: Some(threads), ..exercise.exploration() };
                let found = search(exercise, variant, &exploration);
                (found.states, found.transitions, found.depth, found.complete, found.verdicts)
            });
            assert_eq!(one, two, "{} ({variant:?})", exercise.title);
        }
    }
}

/// Threads share the work only where there is enough of it.
#[test]
fn the_number_of_threads_changes_nothing_in_larger_searches_either() {
    for (title, n, times) in [("No, after me", 3, 2), ("Next, please", 3, 1), ("A tidy voter", 3, 3)] {
        let exercise = all().iter().find(|exercise| exercise.title == title).expect("there is such an exercise");
        for variant in [Variant::Right, Variant::Flawed] {
            let [one, two, many] = [1, 2, 7].map(|threads| {
                let goals = Some(exercise.lesson.promises.to_vec());
                let times = Times::AtMost(times);
                let max_states = 60_000;
                let exploration =
                    Exploration { n, times, goals, threads: Some(threads), max_states, ..Exploration::default() };
                let found = search(exercise, variant, &exploration);
                (found.states, found.transitions, found.depth, found.complete, found.verdicts)
            });
            assert_eq!(one, two, "{title} ({variant:?})");
            assert_eq!(one, many, "{title} ({variant:?})");
        }
    }
}

impl Visitor for Plain<'_> {
    type Output = Searched;
    fn mutex<M: Mutex>(self) -> Searched {
        self.search::<_, Client>(&M::ENTRY, Withdrawable::<M>::new)
    }
    fn election<E: Election>(self) -> Searched {
        self.search::<_, Caller>(&E::ENTRY, E::new)
    }
    fn detector<D: Detector>(self) -> Searched {
        unreachable!("no exercise is about {}", D::ENTRY.name)
    }
}

/// Every goal that a flawed algorithm breaks, and one that the right one keeps.
#[test]
fn a_plain_search_finds_the_same() {
    for exercise in all() {
        for (variant, goals) in [(Variant::Right, &exercise.lesson.promises[..1]), (Variant::Flawed, exercise.breaks)] {
            for &goal in goals {
                let options = exercise.options(variant);
                let exploration = Exploration { goals: Some(vec![goal]), options, ..exercise.exploration() };
                let plain = exercise.visit(Plain { exploration: &exploration, goal });
                plain::assert_same(exercise.title, goal, &search(exercise, variant, &exploration), &plain);
            }
        }
    }
}

/// In how many of twenty runs the simulator sees anything that the exercise breaks. The runs are the default ones, in
/// which everybody asks again and again, of as many processes as the exercise has.
fn simulated(exercise: &Exercise) -> usize {
    let broken = |seed: &u64| {
        let experiment = Experiment { n: exercise.n, seed: *seed, ..Experiment::default() };
        let report = exercise.simulate(Variant::Flawed, &experiment).expect("the experiment is possible");
        report.outcome.verdicts.iter().any(|(property, verdict)| {
            let listed = exercise.breaks.iter().any(|goal| goal.property().unwrap_or(Property::Progress) == *property);
            listed && matches!(verdict, Verdict::Violated(_))
        })
    };
    (1..=20).filter(broken).count()
}

#[test]
fn some_of_them_only_a_search_of_all_runs_finds() {
    let mut missed = Vec::new();
    for exercise in all() {
        let found = simulated(exercise);
        println!("{:2} {:28} {found:2} of 20 runs", exercise.number, exercise.title);
        if found == 0 {
            missed.push(exercise.number);
        }
    }
    assert!(missed.len() >= 3, "only {missed:?} are missed");
}

#[test]
fn exercises_are_numbered_and_each_differs_from_the_right_one_in_a_few_lines() {
    assert!(all().len() >= 14);
    for (number, exercise) in (1..).zip(all()) {
        assert_eq!(exercise.number, number);
        let (wrong, right) = exercise.difference();
        let title = exercise.title;
        assert!(!(wrong.is_empty() && right.is_empty()), "{title} shows nothing wrong");
        assert!(wrong.len() <= 3 && right.len() <= 3, "{title}: {wrong:?} instead of {right:?}");
        assert!(!exercise.source(Variant::Flawed).contains("flaw"), "{title} gives itself away");
        assert!(exercise.breaks.iter().all(|goal| exercise.lesson.promises.contains(goal)), "{title}");
    }
}

#[test]
fn a_story_has_three_to_eight_sentences() {
    for exercise in all() {
        let sentences = exercise.lesson.story.matches(". ").count() + 1;
        assert!((3..=8).contains(&sentences), "{}: {sentences} sentences", exercise.title);
    }
}
