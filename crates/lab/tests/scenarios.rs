//! Written conversations: each scenario that comes with the laboratory is played, and says and shows what its file
//! expects.
//!
//! A change of behaviour is a diff of a conversation. If it is meant, `UPDATE=1 cargo test -p quorate-lab --test
//! scenarios` rewrites what follows the `---` of each file in `scenarios`, to be reviewed like code.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use quorate_core::catalog::{self, ENTRIES};
use quorate_core::id::Id;
use quorate_lab::explore::goal::Goal;
use quorate_lab::explore::{Exploration, Verdict};
use quorate_lab::network::Order;
use quorate_lab::scenario::step::KNOWN;
use quorate_lab::scenario::{Scenario, ScenarioError, builtin};
use quorate_lab::stage::Bounds;
use quorate_lab::stage::wish::Times;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")
}

/// The files themselves, which may be newer than what was compiled in.
fn files() -> Vec<(String, String)> {
    let mut files: Vec<_> = std::fs::read_dir(directory())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_string();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn every_scenario_says_what_its_file_expects() {
    for (name, text) in files() {
        let scenario = Scenario::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let played = scenario.play().unwrap_or_else(|error| panic!("{name}: {error}"));
        for &expectation in &scenario.header.expect {
            assert_eq!(played.disappointment(expectation), None, "{name}");
        }
        let actual = played.conversation().trim_end().to_string();
        if std::env::var_os("UPDATE").is_some() {
            let script = text.split("\n---\n").next().unwrap().trim_end();
            std::fs::write(directory().join(format!("{name}.txt")), format!("{script}\n---\n{actual}\n")).unwrap();
        } else {
            assert_eq!(scenario.conversation.as_deref(), Some(actual.as_str()), "{name} changed; it is now:\n{actual}");
        }
    }
}

#[test]
fn every_file_comes_with_the_laboratory_and_is_explained() {
    let listed: BTreeSet<_> = builtin::ALL.iter().map(|known| known.name.to_string()).collect();
    let found: BTreeSet<_> = files().into_iter().map(|(name, _)| name).collect();
    assert_eq!(listed, found);
    assert_eq!(listed.len(), builtin::ALL.len());
    let mut titles = BTreeSet::new();
    for known in builtin::ALL {
        let scenario = known.scenario();
        assert!(titles.insert(scenario.title().to_string()), "{} has the title of another", known.name);
        assert!(scenario.story().len() > 100, "{} is not explained", known.name);
        assert!(!scenario.header.expect.is_empty(), "{} expects nothing", known.name);
        let long = known.text.lines().find(|line| line.chars().count() > 120);
        assert_eq!(long, None, "{}", known.name);
    }
}

#[test]
fn every_algorithm_has_scenarios() {
    for entry in ENTRIES {
        let about = builtin::ALL.iter().filter(|known| known.scenario().header.algorithm == entry.name).count();
        assert!(about >= 2, "{} has {about}", entry.name);
    }
}

#[test]
fn what_is_read_can_be_written_and_read_again() {
    for (name, text) in files() {
        let scenario = Scenario::parse(&text).unwrap();
        assert_eq!(scenario.to_string().parse(), Ok(scenario), "{name}");
    }
}

/// A script in the words that earlier versions wrote.
fn in_old_words(text: &str) -> String {
    let replaced = |line: &str| {
        let line = line
            .replace(" sends an application message to ", " tells ")
            .replace(" receives an application message from ", " hears from ")
            .replace(" receives ", " gets ")
            .replace(" starts an election", " calls")
            .replace(" restarts", " comes back")
            .replace(" requests", " asks")
            .replace(" exits", " leaves");
        match line.split_once(" is notified that ") {
            Some((to, news)) => {
                let news = news.replace(" crashed", " has crashed").replace(" restarted", " is back");
                format!("{to} is told that {news}")
            }
            None => line,
        }
    };
    text.lines().map(|line| if line.starts_with('#') { line.to_string() } else { replaced(line) } + "\n").collect()
}

#[test]
fn scripts_in_old_words_are_the_same_runs() {
    let restart = "algorithm ricart-agrawala\nn 3\nrecovery ring\np2 requests, and crashes after 1\n\
                   p1 is notified that p2 crashed\np2 restarts\np1 is notified that p2 restarted\n";
    let scripts = builtin::ALL.iter().map(|known| known.text.split("\n---\n").next().unwrap());
    let mut seen = String::new();
    for new in scripts.chain([restart]) {
        let old = in_old_words(new);
        assert_ne!(old.trim_end(), new.trim_end());
        let play = |text: &str| Scenario::parse(text).unwrap().play().unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(play(&old), play(new), "{old}");
        seen += &old;
    }
    for old in
        ["asks", "leaves", "calls", "gets everything", "tells p", "hears from", "has crashed", "is back", "comes back"]
    {
        assert!(seen.contains(&format!(" {old}")), "{old}");
    }
}

/// What the explorer finds, saved as a scenario and read again, is the same run, record for record.
#[test]
fn a_counterexample_can_be_kept() {
    let crash = Bounds { crashes: 1, restarts: 1, ..Bounds::default() };
    let explorations = [
        ("lamport", Goal::MutualExclusion, Exploration { n: 2, order: Some(Order::Any), ..Exploration::default() }),
        ("maekawa", Goal::DeadlockFreedom, Exploration::default()),
        ("majority", Goal::MutualExclusion, Exploration { bounds: crash, ..Exploration::default() }),
        (
            "bully",
            Goal::SingleLeader,
            Exploration { absent: vec![Id::new(3)], bounds: crash, ..Exploration::default() },
        ),
        (
            "central",
            Goal::RequestOrder,
            Exploration { bounds: Bounds { pokes: 1, ..Bounds::default() }, ..Exploration::default() },
        ),
        ("maekawa", Goal::RequestOrder, Exploration { times: Times::Endless, ..Exploration::default() }),
        (
            "token-ring",
            Goal::MutualExclusion,
            Exploration { bounds: Bounds { duplicates: 1, ..Bounds::default() }, ..Exploration::default() },
        ),
        (
            "central",
            Goal::DeadlockFreedom,
            Exploration { bounds: Bounds { losses: 1, ..Bounds::default() }, ..Exploration::default() },
        ),
    ];
    for (algorithm, goal, exploration) in explorations {
        let exploration = Exploration { goals: Some(vec![goal]), stop: true, threads: Some(1), ..exploration };
        let findings = exploration.run(algorithm, &mut |_| {}).unwrap();
        let Some(Verdict::Violated(counterexample)) = findings.verdict(goal) else { panic!("{algorithm}: no breach") };
        let entry = catalog::entry(algorithm).unwrap();
        let saved = Scenario::of_counterexample(&exploration, entry, goal, counterexample).unwrap();
        let scenario: Scenario = saved.to_string().parse().unwrap();
        assert_eq!(scenario, saved, "{saved}");
        let played = scenario.play().unwrap_or_else(|error| panic!("{error}\n{saved}"));
        assert_eq!(played.records, counterexample.records, "{saved}");
        assert_eq!(played.steps, counterexample.steps, "{saved}");
        for &expectation in &scenario.header.expect {
            assert_eq!(played.disappointment(expectation), None, "{saved}");
        }
    }
}

fn error(text: &str) -> ScenarioError {
    let played = Scenario::parse(text).and_then(|scenario| scenario.play());
    played.expect_err("this is wrong")
}

#[test]
fn an_error_says_where_it_is_and_what_would_be_possible() {
    let start = "algorithm central\nn 3\n";
    for (text, line, named) in [
        ("n 3", None, "has no `algorithm` line"),
        ("algorithm central", None, "has no `n` line"),
        ("algorithm paxos\nn 3", None, "paxos"),
        ("algorithm central\nn 65", Some(2), "1 to 64"),
        ("algorithm central\nn 3\nn 4", Some(3), "written twice"),
        ("algorithm central\nn 3\noption replies=bare", None, "central has no options"),
        ("algorithm central\nn 3\nabsent p4", Some(3), "p1 to p3"),
        ("algorithm central\nn 1\nabsent p1", None, "at least one must run"),
        ("algorithm bully\nn 3\nclock p1 7", None, "election"),
        ("algorithm central\nn 3\nexpect peace violated", Some(3), "mutual-exclusion"),
        ("algorithm central\nn 3\nfrobnicate", Some(3), "delay-bound"),
        (&format!("{start}p4 asks"), Some(3), "p1 to p3"),
        (&format!("{start}p2 asks\nn 3"), Some(4), "before the first step"),
        (&format!("{start}p2 leaves"), Some(3), "possible here: p1 requests, p2 requests, p3 requests"),
        (&format!("{start}p2 asks\n\np3 gets grant from p1"), Some(5), "p1 receives request from p2"),
        (&format!("{start}p2 asks\np1 gets grant from p2"), Some(4), "no such message"),
        (&format!("{start}p2 asks\np1 gets request #2 from p2"), Some(4), "only one such message"),
        (&format!("{start}p2 asks\np2 times out: answers"), Some(4), "no timer running"),
        (&format!("{start}p2 crashes\np2 asks"), Some(4), "p2 has crashed"),
        (&format!("{start}p2 comes back"), Some(3), "p2 has not crashed"),
        (&format!("{start}p2 is told that p1 has crashed"), Some(3), "no such message or notification"),
        (&format!("{start}p2 tells p2"), Some(3), "to itself"),
        (&format!("{start}time passes"), Some(3), "timing synchronous"),
        (&format!("{start}deliver all"), Some(3), "no message is in transit"),
        (&format!("{start}p1 gets everything"), Some(3), "no message to p1 is in transit"),
        ("algorithm token-ring\nn 3\ndeliver all", Some(3), "does not end"),
        ("algorithm lamport\nn 2\np1 asks\np2 asks\np1 gets everything\np2 gets reply from p1", Some(6), "order fifo"),
        (
            "algorithm ricart-agrawala\nn 2\np1 asks\np2 asks\np2 gets everything\np1 gets reply from p2\np1 leaves\n\
             p1 asks\nrequest from p1 to p2 is lost\np1 withdraws\np2 gets request from p1",
            Some(11),
            "no message from p1 to p2 is in transit",
        ),
    ] {
        let error = error(text);
        assert_eq!(error.line, line, "{text}: {error}");
        assert!(error.to_string().contains(named), "{text}: {error}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

#[test]
fn a_label_needs_its_number_only_if_there_are_several() {
    let start = "algorithm suzuki-kasami\nn 3\np2 asks\np1 gets request from p2\np2 gets token from p1\np2 leaves\n\
                 p1 asks\np2 gets request from p1\np1 gets token from p2\np2 asks\n";
    let ambiguous = error(&format!("{start}p3 gets request from p2"));
    assert!(ambiguous.why.contains("request(1), request(2)"), "{ambiguous}");
    for named in ["request(1)", "request(2)", "request #2", "request(2) #1"] {
        let scenario = Scenario::parse(&format!("{start}p3 gets {named} from p2")).unwrap();
        assert!(scenario.play().is_ok(), "{named}");
    }
}

fn document(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)).unwrap()
}

/// The page that explains the language shows only scenarios that can be played, and what it says comes true.
#[test]
fn the_page_about_the_language_is_true() {
    let page = document("scenarios.md");
    let blocks: Vec<_> = page.split("```scenario\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 3);
    for block in blocks {
        let scenario = Scenario::parse(block).unwrap_or_else(|error| panic!("{error}\n{block}"));
        let played = scenario.play().unwrap_or_else(|error| panic!("{error}\n{block}"));
        for &expectation in &scenario.header.expect {
            assert_eq!(played.disappointment(expectation), None, "{block}");
        }
        if let Some(conversation) = &scenario.conversation {
            assert_eq!(conversation, played.conversation().trim_end(), "{block}");
        }
    }
    for step in KNOWN.split(", ").map(|step| step.split(" (").next().unwrap().replace("MESSAGE", "request(1)")) {
        assert!(page.contains(step.split(" TIMER").next().unwrap()), "the page does not show `{step}`");
    }
}

/// Every command in the answers names something that there is.
#[test]
fn the_answers_name_scenarios_that_there_are() {
    let page = document("questions.md");
    let named: BTreeSet<_> = page
        .split("quorate replay ")
        .skip(1)
        .map(|rest| rest.split(|letter: char| letter == '`' || letter.is_whitespace()).next().unwrap())
        .collect();
    assert!(named.len() >= 25, "{named:?}");
    for name in named.into_iter().filter(|name| *name != "NAME") {
        assert!(builtin::find(name).is_some(), "there is no scenario {name}");
    }
}

/// Lines that are nearly right, and some that are not.
fn line() -> impl Strategy<Value = String> {
    let process = || (0..5u32).prop_map(|number| format!("p{number}"));
    let message = prop::sample::select(vec![
        "request",
        "request(1)",
        "reply",
        "reply(1) #2",
        "token",
        "token(0)",
        "ask",
        "vote(1)",
    ]);
    let verb = prop::sample::select(vec![
        "requests",
        "asks",
        "exits",
        "withdraws",
        "starts an election",
        "reads",
        "writes",
        "crashes",
        "restarts",
        "receives everything",
        "times out: answers",
        "times out: back-off",
        "times out: beat",
        "requests, and will again",
        "",
    ]);
    let header = prop::sample::select(vec![
        "n 2",
        "n 0",
        "order any",
        "order fifo",
        "timing synchronous",
        "timing asynchronous",
        "delay-bound 3",
        "detector yes",
        "absent p2",
        "clock p1 40",
        "clock p1 99999999999999999999",
        "entries-each 1",
        "restarts 1",
        "expect holds",
        "expect fencing held",
        "stamps no",
        "sealed yes",
        "option votes=2",
        "option =",
        "# a remark",
        "---",
        "",
    ]);
    prop_oneof![
        3 => (process(), verb).prop_map(|(who, verb)| format!("{who} {verb}")),
        3 => (process(), message.clone(), process())
            .prop_map(|(to, what, from)| format!("{to} receives {what} from {from}")),
        1 => (process(), message.clone(), process())
            .prop_map(|(to, what, from)| format!("{to} receives {what} from {from}, and will again")),
        1 => (process(), message, process()).prop_map(|(to, what, from)| format!("{what} from {from} to {to} is lost")),
        1 => (process(), process()).prop_map(|(from, to)| format!("{from} sends an application message to {to}")),
        1 => (process(), process()).prop_map(|(to, from)| format!("{to} receives an application message from {from}")),
        1 => (process(), process()).prop_map(|(to, of)| format!("{to} is notified that {of} crashed")),
        1 => Just("deliver all".to_string()),
        1 => Just("time passes".to_string()),
        1 => header.prop_map(String::from),
        1 => ".{0,30}",
    ]
}

fn algorithm() -> impl Strategy<Value = &'static str> {
    prop::sample::select(ENTRIES.iter().map(|entry| entry.name).collect::<Vec<_>>())
}

/// Plays as much of a script as is possible: every line that cannot happen is left out.
fn play_what_can_be_played(mut text: String) {
    for _ in 0..100 {
        let outcome = Scenario::parse(&text).and_then(|scenario| {
            let written = scenario.to_string();
            assert_eq!(written.parse(), Ok(scenario.clone()), "{written}");
            scenario.play()
        });
        match outcome {
            Err(ScenarioError { line: Some(line), .. }) => {
                let kept = (1..).zip(text.lines()).filter(|(number, _)| *number != line);
                text = kept.map(|(_, line)| format!("{line}\n")).collect();
            }
            Ok(_) | Err(_) => return,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is written, nothing panics and everything ends.
    #[test]
    fn any_script_ends(algorithm in algorithm(), lines in prop::collection::vec(line(), 0..30)) {
        play_what_can_be_played(format!("algorithm {algorithm}\nn 4\n{}\n", lines.join("\n")));
    }

    /// The lines of a good scenario, in any order.
    #[test]
    fn shuffled_scenarios_end(lines in prop::sample::select(builtin::ALL.to_vec()).prop_flat_map(|known| {
        let script = known.text.split("\n---").next().unwrap_or_default();
        Just(script.lines().map(String::from).collect::<Vec<_>>()).prop_shuffle()
    })) {
        play_what_can_be_played(lines.join("\n"));
    }
}
