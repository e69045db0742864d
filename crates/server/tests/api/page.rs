//! The dashboard over HTTP: what browsers are told of it, and what it reads that nobody else does.

use serde_json::json;

use crate::served::{Answer, Served, eventually};

/// The value of a header.
fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// The files that the document and the modules ask for.
fn files(text: &str) -> Vec<String> {
    let quoted = text.split('"').skip(1).step_by(2);
    let named = quoted.filter_map(|file| file.strip_prefix("./").or_else(|| file.strip_prefix("/web/")));
    named.map(|file| format!("/web/{file}")).collect()
}

#[test]
fn the_page_and_all_that_it_needs_are_served_under_a_strict_policy() {
    let node = Served::start();
    let (mut wanted, mut seen) = (vec!["/".to_string()], Vec::new());
    while let Some(path) = wanted.pop() {
        if seen.contains(&path) {
            continue;
        }
        let answer = node.get(&path);
        assert_eq!(answer.status, 200, "{path}");
        let media = match path.rsplit_once('.') {
            None => "text/html",
            Some((_, "css")) => "text/css",
            Some((_, "js")) => "text/javascript",
            Some((_, "svg")) => "image/svg+xml",
            Some(other) => panic!("{other:?}"),
        };
        assert_eq!(answer.media(), Some(media), "{path}");
        assert_eq!(answer.head.matches("content-type: ").count(), 1, "{}", answer.head);
        let policy = header(&answer, "content-security-policy").unwrap();
        let parts: Vec<_> = policy.split("; ").collect();
        for part in ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"] {
            assert!(parts.contains(&part), "{policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains('*'), "{policy}");
        assert_eq!(header(&answer, "x-content-type-options"), Some("nosniff"));
        let text = answer.text();
        for inline in ["<style", "style=", " onclick", "javascript:", "innerHTML", "outerHTML", "insertAdjacentHTML"] {
            assert!(!text.contains(inline), "{path} has {inline}");
        }
        assert!(!text.contains("http://") && !text.contains("https://") || text.contains("www.w3.org"), "{path}");
        wanted.extend(files(&text));
        seen.push(path);
    }
    assert!(seen.len() > 8, "{seen:?}");
    assert_eq!(header(&node.get("/v1/status"), "content-security-policy"), None);
}

#[test]
fn a_file_that_is_known_is_not_sent_again() {
    let node = Served::start();
    let first = node.get("/web/style.css");
    let tag = header(&first, "etag").unwrap();
    assert_eq!(header(&first, "cache-control"), Some("no-cache"));
    let again = node.ask_with("GET", "/web/style.css", &format!("If-None-Match: {tag}\r\n"), b"");
    assert_eq!((again.status, again.body.len()), (304, 0), "{}", again.head);
    let other = node.ask_with("GET", "/web/style.css", "If-None-Match: \"other\"\r\n", b"");
    assert_eq!((other.status, other.body), (200, first.body));
}

#[test]
fn other_addresses_are_answered_as_before() {
    let node = Served::start();
    for path in ["/web/", "/web/none.js", "/index.html", "/web/../style.css"] {
        let answer = node.get(path);
        assert_eq!((answer.status, answer.media()), (404, Some("application/problem+json")), "{path}");
        assert_eq!(answer.json()["type"], "no-such-address");
    }
    assert_eq!(node.post("/", "{}").status, 405);
}

#[test]
fn pages_of_others_change_nothing() {
    let node = Served::start();
    node.post("/v1/locks/a/acquire", r#"{"ttl": "10m"}"#);
    for from in ["Sec-Fetch-Site: cross-site\r\n", "Origin: https://example.org\r\n"] {
        let answer = node.ask_with("POST", "/v1/locks/a/force", from, b"{}");
        assert_eq!((answer.status, answer.json()["type"].as_str()), (403, Some("forbidden")), "{}", answer.text());
    }
    assert_eq!(node.get("/v1/locks/a").json()["holding"], 1);
    let own = node.ask_with("POST", "/v1/locks/a/force", "Sec-Fetch-Site: same-origin\r\n", b"{}");
    assert_eq!(own.status, 204, "{}", own.text());
}

/// What a browser takes for the page's own origin, as its name led to somebody else before.
#[test]
fn a_name_that_leads_here_only_now_opens_nothing() {
    let node = Served::start();
    node.post("/v1/locks/a/acquire", r#"{"ttl": "10m"}"#);
    for (method, path) in [("GET", "/v1/locks"), ("GET", "/"), ("POST", "/v1/locks/a/force")] {
        let own = "Origin: http://evil.example\r\nSec-Fetch-Site: same-origin\r\n";
        let answer = node.ask_by_name("evil.example", method, path, own, b"{}");
        assert_eq!((answer.status, answer.json()["type"].as_str()), (403, Some("forbidden")), "{}", answer.text());
        assert!(answer.text().contains("127.0.0.1 or localhost"), "{}", answer.text());
    }
    assert_eq!(node.get("/v1/locks/a").json()["holding"], 1);
    assert_eq!(node.ask_by_name("localhost:7420", "GET", "/v1/locks", "", b"").status, 200);
}

#[test]
fn force_with_a_fence_takes_it_from_the_grant_that_was_seen_and_no_other() {
    let node = Served::start();
    for (kind, deed) in [("locks", "acquire"), ("elections", "campaign")] {
        let ask = |label: &str| {
            let body = format!(r#"{{"ttl": "10m", "label": "{label}", "value": "x"}}"#);
            let body = if kind == "locks" { body.replace(r#", "value": "x""#, "") } else { body };
            node.post(&format!("/v1/{kind}/a/{deed}"), &body).json()
        };
        let alice = ask("alice");
        let leave = if kind == "locks" { "release" } else { "resign" };
        node.post(&format!("/v1/{kind}/a/{leave}"), &format!(r#"{{"session": {}}}"#, alice["session"]));
        let bob = ask("bob");
        let force = |fence: &serde_json::Value| {
            node.post(&format!("/v1/{kind}/a/force"), &format!(r#"{{"by": "tester", "fence": {fence}}}"#))
        };
        let late = force(&alice["fence"]);
        assert_eq!((late.status, late.json()["type"].as_str()), (409, Some("conflict")), "{}", late.text());
        let said = late.json()["detail"].as_str().unwrap().to_string();
        assert!(said.contains("nothing was released: check the holder again"), "{said}");
        assert_eq!(force(&bob["fence"]).status, 204);
        let gone = force(&bob["fence"]);
        assert_eq!((gone.status, gone.json()["type"].as_str()), (409, Some("not-held")), "{}", gone.text());
    }
}

#[test]
fn lists_are_told_in_parts_and_searched() {
    let node = Served::start();
    let session = node.session();
    for name in ["alpha", "beta", "Gamma%20alpha", "delta", "alps"] {
        for path in ["locks", "elections"] {
            let (deed, body) = if path == "locks" { ("acquire", "") } else { ("campaign", r#", "value": "x""#) };
            let body = format!(r#"{{"session": "{session}"{body}}}"#);
            assert_eq!(node.post(&format!("/v1/{path}/{name}/{deed}"), &body).status, 200);
        }
    }
    let names = |path: &str, query: &str| {
        let list = node.get(&format!("/v1/{path}?{query}")).json();
        let names = list[path].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_string());
        (names.collect::<Vec<_>>().join(","), list["total"].as_u64().unwrap())
    };
    for path in ["locks", "elections"] {
        assert_eq!(names(path, "limit=2"), ("Gamma alpha,alpha".into(), 5));
        assert_eq!(names(path, "limit=2&after=alpha"), ("alps,beta".into(), 5));
        assert_eq!(names(path, "limit=2&before=beta"), ("alpha,alps".into(), 5), "the last ones before it");
        assert_eq!(names(path, "limit=9&before=alps"), ("Gamma alpha,alpha".into(), 5));
        assert_eq!(names(path, "after=Gamma%20alpha&before=delta"), ("alpha,alps,beta".into(), 5));
        assert_eq!(names(path, "search=ALPHA"), ("Gamma alpha,alpha".into(), 2));
        assert_eq!(names(path, "search=alp&after=alpha"), ("alps".into(), 3));
        assert_eq!(names(path, "waiting=true"), (String::new(), 0));
    }
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| node.post("/v1/locks/beta/acquire", r#"{"wait": "1m"}"#));
        eventually("the wait", || (names("locks", "waiting=true") == ("beta".into(), 1)).then_some(()));
        let waiting = node.get("/v1/sessions?waiting=true").json();
        assert_eq!((&waiting[0]["awaits"], waiting.as_array().unwrap().len()), (&json!(1), 1), "{waiting}");
        node.post("/v1/locks/beta/force", "{}");
        assert_eq!(waiter.join().unwrap().status, 200);
    });
    let found = node.get("/v1/sessions?search=TEST&limit=1").json();
    assert_eq!((&found[0]["label"], &found[0]["holds"]), (&json!("tester"), &json!(9)), "{found}");
    assert!((1..=600_000).contains(&found[0]["left_ms"].as_u64().unwrap()), "{found}");
    assert_eq!(node.get(&format!("/v1/sessions?after={session}&search=tester")).json(), json!([]));
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("limit=x", "limit"),
        ("limits=1", "limits"),
        ("waiting=perhaps", "waiting"),
    ] {
        let answer = node.get(&format!("/v1/locks?{query}"));
        assert_eq!((answer.status, &answer.json()["field"]), (400, &json!(field)), "{query}: {}", answer.text());
    }
    assert_eq!(node.get("/v1/sessions?after=zz").json()["field"], "after");
    assert_eq!(node.get("/v1/sessions?before=zz").json()["field"], "before");
    let all = node.get("/v1/sessions").json();
    let ids: Vec<_> = all.as_array().unwrap().iter().map(|one| one["session"].as_str().unwrap()).collect();
    let before = node.get(&format!("/v1/sessions?limit=1&before={}", ids.last().unwrap())).json();
    let expected = ids.len().checked_sub(2).map(|at| json!(ids[at])).unwrap_or(json!(null));
    assert_eq!(before.get(0).map_or(json!(null), |one| one["session"].clone()), expected, "{all}");
}

#[test]
fn what_happened_to_a_lock_is_remembered_with_who_it_was() {
    let node = Served::start();
    let grant = node.post("/v1/locks/a/acquire", r#"{"ttl": "10m", "label": "first"}"#).json();
    node.post("/v1/locks/a/release", &format!(r#"{{"session": {}}}"#, grant["session"]));
    node.post("/v1/locks/a/acquire", r#"{"ttl": "10m", "label": "second"}"#);
    node.post("/v1/locks/a/force", r#"{"by": "tester"}"#);
    node.post("/v1/locks/b/acquire", r#"{"ttl": "10m", "label": "other"}"#);
    let told = |path: &str| {
        let history = node.get(path).json();
        let events = history["events"].as_array().unwrap().iter();
        let said = events.map(|event| {
            let who = event["label"].as_str().or(event["by"].as_str()).unwrap_or("?");
            format!("{} {who} {}", event["event"].as_str().unwrap(), event["why"].as_str().unwrap_or(""))
        });
        said.map(|said| said.trim_end().to_string()).collect::<Vec<_>>()
    };
    let of_a = ["lost second forced", "forced tester", "granted second", "lost first released", "granted first"];
    assert_eq!(told("/v1/locks/a/history"), of_a);
    assert_eq!(told("/v1/locks/b/history"), ["granted other"]);
    assert!(told("/v1/elections/a/history").is_empty());
    let all = told("/v1/history");
    assert!(all.contains(&"session-opened other".into()) && all.contains(&"session-ended first".into()), "{all:?}");
}

#[test]
fn the_status_has_figures_that_grow() {
    let node = Served::start();
    let before = node.get("/v1/status").json();
    node.post("/v1/locks/a/acquire", r#"{"ttl": "10m"}"#);
    let after = node.get("/v1/status").json();
    for figure in ["requests", "writes", "writes_us"] {
        let of = |status: &serde_json::Value| status["figures"][figure].as_u64().unwrap();
        assert!(of(&after) > of(&before), "{figure}: {before} {after}");
    }
    assert_eq!(node.get("/v1/whoami").json(), json!({ "role": "admin" }));
}
