//! The emulator: how QEMU is called so that a machine's run depends on its image and its seed, and on nothing else.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

use super::Machine;
use crate::{LabError, Result};

/// What the machine is, for reports.
pub(super) const PROCESSOR: &str = "one processor of 1 GHz, an instruction a nanosecond";
/// The emulator of an x86-64.
const PROGRAM: &str = "qemu-system-x86_64";
/// All that is emulated, but the fast copying of strings: kernels and libraries that see it copy a byte an instruction, so a
/// byte a nanosecond, and else 8 or 32.
const FEATURES: &str = "max,-erms,-fsrm";
/// Memory, MiB. Nothing is swapped or written to a disk.
const MEMORY_MIB: u32 = 1024;

/// The files of the host through which a machine is fed and heard. They are memory without names.
pub(super) struct HostFiles {
    /// The machine's first file system.
    pub(super) image: File,
    /// What comes back.
    pub(super) out: File,
    /// What its kernel says.
    pub(super) console: File,
    /// What the emulator says.
    pub(super) complaints: File,
}

impl HostFiles {
    pub(super) fn new() -> Result<HostFiles> {
        let file = |name: &str| -> Result<File> {
            let made = memfd_create(name, MemfdFlags::CLOEXEC);
            made.map(File::from).map_err(LabError::kernel("make a file in memory"))
        };
        let [image, out] = [file("image")?, file("out")?];
        Ok(HostFiles { image, out, console: file("console")?, complaints: file("complaints")? })
    }
}

/// What a file is called in a process that has it open.
fn name(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// "QEMU" with its version.
pub(super) fn version() -> Result<String> {
    let asked = Command::new(PROGRAM).arg("--version").stdin(Stdio::null()).output();
    let said = asked.map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => LabError::NoEmulator,
        _ => LabError::Run { program: PROGRAM.to_owned(), source },
    })?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let version = said.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    Ok(format!("QEMU {}", version.unwrap_or("of an unknown version")))
}

/// Starts a machine with its image.
pub(super) fn start(machine: &Machine, host_files: &HostFiles) -> Result<Child> {
    let mut command = Command::new(PROGRAM);
    command.args(arguments(machine, host_files));
    let complaints = host_files.complaints.try_clone().map_err(LabError::kernel("copy a descriptor"))?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(complaints);
    let given = [host_files.image.as_raw_fd(), host_files.out.as_raw_fd(), host_files.console.as_raw_fd()];
    let parent = getpid();
    // SAFETY: between fork and exec the closure does system calls, and neither allocates nor locks. The descriptors are those of
    // `host_files`, which is borrowed until the child is there.
    unsafe {
        command.pre_exec(move || {
            for fd in given {
                fcntl_setfd(BorrowedFd::borrow_raw(fd), FdFlags::empty())?;
            }
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have ended before that was asked.
            if getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
        });
    }
    command.spawn().map_err(|source| LabError::Run { program: PROGRAM.to_owned(), source })
}

fn arguments(machine: &Machine, host_files: &HostFiles) -> Vec<OsString> {
    let seed = machine.seed;
    let program = machine.program.file_name().unwrap_or_default().to_string_lossy();
    // A record of what is not in the image is kept nowhere. That it is asked for makes the emulator's threads take turns, and
    // with that runs equal: see docs/design/virtual-time.md.
    let count = "shift=0,sleep=off,align=off,rr=record,rrfile=/dev/null";
    // The processor's random numbers come from the seed, and the kernel trusts them: it need not wait for others.
    let line = format!(
        "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable nokaslr norandmaps random.trust_cpu=on \
         rdinit=/bin/{program} -- lab machine"
    );
    let words = format!(
        "-nodefaults -vga none -display none -monitor none -nic none -no-reboot -accel tcg,thread=single -icount {count} \
         -cpu {FEATURES} -smp 1 -M pc,hpet=off -m {MEMORY_MIB} -seed {} -rtc clock=vm,base=2026-01-01T00:00:00 \
         -serial file:{} -device virtio-serial-pci -chardev file,id=out,path={} -device virtserialport,chardev=out,name=out \
         -initrd {}",
        // The emulator takes no larger one.
        seed % (1 << 63),
        name(&host_files.console),
        name(&host_files.out),
        name(&host_files.image),
    );
    let mut all: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
    all.extend(["-kernel".into(), machine.source.kernel.clone().into(), "-append".into(), line.into()]);
    all
}
