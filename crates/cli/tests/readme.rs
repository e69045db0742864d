//! The README claims only what a command in it shows: each of its `console` blocks is run and compared.

use std::process::Command;

/// The commands of a README, each with the lines it is said to print. A line `...` stands for any number of others.
fn examples(readme: &str) -> Vec<(Vec<String>, Vec<String>)> {
    let mut examples: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    let mut inside = false;
    for line in readme.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if inside && let Some(command) = line.strip_prefix("$ cargo run --release -- ") {
            examples.push((command.split_whitespace().map(String::from).collect(), Vec::new()));
        } else if inside {
            examples.last_mut().expect("a block begins with a command").1.push(line.to_string());
        }
    }
    examples
}

/// Whether lines are as expected, where `...` matches any number of lines.
fn matches(expected: &[String], actual: &[&str]) -> bool {
    match expected {
        [] => actual.is_empty(),
        [gap, rest @ ..] if gap == "..." => (0..=actual.len()).any(|skipped| matches(rest, &actual[skipped..])),
        [line, rest @ ..] => actual.first() == Some(&line.as_str()) && matches(rest, &actual[1..]),
    }
}

#[test]
fn the_readme_shows_what_the_command_prints() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap();
    let examples = examples(&readme);
    assert!(examples.len() >= 5);
    for (arguments, expected) in examples {
        let output = Command::new(env!("CARGO_BIN_EXE_quorate")).args(&arguments).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let actual: Vec<_> = text.lines().collect();
        assert!(matches(&expected, &actual), "quorate {} prints\n{text}", arguments.join(" "));
    }
}
