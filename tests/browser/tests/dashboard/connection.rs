//! What the page does when it hears nothing, when it is refused, and when nobody looks at it: it says so, tries again,
//! and shows what is true when it can.

use serde_json::Value;

use quorate_browser_tests::proxy::Proxy;

use crate::browser::{Browser, browser};
use crate::server::{self, Directory, Served, eventually, request};
use crate::{ANYWHERE, open_page};

/// A node, a way to it, and a browser that has its page open that way.
fn open_page_by_proxy(directory: &Directory) -> Option<(Served, Proxy, Browser)> {
    let browser = browser()?;
    let node = Served::start(directory.path(), ANYWHERE, &[]);
    let proxy = Proxy::new(&node.address);
    browser.open(&proxy.page());
    browser.sees("#connection", &["live"]);
    Some((node, proxy, browser))
}

fn hold(node: &Served, name: &str) {
    node.post(&format!("/v1/locks/{name}/acquire"), r#"{"ttl": "10m", "label": "somebody"}"#);
}

#[test]
fn when_a_majority_returns_everything_is_shown_again() {
    let (directory, Some(browser)) = (Directory::new(), browser()) else { return };
    let addresses = server::addresses();
    let members: Vec<_> = (1..).zip(&addresses).map(|(node, address)| format!("{node}={address}")).collect();
    let start = |number: usize| {
        let id = number.to_string();
        let mut options = vec!["--node", &id];
        options.extend(members.iter().flat_map(|member| ["--member", member]));
        Served::start(&directory.path().join(&id), &addresses[number - 1], &options)
    };
    let mut nodes = [1, 2, 3].map(start);
    eventually("a leader", || match request(&nodes[0].address, "GET", "/readyz", "", "").0 {
        200 => Ok(()),
        status => Err(status.to_string()),
    });
    hold(&nodes[0], "kept");
    nodes[1].process.kill();
    nodes[2].process.kill();
    browser.open(&format!("{}#/lock/kept", nodes[0].page()));
    browser.sees("#banner", &["Reading failed: no majority of the members answers"]);
    browser.sees("#connection", &["out of date"]);
    browser.sees("#subject", &["kept", "Its holder is unknown: no majority"]);
    let _back = [2, 3].map(start);
    browser.sees("#holders", &["somebody"]);
    browser.sees_that("#banner", "nothing", str::is_empty);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn requests_that_are_lost_on_the_way_stop_nothing() {
    let directory = Directory::new();
    let Some((node, proxy, browser)) = open_page_by_proxy(&directory) else { return };
    hold(&node, "before");
    browser.sees("#locks", &["before"]);
    proxy.lose_requests();
    hold(&node, "meanwhile");
    eventually("that a request is lost", || if proxy.has_lost() { Ok(()) } else { Err("none was".into()) });
    proxy.hang_up_others();
    browser.sees("#banner", &["The connection was restored at"]);
    browser.sees("#locks", &["before", "meanwhile"]);
    hold(&node, "after");
    browser.sees("#locks", &["before", "meanwhile", "after"]);
}

#[test]
fn that_nothing_was_heard_is_said_in_words() {
    let directory = Directory::new();
    let Some((node, browser)) = open_page(&directory, &[]) else { return };
    // Time is short, and all that the banner ever says is kept.
    let hurry = "const real = window.setTimeout; window.said = []; \
                 window.setTimeout = (what, ms) => real(what, ms === 40_000 ? 50 : ms); \
                 new MutationObserver(() => window.said.push(document.querySelector('#banner').innerText)) \
                 .observe(document.querySelector('#banner'), { childList: true, subtree: true, characterData: true });";
    browser.find(hurry, &[]);
    hold(&node, "a");
    eventually("a word of it", || {
        let said = browser.find("return window.said.join();", &[]);
        let is_said = said.as_str().is_some_and(|said| said.contains("(nothing received for 40 s)"));
        if is_said { Ok(()) } else { Err(said.to_string()) }
    });
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn many_tabs_of_a_node_are_all_live_when_one_looks_at_them() {
    let directory = Directory::new();
    let Some((node, browser)) = open_page(&directory, &[]) else { return };
    let first = browser.tab();
    for _ in 0..6 {
        browser.open_tab();
        browser.open(&node.page());
        browser.sees("#connection", &["live"]);
    }
    hold(&node, "kept");
    browser.sees("#locks", &["kept"]);
    // What nobody sees is not told to anybody, and is known at once by who looks.
    browser.switch_to(&first);
    browser.sees("#connection", &["live"]);
    browser.sees("#locks", &["kept"]);
    browser.sees("#events", &["somebody acquired kept"]);
}

#[test]
fn what_happened_while_the_connection_was_lost_is_between_before_and_after() {
    let directory = Directory::new();
    let Some((node, proxy, browser)) = open_page_by_proxy(&directory) else { return };
    // More than is shown, so that what comes below is not seen at all.
    for number in 0..45 {
        hold(&node, &format!("before-{number}"));
    }
    browser.sees("#events", &["acquired before-44"]);
    proxy.cut();
    browser.sees("#connection", &["connection lost"]);
    hold(&node, "meanwhile");
    proxy.mend();
    browser.sees("#connection", &["live"]);
    hold(&node, "after");
    browser.sees("#events", &["acquired after", "acquired meanwhile", "acquired before-44"]);
    let got = "return [...document.querySelectorAll('#events .event .name')].map((one) => one.innerText).slice(0, 3);";
    assert_eq!(browser.find(got, &[]), Value::from(vec!["after", "meanwhile", "before-44"]));
    // Each once, and all that happened by one entry: the session came, and got it.
    let twice = "const keys = [...document.querySelectorAll('#events .event')].map((one) => one.dataset.key); \
                 return keys.length - new Set(keys).size;";
    assert_eq!(browser.find(twice, &[]), Value::from(0));
    let came = "return [...document.querySelectorAll('#events .event')].slice(0, 5).map((one) => \
                one.querySelector('.badge').textContent);";
    let expected = ["granted", "opened", "granted", "opened", "granted"];
    assert_eq!(browser.find(came, &[]), Value::from(expected.to_vec()));
}
