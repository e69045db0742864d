//! What curl sees.

use serde_json::Value;

use crate::support::{Directory, Served, request};

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_else(|| panic!("{field} is not in {value}"))
}

#[test]
fn one_line_gets_a_lock_and_another_gives_it_back() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    let (status, grant) = node.post("/v1/locks/backup/acquire", r#"{"ttl": "30s", "label": "me"}"#);
    assert_eq!(status, 200, "{grant}");
    let (fence, session) = (grant["fence"].as_u64().unwrap(), text(&grant, "session").to_string());
    let (status, held) = node.post("/v1/locks/backup/acquire", r#"{"wait": 0}"#);
    assert_eq!((status, text(&held, "type")), (409, "held"), "{held}");
    assert_eq!(text(&held["holders"][0], "label"), "me");
    let (_, lock) = node.get("/v1/locks/backup");
    assert_eq!((lock["holders"][0]["fence"].as_u64(), lock["waiting"].as_u64()), (Some(fence), Some(0)), "{lock}");
    assert_eq!(node.post("/v1/locks/backup/release", &format!(r#"{{"session": "{session}"}}"#)).0, 204);
    let (_, sessions) = node.get("/v1/sessions");
    assert_eq!(sessions.as_array().unwrap().len(), 0, "who asks without a session leaves none: {sessions}");
    let (_, next) = node.post("/v1/locks/backup/acquire", "");
    assert!(next["fence"].as_u64().unwrap() > fence);
}

#[test]
fn who_waits_is_told_and_who_waits_too_long_leaves_the_line() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    let (_, grant) = node.post("/v1/locks/a/acquire", "{}");
    let address = node.address.clone();
    let waiter = std::thread::spawn(move || request(&address, "POST", "/v1/locks/a/acquire", r#"{"wait": "60s"}"#));
    crate::support::eventually("the wait", || (node.get("/v1/locks/a").1["waiting"] == 1).then_some(()));
    let (status, vain) = node.post("/v1/locks/a/acquire", r#"{"wait": "100ms"}"#);
    assert_eq!((status, text(&vain, "type")), (408, "waited-in-vain"), "{vain}");
    assert_eq!(node.get("/v1/locks/a").1["waiting"], 1);
    let release = format!(r#"{{"session": "{}"}}"#, text(&grant, "session"));
    assert_eq!(node.post("/v1/locks/a/release", &release).0, 204);
    let (status, next) = waiter.join().unwrap();
    assert_eq!(status, 200, "{next}");
    assert!(next["fence"].as_u64() > grant["fence"].as_u64());
}

#[test]
fn a_session_that_is_not_renewed_loses_its_lock() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    let (status, session) = node.post("/v1/sessions", r#"{"ttl": "300ms", "label": "short"}"#);
    assert_eq!(status, 201, "{session}");
    let session = text(&session, "session");
    let (_, grant) = node.post("/v1/locks/a/acquire", &format!(r#"{{"session": "{session}"}}"#));
    let (status, next) = node.post("/v1/locks/a/acquire", r#"{"wait": "60s"}"#);
    assert_eq!(status, 200, "{next}");
    assert!(next["fence"].as_u64() > grant["fence"].as_u64());
    let (status, gone) = node.post(&format!("/v1/sessions/{session}/renew"), "");
    assert_eq!((status, text(&gone, "type")), (404, "no-session"), "{gone}");
}

#[test]
fn a_repeated_request_does_its_work_once() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    let (_, session) = node.post("/v1/sessions", "{}");
    let session = text(&session, "session");
    let acquire = format!(r#"{{"session": "{session}", "request": 1}}"#);
    let (_, first) = node.post("/v1/locks/a/acquire", &acquire);
    assert_eq!(node.post("/v1/locks/a/acquire", &acquire).1, first);
    let release = format!(r#"{{"session": "{session}", "request": 2}}"#);
    assert_eq!(node.post("/v1/locks/a/release", &release).0, 204);
    let (status, over) = node.post("/v1/locks/a/acquire", &acquire);
    assert_eq!((status, text(&over, "type")), (409, "over"), "{over}");
    let (_, again) = node.post("/v1/locks/a/acquire", &format!(r#"{{"session": "{session}", "request": 3}}"#));
    assert_eq!(node.post("/v1/locks/a/release", &release).0, 204, "done before, so nothing happens");
    assert_eq!(node.get("/v1/locks/a").1["holders"][0]["fence"], again["fence"]);
}

#[test]
fn readers_share_and_permits_are_counted() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    for _ in 0..2 {
        assert_eq!(node.post("/v1/locks/read/acquire", r#"{"mode": "shared", "wait": 0}"#).0, 200);
        assert_eq!(node.post("/v1/locks/some/acquire", r#"{"mode": {"permits": 2}, "wait": 0}"#).0, 200);
    }
    assert_eq!(node.post("/v1/locks/read/acquire", r#"{"wait": 0}"#).0, 409);
    assert_eq!(node.post("/v1/locks/some/acquire", r#"{"mode": {"permits": 2}, "wait": 0}"#).0, 409);
    let (status, other) = node.post("/v1/locks/some/acquire", r#"{"mode": {"permits": 3}}"#);
    assert_eq!((status, text(&other, "type")), (409, "other-mode"), "{other}");
}

#[test]
fn elections_have_a_leader_who_says_something_or_none() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    assert_eq!(node.get("/v1/elections/db").1["leader"], Value::Null);
    let (status, won) = node.post("/v1/elections/db/campaign", r#"{"value": "10.0.0.1:5432"}"#);
    assert_eq!(status, 200, "{won}");
    assert_eq!(text(&node.get("/v1/elections/db").1["leader"], "value"), "10.0.0.1:5432");
    let (session, fence) = (text(&won, "session"), &won["fence"]);
    let proclaim = format!(r#"{{"session": "{session}", "fence": {fence}, "value": "new"}}"#);
    assert_eq!(node.post("/v1/elections/db/proclaim", &proclaim).0, 204);
    assert_eq!(text(&node.get("/v1/elections/db").1["leader"], "value"), "new");
    assert_eq!(node.post("/v1/elections/db/resign", &format!(r#"{{"session": "{session}"}}"#)).0, 204);
    assert_eq!(node.get("/v1/elections/db").1["leader"], Value::Null);
}

#[test]
fn what_makes_no_sense_gets_a_4xx_that_names_the_field() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    let acquire = "/v1/locks/a/acquire";
    let long = format!(r#"{{"label": "{}"}}"#, "x".repeat(300));
    for (path, body, field) in [
        (acquire, r#"{"ttl": "soon"}"#, "ttl"),
        (acquire, r#"{"ttl": "1ms"}"#, "ttl"),
        (acquire, r#"{"ttl": "1000d"}"#, "ttl"),
        (acquire, r#"{"ttk": 5}"#, "ttk"),
        (acquire, r#"{"mode": "together"}"#, "mode"),
        (acquire, r#"{"mode": {"permits": 0}}"#, "mode"),
        (acquire, r#"{"session": "xyz"}"#, "session"),
        (acquire, r#"{"session": "1", "ttl": 1000}"#, "ttl"),
        (acquire, r#"{"delay": "99999d"}"#, "delay"),
        (acquire, &long, "label"),
        ("/v1/locks/a/release", "{}", "session"),
        ("/v1/elections/a/proclaim", r#"{"session": "1", "fence": -1, "value": ""}"#, "fence"),
    ] {
        let (status, problem) = node.post(path, body);
        assert!((400..500).contains(&status), "{body}: {status} {problem}");
        assert_eq!(text(&problem, "field"), field, "{body}: {problem}");
    }
    for (method, path, expected) in [
        ("GET", "/v1/nothing", 404),
        ("PUT", "/v1/locks", 405),
        ("POST", "/v1/sessions/1/renew", 404),
        ("DELETE", "/v1/sessions/0", 400),
        ("GET", "/v1/stream", 426),
    ] {
        assert_eq!(request(&node.address, method, path, "").0, expected, "{method} {path}");
    }
    let (status, _) = node.post(acquire, &format!("{{\"label\": \"{}\"}}", "x".repeat(400_000)));
    assert_eq!(status, 413);
    let long_name = format!("/v1/locks/{}/acquire", "n".repeat(2000));
    assert_eq!(text(&node.post(&long_name, "").1, "field"), "name");
    assert_eq!(node.get("/v1/status").0, 200, "it lives on");
}

/// Nobody knows the session that was opened for it, so nobody could find the place again.
#[test]
fn who_asks_without_a_session_and_goes_away_leaves_nothing_behind() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    let sessions = || node.get("/v1/sessions").1.as_array().unwrap().len();
    let (_, grant) = node.post("/v1/locks/a/acquire", r#"{"ttl": "1h"}"#);
    let waiter = node.send("/v1/locks/a/acquire", r#"{"ttl": "1h", "wait": "1h"}"#);
    crate::support::eventually("the wait", || (node.get("/v1/locks/a").1["waiting"] == 1).then_some(()));
    drop(waiter);
    crate::support::eventually("the end of it", || (node.get("/v1/locks/a").1["waiting"] == 0).then_some(()));
    assert_eq!(sessions(), 1);
    let release = format!(r#"{{"session": "{}"}}"#, text(&grant, "session"));
    assert_eq!(node.post("/v1/locks/a/release", &release).0, 204);
    assert_eq!(node.post("/v1/locks/p/acquire", r#"{"ttl": "1h", "mode": {"permits": 2}}"#).0, 200);
    let (status, refused) = node.post("/v1/locks/p/acquire", r#"{"ttl": "1h", "mode": {"permits": 3}}"#);
    assert!((400..500).contains(&status), "{refused}");
    assert_eq!(sessions(), 1, "only who was granted something");
}

/// A grant that comes late has its full time from then on.
#[test]
fn what_is_granted_after_a_wait_has_its_full_time() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    let (_, grant) = node.post("/v1/locks/a/acquire", r#"{"ttl": "60s"}"#);
    let address = node.address.clone();
    let waiter = std::thread::spawn(move || request(&address, "POST", "/v1/locks/a/acquire", r#"{"ttl": "60s"}"#));
    crate::support::eventually("the wait", || (node.get("/v1/locks/a").1["waiting"] == 1).then_some(()));
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let release = format!(r#"{{"session": "{}"}}"#, text(&grant, "session"));
    let asked = std::time::Instant::now();
    assert_eq!(node.post("/v1/locks/a/release", &release).0, 204);
    let (status, next) = waiter.join().unwrap();
    assert_eq!(status, 200, "{next}");
    let (_, session) = node.get(&format!("/v1/sessions/{}", text(&next, "session")));
    let left_ms = session["left_ms"].as_u64().unwrap();
    assert!(u128::from(60_000 - left_ms) <= asked.elapsed().as_millis() + 1, "{left_ms} ms are left of it");
}

/// However many share a lock, an answer shows the first of them, and how many there are.
#[test]
fn of_many_who_share_a_lock_the_first_are_shown() {
    let directory = Directory::new();
    let node = Served::start(directory.path(), &[]);
    for _ in 0..103 {
        assert_eq!(node.post("/v1/locks/a/acquire", r#"{"mode": "shared"}"#).0, 200);
    }
    let (_, lock) = node.get("/v1/locks/a");
    assert_eq!((lock["holders"].as_array().unwrap().len(), lock["holding"].as_u64()), (100, Some(103)));
    let (status, held) = node.post("/v1/locks/a/acquire", r#"{"wait": 0}"#);
    assert_eq!((status, held["holders"].as_array().unwrap().len()), (409, 100));
}
