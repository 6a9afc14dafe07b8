//! A scenario's bonds: the real gateway and the real client in their nodes.

mod backhaul;
mod counts;

use std::fmt::Write;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ropewalk_scenario::Scenario;
use ropewalk_scenario::file::{Bond, PathClass};
use ropewalk_sim::BuildError;

use super::{Lab, Node};
use crate::{LabError, Namespace, Ping, Process, Result};
pub(super) use counts::BondCounts;

/// How long a gateway may take to start, and a bond to carry a ping.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long further paths may take after the first.
const FURTHER_PATHS: Duration = Duration::from_secs(1);
/// The port of the first gateway; the ones after it have the ports after it.
const PORT: u16 = 4500;
/// Names of the two ends.
const ENDS: [&str; 2] = ["client", "gateway"];

/// What the daemons do not do as a scenario's bonds ask, with the keys.
pub(crate) fn refusals(scenario: &Scenario) -> Vec<BuildError> {
    let of = |(name, bond): (&String, &Bond)| {
        let weighted = bond.paths.iter().any(|p| p.weight != 1);
        let refusals = [
            (
                weighted,
                "paths",
                "the daemon takes no weights from its configuration; leave them out in the lab",
            ),
            (
                bond.airtime,
                "airtime",
                "packet times are told by a `ropewalk roam`, which the lab has none of; take this out",
            ),
        ];
        let wrong = refusals.into_iter().filter(|r| r.0);
        let mut all: Vec<_> =
            wrong.map(|(_, key, why)| BuildError::new(format!("bond.{name}.{key}"), why)).collect();
        if backhaul::is_backhaul(bond) {
            all.extend(backhaul::refusals(scenario, name, bond));
        }
        all
    };
    scenario.bond.iter().flat_map(of).collect()
}

/// Bonds that run. Dropping them ends their daemons.
#[derive(Default)]
pub(super) struct Bonds {
    all: Vec<Running>,
}

struct Running {
    name: String,
    bond: Bond,
    /// Client and gateway.
    nodes: [Node; 2],
    states: [PathBuf; 2],
    addresses: [Ipv4Addr; 2],
    _daemons: [Process; 2],
}

impl Bonds {
    /// Starts all bonds of a scenario and waits until each carries a ping.
    pub(super) fn start(lab: &Lab, program: &Path) -> Result<Bonds> {
        let mut all = Vec::new();
        for (number, (name, bond)) in lab.scenario().bond.iter().enumerate() {
            all.push(start(lab, program, (number, name), bond)?);
        }
        if !all.is_empty() {
            std::thread::sleep(FURTHER_PATHS);
        }
        Ok(Bonds { all })
    }

    /// The devices of a node, each with its address.
    pub(super) fn devices_of(&self, node: &str) -> Vec<(&str, Ipv4Addr)> {
        let ends = self.all.iter().flat_map(|r| r.nodes.iter().zip(r.addresses).map(move |(n, a)| (r, n, a)));
        ends.filter(|(_, n, _)| n.name() == node).map(|(r, _, address)| (r.name.as_str(), address)).collect()
    }

    /// The daemons: bond, node, and state directory of each.
    pub(super) fn states(&self) -> Vec<(&str, &str, &Path)> {
        let ends = self.all.iter().flat_map(|r| r.nodes.iter().zip(&r.states).map(move |(n, s)| (r, n, s)));
        ends.map(|(r, node, state)| (r.name.as_str(), node.name(), state.as_path())).collect()
    }
}

/// The engine's part of a daemon's configuration, which both ends read.
fn engine(bond: &Bond) -> String {
    let packets = bond.queue_packets.map_or(String::new(), |n| format!("queue-packets = {n}\n"));
    let deadline =
        bond.order_deadline.map_or(String::new(), |d| format!("order-deadline-ms = {}\n", d.as_millis()));
    let engine = format!(
        "[engine]\nscheduler = \"{}\"\ncongestion = \"{}\"\nrecovery = {}\nordered = {}\nmax-spread-ms = {}\ntun-mtu = {}\nqueue = \"{}B\"\n",
        bond.scheduler.name(),
        bond.congestion.name(),
        bond.recovery,
        bond.ordered,
        bond.max_spread.as_millis(),
        bond.tun_mtu,
        bond.queue.0
    );
    format!("{engine}{packets}{deadline}limiter = \"{}\"\n", bond.limiter.name())
}

/// The client's part: each path with the gateway's address that it leads to.
fn client_paths(lab: &Lab, name: &str, bond: &Bond, port: u16) -> Result<String> {
    let mut out = String::new();
    for path in &bond.paths {
        let interface = format!("{}:{}", bond.client, path.interface);
        let to = match &path.to {
            Some(to) => lab.address_of(&format!("{}:{to}", bond.gateway))?,
            None => nearest(lab, bond, &interface)?,
        };
        let class = match path.class {
            PathClass::Active => "active",
            PathClass::Backup => "backup",
        };
        let device = lab.device_of(&interface).unwrap_or(&path.interface);
        let _ = write!(
            out,
            "[[up.path]]\ninterface = \"{device}\"\nendpoint = \"{to}:{port}\"\nclass = \"{class}\"\n"
        );
    }
    if out.is_empty() {
        return Err(
            BuildError::new(format!("bond.{name}.paths"), "a bond without paths carries nothing").into()
        );
    }
    Ok(out)
}

/// The gateway's address on the network of an interface of the client; if it has none there, the one that routes lead to.
fn nearest(lab: &Lab, bond: &Bond, interface: &str) -> Result<std::net::Ipv4Addr> {
    let net = lab
        .scenario()
        .node
        .get(&bond.client)
        .and_then(|n| n.interface.get(interface.split_once(':')?.1).and_then(|i| i.address));
    let all = lab.interfaces_of(&bond.gateway);
    let near = all.iter().find(|(_, address)| net.is_some_and(|n| n.contains(address)));
    match near {
        Some((_, address)) => Ok(*address),
        None => Ok(lab.addresses(&bond.client, &bond.gateway)?[1]),
    }
}

/// Networks that the gateway is on and the client is not: what lies beyond the bond.
fn beyond(scenario: &Scenario, bond: &Bond) -> Vec<String> {
    let networks = |node: &str| {
        let spec = scenario.node.get(node);
        let all = spec.into_iter().flat_map(|n| n.interface.values()).filter_map(|i| i.address);
        all.map(|a| a.trunc()).collect::<Vec<_>>()
    };
    let mine = networks(&bond.client);
    let theirs = networks(&bond.gateway);
    theirs.iter().filter(|net| !mine.contains(net)).map(ToString::to_string).collect()
}

/// What both ends of a bond are started with.
struct Start<'a> {
    lab: &'a Lab,
    program: String,
    name: &'a str,
    bond: &'a Bond,
    nodes: [Node; 2],
    /// State directories.
    states: [PathBuf; 2],
    /// Where their configurations go.
    configs: [PathBuf; 2],
    /// The gateway's address inside.
    inside: Ipv4Addr,
    prefix: u8,
    port: u16,
}

fn start(lab: &Lab, program: &Path, (number, name): (usize, &str), bond: &Bond) -> Result<Running> {
    let net =
        bond.address.ok_or_else(|| BuildError::new(format!("bond.{name}.address"), "it has no address"))?;
    let Some(inside) = net.hosts().next() else {
        return Err(BuildError::new(format!("bond.{name}.address"), "its network has no room for two").into());
    };
    let start = Start {
        lab,
        program: program.display().to_string(),
        name,
        bond,
        nodes: [lab.node(&bond.client)?.clone(), lab.node(&bond.gateway)?.clone()],
        states: ENDS.map(|end| lab.logs().join(format!("bond-{number}-{end}"))),
        configs: ENDS.map(|end| lab.logs().join(format!("bond-{number}-{end}.toml"))),
        inside,
        prefix: net.prefix_len(),
        port: PORT + number as u16,
    };
    let mut daemons = if backhaul::is_backhaul(bond) { start.backhaul()? } else { start.tunnel()? };
    wait_for_ping(&start.nodes[0], inside.into(), &mut daemons[0])?;
    for node in &start.nodes {
        route_like_the_others(node.namespace(), name, lab.route_suffix(node.name()))?;
    }
    let others = lab.nodes().iter().filter(|n| n.name() != bond.client && n.name() != bond.gateway);
    for node in others {
        route_back(lab, node, &bond.gateway, &net.trunc().to_string())?;
    }
    let Start { nodes, states, .. } = start;
    let addresses = [net.addr(), inside];
    Ok(Running { name: name.to_owned(), bond: bond.clone(), nodes, states, addresses, _daemons: daemons })
}

impl Start<'_> {
    /// Writes the configuration of an end: the engine's part, and `more`.
    fn config(&self, end: usize, more: &str) -> Result<String> {
        let path = &self.configs[end];
        fs::write(path, format!("{}{more}", engine(self.bond)))
            .map_err(LabError::kernel(format!("write {}", path.display())))?;
        Ok(path.display().to_string())
    }

    fn address(&self) -> String {
        format!("{}/{}", self.inside, self.prefix)
    }

    fn state(&self, end: usize) -> String {
        self.states[end].display().to_string()
    }

    /// What the client sends into it.
    fn routes(&self) -> Vec<String> {
        match &self.bond.route[..] {
            [] => beyond(self.lab.scenario(), self.bond),
            given => given.iter().map(ToString::to_string).collect(),
        }
    }

    /// Runs a program of the gateway's to its end; gives what it prints, a token.
    fn token<'s>(&'s self, args: impl IntoIterator<Item = &'s str>) -> Result<String> {
        let out = self.nodes[1].namespace().exec(&self.program, args)?;
        Ok(String::from_utf8_lossy(&out.stdout).trim().to_owned())
    }

    /// `ropewalk serve` and `ropewalk up`.
    fn tunnel(&self) -> Result<[Process; 2]> {
        let Start { lab, bond, name, port, .. } = *self;
        let (address, listen) = (self.address(), format!("0.0.0.0:{port}"));
        let (client_state, gateway_state) = (self.state(0), self.state(1));
        let config_gateway = self.config(1, "")?;
        let serve = ["serve", "--listen", &listen, "--tun", name, "--address", &address];
        let serve = serve.into_iter().chain(["--state", &gateway_state, "--config", &config_gateway]);
        let mut serving = self.nodes[1].namespace().start(&self.program, serve)?;
        serving.wait_for_line("gateway ready", PATIENCE)?;
        let any = format!("{}:{port}", lab.addresses(&bond.client, &bond.gateway)?[1]);
        let token = self.token(["invite", "lab", "--endpoint", &any, "--state", &gateway_state])?;
        let config_client = self.config(0, &client_paths(lab, name, bond, port)?)?;
        let mut up: Vec<String> =
            ["up", &token, "--tun", name, "--state", &client_state, "--config", &config_client]
                .map(str::to_owned)
                .into();
        up.extend(self.routes().into_iter().flat_map(|net| ["--route".to_owned(), net]));
        Ok([self.nodes[0].namespace().start(&self.program, &up)?, serving])
    }

    /// `ropewalk ap` and `ropewalk repeater`.
    fn backhaul(&self) -> Result<[Process; 2]> {
        let (scenario, this) = (self.lab.scenario(), (self.name, self.bond));
        let (client_state, gateway_state) = (self.state(0), self.state(1));
        let config = self.config(1, &backhaul::ap(scenario, this, &self.address(), self.port))?;
        let ap = ["ap", "--state", &gateway_state, "--config", &config];
        let mut serving = self.nodes[1].namespace().start(&self.program, ap)?;
        serving.wait_for_line("access point ready", PATIENCE)?;
        let token = self.token(["ap", "invite", "lab", "--state", &gateway_state, "--config", &config])?;
        let config = self.config(0, &backhaul::repeater(scenario, this, &self.routes()))?;
        let repeater = ["repeater", &token, "--state", &client_state, "--config", &config];
        Ok([self.nodes[0].namespace().start(&self.program, repeater)?, serving])
    }
}

/// The routes that a daemon made end in what the node's others end in.
fn route_like_the_others(namespace: &Namespace, device: &str, suffix: &str) -> Result<()> {
    if suffix.is_empty() {
        return Ok(());
    }
    let said =
        namespace.exec("ip", ["-4", "route", "show", "table", "all", "type", "unicast", "dev", device])?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let change = |line: &str| format!("route change {} dev {device}{suffix}", line.trim());
    let changes: Vec<String> = said.lines().filter(|l| !l.trim().is_empty()).map(change).collect();
    if changes.is_empty() { Ok(()) } else { namespace.ip(&changes) }
}

/// Has a node answer what comes out of a bond's network at its gateway, as routers tell each other in the simulator: by the way that leads to the gateway.
fn route_back(lab: &Lab, node: &Node, gateway: &str, network: &str) -> Result<()> {
    let Ok([_, towards]) = lab.addresses(node.name(), gateway) else { return Ok(()) };
    if !lab.reaches(node.name(), towards) {
        return Ok(());
    }
    let said = node.namespace().exec("ip", ["-4", "-o", "route", "get", &towards.to_string()])?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let after = |word: &str| said.split_whitespace().skip_while(|w| *w != word).nth(1).map(str::to_owned);
    let Some(device) = after("dev") else { return Ok(()) };
    let via = after("via").unwrap_or_else(|| towards.to_string());
    let suffix = lab.route_suffix(node.name());
    node.namespace().ip(&[format!("route replace {network} via {via} dev {device}{suffix}")])
}

fn wait_for_ping(client: &Node, inside: std::net::IpAddr, daemon: &mut Process) -> Result<()> {
    let until = Instant::now() + PATIENCE;
    let ping = Ping::new(inside).count(1).timeout(Duration::from_millis(200));
    // Before its device is there, there is no way to send.
    while !ping.run(client.namespace()).is_ok_and(|report| report.received > 0) {
        if daemon.exit_status()?.is_some() || Instant::now() > until {
            return Err(LabError::Failed {
                command: "ropewalk up TOKEN".to_owned(),
                status: format!("no ping through the bond within {PATIENCE:?}"),
                said: daemon.stdout() + &daemon.stderr(),
            });
        }
    }
    Ok(())
}
