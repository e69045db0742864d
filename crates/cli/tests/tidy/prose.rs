//! The text that users read, taken out of the files that contain it.
//!
//! A [`Piece`] is one paragraph, string, help text or line of a page, with the place where it stands. Code is left out:
//! names and comments inside the code are not read by users.

use std::path::{Path, PathBuf};

/// One text that a user reads, and where it stands.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) path: PathBuf,
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// The prose of a Markdown file: its paragraphs, list items and table rows, without code blocks and inline code.
pub(crate) fn of_markdown(path: &Path, text: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let (mut in_code, mut goes_on) = (false, false);
    for (number, line) in (1..).zip(text.lines()) {
        let trimmed = line.trim();
        if trimmed.starts_with("```") {
            in_code = !in_code;
            goes_on = false;
            continue;
        }
        if in_code || trimmed.is_empty() {
            goes_on = false;
            continue;
        }
        let begins = ["#", "- ", "* ", "|", "<"].iter().any(|start| trimmed.starts_with(start));
        match pieces.last_mut() {
            Some(piece) if goes_on && !begins => {
                piece.text.push(' ');
                piece.text.push_str(trimmed);
            }
            _ => pieces.push(Piece { path: path.into(), line: number, text: trimmed.into() }),
        }
        goes_on = !trimmed.starts_with('#') && !trimmed.starts_with('|');
    }
    for piece in &mut pieces {
        piece.text = without_code(&piece.text);
    }
    pieces
}

/// The text without what stands between backquotes, and without the targets of links.
fn without_code(text: &str) -> String {
    let prose: Vec<&str> = text.split('`').step_by(2).collect();
    let prose = prose.join("…");
    let mut kept = String::new();
    let mut rest = prose.as_str();
    while let Some((before, after)) = rest.split_once("](") {
        kept.push_str(before);
        kept.push(']');
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    kept + rest
}

/// Which doc comments of a Rust file become texts that users read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Docs {
    /// None: they are documentation of code.
    Internal,
    /// Those of the file itself: it is the first page of a crate's documentation.
    OfTheFile,
    /// All: help texts and descriptions are made from them.
    All,
}

/// The string literals of a Rust file that can reach a user, and its doc comments as far as they do.
pub(crate) fn of_rust(path: &Path, text: &str, docs: Docs) -> Vec<Piece> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text);
    let mut pieces = strings(path, code);
    let is_read = |line: &str| match docs {
        Docs::Internal => false,
        Docs::OfTheFile => line.starts_with("//!"),
        Docs::All => line.starts_with("//!") || line.starts_with("///"),
    };
    let comments = code.lines().map(|line| {
        let line = line.trim_start();
        // A plain line of Markdown where the comment ends, so that two comments are two paragraphs.
        if is_read(line) { line.get(3..).unwrap_or_default().trim_start() } else { "" }
    });
    let comments: Vec<&str> = comments.collect();
    pieces.extend(of_markdown(path, &comments.join("\n")));
    pieces
}

/// The text of a literal without placeholders, if it is a text: a single word is a key, a name or a keyword.
fn text_of(literal: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = literal;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        text.push('…');
        rest = after.split_once('}').map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    text.trim().contains(' ').then_some(text)
}

/// Calls whose text is about a mistake in the code, and that no user is meant to see.
const FOR_DEVELOPERS: [&str; 4] = ["expect(", "reason = ", "unreachable!(", "assert"];

/// The string literals of Rust code, without comments.
fn strings(path: &Path, code: &str) -> Vec<Piece> {
    let mut found = Vec::new();
    let mut rest = code;
    let mut statement = String::new();
    let line_of = |rest: &str| code[..code.len() - rest.len()].matches('\n').count() + 1;
    while let Some(next) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = rest.split_once('\n').map_or("", |(_, after)| after);
        } else if let Some(raw) = raw_string(rest) {
            found.extend(text_of(raw.1).map(|text| Piece { path: path.into(), line: line_of(rest), text }));
            rest = &rest[raw.0..];
        } else if next == '"' {
            let (length, literal) = string(rest);
            let is_for_developers = FOR_DEVELOPERS.iter().any(|call| statement.contains(call));
            let text = text_of(&literal).filter(|_| !is_for_developers);
            found.extend(text.map(|text| Piece { path: path.into(), line: line_of(rest), text }));
            statement.clear();
            rest = &rest[length..];
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\\"'") || rest.starts_with("b'\"'") {
            rest = rest.split_once("\"'").map_or("", |(_, after)| after);
        } else {
            if matches!(next, ';' | '{' | '}') {
                statement.clear();
            } else {
                statement.push(next);
            }
            rest = &rest[next.len_utf8()..];
        }
    }
    found
}

/// A raw string that begins here: how long it is with its quotes, and what is in it.
fn raw_string(rest: &str) -> Option<(usize, &str)> {
    let hashes = rest.strip_prefix('r')?.len() - rest.strip_prefix('r')?.trim_start_matches('#').len();
    let inside = rest.get(1 + hashes..)?.strip_prefix('"')?;
    let length = inside.find(&format!("\"{}", "#".repeat(hashes)))?;
    Some((1 + hashes + 1 + length + 1 + hashes, &inside[..length]))
}

/// A string that begins here: how long it is with its quotes, and what is in it, where a line is continued as one.
fn string(rest: &str) -> (usize, String) {
    let (mut text, mut escaped) = (String::new(), false);
    for (place, letter) in rest.char_indices().skip(1) {
        match letter {
            _ if escaped => {
                escaped = false;
                match letter {
                    'n' | 't' => text.push('\n'),
                    '\n' => text = text.trim_end().to_string() + " ",
                    other => text.push(other),
                }
            }
            '\\' => escaped = true,
            '"' => return (place + 1, text),
            other if text.ends_with(' ') && other == ' ' => {}
            other => text.push(other),
        }
    }
    (rest.len(), text)
}

/// The texts in a script: what stands between quotes, without the code in templates.
pub(crate) fn of_script(path: &Path, text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (line, code) in (1..).zip(text.lines()).filter(|(_, code)| !code.trim_start().starts_with("//")) {
        for quote in ['"', '`'] {
            let literals = code.split(quote).skip(1).step_by(2).filter_map(text_of);
            pieces.extend(literals.map(|text| Piece { path: path.into(), line, text }));
        }
    }
    pieces
}

/// The lines of a page.
pub(crate) fn of_page(path: &Path, text: &str) -> Vec<Piece> {
    (1..).zip(text.lines()).map(|(line, text)| Piece { path: path.into(), line, text: text.trim().into() }).collect()
}

/// The comments of a file in which they begin with `#`. Lines that follow each other are one text.
pub(crate) fn of_comments(path: &Path, text: &str) -> Vec<Piece> {
    let lines: Vec<_> = text.lines().map(|line| line.strip_prefix('#').map_or("", |text| text.trim())).collect();
    of_markdown(path, &lines.join("\n"))
}
