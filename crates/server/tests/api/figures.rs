//! The figures are those of what happened; the probes say what is.

use crate::served::{Served, eventually};

/// The value of a series, by its name and labels as they are written.
fn value(page: &str, series: &str) -> Option<f64> {
    let line = page.lines().find(|line| line.strip_prefix(series).is_some_and(|rest| rest.starts_with(' ')))?;
    line.rsplit(' ').next()?.parse().ok()
}

fn expect(page: &str, series: &str, expected: f64) {
    assert_eq!(value(page, series), Some(expected), "{series} in\n{page}");
}

/// Every line is a comment or a sample, every sample's family is announced before, and no series is there twice.
fn check_form(page: &str) {
    let (mut families, mut seen) = (Vec::new(), std::collections::BTreeSet::new());
    for line in page.lines() {
        if let Some(announced) = line.strip_prefix("# TYPE ") {
            families.push(announced.split(' ').next().unwrap());
            continue;
        }
        if line.starts_with("# HELP ") {
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
        assert!(seen.insert(series), "{series} is there twice");
        let name = series.split('{').next().unwrap();
        let family = families.last().unwrap();
        let is_part = |suffix: &str| name.strip_suffix(suffix) == Some(family);
        assert!(name == *family || is_part("_bucket") || is_part("_sum") || is_part("_count"), "{line} under {family}");
    }
}

#[test]
fn figures_tell_what_happened() {
    let node = Served::start();
    let grant = node.post("/v1/locks/a/acquire", r#"{"ttl": "10m"}"#).json();
    let release = format!(r#"{{"session": {}}}"#, grant["session"]);
    assert_eq!(node.post("/v1/locks/a/acquire", r#"{"wait": 0}"#).status, 409);
    assert_eq!(node.post("/v1/locks/a/acquire", r#"{"wait": "50ms"}"#).status, 408);
    assert_eq!(node.post("/v1/locks/a/release", &release).status, 204);
    assert_eq!(node.post("/v1/locks/a/acquire", r#"{"ttl": "100ms"}"#).status, 200);
    eventually("the expiry", || {
        (node.get("/v1/locks/a").json()["holders"].as_array().unwrap().is_empty()).then_some(())
    });
    assert_eq!(node.post("/v1/locks/a/acquire", r#"{"ttl": "10m"}"#).status, 200);
    assert_eq!(node.post("/v1/locks/a/force", r#"{"by": "tester"}"#).status, 204);
    assert_eq!(node.post("/v1/elections/a/campaign", r#"{"ttl": "10m"}"#).status, 200);
    let page = node.get("/metrics");
    assert_eq!(page.media(), Some("text/plain"));
    let page = page.text();
    check_form(&page);
    let lock = r#"{kind="lock",name="a"}"#;
    expect(&page, &format!("quorate_lock_grants_total{lock}"), 3.0);
    expect(&page, &format!("quorate_lock_wait_seconds_count{lock}"), 3.0);
    expect(&page, &format!("quorate_lock_hold_seconds_count{lock}"), 3.0);
    assert!(value(&page, &format!("quorate_lock_hold_seconds_sum{lock}")).unwrap() >= 0.15, "{page}");
    expect(&page, &format!("quorate_lock_expiries_total{lock}"), 1.0);
    expect(&page, &format!("quorate_lock_forced_total{lock}"), 1.0);
    expect(&page, &format!("quorate_lock_left_total{lock}"), 1.0);
    expect(&page, &format!("quorate_lock_holders{lock}"), 0.0);
    expect(&page, r#"quorate_lock_holders{kind="election",name="a"}"#, 1.0);
    expect(&page, r#"quorate_lock_grants_total{kind="other",name=""}"#, 0.0);
    expect(&page, "quorate_sessions_expired_total", 1.0);
    expect(&page, "quorate_sessions", 1.0);
    expect(&page, "quorate_raft_is_leader", 1.0);
    expect(&page, "quorate_raft_leader", 1.0);
    expect(&page, "quorate_raft_leader_changes_total", 1.0);
    expect(&page, "quorate_trouble", 0.0);
    assert!(value(&page, "quorate_raft_term").unwrap() >= 1.0);
    assert!(value(&page, "quorate_log_sync_seconds_count").unwrap() > 5.0, "{page}");
    assert!(value(&page, "quorate_log_sync_seconds_sum").unwrap() > 0.0);
    let acquired =
        |result: &str| format!(r#"quorate_requests_total{{protocol="http",kind="acquireLock",result="{result}"}}"#);
    expect(&page, &acquired("ok"), 3.0);
    expect(&page, &acquired("held"), 1.0);
    expect(&page, &acquired("waited-in-vain"), 1.0);
    assert!(value(&page, "quorate_connections").unwrap() >= 1.0);
    assert!(value(&page, "quorate_connections_total").unwrap() >= 9.0);
}

#[test]
fn the_page_stays_small_however_many_names_there_are() {
    let node = Served::start();
    let session = node.session();
    for number in 0..150 {
        let body = format!(r#"{{"session": "{session}"}}"#);
        assert_eq!(node.post(&format!("/v1/locks/l{number}/acquire"), &body).status, 200);
    }
    let page = node.get("/metrics").text();
    check_form(&page);
    let named = page.lines().filter(|line| line.starts_with("quorate_lock_grants_total{kind=\"lock\"")).count();
    assert_eq!(named, 100);
    expect(&page, r#"quorate_lock_grants_total{kind="other",name=""}"#, 50.0);
    expect(&page, r#"quorate_lock_holders{kind="other",name=""}"#, 50.0);
    expect(&page, "quorate_locks", 150.0);
}

#[test]
fn a_node_is_alive_at_once_and_ready_when_it_knows_a_leader() {
    let node = Served::start();
    assert_eq!((node.get("/healthz").text().as_str(), node.get("/readyz").text().as_str()), ("ok\n", "ready\n"));
    let waiting = Served::start_waiting();
    assert_eq!(waiting.get("/healthz").status, 200);
    let unready = waiting.get("/readyz");
    assert_eq!(unready.status, 503, "{}", unready.text());
    assert_eq!(unready.json()["type"], "no-leader");
    expect(&waiting.get("/metrics").text(), "quorate_raft_leader", 0.0);
}

#[test]
fn every_figure_that_an_alert_needs_is_there() {
    // What concerns the other engine is looked for there, by a test of the command.
    let alerts = include_str!("../../../../docs/alerts.md").split("With `--engine peer`").next().unwrap();
    let page = Served::start().get("/metrics").text();
    let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
    let needed = alerts.match_indices("quorate_").map(|(at, _)| alerts[at..].split(|c| !is_part(c)).next().unwrap());
    let mut count = 0;
    for name in needed {
        count += 1;
        let family = name.strip_suffix("_bucket").unwrap_or(name);
        assert!(page.contains(&format!("# TYPE {family} ")), "{family} is in no figure");
    }
    assert!(count > 10, "{count}");
}
