//! Coupled controllers of the kernel, for the time of a run.
//!
//! The kernel has one list of them for the whole machine. So each one that a run has loaded has a
//! file, which every run that needs it locks (flock(2)); the last of them unloads it. A lock ends with
//! its process: a file without one is of runs that were killed, and the next start unloads what they
//! left. What a user has loaded has no file, and stays.

use ropewalk_kern::{KernError, Law, lock_file};
use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::TcpControl;
use rustix::fs::{FlockOperation, flock};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the files are. After a reboot there are none, as in the kernel's list.
const FILES: &str = "/run/ropewalk-controllers";
/// Who has locked this one may load, unload, make files and remove them.
const LOCK: &str = "lock";
/// How long others may take: a start may unload all four that killed runs have left, and the kernel
/// may take 5 s for each.
const OTHERS: Duration = Duration::from_secs(30);

/// What has the list; another one in tests.
pub(super) trait Kernel {
    /// It is listed.
    fn has(&self, law: Law) -> bool;
    /// Lists it.
    fn load(&self, law: Law) -> Result<(), KernError>;
    /// Lists it no more; no error if it was not.
    fn unload(&self, law: Law) -> Result<(), KernError>;
}

/// This machine's.
#[derive(Debug)]
pub(super) struct ThisKernel;

impl Kernel for ThisKernel {
    fn has(&self, law: Law) -> bool {
        ropewalk_kern::status().iter().any(|s| s.law == law && s.is_registered)
    }

    fn load(&self, law: Law) -> Result<(), KernError> {
        ropewalk_kern::load(law).map(drop)
    }

    fn unload(&self, law: Law) -> Result<(), KernError> {
        ropewalk_kern::unload(law).map(drop)
    }
}

/// Controllers that a run needs, and that it or other runs have loaded. Dropping it unloads those
/// that no other run needs.
#[derive(Debug)]
pub(super) struct Controllers<K: Kernel = ThisKernel> {
    kernel: K,
    files: PathBuf,
    /// For others that load or unload.
    patience: Duration,
    held: Vec<(Law, File)>,
}

impl Controllers {
    /// Loads what the scenario asks for and this kernel lacks. What cannot be loaded is said; the
    /// run is refused for it later, with the key.
    pub(super) fn load(scenario: &Scenario) -> Controllers {
        Controllers::load_with(ThisKernel, (FILES.into(), OTHERS), &wanted(scenario))
    }
}

impl<K: Kernel> Controllers<K> {
    fn load_with(kernel: K, (files, patience): (PathBuf, Duration), wanted: &[Law]) -> Controllers<K> {
        let mut all = Controllers { kernel, files, patience, held: Vec::new() };
        if wanted.is_empty() && !all.files.exists() {
            return all;
        }
        match lock(&all.files, all.patience) {
            Ok(_locked) => {
                all.clear();
                wanted.iter().for_each(|law| all.hold(*law));
            }
            // Whoever has the lock may yet unload what is loaded now.
            Err(error @ KernError::Locked(_)) if !wanted.is_empty() => {
                eprintln!("ropewalk: no controller is loaded: {error}");
            }
            // Without the host's root nothing can be loaded either.
            Err(error) => all.load_for_good(wanted, &error),
        }
        all
    }

    fn file(&self, law: Law) -> PathBuf {
        self.files.join(law.kernel_name())
    }

    /// Unloads what runs have left that were killed.
    fn clear(&self) {
        for law in Law::ALL {
            if File::open(self.file(law)).is_ok_and(|file| is_last(&file)) {
                self.unload(law);
            }
        }
    }

    fn hold(&mut self, law: Law) {
        let (file, has) = (self.file(law), self.kernel.has(law));
        if has && !file.exists() {
            return;
        }
        // First the file: a run that is killed in between leaves nothing that nobody unloads.
        let held = share(&file).map_err(|error| error.to_string()).and_then(|held| {
            if !has {
                self.kernel.load(law).map_err(|error| error.to_string())?;
            }
            Ok(held)
        });
        match held {
            Ok(held) => self.held.push((law, held)),
            Err(error) => {
                eprintln!("ropewalk: {} cannot be loaded: {error}", law.kernel_name());
                if !has {
                    let _ = std::fs::remove_file(file);
                }
            }
        }
    }

    /// Where nobody can count who needs it.
    fn load_for_good(&self, wanted: &[Law], why: &KernError) {
        for law in wanted.iter().filter(|law| !self.kernel.has(**law)) {
            let name = law.kernel_name();
            match self.kernel.load(*law) {
                Ok(()) => eprintln!("ropewalk: {name} stays loaded: {}: {why}", self.files.display()),
                Err(error) => eprintln!("ropewalk: {name} cannot be loaded: {error}"),
            }
        }
    }

    fn unload(&self, law: Law) {
        match self.kernel.unload(law) {
            Ok(()) => drop(std::fs::remove_file(self.file(law))),
            Err(error) => eprintln!("ropewalk: {} stays loaded: {error}", law.kernel_name()),
        }
    }
}

impl<K: Kernel> Drop for Controllers<K> {
    fn drop(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let _locked = match lock(&self.files, self.patience) {
            Ok(locked) => locked,
            Err(error) => {
                eprintln!("ropewalk: controllers stay loaded: {}: {error}", self.files.display());
                return;
            }
        };
        for (law, held) in std::mem::take(&mut self.held) {
            // Without its file it is a user's by now.
            if is_named(&held, &self.file(law)) && is_last(&held) {
                self.unload(law);
            }
        }
    }
}

/// A user loads it, or has: it stays after the runs that need it.
///
/// # Errors
/// [`KernError::Locked`]: a run may yet unload it.
pub(crate) fn leave_loaded(law: Law) -> Result<(), KernError> {
    leave_loaded_in(Path::new(FILES), law, OTHERS)
}

fn leave_loaded_in(files: &Path, law: Law, patience: Duration) -> Result<(), KernError> {
    match lock_file(&files.join(LOCK), patience) {
        Ok(_locked) => drop(std::fs::remove_file(files.join(law.kernel_name()))),
        Err(error @ KernError::Locked(_)) => return Err(error),
        // No run has loaded any, or this user may load none either.
        Err(_) => {}
    }
    Ok(())
}

/// Waits until nobody else loads or unloads, and keeps others from it for as long as the file is open.
fn lock(files: &Path, patience: Duration) -> Result<File, KernError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(files);
    made.map_err(|error| KernError::System { what: "making the directory", error })?;
    lock_file(&files.join(LOCK), patience)
}

/// Says that a run needs the controller of this file.
fn share(path: &Path) -> io::Result<File> {
    let file = open(path)?;
    flock(&file, FlockOperation::NonBlockingLockShared)?;
    Ok(file)
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).open(path)
}

/// No run needs it, but for the one whose file this is.
fn is_last(file: &File) -> bool {
    flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

fn is_named(file: &File, path: &Path) -> bool {
    let number = |m: io::Result<std::fs::Metadata>| m.ok().map(|m| m.ino());
    let named = number(std::fs::metadata(path));
    named.is_some() && named == number(file.metadata())
}

/// The coupled controllers that flows of a scenario ask for, each once.
fn wanted(scenario: &Scenario) -> Vec<Law> {
    let of_flows = scenario.flow.iter().map(|flow| scenario.transport(flow).congestion);
    let asked: Vec<TcpControl> = of_flows.collect();
    let laws = [(TcpControl::Lia, Law::Lia), (TcpControl::Olia, Law::Olia), (TcpControl::Balia, Law::Balia)];
    laws.into_iter().filter(|(control, _)| asked.contains(control)).map(|(_, law)| law).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_scenario::Document;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// A list, and a directory for the files.
    #[derive(Clone)]
    struct Fake(Rc<RefCell<Vec<Law>>>, PathBuf);

    impl Kernel for Fake {
        fn has(&self, law: Law) -> bool {
            self.0.borrow().contains(&law)
        }

        fn load(&self, law: Law) -> Result<(), KernError> {
            assert!(!self.has(law), "loaded twice");
            self.0.borrow_mut().push(law);
            Ok(())
        }

        fn unload(&self, law: Law) -> Result<(), KernError> {
            self.0.borrow_mut().retain(|l| *l != law);
            Ok(())
        }
    }

    impl Fake {
        fn new(test: &str) -> Fake {
            let name = format!("ropewalk-controllers-{test}-{}", std::process::id());
            Fake(Rc::default(), std::env::temp_dir().join(name))
        }

        fn run(&self, wanted: &[Law]) -> Controllers<Fake> {
            Controllers::load_with(self.clone(), (self.1.clone(), Duration::from_secs(60)), wanted)
        }

        fn loaded(&self) -> Vec<Law> {
            self.0.borrow().clone()
        }

        fn files(&self) -> usize {
            std::fs::read_dir(&self.1).map_or(0, Iterator::count)
        }
    }

    /// As if its process were gone.
    fn kill(mut run: Controllers<Fake>) {
        run.held.clear();
    }

    #[test]
    fn the_last_run_unloads_and_what_a_user_has_loaded_stays() {
        let kernel = Fake::new("last");
        drop(kernel.run(&[]));
        assert_eq!(kernel.files(), 0, "a run without any makes nothing");
        kernel.load(Law::Lia).unwrap();
        let first = kernel.run(&[Law::Lia, Law::Olia]);
        let second = kernel.run(&[Law::Olia, Law::Balia]);
        let third = kernel.run(&[Law::Balia]);
        assert_eq!(kernel.loaded(), [Law::Lia, Law::Olia, Law::Balia]);
        drop(first);
        assert_eq!(kernel.loaded(), [Law::Lia, Law::Olia, Law::Balia], "the second needs them");
        drop(second);
        assert_eq!(kernel.loaded(), [Law::Lia, Law::Balia]);
        // A user wants to keep what a run has loaded.
        leave_loaded_in(&kernel.1, Law::Balia, Duration::ZERO).unwrap();
        drop(third);
        assert_eq!(kernel.loaded(), [Law::Lia, Law::Balia]);
        assert_eq!(kernel.files(), 1, "the lock");
        std::fs::remove_dir_all(&kernel.1).unwrap();
        leave_loaded_in(&kernel.1, Law::Balia, Duration::ZERO).unwrap();
        assert!(!kernel.1.exists());
    }

    /// One that was stopped (Ctrl-Z) holds the lock without an end.
    #[test]
    fn a_run_that_holds_the_lock_without_an_end_is_waited_for_and_no_longer_than_is_said() {
        let kernel = Fake::new("stopped");
        let mut first = kernel.run(&[Law::Olia]);
        let stopped = lock(&kernel.1, Duration::ZERO).unwrap();
        let soon = Duration::from_millis(20);
        let second = Controllers::load_with(kernel.clone(), (kernel.1.clone(), soon), &[Law::Balia]);
        assert!(second.held.is_empty() && kernel.loaded() == [Law::Olia], "nothing is loaded beside it");
        let error = leave_loaded_in(&kernel.1, Law::Olia, soon).unwrap_err();
        assert!(matches!(error, KernError::Locked(_)), "a run may yet unload it: {error}");
        first.patience = soon;
        drop(first);
        assert_eq!(kernel.loaded(), [Law::Olia], "it is left to the next run");
        drop(stopped);
        drop(kernel.run(&[]));
        assert_eq!(kernel.loaded(), []);
        std::fs::remove_dir_all(&kernel.1).unwrap();
    }

    #[test]
    fn what_a_killed_run_has_left_is_unloaded_by_the_next() {
        let kernel = Fake::new("killed");
        let (first, second) = (kernel.run(&[Law::Olia]), kernel.run(&[Law::Olia]));
        kill(first);
        drop(kernel.run(&[]));
        assert_eq!(kernel.loaded(), [Law::Olia], "the second lives");
        kill(second);
        assert_eq!(kernel.loaded(), [Law::Olia]);
        let third = kernel.run(&[Law::Balia]);
        assert_eq!(kernel.loaded(), [Law::Balia]);
        kill(third);
        // One that needs it loads it anew, and takes it along.
        let fourth = kernel.run(&[Law::Balia]);
        assert_eq!(kernel.loaded(), [Law::Balia]);
        drop(fourth);
        assert_eq!(kernel.loaded(), []);
        std::fs::remove_dir_all(&kernel.1).unwrap();
    }

    #[test]
    fn coupled_controllers_are_wanted_once() {
        let text = "duration = \"1s\"\n[node.a]\n[node.b]\n[[link]]\nends = [\"a:x\", \"b:x\"]\n\
             [[flow]]\nname = \"f\"\nkind = \"mptcp\"\nfrom = \"b\"\nto = \"a\"\ncongestion = \"olia\"\n\
             [[flow]]\nname = \"g\"\nkind = \"mptcp\"\nfrom = \"a\"\nto = \"b\"\ncongestion = \"balia\"\n";
        let scenario = Document::parse("test", text).unwrap().scenario().unwrap();
        assert_eq!(wanted(&scenario), [Law::Olia, Law::Balia]);
        let plain = Document::parse("test", &text.replace("olia", "cubic").replace("balia", "newreno"));
        assert_eq!(wanted(&plain.unwrap().scenario().unwrap()), []);
    }
}
