//! The style that no lint checks: how files open, how long they are, what they must not contain.

mod patterns;
mod prose;

use std::path::{Path, PathBuf};

use prose::{Docs, Piece};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All Rust files below a directory, with their text.
fn sources(directory: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
    found
}

/// All Rust files of the workspace.
fn all_sources() -> Vec<(PathBuf, String)> {
    ["crates", "examples"].map(|directory| sources(&root().join(directory))).concat()
}

/// The part of a file before its unit tests.
fn code(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text)
}

#[test]
fn every_file_says_what_it_is_for_and_is_short_enough_to_read() {
    let sources = all_sources();
    assert!(sources.len() > 50);
    for (path, text) in sources {
        assert!(text.starts_with("//! "), "{} does not open with what it is for", path.display());
        let lines = code(&text).lines().count();
        assert!(lines <= 500, "{} has {lines} lines of code", path.display());
    }
}

/// The anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase().replace(' ', "-");
    kept.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_')).collect()
}

/// The anchors of a page: those of its headings, and those that are written out.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter_map(|line| line.strip_prefix('#'));
    let headings = headings.map(|line| anchor(line.trim_start_matches('#').trim()));
    let written = text.split("<a id=\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_string()));
    headings.chain(written).collect()
}

#[test]
fn no_link_leads_nowhere() {
    let mut links = 0;
    for (page, text) in documents() {
        for link in text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next()) {
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            if file.contains("://") {
                continue;
            }
            links += 1;
            let target = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            assert!(target.exists(), "{} points to {link}", page.display());
            if !place.is_empty() && target.extension().is_some_and(|extension| extension == "md") {
                let found = anchors(&std::fs::read_to_string(&target).unwrap()).iter().any(|anchor| anchor == place);
                assert!(found, "{} points to {link}, and {} has no such heading", page.display(), target.display());
            }
        }
    }
    assert!(links > 150, "{links}");
}

#[test]
fn nothing_is_left_undone_or_silenced() {
    let this = Path::new("tidy/main.rs");
    for (path, text) in all_sources() {
        for forbidden in ["#[allow(", "#![allow(", "todo!(", "unimplemented!(", "dbg!(", "#[ignore", "FIXME", "XXX"] {
            assert!(path.ends_with(this) || !text.contains(forbidden), "{} contains {forbidden}", path.display());
        }
    }
}

#[test]
fn the_core_is_pure_and_names_every_message() {
    for (path, text) in sources(&root().join("crates/core/src")) {
        let code = code(&text);
        for forbidden in ["std::", "_ => {}", "_ => ()"] {
            let used = code.lines().any(|line| !line.trim_start().starts_with("//") && line.contains(forbidden));
            assert!(!used, "{} contains {forbidden}", path.display());
        }
    }
}

#[test]
fn libraries_print_nothing_but_in_the_laboratorys_commands() {
    let libraries = ["core", "lab", "client", "web", "server"].map(|name| format!("crates/{name}/src"));
    let libraries = libraries.each_ref().map(|library| sources(&root().join(library))).concat();
    let commands = root().join("crates/lab/src/command");
    for (path, text) in libraries.iter().filter(|(path, _)| !path.starts_with(&commands)) {
        for forbidden in ["print!(", "println!(", "stdout()", "stderr()", "ExitCode", "process::exit"] {
            let used = text.lines().any(|line| !line.trim_start().starts_with("//") && line.contains(forbidden));
            assert!(!used, "{} contains {forbidden}", path.display());
        }
    }
}

#[test]
fn pages_take_their_colours_from_the_look_they_share() {
    for page in ["lab/src/diagram/html/viewer.css", "lab/src/page/web/lab.css", "server/src/web/style.css"] {
        let text = std::fs::read_to_string(root().join("crates").join(page)).unwrap();
        assert!(text.contains("var(--accent)"), "{page} has no colours at all");
        let own = text.lines().find(|line| line.contains(": #") || line.contains("rgb(") || line.contains("hsl("));
        assert_eq!(own, None, "{page} has a colour of its own");
    }
}

#[test]
fn an_algorithm_opens_with_itself_in_prose() {
    let core = root().join("crates/core/src");
    let files = ["mutex", "election"].map(|family| sources(&core.join(family))).concat();
    let algorithms: Vec<_> = files.iter().filter(|(_, text)| text.contains("const ENTRY: Entry = Entry {")).collect();
    assert_eq!(algorithms.len(), 12);
    for (path, text) in algorithms {
        let prose: String = text.lines().take_while(|line| line.starts_with("//!")).collect();
        for part in ["*Source*", "**Assumes**", "**Costs**", "**Safe**"] {
            assert!(prose.contains(part), "{} does not say {part}", path.display());
        }
        let fence = text.contains("impl Mutex for").then_some("**Fence**");
        assert!(fence.is_none_or(|part| prose.contains(part)), "{} does not say why fences grow", path.display());
    }
}

#[test]
fn lines_fit_the_window() {
    for (path, text) in all_sources() {
        let long = text.lines().position(|line| line.chars().count() > 120 && !line.contains("//! |"));
        assert!(long.is_none(), "{}:{} is longer than 120 characters", path.display(), long.unwrap_or(0) + 1);
    }
}

/// All files below a directory whose names end like this.
fn files(directory: &str, ending: &str) -> Vec<(PathBuf, String)> {
    let directory = root().join(directory);
    let mut found = Vec::new();
    let mut open = vec![directory];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    found.sort();
    found
}

/// The Markdown files that users read.
fn documents() -> Vec<(PathBuf, String)> {
    let at_the_top = std::fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path());
    let at_the_top = at_the_top.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let mut documents: Vec<_> = at_the_top.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect();
    documents.extend(["docs", "crates", ".github"].into_iter().flat_map(|directory| files(directory, ".md")));
    documents
}

/// Which doc comments of a file users read: help texts, the description of the interface, and a crate's first page.
fn docs_of(path: &Path) -> Docs {
    let is_below = |directory: &str| path.starts_with(root().join("crates").join(directory));
    let is_an_interface = ["cli/src", "lab/src/command", "client/src/contract"].into_iter().any(is_below);
    if is_an_interface {
        Docs::All
    } else if path.ends_with("lib.rs") {
        Docs::OfTheFile
    } else {
        Docs::Internal
    }
}

/// Every text that a user reads.
fn what_users_read() -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (path, text) in documents() {
        pieces.extend(prose::of_markdown(&path, &text));
    }
    for (path, text) in ["core", "lab", "net", "client", "web", "server", "cli"]
        .iter()
        .flat_map(|name| sources(&root().join(format!("crates/{name}/src"))))
    {
        let is_test = path.file_stem().is_some_and(|name| name.to_string_lossy().ends_with("tests"));
        if !is_test {
            pieces.extend(prose::of_rust(&path, &text, docs_of(&path)));
        }
    }
    for directory in ["crates/lab/src", "crates/server/src/web", "crates/web/src"] {
        pieces.extend(files(directory, ".js").iter().flat_map(|(path, text)| prose::of_script(path, text)));
        pieces.extend(files(directory, ".html").iter().flat_map(|(path, text)| prose::of_page(path, text)));
    }
    for (path, text) in ["crates/lab/scenarios", "packaging"].into_iter().flat_map(|directory| files(directory, "")) {
        pieces.extend(prose::of_comments(&path, &text));
    }
    pieces
}

#[test]
fn what_users_read_is_in_plain_english() {
    let pieces = what_users_read();
    assert!(pieces.len() > 2_000, "{} pieces of text", pieces.len());
    let mut complaints = Vec::new();
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    for piece in &pieces {
        for (pattern, words) in patterns::found_in(&piece.text) {
            *counts.entry(pattern.advice).or_default() += 1;
            let path = piece.path.strip_prefix(root()).unwrap_or(&piece.path).display();
            complaints.push(format!("{path}:{}: `{words}`: {}", piece.line, pattern.advice));
        }
    }
    for (advice, count) in &counts {
        println!("{count:5}  {advice}");
    }
    let most = std::env::var("TIDY_MOST").ok().and_then(|most| most.parse().ok()).unwrap_or(50);
    assert!(
        complaints.is_empty(),
        "{} places (TIDY_MOST=N shows more than {most}):\n{}",
        complaints.len(),
        complaints[..complaints.len().min(most)].join("\n")
    );
}

#[test]
fn prose_fits_the_window() {
    for (path, text) in documents() {
        let mut in_code = false;
        for (number, line) in (1..).zip(text.lines()) {
            in_code ^= line.trim_start().starts_with("```");
            let is_prose = !in_code && !line.trim_start().starts_with(['|', '<', '!', '[']);
            // A line without a space cannot be broken, and a claim's evidence is one line as it is printed.
            let can_break = line.trim_start().trim_start_matches("- ").contains(' ');
            let is_generated = path.ends_with("docs/claims.md");
            assert!(
                !is_prose || !can_break || is_generated || line.chars().count() <= 120,
                "{}:{number} is longer than 120 characters",
                path.display()
            );
        }
    }
}

#[test]
fn the_readme_is_short() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let (lines, bytes) = (readme.lines().count(), readme.len());
    assert!(lines <= 150 && bytes <= 8 * 1024, "README.md has {lines} lines and {bytes} bytes");
}

#[test]
fn doc_comments_that_users_read_say_something() {
    let stubs = ["Who", "What", "When", "Why", "Why not", "Which", "Where", "How", "Whose", "Of whom", "To whom"];
    for (path, text) in all_sources().into_iter().filter(|(path, _)| docs_of(path) == Docs::All) {
        for (number, line) in (1..).zip(text.lines()) {
            let Some(comment) = line.trim_start().strip_prefix("/// ") else { continue };
            let place = format!("{}:{number}", path.display());
            assert!(!stubs.iter().any(|stub| comment == format!("{stub}.")), "{place} says nothing: {comment}");
            assert!(!comment.contains("\\'"), "{place} escapes an apostrophe: {comment}");
        }
    }
}
