//! Parsers of option values that shell completion knows values of.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// A parser that accepts exactly these names. Shell completion offers them.
pub(super) fn one_of<T: Clone + Send + Sync + 'static>(
    choices: impl IntoIterator<Item = (&'static str, T)>,
) -> impl TypedValueParser<Value = T> {
    let choices: Vec<(&'static str, T)> = choices.into_iter().collect();
    PossibleValuesParser::new(choices.iter().map(|(name, _)| *name).collect::<Vec<_>>()).map(move |name: String| {
        let chosen = choices.iter().find(|(known, _)| *known == name);
        chosen.expect("the parser accepts only these names").1.clone()
    })
}

/// A parser of values that have no complete list. Shell completion offers the most usual ones.
#[derive(Clone)]
struct Suggesting<T> {
    read: fn(&str) -> Result<T, String>,
    offered: Vec<&'static str>,
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Suggesting<T> {
    type Value = T;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        self.read.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.offered.iter().map(PossibleValue::new)))
    }
}

/// A parser that accepts whatever `read` accepts, and offers these values to shell completion.
pub(super) fn suggesting<T: Clone + Send + Sync + 'static>(
    read: fn(&str) -> Result<T, String>,
    offered: impl IntoIterator<Item = &'static str>,
) -> impl TypedValueParser<Value = T> {
    Suggesting { read, offered: offered.into_iter().collect() }
}
