//! The README and other pages show what their commands print. Each `console` block is run as a user would type it, with
//! the binary of this build, in a directory of its own and on a port of its own.
//!
//! `quorate serve` runs in the background until the test ends. A line `...` in a block stands for any number of lines.
//! Ports, process ids and fences differ from run to run: the README's number stands for the one that was printed first
//! in its place, and must stand for the same one in every later line.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use regex::Regex;

#[path = "../../../tests/ports.rs"]
mod ports;

/// A command of the README and the lines that it prints.
struct Example {
    command: String,
    expected: Vec<String>,
}

fn examples(readme: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut inside = false;
    for line in readme.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if inside && let Some(command) = line.strip_prefix("$ ") {
            examples.push(Example { command: command.into(), expected: Vec::new() });
        } else if inside {
            examples.last_mut().expect("a block begins with a command").expected.push(line.into());
        }
    }
    examples
}

/// The numbers of this run, by those in the README.
type Numbers = BTreeMap<String, String>;

/// Compares a line of the README with a printed one. Returns the numbers that are known then, if the lines agree.
fn agree(expected: &str, actual: &str, numbers: &Numbers) -> Option<Numbers> {
    // What differs from run to run stands after one of these words.
    let varying = Regex::new(r"(?:fence |process |127\.0\.0\.1:|because |less than )(\d+)|^(\d+)$").unwrap();
    let written: Vec<_> =
        varying.captures_iter(expected).flat_map(|found| found.iter().skip(1).flatten().collect::<Vec<_>>()).collect();
    let (mut pattern, mut end) = (String::from("^"), 0);
    for number in &written {
        pattern += &regex::escape(&expected[end..number.start()]);
        pattern += r"(\d+)";
        end = number.end();
    }
    pattern += &regex::escape(&expected[end..]);
    let printed = Regex::new(&(pattern + "$")).unwrap().captures(actual)?;
    let mut numbers = numbers.clone();
    for (written, printed) in written.iter().zip(printed.iter().skip(1).flatten()) {
        let known = numbers.entry(written.as_str().into()).or_insert_with(|| printed.as_str().into());
        if known != printed.as_str() {
            return None;
        }
    }
    Some(numbers)
}

/// Compares the lines of the README with the printed ones. Returns the numbers that are known then, if they agree.
fn matches(expected: &[String], actual: &[&str], numbers: &Numbers) -> Option<Numbers> {
    match expected {
        [] => actual.is_empty().then(|| numbers.clone()),
        [gap, rest @ ..] if gap == "..." => {
            (0..=actual.len()).find_map(|skipped| matches(rest, &actual[skipped..], numbers))
        }
        [line, rest @ ..] => {
            let (first, others) = actual.split_first()?;
            matches(rest, others, &agree(line, first, numbers)?)
        }
    }
}

/// A service that ends with the test.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a service, and waits until it has printed as many lines as are expected of it.
fn start(command: &str, shell: &mut Command, expected: &[String], numbers: &Numbers) -> (Service, Numbers) {
    let mut service = Service(shell.arg(format!("exec {command}")).stdout(Stdio::piped()).spawn().unwrap());
    let lines = BufReader::new(service.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    // Until the gap at the end of what is shown.
    let shown: Vec<_> = expected.iter().take_while(|line| *line != "...").cloned().collect();
    let printed: Vec<String> = lines.take(shown.len()).collect();
    let actual: Vec<_> = printed.iter().map(String::as_str).collect();
    let numbers = matches(&shown, &actual, numbers);
    (service, numbers.unwrap_or_else(|| panic!("{command} prints\n{}", printed.join("\n"))))
}

#[test]
fn the_readme_shows_what_its_commands_print() {
    run_the_commands_of("README.md", 4);
}

#[test]
fn the_page_about_the_laboratory_shows_what_its_commands_print() {
    run_the_commands_of("docs/laboratory.md", 8);
}

/// Runs the commands of a page, of which there are at least so many.
fn run_the_commands_of(page: &str, least: usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let examples = examples(&std::fs::read_to_string(root.join(page)).unwrap());
    assert!(examples.len() >= least, "{page} has {} commands", examples.len());
    let name = page.replace(['/', '.'], "-");
    let directory = std::env::temp_dir().join(format!("quorate-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_quorate")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let address = ports::free_addresses(1).remove(0);
    let mut numbers = Numbers::new();
    numbers.insert("7420".into(), address.rsplit(':').next().unwrap().into());
    let mut services = Vec::new();
    for Example { command, expected } in examples {
        let mut shell = Command::new("sh");
        shell.arg("-c").current_dir(&directory).env("PATH", &path).env("QUORATE_ENDPOINTS", &address);
        if command == "quorate serve" {
            let (service, known) = start(&format!("{command} --listen {address}"), &mut shell, &expected, &numbers);
            services.push(service);
            numbers = known;
            continue;
        }
        let output = shell.arg(&command).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let known = matches(&expected, &text.lines().collect::<Vec<_>>(), &numbers);
        numbers = known.unwrap_or_else(|| panic!("$ {command}\n{text}{errors}"));
    }
    drop(services);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn numbers_that_vary_stand_for_the_same_number_each_time() {
    let agrees = |expected: &str, actual: &str| {
        let lines = |text: &str| text.lines().map(String::from).collect::<Vec<_>>();
        matches(&lines(expected), &actual.lines().collect::<Vec<_>>(), &Numbers::new()).is_some()
    };
    assert!(agrees("fence 2\n...\nfence 5: 2 < 5", "fence 7\nx\ny\nfence 9: 2 < 5"));
    assert!(agrees("A: fence 2\nB: fence 5\nfence 2 is refused", "A: fence 3\nB: fence 8\nfence 3 is refused"));
    assert!(!agrees("A: fence 2\nB: fence 5\nfence 2 is refused", "A: fence 3\nB: fence 8\nfence 8 is refused"));
    assert!(!agrees("3 messages", "4 messages"));
    assert!(!agrees("one line", "one line\nand another"));
}
