//! Pictures of the page, as large and as small as it is looked at, in light and in dark: for people to look at.

use std::path::Path;

use crate::browser::{Browser, browser};
use crate::server::{Directory, Process, Served, addresses, eventually};

const SIZES: [(u32, u32); 2] = [(1440, 900), (390, 844)];
const SCHEMES: [&str; 2] = ["light", "dark"];

fn start_cluster(directory: &Directory) -> Vec<Served> {
    let addresses = addresses();
    let members: Vec<_> = (1..).zip(&addresses).map(|(node, address)| format!("{node}={address}")).collect();
    let start = |(node, address): (usize, &String)| {
        let number = node.to_string();
        let mut options = vec!["--node", &number];
        options.extend(members.iter().flat_map(|member| ["--member", member]));
        Served::start(&directory.path().join(&number), address, &options)
    };
    (1..).zip(&addresses).map(start).collect()
}

/// Something to look at: who holds and awaits what.
fn populate(node: &Served) -> Vec<Process> {
    let hold = |name: &str, label: &str| node.hold(name, &["--label", label, "--ttl", "15s"]);
    let mut held = Vec::new();
    for (name, label) in [
        ("backup/nightly", "backup@db1:3121"),
        ("deploy/web", "ci-runner-7@build2:88410"),
        ("migrate/accounts", "alice@laptop:5521"),
        ("cron/report", "cron@app3:912"),
        ("shard/eu-1", "worker@eu1:77"),
        ("shard/eu-2", "worker@eu2:81"),
    ] {
        held.push(hold(name, label));
    }
    let is_held = |name: &str| node.get(&format!("/v1/locks/{}", name.replace('/', "%2F")))["holding"] == 1;
    eventually("the first grants", || {
        if is_held("deploy/web") && is_held("backup/nightly") { Ok(()) } else { Err(String::new()) }
    });
    for (name, label) in [
        ("deploy/web", "ci-runner-2@build1:91007"),
        ("deploy/web", "bob@laptop:6120"),
        ("deploy/web", "ci-runner-9@build4:1213"),
        ("deploy/web", "carol@desk:310"),
        ("backup/nightly", "backup@db2:2290"),
    ] {
        held.push(hold(name, label));
        eventually("the next in line", || {
            let lock = node.get(&format!("/v1/locks/{}", name.replace('/', "%2F")));
            let labels = lock["waiters"].to_string();
            if labels.contains(label) { Ok(()) } else { Err(labels) }
        });
    }
    held.push(node.hold("reports/readers", &["--shared", "--label", "reader@app1:44"]));
    let elect = |value: &str, label: &str| {
        node.run(&["elect", "postgres/primary", "--value", value, "--label", label, "--", "sleep", "120"])
    };
    held.push(elect("10.0.0.11:5432", "postgres@db1:1204"));
    eventually("a leader", || {
        let election = node.get("/v1/elections/postgres%2Fprimary");
        if election["leader"].is_object() { Ok(()) } else { Err(election.to_string()) }
    });
    held.push(elect("10.0.0.12:5432", "postgres@db2:1190"));
    held
}

/// Things that happen, for a while, so that there are curves.
fn bustle(node: &Served, browser: &Browser) {
    node.post("/v1/locks/cache%2Fwarm/acquire", r#"{"ttl": "200ms", "label": "crashed@app2:14"}"#);
    let samples = "const line = document.querySelector('.tile .line'); return line ? line.getAttribute('d') : '';";
    let mut number = 0;
    eventually("a few samples", || {
        number += 1;
        for _ in 0..1 + number % 4 {
            let body = r#"{"ttl": "30s", "label": "job-runner@app4:5"}"#;
            let grant = node.post("/v1/locks/queue%2Femails/acquire", body);
            node.post("/v1/locks/queue%2Femails/release", &format!(r#"{{"session": {}}}"#, grant["session"]));
        }
        let drawn = browser.find(samples, &[]).as_str().unwrap_or_default().matches('L').count();
        if drawn >= 7 { Ok(()) } else { Err(format!("{drawn} samples")) }
    });
}

/// Pictures of what a browser shows, in all sizes and schemes; nothing is wider than the window.
pub(crate) fn take(browser: &Browser, name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/screenshots");
    for (width, height) in SIZES {
        for scheme in SCHEMES {
            browser.dress((width, height), scheme);
            browser.picture(&folder.join(format!("{name}-{width}x{height}-{scheme}.png")));
            let script = "return document.documentElement.scrollWidth <= innerWidth;";
            let fits = browser.find(script, &[]);
            assert_eq!(fits, true, "{name} is wider than {width}");
        }
    }
}

#[test]
fn pictures_for_people_and_nothing_is_wider_than_the_window() {
    let (directory, Some(browser)) = (Directory::new(), browser()) else { return };
    let nodes = start_cluster(&directory);
    let leader = eventually("a leader", || {
        let status = nodes[0].get("/v1/status");
        status["leader"].as_u64().ok_or_else(|| status.to_string())
    });
    let node = &nodes[leader as usize - 1];
    let _held = populate(node);
    browser.dress(SIZES[0], SCHEMES[0]);
    browser.open(&node.page());
    browser.sees("#members", &["leader", "up to date"]);
    browser.sees("#locks", &["deploy/web", "ci-runner-7", "bob"]);
    bustle(node, &browser);
    take(&browser, "dashboard");
    browser.open(&format!("{}#/lock/deploy%2Fweb", node.page()));
    browser.sees("#waiters", &["ci-runner-2", "carol"]);
    browser.sees("#history", &["ci-runner-7"]);
    take(&browser, "lock");
    browser.dress(SIZES[0], SCHEMES[0]);
    browser.click("#force");
    browser.sees("#force-dialog", &["ci-runner-7", "ci-runner-2"]);
    take(&browser, "force");
    // Another node shows the same, but for what only the leader knows.
    let other = &nodes[leader as usize % nodes.len()];
    browser.open(&other.page());
    browser.sees("#members", &["leader", "is shown by the leader", &format!("node {leader}")]);
    browser.sees("#sessions .left", &["s"]);
    browser.sees("#locks", &["deploy/web", "ci-runner-7"]);
    assert_eq!(browser.complaints(), [""; 0]);
}
