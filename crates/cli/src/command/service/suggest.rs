//! Which key was meant, if one is written in a file that there is not.

use strsim::damerau_levenshtein;

/// So many letters may be wrong.
const MOST_WRONG: usize = 3;

/// What is wrong with a file, and if a key in it is unknown, which one was probably meant; or the table in which it is.
pub(super) fn with_suggestion(error: &toml::de::Error, table_of: impl Fn(&str) -> Option<&'static str>) -> String {
    let Some(unknown) = unknown(error.message()) else { return error.to_string() };
    // Only where the table itself could be written.
    let table = table_of(unknown).filter(|table| error.message().contains(&format!("`{table}`")));
    match (table, meant(error.message())) {
        (Some(table), _) => format!("{error}\nwrite it under [{table}]\n"),
        (None, Some(key)) => format!("{error}\ndid you mean `{key}`?\n"),
        (None, None) => error.to_string(),
    }
}

/// The key that there is not: the first that the message names.
fn unknown(message: &str) -> Option<&str> {
    message.starts_with("unknown field").then(|| message.split('`').nth(1)).flatten()
}

/// The key that comes closest to the unknown one. All further ones that the message names are those that there are.
fn meant(message: &str) -> Option<&str> {
    let unknown = unknown(message)?;
    let names = message.split('`').skip(1).step_by(2).skip(1);
    // Keys have been written with either.
    let plain = |name: &str| name.replace('_', "-").to_lowercase();
    let wrong = |name: &str| damerau_levenshtein(&plain(unknown), &plain(name));
    names.map(|name| (wrong(name), name)).min().filter(|(wrong, _)| *wrong <= MOST_WRONG).map(|(_, name)| name)
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
