//! Runs the programs of a directory, one at a time.

use crate::exit::{Code, failure};
use anyhow::Context;
use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Programs that are run for an event.
const PROGRAMS: usize = 16;
/// How long one may run.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// How long the daemon waits for them when it ends: one may run already.
const FAREWELL: Duration = Duration::from_secs(12);
/// Between looks at a program that runs.
pub(super) const LOOK: Duration = Duration::from_millis(20);
/// The least time between two lines about events that are not told.
const SAY_AGAIN: Duration = Duration::from_secs(60);
/// The daemon's device.
pub(super) const DEVICE: &str = "ROPEWALK_DEVICE";
/// An interface of this machine.
pub(super) const INTERFACE: &str = "ROPEWALK_INTERFACE";
/// Addresses inside, or an interface's.
pub(super) const ADDRESSES: &str = "ROPEWALK_ADDRESSES";
/// Where somebody else is.
pub(super) const REMOTE: &str = "ROPEWALK_REMOTE";
/// Where programs are looked for if the daemon has no `PATH`.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What happened, as programs are told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    name: &'static str,
    /// Whom it is about, where a later event about the same one makes this old.
    about: Option<(String, Topic)>,
    environment: Vec<(&'static str, String)>,
}

/// What is told of somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    /// It came or went.
    Presence,
    /// Where it comes from.
    Address,
    /// What it may use.
    Quota,
    /// Whether it is used.
    Use,
}

impl Event {
    pub(super) fn new(name: &'static str) -> Event {
        Event { name, about: None, environment: Vec::new() }
    }

    /// A later event about the same one on the same topic takes its place.
    pub(super) fn about(self, whom: &str, topic: Topic) -> Event {
        Event { about: Some((whom.to_owned(), topic)), ..self }
    }

    /// What else is in the environment. No value has more than a line.
    pub(super) fn with(mut self, key: &'static str, value: String) -> Event {
        self.environment.push((key, one_line(&value)));
        self
    }

    /// It is old once `newer` is known.
    fn is_old_by(&self, newer: &Event) -> bool {
        let (Some((whom, topic)), Some((other, later))) = (&self.about, &newer.about) else { return false };
        let is_ended = matches!(topic, Topic::Address | Topic::Use) && *later == Topic::Presence;
        whom == other && (topic == later || is_ended)
    }
}

/// The programs of a directory.
#[derive(Debug)]
pub(super) struct Programs {
    queue: Arc<Queue>,
    worker: JoinHandle<()>,
}

impl Programs {
    /// Starts the thread. Each event has the variable `of` besides its own, and `most` events wait at
    /// most.
    ///
    /// # Errors
    /// The directory is none, or others may write into it, or it cannot be listed.
    pub(super) fn start(dir: &Path, of: (&'static str, &str), most: usize) -> anyhow::Result<Programs> {
        list(dir).map_err(|why| failure(Code::Usage, format!("--hooks {}: {why}", dir.display())))?;
        let queue = Arc::new(Queue { most, waiting: Mutex::default(), changed: Condvar::new() });
        let inbox = Arc::clone(&queue);
        // Programs run in `/`, where a relative path would lead elsewhere.
        let (dir, of) = (std::path::absolute(dir)?, (of.0, one_line(of.1)));
        let thread = std::thread::Builder::new().name("hooks".into());
        let worker = thread.spawn(move || work(&inbox, &dir, &of)).context("a thread cannot be started")?;
        Ok(Programs { queue, worker })
    }

    /// For another thread, which has something to tell as well.
    pub(super) fn queue(&self) -> Arc<Queue> {
        Arc::clone(&self.queue)
    }

    pub(super) fn tell(&self, event: Event) {
        self.queue.put(event);
    }

    /// What waits and has one of these names is told no more.
    pub(super) fn forget(&self, names: &[&str]) {
        self.queue.lock().events.retain(|e| !names.contains(&e.name));
    }

    /// The daemon ends: the programs have some time for what waits.
    pub(super) fn finish(self) {
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

impl Drop for Programs {
    fn drop(&mut self) {
        self.queue.end();
    }
}

/// Events that wait for the programs.
#[derive(Debug)]
pub(super) struct Queue {
    most: usize,
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    events: VecDeque<Event>,
    /// No more come.
    is_over: bool,
    /// When it was said that some are not told.
    said: Option<Instant>,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In the place of the first that it makes old: who changes all the time keeps others waiting
    /// no longer.
    pub(super) fn put(&self, event: Event) {
        let mut waiting = self.lock();
        let place = waiting.events.iter().position(|e| e.is_old_by(&event));
        if let Some(place) = place {
            waiting.events.retain(|e| !e.is_old_by(&event));
            waiting.events.insert(place, event);
        } else if waiting.events.len() < self.most {
            waiting.events.push_back(event);
            self.changed.notify_one();
        } else if waiting.said.is_none_or(|said| said.elapsed() >= SAY_AGAIN) {
            waiting.said = Some(Instant::now());
            tracing::warn!("hooks are behind: {} is not told, nor what else comes too soon", event.name);
        }
    }

    fn end(&self) {
        self.lock().is_over = true;
        self.changed.notify_one();
    }

    /// The next event, when there is one; `None` at the end.
    fn next(&self) -> Option<Event> {
        let mut waiting = self.lock();
        loop {
            if let Some(event) = waiting.events.pop_front() {
                return Some(event);
            }
            if waiting.is_over {
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

/// What is in a directory of which nobody else has the say.
fn list(dir: &Path) -> Result<fs::ReadDir, String> {
    check(dir)?;
    fs::read_dir(dir).map_err(|e| format!("it cannot be listed: {e}"))
}

fn one_line(value: &str) -> String {
    value.replace(char::is_control, "?")
}

fn work(inbox: &Queue, dir: &Path, of: &(&'static str, String)) {
    while let Some(event) = inbox.next() {
        for program in programs(dir) {
            let name = program.display();
            let mut command = environment(&program, &event, of);
            match command.spawn().and_then(|child| wait(child, PATIENCE)) {
                Ok(Some(status)) if status.success() => {}
                Ok(Some(status)) => tracing::warn!(hook = %name, event = event.name, "failed: {status}"),
                Ok(None) => {
                    let limit = PATIENCE.as_secs();
                    tracing::warn!(hook = %name, event = event.name, "ended by force after {limit} s");
                }
                Err(error) => tracing::warn!(hook = %name, event = event.name, "cannot be run: {error}"),
            }
        }
    }
}

/// The executables of a directory, by name; those that others may write are refused.
fn programs(dir: &Path) -> Vec<PathBuf> {
    let listed = list(dir).inspect_err(|why| tracing::warn!(hooks = %dir.display(), "not run: {why}"));
    let entries = listed.into_iter().flatten().flatten();
    let executable = |p: &PathBuf| fs::metadata(p).is_ok_and(|m| m.is_file() && m.mode() & 0o111 != 0);
    let mut all: Vec<PathBuf> = entries.map(|e| e.path()).filter(executable).collect();
    all.sort();
    all.retain(|program| {
        check(program).inspect_err(|why| tracing::warn!(hook = %program.display(), "not run: {why}")).is_ok()
    });
    all.truncate(PROGRAMS);
    all
}

fn environment(program: &Path, event: &Event, of: &(&'static str, String)) -> Command {
    let mut command = Command::new(program);
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).current_dir("/");
    command.env("PATH", std::env::var_os("PATH").unwrap_or_else(|| PATH.into()));
    command.env("ROPEWALK_EVENT", event.name).env(of.0, &of.1);
    command.envs(event.environment.iter().map(|(key, value)| (key, value)));
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
impl Programs {
    /// Waits until nothing waits; one may run.
    pub(super) fn settle(&self) {
        while !self.queue.lock().events.is_empty() {
            std::thread::sleep(LOOK);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::state::tests::Scratch;
    use std::os::unix::fs::PermissionsExt;

    const OF: (&str, &str) = (DEVICE, "rw0");

    /// Puts a program into the directory.
    pub(in crate::hooks) fn hook(dir: &Path, name: &str, body: &str, mode: u32) {
        let path = dir.join(name);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }

    /// What a program of this directory noted of its environment, a line for each event, when `work`
    /// was over.
    pub(in crate::hooks) fn noted(variables: &str, work: impl FnOnce(&Path)) -> Vec<String> {
        let scratch = Scratch::new();
        let (dir, log) = (scratch.0.path(), scratch.0.path().join("log"));
        // Without the spaces of what is not there.
        hook(dir, "note", &format!("echo $(echo {variables}) >>{}", log.display()), 0o700);
        work(dir);
        let text = fs::read_to_string(log).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn only_programs_that_nobody_else_may_write_are_run() {
        let scratch = Scratch::new();
        let dir = scratch.0.path();
        hook(dir, "10-note", "true", 0o700);
        hook(dir, "20-open", "true", 0o722);
        hook(dir, "notes.txt", "exit 1", 0o600);
        assert_eq!(programs(dir), [dir.join("10-note")]);
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
        let refused = Programs::start(scratch.0.path(), OF, 8).unwrap_err();
        assert!(refused.to_string().contains("chmod go-w"), "{refused}");
        fs::set_permissions(scratch.0.path(), PermissionsExt::from_mode(0o700)).unwrap();
    }

    #[test]
    fn what_cannot_be_listed_is_refused() {
        let scratch = Scratch::new();
        hook(scratch.0.path(), "10-note", "true", 0o700);
        let refused = Programs::start(&scratch.0.path().join("10-note"), OF, 8).unwrap_err();
        assert!(refused.to_string().contains("cannot be listed"), "{refused}");
    }

    #[test]
    fn programs_of_a_directory_with_a_relative_name_are_run() {
        let scratch = Scratch::new();
        let (dir, ran) = (scratch.0.path(), scratch.0.path().join("ran"));
        hook(dir, "10-note", &format!(": > '{}'", ran.display()), 0o700);
        let here = std::env::current_dir().unwrap();
        // By way of this directory: `..` alone would lead to the same place from `/`.
        let up: PathBuf = here.components().skip(1).map(|_| "..").collect();
        let relative = Path::new("..").join(here.file_name().unwrap()).join(up);
        let relative = relative.join(dir.strip_prefix("/").unwrap());
        let programs = Programs::start(&relative, OF, 8).unwrap();
        programs.tell(Event::new("connected"));
        programs.finish();
        assert!(ran.exists());
    }

    #[test]
    fn what_waits_is_bounded_and_of_each_only_the_latest_waits() {
        let queue = Queue { most: 3, waiting: Mutex::default(), changed: Condvar::new() };
        let event = |name, whom: &str, topic| Event::new(name).about(whom, topic);
        queue.put(event("came", "alice", Topic::Presence));
        queue.put(event("came", "bob", Topic::Presence));
        queue.put(event("moved", "alice", Topic::Address));
        queue.put(event("came", "carol", Topic::Presence));
        for _ in 0..1000 {
            queue.put(event("moved", "alice", Topic::Address));
        }
        queue.put(event("over", "bob", Topic::Quota));
        queue.put(event("went", "alice", Topic::Presence));
        queue.end();
        let told: Vec<_> =
            std::iter::from_fn(|| queue.next()).map(|e| (e.name, e.about.unwrap().0)).collect();
        let expected = [("went", "alice"), ("came", "bob")].map(|(name, whom)| (name, whom.to_owned()));
        assert_eq!(told, expected, "there was no room for carol, nor for the quota");
    }

    #[test]
    fn how_one_was_used_is_not_told_once_it_has_left() {
        let queue = Queue { most: 8, waiting: Mutex::default(), changed: Condvar::new() };
        let event = |name, topic| Event::new(name).about("roam0", topic);
        queue.put(event("joined", Topic::Presence));
        queue.put(event("active", Topic::Use));
        queue.put(event("backup", Topic::Use));
        queue.put(event("left", Topic::Presence));
        queue.end();
        let told: Vec<_> = std::iter::from_fn(|| queue.next()).map(|e| e.name).collect();
        assert_eq!(told, ["left"]);
    }

    #[test]
    fn a_value_is_one_line_and_one_variable() {
        let event = Event::new("e").with("ROPEWALK_CLIENT", "a\nROPEWALK_EVENT=x\0".into());
        assert_eq!(event.environment, [("ROPEWALK_CLIENT", "a?ROPEWALK_EVENT=x?".to_owned())]);
    }
}
