//! The laboratory's page: run, scrub, interfere, check, read a claim, and send somebody a link to it.

use serde_json::Value;

use crate::browser::{Browser, browser};
use crate::pictures::take;
use crate::run_file::names_lie_on_their_lines;
use crate::server::{Laboratory, eventually};

const DOWN: &str = "\u{e015}";
const END: &str = "\u{e010}";
const ENTER: &str = "\u{e007}";
pub(crate) const RIGHT: &str = "\u{e014}";

pub(crate) fn open(path: &str) -> Option<(Laboratory, Browser)> {
    let browser = browser()?;
    let laboratory = Laboratory::start();
    browser.dress((1440, 900), "light");
    browser.open(&laboratory.at(path));
    Some((laboratory, browser))
}

pub(crate) fn link(browser: &Browser) -> String {
    browser.find("return location.href;", &[]).as_str().unwrap().to_string()
}

/// Waits for an address that says this.
pub(crate) fn leads_to(browser: &Browser, part: &str) -> String {
    eventually(&format!("an address with {part}"), || {
        let link = link(browser);
        if link.contains(part) { Ok(link) } else { Err(link) }
    })
}

/// Goes to the first step in whose words this is, as one does by scrubbing.
pub(crate) fn scrub_to(browser: &Browser, step: u32) {
    let script = "const slider = document.querySelector('.q-bar input[type=range]'); slider.value = arguments[0]; \
                  slider.dispatchEvent(new Event('input')); return null;";
    browser.find(script, &[&step.to_string()]);
}

/// Chooses an algorithm, and does not run it yet.
fn choose(browser: &Browser, algorithm: &str) {
    let script = "const select = document.querySelector('#algorithm'); select.value = arguments[0]; \
                  select.dispatchEvent(new Event('change')); return null;";
    browser.find(script, &[algorithm]);
}

/// Waits for the variables at the step that is shown, which come a moment after it.
fn sees_variables(browser: &Browser, texts: &[&str]) -> String {
    browser.sees("#variables[aria-busy=false]", texts)
}

fn focus(browser: &Browser, selector: &str) {
    browser.find("document.querySelector(arguments[0]).focus(); return null;", &[selector]);
}

/// Something, or something in it, still has the focus.
fn keeps_focus(browser: &Browser, selector: &str) {
    let script = "const held = document.activeElement; return held.closest(arguments[0]) ? '' : held.outerHTML;";
    let held = browser.find(script, &[selector]);
    assert_eq!(held, "", "{selector} has lost the focus");
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
    choose(&browser, "ricart-agrawala");
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
fn names_are_beside_their_lines_however_the_drawing_is_scrolled() {
    let Some((laboratory, browser)) = open("/") else { return };
    browser.dress((900, 700), "light");
    for (more, is_down) in [("", false), ("&down=1", true)] {
        browser
            .open(&laboratory.at(&format!("/?algorithm=ricart-agrawala&n=24&entries=2&delay=uniform:0.5..1.5{more}")));
        browser.sees(".q-time", &["1/"]);
        names_lie_on_their_lines(&browser, is_down);
    }
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
    sees_variables(&browser, &["The variables of"]);
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
    browser.sees("#views", &["Counterexample to deadlock-freedom"]);
    browser.sees(".q-time", &["1/"]);
    let shared = leads_to(&browser, "goal=deadlock-freedom");
    take(&browser, "check");
    browser.open("about:blank");
    browser.open(&shared);
    browser.sees("#views", &["Counterexample to deadlock-freedom"]);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_claim_opens_its_evidence() {
    let Some((laboratory, browser)) = open("/claims") else { return };
    browser.sees("#claims", &["P6.liveness", "Granting requests in happened-before order"]);
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
    sees_variables(&browser, &["The variables of"]);
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
    sees_variables(&browser, &["The variables of"]);
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
    let Some((laboratory, browser)) = open("/?algorithm=ricart-agrawala&ask=2@0&n=3&recovery=1") else { return };
    browser.sees(".q-time", &["1/"]);
    // What is for mutual exclusion goes away with it, as the recovery of what is simulated does.
    choose(&browser, "bully");
    browser.fill("#field-starter", "1,2");
    browser.click("#controls button[type=submit]");
    let elected = leads_to(&browser, "starter=1%2C2");
    assert!(!elected.contains("ask=") && !elected.contains("recovery="), "{elected}");
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
    // The run on screen is shaken until there is another.
    browser.click("#do-crash");
    browser.sees("#problem", &["--shake"]);
    browser.click("#controls button[type=submit]");
    eventually("a run that is not shaken", || {
        if link(&browser).contains("shake=") { Err(link(&browser)) } else { Ok(()) }
    });
    browser.click("#do-crash");
    leads_to(&browser, "crash=1%40");
    // A link that is refused can be mended, too.
    browser.open(&laboratory.at("/?algorithm=central&n=3&crash=9@1&initial-clock=1=7"));
    browser.sees("#problem", &["process ids are 1 to 3"]);
    browser.sees("#faults", &["crash 9@1", "initial-clock 1=7"]);
    browser.click("#faults [aria-label='Undo crash 9@1']");
    browser.sees(".q-time", &["1/"]);
    let is_clock_alone = |shown: &str| shown.contains("initial-clock 1=7") && !shown.contains("crash");
    browser.sees_that("#faults", "the clock alone", is_clock_alone);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn what_is_chosen_and_not_run_is_not_part_of_the_run_on_screen() {
    let Some((_laboratory, browser)) = open("/?algorithm=ricart-agrawala&n=3&entries=6") else { return };
    browser.sees(".q-time", &["1/"]);
    choose(&browser, "lamport");
    browser.find("document.activeElement.blur(); return null;", &[]);
    browser.press(RIGHT);
    browser.sees(".q-time", &["2/"]);
    sees_variables(&browser, &["RicartAgrawala {"]);
    browser.click("#do-crash");
    let crashed = leads_to(&browser, "crash=1%40");
    assert!(crashed.contains("algorithm=ricart-agrawala"), "{crashed}");
    browser.sees("#command", &["quorate sim ricart-agrawala"]);
    sees_variables(&browser, &["RicartAgrawala {"]);
    browser.click("#faults button");
    eventually("the crash undone", || if link(&browser).contains("crash=") { Err(link(&browser)) } else { Ok(()) });
    let undone = link(&browser);
    assert!(undone.contains("algorithm=ricart-agrawala"), "{undone}");
    // To run it is to mean it.
    browser.click("#controls button[type=submit]");
    leads_to(&browser, "algorithm=lamport");
    sees_variables(&browser, &["Lamport {"]);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_way_back_to_what_is_refused_leads_to_what_can_be_mended() {
    let Some((_laboratory, browser)) = open("/?algorithm=central&n=3&crash=9@1") else { return };
    browser.sees("#faults", &["crash 9@1"]);
    browser.click("#faults button");
    browser.sees(".q-time", &["1/"]);
    browser.find("history.back(); return null;", &[]);
    browser.sees("#problem", &["process ids are 1 to 3"]);
    browser.sees("#faults", &["crash 9@1"]);
    assert_eq!(browser.count(".q-stage"), 0, "there is no such run");
    browser.find("history.forward(); return null;", &[]);
    browser.sees(".q-time", &["1/"]);
    assert_eq!(browser.text("#problem"), None);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn whoever_works_by_keys_keeps_the_focus() {
    let Some((_laboratory, browser)) = open("/?algorithm=central&n=4&entries=12&recovery=1") else { return };
    browser.sees(".q-time", &["1/"]);
    scrub_to(&browser, 12);
    focus(&browser, "#do-crash");
    browser.press(ENTER);
    leads_to(&browser, "crash=1%40");
    browser.sees("#faults", &["crash 1@"]);
    keeps_focus(&browser, "#do-crash");
    // What is taken back is gone, and so is the button.
    focus(&browser, "#faults button");
    browser.press(ENTER);
    eventually("the crash undone", || if link(&browser).contains("crash=") { Err(link(&browser)) } else { Ok(()) });
    keeps_focus(&browser, "#result");
    scrub_to(&browser, 30);
    sees_variables(&browser, &["Show all"]);
    focus(&browser, "#whole");
    browser.press(ENTER);
    sees_variables(&browser, &["Only what changes"]);
    keeps_focus(&browser, "#whole");
    browser.press(ENTER);
    sees_variables(&browser, &["Show all"]);
    keeps_focus(&browser, "#whole");
    // While it plays, say, the variables change under whoever reads them.
    focus(&browser, "#variables pre:last-child");
    for step in 31..39 {
        scrub_to(&browser, step);
        sees_variables(&browser, &["The variables of"]);
        keeps_focus(&browser, "#variables pre");
    }
    // At the end there is nothing to go on to.
    focus(&browser, ".q-bar [aria-label='Last step']");
    browser.press(ENTER);
    eventually("the end", || {
        let is_there = browser.find("return document.querySelector('[aria-label=\"Last step\"]').disabled;", &[]);
        if is_there == true { Ok(()) } else { Err("it is not there".to_string()) }
    });
    keeps_focus(&browser, ".q-bar button:enabled");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn keys_are_for_the_run_but_not_while_a_text_is_read() {
    let Some((_laboratory, browser)) = open("/?algorithm=ricart-agrawala&n=5&recovery=1&entries=10") else { return };
    browser.sees(".q-time", &["1/"]);
    scrub_to(&browser, 30);
    sees_variables(&browser, &["Show all"]);
    browser.click("#whole");
    sees_variables(&browser, &["Only what changes"]);
    let scrolled = |what: &str, script: &str| {
        eventually(&format!("that {what} is scrolled"), || {
            let place = browser.find(script, &[]).as_f64().unwrap();
            if place > 0.0 { Ok(()) } else { Err(place.to_string()) }
        });
    };
    for key in [DOWN, RIGHT, END] {
        focus(&browser, "#variables pre");
        browser.press(key);
    }
    scrolled("the text", "return document.querySelector('#variables pre').scrollTop;");
    browser.sees(".q-time", &["31/"]);
    // The page has up and down for itself, and the drawing has them once it has the focus.
    browser.find("document.activeElement.blur(); scrollTo(0, 0); return null;", &[]);
    browser.press(DOWN);
    scrolled("the page", "return scrollY;");
    browser.sees(".q-time", &["31/"]);
    browser.press(RIGHT);
    browser.sees(".q-time", &["32/"]);
    focus(&browser, ".q-stage");
    browser.press(DOWN);
    browser.sees(".q-time", &["33/"]);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn of_several_open_claims_each_has_its_run_and_the_keys_while_it_has_the_focus() {
    let Some((_laboratory, browser)) = open("/claims") else { return };
    let [first, second] = ["P5", "P6.liveness"].map(|id| format!("[id='{id}']"));
    let time = |claim: &str, place: &str| browser.sees(&format!("{claim} .q-time"), &[place]);
    let toggle = |claim: &str| {
        focus(&browser, &format!("{claim} summary"));
        browser.press(ENTER);
    };
    browser.sees("#claims", &["P6.liveness"]);
    for claim in [&first, &second] {
        toggle(claim);
        time(claim, "1/");
    }
    focus(&browser, &format!("{first} .q-stage"));
    browser.press(RIGHT);
    time(&first, "2/");
    time(&second, "1/");
    focus(&browser, &format!("{second} [aria-label='Next step']"));
    browser.press(RIGHT);
    browser.press(RIGHT);
    time(&second, "3/");
    time(&first, "2/");
    browser.press("?");
    browser.sees(&format!("{second} .q-help"), &["the run that has the focus", "next step"]);
    assert_eq!(browser.text(&format!("{first} .q-help[open]")), None);
    browser.click(&format!("{second} .q-help button"));
    // What is closed is gone, and comes again; the other stays as it is.
    toggle(&second);
    eventually("that it is closed", || {
        let left = browser.count(&format!("{second} .q-stage"));
        if left == 0 { Ok(()) } else { Err(format!("{left} left")) }
    });
    toggle(&second);
    time(&second, "1/");
    time(&first, "2/");
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
    // What is open when all are stopped is judged nevertheless.
    browser.find(
        "const judging = () => [...document.querySelectorAll('.claim')]
           .find((claim) => claim.querySelector('.verdict').textContent === 'judging …');
         document.getElementById('all').click();
         const timer = setInterval(() => {
           const claim = judging();
           if (!claim) return;
           clearInterval(timer);
           claim.classList.add('looked-at');
           claim.open = true;
           setTimeout(() => document.getElementById('all').click(), 0);
         }, 1);",
        &[],
    );
    browser.sees(".looked-at .evidence", &["quorate"]);
    browser.sees("#progress", &["stopped after"]);
    assert_eq!(browser.count(".claim"), browser.count(".claim .verdict .badge"), "and none says for ever that it is");
    assert_eq!(browser.complaints(), [""; 0]);
}
