//! What a node is installed with: the unit for systemd, and the file that it shows.

use std::collections::BTreeSet;

use crate::security::Keys;
use crate::support::{Directory, Served, exchange};

const PACKAGING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging");

/// What the unit says to write when there are certificates and tokens: each setting and its value, on one line.
fn override_of_the_unit() -> Vec<(String, String)> {
    let unit = std::fs::read_to_string(format!("{PACKAGING}/quorate.service")).unwrap();
    let text: Vec<_> = unit.lines().filter_map(|line| line.strip_prefix("#   ")).collect();
    let text = text.join("\n").replace("\\\n", "");
    let setting = |(name, value): (&str, &str)| (name.to_string(), value.to_string());
    text.lines().filter_map(|line| line.split_once('=')).map(setting).collect()
}

#[test]
fn a_service_gets_copies_of_the_files_that_only_root_can_read() {
    let written = override_of_the_unit();
    let copied: Vec<_> = written
        .iter()
        .filter(|(name, _)| name == "LoadCredential")
        .map(|(_, value)| value.split_once(':').unwrap())
        .collect();
    let example: toml::Table = std::fs::read_to_string(format!("{PACKAGING}/node.toml")).unwrap().parse().unwrap();
    let named = [&example["tokens"], &example["tls"]["ca"], &example["tls"]["cert"], &example["tls"]["key"]];
    let named: BTreeSet<_> = named.into_iter().map(|file| format!("/etc/quorate/{}", file.as_str().unwrap())).collect();
    assert_eq!(copied.iter().map(|(_, file)| file.to_string()).collect::<BTreeSet<_>>(), named);

    // What systemd does with it, in a directory of ours.
    let (keys, credentials) = (Keys::new(&["node1=127.0.0.1"]), Directory::new());
    let token = keys.token("oncall", &["admin"]);
    for (name, file) in copied {
        let file = file.rsplit('/').next().unwrap();
        std::fs::copy(keys.path(file), credentials.path().join(name)).unwrap();
    }
    let command = &written.iter().rfind(|(name, _)| name == "ExecStart").unwrap().1;
    let options = command.strip_prefix("/usr/bin/quorate serve --data ${STATE_DIRECTORY} ").unwrap();
    let options = options.replace("%d", credentials.path().to_str().unwrap()).replace("$QUORATE_OPTIONS", "");
    let data = Directory::new();
    let node = Served::start(data.path(), &options.split_whitespace().collect::<Vec<_>>());
    for (header, expected) in [(format!("Authorization: Bearer {token}\r\n"), 200), (String::new(), 401)] {
        let asked = exchange(&mut keys.connect(&node.address, None), "GET", "/v1/status", &header, "");
        assert_eq!(asked.unwrap().0, expected);
    }
}
