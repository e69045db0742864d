//! Which name was probably meant, where an unknown one was written.

use strsim::damerau_levenshtein;

/// At most this many letters may differ from what was meant.
const MOST_WRONG: usize = 3;

/// The known name that comes closest to one that is not known, if it comes close.
pub(super) fn closest<'k>(unknown: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    // Words are separated by either.
    let plain = |name: &str| name.replace('_', "-").to_lowercase();
    let wrong = |name: &str| damerau_levenshtein(&plain(unknown), &plain(name));
    let (wrong, name) = known.into_iter().map(|name| (wrong(name), name)).min()?;
    (wrong <= MOST_WRONG.min(unknown.chars().count().saturating_sub(1))).then_some(name)
}

/// What is wrong with a file. For an unknown key, also the key that was probably meant, or the table that has it.
pub(super) fn with_suggestion(error: &toml::de::Error, table_of: impl Fn(&str) -> Option<&'static str>) -> String {
    let Some(unknown) = unknown(error.message()) else { return error.to_string() };
    // Only at a place where the table itself can be written.
    let table = table_of(unknown).filter(|table| error.message().contains(&format!("`{table}`")));
    match (table, meant(error.message())) {
        (Some(table), _) => format!("{error}\nwrite it under [{table}]\n"),
        (None, Some(key)) => format!("{error}\ndid you mean `{key}`?\n"),
        (None, None) => error.to_string(),
    }
}

/// The unknown key: the first that the message names.
fn unknown(message: &str) -> Option<&str> {
    message.starts_with("unknown field").then(|| message.split('`').nth(1)).flatten()
}

/// The key that comes closest to the unknown one. All further names in the message are keys that exist.
fn meant(message: &str) -> Option<&str> {
    closest(unknown(message)?, message.split('`').skip(1).step_by(2).skip(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_key_is_suggested_and_no_far_one() {
        let message =
            |unknown: &str| format!("unknown field `{unknown}`, expected one of `node`, `listen`, `delay-bound`");
        assert_eq!(meant(&message("lissen")), Some("listen"));
        assert_eq!(meant(&message("delay_bound")), Some("delay-bound"));
        assert_eq!(meant(&message("colour")), None);
        assert_eq!(meant("missing field `listen`"), None);
    }
}
