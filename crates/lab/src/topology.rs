//! Namespaces and the cables between them.

use std::path::Path;
use std::sync::Arc;

use ropewalk_air::wired::{Link, LinkSpec};

use crate::cable::{Cable, CableSpec, End};
use crate::emulator::{Emulator, Timing, Wire};
use crate::lateness::Lateness;
use crate::site::Site;
use crate::{LabError, Namespace, Result, registry, tun};

/// Namespaces, the cables between them, and the thread that is the cables. Dropping it removes all of it, the processes
/// in the namespaces included; handles that are left then fail.
pub struct Topology {
    timing: Timing,
    site: Site,
    emulator: Arc<Emulator>,
}

impl Topology {
    /// An empty topology that keeps time as [`Timing::default`] says.
    pub fn new() -> Result<Topology> {
        Topology::with(Timing::default())
    }

    /// An empty topology.
    pub fn with(timing: Timing) -> Result<Topology> {
        let site = Site::new()?;
        let emulator = Arc::new(Emulator::of_cables(site.name(), timing, 1)?);
        Ok(Topology { timing, site, emulator })
    }

    /// A new namespace, called `rw-<process>-<number>-<label>`.
    pub fn namespace(&self, label: &str) -> Result<Namespace> {
        self.site.namespace(label)
    }

    /// A cable from an interface of one namespace to an interface of another, or of the same. Interfaces are made, given
    /// their addresses, and up when this returns.
    pub fn cable(&self, from: (&Namespace, End), to: (&Namespace, End), spec: CableSpec) -> Result<Cable> {
        let links = [
            Link::new(spec.forward, spec.seed.wrapping_mul(2))?,
            Link::new(spec.backward, spec.seed.wrapping_mul(2) + 1)?,
        ];
        let ends = [tun::open(from.0, &from.1.interface)?, tun::open(to.0, &to.1.interface)?];
        for (namespace, end) in [&from, &to] {
            let set = format!("link set {} mtu {} txqueuelen {}", end.interface, spec.mtu, spec.txqueuelen);
            namespace.ip(&[set])?;
        }
        let wire = Wire { ends, links, damage: spec.damage, mtu: spec.mtu as usize, refused: 0 };
        let number =
            self.emulator.ask(|state| state.add(wire))?.map_err(LabError::kernel("watch a device"))?;
        for (namespace, end) in [&from, &to] {
            bring_up(namespace, end)?;
        }
        Ok(Cable { emulator: Arc::clone(&self.emulator), number })
    }

    /// A pair of veth interfaces: as fast as the machine, with all offloads, without a model.
    pub fn veth(&self, from: (&Namespace, End), to: (&Namespace, End)) -> Result<()> {
        let [a, b] = [&from.1.interface, &to.1.interface];
        from.0.ip(&[format!("link add {a} type veth peer name {b} netns {}", to.0.name())])?;
        bring_up(from.0, &from.1)?;
        bring_up(to.0, &to.1)
    }

    /// How late packets were so far.
    pub fn lateness(&self) -> Result<Lateness> {
        self.emulator.ask(|state| state.lateness.clone())
    }

    /// Begins a new histogram of lateness, e.g. after set-up.
    pub fn reset_lateness(&self) -> Result<()> {
        self.emulator.ask(|state| state.lateness = Lateness::default())
    }

    /// Whether the emulator kept time so far, within the bound of its [`Timing`]. If not, figures of this run are not to
    /// be used.
    pub fn kept_time(&self) -> Result<bool> {
        Ok(self.lateness()?.is_within(self.timing.bound))
    }

    /// Where processes leave their output until the topology is dropped.
    pub fn logs(&self) -> &Path {
        self.site.logs()
    }

    /// Removes what killed runs left behind: namespaces, and the processes in them, whose maker is no more. Gives the
    /// namespaces' names.
    pub fn cleanup_stale() -> Vec<String> {
        registry::remove_stale()
    }
}

impl Drop for Topology {
    fn drop(&mut self) {
        // The site's namespaces go after it.
        self.emulator.stop();
    }
}

fn bring_up(namespace: &Namespace, end: &End) -> Result<()> {
    let name = &end.interface;
    let mut commands: Vec<String> = Vec::new();
    for address in &end.addresses {
        // Duplicate detection would keep an address from use for a second.
        let nodad = if address.contains(':') { " nodad" } else { "" };
        commands.push(format!("address add {address} dev {name}{nodad}"));
    }
    commands.push(format!("link set {name} up"));
    namespace.ip(&commands)
}

/// A client and a gateway with one cable for each path: the topology that most experiments need.
///
/// Path *n*, from 1, is the interface `wan<n>` at both ends. The client has 10.1.*n*.1/24 and fd00:1:*n*::1/64 on it,
/// the gateway 10.1.*n*.2/24 and fd00:1:*n*::2/64. Besides, the gateway has one address of each family that every path
/// leads to, [`Paths::SHARED`] and [`Paths::SHARED6`]; the client's routes to it prefer path 1, and a socket bound to
/// `wan<n>` takes path *n*.
pub struct Paths {
    /// The client's namespace.
    pub client: Namespace,
    /// The gateway's namespace.
    pub gateway: Namespace,
    /// The cables, path 1 first; forward is from the client to the gateway.
    pub cables: Vec<Cable>,
    /// The whole.
    pub topology: Topology,
}

impl Paths {
    /// The gateway's IPv4 address that every path leads to.
    pub const SHARED: std::net::IpAddr = std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 9, 0, 1));
    /// The gateway's IPv6 address that every path leads to.
    pub const SHARED6: std::net::IpAddr =
        std::net::IpAddr::V6(std::net::Ipv6Addr::new(0xfd00, 9, 0, 0, 0, 0, 0, 1));

    /// A topology whose paths are like these, the same in both directions.
    pub fn symmetric(links: impl IntoIterator<Item = LinkSpec>) -> Result<Paths> {
        Paths::new(links.into_iter().map(CableSpec::symmetric), Timing::default())
    }

    /// A topology with these cables. Path *n* adds *n* to its cable's seed, so that equal paths have unlike fates.
    pub fn new(cables: impl IntoIterator<Item = CableSpec>, timing: Timing) -> Result<Paths> {
        let topology = Topology::with(timing)?;
        let (client, gateway) = (topology.namespace("client")?, topology.namespace("gateway")?);
        let mut built = Vec::new();
        for (n, spec) in (1..).zip(cables) {
            let seed = spec.seed.wrapping_add(n);
            built.push(topology.cable(
                (&client, path_end(n, 1)),
                (&gateway, path_end(n, 2)),
                spec.seed(seed),
            )?);
        }
        share_address(&client, &gateway, built.len() as u64)?;
        Ok(Paths { client, gateway, cables: built, topology })
    }

    /// The client's interface of path `n`, from 1.
    pub fn interface(n: u64) -> String {
        format!("wan{n}")
    }

    /// The client's IPv4 address on path `n`.
    pub fn client_address(n: u64) -> std::net::IpAddr {
        std::net::Ipv4Addr::new(10, 1, n as u8, 1).into()
    }

    /// The gateway's IPv4 address on path `n`.
    pub fn gateway_address(n: u64) -> std::net::IpAddr {
        std::net::Ipv4Addr::new(10, 1, n as u8, 2).into()
    }

    /// The gateway's IPv6 address on path `n`.
    pub fn gateway_address6(n: u64) -> std::net::IpAddr {
        std::net::Ipv6Addr::new(0xfd00, 1, n as u16, 0, 0, 0, 0, 2).into()
    }
}

/// Gives the gateway the addresses that all paths lead to, and the client its ways there.
fn share_address(client: &Namespace, gateway: &Namespace, paths: u64) -> Result<()> {
    let (four, six) = (Paths::SHARED, Paths::SHARED6);
    gateway.ip(&[format!("address add {four}/32 dev lo"), format!("address add {six}/128 dev lo nodad")])?;
    let ways = (1..=paths).flat_map(|n| {
        let (dev, via, via6) = (Paths::interface(n), Paths::gateway_address(n), Paths::gateway_address6(n));
        let way = |to, via| format!("route add {to} via {via} dev {dev} metric {n}");
        [way(four, via), way(six, via6)]
    });
    client.ip(&ways.collect::<Vec<_>>())
}

fn path_end(n: u64, host: u8) -> End {
    End::new(&Paths::interface(n), [format!("10.1.{n}.{host}/24"), format!("fd00:1:{n:x}::{host}/64")])
}
