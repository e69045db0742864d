//! The laboratory's page: what is begun and ended by clicks, and long runs, which are looked at in parts.

use crate::browser::Browser;
use crate::laboratory::{RIGHT, leads_to, link, open, scrub_to};
use crate::server::eventually;

#[test]
fn a_process_is_paused_and_cut_off_by_a_click_and_comes_back_by_another() {
    let Some((_laboratory, browser)) = open("/?algorithm=central&n=3&entries=12&recovery=1") else { return };
    browser.sees(".q-time", &["1/"]);
    browser.click(".q-card:nth-child(2)");
    // When something begins, as a chip says it, and when it ends.
    let times = |chip: &str| -> (f64, f64) {
        let (_, times) = chip.trim().trim_end_matches('✕').split_once('@').unwrap();
        let (begin, end) = times.trim().split_once("..").unwrap();
        (begin.parse().unwrap(), end.parse().unwrap())
    };
    for (begins, ends, name, words) in
        [("#do-pause", "#do-resume", "pause", "pauses"), ("#do-partition", "#do-heal", "partition", "partition: part")]
    {
        scrub_to(&browser, 8);
        browser.click(begins);
        leads_to(&browser, &format!("{name}=2%40"));
        let (begin, end) = times(&browser.sees("#faults", &[&format!("{name} 2@")]));
        assert!((end - begin - 20.0).abs() < 0.001, "it lasts as long as the field says: {begin} to {end}");
        let said = "return [...document.querySelectorAll('.q-sheet text')].map((text) => text.textContent).join(' ');";
        eventually("the words of it in the drawing", || {
            let said = browser.find(said, &[]).to_string();
            if said.contains(words) { Ok(()) } else { Err(said) }
        });
        // A few steps later it is over.
        for _ in 0..3 {
            browser.click("[aria-label='Next step']");
        }
        browser.click(ends);
        let begun = format!("{name} 2@{begin}..");
        let ended =
            browser.sees_that("#faults", "an end that is nearer", |chip| chip.contains(&begun) && times(chip).1 < end);
        assert_eq!(browser.text("#problem"), None);
        let (_, end) = times(&ended);
        leads_to(&browser, &format!("{name}=2%40{begin}..{end}"));
        browser.click("#faults button");
        eventually("that it is undone", || if link(&browser).contains(name) { Err(link(&browser)) } else { Ok(()) });
    }
    assert_eq!(browser.complaints(), [""; 0]);
}

/// The times that each run shows, from its first step to its last.
fn times_shown(browser: &Browser) -> Vec<(f64, f64)> {
    let script = "return [...document.querySelectorAll('.q-viewer')].map((viewer) => { \
                  const slider = viewer.querySelector('input[type=range]'); const now = slider.value; \
                  return [0, slider.max].concat(now).map((step) => { slider.value = step; \
                  slider.dispatchEvent(new Event('input')); \
                  return parseFloat(viewer.querySelector('.q-time').textContent.split('·')[1]); }); });";
    let shown = browser.find(script, &[]);
    let times = shown.as_array().unwrap().iter().map(|times| (times[0].as_f64(), times[1].as_f64()));
    times.map(|(first, last)| (first.unwrap_or(f64::NAN), last.unwrap_or(f64::NAN))).collect()
}

#[test]
fn two_long_runs_are_looked_at_in_parts_of_the_same_times() {
    let path = "/?algorithm=central&beside=ricart-agrawala&n=5&entries=1500";
    let Some((_laboratory, browser)) = open(path) else { return };
    browser.sees("#findings", &["Verdicts of ricart-agrawala"]);
    let first = times_shown(&browser);
    assert!(first.len() == 2 && first[1].1 <= first[0].1 + 0.001, "{first:?}");
    browser.click(".view .buttons button:last-child");
    let later = leads_to(&browser, "from=");
    browser.sees(".view .buttons", &["Earlier"]);
    let second = times_shown(&browser);
    let [(begin, end), (other_begin, other_end)] = second[..] else { panic!("{second:?}") };
    assert!(begin > first[0].0 && begin <= first[0].1.min(first[1].1) && end > first[1].1, "{first:?} {second:?}");
    assert!((begin - other_begin).abs() < 3.0 && other_end <= end + 0.001, "{second:?} at {later}");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_part_is_left_for_another_and_one_without_anything_says_so() {
    let Some((laboratory, browser)) = open("/?algorithm=central&n=5&entries=3000&from=10") else { return };
    browser.sees(".view .buttons", &["Earlier", "Later"]);
    browser.click(".view .buttons button:last-child");
    let later = leads_to(&browser, "records=");
    assert!(!later.contains("from="), "{later}");
    browser.sees(".view .buttons", &["Earlier"]);
    assert_eq!(browser.text("#problem"), None);
    browser.open(&laboratory.at("/?algorithm=central&n=3&from=500"));
    browser.sees(".view", &["no event is in this part: the run lasts from 0 to"]);
    // Nothing of it moves, whatever one does.
    browser.dress((1000, 700), "light");
    browser.press(RIGHT);
    browser.press(" ");
    browser.find("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));", &[]);
    browser.click(".view .buttons button");
    browser.sees(".q-time", &["1/"]);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn the_way_back_to_the_empty_checker_leads_to_the_empty_checker() {
    let Some((_laboratory, browser)) = open("/check") else { return };
    browser.sees("#progress", &["Choose an algorithm"]);
    browser.click("#controls button[type=submit]");
    browser.sees("#findings", &["mutual-exclusion", "holds"]);
    browser.find("history.back(); return null;", &[]);
    browser.sees("#progress", &["Choose an algorithm"]);
    assert_eq!((browser.text("#findings table"), browser.text("#command code")), (None, None));
    assert_eq!(browser.complaints(), [""; 0]);
}
