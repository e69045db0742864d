//! A real browser, driven as a person would: what it shows, clicks, keys, and pictures of it.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fantoccini::wd::WindowHandle;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::server::{eventually, request};

/// One browser at a time: a small machine has enough to do with it.
static TURN: Mutex<()> = Mutex::new(());

/// A browser with one page.
pub struct Browser {
    runtime: Runtime,
    client: Option<Client>,
    driver: Child,
    address: String,
    session: String,
    _turn: MutexGuard<'static, ()>,
}

/// A browser, if there is one on this machine. Where it is required, there has to be.
pub fn browser() -> Option<Browser> {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let is_there = |program: &str| {
        let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        found.is_ok_and(|status| status.success())
    };
    if !is_there("chromedriver") {
        let is_required = std::env::var("QUORATE_BROWSER").is_ok_and(|value| value == "required");
        assert!(!is_required, "there is no chromedriver: install Debian's chromium and chromium-driver");
        // Not by the macro, whose lines nobody sees if the test passes.
        let _ = writeln!(std::io::stderr(), "LEFT OUT: there is no chromedriver, so the page is not tested");
        return None;
    }
    Some(Browser::start(turn))
}

impl Browser {
    fn start(turn: MutexGuard<'static, ()>) -> Browser {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines.find_map(|line| {
            let line = line.unwrap();
            Some(line.split_once("successfully on port ")?.1.trim_end_matches('.').to_string())
        });
        let address = format!("127.0.0.1:{}", port.expect("the driver says where it listens"));
        // It goes on to say things, which nobody has to hear.
        std::thread::spawn(move || lines.for_each(drop));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--lang=en-GB"];
        let capabilities = json!({
            "browserName": "chrome",
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        });
        let Value::Object(capabilities) = capabilities else { unreachable!("it is an object") };
        let mut builder = ClientBuilder::new(HttpConnector::new());
        builder.capabilities(capabilities);
        let client = runtime.block_on(builder.connect(&format!("http://{address}"))).expect("a browser starts");
        let session = runtime.block_on(client.session_id()).unwrap().unwrap();
        Browser { runtime, client: Some(client), driver, address, session, _turn: turn }
    }

    fn client(&self) -> &Client {
        self.client.as_ref().expect("it is there until the end")
    }

    /// Opens a page, and waits until it is there.
    pub fn open(&self, address: &str) {
        self.runtime.block_on(self.client().goto(address)).unwrap();
    }

    /// Opens the page anew.
    pub fn reload(&self) {
        self.runtime.block_on(self.client().refresh()).unwrap();
    }

    /// The tab that one sees.
    pub fn tab(&self) -> WindowHandle {
        self.runtime.block_on(self.client().window()).unwrap()
    }

    /// Opens another tab, and looks at it.
    pub fn open_tab(&self) {
        let opened = self.runtime.block_on(self.client().new_window(true)).unwrap();
        self.switch_to(&opened.handle);
    }

    /// Looks at another tab.
    pub fn switch_to(&self, tab: &WindowHandle) {
        self.runtime.block_on(self.client().switch_to_window(tab.clone())).unwrap();
    }

    /// What a script of ours finds on the page.
    pub fn find(&self, script: &str, arguments: &[&str]) -> Value {
        let arguments = arguments.iter().map(|argument| json!(argument)).collect();
        self.runtime.block_on(self.client().execute(script, arguments)).unwrap()
    }

    /// What a script of ours finds in the course of time: it calls back the last of its arguments.
    pub fn find_later(&self, script: &str) -> Value {
        self.runtime.block_on(self.client().execute_async(script, Vec::new())).unwrap()
    }

    /// The text that one sees in an element, if one sees it.
    pub fn text(&self, selector: &str) -> Option<String> {
        let script = "const found = document.querySelector(arguments[0]); \
                      return found && found.checkVisibility() ? found.innerText : null;";
        self.find(script, &[selector]).as_str().map(String::from)
    }

    /// Waits until one sees all of these texts in an element.
    pub fn sees(&self, selector: &str, texts: &[&str]) -> String {
        self.sees_that(selector, &format!("{texts:?}"), |shown| texts.iter().all(|text| shown.contains(text)))
    }

    /// Waits until what one sees in an element is right.
    pub fn sees_that(&self, selector: &str, what: &str, is_right: impl Fn(&str) -> bool) -> String {
        eventually(&format!("that {selector} shows {what}"), || {
            let shown = self.text(selector).unwrap_or_default();
            if is_right(&shown) { Ok(shown) } else { Err(format!("it shows {shown:?}")) }
        })
    }

    /// How many there are.
    pub fn count(&self, selector: &str) -> u64 {
        self.find("return document.querySelectorAll(arguments[0]).length;", &[selector]).as_u64().unwrap()
    }

    /// Clicks, once there is something to click on.
    pub fn click(&self, selector: &str) {
        eventually(&format!("a click on {selector}"), || {
            let clicked =
                self.runtime.block_on(async { self.client().find(Locator::Css(selector)).await?.click().await });
            clicked.map_err(|error| error.to_string())
        });
    }

    /// Clicks on a place of the window.
    pub fn click_at(&self, (x, y): (f64, f64)) {
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
            self.tell("Input.dispatchMouseEvent", &event);
        }
    }

    /// Types into a field, in place of what is there.
    pub fn fill(&self, selector: &str, text: &str) {
        eventually(&format!("typing into {selector}"), || {
            let typed = self.runtime.block_on(async {
                let field = self.client().find(Locator::Css(selector)).await?;
                field.clear().await?;
                field.send_keys(text).await
            });
            typed.map_err(|error| error.to_string())
        });
    }

    /// Presses keys, wherever the focus is.
    pub fn press(&self, keys: &str) {
        let pressed = self.runtime.block_on(async { self.client().active_element().await?.send_keys(keys).await });
        pressed.unwrap();
    }

    /// A window of this size, in light or dark.
    pub fn dress(&self, (width, height): (u32, u32), scheme: &str) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.tell("Emulation.setDeviceMetricsOverride", &size);
        let scheme = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.tell("Emulation.setEmulatedMedia", &scheme);
    }

    /// A processor that is so many times slower, as far as scripts, layout and painting go.
    pub fn slow_down(&self, rate: u32) {
        self.tell("Emulation.setCPUThrottlingRate", &json!({ "rate": rate }));
    }

    /// Says something in the browser's own protocol.
    fn tell(&self, command: &str, parameters: &Value) {
        let body = json!({ "cmd": command, "params": parameters }).to_string();
        let path = format!("/session/{}/goog/cdp/execute", self.session);
        let (status, answer) = request(&self.address, "POST", &path, "", &body);
        assert_eq!(status, 200, "{command}: {answer}");
    }

    /// A picture of what one sees.
    pub fn picture(&self, file: &Path) {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, self.runtime.block_on(self.client().screenshot()).unwrap()).unwrap();
    }

    /// What the browser complains about: errors of scripts, and what the policy has kept from running.
    pub fn complaints(&self) -> Vec<String> {
        let path = format!("/session/{}/se/log", self.session);
        let (status, answer) = request(&self.address, "POST", &path, "", r#"{"type": "browser"}"#);
        assert_eq!(status, 200, "{answer}");
        let lines = answer["value"].as_array().unwrap().iter();
        let said = lines.filter(|line| line["level"] == "SEVERE").map(|line| line["message"].to_string());
        // Requests that fail are told as well, and some tests mean them to.
        said.filter(|message| !message.contains("Failed to load resource") && !message.contains("net::ERR")).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            // The browser ends with its session.
            let _ = self.runtime.block_on(client.close());
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
