//! The systems from a client to a gateway that are compared.

mod mptcp;
mod relay;
mod ropewalk;
mod wireguard;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use ropewalk_lab::{Namespace, Paths, Ping, Process};

use crate::site::Site;

pub(crate) use mptcp::joined_subflows;
pub use ropewalk::{Bond, Gateway};
pub use wireguard::install as install_wireguard;

/// What Ropewalk's daemons raise themselves to (`nice` in their configuration).
const NICE: i32 = -10;
/// How long a tunnel may take until a ping comes back through it.
const PATIENCE: Duration = Duration::from_secs(10);

/// What carries packets from the client to the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// The bare path of this number, from 1.
    Path(u64),
    /// The kernel's MPTCP over two paths: only for flows that speak it.
    Mptcp,
    /// wireguard-go over path 1.
    Wireguard,
    /// The same at the niceness that Ropewalk's daemons give themselves.
    WireguardFirst,
    /// A bare relay over path 1: a limit, not a tunnel.
    Relay,
    /// Ropewalk over all paths.
    Ropewalk,
    /// Ropewalk over path 2 alone, by TLS.
    Tls,
    /// Ropewalk over path 1 by UDP and path 2 by TLS.
    UdpAndTls,
}

impl System {
    /// What tables call it.
    pub fn name(self) -> String {
        match self {
            System::Path(n) => format!("path {}", char::from(b'A' + (n as u8).saturating_sub(1))),
            System::Mptcp => "kernel MPTCP".to_owned(),
            System::Wireguard => "wireguard-go".to_owned(),
            System::WireguardFirst => format!("wireguard-go, nice {NICE}"),
            System::Relay => "bare relay".to_owned(),
            System::Ropewalk => "ropewalk".to_owned(),
            System::Tls => "ropewalk, B by TLS".to_owned(),
            System::UdpAndTls => "ropewalk, A by UDP and B by TLS".to_owned(),
        }
    }
}

impl System {
    /// It is Ropewalk, in one way or another.
    pub fn is_ropewalk(self) -> bool {
        matches!(self, System::Ropewalk | System::Tls | System::UdpAndTls)
    }
}

/// The programs that systems are made of.
#[derive(Debug, Clone, Default)]
pub struct Programs {
    /// Ropewalk.
    pub ropewalk: Option<PathBuf>,
    /// wireguard-go.
    pub wireguard: Option<PathBuf>,
    /// The bench itself, which is the relay too.
    pub relay: Option<PathBuf>,
}

/// A system that is open; dropping it closes it.
pub struct Open {
    /// The gateway's address by this system.
    pub target: IpAddr,
    /// Flows have to speak MPTCP.
    pub mptcp: bool,
    /// The processes that are the system, the client's first; and what they are called.
    pub processes: Vec<(&'static str, Process)>,
}

impl Open {
    fn bare(target: IpAddr) -> Open {
        Open { target, mptcp: false, processes: Vec::new() }
    }

    /// What its processes have said.
    pub fn said(&self) -> String {
        let said = |(name, process): &(_, Process)| {
            let words = process.stdout() + &process.stderr();
            format!("== {name} ==\n{words}")
        };
        self.processes.iter().map(said).collect()
    }
}

impl Programs {
    /// Opens a system; it is ready for use when this returns.
    ///
    /// # Errors
    /// If its program is missing, does not start, or no ping comes back.
    pub fn open(&self, system: System, site: &Site) -> Result<Open> {
        match system {
            System::Path(n) => Ok(Open::bare(Paths::gateway_address(n))),
            System::Mptcp => mptcp::open(site),
            System::Wireguard | System::WireguardFirst => match &self.wireguard {
                Some(program) => {
                    let nice = if system == System::WireguardFirst { NICE } else { 0 };
                    wireguard::open(program, site, nice)
                }
                None => bail!("wireguard-go is not installed"),
            },
            System::Relay => match &self.relay {
                Some(program) => relay::open(program, site),
                None => bail!("the bench does not know where it is"),
            },
            System::Ropewalk | System::Tls | System::UdpAndTls => match &self.ropewalk {
                Some(program) if system == System::Ropewalk => ropewalk::open(program, site),
                Some(program) => ropewalk::open_by_tls(program, site, system == System::UdpAndTls),
                None => bail!("there is no ropewalk binary"),
            },
        }
    }
}

/// Where the gateway listens for a tunnel, by path `n`.
fn endpoint(n: u64, port: u16) -> SocketAddr {
    SocketAddr::new(Paths::gateway_address(n), port)
}

/// Waits until `target` answers the client; fails with what the processes said.
fn wait_for_ping(site: &Site, open: &mut Open) -> Result<()> {
    wait_for_ping_from(&site.lab.client, open)
}

/// The same for a client in another namespace.
fn wait_for_ping_from(client: &Namespace, open: &mut Open) -> Result<()> {
    let until = Instant::now() + PATIENCE;
    let timeout = Duration::from_millis(100);
    loop {
        let ping = Ping::new(open.target).count(1).timeout(timeout);
        if ping.run(client).is_ok_and(|report| report.received > 0) {
            return Ok(());
        }
        for (name, process) in &mut open.processes {
            if let Some(status) = process.exit_status()? {
                bail!("{name} ended with {status}: {}", process.stderr().trim());
            }
        }
        if Instant::now() >= until {
            bail!("no ping came back through the tunnel within {PATIENCE:?}; {}", open.said());
        }
    }
}
