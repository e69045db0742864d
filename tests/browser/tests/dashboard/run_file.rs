//! The file of a run, which a teacher sends to a class: it opens without a server, and needs nothing else.

use std::process::Command;

use quorate_browser_tests::browser::{Browser, browser};
use quorate_browser_tests::server::{Directory, draw, eventually, program};
use serde_json::Value;

use crate::pictures::take;

const DOWN: &str = "\u{e015}";
const END: &str = "\u{e010}";
const HOME: &str = "\u{e011}";
const LEFT: &str = "\u{e012}";
const RIGHT: &str = "\u{e014}";
const SHIFT: &str = "\u{e008}";

/// One after the other asks, so that no two arrows cross.
const CALM: [&str; 8] = ["sim", "ricart-agrawala", "-n", "2", "--workload", "alone", "--entries", "6"];

/// A browser that has the file of a run open; the part of the address says where in the run.
fn open(command: &[&str], part: &str) -> Option<(Directory, Browser)> {
    let (directory, browser) = (Directory::new(), browser()?);
    let file = draw(&directory, command);
    browser.dress((1440, 900), "light");
    browser.open(&format!("{file}{part}"));
    browser.sees(".q-time", &["/"]);
    Some((directory, browser))
}

/// Waits for a step to be shown, counted from 1.
fn at_step(browser: &Browser, step: u64) {
    let shown = format!("{step}/");
    browser.sees_that(".q-time", &shown, |text| text.starts_with(&shown));
}

fn number(browser: &Browser, script: &str) -> f64 {
    browser.find(script, &[]).as_f64().unwrap()
}

/// Drags the slider over all these steps, counted from 0, before the browser comes to draw any of them.
fn scrub(browser: &Browser, steps: &str) {
    let script = "const slider = document.querySelector('.q-bar input[type=range]'); \
                  for (const step of JSON.parse(arguments[0])) { slider.value = step; \
                  slider.dispatchEvent(new Event('input', { bubbles: true })); } return null;";
    browser.find(script, &[steps]);
}

/// Waits until the present moment is in sight, and tells where it is in the drawing.
fn present(browser: &Browser) -> f64 {
    let script = "const [now, stage, sheet] = ['.q-now', '.q-stage', '.q-sheet'] \
                  .map((part) => document.querySelector(part).getBoundingClientRect()); \
                  return now.left >= stage.left && now.right <= stage.right ? now.left - sheet.left : null;";
    eventually("that the present moment is in sight", || {
        browser.find(script, &[]).as_f64().ok_or_else(|| "it is not".to_string())
    })
}

/// Scrolls the drawing along both axes, and waits until each name is beside its line.
pub(crate) fn names_lie_on_their_lines(browser: &Browser, is_down: bool) {
    let scroll = "const stage = document.querySelector('.q-stage'); stage.scrollTo(1e6, 1e6); \
                  return Math.min(stage.scrollLeft, stage.scrollTop);";
    let farthest = "const [side, length] = arguments[0] === 'true' ? ['left', 'width'] : ['top', 'height']; \
                    const middle = (part) => { const box = part.getBoundingClientRect(); \
                    return box[side] + box[length] / 2; }; \
                    const lines = [...document.querySelectorAll('.q-sheet path.line')].map(middle); \
                    const names = [...document.querySelectorAll('.q-names b')]; \
                    const isSeen = names.every((name) => name.checkVisibility({ visibilityProperty: true })); \
                    return isSeen && names.length === lines.length \
                    ? Math.max(...names.map((name, line) => Math.abs(middle(name) - lines[line]))) : null;";
    assert!(number(browser, scroll) > 50.0, "it is too small to be scrolled both ways");
    eventually("that each name is beside its line", || {
        let far = browser.find(farthest, &[&is_down.to_string()]).as_f64();
        if far.is_some_and(|far| far < 2.0) { Ok(()) } else { Err(format!("{far:?} pixels away")) }
    });
}

#[test]
fn names_are_beside_their_lines_however_the_drawing_is_scrolled() {
    let (directory, Some(browser)) = (Directory::new(), browser()) else { return };
    for (more, is_down) in [(None, false), (Some("--down"), true)] {
        let wide = ["sim", "ricart-agrawala", "-n", "24", "--entries", "2", "--delay", "uniform:0.5..1.5"];
        let command: Vec<&str> = wide.into_iter().chain(more).collect();
        browser.dress((900, 700), "light");
        browser.open(&draw(&directory, &command));
        at_step(&browser, 1);
        names_lie_on_their_lines(&browser, is_down);
        assert_eq!(browser.complaints(), [""; 0]);
    }
}

#[test]
fn it_is_stepped_through_by_keys_and_needs_nothing_from_elsewhere() {
    let Some((_directory, browser)) = open(&CALM, "") else { return };
    at_step(&browser, 1);
    let last = number(&browser, "return Number(document.querySelector('.q-bar input[type=range]').max) + 1;") as u64;
    browser.press(RIGHT);
    browser.press(RIGHT);
    at_step(&browser, 3);
    browser.press(LEFT);
    at_step(&browser, 2);
    browser.press(END);
    at_step(&browser, last);
    browser.press(HOME);
    at_step(&browser, 1);
    browser.press(&format!("{SHIFT}{RIGHT}"));
    browser.sees(".q-lines", &["ENTERS"]);
    take(&browser, "run-file");
    let fetched = "return performance.getEntriesByType('resource').map((one) => one.name) \
                   .filter((name) => !name.startsWith('data:'));";
    assert_eq!(browser.find(fetched, &[]), Value::Array(vec![]));
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn up_and_down_are_for_runs_that_go_downwards_and_the_help_says_so() {
    for (more, expected, help) in [(None, 1, "when the drawing has the focus"), (Some("--down"), 2, "the same")] {
        let command: Vec<&str> = CALM.into_iter().chain(more).collect();
        let Some((_directory, browser)) = open(&command, "") else { return };
        browser.press(DOWN);
        at_step(&browser, expected);
        browser.press("?");
        browser.sees(".q-help", &["next step", help]);
        browser.click(".q-help button");
        browser.find("document.querySelector('.q-stage').focus(); return null;", &[]);
        browser.press(DOWN);
        at_step(&browser, expected + 1);
        // The slider has keys of its own, and the others are as they are elsewhere.
        browser.find("document.querySelector('.q-bar input').focus(); return null;", &[]);
        browser.press(RIGHT);
        at_step(&browser, expected + 2);
        browser.press(HOME);
        at_step(&browser, 1);
        browser.press(&format!("{SHIFT}{RIGHT}"));
        browser.sees(".q-lines", &["ENTERS"]);
        assert_eq!(browser.complaints(), [""; 0]);
    }
}

#[test]
fn a_link_leads_to_a_step_and_the_address_follows() {
    let Some((_directory, browser)) = open(&CALM, "#step=4") else { return };
    at_step(&browser, 4);
    browser.press(RIGHT);
    eventually("the address of the fifth step", || {
        let address = browser.find("return location.hash;", &[]);
        if address == "#step=5" { Ok(()) } else { Err(address.to_string()) }
    });
    browser.find("location.hash = '#step=2'; return null;", &[]);
    at_step(&browser, 2);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_click_on_an_arrow_goes_to_its_sending_and_another_to_its_arrival() {
    let Some((_directory, browser)) = open(&CALM, "") else { return };
    let script = "const box = document.querySelectorAll('.q-sheet path.arrow')[1].getBoundingClientRect(); \
                  return [box.left + box.width / 2, box.top + box.height / 2];";
    let middle = browser.find(script, &[]);
    let middle = (middle[0].as_f64().unwrap(), middle[1].as_f64().unwrap());
    browser.click_at(middle);
    browser.sees(".q-lines", &["p1 sends reply(1) to p2"]);
    browser.click_at(middle);
    browser.sees(".q-lines", &["p2 receives reply(1) from p1"]);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_long_run_is_scrubbed_through_and_its_present_stays_in_sight() {
    let long = ["sim", "ricart-agrawala", "-n", "5", "--entries", "60", "--delay", "uniform:0.5..1.5"];
    let Some((directory, browser)) = open(&long, "") else { return };
    let file = std::fs::read_to_string(directory.path().join("run.html")).unwrap();
    let arrows = file.matches(r#"<path class="arrow"#).count() as u64;
    assert!(arrows > 400 && browser.count(".q-sheet path.arrow") == arrows, "{arrows} arrows are in the file");
    let first = present(&browser);
    scrub(&browser, "[100, 400, 300]");
    at_step(&browser, 301);
    let second = eventually("that the drawing has moved", || {
        let present = present(&browser);
        if present > first { Ok(present) } else { Err(present.to_string()) }
    });
    scrub(&browser, "[500, 20]");
    at_step(&browser, 21);
    eventually("that the drawing has moved back", || {
        let present = present(&browser);
        if present > first && present < second { Ok(()) } else { Err(present.to_string()) }
    });
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_counterexample_shows_what_it_breaks() {
    let Some((_directory, browser)) = open(&["check", "maekawa", "-n", "3"], "") else { return };
    let broken = "p1, p2, p3 wait, and nothing more happens";
    let flag = "const flag = document.querySelector('.q-sheet text.flagged'); \
                return flag.checkVisibility() ? flag.textContent : null;";
    assert_eq!(browser.find(flag, &[]), broken);
    assert_eq!(browser.text(".q-lines .q-alarm"), None);
    browser.press(END);
    browser.sees(".q-lines .q-alarm", &[broken]);
    take(&browser, "run-file-counterexample");
    assert_eq!(browser.complaints(), [""; 0]);
}

/// What is measured is read on a telephone, too: a figure is scrolled there rather than made too small to read.
#[test]
fn figures_of_a_comparison_can_be_read_where_there_is_little_room() {
    let (directory, Some(browser)) = (Directory::new(), browser()) else { return };
    let file = directory.path().join("comparison.html");
    let arguments = ["compare", "central", "-n", "3,5", "--html"];
    let made = Command::new(program()).args(arguments).arg(&file).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    browser.dress((390, 800), "light");
    browser.open(&format!("file://{}", file.display()));
    let heights = "return Math.min(...[...document.querySelectorAll('.plot text')] \
                   .map((text) => text.getBoundingClientRect().height));";
    assert!(number(&browser, heights) >= 8.0, "{} pixels high", number(&browser, heights));
    let scrolled = "const place = document.querySelector('.drawing'); place.scrollLeft = 200; \
                    return document.documentElement.scrollWidth <= innerWidth ? place.scrollLeft : 0;";
    assert!(number(&browser, scrolled) > 100.0, "the figure is scrolled, and the page is not");
    assert_eq!(browser.complaints(), [""; 0]);
}
