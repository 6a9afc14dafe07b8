//! The dedicated radio of an access point leaves a channel that somebody else fills, in mid-flow:
//! the real daemons over a lab's radios. Needs root; says so and passes otherwise.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Channel 36 is taken for 6 of 8 ms; 14 is of another band, 44 is free.
const SITE: &str = r#"
duration = "120s"
[node.ap]
radio.r0 = { standard = "11n", channel = 36, rate-control = { fixed = "MCS4" } }
radio.r1 = { standard = "11n", channel = 149, rate-control = { fixed = "MCS1" } }
interface.wlan0 = { radio = "r0", mode = "ap", ssid = "private", address = "10.5.0.1/24" }
interface.wlan1 = { radio = "r1", mode = "ap", ssid = "shared", address = "10.6.0.1/24" }
[node.repeater]
position = [4.0, 0.0]
radio.r0 = { standard = "11n", channel = 36, rate-control = { fixed = "MCS4" } }
radio.r1 = { standard = "11n", channel = 149, rate-control = { fixed = "MCS1" } }
interface.wlan0 = { radio = "r0", mode = "station", ssid = "private", address = "10.5.0.2/24" }
interface.wlan1 = { radio = "r1", mode = "station", ssid = "shared", address = "10.6.0.2/24" }
[node.client]
[[link]]
name = "lan"
ends = ["repeater:lan0", "client:lan0"]
rate = "100Mbit/s"
delay = "0.1ms"
[[interferer]]
name = "camera"
position = [2.0, 1.0]
channel = 36
on = "6ms"
off = "2ms"
"#;

fn ropewalk(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
    command.args(args);
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A lab, and programs in its nodes; ended with the test, however it ends.
struct Site {
    lab: String,
    directory: PathBuf,
    programs: Vec<Child>,
}

impl Site {
    fn new() -> Site {
        let lab = format!("migrate-{}", std::process::id());
        let directory = std::env::temp_dir().join(&lab);
        std::fs::create_dir_all(&directory).unwrap();
        let site = Site { lab, directory, programs: Vec::new() };
        let file = site.file("site.toml", SITE);
        let up = ropewalk(&["lab", "up", &file, "--name", &site.lab]).output().unwrap();
        assert!(up.status.success(), "{}", said(&up));
        site
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.directory.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    fn state(&self, end: &str) -> String {
        self.directory.join(end).display().to_string()
    }

    fn exec(&self, node: &str, args: &[&str]) -> Command {
        ropewalk(&[&["lab", "exec", node, "--lab", &self.lab, "--"], args].concat())
    }

    /// Runs a program in a node, for as long as the test lasts.
    fn start(&mut self, node: &str, args: &[&str]) {
        let mut command = self.exec(node, args);
        let log = std::fs::File::create(self.directory.join(format!("{node}.log"))).unwrap();
        self.programs.push(command.stdout(Stdio::null()).stderr(log).spawn().unwrap());
    }

    fn status(&self, end: &str) -> Option<serde_json::Value> {
        let status = ropewalk(&["status", "--json", "--state", &self.state(end)]).output().unwrap();
        serde_json::from_slice(&status.stdout).ok()
    }

    fn logs(&self) -> String {
        let log =
            |end| std::fs::read_to_string(self.directory.join(format!("{end}.log"))).unwrap_or_default();
        let status = ropewalk(&["status", "--state", &self.state("ap")]).output();
        log("ap") + &log("repeater") + &status.map_or_else(|e| e.to_string(), |s| said(&s))
    }

    fn eventually<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let until = Instant::now() + Duration::from_secs(40);
        loop {
            match look() {
                Some(found) => return found,
                None if Instant::now() > until => panic!("{what}: not in 40 s\n{}", self.logs()),
                None => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        for program in &mut self.programs {
            let _ = program.kill();
            let _ = program.wait();
        }
        let _ = ropewalk(&["lab", "down", "--lab", &self.lab]).output();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

#[test]
fn the_dedicated_radio_leaves_a_full_channel_in_mid_flow() {
    if !rustix::process::geteuid().is_root() {
        ropewalk_skip::skip("labs with devices need root");
        return;
    }
    let own = env!("CARGO_BIN_EXE_ropewalk");
    let mut site = Site::new();
    let links = |end: &str| {
        format!(
            "[[{end}.link]]\ninterface = \"wlan0\"\n[[{end}.link]]\ninterface = \"wlan1\"\nshared = true\n"
        )
    };
    // The camera leaves the dedicated link some 8 Mb/s; a free channel carries 30.
    let migrate = "[ap.migrate]\nchannels = [36, 14, 44]\nleast-mbps = 16\nwindow-ms = 500\n";
    let ap = format!("[ap]\nstate = {:?}\ntun = \"rw0\"\n{}{migrate}", site.state("ap"), links("ap"));
    let ap = site.file("ap.toml", &ap);
    site.start("ap", &[own, "ap", "--config", &ap]);
    let token = site.eventually("a token", || {
        let done = site.exec("ap", &[own, "ap", "invite", "attic", "--config", &ap]).output().unwrap();
        done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_owned())
    });
    let repeater = format!(
        "[repeater]\nstate = {:?}\ntoken = {token:?}\ntun = \"rw0\"\nlan = \"lan0\"\nroute = []\n{}",
        site.state("repeater"),
        links("repeater")
    );
    let repeater = site.file("repeater.toml", &repeater);
    site.start("repeater", &[own, "repeater", "--config", &repeater]);
    let inside = site.eventually("both links", || {
        let status = site.status("ap")?;
        let peer = &status["peers"][0];
        (peer["paths"].as_array()?.iter().filter(|p| p["state"] == "active").count() == 2)
            .then(|| peer["inside"][0].as_str().map(str::to_owned))?
    });
    let before = site.eventually("the radio's channel", || {
        let switcher = site.status("ap")?["channel_switcher"].clone();
        switcher["channel_mhz"].is_u64().then_some(switcher)
    });
    assert_eq!((&before["channel_mhz"], &before["searches"]), (&5180.into(), &0.into()), "{before}");
    site.start("repeater", &["iperf3", "-s", "-1"]);
    let mut flow = site.eventually("a flow", || {
        let mut flow = site.exec("ap", &["iperf3", "-c", &inside, "-t", "12", "-J"]);
        let mut flow = flow.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(500));
        flow.try_wait().unwrap().is_none().then_some(flow)
    });
    let after = site.eventually("the end of a search", || {
        let switcher = site.status("ap")?["channel_switcher"].clone();
        (switcher["searches"].as_u64()? > 0).then_some(switcher)
    });
    assert_eq!(after["channel_mhz"], 5220, "{after}\n{}", site.logs());
    assert_eq!((&after["last_from_mhz"], &after["switches"]), (&5180.into(), &2.into()), "{after}");
    assert!(after["last_after_bps"].as_f64() > after["last_before_bps"].as_f64(), "{after}");
    let shown = said(&ropewalk(&["status", "--state", &site.state("ap")]).output().unwrap());
    assert!(shown.contains("dedicated radio: wlan0 at 5220 MHz; 1 search"), "{shown}");
    assert!(flow.wait().unwrap().success(), "the flow went on to its end\n{}", site.logs());
    let text = std::io::read_to_string(flow.stdout.take().unwrap()).unwrap();
    let flow: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(flow["end"]["sum_received"]["bytes"].as_u64() > Some(5_000_000), "{}", flow["end"]);
}
