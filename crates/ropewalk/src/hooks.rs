//! Programs of the user's that are told what happens: `--hooks DIR`.
//!
//! They run one after the other on a thread of their own, each for a limited time, so that the data
//! loop waits for none of them. What happens is in their environment (`ROPEWALK_EVENT` and others)
//! and nothing else is: no secrets, and nothing of the daemon's own environment but `PATH`.

use crate::exit::{Code, failure};
use anyhow::Context;
use ipnet::IpNet;
use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Events that may wait; what comes while so many do is dropped, and the log says so.
const WAITING: usize = 32;
/// Programs that are run for an event.
const PROGRAMS: usize = 16;
/// How long one may run.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the daemon waits for them when it ends: one may run already.
const FAREWELL: Duration = Duration::from_secs(12);
/// Between looks at a program that runs.
const LOOK: Duration = Duration::from_millis(20);
/// Where programs are looked for if the daemon has no `PATH`.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Happened {
    /// The gateway let this machine in; these are its addresses inside.
    Connected(Vec<IpNet>),
    /// No path works any more, or the client ends.
    Disconnected,
    /// A path carries data.
    PathUp(String),
    /// It does not any more.
    PathDown(String),
}

impl Happened {
    fn name(&self) -> &'static str {
        match self {
            Happened::Connected(_) => "connected",
            Happened::Disconnected => "disconnected",
            Happened::PathUp(_) => "path-up",
            Happened::PathDown(_) => "path-down",
        }
    }
}

/// The programs of a directory, and what they were told last.
#[derive(Debug)]
pub(crate) struct Hooks {
    queue: Arc<Queue>,
    worker: JoinHandle<()>,
    /// Paths that are up.
    up: BTreeSet<String>,
    /// The addresses inside, from the first connection on.
    inside: Vec<IpNet>,
    is_connected: bool,
}

impl Hooks {
    /// Starts the thread. `device` is the bond's.
    ///
    /// # Errors
    /// The directory is none, or others may write into it.
    pub(crate) fn start(dir: &Path, device: &str) -> anyhow::Result<Hooks> {
        check(dir).map_err(|why| failure(Code::Usage, format!("--hooks {}: {why}", dir.display())))?;
        let queue = Arc::new(Queue::default());
        let inbox = Arc::clone(&queue);
        let (dir, device) = (dir.to_owned(), device.to_owned());
        let thread = std::thread::Builder::new().name("hooks".into());
        let worker =
            thread.spawn(move || work(&inbox, &dir, &device)).context("a thread cannot be started")?;
        Ok(Hooks { queue, worker, up: BTreeSet::new(), inside: Vec::new(), is_connected: false })
    }

    /// The gateway let this machine in.
    pub(crate) fn connected(&mut self, inside: &[IpNet]) {
        if !self.is_connected || self.inside != inside {
            (self.is_connected, self.inside) = (true, inside.to_vec());
            self.tell(Happened::Connected(inside.to_vec()));
        }
    }

    /// Which paths work now; what has changed is told.
    pub(crate) fn paths(&mut self, up: BTreeSet<String>) {
        if up == self.up {
            return;
        }
        let before = std::mem::replace(&mut self.up, up.clone());
        before.difference(&up).for_each(|p| self.tell(Happened::PathDown(p.clone())));
        up.difference(&before).for_each(|p| self.tell(Happened::PathUp(p.clone())));
        if up.is_empty() && self.is_connected {
            self.is_connected = false;
            self.tell(Happened::Disconnected);
        } else if !up.is_empty() && !self.is_connected && !self.inside.is_empty() {
            // The session outlived its paths.
            let inside = std::mem::take(&mut self.inside);
            self.connected(&inside);
        }
    }

    fn tell(&self, happened: Happened) {
        self.queue.put(happened);
    }

    /// The client ends: the last events, and some time for the programs. That it ends comes first,
    /// and what paths did before is told no more.
    pub(crate) fn finish(self) {
        self.queue.forget_paths();
        if self.is_connected {
            self.tell(Happened::Disconnected);
        }
        self.up.iter().for_each(|p| self.tell(Happened::PathDown(p.clone())));
        self.queue.end();
        let until = Instant::now() + FAREWELL;
        while !self.worker.is_finished() {
            if Instant::now() >= until {
                tracing::warn!("hooks take more than {} s: the last events are not told", FAREWELL.as_secs());
                return;
            }
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for Hooks {
    fn drop(&mut self) {
        self.queue.end();
    }
}

/// Events that wait for the programs.
#[derive(Debug, Default)]
struct Queue {
    /// In order; and whether no more come.
    waiting: Mutex<(VecDeque<Happened>, bool)>,
    changed: Condvar,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, (VecDeque<Happened>, bool)> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, happened: Happened) {
        let mut waiting = self.lock();
        if waiting.0.len() < WAITING {
            waiting.0.push_back(happened);
            self.changed.notify_one();
        } else {
            tracing::warn!("hooks are behind: {} is not told", happened.name());
        }
    }

    fn forget_paths(&self) {
        self.lock().0.retain(|h| !matches!(h, Happened::PathUp(_) | Happened::PathDown(_)));
    }

    fn end(&self) {
        self.lock().1 = true;
        self.changed.notify_one();
    }

    /// The next event, when there is one; `None` at the end.
    fn next(&self) -> Option<Happened> {
        let mut waiting = self.lock();
        loop {
            if let Some(happened) = waiting.0.pop_front() {
                return Some(happened);
            }
            if waiting.1 {
                return None;
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Whoever may write there runs programs with the daemon's rights.
fn check(path: &Path) -> Result<(), String> {
    let meta = fs::metadata(path).map_err(|e| e.to_string())?;
    let we = rustix::process::geteuid().as_raw();
    if meta.uid() != 0 && meta.uid() != we {
        return Err(format!("it belongs to user {}, who is neither root nor the daemon's", meta.uid()));
    }
    if meta.mode() & 0o022 != 0 {
        return Err("others may write it: chmod go-w".into());
    }
    Ok(())
}

fn work(inbox: &Queue, dir: &Path, device: &str) {
    while let Some(happened) = inbox.next() {
        for program in programs(dir) {
            let name = program.display();
            let mut command = environment(&program, &happened, device);
            match command.spawn().and_then(|child| wait(child, PATIENCE)) {
                Ok(Some(status)) if status.success() => {}
                Ok(Some(status)) => tracing::warn!(hook = %name, event = happened.name(), "failed: {status}"),
                Ok(None) => {
                    let limit = PATIENCE.as_secs();
                    tracing::warn!(hook = %name, event = happened.name(), "ended by force after {limit} s");
                }
                Err(error) => tracing::warn!(hook = %name, event = happened.name(), "cannot be run: {error}"),
            }
        }
    }
}

/// The executables of a directory, by name; those that others may write are refused.
fn programs(dir: &Path) -> Vec<PathBuf> {
    if let Err(why) = check(dir) {
        tracing::warn!(hooks = %dir.display(), "not run: {why}");
        return Vec::new();
    }
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let executable = |p: &PathBuf| fs::metadata(p).is_ok_and(|m| m.is_file() && m.mode() & 0o111 != 0);
    let mut all: Vec<PathBuf> = entries.map(|e| e.path()).filter(executable).collect();
    all.sort();
    all.retain(|program| {
        check(program).inspect_err(|why| tracing::warn!(hook = %program.display(), "not run: {why}")).is_ok()
    });
    all.truncate(PROGRAMS);
    all
}

fn environment(program: &Path, happened: &Happened, device: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).current_dir("/");
    command.env("PATH", std::env::var_os("PATH").unwrap_or_else(|| PATH.into()));
    command.env("ROPEWALK_EVENT", happened.name()).env("ROPEWALK_DEVICE", device);
    match happened {
        Happened::PathUp(path) | Happened::PathDown(path) => {
            let interface = path.split('@').next().unwrap_or(path);
            command.env("ROPEWALK_PATH", path).env("ROPEWALK_INTERFACE", interface);
        }
        Happened::Connected(inside) => {
            let all: Vec<String> = inside.iter().map(ToString::to_string).collect();
            command.env("ROPEWALK_ADDRESSES", all.join(" "));
        }
        Happened::Disconnected => {}
    }
    // Its own group, so that what it starts ends with it.
    command.process_group(0);
    command
}

/// How it ended; `None` if it had to be ended.
fn wait(mut child: Child, patience: Duration) -> std::io::Result<Option<ExitStatus>> {
    let until = Instant::now() + patience;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            if let Some(group) = rustix::process::Pid::from_raw(child.id().cast_signed()) {
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            }
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::Scratch;
    use std::os::unix::fs::PermissionsExt;

    fn hook(dir: &Path, name: &str, body: &str, mode: u32) {
        let path = dir.join(name);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }

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
        hook(dir, "20-open", "echo >/nonexistent", 0o722);
        hook(dir, "notes.txt", "exit 1", 0o600);
        assert_eq!(programs(dir).len(), 1, "of the others one is writable for all, and one no program");
        let mut hooks = Hooks::start(dir, "rw0").unwrap();
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
        let mut hooks = Hooks::start(scratch.0.path(), "rw0").unwrap();
        hooks.connected(&["10.77.0.2/24".parse().unwrap()]);
        for n in 0..40 {
            hooks.paths(all(if n % 2 == 0 { &["wan1", "wan2"] } else { &["wan2"] }));
        }
        hooks.finish();
        let told = fs::read_to_string(log).unwrap();
        assert!(told.starts_with("connected\ndisconnected\npath-down\n"), "{told}");
    }

    #[test]
    fn a_program_that_does_not_end_is_ended_with_what_it_started() {
        let child = |line: &str| Command::new("sh").args(["-c", line]).process_group(0).spawn().unwrap();
        assert!(wait(child("exit 3"), Duration::from_secs(60)).unwrap().is_some_and(|s| s.code() == Some(3)));
        assert_eq!(wait(child("sleep 600 & sleep 600"), Duration::from_millis(100)).unwrap(), None);
    }

    #[test]
    fn a_directory_that_others_may_write_is_refused() {
        let scratch = Scratch::new();
        fs::set_permissions(scratch.0.path(), PermissionsExt::from_mode(0o777)).unwrap();
        assert!(Hooks::start(scratch.0.path(), "rw0").unwrap_err().to_string().contains("chmod go-w"));
        fs::set_permissions(scratch.0.path(), PermissionsExt::from_mode(0o700)).unwrap();
    }

    #[test]
    fn the_loop_does_not_wait_for_slow_programs() {
        let scratch = Scratch::new();
        hook(scratch.0.path(), "slow", "sleep 1", 0o700);
        let mut hooks = Hooks::start(scratch.0.path(), "rw0").unwrap();
        // Far more than may wait: what does not fit is dropped.
        let before = Instant::now();
        for n in 0..200 {
            hooks.paths(all(if n % 2 == 0 { &["wan1"] } else { &[] }));
        }
        assert!(before.elapsed() < PATIENCE, "one of two hundred programs takes a second");
        drop(hooks);
    }
}
