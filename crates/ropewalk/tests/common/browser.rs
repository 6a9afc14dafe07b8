//! A real Chromium without a window, told what to do by the DevTools protocol over two pipes: JSON
//! with a NUL after each message.

use ropewalk_lab::{Namespace, Process};
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The longest that the browser may take for one thing: the machine may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Where Debian, and others, have it.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The browser with one page.
pub(crate) struct Browser {
    #[expect(dead_code, reason = "held, not read: it ends with this")]
    process: Process,
    to: File,
    from: Receiver<Value>,
    session: Option<String>,
    last: u64,
}

/// The program, if it is there.
pub(crate) fn chromium() -> Option<String> {
    let path = std::env::var_os("PATH")?;
    let there = |name: &&&str| std::env::split_paths(&path).any(|dir| dir.join(name).is_file());
    NAMES.iter().find(there).map(|name| (*name).to_owned())
}

impl Browser {
    /// Starts it in a namespace; its files go to `dir`.
    pub(crate) fn start(ns: &Namespace, program: &str, dir: &Path) -> Browser {
        std::fs::create_dir_all(dir).unwrap();
        let (input, output) = (dir.join("in"), dir.join("out"));
        for pipe in [&input, &output] {
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mkfifoat(rustix::fs::CWD, pipe, mode).unwrap();
        }
        let flags = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --disable-background-networking \
                     --disable-component-update --disable-sync --hide-scrollbars --force-color-profile=srgb";
        let line = format!(
            r#"exec {program} {flags} --remote-debugging-pipe --user-data-dir="$3" about:blank 3<"$1" 4>"$2""#
        );
        let mut command = ns.command("sh");
        command.args(["-c", &line, "sh"]).args([&input, &output, &dir.join("profile")]);
        command.env("HOME", dir);
        let process = ns.spawn(&mut command).unwrap();
        let to = OpenOptions::new().write(true).open(&input).unwrap();
        let mut reader = BufReader::new(File::open(&output).unwrap());
        let (send, from) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while reader.read_until(0, &mut message).is_ok_and(|n| n > 0) {
                message.pop();
                let _ = send.send(serde_json::from_slice(&message).unwrap_or(Value::Null));
                message.clear();
            }
        });
        let mut browser = Browser { process, to, from, session: None, last: 0 };
        let target = browser.ask("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.ask("Target.attachToTarget", attach);
        browser.session = Some(session["sessionId"].as_str().unwrap().to_owned());
        browser.ask("Page.enable", json!({}));
        browser.ask("Runtime.enable", json!({}));
        browser
    }

    /// Tells it something, and does not wait; gives the number to wait for.
    pub(crate) fn tell(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).unwrap();
        self.last
    }

    /// The answer to what was told under this number.
    pub(crate) fn answer(&mut self, number: u64) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let message = self.from.recv_timeout(left).expect("the browser answers");
            if message["method"] == "Runtime.exceptionThrown" {
                panic!("the page threw: {}", message["params"]["exceptionDetails"]);
            }
            if message["id"] == number {
                assert!(message.get("error").is_none(), "{message}");
                return message["result"].clone();
            }
        }
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let number = self.tell(method, params);
        self.answer(number)
    }

    /// Starts to work an expression out; a promise is waited for.
    pub(crate) fn begin(&mut self, expression: &str) -> u64 {
        let params = json!({"expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true});
        self.tell("Runtime.evaluate", params)
    }

    /// What an expression gave.
    pub(crate) fn value(&mut self, number: u64) -> Value {
        let answer = self.answer(number);
        assert!(answer.get("exceptionDetails").is_none(), "{answer}");
        answer["result"]["value"].clone()
    }

    /// Works an expression out within the page.
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        let number = self.begin(expression);
        self.value(number)
    }

    /// Goes somewhere.
    pub(crate) fn open(&mut self, url: &str) {
        self.ask("Page.navigate", json!({"url": url}));
    }

    /// Waits until an expression is true.
    pub(crate) fn wait_for(&mut self, expression: &str) {
        let until = Instant::now() + PATIENCE;
        while self.eval(&format!("Boolean({expression})")) != true {
            if Instant::now() > until {
                panic!("{expression}: not within {PATIENCE:?}\n{}", self.eval("document.body.innerText"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Presses a key.
    pub(crate) fn press(&mut self, key: &str, code: u32) {
        let text = if key == "Enter" { "\r" } else { "" };
        let down = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        for kind in [down, "keyUp"] {
            let event =
                json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text});
            self.ask("Input.dispatchKeyEvent", event);
        }
    }

    /// How wide and high the window is, and whether it is dark.
    pub(crate) fn look(&mut self, width: u32, height: u32, scheme: &str) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.ask("Emulation.setDeviceMetricsOverride", metrics);
        let features = json!([
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]);
        self.ask("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// The window as PNG.
    pub(crate) fn picture(&mut self) -> Vec<u8> {
        use base64::Engine as _;
        let picture = self.ask("Page.captureScreenshot", json!({"format": "png", "optimizeForSpeed": false}));
        base64::engine::general_purpose::STANDARD.decode(picture["data"].as_str().unwrap()).unwrap()
    }
}
