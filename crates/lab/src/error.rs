//! What can go wrong in the lab.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use ropewalk_air::wired::SpecError;

/// Why the lab could not do as asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// Namespaces and devices need root.
    #[error("the lab makes network namespaces and needs root; run it as root or with sudo")]
    NotRoot,
    /// A link that no link can be.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A program that is not installed or cannot be run.
    #[error("cannot run {program}: {source}; is it installed and in PATH?")]
    Run {
        /// Its name.
        program: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// A command that reported failure.
    #[error("`{command}` failed ({status}): {said}")]
    Failed {
        /// Its words.
        command: String,
        /// Its exit status.
        status: String,
        /// What it said on standard error, or else on standard output.
        said: String,
    },
    /// The kernel refused something the lab asked for.
    #[error("cannot {what}: {source}")]
    Kernel {
        /// What was asked, in words that follow "cannot".
        what: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// An interface name that Linux does not take.
    #[error("\"{0}\" is no interface name; use 1 to 15 letters, digits, dots or dashes")]
    InterfaceName(String),
    /// A line that did not come in time, or whose process ended before.
    #[error("{process} did not say \"{needle}\" within {waited:?}{ended}; it said:\n{said}")]
    Silent {
        /// The process.
        process: String,
        /// What was waited for.
        needle: String,
        /// For how long.
        waited: Duration,
        /// " and ended with …", or nothing.
        ended: String,
        /// The end of its output.
        said: String,
    },
    /// A process that did not end in time; it has been stopped.
    #[error("{process} did not end within {waited:?} and was stopped; its output is in {}", .log.display())]
    Endless {
        /// The process.
        process: String,
        /// For how long it was waited for.
        waited: Duration,
        /// Where its output is, while the topology lives.
        log: PathBuf,
    },
    /// Output of iperf3 that could not be read.
    #[error("iperf3 said what cannot be read ({why}): {said}")]
    Iperf {
        /// What is wrong with it.
        why: String,
        /// The beginning of what it said.
        said: String,
    },
    /// A scenario that the models refuse.
    #[error(transparent)]
    Build(#[from] ropewalk_sim::BuildError),
    /// No simulated radios.
    #[error(transparent)]
    Hwsim(#[from] ropewalk_net::hwsim::HwsimError),
    /// The kernel marks nothing.
    #[error(transparent)]
    Marks(#[from] ropewalk_kern::KernError),
    /// What nl80211 refuses.
    #[error(transparent)]
    Wifi(#[from] ropewalk_net::wifi::WifiError),
    /// A daemon that does not bring an interface up.
    #[error("{interface} {what}; {program} said:\n{said}")]
    Daemon {
        /// `node:interface`.
        interface: String,
        /// What went wrong: it took too long, or the daemon ended.
        what: String,
        /// Which daemon.
        program: &'static str,
        /// The end of what it said.
        said: String,
    },
    /// A node that the scenario does not have.
    #[error("there is no node `{name}`; there are {known}")]
    NoNode {
        /// What was asked for.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// No lab is up.
    #[error("no lab is up; start one with `ropewalk lab up FILE`")]
    NoLab,
    /// Several labs are up.
    #[error("several labs are up: {0}; say which with --lab NAME")]
    WhichLab(String),
    /// A lab that is not up.
    #[error("no lab called `{name}` is up; there are {known}")]
    NoSuchLab {
        /// What was asked for.
        name: String,
        /// Those that are.
        known: String,
    },
    /// A lab of this name is up.
    #[error(
        "a lab called `{0}` is up already; take it down with `ropewalk lab down --lab {0}`, or give this one another name with --name"
    )]
    LabRuns(String),
    /// A name that no lab can have.
    #[error("a lab cannot be called `{0}`; use 1 to 64 letters, digits, dots or dashes")]
    LabName(String),
    /// What the lab said.
    #[error("{0}")]
    Refused(String),
    /// An interface without an address, or no interface.
    #[error("there is no interface `{0}` with an address; write node:interface")]
    NoAddress(String),
    /// An interferer that the scenario does not have.
    #[error("there is no interferer `{name}`{}", if .known.is_empty() { "; give the scenario one, with a `start` that never comes".to_owned() } else { format!("; there are {known}") })]
    NoInterferer {
        /// What was asked for.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// Something that is on no radio.
    #[error(
        "`{0}` is on no radio; a cable's end is captured by tcpdump inside its node: `ropewalk lab exec NODE -- tcpdump -i IFACE`"
    )]
    NotOnAir(String),
    /// The kernel's TUN driver is not there.
    #[error(
        "/dev/net/tun is missing: load the driver with `modprobe tun`, or pass the device into the container"
    )]
    NoTun,
    /// The TUN driver is there, but not for this user.
    #[error(
        "/dev/net/tun may not be opened: run as root, or have root allow it with `chmod 0666 /dev/net/tun`"
    )]
    TunForbidden,
    /// No kernel for a machine.
    #[error(
        "there is no kernel with its modules that you may read under {} (boot/vmlinuz-VERSION, lib/modules/VERSION). Unpack one, which needs no root: \
         `apt-get download $(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: //p')`, then `dpkg -x linux-image-*.deb DIR`; and say --kernel DIR",
        .0.display()
    )]
    NoImage(PathBuf),
    /// No emulator for a machine.
    #[error("virtual time needs QEMU, which is not installed: `apt-get install qemu-system-x86`")]
    NoEmulator,
    /// A processor whose programs the emulated one cannot run.
    #[error(
        "the machine in virtual time is an x86-64 that runs this very program, and this one is built for another processor"
    )]
    NoMachineHere,
    /// A machine that left nothing.
    #[error("the machine in virtual time left no results{late}. The end of what it said:\n{said}")]
    Machine {
        /// " within …", or nothing if it ended by itself.
        late: String,
        /// The end of what its kernel and its emulator said.
        said: String,
    },
    /// The emulator's thread is gone.
    #[error("the emulator has stopped; its panic is on standard error")]
    EmulatorGone,
}

impl LabError {
    /// For `map_err`: the kernel refused `what`.
    pub(crate) fn kernel<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> LabError {
        let what = what.into();
        move |source| LabError::Kernel { what, source: source.into() }
    }
}

/// A result of the lab.
pub type Result<T, E = LabError> = std::result::Result<T, E>;
