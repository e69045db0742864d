//! How a page keeps up with a hand that scrubs: frames a second in a real browser. It reports, and asserts nothing.
//!
//! `cargo run --manifest-path tests/browser/Cargo.toml --example scrub`. It needs what the tests need: a browser with
//! its driver, and `quorate`, which is that of `QUORATE_BIN` or else of `target/debug`.

use quorate_browser_tests::browser::browser;
use quorate_browser_tests::server::{Directory, draw};

/// Processes, entries, and the records that come of them; a page shows 10,000 records and says what it leaves out.
const RUNS: [(&str, &str, &str); 2] = [("5", "500", "10,000"), ("64", "391", "100,000")];
/// Where all messages take the same time drawings are short and crowded, and long otherwise.
const DELAYS: [&str; 2] = ["constant:1", "uniform:0.5..1.5"];
/// How many times slower than this processor: a telephone is.
const SLOWER: [u32; 2] = [1, 4];

/// To the end and back, twice in five seconds, with several events between two frames, as a mouse has them.
const SCRUB: &str = r#"
    const done = arguments[arguments.length - 1];
    const slider = document.querySelector(".q-bar input[type=range]");
    const [last, begin, frames] = [Number(slider.max), performance.now(), []];
    const hand = setInterval(() => {
        const part = ((performance.now() - begin) / 1250) % 2;
        slider.value = Math.round(last * (part < 1 ? part : 2 - part));
        slider.dispatchEvent(new Event("input", { bubbles: true }));
    }, 4);
    requestAnimationFrame(function frame(now) {
        frames.push(now);
        if (now < begin + 5000) return requestAnimationFrame(frame);
        clearInterval(hand);
        const lengths = frames.slice(1).map((end, index) => end - frames[index]).sort((one, other) => one - other);
        const rate = 1000 * lengths.length / (frames.at(-1) - frames[0]);
        done([last + 1, rate, lengths[lengths.length >> 1], lengths.at(-1)]);
    });
"#;

fn main() {
    let Some(browser) = browser() else { return };
    browser.dress((1440, 900), "light");
    println!("processes   records  delays            steps  processor  frames/s  median ms  slowest ms");
    for (processes, entries, records) in RUNS {
        for delay in DELAYS {
            let directory = Directory::new();
            let run = ["sim", "ricart-agrawala", "-n", processes, "--entries", entries, "--delay", delay];
            browser.open(&draw(&directory, &run));
            browser.sees(".q-time", &["1/"]);
            for slower in SLOWER {
                browser.slow_down(slower);
                let found = browser.find_later(SCRUB);
                let [steps, rate, median, slowest] = [0, 1, 2, 3].map(|place| found[place].as_f64().unwrap());
                print!("{processes:>9}  {records:>8}  {delay:<16}  {steps:>5}  {:>9}", format!("1/{slower}"));
                println!("  {rate:>8.1}  {median:>9.1}  {slowest:>10.1}");
            }
            browser.slow_down(1);
        }
    }
}
