//! Coupled congestion control for the kernel's own MPTCP, which has none: LIA, OLIA and BALIA, and
//! HighSpeed TCP, as BPF programs that the kernel runs in place of a built-in controller
//! (`struct_ops` of `tcp_congestion_ops`).
//!
//! The laws are those of `ropewalk_cc`, in fixed point. The programs are in `bpf/`, their
//! compiled objects in `objects/`: a user needs no compiler. The kernel resolves their field
//! offsets from its own BTF (CO-RE) when they are loaded.
//!
//! [`load`] registers a controller and pins it under [`PINS`], where it stays until [`unload`] or a
//! reboot, without a process. It needs root, and Linux 6.4 or later with `CONFIG_DEBUG_INFO_BTF`
//! and `CONFIG_BPF_JIT`.
//!
//! [`marks`] is another program: it marks segments that arrive (ECN), for `ropewalk roam`.

mod btf;
mod loader;
pub mod marks;
mod object;
mod pins;
mod shared;
mod sys;
pub mod trial;

pub use pins::{Loaded, PINS, Status, Unloaded, load, lock_file, status, unload};
pub use shared::{CONNECTIONS, Counters, Key, SLOTS, Slot};

use std::io;
use std::path::PathBuf;

/// A controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// Linked increases, RFC 6356.
    Lia,
    /// Khalili et al., CoNEXT 2012.
    Olia,
    /// Peng et al., ToN 2016.
    Balia,
    /// HighSpeed TCP, RFC 3649; couples nothing.
    Hstcp,
}

impl Law {
    /// All of them.
    pub const ALL: [Law; 4] = [Law::Lia, Law::Olia, Law::Balia, Law::Hstcp];

    /// What the kernel calls it.
    pub fn kernel_name(self) -> &'static str {
        match self {
            Law::Lia => "rw_lia",
            Law::Olia => "rw_olia",
            Law::Balia => "rw_balia",
            Law::Hstcp => "rw_hstcp",
        }
    }

    /// Its name for a user.
    pub fn name(self) -> &'static str {
        &self.kernel_name()[3..]
    }

    fn object(self) -> &'static [u8] {
        match self {
            Law::Lia => include_bytes!("../objects/lia.bpf.o"),
            Law::Olia => include_bytes!("../objects/olia.bpf.o"),
            Law::Balia => include_bytes!("../objects/balia.bpf.o"),
            Law::Hstcp => include_bytes!("../objects/hstcp.bpf.o"),
        }
    }

    /// Processes without rights, and network namespaces, may choose it: it takes no more than Reno
    /// does. Linux allows its own HighSpeed only to CAP_NET_ADMIN for that reason.
    fn is_for_all(self) -> bool {
        self != Law::Hstcp
    }
}

/// Why a controller could not be loaded, asked about or unloaded.
#[derive(Debug, thiserror::Error)]
pub enum KernError {
    /// No rights.
    #[error(
        "BPF programs need root (CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN on the host): run this with sudo"
    )]
    NotRoot,
    /// Root, and refused all the same.
    #[error(
        "the kernel refuses BPF programs to root here ({0}): run this outside the container, and without kernel lockdown"
    )]
    Refused(io::Error),
    /// No BTF.
    #[error(
        "this kernel has no BTF (/sys/kernel/btf/vmlinux): take one with CONFIG_DEBUG_INFO_BTF=y, as distributions' kernels are"
    )]
    NoBtf,
    /// BTF of a later kernel.
    #[error(
        "the types of this kernel ({0}) cannot be read (/sys/kernel/btf/vmlinux): it is newer than this version of Ropewalk; install a newer one"
    )]
    StrangeBtf(String),
    /// No struct_ops.
    #[error(
        "this kernel cannot take congestion controllers as BPF programs: take Linux 6.4 or later with CONFIG_BPF_JIT=y"
    )]
    NoStructOps,
    /// An old kernel.
    #[error(
        "this kernel ({0}) cannot keep a BPF congestion controller without a process: take Linux 6.4 or later"
    )]
    TooOld(String),
    /// An old kernel.
    #[error("this kernel ({0}) cannot mark what arrives by an interface (tcx): take Linux 6.6 or later")]
    NoTcx(String),
    /// The verifier.
    #[error(
        "this kernel does not accept the program {program} of {object} ({error}); please report it with this:\n{log}"
    )]
    Verifier {
        /// The controller, or what marks.
        object: &'static str,
        /// The program.
        program: String,
        /// What the system call answered.
        error: io::Error,
        /// The end of what the verifier said.
        log: String,
    },
    /// The name is taken.
    #[error(
        "a congestion control {0} is registered already, by something else than this: unload it there (bpftool link), or reboot"
    )]
    Taken(&'static str),
    /// It is registered, and its pin cannot be seen.
    #[error(
        "{0} is registered, but not pinned under {PINS} here: unload it in the mount namespace that loaded it, or reboot"
    )]
    PinnedElsewhere(&'static str),
    /// Others load or unload, and do not end: they have locked this file.
    #[error(
        "another process (`ropewalk mptcp cc`, or a run of the lab) takes too long to load or unload a controller: \
         `fuser -v {}` shows which. End it, and try again", .0.display()
    )]
    Locked(PathBuf),
    /// bpffs cannot be mounted.
    #[error(
        "no BPF file system is at /sys/fs/bpf, and mounting one failed ({0}): mount -t bpf bpffs /sys/fs/bpf"
    )]
    NoBpffs(io::Error),
    /// An object that is not what the compiler made.
    #[error("a program that came with this build is damaged: {0}; install Ropewalk anew")]
    Damaged(&'static str),
    /// Anything else.
    #[error("{what}: {error}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system answered.
        error: io::Error,
    },
}

impl KernError {
    fn system(what: &'static str) -> impl Fn(io::Error) -> KernError {
        move |error| match error.kind() {
            io::ErrorKind::PermissionDenied if !rustix::process::geteuid().is_root() => KernError::NotRoot,
            io::ErrorKind::PermissionDenied => KernError::Refused(error),
            _ => KernError::System { what, error },
        }
    }
}
