//! Errors of `quorate-net` in terms of this command's options.

/// What the library calls a setting, and what `quorate serve` calls it; longer texts first.
const NAMES: [(&str, &str); 6] = [
    (" (`Config::textbook` allows this one, for study)", ""),
    ("`Config::forgotten` (`quorate serve --forgotten`)", "`--forgotten`"),
    ("`Config::forgotten`", "`--forgotten`"),
    ("`Config::insecure`", "`--insecure`"),
    ("`Config::listen`", "`--member-listen`"),
    ("`Config::tls`", "`--tls-ca`, `--tls-cert` and `--tls-key`"),
];

/// Replaces the settings of the library by the options of the command.
pub(super) fn in_options(text: &str) -> String {
    NAMES.iter().fold(text.to_string(), |text, (setting, option)| text.replace(setting, option))
}

#[cfg(test)]
mod tests {
    use super::in_options;

    #[test]
    fn settings_are_replaced_by_options() {
        let text = "start it once with `Config::forgotten` (`quorate serve --forgotten`)";
        assert_eq!(in_options(text), "start it once with `--forgotten`");
        assert_eq!(in_options("set `Config::insecure`"), "set `--insecure`");
    }
}
