//! `quorate exercise` as students use it: the list, a question without its answer, hints, answers, refusals.

use std::process::{Command, Output};

use serde_json::Value;

fn quorate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quorate")).args(arguments).output().unwrap()
}

fn stdout(arguments: &[&str]) -> String {
    let output = quorate(arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&stdout(&[arguments, &["--json"]].concat())).unwrap()
}

#[test]
fn the_list_has_every_exercise() {
    let list = json(&["exercise"]);
    let list = list["exercises"].as_array().unwrap();
    assert!(list.len() >= 14);
    let text = stdout(&["exercise"]);
    for exercise in list {
        assert!(text.contains(exercise["title"].as_str().unwrap()));
        assert!(["title", "family", "property"].iter().all(|key| exercise[*key].is_string()));
    }
}

#[test]
fn a_question_shows_the_code_that_runs_and_not_the_answer() {
    let text = stdout(&["exercise", "2"]);
    for part in ["Exercise 2: After you", "request.number < theirs.number", "Find a run in which two", "--answer"] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    for part in ["flaw", "tie", "Hint", "*request < theirs"] {
        assert!(!text.contains(part), "{part} is in\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 124), "{text}");
    assert!(stdout(&["exercise", "2", "--hint"]).contains("Hint: Two clocks"));
}

#[test]
fn an_answer_is_the_shortest_run_and_the_right_line() {
    let text = stdout(&["exercise", "2", "--answer"]);
    for part in ["counterexample, 6 steps", "   1  p1 ", "- ", "+             Phase::Waiting", "also violates fencing"]
    {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let answer = &json(&["exercise", "2", "--answer"])["answer"];
    assert_eq!(answer["steps"].as_array().unwrap().len(), 6);
    assert_eq!(answer["why"], "p1 entered while p2 was inside");
    assert_eq!(
        answer["right_lines"],
        serde_json::json!(["            Phase::Waiting { request, .. } => *request < theirs,"])
    );
    assert_eq!(json(&["exercise", "2"])["answer"], Value::Null);
}

#[test]
fn every_exercise_can_be_asked_and_answered() {
    for exercise in json(&["exercise"])["exercises"].as_array().unwrap() {
        let number = exercise["number"].to_string();
        let answer = json(&["exercise", &number, "--hint", "--answer"]);
        assert!(!answer["answer"]["steps"].as_array().unwrap().is_empty(), "{number}");
        assert!(answer["hint"].is_string() && answer["question"].is_string(), "{number}");
    }
}

#[test]
fn what_does_not_exist_is_refused_with_what_does() {
    for (arguments, why) in [
        (&["exercise", "99"][..], "there is no exercise `99`: exercises are numbered 1 to "),
        (&["exercise", "0"], "there is no exercise `0`"),
        (&["exercise", "-1"], "there is no exercise `-1`"),
        (&["exercise", "first"], "there is no exercise `first`"),
        (&["exercise", "--answer"], "--answer need the number of an exercise"),
    ] {
        let output = quorate(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && error.contains(why), "{arguments:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}
