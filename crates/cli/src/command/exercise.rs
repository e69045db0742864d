//! `quorate exercise`: algorithms with one bug each, and the run that shows it.

use std::fmt::Write;
use std::process::ExitCode;

use quorate_lab::command::failure::Failure;
use quorate_lab::command::output::{BAD, DIM, GOOD, HEADING, Table, Terminal, styled};
use quorate_lab::exercise::{Exercise, Variant, all};
use quorate_lab::explore::Findings;
use quorate_lab::explore::counterexample::Counterexample;
use serde_json::{Value, json};

use crate::arguments::ExerciseArguments;

/// How wide prose becomes.
const WIDTH: usize = 100;

pub(crate) fn run(arguments: &ExerciseArguments, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let Some(exercise) = arguments.exercise else {
        if arguments.hint || arguments.answer {
            return Err(Failure::Usage(
                "--hint and --answer need the number of an exercise, for example `quorate exercise 2 --hint`"
                    .to_string(),
            ));
        }
        list(terminal)?;
        return Ok(ExitCode::SUCCESS);
    };
    let answer = arguments.answer.then(|| find(exercise, terminal));
    if terminal.is_json() {
        let mut object = summary(exercise);
        object["story"] = json!(exercise.lesson.story);
        object["source"] = json!(exercise.source(Variant::Flawed));
        object["question"] = json!(exercise.question());
        object["bounds"] = json!(bounds(exercise));
        if arguments.hint {
            object["hint"] = json!(exercise.hint);
        }
        if let Some((findings, run)) = &answer {
            object["answer"] = answer_json(exercise, findings, run);
        }
        terminal.print_json(&object)?;
    } else {
        let mut text = question(exercise);
        if arguments.hint {
            text += &format!("\n{}", wrapped(&format!("Hint: {}", exercise.hint)));
        }
        match &answer {
            Some((findings, run)) => text += &answer_text(exercise, findings, run),
            None => text += &format!("\n{}\n", styled(DIM, &how_to_check(exercise, arguments.hint))),
        }
        terminal.print(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn summary(exercise: &Exercise) -> Value {
    json!({
        "number": exercise.number,
        "title": exercise.title,
        "family": exercise.lesson.title,
        "property": exercise.goal().name(),
    })
}

fn list(terminal: &mut Terminal) -> Result<(), Failure> {
    if terminal.is_json() {
        let exercises: Vec<_> = all().iter().map(summary).collect();
        terminal.print_json(&json!({ "exercises": exercises }))?;
        return Ok(());
    }
    let mut table = Table::new(4);
    for exercise in all() {
        let number = format!("{:2}", exercise.number);
        table.row([number, styled(HEADING, exercise.title), exercise.lesson.title.into(), exercise.goal().to_string()]);
    }
    let text = "Each of these algorithms has one bug. Find a run that shows it.\n\n".to_string();
    terminal.print(&(text + &table.render() + "\n`quorate exercise N` shows exercise N.\n"))?;
    Ok(())
}

/// Explores the algorithm until the answer is found.
fn find(exercise: &Exercise, terminal: &Terminal) -> (Findings, Counterexample) {
    let mut spinner = terminal.spinner();
    let findings = exercise
        .explore(Variant::Flawed, &exercise.exploration(), &mut |progress| {
            spinner.set(progress.states, &format!("{} states", progress.states));
        })
        .expect("the exploration of an exercise is possible");
    let run = findings.counterexample(exercise.goal()).expect("an exercise breaks what it says").clone();
    (findings, run)
}

/// What may happen, in words.
fn bounds(exercise: &Exercise) -> String {
    let number = |count: u32| match count {
        1 => "one".to_string(),
        2 => "two".to_string(),
        3 => "three".to_string(),
        4 => "four".to_string(),
        other => other.to_string(),
    };
    let often = |count: u32| match count {
        1 => "once".to_string(),
        2 => "twice".to_string(),
        other => format!("{} times", number(other)),
    };
    let verb = if exercise.lesson.is_about_elections() { "starts an election" } else { "requests entry" };
    let order = if exercise.lesson.is_fifo() {
        "messages between two processes arrive in order"
    } else {
        "messages may arrive in any order"
    };
    let pokes = match exercise.pokes {
        0 => String::new(),
        pokes => format!("; the applications send at most {} messages of their own", number(pokes)),
    };
    format!(
        "There are {} processes. Each {verb} at most {}; {order}{pokes}.",
        number(exercise.n),
        often(exercise.times)
    )
}

fn question(exercise: &Exercise) -> String {
    let mut text = String::new();
    let title = format!("Exercise {}: {}", exercise.number, exercise.title);
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}  ({})\n", styled(HEADING, &title), exercise.lesson.title);
    text += &wrapped(exercise.lesson.story);
    text.push('\n');
    for line in exercise.source(Variant::Flawed).lines() {
        let _ = writeln!(text, "{}", format!("    {line}").trim_end());
    }
    text.push('\n');
    text += &wrapped(&format!("{} {} Which line is wrong?", exercise.question(), bounds(exercise)));
    text
}

fn how_to_check(exercise: &Exercise, hinted: bool) -> String {
    let number = exercise.number;
    let hint = if hinted { String::new() } else { format!("`quorate exercise {number} --hint` prints a hint; ") };
    format!("{hint}`quorate exercise {number} --answer` prints the answer")
}

fn answer_text(exercise: &Exercise, findings: &Findings, run: &Counterexample) -> String {
    let count = run.steps.len();
    let mut text = format!("\n{}\n", styled(HEADING, &format!("Shortest counterexample, {count} steps:")));
    let mut table = Table::new(2);
    for (number, step) in (1..).zip(&run.steps) {
        table.row([format!("{number:4}"), step.clone()]);
    }
    text += &table.render();
    let why = format!("{}: {}", exercise.goal(), run.why);
    text += &format!("\n{}\n{}", styled(BAD, &why), wrapped(exercise.explanation));
    let (wrong, right) = exercise.difference();
    text.push('\n');
    for (sign, style, lines) in [('-', BAD, wrong), ('+', GOOD, right)] {
        for line in lines {
            text += &format!("{}\n", styled(style, &format!("  {sign} {line}")));
        }
    }
    let others: Vec<_> = exercise.breaks[1..].iter().map(|goal| goal.name()).collect();
    if !others.is_empty() {
        text += &format!("\nThe bug also violates {}.\n", others.join(" and "));
    }
    text += &format!("\n{}\n", styled(DIM, &format!("{} states explored", findings.states)));
    text
}

fn answer_json(exercise: &Exercise, findings: &Findings, run: &Counterexample) -> Value {
    let (wrong, right) = exercise.difference();
    json!({
        "steps": run.steps,
        "why": run.why,
        "explanation": exercise.explanation,
        "wrong_lines": wrong,
        "right_lines": right,
        "breaks": exercise.breaks.iter().map(|goal| goal.name()).collect::<Vec<_>>(),
        "states": findings.states,
    })
}

/// Prose, in lines that fit.
fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    let mut width = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > WIDTH {
            lines.push('\n');
            width = 0;
        } else if width > 0 {
            lines.push(' ');
            width += 1;
        }
        lines.push_str(word);
        width += length;
    }
    lines.push('\n');
    lines
}
