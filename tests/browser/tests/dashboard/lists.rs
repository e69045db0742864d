//! Lists: their pages, their sums, what users have written in them, and how far one has to scroll.

use std::time::Duration;

use serde_json::Value;

use crate::open_page;
use crate::server::{Directory, Served};

fn many_locks(node: &Served, count: usize) {
    let session = node.post("/v1/sessions", r#"{"ttl": "10m", "label": "many"}"#);
    let body = format!(r#"{{"session": {}}}"#, session["session"]);
    for number in 0..count {
        node.post(&format!("/v1/locks/shard-{number:03}/acquire"), &body);
    }
}

#[test]
fn the_last_page_has_no_next_one_and_every_page_has_a_way_back() {
    let directory = Directory::new();
    let Some((node, browser)) = open_page(&directory, &[]) else { return };
    many_locks(&node, 75);
    browser.sees("#locks .head", &["75"]);
    browser.sees("#locks", &["shard-024", "Next page"]);
    for last in ["shard-049", "shard-074"] {
        browser.click("#locks .pages a:last-child");
        browser.sees("#locks", &[last, "Previous page"]);
    }
    let pages = browser.text("#locks .pages").unwrap();
    assert!(!pages.contains("Next page"), "there are 75, and this is the third page: {pages}");
    // Back by steps, from an address that somebody was sent.
    browser.reload();
    browser.click("#locks .pages a:last-child");
    browser.sees("#locks", &["shard-025", "shard-049", "Previous page", "Next page"]);
    browser.click("#locks .pages a:nth-child(2)");
    browser.sees_that("#locks", "the first page", |shown| shown.contains("shard-000") && !shown.contains("Previous"));
    assert_eq!(browser.count("#locks tbody tr"), 25);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn as_many_sessions_are_counted_as_are_listed_and_none_is_without_a_name() {
    let directory = Directory::new();
    let Some((node, browser)) = open_page(&directory, &[]) else { return };
    browser.sees("#sessions", &["No session is open"]);
    node.post("/v1/sessions", r#"{"ttl": "10m", "label": "one"}"#);
    node.post("/v1/sessions", r#"{"ttl": "10m", "label": ""}"#);
    browser.sees("#sessions tbody", &["one", "no label"]);
    assert_eq!(browser.text("#sessions .head").unwrap().split_whitespace().collect::<Vec<_>>(), ["Sessions", "2"]);
    for number in 0..30 {
        node.post("/v1/sessions", &format!(r#"{{"ttl": "10m", "label": "s{number}"}}"#));
    }
    browser.sees("#sessions .head", &["32"]);
}

#[test]
fn nobody_takes_the_name_of_somebody_else_by_letters_that_one_does_not_see() {
    let directory = Directory::new();
    let Some((node, browser)) = open_page(&directory, &[]) else { return };
    let _first = node.hold("back\u{200b}up", &["--label", "mallory\u{202e} ecila"]);
    browser.sees("#locks tbody", &["backU+200Bup", "malloryU+202E ecila"]);
    browser.sees("#sessions tbody", &["malloryU+202E ecila"]);
    browser.sees("#events", &["malloryU+202E ecila acquired backU+200Bup"]);
    let unseen = "return [document.title, document.body.innerText].some((text) => /\\p{Cf}/u.test(text));";
    assert_eq!(browser.find(unseen, &[]), Value::Bool(false));
    let isolated = "return [...document.querySelectorAll('.who, .name')].every((one) => \
                    getComputedStyle(one).unicodeBidi === 'isolate');";
    assert_eq!(browser.find(isolated, &[]), Value::Bool(true));
    browser.click("#locks tbody a.name");
    browser.sees("#subject h1", &["backU+200Bup"]);
    browser.sees("#holders", &["malloryU+202E ecila"]);
    assert_eq!(browser.find(unseen, &[]), Value::Bool(false));
}

#[test]
fn names_of_spaces_and_dots_are_shown_and_have_pages() {
    let directory = Directory::new();
    let Some((node, browser)) = open_page(&directory, &[]) else { return };
    for name in
        ["%20", "backup", "backup%20", "%20backup", "back%20up", "back%20%20up", "back%C2%A0up", "back%E3%80%80up"]
    {
        node.post(&format!("/v1/locks/{name}/acquire"), r#"{"ttl": "10m", "label": "a "}"#);
    }
    // What a browser takes for a step within a path is a name like others.
    let _step = node.hold("..", &["--label", "stepper"]);
    browser.sees("#locks .head", &["9"]);
    let names = "return [...document.querySelectorAll('#locks tbody a.name')].map((one) => one.innerText).join();";
    let shown = "U+0020,U+0020backup,..,backU+0020 U+0020up,back up,backup,backupU+0020,backU+00A0up,backU+3000up";
    assert_eq!(browser.find(names, &[]), Value::from(shown));
    browser.sees("#locks tbody", &["aU+0020"]);
    browser.click("#locks tbody a.name");
    browser.sees("#subject h1", &["U+0020"]);
    browser.sees("#holders", &["aU+0020"]);
    browser.open(&format!("{}#/lock/..", node.page()));
    browser.sees("#holders", &["stepper"]);
    browser.sees("#history", &["stepper acquired this"]);
    browser.sees("#subject .deed", &["run quorate release --force .."]);
    assert!(node.run(&["release", "--force", ".."]).is_success());
    browser.sees("#holders", &["No holder"]);
}

#[test]
fn nothing_gets_older_while_the_connection_is_lost() {
    let directory = Directory::new();
    let Some((mut node, browser)) = open_page(&directory, &[]) else { return };
    node.post("/v1/locks/kept/acquire", r#"{"ttl": "10m", "label": "somebody"}"#);
    browser.sees("#locks", &["kept", "somebody"]);
    node.process.kill();
    browser.sees("#connection", &["connection lost"]);
    let ages = "return [...document.querySelectorAll('[data-since], [data-until] time')].map((one) => one.innerText);";
    let before = browser.find(ages, &[]);
    assert!(before.as_array().is_some_and(|ages| ages.len() >= 2), "{before}");
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!(browser.find(ages, &[]), before, "it says that this is what was known then");
}

#[test]
fn on_a_telephone_members_and_events_are_near() {
    let directory = Directory::new();
    let Some((node, browser)) = open_page(&directory, &[]) else { return };
    many_locks(&node, 30);
    browser.dress((390, 844), "light");
    browser.reload();
    browser.sees("#locks", &["shard-007", "Next page"]);
    assert_eq!(browser.count("#locks tbody tr"), 8);
    browser.sees("#events", &["acquired shard-029"]);
    browser.sees("#members", &["leader"]);
    let top = |id: &str| {
        let script = "return document.querySelector(arguments[0]).getBoundingClientRect().top + scrollY;";
        browser.find(script, &[id]).as_f64().unwrap()
    };
    let [members, locks, events, sessions] = ["#members", "#locks", "#events", "#sessions"].map(top);
    assert!(members < locks && locks < events && events < sessions, "{members} {locks} {events} {sessions}");
    assert!(members < 844.0 && events < 3.0 * 844.0, "{members} {events}");
}
