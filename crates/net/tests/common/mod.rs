//! Throwaway network namespaces for the root tests.
#![allow(dead_code, missing_docs)]

use std::fs::File;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Whether the tests of this file can run; says why not.
pub fn root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        ropewalk_skip::skip("needs root to make network namespaces");
    }
    root
}

/// Runs `ip` with words separated by spaces; panics with its words if it fails.
pub fn ip(words: &str) -> String {
    run("ip", words)
}

/// As [`ip`], for any program.
pub fn run(program: &str, words: &str) -> String {
    let output = Command::new(program).args(words.split_whitespace()).output().expect(program);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {words}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A network namespace that is deleted with the value. Threads leave it first: `inside` joins them.
pub struct Netns {
    pub name: String,
}

impl Netns {
    pub fn new(suffix: &str) -> Netns {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("rw-net-{}-{count}-{suffix}", std::process::id());
        ip(&format!("netns add {name}"));
        let ns = Netns { name };
        ns.ip("link set lo up");
        ns
    }

    /// `ip` inside the namespace.
    pub fn ip(&self, words: &str) -> String {
        ip(&format!("-n {} {words}", self.name))
    }

    /// Another program inside the namespace.
    pub fn run(&self, program: &str, words: &str) -> String {
        ip(&format!("netns exec {} {program} {words}", self.name))
    }

    /// Runs `work` on a thread inside the namespace and returns its result; panics pass through. Sockets and
    /// devices that it opens stay in the namespace when they are used from elsewhere.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let file = File::open(format!("/run/netns/{}", self.name)).expect("the namespace");
                let network = Some(LinkNameSpaceType::Network);
                move_into_link_name_space(std::os::fd::AsFd::as_fd(&file), network).expect("setns");
                work()
            });
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

impl Drop for Netns {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.name]).status();
    }
}

/// A directory of its own, deleted with the value.
pub struct State(pub std::path::PathBuf);

impl State {
    pub fn new(ns: &Netns) -> State {
        let path = std::env::temp_dir().join(format!("{}-state", ns.name));
        std::fs::create_dir(&path).unwrap();
        State(path)
    }
}

impl std::ops::Deref for State {
    type Target = std::path::Path;
    fn deref(&self) -> &std::path::Path {
        &self.0
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A cable between two namespaces. Addresses with their prefix lengths; no duplicate address detection, so
/// they work at once.
pub fn cable(a: (&Netns, &str, &[&str]), b: (&Netns, &str, &[&str])) {
    ip(&format!("link add {} netns {} type veth peer name {} netns {}", a.1, a.0.name, b.1, b.0.name));
    for (ns, device, addresses) in [a, b] {
        for address in addresses {
            let nodad = if address.contains(':') { "nodad" } else { "" };
            ns.ip(&format!("address add {address} dev {device} {nodad}"));
        }
        ns.ip(&format!("link set {device} up"));
    }
}

/// Asks `done` every few milliseconds until it says so, for at most three seconds.
pub fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..600 {
        if done() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("waited three seconds in vain: {what}");
}
