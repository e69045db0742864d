//! What the page does when it hears nothing, when it is refused, and when nobody looks at it: it says so, tries again,
//! and shows what is true when it can.

use serde_json::Value;

use quorate_browser_tests::proxy::Proxy;

use crate::browser::{Browser, browser};
use crate::ANYWHERE;
use crate::server::{Directory, Served};

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
fn what_happened_while_the_connection_was_lost_is_between_before_and_after() {
    let directory = Directory::new();
    let Some((node, proxy, browser)) = open_page_by_proxy(&directory) else { return };
    // More than is shown, so that what comes below is not seen at all.
    for number in 0..45 {
        hold(&node, &format!("before-{number}"));
    }
    browser.sees("#events", &["got before-44"]);
    proxy.cut();
    browser.sees("#connection", &["connection lost"]);
    hold(&node, "meanwhile");
    proxy.mend();
    browser.sees("#connection", &["live"]);
    hold(&node, "after");
    browser.sees("#events", &["got after", "got meanwhile", "got before-44"]);
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
