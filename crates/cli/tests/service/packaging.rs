//! The files that the packages install: the unit for systemd and the configuration of its node.

use std::path::Path;

use crate::security::Keys;
use crate::support::{Directory, Served, exchange};

const PACKAGING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging");

fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(PACKAGING).join(file)).unwrap()
}

#[test]
fn unit_starts_a_node_with_the_packaged_configuration() {
    let unit = read("quorate.service");
    let command = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    assert_eq!(command, "/usr/bin/quorate serve --config /etc/quorate/node.toml --data /var/lib/quorate");

    // The same options, with another port than the configured one, which other tests may use.
    let data = Directory::new();
    let config = format!("{PACKAGING}/debian/node.toml");
    let node = Served::start(data.path(), &["--config", &config]);
    assert_eq!(node.get("/v1/status").0, 200);
}

#[test]
fn packaged_configuration_shows_how_to_use_certificates_and_tokens() {
    let text = read("debian/node.toml");
    let (_, commented) = text.split_once("\n#\n# node = 1\n").unwrap();
    let lines: Vec<_> = commented.lines().map(|line| line.strip_prefix("# ").unwrap()).collect();
    let mut config: toml::Table = lines.join("\n").parse().unwrap();
    // One node of the cluster is enough here, at an address of this machine.
    assert!(config.remove("listen").is_some());
    assert_eq!(config.remove("members").unwrap().as_table().unwrap().len(), 3);

    // The files are where the configuration names them, relative to itself.
    let (keys, etc) = (Keys::new(&["node1=127.0.0.1"]), Directory::new());
    let token = keys.token("oncall", &["admin"]);
    let named = [&config["tokens"], &config["tls"]["ca"], &config["tls"]["cert"], &config["tls"]["key"]];
    for file in named.map(|file| Path::new(file.as_str().unwrap())) {
        let installed = etc.path().join(file);
        std::fs::create_dir_all(installed.parent().unwrap()).unwrap();
        std::fs::copy(keys.path(file.file_name().unwrap().to_str().unwrap()), installed).unwrap();
    }
    let file = etc.path().join("node.toml");
    std::fs::write(&file, config.to_string()).unwrap();

    let data = Directory::new();
    let node = Served::start(data.path(), &["--config", file.to_str().unwrap()]);
    for (header, expected) in [(format!("Authorization: Bearer {token}\r\n"), 200), (String::new(), 401)] {
        let answer = exchange(&mut keys.connect(&node.address, None), "GET", "/v1/status", &header, "");
        assert_eq!(answer.unwrap().0, expected);
    }
}
