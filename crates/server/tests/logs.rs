//! The table of log messages in the documents has every message of the source, with its level and its fields.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Where messages are logged.
const SOURCES: &[&str] = &["src", "../net/src"];
const TABLE: &str = include_str!("../../../docs/logs.md");
const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

/// A message: its level, its text, its fields in order.
type Message = (String, String, Vec<String>);

fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let (directories, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    files.chain(directories.iter().flat_map(|directory| rust_files(directory))).collect()
}

/// The arguments of a macro call that starts behind its parenthesis.
fn arguments(text: &str) -> Vec<String> {
    let (mut depth, mut is_string, mut is_escaped) = (0, false, false);
    let mut arguments = vec![String::new()];
    for character in text.chars() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if is_string => is_escaped = true,
            '"' => is_string = !is_string,
            _ if is_string => {}
            '(' | '[' | '{' => depth += 1,
            ')' if depth == 0 => break,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                arguments.push(String::new());
                continue;
            }
            _ => {}
        }
        arguments.last_mut().unwrap().push(character);
    }
    let trimmed = arguments.iter().map(|argument| argument.trim().to_string());
    trimmed.filter(|argument| !argument.is_empty()).collect()
}

/// The messages that a file logs, except in its unit tests.
fn messages(path: &Path) -> Vec<Message> {
    let text = std::fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let mut messages = Vec::new();
    for level in LEVELS {
        let call = format!("{level}!(");
        for (at, _) in code.match_indices(&call) {
            // `debug!` is not the end of another name, and stands in no comment.
            let line = code[..at].rsplit('\n').next().unwrap();
            if line.ends_with(|before: char| before.is_alphanumeric() || before == '_') || line.contains("//") {
                continue;
            }
            let arguments = arguments(&code[at + call.len()..]);
            let (message, fields) = arguments.split_last().unwrap();
            let message = message.strip_prefix('"').and_then(|message| message.strip_suffix('"'));
            let message = message.unwrap_or_else(|| panic!("{}: {arguments:?} has no message", path.display()));
            assert!(!message.contains(['{', '\\']), "{}: {message:?} is not constant", path.display());
            let name =
                |field: &String| field.split('=').next().unwrap().trim().trim_start_matches(['%', '?']).to_string();
            messages.push((level.to_string(), message.to_string(), fields.iter().map(name).collect()));
        }
    }
    messages
}

/// The messages of the table.
fn documented() -> BTreeSet<Message> {
    let rows = TABLE.lines().filter(|line| LEVELS.iter().any(|level| line.starts_with(&format!("| {level} | "))));
    let message = |row: &str| {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let fields = cells[3].split(',').map(|field| field.trim().trim_matches('`').to_string());
        assert!(cells.len() == 7 && cells[4..6].iter().all(|cell| cell.ends_with('.')), "{row}");
        (cells[1].into(), cells[2].trim_matches('`').into(), fields.filter(|field| !field.is_empty()).collect())
    };
    rows.map(message).collect()
}

#[test]
fn every_log_message_is_documented_with_its_level_and_its_fields() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = SOURCES.iter().flat_map(|source| rust_files(&root.join(source)));
    let logged: BTreeSet<_> = files.flat_map(|file| messages(&file)).collect();
    let documented = documented();
    let missing: Vec<_> = logged.difference(&documented).collect();
    assert!(missing.is_empty(), "not in docs/logs.md: {missing:#?}");
    let stale: Vec<_> = documented.difference(&logged).collect();
    assert!(stale.is_empty(), "only in docs/logs.md: {stale:#?}");
    assert!(logged.len() > 30, "{}", logged.len());
}
