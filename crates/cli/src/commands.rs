//! The commands of `quorate`, in the groups in which its help and its man page list them.

use std::path::PathBuf;

use clap::{CommandFactory, Subcommand};
use quorate_lab::command::output::Form;
use quorate_lab::command::{replay, scenarios};

use crate::arguments::{
    Algorithms, Arguments, Check, Claims, Compare, Diagram, ExerciseArguments, Judge, Sim, Violation,
    VotingSetsArguments,
};
use crate::command::lab::Lab;
use crate::command::service::backup::{Backup, Restore};
use crate::command::service::bench::Bench;
use crate::command::service::demo::Demo;
use crate::command::service::dev::Dev;
use crate::command::service::follow::{Observe, Watch};
use crate::command::service::keys::Keys;
use crate::command::service::lock::{Elect, Lock};
use crate::command::service::look::{Elections, Locks, Release, Status};
use crate::command::service::member::Member;
use crate::command::service::serve::Serve;

/// All commands. Each belongs to one of the groups.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    #[command(flatten)]
    Service(Service),
    #[command(flatten)]
    Cluster(Cluster),
    #[command(flatten)]
    Laboratory(Laboratory),
    #[command(flatten)]
    Tools(Tools),
}

// A variant with a doc comment would lose the longer description of what it contains.

/// Locks and elections, as their clients use them.
#[derive(Subcommand, Debug)]
pub(crate) enum Service {
    Serve(Box<Serve>),
    Lock(Box<Lock>),
    Elect(Box<Elect>),
    Locks(Locks),
    Elections(Elections),
    Observe(Observe),
    Watch(Watch),
    Release(Release),
}

/// Commands for operators of nodes.
#[derive(Subcommand, Debug)]
pub(crate) enum Cluster {
    Dev(Dev),
    Status(Status),
    Member(Member),
    Backup(Backup),
    Restore(Restore),
    Keys(Keys),
}

/// Algorithms: simulated, checked, compared, drawn.
#[derive(Subcommand, Debug)]
pub(crate) enum Laboratory {
    #[command(about = "Simulate an algorithm: one run, its costs and verdicts")]
    Sim(Box<Sim>),
    #[command(about = "Check every possible run of an algorithm, or find a counterexample")]
    Check(Box<Check>),
    #[command(about = "Describe the algorithms: assumptions, guarantees, costs, options")]
    Algorithms(Algorithms),
    #[command(about = "Compare measured costs with the published ones")]
    Compare(Compare),
    #[command(about = "List claims of the literature, each with a verdict and evidence")]
    Claims(Claims),
    #[command(about = "List the scenarios that come with the laboratory, or print one",
              after_long_help = SCENARIOS_EXAMPLES)]
    Scenarios(scenarios::Arguments),
    #[command(about = "Replay a scenario step by step", after_long_help = REPLAY_EXAMPLES)]
    Replay(replay::Arguments),
    #[command(about = "Draw a trace as a picture or as an interactive page")]
    Diagram(Diagram),
    #[command(about = "Check traces of real nodes for violations")]
    Judge(Judge),
    #[command(about = "Practise: find the defect in an algorithm")]
    Exercise(ExerciseArguments),
    #[command(about = "Serve the laboratory as a page for the browser")]
    Lab(Lab),
    #[command(about = "Print voting sets and test the published conditions")]
    VotingSets(VotingSetsArguments),
    #[command(about = "Estimate how likely majority voting fails when votes are lost")]
    Violation(Violation),
}

/// Everything else.
#[derive(Subcommand, Debug)]
pub(crate) enum Tools {
    Demo(Demo),
    Bench(Bench),
    /// Print a completion script for a shell
    #[command(after_long_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the man page, or write a page for every command
    #[command(after_long_help = MAN_EXAMPLES)]
    Man {
        /// Write one page per command to this directory, for example quorate-lock.1
        directory: Option<PathBuf>,
    },
}

const REPLAY_EXAMPLES: &str = "\
Examples:
  Replay a built-in scenario, and step through it in a browser:
    quorate replay maekawa-deadlock --diagram deadlock.html
  Replay a counterexample that `check --scenario found.txt` wrote:
    quorate replay found.txt";

const SCENARIOS_EXAMPLES: &str = "\
Examples:
  List all built-in scenarios:
    quorate scenarios
  Copy one, change it, and run it:
    quorate scenarios central-queue > mine.txt
    quorate replay mine.txt";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  Install completion for bash:
    quorate completions bash > ~/.local/share/bash-completion/completions/quorate
  Install completion for fish:
    quorate completions fish > ~/.config/fish/completions/quorate.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  Read the page of quorate:
    quorate man | man -l -
  Install the pages of all commands, as `man quorate-lock` finds them:
    quorate man ~/.local/share/man/man1";

/// Commands to begin with, and what they do: one of the service, one of the laboratory.
pub(crate) const FIRST_COMMANDS: [(&str, &str); 2] = [
    ("quorate serve", "start a lock service; prints commands to try with it"),
    ("quorate check maekawa", "find the deadlock in a published algorithm"),
];

/// The groups of commands, by their names, each with its commands.
pub(crate) fn groups() -> [(&'static str, clap::Command); 4] {
    let group = || clap::Command::new("group");
    [
        ("Service", Service::augment_subcommands(group())),
        ("Cluster", Cluster::augment_subcommands(group())),
        ("Laboratory", Laboratory::augment_subcommands(group())),
        ("Tools", Tools::augment_subcommands(group())),
    ]
}

/// The commands that print nothing for programs, and so have no `--json`.
const WITHOUT_JSON: &[&str] = &["completions", "diagram", "man"];

/// The definition of `quorate`, with help that lists the commands by group.
pub(crate) fn definition() -> clap::Command {
    let definition = Form::add_to(Arguments::command(), WITHOUT_JSON);
    let styles = definition.get_styles();
    let (header, literal) = (*styles.get_header(), *styles.get_literal());
    let groups = groups();
    let names = groups.iter().flat_map(|(_, group)| group.get_subcommands()).map(|command| command.get_name().len());
    let width = names.max().unwrap_or(0);
    let line = |name: &str, about: &str| format!("  {literal}{name:<width$}{literal:#}  {about}\n");
    let mut listed = format!("{header}First commands:{header:#}\n");
    let first = FIRST_COMMANDS.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    for (command, does) in FIRST_COMMANDS {
        listed.push_str(&format!("  {literal}{command:<first$}{literal:#}  {does}\n"));
    }
    for (name, group) in &groups {
        listed.push_str(&format!("\n{header}{name}:{header:#}\n"));
        for command in group.get_subcommands().filter(|command| !command.is_hide_set()) {
            listed.push_str(&line(command.get_name(), &about(command)));
        }
    }
    listed.push_str(&line("help", "Print this text, or the help of a command"));
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{listed}\n\
         {header}Options:{header:#}\n{{options}}{{after-help}}"
    );
    definition.help_template(template)
}

/// The first line of a command's help.
pub(crate) fn about(command: &clap::Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn visible(command: &clap::Command) -> impl Iterator<Item = &clap::Command> {
        command.get_subcommands().filter(|command| !command.is_hide_set())
    }

    /// All subcommands at every level, each with the words that call it.
    fn descendants(command: &clap::Command, called: &str) -> Vec<(String, clap::Command)> {
        visible(command)
            .flat_map(|command| {
                let called = format!("{called} {}", command.get_name());
                let below = descendants(command, &called);
                std::iter::once((called, command.clone())).chain(below)
            })
            .collect()
    }

    /// The commands of the service and the tools; the laboratory's have tests of their own.
    fn service_commands() -> Vec<(String, clap::Command)> {
        let groups = groups().into_iter().filter(|(name, _)| *name != "Laboratory");
        groups.flat_map(|(_, group)| descendants(&group, "quorate")).collect()
    }

    /// Splits a line as a shell does, up to what another program gets.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
        for c in line.chars() {
            match (c, quote) {
                ('|' | '>' | '&', None) => break,
                ('\'' | '"', None) => {
                    quote = Some(c);
                    word.get_or_insert_default();
                }
                (c, Some(open)) if c == open => quote = None,
                (' ', None) => words.extend(word.take()),
                (c, _) => word.get_or_insert_default().push(c),
            }
        }
        words.extend(word);
        words
    }

    #[test]
    fn help_lists_every_command_once_under_its_group() {
        let help = definition().render_long_help().to_string();
        let headings = ["First commands:", "Service:", "Cluster:", "Laboratory:", "Tools:", "Options:"];
        let at: Vec<_> = headings.iter().map(|heading| help.find(&format!("\n{heading}\n"))).collect();
        assert!(at.iter().all(Option::is_some) && at.is_sorted(), "{at:?} in\n{help}");
        let all: BTreeSet<_> = visible(&Arguments::command()).map(|command| command.get_name().to_string()).collect();
        let grouped: Vec<_> = groups()
            .iter()
            .flat_map(|(_, group)| visible(group).map(|command| command.get_name().to_string()).collect::<Vec<_>>())
            .collect();
        assert_eq!(grouped.iter().cloned().collect::<BTreeSet<_>>(), all);
        assert_eq!(grouped.len(), all.len(), "a command is in two groups");
        for name in all {
            assert_eq!(help.matches(&format!("\n  {name} ")).count(), 1, "{name} in\n{help}");
        }
        let long = help.lines().find(|line| line.chars().count() > 100);
        assert_eq!(long, None);
    }

    #[test]
    fn help_begins_with_both_halves_and_a_command_of_each() {
        let help = definition().render_long_help().to_string();
        let opening = help.split("\nService:").next().unwrap();
        for words in ["lock service", "laboratory", "quorate serve", "quorate check maekawa"] {
            assert!(opening.contains(words), "{words} in\n{opening}");
        }
        for (command, _) in FIRST_COMMANDS {
            definition().try_get_matches_from(words(command)).unwrap();
        }
    }

    #[test]
    fn every_service_command_has_examples_that_can_be_parsed() {
        for (called, command) in service_commands() {
            let help = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:\n"), "{called} --help has no examples");
            let examples: Vec<_> = help.lines().map(str::trim).filter(|line| line.starts_with("quorate ")).collect();
            let own = examples.iter().filter(|line| line.starts_with(&called)).count();
            assert!(own > 0, "{called} --help has no example of {called}");
            for line in examples {
                if let Err(error) = definition().try_get_matches_from(words(line)) {
                    panic!("{called} --help: {line}: {error}");
                }
            }
        }
    }

    #[test]
    fn long_help_is_longer_than_short_help() {
        for (called, command) in service_commands() {
            let mut command = command;
            let long = command.render_long_help().to_string();
            assert!(long.len() > command.render_help().to_string().len(), "{called}");
        }
    }
}
