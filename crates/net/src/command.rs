//! Running the system's own programs.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// How long a program may take: longer than D-Bus waits for a service (25 s), and not for ever.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Why a program did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It is not there.
    #[error("`{program}` is not installed: {purpose} needs it (package {package})")]
    Missing {
        /// The program.
        program: &'static str,
        /// What for.
        purpose: &'static str,
        /// What to install.
        package: &'static str,
    },
    /// It refused; in its own words.
    #[error("{purpose}: `{program}` said: {said}")]
    Failed {
        /// The program.
        program: &'static str,
        /// What for.
        purpose: &'static str,
        /// Its first line of complaint.
        said: String,
    },
}

/// What to start for a program of the system: its name where PATH has it, or else where it is. Services and
/// plain users often lack the system's own directories in PATH.
pub fn locate(program: &str) -> PathBuf {
    locate_in(&std::env::var_os("PATH").unwrap_or_default(), program)
}

fn locate_in(path: &OsStr, program: &str) -> PathBuf {
    let own = ["/usr/sbin", "/sbin", "/usr/bin"].map(|directory| Path::new(directory).join(program));
    match std::env::split_paths(path).any(|directory| directory.join(program).is_file()) {
        true => program.into(),
        false => own.into_iter().find(|file| file.is_file()).unwrap_or_else(|| program.into()),
    }
}

/// A program of the system and what we need it for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tool {
    pub(crate) program: &'static str,
    pub(crate) purpose: &'static str,
    pub(crate) package: &'static str,
}

impl Tool {
    /// Runs it to its end and returns what it printed.
    pub(crate) fn run(&self, arguments: &[&str], input: &str) -> Result<String, CommandError> {
        self.run_within(PATIENCE, arguments, input)
    }

    /// The same; a program that takes longer than `patience` is ended, and has failed.
    pub(crate) fn run_within(
        &self,
        patience: Duration,
        arguments: &[&str],
        input: &str,
    ) -> Result<String, CommandError> {
        let outcome = run(&locate(self.program), arguments, input, patience);
        match outcome {
            Ok(Ok(printed)) => Ok(printed),
            Ok(Err(complaint)) => Err(self.failed(complaint)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Err(CommandError::Missing {
                program: self.program,
                purpose: self.purpose,
                package: self.package,
            }),
            Err(e) => Err(self.failed(e.to_string())),
        }
    }

    fn failed(&self, said: String) -> CommandError {
        CommandError::Failed { program: self.program, purpose: self.purpose, said }
    }
}

/// What it printed, or the first line of its complaint.
fn run(
    program: &Path,
    arguments: &[&str],
    input: &str,
    patience: Duration,
) -> io::Result<Result<String, String>> {
    let mut child = Command::new(program)
        .args(arguments)
        // Ctrl-C at a terminal is for the daemon alone: what takes its changes back has to end its
        // work.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let limit = Limit::start(&child, patience);
    if let Some(mut pipe) = child.stdin.take() {
        // A program that does not read its input has its reasons, and says them.
        let _ = pipe.write_all(input.as_bytes());
    }
    let output = child.wait_with_output();
    if limit.is_some_and(Limit::was_reached) {
        let words = format!("it did not end within {:.1} s, and was ended", patience.as_secs_f64());
        return Err(io::Error::new(io::ErrorKind::TimedOut, words));
    }
    let output = output?;
    if output.status.success() {
        return Ok(Ok(String::from_utf8_lossy(&output.stdout).into_owned()));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().find(|l| !l.trim().is_empty()).map(|l| l.trim().to_owned());
    Ok(Err(line.unwrap_or_else(|| output.status.to_string())))
}

/// Ends a program that takes too long, by a descriptor of it: once it has ended, its number may be
/// another's.
struct Limit {
    done: Sender<()>,
    thread: JoinHandle<bool>,
}

impl Limit {
    /// `None` where it cannot be had: then the program is waited for as long as it takes.
    fn start(child: &Child, patience: Duration) -> Option<Limit> {
        let process = pidfd_open(Pid::from_child(child), PidfdFlags::empty()).ok()?;
        let (done, over) = channel();
        let work = move || {
            let is_late = over.recv_timeout(patience) == Err(RecvTimeoutError::Timeout);
            is_late && pidfd_send_signal(&process, Signal::KILL).is_ok()
        };
        let thread = std::thread::Builder::new().name("patience".into()).spawn(work).ok()?;
        Some(Limit { done, thread })
    }

    /// The program is over. Whether it was ended.
    fn was_reached(self) -> bool {
        drop(self.done);
        self.thread.join().unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn tool(program: &'static str) -> Tool {
        Tool { program, purpose: "a test", package: "none" }
    }

    #[test]
    fn says_what_is_missing_and_what_was_said() {
        let missing = tool("rw-no-such-program").run(&[], "").unwrap_err().to_string();
        assert_eq!(missing, "`rw-no-such-program` is not installed: a test needs it (package none)");
        let failed = tool("sh").run(&["-c", "echo; echo no >&2; exit 3"], "").unwrap_err().to_string();
        assert_eq!(failed, "a test: `sh` said: no");
        assert_eq!(tool("cat").run(&[], "hello").unwrap(), "hello");
    }

    #[test]
    fn a_program_is_found_without_the_system_s_directories_in_path() {
        let without = OsStr::new("/rw-no-such-directory");
        let found = locate_in(without, "env");
        assert!(found.is_absolute() && found.ends_with("env"), "{found:?}");
        assert_eq!(locate_in(OsStr::new("/rw-no-such-directory:/usr/bin"), "env"), Path::new("env"));
        assert_eq!(locate_in(without, "rw-no-such-program"), Path::new("rw-no-such-program"));
    }

    #[test]
    fn a_program_that_hangs_is_ended_also_one_that_takes_no_input() {
        for input in [String::new(), "x".repeat(1 << 20)] {
            let began = Instant::now();
            let hangs = tool("sleep").run_within(Duration::from_millis(200), &["60"], &input);
            let said = hangs.unwrap_err().to_string();
            assert_eq!(said, "a test: `sleep` said: it did not end within 0.2 s, and was ended");
            assert!(began.elapsed() < Duration::from_secs(30));
        }
        // One that ends in time has all of it.
        let ends = tool("cat").run_within(Duration::from_secs(20), &[], "hello");
        assert_eq!(ends.unwrap(), "hello");
    }
}
