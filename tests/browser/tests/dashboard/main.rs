//! The dashboard as people see it: a real browser looks at a real node, and sees by itself what happens there.
//!
//! It needs Debian's `chromium` and `chromium-driver`. Where they are not, it says so and tests nothing, or fails if
//! `QUORATE_BROWSER=required` is set. The nodes are those of `QUORATE_BIN`, or else of `target/debug/quorate`. Pictures
//! are written to `target/screenshots`.

mod connection;
mod force;
mod laboratory;
mod lists;
mod parts;
mod pictures;
mod run_file;

use std::process::Command;

use quorate_browser_tests::{browser, server};

use browser::{Browser, browser};
use serde_json::Value;
use server::{Directory, Served, eventually, request};

const ANYWHERE: &str = "127.0.0.1:0";

/// A node, and a browser that has its page open and live.
fn open_page(directory: &Directory, extra: &[&str]) -> Option<(Served, Browser)> {
    let browser = browser()?;
    let node = Served::start(directory.path(), ANYWHERE, extra);
    browser.open(&node.page());
    browser.sees("#connection", &["live"]);
    Some((node, browser))
}

#[test]
fn holder_waiter_hand_over_and_expiry_appear_by_themselves() {
    let directory = Directory::new();
    let Some((node, browser)) = open_page(&directory, &[]) else { return };
    browser.sees("#locks", &["No lock is held"]);
    browser.sees("#members", &["leader", "term", "this node"]);
    let mut first = node.hold("backup", &["--label", "alice"]);
    browser.sees("#locks tbody tr", &["backup", "alice", "none"]);
    let mut second = node.hold("backup", &["--label", "bob", "--ttl", "2s"]);
    browser.sees("#locks tbody tr", &["backup", "alice", "1", "bob"]);
    browser.sees("#sessions", &["alice", "bob"]);
    browser.sees("#events", &["alice acquired backup with fence", "bob waits for backup"]);
    let fence = node.get("/v1/locks/backup")["holders"][0]["fence"].to_string();
    browser.sees("#locks tbody tr", &[&fence]);
    // The hand-over.
    first.terminate();
    browser.sees_that("#locks tbody tr", "bob alone", |shown| shown.contains("bob") && !shown.contains("alice"));
    browser.sees("#events", &["alice released backup", "bob acquired backup"]);
    // The page of the lock, and the end of who holds it without a word.
    browser.click("#locks tbody a.name");
    browser.sees("#subject h1", &["backup"]);
    browser.sees("#holders", &["bob", "fence"]);
    browser.sees(
        "#history",
        &["alice acquired this lock", "bob waits for this lock", "alice released this lock", "bob acquired this lock"],
    );
    second.kill();
    browser.sees("#holders", &["No holder"]);
    browser.sees("#history", &["bob lost this lock", "its session expired"]);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn the_time_that_a_session_has_left_runs_out_before_ones_eyes() {
    let directory = Directory::new();
    let Some((node, browser)) = open_page(&directory, &[]) else { return };
    node.post("/v1/sessions", r#"{"ttl": "60s", "label": "slow"}"#);
    let left = |shown: &str| shown.split_whitespace().next().and_then(|seconds| seconds.parse::<f64>().ok());
    let shown = browser.sees_that("#sessions .left", "a number of seconds", |shown| left(shown).is_some());
    let before = left(&shown).unwrap();
    assert!(before <= 60.0, "{shown}");
    browser.sees_that("#sessions .left", "less", |shown| left(shown).is_some_and(|left| left < before));
    node.post("/v1/sessions", r#"{"ttl": "1500ms", "label": "quick"}"#);
    browser.sees("#sessions", &["quick"]);
    browser.sees_that("#sessions", "only who is left", |shown| shown.contains("slow") && !shown.contains("quick"));
    browser.sees("#events", &["quick's session expired"]);
}

#[test]
fn what_users_write_is_shown_as_text() {
    let directory = Directory::new();
    let Some((node, browser)) = open_page(&directory, &[]) else { return };
    let (name, label) = ("<script>alert(1)</script>", "<img src=x onerror=\"window.caught=1\">&amp;");
    let _holder = node.hold(name, &["--label", label]);
    let value = "</td><style>*{display:none}</style>";
    let _leader = node.run(&["elect", name, "--value", value, "--label", "javascript:alert(2)", "--", "sleep", "120"]);
    for selector in ["#locks", "#events"] {
        browser.sees(selector, &[name, label]);
    }
    browser.sees("#elections", &[name, value, "javascript:alert(2)"]);
    browser.sees("#sessions", &[label]);
    browser.click("#locks tbody a.name");
    browser.sees("#subject h1", &[name]);
    browser.sees("#holders", &[label]);
    browser.sees("#history", &[label, "acquired this"]);
    let found = browser.find("return document.querySelectorAll('main script, main style, main img').length;", &[]);
    assert_eq!(found, Value::from(0));
    assert_eq!(browser.find("return window.caught ?? null;", &[]), Value::Null);
    // The link leads to the same page again, in the form in which one would send it to somebody.
    let link = browser.find("return location.href;", &[]);
    assert!(link.as_str().unwrap().ends_with("#/lock/%3Cscript%3Ealert(1)%3C%2Fscript%3E"), "{link}");
    browser.reload();
    browser.sees("#subject h1", &[name]);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_lost_connection_is_said_and_so_is_its_return() {
    let directory = Directory::new();
    let Some((mut node, browser)) = open_page(&directory, &[]) else { return };
    node.post("/v1/locks/kept/acquire", r#"{"ttl": "10m", "label": "somebody"}"#);
    browser.sees("#locks", &["kept", "somebody"]);
    node.process.kill();
    browser.sees("#banner", &["The connection was lost at", "The page shows the state of that time"]);
    browser.sees("#connection", &["connection lost"]);
    browser.sees("#locks", &["kept"]);
    let node = Served::start(directory.path(), &node.address, &[]);
    browser.sees("#banner", &["The connection was restored at"]);
    browser.sees("#connection", &["live"]);
    node.post("/v1/locks/kept/force", r#"{"by": "carol"}"#);
    browser.sees("#events", &["kept was released by force, by carol"]);
    browser.sees("#locks", &["No lock is held"]);
}

#[test]
fn force_is_confirmed_and_put_on_record() {
    let directory = Directory::new();
    let Some((node, browser)) = open_page(&directory, &[]) else { return };
    let _first = node.hold("deploy/web", &["--label", "stuck"]);
    eventually("the grant", || {
        let lock = node.get("/v1/locks/deploy%2Fweb");
        if lock["holding"] == 1 { Ok(()) } else { Err(lock.to_string()) }
    });
    let _second = node.hold("deploy/web", &["--label", "next"]);
    browser.open(&format!("{}#/lock/deploy%2Fweb", node.page()));
    browser.sees("#waiters", &["next"]);
    browser.click("#force");
    browser.sees("#force-dialog", &["deploy/web", "stuck", "next"]);
    browser.click("#force-dialog [data-action=close]");
    browser.sees("#holders", &["stuck"]);
    // Without a mouse.
    browser.find("document.querySelector('#force').focus();", &[]);
    browser.press("\u{E007}");
    browser.sees("#force-dialog", &["stuck"]);
    browser.fill("#force-by", "dora");
    browser.press("\u{E007}");
    browser.sees("#holders", &["next"]);
    browser.sees("#history", &["forced", "released by force, by dora (dashboard)", "stuck lost this lock"]);
    let history = node.get("/v1/locks/deploy%2Fweb/history");
    let forced = history["events"].as_array().unwrap().iter().find(|event| event["event"] == "forced").unwrap();
    assert_eq!(forced["by"], "dora (dashboard)");
    assert_eq!(browser.complaints(), [""; 0]);
}

/// Adds a token to a file, and returns it.
fn token(file: &str, name: &str, role: &str) -> String {
    let mut command = Command::new(server::program());
    let made = command.args(["keys", "token", name, "--file", file, "--role", role]).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    String::from_utf8(made.stdout).unwrap().trim().to_string()
}

#[test]
fn the_page_asks_for_a_token_and_obeys_it() {
    let (directory, Some(browser)) = (Directory::new(), browser()) else { return };
    let file = directory.path().join("tokens.toml").to_str().unwrap().to_string();
    let (reader, admin) = (token(&file, "looker", "read"), token(&file, "oncall", "admin"));
    let node = Served::start(&directory.path().join("data"), ANYWHERE, &["--tokens", &file]);
    let bearer = format!("Authorization: Bearer {admin}\r\n");
    eventually("that the node is ready", || match request(&node.address, "GET", "/readyz", "", "").0 {
        200 => Ok(()),
        status => Err(status.to_string()),
    });
    let (status, _) = request(&node.address, "POST", "/v1/locks/a/acquire", &bearer, r#"{"label": "holder"}"#);
    assert_eq!(status, 200);
    browser.open(&format!("{}#/lock/a", node.page()));
    browser.sees("#token-dialog", &["Token required"]);
    browser.fill("#token", "quorate_wrong");
    browser.click("#token-form [type=submit]");
    browser.sees("#token-why", &["unknown token"]);
    browser.fill("#token", &reader);
    browser.click("#token-form [type=submit]");
    browser.sees("#holders", &["holder"]);
    browser.sees("#identity", &["looker (read)"]);
    browser.sees("#subject .deed", &["The token of “looker” does not permit this: the role admin is needed."]);
    assert_eq!(browser.find("return document.querySelector('#force').disabled;", &[]), Value::Bool(true));
    assert_eq!(browser.find("return Object.keys(localStorage).length + document.cookie.length;", &[]), Value::from(0));
    // Whoever has the other token can do more, until it is taken away: then the server says so, in its words.
    browser.click("#identity");
    browser.fill("#token", &admin);
    browser.click("#token-form [type=submit]");
    browser.sees("#identity", &["oncall (admin)"]);
    browser.click("#force");
    browser.sees("#force-dialog", &["holder"]);
    let tokens = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, tokens.replace("role = \"admin\"", "role = \"read\"")).unwrap();
    eventually("the change of the tokens", || {
        let (_, whoami) = request(&node.address, "GET", "/v1/whoami", &bearer, "");
        if whoami["role"] == "read" { Ok(()) } else { Err(whoami.to_string()) }
    });
    browser.click("#force-confirm");
    browser.sees("#force-why", &["the token of \"oncall\" does not permit this request, which needs the role admin"]);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn nodes_that_take_turns_are_seen_with_their_distance_and_their_death() {
    let (directory, Some(browser)) = (Directory::new(), browser()) else { return };
    let members: Vec<_> = (1..).zip(server::addresses()).map(|(node, address)| format!("{node}={address}")).collect();
    let start = |number: usize| {
        let id = number.to_string();
        let mut options = vec!["--engine", "peer", "--algorithm", "ricart-agrawala", "--id", &id];
        // Quick enough for a test, and slow enough for a machine that has much else to do.
        options.extend(["--beat", "200ms", "--tolerance", "3s", "--delay-bound", "50ms"]);
        options.extend(members.iter().flat_map(|member| ["--member", member]));
        Served::start(&directory.path().join(&id), ANYWHERE, &options)
    };
    let (first, mut second, _third) = (start(1), start(2), start(3));
    browser.open(&first.page());
    browser.sees("#members", &["peer engine: ricart-agrawala", "round trip", "this node"]);
    let _holder = first.hold("printer", &["--label", "alice"]);
    browser.sees("#locks", &["printer", "alice", "Only clients of this node are shown"]);
    second.process.kill();
    browser.sees("#members", &["suspected"]);
    browser.sees("#locks", &["alice"]);
    assert_eq!(browser.complaints(), [""; 0]);
}

/// How many requests of a kind the node has answered.
fn requests(node: &Served, kind: &str) -> u64 {
    let page = server::text(&node.address, "/metrics");
    let series = format!("quorate_requests_total{{protocol=\"http\",kind=\"{kind}\",result=\"ok\"}} ");
    page.lines().find_map(|line| line.strip_prefix(&series)?.parse().ok()).unwrap_or(0)
}

#[test]
fn many_locks_are_shown_in_pages_and_found_by_name_and_an_idle_page_asks_for_next_to_nothing() {
    let directory = Directory::new();
    let Some((node, browser)) = open_page(&directory, &[]) else { return };
    let session = node.post("/v1/sessions", r#"{"ttl": "10m", "label": "many"}"#);
    let body = format!(r#"{{"session": {}}}"#, session["session"]);
    for number in 0..120 {
        node.post(&format!("/v1/locks/shard-{number:03}/acquire"), &body);
    }
    browser.sees("#locks .head", &["120"]);
    browser.sees("#locks", &["shard-000", "shard-024", "Next page"]);
    assert_eq!(browser.count("#locks tbody tr"), 25);
    browser.click("#locks .pages a:last-child");
    browser.sees("#locks", &["shard-025", "shard-049"]);
    // The search has the focus by a key, and its result is in the address.
    browser.press("/");
    browser.press("SHARD-11");
    browser.sees_that("#locks", "ten of them", |shown| shown.contains("10 found") && shown.contains("shard-119"));
    assert_eq!(browser.count("#locks tbody tr"), 10);
    browser.reload();
    browser.sees("#locks", &["10 found", "shard-110"]);
    browser.click("#locks .filter");
    browser.sees("#locks", &["has waiting sessions"]);
    // While nothing happens, the status is looked at now and then, and nothing else.
    eventually("rest", || {
        let (lists, looks) = (requests(&node, "listLocks"), requests(&node, "status"));
        eventually("two looks at the status", || {
            let now = requests(&node, "status");
            if now >= looks + 2 { Ok(()) } else { Err(now.to_string()) }
        });
        let now = requests(&node, "listLocks");
        if now == lists { Ok(()) } else { Err(format!("{} lists were asked for", now - lists)) }
    });
    assert_eq!(browser.complaints(), [""; 0]);
}
