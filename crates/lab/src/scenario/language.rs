//! A scenario as a file, read and written.

use std::fmt;
use std::str::FromStr;

use quorate_core::catalog::Property;
use quorate_core::clock::Number;
use quorate_core::setting::Timing;

use super::step::{Step, process};
use super::{Expectation, Header, LARGEST_GROUP, MOST_BYTES, MOST_STEPS, Scenario, ScenarioError, Written};
use crate::network::Order;
use crate::recovery::Beside;
use crate::stage::wish::Times;

/// What parts the script from the expected conversation.
const RULE: &str = "---";

/// What a header may say, with what it takes.
const KEYS: [(&str, &str); 16] = [
    ("algorithm", "NAME"),
    ("n", "NUMBER"),
    ("order", "fifo or any"),
    ("timing", "synchronous or asynchronous"),
    ("delay-bound", "TICKS"),
    ("drift", "TICKS"),
    ("detector", "yes or no"),
    ("recovery", "the election that runs beside the algorithm: ring, chang-roberts or bully"),
    ("stamps", "yes or no"),
    ("sealed", "yes or no"),
    ("option", "KEY=VALUE"),
    ("absent", "p3"),
    ("clock", "p1 40"),
    ("entries-each", "NUMBER or endless"),
    ("restarts", "NUMBER"),
    ("expect", "holds, PROPERTY held or PROPERTY violated"),
];

impl FromStr for Scenario {
    type Err = ScenarioError;

    fn from_str(text: &str) -> Result<Scenario, ScenarioError> {
        Scenario::parse(text)
    }
}

impl Scenario {
    /// Reads a file.
    pub fn parse(text: &str) -> Result<Scenario, ScenarioError> {
        if text.len() > MOST_BYTES {
            return Err(ScenarioError::of_header(format!("a scenario has at most {MOST_BYTES} bytes")));
        }
        let mut reader = Reader::default();
        let mut lines = (1..).zip(text.lines());
        let mut conversation = None;
        for (number, line) in lines.by_ref() {
            if line.trim_end() == RULE {
                let rest: Vec<&str> = lines.map(|(_, line)| line.trim_end()).collect();
                conversation = Some(rest.join("\n").trim_end().trim_start_matches('\n').to_string());
                break;
            }
            reader.read(number, line.trim()).map_err(|why| ScenarioError::at(number, why))?;
        }
        let mut scenario = reader.finish()?;
        scenario.conversation = conversation;
        Ok(scenario)
    }
}

/// What was read of a file so far.
#[derive(Default)]
struct Reader {
    description: Vec<String>,
    /// Whether the description is over.
    begun: bool,
    header: Vec<(usize, &'static str, String)>,
    remarks: Vec<String>,
    script: Vec<Written>,
}

impl Reader {
    fn read(&mut self, number: usize, line: &str) -> Result<(), String> {
        if let Some(remark) = line.strip_prefix('#') {
            let remark = remark.strip_prefix(' ').unwrap_or(remark).to_string();
            if self.begun {
                self.remarks.push(remark);
            } else {
                self.description.push(remark);
            }
            return Ok(());
        }
        if line.is_empty() {
            return Ok(());
        }
        self.begun = true;
        let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let key = KEYS.into_iter().find(|(key, _)| *key == first);
        match key {
            Some((key, takes)) if !line.ends_with(" is lost") => {
                if !self.script.is_empty() {
                    return Err(format!("`{key}` is a header line: write it before the first step"));
                }
                if rest.trim().is_empty() {
                    return Err(format!("`{key}` needs a value: {takes}"));
                }
                self.header.push((number, key, rest.trim().to_string()));
            }
            Some(_) | None => {
                let step = Step::parse(line).map_err(|why| self.with_keys(why))?;
                if self.script.len() == MOST_STEPS {
                    return Err(format!("a script has at most {MOST_STEPS} steps"));
                }
                let remarks = std::mem::take(&mut self.remarks);
                self.script.push(Written { line: number, remarks, step });
            }
        }
        Ok(())
    }

    /// What was not understood, where it could have been a line of the header, too.
    fn with_keys(&self, why: String) -> String {
        if !self.script.is_empty() {
            return why;
        }
        let keys: Vec<_> = KEYS.iter().map(|(key, _)| *key).collect();
        format!("{why}; header lines are: {}", keys.join(", "))
    }

    fn finish(self) -> Result<Scenario, ScenarioError> {
        let missing = |key: &str| ScenarioError::of_header(format!("the header has no `{key}` line"));
        let find = |wanted: &str| self.header.iter().find(|(_, key, _)| *key == wanted);
        let (_, _, algorithm) = find("algorithm").ok_or_else(|| missing("algorithm"))?;
        let (line, _, n) = find("n").ok_or_else(|| missing("n"))?;
        let n = number(n, 1, u64::from(LARGEST_GROUP)).map_err(|why| ScenarioError::at(*line, why))?;
        let mut header = Header::new(algorithm, n as u32);
        let mut seen = Vec::new();
        for (line, key, value) in &self.header {
            let wrong = |why: String| ScenarioError::at(*line, format!("{key} {why}"));
            if !["option", "absent", "clock", "expect"].contains(key) && seen.contains(key) {
                return Err(wrong("is written twice: write it once".into()));
            }
            seen.push(key);
            set(&mut header, key, value).map_err(wrong)?;
        }
        let strange = |written: &&Written| written.step.processes().iter().any(|id| id.number() > header.n);
        if let Some(written) = self.script.iter().find(strange) {
            let why = format!("`{}`: the processes are p1 to p{}", written.step, header.n);
            return Err(ScenarioError::at(written.line, why));
        }
        let Reader { description, remarks, script, .. } = self;
        Ok(Scenario { description, header, script, closing: remarks, conversation: None })
    }
}

/// Takes a line of the header into account.
fn set(header: &mut Header, key: &str, value: &str) -> Result<(), String> {
    let member = |text: &str| match process(text)? {
        id if id.number() > header.n => Err(format!("`{text}`: the processes are p1 to p{}", header.n)),
        id => Ok(id),
    };
    match key {
        "order" => {
            header.order = Some(match value {
                "fifo" => Order::Fifo,
                "any" => Order::Any,
                _ => return Err(format!("`{value}`: write fifo or any")),
            });
        }
        "timing" => {
            header.timing = Some(match value {
                "synchronous" => Timing::Synchronous,
                "asynchronous" => Timing::Asynchronous,
                _ => return Err(format!("`{value}`: write synchronous or asynchronous")),
            });
        }
        "delay-bound" => header.delay_bound = Some(number(value, 1, 100)?),
        "drift" => header.drift = Some(number(value, 0, 100)?),
        "detector" => header.detector = Some(yes_or_no(value)?),
        "recovery" => {
            let known = Beside::ALL.map(Beside::name).join(", ");
            let found = Beside::ALL.into_iter().find(|election| election.name() == value);
            header.recovery =
                Some(found.ok_or_else(|| format!("`{value}`: the election beside the algorithm is one of {known}"))?);
        }
        "sealed" => header.sealed = Some(yes_or_no(value)?),
        "stamps" => header.stamps = Some(yes_or_no(value)?),
        "entries-each" => {
            header.entries_each = Some(match value {
                "endless" => Times::Endless,
                _ => Times::AtMost(number(value, 0, 1000).map_err(|why| format!("{why}, or endless"))? as u32),
            });
        }
        "restarts" => header.restarts = Some(number(value, 0, 1000)? as u32),
        "option" => {
            let (key, value) = value.split_once('=').ok_or_else(|| format!("`{value}`: write KEY=VALUE"))?;
            header.options.push((key.trim().to_string(), value.trim().to_string()));
        }
        "absent" => {
            let id = member(value)?;
            if !header.absent.contains(&id) {
                header.absent.push(id);
            }
        }
        "clock" => {
            let wrong = || format!("`{value}`: write a process and the value of its clock, as in `clock p1 40`");
            let (id, shown) = value.split_once(char::is_whitespace).ok_or_else(wrong)?;
            let shown: u64 = shown.trim().parse().map_err(|_| wrong())?;
            let shown = Number::try_from(shown).map_err(|error| error.to_string())?;
            header.clocks.push((member(id)?, shown));
        }
        "expect" => header.expect.push(expectation(value)?),
        // Both were read before, as everything else needs them.
        _ => {}
    }
    Ok(())
}

fn number(text: &str, least: u64, most: u64) -> Result<u64, String> {
    let parsed = text.parse().ok().filter(|number| (least..=most).contains(number));
    parsed.ok_or_else(|| format!("`{text}`: write a whole number from {least} to {most}"))
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(format!("`{text}`: write yes or no")),
    }
}

fn expectation(text: &str) -> Result<Expectation, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let names = || Property::ALL.map(Property::name).join(", ");
    let property = |name: &str| {
        let found = Property::ALL.into_iter().find(|property| property.name() == name);
        found.ok_or_else(|| format!("`{name}` is not a property; the properties are: {}", names()))
    };
    match words[..] {
        ["holds"] => Ok(Expectation::Holds),
        [name, "held"] => property(name).map(Expectation::Held),
        [name, "violated"] => property(name).map(Expectation::Violated),
        _ => Err(format!("`{text}`: write holds, PROPERTY held or PROPERTY violated; the properties are: {}", names())),
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expectation::Holds => f.write_str("holds"),
            Expectation::Held(property) => write!(f, "{property} held"),
            Expectation::Violated(property) => write!(f, "{property} violated"),
        }
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let yes_or_no = |yes: bool| if yes { "yes" } else { "no" };
        writeln!(f, "algorithm {}", self.algorithm)?;
        writeln!(f, "n {}", self.n)?;
        for (key, value) in &self.options {
            writeln!(f, "option {key}={value}")?;
        }
        if let Some(order) = self.order {
            writeln!(f, "order {}", if order == Order::Fifo { "fifo" } else { "any" })?;
        }
        if let Some(timing) = self.timing {
            let name = if timing == Timing::Synchronous { "synchronous" } else { "asynchronous" };
            writeln!(f, "timing {name}")?;
        }
        if let Some(bound) = self.delay_bound {
            writeln!(f, "delay-bound {bound}")?;
        }
        if let Some(drift) = self.drift {
            writeln!(f, "drift {drift}")?;
        }
        if let Some(detector) = self.detector {
            writeln!(f, "detector {}", yes_or_no(detector))?;
        }
        if let Some(recovery) = self.recovery {
            writeln!(f, "recovery {}", recovery.name())?;
        }
        if let Some(stamps) = self.stamps {
            writeln!(f, "stamps {}", yes_or_no(stamps))?;
        }
        if let Some(sealed) = self.sealed {
            writeln!(f, "sealed {}", yes_or_no(sealed))?;
        }
        for id in &self.absent {
            writeln!(f, "absent {id}")?;
        }
        for (id, shown) in &self.clocks {
            writeln!(f, "clock {id} {}", shown.get())?;
        }
        if let Some(entries) = self.entries_each {
            writeln!(f, "entries-each {entries}")?;
        }
        if let Some(restarts) = self.restarts {
            writeln!(f, "restarts {restarts}")?;
        }
        self.expect.iter().try_for_each(|expectation| writeln!(f, "expect {expectation}"))
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let remark = |f: &mut fmt::Formatter<'_>, line: &String| writeln!(f, "{}", format!("# {line}").trim_end());
        self.description.iter().try_for_each(|line| remark(f, line))?;
        writeln!(f, "\n{}", self.header)?;
        for written in &self.script {
            written.remarks.iter().try_for_each(|line| remark(f, line))?;
            writeln!(f, "{}", written.step)?;
        }
        self.closing.iter().try_for_each(|line| remark(f, line))?;
        match &self.conversation {
            Some(conversation) => writeln!(f, "{RULE}\n{}", conversation.trim_end()),
            None => Ok(()),
        }
    }
}
