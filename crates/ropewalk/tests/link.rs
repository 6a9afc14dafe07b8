//! What a bond's paths say of the links under them, with the binary and a lab's radios. Needs root; says so and passes otherwise.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const CELL: &str = r#"
duration = "60s"
[node.ap]
[node.ap.radio.r0]
standard = "11n"
channel = 36
[node.ap.interface.wlan0]
radio = "r0"
mode = "ap"
ssid = "cell"
address = "10.5.0.1/24"
[node.sta]
position = [2.0, 0.0]
[node.sta.radio.r0]
standard = "11n"
channel = 36
[node.sta.interface.wlan0]
radio = "r0"
mode = "station"
ssid = "cell"
address = "10.5.0.2/24"
"#;

fn ropewalk(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
    command.args(args);
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A lab, and daemons in its nodes; ended with the test, however it ends.
struct Site {
    lab: String,
    directory: PathBuf,
    daemons: Vec<Child>,
}

impl Site {
    fn new() -> Site {
        let lab = format!("link-{}", std::process::id());
        let directory = std::env::temp_dir().join(&lab);
        std::fs::create_dir_all(&directory).unwrap();
        let file = directory.join("cell.toml");
        std::fs::write(&file, CELL).unwrap();
        let up = ropewalk(&["lab", "up", file.to_str().unwrap(), "--name", &lab]).output().unwrap();
        assert!(up.status.success(), "{}", said(&up));
        Site { lab, directory, daemons: Vec::new() }
    }

    fn state(&self, end: &str) -> String {
        self.directory.join(end).display().to_string()
    }

    /// Runs this binary in a node, for as long as the test lasts.
    fn start(&mut self, node: &str, args: &[&str]) {
        let own = env!("CARGO_BIN_EXE_ropewalk");
        let inside = ["lab", "exec", node, "--lab", &self.lab, "--", own];
        let mut command = ropewalk(&[&inside[..], args].concat());
        self.daemons.push(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        let _ = ropewalk(&["lab", "down", "--lab", &self.lab]).output();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Tries until it gives something, for at most ten seconds.
fn eventually<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(10) {
        if let Some(got) = attempt() {
            return got;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("waited ten seconds in vain: {what}");
}

#[test]
fn a_paths_status_has_what_its_radio_says() {
    if !rustix::process::geteuid().is_root() || !Path::new("/dev/net/tun").exists() {
        ropewalk_skip::skip("needs root and /dev/net/tun");
        return;
    }
    let mut site = Site::new();
    let (gateway, client) = (site.state("gateway"), site.state("client"));
    let listen = ["--listen", "10.5.0.1:4500", "--address", "10.77.5.1/24", "--tun", "rwl0"];
    site.start("ap", &[&["serve", "--state", &gateway][..], &listen].concat());
    let token = eventually("a token", || {
        let invite = ["invite", "it", "--state", &gateway, "--endpoint", "10.5.0.1:4500"];
        let done = ropewalk(&invite).output().unwrap();
        done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_owned())
    });
    site.start("sta", &["up", &token, "--state", &client, "--path", "wlan0", "--tun", "rwl1"]);
    let link = eventually("a path with a link", || {
        let status = ropewalk(&["status", "--json", "--state", &client]).output().unwrap();
        let status: serde_json::Value = serde_json::from_slice(&status.stdout).ok()?;
        let path = status["peers"][0]["paths"].get(0)?;
        // The handshake has passed, and was read about.
        (path["link"]["delivered"].as_u64()? > 2).then(|| path["link"].clone())
    });
    assert_eq!(link["source"], "lab", "{link}");
    assert_eq!((&link["failed"], &link["frequency_mhz"]), (&0.into(), &5180.into()), "{link}");
    let signal = link["stations"][0]["signal_dbm"].as_f64().unwrap();
    assert!((-80.0..-10.0).contains(&signal), "{link}");
    let text = said(&ropewalk(&["status", "--state", &client]).output().unwrap());
    assert!(text.contains("  link of wlan0 (lab): "), "{text}");
}
