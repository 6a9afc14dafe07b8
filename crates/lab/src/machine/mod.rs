//! A machine whose time is counted in instructions: a real kernel in QEMU, to which one instruction of its one processor is a
//! nanosecond.
//!
//! The host's noise does not reach it: a busy host makes it slower, and its clock with it. While its processor idles, time
//! jumps to the next timer. It boots an initramfs that holds a program, the programs that this one runs, and kernel modules;
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
//!     programs: vec![PathBuf::from("/usr/bin/ropewalk")],
//!     files: Vec::new(),
//!     words: ["ropewalk", "lab", "run", "/files/f.toml", "--out", "/out"].map(str::to_owned).to_vec(),
//!     seed: 1,
//!     patience: std::time::Duration::from_secs(600),
//! };
//! if let Some(ended) = machine.run(&AtomicBool::new(false))? {
//!     println!("it ended with {}; its kernel was {}", ended.status, ended.kernel);
//! }
//! # Ok(())
//! # }
//! ```

mod archive;
pub mod inside;
mod modules;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use self::archive::Archive;
use self::modules::Modules;
use crate::{LabError, Result};

/// What the machine is, for reports.
pub const PROCESSOR: &str = "one processor of 1 GHz, an instruction a nanosecond (QEMU -icount)";
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
/// The file of an image with this machine's modules that an emulated one boots.
const EMULATOR: &str = "qemu-system-x86_64";
/// Memory, MiB. Nothing is swapped or written to a disk.
const MEMORY_MIB: u32 = 1024;
/// Programs of the system that the lab runs.
const SYSTEM: [&str; 4] = ["ip", "nft", "sh", "ss"];
/// Kernel modules, where the kernel has them as modules: those of the lab, of the tunnel, and the way out.
const MODULES: [&str; 12] = [
    "crc32c_generic",
    "tun",
    "veth",
    "nf_tables",
    "nft_chain_nat",
    "nft_masq",
    "nft_ct",
    "sch_tbf",
    "sch_fq_codel",
    "tcp_bbr",
    "virtio_pci",
    "virtio_console",
];
/// How often the emulator's end is looked for.
const LOOK: Duration = Duration::from_millis(50);

/// Where a kernel and its modules are.
#[derive(Clone, Debug)]
pub struct Source {
    kernel: PathBuf,
    modules: PathBuf,
}

impl Source {
    /// The newest kernel below `root`: `boot/vmlinuz-VERSION` and `lib/modules/VERSION`, as `dpkg -x linux-image-….deb ROOT`
    /// leaves them. With no `root` the environment's `VM_ROOT`, or else the system's own.
    ///
    /// # Errors
    /// There is none.
    pub fn find(root: Option<&Path>) -> Result<Source> {
        let given = root.map(Path::to_path_buf).or_else(|| std::env::var_os("VM_ROOT").map(PathBuf::from));
        let root = given.unwrap_or_else(|| PathBuf::from("/"));
        let entries = fs::read_dir(root.join("boot")).into_iter().flatten().flatten();
        let newest = entries
            .filter_map(|e| e.file_name().to_str()?.strip_prefix("vmlinuz-").map(str::to_owned))
            .filter(|version| root.join("lib/modules").join(version).is_dir())
            .max_by_key(|version| numbers(version));
        let version = newest.ok_or_else(|| LabError::NoImage(root.clone()))?;
        Ok(Source {
            kernel: root.join(format!("boot/vmlinuz-{version}")),
            modules: root.join("lib/modules").join(version),
        })
    }
}

/// The numbers of a version, in order: 6.10 is newer than 6.9.
fn numbers(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect()
}

/// A machine, and what it is to do.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its kernel.
    pub source: Source,
    /// Programs that it has in `/bin`, with the libraries that they are linked to. The first is its first process, and calls
    /// [`inside::run`] when its arguments are `lab machine`.
    pub programs: Vec<PathBuf>,
    /// Files that it has below [`FILES`], by name.
    pub files: Vec<(String, Vec<u8>)>,
    /// The program that it runs and its arguments.
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
    /// The kernel's version.
    pub kernel: String,
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
    /// Boots it and waits for its end; none: it was interrupted. Nothing of it is left afterwards.
    ///
    /// # Errors
    /// The emulator, a program or a module is not there; it did not end in time, or said nothing.
    pub fn run(&self, interrupted: &AtomicBool) -> Result<Option<Ended>> {
        let directory = Scratch::new()?;
        let [initramfs, out, console] = ["initramfs", "out", "console"].map(|name| directory.0.join(name));
        self.write_initramfs(&initramfs)?;
        let mut emulator = self.emulator(&initramfs, &out, &console);
        let mut child = emulator
            .spawn()
            .map_err(|source| LabError::Run { program: EMULATOR.to_owned(), source })?;
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
            if interrupted.load(Ordering::Relaxed) {
                return Ok(None);
            }
        }
        read_ended(&out).map(Some).ok_or_else(|| {
            let said = fs::read(&console).unwrap_or_default();
            let said = String::from_utf8_lossy(&said[said.len().saturating_sub(2000)..]).into_owned();
            let late = if ended.is_none() { format!(" within {:?}", self.patience) } else { String::new() };
            LabError::Machine { late, said }
        })
    }

    fn emulator(&self, initramfs: &Path, out: &Path, console: &Path) -> Command {
        let mut command = Command::new(EMULATOR);
        // Without a clock of its own, a display or a network; time is counted in instructions and jumps while none is due.
        command.args("-nodefaults -vga none -display none -monitor none -nic none -no-reboot".split(' '));
        command.args("-accel tcg,thread=single -icount shift=0,sleep=off,align=off -smp 1 -cpu max".split(' '));
        command.args(["-M", "pc,hpet=off", "-m", &MEMORY_MIB.to_string(), "-seed", &self.seed.to_string()]);
        command.args(["-rtc", "clock=vm,base=2026-01-01T00:00:00"]);
        command.arg("-serial").arg(joined("file:", console));
        command.args(["-device", "virtio-serial-pci", "-chardev"]).arg(joined("file,id=out,path=", out));
        command.args(["-device", "virtserialport,chardev=out,name=out"]);
        command.arg("-kernel").arg(&self.source.kernel).arg("-initrd").arg(initramfs);
        let first = self.programs[0].file_name().unwrap_or_default().to_string_lossy();
        // The seed stands in the command line too, which the kernel stirs into its randomness.
        let line = format!(
            "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable nokaslr norandmaps random.trust_cpu=off \
             ropewalk_seed={} rdinit=/bin/{first} -- lab machine",
            self.seed
        );
        command.args(["-append", &line]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit());
        command
    }

    fn write_initramfs(&self, path: &Path) -> Result<()> {
        let failed = |e| LabError::kernel(format!("write {}", path.display()))(e);
        let file = File::create(path).map_err(failed)?;
        let mut archive = Archive::new(BufWriter::new(file));
        for directory in ["bin", "dev", "proc", "sys", "run", "run/netns", "tmp", "var", "etc", "modules"] {
            archive.directory(directory).map_err(failed)?;
        }
        archive.link("var/run", "/run").map_err(failed)?;
        archive.device("dev/console", (5, 1)).map_err(failed)?;
        let modules = Modules::below(&self.source.modules).load(&MODULES)?;
        for (name, bytes) in &modules {
            archive.file(&format!("modules/{name}"), 0o644, bytes).map_err(failed)?;
        }
        let mut has = BTreeMap::new();
        for program in SYSTEM.iter().map(|name| find(name)).chain(self.programs.iter().cloned().map(Ok)) {
            let program = program?;
            let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
            has.insert(format!("bin/{name}"), program.clone());
            has.extend(libraries(&program)?.into_iter().map(|l| (l.to_string_lossy()[1..].to_owned(), l)));
        }
        for (name, from) in &has {
            let bytes = fs::read(from).map_err(LabError::kernel(format!("read {}", from.display())))?;
            archive.file(name, 0o755, &bytes).map_err(failed)?;
        }
        for (name, bytes) in &self.files {
            archive.file(&format!("{}/{name}", &FILES[1..]), 0o644, bytes).map_err(failed)?;
        }
        let modules = modules.iter().map(|(name, _)| Path::new("/modules").join(name)).collect();
        let task = serde_json::to_vec(&Task { words: self.words.clone(), modules });
        archive.file(&TASK[1..], 0o644, &task.map_err(|e| failed(e.into()))?).map_err(failed)?;
        archive.finish().map_err(failed)
    }
}

/// What came back; none if that is not whole.
fn read_ended(out: &Path) -> Option<Ended> {
    let mut files = archive::read(File::open(out).ok()?)?;
    let end: End = serde_json::from_slice(&files.remove(Path::new(ENDED))?).ok()?;
    let said = SAID
        .map(|name| String::from_utf8_lossy(&files.remove(Path::new(name)).unwrap_or_default()).into_owned());
    Some(Ended { status: end.status, kernel: end.kernel, files, said })
}

fn joined(before: &str, path: &Path) -> std::ffi::OsString {
    let mut whole = std::ffi::OsString::from(before);
    // A comma ends an option's value unless it is doubled.
    whole.push(path.to_string_lossy().replace(',', ",,"));
    whole
}

/// A program of the system.
fn find(name: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from);
    let found = std::env::split_paths(&path).chain(usual).map(|d| d.join(name)).find(|p| p.is_file());
    found.ok_or_else(|| LabError::Run {
        program: name.to_owned(),
        source: std::io::Error::from(std::io::ErrorKind::NotFound),
    })
}

/// The libraries that a program is linked to, and its loader.
fn libraries(program: &Path) -> Result<Vec<PathBuf>> {
    let asked = Command::new("ldd").arg(program).output();
    let said = asked.map_err(|source| LabError::Run { program: "ldd".to_owned(), source })?;
    // Of a program that is linked to none ldd complains, and prints no path.
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let word_is_path = |word: &&str| word.starts_with('/') && !word.ends_with(':');
    Ok(text.split_whitespace().filter(word_is_path).map(PathBuf::from).collect())
}

/// A directory that goes away.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("ropewalk-machine-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).map_err(LabError::kernel(format!("make {}", path.display())))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Whether this process is the first of a machine.
pub fn is_inside() -> bool {
    std::process::id() == 1 && Path::new(TASK).exists() && std::env::args_os().skip(1).eq(["lab", "machine"].map(OsStr::new))
}
