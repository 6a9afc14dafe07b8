//! Processes in the background, their output, and their end.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::{LabError, Result};

/// How often output and end are looked at.
const LOOK: Duration = Duration::from_millis(5);
/// How long a process has to end by itself after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);
/// How much of the output an error shows, in bytes.
const SHOWN: usize = 2000;

/// A process in the background. Dropping it stops it: by its process id, politely first.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Process {
    /// Starts `command` with its standard output and error in files of the directory `logs`.
    pub fn spawn(command: &mut Command, logs: &Path) -> Result<Process> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let program = command.get_program().to_string_lossy().into_owned();
        let name =
            Path::new(&program).file_name().map_or(program.clone(), |n| n.to_string_lossy().into_owned());
        let stem = format!("{}-{name}", NEXT.fetch_add(1, Ordering::Relaxed));
        let (out, err) = (logs.join(format!("{stem}.out")), logs.join(format!("{stem}.err")));
        let create = |path: &PathBuf| {
            File::create(path).map_err(LabError::kernel(format!("write {}", path.display())))
        };
        command.stdin(Stdio::null()).stdout(create(&out)?).stderr(create(&err)?);
        let child = command.spawn().map_err(|source| LabError::Run { program, source })?;
        Ok(Process { name, child, out, err })
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has written to standard output so far.
    pub fn stdout(&self) -> String {
        read(&self.out)
    }

    /// What it has written to standard error so far.
    pub fn stderr(&self) -> String {
        read(&self.err)
    }

    /// Waits for a whole line, on either output, that contains `needle`; gives the line.
    pub fn wait_for_line(&mut self, needle: &str, timeout: Duration) -> Result<String> {
        let until = Instant::now() + timeout;
        loop {
            // Before the output is read: what was written before the end is then seen.
            let ended = self.exit_status()?;
            for text in [self.stdout(), self.stderr()] {
                if let Some(line) =
                    text.split_inclusive('\n').find(|l| l.ends_with('\n') && l.contains(needle))
                {
                    return Ok(line.trim_end().to_owned());
                }
            }
            if ended.is_some() || Instant::now() >= until {
                return Err(LabError::Silent {
                    process: self.name.clone(),
                    needle: needle.to_owned(),
                    waited: timeout,
                    ended: ended.map(|status| format!(" and ended with {status}")).unwrap_or_default(),
                    said: tail(&(self.stdout() + &self.stderr())),
                });
            }
            std::thread::sleep(LOOK);
        }
    }

    /// How it ended, if it has.
    pub fn exit_status(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait().map_err(LabError::kernel(format!("ask for {}'s end", self.name)))
    }

    /// Waits for its end; stops it and fails if that takes longer than `timeout`.
    pub fn wait(&mut self, timeout: Duration) -> Result<ExitStatus> {
        let until = Instant::now() + timeout;
        loop {
            if let Some(status) = self.exit_status()? {
                return Ok(status);
            }
            if Instant::now() >= until {
                self.stop();
                return Err(LabError::Endless {
                    process: self.name.clone(),
                    waited: timeout,
                    log: self.out.clone(),
                });
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Sends a signal.
    pub fn signal(&mut self, signal: Signal) -> Result<()> {
        // Not to a process that has ended and been waited for: its id may be somebody else's.
        match (self.exit_status()?, Pid::from_raw(self.child.id() as i32)) {
            (None, Some(pid)) => {
                kill_process(pid, signal).map_err(LabError::kernel(format!("signal {}", self.name)))
            }
            _ => Ok(()),
        }
    }

    /// Kills it at once, as a crash would, and waits for its end.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks it to end with SIGTERM, kills it if it has not within two seconds.
    pub fn stop(&mut self) {
        let _ = self.signal(Signal::TERM);
        let until = Instant::now() + GRACE;
        while Instant::now() < until {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(LOOK);
        }
        self.kill();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

/// The end of a text, cut between characters.
fn tail(text: &str) -> String {
    let from = text.len().saturating_sub(SHOWN);
    let from = (from..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
    text[from..].to_owned()
}
