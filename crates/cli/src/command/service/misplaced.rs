//! A first mistake with `quorate lock` and `quorate elect`: a command without `--` before it.

use quorate_lab::command::failure::Failure;

use super::suggest::closest;

/// Refuses words between the name and `--`, and shows the line that was probably meant.
pub(super) fn refuse_misplaced(command: &clap::Command, name: &str, misplaced: &[String]) -> Result<(), Failure> {
    let Some(first) = misplaced.first() else { return Ok(()) };
    if first.starts_with('-') {
        return Err(Failure::Usage(unknown_option(command, first)));
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    let meant = corrected(&words, name, first);
    Err(Failure::Usage(format!("`{first}` is unexpected: the command to run goes after `--`, as in: {meant}")))
}

/// The command line with `--` before the first word of the command, to be copied into a shell.
fn corrected(words: &[String], name: &str, first: &str) -> String {
    let after = |start: usize, wanted: &str| {
        let found = words.iter().skip(start).position(|word| word == wanted);
        found.map_or(words.len(), |at| start + at)
    };
    // The first word is the command `lock` or `elect`, unless options come before it.
    let at = after(after(1, name) + 1, first);
    let (before, command) = words.split_at(at.min(words.len()));
    let command = command.iter().filter(|word| *word != "--");
    let before = before.iter().map(|word| quoted(word));
    let line =
        ["quorate".into()].into_iter().chain(before).chain(["--".into()]).chain(command.map(|word| quoted(word)));
    line.collect::<Vec<_>>().join(" ")
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Explains that an option does not exist, and suggests a similar one.
fn unknown_option(command: &clap::Command, written: &str) -> String {
    let (name, option) = (command.get_name(), written.split('=').next().unwrap_or(written));
    // clap adds `--help` only when it parses.
    let known = command.get_arguments().filter_map(|argument| argument.get_long()).chain(["help"]);
    let meant = closest(option.trim_start_matches('-'), known);
    let meant = meant.map_or(String::new(), |meant| format!("; did you mean `--{meant}`?"));
    format!("`quorate {name}` has no option `{option}`{meant} (options go before `--`, the command to run after it)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(String::from).collect()
    }

    #[test]
    fn the_corrected_line_has_two_hyphens_before_the_command() {
        for (line, name, first, expected) in [
            ("lock job sleep 1", "job", "sleep", "quorate lock job -- sleep 1"),
            ("lock --ttl 5s a a b", "a", "a", "quorate lock --ttl 5s a -- a b"),
            ("lock job tar -c x -- y", "job", "tar", "quorate lock job -- tar -c x y"),
            ("-q elect db ./run it's", "db", "./run", "quorate -q elect db -- ./run 'it'\\''s'"),
        ] {
            assert_eq!(corrected(&words(line), name, first), expected);
        }
    }

    #[test]
    fn an_unknown_option_is_named_with_the_closest_one() {
        let lock = clap::Command::new("lock").arg(clap::Arg::new("ttl").long("ttl"));
        assert!(
            unknown_option(&lock, "--tll=5s")
                .starts_with("`quorate lock` has no option `--tll`; did you mean `--ttl`?")
        );
        assert!(unknown_option(&lock, "--hel").contains("; did you mean `--help`?"));
        assert!(unknown_option(&lock, "--colour").starts_with("`quorate lock` has no option `--colour` ("));
    }
}
