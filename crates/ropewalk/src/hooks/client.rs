//! What a client's programs are told: its connection, and its paths.

use super::programs::{ADDRESSES, DEVICE, Event, INTERFACE, Programs};
use ipnet::IpNet;
use std::collections::BTreeSet;
use std::path::Path;

/// Events that may wait; what comes while so many do is dropped, and the log says so.
const WAITING: usize = 32;
const PATH_UP: &str = "path-up";
const PATH_DOWN: &str = "path-down";

/// A client's programs, and what they were told last.
#[derive(Debug)]
pub(crate) struct ClientHooks {
    programs: Programs,
    /// Paths that are up.
    up: BTreeSet<String>,
    /// The addresses inside, from the first connection on.
    inside: Vec<IpNet>,
    is_connected: bool,
}

impl ClientHooks {
    /// Starts the thread that runs them. `device` is the bond's.
    ///
    /// # Errors
    /// The directory is none, or others may write into it.
    pub(crate) fn start(dir: &Path, device: &str) -> anyhow::Result<ClientHooks> {
        let programs = Programs::start(dir, (DEVICE, device), WAITING)?;
        Ok(ClientHooks { programs, up: BTreeSet::new(), inside: Vec::new(), is_connected: false })
    }

    /// The gateway let this machine in; these are its addresses inside.
    pub(crate) fn connected(&mut self, inside: &[IpNet]) {
        if !self.is_connected || self.inside != inside {
            (self.is_connected, self.inside) = (true, inside.to_vec());
            let all: Vec<String> = inside.iter().map(ToString::to_string).collect();
            self.programs.tell(Event::new("connected").with(ADDRESSES, all.join(" ")));
        }
    }

    /// Which paths work now; what has changed is told.
    pub(crate) fn paths(&mut self, up: BTreeSet<String>) {
        if up == self.up {
            return;
        }
        let before = std::mem::replace(&mut self.up, up.clone());
        before.difference(&up).for_each(|path| self.tell_path(PATH_DOWN, path));
        up.difference(&before).for_each(|path| self.tell_path(PATH_UP, path));
        if up.is_empty() && self.is_connected {
            self.is_connected = false;
            self.programs.tell(Event::new("disconnected"));
        } else if !up.is_empty() && !self.is_connected && !self.inside.is_empty() {
            // The session outlived its paths.
            let inside = std::mem::take(&mut self.inside);
            self.connected(&inside);
        }
    }

    fn tell_path(&self, name: &'static str, path: &str) {
        let interface = path.split('@').next().unwrap_or(path);
        let event = Event::new(name).with("ROPEWALK_PATH", path.to_owned());
        self.programs.tell(event.with(INTERFACE, interface.to_owned()));
    }

    /// The client ends: the last events, and some time for the programs. That it ends comes first,
    /// and what paths did before is told no more.
    pub(crate) fn finish(self) {
        self.programs.forget(&[PATH_UP, PATH_DOWN]);
        if self.is_connected {
            self.programs.tell(Event::new("disconnected"));
        }
        self.up.iter().for_each(|path| self.tell_path(PATH_DOWN, path));
        self.programs.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::super::programs::tests::hook;
    use super::super::programs::{LOOK, PATIENCE};
    use super::*;
    use crate::state::tests::Scratch;
    use std::fs;
    use std::time::Instant;

    fn all(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|n| (*n).to_owned()).collect()
    }

    #[test]
    fn events_are_told_in_order_and_only_changes_are() {
        let scratch = Scratch::new();
        let dir = scratch.0.path();
        let log = dir.join("log");
        let line = "$ROPEWALK_EVENT $ROPEWALK_DEVICE $ROPEWALK_INTERFACE $ROPEWALK_ADDRESSES$HOME";
        hook(dir, "10-note", &format!("echo {line} >>{}", log.display()), 0o700);
        let mut hooks = ClientHooks::start(dir, "rw0").unwrap();
        hooks.connected(&["10.77.0.2/24".parse().unwrap()]);
        hooks.paths(all(&["wan1@gw:1"]));
        hooks.paths(all(&["wan1@gw:1"]));
        hooks.paths(all(&["wan2"]));
        hooks.paths(all(&[]));
        hooks.paths(all(&["wan1"]));
        let told = || fs::read_to_string(&log).unwrap_or_default();
        while told().lines().count() < 8 {
            std::thread::sleep(LOOK);
        }
        hooks.finish();
        let lines = [
            "connected rw0 10.77.0.2/24",
            "path-up rw0 wan1",
            "path-down rw0 wan1",
            "path-up rw0 wan2",
            "path-down rw0 wan2",
            "disconnected rw0",
            "path-up rw0 wan1",
            "connected rw0 10.77.0.2/24",
            "disconnected rw0",
            "path-down rw0 wan1",
        ];
        assert_eq!(told().lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn an_end_is_told_before_what_paths_did() {
        let scratch = Scratch::new();
        let log = scratch.0.path().join("log");
        hook(scratch.0.path(), "slow", &format!("sleep 1; echo $ROPEWALK_EVENT >>{}", log.display()), 0o700);
        let mut hooks = ClientHooks::start(scratch.0.path(), "rw0").unwrap();
        hooks.connected(&["10.77.0.2/24".parse().unwrap()]);
        for n in 0..40 {
            hooks.paths(all(if n % 2 == 0 { &["wan1", "wan2"] } else { &["wan2"] }));
        }
        hooks.finish();
        let told = fs::read_to_string(log).unwrap();
        assert!(told.starts_with("connected\ndisconnected\npath-down\n"), "{told}");
    }

    #[test]
    fn the_loop_does_not_wait_for_slow_programs() {
        let scratch = Scratch::new();
        hook(scratch.0.path(), "slow", "sleep 1", 0o700);
        let mut hooks = ClientHooks::start(scratch.0.path(), "rw0").unwrap();
        // Far more than may wait: what does not fit is dropped.
        let before = Instant::now();
        for n in 0..200 {
            hooks.paths(all(if n % 2 == 0 { &["wan1"] } else { &[] }));
        }
        assert!(before.elapsed() < PATIENCE, "one of two hundred programs takes a second");
        drop(hooks);
    }
}
