//! Force takes a lock from whoever the dialog names, and from nobody else.

use serde_json::Value;

use crate::server::{Directory, Served};
use crate::{Browser, open_page};

/// Somebody who has the lock `a`, by the number of its session.
fn holder(node: &Served, label: &str) -> Value {
    node.post("/v1/locks/a/acquire", &format!(r#"{{"ttl": "10m", "label": "{label}"}}"#))["session"].clone()
}

fn gives_back(node: &Served, session: &Value) {
    node.post("/v1/locks/a/release", &format!(r#"{{"session": {session}}}"#));
}

/// A lock that alice has, and the dialog that would take it from her.
fn asked(directory: &Directory) -> Option<(Served, Browser, Value)> {
    let (node, browser) = open_page(directory, &[])?;
    let alice = holder(&node, "alice");
    browser.open(&format!("{}#/lock/a", node.page()));
    browser.click("#force");
    browser.sees("#force-what", &["a is taken away from alice"]);
    browser.fill("#force-by", "dora");
    Some((node, browser, alice))
}

#[test]
fn the_dialog_says_that_the_lock_has_changed_hands_and_leaves_time_to_look_again() {
    let directory = Directory::new();
    let Some((node, browser, alice)) = asked(&directory) else { return };
    // For each time that it can be confirmed again: how long ago the dialog has changed, by the page's own clock.
    let watch = "window.waits = []; let changed = 0, was = false; \
                 const [what, confirm] = ['#force-what', '#force-confirm'].map((id) => document.querySelector(id)); \
                 new MutationObserver(() => { changed = performance.now(); }) \
                 .observe(what, { childList: true, subtree: true, characterData: true }); \
                 new MutationObserver(() => { if (was && !confirm.disabled) waits.push(performance.now() - changed); \
                 was = confirm.disabled; }).observe(confirm, { attributes: true });";
    browser.find(watch, &[]);
    gives_back(&node, &alice);
    browser.sees("#force-why", &["It has no holder any more"]);
    let bob = holder(&node, "bob");
    browser.sees("#force-what", &["a is taken away from bob"]);
    browser.sees("#force-why", &["The holder has changed meanwhile: check it again"]);
    gives_back(&node, &bob);
    holder(&node, "carol");
    browser.sees("#force-what", &["a is taken away from carol"]);
    let waits = crate::eventually("that it can be confirmed", || {
        match browser.find("return document.querySelector('#force-confirm').disabled ? [] : waits;", &[]) {
            Value::Array(waits) if !waits.is_empty() => Ok(waits),
            other => Err(other.to_string()),
        }
    });
    assert!(waits.iter().all(|wait| wait.as_f64().is_some_and(|wait| wait > 1_900.0)), "{waits:?}");
    browser.click("#force-confirm");
    browser.sees("#history", &["carol lost this lock", "by dora"]);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn who_confirms_what_is_no_longer_true_takes_it_from_nobody() {
    let directory = Directory::new();
    let Some((node, browser, alice)) = asked(&directory) else { return };
    // The page hears of nothing any more, as over a slow network.
    let deaf = "const real = window.fetch; window.fetch = (path, options) => \
                options?.method === 'POST' ? real(path, options) : new Promise(() => {}); return null;";
    browser.find(deaf, &[]);
    gives_back(&node, &alice);
    holder(&node, "bob");
    browser.click("#force-confirm");
    browser.sees("#force-why", &["nothing was released: check the holder again"]);
    assert_eq!(node.get("/v1/locks/a")["holders"][0]["label"], "bob");
}
