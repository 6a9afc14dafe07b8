//! A machine whose time is counted in instructions: a real kernel in QEMU, to which one instruction of its one processor is a
//! nanosecond.
//!
//! The host's noise does not reach it: a busy host makes it slower, and its clock with it. While its processor idles, time
//! jumps to the next timer. It boots an image that holds this program, the programs that this one runs, and kernel modules;
//! [`inside::run`] is its first process. What the program leaves in [`OUT`] comes back when it has ended.
//!
//! ```no_run
//! use std::path::PathBuf;
//! use std::sync::atomic::AtomicBool;
//! use ropewalk_lab::machine::{Machine, Source};
//!
//! # fn main() -> ropewalk_lab::Result<()> {
//! let machine = Machine {
//!     source: Source::find(None)?,
//!     program: PathBuf::from("/usr/bin/ropewalk"),
//!     files: Vec::new(),
//!     words: ["lab", "run", "/files/f.toml", "--out", "/out"].map(str::to_owned).to_vec(),
//!     seed: 1,
//!     patience: std::time::Duration::from_secs(600),
//! };
//! if let Some(ended) = machine.run(&AtomicBool::new(false))? {
//!     println!("it ended with {}; it was {}", ended.status, ended.machine);
//! }
//! # Ok(())
//! # }
//! ```

mod archive;
mod emulator;
mod image;
pub mod inside;
mod modules;
mod source;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

pub use self::source::Source;
use crate::{LabError, Result};

/// In the machine: what its program leaves here comes back.
pub const OUT: &str = "/out";
/// In the machine: where the files are that it was given.
pub const FILES: &str = "/files";
/// In the machine: its program's standard output and error, below [`OUT`].
const SAID: [&str; 2] = ["stdout", "stderr"];
/// In the machine: what it is to do.
const TASK: &str = "/task.json";
/// In the machine: how that ended, below [`OUT`].
const ENDED: &str = "ended.json";
/// How often the emulator's end is looked for.
const LOOK: Duration = Duration::from_millis(50);
/// Of a console, what is shown of a machine that left nothing: bytes.
const SHOWN: usize = 2000;

/// A machine, and what it is to do.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its kernel.
    pub source: Source,
    /// The program that it runs. It is its first process too, and calls [`inside::run`] when its arguments are `lab machine`.
    pub program: PathBuf,
    /// Files that it has below [`FILES`], by name.
    pub files: Vec<(String, Vec<u8>)>,
    /// The program's arguments.
    pub words: Vec<String>,
    /// Of its kernel's randomness.
    pub seed: u64,
    /// Time of the host after which it is stopped.
    pub patience: Duration,
}

/// How its program ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its exit status; 128 and the signal's number if a signal ended it.
    pub status: i32,
    /// What the machine was: kernel, emulator, processor.
    pub machine: String,
    /// What the program left in [`OUT`], by name below it.
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    /// What the program said on standard output and on standard error.
    pub said: [String; 2],
}

/// What the machine's first process is to do.
#[derive(Debug, Serialize, Deserialize)]
struct Task {
    words: Vec<String>,
    modules: Vec<PathBuf>,
}

/// What it says in the end.
#[derive(Debug, Serialize, Deserialize)]
struct End {
    status: i32,
    kernel: String,
}

impl Machine {
    /// Boots it and waits for its end; none: it was interrupted. Its files have no names and its emulator ends with this
    /// thread, so nothing of it is left afterwards, however this process ends.
    ///
    /// # Errors
    /// The emulator, a program or a module is not there; it did not end in time, or left nothing.
    pub fn run(&self, interrupted: &AtomicBool) -> Result<Option<Ended>> {
        let version = emulator::version()?;
        let mut host_files = emulator::HostFiles::new()?;
        image::write(self, &mut host_files.image)?;
        let mut child = emulator::start(self, &host_files)?;
        let until = Instant::now() + self.patience;
        let ended = loop {
            let ended = child.try_wait().map_err(LabError::kernel("wait for the emulator"))?;
            let late = Instant::now() >= until;
            if ended.is_some() || late || interrupted.load(Ordering::Relaxed) {
                break ended;
            }
            std::thread::sleep(LOOK);
        };
        if ended.is_none() {
            let _ = child.kill();
            let _ = child.wait();
        }
        // Ctrl-C on a terminal reaches the emulator too.
        if interrupted.load(Ordering::Relaxed) {
            return Ok(None);
        }
        read_ended(&mut host_files.out, &version).map(Some).ok_or_else(|| LabError::Machine {
            late: if ended.is_none() { format!(" within {:?}", self.patience) } else { String::new() },
            said: [tail(&mut host_files.console), tail(&mut host_files.complaints)]
                .concat()
                .trim()
                .to_owned(),
        })
    }
}

/// What came back; none if that is not whole.
fn read_ended(out: &mut File, version: &str) -> Option<Ended> {
    out.rewind().ok()?;
    let mut files = archive::read(out)?;
    let end: End = serde_json::from_slice(&files.remove(Path::new(ENDED))?).ok()?;
    let said = SAID
        .map(|name| String::from_utf8_lossy(&files.remove(Path::new(name)).unwrap_or_default()).into_owned());
    let machine = format!("Linux {} in {version}: {}", end.kernel, emulator::PROCESSOR);
    Some(Ended { status: end.status, machine, files, said })
}

/// The end of a text.
fn tail(file: &mut File) -> String {
    let mut bytes = Vec::new();
    let read = file.rewind().and_then(|()| file.read_to_end(&mut bytes));
    let bytes = if read.is_ok() { &bytes[bytes.len().saturating_sub(SHOWN)..] } else { &[] };
    String::from_utf8_lossy(bytes).into_owned()
}

/// Whether this process is the first of a machine.
pub fn is_inside() -> bool {
    let words = std::env::args_os().skip(1);
    std::process::id() == 1 && Path::new(TASK).exists() && words.eq(["lab", "machine"].map(OsStr::new))
}
