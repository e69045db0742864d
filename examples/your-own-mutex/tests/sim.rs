//! The program as its page describes it: the page shows its source, and what it prints.

use std::process::{Command, Output};

const PAGE: &str = include_str!("../../../docs/your-own-algorithm.md");

fn mine(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_your-own-mutex")).args(arguments).output().unwrap()
}

fn stdout(arguments: &[&str]) -> String {
    String::from_utf8(mine(arguments).stdout).unwrap()
}

/// The blocks of the page in a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let opening = format!("```{language}\n");
    PAGE.split(&opening).skip(1).map(|rest| rest.split("```\n").next().unwrap()).collect()
}

#[test]
fn the_page_shows_the_program() {
    assert_eq!(blocks("rust"), [include_str!("../src/main.rs")]);
}

/// A block may end with `...`, which stands for the rest.
#[test]
fn the_page_shows_what_the_program_prints() {
    let blocks = blocks("console");
    assert!(blocks.len() >= 2);
    for block in blocks {
        let (command, expected) = block.split_once('\n').unwrap();
        let arguments = command.strip_prefix("$ cargo run -- ").expect("a block begins with a command");
        let printed = stdout(&arguments.split(' ').collect::<Vec<_>>());
        match expected.strip_suffix("...\n") {
            Some(beginning) => assert!(printed.starts_with(beginning), "{command} prints\n{printed}"),
            None => assert_eq!(printed, expected, "{command}"),
        }
    }
}

#[test]
fn it_looks_right_by_any_seed_until_requests_come_at_random() {
    let code = |arguments: &[&str]| mine(arguments).status.code().unwrap();
    for seed in ["1", "2", "3", "4", "5"] {
        assert_eq!(code(&["sim", "--seed", seed]), 0, "seed {seed}");
        assert_eq!(code(&["sim", "--seed", seed, "--delay", "exponential:1"]), 0, "seed {seed}");
        assert_eq!(code(&["sim", "--seed", seed, "--workload", "poisson:0.5"]), 10, "seed {seed}");
    }
}

#[test]
fn it_is_a_program_like_quorate_under_its_own_name() {
    let help = stdout(&["--help"]);
    for part in ["mine: ask everybody", "Usage: your-own-mutex ", "--json", "--quiet", "10 safety violated"] {
        assert!(help.contains(part), "{part} is not in\n{help}");
    }
    let report: serde_json::Value = serde_json::from_str(&stdout(&["sim", "-n", "3", "--json"])).unwrap();
    assert_eq!((&report["algorithm"], &report["n"], &report["entries"]), (&"mine".into(), &3.into(), &20.into()));
    for (arguments, told) in [
        (&["sim", "-n", "0"][..], "your-own-mutex: invalid value '0' for '-n <N>'"),
        (
            &["sim", "--starter", "1"],
            "your-own-mutex: --starter works only with election algorithms; mine is for mutual exclusion",
        ),
        (&["sim", "lamport"], "your-own-mutex: unexpected argument 'lamport'"),
    ] {
        let output = mine(arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), text.lines().count()), (Some(2), 1), "{arguments:?}: {text}");
        assert!(text.starts_with(told), "{arguments:?}: {text}");
    }
    let output = mine(&["sim", "--crash", "1@100"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(told, "your-own-mutex: an assumption of mine is broken: processes crash\n");
}
