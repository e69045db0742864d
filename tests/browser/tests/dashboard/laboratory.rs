//! The laboratory's page: run, scrub, interfere, check, read a claim, and send somebody a link to it.

use serde_json::Value;

use crate::browser::{Browser, browser};
use crate::pictures::take;
use crate::server::{Laboratory, eventually};

const RIGHT: &str = "\u{e014}";

fn open(path: &str) -> Option<(Laboratory, Browser)> {
    let browser = browser()?;
    let laboratory = Laboratory::start();
    browser.dress((1440, 900), "light");
    browser.open(&laboratory.at(path));
    Some((laboratory, browser))
}

fn link(browser: &Browser) -> String {
    browser.find("return location.href;", &[]).as_str().unwrap().to_string()
}

/// Waits for an address that says this.
fn leads_to(browser: &Browser, part: &str) -> String {
    eventually(&format!("an address with {part}"), || {
        let link = link(browser);
        if link.contains(part) { Ok(link) } else { Err(link) }
    })
}

/// Goes to the first step in whose words this is, as one does by scrubbing.
fn scrub_to(browser: &Browser, step: u32) {
    let script = "const slider = document.querySelector('.q-bar input[type=range]'); slider.value = arguments[0]; \
                  slider.dispatchEvent(new Event('input')); return null;";
    browser.find(script, &[&step.to_string()]);
}

/// The verdict on one property, as the page shows it.
fn verdict(browser: &Browser, property: &str) -> String {
    let script = "const rows = [...document.querySelectorAll('#verdicts tr')]; \
                  const row = rows.find((row) => row.cells[0].innerText.split('\\n')[0].trim() === arguments[0]); \
                  return row ? row.cells[1].innerText.trim() : null;";
    eventually(&format!("a verdict on {property}"), || {
        let found = browser.find(script, &[property]);
        found.as_str().map(String::from).ok_or_else(|| browser.text("#verdicts").unwrap_or_default())
    })
}

#[test]
fn a_run_is_chosen_stepped_through_and_shared_by_its_link() {
    let Some((_laboratory, browser)) = open("/") else { return };
    browser.sees(".q-time", &["1/"]);
    browser.sees("#verdicts", &["mutual-exclusion", "held"]);
    let script = "const select = document.querySelector('#algorithm'); select.value = 'ricart-agrawala'; \
                  select.dispatchEvent(new Event('change')); return null;";
    browser.find(script, &[]);
    browser.fill("#field-n", "3");
    browser.fill("#field-workload", "alone");
    browser.click("#controls button[type=submit]");
    leads_to(&browser, "algorithm=ricart-agrawala");
    browser.sees("#command", &["quorate sim ricart-agrawala -n 3"]);
    browser.sees("#findings", &["messages, alone", "2(N"]);
    browser.find("document.activeElement.blur(); return null;", &[]);
    browser.press(RIGHT);
    browser.press(RIGHT);
    browser.sees(".q-time", &["3/"]);
    let shared = leads_to(&browser, "#step=3");
    browser.sees("#variables", &["before and after this step", "RicartAgrawala"]);
    let seen = browser.text(".q-lines").unwrap();
    browser.open("about:blank");
    browser.open(&shared);
    browser.sees(".q-time", &["3/"]);
    browser.sees("#command", &["quorate sim ricart-agrawala -n 3"]);
    browser.sees(".q-lines", &[&seen]);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_process_is_crashed_by_a_click_and_the_others_recover() {
    let Some((_laboratory, browser)) = open("/?algorithm=central&n=4&entries=12&recovery=1") else { return };
    browser.sees(".q-time", &["1/"]);
    scrub_to(&browser, 12);
    browser.sees(".q-time", &["13/"]);
    let before = browser.text(".q-lines").unwrap();
    browser.click(".q-card:first-child");
    browser.click("#do-crash");
    let crashed = leads_to(&browser, "crash=1%40");
    browser.sees("#faults", &["crash 1@"]);
    // Up to there it is the same run.
    eventually("the run up to the crash", || {
        scrub_to(&browser, 12);
        let now = browser.text(".q-lines").unwrap_or_default();
        if now == before { Ok(()) } else { Err(now) }
    });
    let has = "return [...document.querySelectorAll('.q-sheet text')].some((text) => /CRASH/i.test(text.textContent));";
    assert_eq!(browser.find(has, &[]), true, "{crashed}");
    for property in ["mutual-exclusion", "progress"] {
        assert_eq!(verdict(&browser, property), "held", "{crashed}");
    }
    scrub_to(&browser, 60);
    take(&browser, "crashed");
    browser.dress((1440, 900), "light");
    browser.click("#faults button");
    eventually("the crash undone", || if link(&browser).contains("crash=") { Err(link(&browser)) } else { Ok(()) });
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn the_checker_finds_maekawas_deadlock_and_it_is_opened() {
    let Some((_laboratory, browser)) = open("/check?algorithm=maekawa&n=3") else { return };
    browser.sees("#findings", &["deadlock-freedom", "violated"]);
    browser.click("[data-goal=deadlock-freedom]");
    browser.sees("#views", &["A run that breaks deadlock-freedom"]);
    browser.sees(".q-time", &["1/"]);
    let shared = leads_to(&browser, "goal=deadlock-freedom");
    take(&browser, "check");
    browser.open("about:blank");
    browser.open(&shared);
    browser.sees("#views", &["A run that breaks deadlock-freedom"]);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_claim_opens_its_evidence() {
    let Some((laboratory, browser)) = open("/claims") else { return };
    browser.sees("#claims", &["P6.liveness", "Granting requests in the order"]);
    browser.click("[id='P6.liveness'] summary");
    browser.sees("[id='P6.liveness']", &["holds only if", "there is no deadlock", "quorate check maekawa"]);
    assert_eq!(browser.count("[id='P6.liveness'] .q-sheet svg"), 2, "the drawing, and what is marked on it");
    take(&browser, "claims");
    browser.open("about:blank");
    browser.open(&laboratory.at("/claims#P6.liveness"));
    browser.sees("[id='P6.liveness']", &["holds only if"]);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn two_algorithms_run_side_by_side_on_the_same_workload() {
    let path = "/?algorithm=lamport&beside=ricart-agrawala&n=4&entries=8&delay=uniform:0.5..1.5&seed=3";
    let Some((_laboratory, browser)) = open(path) else { return };
    browser.sees("#views", &["lamport", "ricart-agrawala"]);
    browser.sees("#findings", &["Verdicts of lamport", "Verdicts of ricart-agrawala"]);
    scrub_to(&browser, 30);
    let times = "return [...document.querySelectorAll('.q-time')].map((time) => \
                 parseFloat(time.textContent.split('·')[1]));";
    let Value::Array(times) = browser.find(times, &[]) else { panic!("there are two") };
    let [first, second] = [&times[0], &times[1]].map(|time| time.as_f64().unwrap());
    assert!(second <= first && first > 0.0, "the second is where the first is: {first} and {second}");
    scrub_to(&browser, 0);
    let places = "return [...document.querySelectorAll('.q-time')].map((time) => \
                  time.textContent.split('/')[0].trim());";
    assert_eq!(browser.find(places, &[]), serde_json::json!(["1", "1"]), "both begin at the beginning");
    take(&browser, "two");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn what_is_refused_is_said_and_the_page_goes_on() {
    let Some((_laboratory, browser)) = open("/?algorithm=central&delay=later") else { return };
    browser.sees("#problem", &["`later` is not a delay"]);
    browser.fill("#field-delay", "constant:1");
    browser.click("#controls button[type=submit]");
    browser.sees(".q-time", &["1/"]);
    assert_eq!(browser.text("#problem"), None);
    take(&browser, "laboratory");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn what_is_refused_is_not_kept_and_the_next_thing_can_be_done() {
    let Some((_laboratory, browser)) = open("/?algorithm=central&n=3&entries=6&recovery=1") else { return };
    browser.sees(".q-time", &["1/"]);
    scrub_to(&browser, 5);
    let before = link(&browser);
    browser.click("#do-restart");
    browser.sees("#problem", &["restart"]);
    assert_eq!(link(&browser).split('#').next(), before.split('#').next(), "it was refused, and so it is not kept");
    browser.click("#do-crash");
    leads_to(&browser, "crash=1%40");
    browser.sees("#faults", &["crash 1@"]);
    assert_eq!(browser.text("#problem"), None);
    // What has nothing to end says so.
    for (button, words) in [("#do-heal", "The network is not cut here"), ("#do-resume", "p1 is not paused here")] {
        browser.click(button);
        browser.sees("#problem", &[words, "there is nothing to end"]);
    }
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn whatever_an_address_says_can_be_changed_or_taken_back_on_the_page() {
    let Some((laboratory, browser)) = open("/?algorithm=ricart-agrawala&ask=2@0&n=3") else { return };
    browser.sees(".q-time", &["1/"]);
    // What is for mutual exclusion goes away with it.
    let choose = "const select = document.querySelector('#algorithm'); select.value = arguments[0]; \
                  select.dispatchEvent(new Event('change')); return null;";
    browser.find(choose, &["bully"]);
    browser.fill("#field-starter", "1,2");
    browser.click("#controls button[type=submit]");
    let elected = leads_to(&browser, "starter=1%2C2");
    assert!(!elected.contains("ask="), "{elected}");
    browser.sees("#command", &["quorate sim bully", "--starter 1@0,2@0"]);
    // What goes against what one does has a field, or something to take it back by.
    browser.open(&laboratory.at("/?algorithm=central&n=3&shake=2&shaking=crashes&recovery=1"));
    browser.sees("#faults", &["shaking crashes"]);
    browser.click("#do-crash");
    browser.sees("#problem", &["--shake"]);
    assert!(!link(&browser).contains("crash="), "{}", link(&browser));
    browser.click("#faults button");
    browser.sees_that("#problem", "nothing", |shown| shown.is_empty());
    browser.click("#more summary");
    browser.fill("#field-shake", "");
    browser.click("#do-crash");
    leads_to(&browser, "crash=1%40");
    // A link that is refused can be mended, too.
    browser.open(&laboratory.at("/?algorithm=central&n=3&crash=9@1&clock=1=7"));
    browser.sees("#problem", &["there are processes 1 to 3"]);
    browser.sees("#faults", &["crash 9@1", "clock 1=7"]);
    browser.click("#faults [aria-label='Undo crash 9@1']");
    browser.sees(".q-time", &["1/"]);
    browser.sees_that("#faults", "the clock alone", |shown| shown.contains("clock 1=7") && !shown.contains("crash"));
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn of_the_variables_one_sees_what_changes_and_all_on_demand() {
    let Some((_laboratory, browser)) = open("/?algorithm=ricart-agrawala&n=5&recovery=1&entries=10") else { return };
    browser.sees(".q-time", &["1/"]);
    scrub_to(&browser, 30);
    let folded = browser.sees("#variables", &["before and after this step", "more", "Show all"]);
    assert!(browser.count("#variables mark") > 0, "{folded}");
    assert!(folded.lines().count() < 120, "it is a wall: {folded}");
    browser.click("#whole");
    let whole = browser.sees("#variables", &["Only what changes"]);
    assert!(whole.lines().count() > folded.lines().count(), "{whole}");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn claims_have_verdicts_at_once_and_to_judge_all_can_be_stopped() {
    let Some((_laboratory, browser)) = open("/claims") else { return };
    browser.sees("#progress", &[" hold, ", "refuted", "the verdicts of this release"]);
    browser.sees("[id='P6.liveness'] .verdict", &["holds only if"]);
    assert_eq!(browser.count(".claim"), browser.count(".claim .verdict .badge"));
    browser.click("#all");
    browser.sees("#progress", &["judged"]);
    browser.click("#all");
    browser.sees("#progress", &["stopped after"]);
    browser.sees("#all", &["Judge all"]);
    assert_eq!(browser.count(".claim"), browser.count(".claim .verdict .badge"), "none has lost its verdict");
    assert_eq!(browser.complaints(), [""; 0]);
}
