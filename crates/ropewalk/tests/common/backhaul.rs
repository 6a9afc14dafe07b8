//! An access point and a repeater in namespaces, each with somebody behind it.
//!
//! ```text
//!   server ── ap ═══ wlan0 ═══ repeater ── client
//!                ═══ wlan1 ═══ (shared)
//! ```

pub(crate) mod bridged;
pub(crate) mod routed;

use super::{BINARY, SOON, States, ropewalk};
use ropewalk_air::wired::LinkSpec;
use ropewalk_lab::{Cable, CableSpec, End, Namespace, Ping, Process, Topology};
use std::time::{Duration, Instant};

/// The four machines and the two links between the middle ones.
pub(crate) struct Site {
    pub server: Namespace,
    pub ap: Namespace,
    pub repeater: Namespace,
    pub client: Namespace,
    pub links: [Cable; 2],
    pub states: States,
    pub topology: Topology,
}

impl Site {
    /// Two links of so many Mb/s. The server and the client have no addresses yet.
    pub(crate) fn new(name: &str, mbps: [f64; 2]) -> Site {
        let topology = Topology::new().unwrap();
        let node = |label| topology.namespace(label).unwrap();
        let (server, ap, repeater, client) = (node("server"), node("ap"), node("repeater"), node("client"));
        let none = |interface: &str| End::new(interface, [] as [&str; 0]);
        topology.veth((&server, none("eth0")), (&ap, none("eth0"))).unwrap();
        topology.veth((&repeater, none("wlan2")), (&client, none("eth0"))).unwrap();
        let link = |n: usize| {
            let end = |host: u8| End::new(&format!("wlan{n}"), [format!("10.1.{}.{host}/24", n + 1)]);
            let spec = CableSpec::symmetric(LinkSpec::new(mbps[n], Duration::from_millis(1))).seed(n as u64);
            topology.cable((&ap, end(1)), (&repeater, end(2)), spec).unwrap()
        };
        let links = [link(0), link(1)];
        Site { server, ap, repeater, client, links, states: States::new(name), topology }
    }

    /// Writes a file for one end, with its state directory.
    pub(crate) fn file(&self, end: &str, keys: &str, more: &str) -> String {
        let path = self.states.of(&format!("{end}.toml"));
        let text = format!(
            "[{end}]\nstate = \"{}\"\n{keys}\n[[{end}.link]]\ninterface = \"wlan0\"\n[[{end}.link]]\ninterface = \"wlan1\"\nshared = true\n{more}\n",
            self.states.of(end)
        );
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn start_ap(&self, file: &str) -> Process {
        let mut ap = self.ap.start(BINARY, ["ap", "--config", file]).unwrap();
        ap.wait_for_line("access point ready", SOON).unwrap();
        ap
    }

    /// A token for the repeater, made where the access point's interfaces are.
    pub(crate) fn invite(&self, file: &str, name: &str) -> String {
        let out = self.ap.exec(BINARY, ["ap", "invite", name, "--config", file]).unwrap();
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    }

    pub(crate) fn start_repeater(&self, file: &str, more: &[&str]) -> Process {
        let args = [&["repeater", "--config", file], more].concat();
        let mut repeater = self.repeater.start(BINARY, args).unwrap();
        repeater.wait_for_line("connected", SOON).unwrap();
        repeater
    }

    pub(crate) fn json(&self, end: &str) -> serde_json::Value {
        let (code, out, err) = ropewalk(&["status", "--json", "--state", &self.states.of(end)]);
        assert_eq!(code, 0, "{err}");
        serde_json::from_str(&out).unwrap()
    }

    /// What `ropewalk status` prints.
    pub(crate) fn status(&self, end: &str) -> String {
        ropewalk(&["status", "--state", &self.states.of(end)]).1
    }
}

/// A handshake that meets a dead end is repeated after 4 s at the latest; on a busy machine two of them may be needed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until it is so.
pub(crate) fn eventually(what: &str, mut so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !so() {
        assert!(Instant::now() < until, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Ten requests, and an answer to each.
pub(crate) fn pings(from: &Namespace, to: &str) -> bool {
    Ping::new(to.parse().unwrap()).run(from).is_ok_and(|r| r.received == r.sent)
}
