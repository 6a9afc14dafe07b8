//! Network namespaces, and commands inside them.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::{LabError, Process, Result, registry};

/// Where `ip netns` keeps its namespaces.
const RUN_NETNS: &str = "/run/netns";

/// Settings of a new namespace. `tcp_rmem` and `tcp_wmem` let a flow of 100 Mb/s over 400 ms keep 5 MB in flight with
/// room to spare; metrics are not saved, or one run would start where the last one ended; the rest keeps quiet what would
/// disturb counters. ECN is as Linux has it: granted when asked for, not asked for.
const SYSCTLS: &[(&str, &str)] = &[
    ("net.ipv4.tcp_no_metrics_save", "1"),
    ("net.ipv4.tcp_rmem", "4096 131072 67108864"),
    ("net.ipv4.tcp_wmem", "4096 65536 67108864"),
    ("net.ipv4.tcp_ecn", "2"),
    ("net.ipv4.conf.all.rp_filter", "0"),
    ("net.ipv4.conf.default.rp_filter", "0"),
    ("net.ipv6.conf.all.accept_dad", "0"),
    ("net.ipv6.conf.default.accept_dad", "0"),
    ("net.ipv6.conf.default.router_solicitations", "0"),
];

#[derive(Debug)]
struct Inner {
    /// As its maker called it.
    label: String,
    /// As the kernel knows it.
    name: String,
    handle: File,
    logs: PathBuf,
}

impl Drop for Inner {
    fn drop(&mut self) {
        registry::remove_namespace(&self.name);
    }
}

/// A network namespace of a [`Topology`](crate::Topology). Clones are handles of the same one; it is removed, with the
/// processes still in it, with its topology or with the last handle, whichever goes first.
#[derive(Debug, Clone)]
pub struct Namespace(Arc<Inner>);

impl Namespace {
    /// Makes the namespace `name` with its loopback up; output of its processes goes to files in `logs`.
    pub(crate) fn create(label: &str, name: String, logs: &Path) -> Result<Namespace> {
        registry::add_namespace(&name);
        let made = ip_netns_add(&name).and_then(|()| {
            File::open(Path::new(RUN_NETNS).join(&name))
                .map_err(LabError::kernel(format!("open namespace {name}")))
        });
        let handle = match made {
            Ok(handle) => handle,
            Err(error) => {
                registry::remove_namespace(&name);
                return Err(error);
            }
        };
        let namespace =
            Namespace(Arc::new(Inner { label: label.to_owned(), name, handle, logs: logs.to_owned() }));
        namespace.sysctls(SYSCTLS)?;
        // Refused unless the machine's net.ipv4.tcp_allowed_congestion_control has it; then programs must ask for it
        // socket by socket, which root may (`iperf3 -C cubic`).
        if let Err(error) = namespace.sysctl("net.ipv4.tcp_congestion_control", "cubic") {
            tracing::debug!("CUBIC is not the namespace's default: {error}");
        }
        namespace.ip(&["link set lo up"])?;
        Ok(namespace)
    }

    /// What its maker called it.
    pub fn label(&self) -> &str {
        &self.0.label
    }

    /// Its name for `ip netns`.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Where the output of its processes goes.
    pub(crate) fn logs(&self) -> &Path {
        &self.0.logs
    }

    /// The namespace itself.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.handle.as_fd()
    }

    /// A command that will run inside.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        let inner = Arc::clone(&self.0);
        // SAFETY: between fork and exec the closure does one system call, and neither allocates nor locks.
        unsafe {
            command.pre_exec(move || {
                Ok(move_into_link_name_space(inner.handle.as_fd(), Some(LinkNameSpaceType::Network))?)
            });
        }
        command
    }

    /// Runs a command to its end, e.g. `ns.exec("nft", ["-f", "rules"])`. Fails if the command does.
    pub fn exec<I, S>(&self, program: &str, args: I) -> Result<Output>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let mut command = self.command(program);
        command.args(args).stdin(Stdio::null());
        output(&mut command, None)
    }

    /// Runs a line of shell, e.g. `ns.shell("ip route add default via 10.1.1.2")`; gives what it printed.
    pub fn shell(&self, line: &str) -> Result<String> {
        let said = self.exec("sh", ["-c", line])?;
        Ok(String::from_utf8_lossy(&said.stdout).into_owned())
    }

    /// Runs `ip` commands in one go, each without the word `ip`.
    pub fn ip(&self, commands: &[impl AsRef<str>]) -> Result<()> {
        let lines: Vec<&str> = commands.iter().map(AsRef::as_ref).collect();
        let mut command = self.command("ip");
        output(command.args(["-batch", "-"]), Some(&lines.join("\n"))).map(drop)
    }

    /// Runs a command to its end with `input`. Fails if the command does.
    pub(crate) fn feed(&self, program: &str, args: &[&str], input: &str) -> Result<()> {
        output(self.command(program).args(args), Some(input)).map(drop)
    }

    /// Starts a command of this namespace in the background. Its standard output and error go to files.
    pub fn spawn(&self, command: &mut Command) -> Result<Process> {
        Process::spawn(command, self.logs())
    }

    /// Starts `program` inside, in the background; see [`Namespace::spawn`].
    pub fn start<I, S>(&self, program: &str, args: I) -> Result<Process>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.spawn(self.command(program).args(args))
    }

    /// Runs `work` on a thread inside the namespace: sockets and devices opened there belong to it for good.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> Result<R> {
        std::thread::scope(|scope| {
            let inside = scope.spawn(|| {
                move_into_link_name_space(self.as_fd(), Some(LinkNameSpaceType::Network))
                    .map_err(LabError::kernel(format!("enter namespace {}", self.name())))?;
                Ok(work())
            });
            inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Sets a sysctl of the namespace, its name with dots.
    pub fn sysctl(&self, key: &str, value: &str) -> Result<()> {
        self.sysctls(&[(key, value)])
    }

    /// Sets sysctls of the namespace.
    pub(crate) fn sysctls<S: AsRef<str> + Sync>(&self, all: &[(S, S)]) -> Result<()> {
        self.run(|| {
            all.iter().try_for_each(|(key, value)| {
                let (key, value) = (key.as_ref(), value.as_ref());
                let path = Path::new("/proc/sys").join(key.replace('.', "/"));
                fs::write(path, value).map_err(LabError::kernel(format!("set {key} to {value}")))
            })
        })?
    }
}

/// `ip netns add`, once more if the first try meets another process that prepares /run/netns at the same time.
fn ip_netns_add(name: &str) -> Result<()> {
    let add = || output(Command::new("ip").args(["netns", "add", name]), None).map(drop);
    add().or_else(|_| {
        remove(name);
        add()
    })
}

/// Removes a namespace by name and stops the processes in it. Nothing is said if it is gone already.
pub(crate) fn remove(name: &str) {
    if !Path::new(RUN_NETNS).join(name).exists() {
        return;
    }
    if let Ok(said) = output(Command::new("ip").args(["netns", "pids", name]), None) {
        for pid in String::from_utf8_lossy(&said.stdout).lines().filter_map(|l| l.trim().parse().ok()) {
            // Never this process: a thread of ours may be inside while another thread cleans up.
            if let Some(pid) = rustix::process::Pid::from_raw(pid).filter(|p| *p != rustix::process::getpid())
            {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
    }
    let _ = output(Command::new("ip").args(["netns", "del", name]), None);
}

/// The names of all namespaces of this machine that `ip netns` knows.
pub(crate) fn all() -> Vec<String> {
    let entries = fs::read_dir(RUN_NETNS).into_iter().flatten().flatten();
    entries.filter_map(|e| e.file_name().into_string().ok()).collect()
}

/// Runs a command to its end, with `input` if any.
fn output(command: &mut Command, input: Option<&str>) -> Result<Output> {
    use std::io::Write;
    let program = command.get_program().to_string_lossy().into_owned();
    let could_not_run = |source| LabError::Run { program: program.clone(), source };
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(could_not_run)?;
    if let (Some(mut pipe), Some(text)) = (child.stdin.take(), input) {
        // A command that ends before it has read everything says why by itself.
        let _ = pipe.write_all(text.as_bytes());
    }
    let output = child.wait_with_output().map_err(could_not_run)?;
    if output.status.success() {
        return Ok(output);
    }
    let said = if output.stderr.is_empty() { &output.stdout } else { &output.stderr };
    Err(LabError::Failed {
        command: words(command, input),
        status: output.status.to_string(),
        said: String::from_utf8_lossy(said).trim().to_owned(),
    })
}

/// A command as a user would type it.
fn words(command: &Command, input: Option<&str>) -> String {
    let args = command.get_args().map(|a| a.to_string_lossy());
    let mut words: Vec<_> = std::iter::once(command.get_program().to_string_lossy()).chain(args).collect();
    words.extend(input.map(|text| format!("<<< {}", text.replace('\n', "; ")).into()));
    words.join(" ")
}
