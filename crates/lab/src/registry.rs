//! What this process has made outside itself, so that it can be undone when the process is interrupted.
//!
//! Names begin with `rw-` and the process id. A killed run cannot undo anything, so the next one may: [`remove_stale`]
//! removes the namespaces whose process is no more. Devices need no such care, they end with their file descriptors.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::namespace;

const PREFIX: &str = "rw-";

static NAMESPACES: Mutex<Vec<String>> = Mutex::new(Vec::new());
static DIRECTORIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn lock<T>(list: &Mutex<Vec<T>>) -> std::sync::MutexGuard<'_, Vec<T>> {
    list.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A name that no other topology, of this or another process, uses: `rw-<process>-<number>`.
pub(crate) fn unique_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{PREFIX}{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn add_namespace(name: &str) {
    lock(&NAMESPACES).push(name.to_owned());
}

pub(crate) fn remove_namespace(name: &str) {
    namespace::remove(name);
    lock(&NAMESPACES).retain(|n| n != name);
}

pub(crate) fn add_directory(path: PathBuf) {
    lock(&DIRECTORIES).push(path);
}

pub(crate) fn remove_directory(path: &PathBuf) {
    let _ = fs::remove_dir_all(path);
    lock(&DIRECTORIES).retain(|d| d != path);
}

/// Undoes everything this process has made; for signal handlers' threads.
pub(crate) fn remove_everything() {
    let namespaces: Vec<String> = lock(&NAMESPACES).clone();
    namespaces.iter().for_each(|name| namespace::remove(name));
    let directories: Vec<PathBuf> = lock(&DIRECTORIES).clone();
    directories.iter().for_each(|path| drop(fs::remove_dir_all(path)));
}

/// Removes the namespaces and output directories of runs whose process is no more; gives their names.
pub(crate) fn remove_stale() -> Vec<String> {
    let stale: Vec<String> = namespace::all().into_iter().filter(|name| is_stale(name)).collect();
    stale.iter().for_each(|name| namespace::remove(name));
    let files = fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    for file in files.filter(|f| f.file_name().to_str().is_some_and(is_stale)) {
        let _ = fs::remove_dir_all(file.path());
    }
    stale
}

/// Whether `name` is one of ours and its process has ended.
fn is_stale(name: &str) -> bool {
    let pid = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
    pid.is_some_and(|pid| !is_alive(pid))
}

/// Whether a process runs. One that has ended but that nobody has waited for, as in containers without an init, does not.
fn is_alive(pid: u32) -> bool {
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        // The state is behind the name, which may hold anything (proc_pid_stat(5)).
        Ok(stat) => !stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with(['Z', 'X'])),
        Err(error) => !matches!(error.kind(), std::io::ErrorKind::NotFound),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_dead_are_stale() {
        assert!(!is_stale(&unique_name()));
        assert!(!is_stale("rw-"));
        assert!(!is_stale("rw-gateway"));
        assert!(!is_stale("docker-4294967295-0"));
        // Above the kernel's largest process id, 2^22.
        assert!(is_stale("rw-4294967295-0-client"));
    }

    #[test]
    fn who_has_ended_and_was_not_waited_for_is_dead() {
        let mut child =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let name = format!("rw-{}-0-client", child.id());
        assert!(!is_stale(&name));
        drop(child.stdin.take());
        // Ends, and stays a zombie until the call of `wait` below.
        let flags = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
        rustix::process::waitid(
            rustix::process::WaitId::Pid(rustix::process::Pid::from_child(&child)),
            flags,
        )
        .unwrap();
        assert!(is_stale(&name));
        child.wait().unwrap();
        assert!(is_stale(&name));
    }
}
