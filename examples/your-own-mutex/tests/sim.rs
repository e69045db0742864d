//! The page about this program shows its source and what it prints.
//!
//! `UPDATE=1 cargo test -p your-own-mutex` writes both into the page.

use std::process::{Command, Output};

const PAGE: &str = include_str!("../../../docs/your-own-algorithm.md");
const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/your-own-algorithm.md");

fn mine(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_your-own-mutex")).args(arguments).output().unwrap()
}

fn stdout(arguments: &[&str]) -> String {
    String::from_utf8(mine(arguments).stdout).unwrap()
}

/// The page as it should be: every block of Rust is the program, and every console block is a command and its output.
/// If a block ends with `...`, it shows the output up to the line that begins with the same word as its last line.
fn right_page() -> String {
    let mut blocks = PAGE.split("```");
    let mut page = blocks.next().unwrap_or_default().to_string();
    for (place, part) in blocks.enumerate() {
        let is_block = place % 2 == 0;
        let part = match part.split_once('\n') {
            Some(("rust", _)) if is_block => format!("rust\n{}", include_str!("../src/main.rs")),
            Some(("console", block)) if is_block => format!("console\n{}", right_block(block)),
            _ => part.to_string(),
        };
        page = page + "```" + &part;
    }
    page
}

fn right_block(block: &str) -> String {
    let (command, shown) = block.split_once('\n').unwrap();
    let arguments = command.strip_prefix("$ cargo run -- ").expect("a console block begins with a command");
    let printed = stdout(&arguments.split(' ').collect::<Vec<_>>());
    if let Some(beginning) = shown.strip_suffix("...\n") {
        let first_word = |line: &str| line.split(' ').next().unwrap_or_default().to_string();
        let last = beginning.lines().last().map(first_word).unwrap_or_default();
        let end = printed.lines().position(|line| first_word(line) == last).expect("the output has such a line");
        let lines: Vec<_> = printed.lines().take(end + 1).collect();
        return format!("{command}\n{}\n...\n", lines.join("\n"));
    }
    format!("{command}\n{printed}")
}

#[test]
fn the_page_shows_the_program_and_its_output() {
    assert!(PAGE.matches("```console\n").count() >= 2 && PAGE.matches("```rust\n").count() == 1);
    let page = right_page();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(PATH, &page).unwrap();
        return;
    }
    let line = PAGE.lines().zip(page.lines()).find(|(shown, right)| shown != right);
    assert!(PAGE == page, "{PATH} differs: {line:?}; run with UPDATE=1 to write it");
}

#[test]
fn only_requests_at_random_times_show_the_violation() {
    let code = |arguments: &[&str]| mine(arguments).status.code().unwrap();
    for seed in ["1", "2", "3", "4", "5"] {
        assert_eq!(code(&["sim", "--seed", seed]), 0, "seed {seed}");
        assert_eq!(code(&["sim", "--seed", seed, "--delay", "exponential:1"]), 0, "seed {seed}");
        assert_eq!(code(&["sim", "--seed", seed, "--workload", "poisson:0.5"]), 10, "seed {seed}");
    }
}

#[test]
fn the_program_has_the_commands_of_quorate_under_its_own_name() {
    let help = stdout(&["--help"]);
    for part in ["mine: a process needs a reply", "Usage: your-own-mutex ", "--quiet", "10 safety violated"] {
        assert!(help.contains(part), "{part} is not in\n{help}");
    }
    assert!(stdout(&["sim", "--help"]).contains("--json"));
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
